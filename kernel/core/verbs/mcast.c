// SPDX-License-Identifier: GPL-2.0
/* Multicast groups of a queue pair: ibv_attach_mcast(3). */
#include <linux/slab.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_verbs.h>

#include "qp.h"

/*
 * An element of univ_qp.groups, so that the end of the queue pair detaches it.
 */
struct univ_mcast_group {
	struct list_head link;
	union ib_gid gid;
	u16 lid;
};

/*
 * Ethernet has no LIDs and they are ignored there (annex A17 of the
 * specification). The driver must not decide that: rxe accepts a second LID for
 * the same group and then detaches it once, while the kernel has counted two
 * and never lets the queue pair go.
 */
static bool mcast_lid_counts(struct ib_device *ib)
{
	u32 port;

	rdma_for_each_port(ib, port)
		if (rdma_port_get_link_layer(ib, port) ==
		    IB_LINK_LAYER_ETHERNET)
			return false;
	return true;
}

static struct univ_mcast_group *mcast_find(struct univ_qp *qp,
					   const struct univ_mcast *cmd)
{
	bool lid_counts = mcast_lid_counts(qp->ib->device);
	struct univ_mcast_group *group;

	list_for_each_entry(group, &qp->groups, link)
		if ((group->lid == cmd->lid || !lid_counts) &&
		    !memcmp(group->gid.raw, cmd->gid, sizeof(cmd->gid)))
			return group;
	return NULL;
}

static int mcast_check(struct univ_qp *qp, struct univ_mcast *cmd)
{
	if (qp->ib->qp_type != IB_QPT_UD)
		return univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_QP_TYPE, 0,
				    qp->ib->qp_type, 0);
	if (!rdma_is_multicast_addr((struct in6_addr *)cmd->gid))
		return univ_explain(&cmd->hdr, -EINVAL,
				    UNIV_REASON_NOT_MULTICAST, 0, 0, 0);
	return 0;
}

/* Attaching twice is no error and counts once. */
static int mcast_attach(struct univ_qp *qp, struct univ_call *call, void *arg)
{
	struct univ_mcast *cmd = arg;
	struct univ_mcast_group *group;
	int ret;

	ret = mcast_check(qp, cmd);
	if (ret || mcast_find(qp, cmd))
		return ret;
	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return univ_explain_driver(&cmd->hdr, -ENOMEM);
	memcpy(group->gid.raw, cmd->gid, sizeof(cmd->gid));
	group->lid = cmd->lid;
	ret = ib_attach_mcast(qp->ib, &group->gid, group->lid);
	if (ret) {
		kfree(group);
		return univ_explain_driver(&cmd->hdr, ret);
	}
	list_add(&group->link, &qp->groups);
	return 0;
}

static int mcast_detach(struct univ_qp *qp, struct univ_call *call, void *arg)
{
	struct univ_mcast *cmd = arg;
	struct univ_mcast_group *group;
	int ret;

	ret = mcast_check(qp, cmd);
	if (ret)
		return ret;
	group = mcast_find(qp, cmd);
	if (!group)
		return univ_explain(&cmd->hdr, -EINVAL,
				    UNIV_REASON_NOT_ATTACHED, 0, cmd->lid, 0);
	ret = ib_detach_mcast(qp->ib, &group->gid, group->lid);
	if (ret)
		return univ_explain_driver(&cmd->hdr, ret);
	list_del(&group->link);
	kfree(group);
	return 0;
}

int univ_mcast_attach_ioctl(struct univ_call *call, void *arg)
{
	struct univ_mcast *cmd = arg;

	return univ_qp_call(call, cmd->qp, cmd, mcast_attach);
}

int univ_mcast_detach_ioctl(struct univ_call *call, void *arg)
{
	struct univ_mcast *cmd = arg;

	return univ_qp_call(call, cmd->qp, cmd, mcast_detach);
}

/* The queue pair is being destroyed, and no call holds it. */
void univ_mcast_detach_all(struct univ_qp *qp)
{
	struct univ_mcast_group *group, *next;

	list_for_each_entry_safe(group, next, &qp->groups, link) {
		ib_detach_mcast(qp->ib, &group->gid, group->lid);
		list_del(&group->link);
		kfree(group);
	}
}
