// SPDX-License-Identifier: GPL-2.0
/*
 * The contract's sizes and offsets, asserted. user/layout.c says the same: what
 * either side changes by accident does not compile.
 */
#include <linux/build_bug.h>
#include <linux/stddef.h>

#include "univerbs.h"
#include "univerbs_ring.h"

#define SIZE(type, size) static_assert(sizeof(struct type) == (size))
#define AT(type, field, offset) \
	static_assert(offsetof(struct type, field) == (offset))

SIZE(univ_hdr, 32);
SIZE(univ_context_query, 64);
SIZE(univ_poller_start, 40);
AT(univ_poller_start, idle_us, 32);
SIZE(univ_device_query, 352);
SIZE(univ_port_query, 96);
SIZE(univ_pkey_query, 48);
SIZE(univ_gid_entry, 32);
SIZE(univ_gid_query, 72);
SIZE(univ_gid_table, 48);
SIZE(univ_destroy, 48);
SIZE(univ_pd_alloc, 40);
SIZE(univ_xrcd_open, 48);
SIZE(univ_mr_reg, 80);
SIZE(univ_mr_rereg, 80);
SIZE(univ_mw_alloc, 48);
SIZE(univ_ah_attr, 32);
SIZE(univ_ah_create, 72);
SIZE(univ_channel_create, 40);
SIZE(univ_ring_map, 16);
SIZE(univ_cq_create, 96);
SIZE(univ_cq_resize, 72);
SIZE(univ_cq_moderate, 40);
SIZE(univ_srq_create, 112);
SIZE(univ_srq_modify, 48);
SIZE(univ_srq_query, 48);
SIZE(univ_qp_create, 152);
SIZE(univ_qp_open, 56);
SIZE(univ_qp_attr, 128);
SIZE(univ_qp_modify, 168);
SIZE(univ_qp_query, 192);
SIZE(univ_mcast, 56);
SIZE(univ_event, 16);

SIZE(univ_ring_head, 128);
AT(univ_ring_head, kernel, 64);
AT(univ_ring_user, arm, 4);
AT(univ_ring_kernel, flags, 4);
AT(univ_ring_kernel, fired, 8);
SIZE(univ_doorbell, 64);
SIZE(univ_sge, 16);
SIZE(univ_send_wr, 64);
AT(univ_send_wr, imm, 16);
AT(univ_send_wr, remote_addr, 24);
AT(univ_send_wr, atomic, 32);
AT(univ_send_wr, bind, 32);
AT(univ_send_wr, data, 48);
SIZE(univ_recv_wr, 64);
AT(univ_recv_wr, sge, 16);
SIZE(univ_cqe, 64);
AT(univ_cqe, imm, 16);
AT(univ_cqe, timestamp, 40);
AT(univ_cqe, phase, 60);
