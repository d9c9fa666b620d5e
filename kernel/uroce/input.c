// SPDX-License-Identifier: GPL-2.0
/* Packets from net.c to queue pairs; datagrams, in both directions. */
#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>

#include "peer.h"

#define GRH_LEN 40

struct uroce_dev *uroce_net_device(struct net *net, const struct in6_addr *dst)
{
	return uroce_dev_by_gid(net, (const union ib_gid *)dst);
}

bool uroce_net_has_mac(const struct uroce_dev *dev, const u8 *mac)
{
	return ether_addr_equal(mac, dev->netdev->dev_addr);
}

/* ---- connections -------------------------------------------------------------- */

/* Nobody else than the peer, by its address, gets a word in */
static bool from_peer(const struct uroce_wire *w, const struct uroce_packet *pkt)
{
	return ipv6_addr_equal(&pkt->src, &w->req_flow.dst) &&
	       ipv6_addr_equal(&pkt->dst, &w->req_flow.src) &&
	       uroce_conn_accepts(&w->conn, pkt);
}

/* Of XRC, one side asks and the other answers */
static bool has_side(const struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	return qp->type != (pkt->op->flags & UROCE_OP_REQUEST ?
			    IB_QPT_XRC_INI : IB_QPT_XRC_TGT);
}

static void connected(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	struct uroce_wire *w = READ_ONCE(qp->wire);

	if (!w || !from_peer(w, pkt) || !has_side(qp, pkt))
		return;
	if (!(pkt->op->flags & UROCE_OP_REQUEST)) {
		uroce_wire_answer(w, pkt);
		return;
	}
	spin_lock_bh(&qp->resp.lock);
	if (uroce_qp_listens(qp) && qp->wire == w)
		uroce_wire_request(w, pkt);
	spin_unlock_bh(&qp->resp.lock);
}

/* ---- datagrams ---------------------------------------------------------------- */

static const struct uroce_deth *deth_of(const struct uroce_packet *pkt)
{
	return (const void *)(pkt->bth + 1);
}

/* What stands before a datagram: the IP header, at the end if it is the short one */
static u8 copy_grh(const struct uroce_packet *pkt, u8 *grh)
{
	const struct sk_buff *skb = pkt->skb;

	memset(grh, 0, GRH_LEN);
	if (skb->protocol == htons(ETH_P_IP)) {
		memcpy(grh + GRH_LEN - sizeof(struct iphdr), ip_hdr(skb),
		       sizeof(struct iphdr));
		return RDMA_NETWORK_IPV4;
	}
	memcpy(grh, ipv6_hdr(skb), sizeof(struct ipv6hdr));
	return RDMA_NETWORK_IPV6;
}

static enum ib_wc_status place(struct uroce_qp *qp, const struct uroce_packet *pkt,
			       u8 *network)
{
	struct uroce_recv *r = &qp->resp.recv;
	enum ib_wc_status status;
	u8 grh[GRH_LEN] __aligned(4);

	status = uroce_recv_map(qp, GRH_LEN + pkt->len);
	if (status)
		return status;
	*network = copy_grh(pkt, grh);
	uroce_vec_write(&r->vec, 0, grh, GRH_LEN);
	uroce_packet_put(pkt, &r->vec, GRH_LEN);
	uroce_vec_put(&r->vec);
	return IB_WC_SUCCESS;
}

/*
 * Context: resp.lock. What finds no receive request, or one that is too short, is
 * lost; see deliver() of datagram.c.
 */
static void deliver(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	struct univ_cqe cqe = {
		.opcode = IB_WC_RECV,
		.wc_flags = UNIV_WC_GRH,
		.byte_len = pkt->len + GRH_LEN,
		.src_qp = be32_to_cpu(deth_of(pkt)->sqp) & 0xffffff,
	};
	u8 network = RDMA_NETWORK_IPV4;
	enum ib_wc_status status;

	status = uroce_recv_take_for(qp, cqe.byte_len);
	if (!qp->resp.recv.taken) {
		uroce_note(qp, UROCE_CNT_OUT_OF_BUFFER);
		return;
	}
	if (!status)
		status = place(qp, pkt, &network);
	uroce_tell_network(qp, &cqe, network);
	if (pkt->op->flags & UROCE_OP_IMM) {
		cqe.wc_flags |= UNIV_WC_WITH_IMM;
		cqe.imm = *(const u32 *)((const u8 *)pkt->bth + pkt->op->length -
					 sizeof(u32));
	}
	uroce_recv_done(qp, &cqe, status, pkt->bth->flags & UROCE_BTH_SE);
	uroce_recv_notify(qp);
	if (status)
		uroce_qp_fail(qp, 0);
}

static void datagram(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	if (!(pkt->op->flags & UROCE_OP_DETH) || pkt->len > qp->mtu ||
	    !uroce_pkey_matches(pkt->bth, UROCE_PKEY))
		return;
	spin_lock_bh(&qp->resp.lock);
	if (!uroce_qp_listens(qp))
		goto out;
	if (likely(be32_to_cpu(deth_of(pkt)->qkey) == qp->attr.qkey))
		deliver(qp, pkt);
	else
		atomic_inc(&qp->dev->qkey_violations);
out:
	spin_unlock_bh(&qp->resp.lock);
}

static void fill_datagram(struct uroce_qp *qp, const struct uroce_wqe *wqe,
			  struct sk_buff *skb, u8 opcode)
{
	const struct univ_send_wr *wr = &wqe->wr;
	u32 pad = uroce_pad(wqe->len), qkey = wr->ud.remote_qkey;
	struct uroce_bth *bth = skb_put(skb, uroce_ops[opcode].length);
	struct uroce_deth *deth = (void *)(bth + 1);

	bth->opcode = opcode;
	bth->flags = UROCE_BTH_MIG | pad << UROCE_BTH_PAD_SHIFT |
		     (wr->flags & UNIV_WR_SOLICITED ? UROCE_BTH_SE : 0);
	bth->pkey = cpu_to_be16(UROCE_PKEY);
	bth->qpn = cpu_to_be32(wr->ud.remote_qpn);
	bth->psn = cpu_to_be32(qp->attr.sq_psn++ & UROCE_PSN_MASK);
	/* The high bit asks for the sender's own */
	deth->qkey = cpu_to_be32(qkey & BIT(31) ? qp->attr.qkey : qkey);
	deth->sqp = cpu_to_be32(qp->num);
	if (wr->opcode == UNIV_WR_SEND_WITH_IMM)
		*(u32 *)(deth + 1) = wr->imm;
	uroce_vec_read(&wqe->vec, 0, skb_put(skb, wqe->len), wqe->len);
	memset(skb_put(skb, pad), 0, pad);
}

/* The packet of a mapped datagram. Context: sq.lock. */
struct sk_buff *uroce_datagram_build(struct uroce_qp *qp,
				     const struct uroce_wqe *wqe)
{
	bool imm = wqe->wr.opcode == UNIV_WR_SEND_WITH_IMM;
	u8 opcode = UROCE_UD | (imm ? UROCE_SEND_ONLY_IMM : UROCE_SEND_ONLY);
	struct sk_buff *skb;

	skb = uroce_net_alloc(uroce_ops[opcode].length + wqe->len +
			      uroce_pad(wqe->len), false);
	if (skb)
		fill_datagram(qp, wqe, skb, opcode);
	return skb;
}

/* Context: sq.lock. One that cannot be sent is lost like any other. */
void uroce_wire_datagram(struct uroce_qp *qp, struct uroce_wqe *wqe)
{
	struct sk_buff *skb = uroce_datagram_build(qp, wqe);

	if (!skb)
		return;
	if (uroce_is_silent(qp->dev)) {
		kfree_skb(skb);
		return;
	}
	uroce_count(qp->dev, UROCE_CNT_SENT_PKTS);
	uroce_count_many(qp->dev, UROCE_CNT_SENT_BYTES, skb->len);
	uroce_net_xmit(qp->dev->netdev, &wqe->av.flow, skb);
	uroce_flow_release(&wqe->av.flow);
}

/* ---- what came ---------------------------------------------------------------- */

static void group_member(struct uroce_qp *qp, void *pkt)
{
	datagram(qp, pkt);
}

void uroce_net_damaged(struct uroce_dev *dev)
{
	uroce_count(dev, UROCE_CNT_DAMAGED);
}

void uroce_net_receive(struct uroce_dev *dev, const struct uroce_packet *pkt)
{
	const struct sk_buff *skb = pkt->skb;

	uroce_count(dev, UROCE_CNT_RECEIVED_PKTS);
	uroce_count_many(dev, UROCE_CNT_RECEIVED_BYTES,
			 skb->data + skb->len - (u8 *)pkt->bth -
			 UROCE_ICRC_SIZE);
	if (!uroce_fault_packet(dev, pkt))
		uroce_net_deliver(dev, pkt);
}

void uroce_net_deliver(struct uroce_dev *dev, const struct uroce_packet *pkt)
{
	struct uroce_qp *qp;

	if (pkt->qpn == UROCE_MCAST_QPN) {
		uroce_mcast_each(dev, (const void *)&pkt->dst, group_member,
				 (void *)pkt);
		return;
	}
	qp = uroce_qp_find(dev->id, pkt->qpn);
	if (!qp)
		return;
	if (uroce_qp_is_connected(qp))
		connected(qp, pkt);
	else if (!rdma_is_multicast_addr((struct in6_addr *)&pkt->dst))
		datagram(qp, pkt);
}
