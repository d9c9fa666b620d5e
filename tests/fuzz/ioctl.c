// SPDX-License-Identifier: GPL-2.0
/*
 * Sequences of calls on the node. Each call starts with arguments that should succeed, with objects
 * that exist; then the input changes some of its fields. The calls and their fields are those of
 * uapi/univerbs.h (calls.h).
 */
#include "fuzz.h"

#include "calls.h"

#define OBJECTS 64
#define CALLS_MAX 48
#define ARENA (32 * PAGE)

struct object {
	enum univ_object_type type;
	uint32_t handle;
	uint32_t qp_type;
	uint32_t qp_num;
	uint32_t srq_num;
	uint32_t key;
	struct raw_map map;
	struct raw_ring ring[2];	/* [0]: send or completions; [1]: receive */
};

static struct {
	int fd;
	int channel;
	uint8_t *arena;
	struct univ_ah_attr self;
	pthread_mutex_t lock;		/* protects the objects */
	struct object object[OBJECTS];
	uint32_t count;
} env = { .lock = PTHREAD_MUTEX_INITIALIZER };

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

/* ---- Objects ------------------------------------------------------------- */

/* Returns the handle of an existing object of the type, or any value that the input has. */
static uint32_t pick(struct reader *r, enum univ_object_type type)
{
	uint32_t which = take(r, 1), seen = 0, handle = 0;

	if (which >= 0xf8)
		return take(r, 1) % 16;
	pthread_mutex_lock(&env.lock);
	for (uint32_t i = 0; i < env.count; i++)
		seen += env.object[i].type == type;
	which = seen ? which % seen : 0;
	for (uint32_t i = 0; i < env.count && !handle; i++)
		if (env.object[i].type == type && !which--)
			handle = env.object[i].handle;
	pthread_mutex_unlock(&env.lock);
	return handle;
}

static struct object *object_at(struct reader *r)
{
	uint32_t which = take(r, 1);

	return env.count ? &env.object[which % env.count] : NULL;
}

/* Context: env.lock is held, or there is no other thread. */
static struct object *object_of(uint32_t handle)
{
	for (uint32_t i = 0; i < env.count; i++)
		if (env.object[i].handle == handle)
			return &env.object[i];
	return NULL;
}

static void object_add(const struct object *new)
{
	pthread_mutex_lock(&env.lock);
	if (env.count < OBJECTS)
		env.object[env.count++] = *new;
	pthread_mutex_unlock(&env.lock);
}

/* The mapping stays, so that it can be used after the object was destroyed. */
static void object_remove(uint32_t handle)
{
	struct object *gone;

	pthread_mutex_lock(&env.lock);
	gone = object_of(handle);
	if (gone)
		gone->type = UNIV_OBJECT_NONE;
	pthread_mutex_unlock(&env.lock);
}

static void object_map(struct object *o, uint64_t offset, uint64_t length,
		       const struct univ_ring_map *first, const struct univ_ring_map *second)
{
	void *base = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, env.fd, offset);

	if (base == MAP_FAILED)
		return;
	o->map = (struct raw_map){ base, length, offset };
	raw_ring_at(&o->ring[0], &o->map, first);
	if (second)
		raw_ring_at(&o->ring[1], &o->map, second);
}

/* ---- Calls --------------------------------------------------------------- */

static void default_qp(struct reader *r, struct univ_qp_create *arg)
{
	static const uint32_t types[] = { IBV_QPT_RC, IBV_QPT_UD, IBV_QPT_UC, IBV_QPT_RC };
	uint32_t srq = take(r, 1) % 4 ? 0 : pick(r, UNIV_OBJECT_SRQ);
	uint32_t which = take(r, 1);
	uint32_t type = which < 0xc0 ? types[which % ARRAY_SIZE(types)] :
			which % 2 ? IBV_QPT_XRC_SEND : IBV_QPT_XRC_RECV;
	uint32_t pd = pick(r, UNIV_OBJECT_PD);

	raw_qp_arg(arg, type, pd, pick(r, UNIV_OBJECT_CQ), srq);
	arg->recv_cq = pick(r, UNIV_OBJECT_CQ);
	if (type == IBV_QPT_XRC_RECV)
		arg->xrcd = pick(r, UNIV_OBJECT_XRCD);
}

/*
 * The number of the peer: the queue pair itself, or for XRC a queue pair of the other side.
 * Context: as object_of().
 */
static uint32_t peer_num(const struct object *qp)
{
	uint32_t other = qp->qp_type == IBV_QPT_XRC_SEND ? IBV_QPT_XRC_RECV :
			 qp->qp_type == IBV_QPT_XRC_RECV ? IBV_QPT_XRC_SEND : 0;

	for (uint32_t i = 0; other && i < env.count; i++)
		if (env.object[i].type == UNIV_OBJECT_QP && env.object[i].qp_type == other)
			return env.object[i].qp_num;
	return qp->qp_num;
}

/* A state transition that follows the present state of a queue pair. */
static void default_modify(struct reader *r, struct univ_qp_modify *arg)
{
	uint32_t step = take(r, 1) % 8;
	uint32_t type = IBV_QPT_RC, num = 0;
	struct object *o;

	arg->handle = pick(r, UNIV_OBJECT_QP);
	pthread_mutex_lock(&env.lock);
	o = object_of(arg->handle);
	if (o) {
		type = o->qp_type;
		num = peer_num(o);
	}
	pthread_mutex_unlock(&env.lock);
	switch (step) {
	case 0:
	case 1:
		raw_attr_init(&arg->attr, type);
		break;
	case 2:
	case 3:
		raw_attr_rtr(env.fd, &arg->attr, type, num);
		break;
	case 4:
	case 5:
		raw_attr_rts(&arg->attr, type);
		break;
	default:
		arg->attr.attr_mask = IBV_QP_STATE;
		arg->attr.qp_state = take(r, 1) % 8;
	}
}

/* Attributes of an existing object. */
static uint32_t any_qp_num(struct reader *r)
{
	uint32_t handle = pick(r, UNIV_OBJECT_QP), num = 0;
	struct object *o;

	pthread_mutex_lock(&env.lock);
	o = object_of(handle);
	if (o)
		num = o->qp_num;
	pthread_mutex_unlock(&env.lock);
	return num;
}

static void default_mr(struct reader *r, struct univ_mr_reg *arg)
{
	arg->pd = pick(r, UNIV_OBJECT_PD);
	arg->access = ALL_ACCESS;
	arg->addr = (uintptr_t)env.arena + take(r, 1) * 64;
	arg->length = 1 + take(r, 2);
	arg->iova = arg->addr;
}

/* Sets the handles and channels of all structs but the ones above, by the names of the fields. */
static void default_handles(struct reader *r, const struct call *call, uint8_t *arg)
{
	for (uint16_t i = 0; i < call->count; i++) {
		const struct call_field *f = &call->fields[i];
		enum univ_object_type type = UNIV_OBJECT_NONE;
		uint32_t handle;

		if (!strcmp(f->name, "pd"))
			type = UNIV_OBJECT_PD;
		else if (!strcmp(f->name, "qp"))
			type = UNIV_OBJECT_QP;
		else if (!strcmp(f->name, "xrcd"))
			type = UNIV_OBJECT_XRCD;
		else if (!strcmp(f->name, "handle"))
			type = call_kind(call);
		if (!strcmp(f->name, "port_num"))
			arg[f->offset] = PORT;
		if (type == UNIV_OBJECT_NONE || f->size != sizeof(handle))
			continue;
		handle = pick(r, type);
		memcpy(arg + f->offset, &handle, sizeof(handle));
	}
}

static void defaults(struct reader *r, const struct call *call, void *arg)
{
	static const uint8_t group[16] = { 0xff, 0x0e, [15] = 7 };

	switch (call->cmd) {
	case UNIV_QP_CREATE:
		return default_qp(r, arg);
	case UNIV_QP_MODIFY:
		return default_modify(r, arg);
	case UNIV_MR_REG:
		return default_mr(r, arg);
	default:
		default_handles(r, call, arg);
	}
	switch (call->cmd) {
	case UNIV_AH_CREATE:
		((struct univ_ah_create *)arg)->attr = env.self;
		break;
	case UNIV_MW_ALLOC:
		((struct univ_mw_alloc *)arg)->type = 1 + take(r, 1) % 2;
		break;
	case UNIV_CQ_CREATE:
		((struct univ_cq_create *)arg)->cqe = 1 + take(r, 1);
		((struct univ_cq_create *)arg)->channel_fd = take(r, 1) % 2 ? env.channel : -1;
		break;
	case UNIV_CQ_RESIZE:
		((struct univ_cq_resize *)arg)->cqe = 1 + take(r, 1);
		break;
	case UNIV_SRQ_CREATE:
		((struct univ_srq_create *)arg)->max_wr = 1 + take(r, 1) % 64;
		((struct univ_srq_create *)arg)->max_sge = 2;
		if (take(r, 1) < 0xc0)
			break;
		((struct univ_srq_create *)arg)->srq_type = IBV_SRQT_XRC;
		((struct univ_srq_create *)arg)->cq = pick(r, UNIV_OBJECT_CQ);
		break;
	case UNIV_XRCD_OPEN:
		((struct univ_xrcd_open *)arg)->fd = take(r, 1) % 2 ? env.fd : -1;
		((struct univ_xrcd_open *)arg)->oflags = O_CREAT;
		break;
	case UNIV_QP_OPEN:
		((struct univ_qp_open *)arg)->qp_num = any_qp_num(r);
		((struct univ_qp_open *)arg)->qp_type = IBV_QPT_XRC_RECV;
		break;
	case UNIV_GID_TABLE:
		((struct univ_gid_table *)arg)->entries = (uintptr_t)env.arena;
		((struct univ_gid_table *)arg)->max = 64;
		break;
	case UNIV_MCAST_ATTACH:
	case UNIV_MCAST_DETACH:
		memcpy(((struct univ_mcast *)arg)->gid, group, sizeof(group));
		break;
	default:
		break;
	}
}

/* The value is never an address of this process outside of the arena. */
static uint64_t take_address(struct reader *r)
{
	uint64_t value = take_value(r);

	if (value >= PAGE && value < 1ull << 47)
		value = (uintptr_t)env.arena + value % ARENA;
	return value;
}

static void change_field(struct reader *r, const struct call *call, uint8_t *arg)
{
	const struct call_field *f = &call->fields[take(r, 1) % call->count];
	uint64_t value = f->size == 8 ? take_address(r) : take_value(r);

	/* The size does not exceed the room; the bytes behind the struct come from the input. */
	if (!strcmp(f->name, "hdr.size") && value > 2 * PAGE)
		value = 2 * PAGE;
	for (uint16_t at = 0; at < f->size; at += 8)
		memcpy(arg + f->offset + at, &value, f->size - at < 8 ? f->size - at : 8);
}

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
	return call->cmd == UNIV_QP_QUERY;
}

/* Structs that have grown are still accepted in their first version. */
static uint32_t least_size(const struct call *call)
{
	switch (call->cmd) {
	case UNIV_SRQ_CREATE:
		return offsetof(struct univ_srq_create, srq_type);
	case UNIV_QP_CREATE:
		return offsetof(struct univ_qp_create, xrcd);
	default:
		return call->size;
	}
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
