/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the kernel's RDMA netlink tells about devices and our nodes. */
#ifndef UNIV_NETLINK_H
#define UNIV_NETLINK_H

#include <stdint.h>
#include <sys/types.h>

struct univ_found {
	struct univ_found *next;
	uint32_t index;
	uint64_t guid;		/* host order */
	uint8_t node_type;
	char name[64];
	/* From here on: of our node; @node_name is empty when there is none. */
	char node_name[64];
	dev_t node;
	uint64_t abi;
	int err;		/* why there is none, as the kernel says */
};

/* 0 or an errno value; the caller frees the list whatever it returns. */
int univ_netlink_find(struct univ_found **list);
void univ_netlink_free(struct univ_found *list);

#endif
