// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Finds the Ethernet address of a GID in the kernel's routes and neighbours. This
 * library does not need it, since the kernel resolves addresses itself; drivers in
 * user space and a few programs do.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "why/why.h"

#define VERB "ibv_resolve_eth_l2_from_gid"

#define MAC_SIZE 6
#define NO_VLAN 0xffff
#define WAIT_MS 3000
#define WAIT_STEP_MS 20
#define DISCARD_PORT 9

#define NEIGHBOUR_KNOWN \
	(NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY)

struct hop {
	struct mnl_socket *socket;
	unsigned int seq;
	int ifindex;
	int family;
	size_t size;		/* the size of an address of the family */
	uint8_t address[16];
	bool local;		/* the address belongs to this host */
	bool found;
	uint8_t mac[MAC_SIZE];
	uint16_t vlan;
};

static size_t address_from_gid(uint8_t *address, int *family, const union ibv_gid *gid)
{
	static const uint8_t multicast_v4[] = { 0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	struct in6_addr v6;

	memcpy(&v6, gid->raw, sizeof(v6));
	if (IN6_IS_ADDR_V4MAPPED(&v6) || !memcmp(gid->raw, multicast_v4, sizeof(multicast_v4))) {
		*family = AF_INET;
		memcpy(address, gid->raw + 12, 4);
		return 4;
	}
	*family = AF_INET6;
	memcpy(address, gid->raw, 16);
	return 16;
}

/* A multicast address has no neighbour; its Ethernet address follows from the IP address. */
static bool multicast_mac(struct hop *hop)
{
	if (hop->family == AF_INET && (hop->address[0] & 0xf0) == 0xe0) {
		const uint8_t mac[MAC_SIZE] = { 0x01, 0x00, 0x5e, hop->address[1] & 0x7f,
						hop->address[2], hop->address[3] };

		memcpy(hop->mac, mac, sizeof(mac));
		return true;
	}
	if (hop->family == AF_INET6 && hop->address[0] == 0xff) {
		hop->mac[0] = 0x33;
		hop->mac[1] = 0x33;
		memcpy(&hop->mac[2], &hop->address[12], 4);
		return true;
	}
	return false;
}

static int ask(struct hop *hop, struct nlmsghdr *msg, mnl_cb_t callback)
{
	char buffer[8192];
	ssize_t length;

	msg->nlmsg_flags = NLM_F_REQUEST;
	msg->nlmsg_seq = ++hop->seq;
	if (mnl_socket_sendto(hop->socket, msg, msg->nlmsg_len) < 0)
		return errno;
	do {
		length = mnl_socket_recvfrom(hop->socket, buffer, sizeof(buffer));
	} while (length < 0 && errno == EINTR);
	if (length < 0)
		return errno;
	if (mnl_cb_run(buffer, (size_t)length, hop->seq, mnl_socket_get_portid(hop->socket),
		       callback, hop) < 0)
		return errno;
	return 0;
}

static int route_found(const struct nlmsghdr *msg, void *data)
{
	const struct rtmsg *route = mnl_nlmsg_get_payload(msg);
	const struct nlattr *attr;
	struct hop *hop = data;

	hop->local = route->rtm_type == RTN_LOCAL;
	mnl_attr_for_each(attr, msg, sizeof(*route)) {
		if (mnl_attr_get_type(attr) == RTA_GATEWAY &&
		    mnl_attr_get_payload_len(attr) == hop->size)
			memcpy(hop->address, mnl_attr_get_payload(attr), hop->size);
		/* A local address is routed over lo; the link to query is the GID's own. */
		if (mnl_attr_get_type(attr) == RTA_OIF && !hop->local)
			hop->ifindex = (int)mnl_attr_get_u32(attr);
	}
	return MNL_CB_OK;
}

static int route_ask(struct hop *hop)
{
	char buffer[512];
	struct nlmsghdr *msg = mnl_nlmsg_put_header(buffer);
	struct rtmsg *route;

	msg->nlmsg_type = RTM_GETROUTE;
	route = mnl_nlmsg_put_extra_header(msg, sizeof(*route));
	route->rtm_family = (unsigned char)hop->family;
	route->rtm_dst_len = (unsigned char)(hop->size * 8);
	mnl_attr_put(msg, RTA_DST, hop->size, hop->address);
	if (hop->ifindex)
		mnl_attr_put_u32(msg, RTA_OIF, (uint32_t)hop->ifindex);
	return ask(hop, msg, route_found);
}

static uint16_t vlan_of(const struct nlattr *info)
{
	const struct nlattr *attr, *data;
	bool vlan = false;

	mnl_attr_for_each_nested(attr, info) {
		if (mnl_attr_get_type(attr) == IFLA_INFO_KIND)
			vlan = !strcmp(mnl_attr_get_str(attr), "vlan");
		if (mnl_attr_get_type(attr) != IFLA_INFO_DATA || !vlan)
			continue;
		mnl_attr_for_each_nested(data, attr) {
			if (mnl_attr_get_type(data) == IFLA_VLAN_ID)
				return mnl_attr_get_u16(data);
		}
	}
	return NO_VLAN;
}

static int link_found(const struct nlmsghdr *msg, void *data)
{
	const struct nlattr *attr;
	struct hop *hop = data;

	mnl_attr_for_each(attr, msg, sizeof(struct ifinfomsg)) {
		if (mnl_attr_get_type(attr) == IFLA_ADDRESS && hop->local &&
		    mnl_attr_get_payload_len(attr) == MAC_SIZE) {
			memcpy(hop->mac, mnl_attr_get_payload(attr), MAC_SIZE);
			hop->found = true;
		}
		if (mnl_attr_get_type(attr) == IFLA_LINKINFO)
			hop->vlan = vlan_of(attr);
	}
	return MNL_CB_OK;
}

/* Reads the VLAN of the link, and its Ethernet address if the GID is local. */
static int link_ask(struct hop *hop)
{
	char buffer[256];
	struct nlmsghdr *msg = mnl_nlmsg_put_header(buffer);
	struct ifinfomsg *link;

	msg->nlmsg_type = RTM_GETLINK;
	link = mnl_nlmsg_put_extra_header(msg, sizeof(*link));
	link->ifi_index = hop->ifindex;
	return ask(hop, msg, link_found);
}

static int neighbour_found(const struct nlmsghdr *msg, void *data)
{
	const struct ndmsg *neighbour = mnl_nlmsg_get_payload(msg);
	const struct nlattr *attr;
	struct hop *hop = data;

	if (!(neighbour->ndm_state & NEIGHBOUR_KNOWN))
		return MNL_CB_OK;
	mnl_attr_for_each(attr, msg, sizeof(*neighbour)) {
		if (mnl_attr_get_type(attr) != NDA_LLADDR ||
		    mnl_attr_get_payload_len(attr) != MAC_SIZE)
			continue;
		memcpy(hop->mac, mnl_attr_get_payload(attr), MAC_SIZE);
		hop->found = true;
	}
	return MNL_CB_OK;
}

static void neighbour_ask(struct hop *hop)
{
	char buffer[256];
	struct nlmsghdr *msg = mnl_nlmsg_put_header(buffer);
	struct ndmsg *neighbour;

	msg->nlmsg_type = RTM_GETNEIGH;
	neighbour = mnl_nlmsg_put_extra_header(msg, sizeof(*neighbour));
	neighbour->ndm_family = (unsigned char)hop->family;
	neighbour->ndm_ifindex = hop->ifindex;
	mnl_attr_put(msg, NDA_DST, hop->size, hop->address);
	/* An error means that the neighbour is not known yet; neighbour_wait() asks again. */
	ask(hop, msg, neighbour_found);
}

/* Sends an empty datagram, which makes the kernel resolve the neighbour. */
static void neighbour_wake(const struct hop *hop)
{
	struct sockaddr_in6 v6 = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(DISCARD_PORT),
		.sin6_scope_id = (uint32_t)hop->ifindex,
	};
	struct sockaddr_in v4 = {
		.sin_family = AF_INET,
		.sin_port = htons(DISCARD_PORT),
	};
	bool is_v4 = hop->family == AF_INET;
	int fd = socket(hop->family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return;
	memcpy(&v4.sin_addr, hop->address, sizeof(v4.sin_addr));
	memcpy(&v6.sin6_addr, hop->address, sizeof(v6.sin6_addr));
	sendto(fd, NULL, 0, 0, is_v4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6,
	       is_v4 ? sizeof(v4) : sizeof(v6));
	close(fd);
}

static int neighbour_wait(struct hop *hop)
{
	const struct timespec step = { .tv_nsec = WAIT_STEP_MS * 1000000L };
	int waited;

	for (waited = 0; waited < WAIT_MS; waited += WAIT_STEP_MS) {
		neighbour_ask(hop);
		if (hop->found)
			return 0;
		if (!waited)
			neighbour_wake(hop);
		nanosleep(&step, NULL);
	}
	return EHOSTUNREACH;
}

static int hop_resolve(struct hop *hop)
{
	int err;

	if (multicast_mac(hop))
		return link_ask(hop);
	err = route_ask(hop);
	if (!err)
		err = link_ask(hop);
	if (err || hop->found)
		return err;
	return neighbour_wait(hop);
}

static int hop_open(struct hop *hop, struct ibv_context *context, const struct ibv_ah_attr *attr)
{
	struct ibv_gid_entry source;
	int err = _ibv_query_gid_ex(context, attr->port_num, attr->grh.sgid_index, &source, 0,
				    sizeof(source));

	if (err)
		return err;
	hop->vlan = NO_VLAN;
	hop->ifindex = (int)source.ndev_ifindex;
	hop->size = address_from_gid(hop->address, &hop->family, &attr->grh.dgid);
	hop->socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!hop->socket)
		return errno;
	return mnl_socket_bind(hop->socket, 0, MNL_SOCKET_AUTOPID) < 0 ? errno : 0;
}

/* Returns 0 or a negative errno value, as in rdma-core. */
UNIV_EXPORT int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
					    uint8_t eth_mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
	struct hop hop = {};
	int err = hop_open(&hop, context, attr);

	if (!err)
		err = hop_resolve(&hop);
	if (hop.socket)
		mnl_socket_close(hop.socket);
	if (err)
		return -univ_fail_no_route(VERB, err);
	memcpy(eth_mac, hop.mac, sizeof(hop.mac));
	if (vid)
		*vid = hop.vlan;
	return 0;
}
