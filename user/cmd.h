/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One wrapper for each ioctl. Each returns 0 or an errno value; on failure it
 * has set errno and recorded the kernel's reason under the name of the verb.
 */
#ifndef UNIV_CMD_H
#define UNIV_CMD_H

#include <stdint.h>

#include "univerbs.h"

int univ_cmd_context_query(int fd, struct univ_context_query *cmd);
int univ_cmd_poller_start(int fd, struct univ_poller_start *cmd);
int univ_cmd_device_query(int fd, struct univ_device_query *cmd);
int univ_cmd_port_query(int fd, struct univ_port_query *cmd);
int univ_cmd_port_try(int fd, struct univ_port_query *cmd);
int univ_cmd_pkey_query(int fd, struct univ_pkey_query *cmd);
int univ_cmd_gid_query(int fd, struct univ_gid_query *cmd);
int univ_cmd_gid_table(int fd, struct univ_gid_table *cmd);
int univ_cmd_gid_table_try(int fd, struct univ_gid_table *cmd);
int univ_cmd_pd_alloc(int fd, struct univ_pd_alloc *cmd);
int univ_cmd_pd_try(int fd, struct univ_pd_alloc *cmd);
int univ_cmd_pd_dealloc(int fd, struct univ_destroy *cmd);
int univ_cmd_xrcd_open(int fd, struct univ_xrcd_open *cmd);
int univ_cmd_xrcd_close(int fd, struct univ_destroy *cmd);
int univ_cmd_mr_reg(int fd, struct univ_mr_reg *cmd);
int univ_cmd_mr_rereg(int fd, struct univ_mr_rereg *cmd);
int univ_cmd_mr_dereg(int fd, struct univ_destroy *cmd);
int univ_cmd_mw_alloc(int fd, struct univ_mw_alloc *cmd);
int univ_cmd_mw_dealloc(int fd, struct univ_destroy *cmd);
int univ_cmd_ah_create(int fd, struct univ_ah_create *cmd);
int univ_cmd_ah_destroy(int fd, struct univ_destroy *cmd);
int univ_cmd_channel_create(int fd, struct univ_channel_create *cmd);
int univ_cmd_cq_create(int fd, struct univ_cq_create *cmd);
int univ_cmd_cq_resize(int fd, struct univ_cq_resize *cmd);
int univ_cmd_cq_moderate(int fd, struct univ_cq_moderate *cmd);
int univ_cmd_cq_destroy(int fd, struct univ_destroy *cmd);
int univ_cmd_srq_create(int fd, struct univ_srq_create *cmd);
int univ_cmd_srq_modify(int fd, struct univ_srq_modify *cmd);
int univ_cmd_srq_query(int fd, struct univ_srq_query *cmd);
int univ_cmd_srq_destroy(int fd, struct univ_destroy *cmd);
int univ_cmd_qp_create(int fd, struct univ_qp_create *cmd);
int univ_cmd_qp_modify(int fd, struct univ_qp_modify *cmd, uint32_t qp_type);
int univ_cmd_qp_open(int fd, struct univ_qp_open *cmd);
int univ_cmd_qp_query(int fd, struct univ_qp_query *cmd);
int univ_cmd_qp_destroy(int fd, struct univ_destroy *cmd);
int univ_cmd_mcast_attach(int fd, struct univ_mcast *cmd);
int univ_cmd_mcast_detach(int fd, struct univ_mcast *cmd);

/* Of the data path: @what is a handle with UNIV_KICK_SEND or UNIV_KICK_RECV. */
int univ_cmd_kick(const char *verb, int fd, uint32_t what);

#endif
