/* SPDX-License-Identifier: GPL-2.0 */
/* dma-bufs of several exporters, as the process has them: a descriptor and a mapping. */
#ifndef DMABUF_H
#define DMABUF_H

#include <fcntl.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include "raw.h"

#define BUF_SIZE (64u << 10)

/* A few calls of DRM, whose headers need not be installed. */
struct card_version {
	int numbers[3];
	size_t name_len;
	char *name;
	size_t date_len;
	char *date;
	size_t desc_len;
	char *desc;
};

struct card_dumb {
	uint32_t height, width, bpp, flags, handle, pitch;
	uint64_t size;
};

struct card_prime {
	uint32_t handle, flags;
	int32_t fd;
};

struct card_fence {
	uint32_t handle, flags, fence, pad;
};

struct card_signal {
	uint32_t fence, flags;
};

#define CARD_VERSION		_IOWR('d', 0x00, struct card_version)
#define CARD_TO_FD		_IOWR('d', 0x2d, struct card_prime)
#define CARD_FROM_FD		_IOWR('d', 0x2e, struct card_prime)
#define CARD_CREATE_DUMB	_IOWR('d', 0xb2, struct card_dumb)

#define VGEM_FENCE_ATTACH	_IOWR('d', 0x41, struct card_fence)
#define VGEM_FENCE_SIGNAL	_IOW('d', 0x42, struct card_signal)

enum exporter {
	FROM_DM,	/* Device memory of uroce. */
	FROM_UDMABUF,	/* Memory of a memfd. */
	FROM_HEAP,	/* Memory of the kernel. */
	FROM_VGEM,	/* A graphics card that does not exist. */
};

struct dmabuf {
	int fd;
	uint8_t *mem;
	struct ibv_dm *dm;
	int other;	/* The memfd or the card, or -1. */
	uint32_t gem;
};

static MAYBE_UNUSED bool from_dm(struct ibv_context *ctx, struct dmabuf *b)
{
	struct ibv_alloc_dm_attr attr = { .length = BUF_SIZE };

	b->dm = ibv_alloc_dm(ctx, &attr);
	NEED(b->dm, "alloc_dm: %s; %s", err_name(errno), why_text());
	b->fd = ibv_dm_export_dmabuf_fd(b->dm);
	NEED(b->fd >= 0, "export: %s; %s", err_name(errno), why_text());
	return true;
}

static MAYBE_UNUSED bool from_udmabuf(struct dmabuf *b)
{
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = BUF_SIZE };
	int dev = open("/dev/udmabuf", O_RDWR);

	if (dev < 0) {
		printf("there is no /dev/udmabuf\n");
		return false;
	}
	b->other = memfd_create("dmabuf", MFD_ALLOW_SEALING);
	NEED(b->other >= 0 && !ftruncate(b->other, BUF_SIZE) &&
	     !fcntl(b->other, F_ADD_SEALS, F_SEAL_SHRINK), "memfd: %s", err_name(errno));
	create.memfd = (uint32_t)b->other;
	b->fd = ioctl(dev, UDMABUF_CREATE, &create);
	NEED(b->fd >= 0, "udmabuf: %s", err_name(errno));
	close(dev);
	return true;
}

static MAYBE_UNUSED bool from_heap(struct dmabuf *b)
{
	struct dma_heap_allocation_data data = { .len = BUF_SIZE, .fd_flags = O_RDWR | O_CLOEXEC };
	int dev = open("/dev/dma_heap/system", O_RDWR);

	if (dev < 0) {
		printf("there is no /dev/dma_heap/system\n");
		return false;
	}
	NEED(!ioctl(dev, DMA_HEAP_IOCTL_ALLOC, &data), "heap: %s", err_name(errno));
	b->fd = (int)data.fd;
	close(dev);
	return true;
}

/* Return a descriptor of the card that vgem made, or -1. */
static MAYBE_UNUSED int vgem_card(void)
{
	char path[32], name[16];

	if (system("modprobe -q vgem"))
		return -1;
	for (int i = 0; i < 4; i++) {
		struct card_version version = { .name = name, .name_len = sizeof(name) };
		int fd;

		snprintf(path, sizeof(path), "/dev/dri/card%d", i);
		fd = open(path, O_RDWR);
		if (fd < 0)
			continue;
		if (!ioctl(fd, CARD_VERSION, &version) && !strncmp(name, "vgem", 4))
			return fd;
		close(fd);
	}
	return -1;
}

/* @flags: O_RDWR or O_RDONLY, as the first descriptor of a buffer has it. */
static MAYBE_UNUSED int vgem_export(const struct dmabuf *b, uint32_t flags)
{
	struct card_prime prime = { .handle = b->gem, .flags = flags | O_CLOEXEC };

	NEED(!ioctl(b->other, CARD_TO_FD, &prime), "export: %s", err_name(errno));
	return prime.fd;
}

/* A buffer of the card that is not exported yet. */
static MAYBE_UNUSED bool vgem_buffer(struct dmabuf *b)
{
	struct card_dumb dumb = { .width = BUF_SIZE / 64, .height = 16, .bpp = 32 };

	*b = (struct dmabuf){ .fd = -1, .other = vgem_card() };
	if (b->other < 0) {
		printf("there is no card of vgem\n");
		return false;
	}
	NEED(!ioctl(b->other, CARD_CREATE_DUMB, &dumb), "CREATE_DUMB: %s", err_name(errno));
	NEED(dumb.size == BUF_SIZE, "a buffer of %llu bytes", (unsigned long long)dumb.size);
	b->gem = dumb.handle;
	return true;
}

static MAYBE_UNUSED bool from_vgem(struct dmabuf *b)
{
	if (!vgem_buffer(b))
		return false;
	b->fd = vgem_export(b, O_RDWR);
	return true;
}

/* Return false if the exporter is missing. */
static MAYBE_UNUSED bool dmabuf_open(struct ibv_context *ctx, enum exporter from,
				     struct dmabuf *b)
{
	*b = (struct dmabuf){ .other = -1 };
	if (from == FROM_DM ? !from_dm(ctx, b) : from == FROM_UDMABUF ? !from_udmabuf(b) :
	    from == FROM_HEAP ? !from_heap(b) : !from_vgem(b))
		return false;
	b->mem = mmap(NULL, BUF_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, 0);
	NEED(b->mem != MAP_FAILED, "mmap of the dma-buf: %s", err_name(errno));
	return true;
}

/* Close all that the process has of the dma-buf but the mapping. */
static MAYBE_UNUSED void dmabuf_forget(struct dmabuf *b)
{
	if (b->fd >= 0)
		close(b->fd);
	if (b->other >= 0)
		close(b->other);
	if (b->dm)
		CHECK_ERR(ibv_free_dm(b->dm), 0);
	b->fd = b->other = -1;
	b->dm = NULL;
}

static MAYBE_UNUSED void dmabuf_close(struct dmabuf *b)
{
	dmabuf_forget(b);
	munmap(b->mem, BUF_SIZE);
}

#endif
