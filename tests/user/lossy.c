// SPDX-License-Identifier: GPL-2.0
/*
 * adv19, adv20. Two devices with a network between them that loses, repeats, turns
 * over and damages packets: what arrives is what was sent, once and in order. The
 * script that runs this makes the network; UNIV_TEST_PEER names the second device.
 */
#include "testlib.h"

#define DEPTH	16
#define SLOT	(96u << 10)
#define SIZE	(DEPTH * SLOT)

/* One of the two: everything that it has */
struct side {
	struct test_dev dev;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	uint8_t *buf;
};

struct link {
	struct side side[2];
	uint8_t timeout, retry_cnt, rnr_retry;
};

static int messages(void)
{
	const char *n = getenv("LOSSY_MESSAGES");

	return test_rounds(n ? atoi(n) : 200);
}

/* The timeout's exponent, for a network that takes longer than others */
static uint8_t patience(void)
{
	const char *timeout = getenv("LOSSY_TIMEOUT");

	return timeout ? atoi(timeout) : 10;
}

static void side_open(struct side *s, const char *name)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { DEPTH, DEPTH, 1, 1, 64 },
	};

	setenv("UNIV_TEST_DEVICE", name, 1);
	dev_open(&s->dev);
	s->pd = ibv_alloc_pd(s->dev.ctx);
	NEED_PTR(s->pd, "alloc_pd");
	s->buf = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(s->buf != MAP_FAILED, "mmap: %s", err_name(errno));
	s->mr = ibv_reg_mr(s->pd, s->buf, SIZE, ALL_ACCESS);
	NEED_PTR(s->mr, "reg_mr");
	s->cq = ibv_create_cq(s->dev.ctx, 4 * DEPTH, NULL, NULL, 0);
	NEED_PTR(s->cq, "create_cq");
	init.send_cq = s->cq;
	init.recv_cq = s->cq;
	s->qp = ibv_create_qp(s->pd, &init);
	NEED_PTR(s->qp, "create_qp");
}

static void side_close(struct side *s)
{
	if (s->qp)
		CHECK_ERR(ibv_destroy_qp(s->qp), 0);
	CHECK_ERR(ibv_destroy_cq(s->cq), 0);
	CHECK_ERR(ibv_dereg_mr(s->mr), 0);
	munmap(s->buf, SIZE);
	CHECK_ERR(ibv_dealloc_pd(s->pd), 0);
	dev_close(&s->dev);
}

static void side_connect(struct link *l, int i, uint32_t dest)
{
	struct side *s = &l->side[i], *peer = &l->side[!i];
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = dest,
		/* Numbers wrap on the way */
		.rq_psn = 0xffff80, .max_dest_rd_atomic = 4, .min_rnr_timer = 12,
	};

	ah_attr_to(&s->dev, &a.ah_attr);
	a.ah_attr.grh.dgid = peer->dev.gid;
	NEED_OK(qp_to_init(s->qp));
	NEED_OK(ibv_modify_qp(s->qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			      IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			      IBV_QP_MIN_RNR_TIMER));
	a = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .sq_psn = 0xffff80, .timeout = l->timeout,
		.retry_cnt = l->retry_cnt, .rnr_retry = l->rnr_retry, .max_rd_atomic = 4,
	};
	NEED_OK(ibv_modify_qp(s->qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
			      IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC));
}

static void link_open(struct link *l, uint8_t timeout, uint8_t retry_cnt, uint8_t rnr_retry)
{
	static char near[64];

	if (!near[0])
		snprintf(near, sizeof(near), "%s", dev_wanted());
	l->timeout = timeout;
	l->retry_cnt = retry_cnt;
	l->rnr_retry = rnr_retry;
	side_open(&l->side[0], near);
	side_open(&l->side[1], getenv("UNIV_TEST_PEER"));
}

static void link_connect(struct link *l)
{
	for (int i = 0; i < 2; i++)
		side_connect(l, i, l->side[!i].qp->qp_num);
}

static void link_close(struct link *l)
{
	side_close(&l->side[0]);
	side_close(&l->side[1]);
}

/* From nothing to many packets, most of them no multiple of anything */
static uint32_t size_of(uint32_t n)
{
	static const uint32_t sizes[] = { 1, 64, 1023, 1024, 1025, 5000, 33333, 65536, 0, 4096 };

	return sizes[n % ARRAY_SIZE(sizes)];
}

static int side_recv(struct side *s, uint32_t n)
{
	struct ibv_sge sge = { (uintptr_t)s->buf + n % DEPTH * SLOT, SLOT, s->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = n, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(s->qp, &wr, &bad);
}

static int side_post(struct link *l, uint32_t n, enum ibv_wr_opcode op, uint32_t len)
{
	struct side *s = &l->side[0], *peer = &l->side[1];
	uint64_t off = n % DEPTH * SLOT;
	struct ibv_sge sge = { (uintptr_t)s->buf + off, len, s->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = n, .sg_list = &sge, .num_sge = !!len, .opcode = op,
		.send_flags = IBV_SEND_SIGNALED, .imm_data = htobe32(n),
		.wr.rdma = { (uintptr_t)peer->buf + off, peer->mr->rkey },
	}, *bad;

	return ibv_post_send(s->qp, &wr, &bad);
}

/* Completions come one by one, in order, and are successes */
static bool side_done(struct side *s, uint32_t n, struct ibv_wc *wc)
{
	if (!CHECK(wait_wc(s->cq, wc, 60000) == 1, "message %u: nothing", n))
		return false;
	return CHECK(wc->status == IBV_WC_SUCCESS, "message %u: %s", n,
		     ibv_wc_status_str(wc->status)) &&
	       CHECK(wc->wr_id == n, "completion %" PRIu64 " instead of %u", wc->wr_id, n);
}

static void sends(void)
{
	int count = messages(), posted = 0;
	struct link l = {};
	struct ibv_wc wc;

	link_open(&l, patience(), 7, 7);
	link_connect(&l);
	for (int i = 0; i < DEPTH; i++)
		CHECK_ERR(side_recv(&l.side[1], i), 0);
	for (int n = 0; n < count; n++) {
		for (; posted < count && posted < n + DEPTH; posted++) {
			fill(l.side[0].buf + posted % DEPTH * SLOT, size_of(posted), posted);
			NEED_OK(side_post(&l, posted, posted % 3 ? IBV_WR_SEND :
					  IBV_WR_SEND_WITH_IMM, size_of(posted)));
		}
		if (!side_done(&l.side[1], n, &wc))
			break;
		CHECK(wc.byte_len == size_of(n), "message %d: %u bytes", n, wc.byte_len);
		CHECK(n % 3 || be32toh(wc.imm_data) == (uint32_t)n, "message %d: immediate", n);
		CHECK_BYTES(l.side[1].buf + n % DEPTH * SLOT, size_of(n), n, "message");
		CHECK_ERR(side_recv(&l.side[1], n + DEPTH), 0);
		if (!side_done(&l.side[0], n, &wc))
			break;
	}
	WANT_EMPTY(l.side[0].cq);
	WANT_EMPTY(l.side[1].cq);
	link_close(&l);
}

/* A write's immediate says that all of it is there */
static void writes(void)
{
	int count = messages();
	struct link l = {};
	struct ibv_wc wc;

	link_open(&l, patience(), 7, 7);
	link_connect(&l);
	for (int n = 0; n < count; n++) {
		uint8_t *to = l.side[1].buf + n % DEPTH * SLOT;

		fill(l.side[0].buf + n % DEPTH * SLOT, size_of(n), n);
		memset(to, 0x5a, SLOT);
		CHECK_ERR(side_recv(&l.side[1], n), 0);
		NEED_OK(side_post(&l, n, IBV_WR_RDMA_WRITE_WITH_IMM, size_of(n)));
		if (!side_done(&l.side[1], n, &wc) || !side_done(&l.side[0], n, &wc))
			break;
		CHECK_BYTES(to, size_of(n), n, "write");
		CHECK(to[size_of(n)] == 0x5a, "write %d: a byte behind it", n);
	}
	link_close(&l);
}

static void reads(void)
{
	int count = messages(), posted = 0;
	struct link l = {};
	struct ibv_wc wc;

	link_open(&l, patience(), 7, 7);
	link_connect(&l);
	for (int n = 0; n < count; n++) {
		for (; posted < count && posted < n + DEPTH; posted++) {
			fill(l.side[1].buf + posted % DEPTH * SLOT, size_of(posted), posted);
			NEED_OK(side_post(&l, posted, IBV_WR_RDMA_READ, size_of(posted)));
		}
		if (!side_done(&l.side[0], n, &wc))
			break;
		CHECK_BYTES(l.side[0].buf + n % DEPTH * SLOT, size_of(n), n, "read");
	}
	link_close(&l);
}

/* Each is executed once, however often it was asked for */
static void atomics(void)
{
	int count = messages(), posted = 0;
	struct link l = {};
	struct ibv_wc wc;

	link_open(&l, patience(), 7, 7);
	link_connect(&l);
	for (int n = 0; n < count; n++) {
		uint64_t *got = (uint64_t *)(l.side[0].buf + n % DEPTH * SLOT);

		for (; posted < count && posted < n + DEPTH; posted++) {
			struct ibv_sge sge = { (uintptr_t)l.side[0].buf + posted % DEPTH * SLOT, 8,
					       l.side[0].mr->lkey };
			struct ibv_send_wr wr = {
				.wr_id = posted, .sg_list = &sge, .num_sge = 1,
				.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
				.send_flags = IBV_SEND_SIGNALED,
				.wr.atomic = { (uintptr_t)l.side[1].buf, 1, 0, l.side[1].mr->rkey },
			}, *bad;

			NEED_OK(ibv_post_send(l.side[0].qp, &wr, &bad));
		}
		if (!side_done(&l.side[0], n, &wc))
			break;
		if (!CHECK(*got == (uint64_t)n, "addition %d found %" PRIu64, n, *got))
			break;
	}
	CHECK(*(uint64_t *)l.side[1].buf == (uint64_t)count, "%d additions made %" PRIu64, count,
	      *(uint64_t *)l.side[1].buf);
	link_close(&l);
}

static uint64_t counter(int side, const char *what)
{
	const char *name = side ? getenv("UNIV_TEST_PEER") : dev_wanted();
	unsigned long long value = 0;
	char path[160];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/hw_counters/%s", name, what);
	f = fopen(path, "r");
	NEED(f && fscanf(f, "%llu", &value) == 1, "%s", path);
	fclose(f);
	/* What sysfs shows is cached for as long as "lifespan" says */
	return value;
}

static void wait_lifespan(void)
{
	sleep_ms(50);
}

/* The first try and as many more as were asked for, and then the right status */
static void counted_retries(void)
{
	for (uint8_t retries = 0; retries < 8; retries++) {
		struct link l = {};
		struct ibv_wc wc;
		uint64_t before;

		link_open(&l, 8, retries, 7);
		side_connect(&l, 0, 0xfffffd);
		setenv("UNIV_TEST_DEVICE", ibv_get_device_name(l.side[0].dev.ctx->device), 1);
		wait_lifespan();
		before = counter(0, "sent_pkts");
		NEED_OK(side_post(&l, 1, IBV_WR_SEND, 8));
		WANT_WC(l.side[0].cq, &wc, IBV_WC_RETRY_EXC_ERR);
		wait_lifespan();
		before = counter(0, "sent_pkts") - before;
		CHECK(before == retries + 1u, "retry_cnt %u: %" PRIu64 " packets", retries, before);
		link_close(&l);
	}
}

static void counted_rnr(void)
{
	for (uint8_t retries = 0; retries < 7; retries++) {
		struct link l = {};
		struct ibv_wc wc;
		uint64_t before;

		link_open(&l, 14, 7, retries);
		link_connect(&l);
		setenv("UNIV_TEST_DEVICE", ibv_get_device_name(l.side[0].dev.ctx->device), 1);
		wait_lifespan();
		before = counter(0, "rcvd_rnr_err");
		NEED_OK(side_post(&l, 1, IBV_WR_SEND, 8));
		WANT_WC(l.side[0].cq, &wc, IBV_WC_RNR_RETRY_EXC_ERR);
		wait_lifespan();
		before = counter(0, "rcvd_rnr_err") - before;
		CHECK(before == retries + 1u, "rnr_retry %u: %" PRIu64 " refusals", retries, before);
		link_close(&l);
	}
}

/* Either side goes at any moment, with everything under way */
static void destroyed(void)
{
	int rounds = test_rounds(60);

	for (int round = 0; round < rounds; round++) {
		struct side *victim;
		struct link l = {};
		uint64_t start;

		link_open(&l, 8, 7, 7);
		link_connect(&l);
		for (int n = 0; n < DEPTH / 2; n++)
			CHECK_ERR(side_recv(&l.side[1], n), 0);
		for (int n = 0; n < DEPTH; n++)
			CHECK_ERR(side_post(&l, n, n % 2 ? IBV_WR_SEND : IBV_WR_RDMA_READ, 20000), 0);
		sleep_ms(round * 7 % 50);
		victim = &l.side[round % 2];
		start = now_ns();
		CHECK_ERR(ibv_destroy_qp(victim->qp), 0);
		victim->qp = NULL;
		CHECK(now_ns() - start < 3000000000ull, "destroy_qp took %" PRIu64 " ms",
		      (now_ns() - start) / 1000000);
		link_close(&l);
	}
}

static int to_sqd(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };

	return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY);
}

static bool drained(struct side *s)
{
	struct pollfd fd = { .fd = s->dev.ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	while (poll(&fd, 1, 20000) == 1 && !ibv_get_async_event(s->dev.ctx, &event)) {
		ibv_ack_async_event(&event);
		if (event.event_type == IBV_EVENT_SQ_DRAINED)
			return event.element.qp == s->qp;
	}
	return false;
}

/* Slots from @n on have not been written to */
static void want_stale(struct link *l, int n)
{
	for (; n < DEPTH; n++)
		for (uint32_t i = 0; i < SLOT; i++)
			if (!CHECK(l->side[1].buf[n * SLOT + i] == 0x5a, "message %d has begun", n))
				return;
}

static bool draining(const struct side *s)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	NEED_OK(ibv_query_qp(s->qp, &a, IBV_QP_STATE, &init));
	return a.qp_state == IBV_QPS_SQD && a.sq_draining;
}

static void write_slots(struct link *l, int from, int until)
{
	for (int n = from; n < until; n++) {
		fill(l->side[0].buf + n * SLOT, SLOT, n);
		NEED_OK(side_post(l, n, IBV_WR_RDMA_WRITE, SLOT));
	}
}

/*
 * SQD with packets on their way, on a network that takes its time: they arrive and
 * are answered; what is posted meanwhile waits for RTS, and then goes where they went
 */
static void drains(void)
{
	const int begun = DEPTH / 2;
	struct link l = {};
	struct ibv_wc wc;

	for (int round = 0; round < 3; round++) {
		link_open(&l, 16, 7, 7);
		link_connect(&l);
		memset(l.side[1].buf, 0x5a, SIZE);
		write_slots(&l, 0, begun);
		CHECK_ERR(to_sqd(l.side[0].qp), 0);
		CHECK(draining(&l.side[0]), "nothing was under way");
		write_slots(&l, begun, DEPTH);
		CHECK(drained(&l.side[0]), "not drained");
		CHECK(!draining(&l.side[0]), "drained, and still at it");
		for (int n = 0; n < begun; n++)
			side_done(&l.side[0], n, &wc);
		sleep_ms(100);
		WANT_EMPTY(l.side[0].cq);
		want_stale(&l, begun);
		CHECK_ERR(qp_to_state(l.side[0].qp, IBV_QPS_RTS), 0);
		for (int n = begun; n < DEPTH; n++)
			side_done(&l.side[0], n, &wc);
		for (int n = 0; n < DEPTH; n++)
			CHECK_BYTES(l.side[1].buf + n * SLOT, SLOT, n, "write");
		link_close(&l);
	}
}

static const struct test_case cases[] = {
	{ "sends", sends },
	{ "writes", writes },
	{ "reads", reads },
	{ "atomics", atomics },
	{ "counted_retries", counted_retries },
	{ "counted_rnr", counted_rnr },
	{ "destroyed", destroyed },
	{ "drains", drains },
};

TEST_MAIN("lossy (adv19 adv20)", cases, 120)
