/* SPDX-License-Identifier: GPL-2.0 */
/* The core's side of kernel/include/queue.h. */
#ifndef UNIV_NATIVE_H
#define UNIV_NATIVE_H

#include "queue.h"

struct ib_device;
struct univ_object;
struct univ_qp;
struct univ_srq;

const struct univ_queue_ops *univ_queue_ops(struct ib_device *ib);
void univ_queue_kick(struct univ_object *obj, unsigned long which);
int univ_queue_attach_qp(struct univ_qp *qp);
int univ_queue_attach_srq(struct univ_srq *srq);

#endif
