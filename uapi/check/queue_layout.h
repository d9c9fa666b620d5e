/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * The layout of the structs of completion queues, shared receive queues, work
 * queues, queue pairs and completion counters; see layout.h.
 */
#ifndef UNIV_CHECK_QUEUE_LAYOUT_H
#define UNIV_CHECK_QUEUE_LAYOUT_H

#include "asserts.h"
#include "univerbs.h"

SIZE(univ_cntr_query, 48);
AT(univ_cntr_query, hdr, 0);
AT(univ_cntr_query, max_value, 32);
AT(univ_cntr_query, max_counters, 40);
AT(univ_cntr_query, ops, 44);

SIZE(univ_cntr_create, 56);
AT(univ_cntr_create, hdr, 0);
AT(univ_cntr_create, type, 32);
AT(univ_cntr_create, handle, 36);
AT(univ_cntr_create, map_offset, 40);
AT(univ_cntr_create, map_length, 48);

SIZE(univ_cntr_modify, 48);
AT(univ_cntr_modify, hdr, 0);
AT(univ_cntr_modify, handle, 32);
AT(univ_cntr_modify, change, 36);
AT(univ_cntr_modify, amount, 40);

SIZE(univ_qp_cntr, 48);
AT(univ_qp_cntr, hdr, 0);
AT(univ_qp_cntr, handle, 32);
AT(univ_qp_cntr, cntr, 36);
AT(univ_qp_cntr, ops, 40);
AT(univ_qp_cntr, reserved, 44);

SIZE(univ_ring_map, 16);
AT(univ_ring_map, head_offset, 0);
AT(univ_ring_map, slot_offset, 4);
AT(univ_ring_map, slots, 8);
AT(univ_ring_map, stride, 12);

SIZE(univ_cq_create, 96);
AT(univ_cq_create, hdr, 0);
AT(univ_cq_create, cqe, 32);
AT(univ_cq_create, comp_vector, 36);
AT(univ_cq_create, channel_fd, 40);
AT(univ_cq_create, cq_flags, 44);
AT(univ_cq_create, cookie, 48);
AT(univ_cq_create, handle, 56);
AT(univ_cq_create, reserved, 60);
AT(univ_cq_create, map_offset, 64);
AT(univ_cq_create, map_length, 72);
AT(univ_cq_create, ring, 80);

SIZE(univ_cq_resize, 72);
AT(univ_cq_resize, hdr, 0);
AT(univ_cq_resize, handle, 32);
AT(univ_cq_resize, cqe, 36);
AT(univ_cq_resize, map_offset, 40);
AT(univ_cq_resize, map_length, 48);
AT(univ_cq_resize, ring, 56);

SIZE(univ_cq_notify, 40);
AT(univ_cq_notify, hdr, 0);
AT(univ_cq_notify, handle, 32);
AT(univ_cq_notify, reserved, 36);
SIZE(univ_cq_query, 64);
AT(univ_cq_query, hdr, 0);
AT(univ_cq_query, handle, 32);
AT(univ_cq_query, cqe, 36);
AT(univ_cq_query, comp_vector, 40);
AT(univ_cq_query, cq_flags, 44);
AT(univ_cq_query, channel, 48);
AT(univ_cq_query, armed, 52);
AT(univ_cq_query, count, 56);
AT(univ_cq_query, period, 58);
AT(univ_cq_query, overrun, 60);

SIZE(univ_cq_moderate, 40);
AT(univ_cq_moderate, hdr, 0);
AT(univ_cq_moderate, handle, 32);
AT(univ_cq_moderate, count, 36);
AT(univ_cq_moderate, period, 38);

SIZE(univ_bell, 8);
AT(univ_bell, offset, 0);
AT(univ_bell, value, 4);

SIZE(univ_srq_create, 120);
AT(univ_srq_create, hdr, 0);
AT(univ_srq_create, pd, 32);
AT(univ_srq_create, max_wr, 36);
AT(univ_srq_create, max_sge, 40);
AT(univ_srq_create, limit, 44);
AT(univ_srq_create, cookie, 48);
AT(univ_srq_create, handle, 56);
AT(univ_srq_create, reserved, 60);
AT(univ_srq_create, map_offset, 64);
AT(univ_srq_create, map_length, 72);
AT(univ_srq_create, ring, 80);
AT(univ_srq_create, srq_type, 96);
AT(univ_srq_create, cq, 100);
AT(univ_srq_create, xrcd, 104);
AT(univ_srq_create, srq_num, 108);
AT(univ_srq_create, bell, 112);

SIZE(univ_srq_modify, 80);
AT(univ_srq_modify, hdr, 0);
AT(univ_srq_modify, handle, 32);
AT(univ_srq_modify, attr_mask, 36);
AT(univ_srq_modify, max_wr, 40);
AT(univ_srq_modify, limit, 44);
AT(univ_srq_modify, map_offset, 48);
AT(univ_srq_modify, map_length, 56);
AT(univ_srq_modify, ring, 64);

SIZE(univ_srq_query, 48);
AT(univ_srq_query, hdr, 0);
AT(univ_srq_query, handle, 32);
AT(univ_srq_query, max_wr, 36);
AT(univ_srq_query, max_sge, 40);
AT(univ_srq_query, limit, 44);

SIZE(univ_wq_create, 104);
AT(univ_wq_create, hdr, 0);
AT(univ_wq_create, pd, 32);
AT(univ_wq_create, cq, 36);
AT(univ_wq_create, wq_type, 40);
AT(univ_wq_create, create_flags, 44);
AT(univ_wq_create, max_wr, 48);
AT(univ_wq_create, max_sge, 52);
AT(univ_wq_create, cookie, 56);
AT(univ_wq_create, handle, 64);
AT(univ_wq_create, wq_num, 68);
AT(univ_wq_create, map_offset, 72);
AT(univ_wq_create, map_length, 80);
AT(univ_wq_create, ring, 88);

SIZE(univ_wq_modify, 56);
AT(univ_wq_modify, hdr, 0);
AT(univ_wq_modify, handle, 32);
AT(univ_wq_modify, attr_mask, 36);
AT(univ_wq_modify, wq_state, 40);
AT(univ_wq_modify, curr_wq_state, 44);
AT(univ_wq_modify, flags, 48);
AT(univ_wq_modify, flags_mask, 52);

SIZE(univ_table_create, 552);
AT(univ_table_create, hdr, 0);
AT(univ_table_create, log_size, 32);
AT(univ_table_create, handle, 36);
AT(univ_table_create, wqs, 40);

SIZE(univ_qp_create, 232);
AT(univ_qp_create, hdr, 0);
AT(univ_qp_create, pd, 32);
AT(univ_qp_create, send_cq, 36);
AT(univ_qp_create, recv_cq, 40);
AT(univ_qp_create, srq, 44);
AT(univ_qp_create, qp_type, 48);
AT(univ_qp_create, sq_sig_all, 52);
AT(univ_qp_create, max_send_wr, 56);
AT(univ_qp_create, max_recv_wr, 60);
AT(univ_qp_create, max_send_sge, 64);
AT(univ_qp_create, max_recv_sge, 68);
AT(univ_qp_create, max_inline, 72);
AT(univ_qp_create, create_flags, 76);
AT(univ_qp_create, cookie, 80);
AT(univ_qp_create, handle, 88);
AT(univ_qp_create, qp_num, 92);
AT(univ_qp_create, map_offset, 96);
AT(univ_qp_create, map_length, 104);
AT(univ_qp_create, sq, 112);
AT(univ_qp_create, rq, 128);
AT(univ_qp_create, xrcd, 144);
AT(univ_qp_create, reserved, 148);
AT(univ_qp_create, sq_bell, 152);
AT(univ_qp_create, rq_bell, 160);
AT(univ_qp_create, table, 168);
AT(univ_qp_create, rx_hash_function, 172);
AT(univ_qp_create, rx_hash_key_len, 174);
AT(univ_qp_create, rx_hash_fields, 176);
AT(univ_qp_create, rx_hash_key, 184);
AT(univ_qp_create, max_tso_header, 224);
AT(univ_qp_create, source_qpn, 228);

SIZE(univ_qp_open, 56);
AT(univ_qp_open, hdr, 0);
AT(univ_qp_open, xrcd, 32);
AT(univ_qp_open, qp_num, 36);
AT(univ_qp_open, qp_type, 40);
AT(univ_qp_open, handle, 44);
AT(univ_qp_open, cookie, 48);

SIZE(univ_qp_attr, 128);
AT(univ_qp_attr, attr_mask, 0);
AT(univ_qp_attr, qp_state, 4);
AT(univ_qp_attr, cur_qp_state, 8);
AT(univ_qp_attr, path_mtu, 12);
AT(univ_qp_attr, path_mig_state, 16);
AT(univ_qp_attr, qkey, 20);
AT(univ_qp_attr, rq_psn, 24);
AT(univ_qp_attr, sq_psn, 28);
AT(univ_qp_attr, dest_qp_num, 32);
AT(univ_qp_attr, qp_access_flags, 36);
AT(univ_qp_attr, rate_limit, 40);
AT(univ_qp_attr, pkey_index, 44);
AT(univ_qp_attr, alt_pkey_index, 46);
AT(univ_qp_attr, en_sqd_async_notify, 48);
AT(univ_qp_attr, sq_draining, 49);
AT(univ_qp_attr, max_rd_atomic, 50);
AT(univ_qp_attr, max_dest_rd_atomic, 51);
AT(univ_qp_attr, min_rnr_timer, 52);
AT(univ_qp_attr, port_num, 53);
AT(univ_qp_attr, timeout, 54);
AT(univ_qp_attr, retry_cnt, 55);
AT(univ_qp_attr, rnr_retry, 56);
AT(univ_qp_attr, alt_port_num, 57);
AT(univ_qp_attr, alt_timeout, 58);
AT(univ_qp_attr, reserved, 59);
AT(univ_qp_attr, ah, 64);
AT(univ_qp_attr, alt_ah, 96);

SIZE(univ_qp_modify, 224);
AT(univ_qp_modify, hdr, 0);
AT(univ_qp_modify, handle, 32);
AT(univ_qp_modify, reserved, 36);
AT(univ_qp_modify, attr, 40);
AT(univ_qp_modify, max_send_wr, 168);
AT(univ_qp_modify, max_recv_wr, 172);
AT(univ_qp_modify, map_offset, 176);
AT(univ_qp_modify, map_length, 184);
AT(univ_qp_modify, sq, 192);
AT(univ_qp_modify, rq, 208);

SIZE(univ_qp_rate, 48);
AT(univ_qp_rate, hdr, 0);
AT(univ_qp_rate, handle, 32);
AT(univ_qp_rate, rate_limit, 36);
AT(univ_qp_rate, max_burst_sz, 40);
AT(univ_qp_rate, typical_pkt_sz, 44);
AT(univ_qp_rate, reserved, 46);

SIZE(univ_qp_query, 192);
AT(univ_qp_query, hdr, 0);
AT(univ_qp_query, handle, 32);
AT(univ_qp_query, attr_mask, 36);
AT(univ_qp_query, attr, 40);
AT(univ_qp_query, max_send_wr, 168);
AT(univ_qp_query, max_recv_wr, 172);
AT(univ_qp_query, max_send_sge, 176);
AT(univ_qp_query, max_recv_sge, 180);
AT(univ_qp_query, max_inline, 184);
AT(univ_qp_query, sq_sig_all, 188);

SIZE(univ_mcast, 56);
AT(univ_mcast, hdr, 0);
AT(univ_mcast, qp, 32);
AT(univ_mcast, lid, 36);
AT(univ_mcast, reserved, 38);
AT(univ_mcast, gid, 40);

SIZE(univ_flow_spec, 88);
AT(univ_flow_spec, type, 0);
AT(univ_flow_spec, tag, 4);
AT(univ_flow_spec, val, 8);
AT(univ_flow_spec, mask, 48);

SIZE(univ_flow_create, 944);
AT(univ_flow_create, hdr, 0);
AT(univ_flow_create, qp, 32);
AT(univ_flow_create, type, 36);
AT(univ_flow_create, flow_flags, 40);
AT(univ_flow_create, priority, 44);
AT(univ_flow_create, port_num, 48);
AT(univ_flow_create, count, 52);
AT(univ_flow_create, handle, 56);
AT(univ_flow_create, reserved, 60);
AT(univ_flow_create, specs, 64);

SIZE(univ_counters_create, 40);
AT(univ_counters_create, hdr, 0);
AT(univ_counters_create, handle, 32);
AT(univ_counters_create, reserved, 36);

SIZE(univ_counters_read, 552);
AT(univ_counters_read, hdr, 0);
AT(univ_counters_read, handle, 32);
AT(univ_counters_read, reserved, 36);
AT(univ_counters_read, values, 40);

SIZE(univ_counters_attach, 48);
AT(univ_counters_attach, hdr, 0);
AT(univ_counters_attach, handle, 32);
AT(univ_counters_attach, flow, 36);
AT(univ_counters_attach, unit, 40);
AT(univ_counters_attach, index, 44);

#endif
