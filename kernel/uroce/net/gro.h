/* SPDX-License-Identifier: GPL-2.0 */
/* Combines packets that arrive; see gro.c. Private to this room. */
#ifndef UROCE_GRO_H
#define UROCE_GRO_H

struct net;
struct socket;

/* The sockets of a namespace; NULL for none. */
struct uroce_gro {
	struct socket *ipv4;
	struct socket *ipv6;
};

void uroce_gro_start(struct net *net, struct uroce_gro *gro);
void uroce_gro_stop(struct uroce_gro *gro);
int uroce_gro_init(void);
void uroce_gro_exit(void);

/*
 * net.c: closes the sockets of all namespaces, since another module needs the
 * port.
 */
void uroce_net_yield(void);

#endif
