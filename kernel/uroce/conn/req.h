/* SPDX-License-Identifier: GPL-2.0 */
/* Functions that the files of a connection share. Private to this room. */
#ifndef UROCE_REQ_H
#define UROCE_REQ_H

#include "conn.h"

/*
 * The time after which a side tries again if a queue below was full. A fast
 * device sends all packets that may be queued within less than a clock tick.
 * While nothing can be sent, each wait is twice as long as the last one, up to
 * UROCE_SOON_DOUBLED times: otherwise thousands of queue pairs would wake up
 * for nothing.
 */
#define UROCE_SOON_NS (250 * NSEC_PER_USEC)

/*
 * A read is requested in pieces of at most UROCE_READ_PACKETS packets, so that
 * the window limits responses as it limits requests. A retransmission may
 * request such pieces as well, so every responder supports it. With a path MTU
 * of 1024, 2048 or 4096 such a piece is divided into full GSO packets.
 */
#define UROCE_READ_PACKETS 60u

enum uroce_req_step {
	REQ_GO_ON,
	REQ_STOP,	/* until an event runs the requester again */
	REQ_ASK,	/* as REQ_STOP, but no answer was requested */
	REQ_LATER,	/* try again soon */
	REQ_PACED,	/* until the limit of the rate allows a packet */
	REQ_FAILED,
};

void uroce_soon(struct hrtimer *timer, u8 *stuck);
void uroce_wait_pace(struct uroce_conn *conn);

/* req.c. Context: the requester's lock, except for the timers. */
void uroce_req_back(struct uroce_conn *conn);
void uroce_req_pause(struct uroce_conn *conn, u64 ns);
void uroce_req_retry(struct uroce_conn *conn);
void uroce_req_seek(struct uroce_conn *conn, u32 psn, u32 from);
void uroce_req_fail(struct uroce_conn *conn, enum ib_wc_status status);
int uroce_req_xmit(struct uroce_conn *conn, struct sk_buff *skb, bool asks);
void uroce_req_timer(struct timer_list *timer);
enum hrtimer_restart uroce_req_soon(struct hrtimer *timer);

/* build.c. Context: the requester's lock. */
bool uroce_req_is_cut_short(struct uroce_conn *conn,
			    const struct uroce_msg *msg);
struct sk_buff *uroce_req_next(struct uroce_conn *conn, struct uroce_msg *msg,
			       u32 *len, int *status);

/* missing.c. Context: the requester's lock. */
void uroce_missing_init(struct uroce_missing *missing);
void uroce_missing_start(struct uroce_requester *req);
bool uroce_missing_shown(const struct uroce_conn *conn);
void uroce_missing_heard(struct uroce_conn *conn,
			 const struct uroce_packet *pkt, bool refuses);
void uroce_missing_told(struct uroce_conn *conn,
			const struct uroce_packet *pkt);
enum uroce_req_step uroce_missing_step(struct uroce_conn *conn);
void uroce_missing_advance(struct uroce_requester *req);
void uroce_missing_forget(struct uroce_requester *req);
void uroce_missing_again(struct uroce_requester *req);
void uroce_missing_probe(struct uroce_conn *conn);
void uroce_missing_watch(struct uroce_conn *conn);
enum uroce_req_step uroce_req_ask_again(struct uroce_conn *conn);

/* Are there packets that are to be repeated before new ones are sent? */
static inline bool uroce_missing_left(const struct uroce_requester *req)
{
	return req->missing.next != req->missing.end;
}

/* The nanoseconds to wait before the next new packet. */
static inline u64 uroce_req_wait(struct uroce_conn *conn)
{
	return max(uroce_pace_wait(conn->pace),
		   uroce_throttle_wait(&conn->req.throttle));
}

/* Is the oldest packet the next one to send? */
static inline bool uroce_req_at_oldest(const struct uroce_requester *req)
{
	return req->una ==
	       (uroce_missing_left(req) ? req->missing.next : req->psn);
}

/* Has no packet in flight asked for an acknowledgement? */
static inline bool uroce_req_unasked(const struct uroce_requester *req)
{
	return uroce_psn_diff(req->psn, req->una) <= (s32)req->silent;
}

/*
 * Is the ACK timer to run? It also covers packets that the queues below refuse,
 * so that a request fails whose packets are refused for ever.
 */
static inline bool uroce_req_awaits(const struct uroce_requester *req)
{
	return req->una != req->high || req->refused;
}

/*
 * The queues below have taken packets. If they refused some before, the time
 * for an answer begins now.
 */
static inline void uroce_req_accepted(struct uroce_requester *req)
{
	req->stuck = 0;
	if (likely(!req->refused))
		return;
	req->refused = false;
	timer_delete(&req->timer);
}

/* window.c. Context: the requester's lock. */
void uroce_window_start(struct uroce_requester *req);
void uroce_window_gain(struct uroce_requester *req, u32 packets);
void uroce_window_cut(struct uroce_requester *req);
void uroce_window_close(struct uroce_requester *req);

/* comp.c. Context: the requester's lock. */
void uroce_comp_advance(struct uroce_conn *conn, u32 una);

/* held.c */
void uroce_held_init(struct uroce_held *held);

/* answer.c: the responder's timer */
enum hrtimer_restart uroce_resp_soon(struct hrtimer *timer);

#endif
