/* SPDX-License-Identifier: GPL-2.0 */
/* Packets that stand for several packets; see gso.c. Private to this room. */
#ifndef UROCE_GSO_H
#define UROCE_GSO_H

#include <linux/types.h>

struct sk_buff;
struct uroce_flow;
struct uroce_packet;

void uroce_gso_seal(const struct uroce_flow *flow, struct sk_buff *skb);
u32 uroce_gso_mtu(const struct sk_buff *skb);
bool uroce_gso_fits(const struct uroce_packet *pkt);
struct sk_buff *uroce_gso_split(struct sk_buff *skb, u32 ip_len);
void uroce_gso_init(void);
void uroce_gso_exit(void);

#endif
