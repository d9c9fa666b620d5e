// SPDX-License-Identifier: GPL-2.0
/*
 * The dispatch table and the copies in and out, nothing else. The rules that
 * all ioctls share (uapi/univerbs.h) are kept here, from the table, so that a
 * handler sees only what it can understand.
 */
#include <linux/build_bug.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/pagemap.h>
#include <linux/uaccess.h>

#include "ah.h"
#include "channel.h"
#include "context.h"
#include "cq.h"
#include "ioctl.h"
#include "kick.h"
#include "mcast.h"
#include "mr.h"
#include "mw.h"
#include "object.h"
#include "pd.h"
#include "poller.h"
#include "qp.h"
#include "query.h"
#include "reason.h"
#include "srq.h"
#include "univerbs.h"
#include "xrcd.h"

/* A reserved field. */
struct univ_field {
	u16 offset;
	u16 len;
};

/*
 * One row for each ioctl. @min is the size of the struct's first version, and
 * stays when the struct grows.
 */
struct univ_ioctl {
	int (*handler)(struct univ_call *call, void *arg);
	u16 size;
	u16 min;
	bool destroys;		/* takes a struct univ_destroy */
	struct univ_field reserved[4];
};

/* Room for the kernel's copy of any of the structs. */
union univ_arg {
	struct univ_hdr hdr;
	struct univ_device_query device_query;
	struct univ_qp_create qp_create;
	struct univ_qp_modify qp_modify;
	struct univ_qp_query qp_query;
};

#define FIELD(type, field) \
	{ offsetof(struct type, field), sizeof_field(struct type, field) }
#define ROW_SIZE(type)							\
	(sizeof(struct type) +						\
	 BUILD_BUG_ON_ZERO(sizeof(struct type) > sizeof(union univ_arg)))
#define ROW(cmd, fn, type)						\
	[_IOC_NR(cmd)] = { .handler = fn, .size = ROW_SIZE(type),	\
			   .min = sizeof(struct type) }
/* One that grew: @last ended its first version */
#define ROW_GROWN(cmd, fn, type, last, ...)				\
	[_IOC_NR(cmd)] = { .handler = fn, .size = ROW_SIZE(type),	\
			   .min = offsetofend(struct type, last),	\
			   .reserved = { __VA_ARGS__ } }
#define ROW_RESERVED(cmd, fn, type, field)				\
	[_IOC_NR(cmd)] = { .handler = fn, .size = ROW_SIZE(type),	\
			   .min = sizeof(struct type),			\
			   .reserved = { FIELD(type, field) } }
/* An ioctl that destroys an object */
#define ROW_DESTROY(cmd, fn)						\
	[_IOC_NR(cmd)] = { .handler = fn, .destroys = true,		\
			   .size = ROW_SIZE(univ_destroy),		\
			   .min = sizeof(struct univ_destroy),		\
			   .reserved = { FIELD(univ_destroy, reserved) } }

static const struct univ_ioctl ioctls[] = {
	ROW_RESERVED(UNIV_CONTEXT_QUERY, univ_context_query_ioctl,
		     univ_context_query, features),
	ROW_RESERVED(UNIV_DEVICE_QUERY, univ_device_query_ioctl,
		     univ_device_query, reserved),
	ROW_RESERVED(UNIV_PORT_QUERY, univ_port_query_ioctl, univ_port_query,
		     reserved),
	ROW_RESERVED(UNIV_PKEY_QUERY, univ_pkey_query_ioctl, univ_pkey_query,
		     reserved),
	ROW(UNIV_GID_QUERY, univ_gid_query_ioctl, univ_gid_query),
	ROW(UNIV_GID_TABLE, univ_gid_table_ioctl, univ_gid_table),
	ROW_RESERVED(UNIV_POLLER_START, univ_poller_start_ioctl,
		     univ_poller_start, reserved),
	ROW_RESERVED(UNIV_PD_ALLOC, univ_pd_alloc_ioctl, univ_pd_alloc,
		     reserved),
	ROW_DESTROY(UNIV_PD_DEALLOC, univ_pd_dealloc_ioctl),
	ROW_RESERVED(UNIV_XRCD_OPEN, univ_xrcd_open_ioctl, univ_xrcd_open,
		     reserved),
	ROW_DESTROY(UNIV_XRCD_CLOSE, univ_xrcd_close_ioctl),
	ROW_RESERVED(UNIV_MR_REG, univ_mr_reg_ioctl, univ_mr_reg, reserved),
	ROW(UNIV_MR_REREG, univ_mr_rereg_ioctl, univ_mr_rereg),
	ROW_DESTROY(UNIV_MR_DEREG, univ_mr_dereg_ioctl),
	ROW_RESERVED(UNIV_AH_CREATE, univ_ah_create_ioctl, univ_ah_create,
		     attr.reserved),
	ROW_DESTROY(UNIV_AH_DESTROY, univ_ah_destroy_ioctl),
	ROW(UNIV_MW_ALLOC, univ_mw_alloc_ioctl, univ_mw_alloc),
	ROW_DESTROY(UNIV_MW_DEALLOC, univ_mw_dealloc_ioctl),
	ROW_RESERVED(UNIV_CHANNEL_CREATE, univ_channel_create_ioctl,
		     univ_channel_create, reserved),
	ROW_RESERVED(UNIV_CQ_CREATE, univ_cq_create_ioctl, univ_cq_create,
		     reserved),
	ROW(UNIV_CQ_RESIZE, univ_cq_resize_ioctl, univ_cq_resize),
	ROW(UNIV_CQ_MODERATE, univ_cq_moderate_ioctl, univ_cq_moderate),
	ROW_DESTROY(UNIV_CQ_DESTROY, univ_cq_destroy_ioctl),
	ROW_GROWN(UNIV_SRQ_CREATE, univ_srq_create_ioctl, univ_srq_create,
		  ring, FIELD(univ_srq_create, reserved)),
	ROW(UNIV_SRQ_MODIFY, univ_srq_modify_ioctl, univ_srq_modify),
	ROW(UNIV_SRQ_QUERY, univ_srq_query_ioctl, univ_srq_query),
	ROW_DESTROY(UNIV_SRQ_DESTROY, univ_srq_destroy_ioctl),
	ROW_GROWN(UNIV_QP_CREATE, univ_qp_create_ioctl, univ_qp_create, rq,
		  FIELD(univ_qp_create, reserved)),
	ROW(UNIV_QP_OPEN, univ_qp_open_ioctl, univ_qp_open),
	[_IOC_NR(UNIV_QP_MODIFY)] = {
		.handler = univ_qp_modify_ioctl,
		.size = ROW_SIZE(univ_qp_modify),
		.min = sizeof(struct univ_qp_modify),
		.reserved = { FIELD(univ_qp_modify, reserved),
			      FIELD(univ_qp_modify, attr.reserved),
			      FIELD(univ_qp_modify, attr.ah.reserved),
			      FIELD(univ_qp_modify, attr.alt_ah.reserved) },
	},
	ROW(UNIV_QP_QUERY, univ_qp_query_ioctl, univ_qp_query),
	ROW_DESTROY(UNIV_QP_DESTROY, univ_qp_destroy_ioctl),
	ROW_RESERVED(UNIV_MCAST_ATTACH, univ_mcast_attach_ioctl, univ_mcast,
		     reserved),
	ROW_RESERVED(UNIV_MCAST_DETACH, univ_mcast_detach_ioctl, univ_mcast,
		     reserved),
};

/*
 * Copy the result to the process. What makes something that has to be undone
 * when the process cannot be told calls this; see univ_object_announce().
 *
 * The live lock is held, and whoever holds it keeps the device from being
 * removed; so this does not wait for a page, which a process can withhold
 * (userfaultfd, FUSE). The handler undoes what it did, and call_run() brings
 * the page in, without the lock, and starts again.
 */
int univ_call_reply(struct univ_call *call)
{
	unsigned long left;

	pagefault_disable();
	left = copy_to_user(call->uarg, call->hdr, call->size);
	pagefault_enable();
	call->faulted = left;
	call->replied = !left;
	return left ? -EFAULT : 0;
}

/* Without the lock: the result of a call that has nothing to undo. */
static int call_finish(struct univ_call *call)
{
	int ret = 0;

	if (call->bulk_len &&
	    copy_to_user(call->bulk_to, call->bulk, call->bulk_len))
		ret = -EFAULT;
	if (!ret && !call->replied &&
	    copy_to_user(call->uarg, call->hdr, call->size))
		ret = -EFAULT;
	kvfree(call->bulk);
	if (!ret)
		return 0;
	return univ_explain(call->hdr, ret, UNIV_REASON_FAULT, 0, 0, 0);
}

/* The call failed already; if even this copy fails, errno has to do. */
static void call_reply_error(struct univ_call *call)
{
	if (copy_to_user(call->uarg, call->hdr, sizeof(*call->hdr)))
		return;
}

/* A few bytes at most: memchr_inv() would cost each call more than the look itself */
static bool field_is_zero(const struct univ_hdr *hdr,
			  const struct univ_field *field)
{
	const u8 *at = (const u8 *)hdr + field->offset;
	u8 bits = 0;
	u16 i;

	for (i = 0; i < field->len; i++)
		bits |= at[i];
	return !bits;
}

static int call_check(const struct univ_ioctl *row, struct univ_hdr *hdr)
{
	size_t i = 0;

	if (hdr->flags)
		return univ_explain(hdr, -EOPNOTSUPP, UNIV_REASON_FLAGS, 0,
				    hdr->flags, 0);
	for (; i < ARRAY_SIZE(row->reserved) && row->reserved[i].len; i++)
		if (!field_is_zero(hdr, &row->reserved[i]))
			return univ_explain(hdr, -EOPNOTSUPP,
					    UNIV_REASON_RESERVED, 0,
					    row->reserved[i].offset, 0);
	return 0;
}

static int call_copy_in(const struct univ_ioctl *row, struct univ_call *call,
			u32 usize)
{
	int ret;

	ret = copy_struct_from_user(call->hdr, row->size, call->uarg, usize);
	if (!ret) {
		/* The copy's own word for its size may have changed since. */
		call->hdr->size = usize;
		return 0;
	}
	memset(call->hdr, 0, sizeof(*call->hdr));
	call->hdr->size = usize;
	if (ret == -E2BIG)
		return univ_explain(call->hdr, ret, UNIV_REASON_TAIL, 0, usize,
				    row->size);
	return univ_explain(call->hdr, ret, UNIV_REASON_FAULT, 0, 0, 0);
}

static int call_prepare(const struct univ_ioctl *row, struct univ_call *call,
			u32 usize)
{
	struct univ_hdr *hdr = call->hdr;
	int ret;

	memset(hdr, 0, sizeof(*hdr));
	hdr->size = usize;
	if (usize < row->min)
		return univ_explain(hdr, -EINVAL, UNIV_REASON_SIZE, 0, usize,
				    row->min);
	if (usize > PAGE_SIZE)
		return univ_explain(hdr, -E2BIG, UNIV_REASON_TAIL, 0, usize,
				    row->size);
	call->size = min_t(u32, usize, row->size);
	ret = call_copy_in(row, call, usize);
	if (ret)
		return ret;
	univ_explain(hdr, 0, UNIV_REASON_NONE, 0, 0, 0);
	return call_check(row, hdr);
}

/* The object has gone already; the process may have events of it still. */
static int call_dead(const struct univ_ioctl *row, struct univ_call *call)
{
	int ret = univ_explain(call->hdr, -ENODEV, UNIV_REASON_DEVICE_GONE, 0,
			       0, 0);

	if (row->destroys)
		univ_object_remembered(call->ctx,
				       container_of(call->hdr,
						    struct univ_destroy, hdr));
	return ret;
}

/*
 * Take a lock whose holder may sleep for long, as ib_modify_qp() does, which resolves
 * an address. client_remove() waits for all calls in line for the lock, of any context,
 * so they leave the line when the device goes. A process that is killed leaves it too.
 * Returns 0, -EINTR or -ENODEV.
 */
int univ_call_lock(struct univ_call *call, struct mutex *lock)
{
	if (mutex_lock_killable(lock))
		return -EINTR;
	if (likely(!READ_ONCE(call->ctx->dev->dead)))
		return 0;
	mutex_unlock(lock);
	return univ_explain(call->hdr, -ENODEV, UNIV_REASON_DEVICE_GONE, 0, 0, 0);
}

static int call_locked(const struct univ_ioctl *row, struct univ_call *call)
{
	struct univ_context *ctx = call->ctx;
	int ret;

	down_read(&ctx->live);
	if (ctx->dead)
		ret = call_dead(row, call);
	else
		ret = row->handler(call, call->hdr);
	up_read(&ctx->live);
	return ret;
}

/*
 * A page that was brought in can be gone again when it is needed; each round
 * starts from the process's arguments. Bounded, for a process that takes the
 * page away on purpose.
 */
#define CALL_ROUNDS 16

static int call_run(const struct univ_ioctl *row, struct univ_call *call,
		    u32 usize)
{
	int round, ret = -EFAULT;

	for (round = 0; round < CALL_ROUNDS; round++) {
		ret = call_prepare(row, call, usize);
		if (ret)
			return ret;
		call->faulted = false;
		ret = call_locked(row, call);
		if (!call->faulted)
			break;
		/* Not fault_in_writeable(): that writes into the arguments */
		if (fault_in_safe_writeable(call->uarg, call->size))
			break;
	}
	if (call->faulted)
		return univ_explain(call->hdr, -EFAULT, UNIV_REASON_FAULT, 0,
				    0, 0);
	return ret ? ret : call_finish(call);
}

static long call_dispatch(struct univ_context *ctx, unsigned int cmd,
			  void __user *uarg)
{
	unsigned int nr = _IOC_NR(cmd);
	struct univ_call call = { .ctx = ctx, .uarg = uarg };
	const struct univ_ioctl *row;
	union univ_arg arg __uninitialized;
	u32 usize;
	int ret;

	if (cmd != _IO(UNIV_IOCTL_MAGIC, nr) || nr >= ARRAY_SIZE(ioctls))
		return -ENOTTY;
	row = &ioctls[array_index_nospec(nr, ARRAY_SIZE(ioctls))];
	if (!row->handler)
		return -ENOTTY;
	BUILD_BUG_ON(offsetof(struct univ_hdr, size));
	if (get_user(usize, (u32 __user *)uarg))
		return -EFAULT;

	call.hdr = &arg.hdr;
	ret = call_run(row, &call, usize);
	/* A caller that is too short for the head gets errno alone. */
	if (ret && usize >= sizeof(struct univ_hdr))
		call_reply_error(&call);
	return ret;
}

long univ_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct univ_context *ctx = file->private_data;

	if (likely(cmd == UNIV_KICK))
		return univ_kick(ctx, arg);
	return call_dispatch(ctx, cmd, (void __user *)arg);
}
