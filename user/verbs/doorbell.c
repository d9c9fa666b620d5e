// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The doorbell page of a context. */
#include <errno.h>
#include <sys/mman.h>

#include "verbs/common.h"
#include "why/why.h"

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
	*doorbell = ctx->doorbell;
	pthread_mutex_unlock(&context->mutex);
	return err ? univ_fail_kernel_memory(verb, err, UNIV_PAGE_SIZE) : 0;
}
