/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every ioctl with a valid argument, its reserved fields and the handles in it, so
 * that what holds for all of them is tested for all of them.
 */
#ifndef IOCTL_TABLE_H
#define IOCTL_TABLE_H

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
	uint32_t xrcd;		/* 0 where XRC is not offered */
	uint32_t target;
	uint32_t target_num;
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
	uint32_t feature;		/* nor this, and then it is left out */
	uint32_t min;			/* size of the first version, if there are more */
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

static void fill_mw(void *arg)
{
	struct univ_mw_alloc *a = arg;

	a->pd = env.pd;
	a->type = IBV_MW_TYPE_2;
}

static void fill_xrcd(void *arg)
{
	((struct univ_xrcd_open *)arg)->fd = -1;
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

static void fill_xrc_srq(void *arg)
{
	struct univ_srq_create *a = arg;

	fill_srq(arg);
	a->srq_type = IBV_SRQT_XRC;
	a->cq = env.cq.handle;
	a->xrcd = env.xrcd;
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

static void fill_xrc_send(void *arg)
{
	raw_qp_arg(arg, IBV_QPT_XRC_SEND, env.pd, env.cq.handle, 0);
}

static void fill_xrc_recv(void *arg)
{
	struct univ_qp_create *a = arg;

	a->qp_type = IBV_QPT_XRC_RECV;
	a->xrcd = env.xrcd;
}

static void fill_qp_open(void *arg)
{
	struct univ_qp_open *a = arg;

	a->xrcd = env.xrcd;
	a->qp_num = env.target_num;
	a->qp_type = IBV_QPT_XRC_RECV;
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

static void fill_mw_dealloc(void *arg)
{
	MAKE(univ_mw_alloc, UNIV_MW_ALLOC, fill_mw, arg);
}

static void fill_xrcd_close(void *arg)
{
	MAKE(univ_xrcd_open, UNIV_XRCD_OPEN, fill_xrcd, arg);
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
	  .reserved = { RESERVED(univ_context_query, features) } },
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
	{ "XRCD_OPEN", UNIV_XRCD_OPEN, sizeof(struct univ_xrcd_open), fill_xrcd,
	  UNIV_XRCD_CLOSE, AT(univ_xrcd_open, handle),
	  .reserved = { RESERVED(univ_xrcd_open, reserved) }, .feature = UNIV_FEATURE_XRC },
	{ "XRCD_CLOSE", UNIV_XRCD_CLOSE, sizeof(struct univ_destroy), fill_xrcd_close,
	  .reserved = { RESERVED(univ_destroy, reserved) },
	  .handles = { HANDLE(univ_destroy, handle, XRCD) }, .feature = UNIV_FEATURE_XRC },
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
	{ "MW_ALLOC", UNIV_MW_ALLOC, sizeof(struct univ_mw_alloc), fill_mw,
	  UNIV_MW_DEALLOC, AT(univ_mw_alloc, handle),
	  .handles = { HANDLE(univ_mw_alloc, pd, PD) }, .feature = UNIV_FEATURE_WINDOWS },
	{ "MW_DEALLOC", UNIV_MW_DEALLOC, sizeof(struct univ_destroy), fill_mw_dealloc,
	  .reserved = { RESERVED(univ_destroy, reserved) },
	  .handles = { HANDLE(univ_destroy, handle, MW) }, .feature = UNIV_FEATURE_WINDOWS },
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
	  .handles = { HANDLE(univ_srq_create, pd, PD) }, .min = AT(univ_srq_create, srq_type) },
	{ "SRQ_CREATE XRC", UNIV_SRQ_CREATE, sizeof(struct univ_srq_create), fill_xrc_srq,
	  UNIV_SRQ_DESTROY, AT(univ_srq_create, handle),
	  .reserved = { RESERVED(univ_srq_create, reserved) },
	  .handles = { HANDLE(univ_srq_create, pd, PD), HANDLE(univ_srq_create, cq, CQ),
		       HANDLE(univ_srq_create, xrcd, XRCD) },
	  .min = AT(univ_srq_create, srq_type), .feature = UNIV_FEATURE_XRC },
	{ "SRQ_MODIFY", UNIV_SRQ_MODIFY, sizeof(struct univ_srq_modify), fill_srq_modify,
	  .handles = { HANDLE(univ_srq_modify, handle, SRQ) } },
	{ "SRQ_QUERY", UNIV_SRQ_QUERY, sizeof(struct univ_srq_query), fill_srq_query,
	  .handles = { HANDLE(univ_srq_query, handle, SRQ) } },
	{ "SRQ_DESTROY", UNIV_SRQ_DESTROY, sizeof(struct univ_destroy), fill_srq_destroy,
	  .reserved = { RESERVED(univ_destroy, reserved) },
	  .handles = { HANDLE(univ_destroy, handle, SRQ) } },
	{ "QP_CREATE", UNIV_QP_CREATE, sizeof(struct univ_qp_create), fill_qp,
	  UNIV_QP_DESTROY, AT(univ_qp_create, handle),
	  .reserved = { RESERVED(univ_qp_create, create_flags), RESERVED(univ_qp_create, reserved) },
	  .handles = { HANDLE(univ_qp_create, pd, PD), HANDLE(univ_qp_create, send_cq, CQ),
		       HANDLE(univ_qp_create, recv_cq, CQ), HANDLE(univ_qp_create, srq, SRQ) },
	  .min = AT(univ_qp_create, xrcd) },
	{ "QP_CREATE XRC send", UNIV_QP_CREATE, sizeof(struct univ_qp_create), fill_xrc_send,
	  UNIV_QP_DESTROY, AT(univ_qp_create, handle),
	  .reserved = { RESERVED(univ_qp_create, create_flags), RESERVED(univ_qp_create, reserved) },
	  .handles = { HANDLE(univ_qp_create, pd, PD), HANDLE(univ_qp_create, send_cq, CQ) },
	  .min = AT(univ_qp_create, xrcd), .feature = UNIV_FEATURE_XRC },
	{ "QP_CREATE XRC receive", UNIV_QP_CREATE, sizeof(struct univ_qp_create), fill_xrc_recv,
	  UNIV_QP_DESTROY, AT(univ_qp_create, handle),
	  .reserved = { RESERVED(univ_qp_create, create_flags), RESERVED(univ_qp_create, reserved) },
	  .handles = { HANDLE(univ_qp_create, xrcd, XRCD) },
	  .min = AT(univ_qp_create, xrcd), .feature = UNIV_FEATURE_XRC },
	{ "QP_OPEN", UNIV_QP_OPEN, sizeof(struct univ_qp_open), fill_qp_open,
	  UNIV_QP_DESTROY, AT(univ_qp_open, handle),
	  .handles = { HANDLE(univ_qp_open, xrcd, XRCD) }, .feature = UNIV_FEATURE_XRC },
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

static void set_up_xrc(void)
{
	struct univ_xrcd_open open = { .fd = -1 };
	struct univ_qp_create target = { .qp_type = IBV_QPT_XRC_RECV };

	env.xrcd = 0;
	if (!raw_offers(env.fd, UNIV_FEATURE_XRC))
		return;
	NEED_OK(raw_call(env.fd, UNIV_XRCD_OPEN, &open));
	env.xrcd = open.handle;
	target.xrcd = env.xrcd;
	NEED_OK(raw_call(env.fd, UNIV_QP_CREATE, &target));
	env.target = target.handle;
	env.target_num = target.qp_num;
}

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
	set_up_xrc();
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
	if (r->cmd == UNIV_CQ_RESIZE && no_resize())
		return err == EOPNOTSUPP;
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
	       r->fill == fill_xrcd_close ||
	       r->fill == fill_ah_destroy || r->fill == fill_mw_dealloc ||
	       r->fill == fill_cq_destroy || r->fill == fill_srq_destroy ||
	       r->fill == fill_qp_destroy;
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

static int call_sized(const struct rule *r, uint32_t size)
{
	return raw_call_size(env.fd, r->cmd, &buf, size);
}

static bool offered(const struct rule *r)
{
	return raw_offers(env.fd, r->feature);
}

static void for_each_rule(void (*fn)(const struct rule *r))
{
	set_up();
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (offered(&rules[i]))
			fn(&rules[i]);
	tear_down();
}

#endif
