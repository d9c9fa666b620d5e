// SPDX-License-Identifier: GPL-2.0
/*
 * Automatic path migration between two devices that have two addresses each, 10.89.0.N and
 * 10.89.1.N. The commands MIGRATION_CUT and MIGRATION_HEAL make the first address of the
 * peer unreachable for the near side and reachable again; MIGRATION_DEAF does so for the
 * far side.
 */
#include <univerbs.h>
#include "events.h"
#include "side.h"

#define DEPTH	16
#define SLOT	(64u << 10)
#define SIZE	(DEPTH * SLOT)
#define LENGTH	20001			/* bytes of a message, several packets */
#define ALT_TIMEOUT 9

struct link {
	struct side side[2];
	enum ibv_qp_type type;
};

static void command(const char *name)
{
	const char *text = getenv(name);

	NEED(text, "%s is not set", name);
	NEED(!system(text), "%s", text);
}

/* Address number @path of a side. */
static union ibv_gid address(const struct side *s, int path)
{
	union ibv_gid gid = s->dev.gid;

	gid.raw[14] = path;
	return gid;
}

static struct ibv_ah_attr way(const struct link *l, int i, int path)
{
	const struct side *s = &l->side[i], *peer = &l->side[!i];
	union ibv_gid from = address(s, path);
	struct ibv_ah_attr ah;

	ah_attr_to(&s->dev, &ah);
	ah.grh.sgid_index = gid_index_of(&s->dev, &from);
	ah.grh.dgid = address(peer, path);
	return ah;
}

static struct ibv_qp_attr alternate(const struct link *l, int i, int path)
{
	return (struct ibv_qp_attr){
		.alt_ah_attr = way(l, i, path), .alt_port_num = PORT, .alt_timeout = ALT_TIMEOUT,
		.path_mig_state = IBV_MIG_REARM,
	};
}

/* Load the alternate path in the transition to RTR, and perhaps rearm in that to RTS. */
static void connect_side(struct link *l, int i, bool rearm, uint8_t retry_cnt)
{
	struct side *s = &l->side[i];
	bool reliable = l->type == IBV_QPT_RC;
	struct ibv_qp_attr a = alternate(l, i, 1);
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		   IBV_QP_ALT_PATH;

	a.qp_state = IBV_QPS_RTR;
	a.path_mtu = IBV_MTU_1024;
	a.dest_qp_num = l->side[!i].qp->qp_num;
	a.rq_psn = 0xfffff0;
	a.max_dest_rd_atomic = 4;
	a.min_rnr_timer = 12;
	a.ah_attr = way(l, i, 0);
	NEED_OK(qp_to_init(s->qp));
	NEED_OK(ibv_modify_qp(s->qp, &a, mask | (reliable ? IBV_QP_MAX_DEST_RD_ATOMIC |
						 IBV_QP_MIN_RNR_TIMER : 0)));
	a.qp_state = IBV_QPS_RTS;
	a.sq_psn = 0xfffff0;
	a.timeout = 8;
	a.retry_cnt = retry_cnt;
	a.rnr_retry = 7;
	a.max_rd_atomic = 4;
	mask = IBV_QP_STATE | IBV_QP_SQ_PSN | (rearm ? IBV_QP_PATH_MIG_STATE : 0);
	NEED_OK(ibv_modify_qp(s->qp, &a, mask | (reliable ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
						 IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC : 0)));
}

static void link_open(struct link *l, enum ibv_qp_type type, bool near_rearms, bool far_rearms,
		      uint8_t retry_cnt)
{
	struct ibv_qp_init_attr init = { .qp_type = type, .cap = { DEPTH, DEPTH, 1, 1, 64 } };

	l->type = type;
	sides_open(l->side, init, SIZE);
	connect_side(l, 0, near_rearms, retry_cnt);
	connect_side(l, 1, far_rearms, retry_cnt);
}

static void link_close(struct link *l)
{
	side_close(&l->side[0]);
	side_close(&l->side[1]);
}

static struct ibv_qp_attr query(const struct side *s)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	NEED_OK(ibv_query_qp(s->qp, &a, IBV_QP_PATH_MIG_STATE | IBV_QP_AV | IBV_QP_ALT_PATH, &init));
	return a;
}

static void want_state(const struct side *s, enum ibv_mig_state state, const char *when)
{
	enum ibv_mig_state is = query(s).path_mig_state;

	CHECK(is == state, "%s: state %d, expected %d", when, is, state);
}

/* Send message @n from side @from, by @op, and compare its bytes. */
static bool passes(struct link *l, int from, uint32_t n, enum ibv_wr_opcode op)
{
	struct side *s = &l->side[from], *peer = &l->side[!from];
	uint64_t off = n % DEPTH * SLOT;
	struct ibv_sge sge = { (uintptr_t)s->buf + off, LENGTH, s->mr->lkey };
	struct ibv_sge to = { (uintptr_t)peer->buf + off, SLOT, peer->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = n, .sg_list = &sge, .num_sge = 1, .opcode = op,
		.send_flags = IBV_SEND_SIGNALED, .wr.rdma = { to.addr, peer->mr->rkey },
	}, *bad;
	struct ibv_recv_wr recv = { .wr_id = n, .sg_list = &to, .num_sge = 1 }, *bad_recv;
	uint8_t *lies = op == IBV_WR_RDMA_READ ? peer->buf + off : s->buf + off;
	struct ibv_wc wc;

	memset(s->buf + off, 0, SLOT);
	memset(peer->buf + off, 0, SLOT);
	fill(lies, LENGTH, n);
	if (op == IBV_WR_SEND)
		NEED_OK(ibv_post_recv(peer->qp, &recv, &bad_recv));
	NEED_OK(ibv_post_send(s->qp, &wr, &bad));
	if (!WANT_WC(s->cq, &wc, IBV_WC_SUCCESS) ||
	    (op == IBV_WR_SEND && !WANT_WC(peer->cq, &wc, IBV_WC_SUCCESS)))
		return false;
	CHECK_BYTES((lies == s->buf + off ? peer : s)->buf + off, LENGTH, n, "message");
	return true;
}

static void traffic(struct link *l, uint32_t count)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ };

	for (uint32_t n = 0; n < count; n++)
		if (!passes(l, n & 1, n, l->type == IBV_QPT_RC ? ops[n % ARRAY_SIZE(ops)] :
			    IBV_WR_SEND))
			return;
}

static bool no_event(const struct side *s)
{
	return no_event_within(s->dev.ctx, 50);
}

static void want_event(const struct side *s, enum ibv_event_type type)
{
	want_async(s->dev.ctx, type, s->qp);
}

/* The primary path is path @path now. */
static void want_path(const struct link *l, int i, int path, uint8_t timeout)
{
	struct ibv_qp_attr a = query(&l->side[i]);
	struct ibv_ah_attr want = way(l, i, path);

	CHECK(!memcmp(&a.ah_attr.grh.dgid, &want.grh.dgid, sizeof(want.grh.dgid)) &&
	      a.ah_attr.grh.sgid_index == want.grh.sgid_index, "side %d: not path %d", i, path);
	CHECK(l->type != IBV_QPT_RC || a.timeout == timeout, "side %d: timeout %u", i, a.timeout);
}

static void want_migrated(const struct link *l, int path)
{
	for (int i = 0; i < 2; i++) {
		want_event(&l->side[i], IBV_EVENT_PATH_MIG);
		want_state(&l->side[i], IBV_MIG_MIGRATED, "after a migration");
		want_path(l, i, path, ALT_TIMEOUT);
		CHECK(no_event(&l->side[i]), "side %d: another event", i);
	}
}

/* Requests of both sides, until both queue pairs are armed. */
static void want_armed(struct link *l)
{
	traffic(l, 2);
	want_state(&l->side[0], IBV_MIG_ARMED, "near");
	want_state(&l->side[1], IBV_MIG_ARMED, "far");
}

static int set_state(const struct side *s, enum ibv_mig_state state)
{
	struct ibv_qp_attr a = { .path_mig_state = state };

	return ibv_modify_qp(s->qp, &a, IBV_QP_PATH_MIG_STATE);
}

/* The states and the path before a migration. A device with this ability says so. */
static void loaded(void)
{
	struct link l = {};
	struct ibv_qp_attr a;

	link_open(&l, IBV_QPT_RC, true, false, 7);
	CHECK(l.side[0].dev.attr.device_cap_flags & IBV_DEVICE_AUTO_PATH_MIG, "device_cap_flags");
	a = query(&l.side[0]);
	CHECK(a.path_mig_state == IBV_MIG_REARM && a.alt_port_num == PORT && a.alt_timeout == ALT_TIMEOUT &&
	      a.alt_ah_attr.grh.dgid.raw[14] == 1, "state %d port %u timeout %u", a.path_mig_state,
	      a.alt_port_num, a.alt_timeout);
	traffic(&l, 6);
	want_state(&l.side[0], IBV_MIG_REARM, "the peer is not rearmed");
	want_state(&l.side[1], IBV_MIG_MIGRATED, "not rearmed");
	CHECK_ERR(set_state(&l.side[1], IBV_MIG_REARM), 0);
	want_armed(&l);
	want_path(&l, 0, 0, 8);
	want_path(&l, 1, 0, 8);
	CHECK(no_event(&l.side[0]) && no_event(&l.side[1]), "an event without a migration");
	link_close(&l);
}

/* The near side loses its peer and migrates; later the program migrates the other one back. */
static void there_and_back(void)
{
	struct link l = {};
	struct ibv_qp_attr a;

	link_open(&l, IBV_QPT_RC, true, true, 2);
	want_armed(&l);
	command("MIGRATION_CUT");
	traffic(&l, 30);
	want_migrated(&l, 1);
	command("MIGRATION_HEAL");
	CHECK_ERR(set_state(&l.side[0], IBV_MIG_REARM), EINVAL);
	CHECK(why_reason() == UNIV_REASON_PATH_MIG, "reason %u", why_reason());
	for (int i = 0; i < 2; i++) {
		a = alternate(&l, i, 0);
		NEED_OK(ibv_modify_qp(l.side[i].qp, &a, IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE));
	}
	want_armed(&l);
	CHECK_ERR(set_state(&l.side[1], IBV_MIG_MIGRATED), 0);
	passes(&l, 1, 5, IBV_WR_RDMA_WRITE);
	want_migrated(&l, 0);
	traffic(&l, 12);
	link_close(&l);
}

/* Only the answers are lost. The peer has executed requests that are repeated on the other path. */
static void answers_lost(void)
{
	struct link l = {};
	uint64_t *at, sum;

	link_open(&l, IBV_QPT_RC, true, true, 1);
	want_armed(&l);
	at = (uint64_t *)l.side[1].buf;
	*at = 0;
	command("MIGRATION_DEAF");
	for (sum = 0; sum < 20; sum++) {
		struct ibv_sge sge = { (uintptr_t)l.side[0].buf, 8, l.side[0].mr->lkey };
		struct ibv_send_wr wr = {
			.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.atomic = { (uintptr_t)at, 1, 0, l.side[1].mr->rkey },
		}, *bad;
		struct ibv_wc wc;

		NEED_OK(ibv_post_send(l.side[0].qp, &wr, &bad));
		if (!WANT_WC(l.side[0].cq, &wc, IBV_WC_SUCCESS))
			break;
		CHECK(*(uint64_t *)l.side[0].buf == sum, "addition %" PRIu64 " found %" PRIu64, sum,
		      *(uint64_t *)l.side[0].buf);
	}
	CHECK(*at == sum, "%" PRIu64 " additions made %" PRIu64, sum, *at);
	want_migrated(&l, 1);
	command("MIGRATION_HEAL");
	link_close(&l);
}

/* Without a loaded and armed path, the retries end the connection. */
static void unarmed(void)
{
	struct link l = {};
	struct ibv_sge sge = {};
	struct ibv_send_wr wr = { .num_sge = 0, .sg_list = &sge, .opcode = IBV_WR_SEND }, *bad;
	struct ibv_wc wc;

	link_open(&l, IBV_QPT_RC, true, false, 1);
	traffic(&l, 4);
	command("MIGRATION_CUT");
	NEED_OK(ibv_post_send(l.side[0].qp, &wr, &bad));
	WANT_WC(l.side[0].cq, &wc, IBV_WC_RETRY_EXC_ERR);
	CHECK(no_event(&l.side[0]), "an event");
	command("MIGRATION_HEAL");
	link_close(&l);
}

/* An unreliable connection migrates when the program says so. */
static void unreliable(void)
{
	struct link l = {};

	link_open(&l, IBV_QPT_UC, true, true, 0);
	want_armed(&l);
	command("MIGRATION_CUT");
	CHECK_ERR(set_state(&l.side[0], IBV_MIG_MIGRATED), 0);
	passes(&l, 0, 3, IBV_WR_SEND);
	want_migrated(&l, 1);
	traffic(&l, 10);
	command("MIGRATION_HEAL");
	link_close(&l);
}

/* Many messages are under way in both directions while one side is migrated, there and back. */
static void under_traffic(void)
{
	struct link l = {};
	struct ibv_wc wc;
	uint32_t next[2] = { 0, 0 }, done[2] = { 0, 0 }, moves = 0;

	link_open(&l, IBV_QPT_RC, true, true, 7);
	want_armed(&l);
	for (uint32_t round = 0; round < 300; round++) {
		for (int i = 0; i < 2; i++) {
			struct side *s = &l.side[i], *peer = &l.side[!i];

			for (; next[i] - done[i] < DEPTH; next[i]++) {
				uint64_t off = next[i] % DEPTH * (SLOT / 2) + (i ? SIZE / 2 : 0);
				struct ibv_sge sge = { (uintptr_t)s->buf + off, LENGTH, s->mr->lkey };
				struct ibv_send_wr wr = {
					.wr_id = next[i], .sg_list = &sge, .num_sge = 1,
					.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
					.wr.rdma = { (uintptr_t)peer->buf + off, peer->mr->rkey },
				}, *bad;

				fill(s->buf + off, LENGTH, next[i]);
				NEED_OK(ibv_post_send(s->qp, &wr, &bad));
			}
			if (!WANT_WC(s->cq, &wc, IBV_WC_SUCCESS) ||
			    !CHECK(wc.wr_id == done[i], "write %" PRIu64 " after %u", wc.wr_id, done[i]))
				goto out;
			CHECK_BYTES(peer->buf + done[i] % DEPTH * (SLOT / 2) + (i ? SIZE / 2 : 0), LENGTH,
				    done[i], "write");
			done[i]++;
		}
		if (round % 30 == 29 && query(&l.side[0]).path_mig_state == IBV_MIG_ARMED) {
			CHECK_ERR(set_state(&l.side[0], IBV_MIG_MIGRATED), 0);
			moves++;
		}
		if (round % 30 == 10)
			for (int i = 0; i < 2; i++) {
				struct ibv_qp_attr a = alternate(&l, i, !query(&l.side[i]).ah_attr.grh.dgid.raw[14]);

				if (query(&l.side[i]).path_mig_state == IBV_MIG_MIGRATED)
					NEED_OK(ibv_modify_qp(l.side[i].qp, &a, IBV_QP_ALT_PATH |
							      IBV_QP_PATH_MIG_STATE));
			}
	}
	CHECK(moves > 2, "%u migrations", moves);
out:
	link_close(&l);
}

static int local_modify(struct pair *p, int i, int mask, enum ibv_mig_state state)
{
	struct ibv_qp_attr a = { .alt_port_num = PORT, .alt_timeout = ALT_TIMEOUT, .path_mig_state = state };

	ah_attr_to(&p->dev, &a.alt_ah_attr);
	return ibv_modify_qp(p->qp[i], &a, mask);
}

/* Messages of a queue pair that has begun within a host cannot leave it by an alternate path. */
static void leave_host(struct pair *p)
{
	struct ibv_qp_attr a = { .alt_port_num = PORT, .alt_timeout = ALT_TIMEOUT };

	ah_attr_to(&p->dev, &a.alt_ah_attr);
	/* The near side is number 1 of the network, and the far one number 2. */
	a.alt_ah_attr.grh.dgid.raw[15] ^= 3;
	CHECK_ERR(ibv_modify_qp(p->qp[0], &a, IBV_QP_ALT_PATH), EOPNOTSUPP);
	CHECK_ERR(local_modify(p, 0, IBV_QP_PATH_MIG_STATE, IBV_MIG_REARM), EINVAL);
}

/* Messages within a host take no path, but the states and events are the same. */
static void within_host(void)
{
	const int both = IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE;
	struct ibv_qp_init_attr init;
	struct ibv_async_event event;
	struct ibv_qp_attr a;
	struct pair p;

	pair_open(&p, NULL);
	leave_host(&p);
	CHECK_ERR(local_modify(&p, 0, both, IBV_MIG_REARM), 0);
	CHECK_ERR(local_modify(&p, 1, both, IBV_MIG_REARM), 0);
	CHECK(pair_works(&p), "armed");
	CHECK_ERR(local_modify(&p, 0, IBV_QP_PATH_MIG_STATE, IBV_MIG_MIGRATED), 0);
	for (int i = 0; i < 2; i++) {
		NEED(take_event(p.dev.ctx, IBV_EVENT_PATH_MIG, &event, WC_TIMEOUT), "no event");
		CHECK(event.event_type == IBV_EVENT_PATH_MIG, "event %d", event.event_type);
		CHECK_ERR(ibv_query_qp(p.qp[i], &a, IBV_QP_PATH_MIG_STATE, &init), 0);
		CHECK(a.path_mig_state == IBV_MIG_MIGRATED && a.timeout == ALT_TIMEOUT, "state %d timeout %u",
		      a.path_mig_state, a.timeout);
	}
	CHECK(pair_works(&p), "migrated");
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "loaded", loaded },
	{ "there_and_back", there_and_back },
	{ "answers_lost", answers_lost },
	{ "unarmed", unarmed },
	{ "unreliable", unreliable },
	{ "under_traffic", under_traffic },
	{ "within_host", within_host },
};

TEST_MAIN("migration", cases, 60)
