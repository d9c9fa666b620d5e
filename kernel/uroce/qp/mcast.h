/* SPDX-License-Identifier: GPL-2.0 */
/* Multicast groups and their members. */
#ifndef UROCE_MCAST_H
#define UROCE_MCAST_H

#include <rdma/ib_verbs.h>

struct uroce_dev;
struct uroce_qp;

#define UROCE_MCAST_QPN 0xffffff
#define UROCE_MAX_GROUPS 8192
/*
 * The maximum number of members of a group, like that of hardware. A datagram
 * to the group is copied once for each member.
 */
#define UROCE_MAX_MEMBERS 240
int uroce_mcast_init(struct uroce_dev *dev);
void uroce_mcast_exit(struct uroce_dev *dev);
int uroce_mcast_attach(struct ib_qp *ib, union ib_gid *gid, u16 lid);
int uroce_mcast_detach(struct ib_qp *ib, union ib_gid *gid, u16 lid);
void uroce_mcast_leave(struct uroce_dev *dev);
u32 uroce_mcast_each(struct uroce_dev *dev, const union ib_gid *gid,
		     void (*each)(struct uroce_qp *qp, void *arg), void *arg);

#endif
