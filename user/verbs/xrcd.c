// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* XRC domains. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "verbs/common.h"
#include "why/why.h"

#define VERB_OPEN "ibv_open_xrcd"

struct ibv_xrcd *univ_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	const uint32_t needed = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	struct univ_xrcd_open cmd = {
		.fd = attr->fd,
		/* Programs pass the flags of their open(2). Only O_CREAT and O_EXCL count here. */
		.oflags = (uint32_t)attr->oflags & (O_CREAT | O_EXCL),
	};
	struct univ_xrcd *xrcd;

	if (attr->comp_mask & ~needed) {
		univ_fail_flags(VERB_OPEN, EOPNOTSUPP, UNIV_FLAGS_XRCD_MASK, attr->comp_mask,
				needed);
		return NULL;
	}
	if (attr->comp_mask != needed) {
		univ_fail_flags_missing(VERB_OPEN, UNIV_FLAGS_XRCD_MASK,
					needed & ~attr->comp_mask);
		return NULL;
	}
	xrcd = malloc(sizeof(*xrcd));
	if (!xrcd) {
		univ_fail_memory(VERB_OPEN, sizeof(*xrcd));
		return NULL;
	}
	if (univ_cmd_xrcd_open(context->cmd_fd, &cmd)) {
		free(xrcd);
		return NULL;
	}
	xrcd->ibv.context = context;
	xrcd->handle = cmd.handle;
	return &xrcd->ibv;
}

int univ_close_xrcd(struct ibv_xrcd *ibv)
{
	struct univ_xrcd *xrcd = to_uxrcd(ibv);
	struct univ_destroy cmd = { .handle = xrcd->handle };
	int err = univ_cmd_xrcd_close(ibv->context->cmd_fd, &cmd);

	if (!err)
		free(xrcd);
	return err;
}
