/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The room of control: devices, verbs, attributes of queue pairs, and faults
 * over netlink. The room uses all others except connections, and no other room
 * uses it. It does not know the contents of packets or the protocol of
 * connections.
 */
#ifndef UROCE_CONTROL_H
#define UROCE_CONTROL_H

#include "../engine/engine.h"
#include "../path/path.h"
#include "../qp/qp.h"
#include "../raw/raw.h"

/* link.c */
int uroce_dev_new(const char *name, struct net_device *netdev);
int uroce_dev_enable(struct ib_device *ib);
void uroce_dev_dealloc(struct ib_device *ib);

/* move.c: devices whose netdev ends or goes to another namespace */
void uroce_move(struct uroce_dev *dev);
int uroce_move_init(void);
void uroce_move_end(void);
void uroce_move_exit(void);

/* verbs.c */
extern const struct ib_device_ops uroce_dev_ops;

/* fault_nl.c */
int uroce_fault_nl_init(void);
void uroce_fault_nl_exit(void);

/* srq.c */
int uroce_srq_create(struct ib_srq *ib, struct ib_srq_init_attr *init,
		     struct ib_udata *udata);
int uroce_srq_modify(struct ib_srq *ib, struct ib_srq_attr *attr,
		     enum ib_srq_attr_mask mask, struct ib_udata *udata);
int uroce_srq_query(struct ib_srq *ib, struct ib_srq_attr *attr);
int uroce_srq_destroy(struct ib_srq *ib, struct ib_udata *udata);

/* wq.c */
struct ib_wq *uroce_wq_create(struct ib_pd *pd, struct ib_wq_init_attr *init,
			      struct ib_udata *udata);
int uroce_wq_modify(struct ib_wq *ib, struct ib_wq_attr *attr, u32 mask,
		    struct ib_udata *udata);
int uroce_wq_destroy(struct ib_wq *ib, struct ib_udata *udata);
int uroce_table_create(struct ib_rwq_ind_table *ib,
		       struct ib_rwq_ind_table_init_attr *init,
		       struct ib_udata *udata);
int uroce_table_destroy(struct ib_rwq_ind_table *ib);

/* qp.c */
void uroce_qp_leave_net(const struct uroce_dev *dev);
void uroce_qp_partitions(const struct uroce_dev *dev);
int uroce_qp_create(struct ib_qp *ib, struct ib_qp_init_attr *init,
		    struct ib_udata *udata);
int uroce_qp_modify(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		    struct ib_udata *udata);
int uroce_qp_query(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init);
int uroce_qp_destroy(struct ib_qp *ib, struct ib_udata *udata);

#endif
