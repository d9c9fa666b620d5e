/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints: changes of a device, its queue pairs and its regions. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM uroce

#if !defined(UROCE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define UROCE_TRACE_H

#include <linux/tracepoint.h>
#include <rdma/ib_verbs.h>

#include "compat.h"

#define UROCE_STATES			\
	{ IB_QPS_RESET, "RESET" },	\
	{ IB_QPS_INIT, "INIT" },	\
	{ IB_QPS_RTR, "RTR" },		\
	{ IB_QPS_RTS, "RTS" },		\
	{ IB_QPS_SQD, "SQD" },		\
	{ IB_QPS_SQE, "SQE" },		\
	{ IB_QPS_ERR, "ERR" }

#define UROCE_TYPES			\
	{ IB_QPT_GSI, "GSI" },		\
	{ IB_QPT_RC, "RC" },		\
	{ IB_QPT_UC, "UC" },		\
	{ IB_QPT_UD, "UD" },		\
	{ IB_QPT_RAW_PACKET, "RAW" },	\
	{ IB_QPT_XRC_INI, "XRC_SEND" },	\
	{ IB_QPT_XRC_TGT, "XRC_RECV" }

TRACE_EVENT(uroce_link,
	TP_PROTO(const struct ib_device *ib, bool up),
	TP_ARGS(ib, up),
	TP_STRUCT__entry(
		__string(dev, dev_name(&ib->dev))
		__field(bool, up)
	),
	TP_fast_assign(
		univ_assign_str(dev, dev_name(&ib->dev));
		__entry->up = up;
	),
	TP_printk("dev=%s %s", __get_str(dev), __entry->up ? "up" : "down")
);

DECLARE_EVENT_CLASS(uroce_qp,
	TP_PROTO(const struct ib_device *ib, u32 qpn, int what),
	TP_ARGS(ib, qpn, what),
	TP_STRUCT__entry(
		__string(dev, dev_name(&ib->dev))
		__field(u32, qpn)
		__field(int, what)
	),
	TP_fast_assign(
		univ_assign_str(dev, dev_name(&ib->dev));
		__entry->qpn = qpn;
		__entry->what = what;
	),
	TP_printk("dev=%s qpn=%u type=%s", __get_str(dev), __entry->qpn,
		  __print_symbolic(__entry->what, UROCE_TYPES))
);

DEFINE_EVENT(uroce_qp, uroce_qp_create,
	TP_PROTO(const struct ib_device *ib, u32 qpn, int what),
	TP_ARGS(ib, qpn, what)
);

DEFINE_EVENT(uroce_qp, uroce_qp_destroy,
	TP_PROTO(const struct ib_device *ib, u32 qpn, int what),
	TP_ARGS(ib, qpn, what)
);

DEFINE_EVENT_PRINT(uroce_qp, uroce_flush,
	TP_PROTO(const struct ib_device *ib, u32 qpn, int what),
	TP_ARGS(ib, qpn, what),
	TP_printk("dev=%s qpn=%u requests=%d", __get_str(dev), __entry->qpn,
		  __entry->what)
);

TRACE_EVENT(uroce_qp_state,
	TP_PROTO(const struct ib_device *ib, u32 qpn, int from, int to),
	TP_ARGS(ib, qpn, from, to),
	TP_STRUCT__entry(
		__string(dev, dev_name(&ib->dev))
		__field(u32, qpn)
		__field(int, from)
		__field(int, to)
	),
	TP_fast_assign(
		univ_assign_str(dev, dev_name(&ib->dev));
		__entry->qpn = qpn;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("dev=%s qpn=%u %s -> %s", __get_str(dev), __entry->qpn,
		  __print_symbolic(__entry->from, UROCE_STATES),
		  __print_symbolic(__entry->to, UROCE_STATES))
);

/* Retries, RNR NAKs and the like: the counted event and its queue pair. */
TRACE_EVENT(uroce_transport,
	TP_PROTO(const struct ib_device *ib, u32 qpn, const char *what),
	TP_ARGS(ib, qpn, what),
	TP_STRUCT__entry(
		__string(dev, dev_name(&ib->dev))
		__string(what, what)
		__field(u32, qpn)
	),
	TP_fast_assign(
		univ_assign_str(dev, dev_name(&ib->dev));
		univ_assign_str(what, what);
		__entry->qpn = qpn;
	),
	TP_printk("dev=%s qpn=%u %s", __get_str(dev), __entry->qpn,
		  __get_str(what))
);

DECLARE_EVENT_CLASS(uroce_mr,
	TP_PROTO(const struct ib_mr *mr, u64 iova, u64 length),
	TP_ARGS(mr, iova, length),
	TP_STRUCT__entry(
		__string(dev, dev_name(&mr->device->dev))
		__field(u32, key)
		__field(u64, iova)
		__field(u64, length)
	),
	TP_fast_assign(
		univ_assign_str(dev, dev_name(&mr->device->dev));
		__entry->key = mr->lkey;
		__entry->iova = iova;
		__entry->length = length;
	),
	TP_printk("dev=%s key=0x%08x iova=0x%llx length=%llu", __get_str(dev),
		  __entry->key, __entry->iova, __entry->length)
);

DEFINE_EVENT(uroce_mr, uroce_mr_create,
	TP_PROTO(const struct ib_mr *mr, u64 iova, u64 length),
	TP_ARGS(mr, iova, length)
);

DEFINE_EVENT(uroce_mr, uroce_mr_destroy,
	TP_PROTO(const struct ib_mr *mr, u64 iova, u64 length),
	TP_ARGS(mr, iova, length)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
