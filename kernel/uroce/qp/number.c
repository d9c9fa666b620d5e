// SPDX-License-Identifier: GPL-2.0
/* Look-up of queue pairs by number. */
#include <rdma/ib_verbs.h>

#include "pair.h"
#include "wq.h"

/* Lower numbers are reserved for special queue pairs. */
#define QPN_FIRST 17

/* Numbers are unique on this host, so a number alone identifies the peer. */
static DEFINE_XARRAY_ALLOC(numbers);
static u32 next_number = QPN_FIRST;

struct uroce_qp_ends uroce_qp_ends;

int uroce_qp_number(struct uroce_qp *qp)
{
	int ret;

	if (qp->type == IB_QPT_GSI) {
		qp->num = 1;
		if (rcu_access_pointer(qp->dev->gsi))
			return -EBUSY;
		rcu_assign_pointer(qp->dev->gsi, qp);
		return 0;
	}
	ret = xa_alloc_cyclic(&numbers, &qp->num, qp,
			      XA_LIMIT(QPN_FIRST, 0xfffffe), &next_number,
			      GFP_KERNEL);
	return ret < 0 ? -ENOMEM : 0;
}

void uroce_qp_unnumber(struct uroce_qp *qp)
{
	if (qp->type == IB_QPT_GSI)
		rcu_assign_pointer(qp->dev->gsi, NULL);
	else
		xa_erase(&numbers, qp->num);
	/*
	 * Full barrier: a reader that sees the new count does not find the
	 * queue pair any more.
	 */
	atomic64_inc_return(&uroce_qp_ends.count);
}

/* The number of a work queue is taken, and no look-up finds anything there. */
int uroce_wq_number(struct uroce_qp *qp)
{
	int ret = xa_alloc_cyclic(&numbers, &qp->num, NULL,
				  XA_LIMIT(QPN_FIRST, 0xfffffe), &next_number,
				  GFP_KERNEL);

	return ret < 0 ? -ENOMEM : 0;
}

void uroce_wq_unnumber(struct uroce_qp *qp)
{
	xa_erase(&numbers, qp->num);
}

struct uroce_qp *uroce_qp_find(u64 dev_id, u32 num)
{
	struct uroce_dev *dev;
	struct uroce_qp *qp;

	if (num == 1) {
		dev = uroce_dev_by_id(dev_id);
		return dev ? rcu_dereference(dev->gsi) : NULL;
	}
	qp = xa_load(&numbers, num);
	return qp && qp->dev->id == dev_id ? qp : NULL;
}

/* The numbers that are looked at in one RCU section. */
#define EACH_MAX 64

/* Calls @each for every queue pair of a device. Context: may sleep. */
void uroce_qp_each(const struct uroce_dev *dev,
		   void (*each)(struct uroce_qp *qp))
{
	struct uroce_qp *qp;
	unsigned long num;
	u32 seen = 0;

	rcu_read_lock();
	xa_for_each(&numbers, num, qp) {
		if (qp->dev == dev)
			each(qp);
		if (++seen % EACH_MAX)
			continue;
		rcu_read_unlock();
		cond_resched();
		rcu_read_lock();
	}
	rcu_read_unlock();
}

/*
 * The slow path of uroce_qp_peer(): queue pairs have ended since its last
 * look-up.
 */
struct uroce_qp *uroce_qp_peer_again(struct uroce_qp *qp, u64 now)
{
	struct uroce_sendq *sq = &qp->sq;

	sq->peer_seen = now;
	rcu_read_lock();
	sq->peer = uroce_qp_find(qp->av.dev_id, qp->attr.dest_qp_num);
	rcu_read_unlock();
	return sq->peer;
}

void uroce_qp_exit(void)
{
	xa_destroy(&numbers);
}
