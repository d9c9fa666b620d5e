// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Completions with an error status. */
#include <arpa/inet.h>
#include <stdio.h>

#include <infiniband/verbs.h>

#include "why/line.h"

struct cause {
	uint16_t reason;
	uint16_t status;	/* or ANY */
	const char *text;
};

#define ANY	UINT16_MAX

static const struct cause causes[] = {
#define COMPLETION(name, status, text) { UNIV_REASON_##name, status, text },
#include "why/rows.h"
};

/* The usual cause of each status, for completions without a reason. */
struct status {
	const char *name;
	const char *cause;
};

static const struct status statuses[] = {
	[IBV_WC_SUCCESS] = { "success", NULL },
	[IBV_WC_LOC_LEN_ERR] = { "local length error",
		"the message is longer than the receive request's memory (a datagram needs 40 "
		"bytes more, for the GRH), or longer than the port allows" },
	[IBV_WC_LOC_QP_OP_ERR] = { "local queue pair operation error",
		"the request is not valid on this queue pair; or, over rdma_rxe, a receive request "
		"is shorter than its datagram, which needs 40 bytes more, for the GRH" },
	[IBV_WC_LOC_EEC_OP_ERR] = { "local end-to-end context error", NULL },
	[IBV_WC_LOC_PROT_ERR] = { "local protection error",
		"an lkey is not of a region of the queue pair's protection domain, or the region "
		"does not cover the memory, or was registered without IBV_ACCESS_LOCAL_WRITE" },
	[IBV_WC_WR_FLUSH_ERR] = { "flushed",
		"the queue pair was in the error state before the request was done" },
	[IBV_WC_MW_BIND_ERR] = { "memory window bind error",
		"the region does not cover the range or does not grant the access (IBV_ACCESS_MW_BIND, "
		"and local write if the peer is to write), or the window "
		"may not be bound" },
	[IBV_WC_BAD_RESP_ERR] = { "bad response", "the peer sent a response that does not fit the request" },
	[IBV_WC_LOC_ACCESS_ERR] = { "local access error",
		"the peer's write with immediate data addressed memory that may not be written" },
	[IBV_WC_REM_INV_REQ_ERR] = { "remote invalid request",
		"the peer refuses it: too long, not allowed (qp_access_flags, max_dest_rd_atomic), an "
		"atomic not at a multiple of 8, or no XRC shared receive queue of that number" },
	[IBV_WC_REM_ACCESS_ERR] = { "remote access error",
		"the rkey is of no region of the peer's protection domain, or the region has not "
		"these bytes or lacks IBV_ACCESS_REMOTE_..., or qp_access_flags forbid it" },
	[IBV_WC_REM_OP_ERR] = { "remote operation error",
		"the peer could not complete it; its own completion says why" },
	[IBV_WC_RETRY_EXC_ERR] = { "retries exceeded",
		"the peer does not answer. Check that it is up and in RTR, and check QP number, PSN, "
		"hop_limit, path MTU (not above its port's), GID types (RoCE v1 or v2), UDP port 4791" },
	[IBV_WC_RNR_RETRY_EXC_ERR] = { "receiver-not-ready retries exceeded",
		"the peer has posted no receive request (rnr_retry)" },
	[IBV_WC_LOC_RDD_VIOL_ERR] = { "local RDD violation", NULL },
	[IBV_WC_REM_INV_RD_REQ_ERR] = { "remote invalid RD request", NULL },
	[IBV_WC_REM_ABORT_ERR] = { "aborted by the peer", NULL },
	[IBV_WC_INV_EECN_ERR] = { "invalid end-to-end context number", NULL },
	[IBV_WC_INV_EEC_STATE_ERR] = { "invalid end-to-end context state", NULL },
	[IBV_WC_FATAL_ERR] = { "fatal error", "the device failed" },
	[IBV_WC_RESP_TIMEOUT_ERR] = { "response timeout", "the peer does not answer" },
	[IBV_WC_GENERAL_ERR] = { "general error", NULL },
	[IBV_WC_TM_ERR] = { "tag matching error", NULL },
	[IBV_WC_TM_RNDV_INCOMPLETE] = { "tag matching rendezvous incomplete", NULL },
};

static const char *status_name(uint32_t status)
{
	return status < UNIV_COUNT(statuses) ? statuses[status].name : "unknown status";
}

static const char *status_cause(uint32_t status)
{
	return status < UNIV_COUNT(statuses) ? statuses[status].cause : NULL;
}

static const char *completion_cause(const struct univ_failure *f)
{
	const struct cause *cause;

	for (cause = causes; cause < causes + sizeof(causes) / sizeof(causes[0]); cause++)
		if (cause->reason == f->reason &&
		    (cause->status == ANY || cause->status == f->detail))
			return cause->text;
	return status_cause(f->detail);
}

static void peer_name(char *text, size_t size, const struct univ_wc_failure *from)
{
	char gid[INET6_ADDRSTRLEN] = "";

	inet_ntop(AF_INET6, from->peer_gid->raw, gid, sizeof(gid));
	snprintf(text, size, "peer %s QP %u", gid, from->peer_qpn);
}

void univ_fail_completion(const struct univ_wc_failure *from)
{
	struct univ_failure failure = {
		.verb = UNIV_COMPLETION_VERB,
		.reason = from->reason,
		.detail = from->status,
		.value = from->wr_id,
		.bound = from->qp_num,
	};

	if (from->peer_gid)
		peer_name(failure.subject, sizeof(failure.subject), from);
	else if (from->flush == UNIV_FLUSH_BY_FAILURE)
		snprintf(failure.subject, sizeof(failure.subject),
			 "because request %llu failed before: %s", (ull)from->failed_wr_id,
			 status_name(from->failed_status));
	else if (from->flush == UNIV_FLUSH_BY_MODIFY)
		snprintf(failure.subject, sizeof(failure.subject), "by ibv_modify_qp to state ERR");
	univ_fail_record(&failure, from->quiet);
}

void univ_explain_completion(struct univ_line *line, const struct univ_failure *f)
{
	const char *cause = completion_cause(f);

	univ_say(line, "QP %llu work request %llu: %s", (ull)f->bound, (ull)f->value,
		 status_name(f->detail));
	if (f->subject[0])
		univ_say(line, ": %s", f->subject);
	if (cause && !(f->detail == IBV_WC_WR_FLUSH_ERR && f->subject[0]))
		univ_say(line, ": %s", cause);
}
