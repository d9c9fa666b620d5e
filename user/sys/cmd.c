// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The only file that calls ioctl(). */
#include <errno.h>
#include <sys/ioctl.h>

#include "base/base.h"
#include "sys/sys.h"
#include "why/why.h"

/* The reason that errno implies if the kernel could not write one. */
static void reason_from_errno(struct univ_hdr *hdr, int err)
{
	switch (err) {
	case ENODEV:
	case EIO:
		hdr->reason = UNIV_REASON_DEVICE_GONE;
		break;
	case EFAULT:
		hdr->reason = UNIV_REASON_FAULT;
		break;
	case ENOTTY:
		hdr->reason = UNIV_REASON_NOT_OFFERED;
		break;
	default:
		break;
	}
}

/*
 * A module that is older than the library does not know a call, or a member that it has gained.
 * Programs take only EOPNOTSUPP for the answer that a device lacks a feature.
 */
static int failed(const char *verb, int err, const struct univ_hdr *hdr)
{
	return univ_fail_hdr(verb, err == ENOTTY || err == E2BIG ? EOPNOTSUPP : err, hdr);
}

/*
 * A signal may end the wait of UNIV_MR_DMABUF_REG for another user of the memory. Programs do not
 * expect EINTR of a verb, since verbs of the stock library wait without signals.
 */
static int run(const char *verb, int fd, unsigned long request, struct univ_hdr *hdr, uint32_t size)
{
	int err;

	do {
		hdr->size = size;
		if (ioctl(fd, request, hdr) == 0)
			return 0;
		err = errno;
	} while (err == EINTR);
	if (hdr->reason == UNIV_REASON_NONE)
		reason_from_errno(hdr, err);
	return failed(verb, err, hdr);
}

/*
 * When the device is gone its objects are gone too, so a destroy succeeds: the
 * library frees its half of the object (above all the mapping of its rings) once the
 * program has acknowledged the events that it read. Their numbers are in the head of
 * the call. A driver may answer ENODEV as well; then the head holds its reason.
 */
static int run_destroy(const char *verb, int fd, unsigned long request, struct univ_destroy *cmd)
{
	int err;

	cmd->hdr.size = sizeof(*cmd);
	if (ioctl(fd, request, cmd) == 0)
		return 0;
	err = errno;
	if (cmd->hdr.reason == UNIV_REASON_NONE)
		reason_from_errno(&cmd->hdr, err);
	if (err != ENODEV || cmd->hdr.reason != UNIV_REASON_DEVICE_GONE)
		return failed(verb, err, &cmd->hdr);
	cmd->comp_events = (uint32_t)cmd->hdr.value;
	cmd->async_events = (uint32_t)cmd->hdr.bound;
	return 0;
}

#define COMMAND(name, request, type, verb)				\
	int univ_cmd_##name(int fd, struct type *cmd)			\
	{								\
		return run(verb, fd, request, &cmd->hdr, sizeof(*cmd));	\
	}

#define DESTROY(name, request, verb)					\
	int univ_cmd_##name(int fd, struct univ_destroy *cmd)		\
	{								\
		return run_destroy(verb, fd, request, cmd);		\
	}

#define TRY(name, request, type)					\
	int univ_cmd_##name(int fd, struct type *cmd)			\
	{								\
		cmd->hdr.size = sizeof(*cmd);				\
		return ioctl(fd, request, cmd) ? errno : 0;		\
	}

UNIV_COMMANDS(COMMAND, DESTROY, TRY)

/*
 * The attributes that a transition needs depend on the type of the queue pair, so
 * the explanation names the type. Where the driver gives no reason, the explanation
 * lists the attributes that were given.
 */
int univ_cmd_qp_modify(int fd, struct univ_qp_modify *cmd, uint32_t qp_type)
{
	struct univ_hdr *hdr = &cmd->hdr;
	int err;

	hdr->size = sizeof(*cmd);
	if (ioctl(fd, UNIV_QP_MODIFY, cmd) == 0)
		return 0;
	err = errno;
	if (hdr->reason == UNIV_REASON_NONE)
		reason_from_errno(hdr, err);
	if (hdr->reason == UNIV_REASON_QP_STATE || hdr->reason == UNIV_REASON_ATTR_MISSING ||
	    hdr->reason == UNIV_REASON_ATTR_SURPLUS)
		hdr->bound = qp_type;
	if (hdr->reason == UNIV_REASON_UNSUPPORTED || hdr->reason == UNIV_REASON_DEVICE_REFUSED)
		hdr->bound = cmd->attr.attr_mask;
	return failed("ibv_modify_qp", err, hdr);
}

/* An empty entry is an answer and not recorded, since programs ask for all entries. */
int univ_cmd_gid_query(int fd, struct univ_gid_query *cmd)
{
	int err;

	cmd->hdr.size = sizeof(*cmd);
	if (ioctl(fd, UNIV_GID_QUERY, cmd) == 0)
		return 0;
	err = errno;
	return err == ENODATA ? err : failed("ibv_query_gid", err, &cmd->hdr);
}

/*
 * A device that is removed between the publishing of requests and their kick
 * flushes them: the requests are posted, and have completions. If the post failed
 * as well, programs would release each request twice.
 */
static __attribute__((cold, noinline)) int kick_failed(const char *verb)
{
	struct univ_hdr hdr = {};
	int err = errno;

	return err == ENODEV ? 0 : univ_fail_hdr(verb, err, &hdr);
}

/* The requests are published, so after a signal the kick is repeated. */
int univ_cmd_kick(const char *verb, int fd, uint32_t what)
{
	while (univ_unlikely(ioctl(fd, UNIV_KICK, (unsigned long)what)))
		if (errno != EINTR)
			return kick_failed(verb);
	return 0;
}
