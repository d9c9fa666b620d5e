// SPDX-License-Identifier: GPL-2.0
/*
 * Partitions: a message arrives only within one, if one of both sides is a full member. UNIV_LIBDIR contains uroce-fault,
 * by which the P_Key table is set. The script runs the program by copying and by packets.
 */
#include <univerbs.h>
#include "events.h"
#include "testlib.h"

/* Index 0 to 3: two full members of two partitions, and a limited member of each. */
#define TABLE "0xffff,0x8001,0x7fff,0x1"

static int table(const char *keys)
{
	char command[256];

	snprintf(command, sizeof(command), "%s/uroce-fault set %s pkeys %s 2>/dev/null",
		 getenv("UNIV_LIBDIR") ?: ".", dev_wanted(), keys);
	return system(command);
}

static uint32_t violations(struct pair *p)
{
	struct ibv_port_attr port;

	NEED_OK(ibv_query_port(p->dev.ctx, PORT, &port));
	return port.bad_pkey_cntr;
}

static int to_init(struct ibv_qp *qp, uint16_t index)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = PORT, .pkey_index = index,
				 .qkey = PAIR_QKEY, .qp_access_flags = ALL_ACCESS };

	if (qp->qp_type == IBV_QPT_UC)
		a.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     (qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

static void want_index(struct ibv_qp *qp, uint16_t index)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	CHECK_ERR(ibv_query_qp(qp, &a, IBV_QP_PKEY_INDEX, &init), 0);
	CHECK(a.pkey_index == index, "query: index %u, expected %u", a.pkey_index, index);
}

/* A connected pair, or a pair for datagrams, with these P_Keys. The timeout is short. */
static void open_with(struct pair *p, enum ibv_qp_type type, uint16_t a, uint16_t b)
{
	struct pair_want want = { .type = type, .stay_reset = 1, .timeout = 8, .retry_cnt = 1 };

	pair_open(p, &want);
	NEED_OK(to_init(p->qp[0], a));
	NEED_OK(to_init(p->qp[1], b));
	for (int i = 0; i < 2; i++) {
		NEED_OK(qp_to_rtr(&p->dev, p->qp[i], p->qp[!i]->qp_num));
		NEED_OK(qp_to_rts(p->qp[i], &p->want));
	}
	want_index(p->qp[0], a);
	want_index(p->qp[1], b);
	if (type == IBV_QPT_UD) {
		struct ibv_ah_attr ah;

		ah_attr_to(&p->dev, &ah);
		p->ah = ibv_create_ah(p->pd, &ah);
		NEED_PTR(p->ah, "create_ah");
	}
}

/*
 * A message for side @i is lost, and counted as soon as its packet is checked, which another
 * processor may do late. The table may change after that.
 */
static void want_violation(struct pair *p, int i, uint32_t before)
{
	uint64_t end = deadline_ms(WC_TIMEOUT);
	struct ibv_wc wc;
	int n;

	do
		n = wait_wc(p->cq[i], &wc, 1);
	while (!n && violations(p) == before && now_ns() < end);
	CHECK(!n, "a message arrived from another partition");
	CHECK(violations(p) > before, "no violation was counted");
}

/* Send from side @i; the message arrives, or is lost and counted. */
static void sends(struct pair *p, int i, bool arrives)
{
	bool reliable = p->type == IBV_QPT_RC;
	uint32_t before = violations(p);
	struct ibv_wc wc;

	NEED_OK(post_recv_at(p, !i, 5, 4096, 200));
	NEED_OK(post_send_at(p, i, 6, 0, 100, IBV_SEND_SIGNALED));
	WANT_WC(p->cq[i], &wc, !arrives && reliable ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS);
	if (arrives) {
		WANT_WC(p->cq[!i], &wc, IBV_WC_SUCCESS);
		CHECK(violations(p) == before, "%u violations of a message that arrived",
		      violations(p) - before);
		return;
	}
	want_violation(p, !i, before);
}

static const struct {
	uint16_t a, b;
	bool meet;
} sides[] = {
	{ 0, 0, true }, { 1, 1, true }, { 0, 2, true }, { 2, 0, true }, { 1, 3, true },
	{ 0, 1, false }, { 0, 3, false }, { 2, 2, false }, { 3, 3, false }, { 2, 3, false },
};

static void all_sides(enum ibv_qp_type type)
{
	struct pair p;

	NEED(!table(TABLE), "uroce-fault");
	for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
		open_with(&p, type, sides[i].a, sides[i].b);
		for (int from = 0; from < (sides[i].meet ? 2 : 1); from++)
			sends(&p, from, sides[i].meet);
		if (test_failures)
			printf("P_Keys at index %u and %u\n", sides[i].a, sides[i].b);
		pair_close(&p);
	}
	NEED(!table("0xffff"), "uroce-fault");
}

static void reliable(void)
{
	all_sides(IBV_QPT_RC);
}

static void unreliable(void)
{
	all_sides(IBV_QPT_UC);
}

/* The completion of a datagram has the index of the receiver's P_Key. */
static void datagrams(void)
{
	struct ibv_wc wc;
	struct pair p;

	all_sides(IBV_QPT_UD);
	NEED(!table(TABLE), "uroce-fault");
	open_with(&p, IBV_QPT_UD, 1, 3);
	for (int i = 0; i < 2; i++) {
		NEED_OK(post_recv_at(&p, !i, 5, 4096, 200));
		NEED_OK(post_send_at(&p, i, 6, 0, 100, IBV_SEND_SIGNALED));
		WANT_WC(p.cq[i], &wc, IBV_WC_SUCCESS);
		WANT_WC(p.cq[!i], &wc, IBV_WC_SUCCESS);
		CHECK(wc.pkey_index == (i ? 1 : 3), "pkey_index %u", wc.pkey_index);
	}
	pair_close(&p);
	NEED(!table("0xffff"), "uroce-fault");
}

static void want_pkey(struct ibv_context *ctx, int index, uint16_t pkey)
{
	__be16 got;

	CHECK_ERR(ibv_query_pkey(ctx, PORT, index, &got), 0);
	CHECK(be16toh(got) == pkey, "index %d: %#x, expected %#x", index, be16toh(got), pkey);
	if (pkey)
		CHECK(ibv_get_pkey_index(ctx, PORT, htobe16(pkey)) == index, "index of %#x", pkey);
}

/* The table, and which ones are refused. */
static void queries(void)
{
	static const char *const wrong[] = { "0", "0x8000", "0xffff,0x8000",
		"1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17" };
	struct ibv_async_event event;
	struct test_dev dev;
	struct ibv_qp *qp;
	struct pair p;

	dev_open(&dev);
	CHECK(dev.port.pkey_tbl_len == 16 && dev.attr.max_pkeys == 16, "%u and %u entries",
	      dev.port.pkey_tbl_len, dev.attr.max_pkeys);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		CHECK(table(wrong[i]), "the table %s is accepted", wrong[i]);
	want_pkey(dev.ctx, 0, 0xffff);
	NEED(!table(TABLE), "uroce-fault");
	NEED(take_event(dev.ctx, IBV_EVENT_PKEY_CHANGE, &event, WC_TIMEOUT), "no event");
	CHECK(event.event_type == IBV_EVENT_PKEY_CHANGE, "event %d", event.event_type);
	want_pkey(dev.ctx, 0, 0xffff);
	want_pkey(dev.ctx, 1, 0x8001);
	want_pkey(dev.ctx, 2, 0x7fff);
	want_pkey(dev.ctx, 3, 1);
	want_pkey(dev.ctx, 15, 0);
	NEED(!table(TABLE), "uroce-fault");
	CHECK(no_event_within(dev.ctx, 100 * (int)test_slowness()), "an event of the same table");
	dev_close(&dev);
	pair_open(&p, &(struct pair_want){ .stay_reset = 1 });
	qp = p.qp[0];
	for (int index = 4; index < 17; index += 12) {
		CHECK_ERR(to_init(qp, index), EINVAL);
		CHECK(why_reason() == UNIV_REASON_PKEY_INDEX && why_value() == (uint64_t)index,
		      "index %d: %s", index, why_text());
	}
	pair_close(&p);
	NEED(!table("0xffff"), "uroce-fault");
}

/* A queue pair keeps its index, so it follows the table. */
static void table_changes(void)
{
	uint32_t before;
	struct ibv_wc wc;
	struct pair p;

	NEED(!table(TABLE), "uroce-fault");
	open_with(&p, IBV_QPT_UC, 1, 1);
	sends(&p, 0, true);
	NEED(!table("0xffff,0x8002"), "uroce-fault");
	sends(&p, 0, true);
	NEED(!table("0xffff,0x2"), "uroce-fault");
	sends(&p, 0, false);
	/* Without a P_Key. */
	NEED(!table("0xffff"), "uroce-fault");
	before = violations(&p);
	NEED_OK(post_send_at(&p, 0, 6, 0, 100, IBV_SEND_SIGNALED));
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	want_violation(&p, 1, before);
	NEED(!table(TABLE), "uroce-fault");
	NEED_OK(post_send_at(&p, 0, 6, 0, 100, IBV_SEND_SIGNALED));
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
	NEED(!table("0xffff"), "uroce-fault");
}

static const struct test_case cases[] = {
	{ "queries", queries },
	{ "reliable", reliable },
	{ "unreliable", unreliable },
	{ "datagrams", datagrams },
	{ "table_changes", table_changes },
};

TEST_MAIN("pkeys", cases, 60)
