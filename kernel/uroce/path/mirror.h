/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages between queue pairs of one host need no packets. A device whose mirror
 * is on makes those that there would have been, by the same functions, and shows
 * them to whoever listens to its netdev (tcpdump): nobody else ever gets them.
 * Copies cost time, so this is for looking at what an application does. While all
 * mirrors are off the price is one branch for a message, which is patched out.
 */
#ifndef UROCE_MIRROR_H
#define UROCE_MIRROR_H

#include <linux/jump_label.h>
#include <linux/types.h>

struct uroce_dev;
struct uroce_qp;
struct uroce_wqe;

DECLARE_STATIC_KEY_FALSE(uroce_mirrors_on);

/*
 * A request that was executed or refused by a queue pair of @to, and what that
 * answered: the syndrome of an acknowledge. The memory of datagrams is mapped.
 * Context: sq.lock, and resp.lock of the peer, which is not dead.
 */
void uroce_mirror_message(struct uroce_qp *qp, struct uroce_dev *to,
			  struct uroce_wqe *wqe, u8 syndrome);
void uroce_mirror_datagram(struct uroce_qp *qp, struct uroce_dev *to,
			   struct uroce_wqe *wqe);

void uroce_mirror_add(struct uroce_dev *dev);
void uroce_mirror_remove(struct uroce_dev *dev);

#endif
