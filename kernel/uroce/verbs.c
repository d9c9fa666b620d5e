// SPDX-License-Identifier: GPL-2.0
/* What the device says of itself, and its operations. */
#include <linux/mm.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_mad.h>
#include <rdma/uverbs_ioctl.h>

#include "uroce.h"

/* In no list of the kernel's, which knows only drivers that come with it */
#define UROCE_DRIVER_ID 0x75726f63

static int query_device(struct ib_device *ib, struct ib_device_attr *attr,
			struct ib_udata *udata)
{
	memset(attr, 0, sizeof(*attr));
	attr->vendor_id = 0xffffff;
	attr->sys_image_guid = ib->node_guid;
	/* The list of its pages is the longest that kvmalloc_array() makes */
	attr->max_mr_size = (INT_MAX / sizeof(void *) - 1) << PAGE_SHIFT;
	attr->page_size_cap = PAGE_SIZE;
	attr->max_qp = 1 << 20;
	attr->max_qp_wr = UROCE_MAX_WR;
	attr->device_cap_flags = IB_DEVICE_SYS_IMAGE_GUID |
				 IB_DEVICE_RC_RNR_NAK_GEN |
				 IB_DEVICE_PORT_ACTIVE_EVENT |
				 IB_DEVICE_MEM_MGT_EXTENSIONS |
				 IB_DEVICE_XRC |
				 IB_DEVICE_MEM_WINDOW |
				 IB_DEVICE_MEM_WINDOW_TYPE_2B |
				 UNIV_CAP_ATOMIC_WRITE;
	attr->kernel_cap_flags = IBK_LOCAL_DMA_LKEY | IBK_ALLOW_USER_UNREG;
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
	attr->max_fast_reg_page_list_len = 512;
	attr->max_pkeys = 1;
	attr->local_ca_ack_delay = 15;
	return 0;
}

bool uroce_port_up(struct uroce_dev *dev)
{
	return netif_running(dev->netdev) && netif_carrier_ok(dev->netdev) &&
	       !uroce_port_is_down(dev);
}

static int query_port(struct ib_device *ib, u32 port, struct ib_port_attr *attr)
{
	struct net_device *netdev = to_udev(ib)->netdev;
	bool up = uroce_port_up(to_udev(ib));

	attr->state = up ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = up ? IB_PORT_PHYS_STATE_LINK_UP :
				IB_PORT_PHYS_STATE_DISABLED;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = min_t(enum ib_mtu, iboe_get_mtu(netdev->mtu) ?:
				 IB_MTU_256, IB_MTU_4096);
	attr->gid_tbl_len = 256;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->ip_gids = true;
	/* At the smallest MTU more would be half of all sequence numbers */
	attr->max_msg_sz = UROCE_MAX_SEND;
	attr->pkey_tbl_len = 1;
	attr->qkey_viol_cntr = atomic_read(&to_udev(ib)->qkey_violations);
	attr->max_vl_num = 1;
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_EDR;
	return 0;
}

static int query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey)
{
	if (index)
		return -EINVAL;
	*pkey = UROCE_PKEY;
	return 0;
}

static enum rdma_link_layer link_layer(struct ib_device *ib, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
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

/* Protection is by comparing pointers */
static int pd_alloc(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

static int pd_dealloc(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

static int srq_create(struct ib_srq *ib, struct ib_srq_init_attr *init,
		      struct ib_udata *udata)
{
	struct uroce_srq *srq = to_usrq(ib);
	int ret;

	if (init->srq_type != IB_SRQT_BASIC && init->srq_type != IB_SRQT_XRC)
		return -EOPNOTSUPP;
	if (init->srq_type == IB_SRQT_XRC &&
	    (!init->ext.cq || !init->ext.xrc.xrcd))
		return -EINVAL;
	if (!init->attr.max_wr || init->attr.max_wr > UROCE_MAX_WR ||
	    init->attr.max_sge > UROCE_MAX_SGE ||
	    init->attr.srq_limit > init->attr.max_wr)
		return -EINVAL;
	spin_lock_init(&srq->rq.lock);
	spin_lock_init(&srq->rq.post);
	srq->max_wr = init->attr.max_wr;
	srq->limit = init->attr.srq_limit;
	srq->rq.max_sge = max_t(u32, init->attr.max_sge, 1);
	ret = uroce_recvq_private(&srq->rq, srq->max_wr);
	if (ret || init->srq_type == IB_SRQT_BASIC)
		return ret;
	ret = uroce_xrc_srq_add(srq);
	if (ret)
		kvfree(srq->rq.memory);
	return ret;
}

static int srq_modify(struct ib_srq *ib, struct ib_srq_attr *attr,
		      enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct uroce_srq *srq = to_usrq(ib);

	if (mask & IB_SRQ_MAX_WR)
		return -EOPNOTSUPP;
	if (attr->srq_limit > srq->max_wr)
		return -EINVAL;
	spin_lock_bh(&srq->rq.lock);
	srq->limit = attr->srq_limit;
	spin_unlock_bh(&srq->rq.lock);
	return 0;
}

static int srq_query(struct ib_srq *ib, struct ib_srq_attr *attr)
{
	struct uroce_srq *srq = to_usrq(ib);

	attr->max_wr = srq->max_wr;
	attr->max_sge = srq->rq.max_sge;
	attr->srq_limit = READ_ONCE(srq->limit);
	return 0;
}

static int srq_destroy(struct ib_srq *ib, struct ib_udata *udata)
{
	if (ib->srq_type == IB_SRQT_XRC)
		uroce_xrc_srq_remove(to_usrq(ib));
	kvfree(to_usrq(ib)->rq.memory);
	return 0;
}

/*
 * What it is there for: `rdma dev set NAME netns NS` wants to know that nobody is
 * in the way. Contexts of univerbs end with the core's client; ib_uverbs has none
 * here, since there is no alloc_ucontext().
 */
static void disassociate_ucontext(struct ib_ucontext *ctx)
{
}

const struct ib_device_ops uroce_dev_ops = {
	.owner = THIS_MODULE,
	.driver_id = UROCE_DRIVER_ID,
	.alloc_hw_port_stats = uroce_stats_alloc,
	.alloc_mr = uroce_mr_alloc,
	.alloc_mw = uroce_mw_alloc,
	.alloc_pd = pd_alloc,
	.alloc_xrcd = uroce_xrcd_alloc,
	.attach_mcast = uroce_mcast_attach,
	.create_ah = uroce_ah_create,
	.create_cq = uroce_cq_create,
	.create_qp = uroce_qp_create,
	.create_srq = srq_create,
	.create_user_ah = uroce_ah_create,
	.dealloc_driver = uroce_dev_dealloc,
	.dealloc_mw = uroce_mw_dealloc,
	.dealloc_pd = pd_dealloc,
	.dealloc_xrcd = uroce_xrcd_dealloc,
	.disassociate_ucontext = disassociate_ucontext,
	.dereg_mr = uroce_mr_dereg,
	.destroy_ah = uroce_ah_destroy,
	.destroy_cq = uroce_cq_destroy,
	.destroy_qp = uroce_qp_destroy,
	.destroy_srq = srq_destroy,
	.detach_mcast = uroce_mcast_detach,
	.enable_driver = uroce_dev_enable,
	.get_dma_mr = uroce_mr_dma,
	.get_hw_stats = uroce_stats_get,
	.get_link_layer = link_layer,
	.get_port_immutable = port_immutable,
	.map_mr_sg = uroce_mr_map,
	.modify_qp = uroce_qp_modify,
	.modify_srq = srq_modify,
	.poll_cq = uroce_cq_poll,
	.post_recv = uroce_post_recv,
	.post_send = uroce_post_send,
	.post_srq_recv = uroce_post_srq_recv,
	.query_ah = uroce_ah_query,
	.query_device = query_device,
	.query_pkey = query_pkey,
	.query_port = query_port,
	.query_qp = uroce_qp_query,
	.query_srq = srq_query,
	.reg_user_mr = uroce_mr_reg,
	.req_notify_cq = uroce_cq_arm,
	.rereg_user_mr = uroce_mr_rereg,

	INIT_RDMA_OBJ_SIZE(ib_ah, uroce_ah, ib),
	INIT_RDMA_OBJ_SIZE(ib_cq, uroce_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_mw, uroce_ibmw, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, uroce_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, uroce_ibqp, ib),
	INIT_RDMA_OBJ_SIZE(ib_srq, uroce_srq, ib),
	INIT_RDMA_OBJ_SIZE(ib_xrcd, uroce_xrcd, ib),
};
