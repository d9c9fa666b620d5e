// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Requests that bind memory windows. */
#include <errno.h>

#include "ring/post.h"
#include "why/why.h"

#define VERB "ibv_bind_mw"

/*
 * Fills in the members of a slot that describe a bind, except the opcode. The
 * upper bits of the new key name the window, so they must be those of its key.
 */
static int send_put_bind(const char *verb, struct univ_send_wr *slot, const struct ibv_mw *mw,
			 uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	if ((rkey ^ mw->rkey) >> 8)
		return univ_fail_window_key(verb, rkey, mw->rkey);
	slot->rkey = rkey;
	slot->remote_addr = info->addr;
	slot->bind.length = info->length;
	slot->bind.lkey = info->mr ? info->mr->lkey : 0;
	slot->bind.access = info->mw_access_flags;
	return 0;
}

/* A bind that a program posts: only for a window of type 2, and never of length 0. */
int univ_send_fill_bind(const char *verb, struct univ_send_wr *slot, const struct ibv_mw *mw,
			uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	if (univ_unlikely(!mw || !info->mr))
		return univ_fail_bind_nothing(verb, mw ? UNIV_OBJECT_MR : UNIV_OBJECT_MW);
	if (univ_unlikely(mw->type != IBV_MW_TYPE_2))
		return univ_fail_window_type(verb, mw->type);
	if (univ_unlikely(!info->length))
		return univ_fail_bind_empty(verb);
	return send_put_bind(verb, slot, mw, rkey, info);
}

/*
 * Binds a window of type 1, whose key the library chooses: the next one each time.
 * The caller of ibv_bind_mw(3) finds the key in the window at once, and restores
 * the former key if the completion reports a failure.
 */
static int bind_publish(struct univ_qp *qp, struct ibv_mw *mw, const struct ibv_mw_bind *bind,
			bool *kick)
{
	uint32_t rkey = ibv_inc_rkey(mw->rkey);
	struct univ_send_wr *slot;
	int err;

	if (!univ_ring_room(&qp->sq, qp->sq.tail))
		return univ_send_full(VERB, qp, qp->sq.tail);
	slot = univ_ring_slot(&qp->sq, qp->sq.tail);
	err = send_put_bind(VERB, slot, mw, rkey, &bind->bind_info);
	if (err)
		return err;
	slot->wr_id = bind->wr_id;
	slot->opcode = UNIV_WR_BIND_MW;
	slot->flags = (uint8_t)(bind->send_flags & (UNIV_WR_FENCE | UNIV_WR_SIGNALED));
	slot->count = 0;
	slot->srqn = 0;
	slot->imm = 0;
	mw->rkey = rkey;
	*kick = univ_ring_publish(&qp->sq, qp->sq.tail + 1);
	return 0;
}

static inline __attribute__((always_inline)) int
bind_mw(struct ibv_qp *ibv, struct ibv_mw *mw, struct ibv_mw_bind *bind,
	int (*tell)(const char *verb, const struct univ_qp *qp))
{
	struct univ_qp *qp = to_uqp(ibv);
	bool kick = false;
	int err;

	if (mw->context != ibv->context)
		return univ_fail_context(VERB, UNIV_OBJECT_MW);
	if (!(qp->opcodes >> UNIV_WR_BIND_MW & 1)) {
		err = univ_send_impossible(VERB, EINVAL, qp, UNIV_WR_BIND_MW);
		univ_fail_tell();
		return err;
	}
	if (!univ_send_allowed(qp))
		return univ_send_refused(VERB, qp);
	univ_lock(&qp->sq_lock);
	err = bind_publish(qp, mw, bind, &kick);
	univ_unlock(&qp->sq_lock);
	if (err)
		univ_fail_tell();
	return kick ? tell(VERB, qp) : err;
}

int univ_bind_mw(struct ibv_qp *ibv, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	return bind_mw(ibv, mw, bind, univ_send_kick);
}

int univ_bind_mw_bell(struct ibv_qp *ibv, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	return bind_mw(ibv, mw, bind, univ_send_ring);
}
