// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Attributes of devices and ports, and the tables of ports. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "verbs/common.h"
#include "why/why.h"

/* The size of struct ibv_port_attr in programs from before 2019. */
#define COMPAT_PORT_SIZE offsetof(struct ibv_port_attr, port_cap_flags2)

static void device_fill_basic(struct ibv_device_attr *to, const struct univ_device_query *from)
{
	*to = (struct ibv_device_attr) {
		.node_guid = from->node_guid,
		.sys_image_guid = from->sys_image_guid,
		.max_mr_size = from->max_mr_size,
		.page_size_cap = from->page_size_cap,
		.vendor_id = from->vendor_id,
		.vendor_part_id = from->vendor_part_id,
		.hw_ver = from->hw_ver,
		.max_qp = (int)from->max_qp,
		.max_qp_wr = (int)from->max_qp_wr,
		.device_cap_flags = (unsigned int)from->device_cap_flags,
		.max_sge = (int)(from->max_send_sge < from->max_recv_sge ? from->max_send_sge :
									   from->max_recv_sge),
		.max_sge_rd = (int)from->max_sge_rd,
		.max_cq = (int)from->max_cq,
		.max_cqe = (int)from->max_cqe,
		.max_mr = (int)from->max_mr,
		.max_pd = (int)from->max_pd,
		.max_qp_rd_atom = (int)from->max_qp_rd_atom,
		.max_ee_rd_atom = (int)from->max_ee_rd_atom,
		.max_res_rd_atom = (int)from->max_res_rd_atom,
		.max_qp_init_rd_atom = (int)from->max_qp_init_rd_atom,
		.max_ee_init_rd_atom = (int)from->max_ee_init_rd_atom,
		.atomic_cap = (enum ibv_atomic_cap)from->atomic_cap,
		.max_ee = (int)from->max_ee,
		.max_rdd = (int)from->max_rdd,
		.max_mw = (int)from->max_mw,
		.max_raw_ipv6_qp = (int)from->max_raw_ipv6_qp,
		.max_raw_ethy_qp = (int)from->max_raw_ethy_qp,
		.max_mcast_grp = (int)from->max_mcast_grp,
		.max_mcast_qp_attach = (int)from->max_mcast_qp_attach,
		.max_total_mcast_qp_attach = (int)from->max_total_mcast_qp_attach,
		.max_ah = (int)from->max_ah,
		.max_srq = (int)from->max_srq,
		.max_srq_wr = (int)from->max_srq_wr,
		.max_srq_sge = (int)from->max_srq_sge,
		.max_pkeys = (uint16_t)from->max_pkeys,
		.local_ca_ack_delay = (uint8_t)from->local_ca_ack_delay,
		.phys_port_cnt = (uint8_t)(from->phys_port_cnt > 255 ? 255 : from->phys_port_cnt),
	};
	memcpy(to->fw_ver, from->fw_ver, sizeof(to->fw_ver));
	to->fw_ver[sizeof(to->fw_ver) - 1] = '\0';
}

static void device_fill(struct ibv_device_attr_ex *to, const struct univ_device_query *from)
{
	*to = (struct ibv_device_attr_ex) {
		.odp_caps.general_caps = from->odp_general_caps,
		.odp_caps.per_transport_caps = {
			.rc_odp_caps = from->odp_rc_caps,
			.uc_odp_caps = from->odp_uc_caps,
			.ud_odp_caps = from->odp_ud_caps,
		},
		.tso_caps = {
			.max_tso = from->max_tso,
			.supported_qpts = from->tso_types,
		},
		.completion_timestamp_mask = from->timestamp_mask,
		.hca_core_clock = from->hca_core_clock,
		.device_cap_flags_ex = from->device_cap_flags,
		.rss_caps = {
			.supported_qpts = from->rss_supported_qpts,
			.max_rwq_indirection_tables = from->rss_max_rwq_indirection_tables,
			.max_rwq_indirection_table_size =
				from->rss_max_rwq_indirection_table_size,
			.rx_hash_fields_mask = from->rss_hash_fields,
			.rx_hash_function = from->rss_hash_fields ? IBV_RX_HASH_FUNC_TOEPLITZ : 0,
		},
		.packet_pacing_caps = {
			.qp_rate_limit_min = from->rate_limit_min,
			.qp_rate_limit_max = from->rate_limit_max,
			.supported_qpts = (uint32_t)from->rate_limit_types,
		},
		.max_wq_type_rq = from->max_wq_type_rq,
		.raw_packet_caps = from->raw_packet_caps,
		.cq_mod_caps.max_cq_count = (uint16_t)from->cq_mod_max_count,
		.cq_mod_caps.max_cq_period = (uint16_t)from->cq_mod_max_period,
		.max_dm_size = from->max_dm_size,
		.xrc_odp_caps = from->odp_xrc_caps,
		.phys_port_cnt_ex = from->phys_port_cnt,
	};
	device_fill_basic(&to->orig_attr, from);
}

/* @size is the size of the struct that the program was compiled with. */
int univ_query_device_ex(struct ibv_context *context,
			 const struct ibv_query_device_ex_input *input,
			 struct ibv_device_attr_ex *attr, size_t size)
{
	struct univ_device_query cmd = {};
	struct ibv_device_attr_ex full;
	int err;

	if (input && input->comp_mask)
		return univ_fail_flags("ibv_query_device_ex", EINVAL, UNIV_FLAGS_NONE,
				       input->comp_mask, 0);
	if (size < sizeof(attr->orig_attr))
		return univ_fail_size("ibv_query_device_ex", EINVAL, size,
				      sizeof(attr->orig_attr));
	err = univ_cmd_device_query(context->cmd_fd, &cmd);
	if (err)
		return err;
	device_fill(&full, &cmd);
	if (size > sizeof(full)) {
		memset((char *)attr + sizeof(full), 0, size - sizeof(full));
		size = sizeof(full);
	}
	memcpy(attr, &full, size);
	return 0;
}

UNIV_EXPORT int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	struct univ_device_query cmd = {};
	int err = univ_cmd_device_query(context->cmd_fd, &cmd);

	if (!err)
		device_fill_basic(attr, &cmd);
	return err;
}

/*
 * The public member has eight bits. XDR is the ninth bit, so it is reported as NDR,
 * the fastest speed that the member can hold.
 */
static uint8_t speed_of_old(uint32_t speed)
{
	return speed > UINT8_MAX ? 128 : (uint8_t)speed;
}

static void port_fill(struct ibv_port_attr *to, const struct univ_port_query *from)
{
	*to = (struct ibv_port_attr) {
		.state = (enum ibv_port_state)from->state,
		.max_mtu = (enum ibv_mtu)from->max_mtu,
		.active_mtu = (enum ibv_mtu)from->active_mtu,
		.gid_tbl_len = (int)from->gid_tbl_len,
		.port_cap_flags = from->port_cap_flags,
		.max_msg_sz = from->max_msg_sz,
		.bad_pkey_cntr = from->bad_pkey_cntr,
		.qkey_viol_cntr = from->qkey_viol_cntr,
		.pkey_tbl_len = from->pkey_tbl_len,
		.lid = (uint16_t)from->lid,
		.sm_lid = (uint16_t)from->sm_lid,
		.lmc = from->lmc,
		.max_vl_num = from->max_vl_num,
		.sm_sl = from->sm_sl,
		.subnet_timeout = from->subnet_timeout,
		.init_type_reply = from->init_type_reply,
		.active_width = from->active_width,
		.active_speed = speed_of_old(from->active_speed),
		.phys_state = from->phys_state,
		.link_layer = from->link_layer,
		.flags = from->flags,
		.port_cap_flags2 = from->port_cap_flags2,
		.active_speed_ex = from->active_speed,
	};
}

int univ_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
		    size_t length)
{
	struct univ_port_query cmd = { .port_num = port };
	struct ibv_port_attr full;
	int err = univ_cmd_port_query(context->cmd_fd, &cmd);

	if (err)
		return err;
	port_fill(&full, &cmd);
	if (length > sizeof(full)) {
		memset((char *)attr + sizeof(full), 0, length - sizeof(full));
		length = sizeof(full);
	}
	memcpy(attr, &full, length);
	return 0;
}

#undef ibv_query_port
UNIV_EXPORT int ibv_query_port(struct ibv_context *context, uint8_t port,
			       struct _compat_ibv_port_attr *attr)
{
	return univ_query_port(context, port, (struct ibv_port_attr *)attr, COMPAT_PORT_SIZE);
}

/* Speeds of one lane in units of 100 Mbit/s, by the bit of the speed code. */
static const uint16_t lane_speeds[] = { 25, 50, 100, 100, 140, 250, 500, 1000, 2000 };

/* Numbers of lanes, by the bit of the width code. */
static const uint8_t port_lanes[] = { 1, 4, 8, 12, 2 };

#define CODE_COUNT(table) (sizeof(table) / sizeof((table)[0]))

UNIV_EXPORT int ibv_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed)
{
	struct univ_port_query cmd = { .port_num = port };
	int err = univ_cmd_port_query(context->cmd_fd, &cmd);
	size_t lane = (size_t)ffs((int)cmd.active_speed) - 1;
	size_t width = (size_t)ffs(cmd.active_width) - 1;

	if (err)
		return err;
	/* The code may be 0, or that of a newer kernel. */
	if (lane >= CODE_COUNT(lane_speeds) || width >= CODE_COUNT(port_lanes))
		return univ_fail_unsupported("ibv_query_port_speed");
	*speed = (uint64_t)lane_speeds[lane] * port_lanes[width];
	return 0;
}

static int gid_entry_query(struct ibv_context *context, uint32_t port, uint32_t index,
			   struct ibv_gid_entry *entry)
{
	struct univ_gid_query cmd = {
		.port_num = port,
		.index = index,
	};
	int err = univ_cmd_gid_query(context->cmd_fd, &cmd);

	if (err)
		return err;
	memcpy(entry, &cmd.entry, sizeof(*entry));
	return 0;
}

/* An empty entry of the table reads as zeros here, and as ENODATA in ibv_query_gid_ex(3). */
UNIV_EXPORT int ibv_query_gid(struct ibv_context *context, uint8_t port, int index,
			      union ibv_gid *gid)
{
	struct ibv_gid_entry entry;
	int err = gid_entry_query(context, port, (uint32_t)index, &entry);

	if (err == ENODATA)
		memset(gid, 0, sizeof(*gid));
	else if (err)
		return -1;
	else
		*gid = entry.gid;
	return 0;
}

UNIV_EXPORT int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
				  struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	struct ibv_gid_entry full;
	int err;

	if (flags)
		return univ_fail_flags("ibv_query_gid_ex", EOPNOTSUPP, UNIV_FLAGS_NONE, flags, 0);
	err = gid_entry_query(context, port, index, &full);
	if (err == ENODATA)
		return univ_fail_no_gid("ibv_query_gid_ex", err, index);
	if (err)
		return err;
	if (entry_size > sizeof(full)) {
		memset((char *)entry + sizeof(full), 0, entry_size - sizeof(full));
		entry_size = sizeof(full);
	}
	memcpy(entry, &full, entry_size);
	return 0;
}

/*
 * The kernel writes the entries straight into the program's array, so their size
 * must be ours. No program is known to use another size.
 */
UNIV_EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *context,
					 struct ibv_gid_entry *entries, size_t max_entries,
					 uint32_t flags, size_t entry_size)
{
	struct univ_gid_table cmd = {
		.entries = (uintptr_t)entries,
		.max = max_entries > UINT32_MAX ? UINT32_MAX : (uint32_t)max_entries,
	};
	int err;

	if (flags)
		return -univ_fail_flags("ibv_query_gid_table", EOPNOTSUPP, UNIV_FLAGS_NONE,
					flags, 0);
	if (entry_size != sizeof(*entries))
		return -univ_fail_size("ibv_query_gid_table", EINVAL, entry_size,
				       sizeof(*entries));
	err = univ_cmd_gid_table(context->cmd_fd, &cmd);
	if (err)
		return -err;
	univ_kernel_wrote(entries, cmd.count * sizeof(*entries));
	return (ssize_t)cmd.count;
}

UNIV_EXPORT int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
	struct univ_pkey_query cmd = {
		.port_num = port,
		.index = (uint32_t)index,
	};

	if (univ_cmd_pkey_query(context->cmd_fd, &cmd))
		return -1;
	*pkey = cmd.pkey;
	return 0;
}

UNIV_EXPORT int ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
	__be16 each;
	int i;

	for (i = 0;; i++) {
		if (ibv_query_pkey(context, port, i, &each))
			return -1;
		if (each == pkey)
			return i;
	}
}

/*
 * Completions are stamped with the kernel's monotonic clock. A raw clock is a
 * number of ticks, which programs read from tv_nsec alone.
 */
int univ_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	uint32_t asked = values->comp_mask;
	struct timespec now;

	(void)context;
	values->comp_mask = 0;
	if (!(asked & IBV_VALUES_MASK_RAW_CLOCK))
		return 0;
	if (clock_gettime(CLOCK_MONOTONIC, &now))
		return errno;
	values->raw_clock = (struct timespec) {
		.tv_nsec = (long)((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec),
	};
	values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	return 0;
}
