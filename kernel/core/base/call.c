// SPDX-License-Identifier: GPL-2.0
/* Calls: the help that handlers need from the dispatcher. */
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
