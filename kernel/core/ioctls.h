/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The table of ioctls: one row for each, in the order of uapi/univerbs.h. The
 * dispatcher and the prototypes of the handlers come from it. This file
 * includes nothing and needs uapi/univerbs.h only.
 *
 *	X(NAME, name, type, last, reserved)
 *
 * NAME	the ioctl is UNIV_NAME
 * name	the handler is univ_name_ioctl()
 * type	the argument is a struct univ_type; each ioctl that takes a struct
 *	univ_destroy destroys the object of its @handle
 * last	the last member of the first version of the struct, which stays when
 *	the struct grows: a shorter argument is refused
 * reserved	R(type, member) for each member that must be zero; together
 *	they are one argument without commas, unless R gives some
 *
 * UNIV_KICK has no row, since it takes no struct.
 */
#ifndef UNIV_IOCTLS_H
#define UNIV_IOCTLS_H

#define UNIV_IOCTLS(X, R)						\
	X(CONTEXT_QUERY, context_query, context_query, doorbell_offset,	\
	  R(context_query, features))					\
	X(DEVICE_QUERY, device_query, device_query, reserved,		\
	  R(device_query, reserved))					\
	X(PORT_QUERY, port_query, port_query, reserved,			\
	  R(port_query, reserved))					\
	X(PKEY_QUERY, pkey_query, pkey_query, reserved,			\
	  R(pkey_query, reserved))					\
	X(GID_QUERY, gid_query, gid_query, entry, )			\
	X(GID_TABLE, gid_table, gid_table, count, )			\
	X(POLLER_START, poller_start, poller_start, reserved,		\
	  R(poller_start, reserved))					\
	X(HANDLE_QUERY, handle_query, handle_query, map_length,		\
	  R(handle_query, reserved))					\
	X(PD_ALLOC, pd_alloc, pd_alloc, reserved, R(pd_alloc, reserved)) \
	X(PD_DEALLOC, pd_dealloc, destroy, reserved,			\
	  R(destroy, reserved))						\
	X(XRCD_OPEN, xrcd_open, xrcd_open, reserved,			\
	  R(xrcd_open, reserved))					\
	X(XRCD_CLOSE, xrcd_close, destroy, reserved,			\
	  R(destroy, reserved))						\
	X(MR_REG, mr_reg, mr_reg, reserved,				\
	  R(mr_reg, reserved) R(mr_reg, reserved2))			\
	X(MR_REREG, mr_rereg, mr_rereg, rkey, )				\
	X(MR_DEREG, mr_dereg, destroy, reserved, R(destroy, reserved))	\
	X(MR_ADVISE, mr_advise, mr_advise, length, )			\
	X(AH_CREATE, ah_create, ah_create, attr,			\
	  R(ah_create, attr.reserved))					\
	X(AH_DESTROY, ah_destroy, destroy, reserved,			\
	  R(destroy, reserved))						\
	X(MW_ALLOC, mw_alloc, mw_alloc, rkey, )				\
	X(MW_DEALLOC, mw_dealloc, destroy, reserved,			\
	  R(destroy, reserved))						\
	X(CHANNEL_CREATE, channel_create, channel_create, reserved,	\
	  R(channel_create, reserved))					\
	X(CQ_CREATE, cq_create, cq_create, ring, R(cq_create, reserved)) \
	X(CQ_RESIZE, cq_resize, cq_resize, ring, )			\
	X(CQ_MODERATE, cq_moderate, cq_moderate, period, )		\
	X(CQ_DESTROY, cq_destroy, destroy, reserved,			\
	  R(destroy, reserved))						\
	X(SRQ_CREATE, srq_create, srq_create, ring,			\
	  R(srq_create, reserved))					\
	X(SRQ_MODIFY, srq_modify, srq_modify, limit, )			\
	X(SRQ_QUERY, srq_query, srq_query, limit, )			\
	X(SRQ_DESTROY, srq_destroy, destroy, reserved,			\
	  R(destroy, reserved))						\
	X(QP_CREATE, qp_create, qp_create, rq, R(qp_create, reserved))	\
	X(QP_OPEN, qp_open, qp_open, cookie, )				\
	X(QP_MODIFY, qp_modify, qp_modify, attr,			\
	  R(qp_modify, reserved) R(qp_modify, attr.reserved)		\
	  R(qp_modify, attr.ah.reserved)				\
	  R(qp_modify, attr.alt_ah.reserved))				\
	X(QP_QUERY, qp_query, qp_query, sq_sig_all, )			\
	X(QP_DESTROY, qp_destroy, destroy, reserved,			\
	  R(destroy, reserved))						\
	X(QP_CNTR, qp_cntr, qp_cntr, reserved, R(qp_cntr, reserved))	\
	X(MCAST_ATTACH, mcast_attach, mcast, gid, R(mcast, reserved))	\
	X(MCAST_DETACH, mcast_detach, mcast, gid, R(mcast, reserved))	\
	X(DM_ALLOC, dm_alloc, dm_alloc, map_length, )			\
	X(DM_FREE, dm_free, destroy, reserved, R(destroy, reserved))	\
	X(MR_DM_REG, mr_dm_reg, mr_dm_reg, rkey, )			\
	X(MR_NULL_ALLOC, mr_null_alloc, mr_null_alloc, reserved,	\
	  R(mr_null_alloc, reserved))					\
	X(MR_DMABUF_REG, mr_dmabuf_reg, mr_dmabuf_reg, rkey,		\
	  R(mr_dmabuf_reg, reserved))					\
	X(DM_EXPORT, dm_export, dm_export, fd, )			\
	X(QP_RATE, qp_rate, qp_rate, reserved, R(qp_rate, reserved))	\
	X(ASYNC_SET, async_set, async_set, channel_fd, )		\
	X(ASYNC_OPEN, async_open, async_open, reserved,			\
	  R(async_open, reserved))					\
	X(CNTR_QUERY, cntr_query, cntr_query, ops, )			\
	X(CNTR_CREATE, cntr_create, cntr_create, map_length, )		\
	X(CNTR_MODIFY, cntr_modify, cntr_modify, amount, )		\
	X(CNTR_DESTROY, cntr_destroy, destroy, reserved,		\
	  R(destroy, reserved))						\
	X(MR_EXTEND, mr_extend, mr_extend, length, )			\
	X(MR_QUERY, mr_query, mr_query, iova, )				\
	X(MW_QUERY, mw_query, mw_query, offset, )			\
	X(AH_QUERY, ah_query, ah_query, attr, )				\
	X(CQ_QUERY, cq_query, cq_query, overrun, )			\
	X(CQ_NOTIFY, cq_notify, cq_notify, reserved,			\
	  R(cq_notify, reserved))					\
	X(AH_MODIFY, ah_modify, ah_modify, attr,			\
	  R(ah_modify, reserved) R(ah_modify, attr.reserved))		\
	X(MR_SHARE, mr_share, mr_share, length, )			\
	X(FLOW_CREATE, flow_create, flow_create, specs[7],		\
	  R(flow_create, reserved))					\
	X(FLOW_DESTROY, flow_destroy, destroy, reserved,		\
	  R(destroy, reserved))						\
	X(COUNTERS_CREATE, counters_create, counters_create, reserved,	\
	  R(counters_create, reserved))					\
	X(COUNTERS_DESTROY, counters_destroy, destroy, reserved,	\
	  R(destroy, reserved))						\
	X(COUNTERS_READ, counters_read, counters_read, values,		\
	  R(counters_read, reserved))					\
	X(COUNTERS_ATTACH, counters_attach, counters_attach, index, )	\
	X(WQ_CREATE, wq_create, wq_create, ring, )			\
	X(WQ_MODIFY, wq_modify, wq_modify, flags_mask, )		\
	X(WQ_DESTROY, wq_destroy, destroy, reserved,			\
	  R(destroy, reserved))						\
	X(TABLE_CREATE, table_create, table_create, wqs, )		\
	X(TABLE_DESTROY, table_destroy, destroy, reserved,		\
	  R(destroy, reserved))						\
	X(DMAH_ALLOC, dmah_alloc, dmah_alloc, reserved,			\
	  R(dmah_alloc, reserved))					\
	X(DMAH_FREE, dmah_free, destroy, reserved, R(destroy, reserved))

#endif
