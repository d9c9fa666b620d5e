/* SPDX-License-Identifier: GPL-2.0 */
/* Memory of dma-bufs. Private to this room. */
#ifndef UROCE_DMABUF_H
#define UROCE_DMABUF_H

struct dma_buf;
struct ib_device;
struct uroce_dmabuf;

struct uroce_dmabuf *uroce_dmabuf_open(struct dma_buf *buf,
				       struct ib_device *ib);
void *uroce_dmabuf_memory(const struct uroce_dmabuf *dmabuf);
void uroce_dmabuf_close(struct uroce_dmabuf *dmabuf);

#endif
