/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The abilities of an implementation of queue.h, and names of kernel verbs for
 * them that older kernels lack.
 */
#ifndef UNIV_QUEUE_CAPS_H
#define UNIV_QUEUE_CAPS_H

/**
 * enum univ_queue_caps - what an implementation offers to processes
 * @UNIV_QUEUE_WINDOWS: memory windows. Send rings carry %UNIV_WR_BIND_MW and
 *	%UNIV_WR_LOCAL_INV. The device has alloc_mw and dealloc_mw, which are
 *	called without udata; dereg_mr and rereg_user_mr return -EBUSY while a
 *	window is bound to the region
 * @UNIV_QUEUE_XRC: XRC. The device has alloc_xrcd and dealloc_xrcd, which are
 *	called without udata, and create_srq. The core makes shared receive
 *	queues of %IB_SRQT_XRC, whose completion queue is attached; queue pairs
 *	of %IB_QPT_XRC_INI, whose requests name the peer's shared receive queue
 *	(@srqn); and queue pairs of %IB_QPT_XRC_TGT, which have no rings and are
 *	never attached
 * @UNIV_QUEUE_ATOMIC_WRITE: %UNIV_WR_ATOMIC_WRITE. The device sets
 *	%UNIV_CAP_ATOMIC_WRITE as well
 * @UNIV_QUEUE_POLLS: it looks at send rings by itself where a process has a
 *	poller, so the core does not kick it for that poller
 * @UNIV_QUEUE_WRITES_CQ: the device writes completions to the rings by itself
 *	(univ_queue_cq_ring()), with the phase last, and compares the arm words.
 *	The driver calls univ_queue_raise() and univ_queue_overrun() and none of
 *	the functions that write completions. These queues are not resized and
 *	have no timestamps
 * @UNIV_QUEUE_DMA: the device reaches rings by itself, so they have DMA
 *	addresses (univ_ring.dma), as device memory of @mr_memory has. The DMA
 *	device must be coherent and must reach the pages without a bounce
 *	buffer, otherwise no queue can be made (%-EOPNOTSUPP); an IOMMU is
 *	respected
 * @UNIV_QUEUE_FLUSH: %UNIV_WR_FLUSH, and regions and queue pairs with
 *	%UNIV_ACCESS_FLUSH_GLOBAL. The device sets %UNIV_CAP_FLUSH_GLOBAL as
 *	well, and %UNIV_CAP_FLUSH_PERSISTENT if it flushes persistent memory
 * @UNIV_QUEUE_DEVICE_CQ: completions pass through the device's own queue, which
 *	kernel verbs resize together with the ring (@cq_resize). If they cannot,
 *	the completion queue is not resized
 * @UNIV_QUEUE_ODP: on-demand paging, by reg_user_mr() without udata, as
 *	ib_device_attr.odp_caps says, if the device has %IBK_ON_DEMAND_PAGING;
 *	and advise_mr(), which is called for one part of a region at a time and
 *	returns an error as struct univ_mr_advise has it, but -ERANGE if the
 *	part does not lie within the region. The process gets EFAULT then, with
 *	another reason than for memory that does not exist
 * @UNIV_QUEUE_RAW: queue pairs of %IB_QPT_RAW_PACKET, whose create_flags may
 *	have %IB_QP_CREATE_CVLAN_STRIPPING and the flags that the device's
 *	attributes report, with completions that have @flow_tag and @cvlan; and
 *	flows, by create_flow() and destroy_flow() without udata. Their specs
 *	have the types of enum univ_flow_spec_type, and each frame of a flow is
 *	passed to univ_flow_count()
 * @UNIV_QUEUE_WQ: receive work queues and receive indirection tables. The
 *	device has create_wq, modify_wq, destroy_wq, create_rwq_ind_table and
 *	destroy_rwq_ind_table, which are called without udata. modify_wq keeps
 *	ib_wq.state, and returns -EINVAL, with the current state there, if the
 *	queue does not change to the other state. With %UNIV_QUEUE_RAW their
 *	flags may have %IB_WQ_FLAGS_CVLAN_STRIPPING and the flags that the
 *	device's attributes report. Not with @page_alloc, since work queues
 *	have no bells
 * @UNIV_QUEUE_DMAH: DMA handles. The core checks their hints, and the driver
 *	does not get them: they have no effect
 * @UNIV_QUEUE_SOURCE_QPN: queue pairs of %IB_QPT_UD whose create_flags have
 *	%IB_QP_CREATE_SOURCE_QPN, which show ib_qp_init_attr.source_qpn to
 *	their peers
 */
enum univ_queue_caps {
	UNIV_QUEUE_WINDOWS = 1 << 0,
	UNIV_QUEUE_XRC = 1 << 1,
	UNIV_QUEUE_ATOMIC_WRITE = 1 << 2,
	UNIV_QUEUE_POLLS = 1 << 3,
	UNIV_QUEUE_WRITES_CQ = 1 << 4,
	UNIV_QUEUE_DMA = 1 << 5,
	UNIV_QUEUE_DEVICE_CQ = 1 << 6,
	UNIV_QUEUE_ODP = 1 << 7,
	UNIV_QUEUE_FLUSH = 1 << 8,
	UNIV_QUEUE_RAW = 1 << 9,
	UNIV_QUEUE_WQ = 1 << 10,
	UNIV_QUEUE_DMAH = 1 << 11,
	UNIV_QUEUE_SOURCE_QPN = 1 << 12,
};

/*
 * The bits of ib_device_attr.device_cap_flags by which a device says that it
 * executes flushes, of each type, and atomic writes. Kernels from 6.2 on have
 * names for them.
 */
#define UNIV_CAP_FLUSH_GLOBAL		(1ull << 38)
#define UNIV_CAP_FLUSH_PERSISTENT	(1ull << 39)
#define UNIV_CAP_ATOMIC_WRITE		(1ull << 40)

/*
 * Access flags of regions and queue pairs: the peer may flush. Kernels from 6.2
 * on have names for them.
 */
#define UNIV_ACCESS_FLUSH_GLOBAL	(1u << 8)
#define UNIV_ACCESS_FLUSH_PERSISTENT	(1u << 9)
#define UNIV_ACCESS_FLUSH \
	(UNIV_ACCESS_FLUSH_GLOBAL | UNIV_ACCESS_FLUSH_PERSISTENT)

/*
 * The bits of the odp_caps of a transport for flushes and for atomic writes.
 * Kernels from 6.17 on have names for them.
 */
#define UNIV_ODP_FLUSH		(1u << 6)
#define UNIV_ODP_ATOMIC_WRITE	(1u << 7)

#endif
