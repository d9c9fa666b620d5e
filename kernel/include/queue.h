/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The native-queue interface: how a driver takes the shared rings itself.
 *
 * A driver registers its ib_device with univ_queue_register(), before
 * ib_register_device(). Control stays plain kernel verbs: the core makes, alters
 * and destroys queues by the device's ib_device_ops. Right after it made one it
 * attaches the ring that it shares with a process; from then on requests come
 * out of that ring and completions go to univ_queue_complete(), and no post,
 * poll or notify function of the device is called for it. A queue that is
 * never attached is a kernel user's, with the usual functions.
 *
 * What is in a ring is hostile. Use ring.h for every access: one private copy of
 * each request, indices of the driver's own, keys checked against the queue
 * pair's protection domain. A device-wide key of kernel memory must be refused
 * in an attached queue.
 *
 * Of the flags in a send ring's head the core takes care: a poller, if the
 * process has one, kicks the queue pair when it sees something published. Those
 * of receive rings are the driver's.
 *
 * A driver that does not register gets the pump.
 */
#ifndef UNIV_QUEUE_H
#define UNIV_QUEUE_H

#include <linux/types.h>

#include "ring.h"

struct ib_ah;
struct ib_cq;
struct ib_device;
struct ib_pd;
struct ib_qp;
struct ib_srq;
struct univ_cq;
struct univ_qp;

/*
 * ib_device_ops.rereg_user_mr is optional. The core calls it without udata, one
 * call at a time for a region. It alters the region that it is given, its
 * ib_mr.pd too, and returns NULL; or leaves all as it was and returns an error.
 *
 * alloc_mw and dealloc_mw are optional, both or none, and called without udata.
 * With them send rings carry %UNIV_WR_BIND_MW and %UNIV_WR_LOCAL_INV. dereg_mr
 * and rereg_user_mr return -EBUSY while a window is bound to the region.
 *
 * alloc_xrcd and dealloc_xrcd are optional, both or none, and called without udata.
 * With them the core makes shared receive queues of %IB_SRQT_XRC, whose completion
 * queue is attached; queue pairs of %IB_QPT_XRC_INI, whose send ring names the
 * peer's queue in each request (@srqn); and those of %IB_QPT_XRC_TGT, which are
 * never attached: there is nothing in a ring of theirs.
 */

/*
 * A driver that executes %UNIV_WR_ATOMIC_WRITE says so in
 * ib_device_attr.device_cap_flags, with the bit that kernels from 6.2 on have a
 * name for. Without it that request is never offered to processes.
 */
#define UNIV_CAP_ATOMIC_WRITE (1ull << 40)

/**
 * struct univ_queue_rings - the rings of a queue pair
 * @core: for univ_queue_ah_get(); stays until the queue pair was destroyed
 * @send: requests to send
 * @recv: requests to receive; @recv.count is 0 with a shared receive queue, and of
 *	an XRC initiator
 * @sig_all: every send is signaled
 */
struct univ_queue_rings {
	struct univ_qp *core;
	struct univ_ring send;
	struct univ_ring recv;
	bool sig_all;
};

/**
 * struct univ_queue_ops - a driver that takes rings
 * @cq_attach: completions go to @core from now on; until destroy_cq
 * @qp_attach: requests come from @rings, whose struct is copied; its memory
 *	stays until destroy_qp has returned. The queue pair is in RESET. Both of
 *	its completion queues are attached, and its shared receive queue is.
 *	A reset forgets what was published.
 * @srq_attach: likewise, until destroy_srq
 * @qp_kick: requests were published; @which is %UNIV_KICK_SEND,
 *	%UNIV_KICK_RECV or both. Process context, bottom halves on.
 * @srq_kick: likewise
 *
 * The attaching functions may sleep, and return 0 or an errno.
 */
struct univ_queue_ops {
	int (*cq_attach)(struct ib_cq *cq, struct univ_cq *core);
	int (*qp_attach)(struct ib_qp *qp, const struct univ_queue_rings *rings);
	int (*srq_attach)(struct ib_srq *srq, const struct univ_ring *ring);
	void (*qp_kick)(struct ib_qp *qp, unsigned long which);
	void (*srq_kick)(struct ib_srq *srq);
};

/**
 * struct univ_queue_ah - an address handle that a request names
 * @ib: the device's
 * @held: the core's
 */
struct univ_queue_ah {
	struct ib_ah *ib;
	void *held;
};

int univ_queue_register(struct ib_device *ib, const struct univ_queue_ops *ops);
void univ_queue_unregister(struct ib_device *ib);

bool univ_queue_complete(struct univ_cq *cq, const struct univ_cqe *cqe,
			 bool solicited);
bool univ_queue_complete_last(struct univ_cq *cq, const struct univ_cqe *cqe,
			      bool solicited);
void univ_queue_notify(struct univ_cq *cq);

bool univ_queue_ah_get(struct univ_qp *qp, u32 handle,
		       struct univ_queue_ah *ah);
void univ_queue_ah_put(const struct univ_queue_ah *ah);

#endif
