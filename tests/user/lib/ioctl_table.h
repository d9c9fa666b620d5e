/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rules: every ioctl of calls.h with a valid argument, its reserved fields and its handles.
 * A test of a general rule can then test every ioctl.
 *
 * A new ioctl needs no row here if its default argument is valid: handles are those of the
 * objects in env, port_num is the port, and all other fields are zero. Otherwise it needs a
 * row in special[].
 */
#ifndef IOCTL_TABLE_H
#define IOCTL_TABLE_H

#include "calls.h"
#include "first_size.h"

/* The size of the registered memory. */
#ifndef RULES_MEM
#define RULES_MEM 16384
#endif

/* Objects that the calls refer to. An object that a call creates is destroyed at once. */
static struct {
	int fd;
	int other;
	uint32_t pd;
	uint32_t foreign;	/* A protection domain of the other fd. */
	uint32_t freed;		/* A protection domain that was freed. */
	struct raw_mr mr;
	struct raw_mr odp;	/* On-demand paging; its handle is 0 if it is not made. */
	struct raw_cq cq;
	struct raw_srq srq;
	struct raw_qp qp;
	struct raw_qp ud;
	uint32_t xrcd;		/* 0 if XRC is not supported. */
	uint32_t dm;		/* 0 if device memory is not supported. */
	int dmabuf;		/* A dma-buf of it, or -1. */
	int channel;
	uint32_t target;
	uint32_t target_num;
	uint32_t ah;
	uint32_t mw;		/* 0 if memory windows are not supported. */
	uint32_t cntr;		/* 0 if completion counters are not supported. */
	uint32_t wq;		/* 0 if work queues are not supported. */
	uint32_t dmah;		/* 0 if DMA handles are not supported. */
	uint32_t bare;		/* The queue pair of fill_qp_cntr(), or 0. */
	uint32_t frames;	/* A queue pair of raw packets, or 0. */
	uint32_t counters;	/* Flow counters, or 0 without raw packets. */
	uint32_t flow;		/* The flow of fill_attach(), or 0. */
	uint8_t *mem;
	struct univ_gid_entry gids[64];
} env;

struct field {
	uint32_t offset;
	uint32_t length;	/* 0 ends the list. */
	uint32_t type;		/* For a handle, enum univ_object_type. */
};

struct rule {
	char name[32];			/* For example QP_CREATE XRC send. */
	const struct call *call;
	unsigned long cmd;
	uint32_t size;
	void (*fill)(void *arg);	/* Completes the default argument, or NULL. */
	unsigned long destroy;		/* The call that undoes a success, or 0. */
	uint32_t result;		/* Offset of the new handle. */
	struct field reserved[8];
	struct field handles[8];
	bool may_refuse;		/* Devices other than uroce need not support it. */
	uint32_t feature;		/* Skip the rule on a device without this feature. */
	uint32_t min;			/* Size of the first version, if the struct has grown. */
};

static void fill_valid(const struct rule *r, void *arg);

/* ---- A valid argument for each call --------------------------------------------- */

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

static void fill_handle_query(void *arg)
{
	struct univ_handle_query *a = arg;

	a->handle = env.mr.handle;
	a->type = UNIV_OBJECT_MR;
	a->domain = env.pd;
}

static void fill_mr(void *arg)
{
	struct univ_mr_reg *a = arg;

	a->access = ALL_ACCESS;
	a->addr = (uintptr_t)env.mem;
	a->length = 8192;
	a->iova = a->addr;
}

static void fill_mr_rereg(void *arg)
{
	struct univ_mr_rereg *a = arg;

	/* A protection domain is named only to change it. */
	a->pd = 0;
	a->change = IBV_REREG_MR_CHANGE_ACCESS;
	a->access = ALL_ACCESS;
}

/* A region may keep its length, so each call succeeds. */
static void fill_mr_extend(void *arg)
{
	((struct univ_mr_extend *)arg)->length = RULES_MEM;
}

static void fill_mr_share(void *arg)
{
	struct univ_mr_share *a = arg;

	a->access = ALL_ACCESS;
	a->iova = (uintptr_t)env.mem;
}

/* The region is made for the call, since few tests know it. */
static void set_up_odp(void)
{
	struct univ_mr_reg reg = {
		.pd = env.pd, .access = ALL_ACCESS | IBV_ACCESS_ON_DEMAND, .length = RULES_MEM,
		.addr = (uintptr_t)env.mem, .iova = (uintptr_t)env.mem,
	};

	if (!env.odp.handle && !raw_call(env.fd, UNIV_MR_REG, &reg))
		env.odp = (struct raw_mr){ reg.handle, reg.lkey, reg.rkey };
}

static void fill_mr_advise(void *arg)
{
	struct univ_mr_advise *a = arg;

	set_up_odp();
	a->lkey = env.odp.lkey;
	a->addr = (uintptr_t)env.mem;
	a->length = RULES_MEM;
	a->flags = IBV_ADVISE_MR_FLAG_FLUSH;
}

static void fill_mw(void *arg)
{
	((struct univ_mw_alloc *)arg)->type = IBV_MW_TYPE_2;
}

static void fill_xrcd(void *arg)
{
	((struct univ_xrcd_open *)arg)->fd = -1;
}

static void fill_ah(void *arg)
{
	raw_ah_attr(env.fd, &((struct univ_ah_create *)arg)->attr);
}

static void fill_ah_modify(void *arg)
{
	raw_ah_attr(env.fd, &((struct univ_ah_modify *)arg)->attr);
}

static void fill_cq(void *arg)
{
	struct univ_cq_create *a = arg;

	a->cqe = 16;
	a->channel_fd = -1;
}

static void fill_cq_resize(void *arg)
{
	((struct univ_cq_resize *)arg)->cqe = 64;
}

static void fill_cq_moderate(void *arg)
{
	((struct univ_cq_moderate *)arg)->count = 1;
}

static void fill_srq(void *arg)
{
	struct univ_srq_create *a = arg;

	a->max_wr = 16;
	a->max_sge = 1;
	a->cq = 0;
	a->xrcd = 0;
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
	((struct univ_srq_modify *)arg)->attr_mask = IBV_SRQ_LIMIT;
}

static void fill_srq_resize(void *arg)
{
	((struct univ_srq_modify *)arg)->attr_mask = IBV_SRQ_MAX_WR;
	((struct univ_srq_modify *)arg)->max_wr = 20;
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
	*(struct univ_qp_create *)arg = (struct univ_qp_create){
		.qp_type = IBV_QPT_XRC_RECV,
		.xrcd = env.xrcd,
	};
}

static void fill_qp_open(void *arg)
{
	struct univ_qp_open *a = arg;

	a->qp_num = env.target_num;
	a->qp_type = IBV_QPT_XRC_RECV;
}

static void fill_qp_modify(void *arg)
{
	struct univ_qp_modify *a = arg;

	a->attr.attr_mask = IBV_QP_STATE;
	a->attr.qp_state = IBV_QPS_RESET;
}

/* A counter is attached to a queue pair once, so each call gets a new queue pair. */
static void fresh_qp(void)
{
	struct univ_qp_create a = { 0 };

	if (env.bare)
		raw_destroy(env.fd, UNIV_QP_DESTROY, env.bare);
	raw_qp_arg(&a, IBV_QPT_RC, env.pd, env.cq.handle, 0);
	NEED_OK(raw_call(env.fd, UNIV_QP_CREATE, &a));
	env.bare = a.handle;
}

static void fill_qp_cntr(void *arg)
{
	struct univ_qp_cntr *a = arg;

	if (!env.cntr)
		return;
	fresh_qp();
	a->handle = env.bare;
	a->ops = UNIV_CNTR_SEND;
}

static void fill_raw_qp(void *arg)
{
	raw_qp_arg(arg, IBV_QPT_RAW_PACKET, env.pd, env.cq.handle, 0);
}

static void fill_flow(void *arg)
{
	struct univ_flow_create *a = arg;

	a->qp = env.frames;
	a->count = 2;
	a->specs[0].type = UNIV_FLOW_ETH;
	a->specs[0].mask[0] = 0xff;
	a->specs[1].type = UNIV_FLOW_TAG;
	a->specs[1].tag = 7;
}

/* A flow has few points, so each call gets a new flow. */
static void fill_attach(void *arg)
{
	struct univ_flow_create flow = { .port_num = PORT };

	if (!env.counters)
		return;
	if (env.flow)
		raw_destroy(env.fd, UNIV_FLOW_DESTROY, env.flow);
	fill_flow(&flow);
	NEED_OK(raw_call(env.fd, UNIV_FLOW_CREATE, &flow));
	env.flow = flow.handle;
	((struct univ_counters_attach *)arg)->flow = env.flow;
}

static void fill_mcast(void *arg)
{
	static const uint8_t group[16] = { [10] = 0xff, [11] = 0xff, 239, 7, 7, 7 };
	struct univ_mcast *a = arg;

	a->qp = env.ud.handle;
	memcpy(a->gid, group, sizeof(group));
}

static void fill_dm(void *arg)
{
	((struct univ_dm_alloc *)arg)->length = 64;
}

static void fill_mr_dm(void *arg)
{
	struct univ_mr_dm_reg *a = arg;

	a->length = 64;
	a->access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED;
}

static void fill_async(void *arg)
{
	((struct univ_async_set *)arg)->channel_fd = env.channel;
}

static void fill_mr_dmabuf(void *arg)
{
	struct univ_mr_dmabuf_reg *a = arg;

	a->length = 64;
	a->access = IBV_ACCESS_LOCAL_WRITE;
	a->fd = env.dmabuf;
}

static void fill_wq(void *arg)
{
	struct univ_wq_create *a = arg;

	a->max_wr = 16;
	a->max_sge = 1;
}

static void fill_wq_modify(void *arg)
{
	((struct univ_wq_modify *)arg)->attr_mask = IBV_WQ_ATTR_STATE;
}

static void fill_table(void *arg)
{
	((struct univ_table_create *)arg)->wqs[0] = env.wq;
}

static void fill_dmah(void *arg)
{
	((struct univ_dmah_alloc *)arg)->fields = UNIV_DMAH_PH;
}

/*
 * Calls whose default argument is not valid, and calls with more than one kind of valid
 * argument: one row for each kind.
 */
static const struct special {
	unsigned long cmd;
	const char *kind;
	void (*fill)(void *arg);
	uint32_t feature;
	bool may_refuse;
	const char *reserved;	/* A field that must be zero although its name does not say so. */
	const char *ignored;	/* A handle that this kind ignores, or that may be 0. */
} special[] = {
	{ UNIV_CONTEXT_QUERY, .reserved = "features" },
	{ UNIV_DEVICE_QUERY },
	{ UNIV_GID_QUERY, .fill = fill_gid },
	{ UNIV_HANDLE_QUERY, .fill = fill_handle_query },
	{ UNIV_GID_TABLE, .fill = fill_gid_table },
	{ UNIV_XRCD_OPEN, .fill = fill_xrcd },
	{ UNIV_MR_REG, .fill = fill_mr, .reserved = "reserved2" },
	{ UNIV_MR_REREG, .fill = fill_mr_rereg, .may_refuse = true },
	{ UNIV_MR_EXTEND, .fill = fill_mr_extend, .may_refuse = true },
	{ UNIV_MR_SHARE, .fill = fill_mr_share, .may_refuse = true },
	{ UNIV_MR_ADVISE, .fill = fill_mr_advise, .may_refuse = true },
	{ UNIV_AH_CREATE, .fill = fill_ah },
	{ UNIV_AH_QUERY, .may_refuse = true },
	{ UNIV_AH_MODIFY, .fill = fill_ah_modify, .may_refuse = true },
	{ UNIV_MW_ALLOC, .fill = fill_mw },
	{ UNIV_CQ_CREATE, .fill = fill_cq },
	{ UNIV_CQ_RESIZE, .fill = fill_cq_resize },
	{ UNIV_CQ_MODERATE, .fill = fill_cq_moderate, .may_refuse = true },
	{ UNIV_SRQ_CREATE, .fill = fill_srq },
	{ UNIV_SRQ_CREATE, "XRC", fill_xrc_srq, .feature = UNIV_FEATURE_XRC },
	{ UNIV_SRQ_MODIFY, .fill = fill_srq_modify },
	{ UNIV_SRQ_MODIFY, "size", fill_srq_resize, .may_refuse = true },
	{ UNIV_QP_CREATE, .fill = fill_qp, .reserved = "create_flags" },
	{ UNIV_QP_CREATE, "XRC send", fill_xrc_send, .feature = UNIV_FEATURE_XRC,
	  .reserved = "create_flags", .ignored = "recv_cq" },
	{ UNIV_QP_CREATE, "XRC receive", fill_xrc_recv,
	  .feature = UNIV_FEATURE_XRC, .reserved = "create_flags" },
	{ UNIV_QP_CREATE, "raw packets", fill_raw_qp, .feature = UNIV_FEATURE_RAW },
	{ UNIV_QP_OPEN, .fill = fill_qp_open, .feature = UNIV_FEATURE_XRC },
	{ UNIV_QP_MODIFY, .fill = fill_qp_modify },
	{ UNIV_QP_RATE, .may_refuse = true },
	{ UNIV_QP_CNTR, .fill = fill_qp_cntr, .feature = UNIV_FEATURE_CNTRS },
	{ UNIV_MCAST_ATTACH, .fill = fill_mcast },
	{ UNIV_MCAST_DETACH, .fill = fill_mcast },
	{ UNIV_ASYNC_SET, .fill = fill_async },
	{ UNIV_FLOW_CREATE, .fill = fill_flow },
	/* Its flow may be 0. */
	{ UNIV_COUNTERS_ATTACH, .fill = fill_attach, .ignored = "flow" },
	{ UNIV_DM_ALLOC, .fill = fill_dm },
	{ UNIV_MR_DM_REG, .fill = fill_mr_dm, .feature = UNIV_FEATURE_DM },
	{ UNIV_MR_NULL_ALLOC, .feature = UNIV_FEATURE_DM },
	{ UNIV_MR_DMABUF_REG, .fill = fill_mr_dmabuf, .feature = UNIV_FEATURE_DMABUF },
	{ UNIV_WQ_CREATE, .fill = fill_wq },
	{ UNIV_WQ_MODIFY, .fill = fill_wq_modify },
	{ UNIV_TABLE_CREATE, .fill = fill_table },
	{ UNIV_DMAH_ALLOC, .fill = fill_dmah },
};

/* ---- The rules --------------------------------------------------------------- */

static struct rule rules[ARRAY_SIZE(calls) + ARRAY_SIZE(special)];
static size_t rule_count;

/* Return the feature that a device needs to support this kind of object. */
static uint32_t kind_feature(enum univ_object_type type)
{
	return type == UNIV_OBJECT_MW ? UNIV_FEATURE_WINDOWS :
	       type == UNIV_OBJECT_XRCD ? UNIV_FEATURE_XRC :
	       type == UNIV_OBJECT_DM ? UNIV_FEATURE_DM :
	       type == UNIV_OBJECT_CNTR ? UNIV_FEATURE_CNTRS :
	       type == UNIV_OBJECT_FLOW || type == UNIV_OBJECT_COUNTERS ? UNIV_FEATURE_RAW :
	       type == UNIV_OBJECT_DMAH ? UNIV_FEATURE_DMAH :
	       type == UNIV_OBJECT_WQ || type == UNIV_OBJECT_TABLE ? UNIV_FEATURE_WQ : 0;
}

/* The structs of these calls return an answer in bytes that are reserved in other calls. */
static bool answers(const struct call *c, const struct call_field *f)
{
	return (c->cmd == UNIV_QP_QUERY || c->cmd == UNIV_AH_QUERY) &&
	       !strncmp(f->name, "attr.", 5);
}

static void add_field(struct field *list, const struct call_field *f, uint32_t type)
{
	while (list->length)
		list++;
	*list = (struct field){ f->offset, f->size, type };
}

static void add_rule(const struct call *c, const struct special *s)
{
	struct rule *r = &rules[rule_count++];
	enum univ_object_type kind = call_kind(c);

	*r = (struct rule){ .call = c, .cmd = c->cmd, .size = c->size, .fill = s->fill,
		.min = first_size(c->cmd), .may_refuse = s->may_refuse };
	snprintf(r->name, sizeof(r->name), "%s%s%s", c->name + strlen("UNIV_"),
		 s->kind ? " " : "", s->kind ? s->kind : "");
	r->feature = s->feature ? s->feature : kind_feature(kind);
	if (call_makes(c)) {
		r->destroy = call_destroyer(kind)->cmd;
		r->result = call_field(c, "handle")->offset;
	}
	for (uint16_t i = 0; i < c->count; i++)
		if ((field_reserved(&c->fields[i]) && !answers(c, &c->fields[i])) ||
		    (s->reserved && !strcmp(c->fields[i].name, s->reserved)))
			add_field(r->reserved, &c->fields[i], 0);
}

/* Handles are the fields that the valid argument sets. */
static void find_handles(struct rule *r, const char *ignored)
{
	const struct call *c = r->call;
	char arg[2048] = "";
	uint32_t handle;

	if (!call_destroys(c))
		fill_valid(r, arg);
	for (uint16_t i = 0; i < c->count; i++) {
		const struct call_field *f = &c->fields[i];
		enum univ_object_type type = field_kind(c, f);

		memcpy(&handle, arg + f->offset, sizeof(handle));
		if (type != UNIV_OBJECT_NONE && (handle || call_destroys(c)) &&
		    (!ignored || strcmp(ignored, f->name)))
			add_field(r->handles, f, type);
	}
}

/* The objects of env exist already. */
static void build_rules(void)
{
	static const struct special plain;

	rule_count = 0;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		size_t first = rule_count;

		for (size_t k = 0; k < ARRAY_SIZE(special); k++) {
			if (special[k].cmd != calls[i].cmd)
				continue;
			add_rule(&calls[i], &special[k]);
			find_handles(&rules[rule_count - 1], special[k].ignored);
		}
		if (rule_count > first)
			continue;
		add_rule(&calls[i], &plain);
		find_handles(&rules[rule_count - 1], NULL);
	}
}

static bool destroys(const struct rule *r)
{
	return call_destroys(r->call);
}

/* ---- Arguments ------------------------------------------------------------------ */

static uint32_t env_handle(enum univ_object_type type)
{
	switch (type) {
	case UNIV_OBJECT_PD:
		return env.pd;
	case UNIV_OBJECT_MR:
		return env.mr.handle;
	case UNIV_OBJECT_CQ:
		return env.cq.handle;
	case UNIV_OBJECT_SRQ:
		return env.srq.handle;
	case UNIV_OBJECT_QP:
		return env.qp.handle;
	case UNIV_OBJECT_XRCD:
		return env.xrcd;
	case UNIV_OBJECT_DM:
		return env.dm;
	case UNIV_OBJECT_CNTR:
		return env.cntr;
	case UNIV_OBJECT_AH:
		return env.ah;
	case UNIV_OBJECT_MW:
		return env.mw;
	case UNIV_OBJECT_WQ:
		return env.wq;
	case UNIV_OBJECT_DMAH:
		return env.dmah;
	case UNIV_OBJECT_COUNTERS:
		return env.counters;
	default:
		return 0;
	}
}

/* Create an object for a call that destroys one. */
static uint32_t made_for(const struct rule *destroyer)
{
	for (size_t i = 0; i < rule_count; i++) {
		const struct rule *r = &rules[i];
		char arg[2048] = "";
		int err;

		if (r->destroy != destroyer->cmd)
			continue;
		fill_valid(r, arg);
		err = raw_call_size(env.fd, r->cmd, arg, r->size);
		NEED(!err, "%s: %s, reason %u", r->name, err_name(err),
		     ((struct univ_hdr *)arg)->reason);
		return *(uint32_t *)(arg + r->result);
	}
	NEED(false, "nothing makes what %s destroys", destroyer->name);
	return 0;
}

/* Write a valid argument into zeroed memory. */
static void fill_valid(const struct rule *r, void *arg)
{
	const struct call *c = r->call;
	uint32_t handle;

	if (destroys(r)) {
		((struct univ_destroy *)arg)->handle = made_for(r);
		return;
	}
	for (uint16_t i = 0; i < c->count; i++) {
		const struct call_field *f = &c->fields[i];

		handle = env_handle(field_kind(c, f));
		if (handle)
			memcpy((char *)arg + f->offset, &handle, sizeof(handle));
		if (!strcmp(f->name, "port_num"))
			((char *)arg)[f->offset] = PORT;
	}
	if (r->fill)
		r->fill(arg);
}

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

static void set_up_dm(void)
{
	struct univ_dm_alloc dm = { .length = 64 };
	struct univ_dm_export export = { 0 };

	env.dm = 0;
	env.dmabuf = -1;
	if (!raw_offers(env.fd, UNIV_FEATURE_DM))
		return;
	NEED_OK(raw_call(env.fd, UNIV_DM_ALLOC, &dm));
	env.dm = dm.handle;
	export.handle = dm.handle;
	NEED_OK(raw_call(env.fd, UNIV_DM_EXPORT, &export));
	env.dmabuf = export.fd;
}

static void set_up_cntr(void)
{
	struct univ_cntr_create create = { .type = UNIV_CNTR_WRS };

	env.cntr = 0;
	env.bare = 0;
	if (!raw_offers(env.fd, UNIV_FEATURE_CNTRS))
		return;
	NEED_OK(raw_call(env.fd, UNIV_CNTR_CREATE, &create));
	env.cntr = create.handle;
}

static void set_up_ah_and_mw(void)
{
	struct univ_ah_create ah = { .pd = env.pd };
	struct univ_mw_alloc mw = { .pd = env.pd, .type = IBV_MW_TYPE_2 };

	raw_ah_attr(env.fd, &ah.attr);
	NEED_OK(raw_call(env.fd, UNIV_AH_CREATE, &ah));
	env.ah = ah.handle;
	env.mw = 0;
	if (!raw_offers(env.fd, UNIV_FEATURE_WINDOWS))
		return;
	NEED_OK(raw_call(env.fd, UNIV_MW_ALLOC, &mw));
	env.mw = mw.handle;
}

static void set_up_channel(void)
{
	struct univ_channel_create create = { 0 };

	NEED_OK(raw_call(env.fd, UNIV_CHANNEL_CREATE, &create));
	env.channel = create.fd;
}

static void set_up_frames(void)
{
	struct univ_counters_create counters = { 0 };
	struct univ_qp_create create = { 0 };

	env.frames = 0;
	env.counters = 0;
	env.flow = 0;
	if (!raw_offers(env.fd, UNIV_FEATURE_RAW))
		return;
	fill_raw_qp(&create);
	NEED_OK(raw_call(env.fd, UNIV_QP_CREATE, &create));
	env.frames = create.handle;
	NEED_OK(raw_call(env.fd, UNIV_COUNTERS_CREATE, &counters));
	env.counters = counters.handle;
}

static void set_up_wq(void)
{
	struct univ_wq_create create = { .pd = env.pd, .cq = env.cq.handle };

	env.wq = 0;
	if (!raw_offers(env.fd, UNIV_FEATURE_WQ))
		return;
	fill_wq(&create);
	NEED_OK(raw_call(env.fd, UNIV_WQ_CREATE, &create));
	env.wq = create.handle;
}

static void set_up_dmah(void)
{
	struct univ_dmah_alloc alloc = { 0 };

	env.dmah = 0;
	if (!raw_offers(env.fd, UNIV_FEATURE_DMAH))
		return;
	fill_dmah(&alloc);
	NEED_OK(raw_call(env.fd, UNIV_DMAH_ALLOC, &alloc));
	env.dmah = alloc.handle;
}

static void set_up_objects(void)
{
	struct univ_qp_attr a;

	env.fd = raw_open();
	env.mem = mmap(NULL, RULES_MEM, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	NEED(env.mem != MAP_FAILED, "mmap: %s", err_name(errno));
	env.pd = raw_pd(env.fd);
	env.mr = raw_mr(env.fd, env.pd, env.mem, RULES_MEM, ALL_ACCESS);
	raw_cq(env.fd, &env.cq, 32, -1);
	raw_srq(env.fd, &env.srq, env.pd, 16);
	raw_qp(env.fd, &env.qp, IBV_QPT_RC, env.pd, env.cq.handle, 0);
	raw_qp(env.fd, &env.ud, IBV_QPT_UD, env.pd, env.cq.handle, 0);
	raw_attr_init(&a, IBV_QPT_UD);
	NEED_OK(raw_modify(env.fd, env.ud.handle, &a));
	set_up_xrc();
	set_up_dm();
	set_up_cntr();
	set_up_ah_and_mw();
	set_up_channel();
	set_up_frames();
	set_up_wq();
	set_up_dmah();
	env.odp = (struct raw_mr){ 0 };
	build_rules();
}

static void set_up(void)
{
	set_up_objects();
	env.other = raw_open();
	/* Handles are counted per context, so use numbers far beyond those of this context. */
	for (int i = 0; i < 100; i++)
		env.foreign = raw_pd(env.other);
	for (int i = 0; i < 40; i++)
		env.freed = raw_pd(env.fd);
	for (int i = 0; i < 40; i++)
		raw_destroy(env.fd, UNIV_PD_DEALLOC, env.freed - i);
}

/* Mappings keep the file open. */
static void unmap_rings(void)
{
	raw_unmap(&env.cq.map);
	raw_unmap(&env.srq.map);
	raw_unmap(&env.qp.map);
	raw_unmap(&env.ud.map);
}

static void tear_down(void)
{
	unmap_rings();
	if (env.dmabuf >= 0)
		close(env.dmabuf);
	close(env.channel);
	close(env.fd);
	close(env.other);
	munmap(env.mem, RULES_MEM);
}

/* MCAST_DETACH needs an attached queue pair. */
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
	} else if (r->cmd == UNIV_ASYNC_OPEN) {
		close(((const struct univ_async_open *)arg)->fd);
	} else if (r->cmd == UNIV_DM_EXPORT) {
		close(((const struct univ_dm_export *)arg)->fd);
	} else if (r->cmd == UNIV_MCAST_ATTACH) {
		fill_mcast(&detach);
		raw_call(env.fd, UNIV_MCAST_DETACH, &detach);
	} else if (r->destroy) {
		uint32_t handle = *(const uint32_t *)((const char *)arg + r->result);

		CHECK(handle, "%s: handle 0", r->name);
		CHECK_ERR(raw_destroy(env.fd, r->destroy, handle), 0);
	}
}

static MAYBE_UNUSED bool refused(const struct rule *r, int err)
{
	if (r->cmd == UNIV_CQ_RESIZE && no_resize())
		return err == EOPNOTSUPP;
	return r->may_refuse && !on_uroce() && (err == EOPNOTSUPP || err == ENOSYS);
}

/* Remove the object that a destroying call should have left, since the call had to fail. */
static MAYBE_UNUSED void clean(const struct rule *r, const void *arg)
{
	raw_destroy(env.fd, r->cmd, ((const struct univ_destroy *)arg)->handle);
}

#define BUF 8192
static union {
	struct univ_hdr hdr;
	char bytes[BUF];
} buf;

static MAYBE_UNUSED void fresh(const struct rule *r)
{
	memset(&buf, 0, sizeof(buf));
	before(r);
	fill_valid(r, &buf);
}

static int call_sized(const struct rule *r, uint32_t size)
{
	return raw_call_size(env.fd, r->cmd, &buf, size);
}

static bool offered(const struct rule *r)
{
	return raw_offers(env.fd, r->feature);
}

static MAYBE_UNUSED void for_each_rule(void (*fn)(const struct rule *r))
{
	set_up();
	for (size_t i = 0; i < rule_count; i++)
		if (offered(&rules[i]))
			fn(&rules[i]);
	tear_down();
}

#endif
