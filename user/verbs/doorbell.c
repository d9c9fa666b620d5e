// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The doorbell page of a context, and its bell page. */
#include <errno.h>
#include <sys/mman.h>

#include "verbs/common.h"
#include "why/why.h"

/* The bells are in a page of the device, which devices in software do not have. */
static int bells_map(struct univ_context *ctx, int fd)
{
	void *page;

	if (!ctx->bell_offset || ctx->bells)
		return 0;
	page = mmap(NULL, UNIV_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    (off_t)ctx->bell_offset);
	if (page == MAP_FAILED)
		return errno;
	ctx->bells = page;
	return 0;
}

/*
 * The page is mapped when the first queue is created: programs that only query a
 * device do not pay for it.
 */
int univ_doorbell_map(const char *verb, struct ibv_context *context,
		      const struct univ_doorbell **doorbell)
{
	struct univ_context *ctx = to_ucontext(context);
	void *page;
	int err = 0;

	pthread_mutex_lock(&context->mutex);
	if (!ctx->doorbell) {
		page = mmap(NULL, UNIV_PAGE_SIZE, PROT_READ, MAP_SHARED, context->cmd_fd,
			    (off_t)ctx->doorbell_offset);
		if (page == MAP_FAILED)
			err = errno;
		else
			ctx->doorbell = page;
	}
	if (!err)
		err = bells_map(ctx, context->cmd_fd);
	*doorbell = ctx->doorbell;
	pthread_mutex_unlock(&context->mutex);
	return err ? univ_fail_kernel_memory(verb, err, UNIV_PAGE_SIZE) : 0;
}

/* @bell stays empty in a context without bells. */
void univ_bell_set(struct univ_bell_at *bell, const struct ibv_context *context,
		   const struct univ_bell *from)
{
	char *page = univ_container(context, struct univ_context, vctx.context)->bells;

	if (!page)
		return;
	bell->reg = (volatile uint32_t *)(void *)(page + from->offset);
	bell->value = from->value;
}
