// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Address handles. ah_wc.c makes them from the header of a received datagram. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/univerbs_verbs.h>

#include "verbs/common.h"
#include "why/why.h"

void univ_ah_attr_from_ibv(struct univ_ah_attr *to, const struct ibv_ah_attr *from)
{
	*to = (struct univ_ah_attr) {
		.flow_label = from->grh.flow_label,
		.dlid = from->dlid,
		.sgid_index = from->grh.sgid_index,
		.hop_limit = from->grh.hop_limit,
		.traffic_class = from->grh.traffic_class,
		.sl = from->sl,
		.src_path_bits = from->src_path_bits,
		.static_rate = from->static_rate,
		.is_global = !!from->is_global,
		.port_num = from->port_num,
	};
	memcpy(to->dgid, from->grh.dgid.raw, sizeof(to->dgid));
}

void univ_ah_attr_to_ibv(struct ibv_ah_attr *to, const struct univ_ah_attr *from)
{
	*to = (struct ibv_ah_attr) {
		.grh.flow_label = from->flow_label,
		.grh.sgid_index = from->sgid_index,
		.grh.hop_limit = from->hop_limit,
		.grh.traffic_class = from->traffic_class,
		.dlid = from->dlid,
		.sl = from->sl,
		.src_path_bits = from->src_path_bits,
		.static_rate = from->static_rate,
		.is_global = from->is_global,
		.port_num = from->port_num,
	};
	memcpy(to->grh.dgid.raw, from->dgid, sizeof(from->dgid));
}

UNIV_EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct univ_ah_create cmd = { .pd = pd->handle };
	struct ibv_ah *ah = malloc(sizeof(*ah));

	if (!ah) {
		univ_fail_memory("ibv_create_ah", sizeof(*ah));
		return NULL;
	}
	univ_ah_attr_from_ibv(&cmd.attr, attr);
	if (univ_cmd_ah_create(pd->context->cmd_fd, &cmd)) {
		free(ah);
		return NULL;
	}
	*ah = (struct ibv_ah) {
		.context = pd->context,
		.pd = pd,
		.handle = cmd.handle,
	};
	univ_pd_hold(pd);
	return ah;
}

UNIV_EXPORT int univerbs_modify_ah(struct ibv_ah *ah, struct ibv_ah_attr *attr)
{
	struct univ_ah_modify cmd = { .handle = ah->handle };

	univ_ah_attr_from_ibv(&cmd.attr, attr);
	return univ_cmd_ah_modify(ah->context->cmd_fd, &cmd);
}

UNIV_EXPORT int ibv_destroy_ah(struct ibv_ah *ah)
{
	struct univ_destroy cmd = { .handle = ah->handle };
	int err = univ_cmd_ah_destroy(ah->context->cmd_fd, &cmd);

	if (err)
		return err;
	univ_pd_release(ah->pd);
	free(ah);
	return 0;
}
