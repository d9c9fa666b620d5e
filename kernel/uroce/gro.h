/* SPDX-License-Identifier: GPL-2.0 */
/* Packets from the wire, put together by the kernel; see gro.c. */
#ifndef UROCE_GRO_H
#define UROCE_GRO_H

struct net;
struct socket;

/* Of a namespace: whom the kernel asks; NULL for nobody */
struct uroce_gro {
	struct socket *ipv4;
	struct socket *ipv6;
};

void uroce_gro_start(struct net *net, struct uroce_gro *gro);
void uroce_gro_stop(struct uroce_gro *gro);
int uroce_gro_init(void);
void uroce_gro_exit(void);

/* net.c: to stop in all namespaces, since somebody else wants the port */
void uroce_net_yield(void);

#endif
