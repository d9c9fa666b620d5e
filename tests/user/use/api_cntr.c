// SPDX-License-Identifier: GPL-2.0
/*
 * Completion counters as programs use them: each operation is counted where it was asked
 * for, whether it is signaled or not, and failures are counted apart.
 */
#include "xrc.h"

#define LEN 3000

static struct pair p;

static struct ibv_comp_cntr *new_cntr(enum ibv_comp_cntr_type type)
{
	struct ibv_comp_cntr_init_attr attr = { .type = type };
	struct ibv_comp_cntr *cntr = ibv_create_comp_cntr(p.dev.ctx, &attr);

	NEED_PTR(cntr, "create_comp_cntr");
	CHECK(cntr->context == p.dev.ctx, "another context");
	return cntr;
}

static int attach(int i, struct ibv_comp_cntr *cntr, uint32_t ops)
{
	struct ibv_qp_attach_comp_cntr_attr attr = { .op_mask = ops };

	return ibv_qp_attach_comp_cntr(p.qp[i], cntr, &attr);
}

static uint64_t done(struct ibv_comp_cntr *cntr)
{
	uint64_t value = ~0ull;

	CHECK_ERR(ibv_read_comp_cntr(cntr, &value), 0);
	return value;
}

static uint64_t failed(struct ibv_comp_cntr *cntr)
{
	uint64_t value = ~0ull;

	CHECK_ERR(ibv_read_err_comp_cntr(cntr, &value), 0);
	return value;
}

/* Wait for an unsignaled request, or one of the peer. */
static void want_done(struct ibv_comp_cntr *cntr, uint64_t want, const char *what)
{
	uint64_t end = deadline_ms(WC_TIMEOUT);

	while (done(cntr) < want && now_ns() < end)
		sched_yield();
	CHECK(done(cntr) == want, "%s: %" PRIu64 " counted, expected %" PRIu64, what, done(cntr), want);
	CHECK(!failed(cntr), "%s: %" PRIu64 " failures", what, failed(cntr));
}

static bool offered(void)
{
	struct ibv_comp_cntr_init_attr attr = { 0 };
	struct ibv_comp_cntr_caps caps;
	struct test_dev dev;
	bool offers;

	dev_open(&dev);
	offers = raw_offers(dev.ctx->cmd_fd, UNIV_FEATURE_CNTRS);
	CHECK(offers || !on_uroce(), "uroce offers no counters");
	memset(&caps, 0xff, sizeof(caps));
	CHECK_ERR(ibv_query_comp_cntr_caps(dev.ctx, &caps), offers ? 0 : EOPNOTSUPP);
	if (offers) {
		CHECK(caps.max_value == UINT64_MAX, "max_value %" PRIu64, caps.max_value);
		CHECK(caps.max_counters >= 1000, "max_counters %u", caps.max_counters);
		CHECK(caps.supported_qp_attach_ops == 0x3f, "operations %#x",
		      caps.supported_qp_attach_ops);
	} else {
		CHECK(all_zero(&caps, sizeof(caps)), "the capabilities are not zero");
		CHECK_NULL(ibv_create_comp_cntr(dev.ctx, &attr), EOPNOTSUPP);
	}
	dev_close(&dev);
	return offers;
}

static void open_reset(enum ibv_qp_type type, int sig_all)
{
	struct pair_want want = { .stay_reset = 1, .type = type, .sig_all = sig_all };

	pair_open(&p, &want);
}

static void connect_both(void)
{
	for (int i = 0; i < 2; i++)
		qp_connect(&p.dev, p.qp[i], p.qp[!i]->qp_num, &p.want);
}

/* A counter can be destroyed when the queue pairs that it is attached to are gone. */
static void close_with(struct ibv_comp_cntr **cntrs, size_t count)
{
	for (int i = 0; i < 2; i++) {
		CHECK_ERR(ibv_destroy_qp(p.qp[i]), 0);
		p.qp[i] = NULL;
	}
	for (size_t i = 0; i < count; i++)
		CHECK_ERR(ibv_destroy_comp_cntr(cntrs[i]), 0);
	pair_close(&p);
}

static void values(void)
{
	struct univ_cntr_create raw = { .type = UNIV_CNTR_WRS };
	struct ibv_comp_cntr *cntr;
	int fd;

	open_reset(IBV_QPT_RC, 0);
	cntr = new_cntr(IBV_COMP_CNTR_TYPE_WRS);
	want_done(cntr, 0, "a new counter");
	CHECK_ERR(ibv_set_comp_cntr(cntr, UINT64_MAX - 1), 0);
	CHECK_ERR(ibv_inc_comp_cntr(cntr, 5), 0);
	want_done(cntr, 3, "behind the highest value");
	CHECK_ERR(ibv_set_err_comp_cntr(cntr, 7), 0);
	CHECK_ERR(ibv_inc_err_comp_cntr(cntr, 2), 0);
	CHECK(failed(cntr) == 9, "%" PRIu64 " failures", failed(cntr));
	CHECK(done(cntr) == 3, "failures are added to %" PRIu64, done(cntr));
	CHECK_ERR(ibv_destroy_comp_cntr(cntr), 0);
	pair_close(&p);
	/* The process cannot write the values by itself. */
	fd = raw_open();
	NEED_OK(raw_call(fd, UNIV_CNTR_CREATE, &raw));
	CHECK(mmap(NULL, raw.map_length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, raw.map_offset) ==
	      MAP_FAILED && errno == EPERM, "the values can be mapped for writing");
	close(fd);
}

/* Does a queue pair of the type execute the operation of the bit? Reads need RC. */
static bool executes(enum ibv_qp_type type, int op)
{
	return type == IBV_QPT_RC || (op != 2 && op != 3);
}

/* Each operation, with one counter for each side and operation. */
static void operations_of(enum ibv_qp_type type, int sig_all)
{
	struct ibv_comp_cntr *cntr[2][6];
	bool rc = type == IBV_QPT_RC;
	struct ibv_wc wc;

	open_reset(type, sig_all);
	for (int i = 0; i < 2; i++)
		for (int op = 0; op < 6; op++) {
			cntr[i][op] = new_cntr(op % 2 ? IBV_COMP_CNTR_TYPE_BYTES :
							IBV_COMP_CNTR_TYPE_WRS);
			CHECK_ERR(attach(i, cntr[i][op], 1 << op),
				  executes(type, op) ? 0 : EOPNOTSUPP);
		}
	connect_both();
	CHECK_ERR(post_recv_at(&p, 1, 1, 0, LEN), 0);
	CHECK_ERR(post_recv_at(&p, 1, 1, 0, LEN), 0);
	CHECK_ERR(post_send_at(&p, 0, 2, 0, LEN, 0), 0);
	CHECK_ERR(post_rdma(&p, 0, 3, IBV_WR_RDMA_WRITE, 100, 0), 0);
	CHECK_ERR(post_rdma(&p, 0, 4, IBV_WR_RDMA_WRITE_WITH_IMM, 20, 0), 0);
	if (rc)
		CHECK_ERR(post_rdma(&p, 0, 5, IBV_WR_RDMA_READ, LEN, 0), 0);
	CHECK_ERR(post_rdma(&p, 0, 6, IBV_WR_RDMA_WRITE, LEN, IBV_SEND_SIGNALED), 0);
	/* A completion is counted before it is visible. */
	for (int n = sig_all ? 4 + rc : 1; n; n--)
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	want_done(cntr[0][0], 1, "sends");
	want_done(cntr[0][2], rc, "reads");
	want_done(cntr[0][4], 3, "writes");
	want_done(cntr[0][1], 0, "receives of the sender");
	want_done(cntr[0][5], 0, "writes to the sender");
	want_done(cntr[1][1], LEN + 20, "bytes received");
	want_done(cntr[1][3], rc ? LEN : 0, "bytes that the peer read");
	want_done(cntr[1][5], 120 + LEN, "bytes that the peer wrote");
	want_done(cntr[1][4], 0, "writes of the receiver");
	for (int i = 0; i < 2; i++)
		for (int op = 0; op < 6; op++)
			if (executes(type, op))
				CHECK_ERR(ibv_destroy_comp_cntr(cntr[i][op]), EBUSY);
	CHECK(strstr(why_text(), "completion counter"), "explained as: %s", why_text());
	close_with(&cntr[0][0], 12);
}

static void operations(void)
{
	operations_of(IBV_QPT_RC, 0);
	operations_of(IBV_QPT_RC, 1);
}

static void unreliable(void)
{
	operations_of(IBV_QPT_UC, 0);
}

/* A receive of a datagram has 40 bytes more than its message, as in byte_len. */
static void datagrams(void)
{
	struct ibv_comp_cntr *sent, *received;
	struct ibv_wc wc;

	open_reset(IBV_QPT_UD, 0);
	sent = new_cntr(IBV_COMP_CNTR_TYPE_BYTES);
	received = new_cntr(IBV_COMP_CNTR_TYPE_BYTES);
	CHECK_ERR(attach(0, sent, IBV_QP_ATTACH_COMP_CNTR_OP_SEND), 0);
	CHECK_ERR(attach(1, received, IBV_QP_ATTACH_COMP_CNTR_OP_RECV), 0);
	CHECK_ERR(attach(1, received, IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE), EOPNOTSUPP);
	pair_make_ready(&p);
	CHECK_ERR(post_recv_at(&p, 1, 1, 0, 1000), 0);
	CHECK_ERR(post_send_at(&p, 0, 2, 0, 500, 0), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	CHECK(done(received) == wc.byte_len && wc.byte_len == 540,
	      "%" PRIu64 " bytes of %u", done(received), wc.byte_len);
	want_done(sent, 500, "bytes of datagrams");
	close_with((struct ibv_comp_cntr *[]){ sent, received }, 2);
}

/* Receives of a shared queue belong to the queue pair that the message arrives at. */
static void shared_receives(void)
{
	struct pair_want want = { .stay_reset = 1, .use_srq = 1 };
	struct ibv_comp_cntr *sent, *bytes, *received, *other;
	struct ibv_wc wc;

	pair_open(&p, &want);
	sent = new_cntr(IBV_COMP_CNTR_TYPE_WRS);
	bytes = new_cntr(IBV_COMP_CNTR_TYPE_BYTES);
	received = new_cntr(IBV_COMP_CNTR_TYPE_WRS);
	other = new_cntr(IBV_COMP_CNTR_TYPE_WRS);
	CHECK_ERR(attach(0, sent, IBV_QP_ATTACH_COMP_CNTR_OP_SEND), 0);
	CHECK_ERR(attach(0, other, IBV_QP_ATTACH_COMP_CNTR_OP_RECV), 0);
	CHECK_ERR(attach(1, received, IBV_QP_ATTACH_COMP_CNTR_OP_RECV), 0);
	CHECK_ERR(attach(1, bytes, IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE), 0);
	connect_both();
	for (int i = 0; i < 2; i++)
		CHECK_ERR(post_recv_at(&p, 1, i, 0, 100), 0);
	CHECK_ERR(post_send_at(&p, 0, 1, 0, 16, IBV_SEND_INLINE), 0);
	/* A message of no bytes counts as a request. */
	CHECK_ERR(post_send_at(&p, 0, 2, 0, 0, 0), 0);
	CHECK_ERR(post_rdma(&p, 0, 3, IBV_WR_RDMA_WRITE, 0, 0), 0);
	/* More than uroce copies in one turn counts once. */
	CHECK_ERR(post_rdma(&p, 0, 4, IBV_WR_RDMA_WRITE, PAIR_HALF, IBV_SEND_SIGNALED), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	for (int i = 0; i < 2; i++)
		WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	want_done(sent, 2, "sends");
	want_done(received, 2, "receives of the shared queue");
	want_done(other, 0, "receives of the other queue pair");
	want_done(bytes, PAIR_HALF, "bytes that the peer wrote");
	close_with((struct ibv_comp_cntr *[]){ sent, bytes, received, other }, 4);
}

/* The initiator counts; the target, whose handles processes share, does not. */
static void initiator(void)
{
	struct ibv_qp_attach_comp_cntr_attr attr = { .op_mask = IBV_QP_ATTACH_COMP_CNTR_OP_SEND |
		IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE };
	struct ibv_comp_cntr_init_attr init = { .type = IBV_COMP_CNTR_TYPE_BYTES };
	struct ibv_comp_cntr *cntr;
	struct xrc x;

	xrc_open(&x, -1);
	cntr = ibv_create_comp_cntr(x.dev.ctx, &init);
	NEED_PTR(cntr, "create_comp_cntr");
	NEED_OK(qp_to_state(x.ini, IBV_QPS_RESET));
	NEED_OK(qp_to_state(x.tgt, IBV_QPS_RESET));
	CHECK_ERR(ibv_qp_attach_comp_cntr(x.ini, cntr, &attr), 0);
	CHECK_ERR(ibv_qp_attach_comp_cntr(x.tgt, cntr, &attr), EOPNOTSUPP);
	CHECK(strstr(why_text(), "XRC"), "explained as: %s", why_text());
	attr.op_mask = IBV_QP_ATTACH_COMP_CNTR_OP_RECV;
	CHECK_ERR(ibv_qp_attach_comp_cntr(x.ini, cntr, &attr), EOPNOTSUPP);
	reconnect(&x);
	sends(&x, 0, 100, 1);
	does(&x, IBV_WR_RDMA_WRITE, x.srqn[0], 0, 20, IBV_WC_SUCCESS);
	want_done(cntr, 120, "bytes of the initiator");
	CHECK_ERR(ibv_destroy_qp(x.ini), 0);
	x.ini = NULL;
	CHECK_ERR(ibv_destroy_comp_cntr(cntr), 0);
	xrc_close(&x);
}

static void failures(void)
{
	struct ibv_comp_cntr *sends, *receives;
	struct ibv_wc wc;

	open_reset(IBV_QPT_RC, 0);
	sends = new_cntr(IBV_COMP_CNTR_TYPE_BYTES);
	receives = new_cntr(IBV_COMP_CNTR_TYPE_WRS);
	CHECK_ERR(attach(0, sends, IBV_QP_ATTACH_COMP_CNTR_OP_SEND), 0);
	CHECK_ERR(attach(1, receives, IBV_QP_ATTACH_COMP_CNTR_OP_RECV), 0);
	connect_both();
	for (int i = 0; i < 3; i++)
		CHECK_ERR(post_recv_at(&p, 1, i, 0, 10), 0);
	CHECK_ERR(post_send_at(&p, 0, 1, 0, 10, 0), 0);
	/* The message is too long for the receive request, so both sides fail. */
	CHECK_ERR(post_send_at(&p, 0, 2, 0, 11, 0), 0);
	CHECK_ERR(post_send_at(&p, 0, 3, 0, 10, 0), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_REM_INV_REQ_ERR);
	WANT_WC(p.cq[0], &wc, IBV_WC_WR_FLUSH_ERR);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	WANT_WC(p.cq[1], &wc, IBV_WC_LOC_LEN_ERR);
	WANT_WC(p.cq[1], &wc, IBV_WC_WR_FLUSH_ERR);
	CHECK(done(sends) == 10 && failed(sends) == 2, "sends: %" PRIu64 " bytes, %" PRIu64 " failures",
	      done(sends), failed(sends));
	CHECK(done(receives) == 1 && failed(receives) == 2,
	      "receives: %" PRIu64 ", %" PRIu64 " failures", done(receives), failed(receives));
	close_with((struct ibv_comp_cntr *[]){ sends, receives }, 2);
}

/* One counter for several queue pairs, and what an attachment requires. */
static void attachment(void)
{
	struct ibv_qp_attach_comp_cntr_attr attr = { .comp_mask = 1, .op_mask = 1 };
	struct ibv_comp_cntr_init_attr init = { .comp_mask = 4 };
	struct ibv_comp_cntr *cntr, *other;
	struct ibv_wc wc;

	open_reset(IBV_QPT_RC, 0);
	CHECK_NULL(ibv_create_comp_cntr(p.dev.ctx, &init), EOPNOTSUPP);
	init = (struct ibv_comp_cntr_init_attr){ .flags = 1 };
	CHECK_NULL(ibv_create_comp_cntr(p.dev.ctx, &init), EOPNOTSUPP);
	init = (struct ibv_comp_cntr_init_attr){ .type = 9 };
	CHECK_NULL(ibv_create_comp_cntr(p.dev.ctx, &init), EOPNOTSUPP);
	cntr = new_cntr(IBV_COMP_CNTR_TYPE_WRS);
	other = new_cntr(IBV_COMP_CNTR_TYPE_WRS);
	CHECK_ERR(ibv_qp_attach_comp_cntr(p.qp[0], cntr, &attr), EOPNOTSUPP);
	CHECK_ERR(attach(0, cntr, 0), EINVAL);
	CHECK(strstr(why_text(), "IBV_QP_ATTACH_COMP_CNTR_OP_SEND"), "explained as: %s", why_text());
	CHECK_ERR(attach(0, cntr, 1 << 6), EOPNOTSUPP);
	CHECK(strstr(why_text(), "op_mask"), "explained as: %s", why_text());
	CHECK_ERR(attach(0, cntr, IBV_QP_ATTACH_COMP_CNTR_OP_SEND), 0);
	CHECK_ERR(attach(0, other, IBV_QP_ATTACH_COMP_CNTR_OP_SEND |
				   IBV_QP_ATTACH_COMP_CNTR_OP_RECV), EBUSY);
	CHECK(strstr(why_text(), "already for IBV_QP_ATTACH_COMP_CNTR_OP_SEND"), "explained as: %s",
	      why_text());
	NEED_OK(qp_to_init(p.qp[0]));
	CHECK_ERR(attach(0, cntr, IBV_QP_ATTACH_COMP_CNTR_OP_RECV), 0);
	CHECK_ERR(attach(1, cntr, IBV_QP_ATTACH_COMP_CNTR_OP_SEND |
				  IBV_QP_ATTACH_COMP_CNTR_OP_RECV), 0);
	NEED_OK(qp_to_state(p.qp[0], IBV_QPS_RESET));
	connect_both();
	CHECK_ERR(attach(0, other, IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE), EINVAL);
	CHECK(strstr(why_text(), "RESET or INIT"), "explained as: %s", why_text());
	CHECK(pair_works(&p), "the pair does not work");
	want_done(cntr, 4, "two messages");
	want_done(other, 0, "a counter that is not attached");
	/* A counter stays attached over a reset. */
	for (int i = 0; i < 2; i++)
		NEED_OK(qp_to_state(p.qp[i], IBV_QPS_RESET));
	connect_both();
	CHECK_ERR(post_recv_at(&p, 1, 1, 0, LEN), 0);
	CHECK_ERR(post_send_at(&p, 0, 2, 0, 10, IBV_SEND_SIGNALED), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	want_done(cntr, 6, "three messages");
	close_with((struct ibv_comp_cntr *[]){ cntr, other }, 2);
}

/*
 * Counters of the requester and of receives leave the short way of the peer's writes and
 * reads open, and a counter of the peer's writes that of its reads.
 */
static void short_way(void)
{
	struct ibv_comp_cntr *sent, *received, *written;
	struct ibv_wc wc;

	open_reset(IBV_QPT_RC, 0);
	sent = new_cntr(IBV_COMP_CNTR_TYPE_WRS);
	received = new_cntr(IBV_COMP_CNTR_TYPE_WRS);
	written = new_cntr(IBV_COMP_CNTR_TYPE_BYTES);
	CHECK_ERR(attach(0, sent, IBV_QP_ATTACH_COMP_CNTR_OP_SEND |
				  IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_READ |
				  IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE), 0);
	CHECK_ERR(attach(1, received, IBV_QP_ATTACH_COMP_CNTR_OP_RECV), 0);
	CHECK_ERR(attach(0, written, IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE), 0);
	connect_both();
	for (int i = 0; i < 3; i++) {
		CHECK_ERR(post_recv_at(&p, 1, i, 0, 8), 0);
		CHECK_ERR(post_send_at(&p, 0, i, 0, 8, 0), 0);
		CHECK_ERR(post_rdma(&p, 0, i, IBV_WR_RDMA_READ, 8, 0), 0);
		CHECK_ERR(post_rdma(&p, 0, i, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
		want_done(sent, 3 * (i + 1), "requests");
		WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
		want_done(received, i + 1, "receives");
		CHECK_ERR(post_rdma(&p, 1, i, IBV_WR_RDMA_READ, 8, 0), 0);
		CHECK_ERR(post_rdma(&p, 1, i, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
		WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
		want_done(written, 8 * (i + 1), "bytes that the peer wrote");
	}
	want_done(sent, 9, "requests, with those of the peer");
	close_with((struct ibv_comp_cntr *[]){ sent, received, written }, 3);
}

/* A queue pair counts only operations that its type executes. */
static void types(void)
{
	static const struct { enum ibv_qp_type type; uint32_t ops; } want[] = {
		{ IBV_QPT_RC, 0x3f }, { IBV_QPT_UC, 0x33 }, { IBV_QPT_UD, 0x03 },
	};
	struct ibv_comp_cntr *cntr;
	struct ibv_qp *qp;

	open_reset(IBV_QPT_RC, 0);
	cntr = new_cntr(IBV_COMP_CNTR_TYPE_WRS);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		struct ibv_qp_init_attr init = { .send_cq = p.cq[0], .recv_cq = p.cq[0],
			.qp_type = want[i].type, .cap = { 4, 4, 1, 1, 0 } };

		qp = ibv_create_qp(p.pd, &init);
		NEED_PTR(qp, "create_qp");
		for (int op = 0; op < 6; op++) {
			struct ibv_qp_attach_comp_cntr_attr attr = { .op_mask = 1 << op };

			CHECK_ERR(ibv_qp_attach_comp_cntr(qp, cntr, &attr),
				  want[i].ops >> op & 1 ? 0 : EOPNOTSUPP);
		}
		CHECK_ERR(ibv_destroy_qp(qp), 0);
	}
	close_with(&cntr, 1);
}

/* An imported device has counters of its own, which only its queue pairs can use. */
static void imported(void)
{
	struct ibv_comp_cntr_init_attr init = { .type = IBV_COMP_CNTR_TYPE_WRS };
	struct ibv_comp_cntr *cntr;
	struct ibv_context *ctx;

	open_reset(IBV_QPT_RC, 0);
	ctx = ibv_import_device(dup(p.dev.ctx->cmd_fd));
	NEED_PTR(ctx, "import_device");
	cntr = ibv_create_comp_cntr(ctx, &init);
	NEED_PTR(cntr, "create_comp_cntr");
	CHECK_ERR(attach(0, cntr, IBV_QP_ATTACH_COMP_CNTR_OP_SEND), EINVAL);
	CHECK(strstr(why_text(), "context"), "explained as: %s", why_text());
	CHECK_ERR(ibv_inc_comp_cntr(cntr, 3), 0);
	want_done(cntr, 3, "a counter of an imported device");
	CHECK_ERR(ibv_destroy_comp_cntr(cntr), 0);
	CHECK_ERR(ibv_close_device(ctx), 0);
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "values", values },
	{ "operations", operations },
	{ "unreliable", unreliable },
	{ "datagrams", datagrams },
	{ "shared_receives", shared_receives },
	{ "initiator", initiator },
	{ "failures", failures },
	{ "attachment", attachment },
	{ "short_way", short_way },
	{ "types", types },
	{ "imported", imported },
};

int main(int argc, char **argv)
{
	if (!offered()) {
		printf("the device has no completion counters\n");
		return test_failures ? 1 : EXIT_SKIP;
	}
	return test_run("api_cntr", argc, argv, cases, ARRAY_SIZE(cases), 30);
}
