/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The room of queue pairs and of the objects that they use: structures,
 * look-up, requests out of rings, and completions into queues. The room knows
 * devices, memory and addresses. It does not know how a request is executed,
 * nor which context runs a send queue: to this room that is a task, a timer and
 * a work item. Other rooms include this header only.
 *
 * Requests always lie in rings of the format of univerbs_ring.h: a ring is
 * shared with a process (attached, kernel/include/queue.h), or private and
 * written by the post functions for users in the kernel.
 *
 * Locks, outermost first. The first two are taken with bottom halves off.
 *
 *	uroce_sendq.lock	the requester: the send queue and its state. A
 *				thread with new work only tries the lock; if
 *				that fails, it sets @again for the holder.
 *				Control verbs, the work item and
 *				uroce_send_rest() wait for it, without another
 *				lock.
 *	uroce_resp.lock		the responder: receive queue, expected PSN, and
 *				uroce_qp.state. A requester takes the lock of
 *				its peer or its own, never both.
 *	uroce_mw.lock		a memory window, during a copy through it
 *	uroce_dev.bound_lock	the windows that a queue pair has bound
 *	uroce_recvq.lock	the head of a shared receive queue
 *	uroce_*.post		the tail of a private ring; interrupts off
 *	uroce_cq.lock, univ_cq.lock	interrupts off
 *
 * Lifetime. struct uroce_qp is freed after a grace period, so a look-up by
 * number needs only RCU; its user takes one of the locks and checks @dead.
 * Destroying sets @dead under both locks. After that no thread works in the
 * queue pair, and only then may its completion queues and memory be destroyed.
 * Copies hold references to memory regions.
 *
 * Completion handlers of kernel users run in a tasklet, never under these
 * locks.
 */
#ifndef UROCE_QP_H
#define UROCE_QP_H

#include "ah.h"
#include "cntr.h"
#include "cq.h"
#include "mcast.h"
#include "migrate.h"
#include "mw.h"
#include "pair.h"
#include "recv.h"
#include "rss.h"
#include "send.h"
#include "wq.h"
#include "xrc.h"

#endif
