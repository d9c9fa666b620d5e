// SPDX-License-Identifier: GPL-2.0
/* adv26. The link goes down and up again under an open context: port events arrive in order. */
#include <net/if.h>
#include <sys/socket.h>
#include "events.h"
#include "testlib.h"

static void link_set(const char *name, bool up)
{
	struct ifreq req = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
	NEED(!ioctl(fd, SIOCGIFFLAGS, &req), "SIOCGIFFLAGS %s: %s", name, err_name(errno));
	if (up)
		req.ifr_flags |= IFF_UP;
	else
		req.ifr_flags &= ~IFF_UP;
	NEED(!ioctl(fd, SIOCSIFFLAGS, &req), "SIOCSIFFLAGS %s: %s", name, err_name(errno));
	close(fd);
}

static void down_and_up(void)
{
	char name[IF_NAMESIZE];
	struct ibv_port_attr port;
	struct ibv_gid_entry gid;
	struct test_dev a, b;

	dev_open(&a);
	dev_open(&b);
	NEED_OK(ibv_query_gid_ex(a.ctx, PORT, a.gid_index, &gid, 0));
	NEED(if_indextoname(gid.ndev_ifindex, name), "if_indextoname: %s", err_name(errno));
	link_set(name, false);
	want_async(a.ctx, IBV_EVENT_PORT_ERR, NULL);
	want_async(b.ctx, IBV_EVENT_PORT_ERR, NULL);
	NEED_OK(ibv_query_port(a.ctx, PORT, &port));
	CHECK(port.state != IBV_PORT_ACTIVE, "the port is still active");
	link_set(name, true);
	want_async(a.ctx, IBV_EVENT_PORT_ACTIVE, NULL);
	want_async(b.ctx, IBV_EVENT_PORT_ACTIVE, NULL);
	NEED_OK(ibv_query_port(a.ctx, PORT, &port));
	CHECK(port.state == IBV_PORT_ACTIVE, "port state %d", port.state);
	dev_close(&b);
	dev_close(&a);
}

static const struct test_case cases[] = {
	{ "down_and_up", down_and_up },
};

TEST_MAIN("port_events (adv26)", cases, 30)
