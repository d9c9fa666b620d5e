/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The model of the device upci: a program on the host of its guests. It is the
 * server of QEMU's ivshmem protocol and the only peer of each guest. It reads
 * and writes the memory of the guests, as a bus master does, and carries
 * messages from guest to guest, as a switch does.
 *
 *	bus.c		guests: the ivshmem protocol, interrupts, memory
 *	command.c	objects: commands of the driver
 *	engine.c	work: queue pairs, requests and their turns
 *	ring.c		rings and completions
 *	memory.c	memory of processes, by key
 *	message.c	messages: connections, datagrams, receives
 */
#ifndef UPCI_MODEL_H
#define UPCI_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <infiniband/verbs.h>

#include "upci_hw.h"
#include "univerbs.h"
#include "univerbs_ring.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers of guests are read as they are");

#define MAX_GUESTS 8

/* The ring of a queue in the memory of a guest, page by page. */
struct ring {
	uint64_t *page;
	struct upci_ring at;
	uint32_t index;		/* requests taken, or completions written */
};

struct cq {
	bool used;
	bool overrun;
	bool fresh;		/* written since the last look at the arm word */
	bool solicited;
	bool tell;		/* an overrun is not told yet */
	uint32_t fired;
	struct ring ring;
};

struct srq {
	bool used;
	struct ring ring;
};

struct qp {
	bool used;
	bool runnable;
	bool tell;		/* the error is not told yet */
	uint32_t number;
	uint32_t pd;
	uint32_t type;
	uint32_t state;
	uint32_t dest_qpn;
	uint32_t dlid;
	uint32_t qkey;
	uint32_t access;
	uint32_t rnr_retry;
	uint32_t sq_psn;	/* as modified: requests are not counted */
	uint32_t rq_psn;
	bool sig_all;
	uint32_t max_sge;
	uint64_t waits_until;	/* 0: the request at the head does not wait */
	struct cq *send_cq;
	struct cq *recv_cq;
	struct srq *srq;
	struct ring send;
	struct ring recv;
};

struct mr {
	bool used;
	uint32_t pd;
	uint32_t access;
	uint64_t iova;
	uint64_t length;
	uint64_t *page;
};

struct ah {
	bool used;
	uint32_t pd;
	uint32_t handle;
	uint32_t dlid;
};

struct guest {
	const char *path;	/* of the socket */
	int listener;
	int socket;		/* -1: no guest is there */
	int mem_fd;
	int bell[UPCI_VECTORS];	/* the guest rings */
	int irq[2];		/* the model interrupts */
	uint8_t *ram;
	uint64_t ram_size;
	struct upci_mem *mem;
	uint32_t event_tail;	/* of the event ring; the guest can write to @mem */
	uint32_t cmd_done;
	uint32_t lid;
	struct cq cqs[UPCI_MAX_QUEUES];
	struct srq srqs[UPCI_MAX_QUEUES];
	struct qp qps[UPCI_MAX_QUEUES];
	struct mr mrs[UPCI_MAX_KEYS];
	struct ah ahs[UPCI_MAX_AHS];
};

extern struct guest guests[MAX_GUESTS];
extern int num_guests;

/* bus.c */
void interrupt(struct guest *guest, int vector);
void event_try(struct guest *guest);
/* The bytes of a page of the guest; the address was checked by bus_ok(). */
static inline uint8_t *bus(const struct guest *guest, uint64_t addr)
{
	return guest->ram + addr;
}
bool bus_ok(const struct guest *guest, uint64_t addr);

/* ring.c */
struct univ_ring_user *ring_user(const struct guest *guest, const struct ring *ring);

/* command.c */
void command_run(struct guest *guest);
void guest_reset(struct guest *guest);

/* engine.c */
int engine_run(void);			/* returns milliseconds until there is work, or -1 */
void engine_bell(struct guest *guest, int vector);
void qp_enter(struct guest *guest, struct qp *qp, uint32_t state);
uint64_t now_ms(void);

#endif
