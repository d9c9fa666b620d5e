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
 * A read is requested in pieces of so many packets, so that the window limits
 * responses as it limits requests. A retransmission may request such pieces as
 * well, so every responder supports it.
 */
#define UROCE_READ_PACKETS 32

void uroce_soon(struct hrtimer *timer, u8 *stuck);
void uroce_wait_pace(struct uroce_conn *conn);

/* req.c. Context: the requester's lock, except for the timers. */
void uroce_req_back(struct uroce_conn *conn);
void uroce_req_pause(struct uroce_conn *conn, u64 ns);
void uroce_req_retry(struct uroce_conn *conn);
void uroce_req_seek(struct uroce_conn *conn, u32 psn);
void uroce_req_fail(struct uroce_conn *conn, enum ib_wc_status status);
void uroce_req_timer(struct timer_list *timer);
enum hrtimer_restart uroce_req_soon(struct hrtimer *timer);

/* window.c. Context: the requester's lock. */
void uroce_window_start(struct uroce_requester *req);
void uroce_window_gain(struct uroce_requester *req, u32 packets);
void uroce_window_cut(struct uroce_requester *req);
void uroce_window_close(struct uroce_requester *req);
/* Context: the lock of the side that @care belongs to. */
void uroce_care_begin(struct uroce_care *care, u32 psn);

/* comp.c. Context: the requester's lock. */
void uroce_comp_advance(struct uroce_conn *conn, u32 una);

/* answer.c: the responder's timer */
enum hrtimer_restart uroce_resp_soon(struct hrtimer *timer);

#endif
