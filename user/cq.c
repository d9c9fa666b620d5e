// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion queues: making, resizing and destroying them, polling by
 * ibv_poll_cq(3) and arming. Polling by ibv_start_poll(3) is in cq_ex.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cmd.h"
#include "univ.h"

/*
 * The least that a new queue has, whatever is asked; ibv_create_cq(3) lets it have
 * more. Programs ask for one completion when they expect one at a time, and
 * then take the event of a receive for that of their send, so that two wait for
 * a moment (perftest's ib_send_lat -e). A page holds this many. Who resizes a queue
 * means what it says, and wants to hear when more is waiting than that.
 */
#define SLOTS_MIN 32

static uint32_t slots_for(uint32_t cqe)
{
	return cqe && cqe < SLOTS_MIN ? SLOTS_MIN : cqe;
}

static void ring_set(struct univ_cq *cq, const struct univ_ring_map *map)
{
	char *base = cq->map.base;

	cq->slots = (struct univ_cqe *)(base + map->slot_offset);
	cq->mask = map->slots - 1;
	cq->head = 0;
	univ_poke(&cq->cursor, univ_cursor_make(cq->slots, cq->mask, 0));
	/* Last: whoever polls without the lock and sees this sees the cursor. */
	univ_publish(&cq->ring, (struct univ_ring_head *)(base + map->head_offset));
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
		.cookie = (uintptr_t)cq,
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
	}
	return err;
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

struct univ_cq *univ_cq_create(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr,
			       uint32_t flags)
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
	struct univ_cq *cq = univ_cq_create(context, &attr, 0);

	return cq ? univ_cq_ibv(cq) : NULL;
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
	univ_wait_acks(&acks, &ibv->comp_events_completed, cmd.comp_events);
	univ_wait_acks(&acks, &ibv->async_events_completed, cmd.async_events);
	cq_free(to_ucq(ibv));
	return 0;
}

/*
 * Another thread may be looking at the former ring through the cursor that it
 * read just before, and it takes no lock for that. So the address must stay
 * readable: a private page of zeros (which reads as an empty ring) takes the
 * place of the kernel's memory.
 */
static void past_retire(struct univ_cq *cq, struct univ_cq_past *past, struct univ_map *map)
{
	past->map = *map;
	past->next = cq->past;
	cq->past = past;
	mmap(map->base, map->length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/*
 * The kernel has gone on to a ring that cannot be mapped. What is in the
 * former one can be polled still; then the queue reads as overrun, since what
 * follows is lost.
 */
static int resize_lost(struct univ_cq *cq, int err)
{
	static struct univ_ring_head lost = { .kernel.flags = UNIV_RING_OVERRUN };

	univ_publish(&cq->ring, &lost);
	return err;
}

static int resize_locked(struct univ_cq *cq, struct univ_cq_past *past, int cqe)
{
	struct univ_cq_resize cmd = {
		.handle = cq->ibv.handle,
		.cqe = cqe < 0 ? 0 : (uint32_t)cqe,
	};
	struct univ_map map = cq->map;
	int err = univ_cmd_cq_resize(cq->ibv.context->cmd_fd, &cmd);

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
	/* The kernel copies the arm word: what is armed after that goes to the new ring. */
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

/*
 * A queue that will never show a completion again must not read as empty. Where
 * there is a lock the caller has univ_fail_tell() print why.
 */
int univ_cq_broken(struct univ_cq *cq)
{
	struct ibv_context *context = cq->ibv.context;
	uint32_t flags = univ_cq_ring_broken(univ_peek(&cq->ring));
	int err = 0;

	if (flags & UNIV_RING_DEAD)
		err = univ_fail_gone_later(UNIV_COMPLETION_VERB, context->device->name);
	else if (flags & UNIV_RING_OVERRUN)
		err = univ_fail_overrun((uint32_t)cq->ibv.cqe,
					univ_peer_requests(to_ucontext(context), cq));
	if (cq->single_threaded)
		univ_fail_tell();
	return err;
}

static void wc_fill(struct ibv_wc *wc, const struct univ_cqe *cqe)
{
	wc->wr_id = cqe->wr_id;
	wc->status = (enum ibv_wc_status)cqe->status;
	wc->opcode = (enum ibv_wc_opcode)cqe->opcode;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->imm_data = cqe->imm;
	wc->qp_num = cqe->qp_num;
	wc->src_qp = cqe->src_qp;
	wc->wc_flags = cqe->wc_flags;
	wc->pkey_index = cqe->pkey_index;
	wc->slid = cqe->slid;
	wc->sl = cqe->sl;
	wc->dlid_path_bits = cqe->dlid_path_bits;
}

/* Takes the slots of the completions before @head off the ring. */
static inline void heads_set(struct univ_cq *cq, uint32_t head, univ_cq_cursor cursor)
{
	cq->head = head;
	univ_poke(&cq->cursor, cursor);
	univ_cq_ring_consume(cq->ring, head);
}

/*
 * As poll_list(), from the first completion that failed on: it is number @taken,
 * and lies at the ring's @head. Recorded under the lock, printed without.
 */
static __attribute__((noinline, cold)) int poll_failed(struct univ_cq *cq, uint32_t head,
						       int taken, int max, struct ibv_wc *wc)
{
	univ_cq_cursor cursor = univ_cursor_make(cq->slots, cq->mask, head);
	const struct univ_cqe *cqe;

	while (taken < max && univ_cursor_ready(cursor)) {
		cqe = univ_cursor_cqe(cursor);
		wc_fill(&wc[taken++], cqe);
		if (cqe->status != IBV_WC_SUCCESS)
			univ_peer_completion_failed(to_ucontext(cq->ibv.context), cqe);
		cursor = univ_cursor_make(cq->slots, cq->mask, ++head);
	}
	heads_set(cq, head, cursor);
	if (!cq->single_threaded)
		univ_unlock(&cq->lock);
	univ_fail_tell();
	return taken;
}

/* Called with the lock held, returns without. */
static __attribute__((noinline)) int poll_list(struct univ_cq *cq, int max, struct ibv_wc *wc)
{
	univ_cq_cursor cursor = cq->cursor;
	const struct univ_cqe *cqe;
	uint32_t head = cq->head;
	int taken = 0;

	while (taken < max && univ_cursor_ready(cursor)) {
		cqe = univ_cursor_cqe(cursor);
		if (univ_unlikely(cqe->status != IBV_WC_SUCCESS))
			return poll_failed(cq, head, taken, max, wc);
		wc_fill(&wc[taken++], cqe);
		cursor = univ_cursor_make(cq->slots, cq->mask, ++head);
	}
	if (taken)
		heads_set(cq, head, cursor);
	if (!cq->single_threaded)
		univ_unlock(&cq->lock);
	return taken;
}

static __attribute__((noinline)) int poll_wait(struct univ_cq *cq, int max, struct ibv_wc *wc)
{
	univ_lock_wait(&cq->lock);
	return poll_list(cq, max, wc);
}

static __attribute__((noinline)) int poll_wake(struct univ_cq *cq, int taken)
{
	univ_lock_wake(&cq->lock);
	return taken;
}

/*
 * One completion, if it is a good one and no other is wanted that is there already:
 * what most polls that find any find. Whatever else there is is left to functions
 * that are called last.
 */
static __attribute__((noinline)) int poll_some(struct univ_cq *cq, int max, struct ibv_wc *wc)
{
	univ_cq_cursor cursor, next;
	const struct univ_cqe *cqe;
	uint32_t head;

	if (!cq->single_threaded && univ_unlikely(!univ_trylock(&cq->lock)))
		return poll_wait(cq, max, wc);
	cursor = cq->cursor;
	cqe = univ_cursor_cqe(cursor);
	if (univ_unlikely(max < 1 || !univ_cursor_ready(cursor) || cqe->status != IBV_WC_SUCCESS))
		return poll_list(cq, max, wc);
	head = cq->head + 1;
	next = univ_cursor_make(cq->slots, cq->mask, head);
	if (max > 1 && univ_cursor_ready(next))
		return poll_list(cq, max, wc);
	wc_fill(wc, cqe);
	cq->head = head;
	univ_poke(&cq->cursor, next);
	univ_cq_ring_consume(cq->ring, head);
	if (!cq->single_threaded && univ_unlikely(univ_unlock_quiet(&cq->lock)))
		return poll_wake(cq, 1);
	return 1;
}

/*
 * The last completions may have come between the look at the ring and that at
 * its flags; they come first.
 */
static __attribute__((noinline, cold)) int poll_broken(struct univ_cq *cq, int max,
							struct ibv_wc *wc)
{
	int taken = poll_some(cq, max, wc);

	if (taken)
		return taken;
	taken = univ_cq_broken(cq) ? -1 : 0;
	univ_fail_tell();
	return taken;
}

/*
 * The empty queue, which most polls find, is seen without the lock. The second
 * look at the ring is for a queue that was resized meanwhile: completions may
 * wait in the new one.
 */
int univ_poll_cq(struct ibv_cq *ibv, int max, struct ibv_wc *wc)
{
	struct univ_cq *cq = to_ucq(ibv);
	const struct univ_ring_head *ring = univ_observe(&cq->ring);

	if (univ_cursor_glance(univ_peek(&cq->cursor)))
		return poll_some(cq, max, wc);
	univ_glance_done();
	if (univ_unlikely(univ_glance(&cq->ring) != ring))
		return poll_some(cq, max, wc);
	if (univ_unlikely(univ_cq_ring_broken(ring)))
		return poll_broken(cq, max, wc);
	return 0;
}

static bool cq_waits(const struct univ_cq *cq, uint32_t index)
{
	return index - cq->head <= cq->mask &&
	       univ_cursor_ready(univ_cursor_make(cq->slots, cq->mask, index));
}

static void cqe_move(struct univ_cq *cq, uint32_t to, uint32_t from)
{
	memcpy(&cq->slots[to & cq->mask], &cq->slots[from & cq->mask],
	       offsetof(struct univ_cqe, phase));
}

/*
 * The current completion, between ibv_start_poll(3) and ibv_end_poll(3), was polled
 * already and lies on the ring still: the next step takes one slot off the ring for it.
 */
static bool cqe_is_forgotten(const struct univ_cq *cq, uint32_t index, uint32_t qp_num)
{
	if (cq->current && index == cq->head)
		return false;
	return cq->slots[index & cq->mask].qp_num == qp_num;
}

/*
 * A queue pair was reset: what nobody has polled of it is no longer there, as on mlx5.
 * Programs that use the queue pair again would take it for that of their new requests.
 * Completions of others move on, each to a slot that was ready already.
 */
void univ_cq_forget(struct ibv_cq *ibv, uint32_t qp_num)
{
	struct univ_cq *cq = to_ucq(ibv);
	uint32_t end, from, to;

	univ_lock(&cq->lock);
	for (end = cq->head; cq_waits(cq, end);)
		end++;
	for (from = to = end; from != cq->head;) {
		if (cqe_is_forgotten(cq, --from, qp_num))
			continue;
		if (--to != from)
			cqe_move(cq, to, from);
	}
	if (to != cq->head) {
		cq->head = to;
		univ_poke(&cq->cursor, univ_cursor_make(cq->slots, cq->mask, to));
		univ_cq_ring_consume(cq->ring, to);
		if (cq->current)
			cq->current = &cq->slots[to & cq->mask];
	}
	univ_unlock(&cq->lock);
}

/*
 * A request for any completion that no event has answered yet includes one for
 * solicited completions. Not under the lock for polling, which the caller may hold
 * itself: who arms between ibv_start_poll(3) and ibv_end_poll(3) must not wait for
 * that.
 */
int univ_req_notify_cq(struct ibv_cq *ibv, int solicited_only)
{
	struct univ_cq *cq = to_ucq(ibv);
	uint32_t solicited = !!solicited_only;

	univ_lock(&cq->arm_lock);
	if (solicited && !(cq->arm & 1) && univ_cq_ring_armed(cq->ring, cq->arm))
		solicited = 0;
	cq->arm = ((cq->arm | 1) + 1) | solicited;
	univ_cq_ring_arm(cq->ring, cq->arm);
	univ_unlock(&cq->arm_lock);
	return 0;
}
