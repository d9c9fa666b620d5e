/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions for the tests of XRC: a domain with two shared receive queues, a connected
 * initiator and target, and requests with their expected completions.
 */
#ifndef XRC_H
#define XRC_H

#include "events.h"
#include "raw.h"

#define HALF (1u << 20)		/* More than uroce copies in one turn. */
#define DEPTH 32

/* The initiator uses half 0 of the buffer, the receivers use half 1. */
struct xrc {
	struct test_dev dev;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	uint8_t *buf[2];
	struct ibv_cq *cq;		/* Completions of sends. */
	struct ibv_cq *rcq[2];		/* Completions of @srq. */
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq[2];
	uint32_t srqn[2];
	struct ibv_qp *ini;
	struct ibv_qp *tgt;
};

static struct ibv_xrcd *xrcd_of(struct ibv_context *ctx, int fd, int oflags)
{
	return ibv_open_xrcd(ctx, &(struct ibv_xrcd_init_attr){
		.fd = fd, .oflags = oflags,
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS });
}

static struct ibv_srq *srq_of(struct ibv_pd *pd, struct ibv_xrcd *xrcd, struct ibv_cq *cq,
			      uint32_t *number)
{
	struct ibv_srq *srq = ibv_create_srq_ex(pd->context, &(struct ibv_srq_init_attr_ex){
		.attr = { .max_wr = DEPTH, .max_sge = 2 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC, .pd = pd, .xrcd = xrcd, .cq = cq });

	NEED(srq, "create_srq_ex: %s; %s", err_name(errno), why_text());
	CHECK_ERR(ibv_get_srq_num(srq, number), 0);
	CHECK(*number && *number < 1u << 24, "number %#x", *number);
	return srq;
}

static struct ibv_qp *initiator_of(struct ibv_pd *pd, struct ibv_cq *cq, uint64_t ops)
{
	struct ibv_qp *qp = ibv_create_qp_ex(pd->context, &(struct ibv_qp_init_attr_ex){
		.qp_type = IBV_QPT_XRC_SEND, .send_cq = cq, .pd = pd,
		.cap = { .max_send_wr = DEPTH, .max_send_sge = 2, .max_inline_data = 64 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | (ops ? IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0),
		.send_ops_flags = ops });

	NEED(qp, "XRC send: %s; %s", err_name(errno), why_text());
	return qp;
}

static struct ibv_qp *target_of(struct ibv_context *ctx, struct ibv_xrcd *xrcd, void *context)
{
	struct ibv_qp *qp = ibv_create_qp_ex(ctx, &(struct ibv_qp_init_attr_ex){
		.qp_type = IBV_QPT_XRC_RECV, .xrcd = xrcd, .qp_context = context,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD });

	NEED(qp, "XRC receive: %s; %s", err_name(errno), why_text());
	return qp;
}

static MAYBE_UNUSED struct ibv_qp *target_opened(struct ibv_context *ctx, struct ibv_xrcd *xrcd,
						 uint32_t number, void *context)
{
	return ibv_open_qp(ctx, &(struct ibv_qp_open_attr){
		.qp_num = number, .xrcd = xrcd, .qp_context = context,
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_CONTEXT | IBV_QP_OPEN_ATTR_TYPE });
}

/* Set the attributes of both sides on each queue pair, as programs do. */
static int xrc_to_rtr(const struct test_dev *dev, struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer,
		.rq_psn = 100, .max_dest_rd_atomic = 8, .min_rnr_timer = 1,
	};

	ah_attr_to(dev, &a.ah_attr);
	return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			     IBV_QP_MIN_RNR_TIMER);
}

/* The exponent of the ACK timeout; a worker of the kernel that answers may be late. */
static MAYBE_UNUSED uint8_t xrc_timeout = 15;

static int xrc_to_rts(struct ibv_qp *qp, uint8_t rnr_retry)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTS, .sq_psn = 100, .timeout = xrc_timeout, .retry_cnt = 7,
		.rnr_retry = rnr_retry, .max_rd_atomic = 8,
	};

	return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
			     IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

static void connect_pair(const struct test_dev *dev, struct ibv_qp *ini, struct ibv_qp *tgt,
			 uint8_t rnr_retry)
{
	struct ibv_qp *qp[2] = { ini, tgt };

	for (int i = 0; i < 2; i++) {
		NEED_OK(qp_to_state(qp[i], IBV_QPS_RESET));
		NEED_OK(qp_to_init(qp[i]));
	}
	for (int i = 0; i < 2; i++)
		NEED(!xrc_to_rtr(dev, qp[i], qp[!i]->qp_num), "to RTR: %s; %s", err_name(errno),
		     why_text());
	for (int i = 0; i < 2; i++)
		NEED(!xrc_to_rts(qp[i], rnr_retry), "to RTS: %s; %s", err_name(errno), why_text());
}

static MAYBE_UNUSED void reconnect(struct xrc *x)
{
	connect_pair(&x->dev, x->ini, x->tgt, 7);
}

static void xrc_memory(struct xrc *x)
{
	void *mem = mmap(NULL, 2 * HALF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(mem != MAP_FAILED, "mmap: %s", err_name(errno));
	x->buf[0] = mem;
	x->buf[1] = x->buf[0] + HALF;
	x->mr = ibv_reg_mr(x->pd, mem, 2 * HALF, ALL_ACCESS);
	NEED_PTR(x->mr, "reg_mr");
}

/* Open everything except the queue pairs, in the domain of @fd. */
static void xrc_open_queues(struct xrc *x, int fd)
{
	memset(x, 0, sizeof(*x));
	dev_open(&x->dev);
	x->pd = ibv_alloc_pd(x->dev.ctx);
	NEED_PTR(x->pd, "alloc_pd");
	xrc_memory(x);
	x->cq = ibv_create_cq(x->dev.ctx, 2 * DEPTH, NULL, NULL, 0);
	NEED_PTR(x->cq, "create_cq");
	x->xrcd = xrcd_of(x->dev.ctx, fd, O_CREAT);
	NEED(x->xrcd, "open_xrcd: %s; %s", err_name(errno), why_text());
	for (int i = 0; i < 2; i++) {
		x->rcq[i] = ibv_create_cq(x->dev.ctx, 2 * DEPTH, NULL, NULL, 0);
		NEED_PTR(x->rcq[i], "create_cq");
		x->srq[i] = srq_of(x->pd, x->xrcd, x->rcq[i], &x->srqn[i]);
	}
	CHECK(x->srqn[0] != x->srqn[1], "both are number %u", x->srqn[0]);
}

static MAYBE_UNUSED void xrc_open(struct xrc *x, int fd)
{
	xrc_open_queues(x, fd);
	x->ini = initiator_of(x->pd, x->cq, 0);
	x->tgt = target_of(x->dev.ctx, x->xrcd, x);
	connect_pair(&x->dev, x->ini, x->tgt, 7);
}

static MAYBE_UNUSED void xrc_close(struct xrc *x)
{
	if (x->ini)
		CHECK_ERR(ibv_destroy_qp(x->ini), 0);
	if (x->tgt)
		CHECK_ERR(ibv_destroy_qp(x->tgt), 0);
	for (int i = 0; i < 2; i++) {
		if (x->srq[i])
			CHECK_ERR(ibv_destroy_srq(x->srq[i]), 0);
		CHECK_ERR(ibv_destroy_cq(x->rcq[i]), 0);
	}
	CHECK_ERR(ibv_close_xrcd(x->xrcd), 0);
	CHECK_ERR(ibv_destroy_cq(x->cq), 0);
	CHECK_ERR(ibv_dereg_mr(x->mr), 0);
	munmap(x->buf[0], 2 * HALF);
	CHECK_ERR(ibv_dealloc_pd(x->pd), 0);
	dev_close(&x->dev);
}

/* ---- requests ------------------------------------------------------------------ */

static struct ibv_sge xrc_sge(const struct xrc *x, int half, size_t off, uint32_t len)
{
	return (struct ibv_sge){ .addr = (uintptr_t)x->buf[half] + off, .length = len,
				 .lkey = x->mr->lkey };
}

static void receive_by(struct ibv_srq *srq, uint64_t id, struct ibv_sge sge)
{
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	CHECK_ERR(ibv_post_srq_recv(srq, &wr, &bad), 0);
}

static void receive(const struct xrc *x, int which, uint64_t id, size_t off, uint32_t len)
{
	receive_by(x->srq[which], id, xrc_sge(x, 1, off, len));
}

static struct ibv_send_wr request(const struct xrc *x, enum ibv_wr_opcode opcode, uint32_t srqn,
				  size_t off, struct ibv_sge *sge)
{
	struct ibv_send_wr wr = {
		.wr_id = 77, .opcode = opcode, .sg_list = sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED, .imm_data = htobe32(0xabcd),
		.qp_type.xrc.remote_srqn = srqn,
	};

	if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)x->buf[1] + off;
		wr.wr.atomic.rkey = x->mr->rkey;
		wr.wr.atomic.compare_add = 1;
		wr.wr.atomic.swap = 5;
	} else if (opcode != IBV_WR_SEND && opcode != IBV_WR_SEND_WITH_IMM) {
		wr.wr.rdma.remote_addr = (uintptr_t)x->buf[1] + off;
		wr.wr.rdma.rkey = x->mr->rkey;
	}
	return wr;
}

static void post(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	CHECK_ERR(ibv_post_send(qp, wr, &bad), 0);
}

/* Start a request between the start of half 0 and the offset @off in half 1. */
static void start(const struct xrc *x, enum ibv_wr_opcode opcode, uint32_t srqn, size_t off,
		  uint32_t len)
{
	struct ibv_sge sge = xrc_sge(x, 0, 0, len);
	struct ibv_send_wr wr = request(x, opcode, srqn, off, &sge);

	post(x->ini, &wr);
}

static void finish(const struct xrc *x, enum ibv_wc_status want)
{
	struct ibv_wc wc;

	WANT_WC(x->cq, &wc, want);
	CHECK(wc.qp_num == x->ini->qp_num && wc.wr_id == 77, "qp_num %u wr_id %" PRIu64,
	      wc.qp_num, wc.wr_id);
}

static void does(const struct xrc *x, enum ibv_wr_opcode opcode, uint32_t srqn, size_t off,
		 uint32_t len, enum ibv_wc_status want)
{
	start(x, opcode, srqn, off, len);
	finish(x, want);
}

/* Send a message to one SRQ and check that it arrives only there. */
static MAYBE_UNUSED void sends(struct xrc *x, int which, uint32_t len, uint32_t seed)
{
	struct ibv_wc wc;

	fill(x->buf[0], len, seed);
	memset(x->buf[1], 0, len);
	receive(x, which, seed, 0, len);
	does(x, IBV_WR_SEND, x->srqn[which], 0, len, IBV_WC_SUCCESS);
	if (!WANT_WC(x->rcq[which], &wc, IBV_WC_SUCCESS))
		return;
	CHECK(wc.wr_id == seed && wc.opcode == IBV_WC_RECV && wc.byte_len == len &&
	      wc.qp_num == x->tgt->qp_num && wc.src_qp == x->ini->qp_num,
	      "wr_id %" PRIu64 " opcode %d length %u qp_num %u (%u) src_qp %u (%u)", wc.wr_id,
	      wc.opcode, wc.byte_len, wc.qp_num, x->tgt->qp_num, wc.src_qp, x->ini->qp_num);
	CHECK_BYTES(x->buf[1], len, seed, "received");
	WANT_EMPTY(x->rcq[!which]);
}

/* Take the next event that is not of the network. It has to be @want, for @context. */
static bool next_event(struct ibv_context *ctx, enum ibv_event_type want, const void *context)
{
	struct ibv_async_event event;
	const void *got;

	if (!CHECK(take_event(ctx, want, &event, WC_TIMEOUT), "no event %s",
		   ibv_event_type_str(want)))
		return false;
	got = event.element.qp->qp_context;
	return CHECK(event.event_type == want && got == context,
		     "event %d (%s), expected %d; context %p, expected %p", event.event_type,
		     ibv_event_type_str(event.event_type), want, got, context);
}

/*
 * Take the events of a target that has failed: @why, and IBV_EVENT_QP_LAST_WQE_REACHED behind it,
 * since a target uses shared receive queues. There are no others. IBV_EVENT_COMM_EST is raised
 * for a message that arrives in RTR, and these targets are in RTS before any message.
 */
static MAYBE_UNUSED void want_failure(struct ibv_context *ctx, enum ibv_event_type why,
				      const void *context)
{
	if (!next_event(ctx, why, context) ||
	    !next_event(ctx, IBV_EVENT_QP_LAST_WQE_REACHED, context))
		return;
	CHECK(no_event_within(ctx, 0), "another event after %s", ibv_event_type_str(why));
}

static MAYBE_UNUSED bool is_offered(void)
{
	struct test_dev dev;
	bool offered;

	test_now = "offered";
	dev_open(&dev);
	offered = raw_offers(dev.ctx->cmd_fd, UNIV_FEATURE_XRC);
	CHECK(offered == !!(dev.attr.device_cap_flags & IBV_DEVICE_XRC), "device_cap_flags %#x",
	      dev.attr.device_cap_flags);
	dev_close(&dev);
	return offered;
}

/* The main function of a program that is skipped where the device offers no XRC. */
#define XRC_MAIN(program, cases, seconds_each)					\
int main(int argc, char **argv)							\
{										\
	if (!is_offered())							\
		SKIP("%s offers no XRC", dev_wanted());				\
	return test_run(program, argc, argv, cases, ARRAY_SIZE(cases), seconds_each); \
}

#endif
