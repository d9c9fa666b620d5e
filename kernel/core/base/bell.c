// SPDX-License-Identifier: GPL-2.0
/* Bell pages: a page of the device for each context, and its end. */
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "bell.h"
#include "compat.h"
#include "context.h"
#include "queue.h"

/**
 * struct univ_bell_page - the page in which a context rings
 * @ref: one for the context, one for each mapping
 * @lock: protects @gone, and orders the faults before or behind its change
 * @page: filled in by the driver
 * @sink: memory that is mapped instead when the device is gone, so that a store
 *	of a process has no effect. Each context has its own: processes could
 *	exchange data through a shared one
 * @gone: the page may not be mapped any more
 */
struct univ_bell_page {
	struct kref ref;
	struct mutex lock;
	struct univ_queue_page page;
	unsigned long sink;
	bool gone;
};

static void bell_release(struct kref *ref)
{
	struct univ_bell_page *bell =
		container_of(ref, struct univ_bell_page, ref);

	free_page(bell->sink);
	kfree(bell);
}

static struct univ_bell_page *bell_alloc(void)
{
	struct univ_bell_page *bell = kzalloc(sizeof(*bell),
					      GFP_KERNEL_ACCOUNT);

	if (!bell)
		return NULL;
	kref_init(&bell->ref);
	mutex_init(&bell->lock);
	bell->sink = get_zeroed_page(GFP_KERNEL_ACCOUNT);
	if (bell->sink)
		return bell;
	kfree(bell);
	return NULL;
}

/*
 * The context begins. If the driver has no page left (-ENOSPC), the context has
 * no bells, and its process reports requests by the ioctl UNIV_KICK.
 * Context: the device stays.
 */
int univ_bell_open(struct univ_context *ctx)
{
	const struct univ_queue_ops *queue = ctx->dev->queue;
	struct univ_bell_page *bell;
	int ret;

	if (!queue->page_alloc)
		return 0;
	bell = bell_alloc();
	if (!bell)
		return -ENOMEM;
	ret = queue->page_alloc(ctx->dev->ib, &bell->page);
	if (!ret) {
		ctx->bell = bell;
		return 0;
	}
	kref_put(&bell->ref, bell_release);
	return ret == -ENOSPC ? 0 : ret;
}

/*
 * The device is being removed. Takes the page away from all processes that map
 * it; the next store of each finds the sink. The files of other contexts of
 * this node have their pages at the same offset and may lose their mappings
 * too, and the next fault maps them again. Context: the file of the context is
 * open.
 */
void univ_bell_revoke(struct univ_context *ctx)
{
	if (!ctx->bell)
		return;
	mutex_lock(&ctx->bell->lock);
	ctx->bell->gone = true;
	mutex_unlock(&ctx->bell->lock);
	unmap_mapping_range(ctx->mapping, UNIV_BELL_OFFSET, PAGE_SIZE, 1);
}

/*
 * The context ends: its queues are gone, and so are the mappings, since each
 * one keeps the file open or was revoked. Context: the device stays.
 */
void univ_bell_close(struct univ_context *ctx)
{
	if (!ctx->bell)
		return;
	mutex_lock(&ctx->bell->lock);
	ctx->bell->gone = true;
	mutex_unlock(&ctx->bell->lock);
	ctx->dev->queue->page_free(ctx->dev->ib, &ctx->bell->page);
}

/* Nothing refers to the context any more. */
void univ_bell_free(struct univ_context *ctx)
{
	if (ctx->bell)
		kref_put(&ctx->bell->ref, bell_release);
}

/* NULL if the context has no page. */
const struct univ_queue_page *univ_bell_page(const struct univ_context *ctx)
{
	return ctx->bell ? &ctx->bell->page : NULL;
}

static void bell_vm_open(struct vm_area_struct *vma)
{
	struct univ_bell_page *bell = vma->vm_private_data;

	kref_get(&bell->ref);
}

static void bell_vm_close(struct vm_area_struct *vma)
{
	struct univ_bell_page *bell = vma->vm_private_data;

	kref_put(&bell->ref, bell_release);
}

/*
 * A BAR is not encrypted, so its mapping must not be either. Unlike
 * io_remap_pfn_range(), vmf_insert_pfn() does not see to that.
 */
static pgprot_t bell_prot(const struct univ_bell_page *bell, pgprot_t prot)
{
	prot = bell->page.write_combining ? pgprot_writecombine(prot) :
					    pgprot_noncached(prot);
	return pgprot_decrypted(prot);
}

/*
 * The lock is held until the page is mapped, so that a revoke finds it. The
 * sink is ordinary memory, which the kernel maps cached.
 */
static vm_fault_t bell_vm_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct univ_bell_page *bell = vma->vm_private_data;
	struct page *sink = virt_to_page(bell->sink);
	vm_fault_t ret;

	mutex_lock(&bell->lock);
	if (bell->gone)
		ret = vmf_insert_pfn_prot(vma, vmf->address, page_to_pfn(sink),
					  vm_get_page_prot(vma->vm_flags));
	else
		ret = vmf_insert_pfn(vma, vmf->address,
				     PHYS_PFN(bell->page.addr));
	mutex_unlock(&bell->lock);
	return ret;
}

static const struct vm_operations_struct bell_vm_ops = {
	.open = bell_vm_open,
	.close = bell_vm_close,
	.fault = bell_vm_fault,
};

/*
 * mmap(2) at UNIV_BELL_OFFSET: one page, shared. A context never maps the page
 * of another one.
 * Context: mmap_lock is held and no lock of the core.
 */
int univ_bell_mmap(struct univ_context *ctx, struct vm_area_struct *vma)
{
	struct univ_bell_page *bell = ctx->bell;

	if (!bell)
		return -EINVAL;
	if (READ_ONCE(bell->gone))
		return -ENODEV;
	if (!(vma->vm_flags & VM_SHARED) ||
	    vma->vm_end - vma->vm_start != PAGE_SIZE)
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	vm_flags_mod(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP,
		     VM_MAYEXEC);
	/* mprotect(2) keeps the caching that it finds here. */
	vma->vm_page_prot = bell_prot(bell, vma->vm_page_prot);
	vma->vm_ops = &bell_vm_ops;
	vma->vm_private_data = bell;
	kref_get(&bell->ref);
	return 0;
}
