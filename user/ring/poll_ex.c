// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Polling by ibv_start_poll(3), whose readers look at the completion where it lies
 * in the ring.
 */
#include <errno.h>

#include "ring/post.h"
#include "why/why.h"

static struct univ_cq *from_ex(struct ibv_cq_ex *cq)
{
	return (struct univ_cq *)cq;
}

static void current_set(struct univ_cq *cq, const struct univ_cqe *cqe)
{
	univ_store_relaxed(&cq->current, cqe);
	cq->ibv.status = (enum ibv_wc_status)cqe->status;
	cq->ibv.wr_id = cqe->wr_id;
	if (univ_unlikely(cqe->status != IBV_WC_SUCCESS))
		univ_completion_failed(to_ucontext(cq->ibv.context), cqe);
}

/* Gives the slot of the current completion back to the kernel. */
static void current_release(struct univ_cq *cq)
{
	univ_store_relaxed(&cq->current, NULL);
	univ_store_relaxed(&cq->head, cq->head + 1);
	univ_store_relaxed(&cq->cursor, univ_cursor_make(cq->slots, cq->mask, cq->head));
	univ_cq_ring_consume(cq->ring, cq->head);
}

/*
 * Makes the next completion the current one. Returns ENOENT if there is none, or
 * another errno value if there never will be one. The flags are looked at between
 * two looks at the ring, so completions before the end are not lost.
 */
static inline int current_take(struct univ_cq *cq)
{
	uint32_t broken;

	if (univ_unlikely(!univ_cursor_ready(cq->cursor))) {
		broken = univ_cq_ring_broken(cq->ring);
		if (univ_likely(!broken))
			return ENOENT;
		/* The kernel stores the flags after the last completions. */
		univ_plain_loads_done();
		if (!univ_cursor_ready(cq->cursor))
			return univ_cq_broken(cq);
	}
	current_set(cq, univ_cursor_cqe(cq->cursor));
	return 0;
}

static inline int start(struct univ_cq *cq, const struct ibv_poll_cq_attr *attr)
{
	if (univ_unlikely(attr->comp_mask))
		return EINVAL;
	return current_take(cq);
}

static int start_poll_alone(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	int err = start(from_ex(ex), attr);

	if (err == ENOENT)
		univ_polled_nothing(from_ex(ex));
	return err;
}

static void start_failed(struct univ_cq *cq, int err)
{
	univ_unlock(&cq->lock);
	if (univ_likely(err == ENOENT))
		univ_polled_nothing(cq);
	else
		univ_fail_tell();
}

/* On success the lock is kept until end_poll, which programs call only then. */
static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct univ_cq *cq = from_ex(ex);
	int err;

	univ_lock(&cq->lock);
	err = start(cq, attr);
	if (err)
		start_failed(cq, err);
	return err;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	struct univ_cq *cq = from_ex(ex);

	if (cq->current)
		current_release(cq);
	return current_take(cq);
}

static void end_poll_alone(struct ibv_cq_ex *ex)
{
	struct univ_cq *cq = from_ex(ex);

	if (cq->current)
		current_release(cq);
}

static void end_poll(struct ibv_cq_ex *ex)
{
	end_poll_alone(ex);
	univ_unlock(&from_ex(ex)->lock);
}

/*
 * The operations of programs whose failures are printed. They report to the watch
 * how long a queue has been empty, and print the failures that were recorded under
 * the lock between start and end.
 */
static void polled(struct ibv_cq_ex *ex, bool taken)
{
	const struct univ_context *ctx = to_ucontext(ex->context);

	if (ctx->watch)
		ctx->watch->polled(from_ex(ex), taken);
}

static int start_poll_telling(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	int err = start_poll(ex, attr);

	polled(ex, err != ENOENT);
	return err;
}

static int start_poll_alone_telling(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	int err = start_poll_alone(ex, attr);

	polled(ex, err != ENOENT);
	return err;
}

static void end_poll_telling(struct ibv_cq_ex *ex)
{
	end_poll(ex);
	univ_fail_tell();
}

static void end_poll_alone_telling(struct ibv_cq_ex *ex)
{
	end_poll_alone(ex);
	univ_fail_tell();
}

/* READER(name, type, expression over the completion) */
#define READER(name, type, expression)					\
	static type read_##name(struct ibv_cq_ex *ex)			\
	{								\
		const struct univ_cqe *cqe = from_ex(ex)->current;	\
									\
		return (type)(expression);				\
	}

READER(opcode, enum ibv_wc_opcode, cqe->opcode)
READER(vendor_err, uint32_t, cqe->vendor_err)
READER(byte_len, uint32_t, cqe->byte_len)
READER(imm_data, __be32, cqe->imm)
READER(qp_num, uint32_t, cqe->qp_num)
READER(src_qp, uint32_t, cqe->src_qp)
READER(wc_flags, unsigned int, cqe->wc_flags)
READER(slid, uint32_t, cqe->slid)
READER(sl, uint8_t, cqe->sl)
READER(dlid_path_bits, uint8_t, cqe->dlid_path_bits)
READER(completion_ts, uint64_t, cqe->timestamp)
READER(wallclock_ns, uint64_t, cqe->wallclock)
READER(cvlan, uint16_t, cqe->cvlan)
READER(flow_tag, uint32_t, cqe->flow_tag)

/* This cannot be asked for at creation, but inline functions may call it all the same. */
static void read_tm_info(struct ibv_cq_ex *ex, struct ibv_wc_tm_info *info)
{
	(void)ex;
	*info = (struct ibv_wc_tm_info) {};
}

static void readers_set(struct ibv_cq_ex *ex)
{
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_byte_len = read_byte_len;
	ex->read_imm_data = read_imm_data;
	ex->read_qp_num = read_qp_num;
	ex->read_src_qp = read_src_qp;
	ex->read_wc_flags = read_wc_flags;
	ex->read_slid = read_slid;
	ex->read_sl = read_sl;
	ex->read_dlid_path_bits = read_dlid_path_bits;
	ex->read_completion_ts = read_completion_ts;
	ex->read_completion_wallclock_ns = read_wallclock_ns;
	ex->read_cvlan = read_cvlan;
	ex->read_flow_tag = read_flow_tag;
	ex->read_tm_info = read_tm_info;
}

void univ_cq_ex_init(struct univ_cq *cq)
{
	const bool alone = cq->single_threaded, telling = univ_fail_printed();

	if (telling) {
		cq->ibv.start_poll = alone ? start_poll_alone_telling : start_poll_telling;
		cq->ibv.end_poll = alone ? end_poll_alone_telling : end_poll_telling;
	} else {
		cq->ibv.start_poll = alone ? start_poll_alone : start_poll;
		cq->ibv.end_poll = alone ? end_poll_alone : end_poll;
	}
	cq->ibv.next_poll = next_poll;
	readers_set(&cq->ibv);
}
