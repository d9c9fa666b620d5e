// SPDX-License-Identifier: GPL-2.0
/*
 * The limit of packets that are under way: packets that wait in the queues below are
 * counted, except for packets to neighbours that do not answer.
 */
#include <kunit/test.h>
#include <linux/skbuff.h>
#include <linux/string.h>
#include <net/dst.h>
#include <net/ipv6.h>
#include <net/neighbour.h>
#include <net/net_namespace.h>

#include "../../kernel/uroce/path/remote.h"
#include "bh.h"

#define PAYLOAD	1024
#define MANY	2048u		/* Far more packets than the limit allows. */

static struct sk_buff_head waiting;
static bool silent;		/* the neighbour does not answer */
static bool joined;		/* KUnit of Linux 6.1 ends a test that did not begin */

/* ---- A route to a queue that nothing leaves ------------------------------------ */

static int keep(struct net *net, struct sock *sk, struct sk_buff *skb)
{
	skb_queue_tail(&waiting, skb);
	return 0;
}

static struct neighbour next_hop = { .nud_state = NUD_INCOMPLETE };

static struct neighbour *way_neighbour(const struct dst_entry *dst,
				       struct sk_buff *skb, const void *addr)
{
	if (!silent)
		return NULL;
	neigh_hold(&next_hop);
	return &next_hop;
}

static struct dst_ops way_ops = { .family = AF_INET, .neigh_lookup = way_neighbour };
static struct dst_entry way;

static struct net_device *card(void)
{
	return init_net.loopback_dev;
}

/* The references of the tests to the route and the neighbour are never the last. */
static void way_init(void)
{
	memset(&way, 0, sizeof(way));
	way.ops = &way_ops;
	way.dev = card();
	way.output = keep;
	refcount_set(&next_hop.refcnt, 1);
#ifdef UNIV_HAS_DST_RCUREF
	rcuref_init(&way.__rcuref, 1000);
#else
	atomic_set(&way.__refcnt, 1000);
#endif
}

static struct sk_buff *packet(void)
{
	u8 opcode = UROCE_RC | UROCE_WRITE_MIDDLE;
	u32 len = uroce_ops[opcode].length + PAYLOAD;
	struct sk_buff *skb;

	IN_BOTTOM_HALF(skb = uroce_net_alloc(len, false));
	if (skb)
		skb_put_zero(skb, len);
	return skb;
}

/* Send packets for as long as there is room, and return their number. */
static u32 fill_queues(struct kunit *test)
{
	struct uroce_flow flow = { .sport = htons(0xc123), .route = &way };
	struct sk_buff *skb;
	u32 n;

	ipv6_addr_set_v4mapped(htonl(0x0a000001), &flow.src);
	ipv6_addr_set_v4mapped(htonl(0x0a000002), &flow.dst);
	for (n = 0; n < MANY && uroce_net_room(card(), false); n++) {
		skb = packet();
		KUNIT_EXPECT_NOT_ERR_OR_NULL(test, skb);
		if (!skb)
			break;
		KUNIT_EXPECT_EQ(test, uroce_net_xmit(card(), &flow, skb), 0);
	}
	return n;
}

/* ---- Tests --------------------------------------------------------------------- */

/* A sender that has waited may exceed the limit that stops others. */
static void output_under_way(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, uroce_net_room(card(), false));
	KUNIT_EXPECT_LT(test, fill_queues(test), MANY);
	KUNIT_EXPECT_FALSE(test, uroce_net_room(card(), false));
	KUNIT_EXPECT_TRUE(test, uroce_net_room(card(), true));
	/* The packets leave the queues. */
	skb_queue_purge(&waiting);
	KUNIT_EXPECT_TRUE(test, uroce_net_room(card(), false));
}

static bool has_room(struct uroce_conn *conn, u8 service, u8 stuck)
{
	conn->service = service;
	conn->req.stuck = stuck;
	return uroce_remote_ops.room(conn, false);
}

/*
 * Other senders fill the queues. An unreliable sender, which has no timer that would end its wait,
 * may exceed the limit when it has waited for the longest interval. A reliable sender waits on.
 */
static void output_unreliable(struct kunit *test)
{
	struct uroce_remote *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	struct uroce_qp *qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);
	struct uroce_dev *dev = kunit_kzalloc(test, sizeof(*dev), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, w);
	KUNIT_ASSERT_NOT_NULL(test, qp);
	KUNIT_ASSERT_NOT_NULL(test, dev);
	w->qp = qp;
	qp->dev = dev;
	dev->netdev = card();
	KUNIT_EXPECT_TRUE(test, has_room(&w->conn, UROCE_UC, 0));
	fill_queues(test);
	KUNIT_EXPECT_FALSE(test, has_room(&w->conn, UROCE_UC, 0));
	KUNIT_EXPECT_TRUE(test, has_room(&w->conn, UROCE_UC, UROCE_SOON_DOUBLED));
	KUNIT_EXPECT_FALSE(test, has_room(&w->conn, UROCE_RC, UROCE_SOON_DOUBLED));
}

/* Packets that the kernel keeps for such a neighbour leave room for packets to others. */
static void output_silent_neighbour(struct kunit *test)
{
	silent = true;
	KUNIT_EXPECT_EQ(test, fill_queues(test), MANY);
	KUNIT_EXPECT_TRUE(test, uroce_net_room(card(), false));
}

/* No packet arrives here, so no operation is called. */
static const struct uroce_net_ops no_ops;

static int output_init(struct kunit *test)
{
	int ret;

	silent = false;
	skb_queue_head_init(&waiting);
	way_init();
	ret = uroce_net_init(&no_ops);
	if (ret)
		return ret;
	ret = uroce_net_join(&init_net);
	if (ret)
		uroce_net_exit();
	joined = !ret;
	return ret;
}

static void output_exit(struct kunit *test)
{
	skb_queue_purge(&waiting);
	if (!joined)
		return;
	joined = false;
	uroce_net_leave(&init_net);
	uroce_net_exit();
}

static struct kunit_case output_cases[] = {
	KUNIT_CASE(output_under_way),
	KUNIT_CASE(output_unreliable),
	KUNIT_CASE(output_silent_neighbour),
	{}
};

static struct kunit_suite output_suite = {
	.name = "univ_uroce_output",
	.init = output_init,
	.exit = output_exit,
	.test_cases = output_cases,
};

kunit_test_suite(output_suite);
