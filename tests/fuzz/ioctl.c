// SPDX-License-Identifier: GPL-2.0
/*
 * Sequences of calls on the node. Each call starts with arguments that should succeed, with objects
 * that exist; then the input changes some of its fields. The calls and their fields are those of
 * uapi/univerbs.h (calls.h).
 */
#include "arguments.h"
#include "calls.h"
#include "first_size.h"
#include "fuzz.h"
#include "objects.h"

#define CALLS_MAX 48

static void target_open(void)
{
	env.arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(env.arena != MAP_FAILED, "mmap: %s", err_name(errno));
	/* a read-only page, and an unmapped page */
	NEED_OK(mprotect(env.arena + ARENA - 2 * PAGE, PAGE, PROT_READ));
	NEED_OK(munmap(env.arena + ARENA - PAGE, PAGE));
	env.fd = raw_open();
	raw_ah_attr(env.fd, &env.self);
	close(env.fd);
}

/* ---- Calls --------------------------------------------------------------- */

static void made_cq(struct object *o, const struct univ_cq_create *a)
{
	object_map(o, a->map_offset, a->map_length, &a->ring, NULL);
}

static void made_qp(struct object *o, const struct univ_qp_create *a)
{
	o->qp_type = a->qp_type;
	o->qp_num = a->qp_num;
	/* An XRC receive queue pair has no rings. */
	if (a->map_length)
		object_map(o, a->map_offset, a->map_length, &a->sq, &a->rq);
}

static void made_srq(struct object *o, const struct univ_srq_create *a)
{
	o->srq_num = a->srq_num;
	object_map(o, a->map_offset, a->map_length, &a->ring, NULL);
	o->ring[1] = o->ring[0];
}

static void made_wq(struct object *o, const struct univ_wq_create *a)
{
	object_map(o, a->map_offset, a->map_length, &a->ring, NULL);
	o->ring[1] = o->ring[0];
}

static void made(const struct call *call, const void *arg)
{
	struct object o = { .type = call_kind(call) };

	if (call_makes(call))
		memcpy(&o.handle, (const char *)arg + call_field(call, "handle")->offset,
		       sizeof(o.handle));
	switch (call->cmd) {
	case UNIV_MR_REG:
		o.key = ((const struct univ_mr_reg *)arg)->lkey;
		break;
	case UNIV_MW_ALLOC:
		o.key = ((const struct univ_mw_alloc *)arg)->rkey;
		break;
	case UNIV_QP_OPEN:
		o.qp_type = IBV_QPT_XRC_RECV;
		o.qp_num = ((const struct univ_qp_open *)arg)->qp_num;
		break;
	case UNIV_CQ_CREATE:
		made_cq(&o, arg);
		break;
	case UNIV_SRQ_CREATE:
		made_srq(&o, arg);
		break;
	case UNIV_WQ_CREATE:
		made_wq(&o, arg);
		break;
	case UNIV_QP_CREATE:
		made_qp(&o, arg);
		break;
	case UNIV_CHANNEL_CREATE:
		if (env.channel >= 0)
			close(env.channel);
		env.channel = ((const struct univ_channel_create *)arg)->fd;
		fcntl(env.channel, F_SETFL, O_NONBLOCK);
		return;
	default:
		break;
	}
	if (call_makes(call))
		object_add(&o);
	else if (call_destroys(call))
		object_remove(((const struct univ_destroy *)arg)->handle);
}

static bool any_set(const uint8_t *bytes, size_t n)
{
	while (n--)
		if (*bytes++)
			return true;
	return false;
}

/* Calls that succeed with any input, because all fields are output. */
static bool only_answers(const struct call *call)
{
	return call->cmd == UNIV_QP_QUERY || call->cmd == UNIV_AH_QUERY;
}

/* Structs that have grown are still accepted in their first version. */
static uint32_t least_size(const struct call *call)
{
	uint32_t first = first_size(call->cmd);

	return first ? first : call->size;
}

/*
 * Checks a call that has succeeded, as it was made: its arguments must not be forbidden by the
 * contract.
 */
static void judge(const struct call *call, const uint8_t *arg)
{
	const struct univ_hdr *hdr = (const void *)arg;
	const struct call_field *f;

	if (hdr->size < least_size(call))
		contract_broken("%s with a size of %u", call->name, hdr->size);
	for (uint16_t i = 0; i < call->count; i++) {
		f = &call->fields[i];
		if (!strcmp(f->name, "hdr.flags") || (field_reserved(f) && !only_answers(call)))
			if (any_set(arg + f->offset, f->size))
				contract_broken("%s with %s set", call->name, f->name);
	}
}

static void do_ioctl(struct reader *r, const struct call *call)
{
	uint64_t room[2 * PAGE / 8] = { 0 }, asked[PAGE / 8];
	uint32_t changes = take(r, 1) % 8;
	void *arg = room;

	defaults(r, call, arg);
	((struct univ_hdr *)arg)->size = call->size;
	for (changes = changes > 4 ? changes - 4 : 0; changes; changes--)
		change_field(r, call, arg);
	if (take(r, 1) >= 0xfc) {
		/* the struct lies in memory that cannot be written or read */
		arg = env.arena + ARENA - 2 * PAGE + (take(r, 1) % 3) * (PAGE - call->size / 2);
		ioctl(env.fd, call->cmd, arg);
		return;
	}
	memcpy(asked, arg, call->size);
	if (ioctl(env.fd, call->cmd, arg))
		return;
	judge(call, (const uint8_t *)asked);
	made(call, arg);
}

/* ---- Other operations of the file ---------------------------------------- */

static void do_post(struct reader *r)
{
	struct object *o = object_at(r);
	uint32_t which = take(r, 1) % 2;
	struct raw_ring *ring;
	uint8_t *slot;

	if (!o || !o->ring[which].head || o->type == UNIV_OBJECT_CQ)
		return;
	ring = &o->ring[which];
	slot = raw_slot(ring, ring->index);
	memset(slot, 0, 64);
	if (which) {
		struct univ_recv_wr *wr = (void *)slot;

		wr->count = take(r, 1) % 3;
		wr->sge[0].addr = (uintptr_t)env.arena + take(r, 2);
		wr->sge[0].length = take(r, 2);
		wr->sge[0].lkey = env.object[take(r, 1) % env.count].key;
	} else {
		struct univ_send_wr *wr = (void *)slot;

		wr->opcode = take(r, 1) % 16;
		wr->flags = take(r, 1) % 16;
		wr->count = take(r, 1) % 3;
		wr->rkey = env.object[take(r, 1) % env.count].key;
		wr->remote_addr = (uintptr_t)env.arena + take(r, 2);
		wr->sge[0].addr = (uintptr_t)env.arena + take(r, 2);
		wr->sge[0].length = take(r, 1);
		wr->sge[0].lkey = wr->rkey;
		if (o->qp_type == IBV_QPT_XRC_SEND)
			wr->srqn = env.object[take(r, 1) % env.count].srq_num;
		if (o->qp_type == IBV_QPT_UD) {
			wr->ud.ah = pick(r, UNIV_OBJECT_AH);
			wr->ud.remote_qpn = o->qp_num;
			wr->ud.remote_qkey = PAIR_QKEY;
		}
		if (wr->opcode == UNIV_WR_BIND_MW) {
			wr->bind.lkey = env.object[take(r, 1) % env.count].key;
			wr->bind.length = take(r, 2);
			wr->bind.access = take(r, 1);
			wr->rkey += take(r, 1) % 3;
		}
		if (wr->opcode == UNIV_WR_FLUSH) {
			wr->flush.length = take(r, 2);
			wr->flush.type = take(r, 1) % 5;
			wr->flush.level = take(r, 1) % 3;
		}
		if (wr->opcode == UNIV_WR_LOCAL_INV || wr->opcode == UNIV_WR_SEND_WITH_INV)
			wr->imm = wr->rkey + take(r, 1) % 3;
	}
	raw_publish(env.fd, ring, o->handle, which ? UNIV_KICK_RECV : UNIV_KICK_SEND);
}

static void do_mmap(struct reader *r)
{
	struct object *o = object_at(r);
	uint64_t offset = o && take(r, 1) % 2 ? o->map.offset : take_value(r) * PAGE;
	uint64_t length = o && take(r, 1) % 2 ? o->map.length : 1 + take(r, 3);
	uint32_t how = take(r, 1);
	void *mem = mmap(NULL, length, how % 8, how & 8 ? MAP_PRIVATE : MAP_SHARED, env.fd, offset);

	if (mem == MAP_FAILED)
		return;
	if (how & 16)
		mem = mremap(mem, length, length + PAGE, MREMAP_MAYMOVE) == MAP_FAILED ? mem : NULL;
	if (mem)
		munmap(mem, length);
}

static void do_read(struct reader *r)
{
	uint8_t events[256];
	uint32_t how = take(r, 1);

	if (read(how % 2 ? env.fd : env.channel, events, how / 2) < 0)
		return;
}

static void do_kick(struct reader *r)
{
	struct object *o = object_at(r);
	uint32_t handle = o ? o->handle : take(r, 1);

	raw_kick(env.fd, handle, take(r, 1) << 24);
}

static void do_arm(struct reader *r)
{
	struct object *o = object_at(r);

	if (!o || o->type != UNIV_OBJECT_CQ || !o->ring[0].head)
		return;
	o->ring[0].head->user.arm += 1 + take(r, 1) % 4;
	o->ring[0].head->user.index += take(r, 1) % 4;
}

static void do_unknown(struct reader *r)
{
	ioctl(env.fd, take(r, 1) % 2 ? _IO(UNIV_IOCTL_MAGIC, take(r, 1)) : take(r, 4), env.arena);
}

static void run_calls(struct reader *r)
{
	static void (*const others[])(struct reader *) = { do_post, do_post, do_post, do_mmap,
		do_read, do_kick, do_arm, do_unknown };
	uint32_t op;

	for (int n = 0; n < CALLS_MAX && more(r); n++) {
		op = take(r, 1) % (ARRAY_SIZE(calls) + ARRAY_SIZE(others));
		if (op < ARRAY_SIZE(calls))
			do_ioctl(r, &calls[op]);
		else
			others[op - ARRAY_SIZE(calls)](r);
	}
}

static void *run_second(void *arg)
{
	run_calls(arg);
	return NULL;
}

/* Creates the objects that most calls need. */
static void begin(void)
{
	static const unsigned long first[] = { UNIV_PD_ALLOC, UNIV_CQ_CREATE, UNIV_MR_REG };
	struct reader none = { 0 };

	env.fd = raw_open();
	fcntl(env.fd, F_SETFL, O_NONBLOCK);
	env.channel = -1;
	env.count = 0;
	for (size_t i = 0; i < ARRAY_SIZE(first); i++)
		for (size_t k = 0; k < ARRAY_SIZE(calls); k++)
			if (calls[k].cmd == first[i])
				do_ioctl(&none, &calls[k]);
}

/* The mappings outlive the context. */
static void finish(void)
{
	close(env.fd);
	if (env.channel >= 0)
		close(env.channel);
	for (uint32_t i = 0; i < env.count; i++)
		if (env.object[i].map.base)
			munmap(env.object[i].map.base, env.object[i].map.length);
}

/* An input whose first byte is high is split in the middle, and two threads run the halves. */
static void target_run(void)
{
	struct reader r = { .end = fuzz->current.len }, second = r;
	bool two = take(&r, 1) >= 0xc0;
	pthread_t thread;

	begin();
	if (two) {
		r.end /= 2;
		second.at = r.end;
		two = !pthread_create(&thread, NULL, run_second, &second);
	}
	run_calls(&r);
	if (two)
		pthread_join(thread, NULL);
	finish();
}
