// SPDX-License-Identifier: GPL-2.0
/* The operations of the pump, and the life of its queues. */
#include <linux/slab.h>

#include "compat.h"
#include "driver.h"
#include "pump.h"
#include "pump_queue.h"

/* The value of rnr_retry that means to retry without limit. */
#define QP_RNR_FOREVER 7

/*
 * The device's queue never has fewer entries: moving completions takes a
 * moment.
 */
#define DEVICE_CQE_MIN 32

/* The delay before the worker tries the queue pair's mutex again. */
#define QP_ERROR_RETRY msecs_to_jiffies(10)

static void qp_feed(struct pump_qp *qp)
{
	univ_send_queue_feed(&qp->sq);
	univ_recv_queue_feed(&qp->rq);
}

static void qp_queue_error(struct pump_qp *qp, unsigned long delay)
{
	queue_delayed_work(system_dfl_wq, &qp->error_work, delay);
}

/* Context: the queue pair's mutex is held. */
static void qp_to_error(struct univ_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	lockdep_assert_held(&qp->mutex);
	if (!ib_modify_qp(qp->ib, &attr, IB_QP_STATE))
		WRITE_ONCE(qp->state, IB_QPS_ERR);
}

/*
 * A request was refused or a completion lost in a context that cannot sleep. In
 * the error state the device flushes the requests that it has. Those that are
 * still in the ring follow.
 *
 * A call that modifies the queue pair may take a second to resolve an address.
 * A worker does not wait for that: with many queue pairs a process could occupy
 * all workers that the kernel runs at once.
 */
static void qp_error_work(struct work_struct *work)
{
	struct pump_qp *qp =
		container_of(work, struct pump_qp, error_work.work);
	struct univ_qp *core = qp->core;

	if (!mutex_trylock(&core->mutex)) {
		qp_queue_error(qp, QP_ERROR_RETRY);
		return;
	}
	if (!core->dying && core->state != IB_QPS_RESET &&
	    READ_ONCE(qp->failed))
		qp_to_error(core);
	univ_send_queue_mend(qp);
	mutex_unlock(&core->mutex);

	qp_feed(qp);
}

/*
 * Moves the queue pair to the error state soon. Any context. A reset meanwhile
 * takes that back: the failure is forgotten with the requests.
 */
void pump_qp_fail(struct pump_qp *qp)
{
	WRITE_ONCE(qp->failed, true);
	qp_queue_error(qp, 0);
}

static void qp_retry_work(struct work_struct *work)
{
	qp_feed(container_of(work, struct pump_qp, retry_work.work));
}

/*
 * See struct pump_qp. Context: the queue pair's mutex is held, or no call can
 * find the queue pair.
 */
static void qp_set_eager(struct pump_qp *qp, bool eager)
{
	if (qp->eager == eager)
		return;
	qp->eager = eager;
	if (eager)
		univ_recv_queue_hurry(pump_recv_queue(qp));
	else
		univ_recv_queue_relax(pump_recv_queue(qp));
}

static void qp_drain_queues(struct univ_qp *core)
{
	univ_pump_drain(core->send_cq);
	if (core->recv_cq != core->send_cq)
		univ_pump_drain(core->recv_cq);
}

/*
 * Moves the completions that the device still has of this queue pair to the
 * process.
 */
static void qp_drain(struct univ_qp *core)
{
	qp_drain_queues(core);
	if (core->srq)
		univ_recv_queue_credit(&core->srq->pump->rq);
}

/*
 * The device has reset the queue pair, so no completion of it follows. Earlier
 * ones are moved to the process, then the rings start afresh.
 */
static void qp_reset(struct pump_qp *qp)
{
	qp_set_eager(qp, true);
	qp_drain(qp->core);
	univ_send_queue_reset(qp);
	univ_recv_queue_reset(&qp->rq);
	WRITE_ONCE(qp->failed, false);
}

static void pump_qp_modified(struct univ_qp *core,
			     const struct ib_qp_attr *attr, int mask)
{
	struct pump_qp *qp = core->pump;

	lockdep_assert_held(&core->mutex);
	if (mask & IB_QP_RNR_RETRY)
		qp_set_eager(qp, attr->rnr_retry != QP_RNR_FOREVER);
	if (mask & IB_QP_STATE && attr->qp_state == IB_QPS_RESET)
		qp_reset(qp);
}

static void qp_init(struct pump_qp *qp, struct ib_qp *ib,
		    const struct univ_queue_rings *rings)
{
	struct univ_qp *core = rings->core;

	qp->core = core;
	qp->ib = ib;
	qp->key.ib = ib;
	qp->key.ctx = core->obj.ctx;
	qp->datagrams = ib->qp_type == IB_QPT_UD;
	if (core->send_cq != core->recv_cq &&
	    core->send_cq->channel == core->recv_cq->channel)
		qp->partner = core->send_cq;
	INIT_DELAYED_WORK(&qp->error_work, qp_error_work);
	INIT_DELAYED_WORK(&qp->retry_work, qp_retry_work);
	univ_send_queue_init(&qp->sq, &rings->send, rings->sig_all);
	univ_recv_queue_init(&qp->rq, &rings->recv, core->cap.max_recv_sge);
}

static void qp_polled(struct univ_qp *core, bool polled)
{
	struct pump_qp *qp = core->pump;

	if (polled) {
		univ_poller_add(core->obj.ctx, &qp->sq.feed.polled);
		univ_poller_add(core->obj.ctx, &qp->rq.feed.polled);
	} else {
		univ_poller_remove(&qp->sq.feed.polled);
		univ_poller_remove(&qp->rq.feed.polled);
	}
}

static int pump_qp_attach(struct ib_qp *ib,
			  const struct univ_queue_rings *rings)
{
	struct pump_qp *qp;
	int ret;

	qp = kvzalloc(struct_size(qp, records, rings->send.count),
		      GFP_KERNEL_ACCOUNT);
	if (!qp)
		return -ENOMEM;
	qp_init(qp, ib, rings);
	rings->core->pump = qp;
	ret = pump_table_insert(qp);
	if (ret) {
		kvfree(qp);
		return ret;
	}
	qp_set_eager(qp, true);
	qp_polled(rings->core, true);
	return 0;
}

static void pump_qp_kick(struct ib_qp *ib, unsigned long which)
{
	struct univ_qp *core = ib->qp_context;
	struct pump_qp *qp = core->pump;

	if (which & UNIV_KICK_SEND)
		univ_feed_kick(&qp->sq.feed);
	if (which & UNIV_KICK_RECV)
		univ_feed_kick(&qp->rq.feed);
}

/*
 * A device may throw away the completions of a queue pair that it destroys, as
 * mlx4 and mlx5 do for users in the kernel. Each completion of a receive says
 * that the shared receive queue has a request less; without it the ring would
 * be shorter by one for good. So the queue pair moves to the error state, where
 * it takes no more receives, and the completions of those that it took are
 * drained first.
 */
static void qp_take_receives(struct univ_qp *core)
{
	mutex_lock(&core->mutex);
	if (core->state != IB_QPS_RESET)
		qp_to_error(core);
	mutex_unlock(&core->mutex);
	qp_drain_queues(core);
}

static void pump_qp_close(struct univ_qp *core)
{
	struct pump_qp *qp = core->pump;

	qp_polled(core, false);
	univ_feed_close(&qp->sq.feed);
	univ_feed_close(&qp->rq.feed);
	if (core->srq)
		qp_take_receives(core);
}

static void pump_qp_reopen(struct univ_qp *core)
{
	struct pump_qp *qp = core->pump;

	univ_feed_reopen(&qp->sq.feed);
	univ_feed_reopen(&qp->rq.feed);
	qp_polled(core, true);
}

/*
 * The device's queue pair is gone. Its last completions are drained. Only then
 * can no completion name the pump's queue pair any more.
 */
static void pump_qp_detach(struct univ_qp *core)
{
	struct pump_qp *qp = core->pump;

	qp_drain(core);
	pump_table_remove(qp);
	qp_set_eager(qp, false);
	/* No feeder and no completion schedules these works any more. */
	cancel_delayed_work_sync(&qp->error_work);
	cancel_delayed_work_sync(&qp->retry_work);
	kvfree_rcu(qp, rcu);
}

static int pump_srq_attach(struct ib_srq *ib, const struct univ_ring *ring)
{
	struct univ_srq *core = ib->srq_context;
	struct pump_srq *srq = kzalloc(sizeof(*srq), GFP_KERNEL_ACCOUNT);

	if (!srq)
		return -ENOMEM;
	srq->core = core;
	univ_recv_queue_init(&srq->rq, ring, core->max_sge);
	srq->rq.srq = ib;
	/*
	 * Release: the device's event handler may already call
	 * pump_srq_limit(), whose acquire this pairs with.
	 */
	smp_store_release(&core->pump, srq);
	univ_poller_add(core->obj.ctx, &srq->rq.feed.polled);
	return 0;
}

static void pump_srq_kick(struct ib_srq *ib)
{
	struct univ_srq *core = ib->srq_context;

	univ_feed_kick(&core->pump->rq.feed);
}

/* The limit event may come before the queue is attached. */
static void pump_srq_limit(struct univ_srq *core, bool armed)
{
	struct pump_srq *srq = smp_load_acquire(&core->pump);

	if (srq)
		univ_recv_queue_limit(&srq->rq, armed);
}

static void pump_srq_close(struct univ_srq *core)
{
	univ_poller_remove(&core->pump->rq.feed.polled);
	univ_feed_close(&core->pump->rq.feed);
}

static void pump_srq_reopen(struct univ_srq *core)
{
	univ_feed_reopen(&core->pump->rq.feed);
	univ_poller_add(core->obj.ctx, &core->pump->rq.feed.polled);
}

static void pump_srq_detach(struct univ_srq *core)
{
	kfree_rcu(core->pump, rcu);
}

static int pump_cq_resize(struct univ_cq *core, u32 cqe)
{
	u32 max = core->obj.ctx->dev->ib->attrs.max_cqe;

	cqe = max_t(u32, cqe, DEVICE_CQE_MIN);
	return ib_resize_cq(core->ib, min(cqe, max));
}

/*
 * The pump lacks most capabilities, these three among them. UNIV_QUEUE_WINDOWS:
 * kernel verbs can neither make a memory window nor post the request that binds
 * one. UNIV_QUEUE_XRC: requests of kernel verbs carry no number of a shared
 * receive queue. UNIV_QUEUE_ATOMIC_WRITE: kernel verbs have an opcode since
 * 6.2, but drivers do not accept it from users in the kernel.
 */
static const struct univ_queue_ops pump_ops = {
	.caps = UNIV_QUEUE_POLLS | UNIV_QUEUE_DEVICE_CQ,
	.cq_attach = univ_pump_comp_attach,
	.qp_attach = pump_qp_attach,
	.srq_attach = pump_srq_attach,
	.qp_kick = pump_qp_kick,
	.srq_kick = pump_srq_kick,
	.cq_resize = pump_cq_resize,
	.cq_close = univ_pump_comp_quiesce,
	.cq_reopen = univ_pump_comp_reopen,
	.cq_detach = univ_pump_comp_end,
	.qp_modified = pump_qp_modified,
	.qp_close = pump_qp_close,
	.qp_reopen = pump_qp_reopen,
	.qp_detach = pump_qp_detach,
	.srq_limit = pump_srq_limit,
	.srq_close = pump_srq_close,
	.srq_reopen = pump_srq_reopen,
	.srq_detach = pump_srq_detach,
};

/* Serves a device of @driver from now on. Undone by univ_pump_remove(). */
int univ_pump_add(struct univ_device *dev, const struct univ_driver *driver)
{
	struct pump_device *pump = kzalloc(sizeof(*pump), GFP_KERNEL);

	if (!pump)
		return -ENOMEM;
	if (pump_table_init(pump)) {
		kfree(pump);
		return -ENOMEM;
	}
	pump->polls_in_handler = driver->polls_in_handler;
	pump->frees_under_tasklet = driver->frees_under_tasklet;
	dev->pump = pump;
	dev->queue = &pump_ops;
	return 0;
}

/* The device and its contexts are gone; it may never have been served. */
void univ_pump_remove(struct univ_device *dev)
{
	if (!dev->pump)
		return;
	pump_table_destroy(dev->pump);
	kfree(dev->pump);
}
