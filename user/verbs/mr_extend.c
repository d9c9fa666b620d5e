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

	if (err)
		return err;
	/* See ibv_reg_mr_iova2(). */
	if (mr->addr && length > mr->length && cmd.access & written)
		univ_kernel_wrote((char *)mr->addr + mr->length, length - mr->length);
	mr->length = length;
	return 0;
}
