// SPDX-License-Identifier: GPL-2.0
/* One frame, and the receive request that it is written to. */
#include <linux/if_vlan.h>
#include <linux/skbuff.h>

#include "raw.h"

/* Makes the Ethernet header again, with the VLAN tag or without it. */
static u32 make_head(const struct uroce_frame *frame, bool strip, u8 *head)
{
	struct vlan_ethhdr *veth = (void *)head;
	struct ethhdr *eth = (void *)head;

	memcpy(head, &frame->outer.eth, 2 * ETH_ALEN);
	if (!(frame->has & UROCE_HAS_TAG) || strip) {
		eth->h_proto = frame->type;
		return ETH_HLEN;
	}
	veth->h_vlan_proto = frame->vlan_proto;
	veth->h_vlan_TCI = frame->outer.eth.tci;
	veth->h_vlan_encapsulated_proto = frame->type;
	return VLAN_ETH_HLEN;
}

/*
 * The frame check sequence. Network cards do not hand it over, and a frame that
 * has not left the host has none, so it is made here. As on a wire it covers
 * the VLAN tag, which the receiver may not get.
 */
static __le32 make_fcs(const struct uroce_frame *frame)
{
	u8 head[VLAN_ETH_HLEN] __aligned(4);
	u32 len = make_head(frame, false, head);

	return uroce_net_fcs(head, len, frame->skb, frame->body, frame->len);
}

static enum ib_wc_status place(struct uroce_qp *qp,
			       const struct uroce_frame *frame, const u8 *head,
			       u32 head_len)
{
	struct uroce_recv *r = &qp->resp.recv;
	const struct uroce_packet pkt = {
		.skb = (struct sk_buff *)frame->skb,
		.payload = frame->body,
		.len = frame->len,
	};
	u32 len = head_len + frame->len;
	enum ib_wc_status status;
	__le32 fcs;

	status = uroce_recv_enter(qp, 0, qp->fcs ? len + ETH_FCS_LEN : len);
	if (status)
		return status;
	uroce_vec_write(&r->vec, 0, head, head_len);
	uroce_packet_put(&pkt, &r->vec, head_len);
	if (qp->fcs) {
		fcs = make_fcs(frame);
		uroce_vec_write(&r->vec, len, &fcs, sizeof(fcs));
	}
	uroce_recv_leave(qp);
	return IB_WC_SUCCESS;
}

bool uroce_frame_give(struct uroce_qp *qp, const struct uroce_frame *frame,
		      u32 tag)
{
	u8 head[VLAN_ETH_HLEN] __aligned(4);
	u32 head_len = make_head(frame, qp->strips, head);
	struct univ_cqe cqe = {
		.opcode = IB_WC_RECV,
		.wc_flags = frame->sums_ok ? UNIV_WC_IP_CSUM_OK : 0,
		.byte_len = head_len + frame->len +
			    (qp->fcs ? ETH_FCS_LEN : 0),
		.cvlan = ntohs(frame->outer.eth.tci),
		.flow_tag = tag,
	};
	enum ib_wc_status status;

	status = uroce_recv_take_datagram(qp, cqe.byte_len);
	if (!status)
		status = place(qp, frame, head, head_len);
	/* There is no request, or its pages are being faulted in. */
	if (status == IB_WC_RNR_RETRY_EXC_ERR)
		return false;
	if (!qp->resp.recv.taken || status == IB_WC_LOC_LEN_ERR) {
		uroce_note(qp, UROCE_CNT_OUT_OF_BUFFER);
		return true;
	}
	uroce_recv_done(qp, &cqe, status, false);
	uroce_recv_notify(qp);
	if (status)
		uroce_qp_fail(qp, 0);
	return true;
}

/*
 * A frame that finds no receive request, or one that is too short, is lost, as
 * a datagram is: any host of the network could stop the queue pair otherwise.
 * Context: resp.lock.
 */
static void receive(struct uroce_qp *qp, const struct uroce_frame *frame,
		    u32 tag)
{
	if (unlikely(qp->delay))
		uroce_delay_receive(qp, frame, tag);
	else if (!uroce_frame_give(qp, frame, tag))
		uroce_note(qp, UROCE_CNT_OUT_OF_BUFFER);
}

/*
 * With a receive indirection table a work queue gets the frame, in each state
 * of the queue pair but the error state: programs for mlx5 do not modify such a
 * queue pair, since that is not possible there.
 */
static struct uroce_qp *receiver(struct uroce_qp *qp,
				 const struct uroce_frame *frame)
{
	const struct uroce_rss *rss = qp->rss;

	if (likely(!rss))
		return qp;
	if (READ_ONCE(qp->state) == IB_QPS_ERR)
		return NULL;
	return rss->receivers[uroce_frame_hash(rss, frame) & rss->mask];
}

void uroce_frame_receive(struct uroce_qp *qp, const struct uroce_frame *frame,
			 u32 tag)
{
	if (unlikely(frame->from == qp) && qp->mutes_self &&
	    is_multicast_ether_addr(frame->outer.eth.dst))
		return;
	qp = receiver(qp, frame);
	if (!qp)
		return;
	spin_lock_bh(&qp->resp.lock);
	if (uroce_qp_listens(qp))
		receive(qp, frame, tag);
	spin_unlock_bh(&qp->resp.lock);
}
