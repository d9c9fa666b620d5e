// SPDX-License-Identifier: GPL-2.0
/*
 * Delivers packets to queue pairs: the operations that the room of packets
 * calls.
 */
#include <linux/etherdevice.h>
#include <rdma/ib_addr.h>

#include "../path/path.h"
#include "engine.h"

static struct uroce_dev *input_device(struct net *net,
				      const struct in6_addr *dst)
{
	return uroce_dev_by_gid(net, (const union ib_gid *)dst);
}

static bool input_has_mac(const struct uroce_dev *dev, const u8 *mac)
{
	return ether_addr_equal(mac, dev->netdev->dev_addr);
}

static void input_damaged(struct uroce_dev *dev)
{
	uroce_count(dev, UROCE_CNT_DAMAGED);
}

static void group_member(struct uroce_qp *qp, void *pkt)
{
	uroce_datagram_receive(qp, pkt);
}

/* Returns false for a GSO packet that has to be cut. */
static bool take(struct uroce_dev *dev, const struct uroce_packet *pkt)
{
	enum uroce_receipt receipt;
	struct uroce_qp *qp;

	if (pkt->qpn == UROCE_MCAST_QPN) {
		uroce_mcast_each(dev, (const void *)&pkt->dst, group_member,
				 (void *)pkt);
		return true;
	}
	qp = uroce_qp_find(dev->id, pkt->qpn);
	if (!qp)
		return true;
	if (!uroce_qp_is_connected(qp)) {
		/* Flows alone give frames to a queue pair of raw packets. */
		if (qp->type != IB_QPT_RAW_PACKET &&
		    !rdma_is_multicast_addr((struct in6_addr *)&pkt->dst))
			uroce_datagram_receive(qp, pkt);
		return true;
	}
	receipt = uroce_remote_receive(qp, pkt);
	if (receipt == UROCE_RECEIPT_RUN)
		uroce_send_run(qp);
	return receipt != UROCE_RECEIPT_CUT;
}

/* A GSO packet does not wait, so it does not come here. */
static void input_deliver(struct uroce_dev *dev, const struct uroce_packet *pkt)
{
	take(dev, pkt);
}

static void count(struct uroce_dev *dev, const struct uroce_packet *pkt)
{
	const struct sk_buff *skb = pkt->skb;

	uroce_count_many(dev, UROCE_CNT_RECEIVED_PKTS, pkt->packets);
	uroce_count_many(dev, UROCE_CNT_RECEIVED_BYTES,
			 skb->data + skb->len - (u8 *)pkt->bth -
				 UROCE_ICRC_SIZE +
				 uroce_gso_more(pkt->bth->opcode,
						pkt->packets));
}

/*
 * Faults happen to single packets. A GSO packet that is cut is counted when its
 * packets arrive.
 */
static bool receive_whole(struct uroce_dev *dev, const struct uroce_packet *pkt)
{
	if (uroce_fault_singly(dev) || !take(dev, pkt))
		return false;
	count(dev, pkt);
	return true;
}

static bool input_receive(struct uroce_dev *dev, const struct uroce_packet *pkt)
{
	if (pkt->packets > 1)
		return receive_whole(dev, pkt);
	count(dev, pkt);
	if (!uroce_fault_packet(dev, pkt))
		take(dev, pkt);
	return true;
}

const struct uroce_net_ops uroce_input_ops = {
	.device = input_device,
	.next_listener = uroce_next_listener,
	.has_mac = input_has_mac,
	.receive = input_receive,
	.deliver = input_deliver,
	.damaged = input_damaged,
};
