/* SPDX-License-Identifier: GPL-2.0 */
/* A network stack that ends behind uroce: a route on which packets are caught, and our hook, to which they are passed. */
#ifndef UROCE_STACK_H
#define UROCE_STACK_H

#include <kunit/test.h>
#include <linux/if_ether.h>
#include <linux/skbuff.h>

#include "../../kernel/uroce/net/output.h"
#include "bh.h"

#define PAYLOAD	1024
#define PACKETS	9
#define LAST_PAYLOAD 300
#define GOT_MAX	80

/* A packet as input.c would have received it. */
struct got {
	u32 psn;
	u32 len;
	u8 first;		/* first byte of the payload */
	bool alike;		/* all other bytes are the same */
	int iif;		/* index of the net device that it came by */
};

struct seen {
	struct sk_buff *sent;	/* latest packet that was sent to the stack */
	u32 sends;
	u32 mtu;
	struct got got[GOT_MAX];
	u32 received;
	u32 damaged;
	bool single;		/* GSO packets have to be cut */
};

extern struct seen seen;

/* For a suite. */
int stack_init(struct kunit *test);
void stack_exit(struct kunit *test);

struct net_device *card(void);
/* A flow from 10.0.0.1 to 10.0.0.2, or from fd00::1 to fd00::2. */
void flow_init(struct uroce_flow *flow, bool ipv6);

/* Return a packet without payload. The bytes of its extended headers count down to 1. */
struct sk_buff *headers(u8 opcode, u32 psn, u32 len, bool pages);
struct sk_buff *packet(u32 psn, u32 len);

struct sk_buff *take_sent(void);
/* Pass the skb to our hook, as if it had just arrived. Return the verdict. */
unsigned int arrive(struct sk_buff *skb, bool ipv6);
/* Expect that PACKETS packets have arrived, whose payload is their PSN. */
void expect_all(struct kunit *test);
/* Segment the skb, as for a device that does not support super-packets. */
struct sk_buff *cut_up(struct kunit *test, struct sk_buff *skb);
/* The same for a device with these features. */
struct sk_buff *cut_up_for(struct kunit *test, struct sk_buff *skb, netdev_features_t features);

#endif
