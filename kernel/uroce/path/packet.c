// SPDX-License-Identifier: GPL-2.0
/* Datagrams as packets, in both directions. */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>

#include "datagram.h"

static const struct uroce_deth *deth_of(const struct uroce_packet *pkt)
{
	return (const void *)(pkt->bth + 1);
}

/*
 * Makes the header in front of a datagram: the IP header, at the end if it is
 * an IPv4 header.
 */
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

static enum ib_wc_status
place_packet(struct uroce_qp *qp, const struct uroce_packet *pkt, u8 *network)
{
	struct uroce_recv *r = &qp->resp.recv;
	enum ib_wc_status status;
	u8 grh[GRH_LEN] __aligned(4);

	status = uroce_recv_enter(qp, 0, GRH_LEN + pkt->len);
	if (status)
		return status;
	*network = copy_grh(pkt, grh);
	uroce_vec_write(&r->vec, 0, grh, GRH_LEN);
	uroce_packet_put(pkt, &r->vec, GRH_LEN);
	uroce_recv_leave(qp);
	return IB_WC_SUCCESS;
}

/*
 * A datagram that finds no receive request, or one that is too short, is lost;
 * see deliver() in datagram.c. Context: resp.lock.
 */
static void deliver_packet(struct uroce_qp *qp, const struct uroce_packet *pkt,
			   u16 pkey_index)
{
	struct univ_cqe cqe = {
		.opcode = IB_WC_RECV,
		.wc_flags = UNIV_WC_GRH,
		.byte_len = pkt->len + GRH_LEN,
		.src_qp = be32_to_cpu(deth_of(pkt)->sqp) & 0xffffff,
		.pkey_index = pkey_index,
	};
	u8 network = RDMA_NETWORK_IPV4;
	enum ib_wc_status status;

	status = uroce_recv_take_datagram(qp, cqe.byte_len);
	if (!status)
		status = place_packet(qp, pkt, &network);
	if (!qp->resp.recv.taken || status == IB_WC_RNR_RETRY_EXC_ERR ||
	    status == IB_WC_LOC_LEN_ERR) {
		uroce_note(qp, UROCE_CNT_OUT_OF_BUFFER);
		return;
	}
	uroce_tell_network(qp, &cqe, network, &pkt->dst,
			   pkt->link ?: pkt->skb->skb_iif);
	if (pkt->op->flags & UROCE_OP_IMM) {
		cqe.wc_flags |= UNIV_WC_WITH_IMM;
		cqe.imm = (__force u32)uroce_packet_imm(pkt);
	}
	uroce_recv_done(qp, &cqe, status, pkt->bth->flags & UROCE_BTH_SE);
	uroce_recv_notify(qp);
	if (status)
		uroce_qp_fail(qp, 0);
}

/* Context: RCU. */
void uroce_datagram_receive(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	int index;

	if (!(pkt->op->flags & UROCE_OP_DETH))
		return;
	if (unlikely(pkt->len > qp->mtu)) {
		uroce_count(qp->dev, UROCE_CNT_TOO_LONG);
		return;
	}
	spin_lock_bh(&qp->resp.lock);
	if (!uroce_qp_listens(qp))
		goto out;
	index = uroce_qp_pkey_index(qp, be16_to_cpu(pkt->bth->pkey));
	if (unlikely(index < 0))
		atomic_inc(&qp->dev->pkey_violations);
	else if (likely(be32_to_cpu(deth_of(pkt)->qkey) == qp->attr.qkey))
		deliver_packet(qp, pkt, index);
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
	bth->pkey = cpu_to_be16(uroce_datagram_pkey(qp, wqe));
	bth->qpn = cpu_to_be32(wr->ud.remote_qpn);
	bth->psn = cpu_to_be32(qp->attr.sq_psn & UROCE_PSN_MASK);
	qp->attr.sq_psn = uroce_psn_add(qp->attr.sq_psn, 1);
	/* The high bit selects the sender's own Q_Key. */
	deth->qkey = cpu_to_be32(qkey & BIT(31) ? qp->attr.qkey : qkey);
	deth->sqp = cpu_to_be32(qp->source);
	if (uroce_wr_is(wr->opcode, UROCE_WRF_IMM))
		*(u32 *)(deth + 1) = wr->imm;
	uroce_vec_read(&wqe->vec, 0, skb_put(skb, wqe->len), wqe->len);
	memset(skb_put(skb, pad), 0, pad);
}

/* Builds the packet of a mapped datagram. Context: sq.lock. */
struct sk_buff *uroce_datagram_build(struct uroce_qp *qp,
				     const struct uroce_wqe *wqe)
{
	u8 opcode = UROCE_UD | uroce_wr_packet(wqe->wr.opcode, true, true);
	struct sk_buff *skb;

	/* uroce_send_load() lets no other request of datagrams pass. */
	if (WARN_ON_ONCE(!uroce_ops[opcode].flags))
		return NULL;
	skb = uroce_net_alloc(uroce_ops[opcode].length + wqe->len +
			      uroce_pad(wqe->len), false);
	if (skb)
		fill_datagram(qp, wqe, skb, opcode);
	return skb;
}

/* A datagram that cannot be sent is lost like any other. Context: sq.lock. */
void uroce_datagram_send(struct uroce_qp *qp, struct uroce_wqe *wqe)
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
	uroce_pace_take(&qp->sq.pace, skb->len);
	uroce_net_xmit(qp->dev->netdev, &wqe->av.flow, skb);
	uroce_flow_release(&wqe->av.flow);
}
