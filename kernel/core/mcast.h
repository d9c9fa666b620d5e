/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIV_MCAST_H
#define UNIV_MCAST_H

struct univ_call;
struct univ_qp;

void univ_mcast_detach_all(struct univ_qp *qp);
int univ_mcast_attach_ioctl(struct univ_call *call, void *arg);
int univ_mcast_detach_ioctl(struct univ_call *call, void *arg);

#endif
