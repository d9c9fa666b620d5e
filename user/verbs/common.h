/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Inside the room verbs: declarations that its files share. */
#ifndef UNIV_VERBS_COMMON_H
#define UNIV_VERBS_COMMON_H

#include <stdbool.h>

#include "ring/ring.h"
#include "verbs/verbs.h"

struct univ_xrcd {
	struct ibv_xrcd ibv;
	uint32_t handle;
};

/*
 * A protection domain, or a parent domain: another ibv_pd with the handle of the domain that it
 * is built on.
 */
struct univ_pd {
	struct ibv_pd ibv;
	struct univ_pd *domain;		/* of a parent domain, else NULL */
	struct univ_td *td;		/* of a parent domain, or NULL */
	bool special;			/* ibv_alloc_buf() may return memory of the device */
	/*
	 * Parent domains that are built on it; of a parent domain also all other objects. The
	 * kernel counts the objects of a protection domain itself.
	 */
	int users;
	int refs;			/* the program's, and one of each object */
};

struct univ_counters {
	struct ibv_counters ibv;
	uint32_t handle;
};

struct univ_td {
	struct ibv_td ibv;
	int users;			/* parent domains */
};

static inline struct univ_pd *to_upd(struct ibv_pd *pd)
{
	return (struct univ_pd *)pd;
}

static inline struct univ_xrcd *to_uxrcd(struct ibv_xrcd *xrcd)
{
	return (struct univ_xrcd *)xrcd;
}

/* pd.c: an object is created in @pd, or goes. */
void univ_pd_hold(struct ibv_pd *pd);
void univ_pd_release(struct ibv_pd *pd);

/* Whether both are one protection domain, which parent domains may stand for. */
static inline bool univ_pd_same(const struct ibv_pd *pd, const struct ibv_pd *other)
{
	return pd->context == other->context && pd->handle == other->handle;
}

/* cq.c: keep and give up the memory of a queue that univ_cq_forget() will be called for. */
void univ_cq_get(struct ibv_cq *cq);
void univ_cq_put(struct ibv_cq *cq);

/* mr.c: a new region, which is freed again if its creation fails with @err. */
struct ibv_mr *univ_mr_new(const char *verb, struct ibv_pd *pd);
struct ibv_mr *univ_mr_finish(struct ibv_mr *mr, int err);

/* As ibv_reg_mr_iova2() and ibv_reg_dmabuf_mr(), with a DMA handle or NULL. */
struct ibv_mr *univ_mr_reg(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			   unsigned int access, struct ibv_dmah *dmah);
struct ibv_mr *univ_mr_dmabuf_reg(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				  int fd, int access, struct ibv_dmah *dmah);

/* dmah.c: whether a region of the domain may use a handle; the kernel's handle, 0 of NULL */
int univ_dmah_check(const char *verb, const struct ibv_pd *pd, const struct ibv_dmah *dmah);
uint32_t univ_dmah_handle(struct ibv_dmah *dmah);

/* ah.c */
void univ_ah_attr_from_ibv(struct univ_ah_attr *to, const struct ibv_ah_attr *from);
void univ_ah_attr_to_ibv(struct ibv_ah_attr *to, const struct univ_ah_attr *from);

/* event.c */
struct univ_acks {
	const char *verb;
	enum univ_object_type type;
	pthread_mutex_t *mutex;
	pthread_cond_t *cond;
};

/*
 * The cookie of an object's events. The opener of the file reads the asynchronous events of all
 * contexts that share it, and the addresses of an imported context's objects mean nothing there.
 * univ_events_begin() has them sent to the imported context.
 */
static inline uint64_t univ_cookie(struct ibv_context *context, const void *object)
{
	return (uintptr_t)object | (to_ucontext(context)->imported ? UNIV_COOKIE_NO_ASYNC : 0);
}

/* A new object of an imported context reports to the context's own channel. */
void univ_events_begin(struct ibv_context *context, uint32_t handle);

/* Waits until the program has acknowledged as many events as the kernel has @delivered. */
void univ_acks_wait(const struct univ_acks *acks, const uint32_t *done, uint32_t delivered);

/*
 * doorbell.c: sets @doorbell to the context's doorbell page, which is mapped once, together
 * with the bell page if there is one.
 */
int univ_doorbell_map(const char *verb, struct ibv_context *context,
		      const struct univ_doorbell **doorbell);
void univ_bell_set(struct univ_bell_at *bell, const struct ibv_context *context,
		   const struct univ_bell *from);

/* wq.c: queue pairs with a receive indirection table */
int univ_rss_check(const struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr);
void univ_rss_fill(struct univ_qp_create *cmd, const struct ibv_qp_init_attr_ex *attr);

/* qp.c */
struct univ_qp *univ_qp_alloc(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr);
void univ_qp_free(struct univ_qp *qp);

/* qp_resize.c */
int univ_qp_resize(struct univ_qp *qp, struct ibv_qp_attr *attr, int attr_mask);
void univ_qp_rings_lost(struct univ_qp *qp);

/* xrc_recv.c */
int univ_xrc_recv_create(struct univ_qp *qp, const struct ibv_qp_init_attr_ex *attr);

#endif
