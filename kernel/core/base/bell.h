/* SPDX-License-Identifier: GPL-2.0 */
/* The bell page of a context: a page of the device that the process maps. */
#ifndef UNIV_BELL_H
#define UNIV_BELL_H

#include <linux/mm_types.h>
#include <linux/types.h>

struct univ_context;
struct univ_queue_page;

/*
 * The mmap() offset. It lies behind all regions that a 32-bit process may map,
 * and where such a process reaches it. region.c asserts both.
 */
#define UNIV_BELL_OFFSET	(3ull << 42)

int univ_bell_open(struct univ_context *ctx);
void univ_bell_revoke(struct univ_context *ctx);
void univ_bell_close(struct univ_context *ctx);
void univ_bell_free(struct univ_context *ctx);
const struct univ_queue_page *univ_bell_page(const struct univ_context *ctx);
int univ_bell_mmap(struct univ_context *ctx, struct vm_area_struct *vma);

#endif
