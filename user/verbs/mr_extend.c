// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Regions that grow while requests use them: univerbs_extend_mr(3). */
#include <infiniband/univerbs_verbs.h>

#include "verbs/common.h"

UNIV_EXPORT int univerbs_extend_mr(struct ibv_mr *mr, size_t length)
{
	const unsigned int written = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				     IBV_ACCESS_REMOTE_ATOMIC;
	struct univ_mr_extend cmd = {
		.handle = mr->handle,
		.length = length,
	};
	int err = univ_cmd_mr_extend(mr->context->cmd_fd, &cmd);
	size_t was;

	if (err)
		return err;
	was = __atomic_load_n(&mr->length, __ATOMIC_RELAXED);
	/* See mark_written() in mr.c. */
	if (mr->addr && length > was && cmd.access & written)
		univ_kernel_wrote((char *)mr->addr + was, length - was);
	/*
	 * Another thread may have extended the region further since, and come here before. A
	 * failed exchange loads the member again.
	 */
	while (was < length && !__atomic_compare_exchange_n(&mr->length, &was, length, 0,
							    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return 0;
}
