// SPDX-License-Identifier: GPL-2.0
/* The device's attributes and its operations. */
#include <linux/mm.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_mad.h>
#include <rdma/uverbs_ioctl.h>

#include "../mem/mr.h"
#include "control.h"

struct uroce_table {
	struct ib_rwq_ind_table ib;
};

/*
 * The kernel's list of drivers contains only drivers that are part of the
 * kernel.
 */
#define UROCE_DRIVER_ID 0x75726f63

/*
 * Datagrams and messages of unreliable connections that arrive before the pages
 * of their receive request are faulted in are lost, so these services offer
 * sends only.
 */
static void query_odp(struct ib_device_attr *attr)
{
	u32 rc = IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV |
		 IB_ODP_SUPPORT_WRITE | IB_ODP_SUPPORT_READ |
		 IB_ODP_SUPPORT_ATOMIC | IB_ODP_SUPPORT_SRQ_RECV |
		 UNIV_ODP_FLUSH | UNIV_ODP_ATOMIC_WRITE;

	attr->kernel_cap_flags |= IBK_ON_DEMAND_PAGING;
	attr->odp_caps.general_caps = IB_ODP_SUPPORT | IB_ODP_SUPPORT_IMPLICIT;
	attr->odp_caps.per_transport_caps.rc_odp_caps = rc;
	attr->odp_caps.per_transport_caps.xrc_odp_caps =
		rc & ~(u32)IB_ODP_SUPPORT_RECV;
	attr->odp_caps.per_transport_caps.uc_odp_caps = IB_ODP_SUPPORT_SEND;
	attr->odp_caps.per_transport_caps.ud_odp_caps = IB_ODP_SUPPORT_SEND;
}

static int query_device(struct ib_device *ib, struct ib_device_attr *attr,
			struct ib_udata *udata)
{
	memset(attr, 0, sizeof(*attr));
	attr->vendor_id = 0xffffff;
	attr->sys_image_guid = ib->node_guid;
	/* kvmalloc_array() limits the list of a region's pages. */
	attr->max_mr_size = (INT_MAX / sizeof(void *) - 1) << PAGE_SHIFT;
	/* Every power of two from a page on, see uroce_mr_map(). */
	attr->page_size_cap = U32_MAX & PAGE_MASK;
	attr->max_qp = 1 << 20;
	attr->max_qp_wr = UROCE_MAX_WR;
	attr->device_cap_flags = IB_DEVICE_SYS_IMAGE_GUID |
				 IB_DEVICE_BAD_PKEY_CNTR |
				 IB_DEVICE_BAD_QKEY_CNTR |
				 IB_DEVICE_AUTO_PATH_MIG |
				 IB_DEVICE_RESIZE_MAX_WR |
				 IB_DEVICE_RC_RNR_NAK_GEN |
				 IB_DEVICE_PORT_ACTIVE_EVENT |
				 IB_DEVICE_MEM_MGT_EXTENSIONS |
				 IB_DEVICE_SRQ_RESIZE |
				 IB_DEVICE_XRC |
				 IB_DEVICE_MEM_WINDOW |
				 IB_DEVICE_MEM_WINDOW_TYPE_2B |
				 UNIV_CAP_ATOMIC_WRITE |
				 UNIV_CAP_FLUSH_GLOBAL |
				 IB_DEVICE_RAW_IP_CSUM |
				 IB_DEVICE_RAW_SCATTER_FCS |
				 IB_DEVICE_PCI_WRITE_END_PADDING |
				 IB_DEVICE_MANAGED_FLOW_STEERING;
	attr->raw_packet_caps = IB_RAW_PACKET_CAP_IP_CSUM |
				IB_RAW_PACKET_CAP_CVLAN_STRIPPING |
				IB_RAW_PACKET_CAP_SCATTER_FCS |
				IB_RAW_PACKET_CAP_DELAY_DROP;
	attr->kernel_cap_flags = IBK_LOCAL_DMA_LKEY | IBK_ALLOW_USER_UNREG |
				 IBK_BLOCK_MULTICAST_LOOPBACK;
	if (IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING))
		query_odp(attr);
	attr->max_send_sge = UROCE_MAX_SGE;
	attr->max_recv_sge = UROCE_MAX_SGE;
	attr->max_sge_rd = UROCE_MAX_SGE;
	attr->max_cq = 1 << 20;
	attr->max_cqe = UROCE_MAX_CQE;
	attr->max_mr = 1 << 23;
	attr->max_mw = 1 << 23;
	attr->max_pd = 1 << 20;
	attr->max_qp_rd_atom = UROCE_MAX_RD_ATOMIC;
	attr->max_qp_init_rd_atom = UROCE_MAX_RD_ATOMIC;
	attr->max_res_rd_atom = UROCE_MAX_RD_ATOMIC << 20;
	attr->atomic_cap = IB_ATOMIC_HCA;
	attr->max_mcast_grp = UROCE_MAX_GROUPS;
	attr->max_mcast_qp_attach = UROCE_MAX_MEMBERS;
	attr->max_total_mcast_qp_attach = UROCE_MAX_GROUPS * UROCE_MAX_MEMBERS;
	attr->max_ah = 1 << 20;
	attr->max_srq = 1 << 20;
	attr->max_srq_wr = UROCE_MAX_WR;
	attr->max_srq_sge = UROCE_MAX_SGE;
	attr->max_wq_type_rq = 1 << 20;
	attr->rss_caps.supported_qpts = BIT(IB_QPT_RAW_PACKET);
	attr->rss_caps.max_rwq_indirection_tables = 1 << 20;
	attr->rss_caps.max_rwq_indirection_table_size = UNIV_TABLE_MAX;
	attr->max_fast_reg_page_list_len = 512;
	attr->max_pkeys = UROCE_PKEYS;
	attr->local_ca_ack_delay = 15;
	return 0;
}

static int query_port(struct ib_device *ib, u32 port, struct ib_port_attr *attr)
{
	bool up = uroce_port_up(to_udev(ib));

	attr->state = up ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = up ? IB_PORT_PHYS_STATE_LINK_UP :
				IB_PORT_PHYS_STATE_DISABLED;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = uroce_port_mtu(to_udev(ib));
	attr->gid_tbl_len = 256;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->ip_gids = true;
	/*
	 * At the smallest MTU a longer message would take half of all sequence
	 * numbers.
	 */
	attr->max_msg_sz = UROCE_MAX_SEND;
	attr->pkey_tbl_len = UROCE_PKEYS;
	attr->bad_pkey_cntr = atomic_read(&to_udev(ib)->pkey_violations);
	attr->qkey_viol_cntr = atomic_read(&to_udev(ib)->qkey_violations);
	attr->max_vl_num = 1;
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_EDR;
	return 0;
}

static int query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey)
{
	if (index >= UROCE_PKEYS)
		return -EINVAL;
	*pkey = READ_ONCE(to_udev(ib)->pkeys[index]);
	return 0;
}

static enum rdma_link_layer link_layer(struct ib_device *ib, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

/*
 * The RDMA core has the netdev (ib_device_set_netdev()). SMC of kernels before
 * 6.12 asks the driver instead, and finds no device for a connection
 * otherwise. Under RCU the netdev exists until the device is gone.
 */
static struct net_device *get_netdev(struct ib_device *ib, u32 port)
{
	struct uroce_dev *dev = to_udev(ib);
	struct net_device *netdev = NULL;

	rcu_read_lock();
	if (!READ_ONCE(dev->gone)) {
		netdev = dev->netdev;
		dev_hold(netdev);
	}
	rcu_read_unlock();
	return netdev;
}

static int port_immutable(struct ib_device *ib, u32 port,
			  struct ib_port_immutable *immutable)
{
	struct ib_port_attr attr = {};
	int ret = query_port(ib, port, &attr);

	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	immutable->pkey_tbl_len = attr.pkey_tbl_len;
	immutable->gid_tbl_len = attr.gid_tbl_len;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return ret;
}

static int pd_alloc(struct ib_pd *pd, struct ib_udata *udata)
{
	return uroce_fault_verb(to_udev(pd->device), UROCE_VERB_ALLOC_PD);
}

static int pd_dealloc(struct ib_pd *pd, struct ib_udata *udata)
{
	uroce_cache_close(pd);
	return 0;
}

/*
 * `rdma dev set NAME netns NS` requires this operation, to be sure that user
 * contexts do not block it. The core's client ends contexts of univerbs;
 * ib_uverbs has none here, since there is no alloc_ucontext().
 */
static void disassociate_ucontext(struct ib_ucontext *ctx)
{
}

/*
 * uroce_port_event() raises port events, also for a bond, but not while a fault
 * holds the port down.
 */
static void __maybe_unused report_port_event(struct ib_device *ib,
					     struct net_device *netdev,
					     unsigned long event)
{
}

const struct ib_device_ops uroce_dev_ops = {
	.owner = THIS_MODULE,
	.driver_id = UROCE_DRIVER_ID,
	.advise_mr = uroce_mr_advise,
	.alloc_hw_port_stats = uroce_stats_alloc,
	.alloc_mr = uroce_mr_alloc,
	.alloc_mw = uroce_mw_alloc,
	.alloc_pd = pd_alloc,
	.alloc_xrcd = uroce_xrcd_alloc,
	.attach_mcast = uroce_mcast_attach,
	.create_ah = uroce_ah_create,
	.create_cq = uroce_cq_create,
	.create_flow = uroce_flow_create,
	.create_qp = uroce_qp_create,
	.create_rwq_ind_table = uroce_table_create,
	.create_srq = uroce_srq_create,
	.create_user_ah = uroce_ah_create,
	.create_wq = uroce_wq_create,
	.dealloc_driver = uroce_dev_dealloc,
	.dealloc_mw = uroce_mw_dealloc,
	.dealloc_pd = pd_dealloc,
	.dealloc_xrcd = uroce_xrcd_dealloc,
	.disassociate_ucontext = disassociate_ucontext,
	.dereg_mr = uroce_mr_dereg,
	.destroy_ah = uroce_ah_destroy,
	.destroy_cq = uroce_cq_destroy,
	.destroy_flow = uroce_flow_destroy,
	.destroy_qp = uroce_qp_destroy,
	.destroy_rwq_ind_table = uroce_table_destroy,
	.destroy_srq = uroce_srq_destroy,
	.destroy_wq = uroce_wq_destroy,
	.detach_mcast = uroce_mcast_detach,
	.enable_driver = uroce_dev_enable,
	.get_dma_mr = uroce_mr_dma,
	.get_hw_stats = uroce_stats_get,
	.get_link_layer = link_layer,
	.get_netdev = get_netdev,
	.get_port_immutable = port_immutable,
	.map_mr_sg = uroce_mr_map,
	.modify_ah = uroce_ah_modify,
	.modify_qp = uroce_qp_modify,
	.modify_srq = uroce_srq_modify,
	.modify_wq = uroce_wq_modify,
	.poll_cq = uroce_cq_poll,
	.post_recv = uroce_post_recv,
	.post_send = uroce_post_send,
	.post_srq_recv = uroce_post_srq_recv,
	.query_ah = uroce_ah_query,
	.query_device = query_device,
	.query_pkey = query_pkey,
	.query_port = query_port,
	.query_qp = uroce_qp_query,
	.query_srq = uroce_srq_query,
	.reg_user_mr = uroce_mr_reg,
	UNIV_REPORT_PORT_EVENT(report_port_event)
	.req_notify_cq = uroce_cq_arm,
	.rereg_user_mr = uroce_mr_rereg,

	INIT_RDMA_OBJ_SIZE(ib_ah, uroce_ah, ib),
	INIT_RDMA_OBJ_SIZE(ib_cq, uroce_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_mw, uroce_ibmw, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, uroce_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, uroce_ibqp, ib),
	INIT_RDMA_OBJ_SIZE(ib_rwq_ind_table, uroce_table, ib),
	INIT_RDMA_OBJ_SIZE(ib_srq, uroce_srq, ib),
	INIT_RDMA_OBJ_SIZE(ib_xrcd, uroce_xrcd, ib),
};
