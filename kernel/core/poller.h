/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A kernel thread that looks at all rings of a context, so that posting makes no
 * system call. It sleeps when nothing was posted for a while; rings ask for a
 * kick then.
 */
#ifndef UNIV_POLLER_H
#define UNIV_POLLER_H

#include <linux/types.h>

struct univ_call;
struct univ_context;
struct univ_feed;
struct univ_poller;

int univ_poller_start_ioctl(struct univ_call *call, void *arg);
void univ_poller_stop(struct univ_context *ctx);
void univ_poller_add(struct univ_context *ctx, struct univ_feed *feed);
void univ_poller_remove(struct univ_feed *feed);
bool univ_poller_awake(const struct univ_poller *poller);
void univ_poller_wake(struct univ_poller *poller);

#endif
