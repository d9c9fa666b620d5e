// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Memory windows. The requests that bind them are in ring/bind.c. */
#include <errno.h>
#include <stdlib.h>

#include "verbs/common.h"
#include "why/why.h"

struct ibv_mw *univ_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct univ_mw_alloc cmd = {
		.pd = pd->handle,
		.type = (uint32_t)type,
	};
	struct ibv_mw *mw = malloc(sizeof(*mw));

	if (!mw) {
		univ_fail_memory("ibv_alloc_mw", sizeof(*mw));
		return NULL;
	}
	if (univ_cmd_mw_alloc(pd->context->cmd_fd, &cmd)) {
		free(mw);
		return NULL;
	}
	*mw = (struct ibv_mw) {
		.context = pd->context,
		.pd = pd,
		.rkey = cmd.rkey,
		.handle = cmd.handle,
		.type = type,
	};
	univ_pd_hold(pd);
	return mw;
}

int univ_dealloc_mw(struct ibv_mw *mw)
{
	struct univ_destroy cmd = { .handle = mw->handle };
	int err = univ_cmd_mw_dealloc(mw->context->cmd_fd, &cmd);

	if (err)
		return err;
	univ_pd_release(mw->pd);
	free(mw);
	return 0;
}
