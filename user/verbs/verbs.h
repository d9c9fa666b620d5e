/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Room verbs: creates, changes, queries and destroys objects, and reads events. It
 * does not know how requests are posted, nor how devices are found. This is its one
 * header for the other rooms; it declares the functions that programs reach through
 * the operations of a context. infiniband/verbs.h declares the exported functions.
 */
#ifndef UNIV_VERBS_H
#define UNIV_VERBS_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

/* query.c */
int univ_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
		    size_t length);
int univ_query_device_ex(struct ibv_context *context,
			 const struct ibv_query_device_ex_input *input,
			 struct ibv_device_attr_ex *attr, size_t size);
int univ_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);

/* pd.c */
struct ibv_td *univ_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int univ_dealloc_td(struct ibv_td *td);
struct ibv_pd *univ_alloc_parent_domain(struct ibv_context *context,
					struct ibv_parent_domain_init_attr *attr);

/* mr.c, dm.c */
int univ_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		   struct ibv_sge *list, uint32_t count);
struct ibv_mr *univ_alloc_null_mr(struct ibv_pd *pd);
struct ibv_dm *univ_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);
int univ_free_dm(struct ibv_dm *dm);
struct ibv_mr *univ_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, size_t length,
			      unsigned int access);

/* mw.c */
struct ibv_mw *univ_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int univ_dealloc_mw(struct ibv_mw *mw);

/* cq.c, srq.c, qp.c */
struct ibv_cq_ex *univ_create_cq_ex(struct ibv_context *context,
				    struct ibv_cq_init_attr_ex *attr);
int univ_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
struct ibv_srq *univ_create_srq_ex(struct ibv_context *context,
				   struct ibv_srq_init_attr_ex *attr);
int univ_get_srq_num(struct ibv_srq *srq, uint32_t *number);
struct ibv_qp *univ_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
int univ_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr);

/* flow.c */
struct ibv_flow *univ_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr);
int univ_destroy_flow(struct ibv_flow *flow);

/* counters.c */
struct ibv_counters *univ_create_counters(struct ibv_context *context,
					  struct ibv_counters_init_attr *attr);
int univ_destroy_counters(struct ibv_counters *counters);
int univ_attach_counters_point_flow(struct ibv_counters *counters,
				    struct ibv_counter_attach_attr *attr, struct ibv_flow *flow);
int univ_read_counters(struct ibv_counters *counters, uint64_t *values, uint32_t count,
		       uint32_t flags);

/* wq.c */
struct ibv_wq *univ_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr);
int univ_modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *attr);
int univ_destroy_wq(struct ibv_wq *wq);
struct ibv_rwq_ind_table *univ_create_rwq_ind_table(struct ibv_context *context,
						    struct ibv_rwq_ind_table_init_attr *attr);
int univ_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table);

/* xrcd.c, xrc_recv.c */
struct ibv_xrcd *univ_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr);
int univ_close_xrcd(struct ibv_xrcd *xrcd);
struct ibv_qp *univ_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);

#endif
