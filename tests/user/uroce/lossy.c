// SPDX-License-Identifier: GPL-2.0
/*
 * adv19, adv20. Two devices are connected by a network that loses, duplicates, reorders and
 * damages packets. The received bytes are the sent ones, once and in order. The script that
 * runs this program makes the network; UNIV_TEST_PEER names the second device.
 */
#include "side.h"
#include <univerbs.h>

#define DEPTH	16
#define SLOT	(96u << 10)
#define SIZE	(DEPTH * SLOT)

struct link {
	struct side side[2];
	uint8_t timeout, retry_cnt, rnr_retry;
};

static int messages(void)
{
	const char *n = getenv("LOSSY_MESSAGES");

	return test_rounds(n ? atoi(n) : 200);
}

/* The exponent of the ACK timeout, which is larger for a slower network. */
static uint8_t patience(void)
{
	const char *timeout = getenv("LOSSY_TIMEOUT");

	return timeout ? atoi(timeout) : 10;
}

/* Did it fail since there is no GID at the index, or one that the device does not take? */
static bool address_is_away(int err)
{
	return err == EINVAL &&
	       (why_reason() == UNIV_REASON_GID_INDEX || why_reason() == UNIV_REASON_DEVICE_REFUSED);
}

/*
 * With LOSSY_ADDRESS_GOES the kernel removes the address for a moment now and then, and adds it at
 * any index. A connection that is made just then fails, and is tried again.
 */
static void to_rtr(struct side *s, struct ibv_qp_attr *a)
{
	const int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	int again = 0, most = getenv("LOSSY_ADDRESS_GOES") ? 10 : 0, err;

	while (address_is_away(err = ibv_modify_qp(s->qp, a, mask)) && again < most) {
		again++;
		sleep_ms(50);
		a->ah_attr.grh.sgid_index = gid_index_of(&s->dev, &s->dev.gid);
	}
	NEED(!err, "to RTR: %s; %s", err_name(err), why_text());
	repeated(again, "the address was not there");
}

static void side_connect(struct link *l, int i, uint32_t dest)
{
	struct side *s = &l->side[i], *peer = &l->side[!i];
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = dest,
		/* Packet sequence numbers wrap during the test. */
		.rq_psn = 0xffff80, .max_dest_rd_atomic = 4, .min_rnr_timer = 12,
	};

	ah_attr_to(&s->dev, &a.ah_attr);
	a.ah_attr.grh.dgid = peer->dev.gid;
	NEED_OK(qp_to_init(s->qp));
	to_rtr(s, &a);
	a = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .sq_psn = 0xffff80, .timeout = l->timeout,
		.retry_cnt = l->retry_cnt, .rnr_retry = l->rnr_retry, .max_rd_atomic = 4,
	};
	NEED_OK(ibv_modify_qp(s->qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
			      IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC));
}

/* A command of the script: LOSSY_CONNECTING runs before a connection is made, LOSSY_CONNECTED after. */
static void command(const char *name)
{
	const char *text = getenv(name);

	if (text)
		NEED(!system(text), "%s fails", text);
}

static void link_open(struct link *l, uint8_t timeout, uint8_t retry_cnt, uint8_t rnr_retry)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { DEPTH, DEPTH, 1, 1, 64 },
	};

	command("LOSSY_CONNECTING");
	l->timeout = timeout;
	l->retry_cnt = retry_cnt;
	l->rnr_retry = rnr_retry;
	sides_open(l->side, init, SIZE);
}

static void link_connect(struct link *l)
{
	for (int i = 0; i < 2; i++)
		side_connect(l, i, l->side[!i].qp->qp_num);
	command("LOSSY_CONNECTED");
}

static void link_close(struct link *l)
{
	side_close(&l->side[0]);
	side_close(&l->side[1]);
}

/* Sizes from zero to many packets, most of them not a multiple of the MTU. */
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

/* Completions arrive in the order of the requests, and each is a success. */
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

/* The immediate of a write arrives only after all of its bytes. */
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

/* Each atomic is executed once, however often its request is sent again. */
static void add_up(struct link *l)
{
	int count = messages(), posted = 0;
	struct ibv_wc wc;

	for (int n = 0; n < count; n++) {
		uint64_t *got = (uint64_t *)(l->side[0].buf + n % DEPTH * SLOT);

		for (; posted < count && posted < n + DEPTH; posted++) {
			struct ibv_sge sge = { (uintptr_t)l->side[0].buf + posted % DEPTH * SLOT, 8,
					       l->side[0].mr->lkey };
			struct ibv_send_wr wr = {
				.wr_id = posted, .sg_list = &sge, .num_sge = 1,
				.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
				.send_flags = IBV_SEND_SIGNALED,
				.wr.atomic = { (uintptr_t)l->side[1].buf, 1, 0, l->side[1].mr->rkey },
			}, *bad;

			NEED_OK(ibv_post_send(l->side[0].qp, &wr, &bad));
		}
		if (!side_done(&l->side[0], n, &wc))
			break;
		if (!CHECK(*got == (uint64_t)n, "addition %d found %" PRIu64, n, *got))
			break;
	}
	CHECK(*(uint64_t *)l->side[1].buf == (uint64_t)count, "%d additions made %" PRIu64, count,
	      *(uint64_t *)l->side[1].buf);
}

static void atomics(void)
{
	struct link l = {};

	link_open(&l, patience(), 7, 7);
	link_connect(&l);
	add_up(&l);
	link_close(&l);
}

/*
 * The requester sends the first try and exactly as many retries as retry_cnt allows, then
 * completes with IBV_WC_RETRY_EXC_ERR.
 */
static void counted_retries(void)
{
	for (uint8_t retries = 0; retries < 8; retries++) {
		struct link l = {};
		struct ibv_wc wc;
		const char *near;
		uint64_t before;

		link_open(&l, 8, retries, 7);
		side_connect(&l, 0, 0xfffffd);
		near = ibv_get_device_name(l.side[0].dev.ctx->device);
		before = hw_counter(near, "sent_pkts");
		NEED_OK(side_post(&l, 1, IBV_WR_SEND, 8));
		WANT_WC(l.side[0].cq, &wc, IBV_WC_RETRY_EXC_ERR);
		before = hw_counter(near, "sent_pkts") - before;
		CHECK(before == retries + 1u, "retry_cnt %u: %" PRIu64 " packets", retries, before);
		link_close(&l);
	}
}

static void counted_rnr(void)
{
	for (uint8_t retries = 0; retries < 7; retries++) {
		struct link l = {};
		struct ibv_wc wc;
		const char *near;
		uint64_t before;

		link_open(&l, 14, 7, retries);
		link_connect(&l);
		near = ibv_get_device_name(l.side[0].dev.ctx->device);
		before = hw_counter(near, "rcvd_rnr_err");
		NEED_OK(side_post(&l, 1, IBV_WR_SEND, 8));
		WANT_WC(l.side[0].cq, &wc, IBV_WC_RNR_RETRY_EXC_ERR);
		before = hw_counter(near, "rcvd_rnr_err") - before;
		CHECK(before == retries + 1u, "rnr_retry %u: %" PRIu64 " refusals", retries, before);
		link_close(&l);
	}
}

/* Either side is destroyed at any moment, with messages under way. */
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
		CHECK(now_ns() - start < 20000000000ull * test_slowness(), "destroy_qp took %" PRIu64 " ms",
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

/* No byte was written to the slots from @n on. */
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

/* Take the completions, which are in order, and return their number. */
static int taken(struct side *s)
{
	struct ibv_wc wc;
	int n = 0;

	while (ibv_poll_cq(s->cq, 1, &wc) == 1 &&
	       CHECK(wc.status == IBV_WC_SUCCESS && wc.wr_id == (uint64_t)n, "message %d: %s, %" PRIu64, n,
		     ibv_wc_status_str(wc.status), wc.wr_id))
		n++;
	return n;
}

/*
 * SQD with packets under way, on a slow network. The requests that have begun arrive and
 * are acknowledged. Requests that were posted before SQD but had to wait, and requests
 * posted in SQD, wait for RTS, and then go to the same destination.
 */
static void drains(void)
{
	struct link l = {};
	struct ibv_wc wc;
	int seen = 0, waited = 0, n;

	for (int round = 0; round < 3; round++) {
		link_open(&l, 16, 7, 7);
		link_connect(&l);
		memset(l.side[1].buf, 0x5a, SIZE);
		write_slots(&l, 0, DEPTH / 2);
		CHECK_ERR(to_sqd(l.side[0].qp), 0);
		seen += draining(&l.side[0]);
		write_slots(&l, DEPTH / 2, DEPTH);
		CHECK(drained(&l.side[0]), "not drained");
		CHECK(!draining(&l.side[0]), "drained, and still at it");
		n = taken(&l.side[0]);
		CHECK(n >= 1 && n <= DEPTH / 2, "%d messages had begun", n);
		waited += n < DEPTH / 2;
		sleep_ms(100);
		WANT_EMPTY(l.side[0].cq);
		want_stale(&l, n);
		CHECK_ERR(qp_to_state(l.side[0].qp, IBV_QPS_RTS), 0);
		for (; n < DEPTH; n++)
			side_done(&l.side[0], n, &wc);
		for (n = 0; n < DEPTH; n++)
			CHECK_BYTES(l.side[1].buf + n * SLOT, SLOT, n, "write");
		link_close(&l);
	}
	CHECK(seen, "nothing was under way");
	/* The window has no room for all requests, so some have not begun. */
	CHECK(waited, "all requests that were posted before SQD were executed");
}

/*
 * Attributes changed in SQD apply from then on: with a short timeout and no retries, the
 * requester gives up on a missing peer at once.
 */
static void changed(void)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_SQD, .timeout = 1, .retry_cnt = 0 };
	struct link l = {};
	struct ibv_wc wc;
	uint64_t start;

	link_open(&l, 20, 7, 7);
	link_connect(&l);
	NEED_OK(side_post(&l, 0, IBV_WR_RDMA_WRITE, 1));
	side_done(&l.side[0], 0, &wc);
	NEED_OK(to_sqd(l.side[0].qp));
	CHECK(drained(&l.side[0]), "the queue is not drained");
	NEED_OK(ibv_modify_qp(l.side[0].qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT));
	NEED_OK(qp_to_state(l.side[0].qp, IBV_QPS_RTS));
	NEED_OK(qp_to_state(l.side[1].qp, IBV_QPS_ERR));
	start = now_ns();
	NEED_OK(side_post(&l, 1, IBV_WR_RDMA_WRITE, 1));
	CHECK(wait_wc(l.side[0].cq, &wc, 60000) == 1 && wc.status == IBV_WC_RETRY_EXC_ERR,
	      "no end of retries");
	/* The former attributes meant eight tries of 4.3 s each. */
	CHECK(now_ns() - start < 20000000000ull, "after %" PRIu64 " ms",
	      (now_ns() - start) / 1000000);
	link_close(&l);
}

/*
 * A responder that was set to a larger max_dest_rd_atomic keeps that many results, so
 * repeated atomics are not executed twice.
 */
static void more_atomics(void)
{
	struct ibv_qp_attr a = { .max_rd_atomic = 16, .max_dest_rd_atomic = 16 };
	struct link l = {};

	/* If the guest stalls for a moment, the eight tries must not run out. */
	link_open(&l, 16, 7, 7);
	link_connect(&l);
	for (int i = 1; i >= 0; i--) {
		a.qp_state = IBV_QPS_SQD;
		NEED_OK(to_sqd(l.side[i].qp));
		CHECK(drained(&l.side[i]), "the queue is not drained");
		NEED_OK(ibv_modify_qp(l.side[i].qp, &a, IBV_QP_STATE | IBV_QP_MAX_QP_RD_ATOMIC |
				      IBV_QP_MAX_DEST_RD_ATOMIC));
		NEED_OK(qp_to_state(l.side[i].qp, IBV_QPS_RTS));
	}
	add_up(&l);
	link_close(&l);
}

/*
 * Their responses together exceed the packets that one connection, or one of many users of
 * the device, may have under way.
 */
#define ENDED	32

/*
 * The far queue pair reads memory of the near one, and is in the error state when the
 * response comes.
 */
static void read_and_end(struct link *l)
{
	struct side *far = &l->side[1], *near = &l->side[0];
	struct ibv_sge sge = { .length = 32 << 10 };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_READ,
	}, *bad;

	link_open(l, 16, 7, 7);
	link_connect(l);
	sge.addr = (uintptr_t)far->buf;
	sge.lkey = far->mr->lkey;
	wr.wr.rdma.remote_addr = (uintptr_t)near->buf;
	wr.wr.rdma.rkey = near->mr->rkey;
	NEED_OK(ibv_post_send(far->qp, &wr, &bad));
	NEED_OK(qp_to_state(far->qp, IBV_QPS_ERR));
}

/*
 * A packet is charged to the sender's namespace until it arrives. Responses to queue pairs
 * in the error state are dropped on arrival. They must give the charge back, so that other
 * senders of that namespace are not held up.
 */
static void answers_in_error(void)
{
	static struct link ended[ENDED];
	struct link l = {};
	struct ibv_wc wc;

	for (int i = 0; i < ENDED; i++)
		read_and_end(&ended[i]);
	sleep_ms(300);
	link_open(&l, 16, 7, 7);
	link_connect(&l);
	NEED_OK(side_post(&l, 1, IBV_WR_RDMA_WRITE, 5000));
	side_done(&l.side[0], 1, &wc);
	link_close(&l);
	for (int i = 0; i < ENDED; i++)
		link_close(&ended[i]);
}

/* The buffers of finished writes get bytes that a program which holds packets looks for: see tools/sniff.c. */
static void reused(void)
{
	struct link l = {};
	struct ibv_wc wc;

	link_open(&l, patience(), 7, 7);
	link_connect(&l);
	for (uint32_t n = 0; n < DEPTH; n++) {
		NEED_OK(side_post(&l, n, IBV_WR_RDMA_WRITE, 65536));
		if (!side_done(&l.side[0], n, &wc))
			break;
	}
	memset(l.side[0].buf, atoi(getenv("SNIFF_SECRET")), SIZE);
	link_close(&l);
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
	{ "changed", changed },
	{ "more_atomics", more_atomics },
	{ "answers_in_error", answers_in_error },
	{ "reused", reused },
};

TEST_MAIN("lossy (adv19 adv20)", cases, 120)
