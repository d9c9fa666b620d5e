// SPDX-License-Identifier: GPL-2.0
/*
 * adv02, adv22. Requests that fail: wrong keys and bounds, missing rights, short receives,
 * odd atomics, a peer that is not there. A failing request completes with the right status
 * and affects only its own queue pair.
 */
#include "testlib.h"

/* Connected beside the failing pair, which must not affect it. */
static struct pair innocent;

static void reconnect(struct pair *p)
{
	struct ibv_wc wc;

	for (int i = 0; i < 2; i++)
		NEED_OK(qp_to_state(p->qp[i], IBV_QPS_RESET));
	sleep_ms(5);
	for (int i = 0; i < 2; i++)
		while (ibv_poll_cq(p->cq[i], 1, &wc) > 0)
			;
	pair_make_ready(p);
}

static bool flushed_instead(enum ibv_wc_status got, enum ibv_wc_status expected)
{
	return got == IBV_WC_WR_FLUSH_ERR && expected == IBV_WC_LOC_PROT_ERR && later_rxe();
}

static void want_failure(struct pair *p, struct ibv_send_wr *wr, enum ibv_wc_status status,
			 enum ibv_wc_status other, const char *what)
{
	enum ibv_qp_state state;
	char named[64];
	struct ibv_wc wc;

	CHECK(!post_one(p, 0, wr), "%s: refused: %s", what, why_text());
	if (!CHECK(wait_wc(p->cq[0], &wc, WC_TIMEOUT) == 1, "%s: no completion", what))
		return;
	CHECK(failed_as(wc.status, status, other) || flushed_instead(wc.status, status),
	      "%s: %s, expected %s", what, ibv_wc_status_str(wc.status), ibv_wc_status_str(status));
	CHECK(wc.wr_id == wr->wr_id && wc.qp_num == p->qp[0]->qp_num, "%s: wr_id %" PRIu64, what,
	      wc.wr_id);
	state = qp_state_after_error(p->qp[0]);
	CHECK(state == IBV_QPS_ERR || (state == IBV_QPS_SQE && p->type != IBV_QPT_RC),
	      "%s: the queue pair is in state %d", what, state);
	snprintf(named, sizeof(named), "work request %" PRIu64 ": ", wr->wr_id);
	if (why_known())
		CHECK(strstr(why_text(), named), "%s: explained as: %s", what, why_text());
	CHECK(pair_works(&innocent), "%s: another queue pair suffers", what);
	reconnect(p);
}

static struct ibv_send_wr write_wr(struct pair *p, struct ibv_sge *sge)
{
	/* Each request has a number of its own, so that the explanation of another one is noticed. */
	static uint64_t wr_id = 4711;

	*sge = pair_sge(p, 0, 0, 64);
	return (struct ibv_send_wr){
		.wr_id = wr_id++,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = (uintptr_t)p->buf[1], .rkey = p->mr->rkey },
	};
}

#define PROT IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_QP_OP_ERR
#define ACCESS IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR

static void local_keys(void)
{
	struct ibv_send_wr wr;
	struct ibv_pd *pd2;
	struct ibv_mr *mr2;
	struct ibv_sge sge;
	struct pair p;
	uint32_t gone;

	pair_open(&p, NULL);
	pair_open(&innocent, NULL);
	wr = write_wr(&p, &sge);
	sge.lkey = p.mr->lkey ^ 0x55;
	want_failure(&p, &wr, PROT, "a wrong local key");
	wr = write_wr(&p, &sge);
	sge.lkey = 0;
	want_failure(&p, &wr, PROT, "local key 0");
	wr = write_wr(&p, &sge);
	sge.lkey = 0xffffffffu;
	want_failure(&p, &wr, PROT, "local key 2^32 - 1");
	wr = write_wr(&p, &sge);
	sge.addr = (uintptr_t)p.buf[0] + 2 * PAIR_HALF - 63;
	want_failure(&p, &wr, PROT, "one byte past the region");
	wr = write_wr(&p, &sge);
	sge.addr = (uintptr_t)p.buf[0] - 1;
	want_failure(&p, &wr, PROT, "one byte before the region");
	wr = write_wr(&p, &sge);
	sge.addr = UINT64_MAX - 10;
	want_failure(&p, &wr, PROT, "an address that wraps");
	wr = write_wr(&p, &sge);
	sge.length = 1u << 30;
	/* The range exceeds both regions, and either side may detect that first. */
	want_failure(&p, &wr, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_ACCESS_ERR, "a length of 1 GiB");
	if (on_uroce()) {
		wr = write_wr(&p, &sge);
		sge.length = (1u << 30) + 1;
		want_failure(&p, &wr, IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_LEN_ERR, "more than max_msg_sz");
	}

	pd2 = ibv_alloc_pd(p.dev.ctx);
	mr2 = ibv_reg_mr(pd2, p.buf[0], 4096, ALL_ACCESS);
	NEED_PTR(mr2, "reg_mr");
	wr = write_wr(&p, &sge);
	sge.lkey = mr2->lkey;
	want_failure(&p, &wr, PROT, "a key of another domain");
	gone = mr2->lkey;
	CHECK_ERR(ibv_dereg_mr(mr2), 0);
	wr = write_wr(&p, &sge);
	sge.lkey = gone;
	want_failure(&p, &wr, PROT, "a key that is no more");
	CHECK_ERR(ibv_dealloc_pd(pd2), 0);

	mr2 = ibv_reg_mr(p.pd, p.buf[0], 4096, 0);
	NEED_PTR(mr2, "reg_mr");
	wr = write_wr(&p, &sge);
	wr.opcode = IBV_WR_RDMA_READ;
	sge.lkey = mr2->lkey;
	want_failure(&p, &wr, PROT, "reading into a region without local write");
	CHECK_ERR(ibv_dereg_mr(mr2), 0);
	pair_close(&innocent);
	pair_close(&p);
}

static void remote_keys(void)
{
	struct ibv_send_wr wr;
	struct ibv_mr *mr2;
	struct ibv_pd *pd2;
	struct ibv_sge sge;
	struct pair p;
	uint32_t gone;

	pair_open(&p, NULL);
	pair_open(&innocent, NULL);
	wr = write_wr(&p, &sge);
	wr.wr.rdma.rkey ^= 0x55;
	want_failure(&p, &wr, ACCESS, "a wrong remote key");
	wr = write_wr(&p, &sge);
	wr.wr.rdma.rkey = 0;
	want_failure(&p, &wr, ACCESS, "remote key 0");
	wr = write_wr(&p, &sge);
	wr.wr.rdma.remote_addr = (uintptr_t)p.buf[1] + PAIR_HALF - 63;
	want_failure(&p, &wr, ACCESS, "one byte past the region");
	wr = write_wr(&p, &sge);
	wr.wr.rdma.remote_addr = (uintptr_t)p.buf[0] - 1;
	want_failure(&p, &wr, ACCESS, "one byte before the region");
	wr = write_wr(&p, &sge);
	wr.wr.rdma.remote_addr = UINT64_MAX - 10;
	want_failure(&p, &wr, ACCESS, "a remote address that wraps");
	wr = write_wr(&p, &sge);
	wr.opcode = IBV_WR_RDMA_READ;
	wr.wr.rdma.rkey ^= 0xaa;
	want_failure(&p, &wr, ACCESS, "reading with a wrong remote key");

	mr2 = ibv_reg_mr(p.pd, p.buf[1], 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	NEED_PTR(mr2, "reg_mr");
	wr = write_wr(&p, &sge);
	wr.wr.rdma.rkey = mr2->rkey;
	want_failure(&p, &wr, ACCESS, "writing where only reading is allowed");
	gone = mr2->rkey;
	CHECK_ERR(ibv_dereg_mr(mr2), 0);
	mr2 = ibv_reg_mr(p.pd, p.buf[1], 4096, ALL_ACCESS);
	NEED_PTR(mr2, "reg_mr");
	wr = write_wr(&p, &sge);
	wr.wr.rdma.rkey = gone;
	want_failure(&p, &wr, ACCESS, "the key of a former region, after the next one was registered");
	CHECK_ERR(ibv_dereg_mr(mr2), 0);

	pd2 = ibv_alloc_pd(p.dev.ctx);
	mr2 = ibv_reg_mr(pd2, p.buf[1], 4096, ALL_ACCESS);
	NEED_PTR(mr2, "reg_mr");
	wr = write_wr(&p, &sge);
	wr.wr.rdma.rkey = mr2->rkey;
	want_failure(&p, &wr, ACCESS, "a remote key of another domain");
	CHECK_ERR(ibv_dereg_mr(mr2), 0);
	CHECK_ERR(ibv_dealloc_pd(pd2), 0);
	pair_close(&innocent);
	pair_close(&p);
}

/* Post a list of a good write and @bad behind it. */
static void want_second_failure(struct pair *p, struct ibv_send_wr *bad, const char *what)
{
	struct ibv_send_wr good, *refused;
	struct ibv_sge sge;
	struct ibv_wc wc;

	good = write_wr(p, &sge);
	good.next = bad;
	CHECK_ERR(ibv_post_send(p->qp[0], &good, &refused), 0);
	CHECK(wait_wc(p->cq[0], &wc, WC_TIMEOUT) == 1 && wc.wr_id == bad->wr_id,
	      "%s: not the second's completion", what);
	CHECK(wc.status == IBV_WC_REM_ACCESS_ERR, "%s: %s", what, ibv_wc_status_str(wc.status));
	CHECK(qp_state_after_error(p->qp[0]) == IBV_QPS_ERR, "%s: no error", what);
	reconnect(p);
}

/* A device that caches the last target still checks the key and the range of each request. */
static void after_a_good_one(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct pair p;

	pair_open(&p, NULL);
	wr = write_wr(&p, &sge);
	wr.wr.rdma.rkey ^= 0x55;
	want_second_failure(&p, &wr, "a wrong key after a right one");
	wr.wr.rdma.rkey = p.mr->rkey;
	wr.wr.rdma.remote_addr = (uintptr_t)p.buf[1] + PAIR_HALF - 63;
	want_second_failure(&p, &wr, "one byte past the region that was right before");
	wr.wr.rdma.remote_addr = (uintptr_t)p.buf[0] - 1;
	want_second_failure(&p, &wr, "one byte before the region that was right before");
	pair_close(&p);
}

/* Operations that the responder's access flags forbid. */
static void remote_rights(void)
{
	struct pair_want want = { .stay_reset = 1 };
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT, .port_num = PORT,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE,
	};
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	qp_connect(&p.dev, p.qp[0], p.qp[1]->qp_num, NULL);
	NEED_OK(ibv_modify_qp(p.qp[1], &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			      IBV_QP_ACCESS_FLAGS));
	NEED_OK(qp_to_rtr(&p.dev, p.qp[1], p.qp[0]->qp_num));
	NEED_OK(qp_to_rts(p.qp[1], NULL));
	wr = write_wr(&p, &sge);
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	if (CHECK(wait_wc(p.cq[0], &wc, WC_TIMEOUT) == 1, "no completion"))
		CHECK(failed_as(wc.status, IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_ACCESS_ERR), "%s",
		      ibv_wc_status_str(wc.status));
	pair_close(&p);
}

/* rdma_rxe of 6.1 reports other errors here than the specification. */
static void want_too_small(uint32_t len)
{
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, NULL);
	memset(p.buf[1], 0xee, PAIR_HALF);
	CHECK_ERR(post_recv_at(&p, 1, 3, 0, len - 1), 0);
	CHECK_ERR(post_send_at(&p, 0, 4, 0, len, IBV_SEND_SIGNALED), 0);
	if (CHECK(wait_wc(p.cq[1], &wc, WC_TIMEOUT) == 1, "the receiver sees nothing"))
		CHECK(failed_as(wc.status, IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_QP_OP_ERR) &&
		      wc.wr_id == 3, "%u bytes, receiver: %s", len,
		      ibv_wc_status_str(wc.status));
	if (CHECK(wait_wc(p.cq[0], &wc, WC_TIMEOUT) == 1, "the sender sees nothing"))
		CHECK(failed_as(wc.status, IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_OP_ERR) &&
		      wc.wr_id == 4, "%u bytes, sender: %s", len,
		      ibv_wc_status_str(wc.status));
	CHECK(p.buf[1][len - 1] == 0xee, "a byte behind the receive buffer was written");
	pair_close(&p);
}

/* uroce copies the second message in more than one piece. */
static void receive_too_small(void)
{
	want_too_small(64);
	want_too_small(300000);
}

/*
 * A receive request that is longer than the memory behind it is no mistake, and takes each message
 * that fits into the memory. rdma_rxe adds the lengths of the pieces up in 32 bits.
 */
static void receive_of_four_gigabytes(void)
{
	struct ibv_sge sge[2];
	struct ibv_wc wc;
	struct pair p;

	if (!on_uroce())
		return;
	pair_open(&p, NULL);
	fill(p.buf[0], 1000, 7);
	sge[0] = pair_sge(&p, 1, 0, 1u << 31);
	sge[1] = sge[0];
	CHECK_ERR(post_recv(&p, 1, 3, sge, 2), 0);
	CHECK_ERR(post_send_at(&p, 0, 4, 0, 1000, IBV_SEND_SIGNALED), 0);
	if (WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS))
		CHECK(wc.byte_len == 1000, "%u bytes", wc.byte_len);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	CHECK_BYTES(p.buf[1], 1000, 7, "the message");
	pair_close(&p);
}

static void receive_wrong_key(void)
{
	struct ibv_sge sge;
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, NULL);
	pair_open(&innocent, NULL);
	sge = pair_sge(&p, 1, 0, 64);
	sge.lkey ^= 0x55;
	CHECK_ERR(post_recv(&p, 1, 3, &sge, 1), 0);
	CHECK_ERR(post_send_at(&p, 0, 4, 0, 64, IBV_SEND_SIGNALED), 0);
	if (CHECK(wait_wc(p.cq[1], &wc, WC_TIMEOUT) == 1, "the receiver sees nothing"))
		CHECK(failed_as(wc.status, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_QP_OP_ERR),
		      "receiver: %s", ibv_wc_status_str(wc.status));
	if (CHECK(wait_wc(p.cq[0], &wc, WC_TIMEOUT) == 1, "the sender sees nothing"))
		CHECK(wc.status == IBV_WC_REM_OP_ERR || (wc.status != IBV_WC_SUCCESS && !on_uroce()),
		      "sender: %s", ibv_wc_status_str(wc.status));
	CHECK(pair_works(&innocent), "another queue pair suffers");
	pair_close(&innocent);
	pair_close(&p);
}

/*
 * Atomics of the wrong length or alignment. The library of univerbs refuses both when the
 * request is posted, on every device. More room than eight bytes is no mistake.
 */
static void odd_atomics(void)
{
	static const struct {
		uint32_t length;
		uint32_t offset;
	} bad[] = { { 4, 0 }, { 16, 0 }, { 8, 1 }, { 8, 4 }, { 0, 0 } };
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		memset(p.buf[0], 0, 64);
		memset(p.buf[1], 0x77, 64);
		sge = pair_sge(&p, 0, 0, bad[i].length);
		wr = (struct ibv_send_wr){
			.sg_list = &sge, .num_sge = 1,
			.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .send_flags = IBV_SEND_SIGNALED,
			.wr.atomic = { .remote_addr = (uintptr_t)p.buf[1] + bad[i].offset,
				       .compare_add = 1, .rkey = p.mr->rkey },
		};
		if (why_known() && (bad[i].offset || bad[i].length < 8)) {
			CHECK_ERR(post_one(&p, 0, &wr), EINVAL);
			continue;
		}
		if (post_one(&p, 0, &wr)) {
			CHECK(!why_known(), "length %u: %s", bad[i].length, why_text());
			continue;
		}
		if (!CHECK(wait_wc(p.cq[0], &wc, WC_TIMEOUT) == 1, "length %u offset %u: nothing",
			   bad[i].length, bad[i].offset))
			break;
		if (bad[i].offset)
			CHECK(wc.status != IBV_WC_SUCCESS, "an atomic at offset %u succeeded",
			      bad[i].offset);
		if (why_known())
			CHECK(wc.status == IBV_WC_SUCCESS && p.buf[0][7] == 0x77 &&
			      all_zero(p.buf[0] + 8, 16), "length %u: %s", bad[i].length,
			      ibv_wc_status_str(wc.status));
		CHECK(bad[i].length >= 8 || all_zero(p.buf[0] + bad[i].length, 16),
		      "length %u: bytes behind the local buffer were written", bad[i].length);
		reconnect(&p);
	}
	pair_close(&p);
}

/* The peer does not exist. The sender gets an error after its retries and can be destroyed. */
static void nobody_there(void)
{
	struct pair_want want = { .stay_reset = 1, .timeout = 8, .retry_cnt = 2 };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	qp_connect(&p.dev, p.qp[0], 0x00ffff, &p.want);
	CHECK_ERR(post_send_at(&p, 0, 1, 0, 8, IBV_SEND_SIGNALED), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_RETRY_EXC_ERR);
	if (why_known())
		CHECK(strstr(why_text(), "work request 1: "), "explained as: %s", why_text());
	pair_close(&p);
}

static void receiver_not_ready(void)
{
	struct pair_want want = { .rnr_retry = 2 };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	CHECK_ERR(post_send_at(&p, 0, 1, 0, 8, IBV_SEND_SIGNALED), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_RNR_RETRY_EXC_ERR);
	if (why_known())
		CHECK(strstr(why_text(), "work request 1: ") &&
		      strstr(why_text(), "the peer has posted no receive request"), "explained as: %s",
		      why_text());
	pair_close(&p);
}

/* C10-93.1.1: the message is not sent, and the request succeeds. */
static void datagram_too_long(void)
{
	struct pair_want want = { .type = IBV_QPT_UD };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	CHECK_ERR(post_recv_at(&p, 1, 1, 0, 16384), 0);
	if (!post_send_at(&p, 0, 1, 0, 8192, IBV_SEND_SIGNALED))
		CHECK(wait_wc(p.cq[0], &wc, WC_TIMEOUT) == 1, "no completion");
	sleep_ms(50);
	WANT_EMPTY(p.cq[1]);
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "local_keys", local_keys },
	{ "remote_keys", remote_keys },
	{ "after_a_good_one", after_a_good_one },
	{ "remote_rights", remote_rights },
	{ "receive_too_small", receive_too_small },
	{ "receive_of_four_gigabytes", receive_of_four_gigabytes },
	{ "receive_wrong_key", receive_wrong_key },
	{ "odd_atomics", odd_atomics },
	{ "nobody_there", nobody_there },
	{ "receiver_not_ready", receiver_not_ready },
	{ "datagram_too_long", datagram_too_long },
};

TEST_MAIN("bad_requests (adv02 adv22)", cases, 60)
