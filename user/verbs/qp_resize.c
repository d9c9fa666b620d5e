// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Queue pairs that get rings of another size: ibv_modify_qp(3), IBV_QP_CAP. */
#include "verbs/common.h"
#include "why/why.h"

/*
 * The queue reads as full, so nothing is posted to the former ring, whose place another queue pair
 * may have. @nowhere is never written. The tail is kept for a later resize that succeeds; until
 * then explanations count too many requests.
 */
static void ring_lost(struct univ_ring *ring)
{
	static struct univ_ring_head nowhere;

	if (!ring->head)
		return;
	ring->head = &nowhere;
	ring->slots = NULL;
	ring->max_wr = ring->tail;
}

static void rings_lost(struct univ_qp *qp)
{
	ring_lost(&qp->sq);
	ring_lost(&qp->rq);
	qp->sq_first = qp->sq.tail;
}

/*
 * Continues in the new ring, where the next request has the same index. A ring without slots
 * has a head in the mapping, too.
 */
static void ring_moved(struct univ_ring *ring, void *base, const struct univ_ring_map *map,
		       uint32_t max_wr)
{
	uint32_t tail = ring->tail;

	if (!ring->head)
		return;
	univ_ring_init(ring, base, map, max_wr, ring->max_sge);
	ring->tail = tail;
}

static int resize_locked(struct univ_qp *qp, struct univ_qp_modify *cmd)
{
	int fd = qp->ibv.context->cmd_fd;
	struct univ_map map;
	int err = univ_cmd_qp_modify(fd, cmd, qp->ibv.qp_type);

	if (err)
		return err;
	err = univ_map_shared("ibv_modify_qp", fd, univ_qp_arenas(qp), &map, cmd->map_offset,
			      cmd->map_length);
	if (err) {
		rings_lost(qp);
		univ_unmap_shared(univ_qp_arenas(qp), &qp->map);
		errno = err;
		return err;
	}
	ring_moved(&qp->sq, map.base, &cmd->sq, cmd->max_send_wr);
	ring_moved(&qp->rq, map.base, &cmd->rq, cmd->max_recv_wr);
	/* The kernel has copied no slots of earlier requests. */
	if (qp->sq.head)
		qp->sq_first = univ_load_acquire(&qp->sq.head->kernel.index);
	univ_unmap_shared(univ_qp_arenas(qp), &qp->map);
	qp->map = map;
	qp->cap.max_send_wr = cmd->max_send_wr;
	qp->cap.max_recv_wr = cmd->max_recv_wr;
	return 0;
}

/*
 * The queue pair is destroyed in the kernel, and a thread may still handle an event of it. Such a
 * thread may post until it acknowledges the event.
 */
void univ_qp_rings_lost(struct univ_qp *qp)
{
	univ_lock(&qp->sq_lock);
	univ_lock(&qp->rq_lock);
	rings_lost(qp);
	univ_unlock_pass(&qp->rq_lock);
	univ_unlock_pass(&qp->sq_lock);
}

/* The kernel keeps the length of the slots. A queue pair without a receive ring has no entries. */
static int check_sge(const struct univ_qp *qp, const struct ibv_qp_cap *cap)
{
	const uint32_t sizes[][2] = {
		{ cap->max_send_sge, qp->cap.max_send_sge },
		{ qp->rq.head ? cap->max_recv_sge : 0, qp->cap.max_recv_sge },
		{ cap->max_inline_data, qp->cap.max_inline_data },
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i][0] > sizes[i][1])
			return univ_fail_qp_sge("ibv_modify_qp", sizes[i][0], sizes[i][1]);
	return 0;
}

/* An XRC receive queue pair has no rings, and the kernel refuses the call. */
int univ_qp_resize(struct univ_qp *qp, struct ibv_qp_attr *attr, int attr_mask)
{
	struct univ_qp_modify cmd = {
		.handle = qp->ibv.handle,
		.attr = {
			.attr_mask = (uint32_t)attr_mask,
			.cur_qp_state = (uint32_t)attr->cur_qp_state,
		},
		.max_send_wr = attr->cap.max_send_wr,
		.max_recv_wr = attr->cap.max_recv_wr,
	};
	int err = check_sge(qp, &attr->cap);

	if (err)
		return err;
	/* Failures under the locks are printed without them. */
	univ_fail_defer();
	univ_lock(&qp->sq_lock);
	univ_lock(&qp->rq_lock);
	err = resize_locked(qp, &cmd);
	if (!err)
		attr->cap = qp->cap;
	univ_unlock_pass(&qp->rq_lock);
	univ_unlock_pass(&qp->sq_lock);
	univ_fail_tell();
	return err;
}
