// SPDX-License-Identifier: GPL-2.0
/*
 * The responder's half of selective repeat: packets behind a gap are held, as
 * they arrived, and are checked and executed when the packets before them have
 * been. So no memory is written out of order, and a held packet has no more
 * rights than one that is repeated.
 *
 * The peer decides what is held, so packets and bytes of a connection and bytes
 * of a device and of this host are limited, and packets are freed if none of
 * them is executed for some time. A packet that is not held is treated as lost.
 */
#include <linux/bits.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/skbuff.h>

#include "compat.h"
#include "resp.h"

/* The time after which held packets are freed if none of them is executed. */
#define HELD_JIFFIES HZ

/* Bytes that all responders of this host hold. */
atomic_t uroce_held_by_all;

static bool reserve(atomic_t *sum, u32 bytes, int limit)
{
	if (atomic_add_return(bytes, sum) <= limit)
		return true;
	atomic_sub(bytes, sum);
	return false;
}

static bool charge(struct uroce_held *held, struct sk_buff *skb)
{
	u32 bytes = skb->truesize;

	if (held->packets.qlen >= UROCE_HELD_SPAN ||
	    bytes > UROCE_HELD_BYTES - held->bytes ||
	    !reserve(held->budget, bytes, UROCE_HELD_DEVICE))
		return false;
	if (!reserve(&uroce_held_by_all, bytes, UROCE_HELD_HOST)) {
		atomic_sub(bytes, held->budget);
		return false;
	}
	uroce_kept(skb)->charge = bytes;
	held->bytes += bytes;
	return true;
}

static void drop(struct uroce_held *held, struct sk_buff *skb)
{
	u32 bytes = uroce_kept(skb)->charge;

	__skb_unlink(skb, &held->packets);
	held->bytes -= bytes;
	atomic_sub(bytes, held->budget);
	atomic_sub(bytes, &uroce_held_by_all);
}

/* The number of sequence numbers that a request takes. */
static u32 span_of(const struct uroce_conn *conn,
		   const struct uroce_packet *pkt)
{
	const struct uroce_reth *reth = resp_eth(conn, pkt);

	if (!(pkt->op->flags & UROCE_OP_READ))
		return 1;
	return uroce_req_packets(conn, be32_to_cpu(reth->len));
}

/*
 * Takes a reference to the packet, or a copy if its payload lies in pages of a
 * program on this host, which may write to them: its request may have failed
 * before the packet is executed. NULL without memory.
 */
static struct sk_buff *keep(const struct uroce_packet *pkt)
{
	struct sk_buff *skb = uroce_packet_keep(pkt), *copy;

	if (!skb_has_shared_frag(skb))
		return skb;
	copy = skb_copy(skb, GFP_ATOMIC);
	consume_skb(skb);
	return copy;
}

/*
 * Inserts the packet, unless it is held already; false if there is no room. A
 * packet from the reserves for reclaim has to give its memory back at once.
 */
static bool insert(struct uroce_conn *conn, const struct uroce_packet *pkt)
{
	struct uroce_held *held = &conn->resp.held;
	struct sk_buff *at, *skb;
	s32 ahead;

	skb_queue_reverse_walk(&held->packets, at) {
		ahead = uroce_psn_diff(pkt->psn, uroce_kept_psn(at));
		if (!ahead)
			return true;
		if (ahead > 0)
			break;
	}
	skb = skb_pfmemalloc(pkt->skb) ? NULL : keep(pkt);
	if (!skb)
		return false;
	if (!charge(held, skb)) {
		kfree_skb(skb);
		return false;
	}
	uroce_kept(skb)->span = span_of(conn, pkt);
	__skb_queue_after(&held->packets, at, skb);
	return true;
}

/* The packets may be held for HELD_JIFFIES from now on. */
void uroce_held_wait(struct uroce_held *held)
{
	mod_timer(&held->expire, jiffies + HELD_JIFFIES);
}

/*
 * A peer that was told to wait sends everything again when the wait is over. A
 * gap that is found later is a new loss.
 */
static bool peer_waits(const struct uroce_responder *resp)
{
	return resp->told && resp->patience && ktime_get_ns() <= resp->patience;
}

/**
 * uroce_held_take() - hold a packet that is not the next one
 * @conn: connection
 * @pkt: its sequence number is ahead
 * @news: set if the peer should be told: the packet asks for an answer, or
 *	packets before it are missing that were not missing before
 *
 * Return: false if the packet is to be treated as lost
 */
bool uroce_held_take(struct uroce_conn *conn, const struct uroce_packet *pkt,
		     bool *news)
{
	struct uroce_responder *resp = &conn->resp;
	struct uroce_held *held = &resp->held;
	bool was_empty = skb_queue_empty(&held->packets);
	bool behind = was_empty || uroce_psn_diff(pkt->psn, held->next) >= 0;

	if (!held->known || peer_waits(resp) ||
	    uroce_psn_diff(pkt->psn, resp->psn) >= UROCE_HELD_SPAN ||
	    !insert(conn, pkt))
		return false;
	*news = uroce_bth_ack_req(pkt->bth) || was_empty ||
		(behind && pkt->psn != held->next);
	if (behind)
		held->next = uroce_psn_add(pkt->psn, span_of(conn, pkt));
	if (was_empty)
		uroce_held_wait(held);
	return true;
}

/*
 * The packet that is next, to be freed by the caller; NULL if it is not held.
 * Packets that have been executed meanwhile are freed.
 */
struct sk_buff *uroce_held_next(struct uroce_conn *conn,
				struct uroce_packet *pkt)
{
	struct uroce_responder *resp = &conn->resp;
	struct uroce_held *held = &resp->held;
	struct sk_buff *skb;
	s32 ahead;

	while ((skb = skb_peek(&held->packets))) {
		ahead = uroce_psn_diff(uroce_kept_psn(skb), resp->psn);
		if (ahead > 0)
			return NULL;
		drop(held, skb);
		if (!ahead && uroce_packet_kept(skb, pkt))
			return skb;
		kfree_skb(skb);
	}
	return NULL;
}

/* Sets the bits from @first to before @end. */
static void name(u64 *words, u32 first, u32 end)
{
	u32 i, next;

	for (i = first; i < end; i = next) {
		next = min(round_down(i, 64) + 64, end);
		words[i / 64] |= GENMASK_ULL((next - 1) % 64, i % 64);
	}
}

/*
 * Names the packets that are held behind resp.psn, which is missing. The peer
 * decides how often this is done, and how many bits a read takes.
 */
static void name_all(struct uroce_conn *conn, struct uroce_held_eth *eth)
{
	u32 from = uroce_psn_add(conn->resp.psn, 1), i, end;
	u64 words[UROCE_HELD_WORDS] = {};
	struct sk_buff *skb;
	s32 first;

	skb_queue_walk(&conn->resp.held.packets, skb) {
		first = uroce_psn_diff(uroce_kept_psn(skb), from);
		if (first < 0)
			continue;
		end = min(first + uroce_kept(skb)->span, (u32)UROCE_HELD_SPAN);
		name(words, first, end);
		if (end == UROCE_HELD_SPAN)
			break;
	}
	for (i = 0; i < UROCE_HELD_WORDS; i++)
		eth->held[i] = cpu_to_be64(words[i]);
}

/*
 * An acknowledgement for a peer that repeats single packets: shows that this
 * side holds packets. A NAK for a gap names them, as of now.
 */
void uroce_held_sign(struct uroce_conn *conn, struct sk_buff *skb)
{
	const struct uroce_responder *resp = &conn->resp;
	struct uroce_bth *bth = (void *)skb->data;

	bth->psn |= cpu_to_be32(UROCE_BTH_SELECTIVE);
	if (resp->syndrome != UROCE_NAK_SEQUENCE ||
	    skb_queue_empty(&resp->held.packets))
		return;
	bth->psn = cpu_to_be32(resp->psn | UROCE_BTH_SELECTIVE);
	name_all(conn, skb_put(skb, sizeof(struct uroce_held_eth)));
}

void uroce_held_purge(struct uroce_conn *conn)
{
	struct uroce_held *held = &conn->resp.held;
	struct sk_buff *skb;

	while ((skb = skb_peek(&held->packets))) {
		drop(held, skb);
		kfree_skb(skb);
	}
}

/* Frees the packets if the time is over, or in any case. */
void uroce_held_check(struct uroce_conn *conn, bool any)
{
	struct uroce_held *held = &conn->resp.held;

	if (likely(!READ_ONCE(held->expired) && !any))
		return;
	WRITE_ONCE(held->expired, false);
	if (!timer_pending(&held->expire) || any)
		uroce_held_purge(conn);
}

static void expire(struct timer_list *timer)
{
	struct uroce_conn *conn =
		timer_container_of(conn, timer, resp.held.expire);

	WRITE_ONCE(conn->resp.held.expired, true);
	conn->ops->rerun(conn, true);
}

void uroce_held_init(struct uroce_held *held)
{
	skb_queue_head_init(&held->packets);
	timer_setup(&held->expire, expire, 0);
}
