// SPDX-License-Identifier: GPL-2.0
/*
 * The dispatch table and the copies in and out. The rules that all ioctls share
 * (uapi/univerbs.h) are enforced here, from the table, so that a handler sees
 * only arguments that it understands.
 */
#include <linux/build_bug.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/pagemap.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "queues.h"

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
	const char *label;
	u16 size;
	u16 min;
	bool destroys;		/* takes a struct univ_destroy */
	struct univ_field reserved[4];
};

/* Room for the kernel's copy of a struct of any ioctl. */
union univ_arg {
	struct univ_hdr hdr;
#define ARG(NAME, name, type, ...) struct univ_##type name;
	UNIV_IOCTLS(ARG, )
#undef ARG
};

#define FIELD(type, member)						\
	{ offsetof(struct univ_##type, member),				\
	  sizeof_field(struct univ_##type, member) },
#define ROW(NAME, name, type, last, ...)				\
	[_IOC_NR(UNIV_##NAME)] = {					\
		.handler = univ_##name##_ioctl,				\
		.label = #NAME,						\
		.size = sizeof(struct univ_##type),			\
		.min = offsetofend(struct univ_##type, last),		\
		.destroys = __same_type(struct univ_##type,		\
					struct univ_destroy),		\
		.reserved = { __VA_ARGS__ },				\
	},

static const struct univ_ioctl ioctls[] = { UNIV_IOCTLS(ROW, FIELD) };

/*
 * Copies out the result of a call that has nothing to undo. The live lock is
 * not held.
 */
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

/*
 * The call has failed. If even this copy fails, the process gets errno alone.
 */
static void call_reply_error(struct univ_call *call)
{
	if (copy_to_user(call->uarg, call->hdr, sizeof(*call->hdr)))
		return;
}

/* Fields are a few bytes long, and a call of memchr_inv() would cost more. */
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
		/* The process may have changed the size since it was read. */
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

/* The object is gone, but the process may still have events of it. */
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

static int call_locked(const struct univ_ioctl *row, struct univ_call *call)
{
	struct univ_context *ctx = call->ctx;
	int ret;

	/*
	 * The end of the context waits for a call that may need this process,
	 * for example to serve its own file system in user space.
	 */
	if (down_read_killable(&ctx->live))
		return -EINTR;
	/*
	 * A removal ends contexts one after another. Contexts that it has not
	 * reached yet begin no new calls, or it would wait for a call in each
	 * of them.
	 */
	if (ctx->dead || (READ_ONCE(ctx->dev->dead) && !row->destroys))
		ret = call_dead(row, call);
	else
		ret = row->handler(call, call->hdr);
	up_read(&ctx->live);
	return ret;
}

/*
 * A page that was brought in can be gone again when it is needed, so each round
 * starts from the process's arguments. The number of rounds is bounded, since a
 * process can take the page away on purpose.
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
		/* fault_in_writeable() would write into the arguments. */
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
	if (!ret)
		return 0;
	univ_failed_calls_add(&ctx->dev->failed, row->label, ctx->name, ret,
			      call.hdr);
	/* A struct that is too short for the head gets errno alone. */
	if (usize >= sizeof(struct univ_hdr))
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
