// SPDX-License-Identifier: GPL-2.0
/*
 * Processes that may not create netlink sockets, because of a seccomp filter such as that of
 * systemd's RestrictAddressFamilies=. The library then finds devices in sysfs.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "testlib.h"

/* The low half of the first argument of the system call. */
#define FAMILY (offsetof(struct seccomp_data, args) + \
		(__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0))

/* From now on socket(AF_NETLINK) fails with @err. */
static void bar_netlink(int err)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FAMILY),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = ARRAY_SIZE(code), .filter = code };

	NEED(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	     !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "%s", err_name(errno));
	NEED(socket(AF_NETLINK, SOCK_RAW, 0) < 0 && errno == err, "a netlink socket: %s",
	     err_name(errno));
}

/* A filter stays for the rest of the process, so each runs in a child. */
static void in_child(int err, void (*run)(int err))
{
	int status, before = test_failures;
	pid_t child = fork();

	NEED(child >= 0, "fork: %s", err_name(errno));
	if (!child) {
		run(err);
		/* Not _exit(): a library that counts lines writes its counters now. */
		exit(test_failures != before);
	}
	NEED(waitpid(child, &status, 0) == child, "%s", err_name(errno));
	CHECK(!status, "with %s: status %#x", err_name(err), status);
}

/* The properties of a device that a program sees. */
struct seen {
	char name[64], dev_name[64], dev_path[256], ibdev_path[256];
	__be64 guid;
	int node_type, transport;
};

#define MOST 16

static int look(struct seen *seen, int *index)
{
	struct ibv_device **list;
	int count = -1;

	errno = 0;
	list = ibv_get_device_list(&count);
	NEED(list, "ibv_get_device_list: %s; %s", err_name(errno), why_text());
	CHECK(!errno, "a list, with errno %s", err_name(errno));
	memset(seen, 0, MOST * sizeof(*seen));
	for (int i = 0; i < count && i < MOST; i++) {
		snprintf(seen[i].name, sizeof(seen[i].name), "%s", ibv_get_device_name(list[i]));
		snprintf(seen[i].dev_name, sizeof(seen[i].dev_name), "%s", list[i]->dev_name);
		snprintf(seen[i].dev_path, sizeof(seen[i].dev_path), "%s", list[i]->dev_path);
		snprintf(seen[i].ibdev_path, sizeof(seen[i].ibdev_path), "%s",
			 list[i]->ibdev_path);
		seen[i].guid = ibv_get_device_guid(list[i]);
		seen[i].node_type = (int)list[i]->node_type;
		seen[i].transport = (int)list[i]->transport_type;
		index[i] = ibv_get_device_index(list[i]);
	}
	ibv_free_device_list(list);
	return count < MOST ? count : MOST;
}

static const struct seen *find(const struct seen *seen, int count, const char *name)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(seen[i].name, name))
			return &seen[i];
	return NULL;
}

/* Shared with the child, which fills it. */
static struct {
	struct seen seen[MOST];
	int index[MOST], count;
} *barred;

static void look_barred(int err)
{
	bar_netlink(err);
	barred->count = look(barred->seen, barred->index);
}

/* sysfs tells all but the index, for which the function then returns -1, as in rdma-core. */
static void same_devices(void)
{
	static const int errors[] = { EAFNOSUPPORT, EPERM, EACCES, ENOSYS };
	struct seen seen[MOST];
	int index[MOST], count;

	barred = mmap(NULL, sizeof(*barred), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	NEED(barred != MAP_FAILED, "mmap");
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		in_child(errors[i], look_barred);
	count = look(seen, index);
	CHECK(count > 0 && barred->count == count, "%d devices, and %d by netlink", barred->count,
	      count);
	for (int i = 0; i < barred->count; i++) {
		const struct seen *other = find(seen, count, barred->seen[i].name);

		CHECK(barred->index[i] == -1, "index %d", barred->index[i]);
		CHECK(other && !memcmp(other, &barred->seen[i], sizeof(*other)),
		      "%s differs: %s %s, GUID %#" PRIx64 ", type %d", barred->seen[i].name,
		      barred->seen[i].dev_name, barred->seen[i].dev_path,
		      (uint64_t)be64toh(barred->seen[i].guid), barred->seen[i].node_type);
	}
	munmap(barred, sizeof(*barred));
}

static void list_again(int err)
{
	struct ibv_device **before = ibv_get_device_list(NULL), **after;
	int index;

	NEED(before && *before, "no list");
	index = ibv_get_device_index(*before);
	bar_netlink(err);
	after = ibv_get_device_list(NULL);
	NEED(after, "ibv_get_device_list: %s", err_name(errno));
	for (int i = 0; before[i]; i++) {
		int k = 0;

		while (after[k] && after[k] != before[i])
			k++;
		CHECK(after[k], "%s has another address", ibv_get_device_name(before[i]));
	}
	CHECK(ibv_get_device_index(*before) == index, "the index became %d",
	      ibv_get_device_index(*before));
	ibv_free_device_list(before);
	ibv_free_device_list(after);
}

/* A device keeps its address, and the index that netlink told. */
static void same_addresses(void)
{
	in_child(EAFNOSUPPORT, list_again);
}

static void use(int err)
{
	struct pair p;

	bar_netlink(err);
	pair_open(&p, NULL);
	CHECK(pair_works(&p), "the pair does not work");
	pair_close(&p);
	pair_open(&p, &(struct pair_want) { .type = IBV_QPT_UD });
	CHECK(pair_works(&p), "datagrams do not work");
	pair_close(&p);
}

static void usable(void)
{
	in_child(EAFNOSUPPORT, use);
}

static void list_without_sysfs(int err)
{
	int count = -1;

	setenv("SYSFS_PATH", "/nowhere", 1);
	bar_netlink(err);
	errno = 0;
	CHECK(!ibv_get_device_list(&count) && errno == err && !count, "%s, %d devices",
	      err_name(errno), count);
	CHECK(why().err == err, "explained as: %s", why_text());
}

/* Without sysfs as well, the error is netlink's. */
static void neither(void)
{
	in_child(EAFNOSUPPORT, list_without_sysfs);
	in_child(EPERM, list_without_sysfs);
}

/* A process without free descriptors gets that error. */
static void no_fallback(void)
{
	in_child(EMFILE, list_without_sysfs);
}

static const struct test_case cases[] = {
	{ "neither", neither },
	{ "no_fallback", no_fallback },
	{ "same_devices", same_devices },
	{ "same_addresses", same_addresses },
	{ "usable", usable },
};

TEST_MAIN("no_netlink", cases, 30)
