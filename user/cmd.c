// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The only file that calls ioctl(). */
#include <errno.h>
#include <sys/ioctl.h>

#include "cmd.h"
#include "reason.h"

/* What errno alone says, where the kernel could not write a reason. */
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

static int run(const char *verb, int fd, unsigned long request, struct univ_hdr *hdr, uint32_t size)
{
	int err;

	hdr->size = size;
	if (ioctl(fd, request, hdr) == 0)
		return 0;
	err = errno;
	if (hdr->reason == UNIV_REASON_NONE)
		reason_from_errno(hdr, err);
	return univ_fail_hdr(verb, err, hdr);
}

/*
 * After the device is gone so is the object, and whoever cleans up may go on:
 * what the library holds of it (the mapping of its rings above all) is freed, once
 * the events that were read are acknowledged. The head holds their numbers. A driver
 * may answer ENODEV as well, and then the head holds what it says of that.
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
		return univ_fail_hdr(verb, err, &cmd->hdr);
	cmd->comp_events = (uint32_t)cmd->hdr.value;
	cmd->async_events = (uint32_t)cmd->hdr.bound;
	return 0;
}

/* COMMAND(name of the wrapper, its ioctl, struct, verb that programs call) */
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

COMMAND(context_query, UNIV_CONTEXT_QUERY, univ_context_query, "ibv_open_device")
COMMAND(poller_start, UNIV_POLLER_START, univ_poller_start, "ibv_open_device")
COMMAND(device_query, UNIV_DEVICE_QUERY, univ_device_query, "ibv_query_device")
COMMAND(port_query, UNIV_PORT_QUERY, univ_port_query, "ibv_query_port")
COMMAND(pkey_query, UNIV_PKEY_QUERY, univ_pkey_query, "ibv_query_pkey")
COMMAND(gid_table, UNIV_GID_TABLE, univ_gid_table, "ibv_query_gid_table")
COMMAND(pd_alloc, UNIV_PD_ALLOC, univ_pd_alloc, "ibv_alloc_pd")
DESTROY(pd_dealloc, UNIV_PD_DEALLOC, "ibv_dealloc_pd")
COMMAND(xrcd_open, UNIV_XRCD_OPEN, univ_xrcd_open, "ibv_open_xrcd")
DESTROY(xrcd_close, UNIV_XRCD_CLOSE, "ibv_close_xrcd")
COMMAND(mr_reg, UNIV_MR_REG, univ_mr_reg, "ibv_reg_mr")
COMMAND(mr_rereg, UNIV_MR_REREG, univ_mr_rereg, "ibv_rereg_mr")
DESTROY(mr_dereg, UNIV_MR_DEREG, "ibv_dereg_mr")
COMMAND(mw_alloc, UNIV_MW_ALLOC, univ_mw_alloc, "ibv_alloc_mw")
DESTROY(mw_dealloc, UNIV_MW_DEALLOC, "ibv_dealloc_mw")
COMMAND(ah_create, UNIV_AH_CREATE, univ_ah_create, "ibv_create_ah")
DESTROY(ah_destroy, UNIV_AH_DESTROY, "ibv_destroy_ah")
COMMAND(channel_create, UNIV_CHANNEL_CREATE, univ_channel_create, "ibv_create_comp_channel")
COMMAND(cq_create, UNIV_CQ_CREATE, univ_cq_create, "ibv_create_cq")
COMMAND(cq_resize, UNIV_CQ_RESIZE, univ_cq_resize, "ibv_resize_cq")
COMMAND(cq_moderate, UNIV_CQ_MODERATE, univ_cq_moderate, "ibv_modify_cq")
DESTROY(cq_destroy, UNIV_CQ_DESTROY, "ibv_destroy_cq")
COMMAND(srq_create, UNIV_SRQ_CREATE, univ_srq_create, "ibv_create_srq")
COMMAND(srq_modify, UNIV_SRQ_MODIFY, univ_srq_modify, "ibv_modify_srq")
COMMAND(srq_query, UNIV_SRQ_QUERY, univ_srq_query, "ibv_query_srq")
DESTROY(srq_destroy, UNIV_SRQ_DESTROY, "ibv_destroy_srq")
COMMAND(qp_create, UNIV_QP_CREATE, univ_qp_create, "ibv_create_qp")
COMMAND(qp_open, UNIV_QP_OPEN, univ_qp_open, "ibv_open_qp")
COMMAND(qp_query, UNIV_QP_QUERY, univ_qp_query, "ibv_query_qp")
DESTROY(qp_destroy, UNIV_QP_DESTROY, "ibv_destroy_qp")
COMMAND(mcast_attach, UNIV_MCAST_ATTACH, univ_mcast, "ibv_attach_mcast")
COMMAND(mcast_detach, UNIV_MCAST_DETACH, univ_mcast, "ibv_detach_mcast")

/*
 * The attributes that a transition needs depend on the type, so the explanation names
 * that too; and those that were given, where the driver does not say what it does not like.
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
	return univ_fail_hdr("ibv_modify_qp", err, hdr);
}

/* As port_query, pd_alloc and gid_table, by the library itself: a failure concerns nobody. */
int univ_cmd_port_try(int fd, struct univ_port_query *cmd)
{
	cmd->hdr.size = sizeof(*cmd);
	return ioctl(fd, UNIV_PORT_QUERY, cmd) ? errno : 0;
}

int univ_cmd_pd_try(int fd, struct univ_pd_alloc *cmd)
{
	cmd->hdr.size = sizeof(*cmd);
	return ioctl(fd, UNIV_PD_ALLOC, cmd) ? errno : 0;
}

int univ_cmd_gid_table_try(int fd, struct univ_gid_table *cmd)
{
	cmd->hdr.size = sizeof(*cmd);
	return ioctl(fd, UNIV_GID_TABLE, cmd) ? errno : 0;
}

/* That an entry is empty is an answer: not recorded, since programs ask for all. */
int univ_cmd_gid_query(int fd, struct univ_gid_query *cmd)
{
	int err;

	cmd->hdr.size = sizeof(*cmd);
	if (ioctl(fd, UNIV_GID_QUERY, cmd) == 0)
		return 0;
	err = errno;
	return err == ENODATA ? err : univ_fail_hdr("ibv_query_gid", err, &cmd->hdr);
}

/*
 * A device that goes between the publishing of requests and their kick flushes
 * them: they are posted, and their completions tell what became of them. A
 * program that was told otherwise would give up each of them twice.
 */
static __attribute__((cold, noinline)) int kick_failed(const char *verb)
{
	struct univ_hdr hdr = {};
	int err = errno;

	return err == ENODEV ? 0 : univ_fail_hdr(verb, err, &hdr);
}

/* A signal does not undo what was published, so the kick is given again. */
int univ_cmd_kick(const char *verb, int fd, uint32_t what)
{
	while (__builtin_expect(ioctl(fd, UNIV_KICK, (unsigned long)what), 0))
		if (errno != EINTR)
			return kick_failed(verb);
	return 0;
}
