/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The steps of a registration, which mr.c, memory.c and rereg.c share, and
 * dma-bufs. Private to this room.
 */
#ifndef UROCE_DMABUF_H
#define UROCE_DMABUF_H

#include "mr.h"

/* mr.c */
struct uroce_mr *uroce_mr_new(struct ib_pd *pd, int access);
void uroce_mr_set_range(struct uroce_mr *mr, u64 length, u64 iova);
int uroce_mr_fill(struct uroce_mr *mr, u64 start, u64 length, u64 iova);
int uroce_mr_publish(struct uroce_mr *mr, bool valid);
bool uroce_mr_close(struct uroce_mr *mr);
void uroce_mr_free(struct uroce_mr *mr);

/* dmabuf.c */
struct uroce_dmabuf *uroce_dmabuf_open(struct dma_buf *buf,
				       struct ib_device *ib);
void *uroce_dmabuf_memory(const struct uroce_dmabuf *dmabuf);
void uroce_dmabuf_close(struct uroce_dmabuf *dmabuf);

#endif
