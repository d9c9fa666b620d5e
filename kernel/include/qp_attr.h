/* SPDX-License-Identifier: GPL-2.0 */
/* The attributes of a queue pair that modify_qp sets and query_qp returns. */
#ifndef UNIV_QP_ATTR_H
#define UNIV_QP_ATTR_H

#include <rdma/ib_verbs.h>

/**
 * univ_qp_attr_keep() - remember what a queue pair was modified to
 * @to: what query_qp will return
 * @from: of modify_qp
 * @mask: of modify_qp. The state, the alternate path and the capabilities are
 *	the driver's own business
 *
 * The caller serializes the calls. The GID entry of the address vector is not
 * kept, because nothing holds it after modify_qp.
 */
static inline void univ_qp_attr_keep(struct ib_qp_attr *to,
				     const struct ib_qp_attr *from, int mask)
{
#define UNIV_KEEP(bit, member)				\
	do {						\
		if (mask & (bit))			\
			to->member = from->member;	\
	} while (0)

	UNIV_KEEP(IB_QP_ACCESS_FLAGS, qp_access_flags);
	UNIV_KEEP(IB_QP_PKEY_INDEX, pkey_index);
	UNIV_KEEP(IB_QP_PORT, port_num);
	UNIV_KEEP(IB_QP_QKEY, qkey);
	UNIV_KEEP(IB_QP_PATH_MTU, path_mtu);
	UNIV_KEEP(IB_QP_TIMEOUT, timeout);
	UNIV_KEEP(IB_QP_RETRY_CNT, retry_cnt);
	UNIV_KEEP(IB_QP_RNR_RETRY, rnr_retry);
	UNIV_KEEP(IB_QP_RQ_PSN, rq_psn);
	UNIV_KEEP(IB_QP_SQ_PSN, sq_psn);
	UNIV_KEEP(IB_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	UNIV_KEEP(IB_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	UNIV_KEEP(IB_QP_MIN_RNR_TIMER, min_rnr_timer);
	UNIV_KEEP(IB_QP_DEST_QPN, dest_qp_num);
	UNIV_KEEP(IB_QP_AV, ah_attr);
#undef UNIV_KEEP
	to->ah_attr.grh.sgid_attr = NULL;
}

#endif
