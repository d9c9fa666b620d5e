// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Address handles for the sender of a received datagram, from the header in front
 * of it. The 40 bytes hold an IPv6 header (RoCE v1, and RoCE v2 over IPv6), or an
 * IPv4 header in the last 20 bytes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/common.h"
#include "why/why.h"

#define VERB "ibv_init_ah_from_wc"
#define NEXT_HEADER_IBA 0x1b	/* of a RoCE v1 packet */
#define FIRST_GIDS 256

struct return_path {
	union ibv_gid local;
	union ibv_gid remote;
	enum ibv_gid_type type;
	uint8_t hop_limit;
	uint8_t traffic_class;
};

static uint16_t ipv4_checksum(const struct iphdr *header)
{
	uint32_t sum = 0;
	uint16_t half;
	size_t i;

	for (i = 0; i < sizeof(*header); i += sizeof(half)) {
		if (i == offsetof(struct iphdr, check))
			continue;
		memcpy(&half, (const char *)header + i, sizeof(half));
		sum += half;
	}
	sum = (sum & 0xffff) + (sum >> 16);
	sum += sum >> 16;
	return (uint16_t)~sum;
}

/*
 * Bytes that look like either version are an IPv4 header only if its checksum is
 * right: in an IPv6 header those bytes are addresses.
 */
static int ip_version(const struct ibv_grh *grh, const struct iphdr *ipv4)
{
	bool maybe_6 = be32toh(grh->version_tclass_flow) >> 28 == 6;

	if (!maybe_6)
		return ipv4->version == 4 ? 4 : 0;
	if (ipv4->version == 4 && ipv4->ihl == 5 && ipv4->check == ipv4_checksum(ipv4))
		return 4;
	return 6;
}

static void gid_from_ipv4(union ibv_gid *gid, uint32_t address)
{
	memset(gid, 0, sizeof(*gid));
	gid->raw[10] = 0xff;
	gid->raw[11] = 0xff;
	memcpy(&gid->raw[12], &address, sizeof(address));
}

static int path_from_ipv4(struct return_path *path, const struct iphdr *header)
{
	if (IN_MULTICAST(ntohl(header->daddr)))
		return EINVAL;
	gid_from_ipv4(&path->local, header->daddr);
	gid_from_ipv4(&path->remote, header->saddr);
	path->type = IBV_GID_TYPE_ROCE_V2;
	path->hop_limit = header->ttl;
	path->traffic_class = header->tos;
	return 0;
}

static int path_from_ipv6(struct return_path *path, const struct ibv_grh *grh)
{
	if (grh->dgid.raw[0] == 0xff)
		return EINVAL;
	if (grh->next_hdr == IPPROTO_UDP)
		path->type = IBV_GID_TYPE_ROCE_V2;
	else if (grh->next_hdr == NEXT_HEADER_IBA)
		path->type = IBV_GID_TYPE_ROCE_V1;
	else
		return EPROTONOSUPPORT;
	path->local = grh->dgid;
	path->remote = grh->sgid;
	path->hop_limit = grh->hop_limit;
	path->traffic_class = (be32toh(grh->version_tclass_flow) >> 20) & 0xff;
	return 0;
}

static int path_from_header(struct return_path *path, const struct ibv_grh *grh)
{
	struct iphdr ipv4;

	memcpy(&ipv4, (const char *)grh + sizeof(*grh) - sizeof(ipv4), sizeof(ipv4));
	switch (ip_version(grh, &ipv4)) {
	case 4:
		return path_from_ipv4(path, &ipv4);
	case 6:
		return path_from_ipv6(path, grh);
	default:
		return EPROTONOSUPPORT;
	}
}

/* GIDs of an InfiniBand port have a type of their own; their headers look like RoCE v1. */
static bool type_fits(uint32_t have, enum ibv_gid_type want)
{
	return have == want || (have == IBV_GID_TYPE_IB && want == IBV_GID_TYPE_ROCE_V1);
}

static int gid_index_in(const struct ibv_gid_entry *table, ssize_t count, uint8_t port,
			const struct return_path *path)
{
	ssize_t i;

	for (i = 0; i < count; i++) {
		if (table[i].port_num == port && type_fits(table[i].gid_type, path->type) &&
		    !memcmp(&table[i].gid, &path->local, sizeof(path->local)))
			return (int)table[i].gid_index;
	}
	return -1;
}

/* The number of GIDs that the ports of the device can have, or 0 with errno. */
static size_t gids_most(struct ibv_context *context)
{
	struct ibv_device_attr device;
	struct ibv_port_attr port;
	size_t count = 0;
	int i;

	if (ibv_query_device(context, &device))
		return 0;
	for (i = 1; i <= device.phys_port_cnt; i++) {
		if (univ_query_port(context, (uint8_t)i, &port, sizeof(port)))
			return 0;
		count += (size_t)port.gid_tbl_len;
	}
	return count;
}

/*
 * If the first buffer is too short, that is no failure of the program. Returns NULL after a failure
 * that is reported.
 */
static struct ibv_gid_entry *gids_read(struct ibv_context *context, ssize_t *count)
{
	struct univ_gid_table cmd = { .max = FIRST_GIDS };
	struct ibv_gid_entry *table = malloc(FIRST_GIDS * sizeof(*table)), *larger;
	size_t most;

	cmd.entries = (uintptr_t)table;
	if (table && !univ_cmd_gid_table_try(context->cmd_fd, &cmd)) {
		*count = cmd.count;
		univ_kernel_wrote(table, cmd.count * sizeof(*table));
		return table;
	}
	most = gids_most(context);
	larger = most ? realloc(table, most * sizeof(*table)) : NULL;
	if (most && !larger)
		univ_fail_memory(VERB, most * sizeof(*table));
	if (larger)
		*count = _ibv_query_gid_table(context, larger, most, 0, sizeof(*larger));
	if (larger && *count >= 0)
		return larger;
	free(larger ? larger : table);
	return NULL;
}

/* Returns -1 after a failure that is reported. */
static int gid_index_find(struct ibv_context *context, uint8_t port, const struct return_path *path)
{
	struct ibv_gid_entry *table;
	ssize_t count;
	int index;

	table = gids_read(context, &count);
	if (!table)
		return -1;
	index = gid_index_in(table, count, port, path);
	free(table);
	if (index < 0)
		univ_fail_no_route(VERB, ENOENT);
	return index;
}

static int global_route_fill(struct ibv_context *context, uint8_t port, const struct ibv_grh *grh,
			     struct ibv_ah_attr *attr)
{
	struct return_path path;
	int err = path_from_header(&path, grh);
	int index;

	if (err)
		return univ_fail_no_route(VERB, err);
	index = gid_index_find(context, port, &path);
	if (index < 0)
		return errno;
	attr->grh.dgid = path.remote;
	attr->grh.sgid_index = (uint8_t)index;
	attr->grh.hop_limit = path.hop_limit;
	attr->grh.traffic_class = path.traffic_class;
	return 0;
}

UNIV_EXPORT int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc,
				    struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	*attr = (struct ibv_ah_attr) {
		.dlid = wc->slid,
		.sl = wc->sl,
		.src_path_bits = wc->dlid_path_bits,
		.port_num = port,
	};
	if (!(wc->wc_flags & IBV_WC_GRH))
		return 0;
	attr->is_global = 1;
	attr->grh.flow_label = be32toh(grh->version_tclass_flow) & 0xfffff;
	return global_route_fill(context, port, grh, attr) ? -1 : 0;
}

UNIV_EXPORT struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc,
						 struct ibv_grh *grh, uint8_t port)
{
	struct ibv_ah_attr attr;

	if (ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr))
		return NULL;
	return ibv_create_ah(pd, &attr);
}
