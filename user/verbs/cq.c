// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Completion queues: creating, resizing and destroying them. Polling is in the room ring. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "ring/ring.h"
#include "verbs/common.h"
#include "why/why.h"

/*
 * The least number of entries of a new queue; ibv_create_cq(3) allows more than was
 * asked for. Programs that expect one completion at a time ask for one entry. Some
 * of them (perftest's ib_send_lat -e) mistake the event of a receive for the event
 * of their send, so that two completions wait for a moment. A ring of this many
 * entries fits in a page. ibv_resize_cq(3) keeps to the program's number, since it
 * must fail if more completions wait.
 */
#define SLOTS_MIN 32

#define WC_FLAGS_OFFERED \
	((uint64_t)IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | \
	 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

/* Readers of what completions have on devices with UNIV_FEATURE_RAW. */
#define WC_FLAGS_RAW ((uint64_t)IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_FLOW_TAG)

/* A former ring of a resized queue; its address stays readable. */
struct univ_cq_past {
	struct univ_cq_past *next;
	struct univ_map map;
};

static uint32_t slots_for(uint32_t cqe)
{
	return cqe && cqe < SLOTS_MIN ? SLOTS_MIN : cqe;
}

static void ring_set(struct univ_cq *cq, const struct univ_ring_map *map)
{
	char *base = cq->map.base;

	cq->slots = (struct univ_cqe *)(base + map->slot_offset);
	cq->mask = map->slots - 1;
	/* The completions that wait are moved to the beginning of the new ring. */
	univ_store_relaxed(&cq->moved, cq->moved - cq->head);
	univ_store_relaxed(&cq->head, 0);
	univ_store_relaxed(&cq->told, UINT32_MAX);
	univ_store_relaxed(&cq->cursor, univ_cursor_make(cq->slots, cq->mask, 0));
	/*
	 * The ring is stored last: a thread that polls without the lock and sees the ring also sees
	 * the cursor.
	 */
	univ_store_release(&cq->ring, (struct univ_ring_head *)(base + map->head_offset));
}

static int ring_map(struct univ_cq *cq, const char *verb, uint64_t offset, uint64_t length,
		    const struct univ_ring_map *map)
{
	int err;

	if (map->stride != sizeof(struct univ_cqe))
		return univ_fail_size(verb, EPROTO, map->stride, sizeof(struct univ_cqe));
	err = univ_map_ring(verb, univ_cq_ibv(cq)->context->cmd_fd, &cq->map, offset, length);
	if (!err)
		ring_set(cq, map);
	return err;
}

static void cq_init(struct univ_cq *cq, struct ibv_context *context,
		    const struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_cq *ibv = univ_cq_ibv(cq);

	ibv->context = context;
	ibv->channel = attr->channel;
	ibv->cq_context = attr->cq_context;
	cq->refs = 1;
	pthread_mutex_init(&ibv->mutex, NULL);
	pthread_cond_init(&ibv->cond, NULL);
}

static int cq_destroy_kernel(const struct univ_cq *cq, struct univ_destroy *cmd)
{
	*cmd = (struct univ_destroy) { .handle = cq->ibv.handle };
	return univ_cmd_cq_destroy(cq->ibv.context->cmd_fd, cmd);
}

static int cq_create_kernel(struct univ_cq *cq, const struct ibv_cq_init_attr_ex *attr,
			    uint32_t flags)
{
	struct univ_cq_create cmd = {
		.cqe = slots_for(attr->cqe),
		.comp_vector = attr->comp_vector,
		.channel_fd = attr->channel ? attr->channel->fd : -1,
		.cq_flags = flags,
		.cookie = univ_cookie(cq->ibv.context, cq),
	};
	struct univ_destroy destroy;
	int err = univ_cmd_cq_create(cq->ibv.context->cmd_fd, &cmd);

	if (err)
		return err;
	cq->ibv.handle = cmd.handle;
	cq->ibv.cqe = (int)cmd.cqe;
	err = ring_map(cq, "ibv_create_cq", cmd.map_offset, cmd.map_length, &cmd.ring);
	if (err) {
		cq_destroy_kernel(cq, &destroy);
		errno = err;
		return err;
	}
	univ_events_begin(cq->ibv.context, cmd.handle);
	return 0;
}

static void channel_join(struct ibv_comp_channel *channel, struct univ_cq *cq)
{
	struct univ_context *ctx = to_ucontext(channel->context);

	pthread_mutex_lock(&channel->context->mutex);
	channel->refcnt++;
	cq->next = ctx->channel_cqs;
	ctx->channel_cqs = cq;
	pthread_mutex_unlock(&channel->context->mutex);
}

static void channel_leave(struct ibv_comp_channel *channel, const struct univ_cq *cq)
{
	struct univ_cq **link = &to_ucontext(channel->context)->channel_cqs;

	pthread_mutex_lock(&channel->context->mutex);
	channel->refcnt--;
	while (*link != cq)
		link = &(*link)->next;
	*link = cq->next;
	pthread_mutex_unlock(&channel->context->mutex);
}

static struct univ_cq *cq_create(struct ibv_context *context,
				 const struct ibv_cq_init_attr_ex *attr, uint32_t flags)
{
	struct univ_cq *cq = calloc(1, sizeof(*cq));

	if (!cq) {
		univ_fail_memory("ibv_create_cq", sizeof(*cq));
		return NULL;
	}
	cq_init(cq, context, attr);
	if (cq_create_kernel(cq, attr, flags)) {
		free(cq);
		return NULL;
	}
	if (attr->channel)
		channel_join(attr->channel, cq);
	return cq;
}

UNIV_EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
					 struct ibv_comp_channel *channel, int comp_vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe < 0 ? 0 : (uint32_t)cqe,
		.cq_context = cq_context,
		.channel = channel,
		.comp_vector = (uint32_t)comp_vector,
	};
	struct univ_cq *cq = cq_create(context, &attr, 0);

	return cq ? univ_cq_ibv(cq) : NULL;
}

static int parent_check(const struct ibv_context *context, struct ibv_pd *pd)
{
	if (!pd)
		return univ_fail_no_object("ibv_create_cq_ex", UNIV_OBJECT_PD);
	if (pd->context != context)
		return univ_fail_context("ibv_create_cq_ex", UNIV_OBJECT_PD);
	return to_upd(pd)->domain ? 0 : univ_fail_not_parent("ibv_create_cq_ex");
}

static uint64_t wc_flags_offered(struct ibv_context *context)
{
	return to_ucontext(context)->features & UNIV_FEATURE_RAW ? WC_FLAGS_OFFERED | WC_FLAGS_RAW :
								   WC_FLAGS_OFFERED;
}

static uint32_t flags_offered(struct ibv_context *context)
{
	uint32_t flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;

	if (to_ucontext(context)->features & UNIV_FEATURE_IGNORE_OVERRUN)
		flags |= IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	return flags;
}

static int attr_ex_check(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr)
{
	const uint32_t flags = flags_offered(context);
	const uint32_t known = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;

	if (attr->wc_flags & ~wc_flags_offered(context))
		return univ_fail_flags("ibv_create_cq_ex", EOPNOTSUPP, UNIV_FLAGS_WC, attr->wc_flags,
				       wc_flags_offered(context));
	if (attr->comp_mask & ~known)
		return univ_fail_flags("ibv_create_cq_ex", EOPNOTSUPP, UNIV_FLAGS_CQ_MASK,
				       attr->comp_mask, known);
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) &&
	    parent_check(context, attr->parent_domain))
		return errno;
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) && (attr->flags & ~flags))
		return univ_fail_flags("ibv_create_cq_ex", EOPNOTSUPP, UNIV_FLAGS_CQ, attr->flags, flags);
	return 0;
}

static uint32_t kernel_flags(const struct ibv_cq_init_attr_ex *attr)
{
	uint32_t flags = 0;

	if (attr->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		flags |= UNIV_CQ_TIMESTAMP;
	if (attr->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		flags |= UNIV_CQ_WALLCLOCK;
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	    (attr->flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN))
		flags |= UNIV_CQ_IGNORE_OVERRUN;
	return flags;
}

/* The program promises to use the objects of a thread domain from one thread at a time. */
static void parent_join(struct univ_cq *cq, struct ibv_pd *pd)
{
	univ_pd_hold(pd);
	cq->pd = pd;
	if (to_upd(pd)->td)
		cq->single_threaded = true;
}

struct ibv_cq_ex *univ_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	struct univ_cq *cq;

	if (attr_ex_check(context, attr))
		return NULL;
	cq = cq_create(context, attr, kernel_flags(attr));
	if (!cq)
		return NULL;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS)
		cq->single_threaded = attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD)
		parent_join(cq, attr->parent_domain);
	univ_cq_ex_init(cq);
	return &cq->ibv;
}

static void cq_free(struct univ_cq *cq)
{
	struct univ_cq_past *past;

	while ((past = cq->past)) {
		cq->past = past->next;
		univ_unmap_ring(&past->map);
		free(past);
	}
	univ_unmap_ring(&cq->map);
	pthread_mutex_destroy(&cq->ibv.mutex);
	pthread_cond_destroy(&cq->ibv.cond);
	free(cq);
}

/*
 * The kernel lets a completion queue go when it has destroyed the last queue that it serves. The
 * thread that destroys that one still has to look for its completions.
 */
void univ_cq_get(struct ibv_cq *ibv)
{
	__atomic_add_fetch(&to_ucq(ibv)->refs, 1, __ATOMIC_RELAXED);
}

void univ_cq_put(struct ibv_cq *ibv)
{
	if (!__atomic_sub_fetch(&to_ucq(ibv)->refs, 1, __ATOMIC_ACQ_REL))
		cq_free(to_ucq(ibv));
}

UNIV_EXPORT int ibv_destroy_cq(struct ibv_cq *ibv)
{
	const struct univ_acks acks = { "ibv_destroy_cq", UNIV_OBJECT_CQ, &ibv->mutex, &ibv->cond };
	struct ibv_comp_channel *channel = ibv->channel;
	struct univ_destroy cmd;
	int err = cq_destroy_kernel(to_ucq(ibv), &cmd);

	if (err)
		return err;
	if (channel)
		channel_leave(channel, to_ucq(ibv));
	univ_acks_wait(&acks, &ibv->comp_events_completed, cmd.comp_events);
	univ_acks_wait(&acks, &ibv->async_events_completed,
		       cmd.async_events);
	/* The program may end the domain now, even if another thread still keeps the queue. */
	if (to_ucq(ibv)->pd)
		univ_pd_release(to_ucq(ibv)->pd);
	univ_cq_put(ibv);
	return 0;
}

/*
 * Another thread may be looking at the former ring, without a lock, through the
 * cursor that it has just read. So the address must stay readable: private memory
 * of zeros, which reads as an empty ring, takes the place of the kernel's memory.
 */
static void past_retire(struct univ_cq *cq, struct univ_cq_past *past, struct univ_map *map)
{
	past->map = *map;
	past->next = cq->past;
	cq->past = past;
	mmap(map->base, map->length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/* The ring of a queue whose new ring could not be mapped. */
static struct univ_ring_head lost_ring = { .kernel.flags = UNIV_RING_OVERRUN };

/*
 * The kernel uses the new ring, which cannot be mapped. Completions in the former
 * ring can still be polled; then the queue reads as overrun, since the following
 * completions are lost.
 */
static int resize_lost(struct univ_cq *cq, int err)
{
	univ_store_release(&cq->ring, &lost_ring);
	cq->ibv.cqe = 0;
	return err;
}

static int resize_locked(struct univ_cq *cq, struct univ_cq_past *past, int cqe)
{
	struct univ_cq_resize cmd = {
		.handle = cq->ibv.handle,
		.cqe = cqe < 0 ? 0 : (uint32_t)cqe,
	};
	struct univ_map map = cq->map;
	int err;

	/*
	 * The kernel does not know which completions the program has polled since the last resize,
	 * so another one would deliver those again.
	 */
	if (cq->ring == &lost_ring)
		return univ_fail_overrun("ibv_resize_cq", 0, 0);
	err = univ_cmd_cq_resize(cq->ibv.context->cmd_fd, &cmd);
	if (err)
		return err;
	err = ring_map(cq, "ibv_resize_cq", cmd.map_offset, cmd.map_length, &cmd.ring);
	if (err)
		return resize_lost(cq, err);
	cq->ibv.cqe = (int)cmd.cqe;
	past_retire(cq, past, &map);
	return 0;
}

UNIV_EXPORT int ibv_resize_cq(struct ibv_cq *ibv, int cqe)
{
	struct univ_cq_past *past = calloc(1, sizeof(*past));
	struct univ_cq *cq = to_ucq(ibv);
	int err;

	if (!past)
		return univ_fail_memory("ibv_resize_cq", sizeof(*past));
	/* Failures under the locks are printed without them. */
	univ_fail_defer();
	univ_lock(&cq->lock);
	/* The kernel copies the arm word, so later arming must go to the new ring. */
	univ_lock(&cq->arm_lock);
	err = resize_locked(cq, past, cqe);
	univ_unlock_pass(&cq->arm_lock);
	univ_unlock_pass(&cq->lock);
	univ_fail_tell();
	if (err)
		free(past);
	return err;
}

int univ_modify_cq(struct ibv_cq *ibv, struct ibv_modify_cq_attr *attr)
{
	struct univ_cq_moderate cmd = {
		.handle = ibv->handle,
		.count = attr->moderate.cq_count,
		.period = attr->moderate.cq_period,
	};

	if (attr->attr_mask & ~(uint32_t)IBV_CQ_ATTR_MODERATE)
		return univ_fail_flags("ibv_modify_cq", EOPNOTSUPP, UNIV_FLAGS_NONE,
				       attr->attr_mask, IBV_CQ_ATTR_MODERATE);
	if (!attr->attr_mask)
		return 0;
	return univ_cmd_cq_moderate(ibv->context->cmd_fd, &cmd);
}
