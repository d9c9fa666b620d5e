// SPDX-License-Identifier: GPL-2.0
/*
 * adv18. The state table of the specification, tested by calls: every pair of states, each
 * required attribute left out, each attribute added where it is not allowed, and each with
 * an invalid value. Every refusal must name the attribute.
 */
#include <fcntl.h>

#include "random.h"
#include "testlib.h"
#include <univerbs.h>


struct transition {
	enum ibv_qp_state from;
	enum ibv_qp_state to;
	int required;
	int optional;
};

#define INIT_RC (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define INIT_UD (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY)
#define RTR_UC (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RTR_RC (RTR_UC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTR_OPT (IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX)
#define RTS_RC (IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | \
		IBV_QP_MAX_QP_RD_ATOMIC)
#define RTS_OPT_UC (IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | \
		    IBV_QP_PATH_MIG_STATE)
#define RTS_OPT_RC (RTS_OPT_UC | IBV_QP_MIN_RNR_TIMER)
#define RTS_OPT_UD (IBV_QP_CUR_STATE | IBV_QP_QKEY)

static const struct transition rc_table[] = {
	{ IBV_QPS_RESET, IBV_QPS_INIT, INIT_RC, 0 },
	{ IBV_QPS_INIT, IBV_QPS_INIT, 0, INIT_RC },
	{ IBV_QPS_INIT, IBV_QPS_RTR, RTR_RC, RTR_OPT },
	{ IBV_QPS_RTR, IBV_QPS_RTS, RTS_RC, RTS_OPT_RC },
	{ IBV_QPS_RTS, IBV_QPS_RTS, 0, RTS_OPT_RC },
};

static const struct transition uc_table[] = {
	{ IBV_QPS_RESET, IBV_QPS_INIT, INIT_RC, 0 },
	{ IBV_QPS_INIT, IBV_QPS_INIT, 0, INIT_RC },
	{ IBV_QPS_INIT, IBV_QPS_RTR, RTR_UC, RTR_OPT },
	{ IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, RTS_OPT_UC },
	{ IBV_QPS_RTS, IBV_QPS_RTS, 0, RTS_OPT_UC },
};

static const struct transition ud_table[] = {
	{ IBV_QPS_RESET, IBV_QPS_INIT, INIT_UD, 0 },
	{ IBV_QPS_INIT, IBV_QPS_INIT, 0, INIT_UD },
	{ IBV_QPS_INIT, IBV_QPS_RTR, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY },
	{ IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, RTS_OPT_UD },
	{ IBV_QPS_RTS, IBV_QPS_RTS, 0, RTS_OPT_UD },
};

static const struct {
	int bit;
	const char *name;
} attributes[] = {
	{ IBV_QP_CUR_STATE, "CUR_STATE" },
	{ IBV_QP_EN_SQD_ASYNC_NOTIFY, "EN_SQD_ASYNC_NOTIFY" },
	{ IBV_QP_ACCESS_FLAGS, "ACCESS_FLAGS" },
	{ IBV_QP_PKEY_INDEX, "PKEY_INDEX" },
	{ IBV_QP_PORT, "PORT" },
	{ IBV_QP_QKEY, "QKEY" },
	{ IBV_QP_AV, "AV" },
	{ IBV_QP_PATH_MTU, "PATH_MTU" },
	{ IBV_QP_TIMEOUT, "TIMEOUT" },
	{ IBV_QP_RETRY_CNT, "RETRY_CNT" },
	{ IBV_QP_RNR_RETRY, "RNR_RETRY" },
	{ IBV_QP_RQ_PSN, "RQ_PSN" },
	{ IBV_QP_MAX_QP_RD_ATOMIC, "MAX_QP_RD_ATOMIC" },
	{ IBV_QP_ALT_PATH, "ALT_PATH" },
	{ IBV_QP_MIN_RNR_TIMER, "MIN_RNR_TIMER" },
	{ IBV_QP_SQ_PSN, "SQ_PSN" },
	{ IBV_QP_MAX_DEST_RD_ATOMIC, "MAX_DEST_RD_ATOMIC" },
	{ IBV_QP_PATH_MIG_STATE, "PATH_MIG_STATE" },
	{ IBV_QP_DEST_QPN, "DEST_QPN" },
};

static struct pair pair;

static const struct transition *table_of(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_UC:
		return uc_table;
	case IBV_QPT_UD:
		return ud_table;
	default:
		return rc_table;
	}
}

/* Fill every attribute with a valid value, so that only the mask decides. */
static void good_values(struct ibv_qp_attr *a, enum ibv_qp_state from, enum ibv_qp_state to)
{
	*a = (struct ibv_qp_attr){
		.qp_state = to,
		.cur_qp_state = from,
		.path_mtu = pair.dev.port.active_mtu,
		.path_mig_state = IBV_MIG_MIGRATED,
		.qkey = PAIR_QKEY,
		.dest_qp_num = pair.qp[0]->qp_num,
		.qp_access_flags = pair.type == IBV_QPT_RC ? ALL_ACCESS :
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.port_num = PORT,
		.timeout = 14,
		.retry_cnt = 3,
		.rnr_retry = 3,
		.alt_port_num = PORT,
		.alt_timeout = 14,
	};
	ah_attr_to(&pair.dev, &a->ah_attr);
	a->alt_ah_attr = a->ah_attr;
}

/* rdma_rxe refuses to leave SQD before its send queue has drained, which takes a moment. */
static int reset(struct ibv_qp *qp)
{
	uint64_t end = deadline_ms(WC_TIMEOUT);
	int err;

	do {
		err = qp_to_state(qp, IBV_QPS_RESET);
	} while (err == EINVAL && qp_state_now(qp) == IBV_QPS_SQD && now_ns() < end);
	return err;
}

static int bring_to(enum ibv_qp_state state)
{
	struct ibv_qp *qp = pair.qp[0];
	int err = reset(qp);

	if (!err && state >= IBV_QPS_INIT)
		err = qp_to_init(qp);
	if (!err && state == IBV_QPS_ERR)
		return qp_to_state(qp, IBV_QPS_ERR);
	if (!err && state >= IBV_QPS_RTR)
		err = qp_to_rtr(&pair.dev, qp, qp->qp_num);
	if (!err && state >= IBV_QPS_RTS)
		err = qp_to_rts(qp, NULL);
	if (!err && state == IBV_QPS_SQD)
		err = qp_to_state(qp, IBV_QPS_SQD);
	return err;
}

static void open_pair(enum ibv_qp_type type)
{
	struct pair_want want = { .type = type, .stay_reset = 1 };

	pair_open(&pair, &want);
}

/* Check a refusal: errno, the reason with its transition, and the names in the text. */
static void want_refusal(int err, uint32_t reason, const struct transition *t, int bits,
			 const char *name)
{
	if (!CHECK(err == EINVAL, "%d to %d, %s: expected EINVAL, got %s", t->from, t->to, name,
		   err_name(err)))
		return;
	CHECK(why_reason() == reason, "%d to %d, %s: expected reason %u, got %u: %s", t->from,
	      t->to, name, reason, why_reason(), why_text());
	if (why_reason() != reason)
		return;
	CHECK(why_detail() == (uint32_t)(t->from << 8 | t->to), "%s: detail %#x", name,
	      why_detail());
	if (bits)
		CHECK(why_value() & bits, "%s: value %#" PRIx64, name, why_value());
	CHECK(strcasestr(why_text(), name), "%d to %d: the text does not name %s: %s", t->from,
	      t->to, name, why_text());
}

static void try_missing(const struct transition *t)
{
	struct ibv_qp_attr a;

	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++) {
		int bit = attributes[i].bit, mask = IBV_QP_STATE | t->required;

		if (!(t->required & bit))
			continue;
		NEED_OK(bring_to(t->from));
		good_values(&a, t->from, t->to);
		want_refusal(ibv_modify_qp(pair.qp[0], &a, mask & ~bit), UNIV_REASON_ATTR_MISSING,
			     t, bit, attributes[i].name);
		CHECK(qp_state_now(pair.qp[0]) == t->from, "a refused change moved the state");
	}
}

static void try_surplus(const struct transition *t)
{
	struct ibv_qp_attr a;

	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++) {
		int bit = attributes[i].bit, mask = IBV_QP_STATE | t->required;

		if ((t->required | t->optional) & bit)
			continue;
		NEED_OK(bring_to(t->from));
		good_values(&a, t->from, t->to);
		want_refusal(ibv_modify_qp(pair.qp[0], &a, mask | bit), UNIV_REASON_ATTR_SURPLUS,
			     t, bit, attributes[i].name);
		CHECK(qp_state_now(pair.qp[0]) == t->from, "a refused change moved the state");
	}
}

static void try_optional(const struct transition *t)
{
	struct ibv_qp_attr a;
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++) {
		int bit = attributes[i].bit;

		/* Alternate paths need a device that supports path migration. */
		if (!(t->optional & bit) || (bit == IBV_QP_ALT_PATH && !on_uroce()))
			continue;
		NEED_OK(bring_to(t->from));
		good_values(&a, t->from, t->to);
		err = ibv_modify_qp(pair.qp[0], &a, IBV_QP_STATE | t->required | bit);
		CHECK(!err, "%d to %d with %s: %s; %s", t->from, t->to, attributes[i].name,
		      err_name(err), why_text());
	}
}

static void masks_of(enum ibv_qp_type type)
{
	const struct transition *table = table_of(type);

	open_pair(type);
	for (size_t i = 0; i < ARRAY_SIZE(rc_table); i++) {
		try_missing(&table[i]);
		try_surplus(&table[i]);
		try_optional(&table[i]);
	}
	pair_close(&pair);
}

static void rc_masks(void)
{
	masks_of(IBV_QPT_RC);
}

static void uc_masks(void)
{
	masks_of(IBV_QPT_UC);
}

static void ud_masks(void)
{
	masks_of(IBV_QPT_UD);
}

/* ---- Pairs of states ----------------------------------------------------- */

static bool allowed(enum ibv_qp_state from, enum ibv_qp_state to)
{
	if (to == IBV_QPS_RESET)
		return true;
	if (to == IBV_QPS_ERR)
		return from != IBV_QPS_RESET;
	switch (from) {
	case IBV_QPS_RESET:
		return to == IBV_QPS_INIT;
	case IBV_QPS_INIT:
		return to == IBV_QPS_INIT || to == IBV_QPS_RTR;
	case IBV_QPS_RTR:
		return to == IBV_QPS_RTS;
	case IBV_QPS_RTS:
		return to == IBV_QPS_RTS || to == IBV_QPS_SQD;
	case IBV_QPS_SQD:
		return to == IBV_QPS_RTS || to == IBV_QPS_SQD;
	default:
		return false;
	}
}

static void try_forbidden(enum ibv_qp_state from, enum ibv_qp_state to)
{
	struct transition t = { .from = from, .to = to };
	struct ibv_qp_attr a;
	int err;

	NEED_OK(bring_to(from));
	good_values(&a, from, to);
	err = ibv_modify_qp(pair.qp[0], &a, IBV_QP_STATE);
	CHECK(err == EINVAL, "%d to %d: expected EINVAL, got %s", t.from, t.to, err_name(err));
	if (err == EINVAL)
		CHECK(why_reason() == UNIV_REASON_QP_STATE && why_detail() == (uint32_t)(from << 8 | to),
		      "%d to %d: reason %u detail %#x: %s", from, to, why_reason(), why_detail(),
		      why_text());
	CHECK(qp_state_now(pair.qp[0]) == from, "%d to %d: the state moved", from, to);
}

static void states_of(enum ibv_qp_type type)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
		IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR };

	open_pair(type);
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(states); k++)
			if (!allowed(states[i], states[k]))
				try_forbidden(states[i], states[k]);
		NEED_OK(bring_to(states[i]));
		if (states[i] != IBV_QPS_RESET)
			CHECK_ERR(qp_to_state(pair.qp[0], IBV_QPS_ERR), 0);
		NEED_OK(bring_to(states[i]));
		CHECK_ERR(reset(pair.qp[0]), 0);
	}
	pair_close(&pair);
}

static void rc_states(void)
{
	states_of(IBV_QPT_RC);
}

static void uc_states(void)
{
	states_of(IBV_QPT_UC);
}

static void ud_states(void)
{
	states_of(IBV_QPT_UD);
}

static void no_such_state(void)
{
	static const int states[] = { 8, 7, 100, -1, 0x7fffffff };
	struct ibv_qp_attr a = { 0 };

	open_pair(IBV_QPT_RC);
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		a.qp_state = states[i];
		CHECK_ERR(ibv_modify_qp(pair.qp[0], &a, IBV_QP_STATE), EINVAL);
	}
	pair_close(&pair);
}

static void wrong_current_state(void)
{
	struct ibv_qp_attr a;

	open_pair(IBV_QPT_RC);
	NEED_OK(bring_to(IBV_QPS_RTS));
	good_values(&a, IBV_QPS_SQD, IBV_QPS_RTS);
	CHECK_ERR(ibv_modify_qp(pair.qp[0], &a, IBV_QP_STATE | IBV_QP_CUR_STATE), EINVAL);
	CHECK(why_reason() == UNIV_REASON_CUR_STATE && why_value() == IBV_QPS_SQD &&
	      why_bound() == IBV_QPS_RTS, "reason %u value %" PRIu64 " bound %" PRIu64 ": %s",
	      why_reason(), why_value(), why_bound(), why_text());
	pair_close(&pair);
}

/* ---- Values -------------------------------------------------------------- */

struct bad_value {
	const char *name;
	enum ibv_qp_state from;
	enum ibv_qp_state to;
	int bit;
	uint32_t reason;
	void (*spoil)(struct ibv_qp_attr *a);
};

#define SPOIL(fn, statement) \
	static void fn(struct ibv_qp_attr *a) { statement; }

SPOIL(port_zero, a->port_num = 0)
SPOIL(port_two, a->port_num = 2)
SPOIL(pkey_far, a->pkey_index = 0xfffe)
SPOIL(mtu_zero, a->path_mtu = 0)
SPOIL(mtu_six, a->path_mtu = 6)
SPOIL(mtu_negative, a->path_mtu = -1)
SPOIL(dest_reads, a->max_dest_rd_atomic = 255)
SPOIL(reads, a->max_rd_atomic = 255)
SPOIL(timeout, a->timeout = 32)
SPOIL(no_grh, a->ah_attr.is_global = 0)
SPOIL(gid_far, a->ah_attr.grh.sgid_index = 255)
SPOIL(av_port, a->ah_attr.port_num = 3)

static const struct bad_value values[] = {
	{ "port_num 0", IBV_QPS_RESET, IBV_QPS_INIT, 0, UNIV_REASON_PORT, port_zero },
	{ "port_num 2", IBV_QPS_RESET, IBV_QPS_INIT, 0, UNIV_REASON_PORT, port_two },
	{ "pkey_index", IBV_QPS_RESET, IBV_QPS_INIT, 0, UNIV_REASON_PKEY_INDEX, pkey_far },
	{ "path_mtu 0", IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_PATH_MTU, UNIV_REASON_ATTR_VALUE, mtu_zero },
	{ "path_mtu 6", IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_PATH_MTU, UNIV_REASON_ATTR_VALUE, mtu_six },
	{ "path_mtu -1", IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_PATH_MTU, UNIV_REASON_ATTR_VALUE,
	  mtu_negative },
	{ "max_dest_rd_atomic", IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_MAX_DEST_RD_ATOMIC,
	  UNIV_REASON_ATTR_VALUE, dest_reads },
	{ "is_global 0", IBV_QPS_INIT, IBV_QPS_RTR, 0, UNIV_REASON_NO_GRH, no_grh },
	{ "sgid_index", IBV_QPS_INIT, IBV_QPS_RTR, 0, UNIV_REASON_GID_INDEX, gid_far },
	{ "port_num of the address", IBV_QPS_INIT, IBV_QPS_RTR, 0, UNIV_REASON_PORT, av_port },
	{ "max_rd_atomic", IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_MAX_QP_RD_ATOMIC,
	  UNIV_REASON_ATTR_VALUE, reads },
	{ "timeout", IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_TIMEOUT, UNIV_REASON_ATTR_VALUE, timeout },
};

static int required_of(enum ibv_qp_state from, enum ibv_qp_state to)
{
	for (size_t i = 0; i < ARRAY_SIZE(rc_table); i++)
		if (rc_table[i].from == from && rc_table[i].to == to)
			return rc_table[i].required;
	return 0;
}

static void bad_values(void)
{
	struct ibv_qp_attr a;
	int err;

	open_pair(IBV_QPT_RC);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		const struct bad_value *v = &values[i];

		NEED_OK(bring_to(v->from));
		good_values(&a, v->from, v->to);
		v->spoil(&a);
		err = ibv_modify_qp(pair.qp[0], &a, IBV_QP_STATE | required_of(v->from, v->to));
		CHECK(err == EINVAL, "%s: expected EINVAL, got %s", v->name, err_name(err));
		if (err)
			CHECK(why_reason() == v->reason && (!v->bit || why_detail() == (uint32_t)v->bit),
			      "%s: expected reason %u, got %u detail %#x: %s", v->name, v->reason,
			      why_reason(), why_detail(), why_text());
		CHECK(qp_state_now(pair.qp[0]) == v->from, "%s: the state moved", v->name);
	}
	pair_close(&pair);
}

/* Opened at the end of the kernel's log */
static int log_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);

	NEED(fd >= 0 && lseek(fd, 0, SEEK_END) >= 0, "/dev/kmsg: %s", err_name(errno));
	return fd;
}

/* Return whether a line that was added has the text. */
static bool log_has(int fd, const char *text)
{
	char line[1024];
	ssize_t n;

	while ((n = read(fd, line, sizeof(line) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		line[n > 0 ? n : 0] = 0;
		if (strstr(line, text))
			return true;
	}
	return false;
}

/* A PSN has 24 bits. Programs pass random numbers of 32 bits, and the kernel's log must not say so each time. */
static void long_psn(void)
{
	struct ibv_qp_attr a;
	int fd = log_open();

	open_pair(IBV_QPT_RC);
	good_values(&a, IBV_QPS_INIT, IBV_QPS_RTR);
	a.rq_psn = 0x7000005;
	NEED_OK(bring_to(IBV_QPS_INIT));
	CHECK_ERR(ibv_modify_qp(pair.qp[0], &a, IBV_QP_STATE | RTR_RC), 0);
	good_values(&a, IBV_QPS_RTR, IBV_QPS_RTS);
	a.sq_psn = 0x80000006;
	CHECK_ERR(ibv_modify_qp(pair.qp[0], &a, IBV_QP_STATE | RTS_RC), 0);
	CHECK(!log_has(fd, "24 bits"), "the kernel has logged a PSN");
	close(fd);
	pair_close(&pair);
}

static void unknown_mask(void)
{
	struct ibv_qp_attr a;
	int err, want;

	open_pair(IBV_QPT_RC);
	for (int bit = 21; bit < 31; bit++) {
		good_values(&a, IBV_QPS_RESET, IBV_QPS_INIT);
		err = ibv_modify_qp(pair.qp[0], &a, IBV_QP_STATE | INIT_RC | 1 << bit);
		/* A device that limits no rate lacks this attribute in every transition. */
		want = 1 << bit == IBV_QP_RATE_LIMIT && !on_uroce() ? EOPNOTSUPP : EINVAL;
		CHECK(err == want, "mask bit %d: %s", bit, err_name(err));
		if (want == EINVAL)
			CHECK(why_reason() == UNIV_REASON_ATTR_SURPLUS && why_value() == 1u << bit,
			      "mask bit %d: reason %u value %#" PRIx64 ": %s", bit, why_reason(),
			      why_value(), why_text());
		CHECK(qp_state_now(pair.qp[0]) == IBV_QPS_RESET, "mask bit %d: the state moved", bit);
	}
	pair_close(&pair);
}

/*
 * Random masks from every state: after any result, the kernel works and the state is a
 * valid one.
 */
static void random_masks(void)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
		IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR };
	uint64_t seed = rnd_seed();
	struct ibv_qp_attr a;

	open_pair(IBV_QPT_RC);
	for (int round = 0; round < 2000; round++) {
		enum ibv_qp_state to;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		if (round % 10 == 0) {
			enum ibv_qp_state from = states[(seed >> 40) % ARRAY_SIZE(states)];
			enum ibv_qp_state was = qp_state_now(pair.qp[0]);

			NEED(!bring_to(from), "round %d, from state %d to %d: %s", round, was, from,
			     why_text());
		}
		to = states[(seed >> 50) % ARRAY_SIZE(states)];
		good_values(&a, (seed >> 45) % 7, to);
		ibv_modify_qp(pair.qp[0], &a, (seed >> 30) & 0x1fffff);
		CHECK(qp_state_now(pair.qp[0]) <= IBV_QPS_ERR, "the state is none");
	}
	pair_close(&pair);
}

static const struct test_case cases[] = {
	{ "rc_masks", rc_masks },
	{ "uc_masks", uc_masks },
	{ "ud_masks", ud_masks },
	{ "rc_states", rc_states },
	{ "uc_states", uc_states },
	{ "ud_states", ud_states },
	{ "no_such_state", no_such_state },
	{ "wrong_current_state", wrong_current_state },
	{ "bad_values", bad_values },
	{ "long_psn", long_psn },
	{ "unknown_mask", unknown_mask },
	{ "random_masks", random_masks },
};

TEST_MAIN("bad_modify (adv18)", cases, 60)
