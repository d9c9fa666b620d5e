// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Names of enum values. Programs print them and people search for them, so the words are those of
 * rdma-core.
 */
#include <stddef.h>

#include <infiniband/verbs.h>

#include "base/base.h"

static const char *name_find(const char *const *names, size_t count, long long value)
{
	if (value < 0 || (unsigned long long)value >= count || !names[value])
		return "unknown";
	return names[value];
}

#define NAME_FIND(names, value) name_find(names, sizeof(names) / sizeof((names)[0]), value)

static const char *const node_types[] = {
	[IBV_NODE_CA]			= "InfiniBand channel adapter",
	[IBV_NODE_SWITCH]		= "InfiniBand switch",
	[IBV_NODE_ROUTER]		= "InfiniBand router",
	[IBV_NODE_RNIC]			= "iWARP NIC",
	[IBV_NODE_USNIC]		= "usNIC",
	[IBV_NODE_USNIC_UDP]		= "usNIC UDP",
	[IBV_NODE_UNSPECIFIED]		= "unspecified",
};

static const char *const port_states[] = {
	[IBV_PORT_NOP]			= "no state change (NOP)",
	[IBV_PORT_DOWN]			= "down",
	[IBV_PORT_INIT]			= "init",
	[IBV_PORT_ARMED]		= "armed",
	[IBV_PORT_ACTIVE]		= "active",
	[IBV_PORT_ACTIVE_DEFER]		= "active defer",
};

static const char *const event_types[] = {
	[IBV_EVENT_CQ_ERR]		= "CQ error",
	[IBV_EVENT_QP_FATAL]		= "local work queue catastrophic error",
	[IBV_EVENT_QP_REQ_ERR]		= "invalid request local work queue error",
	[IBV_EVENT_QP_ACCESS_ERR]	= "local access violation work queue error",
	[IBV_EVENT_COMM_EST]		= "communication established",
	[IBV_EVENT_SQ_DRAINED]		= "send queue drained",
	[IBV_EVENT_PATH_MIG]		= "path migrated",
	[IBV_EVENT_PATH_MIG_ERR]	= "path migration request error",
	[IBV_EVENT_DEVICE_FATAL]	= "local catastrophic error",
	[IBV_EVENT_PORT_ACTIVE]		= "port active",
	[IBV_EVENT_PORT_ERR]		= "port error",
	[IBV_EVENT_LID_CHANGE]		= "LID change",
	[IBV_EVENT_PKEY_CHANGE]		= "P_Key change",
	[IBV_EVENT_SM_CHANGE]		= "SM change",
	[IBV_EVENT_SRQ_ERR]		= "SRQ catastrophic error",
	[IBV_EVENT_SRQ_LIMIT_REACHED]	= "SRQ limit reached",
	[IBV_EVENT_QP_LAST_WQE_REACHED]	= "last WQE reached",
	[IBV_EVENT_CLIENT_REREGISTER]	= "client reregistration",
	[IBV_EVENT_GID_CHANGE]		= "GID table change",
	[IBV_EVENT_WQ_FATAL]		= "WQ fatal",
	[IBV_EVENT_DEVICE_SPEED_CHANGE]	= "Device link speed change",
};

static const char *const wc_statuses[] = {
	[IBV_WC_SUCCESS]		= "success",
	[IBV_WC_LOC_LEN_ERR]		= "local length error",
	[IBV_WC_LOC_QP_OP_ERR]		= "local QP operation error",
	[IBV_WC_LOC_EEC_OP_ERR]		= "local EE context operation error",
	[IBV_WC_LOC_PROT_ERR]		= "local protection error",
	[IBV_WC_WR_FLUSH_ERR]		= "Work Request Flushed Error",
	[IBV_WC_MW_BIND_ERR]		= "memory management operation error",
	[IBV_WC_BAD_RESP_ERR]		= "bad response error",
	[IBV_WC_LOC_ACCESS_ERR]		= "local access error",
	[IBV_WC_REM_INV_REQ_ERR]	= "remote invalid request error",
	[IBV_WC_REM_ACCESS_ERR]		= "remote access error",
	[IBV_WC_REM_OP_ERR]		= "remote operation error",
	[IBV_WC_RETRY_EXC_ERR]		= "transport retry counter exceeded",
	[IBV_WC_RNR_RETRY_EXC_ERR]	= "RNR retry counter exceeded",
	[IBV_WC_LOC_RDD_VIOL_ERR]	= "local RDD violation error",
	[IBV_WC_REM_INV_RD_REQ_ERR]	= "remote invalid RD request",
	[IBV_WC_REM_ABORT_ERR]		= "aborted error",
	[IBV_WC_INV_EECN_ERR]		= "invalid EE context number",
	[IBV_WC_INV_EEC_STATE_ERR]	= "invalid EE context state",
	[IBV_WC_FATAL_ERR]		= "fatal error",
	[IBV_WC_RESP_TIMEOUT_ERR]	= "response timeout error",
	[IBV_WC_GENERAL_ERR]		= "general error",
	[IBV_WC_TM_ERR]			= "TM error",
	[IBV_WC_TM_RNDV_INCOMPLETE]	= "TM software rendezvous",
};

UNIV_EXPORT const char *ibv_node_type_str(enum ibv_node_type node_type)
{
	return NAME_FIND(node_types, node_type);
}

UNIV_EXPORT const char *ibv_port_state_str(enum ibv_port_state port_state)
{
	return NAME_FIND(port_states, port_state);
}

UNIV_EXPORT const char *ibv_event_type_str(enum ibv_event_type event)
{
	return NAME_FIND(event_types, event);
}

UNIV_EXPORT const char *ibv_wc_status_str(enum ibv_wc_status status)
{
	return NAME_FIND(wc_statuses, status);
}
