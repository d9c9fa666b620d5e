/* SPDX-License-Identifier: GPL-2.0 */
/* Between the files of the engine: requests, rings, pieces of memory, messages. */
#ifndef UPCI_ENGINE_H
#define UPCI_ENGINE_H

#include "model.h"

#define TURN		32	/* requests of one queue pair before the next has its turn */

/* The result of a request for its sender; WAIT if it stays at the head. */
#define WAIT		255

struct request {
	struct univ_send_wr wr;		/* up to the list */
	struct univ_sge sge[UPCI_MAX_SGE];
	uint8_t data[UPCI_PAGE];
	uint32_t length;
};

/* Pieces of memory of one side of a transfer, each within a page. */
struct pieces {
	struct iovec *iov;
	uint32_t count;
	uint32_t max;
	uint64_t length;
	uint64_t need;		/* bytes behind these are checked and not used */
};

/* engine.c */
extern uint32_t steps;			/* of this pass */
void qp_fail(struct guest *guest, struct qp *qp);

/* ring.c */
uint32_t ring_index(const struct guest *guest, const struct ring *ring);
void ring_copy(const struct guest *guest, const struct ring *ring, uint32_t index,
	       uint32_t offset, void *to, uint32_t length);
int64_t ring_waiting(const struct guest *guest, const struct ring *ring);
void ring_retire(const struct guest *guest, struct ring *ring, uint32_t index);
void ring_flags(const struct guest *guest, const struct ring *ring, uint32_t flags);
bool cq_write(struct guest *guest, struct cq *cq, struct univ_cqe *cqe, bool solicited);

/* memory.c */
uint16_t pieces_add(const struct guest *guest, struct pieces *p, uint32_t pd, uint32_t key,
		    uint64_t addr, uint64_t length, uint32_t access);
uint16_t pieces_list(const struct guest *guest, struct pieces *p, uint32_t pd,
		     const struct univ_sge *sge, uint32_t count, uint32_t access);
uint16_t pieces_of(const struct guest *guest, struct pieces *p, const struct qp *qp,
		   struct request *r, uint32_t access);
void pieces_copy(const struct pieces *to, const struct pieces *from);

/* message.c */
void recv_flush(struct guest *guest, struct qp *qp);
uint8_t rc_request(struct guest *guest, struct qp *qp, struct request *r, uint16_t *reason);
uint8_t ud_request(struct guest *guest, struct qp *qp, struct request *r, uint16_t *reason);

#endif
