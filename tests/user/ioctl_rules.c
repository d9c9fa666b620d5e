// SPDX-License-Identifier: GPL-2.0
/*
 * adv09, adv10, adv13. The rules that uapi/univerbs.h states for every ioctl,
 * tried on every ioctl: sizes, tails, reserved fields, unknown flags, memory
 * that cannot be written, handles that are none.
 */
#include "raw.h"

/* Objects that the commands refer to. What a command creates is destroyed at once. */
static struct {
	int fd;
	int other;
	uint32_t pd;
	uint32_t foreign;	/* a domain of the other fd */
	uint32_t freed;		/* a domain that is no more */
	struct raw_mr mr;
	struct raw_cq cq;
	struct raw_srq srq;
	struct raw_qp qp;
	struct raw_qp ud;
	uint8_t *mem;
	struct univ_gid_entry gids[64];
} env;

enum { NO_DESTROY = 0 };

struct field {
	uint32_t offset;
	uint32_t length;	/* reserved: bytes; handle: 4 */
	uint32_t type;		/* handle: enum univ_object_type */
};

#define AT(type, member) offsetof(struct type, member)
#define RESERVED(type, member) { AT(type, member), sizeof(((struct type *)0)->member) }
#define HANDLE(type, member, kind) { AT(type, member), 4, UNIV_OBJECT_##kind }

struct rule {
	const char *name;
	unsigned long cmd;
	uint32_t size;
	void (*fill)(void *arg);
	unsigned long destroy;		/* undoes a success */
	uint32_t result;		/* where the handle lies */
	struct field reserved[4];
	struct field handles[4];
	bool may_refuse;		/* the device need not offer it */
};

/* ---- A valid argument for each ------------------------------------------- */

static void fill_nothing(void *arg)
{
	(void)arg;
}

static void fill_port(void *arg)
{
	((struct univ_port_query *)arg)->port_num = PORT;
}

static void fill_pkey(void *arg)
{
	((struct univ_pkey_query *)arg)->port_num = PORT;
}

static void fill_gid(void *arg)
{
	struct univ_gid_query *a = arg;

	a->port_num = PORT;
	a->index = 1;
}

static void fill_gid_table(void *arg)
{
	struct univ_gid_table *a = arg;

	a->entries = (uintptr_t)env.gids;
	a->max = ARRAY_SIZE(env.gids);
}

static void fill_mr(void *arg)
{
	struct univ_mr_reg *a = arg;

	a->pd = env.pd;
	a->access = ALL_ACCESS;
	a->addr = (uintptr_t)env.mem;
	a->length = 8192;
	a->iova = a->addr;
}

static void fill_mr_rereg(void *arg)
{
	struct univ_mr_rereg *a = arg;

	a->handle = env.mr.handle;
	a->change = IBV_REREG_MR_CHANGE_ACCESS;
	a->access = ALL_ACCESS;
}

static void fill_ah(void *arg)
{
	struct univ_ah_create *a = arg;

	a->pd = env.pd;
	raw_ah_attr(env.fd, &a->attr);
}

static void fill_cq(void *arg)
{
	struct univ_cq_create *a = arg;

	a->cqe = 16;
	a->channel_fd = -1;
}

static void fill_cq_resize(void *arg)
{
	struct univ_cq_resize *a = arg;

	a->handle = env.cq.handle;
	a->cqe = 64;
}

static void fill_cq_moderate(void *arg)
{
	struct univ_cq_moderate *a = arg;

	a->handle = env.cq.handle;
	a->count = 1;
}

static void fill_srq(void *arg)
{
	struct univ_srq_create *a = arg;

	a->pd = env.pd;
	a->max_wr = 16;
	a->max_sge = 1;
}

static void fill_srq_modify(void *arg)
{
	struct univ_srq_modify *a = arg;

	a->handle = env.srq.handle;
	a->attr_mask = IBV_SRQ_LIMIT;
}

static void fill_srq_query(void *arg)
{
	((struct univ_srq_query *)arg)->handle = env.srq.handle;
}

static void fill_qp(void *arg)
{
	raw_qp_arg(arg, IBV_QPT_RC, env.pd, env.cq.handle, env.srq.handle);
}

static void fill_qp_modify(void *arg)
{
	struct univ_qp_modify *a = arg;

	a->handle = env.qp.handle;
	a->attr.attr_mask = IBV_QP_STATE;
	a->attr.qp_state = IBV_QPS_RESET;
}

static void fill_qp_query(void *arg)
{
	((struct univ_qp_query *)arg)->handle = env.qp.handle;
}

static void fill_mcast(void *arg)
{
	static const uint8_t group[16] = { [10] = 0xff, [11] = 0xff, 239, 7, 7, 7 };
	struct univ_mcast *a = arg;

	a->qp = env.ud.handle;
	memcpy(a->gid, group, sizeof(group));
}

/* Destroying needs something to destroy, made anew each time */

static void fill_pd_dealloc(void *arg)
{
	((struct univ_destroy *)arg)->handle = raw_pd(env.fd);
}

static uint32_t made(unsigned long cmd, void *arg, uint32_t size, uint32_t result)
{
	int err = raw_call_size(env.fd, cmd, arg, size);

	NEED(!err, "ioctl %#lx: %s, reason %u", cmd, err_name(err),
	     ((struct univ_hdr *)arg)->reason);
	return *(uint32_t *)((char *)arg + result);
}

#define MAKE(type, cmd, fill, arg) do {						\
	struct type __a = { 0 };						\
	fill(&__a);								\
	((struct univ_destroy *)(arg))->handle =				\
		made(cmd, &__a, sizeof(__a), offsetof(struct type, handle));	\
} while (0)

static void fill_mr_dereg(void *arg)
{
	MAKE(univ_mr_reg, UNIV_MR_REG, fill_mr, arg);
}

static void fill_ah_destroy(void *arg)
{
	MAKE(univ_ah_create, UNIV_AH_CREATE, fill_ah, arg);
}

static void fill_cq_destroy(void *arg)
{
	MAKE(univ_cq_create, UNIV_CQ_CREATE, fill_cq, arg);
}

static void fill_srq_destroy(void *arg)
{
	MAKE(univ_srq_create, UNIV_SRQ_CREATE, fill_srq, arg);
}

static void fill_qp_destroy(void *arg)
{
	MAKE(univ_qp_create, UNIV_QP_CREATE, fill_qp, arg);
}

static const struct rule rules[] = {
	{ "CONTEXT_QUERY", UNIV_CONTEXT_QUERY, sizeof(struct univ_context_query), fill_nothing,
	  .reserved = { RESERVED(univ_context_query, reserved) } },
	{ "POLLER_START", UNIV_POLLER_START, sizeof(struct univ_poller_start), fill_nothing,
	  .reserved = { RESERVED(univ_poller_start, reserved) } },
	{ "DEVICE_QUERY", UNIV_DEVICE_QUERY, sizeof(struct univ_device_query), fill_nothing,
	  .reserved = { RESERVED(univ_device_query, reserved) } },
	{ "PORT_QUERY", UNIV_PORT_QUERY, sizeof(struct univ_port_query), fill_port,
	  .reserved = { RESERVED(univ_port_query, reserved) } },
	{ "PKEY_QUERY", UNIV_PKEY_QUERY, sizeof(struct univ_pkey_query), fill_pkey,
	  .reserved = { RESERVED(univ_pkey_query, reserved) } },
	{ "GID_QUERY", UNIV_GID_QUERY, sizeof(struct univ_gid_query), fill_gid },
	{ "GID_TABLE", UNIV_GID_TABLE, sizeof(struct univ_gid_table), fill_gid_table },
	{ "PD_ALLOC", UNIV_PD_ALLOC, sizeof(struct univ_pd_alloc), fill_nothing,
	  UNIV_PD_DEALLOC, AT(univ_pd_alloc, handle),
	  .reserved = { RESERVED(univ_pd_alloc, reserved) } },
	{ "PD_DEALLOC", UNIV_PD_DEALLOC, sizeof(struct univ_destroy), fill_pd_dealloc,
	  .reserved = { RESERVED(univ_destroy, reserved) },
	  .handles = { HANDLE(univ_destroy, handle, PD) } },
	{ "MR_REG", UNIV_MR_REG, sizeof(struct univ_mr_reg), fill_mr,
	  UNIV_MR_DEREG, AT(univ_mr_reg, handle),
	  .reserved = { RESERVED(univ_mr_reg, reserved) },
	  .handles = { HANDLE(univ_mr_reg, pd, PD) } },
	{ "MR_REREG", UNIV_MR_REREG, sizeof(struct univ_mr_rereg), fill_mr_rereg,
	  .handles = { HANDLE(univ_mr_rereg, handle, MR) }, .may_refuse = true },
	{ "MR_DEREG", UNIV_MR_DEREG, sizeof(struct univ_destroy), fill_mr_dereg,
	  .reserved = { RESERVED(univ_destroy, reserved) },
	  .handles = { HANDLE(univ_destroy, handle, MR) } },
	{ "AH_CREATE", UNIV_AH_CREATE, sizeof(struct univ_ah_create), fill_ah,
	  UNIV_AH_DESTROY, AT(univ_ah_create, handle),
	  .reserved = { RESERVED(univ_ah_create, attr.reserved) },
	  .handles = { HANDLE(univ_ah_create, pd, PD) } },
	{ "AH_DESTROY", UNIV_AH_DESTROY, sizeof(struct univ_destroy), fill_ah_destroy,
	  .reserved = { RESERVED(univ_destroy, reserved) },
	  .handles = { HANDLE(univ_destroy, handle, AH) } },
	{ "CHANNEL_CREATE", UNIV_CHANNEL_CREATE, sizeof(struct univ_channel_create), fill_nothing,
	  .reserved = { RESERVED(univ_channel_create, reserved) } },
	{ "CQ_CREATE", UNIV_CQ_CREATE, sizeof(struct univ_cq_create), fill_cq,
	  UNIV_CQ_DESTROY, AT(univ_cq_create, handle),
	  .reserved = { RESERVED(univ_cq_create, reserved) } },
	{ "CQ_RESIZE", UNIV_CQ_RESIZE, sizeof(struct univ_cq_resize), fill_cq_resize,
	  .handles = { HANDLE(univ_cq_resize, handle, CQ) } },
	{ "CQ_MODERATE", UNIV_CQ_MODERATE, sizeof(struct univ_cq_moderate), fill_cq_moderate,
	  .handles = { HANDLE(univ_cq_moderate, handle, CQ) }, .may_refuse = true },
	{ "CQ_DESTROY", UNIV_CQ_DESTROY, sizeof(struct univ_destroy), fill_cq_destroy,
	  .reserved = { RESERVED(univ_destroy, reserved) },
	  .handles = { HANDLE(univ_destroy, handle, CQ) } },
	{ "SRQ_CREATE", UNIV_SRQ_CREATE, sizeof(struct univ_srq_create), fill_srq,
	  UNIV_SRQ_DESTROY, AT(univ_srq_create, handle),
	  .reserved = { RESERVED(univ_srq_create, reserved) },
	  .handles = { HANDLE(univ_srq_create, pd, PD) } },
	{ "SRQ_MODIFY", UNIV_SRQ_MODIFY, sizeof(struct univ_srq_modify), fill_srq_modify,
	  .handles = { HANDLE(univ_srq_modify, handle, SRQ) } },
	{ "SRQ_QUERY", UNIV_SRQ_QUERY, sizeof(struct univ_srq_query), fill_srq_query,
	  .handles = { HANDLE(univ_srq_query, handle, SRQ) } },
	{ "SRQ_DESTROY", UNIV_SRQ_DESTROY, sizeof(struct univ_destroy), fill_srq_destroy,
	  .reserved = { RESERVED(univ_destroy, reserved) },
	  .handles = { HANDLE(univ_destroy, handle, SRQ) } },
	{ "QP_CREATE", UNIV_QP_CREATE, sizeof(struct univ_qp_create), fill_qp,
	  UNIV_QP_DESTROY, AT(univ_qp_create, handle),
	  .reserved = { RESERVED(univ_qp_create, create_flags) },
	  .handles = { HANDLE(univ_qp_create, pd, PD), HANDLE(univ_qp_create, send_cq, CQ),
		       HANDLE(univ_qp_create, recv_cq, CQ), HANDLE(univ_qp_create, srq, SRQ) } },
	{ "QP_MODIFY", UNIV_QP_MODIFY, sizeof(struct univ_qp_modify), fill_qp_modify,
	  .reserved = { RESERVED(univ_qp_modify, reserved),
			RESERVED(univ_qp_modify, attr.reserved),
			RESERVED(univ_qp_modify, attr.ah.reserved),
			RESERVED(univ_qp_modify, attr.alt_ah.reserved) },
	  .handles = { HANDLE(univ_qp_modify, handle, QP) } },
	{ "QP_QUERY", UNIV_QP_QUERY, sizeof(struct univ_qp_query), fill_qp_query,
	  .handles = { HANDLE(univ_qp_query, handle, QP) } },
	{ "QP_DESTROY", UNIV_QP_DESTROY, sizeof(struct univ_destroy), fill_qp_destroy,
	  .reserved = { RESERVED(univ_destroy, reserved) },
	  .handles = { HANDLE(univ_destroy, handle, QP) } },
	{ "MCAST_ATTACH", UNIV_MCAST_ATTACH, sizeof(struct univ_mcast), fill_mcast,
	  .reserved = { RESERVED(univ_mcast, reserved) },
	  .handles = { HANDLE(univ_mcast, qp, QP) } },
	{ "MCAST_DETACH", UNIV_MCAST_DETACH, sizeof(struct univ_mcast), fill_mcast,
	  .reserved = { RESERVED(univ_mcast, reserved) },
	  .handles = { HANDLE(univ_mcast, qp, QP) } },
};

/* ---- Around each case ---------------------------------------------------- */

static void set_up(void)
{
	struct univ_qp_attr a;

	env.fd = raw_open();
	env.other = raw_open();
	env.mem = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	env.pd = raw_pd(env.fd);
	env.mr = raw_mr(env.fd, env.pd, env.mem, 16384, ALL_ACCESS);
	raw_cq(env.fd, &env.cq, 32, -1);
	raw_srq(env.fd, &env.srq, env.pd, 16);
	raw_qp(env.fd, &env.qp, IBV_QPT_RC, env.pd, env.cq.handle, 0);
	raw_qp(env.fd, &env.ud, IBV_QPT_UD, env.pd, env.cq.handle, 0);
	raw_attr_init(&a, IBV_QPT_UD);
	NEED_OK(raw_modify(env.fd, env.ud.handle, &a));
	/* Handles are counted per context: go far beyond those of this one */
	for (int i = 0; i < 100; i++)
		env.foreign = raw_pd(env.other);
	for (int i = 0; i < 40; i++)
		env.freed = raw_pd(env.fd);
	for (int i = 0; i < 40; i++)
		raw_destroy(env.fd, UNIV_PD_DEALLOC, env.freed - i);
}

static void tear_down(void)
{
	raw_unmap(&env.cq.map);
	raw_unmap(&env.srq.map);
	raw_unmap(&env.qp.map);
	raw_unmap(&env.ud.map);
	close(env.fd);
	close(env.other);
	munmap(env.mem, 16384);
}

/* MCAST_DETACH wants something attached, and ATTACH wants it gone afterwards */
static void before(const struct rule *r)
{
	struct univ_mcast arg = { 0 };

	if (r->cmd != UNIV_MCAST_DETACH)
		return;
	fill_mcast(&arg);
	raw_call(env.fd, UNIV_MCAST_ATTACH, &arg);
}

static void undo(const struct rule *r, const void *arg)
{
	struct univ_mcast detach = { 0 };

	if (r->cmd == UNIV_CHANNEL_CREATE) {
		close(((const struct univ_channel_create *)arg)->fd);
	} else if (r->cmd == UNIV_MCAST_ATTACH) {
		fill_mcast(&detach);
		raw_call(env.fd, UNIV_MCAST_DETACH, &detach);
	} else if (r->destroy) {
		uint32_t handle = *(const uint32_t *)((const char *)arg + r->result);

		CHECK(handle, "%s: handle 0", r->name);
		CHECK_ERR(raw_destroy(env.fd, r->destroy, handle), 0);
	}
}

static bool refused(const struct rule *r, int err)
{
	return r->may_refuse && (err == EOPNOTSUPP || err == ENOSYS);
}

/* A destroying command that should have failed leaves its object: remove it */
static void clean(const struct rule *r, const void *arg)
{
	raw_destroy(env.fd, r->cmd, ((const struct univ_destroy *)arg)->handle);
}

static bool destroys(const struct rule *r)
{
	return r->fill == fill_pd_dealloc || r->fill == fill_mr_dereg ||
	       r->fill == fill_ah_destroy || r->fill == fill_cq_destroy ||
	       r->fill == fill_srq_destroy || r->fill == fill_qp_destroy;
}

#define BUF 8192
static union {
	struct univ_hdr hdr;
	char bytes[BUF];
} buf;

static void fresh(const struct rule *r)
{
	memset(&buf, 0, sizeof(buf));
	before(r);
	r->fill(&buf);
}

static void want(const struct rule *r, const char *what, int err, int want_err, uint32_t reason)
{
	if (refused(r, err))
		return;
	CHECK(err == want_err, "%s, %s: expected %s, got %s", r->name, what, err_name(want_err),
	      err_name(err));
	if (err == want_err && reason)
		CHECK(buf.hdr.reason == reason, "%s, %s: expected reason %u, got %u", r->name,
		      what, reason, buf.hdr.reason);
	if (err && destroys(r))
		clean(r, &buf);
	if (!err)
		undo(r, &buf);
}

static void for_each_rule(void (*fn)(const struct rule *r))
{
	set_up();
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		fn(&rules[i]);
	tear_down();
}

/* ---- adv10 --------------------------------------------------------------- */

static int call_sized(const struct rule *r, uint32_t size)
{
	return raw_call_size(env.fd, r->cmd, &buf, size);
}

static void size_rules(const struct rule *r)
{
	static const uint32_t tiny[] = { 0, 1, 4, sizeof(struct univ_hdr) - 1 };
	int err;

	fresh(r);
	err = call_sized(r, r->size - 1);
	want(r, "one byte short", err, EINVAL, UNIV_REASON_SIZE);
	if (err == EINVAL)
		CHECK(buf.hdr.value == r->size - 1 && buf.hdr.bound == r->size,
		      "%s: value %llu bound %llu, expected %u and %u", r->name, buf.hdr.value,
		      buf.hdr.bound, r->size - 1, r->size);
	for (size_t i = 0; i < ARRAY_SIZE(tiny); i++) {
		fresh(r);
		want(r, "tiny", call_sized(r, tiny[i]), EINVAL, 0);
	}
	fresh(r);
	want(r, "exact", call_sized(r, r->size), 0, 0);
	fresh(r);
	want(r, "longer, zeros", call_sized(r, r->size + 40), 0, 0);
	fresh(r);
	buf.bytes[r->size + 39] = 1;
	err = call_sized(r, r->size + 40);
	want(r, "longer, last byte set", err, E2BIG, UNIV_REASON_TAIL);
	if (err == E2BIG)
		CHECK(buf.hdr.value == r->size + 40 && buf.hdr.bound == r->size,
		      "%s: value %llu bound %llu, expected %u and %u", r->name, buf.hdr.value,
		      buf.hdr.bound, r->size + 40, r->size);
	fresh(r);
	buf.bytes[r->size] = 1;
	want(r, "longer, first byte set", call_sized(r, r->size + 40), E2BIG, UNIV_REASON_TAIL);
	fresh(r);
	err = call_sized(r, 0xffffffffu);
	CHECK(err == E2BIG || err == EFAULT || err == EINVAL, "%s, size 2^32 - 1: %s", r->name,
	      err_name(err));
	if (destroys(r))
		clean(r, &buf);
}

static void sizes(void)
{
	for_each_rule(size_rules);
}

/* A success says so: no reason is left from before */
static void success_rules(const struct rule *r)
{
	fresh(r);
	buf.hdr.reason = 12;
	buf.hdr.detail = 13;
	buf.hdr.value = 14;
	buf.hdr.bound = 15;
	want(r, "with rubbish in the output fields", call_sized(r, r->size), 0, 0);
}

static void success(void)
{
	for_each_rule(success_rules);
}

static void flag_rules(const struct rule *r)
{
	int err;

	for (int bit = 0; bit < 32; bit++) {
		fresh(r);
		buf.hdr.flags = 1u << bit;
		err = call_sized(r, r->size);
		want(r, "unknown header flag", err, EOPNOTSUPP, UNIV_REASON_FLAGS);
		if (err == EOPNOTSUPP)
			CHECK(buf.hdr.value == 1u << bit && !buf.hdr.bound,
			      "%s: value %#llx bound %#llx for flag %d", r->name, buf.hdr.value,
			      buf.hdr.bound, bit);
	}
}

static void flags(void)
{
	for_each_rule(flag_rules);
}

/* create_flags is a word of flags: its reason is another */
static uint32_t reserved_reason(const struct rule *r)
{
	return r->cmd == UNIV_QP_CREATE ? UNIV_REASON_FLAGS : UNIV_REASON_RESERVED;
}

static void reserved_rules(const struct rule *r)
{
	for (size_t f = 0; f < ARRAY_SIZE(r->reserved) && r->reserved[f].length; f++) {
		for (uint32_t b = 0; b < r->reserved[f].length; b++) {
			uint32_t at = r->reserved[f].offset + b;
			int err;

			fresh(r);
			buf.bytes[at] = 0x40;
			err = call_sized(r, r->size);
			want(r, "reserved byte set", err, EOPNOTSUPP, reserved_reason(r));
			if (err != EOPNOTSUPP)
				printf("    ... at offset %u\n", at);
			else if (buf.hdr.reason == UNIV_REASON_RESERVED)
				CHECK(buf.hdr.value >= r->reserved[f].offset && buf.hdr.value <= at,
				      "%s: offset %llu told, %u meant", r->name, buf.hdr.value, at);
		}
	}
}

static void reserved(void)
{
	for_each_rule(reserved_rules);
}

/* Flags beyond those of the header */
static void other_flags(void)
{
	struct univ_cq_create cq = { .cqe = 16, .channel_fd = -1, .cq_flags = 1u << 9 };
	struct univ_srq_modify srq = { .attr_mask = 1u << 9 };
	struct univ_mr_rereg mr = { .change = 1u << 9 };
	int err;

	set_up();
	CHECK_ERR(raw_call(env.fd, UNIV_CQ_CREATE, &cq), EOPNOTSUPP);
	CHECK(cq.hdr.reason == UNIV_REASON_FLAGS && cq.hdr.value == 1u << 9, "reason %u value %#llx",
	      cq.hdr.reason, cq.hdr.value);
	srq.handle = env.srq.handle;
	CHECK_ERR(raw_call(env.fd, UNIV_SRQ_MODIFY, &srq), EOPNOTSUPP);
	CHECK(srq.hdr.reason == UNIV_REASON_FLAGS, "reason %u", srq.hdr.reason);
	mr.handle = env.mr.handle;
	err = raw_call(env.fd, UNIV_MR_REREG, &mr);
	CHECK(err == EOPNOTSUPP || err == EINVAL, "UNIV_MR_REREG: %s", err_name(err));
	tear_down();
}

/* ---- adv09 --------------------------------------------------------------- */

static void *page_with(const void *bytes, size_t len, int prot)
{
	void *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	NEED(page != MAP_FAILED, "mmap");
	memcpy(page, bytes, len);
	mprotect(page, 2 * PAGE, prot);
	return page;
}

static int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* What the command could have made, were it not refused: nothing may answer to its kind */
static uint32_t count_handles(unsigned long destroy, uint32_t below)
{
	uint32_t n = 0;

	for (uint32_t h = 1; h < below; h++)
		n += !raw_destroy(env.fd, destroy, h);
	return n;
}

static void fault_rules(const struct rule *r)
{
	int fds, err;
	void *page;

	fresh(r);
	buf.hdr.size = r->size;
	page = page_with(&buf, r->size, PROT_NONE);
	err = ioctl(env.fd, r->cmd, page) ? errno : 0;
	want(r, "PROT_NONE", err, EFAULT, 0);
	munmap(page, 2 * PAGE);

	fresh(r);
	buf.hdr.size = r->size;
	page = page_with(&buf, r->size, PROT_READ);
	fds = count_fds();
	err = ioctl(env.fd, r->cmd, page) ? errno : 0;
	if (refused(r, err))
		goto out;
	CHECK(err == EFAULT, "%s, read-only: expected EFAULT, got %s", r->name, err_name(err));
	CHECK(count_fds() == fds, "%s, read-only: %d file descriptors more", r->name,
	      count_fds() - fds);
	if (destroys(r))
		clean(r, &buf);
out:
	munmap(page, 2 * PAGE);
}

static void faults(void)
{
	struct univ_gid_table table;
	char *page;

	for_each_rule(fault_rules);
	set_up();
	page = page_with("", 1, PROT_READ);
	table = (struct univ_gid_table){ .entries = (uintptr_t)page, .max = 16 };
	CHECK_ERR(raw_call(env.fd, UNIV_GID_TABLE, &table), EFAULT);
	CHECK(table.hdr.reason == UNIV_REASON_FAULT, "reason %u", table.hdr.reason);
	table.entries = 0xffffffffffffff00ull;
	CHECK_ERR(raw_call(env.fd, UNIV_GID_TABLE, &table), EFAULT);
	munmap(page, 2 * PAGE);
	tear_down();
}

/*
 * After EFAULT the object does not exist. On a fresh context one object of each
 * kind is asked for with a result that cannot be written; then no handle of that
 * kind may answer, and the parents may go, which they could not below a child.
 */
static void fault_leaves_nothing(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		const struct rule *r = &rules[i];
		uint32_t keep;
		void *page;
		int err;

		if (!r->destroy)
			continue;
		set_up();
		fresh(r);
		buf.hdr.size = r->size;
		page = page_with(&buf, r->size, PROT_READ);
		err = ioctl(env.fd, r->cmd, page) ? errno : 0;
		CHECK(err == EFAULT, "%s: expected EFAULT, got %s", r->name, err_name(err));
		munmap(page, 2 * PAGE);
		CHECK_ERR(raw_destroy(env.fd, UNIV_QP_DESTROY, env.qp.handle), 0);
		CHECK_ERR(raw_destroy(env.fd, UNIV_QP_DESTROY, env.ud.handle), 0);
		CHECK_ERR(raw_destroy(env.fd, UNIV_SRQ_DESTROY, env.srq.handle), 0);
		CHECK_ERR(raw_destroy(env.fd, UNIV_MR_DEREG, env.mr.handle), 0);
		CHECK_ERR(raw_destroy(env.fd, UNIV_CQ_DESTROY, env.cq.handle), 0);
		err = raw_destroy(env.fd, UNIV_PD_DEALLOC, env.pd);
		CHECK(!err, "after a faulted %s its domain cannot go: %s", r->name, err_name(err));
		keep = count_handles(r->destroy, 1000);
		CHECK(!keep, "a faulted %s left %u objects", r->name, keep);
		tear_down();
	}
}

/* A pointer into nowhere, into the kernel, unaligned, across the end of a mapping */
static void odd_pointers(void)
{
	static const uintptr_t bad[] = { 0, 8, 0xffff888000000000ull, 0xffffffffffffffffull,
		0x7fffffffffffull, 0x800000000000ull };
	char *page = page_with("", 1, PROT_READ | PROT_WRITE);
	struct univ_pd_alloc *arg;
	int err;

	set_up();
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		err = ioctl(env.fd, UNIV_PD_ALLOC, bad[i]) ? errno : 0;
		CHECK(err == EFAULT, "pointer %#lx: %s", bad[i], err_name(err));
	}
	munmap(page + PAGE, PAGE);
	arg = (void *)(page + PAGE - sizeof(*arg) + 8);
	arg->hdr.size = sizeof(*arg);
	err = ioctl(env.fd, UNIV_PD_ALLOC, arg) ? errno : 0;
	CHECK(err == EFAULT, "a struct across the end: %s", err_name(err));
	arg = (void *)(page + 1);
	arg->hdr.size = sizeof(*arg);
	err = ioctl(env.fd, UNIV_PD_ALLOC, arg) ? errno : 0;
	CHECK(!err, "a struct that is not aligned: %s", err_name(err));
	munmap(page, PAGE);
	tear_down();
}

/* ---- adv13 --------------------------------------------------------------- */

static void want_handle(const struct rule *r, const struct field *f, uint32_t handle,
			const char *what, uint32_t reason)
{
	int err;

	fresh(r);
	if (destroys(r))
		clean(r, &buf);
	*(uint32_t *)(buf.bytes + f->offset) = handle;
	/* No shared queue is a valid wish */
	if (!handle && f->type == UNIV_OBJECT_SRQ && r->cmd == UNIV_QP_CREATE)
		return;
	err = call_sized(r, r->size);
	if (refused(r, err))
		return;
	CHECK(err == EINVAL || err == ENOENT, "%s, field at %u, %s %u: expected EINVAL, got %s",
	      r->name, f->offset, what, handle, err_name(err));
	if (err == EINVAL || err == ENOENT) {
		CHECK(buf.hdr.reason == reason, "%s, field at %u, %s %u: expected reason %u, got %u",
		      r->name, f->offset, what, handle, reason, buf.hdr.reason);
		CHECK(buf.hdr.detail == f->type && buf.hdr.value == handle,
		      "%s, %s: detail %u value %llu, expected %u and %u", r->name, what,
		      buf.hdr.detail, buf.hdr.value, f->type, handle);
	}
	if (!err)
		undo(r, &buf);
}

static uint32_t another_kind(uint32_t type)
{
	return type == UNIV_OBJECT_CQ ? env.pd : env.cq.handle;
}

static void handle_rules(const struct rule *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(r->handles) && r->handles[i].length; i++) {
		const struct field *f = &r->handles[i];

		want_handle(r, f, 0, "handle", UNIV_REASON_HANDLE);
		want_handle(r, f, 0xffffffff, "handle", UNIV_REASON_HANDLE);
		want_handle(r, f, 0x80000001, "handle", UNIV_REASON_HANDLE);
		want_handle(r, f, 999999, "handle", UNIV_REASON_HANDLE);
		want_handle(r, f, env.foreign, "another context's handle", UNIV_REASON_HANDLE);
		want_handle(r, f, env.freed, "freed handle", UNIV_REASON_HANDLE);
		want_handle(r, f, another_kind(f->type), "handle of another kind",
			    UNIV_REASON_HANDLE_TYPE);
		if (buf.hdr.reason == UNIV_REASON_HANDLE_TYPE)
			CHECK(buf.hdr.bound == (f->type == UNIV_OBJECT_CQ ? UNIV_OBJECT_PD :
				UNIV_OBJECT_CQ), "%s: the other kind is told as %llu", r->name,
			      buf.hdr.bound);
	}
}

static void handles(void)
{
	for_each_rule(handle_rules);
}

/* Destroying twice; the number may be given to another object in between */
static void destroyed_twice(void)
{
	uint32_t pd;

	set_up();
	pd = raw_pd(env.fd);
	CHECK_ERR(raw_destroy(env.fd, UNIV_PD_DEALLOC, pd), 0);
	CHECK(raw_destroy(env.fd, UNIV_PD_DEALLOC, pd), "a domain freed twice");
	tear_down();
}

static void busy(void)
{
	struct univ_destroy arg;

	set_up();
	arg = (struct univ_destroy){ .handle = env.pd };
	CHECK_ERR(raw_call(env.fd, UNIV_PD_DEALLOC, &arg), EBUSY);
	CHECK(arg.hdr.reason == UNIV_REASON_BUSY && arg.hdr.detail == UNIV_OBJECT_PD &&
	      arg.hdr.value == env.pd && arg.hdr.bound >= 4,
	      "domain: reason %u detail %u value %llu bound %llu", arg.hdr.reason, arg.hdr.detail,
	      arg.hdr.value, arg.hdr.bound);
	arg = (struct univ_destroy){ .handle = env.cq.handle };
	CHECK_ERR(raw_call(env.fd, UNIV_CQ_DESTROY, &arg), EBUSY);
	CHECK(arg.hdr.reason == UNIV_REASON_BUSY && arg.hdr.detail == UNIV_OBJECT_CQ,
	      "completion queue: reason %u detail %u", arg.hdr.reason, arg.hdr.detail);
	tear_down();
}

static void channels(void)
{
	struct univ_cq_create arg = { .cqe = 16 };
	int bad[4], pipes[2];

	set_up();
	NEED(!pipe(pipes), "pipe");
	bad[0] = pipes[0];
	bad[1] = env.fd;
	bad[2] = 9999;
	bad[3] = -2;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		int err;

		memset(&arg, 0, sizeof(arg));
		arg.cqe = 16;
		arg.channel_fd = bad[i];
		err = raw_call(env.fd, UNIV_CQ_CREATE, &arg);
		CHECK(err == EBADF || err == EINVAL, "channel_fd %d: %s", bad[i], err_name(err));
		CHECK(arg.hdr.reason == UNIV_REASON_FD, "channel_fd %d: reason %u", bad[i],
		      arg.hdr.reason);
	}
	close(pipes[0]);
	close(pipes[1]);
	tear_down();
}

/* A channel of another context, on the same device */
static void foreign_channel(void)
{
	struct univ_channel_create ch = { 0 };
	struct univ_cq_create cq = { .cqe = 16 };
	int err;

	set_up();
	NEED_OK(raw_call(env.other, UNIV_CHANNEL_CREATE, &ch));
	cq.channel_fd = ch.fd;
	err = raw_call(env.fd, UNIV_CQ_CREATE, &cq);
	CHECK(!err || err == EINVAL || err == EBADF, "a channel of another context: %s",
	      err_name(err));
	if (err)
		CHECK(cq.hdr.reason == UNIV_REASON_FD, "reason %u", cq.hdr.reason);
	close(env.other);
	env.other = raw_open();
	if (!err)
		CHECK_ERR(raw_destroy(env.fd, UNIV_CQ_DESTROY, cq.handle), 0);
	close(ch.fd);
	tear_down();
}

/* An address handle that a queue pair of another domain names: refused, and nobody else hurt */
static void mixed_domains_ah(void)
{
	struct univ_ah_create ah = { 0 };
	struct univ_send_wr *wr;
	struct univ_qp_attr a;
	struct univ_cqe cqe;
	uint32_t pd2;

	set_up();
	pd2 = raw_pd(env.fd);
	ah.pd = pd2;
	raw_ah_attr(env.fd, &ah.attr);
	NEED_OK(raw_call(env.fd, UNIV_AH_CREATE, &ah));
	raw_attr_rtr(env.fd, &a, IBV_QPT_UD, 0);
	NEED_OK(raw_modify(env.fd, env.ud.handle, &a));
	raw_attr_rts(&a, IBV_QPT_UD);
	NEED_OK(raw_modify(env.fd, env.ud.handle, &a));
	wr = raw_slot(&env.ud.sq, 0);
	memset(wr, 0, env.ud.sq.stride);
	wr->opcode = UNIV_WR_SEND;
	wr->flags = UNIV_WR_SIGNALED;
	wr->ud.ah = ah.handle;
	wr->ud.remote_qpn = env.ud.qp_num;
	wr->ud.remote_qkey = PAIR_QKEY;
	raw_publish(env.fd, &env.ud.sq, env.ud.handle, UNIV_KICK_SEND);
	if (CHECK(raw_wait(&env.cq, &cqe, 3000), "no completion for an address of another domain"))
		CHECK(cqe.status != IBV_WC_SUCCESS && cqe.reason == UNIV_REASON_WR_AH,
		      "status %u reason %u", cqe.status, cqe.reason);
	tear_down();
}

/* A shared queue of another domain than its queue pair's: the specification allows it */
static void mixed_domains_srq(void)
{
	struct univ_qp_create qp;
	uint32_t pd2;
	int err;

	set_up();
	pd2 = raw_pd(env.fd);
	raw_qp_arg(&qp, IBV_QPT_RC, pd2, env.cq.handle, env.srq.handle);
	err = raw_call(env.fd, UNIV_QP_CREATE, &qp);
	CHECK(!err, "a queue pair with another domain's shared queue: %s, reason %u", err_name(err),
	      qp.hdr.reason);
	tear_down();
}

/* ---- Unknown numbers ----------------------------------------------------- */

static bool known(unsigned int nr)
{
	if (nr == _IOC_NR(UNIV_KICK))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (_IOC_NR(rules[i].cmd) == nr)
			return true;
	return false;
}

static void unknown(void)
{
	int err;

	set_up();
	for (unsigned int nr = 0; nr < 256; nr++) {
		memset(&buf, 0, sizeof(buf));
		buf.hdr.size = sizeof(struct univ_destroy);
		if (!known(nr)) {
			err = ioctl(env.fd, _IO(UNIV_IOCTL_MAGIC, nr), &buf) ? errno : 0;
			CHECK(err == ENOTTY, "number %#x: expected ENOTTY, got %s", nr, err_name(err));
		}
		err = ioctl(env.fd, _IO(UNIV_IOCTL_MAGIC + 1, nr), &buf) ? errno : 0;
		CHECK(err == ENOTTY, "another magic, number %#x: %s", nr, err_name(err));
	}
	err = ioctl(env.fd, _IOWR(UNIV_IOCTL_MAGIC, 0x10, struct univ_pd_alloc), &buf) ? errno : 0;
	CHECK(err == ENOTTY, "a number with a size in it: %s", err_name(err));
	tear_down();
}

static void kick(void)
{
	set_up();
	CHECK_ERR(raw_kick(env.fd, env.qp.handle, UNIV_KICK_SEND), 0);
	CHECK_ERR(raw_kick(env.fd, env.qp.handle, UNIV_KICK_RECV), 0);
	CHECK_ERR(raw_kick(env.fd, env.qp.handle, UNIV_KICK_SEND | UNIV_KICK_RECV), 0);
	CHECK_ERR(raw_kick(env.fd, env.srq.handle, UNIV_KICK_RECV), 0);
	CHECK_ERR(raw_kick(env.fd, env.cq.handle, UNIV_KICK_SEND), EINVAL);
	CHECK_ERR(raw_kick(env.fd, env.pd, UNIV_KICK_RECV), EINVAL);
	CHECK_ERR(raw_kick(env.fd, 0, UNIV_KICK_SEND), EINVAL);
	CHECK_ERR(raw_kick(env.fd, UNIV_KICK_HANDLE, UNIV_KICK_SEND), EINVAL);
	CHECK_ERR(raw_kick(env.fd, env.freed, UNIV_KICK_SEND), EINVAL);
	tear_down();
}

/* The other operations of the file */
static void other_calls(void)
{
	char byte[64];
	ssize_t n;
	int fd;

	set_up();
	fcntl(env.fd, F_SETFL, O_NONBLOCK);
	errno = 0;
	n = read(env.fd, byte, sizeof(byte));
	CHECK(n == -1 && errno == EAGAIN, "read without events: %zd, %s", n, err_name(errno));
	n = read(env.fd, byte, 1);
	CHECK(n == -1, "read of less than an event: %zd", n);
	n = write(env.fd, byte, sizeof(byte));
	CHECK(n == -1 && errno == EINVAL, "write: %zd, %s", n, err_name(errno));
	CHECK(lseek(env.fd, 0, SEEK_CUR) == -1 || !lseek(env.fd, 0, SEEK_CUR), "lseek");
	fd = open(node_path(), O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		struct univ_context_query q = { 0 };

		CHECK_ERR(raw_call(fd, UNIV_CONTEXT_QUERY, &q), 0);
		close(fd);
	}
	tear_down();
}

static const struct test_case cases[] = {
	{ "sizes", sizes },
	{ "success", success },
	{ "flags", flags },
	{ "reserved", reserved },
	{ "other_flags", other_flags },
	{ "faults", faults },
	{ "fault_leaves_nothing", fault_leaves_nothing },
	{ "odd_pointers", odd_pointers },
	{ "handles", handles },
	{ "destroyed_twice", destroyed_twice },
	{ "busy", busy },
	{ "channels", channels },
	{ "foreign_channel", foreign_channel },
	{ "mixed_domains_ah", mixed_domains_ah },
	{ "mixed_domains_srq", mixed_domains_srq },
	{ "unknown", unknown },
	{ "kick", kick },
	{ "other_calls", other_calls },
};

TEST_MAIN("ioctl_rules (adv09 adv10 adv13)", cases, 60)
