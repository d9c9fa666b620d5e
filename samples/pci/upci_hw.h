/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The registers and the memory of the device upci, for its driver and its
 * model. All numbers are little-endian.
 *
 * BAR0 is that of QEMU's ivshmem-doorbell: a store of (model << 16 | vector) to
 * UPCI_DOORBELL reaches the model as an eventfd of that vector. BAR1 is the
 * MSI-X table. BAR2 is memory: struct upci_mem, and behind it a list of DMA
 * addresses that is an argument of some commands.
 */
#ifndef UPCI_HW_H
#define UPCI_HW_H

#include <linux/types.h>

#define UPCI_DOORBELL	12	/* BAR0 */
#define UPCI_MAGIC	0x69637075
#define UPCI_PAGE	4096u

/* Peers of the ivshmem protocol. */
#define UPCI_MODEL_ID	0
#define UPCI_GUEST_ID	1

/* Vectors of the model: commands, and the queues by their number. */
#define UPCI_VECTORS	16
#define UPCI_BELL_COMMAND 0
#define UPCI_BELL_QUEUE(n) (1 + (n) % (UPCI_VECTORS - 1))

/* Interrupts of the guest. */
#define UPCI_IRQ_COMMAND 0
#define UPCI_IRQ_EVENT	1

#define UPCI_MEM_SIZE	(1u << 20)
#define UPCI_LIST	(1u << 16)	/* offset of the list in BAR2 */
#define UPCI_LIST_MAX	((UPCI_MEM_SIZE - UPCI_LIST) / 8)

#define UPCI_MAX_QUEUES	1024u	/* of each kind; numbers are below it */
#define UPCI_MAX_KEYS	8192u
#define UPCI_MAX_AHS	1024u
#define UPCI_MAX_WR	4096u
#define UPCI_MAX_SGE	8u
#define UPCI_MAX_MSG	(64u << 20)

enum upci_op {
	UPCI_CREATE_CQ = 1,
	UPCI_CREATE_SRQ,
	UPCI_CREATE_QP,
	UPCI_MODIFY_QP,
	UPCI_CREATE_AH,
	UPCI_CREATE_MR,
	UPCI_DESTROY_CQ,
	UPCI_DESTROY_SRQ,
	UPCI_DESTROY_QP,
	UPCI_DESTROY_AH,
	UPCI_DESTROY_MR,
	UPCI_RESET,
};

/* A ring of uapi/univerbs_ring.h: offsets in the pages of the list. */
struct upci_ring {
	__u32 head;
	__u32 slots;
	__u32 count;
	__u32 stride;
};

/* The values of states, types, access flags and masks are those of verbs. */
struct upci_cmd {
	__u32 op;
	__u32 number;		/* of the object; of a region its key */
	__u32 pd;
	__u32 type;
	__u32 send_cq;
	__u32 recv_cq;
	__u32 srq;		/* 0: none */
	__u32 sig_all;
	__u32 max_sge;		/* of a send request */
	__u32 psn;		/* with IB_QP_RQ_PSN or IB_QP_SQ_PSN */
	__u32 state;
	__u32 dest_qpn;
	__u32 dlid;		/* of a queue pair or an address handle */
	__u32 qkey;
	__u32 access;
	__u32 mask;		/* IB_QP_*: the members that are valid */
	__u32 rnr_retry;
	__u32 pages;		/* in the list: of a region, or of both rings */
	__u64 iova;
	__u64 length;
	struct upci_ring ring;	/* send, shared receive or completion ring */
	struct upci_ring recv;
};

enum upci_event_type {
	UPCI_EVENT_COMPLETION = 1,
	UPCI_EVENT_OVERRUN,	/* of a completion queue */
	UPCI_EVENT_QP_ERROR,
};

#define UPCI_EVENTS 1024u

struct upci_event {
	__u32 type;
	__u32 number;
};

struct upci_mem {
	__u32 magic;
	__u32 lid;
	__u64 guid;
	__u32 heart;		/* device: changes as long as it lives */
	__u32 event_tail;	/* device */
	__u32 event_head;	/* driver */
	__u32 cmd_asked;	/* driver: counts commands */
	__u32 cmd_done;		/* device: @cmd_asked of the last one */
	__s32 cmd_result;	/* device: 0 or a negative errno */
	struct upci_cmd cmd;
	struct upci_event events[UPCI_EVENTS];
};

#endif
