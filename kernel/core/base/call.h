/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIV_IOCTL_H
#define UNIV_IOCTL_H

#include <linux/types.h>

#include "ioctls.h"

struct file;
struct mutex;
struct univ_context;
struct univ_hdr;

/**
 * struct univ_call - one ioctl under way
 * @ctx: its context, live for the whole call
 * @hdr: the kernel's copy of the struct, also handed to the handler
 * @uarg: the process's copy of the struct
 * @size: bytes of the struct that both sides know: the smaller one of the
 *   process's and the kernel's size
 * @replied: the result has been copied out
 * @faulted: the copy would have to wait for a page; the handler has undone its
 *   work
 * @bulk: kvmalloc()ed by the handler: more bytes to copy out, and then to free
 * @bulk_to: the address in the process that they go to
 * @bulk_len: how many
 */
struct univ_call {
	struct univ_context *ctx;
	struct univ_hdr *hdr;
	void __user *uarg;
	u32 size;
	bool replied;
	bool faulted;
	void *bulk;
	void __user *bulk_to;
	size_t bulk_len;
};

/* The handlers of all rooms. */
#define UNIV_HANDLER(NAME, name, ...) \
	int univ_##name##_ioctl(struct univ_call *call, void *arg);
UNIV_IOCTLS(UNIV_HANDLER, )
#undef UNIV_HANDLER

int univ_call_reply(struct univ_call *call);
int univ_call_refuse_file(struct univ_call *call, int err);
int univ_call_reply_file(struct univ_call *call, struct file *file, __s32 *fd);
int univ_call_lock(struct univ_call *call, struct mutex *lock);

#endif
