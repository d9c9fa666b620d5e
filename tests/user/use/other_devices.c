// SPDX-License-Identifier: GPL-2.0
/*
 * Answers of the kernel about devices that are not available to the tests: with two ports,
 * with more GIDs than the library asks for at first, with the speed of XDR. This program
 * fakes the answers.
 */
#include "ioctl.h"
#include "mistakes.h"
#include "univerbs.h"

#define XDR		256	/* A code that does not fit into eight bits. */
#define FIRST_GIDS	256	/* The size in user/verbs/ah_wc.c. */

static unsigned long other;	/* The request with a faked answer. */
static unsigned int answered;

static int of_two_ports(struct univ_qp_modify *cmd)
{
	cmd->hdr.reason = UNIV_REASON_ATTR_VALUE;
	cmd->hdr.detail = IBV_QP_AV;
	cmd->hdr.value = 1;
	cmd->hdr.bound = 2;
	errno = EINVAL;
	return -1;
}

/* The kernel refuses a buffer that is too small for all GIDs. */
static int with_many_gids(struct univ_gid_table *cmd)
{
	if (answered > 1)
		return 0;
	CHECK(cmd->max == FIRST_GIDS, "room for %" PRIu64 " at first", (uint64_t)cmd->max);
	cmd->hdr.reason = UNIV_REASON_LIMIT;
	errno = EINVAL;
	return -1;
}

static int another_answer(unsigned long request, void *arg)
{
	struct univ_port_query *port = arg;

	answered++;
	switch (request) {
	case UNIV_QP_MODIFY:
		return of_two_ports(arg);
	case UNIV_GID_TABLE:
		return with_many_gids(arg);
	default:
		port->active_speed = XDR;
		return 0;
	}
}

static int library_ioctl(int fd, unsigned long request, void *arg)
{
	int ret;

	if (request == other && request == UNIV_QP_MODIFY)
		return another_answer(request, arg);
	ret = kernel_ioctl(fd, request, arg);
	return ret || request != other ? ret : another_answer(request, arg);
}

static void path_of_another_port(void)
{
	struct ibv_qp_attr a = {};
	struct pair p;

	pair_open(&p, NULL);
	other = UNIV_QP_MODIFY;
	CHECK_ERR(ibv_modify_qp(p.qp[0], &a, IBV_QP_AV), EINVAL);
	SAYS("ibv_modify_qp", "ah_attr.port_num is 1", "must be the queue pair's port, 2");
	other = 0;
	pair_close(&p);
}

static void xdr(void)
{
	struct ibv_port_attr port;
	uint64_t speed = 0;
	struct pair p;

	pair_open(&p, NULL);
	other = UNIV_PORT_QUERY;
	CHECK_ERR(ibv_query_port(p.dev.ctx, PORT, &port), 0);
	CHECK(port.active_speed == 128, "active_speed %u, not the highest that fits",
	      port.active_speed);
	CHECK(port.active_speed_ex == XDR, "active_speed_ex %u", port.active_speed_ex);
	CHECK_ERR(ibv_query_port_speed(p.dev.ctx, PORT, &speed), 0);
	CHECK(speed && speed % 2000 == 0, "%" PRIu64 " times 100 Mbit/s", speed);
	other = 0;
	pair_close(&p);
}

/* The second, larger query succeeds, and the library does not report the first. */
static void more_gids(void)
{
	struct ibv_ah_attr back;
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &(struct pair_want){ .type = IBV_QPT_UD });
	CHECK_ERR(post_recv_at(&p, 1, 1, 0, 200), 0);
	CHECK_ERR(post_send_at(&p, 0, 2, 0, 100, IBV_SEND_SIGNALED), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	forget();
	other = UNIV_GID_TABLE;
	answered = 0;
	CHECK_ERR(ibv_init_ah_from_wc(p.dev.ctx, PORT, &wc, (void *)p.buf[1], &back), 0);
	CHECK(answered == 2, "%u looks", answered);
	CHECK(!*all_printed(), "printed: %s", all_printed());
	other = 0;
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "path_of_another_port", path_of_another_port },
	{ "xdr", xdr },
	{ "more_gids", more_gids },
};

TEST_MAIN("other_devices", cases, 60)
