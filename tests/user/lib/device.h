/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The device under test: its name, driver, GID and node. UNIV_TEST_DEVICE names the device.
 */
#ifndef DEVICE_H
#define DEVICE_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <infiniband/verbs.h>
#include "check.h"
#include "clock.h"
#include "lasterror.h"

#define PORT 1

struct test_dev {
	struct ibv_context *ctx;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	union ibv_gid gid;
	int gid_index;
};

static MAYBE_UNUSED const char *dev_wanted(void)
{
	const char *name = getenv("UNIV_TEST_DEVICE");

	return name ? name : "rxe0";
}

/* Return true if uroce uses packets within a host too. A peer cannot send a reason in a packet. */
static MAYBE_UNUSED bool by_packets(void)
{
	FILE *f = fopen("/sys/module/uroce/parameters/local", "r");
	bool local = !f || strchr("1Y", fgetc(f));

	if (f)
		fclose(f);
	return !local;
}

/* Let queue pairs of uroce that are connected from now on send packets, as to another host. */
static MAYBE_UNUSED void use_packets(bool packets)
{
	int fd = open("/sys/module/uroce/parameters/local", O_WRONLY);

	NEED(fd >= 0 && write(fd, packets ? "0" : "1", 1) == 1, "parameter local: %s",
	     err_name(errno));
	close(fd);
}

/* Read the first word of a file; empty if there is none. */
static MAYBE_UNUSED void first_word(const char *path, char word[64])
{
	FILE *f = fopen(path, "r");

	if (!f || fscanf(f, "%63s", word) != 1)
		word[0] = 0;
	if (f)
		fclose(f);
}

/*
 * The driver of the device under test: a software device names it in its description, and a
 * PCI device links to it. It is read from the device and not from UNIV_LINK, since scripts
 * create devices of several kinds. dev_open() reads it, because the device may go later.
 */
static MAYBE_UNUSED const char *dev_driver(void)
{
	char path[160], target[256] = "";
	static char driver[64];

	if (driver[0])
		return driver;
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/node_desc", dev_wanted());
	first_word(path, driver);
	if (driver[0])
		return driver;
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device/driver", dev_wanted());
	NEED(readlink(path, target, sizeof(target) - 1) > 0, "%s has no driver in sysfs",
	     dev_wanted());
	snprintf(driver, sizeof(driver), "%.63s", strrchr(target, '/') + 1);
	return driver;
}

static MAYBE_UNUSED bool on_uroce(void)
{
	return !strcmp(dev_driver(), "uroce");
}

static MAYBE_UNUSED bool on_rxe(void)
{
	return !strcmp(dev_driver(), "rxe");
}

/* uroce fails with the status of the specification, and rdma_rxe often with another one. */
static MAYBE_UNUSED bool failed_as(enum ibv_wc_status got, enum ibv_wc_status status,
				   enum ibv_wc_status other)
{
	return got == status || (got == other && !on_uroce());
}

static MAYBE_UNUSED bool kernel_since(int major, int minor)
{
	int has_major, has_minor;
	struct utsname u;

	return !uname(&u) && sscanf(u.release, "%d.%d", &has_major, &has_minor) == 2 &&
	       (has_major > major || (has_major == major && has_minor >= minor));
}

static MAYBE_UNUSED bool rxe_since(int major, int minor)
{
	return on_rxe() && kernel_since(major, minor);
}

/*
 * The rdma_rxe of later kernels uses work queues. On 6.12, also with the stock stack, a
 * request with a wrong local key completes as flushed, and more than 4 GiB cannot be
 * registered.
 */
static MAYBE_UNUSED bool later_rxe(void)
{
	return rxe_since(6, 2);
}

/*
 * Kernel verbs no longer support resizing a completion queue, and the core cannot move a ring
 * below a device that writes it.
 */
static MAYBE_UNUSED bool no_resize(void)
{
	return rxe_since(7, 2) || !strcmp(dev_driver(), "upci");
}

static MAYBE_UNUSED struct ibv_context *dev_open_named(const char *name)
{
	struct ibv_device **list, **d;
	struct ibv_context *ctx = NULL;
	int n = 0;

	list = ibv_get_device_list(&n);
	if (!list)
		return NULL;
	errno = ENODEV;
	for (d = list; *d && !ctx; d++)
		if (!strcmp(ibv_get_device_name(*d), name))
			ctx = ibv_open_device(*d);
	ibv_free_device_list(list);
	return ctx;
}

static MAYBE_UNUSED bool gid_is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

/* Return whether @gid is among @names, which are written as in sysfs. */
static MAYBE_UNUSED bool gid_is_named(const union ibv_gid *gid, const char *names)
{
	char name[40];

	for (int i = 0; i < 8; i++)
		sprintf(name + 5 * i, "%02x%02x%c", gid->raw[2 * i], gid->raw[2 * i + 1],
			i < 7 ? ':' : 0);
	return strstr(names, name);
}

static MAYBE_UNUSED bool gid_is_wanted(const union ibv_gid *gid)
{
	const char *names = getenv("UNIV_TEST_GIDS");

	return names ? gid_is_named(gid, names) : gid_is_ipv4(gid);
}

/*
 * Find a RoCEv2 GID with an IPv4 address, which on a fresh rxe has index 1, or a GID that
 * UNIV_TEST_GIDS names.
 */
static int gid_look(struct ibv_context *ctx, int entries, union ibv_gid *gid)
{
	struct ibv_gid_entry e;

	for (int i = 0; i < entries; i++) {
		if (ibv_query_gid_ex(ctx, PORT, i, &e, 0))
			continue;
		if (e.gid_type != IBV_GID_TYPE_ROCE_V2 || !gid_is_wanted(&e.gid))
			continue;
		*gid = e.gid;
		return i;
	}
	return -1;
}

/*
 * A work item of ib_core adds the GIDs of new addresses and of interfaces that came up, so
 * wait for it.
 */
static MAYBE_UNUSED int gid_find(struct ibv_context *ctx, int entries, union ibv_gid *gid)
{
	uint64_t end = now_ns() + 10000000000ull * test_slowness();
	int index;

	while ((index = gid_look(ctx, entries, gid)) < 0 && now_ns() < end)
		sleep_ms(10);
	return index;
}

/* Wait for this RoCEv2 GID, as gid_find() does. Returns its index. */
static MAYBE_UNUSED int gid_index_of(const struct test_dev *dev, const union ibv_gid *gid)
{
	uint64_t end = deadline_ms(10000 * test_slowness());
	struct ibv_gid_entry e;

	do {
		for (int i = 0; i < dev->port.gid_tbl_len; i++)
			if (!ibv_query_gid_ex(dev->ctx, PORT, i, &e, 0) &&
			    e.gid_type == IBV_GID_TYPE_ROCE_V2 && !memcmp(&e.gid, gid, sizeof(*gid)))
				return i;
		sleep_ms(10);
	} while (now_ns() < end);
	NEED(0, "no GID of the second address");
	return 0;
}

static MAYBE_UNUSED void dev_open(struct test_dev *dev)
{
	memset(dev, 0, sizeof(*dev));
	dev->ctx = dev_open_named(dev_wanted());
	NEED(dev->ctx, "cannot open %s: %s; %s", dev_wanted(), err_name(errno), why_text());
	dev_driver();
	NEED_OK(ibv_query_device(dev->ctx, &dev->attr));
	NEED_OK(ibv_query_port(dev->ctx, PORT, &dev->port));
	/* A port with a LID needs no GID. */
	if (dev->port.lid) {
		NEED_OK(ibv_query_gid(dev->ctx, PORT, 0, &dev->gid));
		return;
	}
	dev->gid_index = gid_find(dev->ctx, dev->port.gid_tbl_len, &dev->gid);
	NEED(dev->gid_index >= 0, "none of the %d GIDs is of RoCEv2 and %s",
	     dev->port.gid_tbl_len, getenv("UNIV_TEST_GIDS") ?: "has an IPv4 address");
}

static MAYBE_UNUSED void dev_close(struct test_dev *dev)
{
	CHECK_ERR(ibv_close_device(dev->ctx), 0);
	dev->ctx = NULL;
}

/* The node of the device under test, for ioctls and mmap without the library. */
static MAYBE_UNUSED const char *node_path(void)
{
	static char path[128];
	struct ibv_device **list;

	if (path[0])
		return path;
	snprintf(path, sizeof(path), "/dev/infiniband/univerbs0");
	list = ibv_get_device_list(NULL);
	for (struct ibv_device **d = list; d && *d; d++)
		if (!strcmp(ibv_get_device_name(*d), dev_wanted()))
			snprintf(path, sizeof(path), "/dev/infiniband/%s", (*d)->dev_name);
	if (list)
		ibv_free_device_list(list);
	return path;
}

/*
 * Read a counter of port 1 of the device @dev. sysfs returns a cached value until the
 * lifespan is over, with a lifespan of 0 until the end of the tick.
 */
static MAYBE_UNUSED uint64_t hw_counter(const char *dev, const char *name)
{
	const char *const files[] = { "lifespan", name };
	unsigned long long value = 0;
	char path[2][160];
	FILE *f;

	for (int i = 0; i < 2; i++)
		snprintf(path[i], sizeof(path[i]), "/sys/class/infiniband/%s/ports/1/hw_counters/%s",
			 dev, files[i]);
	f = fopen(path[0], "w");
	NEED(f && fputs("0", f) >= 0 && !fclose(f), "%s", path[0]);
	sleep_ms(50);
	f = fopen(path[1], "r");
	NEED(f && fscanf(f, "%llu", &value) == 1, "%s", path[1]);
	fclose(f);
	return value;
}

/* The device @dev has had no receive request for @count frames or messages. */
static MAYBE_UNUSED void want_lost(const char *dev, uint64_t count)
{
	uint64_t end = deadline_ms(10000 * test_slowness()), got;

	do
		got = hw_counter(dev, "out_of_buffer");
	while (got < count && now_ns() < end);
	CHECK(got == count, "%" PRIu64 " are counted as lost, not %" PRIu64, got, count);
}

#endif
