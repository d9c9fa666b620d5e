/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIV_XRCD_H
#define UNIV_XRCD_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/path.h>

#include "object.h"

struct ib_xrcd;
struct inode;
struct univ_device;

/*
 * What all share that opened the domain of one file. @users is protected by
 * univ_device.domains_lock.
 */
struct univ_domain {
	struct list_head link;		/* univ_device.domains, if it has a file */
	struct ib_xrcd *ib;
	struct inode *inode;		/* NULL for none; held by @path */
	struct path path;
	u32 users;
	struct mutex lock;		/* whatever alters what is built on @ib */
};

struct univ_xrcd {
	struct univ_object obj;
	struct univ_domain *domain;
};

bool univ_xrc_offered(const struct univ_device *dev);
struct univ_xrcd *univ_xrcd_get(struct univ_context *ctx, u32 handle,
				struct univ_hdr *hdr);
int univ_xrcd_open_ioctl(struct univ_call *call, void *arg);
int univ_xrcd_close_ioctl(struct univ_call *call, void *arg);
int univ_xrcd_destroy(struct univ_object *obj);

#endif
