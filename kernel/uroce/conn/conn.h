/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The room of connections over packets: a requester, which sends requests and
 * completes them when the peer acknowledges (req.c, comp.c), and a responder,
 * which executes the peer's requests (resp.c, answer.c). The room knows
 * packets. It does not know queues, memory or devices: the owner of a
 * connection passes them in as struct uroce_conn_ops. The owner has one lock
 * for each side, calls the functions of a side under its lock and is called
 * back under it. No operation may sleep or call back into the connection.
 */
#ifndef UROCE_CONN_H
#define UROCE_CONN_H

#include <linux/hrtimer.h>
#include <linux/timer.h>
#include <rdma/ib_verbs.h>

#include "../dev/stats.h"
#include "../net/net.h"
#include "care.h"
#include "msg.h"
#include "repeat.h"
#include "piece.h"
#include "response.h"
#include "throttle.h"

struct uroce_conn;

/**
 * struct uroce_conn_ops - how a connection reaches its queue pair
 * @msg: the send request of a free-running index; it was posted and is not
 *	complete
 * @gather: copy payload of a request into a buffer; -EAGAIN: pages are being
 *	faulted in, try again later
 * @attach: add payload of a request to a packet as pages, those of the process
 *	or copies; -EOPNOTSUPP if that is impossible, and then the packet has to
 *	be freed; -EAGAIN as @gather
 * @together: the maximum number of packets that a GSO packet may stand for (a
 *	request or a response); 0: none can be sent
 * @scatter: copy a packet's payload into the memory that a read or atomic
 *	names; -EAGAIN likewise
 * @local: execute a request that needs no packet; -EAGAIN: try again later
 * @done: complete a request; called once for each, in order. After an error
 *	status nothing more is sent: the owner moves the queue pair to the error
 *	state and flushes the remaining requests.
 * @aim: XRC only: the following operations are for the shared receive queue of
 *	that number and use its protection domain; fails if the peer may not
 *	name it
 * @take: take a receive request for a new message; -ENOENT if there is none
 * @place: copy a packet's payload into the receive request; -EAGAIN likewise,
 *	and as of @write, @read, @atomic and @atomic_write
 * @received: complete the receive request
 * @check: may the peer access that memory?
 * @write: copy a packet's payload into remote-accessible memory
 * @read: copy remote-accessible memory into a buffer
 * @fill: as @read, into pages of a packet; also -ENOMEM. After a failure the
 *	packet has to be freed.
 * @atomic: execute a 64-bit atomic: compare and swap if @swap is set, else
 *	fetch and add
 * @atomic_write: store the 64 bits of @value at once
 * @flush_memory: flush @len bytes from @va on, or with @whole the region of
 *	@rkey, if it grants @access
 * @invalidate: invalidate a key for the peer; -EAGAIN: not now, the packet is
 *	treated as lost
 * @served: a read or a write of @len bytes of the peer was executed; called if
 *	uroce_responder.counted is set
 * @broken: a request of the peer was refused: move the queue pair to the error
 *	state and raise @event, an enum ib_event_type, or none if it is 0
 * @count: count an event
 * @established: the first packet has arrived in state RTR
 * @room: may a packet be sent now (a request or a response)?
 * @xmit: send a packet, at the latest when @flush is called; consumes it.
 *	-ENOBUFS: not now
 * @flush: send pending packets; -ENOBUFS: packets since the last call are lost
 * @rerun: arrange a call of uroce_req_run() or, for responses, of
 *	uroce_resp_run(); called without a lock
 * @migrate: all retries are used up: migrate to the alternate path, set
 *	@req.tries, and return true; or return false if that is impossible
 *
 * Operations that return int return 0 or an enum ib_wc_status, unless noted
 * otherwise.
 */
struct uroce_conn_ops {
	struct uroce_msg *(*msg)(struct uroce_conn *conn, u32 index);
	int (*gather)(struct uroce_conn *conn, struct uroce_msg *msg,
		      u32 offset, void *to, u32 len);
	int (*attach)(struct uroce_conn *conn, struct uroce_msg *msg,
		      u32 offset, struct sk_buff *skb, u32 len);
	u32 (*together)(struct uroce_conn *conn, bool response);
	int (*scatter)(struct uroce_conn *conn, struct uroce_msg *msg,
		       u32 offset, const struct uroce_packet *pkt);
	int (*local)(struct uroce_conn *conn, struct uroce_msg *msg);
	void (*done)(struct uroce_conn *conn, struct uroce_msg *msg,
		     enum ib_wc_status status);

	int (*aim)(struct uroce_conn *conn, u32 srqn);
	int (*take)(struct uroce_conn *conn);
	int (*place)(struct uroce_conn *conn, u32 offset,
		     const struct uroce_packet *pkt);
	void (*received)(struct uroce_conn *conn, const struct ib_wc *wc,
			 bool solicited);
	int (*check)(struct uroce_conn *conn, u32 rkey, u64 va, u32 len,
		     int access);
	int (*write)(struct uroce_conn *conn, u32 rkey, u64 va,
		     const struct uroce_packet *pkt);
	int (*read)(struct uroce_conn *conn, u32 rkey, u64 va, void *to,
		    u32 len);
	int (*fill)(struct uroce_conn *conn, u32 rkey, u64 va,
		    struct sk_buff *skb, u32 len);
	int (*atomic)(struct uroce_conn *conn, u32 rkey, u64 va, bool swap,
		      u64 compare, u64 operand, u64 *orig);
	int (*atomic_write)(struct uroce_conn *conn, u32 rkey, u64 va,
			    u64 value);
	int (*flush_memory)(struct uroce_conn *conn, u32 rkey, u64 va, u32 len,
			    u32 access, bool whole);
	int (*invalidate)(struct uroce_conn *conn, u32 rkey);
	void (*served)(struct uroce_conn *conn, bool read, u32 len);
	void (*broken)(struct uroce_conn *conn, u32 event);
	void (*established)(struct uroce_conn *conn);

	void (*count)(struct uroce_conn *conn, enum uroce_counter what);

	bool (*room)(struct uroce_conn *conn, bool response);
	int (*xmit)(struct uroce_conn *conn, struct sk_buff *skb,
		    bool response);
	int (*flush)(struct uroce_conn *conn, bool response);
	void (*rerun)(struct uroce_conn *conn, bool response);
	bool (*migrate)(struct uroce_conn *conn);
};

/**
 * struct uroce_requester - the requester
 * @running: may send
 * @waiting: the peer had no receive request: nothing is sent before @ready_at
 * @expired: @timer has fired; set by the timer and cleared by the requester
 * @went_back: the requester went back to @una, and nothing was acknowledged
 *	since
 * @copies: the payload of @next cannot be sent as pages
 * @single: the payload of @next has too many pieces for a GSO packet
 * @refused: the queues below have refused the latest packet
 * @stuck: how often nothing could be sent since the last packet; see
 *	uroce_soon()
 * @done: number of completed requests; free-running, like the next three
 * @next: the request of the next packet
 * @begun: requests that have sequence numbers
 * @posted: requests that were posted
 * @offset: bytes of @next that were sent or asked for
 * @psn: sequence number of the next packet
 * @free: the first sequence number that no request has
 * @una: the oldest unacknowledged sequence number
 * @high: the sequence number after the highest one that was ever sent
 * @streak: number of small requests that began one after the other
 * @silent: packets sent since the last one that asked for an acknowledgement
 * @window: maximum number of packets in flight
 * @calm: half the window of the last loss; above it the window grows slowly
 * @gained: packets acknowledged since the window last grew
 * @cut: losses before this sequence number belong to the last loss
 * @care: packets are sent one by one after a loss
 * @missing: packets that the peer misses
 * @piece: size of the pieces in which reads are requested
 * @throttle: UC: the rate of packets while the network is congested
 * @reads: reads and atomics in flight
 * @max_reads: maximum of @reads that the peer accepts
 * @tries: retries left, of @retry_cnt
 * @retry_cnt: attribute of the queue pair
 * @rnr_tries: RNR retries left, of @rnr_retry
 * @rnr_retry: attribute of the queue pair; 7 means no limit
 * @rnr_waits: RNR NAKs since the last acknowledgement; not counted beyond the
 *	longest wait
 * @ready_at: end of the wait after an RNR NAK, in nanoseconds of the monotonic
 *	clock
 * @timeout: in jiffies; 0 means no timeout
 * @timer: the peer does not answer
 * @soon: tries again after a queue below was full, or at @ready_at
 */
struct uroce_requester {
	bool running;
	bool waiting;
	bool expired;
	bool went_back;
	bool refused;
	bool copies;
	bool single;
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
	u32 streak;
	u32 silent;
	u32 window;
	u32 calm;
	u32 gained;
	u32 cut;
	struct uroce_care care;
	struct uroce_missing missing;
	struct uroce_piece piece;
	struct uroce_throttle throttle;
	u32 reads;
	u32 max_reads;
	u8 tries;
	u8 retry_cnt;
	u8 rnr_tries;
	u8 rnr_retry;
	u8 rnr_waits;
	u64 ready_at;
	unsigned long timeout;
	struct timer_list timer;
	struct hrtimer soon;
};

#define UROCE_PATIENCE_BEGINS U64_MAX

/**
 * struct uroce_responder - the responder
 * @running: may receive
 * @counted: the owner counts the peer's reads and writes
 * @told: the peer was told to go back; no further NAK until it did or until
 *	@patience is over
 * @established: a packet has arrived
 * @has_recv: a receive request is held
 * @waiting: some of @responses may be pending
 * @pressed: a request has arrived since a packet was last sent into full queues
 * @stuck: how often nothing could be sent since the last packet; see
 *	uroce_soon()
 * @ack: an acknowledgement is due, after the pending responses
 * @refused: that acknowledgement is a final NAK, and then the connection ends
 * @event: the event that the owner raises then
 * @op: type of the current message, %UROCE_OP_SEND or %UROCE_OP_WRITE; 0 for
 *	none
 * @psn: expected sequence number
 * @swept: value of @psn when old @responses were last forgotten
 * @msn: messages executed
 * @offset: bytes received of the current message
 * @srqn: XRC: the shared receive queue that the message is for
 * @length: of a write: length of the message
 * @rkey: of a write: key
 * @va: of a write: address
 * @syndrome: syndrome of the acknowledgement that is due
 * @ack_psn: sequence number of the acknowledgement that is due
 * @access: enum ib_access_flags that the peer has
 * @rnr_timer: RNR timer value that is sent to the peer
 * @congested: time in jiffies of the last notification that may concern
 *	responses; 0: none, see uroce_resp_told()
 * @throttle: the rate of responses while the network is congested
 * @told_congestion: time of the last congestion notification; 0 for none
 * @patience: time in nanoseconds until which a peer that was told to wait sends
 *	nothing; 0: it was not told to wait; %UROCE_PATIENCE_BEGINS: the RNR NAK
 *	has not left yet
 * @care: packets are sent one by one after a loss
 * @held: packets that arrived behind a gap
 * @limit: number of remembered reads and atomics; a power of two, since @count
 *	wraps
 * @count: reads and atomics so far
 * @responses: the last @limit of them; memory of the owner
 * @soon: sends what could not be sent at once
 */
struct uroce_responder {
	bool running;
	bool counted;
	bool told;
	bool established;
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
	unsigned long congested;
	struct uroce_throttle throttle;
	u64 told_congestion;
	u64 patience;
	struct uroce_care care;
	struct uroce_held held;
	u32 limit;
	u32 count;
	struct uroce_response *responses;
	struct hrtimer soon;
};

/**
 * struct uroce_conn - a connection
 * @ops: how it reaches its queue pair
 * @service: %UROCE_RC, %UROCE_UC or %UROCE_XRC
 * @peer: number of the remote queue pair
 * @selective: repeat only missing packets, if the peer can do so as well
 * @pkey: partition
 * @mig: %UROCE_BTH_MIG, or 0 while a migration to an alternate path is possible
 * @mtu: path MTU: bytes of payload in a packet
 * @pace: how fast the requester may send, under its lock; NULL: no limit
 * @req: requester
 * @resp: responder
 */
struct uroce_conn {
	const struct uroce_conn_ops *ops;
	u8 service;
	bool selective;
	u32 peer;
	u16 pkey;
	u8 mig;
	u32 mtu;
	struct uroce_pace *pace;
	struct uroce_requester req;
	struct uroce_responder resp;
};

/* conn.c */
void uroce_conn_init(struct uroce_conn *conn, const struct uroce_conn_ops *ops,
		     u8 service);
void uroce_conn_stop(struct uroce_conn *conn);
bool uroce_conn_accepts(const struct uroce_conn *conn,
			const struct uroce_packet *pkt, u16 pkey);
u8 *uroce_bth_put(const struct uroce_conn *conn, struct sk_buff *skb, u8 opcode,
		  u32 psn, u32 pad);

/* How often the wait of uroce_soon() doubles. */
#define UROCE_SOON_DOUBLED 4

static inline bool uroce_conn_is_reliable(const struct uroce_conn *conn)
{
	return conn->service != UROCE_UC;
}

/* req.c. Context: the requester's lock. */
void uroce_req_start(struct uroce_conn *conn, u32 psn);
u32 uroce_req_withdraw(struct uroce_conn *conn);
void uroce_req_halt(struct uroce_conn *conn);
bool uroce_req_run(struct uroce_conn *conn, u32 posted);
u32 uroce_req_packets(const struct uroce_conn *conn, u32 len);

/* piece.c. Context: the requester's lock. */
u32 uroce_req_piece(const struct uroce_conn *conn, const struct uroce_msg *msg);

/* build.c. Context: the requester's lock. */
struct sk_buff *uroce_req_build(struct uroce_conn *conn, struct uroce_msg *msg,
				u32 len, int *status, bool pages);

/* comp.c. Context: the requester's lock. */
void uroce_comp_receive(struct uroce_conn *conn,
			const struct uroce_packet *pkt);
bool uroce_comp_takes(const struct uroce_conn *conn,
		      const struct uroce_packet *pkt);

/* resp.c, answer.c, held.c. Context: the responder's lock. */
void uroce_resp_start(struct uroce_conn *conn, u32 psn);
void uroce_resp_halt(struct uroce_conn *conn);
bool uroce_resp_takes(const struct uroce_conn *conn,
		      const struct uroce_packet *pkt);
void uroce_resp_receive(struct uroce_conn *conn,
			const struct uroce_packet *pkt);
void uroce_resp_congested(struct uroce_conn *conn);
void uroce_resp_told(struct uroce_conn *conn);
void uroce_resp_run(struct uroce_conn *conn);
void uroce_held_check(struct uroce_conn *conn, bool any);
void uroce_held_purge(struct uroce_conn *conn);
struct uroce_response *uroce_resp_grow(struct uroce_conn *conn,
				       struct uroce_response *responses,
				       u32 limit);

/* expect.c. Context: the lock of the side. */
bool uroce_req_expects(const struct uroce_conn *conn, u32 psn);
bool uroce_resp_expects(const struct uroce_conn *conn, u32 psn);
void uroce_req_again(struct uroce_conn *conn);

#endif
