/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that the files of the responder share: resp.c checks and executes,
 * answer.c answers, and read.c answers reads. Private to this room.
 */
#ifndef UROCE_RESP_H
#define UROCE_RESP_H

#include "req.h"

/* The result of a packet. */
enum resp_step {
	RESP_OK,
	RESP_DROP,
	RESP_AGAIN,	/* a duplicate: answer it again */
	RESP_GAP,	/* an earlier packet is missing */
	RESP_RNR,	/* no receive request */
	RESP_PAGING,	/* pages are being faulted in */
	RESP_INVALID,
	RESP_ACCESS,
	RESP_OPERATION,
	/*
	 * The receive request has completed with the error, so no event is
	 * raised.
	 */
	RESP_TOO_LONG,
	RESP_BAD_KEY,
	RESP_BAD_RECV,
};

/* Start of the extended headers that the opcode announces. */
static inline const void *resp_eth(const struct uroce_conn *conn,
				   const struct uroce_packet *pkt)
{
	const u8 *eth = (const u8 *)(pkt->bth + 1);

	return conn->service == UROCE_XRC ? eth + sizeof(__be32) : eth;
}

/* XRC: the number of the shared receive queue; 0 for other services. */
static inline u32 resp_srqn(const struct uroce_conn *conn,
			    const struct uroce_packet *pkt)
{
	if (conn->service != UROCE_XRC)
		return 0;
	return be32_to_cpup((const __be32 *)(pkt->bth + 1)) & 0xffffff;
}

static inline bool resp_aim(struct uroce_conn *conn, u32 srqn)
{
	return conn->service != UROCE_XRC || !conn->ops->aim(conn, srqn);
}

/* Old responses are searched for and forgotten at this interval of packets. */
#define RESP_SWEEP (1 << 21)

void uroce_resp_forget(struct uroce_responder *resp);

/* Called at the end of each message. */
static inline void resp_sweep(struct uroce_responder *resp)
{
	if (((resp->psn - resp->swept) & UROCE_PSN_MASK) > RESP_SWEEP)
		uroce_resp_forget(resp);
}

/* resp.c */
enum resp_step uroce_resp_step(int status);
enum resp_step uroce_resp_access(struct uroce_conn *conn, u32 rkey, u64 va,
				 u32 len, int access);

/* Is the next slot for a response in use? See response_new(). */
static inline bool resp_full(const struct uroce_responder *resp)
{
	const struct uroce_response *res =
		&resp->responses[resp->count % resp->limit];

	return res->pending && !res->again;
}

/* held.c */
extern atomic_t uroce_held_by_all;

bool uroce_held_take(struct uroce_conn *conn, const struct uroce_packet *pkt,
		     bool *news);
struct sk_buff *uroce_held_next(struct uroce_conn *conn,
				struct uroce_packet *pkt);
void uroce_held_wait(struct uroce_held *held);
void uroce_held_sign(struct uroce_conn *conn, struct sk_buff *skb);

/* read.c */
bool uroce_resp_send_read(struct uroce_conn *conn, struct uroce_response *res,
			  int *left);

/* answer.c */
void uroce_resp_ack(struct uroce_conn *conn, u8 syndrome, u32 psn);
void uroce_resp_refuse(struct uroce_conn *conn, u8 syndrome, u32 psn,
		       u32 event);
bool uroce_resp_has_room(struct uroce_conn *conn, int *left);
enum resp_step uroce_resp_read(struct uroce_conn *conn,
			       const struct uroce_packet *pkt);
enum resp_step uroce_resp_atomic(struct uroce_conn *conn,
				 const struct uroce_packet *pkt);
enum resp_step uroce_resp_atomic_write(struct uroce_conn *conn,
				       const struct uroce_packet *pkt);
enum resp_step uroce_resp_flush(struct uroce_conn *conn,
				const struct uroce_packet *pkt);
enum resp_step uroce_resp_again(struct uroce_conn *conn,
				const struct uroce_packet *pkt);

#endif
