// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Regions that share the pages of another region: univerbs_share_mr(3). */
#include <errno.h>
#include <stdlib.h>

#include <infiniband/univerbs_verbs.h>

#include "verbs/common.h"
#include "why/why.h"

UNIV_EXPORT struct ibv_mr *univerbs_share_mr(struct ibv_mr *of, struct ibv_pd *pd, uint64_t iova,
					     unsigned int access)
{
	struct univ_mr_share cmd = {
		.mr = of->handle,
		.pd = pd->handle,
		.access = access,
		.iova = iova,
	};
	struct ibv_mr *mr;
	int err;

	if (pd->context != of->context) {
		univ_fail_context("univerbs_share_mr", UNIV_OBJECT_PD);
		return NULL;
	}
	mr = univ_mr_new("univerbs_share_mr", pd);
	if (!mr)
		return NULL;
	err = univ_cmd_mr_share(pd->context->cmd_fd, &cmd);
	mr->addr = of->addr;
	mr->length = cmd.length;
	mr->handle = cmd.handle;
	mr->lkey = cmd.lkey;
	mr->rkey = cmd.rkey;
	return univ_mr_finish(mr, err);
}
