/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/* The sizes and offsets of univerbs_ring.h; see layout.h. */
#ifndef UNIV_CHECK_RING_LAYOUT_H
#define UNIV_CHECK_RING_LAYOUT_H

#include "asserts.h"
#include "univerbs_ring.h"

SIZE(univ_ring_user, 64);
AT(univ_ring_user, index, 0);
AT(univ_ring_user, arm, 4);
AT(univ_ring_user, reserved, 8);

SIZE(univ_ring_kernel, 64);
AT(univ_ring_kernel, index, 0);
AT(univ_ring_kernel, flags, 4);
AT(univ_ring_kernel, fired, 8);
AT(univ_ring_kernel, fired_index, 12);
AT(univ_ring_kernel, reserved, 16);

SIZE(univ_ring_head, 128);
AT(univ_ring_head, user, 0);
AT(univ_ring_head, kernel, 64);

SIZE(univ_doorbell, 64);
AT(univ_doorbell, state, 0);
AT(univ_doorbell, reserved, 4);

SIZE(univ_sge, 16);
AT(univ_sge, addr, 0);
AT(univ_sge, length, 8);
AT(univ_sge, lkey, 12);

SIZE(univ_send_wr, 64);
AT(univ_send_wr, wr_id, 0);
AT(univ_send_wr, opcode, 8);
AT(univ_send_wr, flags, 9);
AT(univ_send_wr, count, 10);
AT(univ_send_wr, srqn, 12);
AT(univ_send_wr, imm, 16);
AT(univ_send_wr, rkey, 20);
AT(univ_send_wr, remote_addr, 24);
AT(univ_send_wr, atomic, 32);
AT(univ_send_wr, bind, 32);
AT(univ_send_wr, flush, 32);
AT(univ_send_wr, ud, 32);
AT(univ_send_wr, sge, 48);
AT(univ_send_wr, data, 48);

SIZE(univ_recv_wr, 64);
AT(univ_recv_wr, wr_id, 0);
AT(univ_recv_wr, count, 8);
AT(univ_recv_wr, reserved, 12);
AT(univ_recv_wr, sge, 16);

SIZE(univ_cqe, 64);
AT(univ_cqe, wr_id, 0);
AT(univ_cqe, status, 8);
AT(univ_cqe, opcode, 9);
AT(univ_cqe, wc_flags, 10);
AT(univ_cqe, byte_len, 12);
AT(univ_cqe, imm, 16);
AT(univ_cqe, qp_num, 20);
AT(univ_cqe, src_qp, 24);
AT(univ_cqe, slid, 28);
AT(univ_cqe, cvlan, 28);
AT(univ_cqe, pkey_index, 30);
AT(univ_cqe, vendor_err, 32);
AT(univ_cqe, sl, 36);
AT(univ_cqe, dlid_path_bits, 37);
AT(univ_cqe, reason, 38);
AT(univ_cqe, timestamp, 40);
AT(univ_cqe, wallclock, 48);
AT(univ_cqe, flow_tag, 56);
AT(univ_cqe, phase, 60);

SIZE(univ_cntr, 16);
AT(univ_cntr, done, 0);
AT(univ_cntr, failed, 8);

#endif
