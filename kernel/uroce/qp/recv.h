/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive requests. Context: resp.lock.
 *
 * uroce_recv_take() takes the next request into resp.recv. It returns
 * IB_WC_SUCCESS, IB_WC_RNR_RETRY_EXC_ERR if there is none, or the error of the
 * request. uroce_recv_take_datagram() leaves a request that is too short for
 * the message in the queue and returns IB_WC_LOC_LEN_ERR.
 * uroce_recv_map() maps the memory of the first bytes of the request, as many
 * as the caller is about to write; uroce_recv_enter() also begins the access to
 * them, which uroce_recv_leave() ends. uroce_recv_done() completes the request
 * with a status and the fields of @cqe that the caller has set.
 * uroce_recv_next() and uroce_recv_count() do the same for a message that has
 * arrived, without a copy of the completion.
 *
 * Completions collect in resp.done. uroce_recv_write() shows them to the
 * process, and uroce_recv_notify(), which ends each hold of the lock in which
 * requests were completed, wakes it as well.
 */
#ifndef UROCE_RECV_H
#define UROCE_RECV_H

#include "cntr.h"
#include "pair.h"

enum ib_wc_status uroce_recv_take_for(struct uroce_qp *qp, u32 least);
static inline enum ib_wc_status uroce_recv_take(struct uroce_qp *qp)
{
	return uroce_recv_take_for(qp, 0);
}

enum ib_wc_status uroce_recv_take_datagram(struct uroce_qp *qp, u32 len);
enum ib_wc_status uroce_recv_map(struct uroce_qp *qp, u32 len);
enum ib_wc_status uroce_recv_enter(struct uroce_qp *qp, u32 offset, u32 len);
void uroce_recv_leave(struct uroce_qp *qp);
void uroce_recv_done(struct uroce_qp *qp, const struct univ_cqe *cqe,
		     enum ib_wc_status status, bool solicited);
void uroce_recv_write_out(struct uroce_qp *qp, u32 flags);
void uroce_recv_flush(struct uroce_qp *qp);

/*
 * A peer on this host, which has found no receive request, waits for one.
 * uroce_recv_want() asks the thread that posts the next request to run the
 * peer's send queue, by setting NEED_KICK in the receive ring. The caller then
 * looks for a request once more (F1 in Documentation/ordering.rst).
 * uroce_recv_unwant() takes that back.
 */
void uroce_recv_want(struct uroce_qp *qp);
void uroce_recv_unwant(struct uroce_qp *qp);
/*
 * Removes the first waiter of a shared receive queue that has a request; false
 * if there is no request or no waiter. @peer is the peer that waits, or NULL if
 * it does not exist any more. One waiter a call: other processes add waiters to
 * the queue of an XRC domain, as many as they like. Context: no lock of uroce;
 * RCU keeps @peer.
 */
bool uroce_srq_next(struct uroce_srq *srq, struct uroce_qp **peer);

/**
 * struct uroce_srq_move - a shared receive queue that gets another ring
 * @ring: the new ring, empty
 * @memory: its memory if it is private; afterwards the memory that is to be
 *	freed
 * @attr: the new size, and the new limit if @mask has %IB_SRQ_LIMIT
 * @mask: enum ib_srq_attr_mask
 * @posted: out: number of requests that do not fit in the new size
 */
struct uroce_srq_move {
	const struct univ_ring *ring;
	void *memory;
	const struct ib_srq_attr *attr;
	int mask;
	u32 posted;
};

/*
 * Moves the requests to another ring and continues there. Returns -EINVAL, with
 * @posted, if they do not fit; -EBUSY if they are posted and taken faster than
 * they are moved; -EINTR if the process was killed. Then nothing has changed.
 * Context: no lock of uroce; one call at a time for each queue; may sleep.
 */
int uroce_srq_move(struct uroce_srq *srq, struct uroce_srq_move *move);

/*
 * The type of the header in front of a datagram (enum rdma_network_type).
 * Programs expect it where mlx5 reports it, in the lower bits of the service
 * level: 1 is IPv6, 2 is IPv4. For users in the kernel see cqe_to_wc(). They
 * get the VLAN as well, since the connection manager finds the address @dst
 * only with its VLAN. @ifindex: a netdev that may have the address. Context:
 * RCU.
 */
static inline void uroce_tell_network(const struct uroce_qp *qp,
				      struct univ_cqe *cqe, u8 network,
				      const struct in6_addr *dst, int ifindex)
{
	if (qp->core) {
		cqe->sl = network == RDMA_NETWORK_IPV4 ? 2 : 1;
		return;
	}
	cqe->flow_tag = network;
	cqe->cvlan = uroce_dev_vlan(qp->dev, (const void *)dst, ifindex);
}

static inline void uroce_recv_write(struct uroce_qp *qp)
{
	if (qp->resp.done.count)
		uroce_recv_write_out(qp, 0);
}

/*
 * Called after receive requests were completed. An XRC target that has taken
 * none has no completion queue.
 */
static inline void uroce_recv_notify(struct uroce_qp *qp)
{
	if (qp->resp.done.count)
		uroce_recv_write_out(qp, UNIV_COMPLETE_NOTIFY);
	else if (likely(qp->resp.recv.cq))
		uroce_cq_notify(qp->resp.recv.cq);
}

/* The completion of the request that was taken, to be filled in. */
static inline struct univ_cqe *uroce_recv_next(struct uroce_qp *qp)
{
	struct uroce_batch *done = &qp->resp.done;
	struct univ_cqe *cqe;

	lockdep_assert_held(&qp->resp.lock);
	if (unlikely(done->count == UROCE_BATCH))
		uroce_recv_write_out(qp, 0);
	cqe = uroce_batch_next(done);
	cqe->wr_id = qp->resp.recv.wr_id;
	cqe->qp_num = qp->num;
	return cqe;
}

/* @cqe, the result of uroce_recv_next(), is filled in. */
static inline void uroce_recv_count(struct uroce_qp *qp,
				    const struct univ_cqe *cqe, bool solicited)
{
	struct uroce_resp *resp = &qp->resp;

	if (unlikely(resp->counted))
		uroce_cntrs_received(qp, !cqe->status, cqe->byte_len);
	resp->recv.taken = false;
	resp->done.count++;
	if (solicited)
		resp->done.flags |= UNIV_COMPLETE_SOLICITED;
	if (unlikely(resp->prompt))
		uroce_recv_write_out(qp, 0);
}

#endif
