// SPDX-License-Identifier: GPL-2.0
/* Counters, as sysfs and `rdma statistic` show them. */
#include "dev.h"

static const struct rdma_stat_desc descs[UROCE_COUNTERS] = {
	[UROCE_CNT_LOCAL_MSGS].name = "local_msgs",
	[UROCE_CNT_SENT_PKTS].name = "sent_pkts",
	[UROCE_CNT_RECEIVED_PKTS].name = "rcvd_pkts",
	[UROCE_CNT_DUPLICATES].name = "duplicate_request",
	[UROCE_CNT_OUT_OF_SEQUENCE].name = "out_of_seq_request",
	[UROCE_CNT_REPEATED].name = "selective_repeat",
	[UROCE_CNT_RNR_SENT].name = "send_rnr_err",
	[UROCE_CNT_RNR_RECEIVED].name = "rcvd_rnr_err",
	[UROCE_CNT_TIMEOUTS].name = "ack_timeout",
	[UROCE_CNT_RETRY_EXCEEDED].name = "retry_exceeded_err",
	[UROCE_CNT_NAKS].name = "rcvd_nak",
	[UROCE_CNT_NAKS_SENT].name = "send_nak",
	/* mlx5 uses the names of the next four. */
	[UROCE_CNT_OUT_OF_BUFFER].name = "out_of_buffer",
	[UROCE_CNT_ECN_MARKED].name = "np_ecn_marked_roce_packets",
	[UROCE_CNT_CNP_SENT].name = "np_cnp_sent",
	[UROCE_CNT_CNP_HANDLED].name = "rp_cnp_handled",
	[UROCE_CNT_LOCAL_BYTES].name = "local_bytes",
	[UROCE_CNT_SENT_BYTES].name = "sent_bytes",
	[UROCE_CNT_RECEIVED_BYTES].name = "rcvd_bytes",
	[UROCE_CNT_DAMAGED].name = "rcvd_icrc_err",
	[UROCE_CNT_QKEY_VIOLATIONS].name = "qkey_violations",
	/* The name that mlx5 uses. */
	[UROCE_CNT_RECV_SHORT].name = "resp_local_length_error",
	[UROCE_CNT_TOO_LONG].name = "rcvd_too_long",
	[UROCE_CNT_PAGE_FAULTS].name = "page_faults",
	[UROCE_CNT_PINS_REUSED].name = "pins_reused",
	[UROCE_CNT_FAULT_DROP].name = "fault_drop",
	[UROCE_CNT_FAULT_DUPLICATE].name = "fault_duplicate",
	[UROCE_CNT_FAULT_CORRUPT].name = "fault_corrupt",
	[UROCE_CNT_FAULT_DELAY].name = "fault_delay",
	[UROCE_CNT_FAULT_RNR].name = "fault_rnr",
	[UROCE_CNT_FAULT_REMOTE].name = "fault_remote_error",
	[UROCE_CNT_FAULT_COMPLETION].name = "fault_completion_error",
	[UROCE_CNT_FAULT_PORT_DOWN].name = "fault_port_down",
	[UROCE_CNT_FAULT_VERB].name = "fault_verb",
};

const char *uroce_counter_name(enum uroce_counter what)
{
	return descs[what].name;
}

struct rdma_hw_stats *uroce_stats_alloc(struct ib_device *ib, u32 port)
{
	return rdma_alloc_hw_stats_struct(descs, UROCE_COUNTERS,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static u64 counted(const struct uroce_dev *dev, enum uroce_counter what)
{
	u64 sum = 0;
	int cpu;

	if (what == UROCE_CNT_QKEY_VIOLATIONS)
		return (u32)atomic_read(&dev->qkey_violations);
	for_each_possible_cpu(cpu)
		sum += per_cpu_ptr(dev->counters, cpu)[what];
	return sum;
}

int uroce_stats_get(struct ib_device *ib, struct rdma_hw_stats *stats, u32 port,
		    int index)
{
	int i;

	if (!port)
		return -EINVAL;
	for (i = 0; i < UROCE_COUNTERS; i++)
		stats->value[i] = counted(to_udev(ib), i);
	return UROCE_COUNTERS;
}
