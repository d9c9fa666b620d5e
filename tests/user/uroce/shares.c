// SPDX-License-Identifier: GPL-2.0
/*
 * Two connections share one slow link, whose router marks packets (ECN). Neither is starved,
 * whether the data are written, read or sent by UC, and also if one connection begins later.
 * The script that runs this program makes both devices and the link between them;
 * UNIV_TEST_PEER names the second device. Scripts read the line with the shares.
 */
#include "side.h"

#define DEPTH	8
#define SLOT	(64u << 10)

/*
 * A message of UC is a send of one packet. Those that may wait fill the queue of the router, also
 * if the guest is so slow that it posts only now and then.
 */
#define UC_DEPTH	64
#define PACKET		1024u
#define RECVS		512

/* All data go from side 0 to side 1. */
struct flow {
	struct side side[2];
	enum ibv_qp_type type;
	enum ibv_wr_opcode op;
	uint32_t len, depth;
	uint64_t posted, done, arrived;
};

/* A write is requested by the side that has the data, and a read by the other one. */
static struct side *flow_requester(struct flow *f)
{
	return &f->side[f->op == IBV_WR_RDMA_READ];
}

static void flow_connect(struct flow *f, int i)
{
	struct side *s = &f->side[i], *peer = &f->side[!i];
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp->qp_num, .max_dest_rd_atomic = 4, .min_rnr_timer = 12,
	};
	const int rc_rtr = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	const int rc_rts = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			   IBV_QP_MAX_QP_RD_ATOMIC;
	bool rc = f->type == IBV_QPT_RC;

	ah_attr_to(&s->dev, &a.ah_attr);
	a.ah_attr.grh.dgid = peer->dev.gid;
	NEED_OK(qp_to_init(s->qp));
	NEED_OK(ibv_modify_qp(s->qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			      IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | (rc ? rc_rtr : 0)));
	/*
	 * The script checks that no packet is lost. On a busy machine a shorter timeout would end
	 * while the guest does not run, and close one window.
	 */
	a = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 20, .retry_cnt = 7, .rnr_retry = 7,
		.max_rd_atomic = 4,
	};
	NEED_OK(ibv_modify_qp(s->qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN | (rc ? rc_rts : 0)));
}

static void flow_receive(struct flow *f)
{
	struct side *s = &f->side[1];
	struct ibv_sge sge = { (uintptr_t)s->buf, PACKET, s->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	NEED_OK(ibv_post_recv(s->qp, &wr, &bad));
}

static void flow_open(struct flow *f, enum ibv_wr_opcode op)
{
	bool sends = op == IBV_WR_SEND;
	struct ibv_qp_init_attr init = { .cap = { .max_send_sge = 1, .max_recv_sge = 1 } };

	memset(f, 0, sizeof(*f));
	f->type = sends ? IBV_QPT_UC : IBV_QPT_RC;
	f->op = op;
	f->len = sends ? PACKET : SLOT;
	f->depth = sends ? UC_DEPTH : DEPTH;
	init.qp_type = f->type;
	init.cap.max_send_wr = f->depth;
	init.cap.max_recv_wr = sends ? RECVS : 1;
	sides_open(f->side, init, DEPTH * SLOT);
	for (int i = 0; i < 2; i++)
		flow_connect(f, i);
	for (int i = 0; sends && i < RECVS; i++)
		flow_receive(f);
}

static void flow_close(struct flow *f)
{
	for (int i = 0; i < 2; i++)
		side_close(&f->side[i]);
}

static void flow_post(struct flow *f)
{
	struct side *s = flow_requester(f), *peer = s == f->side ? &f->side[1] : &f->side[0];
	uint64_t off = f->posted++ % f->depth * f->len;
	struct ibv_sge sge = { (uintptr_t)s->buf + off, f->len, s->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = f->op, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)peer->buf + off, peer->mr->rkey },
	}, *bad;

	NEED_OK(ibv_post_send(s->qp, &wr, &bad));
}

/* Count the messages that have arrived, and post their receive requests again. */
static void flow_arrive(struct flow *f)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(f->side[1].cq, 1, &wc) == 1) {
		NEED(wc.status == IBV_WC_SUCCESS, "receive %" PRIu64 ": %s", f->arrived,
		     ibv_wc_status_str(wc.status));
		flow_receive(f);
		f->arrived++;
	}
}

/* Keep the send queue full, unless it is to @end. */
static void flow_step(struct flow *f, bool end)
{
	struct ibv_wc wc;

	while (!end && f->posted - f->done < f->depth)
		flow_post(f);
	while (ibv_poll_cq(flow_requester(f)->cq, 1, &wc) == 1) {
		NEED(wc.status == IBV_WC_SUCCESS, "message %" PRIu64 ": %s", f->done,
		     ibv_wc_status_str(wc.status));
		f->done++;
	}
	if (f->op == IBV_WR_SEND)
		flow_arrive(f);
}

static void flows_run(struct flow *f, int count, unsigned int ms)
{
	uint64_t end = deadline_ms(ms * test_slowness());

	do {
		for (int i = 0; i < count; i++)
			flow_step(&f[i], false);
		/* The guest is idle meanwhile. A message takes 50 milliseconds on the link. */
		usleep(1000);
	} while (now_ns() < end);
}

static void flows_end(struct flow *f)
{
	uint64_t end = deadline_ms(WC_TIMEOUT);

	while (f[0].done < f[0].posted || f[1].done < f[1].posted) {
		NEED(now_ns() < end, "the last messages do not complete");
		for (int i = 0; i < 2; i++)
			flow_step(&f[i], true);
	}
}

/*
 * On a busy machine that emulates the guest the shares depend on the moments at which the
 * guest stands still. Without pieces that fit the window, a reader gets ten times as much as
 * a writer.
 */
static void check_shares(uint64_t first, uint64_t second)
{
	printf("%s: %" PRIu64 " and %" PRIu64 " KiB\n", test_now, first >> 10, second >> 10);
	CHECK(first && second, "a connection is starved");
	CHECK(first <= 3 * second && second <= 3 * first, "the shares differ too much");
}

/*
 * Without a reaction to notifications, UC would send 64 messages in each millisecond, of which the
 * link carries one.
 */
static void check_losses(const struct flow *was, const struct flow *f)
{
	uint64_t sent = f->done - was->done, arrived = f->arrived - was->arrived;

	if (f->op == IBV_WR_SEND)
		CHECK(arrived >= sent - sent / 10, "%" PRIu64 " of %" PRIu64 " messages have arrived",
		      arrived, sent);
}

static uint64_t bytes_since(const struct flow *was, const struct flow *f)
{
	return (f->done - was->done) * f->len;
}

/* The second flow begins a second after the first one, and both have a second to adapt. */
static void share(enum ibv_wr_opcode first, enum ibv_wr_opcode second)
{
	struct flow f[2], was[2];

	flow_open(&f[0], first);
	flow_open(&f[1], second);
	flows_run(f, 1, 1000);
	flows_run(f, 2, 1000);
	memcpy(was, f, sizeof(was));
	flows_run(f, 2, 5000);
	check_shares(bytes_since(&was[0], &f[0]), bytes_since(&was[1], &f[1]));
	for (int i = 0; i < 2; i++)
		check_losses(&was[i], &f[i]);
	flows_end(f);
	for (int i = 0; i < 2; i++)
		flow_close(&f[i]);
}

static void writes(void)
{
	share(IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE);
}

static void reads(void)
{
	share(IBV_WR_RDMA_READ, IBV_WR_RDMA_READ);
}

static void write_and_read(void)
{
	share(IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ);
}

static void read_and_write(void)
{
	share(IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE);
}

static void unreliable_sends(void)
{
	share(IBV_WR_SEND, IBV_WR_SEND);
}

static const struct test_case cases[] = {
	{ "writes", writes },
	{ "reads", reads },
	{ "write_and_read", write_and_read },
	{ "read_and_write", read_and_write },
	{ "unreliable_sends", unreliable_sends },
};

TEST_MAIN("shares", cases, 60)
