/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * The layout of the contract as numbers: each size and each offset of
 * univerbs.h is asserted here, in memory_layout.h and in queue_layout.h, and of
 * univerbs_ring.h in ring_layout.h.
 *
 * kernel/core/base/layout.c and user/abi/layout.c include this file, so that
 * neither side can change the layout by accident, and neither side's compiler
 * can disagree. It is in uapi/ because the two sides share nothing else, and in
 * a folder of its own because it is not installed: programs need no assertions.
 */
#ifndef UNIV_CHECK_LAYOUT_H
#define UNIV_CHECK_LAYOUT_H

#include "asserts.h"
#include "memory_layout.h"
#include "queue_layout.h"
#include "ring_layout.h"
#include "univerbs.h"

SIZE(univ_hdr, 32);
AT(univ_hdr, size, 0);
AT(univ_hdr, flags, 4);
AT(univ_hdr, reason, 8);
AT(univ_hdr, detail, 12);
AT(univ_hdr, value, 16);
AT(univ_hdr, bound, 24);

SIZE(univ_context_query, 72);
AT(univ_context_query, hdr, 0);
AT(univ_context_query, abi_version, 32);
AT(univ_context_query, num_comp_vectors, 36);
AT(univ_context_query, num_ports, 40);
AT(univ_context_query, features, 44);
AT(univ_context_query, node_guid, 48);
AT(univ_context_query, doorbell_offset, 56);
AT(univ_context_query, bell_offset, 64);

SIZE(univ_poller_start, 40);
AT(univ_poller_start, hdr, 0);
AT(univ_poller_start, idle_us, 32);
AT(univ_poller_start, reserved, 36);

SIZE(univ_device_query, 384);
AT(univ_device_query, hdr, 0);
AT(univ_device_query, fw_ver, 32);
AT(univ_device_query, node_guid, 96);
AT(univ_device_query, sys_image_guid, 104);
AT(univ_device_query, max_mr_size, 112);
AT(univ_device_query, page_size_cap, 120);
AT(univ_device_query, device_cap_flags, 128);
AT(univ_device_query, hca_core_clock, 136);
AT(univ_device_query, timestamp_mask, 144);
AT(univ_device_query, max_dm_size, 152);
AT(univ_device_query, vendor_id, 160);
AT(univ_device_query, vendor_part_id, 164);
AT(univ_device_query, hw_ver, 168);
AT(univ_device_query, max_qp, 172);
AT(univ_device_query, max_qp_wr, 176);
AT(univ_device_query, max_send_sge, 180);
AT(univ_device_query, max_recv_sge, 184);
AT(univ_device_query, max_sge_rd, 188);
AT(univ_device_query, max_cq, 192);
AT(univ_device_query, max_cqe, 196);
AT(univ_device_query, max_mr, 200);
AT(univ_device_query, max_pd, 204);
AT(univ_device_query, max_qp_rd_atom, 208);
AT(univ_device_query, max_ee_rd_atom, 212);
AT(univ_device_query, max_res_rd_atom, 216);
AT(univ_device_query, max_qp_init_rd_atom, 220);
AT(univ_device_query, max_ee_init_rd_atom, 224);
AT(univ_device_query, atomic_cap, 228);
AT(univ_device_query, max_ee, 232);
AT(univ_device_query, max_rdd, 236);
AT(univ_device_query, max_mw, 240);
AT(univ_device_query, max_raw_ipv6_qp, 244);
AT(univ_device_query, max_raw_ethy_qp, 248);
AT(univ_device_query, max_mcast_grp, 252);
AT(univ_device_query, max_mcast_qp_attach, 256);
AT(univ_device_query, max_total_mcast_qp_attach, 260);
AT(univ_device_query, max_ah, 264);
AT(univ_device_query, max_srq, 268);
AT(univ_device_query, max_srq_wr, 272);
AT(univ_device_query, max_srq_sge, 276);
AT(univ_device_query, max_pkeys, 280);
AT(univ_device_query, local_ca_ack_delay, 284);
AT(univ_device_query, phys_port_cnt, 288);
AT(univ_device_query, num_comp_vectors, 292);
AT(univ_device_query, max_wq_type_rq, 296);
AT(univ_device_query, raw_packet_caps, 300);
AT(univ_device_query, odp_general_caps, 304);
AT(univ_device_query, odp_rc_caps, 312);
AT(univ_device_query, odp_uc_caps, 316);
AT(univ_device_query, odp_ud_caps, 320);
AT(univ_device_query, odp_xrc_caps, 324);
AT(univ_device_query, rss_max_rwq_indirection_tables, 328);
AT(univ_device_query, rss_max_rwq_indirection_table_size, 332);
AT(univ_device_query, rss_supported_qpts, 336);
AT(univ_device_query, cq_mod_max_count, 340);
AT(univ_device_query, cq_mod_max_period, 344);
AT(univ_device_query, reserved, 348);
AT(univ_device_query, rate_limit_min, 352);
AT(univ_device_query, rate_limit_max, 356);
AT(univ_device_query, rate_limit_types, 360);
AT(univ_device_query, rss_hash_fields, 368);
AT(univ_device_query, max_tso, 376);
AT(univ_device_query, tso_types, 380);

SIZE(univ_port_query, 96);
AT(univ_port_query, hdr, 0);
AT(univ_port_query, port_num, 32);
AT(univ_port_query, state, 36);
AT(univ_port_query, max_mtu, 40);
AT(univ_port_query, active_mtu, 44);
AT(univ_port_query, gid_tbl_len, 48);
AT(univ_port_query, port_cap_flags, 52);
AT(univ_port_query, max_msg_sz, 56);
AT(univ_port_query, bad_pkey_cntr, 60);
AT(univ_port_query, qkey_viol_cntr, 64);
AT(univ_port_query, pkey_tbl_len, 68);
AT(univ_port_query, port_cap_flags2, 70);
AT(univ_port_query, lid, 72);
AT(univ_port_query, sm_lid, 76);
AT(univ_port_query, lmc, 80);
AT(univ_port_query, max_vl_num, 81);
AT(univ_port_query, sm_sl, 82);
AT(univ_port_query, subnet_timeout, 83);
AT(univ_port_query, init_type_reply, 84);
AT(univ_port_query, active_width, 85);
AT(univ_port_query, phys_state, 86);
AT(univ_port_query, link_layer, 87);
AT(univ_port_query, active_speed, 88);
AT(univ_port_query, flags, 92);
AT(univ_port_query, reserved, 93);

SIZE(univ_pkey_query, 48);
AT(univ_pkey_query, hdr, 0);
AT(univ_pkey_query, port_num, 32);
AT(univ_pkey_query, index, 36);
AT(univ_pkey_query, pkey, 40);
AT(univ_pkey_query, reserved, 42);

SIZE(univ_gid_entry, 32);
AT(univ_gid_entry, gid, 0);
AT(univ_gid_entry, gid_index, 16);
AT(univ_gid_entry, port_num, 20);
AT(univ_gid_entry, gid_type, 24);
AT(univ_gid_entry, ndev_ifindex, 28);

SIZE(univ_gid_query, 72);
AT(univ_gid_query, hdr, 0);
AT(univ_gid_query, port_num, 32);
AT(univ_gid_query, index, 36);
AT(univ_gid_query, entry, 40);

SIZE(univ_gid_table, 48);
AT(univ_gid_table, hdr, 0);
AT(univ_gid_table, entries, 32);
AT(univ_gid_table, max, 40);
AT(univ_gid_table, count, 44);

SIZE(univ_destroy, 48);
AT(univ_destroy, hdr, 0);
AT(univ_destroy, handle, 32);
AT(univ_destroy, comp_events, 36);
AT(univ_destroy, async_events, 40);
AT(univ_destroy, reserved, 44);

SIZE(univ_pd_alloc, 40);
AT(univ_pd_alloc, hdr, 0);
AT(univ_pd_alloc, handle, 32);
AT(univ_pd_alloc, reserved, 36);

SIZE(univ_xrcd_open, 48);
AT(univ_xrcd_open, hdr, 0);
AT(univ_xrcd_open, fd, 32);
AT(univ_xrcd_open, oflags, 36);
AT(univ_xrcd_open, handle, 40);
AT(univ_xrcd_open, reserved, 44);

SIZE(univ_handle_query, 88);
AT(univ_handle_query, hdr, 0);
AT(univ_handle_query, handle, 32);
AT(univ_handle_query, type, 36);
AT(univ_handle_query, domain, 40);
AT(univ_handle_query, lkey, 44);
AT(univ_handle_query, rkey, 48);
AT(univ_handle_query, reserved, 52);
AT(univ_handle_query, length, 56);
AT(univ_handle_query, iova, 64);
AT(univ_handle_query, map_offset, 72);
AT(univ_handle_query, map_length, 80);

SIZE(univ_ah_attr, 32);
AT(univ_ah_attr, dgid, 0);
AT(univ_ah_attr, flow_label, 16);
AT(univ_ah_attr, dlid, 20);
AT(univ_ah_attr, sgid_index, 22);
AT(univ_ah_attr, hop_limit, 23);
AT(univ_ah_attr, traffic_class, 24);
AT(univ_ah_attr, sl, 25);
AT(univ_ah_attr, src_path_bits, 26);
AT(univ_ah_attr, static_rate, 27);
AT(univ_ah_attr, is_global, 28);
AT(univ_ah_attr, port_num, 29);
AT(univ_ah_attr, reserved, 30);

SIZE(univ_ah_modify, 72);
AT(univ_ah_modify, hdr, 0);
AT(univ_ah_modify, handle, 32);
AT(univ_ah_modify, reserved, 36);
AT(univ_ah_modify, attr, 40);

SIZE(univ_ah_query, 72);
AT(univ_ah_query, hdr, 0);
AT(univ_ah_query, handle, 32);
AT(univ_ah_query, domain, 36);
AT(univ_ah_query, attr, 40);

SIZE(univ_ah_create, 72);
AT(univ_ah_create, hdr, 0);
AT(univ_ah_create, pd, 32);
AT(univ_ah_create, handle, 36);
AT(univ_ah_create, attr, 40);

SIZE(univ_channel_create, 40);
AT(univ_channel_create, hdr, 0);
AT(univ_channel_create, fd, 32);
AT(univ_channel_create, reserved, 36);

SIZE(univ_async_open, 40);
AT(univ_async_open, hdr, 0);
AT(univ_async_open, fd, 32);
AT(univ_async_open, reserved, 36);
SIZE(univ_async_set, 40);
AT(univ_async_set, hdr, 0);
AT(univ_async_set, handle, 32);
AT(univ_async_set, channel_fd, 36);

SIZE(univ_event, 16);
AT(univ_event, type, 0);
AT(univ_event, port_num, 4);
AT(univ_event, cookie, 8);

#endif
