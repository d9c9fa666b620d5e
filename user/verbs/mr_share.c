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

	if (pd->context != of->context) {
		univ_fail_context("univerbs_share_mr", UNIV_OBJECT_PD);
		return NULL;
	}
	mr = malloc(sizeof(*mr));
	if (!mr) {
		univ_fail_memory("univerbs_share_mr", sizeof(*mr));
		return NULL;
	}
	if (univ_cmd_mr_share(pd->context->cmd_fd, &cmd)) {
		free(mr);
		return NULL;
	}
	*mr = (struct ibv_mr) {
		.context = pd->context,
		.pd = pd,
		.addr = of->addr,
		.length = cmd.length,
		.handle = cmd.handle,
		.lkey = cmd.lkey,
		.rkey = cmd.rkey,
	};
	univ_pd_hold(pd);
	return mr;
}
