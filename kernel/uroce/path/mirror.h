/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages between queue pairs of one host are sent without packets. A device
 * whose mirror is on builds the packets that the messages would have, with the
 * same functions, and shows them to packet sockets on its net device (tcpdump)
 * only. The copies take time, so the mirror is for looking at an application.
 * While all mirrors are off, a message costs a branch that is patched out.
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
 * Shows a request that a queue pair of @to has executed or refused, and its
 * answer with this syndrome. Context: sq.lock, and resp.lock of the peer, which
 * is not dead.
 */
void uroce_mirror_message(struct uroce_qp *qp, struct uroce_dev *to,
			  struct uroce_wqe *wqe, u8 syndrome);
/* Shows a datagram, whose memory is mapped. Context: sq.lock. */
void uroce_mirror_datagram(struct uroce_qp *qp, struct uroce_dev *to,
			   struct uroce_wqe *wqe);

/* Context: the device is held, or is being removed; may sleep. */
void uroce_mirror_set(struct uroce_dev *dev, bool on);

void uroce_mirror_add(struct uroce_dev *dev);
void uroce_mirror_remove(struct uroce_dev *dev);

#endif
