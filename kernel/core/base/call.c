// SPDX-License-Identifier: GPL-2.0
/* Calls: the help that handlers need from the dispatcher. */
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/uaccess.h>

#include "call.h"
#include "context.h"
#include "reason.h"

/*
 * Copies the result to the process. A handler calls this if it has to undo its
 * work when the copy fails; see univ_object_announce().
 *
 * The live lock is held, and the device cannot be removed meanwhile. So this
 * function does not wait for a page, which a process can withhold (userfaultfd,
 * FUSE). The handler undoes what it did, and the dispatcher brings the page in,
 * without the lock, and starts again.
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

/* No file or descriptor is left; EMFILE and ENFILE need no reason. */
int univ_call_refuse_file(struct univ_call *call, int err)
{
	if (err != -ENOMEM)
		return err;
	return univ_explain(call->hdr, err, UNIV_REASON_NO_MEMORY, 0, 0, 0);
}

/*
 * As univ_call_reply(), and gives the process a descriptor of @file, whose
 * number goes to @fd, a member of the result. The descriptor is installed last.
 * Until then the process can neither use nor close it. Takes over the caller's
 * reference to @file, also where it fails.
 */
int univ_call_reply_file(struct univ_call *call, struct file *file, __s32 *fd)
{
	int ret, new = get_unused_fd_flags(O_RDWR | O_CLOEXEC);

	if (new < 0) {
		ret = univ_call_refuse_file(call, new);
		goto put_file;
	}
	*fd = new;
	ret = univ_call_reply(call);
	if (ret)
		goto put_fd;
	fd_install(new, file);
	return 0;

put_fd:
	put_unused_fd(new);
put_file:
	fput(file);
	return ret;
}

/*
 * Takes a lock whose holder may sleep for long, as ib_modify_qp() does, which
 * resolves an address. client_remove() waits for all calls that wait for the
 * lock, of any context, so they give up when the device goes. A process that is
 * killed gives up too.
 * Returns 0, -EINTR or -ENODEV.
 */
int univ_call_lock(struct univ_call *call, struct mutex *lock)
{
	if (mutex_lock_killable(lock))
		return -EINTR;
	if (likely(!READ_ONCE(call->ctx->dev->dead)))
		return 0;
	mutex_unlock(lock);
	return univ_explain(call->hdr, -ENODEV, UNIV_REASON_DEVICE_GONE, 0, 0,
			    0);
}
