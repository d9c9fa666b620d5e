// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <linux/capability.h>
#include <stddef.h>

#include <infiniband/verbs.h>

#include "base/base.h"
#include "univerbs.h"
#include "univerbs_ring.h"
#include "why/names.h"

static const char *pick(const char *const *names, size_t count, uint32_t index, const char *other)
{
	return index < count && names[index] ? names[index] : other;
}

const char *univ_attribute_name(unsigned int bit)
{
	static const char *const names[] = {
		"IBV_QP_STATE",
		"IBV_QP_CUR_STATE",
		"IBV_QP_EN_SQD_ASYNC_NOTIFY",
		"IBV_QP_ACCESS_FLAGS",
		"IBV_QP_PKEY_INDEX",
		"IBV_QP_PORT",
		"IBV_QP_QKEY",
		"IBV_QP_AV",
		"IBV_QP_PATH_MTU",
		"IBV_QP_TIMEOUT",
		"IBV_QP_RETRY_CNT",
		"IBV_QP_RNR_RETRY",
		"IBV_QP_RQ_PSN",
		"IBV_QP_MAX_QP_RD_ATOMIC",
		"IBV_QP_ALT_PATH",
		"IBV_QP_MIN_RNR_TIMER",
		"IBV_QP_SQ_PSN",
		"IBV_QP_MAX_DEST_RD_ATOMIC",
		"IBV_QP_PATH_MIG_STATE",
		"IBV_QP_CAP",
		"IBV_QP_DEST_QPN",
		[25] = "IBV_QP_RATE_LIMIT",
	};

	return pick(names, UNIV_COUNT(names), bit, "an unknown attribute");
}

const char *univ_state_name(uint32_t state)
{
	static const char *const names[] = {
		[IBV_QPS_RESET] = "RESET",
		[IBV_QPS_INIT] = "INIT",
		[IBV_QPS_RTR] = "RTR",
		[IBV_QPS_RTS] = "RTS",
		[IBV_QPS_SQD] = "SQD",
		[IBV_QPS_SQE] = "SQE",
		[IBV_QPS_ERR] = "ERR",
	};

	return pick(names, UNIV_COUNT(names), state, "UNKNOWN");
}

const char *univ_qp_type_name(uint32_t type)
{
	static const char *const names[] = {
		"an SMI",
		"a GSI",
		[IBV_QPT_RC] = "an RC",
		[IBV_QPT_UC] = "a UC",
		[IBV_QPT_UD] = "a UD",
		[IBV_QPT_RAW_PACKET] = "a raw packet",
		[IBV_QPT_XRC_SEND] = "an XRC send",
		[IBV_QPT_XRC_RECV] = "an XRC receive",
		[IBV_QPT_DRIVER] = "a driver's",
	};

	return pick(names, UNIV_COUNT(names), type, "an unknown kind of");
}

const char *univ_object_name(uint32_t type)
{
	static const char *const names[UNIV_OBJECT_TYPES] = {
		[UNIV_OBJECT_PD] = "protection domain",
		[UNIV_OBJECT_MR] = "memory region",
		[UNIV_OBJECT_AH] = "address handle",
		[UNIV_OBJECT_CQ] = "completion queue",
		[UNIV_OBJECT_SRQ] = "shared receive queue",
		[UNIV_OBJECT_QP] = "queue pair",
		[UNIV_OBJECT_MW] = "memory window",
		[UNIV_OBJECT_XRCD] = "XRC domain",
		[UNIV_OBJECT_TD] = "thread domain",
		[UNIV_OBJECT_DM] = "device memory",
		[UNIV_OBJECT_CNTR] = "completion counter",
		[UNIV_OBJECT_FLOW] = "flow",
		[UNIV_OBJECT_WQ] = "work queue",
		[UNIV_OBJECT_TABLE] = "receive indirection table",
		[UNIV_OBJECT_DMAH] = "DMA handle",
		[UNIV_OBJECT_COUNTERS] = "flow counters object",
	};

	return pick(names, UNIV_COUNT(names), type, "object");
}

/* The objects that must be destroyed before an object of this type, or NULL. */
const char *univ_object_users(uint32_t type)
{
	static const char *const users[UNIV_OBJECT_TYPES] = {
		[UNIV_OBJECT_PD] = "destroy its memory regions, memory windows, address handles, "
				   "shared receive queues, work queues, queue pairs and parent "
				   "domains first "
				   "(of a parent domain its completion queues and buffers, too)",
		[UNIV_OBJECT_CQ] = "destroy the queue pairs, work queues and XRC shared receive "
				   "queues that complete there first",
		[UNIV_OBJECT_SRQ] = "destroy the queue pairs that receive from it first",
		[UNIV_OBJECT_XRCD] = "destroy its queue pairs and shared receive queues first",
		[UNIV_OBJECT_TD] = "deallocate its parent domains first",
		[UNIV_OBJECT_DM] = "deregister its memory regions first",
		[UNIV_OBJECT_CNTR] = "destroy the queue pairs that it is attached to first",
		[UNIV_OBJECT_QP] = "destroy its flows first",
		[UNIV_OBJECT_WQ] = "destroy the receive indirection tables that name it first",
		[UNIV_OBJECT_TABLE] = "destroy the queue pairs that use it first",
		[UNIV_OBJECT_DMAH] = "deregister the memory regions that use it first",
		[UNIV_OBJECT_COUNTERS] = "destroy the flows that it counts first",
	};

	return pick(users, UNIV_COUNT(users), type, NULL);
}

const char *univ_limit_name(uint32_t limit)
{
	static const char *const names[UNIV_LIMIT_COUNT] = {
		[UNIV_LIMIT_CQE] = "completion queue entries",
		[UNIV_LIMIT_SEND_WR] = "send requests (max_send_wr)",
		[UNIV_LIMIT_RECV_WR] = "receive requests (max_recv_wr)",
		[UNIV_LIMIT_SEND_SGE] = "send scatter/gather entries (max_send_sge)",
		[UNIV_LIMIT_RECV_SGE] = "receive scatter/gather entries (max_recv_sge)",
		[UNIV_LIMIT_INLINE] = "bytes inline (max_inline_data)",
		[UNIV_LIMIT_SRQ_WR] = "shared receive requests (max_wr)",
		[UNIV_LIMIT_SRQ_SGE] = "shared receive scatter/gather entries (max_sge)",
		[UNIV_LIMIT_SRQ_LIMIT] = "requests as srq_limit",
		[UNIV_LIMIT_MR_LENGTH] = "bytes in a memory region",
		[UNIV_LIMIT_OBJECTS] = "objects in a context",
		[UNIV_LIMIT_GID_ENTRIES] = "GID table entries",
		[UNIV_LIMIT_RINGS] = "bytes of ring memory",
		[UNIV_LIMIT_CONTEXTS] = "open contexts of the device",
		[UNIV_LIMIT_POLLERS] = "poller threads",
		[UNIV_LIMIT_MW_LENGTH] = "bytes in a memory window",
		[UNIV_LIMIT_DM_LENGTH] = "bytes of device memory",
		[UNIV_LIMIT_DM_ALIGN] = "as log_align_req",
		[UNIV_LIMIT_RATE] = "kbit/s of the rate limit",
		[UNIV_LIMIT_FLOW_SPECS] = "specs in a flow (num_of_specs)",
		[UNIV_LIMIT_WQ_WR] = "requests of a work queue (max_wr)",
		[UNIV_LIMIT_WQ_SGE] = "scatter/gather entries of a work queue's request (max_sge)",
		[UNIV_LIMIT_TABLE] = "as log_ind_tbl_size",
		[UNIV_LIMIT_LISTENERS] = "channels for events of the device",
		[UNIV_LIMIT_MR_PARTS] = "parts of a memory region (one for each extension)",
		[UNIV_LIMIT_COUNTERS_INDEX] = "as the index of a value of flow counters",
		[UNIV_LIMIT_COUNTERS_POINTS] = "points of flow counters or of a flow",
		[UNIV_LIMIT_TSO_HEADER] = "bytes of a TSO header (max_tso_header)",
		[UNIV_LIMIT_TARGET_HANDLES] = "handles of an XRC receive queue pair",
	};

	return pick(names, UNIV_COUNT(names), limit, "units");
}

#define OPCODE_NAME(name, word, types, traits, feature) [UNIV_WR_##name] = "IBV_WR_" #name,

const char *univ_opcode_name(uint32_t opcode)
{
	static const char *const names[] = { UNIV_OPCODES(OPCODE_NAME) };

	return pick(names, UNIV_COUNT(names), opcode, "an unknown operation");
}

struct flag {
	const char *name;
	uint64_t bit;
};

#define FLAG(name) { #name, name }

static const struct flag qp_mask_flags[] = {
	FLAG(IBV_QP_INIT_ATTR_PD), FLAG(IBV_QP_INIT_ATTR_XRCD),
	FLAG(IBV_QP_INIT_ATTR_CREATE_FLAGS), FLAG(IBV_QP_INIT_ATTR_MAX_TSO_HEADER),
	FLAG(IBV_QP_INIT_ATTR_IND_TABLE), FLAG(IBV_QP_INIT_ATTR_RX_HASH),
	FLAG(IBV_QP_INIT_ATTR_SEND_OPS_FLAGS),
	{},
};

static const struct flag srq_mask_flags[] = {
	FLAG(IBV_SRQ_INIT_ATTR_TYPE), FLAG(IBV_SRQ_INIT_ATTR_PD), FLAG(IBV_SRQ_INIT_ATTR_XRCD),
	FLAG(IBV_SRQ_INIT_ATTR_CQ), FLAG(IBV_SRQ_INIT_ATTR_TM),
	{},
};

static const struct flag cq_mask_flags[] = {
	FLAG(IBV_CQ_INIT_ATTR_MASK_FLAGS), FLAG(IBV_CQ_INIT_ATTR_MASK_PD),
	{},
};

static const struct flag xrcd_mask_flags[] = {
	FLAG(IBV_XRCD_INIT_ATTR_FD), FLAG(IBV_XRCD_INIT_ATTR_OFLAGS),
	{},
};

static const struct flag open_mask_flags[] = {
	FLAG(IBV_QP_OPEN_ATTR_NUM), FLAG(IBV_QP_OPEN_ATTR_XRCD),
	FLAG(IBV_QP_OPEN_ATTR_CONTEXT), FLAG(IBV_QP_OPEN_ATTR_TYPE),
	{},
};

static const struct flag send_ops[] = {
	FLAG(IBV_QP_EX_WITH_RDMA_WRITE), FLAG(IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM),
	FLAG(IBV_QP_EX_WITH_SEND), FLAG(IBV_QP_EX_WITH_SEND_WITH_IMM),
	FLAG(IBV_QP_EX_WITH_RDMA_READ), FLAG(IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP),
	FLAG(IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD), FLAG(IBV_QP_EX_WITH_LOCAL_INV),
	FLAG(IBV_QP_EX_WITH_BIND_MW), FLAG(IBV_QP_EX_WITH_SEND_WITH_INV),
	FLAG(IBV_QP_EX_WITH_TSO), FLAG(IBV_QP_EX_WITH_FLUSH), FLAG(IBV_QP_EX_WITH_ATOMIC_WRITE),
	{},
};

static const struct flag wc_flags[] = {
	FLAG(IBV_WC_EX_WITH_CVLAN), FLAG(IBV_WC_EX_WITH_FLOW_TAG), FLAG(IBV_WC_EX_WITH_TM_INFO),
	{},
};

static const struct flag cq_flags[] = {
	FLAG(IBV_CREATE_CQ_ATTR_SINGLE_THREADED), FLAG(IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN),
	{},
};

static const struct flag rereg_flags[] = {
	FLAG(IBV_REREG_MR_CHANGE_TRANSLATION), FLAG(IBV_REREG_MR_CHANGE_PD),
	FLAG(IBV_REREG_MR_CHANGE_ACCESS),
	{},
};

static const struct flag mr_mask_flags[] = {
	FLAG(IBV_REG_MR_MASK_IOVA), FLAG(IBV_REG_MR_MASK_ADDR), FLAG(IBV_REG_MR_MASK_FD),
	FLAG(IBV_REG_MR_MASK_FD_OFFSET), FLAG(IBV_REG_MR_MASK_DMAH), FLAG(IBV_REG_MR_MASK_BUF),
	{},
};

static const struct flag access_flags[] = {
	FLAG(IBV_ACCESS_LOCAL_WRITE), FLAG(IBV_ACCESS_REMOTE_WRITE),
	FLAG(IBV_ACCESS_REMOTE_READ), FLAG(IBV_ACCESS_REMOTE_ATOMIC),
	FLAG(IBV_ACCESS_MW_BIND), FLAG(IBV_ACCESS_ZERO_BASED), FLAG(IBV_ACCESS_ON_DEMAND),
	FLAG(IBV_ACCESS_HUGETLB), FLAG(IBV_ACCESS_FLUSH_GLOBAL),
	FLAG(IBV_ACCESS_FLUSH_PERSISTENT), FLAG(IBV_ACCESS_RELAXED_ORDERING),
	{},
};

static const struct flag cntr_ops[] = {
	FLAG(IBV_QP_ATTACH_COMP_CNTR_OP_SEND), FLAG(IBV_QP_ATTACH_COMP_CNTR_OP_RECV),
	FLAG(IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_READ),
	FLAG(IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_READ),
	FLAG(IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE),
	FLAG(IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE),
	{},
};

static const struct flag wq_flags[] = {
	FLAG(IBV_WQ_FLAGS_CVLAN_STRIPPING), FLAG(IBV_WQ_FLAGS_SCATTER_FCS),
	FLAG(IBV_WQ_FLAGS_DELAY_DROP), FLAG(IBV_WQ_FLAGS_PCI_WRITE_END_PADDING),
	{},
};

static const struct flag wq_mask_flags[] = {
	FLAG(IBV_WQ_ATTR_STATE), FLAG(IBV_WQ_ATTR_CURR_STATE), FLAG(IBV_WQ_ATTR_FLAGS),
	{},
};

static const struct flag rx_hash_fields[] = {
	FLAG(IBV_RX_HASH_SRC_IPV4), FLAG(IBV_RX_HASH_DST_IPV4), FLAG(IBV_RX_HASH_SRC_IPV6),
	FLAG(IBV_RX_HASH_DST_IPV6), FLAG(IBV_RX_HASH_SRC_PORT_TCP),
	FLAG(IBV_RX_HASH_DST_PORT_TCP), FLAG(IBV_RX_HASH_SRC_PORT_UDP),
	FLAG(IBV_RX_HASH_DST_PORT_UDP), FLAG(IBV_RX_HASH_IPSEC_SPI), FLAG(IBV_RX_HASH_INNER),
	{},
};

static const struct flag counters_read_flags[] = {
	FLAG(IBV_READ_COUNTERS_ATTR_PREFER_CACHED),
	{},
};

static const struct flag no_flags[] = { {} };

static const struct {
	const char *name;
	const struct flag *flags;	/* up to the first value without a name */
} flag_words[UNIV_FLAGS_COUNT] = {
	[UNIV_FLAGS_QP_MASK] = { "comp_mask", qp_mask_flags },
	[UNIV_FLAGS_SRQ_MASK] = { "comp_mask", srq_mask_flags },
	[UNIV_FLAGS_CQ_MASK] = { "comp_mask", cq_mask_flags },
	[UNIV_FLAGS_XRCD_MASK] = { "comp_mask", xrcd_mask_flags },
	[UNIV_FLAGS_OPEN_MASK] = { "comp_mask", open_mask_flags },
	[UNIV_FLAGS_SEND_OPS] = { "send_ops_flags", send_ops },
	[UNIV_FLAGS_WC] = { "wc_flags", wc_flags },
	[UNIV_FLAGS_CQ] = { "flags", cq_flags },
	[UNIV_FLAGS_REREG] = { "flags", rereg_flags },
	[UNIV_FLAGS_MR_MASK] = { "comp_mask", mr_mask_flags },
	[UNIV_FLAGS_ACCESS] = { "access", access_flags },
	[UNIV_FLAGS_CNTR_MASK] = { "comp_mask", no_flags },
	[UNIV_FLAGS_CNTR] = { "flags", no_flags },
	[UNIV_FLAGS_CNTR_OPS] = { "op_mask", cntr_ops },
	[UNIV_FLAGS_WQ] = { "create_flags", wq_flags },
	[UNIV_FLAGS_WQ_MASK] = { "attr_mask", wq_mask_flags },
	[UNIV_FLAGS_RX_HASH] = { "rx_hash_fields_mask", rx_hash_fields },
	[UNIV_FLAGS_COUNTERS_MASK] = { "comp_mask", no_flags },
	[UNIV_FLAGS_COUNTERS_READ] = { "flags", counters_read_flags },
};

const char *univ_flags_word(uint32_t word)
{
	return word < UNIV_COUNT(flag_words) ? flag_words[word].name : NULL;
}

const char *univ_flag_name(uint32_t word, uint64_t bit)
{
	const struct flag *flag = word < UNIV_COUNT(flag_words) ? flag_words[word].flags : NULL;

	for (; flag && flag->name; flag++)
		if (flag->bit == bit)
			return flag->name;
	return NULL;
}

const char *univ_capability_name(uint32_t capability)
{
	static const char *const names[] = {
		[CAP_NET_ADMIN] = "CAP_NET_ADMIN",
		[CAP_NET_RAW] = "CAP_NET_RAW",
		[CAP_IPC_LOCK] = "CAP_IPC_LOCK",
		[CAP_SYS_ADMIN] = "CAP_SYS_ADMIN",
	};

	return pick(names, UNIV_COUNT(names), capability, "that capabilities(7) lists by this number");
}
