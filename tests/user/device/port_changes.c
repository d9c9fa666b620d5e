// SPDX-License-Identifier: GPL-2.0
/*
 * adv26. While a queue pair has traffic, its address is removed and added again, the MTU
 * shrinks and grows, and the link flaps. The traffic continues or ends with an error
 * completion, all objects can be destroyed, and after the change is undone a new queue pair
 * works.
 */
#include <net/if.h>
#include "testlib.h"

#define ROUND_MS (15000 * test_slowness())

struct traffic {
	struct pair p;
	_Atomic unsigned long rounds;
	_Atomic bool stop;
	_Atomic int posting;	/* Errno of a refused post. */
	bool silent;		/* Neither a success nor an error in time. */
	_Atomic enum ibv_wc_status status;
};

/* Send one message and poll both completions; return false if that was the last one. */
static bool traffic_round(struct traffic *t)
{
	struct ibv_wc wc;

	t->posting = post_recv_at(&t->p, 1, t->rounds, 8192, 6000);
	if (!t->posting)
		t->posting = post_send_at(&t->p, 0, t->rounds, 0, 6000, IBV_SEND_SIGNALED);
	if (t->posting)
		return false;
	for (int i = 0; i < 2; i++) {
		uint64_t end = deadline_ms(ROUND_MS);
		int n;

		do {
			n = ibv_poll_cq(t->p.cq[i], 1, &wc);
		} while (!n && now_ns() < end);
		t->silent = !n;
		t->status = n == 1 ? wc.status : IBV_WC_GENERAL_ERR;
		if (t->status != IBV_WC_SUCCESS)
			return false;
	}
	return true;
}

static void *traffic(void *arg)
{
	struct traffic *t = arg;

	while (!t->stop && traffic_round(t))
		t->rounds++;
	return NULL;
}

static void run(const char *command, const char *dev)
{
	char text[512];
	int status;

	snprintf(text, sizeof(text), "DEV=%s; %s", dev, command);
	status = system(text);
	NEED(!status, "%s: status %#x", text, status);
}

static void netdev_name(struct test_dev *dev, char *name)
{
	struct ibv_gid_entry gid;

	NEED_OK(ibv_query_gid_ex(dev->ctx, PORT, dev->gid_index, &gid, 0));
	NEED(if_indextoname(gid.ndev_ifindex, name), "if_indextoname: %s", err_name(errno));
}

/* Wait until the port is active and has its GID again; the kernel's workers may be late. */
static void port_comes_back(void)
{
	uint64_t end = deadline_ms(WC_TIMEOUT);
	struct test_dev dev;

	/* This waits for the GID. */
	dev_open(&dev);
	while (dev.port.state != IBV_PORT_ACTIVE && now_ns() < end) {
		sleep_ms(10);
		NEED_OK(ibv_query_port(dev.ctx, PORT, &dev.port));
	}
	CHECK(dev.port.state == IBV_PORT_ACTIVE, "port state %d", dev.port.state);
	dev_close(&dev);
}

/* Send one message over a new pair. */
static void new_pair_works(void)
{
	struct traffic t = { 0 };

	port_comes_back();
	pair_open(&t.p, NULL);
	CHECK(traffic_round(&t), "a new pair does not work: post %s, status %d", err_name(t.posting),
	      t.status);
	pair_close(&t.p);
}

/*
 * Wait until the kernel has removed the GID of an address that is gone. Otherwise it might do so
 * when the address is back already, below a new pair.
 */
static void gid_goes(struct test_dev *dev)
{
	uint64_t end = deadline_ms(WC_TIMEOUT);
	union ibv_gid gid;

	while (gid_look(dev->ctx, dev->port.gid_tbl_len, &gid) >= 0 && now_ns() < end)
		sleep_ms(10);
}

/* Run @change under traffic, and @back after a moment. The port loses its GID if @no_gid. */
static void changed(const char *change, const char *back, bool no_gid)
{
	struct pair_want want = { .retry_cnt = 7, .timeout = 14 };
	struct traffic *t = calloc(1, sizeof(*t));
	char name[IF_NAMESIZE];
	pthread_t thread;

	NEED(t, "calloc");
	pair_open(&t->p, &want);
	netdev_name(&t->p.dev, name);
	NEED(!pthread_create(&thread, NULL, traffic, t), "pthread_create");
	while (t->rounds < 20 && !t->status && !t->posting)
		sleep_ms(1);
	CHECK(t->rounds >= 20, "no traffic to begin with: status %d", t->status);
	run(change, name);
	if (no_gid)
		gid_goes(&t->p.dev);
	sleep_ms(300);
	run(back, name);
	sleep_ms(300);
	t->stop = true;
	NEED(!pthread_join(thread, NULL), "pthread_join");
	CHECK(!t->silent, "neither a completion nor an error in %d ms", ROUND_MS);
	printf("%lu rounds, then status %d, post %s\n", t->rounds, t->status, err_name(t->posting));
	pair_close(&t->p);
	free(t);
	new_pair_works();
}

#define LIST	"ip -o addr show dev $DEV scope global | awk '{ print $3, $4 }' >/run/port_changes"
#define FLUSH	"ip addr flush dev $DEV scope global"

static void address(void)
{
	changed(LIST " && ip -4 addr flush dev $DEV",
		"ip addr add $(awk '$1 == \"inet\" { print $2 }' /run/port_changes) dev $DEV && sleep 1",
		true);
}

static void every_address(void)
{
	changed(LIST " && " FLUSH,
		"while read -r family a; do ip addr add $a dev $DEV || exit; done </run/port_changes; sleep 1",
		true);
}

static void mtu(void)
{
	changed("ip link set $DEV mtu 600", "ip link set $DEV mtu 4200", false);
}

static void link_flaps(void)
{
	changed("for i in 1 2 3; do ip link set $DEV down && ip link set $DEV up || exit; done;"
		" ip link set $DEV down",
		"ip link set $DEV up && sleep 1", false);
}

static const struct test_case cases[] = {
	{ "address", address },
	{ "mtu", mtu },
	{ "link_flaps", link_flaps },
	{ "every_address", every_address },
};

TEST_MAIN("port_changes (adv26)", cases, 60)
