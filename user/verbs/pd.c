// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <stdlib.h>

#include "verbs/common.h"
#include "why/why.h"

UNIV_EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct univ_pd_alloc cmd = {};
	struct ibv_pd *pd = calloc(1, sizeof(*pd));

	if (!pd) {
		univ_fail_memory("ibv_alloc_pd", sizeof(*pd));
		return NULL;
	}
	if (univ_cmd_pd_alloc(context->cmd_fd, &cmd)) {
		free(pd);
		return NULL;
	}
	pd->context = context;
	pd->handle = cmd.handle;
	return pd;
}

UNIV_EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
	struct univ_destroy cmd = { .handle = pd->handle };
	int err = univ_cmd_pd_dealloc(pd->context->cmd_fd, &cmd);

	if (!err)
		free(pd);
	return err;
}

UNIV_EXPORT struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t pd_handle)
{
	(void)context;
	(void)pd_handle;
	univ_fail_unsupported("ibv_import_pd");
	return NULL;
}

UNIV_EXPORT void ibv_unimport_pd(struct ibv_pd *pd)
{
	(void)pd;
}
