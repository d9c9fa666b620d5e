/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIV_SRQ_H
#define UNIV_SRQ_H

#include <linux/mutex.h>

#include "event.h"
#include "object.h"
#include "pump.h"

struct ib_srq;
struct univ_cq;
struct univ_pd;
struct univ_region;
struct univ_xrcd;

struct univ_srq {
	struct univ_object obj;
	struct ib_srq *ib;
	struct univ_pd *pd;		/* dependant of it */
	struct univ_cq *cq;		/* XRC: likewise of these two */
	struct univ_xrcd *xrcd;
	struct univ_region *region;
	struct mutex mutex;		/* modify and query */
	struct univ_recv_queue rq;
	u32 max_wr;
	struct univ_event_source events;
};

struct univ_srq *univ_srq_get(struct univ_context *ctx, u32 handle,
			      struct univ_hdr *hdr);
int univ_srq_create_ioctl(struct univ_call *call, void *arg);
int univ_srq_modify_ioctl(struct univ_call *call, void *arg);
int univ_srq_query_ioctl(struct univ_call *call, void *arg);
int univ_srq_destroy_ioctl(struct univ_call *call, void *arg);
int univ_srq_destroy(struct univ_object *obj);

#endif
