// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* DMA handles: hints for regions, by ibv_reg_mr_ex(). */
#include <stdlib.h>

#include "verbs/common.h"
#include "why/why.h"

struct univ_dmah {
	struct ibv_dmah ibv;
	uint32_t handle;
};

static struct univ_dmah *to_udmah(struct ibv_dmah *dmah)
{
	return (struct univ_dmah *)dmah;
}

UNIV_EXPORT struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *context,
					    struct ibv_dmah_init_attr *attr)
{
	struct univ_dmah_alloc cmd = {
		.fields = attr->comp_mask,
		.cpu = attr->cpu_id,
		.ph = attr->ph,
		.mem_type = attr->tph_mem_type,
	};
	struct univ_dmah *dmah = malloc(sizeof(*dmah));

	if (!dmah) {
		univ_fail_memory("ibv_alloc_dmah", sizeof(*dmah));
		return NULL;
	}
	if (univ_cmd_dmah_alloc(context->cmd_fd, &cmd)) {
		free(dmah);
		return NULL;
	}
	*dmah = (struct univ_dmah) { .ibv.context = context, .handle = cmd.handle };
	return &dmah->ibv;
}

UNIV_EXPORT int ibv_dealloc_dmah(struct ibv_dmah *dmah)
{
	struct univ_destroy cmd = { .handle = to_udmah(dmah)->handle };
	int err = univ_cmd_dmah_free(dmah->context->cmd_fd, &cmd);

	if (!err)
		free(to_udmah(dmah));
	return err;
}

int univ_dmah_check(const char *verb, const struct ibv_pd *pd, const struct ibv_dmah *dmah)
{
	if (!dmah)
		return univ_fail_no_object(verb, UNIV_OBJECT_DMAH);
	if (dmah->context != pd->context)
		return univ_fail_context(verb, UNIV_OBJECT_DMAH);
	return 0;
}

uint32_t univ_dmah_handle(struct ibv_dmah *dmah)
{
	return dmah ? to_udmah(dmah)->handle : 0;
}
