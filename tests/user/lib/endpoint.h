/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The queue pair that receives forged packets, and its memory: a room that the peer may
 * write, between two canaries, and an inbox for messages.
 */
#ifndef ENDPOINT_H
#define ENDPOINT_H

#include "packets.h"

#define PSN		0xfffffeu
#define ROOM		4096		/* The memory that the peer may write. */
#define CANARY		8192		/* On either side of that memory. */
#define INBOX		8192		/* Receive buffers for the peer's sends. */

static struct {
	struct test_dev dev;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *room;		/* Remotely accessible. */
	struct ibv_mr *inbox;
	uint8_t *mem;			/* Canary, room, canary, inbox. */
	uint32_t psn;			/* The PSN that our queue pair expects. */
} env;

static uint8_t *room(void)
{
	return env.mem + CANARY;
}

static uint8_t *inbox(void)
{
	return env.mem + CANARY + ROOM + CANARY;
}

static void post_inbox(void)
{
	struct ibv_sge sge = { (uintptr_t)inbox(), INBOX / 2, env.inbox->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	for (int i = 0; i < 8; i++)
		CHECK_ERR(ibv_post_recv(env.qp, &wr, &bad), 0);
}

/* Start again: reconnect, expect PSN, and fill the memory with its pattern. */
static void restart(void)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = PEER_QPN,
		.rq_psn = PSN, .max_dest_rd_atomic = 2, .min_rnr_timer = 12,
	};
	struct ibv_wc wc;

	packets_arrived();
	NEED_OK(qp_to_state(env.qp, IBV_QPS_RESET));
	while (ibv_poll_cq(env.cq, 1, &wc) > 0)
		;
	memset(env.mem, 0xc5, CANARY + ROOM + CANARY + INBOX);
	ah_attr_to(&env.dev, &a.ah_attr);
	a.ah_attr.grh.dgid.raw[15] = 2;
	NEED_OK(qp_to_init(env.qp));
	NEED_OK(ibv_modify_qp(env.qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			      IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			      IBV_QP_MIN_RNR_TIMER));
	a = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .sq_psn = PSN, .timeout = 20, .retry_cnt = 7,
		.rnr_retry = 7, .max_rd_atomic = 2,
	};
	NEED_OK(ibv_modify_qp(env.qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
			      IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC));
	post_inbox();
	env.psn = PSN;
}

static void open_all(void)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 8, 16, 1, 1, 64 } };

	dev_open(&env.dev);
	env.pd = ibv_alloc_pd(env.dev.ctx);
	NEED_PTR(env.pd, "alloc_pd");
	env.mem = mmap(NULL, CANARY + ROOM + CANARY + INBOX, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(env.mem != MAP_FAILED, "mmap: %s", err_name(errno));
	env.room = ibv_reg_mr(env.pd, room(), ROOM, ALL_ACCESS);
	NEED_PTR(env.room, "reg_mr");
	env.inbox = ibv_reg_mr(env.pd, inbox(), INBOX, IBV_ACCESS_LOCAL_WRITE);
	NEED_PTR(env.inbox, "reg_mr");
	env.cq = ibv_create_cq(env.dev.ctx, 256, NULL, NULL, 0);
	NEED_PTR(env.cq, "create_cq");
	init.send_cq = env.cq;
	init.recv_cq = env.cq;
	env.qp = ibv_create_qp(env.pd, &init);
	NEED_PTR(env.qp, "create_qp");
	peer_open();
	peer.qpn = env.qp->qp_num;
	restart();
}

static void close_all(void)
{
	CHECK_ERR(ibv_destroy_qp(env.qp), 0);
	CHECK_ERR(ibv_destroy_cq(env.cq), 0);
	CHECK_ERR(ibv_dereg_mr(env.room), 0);
	CHECK_ERR(ibv_dereg_mr(env.inbox), 0);
	CHECK_ERR(ibv_dealloc_pd(env.pd), 0);
	dev_close(&env.dev);
	peer_close();
}

#endif
