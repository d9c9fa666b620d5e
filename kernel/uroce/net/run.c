// SPDX-License-Identifier: GPL-2.0
/* Runs: packets of one flow that pass the network stack together. See net.h. */
#include <linux/skbuff.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include "gso.h"
#include "icrc.h"
#include "output.h"

/* ---- checksums at the last moment ---------------------------------------- */

/*
 * A packet in the list of a run needs its checksum only if the list is split
 * for a device that wants single packets. A peer on this host accepts packets
 * that never were on a wire without a checksum, as TCP does. The kernel splits
 * the list in skb_segment_list(), where it releases the charge of each packet:
 * at that moment the checksum is computed. Code that copies packets out of the
 * list elsewhere gets a wrong checksum, so these packets are dropped and sent
 * again one by one.
 */
static atomic_t unsealed = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(all_sealed);

static void seal_late(struct sk_buff *skb)
{
	int ip_len = uroce_output_ip_len(skb);
	const struct udphdr *udp = (void *)(skb_network_header(skb) + ip_len);
	int from = skb_network_offset(skb) + ip_len + (int)sizeof(*udp);
	int rest = from + (int)sizeof(struct uroce_bth);
	int to = (int)skb->len - UROCE_ICRC_SIZE;
	__le32 icrc;
	u32 crc;

	/*
	 * The packet is truncated and will be dropped. Its end may now lie in
	 * memory of a process.
	 */
	if (from < 0 || rest > to ||
	    (int)skb->len - from + (int)sizeof(*udp) != ntohs(udp->len))
		return;
	crc = uroce_icrc_add_skb(uroce_output_crc(skb, ip_len), skb, rest,
				 to - rest);
	icrc = uroce_icrc_end(crc);
	skb_store_bits(skb, to, &icrc, sizeof(icrc));
}

static void unsealed_gone(void)
{
	if (atomic_dec_and_test(&unsealed))
		wake_up(&all_sealed);
}

/*
 * Turns the packet into a normal one again, charged visibly. Code that pulled
 * or trimmed it meanwhile took it for an uncharged packet.
 */
static void no_longer_listed(struct sk_buff *skb)
{
	const struct skb_shared_info *info = skb_shinfo(skb);

	skb->truesize = info->tskey;
	skb->sk = info->destructor_arg;
	skb->destructor = skb->sk ? sock_wfree : NULL;
}

/*
 * Destructor of a listed packet, when the list is split or freed. The kernel
 * leaves the pointer set, so this function clears it.
 */
static void release_unsealed(struct sk_buff *skb)
{
	seal_late(skb);
	no_longer_listed(skb);
	skb_orphan(skb);
	unsealed_gone();
}

/*
 * skb_segment_list() expects packets without a socket, so the socket and the
 * charge are stored in fields that it does not read.
 */
static void set_unsealed(struct sk_buff *skb, struct sock *sk)
{
	if (sk)
		skb_set_owner_w(skb, sk);
	skb->sk = NULL;
	skb_shinfo(skb)->destructor_arg = sk;
	skb_shinfo(skb)->tskey = skb->truesize;
	atomic_inc(&unsealed);
	skb->destructor = release_unsealed;
}

/*
 * Another holder of the packet may read it, or keep it for as long as it likes:
 * the packet gets its checksum and is uncharged. If two processors with copies
 * of the first packet get here at once, one of them does it. skb->sk stays
 * NULL, since other code reads it meanwhile.
 */
static bool seal_shared(struct sk_buff *skb)
{
	struct sk_buff charged = {
		.sk = skb_shinfo(skb)->destructor_arg,
		.truesize = skb_shinfo(skb)->tskey,
	};

	if (cmpxchg(&skb->destructor, release_unsealed, NULL) !=
	    release_unsealed)
		return false;
	seal_late(skb);
	if (charged.sk)
		sock_wfree(&charged);
	unsealed_gone();
	return true;
}

/*
 * Returns true if no other code has held @skb since it was put in a list: it is
 * undamaged, and its checksum does not matter.
 */
bool uroce_run_untouched(struct sk_buff *skb)
{
	if (skb_shared(skb))
		return seal_shared(skb);
	/*
	 * Pairs with the release by which another holder, after sealing the
	 * packet, dropped its reference.
	 */
	smp_rmb();
	if (READ_ONCE(skb->destructor) != release_unsealed)
		return false;
	no_longer_listed(skb);
	unsealed_gone();
	return true;
}

/*
 * No sender runs any more. Waits for packets in queues, which are freed sooner
 * or later.
 */
void uroce_output_exit(void)
{
	wait_event(all_sealed, !atomic_read(&unsealed));
	/*
	 * The last destructor may not have returned from this module yet. It
	 * may have been preempted behind the wake-up.
	 */
	synchronize_rcu();
	synchronize_rcu_tasks();
}

/* ---- runs ---------------------------------------------------------------- */

#define RUN_MAX 64

/* The length of a packet with headers and checksum. */
static u32 length_on_way(const struct uroce_flow *flow,
			 const struct sk_buff *skb)
{
	u32 ip = uroce_flow_is_ipv4(flow) ? sizeof(struct iphdr) :
					    sizeof(struct ipv6hdr);

	return ip + sizeof(struct udphdr) + skb->len + UROCE_ICRC_SIZE;
}

/*
 * May a packet join the run? A packet that exceeds the MTU travels alone, so
 * that it gets its own error, and so does a GSO packet. A router checks only
 * the length of the first packet of a run, so no other packet is longer, except
 * where every route accepts it.
 */
static bool run_takes(const struct uroce_run *run,
		      const struct uroce_flow *flow, const struct sk_buff *skb)
{
	u32 len = length_on_way(flow, skb);

	return run->head && !flow->wary && !skb_is_gso(skb) &&
	       run->count < run->max_count &&
	       run->len + len <= run->max_len && len <= run->longest &&
	       skb_dst(run->head) == flow->route;
}

/*
 * A run consists of one packet if this is a GSO packet or longer than the MTU,
 * or if encapsulation needs more headroom than MAX_HEADER, which the kernel
 * does not check for packets of a list.
 */
static void run_begin(struct net_device *dev, struct uroce_run *run,
		      struct dst_entry *dst, struct sk_buff *skb)
{
	const struct net_device *out = dst->dev;
	u32 mtu = dst_mtu(dst);

	run->head = skb;
	run->tail = skb;
	run->sk = uroce_output_payer(dev, skb);
	run->count = 1;
	run->len = skb->len;
	run->longest = clamp_t(u32, IPV6_MIN_MTU, skb->len, max(skb->len, mtu));
	run->max_len = min_t(u32, IP_MAX_MTU, READ_ONCE(out->gso_max_size));
	run->max_count = min_t(u32, RUN_MAX, READ_ONCE(out->gso_max_segs));
	if (skb_is_gso(skb) || skb->len > mtu ||
	    LL_RESERVED_SPACE(out) > MAX_HEADER)
		run->max_count = 1;
}

/*
 * In the list, a packet's IP header lies in front of its data. Each packet is
 * charged on its own, since kernels differ in whether the truesize of a list
 * stays with the first packet when the list is split.
 */
static void run_append(const struct uroce_flow *flow, struct uroce_run *run,
		       struct sk_buff *skb)
{
	uroce_output_headers(flow, skb, run->count);
	memset(uroce_net_put(skb, UROCE_ICRC_SIZE), 0, UROCE_ICRC_SIZE);
	run->len += skb->len;
	run->count++;
	set_unsealed(skb, run->sk);
	__skb_pull(skb, skb_transport_offset(skb) + sizeof(struct udphdr));
	if (run->tail == run->head)
		skb_shinfo(run->head)->frag_list = skb;
	else
		run->tail->next = skb;
	run->tail = skb;
}

/* Makes @skb, the first packet, represent the whole run. */
static void run_close(struct sk_buff *skb, u32 count)
{
	struct skb_shared_info *info = skb_shinfo(skb);
	struct sk_buff *seg;

	info->gso_size = skb->len - skb_transport_offset(skb) -
			 sizeof(struct udphdr);
	info->gso_segs = count;
	info->gso_type = SKB_GSO_UDP_L4 | SKB_GSO_FRAGLIST;
	for (seg = info->frag_list; seg; seg = seg->next) {
		skb->len += seg->len;
		skb->data_len += seg->len;
		skb->truesize += seg->truesize;
	}
	udp_hdr(skb)->len = htons(skb->len - skb_transport_offset(skb));
	/* No UDP checksum is to be computed. */
	skb->ip_summed = CHECKSUM_UNNECESSARY;
}

static int run_xmit(struct net_device *dev, struct uroce_run *run)
{
	struct sk_buff *skb = run->head;
	int ret;

	if (!skb)
		return 0;
	run->head = NULL;
	if (run->count > 1)
		run_close(skb, run->count);
	else
		uroce_output_charge(dev, skb);
	ret = uroce_output_xmit(dev_net(dev), skb);
	if (ret == -ENOBUFS)
		run->lost = true;
	return ret;
}

/**
 * uroce_run_send() - send the packets that were added
 * @dev: device that has the source address
 * @run: empty afterwards
 *
 * Return: as uroce_net_xmit(), for all packets since the last call
 */
int uroce_run_send(struct net_device *dev, struct uroce_run *run)
{
	int ret = run_xmit(dev, run);

	if (!run->lost)
		return ret;
	run->lost = false;
	return -ENOBUFS;
}

static int run_start(struct net_device *dev, struct uroce_flow *flow,
		     struct uroce_run *run, struct sk_buff *skb)
{
	struct dst_entry *dst =
		uroce_net_enabled() ? uroce_flow_route(dev, flow) : NULL;
	int ret = run_xmit(dev, run);

	if (!dst)
		ret = -EHOSTUNREACH;
	if (!dst || ret == -ENOBUFS) {
		kfree_skb(skb);
		return ret;
	}
	if (flow->wary)
		return uroce_output_one(dev, flow, dst, skb);
	if (skb_is_gso(skb))
		uroce_gso_seal(flow, skb);
	else
		uroce_net_seal(flow, skb, 0);
	uroce_output_set_route(skb, dst);
	run_begin(dev, run, dst, skb);
	return 0;
}

/**
 * uroce_run_add() - send a packet together with others
 * @dev: device that has the source address
 * @flow: destination, the same for all packets of a run
 * @run: the run; it is sent when it is full, or by uroce_run_send(), which has
 *	to be called before bottom halves are enabled again
 * @skb: as for uroce_net_xmit(); consumed
 *
 * Return: as uroce_net_xmit(). -ENOBUFS: the packets before this one are lost,
 * and this one too; uroce_run_send() reports it once more.
 */
int uroce_run_add(struct net_device *dev, struct uroce_flow *flow,
		  struct uroce_run *run, struct sk_buff *skb)
{
	if (!run_takes(run, flow, skb))
		return run_start(dev, flow, run, skb);
	run_append(flow, run, skb);
	return 0;
}
