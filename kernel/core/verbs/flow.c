// SPDX-License-Identifier: GPL-2.0
/*
 * Flows: ibv_create_flow(3). A flow selects frames for a raw packet queue pair.
 */
#include <linux/capability.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "flows.h"

bool univ_raw_offered(const struct univ_device *dev)
{
	return univ_queue_can(dev, UNIV_QUEUE_RAW);
}

/*
 * The process has CAP_NET_RAW, so EPERM from the driver means that the net
 * device is in another network namespace.
 */
int univ_raw_explain(struct univ_hdr *hdr, int err)
{
	if (err != -EPERM)
		return univ_explain_driver(hdr, err);
	return univ_explain(hdr, err, UNIV_REASON_PERMISSION,
			    UNIV_PERMISSION_NETNS, CAP_NET_RAW, 0);
}

int univ_flow_explain(struct univ_hdr *hdr, int err, enum univ_flow_fault fault,
		      u64 value, u64 bound)
{
	return univ_explain(hdr, err, UNIV_REASON_FLOW, fault, value, bound);
}

/* In the order of ib_uverbs, except that the device is asked first. */
static int flow_check(struct univ_call *call, struct univ_flow_create *cmd)
{
	if (!univ_raw_offered(call->ctx->dev))
		return univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
	if (!capable(CAP_NET_RAW))
		return univ_explain(&cmd->hdr, -EPERM, UNIV_REASON_PERMISSION,
				    0, CAP_NET_RAW, 0);
	if (cmd->type > UNIV_FLOW_SNIFFER)
		return univ_flow_explain(&cmd->hdr, -EINVAL,
					 UNIV_FLOW_FAULT_TYPE, cmd->type, 0);
	if (cmd->flow_flags & ~(UNIV_FLOW_DONT_TRAP | UNIV_FLOW_EGRESS))
		return univ_flow_explain(&cmd->hdr, -EOPNOTSUPP,
					 UNIV_FLOW_FAULT_FLAGS, cmd->flow_flags,
					 0);
	if (cmd->flow_flags && cmd->type != UNIV_FLOW_NORMAL)
		return univ_flow_explain(&cmd->hdr, -EINVAL,
					 UNIV_FLOW_FAULT_FLAGS, cmd->flow_flags,
					 0);
	if (cmd->priority > U16_MAX)
		return univ_flow_explain(&cmd->hdr, -EINVAL,
					 UNIV_FLOW_FAULT_PRIORITY,
					 cmd->priority, U16_MAX);
	return univ_flow_specs_check(cmd);
}

static struct ib_flow *flow_create_ib(struct ib_qp *qp,
				      const struct univ_flow_create *cmd,
				      struct univ_flow_counts *counts)
{
	struct ib_flow_attr *attr;
	struct ib_flow *flow;

	attr = kzalloc(struct_size(attr, flows, cmd->count + 1), GFP_KERNEL);
	if (!attr)
		return ERR_PTR(-ENOMEM);
	attr->type = cmd->type;
	attr->priority = cmd->priority;
	attr->flags = cmd->flow_flags;
	attr->port = cmd->port_num;
	univ_flow_specs_fill(attr, cmd, counts);
	flow = qp->device->ops.create_flow(qp, attr, NULL);
	kfree(attr);
	if (IS_ERR(flow))
		return flow;
	flow->qp = qp;
	flow->device = qp->device;
	return flow;
}

static int flow_build_ib(struct univ_flow *flow, struct univ_flow_create *cmd)
{
	int ret;

	flow->ib = flow_create_ib(flow->qp->ib, cmd, flow->counts);
	if (!IS_ERR(flow->ib))
		return 0;
	univ_flow_counts_destroy(flow);
	ret = PTR_ERR(flow->ib);
	if (ret == -ENOSPC)
		return univ_flow_explain(&cmd->hdr, ret, UNIV_FLOW_FAULT_FULL,
					 0, 0);
	return univ_raw_explain(&cmd->hdr, ret);
}

static struct univ_flow *flow_build(struct univ_call *call,
				    struct univ_flow_create *cmd,
				    struct univ_qp *qp)
{
	struct univ_flow *flow = kzalloc(sizeof(*flow), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!flow)
		return ERR_PTR(univ_explain_driver(&cmd->hdr, -ENOMEM));
	flow->qp = qp;
	ret = univ_object_reserve(call->ctx, &flow->obj, UNIV_OBJECT_FLOW,
				  &cmd->hdr);
	if (ret) {
		kfree(flow);
		return ERR_PTR(ret);
	}
	ret = univ_flow_counts_create(flow, call->ctx, cmd);
	if (!ret)
		ret = flow_build_ib(flow, cmd);
	if (!ret)
		return flow;
	univ_object_release(&flow->obj);
	return ERR_PTR(ret);
}

static int flow_create(struct univ_call *call, struct univ_flow_create *cmd,
		       struct univ_qp *qp)
{
	struct univ_flow *flow;

	if (qp->xrcd || qp->ib->qp_type != IB_QPT_RAW_PACKET)
		return univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_QP_TYPE, 0,
				    qp->ib->qp_type, 0);
	flow = flow_build(call, cmd, qp);
	if (IS_ERR(flow))
		return PTR_ERR(flow);
	cmd->handle = flow->obj.handle;
	univ_object_depend(&qp->obj);
	return univ_object_announce(call, &flow->obj, univ_flow_destroy);
}

int univ_flow_create_ioctl(struct univ_call *call, void *arg)
{
	struct univ_flow_create *cmd = arg;
	struct univ_object *obj;
	int ret = flow_check(call, cmd);

	if (!ret)
		ret = univ_port_check(call->ctx, cmd->port_num, &cmd->hdr);
	if (ret)
		return ret;
	obj = univ_object_get(call->ctx, cmd->qp, UNIV_OBJECT_QP, &cmd->hdr);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	ret = flow_create(call, cmd, container_of(obj, struct univ_qp, obj));
	univ_object_put(obj);
	return ret;
}

int univ_flow_destroy(struct univ_object *obj)
{
	struct univ_flow *flow = container_of(obj, struct univ_flow, obj);
	int ret = flow->ib->device->ops.destroy_flow(flow->ib);

	if (ret)
		return ret;
	univ_flow_counts_destroy(flow);
	univ_object_undepend(&flow->qp->obj);
	return 0;
}

int univ_flow_destroy_ioctl(struct univ_call *call, void *arg)
{
	return univ_object_destroy(call, arg, UNIV_OBJECT_FLOW,
				   univ_flow_destroy);
}
