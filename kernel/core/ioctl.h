/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIV_IOCTL_H
#define UNIV_IOCTL_H

#include <linux/types.h>

struct univ_context;
struct univ_hdr;

/**
 * struct univ_call - one ioctl under way
 * @ctx: its context, live for the whole call
 * @hdr: the kernel's copy of the struct, also handed to the handler
 * @uarg: the process's
 * @size: bytes that both know
 * @replied: the result has been copied out
 */
struct univ_call {
	struct univ_context *ctx;
	struct univ_hdr *hdr;
	void __user *uarg;
	u32 size;
	bool replied;
};

int univ_call_reply(struct univ_call *call);

#endif
