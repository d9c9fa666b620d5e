/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An RDMA device that does nothing but count: every call of each operation, with
 * what was posted kept for the test to look at. Any call can be told to fail.
 */
#ifndef MOCK_H
#define MOCK_H

#include <linux/atomic.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

enum mock_op {
	MOCK_ALLOC_PD,
	MOCK_DEALLOC_PD,
	MOCK_GET_DMA_MR,
	MOCK_REG_MR,
	MOCK_DEREG_MR,
	MOCK_CREATE_AH,
	MOCK_DESTROY_AH,
	MOCK_CREATE_CQ,
	MOCK_RESIZE_CQ,
	MOCK_NOTIFY_CQ,
	MOCK_DESTROY_CQ,
	MOCK_CREATE_SRQ,
	MOCK_MODIFY_SRQ,
	MOCK_QUERY_SRQ,
	MOCK_DESTROY_SRQ,
	MOCK_CREATE_QP,
	MOCK_MODIFY_QP,
	MOCK_QUERY_QP,
	MOCK_DESTROY_QP,
	MOCK_POST_SEND,
	MOCK_POST_RECV,
	MOCK_POST_SRQ_RECV,
	MOCK_ATTACH_MCAST,
	MOCK_DETACH_MCAST,
	MOCK_OPS
};

/* A request as the device saw it */
struct mock_wr {
	u64 wr_id;
	u32 opcode;
	int flags;
	int num_sge;
	struct ib_sge sge[4];
	u64 remote_addr;
	u32 rkey;
	u64 compare_add;
	u64 swap;
	u32 remote_qpn;
	u32 imm;
	u8 inline_data[16];
};

#define MOCK_KEPT	256
#define MOCK_WCS	1024
#define MOCK_QP_WR	4096
#define MOCK_EVERY_CALL	(-1)

struct mock {
	struct ib_device ib;
	atomic_t calls[MOCK_OPS];
	int fail_call[MOCK_OPS];	/* that call, from 1; 0 for none, MOCK_EVERY_CALL */
	int fail_with[MOCK_OPS];

	struct mock_wr sends[MOCK_KEPT];
	u32 num_sends;			/* taken */
	u32 send_room;			/* how many more it takes */
	u32 batches;			/* post_send calls */
	struct mock_wr recvs[MOCK_KEPT];
	u32 num_recvs;
	u32 recv_room;
	u32 last_key;
	int access;			/* of the last region of a process */
	atomic_t objects;		/* of all kinds that exist */
	bool early;			/* queues have an event when made */
	bool ip_gids;			/* as ib_port_attr has it */

	/*
	 * Completion handlers are called with a lock held that poll and notify
	 * take, as rdma_rxe does since 6.5; or without, as it did before.
	 */
	bool unlocked;
	struct task_struct *poller;	/* whose polls are counted */
	u32 polls;
	/* A queue pair that is destroyed takes its completions with it */
	bool drops;
	struct mock_cq *cqs[4];
	/* Called when a queue pair is made */
	void (*made_qp)(struct mock *mock, struct ib_qp *qp);
	void *made_data;
};

struct mock_cq {
	struct ib_cq ib;
	spinlock_t lock;
	struct ib_wc wc[MOCK_WCS];
	u32 head;
	u32 tail;
	bool armed;
};

struct mock *mock_create(void);
void mock_destroy(struct mock *mock);

/* Forget what was counted; @op's @call from now on fails with @err */
void mock_reset(struct mock *mock);
void mock_fail(struct mock *mock, enum mock_op op, int call, int err);
void mock_fail_all(struct mock *mock, enum mock_op op, int err);

static inline int mock_calls(struct mock *mock, enum mock_op op)
{
	return atomic_read(&mock->calls[op]);
}

/* The device completes something and calls the handler if it was armed */
void mock_complete(struct ib_cq *cq, const struct ib_wc *wc);
void mock_complete_quietly(struct ib_cq *cq, const struct ib_wc *wc);
/* The device has lost completions, and says so with its lock held */
void mock_cq_error(struct ib_cq *cq);

#endif
