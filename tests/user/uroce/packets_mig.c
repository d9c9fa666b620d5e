// SPDX-License-Identifier: GPL-2.0
/*
 * adv21. A queue pair with an alternate path gets forged packets. It leaves its primary path
 * only for a packet that the peer could have sent. This program is at 10.89.0.1 and, on the
 * alternate path, at 10.89.1.1; packets.h contains the peer.
 */
#include "endpoint.h"
#include "events.h"

#define NEAR_ALT "10.89.1.1"
#define FAR_ALT	"10.89.1.2"
#define MIG_REQ	0x40
#define CNP	0x81
#define SPAN	(1 << 14)

static struct ibv_qp_attr query(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	NEED_OK(ibv_query_qp(env.qp, &a, IBV_QP_PATH_MIG_STATE | IBV_QP_AV, &init));
	return a;
}

static void want_state(enum ibv_mig_state state, const char *what)
{
	enum ibv_mig_state is;

	packets_arrived();
	is = query().path_mig_state;
	CHECK(is == state, "%s: state %d, expected %d", what, is, state);
}

static void rearm(void)
{
	struct ibv_qp_attr a = { .path_mig_state = IBV_MIG_REARM, .alt_port_num = PORT, .alt_timeout = 20 };
	union ibv_gid gid = env.dev.gid;

	ah_attr_to(&env.dev, &a.alt_ah_attr);
	gid.raw[14] = 1;
	a.alt_ah_attr.grh.sgid_index = gid_index_of(&env.dev, &gid);
	a.alt_ah_attr.grh.dgid = gid;
	a.alt_ah_attr.grh.dgid.raw[15] = 2;
	NEED_OK(ibv_modify_qp(env.qp, &a, IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE));
}

/* A message of eight bytes. */
static void message(struct packet *p, uint32_t psn, bool mig_req)
{
	packet_begin(p, SEND_ONLY, psn, 8);
	if (!mig_req)
		p->byte[1] &= ~MIG_REQ;
	packet_fill(p, 8, 0x44);
}

static void want_message(bool arrives, const char *what)
{
	struct ibv_wc wc;

	packets_arrived();
	CHECK((wait_wc(env.cq, &wc, arrives ? WC_TIMEOUT : 20) == 1) == arrives, "%s", what);
	if (arrives)
		env.psn++;
}

static void send_by(const char *from, const char *to, uint32_t psn, bool mig_req)
{
	struct packet p;

	message(&p, psn, mig_req);
	packet_send_to(&p, from, to, 0);
}

/* The peer is rearmed as well. */
static void become_armed(void)
{
	restart();
	rearm();
	want_state(IBV_MIG_REARM, "rearmed");
	send_by("10.89.0.2", "10.89.0.1", env.psn, false);
	want_message(true, "a message of a rearmed peer");
	want_state(IBV_MIG_ARMED, "armed");
}

static bool next_event(enum ibv_event_type type)
{
	struct ibv_async_event event;

	return take_event(env.dev.ctx, type, &event, WC_TIMEOUT) && event.event_type == type;
}

static bool no_event(void)
{
	return no_event_within(env.dev.ctx, 20);
}

static const struct {
	const char *what, *from, *to;
	int64_t ahead;			/* of the expected PSN */
	bool mig_req;
} wrong[] = {
	{ "another host", "10.89.1.3", NEAR_ALT, 0, true },
	{ "the alternate address to the primary one", FAR_ALT, "10.89.0.1", 0, true },
	{ "the primary address to the alternate one", "10.89.0.2", NEAR_ALT, 0, true },
	{ "no MigReq", FAR_ALT, NEAR_ALT, 0, false },
	{ "a PSN too far ahead", FAR_ALT, NEAR_ALT, SPAN + 1, true },
	{ "a PSN too far behind", FAR_ALT, NEAR_ALT, -SPAN - 1, true },
	{ "the farthest PSN", FAR_ALT, NEAR_ALT, 1 << 23, true },
};

/* None of these packets is taken, and none makes the queue pair migrate. */
static void refused(void)
{
	struct packet p;

	become_armed();
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		send_by(wrong[i].from, wrong[i].to, env.psn + wrong[i].ahead, wrong[i].mig_req);
		want_message(false, wrong[i].what);
		want_state(IBV_MIG_ARMED, wrong[i].what);
	}
	/* Another partition. */
	message(&p, env.psn, true);
	p.byte[3] = 0xfe;
	packet_send_to(&p, FAR_ALT, NEAR_ALT, 0);
	want_message(false, "another partition");
	want_state(IBV_MIG_ARMED, "another partition");
	/* A damaged packet. */
	message(&p, env.psn, true);
	packet_send_to(&p, FAR_ALT, NEAR_ALT, 1);
	want_message(false, "a damaged packet");
	want_state(IBV_MIG_ARMED, "a damaged packet");
	CHECK(no_event(), "an event");
	send_by("10.89.0.2", "10.89.0.1", env.psn, false);
	want_message(true, "a message on the primary path");
}

/* Before the queue pair is armed, its alternate path does not count. */
static void too_early(void)
{
	restart();
	send_by(FAR_ALT, NEAR_ALT, env.psn, true);
	want_message(false, "no alternate path");
	rearm();
	send_by(FAR_ALT, NEAR_ALT, env.psn, true);
	want_message(false, "not armed");
	send_by("10.89.0.2", "10.89.0.1", env.psn, true);
	want_message(true, "a peer that is not rearmed");
	want_state(IBV_MIG_REARM, "a peer that is not rearmed");
	/* A packet that is not the next one does not arm. */
	send_by("10.89.0.2", "10.89.0.1", env.psn + 5, false);
	want_state(IBV_MIG_REARM, "a packet with a gap before it");
}

/* The peer migrates. Afterwards only the new path counts, and the event comes once. */
static void migrates(void)
{
	become_armed();
	send_by(FAR_ALT, NEAR_ALT, env.psn, true);
	want_message(true, "the peer migrates");
	want_state(IBV_MIG_MIGRATED, "the peer migrates");
	CHECK(query().ah_attr.grh.dgid.raw[14] == 1, "the primary path is the former one");
	CHECK(next_event(IBV_EVENT_PATH_MIG) && no_event(), "event");
	send_by("10.89.0.2", "10.89.0.1", env.psn, true);
	want_message(false, "the former path");
	send_by(FAR_ALT, NEAR_ALT, env.psn, true);
	want_message(true, "the new path");
	/* A request that was executed already asks as well, if it is repeated on the new path. */
	become_armed();
	send_by(FAR_ALT, NEAR_ALT, env.psn - 1, true);
	want_message(false, "a repeated message");
	want_state(IBV_MIG_MIGRATED, "a repeated message");
	CHECK(next_event(IBV_EVENT_PATH_MIG), "event");
}

/* A message that shows selective repeat, and asks for an answer. */
static void send_selective(uint32_t psn)
{
	struct packet p;

	message(&p, psn, false);
	p.byte[8] |= 0x40;
	packet_send(&p);
}

/* A message behind a gap waits for the one before it, but only if that comes by the same path. */
static void held_behind_gap(void)
{
	become_armed();
	send_selective(env.psn);
	want_message(true, "a message of a peer that repeats selectively");
	send_by("10.89.0.2", "10.89.0.1", env.psn + 1, false);
	send_by("10.89.0.2", "10.89.0.1", env.psn, false);
	want_message(true, "the missing message");
	want_message(true, "the message that was held");
	/* The missing message did not show selective repeat, so nothing would be held behind the next gap. */
	send_selective(env.psn);
	want_message(true, "another message of a peer that repeats selectively");
	send_by("10.89.0.2", "10.89.0.1", env.psn + 1, false);
	want_message(false, "a message behind a gap");
	send_by(FAR_ALT, NEAR_ALT, env.psn, true);
	want_message(true, "the missing message, by the alternate path");
	want_message(false, "the message that was held, of the former path");
	want_state(IBV_MIG_MIGRATED, "the missing message, by the alternate path");
	CHECK(next_event(IBV_EVENT_PATH_MIG), "event");
	send_by(FAR_ALT, NEAR_ALT, env.psn, true);
	want_message(true, "the message again, by the new path");
}

/* Answers to packets that were never sent have no effect, others make the queue pair migrate. */
static void by_answers(void)
{
	struct ibv_sge sge = { (uintptr_t)inbox(), 8, env.inbox->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct packet p;
	struct ibv_wc wc;

	become_armed();
	for (int i = 0; i < 2; i++) {
		packet_begin(&p, ACKNOWLEDGE, PSN + i, 0);
		put32(p.byte + p.len, 0x1f000000);
		p.len += 4;
		packet_send_to(&p, FAR_ALT, NEAR_ALT, 0);
		want_state(IBV_MIG_ARMED, "an answer to nothing");
	}
	NEED_OK(ibv_post_send(env.qp, &wr, &bad));
	packet_begin(&p, ACKNOWLEDGE, PSN, 0);
	put32(p.byte + p.len, 0x1f000000);
	p.len += 4;
	p.byte[1] &= ~MIG_REQ;
	packet_send_to(&p, FAR_ALT, NEAR_ALT, 0);
	want_state(IBV_MIG_ARMED, "an answer without MigReq");
	p.byte[1] |= MIG_REQ;
	packet_send_to(&p, FAR_ALT, NEAR_ALT, 0);
	WANT_WC(env.cq, &wc, IBV_WC_SUCCESS);
	want_state(IBV_MIG_MIGRATED, "an answer on the alternate path");
	CHECK(next_event(IBV_EVENT_PATH_MIG), "event");
}

/* A notification of congestion is no reason to migrate. It counts on the primary path alone. */
static void congestion(void)
{
	static const char *const by[][2] = {
		{ FAR_ALT, NEAR_ALT }, { "10.89.0.2", "10.89.0.1" },
	};
	struct ibv_sge sge = { (uintptr_t)inbox(), 8, env.inbox->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	uint64_t before, told;
	struct packet p;

	become_armed();
	NEED_OK(ibv_post_send(env.qp, &wr, &bad));
	before = hw_counter(dev_wanted(), "rp_cnp_handled");
	for (int i = 0; i < 2; i++) {
		packet_begin(&p, CNP, 0, 16);
		packet_fill(&p, 16, 0);
		packet_send_to(&p, by[i][0], by[i][1], 0);
		want_state(IBV_MIG_ARMED, "a notification of congestion");
		told = hw_counter(dev_wanted(), "rp_cnp_handled") - before;
		CHECK(told == (uint64_t)i, "%llu notifications from %s",
		      (unsigned long long)told, by[i][0]);
	}
}

/* The peer asks for a migration on the primary path. The message counts, the request does not. */
static void on_primary(void)
{
	become_armed();
	send_by("10.89.0.2", "10.89.0.1", env.psn, true);
	want_message(true, "a message on the primary path");
	want_state(IBV_MIG_ARMED, "on the primary path");
	CHECK(next_event(IBV_EVENT_PATH_MIG_ERR), "no event of the request");
}

static const struct test_case cases[] = {
	{ "open", open_all },
	{ "refused", refused },
	{ "too_early", too_early },
	{ "migrates", migrates },
	{ "held_behind_gap", held_behind_gap },
	{ "by_answers", by_answers },
	{ "congestion", congestion },
	{ "on_primary", on_primary },
	{ "close", close_all },
};

TEST_MAIN("packets_mig", cases, 60)
