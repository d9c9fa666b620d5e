// SPDX-License-Identifier: GPL-2.0
/*
 * The requester's half of selective repeat. A peer that supports it holds the
 * packets behind a gap and names them in its NAK. The requester repeats the
 * other ones between new packets. It keeps its place in its requests, so
 * packets that the peer holds are not sent again.
 *
 * A repeated packet is taken for lost when the peer holds a packet that was
 * sent later. If no packet follows, a probe finds out: when nothing was
 * acknowledged for some time, the last packet is sent again and asks for an
 * answer, which names what is missing. Neither costs a try. When all probes
 * remain without effect, the ACK timer goes back to the oldest packet.
 *
 * The requester does not trust the peer. A peer can name only packets that were
 * sent, and it can cause a packet to be repeated only a limited number of times
 * (ROUNDS and PROBES) before the ACK timer decides.
 */
#include <linux/skbuff.h>

#include "compat.h"
#include "req.h"

/*
 * A probe is sent after PROBE_NS without progress. Each probe doubles this
 * time, at most PROBE_DOUBLED times, and each interval with progress halves it,
 * so a slow peer causes few needless probes. At most PROBES are sent without
 * progress.
 */
#define PROBE_NS	(4 * NSEC_PER_MSEC)
#define PROBE_DOUBLED	4
#define PROBES		6

/*
 * The oldest packet is repeated at most this often without progress or a probe.
 */
#define ROUNDS		4

/*
 * A few missing packets are not taken for congestion: a full queue drops many,
 * and routers mark packets before that. More than this part of a window halves
 * it.
 */
#define BENIGN_PART	16
#define BENIGN_MIN	2

/*
 * This many missing packets in succession may be a run that a device has
 * dropped.
 */
#define RUN_LIKELY	3

/*
 * After this many acknowledgements without UROCE_BTH_SELECTIVE it is not sent.
 */
#define PLAIN_ACKS	16

/* ---- one packet ---------------------------------------------------------- */

/*
 * Sends the packet at req.psn, where the requester was moved for this packet
 * only. @bare: the packet only asks for an acknowledgement: it is not sent if
 * its request has a response, and an error of the request is ignored.
 */
static enum uroce_req_step send_here(struct uroce_conn *conn, bool asks,
				     bool bare, u32 *packets)
{
	struct uroce_requester *req = &conn->req;
	struct uroce_msg *msg = conn->ops->msg(conn, req->next);
	u32 len = uroce_req_piece(conn, msg);
	struct sk_buff *skb;
	int status = 0, ret;

	*packets = uroce_msg_is_read(msg) ? uroce_req_packets(conn, len) : 1;
	if (uroce_msg_has_response(msg)) {
		if (bare)
			return REQ_STOP;
		asks = false;
	}
	skb = uroce_req_build(conn, msg, len, &status, false);
	if (!skb)
		return REQ_LATER;
	if (status) {
		kfree_skb(skb);
		if (status == -EAGAIN)
			return REQ_LATER;
		/* A request that cannot be executed fails in its turn. */
		if (bare || req->done != req->next)
			return REQ_GO_ON;
		uroce_req_fail(conn, status);
		return REQ_FAILED;
	}
	uroce_pace_take(conn->pace, skb->len);
	req->care.alone = true;
	ret = uroce_req_xmit(conn, skb, asks);
	req->care.alone = false;
	return ret == -ENOBUFS ? REQ_LATER : REQ_GO_ON;
}

/*
 * Sends the packet of @psn, which was sent before, once more. @request: index
 * of a request that is not behind it; set to that of its own. @asks: it asks
 * for an acknowledgement. @packets is set to the number of sequence numbers
 * that it takes. The place is restored without another search among the
 * requests, of which a process can have thousands.
 */
static enum uroce_req_step send_again(struct uroce_conn *conn, u32 psn,
				      u32 *request, bool asks, bool bare,
				      u32 *packets)
{
	struct uroce_requester *req = &conn->req;
	u32 place = req->psn, next = req->next, offset = req->offset;
	enum uroce_req_step step;

	uroce_req_seek(conn, psn, *request);
	*request = req->next;
	step = send_here(conn, asks, bare, packets);
	if (step == REQ_FAILED)
		return step;
	req->psn = place;
	req->next = next;
	req->offset = offset;
	return step;
}

/*
 * The last packet did not ask for an acknowledgement, and no other one follows.
 * It is sent once more, and asks; the peer treats it as a duplicate. REQ_LATER:
 * that is impossible now, and is to be tried again, since there may be no ACK
 * timer.
 */
enum uroce_req_step uroce_req_ask_again(struct uroce_conn *conn)
{
	struct uroce_requester *req = &conn->req;
	u32 request = req->done, packets;

	if (req->psn != req->una &&
	    send_again(conn, uroce_psn_add(req->psn, -1), &request, true, true,
		       &packets) == REQ_LATER)
		return REQ_LATER;
	req->silent = 0;
	return REQ_STOP;
}

/* ---- what the peer tells ------------------------------------------------- */

/*
 * Should packets show that this side supports selective repeat? Not for ever to
 * a peer that never shows it, and not without an ACK timer: a packet that is
 * lost behind the last NAK is found by timers only.
 */
bool uroce_missing_shown(const struct uroce_conn *conn)
{
	const struct uroce_missing *missing = &conn->req.missing;

	return conn->selective && conn->req.timeout &&
	       (missing->known || missing->plain < PLAIN_ACKS);
}

/* The peer acknowledges with the bit that @pkt has, or refuses a packet. */
void uroce_missing_heard(struct uroce_conn *conn,
			 const struct uroce_packet *pkt, bool refuses)
{
	struct uroce_missing *missing = &conn->req.missing;

	if (uroce_bth_selective(pkt->bth))
		missing->known = conn->selective;
	else if (!refuses && missing->plain < PLAIN_ACKS)
		missing->plain++;
}

/* A new oldest packet: nothing was tried for it yet. */
static void look_at_oldest(struct uroce_requester *req)
{
	struct uroce_missing *missing = &req->missing;

	if (missing->at == req->una)
		return;
	missing->at = req->una;
	missing->rounds = 0;
	missing->probes = 0;
}

/* Rounds and probes on the former path do not count on another one. */
void uroce_missing_again(struct uroce_requester *req)
{
	req->missing.rounds = 0;
	req->missing.probes = 0;
}

static bool is_held(const struct uroce_missing *missing, u32 psn)
{
	u32 i = uroce_psn_diff(psn, missing->from);

	/* The packet before bit 0 is the one that the NAK is for. */
	return i < UROCE_HELD_SPAN && missing->held[i / 64] >> i % 64 & 1;
}

/* The first packet from @psn on that the peer misses, or @end. */
static u32 next_missing(const struct uroce_missing *missing, u32 psn)
{
	while (uroce_psn_diff(psn, missing->end) < 0 && is_held(missing, psn))
		psn = uroce_psn_add(psn, 1);
	return psn;
}

static bool read_held(const struct uroce_packet *pkt, u64 *held)
{
	struct uroce_held_eth eth;
	u32 i;

	if (pkt->len != sizeof(eth) ||
	    skb_copy_bits(pkt->skb, pkt->payload, &eth, sizeof(eth)))
		return false;
	for (i = 0; i < UROCE_HELD_WORDS; i++)
		held[i] = be64_to_cpu(eth.held[i]);
	return true;
}

/* The sequence number behind the last packet that is held. */
static u32 held_end(u32 from, const u64 *held)
{
	u32 i = UROCE_HELD_WORDS;

	while (i--)
		if (held[i])
			return uroce_psn_add(from, 64 * i + fls64(held[i]));
	return from;
}

/*
 * Can the packets before @end that the peer does not hold be taken for lost?
 * The peer cannot hold packets that were never sent. If it holds packets from
 * before the requester went back, the others may have been sent again
 * meanwhile. Then a NAK counts only while nothing was acknowledged, or after a
 * probe, and @end becomes the first packet that is still to be sent again.
 */
static bool believe(const struct uroce_requester *req, u32 *end)
{
	if (uroce_psn_diff(*end, req->high) > 0)
		return false;
	if (uroce_psn_diff(*end, req->psn) <= 0)
		return true;
	*end = req->psn;
	return req->went_back || req->missing.probes;
}

/*
 * The packet from which on missing packets are to be repeated. Those before
 * @missing->end have been repeated already, and may still be under way: they
 * are lost if the peer holds a packet that was sent later. After going back it
 * may hold that packet from before, which tells nothing.
 */
static u32 begin_at(const struct uroce_requester *req, u32 end)
{
	const struct uroce_missing *missing = &req->missing;

	if (!missing->armed || uroce_psn_diff(missing->end, req->una) <= 0)
		return req->una;
	if (uroce_psn_diff(end, missing->mark) > 0 &&
	    missing->rounds < ROUNDS && !req->went_back)
		return req->una;
	return missing->end;
}

/*
 * Returns false if no try is left. As for go-back-N, one loss is one try, and a
 * requester that has gone back has counted it already.
 */
static bool count_round(struct uroce_requester *req)
{
	if (req->missing.rounds++ || req->went_back)
		return true;
	if (!req->tries)
		return false;
	req->tries--;
	return true;
}

/*
 * The oldest packet is repeated. Returns false if the connection has failed, or
 * has migrated and sends all packets again.
 */
static bool begin_round(struct uroce_conn *conn)
{
	struct uroce_requester *req = &conn->req;

	if (!count_round(req)) {
		uroce_req_retry(conn);
		return false;
	}
	/* As after going back, the peer gets the whole time to answer. */
	if (req->timeout)
		mod_timer(&req->timer, jiffies + req->timeout);
	return true;
}

/*
 * A NAK names the packets that the peer holds; all before req.una are
 * acknowledged. While packets are being repeated the requester follows the NAK
 * that named them.
 */
void uroce_missing_told(struct uroce_conn *conn, const struct uroce_packet *pkt)
{
	struct uroce_requester *req = &conn->req;
	struct uroce_missing *missing = &req->missing;
	u32 from = uroce_psn_add(req->una, 1), begin, end;
	u64 held[UROCE_HELD_WORDS];

	if (!conn->selective || req->waiting ||
	    uroce_missing_left(req) || !read_held(pkt, held))
		return;
	end = held_end(from, held);
	look_at_oldest(req);
	if (!believe(req, &end))
		return;
	begin = begin_at(req, end);
	if (uroce_psn_diff(begin, end) >= 0)
		return;
	if (begin == req->una && !begin_round(conn))
		return;
	memcpy(missing->held, held, sizeof(held));
	missing->from = from;
	missing->next = begin;
	missing->request = req->done;
	missing->end = end;
	missing->mark = req->psn;
	missing->armed = true;
	missing->row = 0;
}

/* ---- repeating ----------------------------------------------------------- */

/* Counts the repeated packets of a window, which several NAKs may name. */
static void count_lost(struct uroce_requester *req)
{
	struct uroce_missing *missing = &req->missing;

	if (uroce_psn_diff(req->una, missing->lost_until) >= 0) {
		missing->lost = 0;
		missing->lost_until = req->high;
	}
	if (++missing->lost > max(req->window / BENIGN_PART, (u32)BENIGN_MIN))
		uroce_window_cut(req);
}

/*
 * The packet of @psn is repeated. Many of them are a sign of congestion, and
 * several in a row of a device that drops runs.
 */
static void judge(struct uroce_requester *req, u32 psn)
{
	struct uroce_missing *missing = &req->missing;

	if (psn != missing->next)
		missing->row = 0;
	if (++missing->row == RUN_LIKELY)
		uroce_care_begin(&req->care, psn);
	count_lost(req);
}

/* Repeats one packet. */
enum uroce_req_step uroce_missing_step(struct uroce_conn *conn)
{
	struct uroce_requester *req = &conn->req;
	struct uroce_missing *missing = &req->missing;
	u32 psn = next_missing(missing, missing->next), packets;
	enum uroce_req_step step;
	bool last, room;

	if (psn == missing->end) {
		missing->next = psn;
		return REQ_GO_ON;
	}
	if (unlikely(uroce_pace_wait(conn->pace)))
		return REQ_PACED;
	/* The oldest packet needs no room, and then asks, as in req_step(). */
	room = conn->ops->room(conn, false);
	if (unlikely(!room) && psn != req->una)
		return REQ_LATER;
	last = next_missing(missing, uroce_psn_add(psn, 1)) == missing->end;
	/* It may have completed since. */
	if (missing->request - req->done > req->begun - req->done)
		missing->request = req->done;
	step = send_again(conn, psn, &missing->request, last || !room, false,
			  &packets);
	if (step != REQ_GO_ON)
		return step;
	conn->ops->count(conn, UROCE_CNT_REPEATED);
	judge(req, psn);
	missing->next = uroce_psn_add(psn, packets);
	if (uroce_psn_diff(missing->next, missing->end) > 0)
		missing->next = missing->end;
	return likely(room) ? REQ_GO_ON : REQ_LATER;
}

/* Packets before req.una are acknowledged, repeated or not. */
void uroce_missing_advance(struct uroce_requester *req)
{
	struct uroce_missing *missing = &req->missing;

	if (uroce_psn_diff(req->una, missing->next) > 0)
		missing->next = req->una;
	if (uroce_psn_diff(missing->next, missing->end) > 0)
		missing->end = missing->next;
	if (uroce_psn_diff(req->una, missing->mark) >= 0)
		missing->armed = uroce_missing_left(req);
}

/* The requester goes back, and sends all packets again. */
void uroce_missing_forget(struct uroce_requester *req)
{
	req->missing.armed = false;
	req->missing.next = req->missing.end;
}

/* ---- probes -------------------------------------------------------------- */

/*
 * The probe timer has found no progress. Asks by repeating the last packet, or
 * the oldest one if the request of the last one has a response anyway: such a
 * request is not repeated only to ask.
 */
void uroce_missing_probe(struct uroce_conn *conn)
{
	struct uroce_requester *req = &conn->req;
	struct uroce_missing *missing = &req->missing;
	u32 request = req->done, packets;
	u8 slow;

	WRITE_ONCE(missing->due, false);
	if (req->una != READ_ONCE(missing->seen) || req->una == req->psn ||
	    req->waiting || uroce_missing_left(req) ||
	    uroce_pace_wait(conn->pace) || !conn->ops->room(conn, false))
		return;
	look_at_oldest(req);
	if (missing->probes >= PROBES)
		return;
	missing->probes++;
	slow = READ_ONCE(missing->slow);
	if (slow < PROBE_DOUBLED)
		WRITE_ONCE(missing->slow, slow + 1);
	/* The answer may cause one more round. */
	missing->armed = false;
	missing->rounds = min_t(u8, missing->rounds, ROUNDS - 1);
	if (send_again(conn, uroce_psn_add(req->psn, -1), &request, true, true,
		       &packets) != REQ_STOP)
		return;
	request = req->done;
	send_again(conn, req->una, &request, true, true, &packets);
}

/*
 * Called at the end of each turn. The timer looks for progress by itself, so
 * this is cheap while there is progress. It must not be started while look()
 * runs, which may change its time; then the next turn starts it, or the ACK
 * timer finds out.
 */
void uroce_missing_watch(struct uroce_conn *conn)
{
	struct uroce_requester *req = &conn->req;
	struct uroce_missing *missing = &req->missing;
	u32 probes = missing->at == req->una ? missing->probes : 0;

	if (!missing->known || req->una == req->high || req->una == req->psn ||
	    !req->timeout || !req->running || req->waiting ||
	    probes >= PROBES ||
	    hrtimer_active(&missing->probe))
		return;
	WRITE_ONCE(missing->seen, req->una);
	hrtimer_start(&missing->probe,
		      ns_to_ktime(missing->wait << missing->slow),
		      HRTIMER_MODE_REL_SOFT);
}

static enum hrtimer_restart look(struct hrtimer *timer)
{
	struct uroce_conn *conn =
		container_of(timer, struct uroce_conn, req.missing.probe);
	struct uroce_missing *missing = &conn->req.missing;
	u32 una = READ_ONCE(conn->req.una);
	bool idle = una == READ_ONCE(conn->req.high);
	u8 slow = READ_ONCE(missing->slow);

	if (!idle && una == READ_ONCE(missing->seen)) {
		WRITE_ONCE(missing->due, true);
		conn->ops->rerun(conn, false);
		return HRTIMER_NORESTART;
	}
	if (slow)
		WRITE_ONCE(missing->slow, --slow);
	if (idle)
		return HRTIMER_NORESTART;
	WRITE_ONCE(missing->seen, una);
	hrtimer_forward_now(timer, ns_to_ktime(missing->wait << slow));
	return HRTIMER_RESTART;
}

void uroce_missing_init(struct uroce_missing *missing)
{
	missing->wait = PROBE_NS;
	hrtimer_setup(&missing->probe, look, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
}

void uroce_missing_start(struct uroce_requester *req)
{
	struct uroce_missing *missing = &req->missing;

	missing->known = false;
	missing->plain = 0;
	missing->armed = false;
	missing->due = false;
	missing->probes = 0;
	missing->slow = 0;
	missing->rounds = 0;
	missing->at = req->una;
	missing->next = req->una;
	missing->end = req->una;
	missing->lost = 0;
	missing->lost_until = req->una;
}
