// SPDX-License-Identifier: GPL-2.0
/* Attributes of a device, of its ports and of their tables. */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <rdma/ib_cache.h>
#include <rdma/opa_addr.h>

#include "verbs.h"

/* The maximum number of entries of all GID tables that one call returns. */
#define UNIV_MAX_GID_ENTRIES 4096

/*
 * Abilities of the device that a process does not get: there are no checksums
 * of datagrams.
 */
#define UNIV_CAPS_NOT_OFFERED						\
	(IB_DEVICE_RAW_MULTI | IB_DEVICE_UD_IP_CSUM |			\
	 IB_DEVICE_RC_IP_CSUM)

/*
 * Abilities that a process does not get without %UNIV_QUEUE_FLUSH: kernel verbs
 * have no flush.
 */
#define UNIV_CAPS_FLUSH	(UNIV_CAP_FLUSH_GLOBAL | UNIV_CAP_FLUSH_PERSISTENT)

/* Abilities that a process does not get where univ_raw_offered() is false. */
#define UNIV_CAPS_RAW							\
	(IB_DEVICE_RAW_IP_CSUM | IB_DEVICE_MANAGED_FLOW_STEERING |	\
	 IB_DEVICE_RAW_SCATTER_FCS | IB_DEVICE_PCI_WRITE_END_PADDING)

/*
 * Abilities that a process does not get where univ_mw_offered() returns false.
 * Of the memory management extensions a process has local invalidation and
 * sends with invalidation.
 */
#define UNIV_CAPS_WINDOWS						\
	(IB_DEVICE_MEM_WINDOW | IB_DEVICE_MEM_WINDOW_TYPE_2A |		\
	 IB_DEVICE_MEM_WINDOW_TYPE_2B | IB_DEVICE_MEM_MGT_EXTENSIONS)

bool univ_tso_offered(const struct univ_device *dev)
{
	return univ_raw_offered(dev) && dev->queue->max_tso;
}

int univ_port_check(struct univ_context *ctx, u32 port, struct univ_hdr *hdr)
{
	if (rdma_is_port_valid(ctx->dev->ib, port))
		return 0;
	return univ_explain(hdr, -EINVAL, UNIV_REASON_PORT, 0, port,
			    ctx->dev->ib->phys_port_cnt);
}

static u32 context_features(const struct univ_device *dev)
{
	u32 features = 0;

	if (univ_mw_offered(dev))
		features |= UNIV_FEATURE_WINDOWS;
	if (univ_xrc_offered(dev))
		features |= UNIV_FEATURE_XRC;
	if (univ_queue_can(dev, UNIV_QUEUE_ATOMIC_WRITE))
		features |= UNIV_FEATURE_ATOMIC_WRITE;
	if (univ_dm_offered(dev))
		features |= UNIV_FEATURE_DM;
	if (dev->queue->cntr_ops)
		features |= UNIV_FEATURE_CNTRS;
	if (univ_queue_can(dev, UNIV_QUEUE_FLUSH))
		features |= UNIV_FEATURE_FLUSH;
	if (univ_dmabuf_offered(dev))
		features |= UNIV_FEATURE_DMABUF;
	if (univ_cq_overrun_offered(dev))
		features |= UNIV_FEATURE_IGNORE_OVERRUN;
	if (univ_raw_offered(dev))
		features |= UNIV_FEATURE_RAW;
	if (univ_wq_offered(dev))
		features |= UNIV_FEATURE_WQ;
	if (univ_queue_can(dev, UNIV_QUEUE_DMAH))
		features |= UNIV_FEATURE_DMAH;
	if (univ_tso_offered(dev))
		features |= UNIV_FEATURE_TSO;
	return features;
}

int univ_context_query_ioctl(struct univ_call *call, void *arg)
{
	struct univ_context_query *cmd = arg;
	struct ib_device *ib = call->ctx->dev->ib;

	cmd->abi_version = UNIV_ABI_VERSION;
	cmd->num_comp_vectors = ib->num_comp_vectors;
	cmd->num_ports = ib->phys_port_cnt;
	cmd->features = context_features(call->ctx->dev);
	cmd->node_guid = (__force u64)ib->node_guid;
	cmd->doorbell_offset = 0;
	cmd->bell_offset = univ_bell_page(call->ctx) ? UNIV_BELL_OFFSET : 0;
	return 0;
}

static void device_query_limits(struct univ_device_query *cmd,
				const struct ib_device_attr *attr)
{
	cmd->max_qp = attr->max_qp;
	cmd->max_qp_wr = attr->max_qp_wr;
	cmd->max_send_sge = min_t(u32, attr->max_send_sge, UNIV_MAX_SGE);
	cmd->max_recv_sge = min_t(u32, attr->max_recv_sge, UNIV_MAX_SGE);
	cmd->max_sge_rd = min_t(u32, attr->max_sge_rd, UNIV_MAX_SGE);
	cmd->max_cq = attr->max_cq;
	cmd->max_cqe = attr->max_cqe;
	cmd->max_mr = attr->max_mr;
	cmd->max_pd = attr->max_pd;
	cmd->max_qp_rd_atom = attr->max_qp_rd_atom;
	cmd->max_ee_rd_atom = attr->max_ee_rd_atom;
	cmd->max_res_rd_atom = attr->max_res_rd_atom;
	cmd->max_qp_init_rd_atom = attr->max_qp_init_rd_atom;
	cmd->max_ee_init_rd_atom = attr->max_ee_init_rd_atom;
	cmd->max_ee = attr->max_ee;
	cmd->max_rdd = attr->max_rdd;
	cmd->max_raw_ipv6_qp = attr->max_raw_ipv6_qp;
	cmd->max_raw_ethy_qp = attr->max_raw_ethy_qp;
	cmd->max_mcast_grp = attr->max_mcast_grp;
	cmd->max_mcast_qp_attach = attr->max_mcast_qp_attach;
	cmd->max_total_mcast_qp_attach = attr->max_total_mcast_qp_attach;
	cmd->max_ah = attr->max_ah;
	cmd->max_srq = attr->max_srq;
	cmd->max_srq_wr = attr->max_srq_wr;
	cmd->max_srq_sge = min_t(u32, attr->max_srq_sge, UNIV_MAX_SGE);
}

/* See cq_moderate(). */
static void device_query_moderation(struct univ_device_query *cmd,
				    const struct univ_device *dev)
{
	const struct ib_device_attr *attr = &dev->ib->attrs;
	u32 most = univ_queue_can(dev, UNIV_QUEUE_WRITES_CQ) ? 0 : U16_MAX;

	cmd->cq_mod_max_count = most;
	cmd->cq_mod_max_period = most;
	if (dev->ib->ops.modify_cq) {
		cmd->cq_mod_max_count = attr->cq_caps.max_cq_moderation_count;
		cmd->cq_mod_max_period = attr->cq_caps.max_cq_moderation_period;
	}
}

static void device_query_raw(struct univ_device_query *cmd,
			     const struct univ_device *dev)
{
	const u32 offered = IB_RAW_PACKET_CAP_CVLAN_STRIPPING |
			    IB_RAW_PACKET_CAP_IP_CSUM |
			    IB_RAW_PACKET_CAP_SCATTER_FCS |
			    IB_RAW_PACKET_CAP_DELAY_DROP;

	cmd->raw_packet_caps = dev->ib->attrs.raw_packet_caps & offered;
	cmd->max_tso = univ_tso_offered(dev) ? dev->queue->max_tso : 0;
	cmd->tso_types = cmd->max_tso ? BIT(IB_QPT_RAW_PACKET) : 0;
	if (univ_raw_offered(dev))
		return;
	cmd->raw_packet_caps = 0;
	cmd->device_cap_flags &= ~UNIV_CAPS_RAW;
}

static void device_query_extended(struct univ_device_query *cmd)
{
	/* Timestamps are the kernel's clock: nanoseconds, 64 bits. */
	cmd->hca_core_clock = 1000000;
	cmd->timestamp_mask = U64_MAX;
}

static void device_query_wq(struct univ_device_query *cmd,
			    const struct univ_device *dev)
{
	const struct ib_device_attr *attr = &dev->ib->attrs;
	struct ib_rss_caps rss = {};

	cmd->max_wq_type_rq = 0;
	if (univ_wq_offered(dev)) {
		cmd->max_wq_type_rq = attr->max_wq_type_rq;
		rss = attr->rss_caps;
	}
	cmd->rss_hash_fields = dev->queue->hash_fields;
	cmd->rss_supported_qpts = rss.supported_qpts;
	cmd->rss_max_rwq_indirection_tables = rss.max_rwq_indirection_tables;
	cmd->rss_max_rwq_indirection_table_size =
		min_t(u32, rss.max_rwq_indirection_table_size, UNIV_TABLE_MAX);
}

static void device_query_odp(struct univ_device_query *cmd,
			     const struct univ_device *dev)
{
	struct ib_odp_caps caps = {};

	if (univ_odp_offered(dev))
		caps = dev->ib->attrs.odp_caps;
	cmd->odp_general_caps = caps.general_caps;
	cmd->odp_rc_caps = caps.per_transport_caps.rc_odp_caps;
	cmd->odp_uc_caps = caps.per_transport_caps.uc_odp_caps;
	cmd->odp_ud_caps = caps.per_transport_caps.ud_odp_caps;
	cmd->odp_xrc_caps = caps.per_transport_caps.xrc_odp_caps;
}

static void device_query_rate(struct univ_device_query *cmd,
			      const struct univ_queue_ops *queue)
{
	cmd->rate_limit_min = !!queue->rate_max;
	cmd->rate_limit_max = queue->rate_max;
	cmd->rate_limit_types = queue->rate_types;
}

int univ_device_query_ioctl(struct univ_call *call, void *arg)
{
	struct univ_device_query *cmd = arg;
	struct ib_device *ib = call->ctx->dev->ib;
	const struct ib_device_attr *attr = &ib->attrs;
	char fw_ver[IB_FW_VERSION_NAME_MAX] = {};

	BUILD_BUG_ON(sizeof(fw_ver) > sizeof(cmd->fw_ver));
	memset(cmd->fw_ver, 0, sizeof(cmd->fw_ver));
	ib_get_device_fw_str(ib, fw_ver);
	if (fw_ver[0])
		strscpy(cmd->fw_ver, fw_ver, sizeof(cmd->fw_ver));
	else
		snprintf(cmd->fw_ver, sizeof(cmd->fw_ver), "%llu.%llu.%llu",
			 attr->fw_ver >> 32, attr->fw_ver >> 16 & 0xffff,
			 attr->fw_ver & 0xffff);
	cmd->node_guid = (__force u64)ib->node_guid;
	cmd->sys_image_guid = (__force u64)attr->sys_image_guid;
	cmd->max_mr_size = attr->max_mr_size;
	cmd->page_size_cap = attr->page_size_cap;
	cmd->device_cap_flags = attr->device_cap_flags & ~UNIV_CAPS_NOT_OFFERED;
	cmd->max_mw = attr->max_mw;
	if (!univ_mw_offered(call->ctx->dev)) {
		cmd->device_cap_flags &= ~UNIV_CAPS_WINDOWS;
		cmd->max_mw = 0;
	}
	if (!univ_xrc_offered(call->ctx->dev))
		cmd->device_cap_flags &= ~IB_DEVICE_XRC;
	if (!call->ctx->dev->queue->srq_resize)
		cmd->device_cap_flags &= ~IB_DEVICE_SRQ_RESIZE;
	if (!univ_qp_resize_offered(call->ctx->dev))
		cmd->device_cap_flags &= ~IB_DEVICE_RESIZE_MAX_WR;
	if (!univ_altpath_offered(call->ctx->dev))
		cmd->device_cap_flags &= ~IB_DEVICE_AUTO_PATH_MIG;
	cmd->max_dm_size = univ_dm_offered(call->ctx->dev) ? UNIV_DM_MAX : 0;
	if (!univ_queue_can(call->ctx->dev, UNIV_QUEUE_ATOMIC_WRITE))
		cmd->device_cap_flags &= ~UNIV_CAP_ATOMIC_WRITE;
	if (!univ_queue_can(call->ctx->dev, UNIV_QUEUE_FLUSH))
		cmd->device_cap_flags &= ~UNIV_CAPS_FLUSH;
	cmd->vendor_id = attr->vendor_id;
	cmd->vendor_part_id = attr->vendor_part_id;
	cmd->hw_ver = attr->hw_ver;
	cmd->atomic_cap = attr->atomic_cap;
	cmd->max_pkeys = attr->max_pkeys;
	cmd->local_ca_ack_delay = attr->local_ca_ack_delay;
	cmd->phys_port_cnt = ib->phys_port_cnt;
	cmd->num_comp_vectors = ib->num_comp_vectors;
	device_query_limits(cmd, attr);
	device_query_extended(cmd);
	device_query_rate(cmd, call->ctx->dev->queue);
	device_query_raw(cmd, call->ctx->dev);
	device_query_moderation(cmd, call->ctx->dev);
	device_query_odp(cmd, call->ctx->dev);
	device_query_wq(cmd, call->ctx->dev);
	return 0;
}

/*
 * The specification uses bit 26 for another capability, which no kernel passes
 * on. ib_uverbs uses the bit to report that GIDs are made of IP addresses, and
 * programs know it as IBV_PORT_IP_BASED_GIDS.
 */
static u32 port_cap_flags(const struct ib_port_attr *attr)
{
	u32 flags = attr->port_cap_flags & ~(u32)IB_UVERBS_PCF_IP_BASED_GIDS;

	return attr->ip_gids ? flags | IB_UVERBS_PCF_IP_BASED_GIDS : flags;
}

/* Omni-Path has longer LIDs. One that 16 bits do not hold is reported as 0. */
static u16 port_lid(struct ib_device *ib, u32 port, u32 lid)
{
	return rdma_cap_opa_ah(ib, port) ? OPA_TO_IB_UCAST_LID(lid) :
					   ib_lid_cpu16(lid);
}

static void port_query_fill(struct univ_port_query *cmd, struct ib_device *ib,
			    const struct ib_port_attr *attr)
{
	cmd->state = attr->state;
	cmd->max_mtu = attr->max_mtu;
	cmd->active_mtu = attr->active_mtu;
	cmd->gid_tbl_len = attr->gid_tbl_len;
	cmd->port_cap_flags = port_cap_flags(attr);
	cmd->max_msg_sz = attr->max_msg_sz;
	cmd->bad_pkey_cntr = attr->bad_pkey_cntr;
	cmd->qkey_viol_cntr = attr->qkey_viol_cntr;
	cmd->pkey_tbl_len = attr->pkey_tbl_len;
	cmd->port_cap_flags2 = attr->port_cap_flags2;
	cmd->lid = port_lid(ib, cmd->port_num, attr->lid);
	cmd->sm_lid = port_lid(ib, cmd->port_num, attr->sm_lid);
	cmd->lmc = attr->lmc;
	cmd->max_vl_num = attr->max_vl_num;
	cmd->sm_sl = attr->sm_sl;
	cmd->subnet_timeout = attr->subnet_timeout;
	cmd->init_type_reply = attr->init_type_reply;
	cmd->active_width = attr->active_width;
	cmd->phys_state = attr->phys_state;
	cmd->link_layer = rdma_port_get_link_layer(ib, cmd->port_num);
	cmd->active_speed = attr->active_speed;
	/* IBV_QPF_GRH_REQUIRED */
	cmd->flags = rdma_is_grh_required(ib, cmd->port_num) ? 1 : 0;
}

int univ_port_query_ioctl(struct univ_call *call, void *arg)
{
	struct univ_port_query *cmd = arg;
	struct ib_device *ib = call->ctx->dev->ib;
	struct ib_port_attr attr = {};
	int ret;

	ret = univ_port_check(call->ctx, cmd->port_num, &cmd->hdr);
	if (ret)
		return ret;
	ret = ib_query_port(ib, cmd->port_num, &attr);
	if (ret)
		return univ_explain_driver(&cmd->hdr, ret);
	port_query_fill(cmd, ib, &attr);
	return 0;
}

int univ_pkey_query_ioctl(struct univ_call *call, void *arg)
{
	struct univ_pkey_query *cmd = arg;
	struct ib_device *ib = call->ctx->dev->ib;
	u32 len;
	u16 pkey;
	int ret;

	ret = univ_port_check(call->ctx, cmd->port_num, &cmd->hdr);
	if (ret)
		return ret;
	len = ib->port_data[cmd->port_num].immutable.pkey_tbl_len;
	if (cmd->index >= len)
		return univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_PKEY_INDEX,
				    0, cmd->index, len);
	ret = ib_query_pkey(ib, cmd->port_num, cmd->index, &pkey);
	if (ret)
		return univ_explain_driver(&cmd->hdr, ret);
	cmd->pkey = (__force u16)cpu_to_be16(pkey);
	return 0;
}

static void gid_entry_fill(struct univ_gid_entry *entry,
			   const struct ib_gid_attr *attr)
{
	struct net_device *ndev;

	memcpy(entry->gid, attr->gid.raw, sizeof(entry->gid));
	entry->gid_index = attr->index;
	entry->port_num = attr->port_num;
	entry->gid_type = attr->gid_type;
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	entry->ndev_ifindex = IS_ERR(ndev) ? 0 : ndev->ifindex;
	rcu_read_unlock();
}

int univ_gid_query_ioctl(struct univ_call *call, void *arg)
{
	struct univ_gid_query *cmd = arg;
	struct ib_device *ib = call->ctx->dev->ib;
	const struct ib_gid_attr *attr;
	u32 len;
	int ret;

	ret = univ_port_check(call->ctx, cmd->port_num, &cmd->hdr);
	if (ret)
		return ret;
	len = ib->port_data[cmd->port_num].immutable.gid_tbl_len;
	if (cmd->index >= len)
		return univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_GID_INDEX,
				    0, cmd->index, len);
	memset(&cmd->entry, 0, sizeof(cmd->entry));
	attr = rdma_get_gid_attr(ib, cmd->port_num, cmd->index);
	/*
	 * An empty entry returns ENODATA, which the library turns into a zero
	 * GID.
	 */
	if (IS_ERR(attr))
		return univ_explain(&cmd->hdr, -ENODATA, UNIV_REASON_GID_INDEX,
				    0, cmd->index, len);
	gid_entry_fill(&cmd->entry, attr);
	rdma_put_gid_attr(attr);
	return 0;
}

int univ_gid_table_ioctl(struct univ_call *call, void *arg)
{
	struct univ_gid_table *cmd = arg;
	struct ib_uverbs_gid_entry *entries;
	ssize_t count;
	u32 max = min_t(u32, cmd->max, UNIV_MAX_GID_ENTRIES);

	BUILD_BUG_ON(sizeof(*entries) != sizeof(struct univ_gid_entry));
	if (!max)
		return univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_ZERO,
				    UNIV_LIMIT_GID_ENTRIES, 0, 0);
	entries = kvcalloc(max, sizeof(*entries), GFP_KERNEL_ACCOUNT);
	if (!entries)
		return univ_explain(&cmd->hdr, -ENOMEM, UNIV_REASON_NO_MEMORY,
				    0, (u64)max * sizeof(*entries), 0);
	count = rdma_query_gid_table(call->ctx->dev->ib, entries, max);
	if (count < 0) {
		kvfree(entries);
		return univ_explain_driver(&cmd->hdr, count);
	}
	cmd->count = count;
	call->bulk = entries;
	call->bulk_to = u64_to_user_ptr(cmd->entries);
	call->bulk_len = count * sizeof(*entries);
	return 0;
}
