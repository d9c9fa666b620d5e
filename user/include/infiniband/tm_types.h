/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Headers that a sender puts before a message to a tag matching receive queue. */
#ifndef _TM_TYPES_H
#define _TM_TYPES_H

#include <stdint.h>
#include <linux/types.h>

enum ibv_tmh_op {
	IBV_TMH_NO_TAG			= 0,
	IBV_TMH_RNDV			= 1,
	IBV_TMH_FIN			= 2,
	IBV_TMH_EAGER			= 3,
};

struct ibv_tmh {
	uint8_t			opcode;			/* enum ibv_tmh_op */
	uint8_t			reserved[3];		/* zero */
	__be32			app_ctx;		/* the receiver's ibv_wc_tm_info.priv */
	__be64			tag;
};

/* Follows a struct ibv_tmh of IBV_TMH_RNDV: where to read the message from. */
struct ibv_rvh {
	__be64			va;
	__be32			rkey;
	__be32			len;
};

#endif /* _TM_TYPES_H */
