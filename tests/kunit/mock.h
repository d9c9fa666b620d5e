/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An RDMA device that only counts the calls of each operation and records the requests
 * posted to it. Any call can be made to fail.
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

/* A request as the device saw it. */
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
	int fail_call[MOCK_OPS];	/* failing call, from 1; 0: none; MOCK_EVERY_CALL */
	int fail_with[MOCK_OPS];

	struct mock_wr sends[MOCK_KEPT];
	u32 num_sends;			/* requests accepted */
	u32 send_room;			/* requests that it still accepts */
	u32 batches;			/* calls of post_send */
	struct mock_wr recvs[MOCK_KEPT];
	u32 num_recvs;
	u32 recv_room;
	u32 last_key;
	int access;			/* access of the latest user region */
	atomic_t objects;		/* existing objects of all kinds */
	bool early;			/* new queues raise an event at once */
	bool ip_gids;			/* reported in ib_port_attr */

	/*
	 * Completion handlers are called with a lock held that poll and notify take, as
	 * in rdma_rxe since 6.5. If @unlocked is set they are called without the lock,
	 * as in rdma_rxe before 6.5.
	 */
	bool unlocked;
	struct task_struct *poller;	/* the thread whose polls are counted */
	u32 polls;
	/* It completes right before the next queue is armed, and raises no event. */
	const struct ib_wc *late;
	/* A post that fails does not name the request that was refused. */
	bool nameless;
	/* Destroying a queue pair drops its completions. */
	bool drops;
	struct mock_cq *cqs[4];
	/* Called when a queue pair is created. */
	void (*made_qp)(struct mock *mock, struct ib_qp *qp);
	void *made_data;
	/* Called when a queue pair is to be destroyed. */
	void (*ending)(struct mock *mock);
	void *ending_data;
	/* Called when requests are posted, before the device takes them. */
	void (*posting)(struct mock *mock);
	void *posting_data;
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

/* Reset the counters and records. From now on, call number @call of @op fails with @err. */
void mock_reset(struct mock *mock);
void mock_fail(struct mock *mock, enum mock_op op, int call, int err);
void mock_fail_all(struct mock *mock, enum mock_op op, int err);

static inline int mock_calls(struct mock *mock, enum mock_op op)
{
	return atomic_read(&mock->calls[op]);
}

/* The device completes a request. mock_complete() calls the handler if the CQ is armed. */
void mock_complete(struct ib_cq *cq, const struct ib_wc *wc);
void mock_complete_quietly(struct ib_cq *cq, const struct ib_wc *wc);
/* The device reports lost completions, with its lock held. */
void mock_cq_error(struct ib_cq *cq);

#endif
