// SPDX-License-Identifier: GPL-2.0
/*
 * Ethernet addresses and VLANs of GIDs, as ibv_resolve_eth_l2_from_gid() finds them in the kernel's
 * routes, neighbours and links. The program adds some of these to the net device below the device.
 */
#include <net/if.h>
#include "testlib.h"
#include <univerbs.h>

/* The Ethernet address of a group has the lower 23 bits of an IPv4 address, or 32 bits of IPv6. */
static void groups(void)
{
	static const struct {
		union ibv_gid gid;
		uint8_t mac[6];
	} all[] = {
		{ { { [10] = 0xff, 0xff, 239, 0x81, 2, 3 } }, { 1, 0, 0x5e, 1, 2, 3 } },
		{ { { 0xff, 0x0e, [10] = 0xff, 0xff, 224, 0xff, 4, 5 } }, { 1, 0, 0x5e, 0x7f, 4, 5 } },
		{ { { 0xff, 2, [12] = 0xff, 0x81, 2, 3 } }, { 0x33, 0x33, 0xff, 0x81, 2, 3 } },
	};
	struct ibv_ah_attr attr;
	struct test_dev dev;
	uint8_t mac[6];

	dev_open(&dev);
	ah_attr_to(&dev, &attr);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		attr.grh.dgid = all[i].gid;
		memset(mac, 0xa5, sizeof(mac));
		CHECK_ERR(ibv_resolve_eth_l2_from_gid(dev.ctx, &attr, mac, NULL), 0);
		CHECK(!memcmp(mac, all[i].mac, sizeof(mac)), "group %zu: %02x:%02x:%02x:%02x:%02x:%02x",
		      i, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
	}
	dev_close(&dev);
}

/* Run ip(8). In @arguments, $netdev is the net device below the first port. */
static void ip(const struct test_dev *dev, const char *arguments)
{
	char command[256], name[IF_NAMESIZE];
	struct ibv_gid_entry gid;

	NEED_OK(ibv_query_gid_ex(dev->ctx, PORT, dev->gid_index, &gid, 0));
	NEED(if_indextoname(gid.ndev_ifindex, name), "no net device %u", gid.ndev_ifindex);
	snprintf(command, sizeof(command), "netdev=%s; ip %s", name, arguments);
	NEED(!system(command), "%s", command);
}

/* The Ethernet address of a host behind a gateway, 198.51.100.9, is that of the gateway. */
static void gateway(void)
{
	static const uint8_t host[] = { 198, 51, 100, 9 };
	static const uint8_t want[6] = { 2, 0, 0x5e, 0x10, 0, 7 };
	struct ibv_ah_attr attr;
	struct test_dev dev;
	uint8_t mac[6] = { 0 };

	dev_open(&dev);
	ip(&dev, "neigh replace 192.0.2.77 lladdr 02:00:5e:10:00:07 nud permanent dev $netdev");
	ip(&dev, "route replace 198.51.100.0/24 via 192.0.2.77 dev $netdev onlink");
	ah_attr_to(&dev, &attr);
	memcpy(&attr.grh.dgid.raw[12], host, sizeof(host));
	CHECK_ERR(ibv_resolve_eth_l2_from_gid(dev.ctx, &attr, mac, NULL), 0);
	CHECK(!memcmp(mac, want, sizeof(mac)), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
	      mac[3], mac[4], mac[5]);
	ip(&dev, "route del 198.51.100.0/24 dev $netdev");
	ip(&dev, "neigh del 192.0.2.77 dev $netdev");
	dev_close(&dev);
}

/* An address of a VLAN interface is reached with the tag of the VLAN. */
static void vlan(void)
{
	static const union ibv_gid gid = { { [10] = 0xff, 0xff, 192, 0, 2, 1 } };
	struct ibv_ah_attr attr;
	struct test_dev dev;
	uint8_t mac[6] = { 0 };
	uint16_t vid = 0;

	dev_open(&dev);
	ip(&dev, "link add link $netdev name test-vlan type vlan id 77");
	ip(&dev, "addr add 192.0.2.1/24 dev test-vlan");
	ip(&dev, "link set test-vlan up");
	ah_attr_to(&dev, &attr);
	attr.grh.dgid = gid;
	attr.grh.sgid_index = (uint8_t)gid_index_of(&dev, &gid);
	CHECK_ERR(ibv_resolve_eth_l2_from_gid(dev.ctx, &attr, mac, &vid), 0);
	CHECK(vid == 77, "VLAN %u", vid);
	ip(&dev, "link del test-vlan");
	dev_close(&dev);
}

/* No host answers for this address of the network, and then there is no such GID to send from. */
static void nobody(void)
{
	struct ibv_ah_attr attr;
	struct test_dev dev;
	uint8_t mac[6];
	int empty;

	dev_open(&dev);
	ah_attr_to(&dev, &attr);
	attr.grh.dgid.raw[15] = 254;
	CHECK_ERR(ibv_resolve_eth_l2_from_gid(dev.ctx, &attr, mac, NULL), -EHOSTUNREACH);
	CHECK(why_reason() == UNIV_REASON_NO_ROUTE, "explained as: %s", why_text());
	attr.grh.sgid_index = 255;
	empty = dev.port.gid_tbl_len > 255 ? ENODATA : EINVAL;
	CHECK_ERR(ibv_resolve_eth_l2_from_gid(dev.ctx, &attr, mac, NULL), -empty);
	dev_close(&dev);
}

static const struct test_case cases[] = {
	{ "groups", groups },
	{ "gateway", gateway },
	{ "vlan", vlan },
	{ "nobody", nobody },
};

TEST_MAIN("neighbours", cases, 60)
