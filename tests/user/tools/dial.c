// SPDX-License-Identifier: GPL-2.0
/*
 * Connects many times at once between link-local addresses, through rdma_cm. All connections have
 * the same IPv6 flow label, so their requests are one flow of packets. No queue pairs are behind
 * them.
 *   dial COUNT ADDRESS NETDEV			accepts the connections
 *   dial COUNT ADDRESS NETDEV PEER		requests the connections, and fails unless PEER
 *						accepts all of them
 */
#include "testlib.h"
#include <arpa/inet.h>
#include <net/if.h>
#include <rdma/rdma_user_cm.h>

#define SERVICE	7500
#define LABEL	0x12345
#define MOST	64
#define WAIT_MS	WC_TIMEOUT
#define UID	1	/* The kernel reports no events of an id without a name. */

/* enum rdma_cm_event_type of the kernel; its headers for programs lack it. */
enum { ADDR_RESOLVED, ROUTE_RESOLVED = 2, CONNECT_REQUEST = 4, CONNECT_RESPONSE = 5 };

/*
 * The first number of this process. The connection manager refuses a number for some time after
 * its connection has ended.
 */
#define FIRST_QPN (0x800000 | (getpid() & 0x1ffff) * MOST)

static int fd;
static unsigned int count;

static void command(uint32_t cmd, const void *body, size_t size, size_t out)
{
	struct {
		struct rdma_ucm_cmd_hdr hdr;
		char body[sizeof(struct rdma_ucm_accept)];	/* The longest one. */
	} whole = { .hdr = { .cmd = cmd, .in = size, .out = out } };
	ssize_t len = sizeof(whole.hdr) + size;

	memcpy(whole.body, body, size);
	NEED(write(fd, &whole, len) == len, "command %u of rdma_cm: %s", cmd, err_name(errno));
}

static uint32_t create(void)
{
	struct rdma_ucm_create_id_resp resp;
	struct rdma_ucm_create_id create = {
		.uid = UID, .response = (uintptr_t)&resp, .ps = RDMA_PS_TCP, .qp_type = IBV_QPT_RC };

	command(RDMA_USER_CM_CMD_CREATE_ID, &create, sizeof(create), sizeof(resp));
	return resp.id;
}

/* Wait for the next event. */
static struct rdma_ucm_event_resp next(void)
{
	struct rdma_ucm_event_resp event;
	struct rdma_ucm_get_event get = { .response = (uintptr_t)&event };

	command(RDMA_USER_CM_CMD_GET_EVENT, &get, sizeof(get), sizeof(event));
	return event;
}

static struct sockaddr_in6 address(const char *text, const char *netdev, uint16_t port)
{
	struct sockaddr_in6 addr = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(port),
		.sin6_flowinfo = port ? 0 : htonl(LABEL),
		.sin6_scope_id = if_nametoindex(netdev),
	};

	NEED(inet_pton(AF_INET6, text, &addr.sin6_addr) == 1 && addr.sin6_scope_id,
	     "no such address: %s%%%s", text, netdev);
	return addr;
}

static void accept_one(uint32_t id, unsigned int n)
{
	struct rdma_ucm_accept accept = {
		.uid = UID, .id = id, .conn_param = { .qp_num = FIRST_QPN + n, .valid = 1 } };

	command(RDMA_USER_CM_CMD_ACCEPT, &accept, sizeof(accept), 0);
}

/* Accept all connections, and wait until they have ended. */
static void serve(const struct sockaddr_in6 *self)
{
	struct rdma_ucm_bind bind = { .id = create(), .addr_size = sizeof(*self) };
	struct rdma_ucm_listen listen = { .id = bind.id, .backlog = MOST };
	unsigned int accepted = 0, ended = 0;

	memcpy(&bind.addr, self, sizeof(*self));
	command(RDMA_USER_CM_CMD_BIND, &bind, sizeof(bind), 0);
	command(RDMA_USER_CM_CMD_LISTEN, &listen, sizeof(listen), 0);
	while (ended < count) {
		struct rdma_ucm_event_resp event = next();

		if (event.event == CONNECT_REQUEST)
			accept_one(event.id, accepted++);
		else
			ended++;
	}
	CHECK(accepted == count, "%u of %u connections were requested", accepted, count);
}

/* Wait for this event of each connection. */
static void expect(uint32_t wanted)
{
	unsigned int n;

	for (n = 0; n < count; n++) {
		struct rdma_ucm_event_resp event = next();

		NEED(event.event == wanted, "event %u (status %d) instead of %u, as event %u",
		     event.event, (int)event.status, wanted, n + 1);
	}
}

static void request(const struct sockaddr_in6 *self, const struct sockaddr_in6 *peer)
{
	struct rdma_ucm_resolve_addr resolve = {
		.timeout_ms = WAIT_MS, .src_size = sizeof(*self), .dst_size = sizeof(*peer) };
	uint32_t id[MOST];
	unsigned int n;

	memcpy(&resolve.src_addr, self, sizeof(*self));
	memcpy(&resolve.dst_addr, peer, sizeof(*peer));
	for (n = 0; n < count; n++) {
		id[n] = create();
		resolve.id = id[n];
		command(RDMA_USER_CM_CMD_RESOLVE_ADDR, &resolve, sizeof(resolve), 0);
	}
	expect(ADDR_RESOLVED);
	for (n = 0; n < count; n++) {
		struct rdma_ucm_resolve_route route = { .id = id[n], .timeout_ms = WAIT_MS };

		command(RDMA_USER_CM_CMD_RESOLVE_ROUTE, &route, sizeof(route), 0);
	}
	expect(ROUTE_RESOLVED);
	for (n = 0; n < count; n++) {
		struct rdma_ucm_connect connect = {
			.id = id[n], .conn_param = { .qp_num = FIRST_QPN + n, .valid = 1 } };

		command(RDMA_USER_CM_CMD_CONNECT, &connect, sizeof(connect), 0);
	}
	expect(CONNECT_RESPONSE);
}

int main(int argc, char **argv)
{
	struct sockaddr_in6 self, peer;

	test_program = "dial";
	test_now = "dial";
	NEED(argc == 4 || argc == 5, "usage: dial COUNT ADDRESS NETDEV [PEER]");
	count = atoi(argv[1]);
	NEED(count && count <= MOST, "count: at most %d", MOST);
	fd = open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC);
	NEED(fd >= 0, "rdma_cm: %s", err_name(errno));
	self = address(argv[2], argv[3], argc == 5 ? 0 : SERVICE);
	if (argc == 4) {
		serve(&self);
	} else {
		peer = address(argv[4], argv[3], SERVICE);
		request(&self, &peer);
	}
	close(fd);
	return test_failures ? 1 : 0;
}
