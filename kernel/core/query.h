/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIV_QUERY_H
#define UNIV_QUERY_H

#include <linux/types.h>

struct univ_call;
struct univ_context;
struct univ_hdr;

int univ_port_check(struct univ_context *ctx, u32 port, struct univ_hdr *hdr);

int univ_context_query_ioctl(struct univ_call *call, void *arg);
int univ_device_query_ioctl(struct univ_call *call, void *arg);
int univ_port_query_ioctl(struct univ_call *call, void *arg);
int univ_pkey_query_ioctl(struct univ_call *call, void *arg);
int univ_gid_query_ioctl(struct univ_call *call, void *arg);
int univ_gid_table_ioctl(struct univ_call *call, void *arg);

#endif
