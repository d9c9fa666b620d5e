// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Programs that wait in vain without any call having failed. The library looks only if
 * failures are printed: a context then gets other operations, which are here.
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

#include "cmd.h"
#include "univ.h"

#define PATIENCE_MS 1000

/*
 * Values of univ_cq.idle_since besides times, which are never one of them. It has 32 bits,
 * since atomic operations on 64 need a library on some processors of 32.
 */
#define IDLE_NOT 0
#define IDLE_TOLD UINT32_MAX

/* The time is in milliseconds, four at a time, and wraps. */
static uint32_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (((uint32_t)ts.tv_sec * 1000 + (uint32_t)(ts.tv_nsec / 1000000)) & ~3u) | 2;
}

/* Requests that no completion will speak of, counted back from the last one posted */
static uint32_t unsignaled(struct univ_qp *qp)
{
	const struct univ_send_wr *slot;
	uint32_t count = 0;

	if (qp->sq_sig_all)
		return 0;
	while (count < qp->sq.max_wr && count < qp->sq.tail) {
		slot = univ_ring_slot(&qp->sq, qp->sq.tail - count - 1);
		if (slot->flags & UNIV_WR_SIGNALED)
			break;
		count++;
	}
	return count;
}

/* Whether a completion of a receive may be what is polled for */
static bool receives(const struct univ_qp *qp, const struct univ_cq *cq)
{
	if (qp->ibv.recv_cq != (const struct ibv_cq *)cq)
		return false;
	return qp->ibv.srq ||
	       (qp->rq.head && univ_ring_room(&qp->rq, qp->rq.tail) != qp->rq.max_wr);
}

/*
 * Nothing has completed for a while. The send lock may be the caller's own, between
 * ibv_wr_start(3) and ibv_wr_complete(3), so it is not waited for.
 */
static bool qp_explains(struct univ_qp *qp, const struct univ_cq *cq)
{
	uint32_t silent, outstanding;

	if (qp->ibv.send_cq != (const struct ibv_cq *)cq || !qp->sq.head ||
	    !univ_trylock(&qp->sq_lock))
		return false;
	silent = unsignaled(qp);
	outstanding = qp->sq.max_wr - univ_ring_room(&qp->sq, qp->sq.tail);
	univ_unlock(&qp->sq_lock);
	if (outstanding > silent || (outstanding && qp->no_timeout)) {
		if (qp->no_timeout)
			univ_warn_no_timeout(qp->ibv.qp_num, outstanding);
		return qp->no_timeout;
	}
	if (!silent || receives(qp, cq))
		return false;
	univ_warn_unsignaled(qp->ibv.qp_num, silent);
	return true;
}

/*
 * By a port since it is there. What a device does not count stays 0. Called from verbs that
 * are no cancellation points, and under a lock, so no thread ends while it reads the file.
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

/* A queue pair is given its port: what was dropped there before is not its concern. */
void univ_watch_port(struct univ_context *ctx, struct univ_qp *qp, uint8_t port)
{
	struct univ_dropped now;

	if (!ctx->pid || qp->ibv.qp_type != IBV_QPT_UD)
		return;
	now = dropped_now(ctx, port);
	univ_lock(&ctx->table_lock);
	qp->dropped = now;
	univ_unlock(&ctx->table_lock);
}

/* Datagrams are dropped without a word, as the specification wants. */
static bool dropped_explains(struct univ_context *ctx, const struct univ_qp *qp,
			     const struct univ_cq *cq)
{
	const struct univ_dropped *before = &qp->dropped;
	struct univ_dropped now;

	if (!before->port || qp->ibv.recv_cq != (const struct ibv_cq *)cq)
		return false;
	now = dropped_now(ctx, before->port);
	if (now.qkey > before->qkey)
		univ_warn_qkey(qp->ibv.qp_num, now.qkey - before->qkey);
	else if (now.length > before->length)
		univ_warn_recv_short(qp->ibv.qp_num, now.length - before->length);
	else
		return false;
	return true;
}

/* Under univ_context.table_lock, which keeps the queue pairs; printed without it. */
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

/* A child of fork() that works on its parent's rings: told once. */
void univ_watch_fork(const char *verb, struct ibv_context *context)
{
	struct univ_context *ctx = to_ucontext(context);

	if (univ_peek(&ctx->pid) == getpid())
		return;
	univ_poke(&ctx->pid, getpid());
	univ_warn_forked(verb);
}

/* The queue was polled; @taken: not in vain. If it was, its lock is not held. */
void univ_watch_poll(struct univ_cq *cq, bool taken)
{
	struct ibv_context *context = cq->ibv.context;
	uint32_t since = univ_peek(&cq->idle_since);

	if (taken) {
		univ_poke(&cq->idle_since, IDLE_NOT);
	} else if (since == IDLE_NOT) {
		univ_watch_fork(UNIV_COMPLETION_VERB, context);
		univ_poke(&cq->idle_since, now());
	} else if (since != IDLE_TOLD && now() - since > PATIENCE_MS) {
		univ_poke(&cq->idle_since, IDLE_TOLD);
		idle_explain(to_ucontext(context), cq);
	}
}

static int watched_poll_cq(struct ibv_cq *ibv, int max, struct ibv_wc *wc)
{
	int taken = univ_poll_cq(ibv, max, wc);

	univ_watch_poll(to_ucq(ibv), taken);
	return taken;
}

/* The request has the handle alone, which may be another object's of this context. */
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
	univ_watch_fork("ibv_post_send", qp->context);
	ah_explain(qp, wr);
	return univ_post_send(qp, wr, bad);
}

static int watched_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	univ_watch_fork("ibv_post_recv", qp->context);
	return univ_post_recv(qp, wr, bad);
}

void univ_watch_context(struct univ_context *ctx)
{
	struct ibv_context_ops *ops = &ctx->vctx.context.ops;

	if (!univ_fail_printed())
		return;
	ctx->pid = getpid();
	ops->poll_cq = watched_poll_cq;
	ops->post_send = watched_post_send;
	ops->post_recv = watched_post_recv;
}

static bool channel_is_armed(struct ibv_comp_channel *channel)
{
	struct univ_context *ctx = to_ucontext(channel->context);
	const struct univ_cq *cq;
	bool armed = false;

	pthread_mutex_lock(&ctx->vctx.context.mutex);
	for (cq = ctx->channel_cqs; cq && !armed; cq = cq->next)
		armed = cq->ibv.channel == channel && cq->arm &&
			univ_cq_ring_armed(univ_peek(&cq->ring), cq->arm);
	pthread_mutex_unlock(&ctx->vctx.context.mutex);
	return armed;
}

/* The program waits in read(2), which goes on after such handlers; poll(2) never does. */
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
 * An event is about to be waited for. Negative, with errno, when a signal has ended
 * that: it came, and what is waited in next would not hear of it.
 */
int univ_watch_channel(struct ibv_comp_channel *channel)
{
	struct pollfd fd = { .fd = channel->fd, .events = POLLIN };
	int flags = fcntl(channel->fd, F_GETFL);
	int ready;

	if (flags < 0 || (flags & O_NONBLOCK))
		return 0;
	ready = poll(&fd, 1, PATIENCE_MS);
	if (!ready && !channel_is_armed(channel))
		univ_warn_not_armed();
	if (ready < 0 && errno == EINTR && !handlers_restart()) {
		errno = EINTR;
		return -1;
	}
	return 0;
}

/* As many holes among the handles are found as this */
#define PROBES 16

/* Handles are the lowest that are free, so those that new objects do not get are in use. */
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
		univ_warn_left_objects((int)last - count);
}

/* The context is about to be closed. */
void univ_watch_close(struct univ_context *ctx)
{
	if (univ_fail_printed())
		left_objects_explain(ctx);
}
