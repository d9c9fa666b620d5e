// SPDX-License-Identifier: GPL-2.0
/*
 * Datagrams to queue pairs of this host, to groups, and by packets to other
 * hosts.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include "datagram.h"
#include "local.h"

/*
 * A datagram or frame with more copies than this ends the turn, since a turn
 * may contain 64 requests; so does a request of more frames.
 */
#define COPIES 4

/* The length that a packet of this datagram would have behind its IP header. */
static u32 packet_len(const struct uroce_wqe *wqe)
{
	u32 len = sizeof(struct udphdr) + sizeof(struct uroce_bth) +
		  sizeof(struct uroce_deth) + wqe->len + uroce_pad(wqe->len) +
		  UROCE_ICRC_SIZE;

	return uroce_wr_is(wqe->wr.opcode, UROCE_WRF_IMM) ?
		len + sizeof(__be32) : len;
}

/* Makes the header that the first bytes of a received datagram show. */
static u8 make_grh(const struct uroce_flow *flow, u32 len, u8 *grh)
{
	struct ipv6hdr *ip6 = (void *)grh;
	struct iphdr *ip = (void *)grh + GRH_LEN - sizeof(*ip);

	memset(grh, 0, GRH_LEN);
	if (ipv6_addr_v4mapped(&flow->dst)) {
		ip->version = IPVERSION;
		ip->ihl = sizeof(*ip) / 4;
		ip->tos = flow->tclass;
		ip->tot_len = htons(sizeof(*ip) + len);
		ip->frag_off = htons(IP_DF);
		ip->ttl = flow->hops ?: IPDEFTTL;
		ip->protocol = IPPROTO_UDP;
		ip->saddr = flow->src.s6_addr32[3];
		ip->daddr = flow->dst.s6_addr32[3];
		ip->check = ip_fast_csum(ip, ip->ihl);
		return RDMA_NETWORK_IPV4;
	}
	ip6_flow_hdr(ip6, flow->tclass,
		     htonl(flow->label) & IPV6_FLOWLABEL_MASK);
	ip6->payload_len = htons(len);
	ip6->nexthdr = IPPROTO_UDP;
	ip6->hop_limit = flow->hops ?: IPDEFTTL;
	ip6->saddr = flow->src;
	ip6->daddr = flow->dst;
	return RDMA_NETWORK_IPV6;
}

/*
 * The P_Key of the queue pair; a request of queue pair 1, which no process has,
 * names its index. Context: sq.lock.
 */
u16 uroce_datagram_pkey(const struct uroce_qp *qp, const struct uroce_wqe *wqe)
{
	if (likely(qp->type != IB_QPT_GSI))
		return qp->pkey;
	return READ_ONCE(qp->dev->pkeys[wqe->wr.ud.reserved]);
}

static bool wants(const struct uroce_qp *qp, const struct uroce_wqe *wqe,
		  struct uroce_qp *peer)
{
	u32 qkey = wqe->wr.ud.remote_qkey;

	/* The high bit selects the sender's own Q_Key. */
	if (qkey & BIT(31))
		qkey = qp->attr.qkey;
	if (peer->resp.dead || peer->state < IB_QPS_RTR ||
	    peer->state > IB_QPS_SQE)
		return false;
	if (unlikely(peer->rx_match != qp->tx_match) &&
	    !uroce_qp_matches_slowly(peer, qp, uroce_datagram_pkey(qp, wqe)))
		return false;
	if (likely(peer->attr.qkey == qkey))
		return true;
	atomic_inc(&peer->dev->qkey_violations);
	return false;
}

/*
 * A datagram that finds no receive request, or one whose pages are still to be
 * faulted in, is lost. So is one that is longer than the request at the head,
 * which stays in the queue: the specification makes the responder drop a UD
 * request of invalid length silently and wait for the next one, as newer
 * versions of rdma_rxe do. The queue pair must not fail, or any sender that
 * knows its Q_Key could stop it; the Q_Key of queue pair 1 is well known.
 * Context: the peer's lock.
 */
static void deliver(struct turn *t)
{
	const struct uroce_flow *flow = &t->wqe->av.flow;
	const struct univ_send_wr *wr = &t->wqe->wr;
	struct uroce_recv *r = &t->peer->resp.recv;
	int index = t->peer->attr.pkey_index;
	struct univ_cqe cqe = {
		.opcode = IB_WC_RECV,
		.wc_flags = UNIV_WC_GRH,
		.byte_len = t->wqe->len + GRH_LEN,
		.src_qp = t->qp->source,
	};
	enum ib_wc_status status;
	u8 grh[GRH_LEN] __aligned(4);
	u8 network;

	if (unlikely(t->peer->type == IB_QPT_GSI))
		index = uroce_qp_pkey_index(
			t->peer, uroce_datagram_pkey(t->qp, t->wqe));
	/* The table has changed since wants() looked at it. */
	if (unlikely(index < 0))
		return;
	cqe.pkey_index = index;
	status = uroce_recv_take_datagram(t->peer, cqe.byte_len);
	if (!status)
		status = uroce_recv_enter(t->peer, 0, cqe.byte_len);
	if (!r->taken || status == IB_WC_RNR_RETRY_EXC_ERR ||
	    status == IB_WC_LOC_LEN_ERR) {
		uroce_note(t->peer, UROCE_CNT_OUT_OF_BUFFER);
		return;
	}
	if (!status) {
		network = make_grh(flow, packet_len(t->wqe), grh);
		uroce_tell_network(t->peer, &cqe, network, &flow->dst,
				   flow->oif);
		uroce_vec_write(&r->vec, 0, grh, GRH_LEN);
		uroce_vec_copy(&r->vec, GRH_LEN, &t->wqe->vec, 0, t->wqe->len);
		uroce_recv_leave(t->peer);
	}
	if (uroce_wr_is(wr->opcode, UROCE_WRF_IMM)) {
		cqe.wc_flags |= UNIV_WC_WITH_IMM;
		cqe.imm = wr->imm;
	}
	uroce_recv_done(t->peer, &cqe, status, wr->flags & UNIV_WR_SOLICITED);
	/* A woken program may look for the sender's earlier completions. */
	uroce_send_write(t->qp);
	uroce_recv_notify(t->peer);
	if (status)
		uroce_qp_fail(t->peer, 0);
}

static void deliver_to(struct uroce_qp *peer, void *arg)
{
	struct turn *t = arg;

	t->peer = peer;
	spin_lock(&peer->resp.lock);
	if (wants(t->qp, t->wqe, peer)) {
		if (static_branch_unlikely(&uroce_mirrors_on) &&
		    t->wqe->av.dev_id)
			uroce_mirror_datagram(t->qp, peer->dev, t->wqe);
		deliver(t);
	}
	spin_unlock(&peer->resp.lock);
}

static void deliver_member(struct uroce_qp *peer, void *arg)
{
	struct turn *t = arg;

	if (peer != t->qp || !peer->mutes_self)
		deliver_to(peer, t);
}

static void deliver_unicast(struct turn *t)
{
	struct uroce_wqe *wqe = t->wqe;
	struct uroce_qp *peer;

	peer = uroce_qp_find(wqe->av.dev_id, wqe->wr.ud.remote_qpn);
	if (peer)
		deliver_to(peer, t);
}

static void deliver_group(struct turn *t)
{
	const void *gid = &t->wqe->av.flow.dst;

	/* There may be many copies. */
	uroce_send_write(t->qp);
	if (uroce_mcast_each(t->qp->dev, gid, deliver_member, t) > COPIES)
		t->tail = t->qp->sq.head + 1;
}

/* Maps the memory of a request that is sent as one packet. */
static enum outcome enter(struct turn *t)
{
	struct uroce_wqe *wqe = t->wqe;
	enum outcome out;

	t->status = uroce_send_map(t->qp, wqe, 0);
	if (t->status)
		return LOCAL_FAILED;
	out = turn_enter(t, wqe->len, false);
	if (unlikely(out != LOCAL_DONE))
		uroce_vec_put(&wqe->vec);
	return out;
}

static bool is_full(const struct turn *t)
{
	return !uroce_net_room(t->qp->dev->netdev,
			       t->qp->sq.waits >= UROCE_FULL_DOUBLINGS);
}

/*
 * Each frame of a request costs the kernel a packet, however short it is. A
 * request that is refused may have any mss.
 */
static bool has_many_frames(const struct uroce_wqe *wqe)
{
	return uroce_wr_is(wqe->wr.opcode, UROCE_WRF_TSO) &&
	       wqe->len > COPIES * wqe->wr.tso.mss;
}

static enum outcome local_frame(struct turn *t)
{
	struct uroce_wqe *wqe = t->wqe;
	enum outcome out;
	int copies;

	t->reason = uroce_frame_check(t->qp->dev, wqe);
	if (t->reason)
		return turn_fail(t, IB_WC_LOC_LEN_ERR);
	if (is_full(t))
		return LOCAL_FULL;
	out = enter(t);
	if (unlikely(out != LOCAL_DONE))
		return out;
	/* A woken program may look for the sender's earlier completions. */
	uroce_send_write(t->qp);
	rcu_read_lock();
	copies = uroce_frame_send(t->qp, wqe, &t->reason);
	rcu_read_unlock();
	uroce_vec_leave(&wqe->vec);
	uroce_vec_put(&wqe->vec);
	if (copies < 0)
		return LOCAL_FULL;
	if (copies > COPIES || has_many_frames(wqe))
		t->tail = t->qp->sq.head + 1;
	t->bytes -= min_t(u32, t->bytes, wqe->len * (1 + copies));
	if (likely(!t->reason))
		return LOCAL_DONE;
	return turn_fail(t, t->reason == UNIV_REASON_TSO_HEADER ?
				    IB_WC_LOC_QP_OP_ERR : IB_WC_LOC_LEN_ERR);
}

enum outcome uroce_local_datagram(struct turn *t)
{
	struct uroce_wqe *wqe = t->wqe;
	enum outcome out;

	if (t->qp->type == IB_QPT_RAW_PACKET)
		return local_frame(t);
	/* A datagram is one packet. */
	if (wqe->len > ib_mtu_enum_to_int(uroce_port_mtu(t->qp->dev))) {
		t->reason = UNIV_REASON_LIMIT;
		return turn_fail(t, IB_WC_LOC_LEN_ERR);
	}
	if (!wqe->av.dev_id && uroce_pace_wait(&t->qp->sq.pace))
		return LOCAL_PACED;
	if (!wqe->av.dev_id && is_full(t))
		return LOCAL_FULL;
	out = enter(t);
	if (unlikely(out != LOCAL_DONE))
		return out;
	rcu_read_lock();
	if (wqe->av.dev_id) {
		deliver_unicast(t);
	} else {
		if (wqe->wr.ud.remote_qpn == UROCE_MCAST_QPN)
			deliver_group(t);
		uroce_datagram_send(t->qp, wqe);
	}
	t->bytes -= min(t->bytes, wqe->len);
	rcu_read_unlock();
	uroce_vec_leave(&wqe->vec);
	uroce_vec_put(&wqe->vec);
	return LOCAL_DONE;
}
