/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connections over packets: a requester, which sends requests and completes them
 * as the peer acknowledges (req.c, comp.c), and a responder, which executes the
 * peer's (resp.c, answer.c). They know nothing of queues, memory or devices: whoever owns a
 * connection hands those in as struct uroce_conn_ops, and has a lock for each
 * side, under which it calls the functions of that side and is called back. No
 * operation may sleep or come back into the connection.
 */
#ifndef UROCE_CONN_H
#define UROCE_CONN_H

#include <linux/hrtimer.h>
#include <linux/timer.h>
#include <rdma/ib_verbs.h>

#include "net.h"
#include "stats.h"
#include "wire.h"

struct uroce_conn;

/* IB_WR_ATOMIC_WRITE, of which kernels before 6.2 know nothing */
#define UROCE_WR_ATOMIC_WRITE 15

/**
 * struct uroce_msg - a send request, as far as packets need it
 * @va: remote address
 * @compare_add: atomic operand
 * @swap: atomic operand
 * @imm: of what is no atomic: immediate data, or in host order as __force the key
 *	to invalidate
 * @rkey: remote key
 * @length: bytes of payload
 * @first: the requester's: sequence number of the first packet
 * @last: the requester's: of the last; before @first if there is none
 * @srqn: XRC: the remote shared receive queue
 * @op: enum ib_wr_opcode, or %UROCE_WR_ATOMIC_WRITE: what is to be done; RDMA, atomics, sends, or local
 *	operations
 * @fence: not before earlier reads and atomics are done
 * @solicited: raises a solicited event
 * @executed: the requester's: a local operation that is through
 *
 * A queue pair has one for each request that it can hold, so it is kept small.
 */
struct uroce_msg {
	u64 va;
	union {
		struct {
			u64 compare_add;
			u64 swap;
		};
		__be32 imm;
	};
	u32 rkey;
	u32 length;
	u32 first;
	u32 last;
	u32 srqn;
	u8 op;
	bool fence : 1;
	bool solicited : 1;
	bool executed : 1;
};

/**
 * struct uroce_conn_ops - what a connection stands on
 * @msg: the send request of a free-running index that was posted and is not done
 * @gather: payload of a request into a buffer
 * @attach: payload of a request to a packet, as its pages; -EOPNOTSUPP if that
 *	cannot be, and the packet is of no use any more
 * @scatter: a packet's payload into the memory that a read or atomic names
 * @local: execute a request that needs no packet; -EAGAIN: not now
 * @done: a request is complete; called in order, once for each. After a status
 *	that is no success nothing more is sent; the owner moves the queue pair to
 *	its error state and flushes what is left.
 * @aim: XRC alone: what follows is for the shared receive queue of that number, and
 *	reaches what that does; fails if the peer may not name it
 * @take: get a receive request for the message that begins; -ENOENT if there is none
 * @place: a packet's payload into the receive request
 * @received: the receive request is complete
 * @check: may the peer do this with that memory?
 * @write: a packet's payload into memory
 * @read: memory into a buffer
 * @atomic: execute, 64 bits wide; compare and swap if @swap is so
 * @atomic_write: all of @value at once
 * @invalidate: a key, on behalf of the peer; -EAGAIN: not now, the packet is as
 *	good as lost
 * @broken: the peer's request was refused; the queue pair has to go to its error
 *	state and to raise @event, an enum ib_event_type; 0 is none
 * @count: something that is counted has happened
 * @established: the first packet in the state RTR
 * @room: may a packet be sent now, a request or a response?
 * @xmit: send a packet, at the latest with @flush; consumes it. -ENOBUFS: not now
 * @flush: -ENOBUFS: packets since the last time are lost
 * @rerun: see to it that uroce_req_run() or, for responses, uroce_resp_run() is
 *	called; no lock is held
 *
 * Those that return int return 0 or an enum ib_wc_status, unless said otherwise.
 */
struct uroce_conn_ops {
	struct uroce_msg *(*msg)(struct uroce_conn *conn, u32 index);
	int (*gather)(struct uroce_conn *conn, struct uroce_msg *msg, u32 offset,
		      void *to, u32 len);
	int (*attach)(struct uroce_conn *conn, struct uroce_msg *msg, u32 offset,
		      struct sk_buff *skb, u32 len);
	int (*scatter)(struct uroce_conn *conn, struct uroce_msg *msg, u32 offset,
		       const struct uroce_packet *pkt);
	int (*local)(struct uroce_conn *conn, struct uroce_msg *msg);
	void (*done)(struct uroce_conn *conn, struct uroce_msg *msg,
		     enum ib_wc_status status);

	int (*aim)(struct uroce_conn *conn, u32 srqn);
	int (*take)(struct uroce_conn *conn);
	int (*place)(struct uroce_conn *conn, u32 offset,
		     const struct uroce_packet *pkt);
	void (*received)(struct uroce_conn *conn, const struct ib_wc *wc,
			 bool solicited);
	int (*check)(struct uroce_conn *conn, u32 rkey, u64 va, u32 len, int access);
	int (*write)(struct uroce_conn *conn, u32 rkey, u64 va,
		     const struct uroce_packet *pkt);
	int (*read)(struct uroce_conn *conn, u32 rkey, u64 va, void *to, u32 len);
	int (*atomic)(struct uroce_conn *conn, u32 rkey, u64 va, bool swap,
		      u64 compare, u64 operand, u64 *orig);
	int (*atomic_write)(struct uroce_conn *conn, u32 rkey, u64 va, u64 value);
	int (*invalidate)(struct uroce_conn *conn, u32 rkey);
	void (*broken)(struct uroce_conn *conn, u32 event);
	void (*established)(struct uroce_conn *conn);

	void (*count)(struct uroce_conn *conn, enum uroce_counter what);

	bool (*room)(struct uroce_conn *conn, bool response);
	int (*xmit)(struct uroce_conn *conn, struct sk_buff *skb, bool response);
	int (*flush)(struct uroce_conn *conn, bool response);
	void (*rerun)(struct uroce_conn *conn, bool response);
};

/**
 * struct uroce_care - how many packets go out one by one
 * @left: still so many
 * @span: so many after the last loss; 0: there was none
 * @until: the first sequence number that may have travelled in a run since
 */
struct uroce_care {
	u32 left;
	u32 span;
	u32 until;
};

/**
 * struct uroce_requester - the requester
 * @running: may send
 * @waiting: the peer had no receive request: nothing before the timer
 * @expired: the timer has fired; written by it alone but for clearing
 * @went_back: sent again from @una, and nothing has moved since
 * @copies: the payload of @next cannot leave as its pages
 * @stuck: how often nothing could leave since something did; see uroce_soon()
 * @done: requests completed; with the three below free-running indices
 * @next: the request that the next packet belongs to
 * @begun: requests that were given sequence numbers
 * @posted: requests that there are
 * @offset: bytes of @next that were sent or asked for
 * @psn: of the next packet
 * @free: first sequence number that no request has
 * @una: oldest that is not acknowledged
 * @high: behind the highest that was ever sent
 * @row: small requests that began one behind the other
 * @silent: packets sent since the last that asks for an acknowledgement
 * @window: how many packets may be under way
 * @calm: window at which things last went wrong; from there on it grows slowly
 * @gained: packets acknowledged since it last grew
 * @cut: sequence number up to which losses are of one kind with the last
 * @care: after a loss packets go out one by one
 * @reads: reads and atomics under way
 * @max_reads: how many the peer bears
 * @tries: left, of @retry_cnt
 * @rnr_tries: left, of @rnr_retry; 7 is for ever
 * @timeout: in jiffies; 0 is for ever
 * @timer: the peer does not answer, or may be sent to again
 * @soon: a queue on the way was full: tries again
 */
struct uroce_requester {
	bool running;
	bool waiting;
	bool expired;
	bool went_back;
	bool copies;
	u8 stuck;
	u32 done;
	u32 next;
	u32 begun;
	u32 posted;
	u32 offset;
	u32 psn;
	u32 free;
	u32 una;
	u32 high;
	u32 row;
	u32 silent;
	u32 window;
	u32 calm;
	u32 gained;
	u32 cut;
	struct uroce_care care;
	u32 reads;
	u32 max_reads;
	u8 tries;
	u8 retry_cnt;
	u8 rnr_tries;
	u8 rnr_retry;
	unsigned long timeout;
	struct timer_list timer;
	struct hrtimer soon;
};

/**
 * struct uroce_response - a read or an atomic, as long as it may be asked for again
 * @op: its opcode's flags; 0 for none
 * @pending: not all of it has been sent
 * @again: it had been, before the peer asked once more
 * @first: sequence numbers of the responses
 * @last: the same
 * @psn: the next to send
 * @until: the last to send
 * @srqn: XRC: the shared receive queue that it was asked by
 * @rkey: what is read
 * @va: address of the byte that @from begins with
 * @from: the sequence number that belongs to @va
 * @end: behind the last byte
 * @msn: message sequence number
 * @orig: what an atomic found
 */
struct uroce_response {
	u16 op;
	bool pending;
	bool again;
	u32 first;
	u32 last;
	u32 psn;
	u32 until;
	u32 srqn;
	u32 rkey;
	u64 va;
	u32 from;
	u64 end;
	u32 msn;
	u64 orig;
};

/**
 * struct uroce_responder - the other side
 * @running: may receive
 * @told: told the peer to go back; silent until it did, or until @patience is over
 * @heard: a packet has come
 * @has_recv: holds a receive request
 * @waiting: some of @responses may be pending
 * @pressed: the peer has asked since a packet last left without room
 * @stuck: how often nothing could leave since something did; see uroce_soon()
 * @ack: an acknowledgement is due, behind the responses that are pending
 * @refused: that is the last word, and then the connection is over
 * @event: what the owner raises then
 * @op: what the message under way does, %UROCE_OP_SEND or %UROCE_OP_WRITE; or 0
 * @psn: expected
 * @swept: the same, when old @responses were last forgotten
 * @msn: messages executed
 * @offset: bytes of the message under way
 * @srqn: XRC: the shared receive queue that it is for
 * @length: of a write, all its bytes
 * @rkey: of a write
 * @va: of a write
 * @syndrome: of the acknowledgement that is due
 * @ack_psn: its sequence number
 * @access: enum ib_access_flags, what the peer may do
 * @rnr_timer: what to tell a peer that has to wait
 * @told_congestion: when the peer was last told; 0 is never
 * @patience: in nanoseconds, when a peer that was told to wait may send again; 0: it
 *	was not told to wait
 * @care: after a loss packets go out one by one
 * @limit: how many reads and atomics are remembered; a power of two, since @count
 *	comes round
 * @count: reads and atomics so far
 * @responses: the last @limit of them; the owner's memory
 * @soon: sends what did not go out at once
 */
struct uroce_responder {
	bool running;
	bool told;
	bool heard;
	bool has_recv;
	bool waiting;
	bool pressed;
	u8 stuck;
	bool ack;
	bool refused;
	u32 event;
	u16 op;
	u32 psn;
	u32 swept;
	u32 msn;
	u32 offset;
	u32 srqn;
	u32 length;
	u32 rkey;
	u64 va;
	u8 syndrome;
	u32 ack_psn;
	int access;
	u8 rnr_timer;
	u64 told_congestion;
	u64 patience;
	struct uroce_care care;
	u32 limit;
	u32 count;
	struct uroce_response *responses;
	struct hrtimer soon;
};

/**
 * struct uroce_conn - a connection
 * @ops: what it stands on
 * @service: %UROCE_RC, %UROCE_UC or %UROCE_XRC
 * @peer: its queue pair
 * @pkey: partition
 * @mtu: bytes of payload in a packet, path MTU
 * @req: requester
 * @resp: responder
 */
struct uroce_conn {
	const struct uroce_conn_ops *ops;
	u8 service;
	u32 peer;
	u16 pkey;
	u32 mtu;
	struct uroce_requester req;
	struct uroce_responder resp;
};

/*
 * After so many nanoseconds who found a queue on the way full tries again. What may be
 * under way at a time leaves a fast device in less than a clock tick. Where nothing can
 * leave, each wait is twice as long as the last one, up to so many times: thousands of
 * queue pairs would wake up for nothing.
 */
#define UROCE_SOON_NS (250 * NSEC_PER_USEC)
#define UROCE_SOON_DOUBLED 4

/* conn.c */
void uroce_soon(struct hrtimer *timer, u8 *stuck);
void uroce_conn_init(struct uroce_conn *conn, const struct uroce_conn_ops *ops,
		     u8 service);
void uroce_conn_stop(struct uroce_conn *conn);
bool uroce_conn_accepts(const struct uroce_conn *conn,
			const struct uroce_packet *pkt);
u8 *uroce_bth_put(const struct uroce_conn *conn, struct sk_buff *skb, u8 opcode,
		  u32 psn, u32 pad);

/* qp.c: what an RNR timer stands for */
u64 uroce_rnr_ns(u8 timer);

/* req.c: under the requester's lock, but for the timer */
void uroce_req_start(struct uroce_conn *conn, u32 psn);
void uroce_req_halt(struct uroce_conn *conn);
bool uroce_req_run(struct uroce_conn *conn, u32 posted);
void uroce_req_back(struct uroce_conn *conn);
void uroce_req_retry(struct uroce_conn *conn);
void uroce_req_seek(struct uroce_conn *conn, u32 psn);
void uroce_req_fail(struct uroce_conn *conn, enum ib_wc_status status);
u32 uroce_req_packets(const struct uroce_conn *conn, u32 len);
u32 uroce_req_piece(const struct uroce_conn *conn, const struct uroce_msg *msg);
struct sk_buff *uroce_req_build(struct uroce_conn *conn, struct uroce_msg *msg,
				u32 len, int *status, bool pages);
void uroce_req_timer(struct timer_list *timer);
enum hrtimer_restart uroce_req_soon(struct hrtimer *timer);

/* window.c: under the requester's lock */
void uroce_window_start(struct uroce_requester *req);
void uroce_window_gain(struct uroce_requester *req, u32 packets);
void uroce_window_cut(struct uroce_requester *req);
void uroce_window_close(struct uroce_requester *req);
/* Likewise, and under the responder's */
void uroce_care_begin(struct uroce_care *care, u32 psn);

/*
 * The packet of @psn leaves: alone? Where runs begin again is only known then, for what
 * is sent once more counts as well.
 */
static inline bool uroce_care_alone(struct uroce_care *care, u32 psn)
{
	if (likely(!care->left))
		return false;
	if (!--care->left)
		care->until = uroce_psn_add(psn, 1);
	return true;
}

/* comp.c: under the requester's lock */
void uroce_comp_receive(struct uroce_conn *conn, const struct uroce_packet *pkt);
void uroce_comp_advance(struct uroce_conn *conn, u32 una);

/* resp.c, answer.c: under the responder's lock, but for the timer */
void uroce_resp_start(struct uroce_conn *conn, u32 psn);
void uroce_resp_halt(struct uroce_conn *conn);
void uroce_resp_receive(struct uroce_conn *conn, const struct uroce_packet *pkt);
void uroce_resp_congested(struct uroce_conn *conn);
void uroce_resp_run(struct uroce_conn *conn);
struct uroce_response *uroce_resp_grow(struct uroce_conn *conn,
				       struct uroce_response *responses, u32 limit);
enum hrtimer_restart uroce_resp_soon(struct hrtimer *timer);

static inline bool uroce_msg_is_local(const struct uroce_msg *msg)
{
	return msg->op == IB_WR_LOCAL_INV || msg->op == IB_WR_BIND_MW ||
	       msg->op == IB_WR_REG_MR;
}

static inline bool uroce_msg_is_read(const struct uroce_msg *msg)
{
	return msg->op == IB_WR_RDMA_READ || msg->op == IB_WR_RDMA_READ_WITH_INV;
}

static inline bool uroce_msg_is_atomic(const struct uroce_msg *msg)
{
	return msg->op == IB_WR_ATOMIC_CMP_AND_SWP ||
	       msg->op == IB_WR_ATOMIC_FETCH_AND_ADD;
}

/* What is complete only when its response has come */
static inline bool uroce_msg_has_response(const struct uroce_msg *msg)
{
	return uroce_msg_is_read(msg) || uroce_msg_is_atomic(msg) ||
	       msg->op == UROCE_WR_ATOMIC_WRITE;
}

#endif
