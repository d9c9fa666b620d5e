// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Asserts the layout of the contract with the kernel, and that its values are those of the
 * verbs.
 */
#include <stddef.h>

#include <infiniband/verbs.h>

#include "base/base.h"
#include "check/layout.h"

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)

_Static_assert(sizeof(struct univ_gid_entry) == sizeof(struct ibv_gid_entry), "gid entry");
_Static_assert(offsetof(struct univ_gid_entry, ndev_ifindex) ==
	       offsetof(struct ibv_gid_entry, ndev_ifindex), "gid entry");

#define SAME_OPCODE(name, word, types, traits, feature) SAME(UNIV_WR_##name, IBV_WR_##name);

UNIV_OPCODES(SAME_OPCODE)

SAME(UNIV_WR_FENCE, IBV_SEND_FENCE);
SAME(UNIV_WR_SIGNALED, IBV_SEND_SIGNALED);
SAME(UNIV_WR_SOLICITED, IBV_SEND_SOLICITED);
SAME(UNIV_WR_INLINE, IBV_SEND_INLINE);
SAME(UNIV_WR_IP_CSUM, IBV_SEND_IP_CSUM);

SAME(UNIV_FLUSH_GLOBAL, IBV_FLUSH_GLOBAL);
SAME(UNIV_FLUSH_PERSISTENT, IBV_FLUSH_PERSISTENT);
SAME(UNIV_FLUSH_RANGE, IBV_FLUSH_RANGE);
SAME(UNIV_FLUSH_MR, IBV_FLUSH_MR);

SAME(UNIV_WC_GRH, IBV_WC_GRH);
SAME(UNIV_WC_WITH_IMM, IBV_WC_WITH_IMM);
SAME(UNIV_WC_IP_CSUM_OK, IBV_WC_IP_CSUM_OK);
SAME(UNIV_WC_WITH_INV, IBV_WC_WITH_INV);

SAME(UNIV_DMAH_CPU, IBV_DMAH_INIT_ATTR_MASK_CPU_ID);
SAME(UNIV_DMAH_PH, IBV_DMAH_INIT_ATTR_MASK_PH);
SAME(UNIV_DMAH_MEM_TYPE, IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE);

/* The context that programs see. */
_Static_assert(offsetof(struct verbs_context, context) + sizeof(struct ibv_context) ==
	       sizeof(struct verbs_context), "verbs_context");
/* The smallest struct that a program may expect is that of rdma-core 17. */
_Static_assert(sizeof(struct verbs_context) >= (sizeof(void *) == 8 ? 648 : 336), "verbs_context");
