// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues between the pump and the process (adv17), and queue pairs that are
 * reset and used again.
 */
#include <linux/delay.h>
#include <rdma/ib_verbs.h>

#include "pump_fixture.h"

/* On overrun, the last slot is kept, the event is raised and nothing is overwritten. */
static void pump_cq_overrun(struct kunit *test)
{
	struct pump *p = pump_new(test, IB_QPT_RC, 4);
	struct univ_cqe *cqe;
	int i;

	for (i = 0; i < 6; i++)
		pump_recv_next(p, i);
	pump_recv_kick(p);
	for (i = 0; i < 6; i++)
		pump_recv_complete(p, i, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, p->cq->ring.head->kernel.flags &
				UNIV_RING_OVERRUN);
	KUNIT_EXPECT_EQ(test, p->cq->async_events.num_pending, 1);
	KUNIT_EXPECT_EQ(test, p->cq->async_events.pending[0], IB_EVENT_CQ_ERR);
	for (i = 0; i < 4; i++) {
		cqe = pump_poll(p);
		KUNIT_EXPECT_NOT_ERR_OR_NULL(test, cqe);
		if (cqe)
			KUNIT_EXPECT_EQ(test, cqe->wr_id, i);
	}
	pump_expect_no_cqe(test, p);
	flush_delayed_work(&p->qp->pump->error_work);
	KUNIT_EXPECT_EQ(test, p->qp->state, IB_QPS_ERR);
}

/*
 * The queue pair is destroyed while the device holds completions for a full queue. The
 * work that reports the overrun must not outlive the queue pair. KASAN and debug
 * objects detect it if it does.
 */
static void pump_destroy_with_overrun(struct kunit *test)
{
	struct pump *p = pump_new(test, IB_QPT_RC, 1);
	struct ib_wc wc = { .status = IB_WC_SUCCESS, .opcode = IB_WC_RECV,
			    .qp = p->qp->ib };
	struct univ_qp *qp = p->qp;
	int i;

	for (i = 0; i < 8; i++)
		mock_complete_quietly(p->cq->ib, &wc);
	KUNIT_EXPECT_EQ(test, fixture_destroy(p->f, UNIV_QP_DESTROY,
					      qp->obj.handle), 0);
	/* Give KASAN and debug objects time to detect work that uses freed memory. */
	rcu_barrier();
	msleep(100);
}

/* An armed queue raises one event, and raises the next only after it is armed again. */
static void pump_cq_arm(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_ring_head *head = p->cq->ring.head;
	int i;

	for (i = 0; i < 8; i++)
		pump_recv_next(p, i);
	pump_recv_kick(p);
	pump_recv_complete(p, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, head->kernel.fired, 0);
	KUNIT_EXPECT_EQ(test, head->kernel.fired_index, 0);
	head->user.arm = 2;
	pump_recv_complete(p, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, head->kernel.fired, 2);
	KUNIT_EXPECT_EQ(test, head->kernel.fired_index, 2);
	pump_recv_complete(p, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, head->kernel.fired, 2);
	KUNIT_EXPECT_EQ(test, head->kernel.fired_index, 2);
	head->user.arm = U32_MAX - 1;
	pump_recv_complete(p, 3, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, head->kernel.fired, U32_MAX - 1);
	/* Arm for solicited completions: the completion of a send is not solicited. */
	head->user.arm = 1;
	pump_send_next(p, 1);
	pump_send_kick(p);
	pump_send_complete(p, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, head->kernel.fired, U32_MAX - 1);
	pump_recv_complete(p, 4, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, head->kernel.fired, 1);
}

/*
 * Arm the queue as the library does when a completion waits that the program does not
 * know. Return the arm word that was answered last.
 */
static u32 arm_late(struct pump *p, u32 arm)
{
	struct univ_cq_notify arg = { .handle = p->cq->obj.handle };

	p->cq->ring.head->user.arm = arm;
	if (fixture_call(p->f, UNIV_CQ_NOTIFY, &arg, sizeof(arg)))
		return U32_MAX;
	return p->cq->ring.head->kernel.fired;
}

/* A queue that is armed for solicited completions when one waits. */
static void pump_cq_late_solicited(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	int i;

	for (i = 0; i < 8; i++)
		pump_recv_next(p, i);
	pump_recv_kick(p);
	for (i = 0; i < 4; i++)
		pump_send_next(p, 10 + i);
	pump_send_kick(p);
	pump_send_complete(p, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, arm_late(p, 3), 0);
	/* The queue is not armed when the receive completes. */
	p->cq->ring.head->user.arm = 0;
	pump_recv_complete(p, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, p->cq->ring.head->kernel.fired, 0);
	KUNIT_EXPECT_EQ(test, arm_late(p, 5), 5);
	/* One event tells of it. */
	KUNIT_EXPECT_EQ(test, arm_late(p, 7), 5);
	p->cq->ring.head->user.arm = 5;
	/* A completion that was polled does not count, and the next one does. */
	pump_recv_complete(p, 1, IB_WC_SUCCESS);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_NOT_NULL(test, pump_poll(p));
	pump_send_complete(p, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, arm_late(p, 9), 5);
	p->cq->ring.head->user.arm = 5;
	pump_recv_complete(p, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, arm_late(p, 11), 11);
	/* Any completion is enough for another request. */
	KUNIT_EXPECT_EQ(test, arm_late(p, 12), 12);
	/* A failed send. */
	pump_send_complete(p, 2, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, arm_late(p, 15), 15);
	flush_delayed_work(&p->qp->pump->error_work);
}

/* Likewise, with completions that a driver writes several at a time. */
static void pump_cq_late_in_one(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_cqe cqes[3] = {};

	KUNIT_EXPECT_TRUE(test, univ_queue_complete_all(p->cq, cqes, 3,
						UNIV_COMPLETE_NOTIFY));
	KUNIT_EXPECT_EQ(test, arm_late(p, 3), 0);
	p->cq->ring.head->user.arm = 0;
	KUNIT_EXPECT_TRUE(test, univ_queue_complete_all(p->cq, cqes, 2,
						UNIV_COMPLETE_SOLICITED |
						UNIV_COMPLETE_NOTIFY));
	KUNIT_EXPECT_TRUE(test, univ_queue_complete_all(p->cq, cqes, 1,
						UNIV_COMPLETE_NOTIFY));
	KUNIT_EXPECT_EQ(test, arm_late(p, 5), 5);
	KUNIT_EXPECT_EQ(test, p->cq->index, 6);
}

/* A wrong head index decides about an event and nothing else. */
static void pump_cq_late_head_lies(struct kunit *test)
{
	static const u32 lies[] = { 1, 5, 64, S32_MAX, U32_MAX - 64, U32_MAX };
	struct pump *p = pump_rc(test);
	u32 arm = 1;
	size_t i;

	pump_recv_next(p, 0);
	pump_recv_kick(p);
	pump_recv_complete(p, 0, IB_WC_SUCCESS);
	for (i = 0; i < ARRAY_SIZE(lies); i++, arm += 2) {
		p->cq->ring.head->user.index = lies[i];
		KUNIT_EXPECT_NE(test, arm_late(p, arm), U32_MAX);
		KUNIT_EXPECT_EQ(test, p->cq->index, 1);
	}
}

/*
 * Give @p a queue pair whose sends complete to a queue of their own, which is returned.
 * A send and a receive are under way, and @wc is the completion of the send.
 */
static struct univ_cq *two_cqs(struct kunit *test, struct pump *p,
			       enum ib_qp_type type, struct ib_wc *wc)
{
	struct univ_cq *send_cq = fixture_cq(p->f, 8);

	KUNIT_ASSERT_NOT_NULL(test, send_cq);
	p->qp = fixture_qp_of_two(p->f, type, p->pd, send_cq, p->cq, NULL, WR);
	KUNIT_ASSERT_NOT_NULL(test, p->qp);
	fixture_qp_state(p->qp, IB_QPS_RTS);
	mock_reset(p->mock);
	pump_send_next(p, 1);
	pump_send_kick(p);
	pump_recv_next(p, 2);
	pump_recv_kick(p);
	wc->wr_id = p->mock->sends[0].wr_id;
	wc->qp = p->qp->ib;
	return send_cq;
}

/*
 * The device has completed a send that the pump has not polled yet. A process that
 * reads the event of the receive queue finds the send completed as well.
 */
static void pump_event_settles(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_cq *send_cq;
	struct univ_event_source *source = &p->cq->comp_events;
	struct univ_cqe *cqe;
	struct ib_wc wc = { .status = IB_WC_SUCCESS, .opcode = IB_WC_SEND };

	send_cq = two_cqs(test, p, IB_QPT_UC, &wc);
	mock_complete_quietly(send_cq->ib, &wc);
	pump_recv_complete(p, 2, IB_WC_SUCCESS);
	cqe = univ_ring_slot(&send_cq->ring, 0);
	KUNIT_EXPECT_EQ(test, cqe->phase, 0);
	KUNIT_ASSERT_NOT_NULL(test, source->settle);
	rcu_read_lock();
	source->settle(source);
	rcu_read_unlock();
	KUNIT_EXPECT_EQ(test, cqe->phase, UNIV_CQE_PHASE(0, 8));
	KUNIT_EXPECT_EQ(test, cqe->wr_id, 1);
	/* The link between the two CQs does not outlive the queue pair that created it. */
	KUNIT_EXPECT_PTR_EQ(test, p->cq->pump->partner, send_cq);
	KUNIT_EXPECT_EQ(test, fixture_destroy(p->f, UNIV_QP_DESTROY,
					      p->qp->obj.handle), 0);
	KUNIT_EXPECT_PTR_EQ(test, p->cq->pump->partner, NULL);
}

/*
 * The device may create a queue pair at the address of a destroyed one. A completion
 * queue that still remembered the latter would take completions for it.
 */
static void pump_destroy_forgets(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_cq *send_cq;
	struct ib_wc wc = { .status = IB_WC_SUCCESS, .opcode = IB_WC_SEND };

	send_cq = two_cqs(test, p, IB_QPT_RC, &wc);
	pump_complete(send_cq, &wc);
	pump_recv_complete(p, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_PTR_EQ(test, send_cq->pump->last_qp, p->qp->pump);
	KUNIT_EXPECT_PTR_EQ(test, p->cq->pump->last_qp, p->qp->pump);
	KUNIT_EXPECT_EQ(test, fixture_destroy(p->f, UNIV_QP_DESTROY,
					      p->qp->obj.handle), 0);
	KUNIT_EXPECT_PTR_EQ(test, send_cq->pump->last_qp, NULL);
	KUNIT_EXPECT_PTR_EQ(test, p->cq->pump->last_qp, NULL);
}

/* A wrong head index makes the queue overrun itself, and has no other effect. */
static void pump_cq_head_lies(struct kunit *test)
{
	static const u32 lies[] = { 1, 5, 64, S32_MAX, U32_MAX - 64, U32_MAX };
	struct pump *p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		p = pump_rc(test);
		pump_recv_next(p, 1);
		pump_recv_kick(p);
		p->cq->ring.head->user.index = lies[i];
		pump_recv_complete(p, 1, IB_WC_SUCCESS);
		flush_delayed_work(&p->qp->pump->error_work);
		KUNIT_EXPECT_LE(test, p->cq->index, 1);
	}
}

/* The process posts @posted receives, and the device completes the first six. */
static void receive_six(struct pump *p, int posted)
{
	int i;

	for (i = 0; i < posted; i++)
		pump_recv_next(p, i);
	pump_recv_kick(p);
	for (i = 0; i < 6; i++)
		pump_recv_complete(p, i, IB_WC_SUCCESS);
}

/* From Linux 7.1 on there is no kernel verb that resizes a queue. */
#ifdef UNIV_HAS_RESIZE_CQ
static void need_resize(struct kunit *test)
{
}
#else
static void need_resize(struct kunit *test)
{
	kunit_skip(test, "this kernel cannot resize a queue of a driver");
}
#endif

static void pump_cq_resized(struct kunit *test)
{
	struct pump *p = pump_new(test, IB_QPT_RC, 8);
	struct univ_cq_resize arg = { .handle = p->cq->obj.handle, .cqe = 32 };
	int i;

	need_resize(test);
	receive_six(p, 8);
	pump_expect_cqe(test, p, 0, IB_WC_SUCCESS);
	pump_expect_cqe(test, p, 1, IB_WC_SUCCESS);
	/* Four completions are queued, which do not fit into two slots. */
	arg.cqe = 2;
	KUNIT_EXPECT_EQ(test, fixture_call(p->f, UNIV_CQ_RESIZE, &arg,
					   sizeof(arg)), -EINVAL);
	KUNIT_EXPECT_EQ(test, arg.hdr.reason, UNIV_REASON_CQ_SHRINK);
	KUNIT_EXPECT_EQ(test, arg.hdr.bound, 4);
	/* The device keeps room for the size that the process was told. */
	KUNIT_EXPECT_EQ(test, mock_calls(p->mock, MOCK_RESIZE_CQ), 0);
	KUNIT_EXPECT_EQ(test, p->cq->ib->cqe, 8);
	arg.cqe = 32;
	KUNIT_EXPECT_EQ(test, fixture_call(p->f, UNIV_CQ_RESIZE, &arg,
					   sizeof(arg)), 0);
	KUNIT_EXPECT_EQ(test, arg.ring.slots, 32);
	p->cq_head = 0;
	pump_recv_complete(p, 6, IB_WC_SUCCESS);
	for (i = 2; i < 7; i++)
		pump_expect_cqe(test, p, i, IB_WC_SUCCESS);
	pump_expect_no_cqe(test, p);
}

/* A queue that is armed when it is resized raises its event from the new ring. */
static void pump_cq_resized_armed(struct kunit *test)
{
	struct pump *p = pump_new(test, IB_QPT_RC, 8);
	struct univ_cq_resize arg = { .handle = p->cq->obj.handle, .cqe = 32 };

	need_resize(test);
	pump_recv_next(p, 0);
	pump_recv_kick(p);
	p->cq->ring.head->user.arm = 2;
	KUNIT_EXPECT_EQ(test, fixture_call(p->f, UNIV_CQ_RESIZE, &arg,
					   sizeof(arg)), 0);
	KUNIT_EXPECT_EQ(test, p->cq->ring.head->kernel.fired, 0);
	pump_recv_complete(p, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, p->cq->ring.head->kernel.fired, 2);
}

/* A solicited completion that waits is one in the new ring, too, and another one is not. */
static void pump_cq_resized_late(struct kunit *test)
{
	struct pump *p = pump_new(test, IB_QPT_RC, 8);
	struct univ_cq_resize arg = { .handle = p->cq->obj.handle, .cqe = 32 };
	int i;

	need_resize(test);
	receive_six(p, 6);
	for (i = 0; i < 5; i++)
		pump_expect_cqe(test, p, i, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, fixture_call(p->f, UNIV_CQ_RESIZE, &arg,
					   sizeof(arg)), 0);
	p->cq_head = 0;
	/* There was no event. */
	KUNIT_EXPECT_EQ(test, p->cq->ring.head->kernel.fired_index, 0);
	KUNIT_EXPECT_EQ(test, arm_late(p, 3), 3);
	KUNIT_EXPECT_EQ(test, p->cq->ring.head->kernel.fired_index, 1);
	pump_expect_cqe(test, p, 5, IB_WC_SUCCESS);
	pump_send_next(p, 7);
	pump_send_kick(p);
	pump_send_complete(p, 0, IB_WC_SUCCESS);
	arg.cqe = 8;
	KUNIT_EXPECT_EQ(test, fixture_call(p->f, UNIV_CQ_RESIZE, &arg,
					   sizeof(arg)), 0);
	p->cq_head = 0;
	KUNIT_EXPECT_EQ(test, arm_late(p, 5), 3);
	/* 0 would mean that the index is not known. */
	KUNIT_EXPECT_EQ(test, p->cq->ring.head->kernel.fired_index, -1U);
}

/* If the device cannot shrink its queue, it has more room than needed, which is fine. */
static void pump_cq_shrunk(struct kunit *test)
{
	struct pump *p = pump_new(test, IB_QPT_RC, 64);
	struct univ_cq_resize arg = { .handle = p->cq->obj.handle, .cqe = 8 };

	need_resize(test);
	mock_fail(p->mock, MOCK_RESIZE_CQ, 1, -EINVAL);
	KUNIT_EXPECT_EQ(test, fixture_call(p->f, UNIV_CQ_RESIZE, &arg,
					   sizeof(arg)), 0);
	KUNIT_EXPECT_EQ(test, arg.cqe, 8);
	KUNIT_EXPECT_EQ(test, p->cq->ib->cqe, 64);
	KUNIT_EXPECT_EQ(test, p->cq->ring.count, 8);
	/* If the device cannot grow its queue, it has too little room, so the call fails. */
	arg.cqe = 128;
	mock_fail(p->mock, MOCK_RESIZE_CQ, 1, -EINVAL);
	KUNIT_EXPECT_EQ(test, fixture_call(p->f, UNIV_CQ_RESIZE, &arg,
					   sizeof(arg)), -EINVAL);
	KUNIT_EXPECT_EQ(test, p->cq->ring.count, 8);
}

/*
 * Resize with more completions than are moved in one piece. A process reaches this
 * state with a wrong index.
 */
static void pump_cq_moved(struct kunit *test)
{
	struct pump *p = pump_new(test, IB_QPT_RC, 16384);
	struct univ_cq_resize arg = { .handle = p->cq->obj.handle,
				      .cqe = 32768 };
	struct univ_cqe *slot;
	u32 i, wrong = 0;

	need_resize(test);
	for (i = 0; i < 16384; i++) {
		slot = univ_ring_slot(&p->cq->ring, i);
		slot->wr_id = i;
	}
	p->cq->index = 16384 + 5;
	KUNIT_EXPECT_EQ(test, fixture_call(p->f, UNIV_CQ_RESIZE, &arg,
					   sizeof(arg)), 0);
	KUNIT_EXPECT_EQ(test, p->cq->index, 16384);
	for (i = 0; i < 16384; i++) {
		slot = univ_ring_slot(&p->cq->ring, i);
		wrong += slot->wr_id != (i + 5) % 16384;
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

/* The device has room for as many completions as the process was told. */
static void pump_cq_sizes(struct kunit *test)
{
	static const struct {
		u32 asked;
		u32 max;
		u32 want;
	} sizes[] = {
		{ 33, 65536, 64 }, { 64, 65536, 64 }, { 40000, 65536, 65536 },
		{ 40000, 50000, 50000 }, { 50000, 50000, 50000 },
	};
	struct fixture *f = test->priv;
	struct univ_cq_resize resize;
	struct univ_cq_create arg;
	struct univ_cq *cq;
	size_t i;

	need_resize(test);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		f->mock->ib.attrs.max_cqe = sizes[i].max;
		arg = (struct univ_cq_create){ .cqe = sizes[i].asked,
					       .channel_fd = -1 };
		KUNIT_ASSERT_EQ(test, fixture_call(f, UNIV_CQ_CREATE, &arg,
						   sizeof(arg)), 0);
		cq = container_of(univ_object_find(f->ctx, arg.handle),
				  struct univ_cq, obj);
		univ_object_put(&cq->obj);
		KUNIT_EXPECT_EQ(test, arg.cqe, sizes[i].want);
		KUNIT_EXPECT_GE(test, (u32)cq->ib->cqe, arg.cqe);
		resize = (struct univ_cq_resize){ .handle = arg.handle,
						  .cqe = sizes[i].asked };
		KUNIT_EXPECT_EQ(test, fixture_call(f, UNIV_CQ_RESIZE, &resize,
						   sizeof(resize)), 0);
		KUNIT_EXPECT_EQ(test, resize.cqe, sizes[i].want);
		KUNIT_EXPECT_GE(test, (u32)cq->ib->cqe, resize.cqe);
		KUNIT_EXPECT_EQ(test, fixture_destroy(f, UNIV_CQ_DESTROY,
						      arg.handle), 0);
	}
}

/* ---- Errors ------------------------------------------------------------------ */

static bool running(struct univ_qp *qp)
{
	return work_busy(&qp->pump->error_work.work) & WORK_BUSY_RUNNING;
}

/*
 * A process may hold a queue pair's lock for a second, in a change of state that has to
 * resolve an address. No worker waits for the lock meanwhile.
 */
static void pump_error_waits_for_nobody(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	int i;

	mutex_lock(&p->qp->mutex);
	pump_qp_fail(p->qp->pump);
	/* Between two attempts no worker runs. */
	for (i = 0; i < 1000 && (i < 20 || running(p->qp)); i++)
		usleep_range(5000, 10000);
	KUNIT_EXPECT_LT(test, i, 1000);
	KUNIT_EXPECT_EQ(test, p->qp->state, IB_QPS_RTS);
	mutex_unlock(&p->qp->mutex);
	for (i = 0; i < 1000 && READ_ONCE(p->qp->state) == IB_QPS_RTS; i++)
		usleep_range(5000, 10000);
	KUNIT_EXPECT_EQ(test, p->qp->state, IB_QPS_ERR);
}

/* ---- Reset ------------------------------------------------------------------- */

static void pump_reset_forgets(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_qp_modify arg = {
		.handle = p->qp->obj.handle,
		.attr = { .attr_mask = IB_QP_STATE, .qp_state = IB_QPS_RESET },
	};
	int i;

	for (i = 0; i < 5; i++)
		pump_send_next(p, i);
	pump_send_kick(p);
	for (i = 0; i < 5; i++)
		pump_recv_next(p, i);
	pump_recv_kick(p);
	KUNIT_EXPECT_EQ(test, fixture_call(p->f, UNIV_QP_MODIFY, &arg,
					   sizeof(arg)), 0);
	KUNIT_EXPECT_EQ(test, p->qp->rings.send.head->kernel.index, 5);
	KUNIT_EXPECT_EQ(test, p->qp->rings.recv.head->kernel.index, 5);
	pump_expect_no_cqe(test, p);
	fixture_qp_state(p->qp, IB_QPS_RTS);
	pump_send_next(p, 9);
	pump_send_kick(p);
	KUNIT_EXPECT_EQ(test, p->mock->num_sends, 6);
	pump_send_complete(p, 5, IB_WC_SUCCESS);
	pump_expect_cqe(test, p, 9, IB_WC_SUCCESS);
}

/* A poller stops looking at a ring with an invalid index. After a reset no poller looks at it. */
static void pump_reset_asks_for_kicks(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_ring_head *head = p->qp->rings.send.head;
	struct univ_qp_modify arg = {
		.handle = p->qp->obj.handle,
		.attr = { .attr_mask = IB_QP_STATE, .qp_state = IB_QPS_RESET },
	};

	univ_ring_set_flags(&p->qp->pump->sq.ring, 0);
	p->send_tail = 10 * WR;
	pump_send_kick(p);
	KUNIT_EXPECT_TRUE(test, p->qp->pump->sq.corrupt);
	flush_delayed_work(&p->qp->pump->error_work);
	KUNIT_EXPECT_EQ(test, fixture_call(p->f, UNIV_QP_MODIFY, &arg,
					   sizeof(arg)), 0);
	KUNIT_EXPECT_EQ(test, head->kernel.flags, (u32)UNIV_RING_NEED_KICK);
}

static void pump_kick_wrong(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	u32 qp = p->qp->obj.handle;

	KUNIT_EXPECT_EQ(test, fixture_kick(p->f, qp, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, fixture_kick(p->f, qp, 1 << 24), -EINVAL);
	KUNIT_EXPECT_EQ(test, fixture_kick(p->f, qp, UNIV_KICK_SEND | 1 << 29),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, fixture_kick(p->f, qp + 100, UNIV_KICK_SEND),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, fixture_kick(p->f, p->pd, UNIV_KICK_SEND),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, fixture_kick(p->f, p->cq->obj.handle,
					   UNIV_KICK_RECV), -EINVAL);
	KUNIT_EXPECT_EQ(test, fixture_kick(p->f, qp,
					   UNIV_KICK_SEND | UNIV_KICK_RECV), 0);
}

static struct kunit_case pump_cq_cases[] = {
	KUNIT_CASE(pump_cq_overrun),
	KUNIT_CASE(pump_destroy_with_overrun),
	KUNIT_CASE(pump_cq_arm),
	KUNIT_CASE(pump_cq_late_solicited),
	KUNIT_CASE(pump_cq_late_in_one),
	KUNIT_CASE(pump_cq_late_head_lies),
	KUNIT_CASE(pump_event_settles),
	KUNIT_CASE(pump_destroy_forgets),
	KUNIT_CASE(pump_cq_head_lies),
	KUNIT_CASE(pump_cq_resized),
	KUNIT_CASE(pump_cq_resized_armed),
	KUNIT_CASE(pump_cq_resized_late),
	KUNIT_CASE(pump_cq_shrunk),
	KUNIT_CASE(pump_cq_moved),
	KUNIT_CASE(pump_cq_sizes),
	KUNIT_CASE(pump_error_waits_for_nobody),
	KUNIT_CASE(pump_reset_forgets),
	KUNIT_CASE(pump_reset_asks_for_kicks),
	KUNIT_CASE(pump_kick_wrong),
	{}
};

static struct kunit_suite pump_cq_suite = {
	.name = "univ_pump_cq",
	.suite_init = fixture_suite_init,
	.suite_exit = fixture_suite_exit,
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = pump_cq_cases,
};
kunit_test_suite(pump_cq_suite);
