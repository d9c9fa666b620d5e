// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Warns when a program waits in vain although no call has failed. If failures are
 * printed, a context gets the operations below in place of those of the room ring,
 * and the lower rooms call univ_watch_ops.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "ring/ring.h"
#include "watch/watch.h"
#include "why/why.h"

#define PATIENCE_MS 1000

/*
 * Values of univ_cq.idle_since that are not times. The member has 32 bits, since
 * atomic operations on 64 bits need a library on some 32-bit processors.
 */
#define IDLE_NOT 0
#define IDLE_TOLD UINT32_MAX

/* The time in milliseconds, which wraps. The low bits make it differ from IDLE_x. */
static uint32_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (((uint32_t)ts.tv_sec * 1000 + (uint32_t)(ts.tv_nsec / 1000000)) & ~3u) | 2;
}

/*
 * The number of requests without IBV_SEND_SIGNALED at the end of the send queue. The ring may have
 * been exchanged since the first request.
 */
static uint32_t unsignaled(struct univ_qp *qp)
{
	const struct univ_send_wr *slot;
	uint32_t count = 0;

	if (qp->sq_sig_all)
		return 0;
	while (count < qp->sq.max_wr && count < qp->sq.tail - qp->sq_first) {
		slot = univ_ring_slot(&qp->sq, qp->sq.tail - count - 1);
		if (slot->flags & UNIV_WR_SIGNALED)
			break;
		count++;
	}
	return count;
}

/* Whether the program may be polling for the completion of a receive. */
static bool receives(const struct univ_qp *qp, const struct univ_cq *cq)
{
	if (qp->ibv.recv_cq != (const struct ibv_cq *)cq)
		return false;
	return qp->ibv.srq ||
	       (qp->rq.head && univ_ring_room(&qp->rq, qp->rq.tail) != qp->rq.max_wr);
}

/*
 * Whether the send queue explains why @cq stays empty. The lock is only tried, since
 * the caller itself holds it between ibv_wr_start(3) and ibv_wr_complete(3).
 */
static bool qp_explains(struct univ_qp *qp, const struct univ_cq *cq)
{
	uint32_t silent, outstanding;
	bool waits;

	if (qp->ibv.send_cq != (const struct ibv_cq *)cq || !qp->sq.head ||
	    !univ_trylock(&qp->sq_lock))
		return false;
	silent = unsignaled(qp);
	outstanding = qp->sq.max_wr - univ_ring_room(&qp->sq, qp->sq.tail);
	/* With the lock neither ring is exchanged (univ_qp_resize()). */
	waits = receives(qp, cq);
	univ_unlock(&qp->sq_lock);
	if (outstanding > silent || (outstanding && qp->no_timeout)) {
		if (qp->no_timeout)
			univ_warn_no_timeout(UNIV_COMPLETION_VERB, qp->ibv.qp_num, outstanding);
		return qp->no_timeout;
	}
	if (!silent || waits)
		return false;
	univ_warn_unsignaled(UNIV_COMPLETION_VERB, qp->ibv.qp_num, silent);
	return true;
}

/*
 * The number of datagrams that a port has dropped since it was created. A counter that the device
 * lacks reads as 0. Verbs are no cancellation points, and a lock may be held, so
 * cancellation is disabled while the file is read.
 */
static struct univ_dropped dropped_now(struct univ_context *ctx, uint8_t port)
{
	struct ibv_context *ibv = &ctx->vctx.context;
	struct univ_port_query cmd = { .port_num = port };
	struct univ_dropped now = { .port = port };
	char dir[IBV_SYSFS_PATH_MAX + 32], number[32];
	int err = errno, state;

	if (!univ_cmd_port_try(ibv->cmd_fd, &cmd))
		now.qkey = cmd.qkey_viol_cntr;
	snprintf(dir, sizeof(dir), "%s/ports/%u/hw_counters", ibv->device->ibdev_path, port);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	if (ibv_read_sysfs_file(dir, "resp_local_length_error", number, sizeof(number)) > 0)
		now.length = strtoull(number, NULL, 10);
	pthread_setcancelstate(state, &state);
	errno = err;
	return now;
}

/*
 * Stores the counters of the port, since datagrams that were dropped earlier were not for the queue
 * pair.
 */
static void port_set(struct univ_qp *qp, uint8_t port)
{
	struct univ_context *ctx = to_ucontext(qp->ibv.context);
	struct univ_dropped now;

	if (qp->ibv.qp_type != IBV_QPT_UD)
		return;
	now = dropped_now(ctx, port);
	univ_lock(&ctx->table_lock);
	qp->dropped = now;
	univ_unlock(&ctx->table_lock);
}

/* Datagrams are dropped without an error, as the specification requires. */
static bool dropped_explains(struct univ_context *ctx, const struct univ_qp *qp,
			     const struct univ_cq *cq)
{
	const struct univ_dropped *before = &qp->dropped;
	struct univ_dropped now;

	if (!before->port || qp->ibv.recv_cq != (const struct ibv_cq *)cq)
		return false;
	now = dropped_now(ctx, before->port);
	if (now.qkey > before->qkey)
		univ_warn_qkey(UNIV_COMPLETION_VERB, qp->ibv.qp_num, now.qkey - before->qkey);
	else if (now.length > before->length)
		univ_warn_recv_short(UNIV_COMPLETION_VERB, qp->ibv.qp_num,
				     now.length - before->length);
	else
		return false;
	return true;
}

/* Holds table_lock, so that no queue pair goes; warnings are printed when it is released. */
static void idle_explain(struct univ_context *ctx, const struct univ_cq *cq)
{
	struct univ_qp *qp;
	int i;

	univ_fail_defer();
	univ_lock(&ctx->table_lock);
	for (i = 0; i < UNIV_QP_BUCKETS; i++)
		for (qp = ctx->qps[i]; qp; qp = qp->next)
			if (dropped_explains(ctx, qp, cq) || qp_explains(qp, cq))
				goto out;
out:
	univ_unlock(&ctx->table_lock);
	univ_fail_tell();
}

/* Warns once in a child of fork() that uses the rings of its parent. */
static void call(const char *verb, struct ibv_context *context)
{
	struct univ_context *ctx = to_ucontext(context);

	if (univ_load_relaxed(&ctx->pid) == getpid())
		return;
	univ_store_relaxed(&ctx->pid, getpid());
	univ_warn_forked(verb);
}

/* The lock of the queue is not held if the poll found nothing. */
static void polled(struct univ_cq *cq, bool taken)
{
	struct ibv_context *context = cq->ibv.context;
	uint32_t since = univ_load_relaxed(&cq->idle_since);

	if (taken) {
		univ_store_relaxed(&cq->idle_since, IDLE_NOT);
	} else if (since == IDLE_NOT) {
		call(UNIV_COMPLETION_VERB, context);
		univ_store_relaxed(&cq->idle_since, now());
	} else if (since != IDLE_TOLD && now() - since > PATIENCE_MS) {
		univ_store_relaxed(&cq->idle_since, IDLE_TOLD);
		idle_explain(to_ucontext(context), cq);
	}
}

static int watched_poll_cq(struct ibv_cq *ibv, int max, struct ibv_wc *wc)
{
	int taken = univ_poll_cq(ibv, max, wc);

	polled(to_ucq(ibv), taken);
	return taken;
}

/* A request holds only the handle, which in this context may name another object. */
static void ah_explain(const struct ibv_qp *qp, const struct ibv_send_wr *wr)
{
	if (qp->qp_type != IBV_QPT_UD)
		return;
	for (; wr; wr = wr->next)
		if (wr->wr.ud.ah && wr->wr.ud.ah->context != qp->context)
			univ_warn_ah_context("ibv_post_send");
}

static int watched_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	call("ibv_post_send", qp->context);
	ah_explain(qp, wr);
	return to_ucontext(qp->context)->post->send(qp, wr, bad);
}

static int watched_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	call("ibv_post_recv", qp->context);
	return to_ucontext(qp->context)->post->recv(qp, wr, bad);
}

static bool channel_is_armed(struct ibv_comp_channel *channel)
{
	struct univ_context *ctx = to_ucontext(channel->context);
	const struct univ_cq *cq;
	bool armed = false;
	uint32_t arm;

	pthread_mutex_lock(&ctx->vctx.context.mutex);
	for (cq = ctx->channel_cqs; cq && !armed; cq = cq->next) {
		arm = univ_load_relaxed(&cq->arm);
		armed = cq->ibv.channel == channel && arm &&
			univ_cq_ring_armed(univ_load_relaxed(&cq->ring), arm);
	}
	pthread_mutex_unlock(&ctx->vctx.context.mutex);
	return armed;
}

/*
 * Whether each handler was installed with SA_RESTART: then read(2), in which the program expects to
 * wait, continues after a signal, whereas poll(2) never does.
 */
static bool handlers_restart(void)
{
	struct sigaction action;
	int number;

	for (number = 1; number < NSIG; number++) {
		if (sigaction(number, NULL, &action) || action.sa_flags & SA_RESTART)
			continue;
		if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN)
			return false;
	}
	return true;
}

/*
 * Waits for a second before the program waits in read(2). A signal that ends this
 * wait would be lost to that read, so the result is then negative, with errno.
 */
static int event_wait(struct ibv_comp_channel *channel)
{
	struct pollfd fd = { .fd = channel->fd, .events = POLLIN };
	int flags = fcntl(channel->fd, F_GETFL);
	int ready;

	if (flags < 0 || (flags & O_NONBLOCK))
		return 0;
	ready = poll(&fd, 1, PATIENCE_MS);
	if (!ready && !channel_is_armed(channel))
		univ_warn_not_armed("ibv_get_cq_event");
	if (ready < 0 && errno == EINTR && !handlers_restart()) {
		errno = EINTR;
		return -1;
	}
	return 0;
}

/* The number of objects that are created to find gaps between the handles. */
#define PROBES 16

/* New objects get the lowest free handles, so the handles that they skip are in use. */
static void left_objects_explain(struct univ_context *ctx)
{
	struct univ_pd_alloc cmd[PROBES] = {};
	struct univ_destroy destroy;
	uint32_t last = 0;
	int i, count;

	for (count = 0; count < PROBES; count++) {
		if (univ_cmd_pd_try(ctx->vctx.context.cmd_fd, &cmd[count]))
			break;
		last = cmd[count].handle;
	}
	for (i = 0; i < count; i++) {
		destroy = (struct univ_destroy) { .handle = cmd[i].handle };
		univ_cmd_pd_dealloc(ctx->vctx.context.cmd_fd, &destroy);
	}
	if (last > (uint32_t)count)
		univ_warn_left_objects("ibv_close_device", (int)last - count);
}

static const struct univ_watch_ops watch_ops = {
	.call = call,
	.polled = polled,
	.port_set = port_set,
	.event_wait = event_wait,
};

void univ_watch_open(struct univ_context *ctx)
{
	struct ibv_context_ops *ops = &ctx->vctx.context.ops;

	if (!univ_fail_printed())
		return;
	ctx->watch = &watch_ops;
	ctx->pid = getpid();
	ops->poll_cq = watched_poll_cq;
	ops->post_send = watched_post_send;
	ops->post_recv = watched_post_recv;
}

void univ_watch_close(struct univ_context *ctx)
{
	/* An imported context shares its objects with the context that created it. */
	if (univ_fail_printed() && !ctx->imported)
		left_objects_explain(ctx);
}
