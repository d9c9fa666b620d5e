// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <string.h>

#include "verbs/common.h"

static struct univ_mcast group(const struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct univ_mcast cmd = {
		.qp = qp->handle,
		.lid = lid,
	};

	memcpy(cmd.gid, gid->raw, sizeof(cmd.gid));
	return cmd;
}

UNIV_EXPORT int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct univ_mcast cmd = group(qp, gid, lid);

	return univ_cmd_mcast_attach(qp->context->cmd_fd, &cmd);
}

UNIV_EXPORT int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct univ_mcast cmd = group(qp, gid, lid);

	return univ_cmd_mcast_detach(qp->context->cmd_fd, &cmd);
}
