/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Inside the room ring: declarations that the files that post share. */
#ifndef UNIV_RING_POST_H
#define UNIV_RING_POST_H

#include "ring/ring.h"

#define BIT(n) (1u << (n))

/* Masks of opcodes by trait, which the compiler computes from the table. */
#define IF_TRAIT(name, traits, trait) | ((traits) & (trait) ? BIT(UNIV_WR_##name) : 0)
#define IF_OUT(name, word, types, traits, feature) IF_TRAIT(name, traits, UNIV_OP_OUT)
#define IF_REMOTE(name, word, types, traits, feature) IF_TRAIT(name, traits, UNIV_OP_REMOTE)
#define IF_ATOMIC(name, word, types, traits, feature) IF_TRAIT(name, traits, UNIV_OP_ATOMIC)
#define IF_QUICK(name, word, types, traits, feature) IF_TRAIT(name, traits, UNIV_OP_QUICK)
#define IF_EX_ONLY(name, word, types, traits, feature) IF_TRAIT(name, traits, UNIV_OP_EX_ONLY)

enum univ_opcodes {
	UNIV_OPCODES_OUT = 0 UNIV_OPCODES(IF_OUT),
	UNIV_OPCODES_REMOTE = 0 UNIV_OPCODES(IF_REMOTE),
	UNIV_OPCODES_ATOMIC = 0 UNIV_OPCODES(IF_ATOMIC),
	UNIV_OPCODES_QUICK = 0 UNIV_OPCODES(IF_QUICK),
	UNIV_OPCODES_EX_ONLY = 0 UNIV_OPCODES(IF_EX_ONLY),
};

/* The flags of all queue pairs. IBV_SEND_IP_CSUM means something for raw packets only. */
#define UNIV_WR_FLAGS (UNIV_WR_FENCE | UNIV_WR_SIGNALED | UNIV_WR_SOLICITED | UNIV_WR_INLINE)

static inline bool univ_device_gone(const struct univ_doorbell *doorbell)
{
	return univ_unlikely(univ_load_plain(&doorbell->state) & UNIV_RING_DEAD);
}

/* post_send.c: whether @qp takes requests now, and the failures if it does not take one. */
bool univ_send_allowed(const struct univ_qp *qp);
int univ_send_refused(const char *verb, const struct univ_qp *qp);
int univ_send_full(const char *verb, const struct univ_qp *qp, uint32_t tail);
int univ_send_kick(const char *verb, const struct univ_qp *qp);
int univ_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int univ_post_send_bell(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);

/* post_recv.c, bind.c, post_ex.c */
int univ_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int univ_post_recv_bell(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int univ_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int univ_post_srq_recv_bell(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int univ_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
int univ_bind_mw_bell(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
int univ_wr_complete(struct ibv_qp_ex *ex);
int univ_wr_complete_bell(struct ibv_qp_ex *ex);

/*
 * A thread-local word that is read without a call. glibc reserves room for a few such words in
 * libraries that dlopen(3) loads. musl has none, and refuses such a library.
 */
#ifdef __GLIBC__
#define UNIV_TLS_QUICK __attribute__((tls_model("initial-exec")))
#else
#define UNIV_TLS_QUICK
#endif

/*
 * A thread that polls an empty queue all the time may occupy the processor that the completion
 * needs: the peer's process may wait for it, or the kernel's thread that runs the device's
 * tasklets. So the thread gives way at each 256th poll that finds nothing: the count of these
 * polls is a byte, which then overflows. 256 polls take a few microseconds. The count belongs to
 * the thread, since threads that share a queue would share the line of a counter. Programs rely on
 * polls without system calls over a device with bells, which works by itself, and with a poller
 * (UNIVERBS_POLL).
 */
extern __thread uint8_t univ_empty_polls UNIV_TLS_QUICK;

/* poll.c */
void univ_poll_give_way(const struct univ_cq *cq);

/* The caller holds no lock. */
static inline void univ_polled_nothing(const struct univ_cq *cq)
{
	if (univ_unlikely(!++univ_empty_polls))
		univ_poll_give_way(cq);
}

/*
 * Stores to the doorbell register. Does not fail when the device is gone: the published requests
 * count as posted, as after a kick, and may complete as flushed. The next post fails with ENODEV.
 */
static inline int univ_bell_ring(const struct univ_bell_at *bell)
{
	univ_mmio_store_after_memory(bell->reg, bell->value);
	return 0;
}

static inline int univ_send_ring(const char *verb, const struct univ_qp *qp)
{
	(void)verb;
	return univ_bell_ring(&qp->sq_bell);
}

/* opcode.c */
int univ_send_impossible(const char *verb, int err, const struct univ_qp *qp, uint32_t opcode);

/* bind.c, tso.c */
int univ_send_fill_tso(const char *verb, const struct univ_qp *qp, struct univ_send_wr *slot,
		       const void *header, uint16_t size, uint16_t mss);
int univ_send_fill_bind(const char *verb, struct univ_send_wr *slot, const struct ibv_mw *mw,
			uint32_t rkey, const struct ibv_mw_bind_info *info);

/* qp_table.c: called under the lock of the completion queue. */
uint64_t univ_qp_table_requests(struct univ_context *ctx, const struct univ_cq *cq);
void univ_completion_failed(struct univ_context *ctx, const struct univ_cqe *cqe);

/* poll.c */
int univ_cq_broken(struct univ_cq *cq);

#endif
