// SPDX-License-Identifier: GPL-2.0
/* Conversion of attributes between the ABI and kernel verbs. */
#include <rdma/ib_cache.h>

#include "verbs.h"

static int ah_check_gid(struct univ_context *ctx,
			const struct univ_ah_attr *attr, struct univ_hdr *hdr)
{
	struct ib_device *ib = ctx->dev->ib;
	u32 len = ib->port_data[attr->port_num].immutable.gid_tbl_len;
	const struct ib_gid_attr *gid;

	gid = rdma_get_gid_attr(ib, attr->port_num, attr->sgid_index);
	if (IS_ERR(gid))
		return univ_explain(hdr, -EINVAL, UNIV_REASON_GID_INDEX, 0,
				    attr->sgid_index, len);
	rdma_put_gid_attr(gid);
	return 0;
}

/*
 * Checks and translates an address vector. The kernel checks again whether the
 * GID entry still exists when it is used. Returns 0 or -EINVAL.
 */
int univ_ah_attr_in(struct univ_context *ctx, struct univ_ah_attr *attr,
		    struct rdma_ah_attr *ah, struct univ_hdr *hdr)
{
	struct ib_device *ib = ctx->dev->ib;
	int ret;

	ret = univ_port_check(ctx, attr->port_num, hdr);
	if (ret)
		return ret;
	memset(ah, 0, sizeof(*ah));
	ah->type = rdma_ah_find_type(ib, attr->port_num);
	if (ah->type == RDMA_AH_ATTR_TYPE_ROCE && !attr->is_global)
		return univ_explain(hdr, -EINVAL, UNIV_REASON_NO_GRH, 0, 0, 0);
	if (attr->is_global) {
		ret = ah_check_gid(ctx, attr, hdr);
		if (ret)
			return ret;
		rdma_ah_set_grh(ah, NULL, attr->flow_label, attr->sgid_index,
				attr->hop_limit, attr->traffic_class);
		rdma_ah_set_dgid_raw(ah, attr->dgid);
	}
	rdma_ah_set_dlid(ah, attr->dlid);
	rdma_ah_set_sl(ah, attr->sl);
	rdma_ah_set_path_bits(ah, attr->src_path_bits);
	rdma_ah_set_static_rate(ah, attr->static_rate);
	rdma_ah_set_port_num(ah, attr->port_num);
	return 0;
}

void univ_ah_attr_out(const struct rdma_ah_attr *ah, struct univ_ah_attr *attr)
{
	const struct ib_global_route *grh;

	memset(attr, 0, sizeof(*attr));
	attr->dlid = rdma_ah_get_dlid(ah);
	attr->sl = rdma_ah_get_sl(ah);
	attr->src_path_bits = rdma_ah_get_path_bits(ah);
	attr->static_rate = rdma_ah_get_static_rate(ah);
	attr->port_num = rdma_ah_get_port_num(ah);
	attr->is_global = !!(rdma_ah_get_ah_flags(ah) & IB_AH_GRH);
	if (!attr->is_global)
		return;
	grh = rdma_ah_read_grh(ah);
	memcpy(attr->dgid, grh->dgid.raw, sizeof(attr->dgid));
	attr->flow_label = grh->flow_label;
	attr->sgid_index = grh->sgid_index;
	attr->hop_limit = grh->hop_limit;
	attr->traffic_class = grh->traffic_class;
}

/* Translates all attributes except the address vectors, which need checks. */
void univ_qp_attr_in(const struct univ_qp_attr *attr, struct ib_qp_attr *ib)
{
	memset(ib, 0, sizeof(*ib));
	ib->qp_state = attr->qp_state;
	ib->cur_qp_state = attr->cur_qp_state;
	ib->path_mtu = attr->path_mtu;
	ib->path_mig_state = attr->path_mig_state;
	ib->qkey = attr->qkey;
	ib->rq_psn = attr->rq_psn;
	ib->sq_psn = attr->sq_psn;
	ib->dest_qp_num = attr->dest_qp_num;
	ib->qp_access_flags = attr->qp_access_flags;
	ib->rate_limit = attr->rate_limit;
	ib->pkey_index = attr->pkey_index;
	ib->alt_pkey_index = attr->alt_pkey_index;
	ib->en_sqd_async_notify = attr->en_sqd_async_notify;
	ib->max_rd_atomic = attr->max_rd_atomic;
	ib->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	ib->min_rnr_timer = attr->min_rnr_timer;
	ib->port_num = attr->port_num;
	ib->timeout = attr->timeout;
	ib->retry_cnt = attr->retry_cnt;
	ib->rnr_retry = attr->rnr_retry;
	ib->alt_port_num = attr->alt_port_num;
	ib->alt_timeout = attr->alt_timeout;
}

void univ_qp_attr_out(const struct ib_qp_attr *ib, struct univ_qp_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->qp_state = ib->qp_state;
	attr->cur_qp_state = ib->cur_qp_state;
	attr->path_mtu = ib->path_mtu;
	attr->path_mig_state = ib->path_mig_state;
	attr->qkey = ib->qkey;
	attr->rq_psn = ib->rq_psn;
	attr->sq_psn = ib->sq_psn;
	attr->dest_qp_num = ib->dest_qp_num;
	attr->qp_access_flags = ib->qp_access_flags;
	attr->rate_limit = ib->rate_limit;
	attr->pkey_index = ib->pkey_index;
	attr->alt_pkey_index = ib->alt_pkey_index;
	attr->en_sqd_async_notify = ib->en_sqd_async_notify;
	attr->sq_draining = ib->sq_draining;
	attr->max_rd_atomic = ib->max_rd_atomic;
	attr->max_dest_rd_atomic = ib->max_dest_rd_atomic;
	attr->min_rnr_timer = ib->min_rnr_timer;
	attr->port_num = ib->port_num;
	attr->timeout = ib->timeout;
	attr->retry_cnt = ib->retry_cnt;
	attr->rnr_retry = ib->rnr_retry;
	attr->alt_port_num = ib->alt_port_num;
	attr->alt_timeout = ib->alt_timeout;
	univ_ah_attr_out(&ib->ah_attr, &attr->ah);
	univ_ah_attr_out(&ib->alt_ah_attr, &attr->alt_ah);
}
