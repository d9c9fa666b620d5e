/* SPDX-License-Identifier: GPL-2.0 */
/* The core's side of kernel/include/queue.h. */
#ifndef UNIV_NATIVE_H
#define UNIV_NATIVE_H

#include "object.h"
#include "qp.h"
#include "queue.h"
#include "srq.h"

struct ib_device;

const struct univ_queue_ops *univ_queue_ops(struct ib_device *ib);
int univ_queue_attach_qp(struct univ_qp *qp);
int univ_queue_attach_srq(struct univ_srq *srq);

/* Kick a queue of a device that takes rings itself; see univ_pump_kick(). */
static inline void univ_queue_kick(struct univ_object *obj,
				   const struct univ_queue_ops *ops, u32 which)
{
	if (likely(obj->type == UNIV_OBJECT_QP))
		ops->qp_kick(container_of(obj, struct univ_qp, obj)->ib, which);
	else
		ops->srq_kick(container_of(obj, struct univ_srq, obj)->ib);
}

#endif
