/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The required and the optional attributes of each state transition of a queue pair:
 * InfiniBand specification 1.4, volume 1, 11.2.5.2. tests/static/transitions.sh
 * compares this table with the table of the module.
 */
#ifndef TRANSITIONS_H
#define TRANSITIONS_H

#include <infiniband/verbs.h>

/* Attributes of connected queue pairs that several transitions share. */
#define UC_PATH	(IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE)
#define RC_PATH	(UC_PATH | IBV_QP_MIN_RNR_TIMER)

/* An XRC queue pair has only one side. */
#define XRC_FIRST (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)

struct qp_masks {
	uint32_t required;
	uint32_t optional;
};

/* The columns are the transports RC, UC, UD, XRC send, XRC receive and raw packets. */
struct qp_transition {
	uint8_t from;
	uint8_t to;
	struct qp_masks masks[6];
};

static const struct qp_transition transitions[] = {
	{ IBV_QPS_RESET, IBV_QPS_INIT, {
		{ IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0 },
		{ IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0 },
		{ IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0 },
		{ XRC_FIRST, 0 },
		{ XRC_FIRST, 0 },
		{ IBV_QP_PORT, 0 } } },
	{ IBV_QPS_INIT, IBV_QPS_INIT, {
		{ 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS },
		{ 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS },
		{ 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY },
		{ 0, XRC_FIRST },
		{ 0, XRC_FIRST } } },
	{ IBV_QPS_INIT, IBV_QPS_RTR, {
		{ IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		  IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX },
		{ IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
		  IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX },
		{ 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY },
		{ IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
		  IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX },
		{ IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		  IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX } } },
	{ IBV_QPS_RTR, IBV_QPS_RTS, {
		{ IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		  IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
		  IBV_QP_CUR_STATE | RC_PATH },
		{ IBV_QP_SQ_PSN, IBV_QP_CUR_STATE | UC_PATH },
		{ IBV_QP_SQ_PSN, IBV_QP_CUR_STATE | IBV_QP_QKEY },
		{ IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		  IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
		  IBV_QP_CUR_STATE | UC_PATH },
		{ IBV_QP_SQ_PSN | IBV_QP_TIMEOUT, IBV_QP_CUR_STATE | RC_PATH } } },
	{ IBV_QPS_RTS, IBV_QPS_RTS, {
		{ 0, IBV_QP_CUR_STATE | RC_PATH },
		{ 0, IBV_QP_CUR_STATE | UC_PATH },
		{ 0, IBV_QP_CUR_STATE | IBV_QP_QKEY },
		{ 0, IBV_QP_CUR_STATE | UC_PATH },
		{ 0, IBV_QP_CUR_STATE | RC_PATH } } },
	{ IBV_QPS_RTS, IBV_QPS_SQD, {
		{ 0, IBV_QP_EN_SQD_ASYNC_NOTIFY },
		{ 0, IBV_QP_EN_SQD_ASYNC_NOTIFY },
		{ 0, IBV_QP_EN_SQD_ASYNC_NOTIFY },
		{ 0, IBV_QP_EN_SQD_ASYNC_NOTIFY },
		{ 0, IBV_QP_EN_SQD_ASYNC_NOTIFY } } },
	{ IBV_QPS_SQD, IBV_QPS_RTS, {
		{ 0, IBV_QP_CUR_STATE | RC_PATH },
		{ 0, IBV_QP_CUR_STATE | UC_PATH },
		{ 0, IBV_QP_CUR_STATE | IBV_QP_QKEY },
		{ 0, IBV_QP_CUR_STATE | UC_PATH },
		{ 0, IBV_QP_CUR_STATE | RC_PATH } } },
	{ IBV_QPS_SQD, IBV_QPS_SQD, {
		{ 0, RC_PATH | IBV_QP_PORT | IBV_QP_AV |
		     IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		     IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC |
		     IBV_QP_PKEY_INDEX },
		{ 0, UC_PATH | IBV_QP_AV | IBV_QP_PKEY_INDEX },
		{ 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY },
		{ 0, UC_PATH | IBV_QP_PORT | IBV_QP_AV |
		     IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		     IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_PKEY_INDEX },
		{ 0, RC_PATH | IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT |
		     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_PKEY_INDEX } } },
	{ IBV_QPS_SQE, IBV_QPS_RTS, {
		{ 0, 0 },
		{ 0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS },
		{ 0, IBV_QP_CUR_STATE | IBV_QP_QKEY } } },
};

#endif
