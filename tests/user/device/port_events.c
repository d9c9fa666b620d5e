// SPDX-License-Identifier: GPL-2.0
/* adv26. The link goes down and up again under an open context: port events arrive in order. */
#include <net/if.h>
#include <sys/socket.h>
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

static bool event_of(struct ibv_context *ctx, enum ibv_event_type type)
{
	struct pollfd pfd = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	/* GID and LID changes may be reported in between. */
	while (poll(&pfd, 1, WC_TIMEOUT) == 1) {
		NEED_OK(ibv_get_async_event(ctx, &event));
		ibv_ack_async_event(&event);
		if (event.event_type == type) {
			CHECK(event.element.port_num == PORT, "port %d", event.element.port_num);
			return true;
		}
	}
	return false;
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
	CHECK(event_of(a.ctx, IBV_EVENT_PORT_ERR), "no IBV_EVENT_PORT_ERR");
	CHECK(event_of(b.ctx, IBV_EVENT_PORT_ERR), "no IBV_EVENT_PORT_ERR for the second context");
	NEED_OK(ibv_query_port(a.ctx, PORT, &port));
	CHECK(port.state != IBV_PORT_ACTIVE, "the port is still active");
	link_set(name, true);
	CHECK(event_of(a.ctx, IBV_EVENT_PORT_ACTIVE), "no IBV_EVENT_PORT_ACTIVE");
	CHECK(event_of(b.ctx, IBV_EVENT_PORT_ACTIVE), "none for the second context");
	NEED_OK(ibv_query_port(a.ctx, PORT, &port));
	CHECK(port.state == IBV_PORT_ACTIVE, "port state %d", port.state);
	dev_close(&b);
	dev_close(&a);
}

static const struct test_case cases[] = {
	{ "down_and_up", down_and_up },
};

TEST_MAIN("port_events (adv26)", cases, 30)
