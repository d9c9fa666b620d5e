// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Explains why ibv_modify_qp(3) failed. It compares the attributes with the state of
 * the queue pair, the limits of the device and the tables of the port.
 */
#include <errno.h>
#include <string.h>

#include "tools/explain/explain.h"
#include "tools/explain/transitions.h"
#include "why/why.h"

static const char verb[] = "ibv_modify_qp";

/* Records and prints a failure. Returns true, so that a check can return the result. */
static bool told(int err, enum univ_reason reason, uint32_t detail, uint64_t value, uint64_t bound)
{
	univ_fail(&(struct univ_failure) {
		.verb = verb,
		.err = err,
		.reason = reason,
		.detail = detail,
		.value = value,
		.bound = bound,
	});
	return true;
}

static int transport(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_UC:
		return 1;
	case IBV_QPT_UD:
		return 2;
	case IBV_QPT_XRC_SEND:
		return 3;
	case IBV_QPT_XRC_RECV:
		return 4;
	default:
		return 0;
	}
}

static const struct qp_masks *masks_of(enum ibv_qp_type type, uint32_t from, uint32_t to)
{
	static const struct qp_masks end;
	size_t i;

	if (to == IBV_QPS_RESET || (to == IBV_QPS_ERR && from != IBV_QPS_RESET))
		return &end;
	for (i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++)
		if (transitions[i].from == from && transitions[i].to == to)
			return &transitions[i].masks[transport(type)];
	return NULL;
}

static bool explain_masks(const struct ibv_qp *qp, const struct ibv_qp_attr *attr, uint32_t mask,
			  int err)
{
	uint32_t from = qp->state, to = mask & IBV_QP_STATE ? attr->qp_state : from;
	uint32_t change = from << 8 | (to & 0xff);
	const struct qp_masks *masks = masks_of(qp->qp_type, from, to);

	/*
	 * Devices may take other attributes for raw packet queue pairs (a rate limit), and for
	 * those of driver-specific types.
	 */
	if (qp->qp_type == IBV_QPT_RAW_PACKET || qp->qp_type == IBV_QPT_DRIVER)
		return false;
	if (mask & IBV_QP_CAP)
		return told(err, UNIV_REASON_QP_SIZE, 0, 0, 0);
	if (to > IBV_QPS_ERR)
		return told(err, UNIV_REASON_ATTR_VALUE, IBV_QP_STATE, to, IBV_QPS_ERR);
	if (mask & IBV_QP_CUR_STATE && attr->cur_qp_state != from)
		return told(err, UNIV_REASON_CUR_STATE, 0, attr->cur_qp_state, from);
	if (!masks)
		return told(err, UNIV_REASON_QP_STATE, change, 0, qp->qp_type);
	if (masks->required & ~mask)
		return told(err, UNIV_REASON_ATTR_MISSING, change, masks->required & ~mask,
			    qp->qp_type);
	mask &= ~(masks->required | masks->optional | IBV_QP_STATE);
	return mask && told(err, UNIV_REASON_ATTR_SURPLUS, change, mask, qp->qp_type);
}

struct bound {
	uint32_t attr;
	uint32_t value;
	uint32_t max;
	uint32_t min;
};

static bool explain_bounds(struct ibv_qp *qp, const struct ibv_qp_attr *attr, uint32_t mask,
			   int err)
{
	struct ibv_device_attr device = { .max_qp_init_rd_atom = 255, .max_qp_rd_atom = 255 };
	size_t i;

	ibv_query_device(qp->context, &device);
	const struct bound bounds[] = {
		{ IBV_QP_PATH_MTU, attr->path_mtu, IBV_MTU_4096, IBV_MTU_256 },
		{ IBV_QP_TIMEOUT, attr->timeout, 31, 0 },
		{ IBV_QP_ALT_PATH, attr->alt_timeout, 31, 0 },
		{ IBV_QP_PATH_MIG_STATE, attr->path_mig_state, IBV_MIG_REARM, 0 },
		{ IBV_QP_DEST_QPN, attr->dest_qp_num, 0xffffff, 0 },
		{ IBV_QP_MAX_QP_RD_ATOMIC, attr->max_rd_atomic,
		  (uint32_t)device.max_qp_init_rd_atom, 0 },
		{ IBV_QP_MAX_DEST_RD_ATOMIC, attr->max_dest_rd_atomic,
		  (uint32_t)device.max_qp_rd_atom, 0 },
	};

	for (i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
		if (mask & bounds[i].attr &&
		    (bounds[i].value > bounds[i].max || bounds[i].value < bounds[i].min))
			return told(err, UNIV_REASON_ATTR_VALUE, bounds[i].attr, bounds[i].value,
				    bounds[i].max);
	return false;
}

static bool no_such_port(const char *of, int err, struct ibv_context *context, uint8_t port)
{
	struct ibv_device_attr device;

	if (ibv_query_device(context, &device) || (port && port <= device.phys_port_cnt))
		return false;
	univ_fail(&(struct univ_failure) {
		.verb = of,
		.err = err,
		.reason = UNIV_REASON_PORT,
		.value = port,
		.bound = device.phys_port_cnt,
	});
	return true;
}

static bool is_empty(const union ibv_gid *gid)
{
	static const union ibv_gid none;

	return !memcmp(gid, &none, sizeof(none));
}

/* Returns true for the errno values of the kernel for an unreachable address. */
static bool is_unreachable(int err)
{
	return err == ENETUNREACH || err == EHOSTUNREACH || err == ETIMEDOUT || err == ENODATA ||
	       err == EADDRNOTAVAIL;
}

bool explain_path(const char *of, int err, struct ibv_context *context,
		  const struct ibv_ah_attr *ah, uint8_t port)
{
	struct univ_failure failure = { .verb = of, .err = err };
	struct ibv_port_attr attr;
	union ibv_gid gid;

	if (no_such_port(of, err, context, port))
		return true;
	if (ibv_query_port(context, port, &attr))
		return false;
	if (!ah->is_global) {
		failure.reason = UNIV_REASON_NO_GRH;
		if (attr.link_layer == IBV_LINK_LAYER_ETHERNET)
			univ_fail(&failure);
		return attr.link_layer == IBV_LINK_LAYER_ETHERNET;
	}
	if (ibv_query_gid(context, port, ah->grh.sgid_index, &gid) || is_empty(&gid)) {
		failure.reason = UNIV_REASON_GID_INDEX;
		failure.value = ah->grh.sgid_index;
		failure.bound = (uint64_t)attr.gid_tbl_len;
		univ_fail(&failure);
		return true;
	}
	if (is_unreachable(err))
		univ_fail_no_route(of, err);
	return is_unreachable(err);
}

static bool explain_ports(struct ibv_qp *qp, const struct ibv_qp_attr *attr, uint32_t mask,
			  int err)
{
	struct ibv_qp_init_attr init;
	struct ibv_port_attr port_attr;
	struct ibv_qp_attr now = {};
	uint8_t port;

	ibv_query_qp(qp, &now, IBV_QP_PORT, &init);
	port = mask & IBV_QP_PORT ? attr->port_num : now.port_num;
	if (mask & IBV_QP_PORT && no_such_port(verb, err, qp->context, port))
		return true;
	if (mask & IBV_QP_PKEY_INDEX && !ibv_query_port(qp->context, port, &port_attr) &&
	    attr->pkey_index >= port_attr.pkey_tbl_len)
		return told(err, UNIV_REASON_PKEY_INDEX, 0, attr->pkey_index,
			    port_attr.pkey_tbl_len);
	if (!(mask & IBV_QP_AV))
		return false;
	if (explain_path(verb, err, qp->context, &attr->ah_attr, attr->ah_attr.port_num))
		return true;
	return attr->ah_attr.port_num != port &&
	       told(err, UNIV_REASON_ATTR_VALUE, IBV_QP_AV, attr->ah_attr.port_num, port);
}

void explain_modify(struct ibv_qp *qp, const struct ibv_qp_attr *attr, int mask, int err)
{
	const uint32_t given = (uint32_t)mask;

	if (!explain_masks(qp, attr, given, err) && !explain_bounds(qp, attr, given, err) &&
	    !explain_ports(qp, attr, given, err))
		told(err, UNIV_REASON_DEVICE_REFUSED, 0, (uint64_t)err, given);
}

VERB int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int ret = REAL(ibv_modify_qp)(qp, attr, mask);
	int err = errno;

	if (!ret)
		qp_modified(qp, attr, mask);
	else if (to_explain())
		explain_modify(qp, attr, mask, ret < 0 ? err : ret);
	errno = err;
	return ret;
}
