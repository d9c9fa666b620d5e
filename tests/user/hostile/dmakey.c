// SPDX-License-Identifier: GPL-2.0
/*
 * A protection domain of the kernel may have a key that covers all of memory, and such a
 * key can be guessed. This test tries every plausible key as the local key of a message to
 * oneself that reads kernel memory. None may succeed.
 *
 * If one succeeds, the received bytes are compared with the kernel's banner.
 */
#include <sched.h>
#include "raw.h"

#define PIECE 64

static struct raw_self env;
static uint32_t tried, unanswered;	/* Numbers of keys. */

/* Return the address of the kernel's banner. It is known and readable, so a hit causes no crash. */
static uint64_t banner_address(void)
{
	char line[256], name[128], type;
	unsigned long long at, found = 0;
	FILE *f = fopen("/proc/kallsyms", "r");

	while (f && !found && fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx %c %127s", &at, &type, name) == 3 &&
		    !strcmp(name, "linux_banner"))
			found = at;
	if (f)
		fclose(f);
	return found;
}

static void set_up(void)
{
	raw_self_open(&env);
	tried = 0;
	unanswered = 0;
}

static void tear_down(void)
{
	printf("%u keys tried, %u without an answer\n", tried, unanswered);
	raw_self_close(&env);
}

/*
 * rdma_rxe completes a request with an error before its queue pair enters the error state.
 * Where that happens after a reset, the queue pair is in the error state again. uroce's queue
 * pairs of type UC enter SQE.
 */
static void wait_for_error_state(void)
{
	struct univ_qp_query q = { .handle = env.qp.handle, .attr_mask = IBV_QP_STATE };
	uint64_t end = deadline_ms(WC_TIMEOUT);

	do {
		NEED_OK(raw_call(env.fd, UNIV_QP_QUERY, &q));
		if (q.attr.qp_state == IBV_QPS_ERR || q.attr.qp_state == IBV_QPS_SQE)
			return;
		sched_yield();
	} while (now_ns() < end);
	FAIL("a request has failed, and the state is %u", q.attr.qp_state);
}

static void reset(bool failed)
{
	struct univ_cqe cqe;

	if (failed)
		wait_for_error_state();
	NEED_OK(raw_to_state(env.fd, env.qp.handle, IBV_QPS_RESET));
	while (raw_poll(&env.cq, &cqe))
		;
	/* A reset sets the rings' indices to zero, as after creation. */
	env.qp.sq.index = env.qp.sq.head->kernel.index;
	env.qp.rq.index = env.qp.rq.head->kernel.index;
	env.qp.sq.head->user.index = env.qp.sq.index;
	env.qp.rq.head->user.index = env.qp.rq.index;
	raw_connect(env.fd, &env.qp, env.qp.qp_num);
}

static void show(uint32_t key)
{
	FAIL("key %#x reads kernel memory; first bytes: %.60s", key, env.mem);
}

/* Poll until the completion of the send. */
static void try_send(uint32_t key, uint64_t addr)
{
	struct univ_cqe cqe;
	bool answered = false, failed = false;

	memset(env.mem, 0, PIECE);
	raw_recv_sge(env.fd, &env.qp, 1, (uintptr_t)env.mem, PIECE, env.mr.lkey);
	raw_send_sge(env.fd, &env.qp, 2, addr, PIECE, key);
	while (!answered && raw_wait(&env.cq, &cqe, WC_TIMEOUT)) {
		if (cqe.status == IBV_WC_SUCCESS)
			show(key);
		else
			failed = true;
		answered = cqe.wr_id == 2;
	}
	unanswered += !answered;
	if (!all_zero(env.mem, PIECE))
		show(key);
	tried++;
	reset(failed);
}

static void try_index(uint32_t index, uint64_t addr)
{
	for (uint32_t low = 0; low < 256 && test_failures < 5; low++)
		try_send(index << 8 | low, addr);
}

static uint64_t kernel_address(void)
{
	uint64_t at = banner_address();

	/* Without symbols, use the start of the direct map without address randomisation. */
	return at ? at : 0xffff888000001000ull;
}

/*
 * The indices that a device assigns first. The only key of uroce that covers all of memory
 * is among those that reserved_keys tries, so a few indices are enough there.
 */
static void low_indices(void)
{
	int indices = on_uroce() ? test_rounds(4) : test_rounds(64);
	uint64_t at = kernel_address();

	set_up();
	for (int index = 0; index < indices; index++)
		try_index(index, at);
	CHECK(!unanswered, "%u requests without an answer", unanswered);
	tear_down();
}

/*
 * The indices just before and behind the index of our own region. The protection domain's
 * key is allocated together with it; uroce allocates none, so the next indices are enough
 * there.
 */
static void near_own(void)
{
	uint32_t own, around = on_uroce() ? 1 : test_rounds(4);
	uint64_t at = kernel_address();

	set_up();
	own = env.mr.lkey >> 8;
	for (uint32_t index = own > around ? own - around : 0; index <= own + around; index++)
		try_index(index, at);
	CHECK(!unanswered, "%u requests without an answer", unanswered);
	tear_down();
}

/* Keys that devices reserve for all of memory. */
static void reserved_keys(void)
{
	/* 0xa5 is reserved by uroce. */
	static const uint32_t keys[] = { 0, 1, 0x80, 0xa5, 0xff, 0x100, 0x1ff, 0x8000, 0xffff, 0x700,
		0x800, 0x80000000u, 0xffffff00u, 0xfffffffeu, 0xffffffffu };
	static const uint64_t places[] = { 0, 0x1000, 0xffff888000000000ull, 0xffffffff81000000ull };

	set_up();
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		try_send(keys[i], kernel_address());
		for (size_t k = 0; k < ARRAY_SIZE(places); k++)
			try_send(keys[i], places[k]);
	}
	tear_down();
}

/* Our own key, with addresses outside the region. */
static void own_key(void)
{
	set_up();
	try_send(env.mr.lkey, kernel_address());
	try_send(env.mr.lkey, (uintptr_t)env.mem + PAGE);
	try_send(env.mr.lkey, (uintptr_t)env.mem - 1);
	tear_down();
}

/* Register kernel memory by a work request, and invalidate keys of other objects. */
static void forbidden_opcodes(void)
{
	static const uint8_t opcodes[] = { UNIV_WR_LOCAL_INV, UNIV_WR_BIND_MW, UNIV_WR_SEND_WITH_INV,
		UNIV_WR_TSO, UNIV_WR_DRIVER1, 12, 13, UNIV_WR_FLUSH, 16, 0x20, 0x21, 0xf0, 0xff };
	struct univ_send_wr *wr;
	struct univ_cqe cqe;
	bool failed;

	set_up();
	for (size_t i = 0; i < ARRAY_SIZE(opcodes); i++) {
		wr = raw_slot(&env.qp.sq, env.qp.sq.index);
		memset(wr, 0, env.qp.sq.stride);
		wr->wr_id = 2;
		wr->opcode = opcodes[i];
		wr->flags = UNIV_WR_SIGNALED;
		wr->imm = env.mr.rkey;
		raw_publish(env.fd, &env.qp.sq, env.qp.handle, UNIV_KICK_SEND);
		failed = CHECK(raw_wait(&env.cq, &cqe, WC_TIMEOUT), "opcode %#x: no answer", opcodes[i]) &&
			 cqe.status != IBV_WC_SUCCESS;
		CHECK(failed || opcodes[i] == UNIV_WR_LOCAL_INV, "opcode %#x: no error", opcodes[i]);
		reset(failed);
	}
	/* A request of one segment is loaded by other code; a flush of no type is refused there, too. */
	wr = raw_slot(&env.qp.sq, env.qp.sq.index);
	memset(wr, 0, env.qp.sq.stride);
	wr->wr_id = 2;
	wr->opcode = UNIV_WR_FLUSH;
	wr->flags = UNIV_WR_SIGNALED;
	wr->count = 1;
	wr->rkey = env.mr.rkey;
	wr->remote_addr = (uintptr_t)env.mem;
	wr->sge[0] = (struct univ_sge){ (uintptr_t)env.mem, PIECE, env.mr.lkey };
	raw_publish(env.fd, &env.qp.sq, env.qp.handle, UNIV_KICK_SEND);
	failed = CHECK(raw_wait(&env.cq, &cqe, WC_TIMEOUT), "a flush of a segment: no answer") &&
		 cqe.status != IBV_WC_SUCCESS;
	CHECK(failed, "a flush of a segment: no error");
	reset(failed);
	/* Our region must still be valid. */
	raw_recv_sge(env.fd, &env.qp, 1, (uintptr_t)env.mem + 512, PIECE, env.mr.lkey);
	raw_send_sge(env.fd, &env.qp, 2, (uintptr_t)env.mem, PIECE, env.mr.lkey);
	for (int i = 0; i < 2; i++)
		if (CHECK(raw_wait(&env.cq, &cqe, WC_TIMEOUT), "no completion"))
			CHECK(!cqe.status, "our own region is gone: status %u", cqe.status);
	tear_down();
}

static bool is_defined(uint32_t opcode)
{
	return opcode <= UNIV_WR_DRIVER1 || opcode == UNIV_WR_FLUSH || opcode == UNIV_WR_ATOMIC_WRITE;
}

/* The opcode is refused, and @addr is not taken for the address of an object of the kernel. */
static void try_opcode(uint8_t opcode, uint64_t addr)
{
	struct univ_send_wr *wr = raw_slot(&env.qp.sq, env.qp.sq.index);
	struct univ_cqe cqe;

	memset(wr, 0, env.qp.sq.stride);
	wr->wr_id = 2;
	wr->opcode = opcode;
	wr->flags = UNIV_WR_SIGNALED;
	wr->remote_addr = addr;
	wr->rkey = env.mr.rkey;
	raw_publish(env.fd, &env.qp.sq, env.qp.handle, UNIV_KICK_SEND);
	NEED(raw_wait(&env.cq, &cqe, WC_TIMEOUT), "opcode %#x: no answer", opcode);
	NEED(cqe.status != IBV_WC_SUCCESS && cqe.reason == UNIV_REASON_WR_OPCODE,
	     "opcode %#x with the address %#" PRIx64 ": status %u, reason %u", opcode, addr, cqe.status,
	     cqe.reason);
	reset(true);
}

/*
 * The driver may have opcodes of its own for users in the kernel, whose requests contain
 * pointers. The kernel address is tried first: it can be read, so a mistake shows as another
 * reason and not as a crash.
 */
static void undefined_opcodes(void)
{
	static const uint32_t types[] = { IBV_QPT_RC, IBV_QPT_UC };
	uint64_t at = kernel_address();

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		set_up();
		raw_unmap(&env.qp.map);
		NEED_OK(raw_destroy(env.fd, UNIV_QP_DESTROY, env.qp.handle));
		raw_qp(env.fd, &env.qp, types[i], env.pd, env.cq.handle, 0);
		raw_connect(env.fd, &env.qp, env.qp.qp_num);
		for (uint32_t opcode = 0; opcode < 256; opcode++) {
			if (is_defined(opcode))
				continue;
			try_opcode(opcode, at);
			try_opcode(opcode, (uintptr_t)env.mem);
		}
		tear_down();
	}
}

static const struct test_case cases[] = {
	{ "own_key", own_key },
	{ "reserved_keys", reserved_keys },
	{ "near_own", near_own },
	{ "low_indices", low_indices },
	{ "forbidden_opcodes", forbidden_opcodes },
	{ "undefined_opcodes", undefined_opcodes },
};

TEST_MAIN("dmakey", cases, 120)
