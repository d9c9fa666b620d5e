// SPDX-License-Identifier: GPL-2.0
/*
 * adv29. Without privileges, the node's permissions decide which users may open it, and raw
 * packets, the GSI and privileged Q_Keys are refused.
 */
#include <grp.h>
#include "raw.h"

#define NOBODY 65534

static const char hidden[] = "/dev/infiniband/hidden";

static mode_t node_mode(void)
{
	struct stat st;

	NEED(!stat(node_path(), &st), "stat %s: %s", node_path(), err_name(errno));
	return st.st_mode & 07777;
}

static pid_t start_as_nobody(void (*fn)(void))
{
	pid_t pid = fork();

	if (!pid) {
		test_failures = 0;
		NEED(!setgroups(0, NULL) && !setgid(NOBODY) && !setuid(NOBODY), "setuid");
		fn();
		exit(test_failures ? 1 : 0);
	}
	return pid;
}

static int as_nobody(void (*fn)(void))
{
	int status = 0;

	waitpid(start_as_nobody(fn), &status, 0);
	return CHECK(WIFEXITED(status) && !WEXITSTATUS(status), "as nobody: status %#x", status);
}

static void cannot_open(void)
{
	struct ibv_context *ctx = dev_open_named(dev_wanted());

	if (!CHECK(!ctx, "opened without permission"))
		return;
	CHECK(errno == EACCES || errno == EPERM, "open_device: %s", err_name(errno));
	CHECK(why_reason() == UNIV_REASON_NODE_PERMISSION && strstr(why_text(), node_path()),
	      "reason %u: %s", why_reason(), why_text());
}

static void can_open(void)
{
	struct ibv_context *ctx = dev_open_named(dev_wanted());

	CHECK(ctx && !ibv_close_device(ctx), "open_device: %s", err_name(errno));
}

static bool device_listed(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	bool found = false;

	for (int i = 0; list && list[i]; i++)
		found |= !strcmp(ibv_get_device_name(list[i]), name);
	if (list)
		ibv_free_device_list(list);
	return found;
}

static void no_permission(void)
{
	mode_t was = node_mode();

	chmod(node_path(), 0600);
	as_nobody(cannot_open);
	chmod(node_path(), was);
}

/*
 * Create the node for root alone, and permit others later, as udev does, while a process opens it.
 * Return how that process ended.
 */
static int open_before_permission(dev_t number, bool *late)
{
	uint64_t created = now_ns();
	pid_t opener;
	int status = 0;

	CHECK(!mknod(node_path(), S_IFCHR | 0600, number), "mknod: %s", err_name(errno));
	opener = start_as_nobody(can_open);
	sleep_ms(500);
	CHECK(!chmod(node_path(), 0666), "chmod: %s", err_name(errno));
	*late = now_ns() - created > 2 * 1000000000ull;
	waitpid(opener, &status, 0);
	return status;
}

/*
 * The kernel creates the node for root alone, and udev permits others a moment later. A program that
 * opens the device in between waits, for three seconds after the creation. This process may not run
 * for so long, so a failure counts only if the permission came early enough.
 */
static void permission_comes(void)
{
	struct stat st;
	int tries, status = 0;
	bool late;

	/* The kernel removes the file that it has made itself, and no other. */
	NEED(!stat(node_path(), &st) && !rename(node_path(), hidden), "rename: %s", err_name(errno));
	for (tries = 0; tries < 4; tries++) {
		status = open_before_permission(st.st_rdev, &late);
		NEED(!unlink(node_path()), "unlink: %s", err_name(errno));
		if (!status || !late)
			break;
	}
	CHECK(!status, "as nobody: status %#x", status);
	repeated(tries, "the permission came late");
	NEED(!rename(hidden, node_path()), "rename: %s", err_name(errno));
}

/* A container without the node does not see the device. */
static void no_node(void)
{
	struct ibv_context *ctx;

	NEED(!rename(node_path(), hidden), "rename: %s", err_name(errno));
	CHECK(!device_listed(dev_wanted()), "the device is listed without its node");
	NEED(!rename(hidden, node_path()), "rename: %s", err_name(errno));
	ctx = dev_open_named(dev_wanted());
	CHECK(ctx && !ibv_close_device(ctx), "the device does not come back with its node");
}

static void can_work(void)
{
	struct pair p;

	pair_open(&p, NULL);
	CHECK(pair_works(&p), "messages as nobody");
	pair_close(&p);
}

static void with_permission(void)
{
	mode_t was = node_mode();

	chmod(node_path(), 0666);
	as_nobody(can_work);
	chmod(node_path(), was);
}

static void privileged_types(void)
{
	static const int types[] = { 0, 1, IBV_QPT_RAW_PACKET };
	int fd = raw_open();
	uint32_t pd = raw_pd(fd);
	struct univ_qp_create qp;
	struct raw_cq cq;

	raw_cq(fd, &cq, 16, -1);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		bool raw = types[i] == IBV_QPT_RAW_PACKET;

		raw_qp_arg(&qp, types[i], pd, cq.handle, 0);
		CHECK_ERR(raw_call(fd, UNIV_QP_CREATE, &qp), EPERM);
		CHECK(qp.hdr.reason == (raw ? UNIV_REASON_PERMISSION : UNIV_REASON_QP_TYPE),
		      "type %d: reason %u", types[i], qp.hdr.reason);
	}
	/* A device that does not offer the flag says so first. */
	raw_qp_arg(&qp, IBV_QPT_UD, pd, cq.handle, 0);
	qp.create_flags = UNIV_QP_SOURCE_QPN;
	CHECK_ERR(raw_call(fd, UNIV_QP_CREATE, &qp), on_uroce() ? EPERM : EOPNOTSUPP);
	raw_unmap(&cq.map);
	close(fd);
}

static void privileged_qkey(void)
{
	struct pair_want want = { .type = IBV_QPT_UD, .stay_reset = 1 };
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT, .port_num = PORT, .qkey = 0x80010000u,
	};
	struct pair p;
	int err;

	pair_open(&p, &want);
	err = ibv_modify_qp(p.qp[0], &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			    IBV_QP_QKEY);
	CHECK(err == EPERM, "a privileged Q_Key: %s", err_name(err));
	if (err)
		CHECK(why_reason() == UNIV_REASON_PERMISSION, "reason %u: %s", why_reason(),
		      why_text());
	pair_close(&p);
}

static void privileges(void)
{
	mode_t was = node_mode();

	chmod(node_path(), 0666);
	as_nobody(privileged_types);
	as_nobody(privileged_qkey);
	chmod(node_path(), was);
}

/* Another context's handles and mappings are of no use. */
static void others_objects(void)
{
	int mine = raw_open(), theirs = raw_open(), found = 0;
	struct raw_cq cq;
	struct raw_mr mr;
	void *mem = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	raw_cq(theirs, &cq, 16, -1);
	mr = raw_mr(theirs, raw_pd(theirs), mem, PAGE, ALL_ACCESS);
	for (uint32_t h = 0; h < 300; h++) {
		found += !raw_destroy(mine, UNIV_CQ_DESTROY, h);
		found += !raw_destroy(mine, UNIV_MR_DEREG, h);
		found += !raw_destroy(mine, UNIV_PD_DEALLOC, h);
	}
	CHECK(!found, "%d objects of another context were destroyed", found);
	CHECK_ERR(raw_destroy(theirs, UNIV_MR_DEREG, mr.handle), 0);
	raw_unmap(&cq.map);
	munmap(mem, PAGE);
	close(mine);
	close(theirs);
}

static const struct test_case cases[] = {
	{ "no_permission", no_permission },
	{ "permission_comes", permission_comes },
	{ "no_node", no_node },
	{ "with_permission", with_permission },
	{ "privileges", privileges },
	{ "others_objects", others_objects },
};

TEST_MAIN("perms (adv29)", cases, 30)
