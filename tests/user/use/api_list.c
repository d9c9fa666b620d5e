// SPDX-License-Identifier: GPL-2.0
/*
 * The list of devices while the kernel's answer is late or incomplete, or comes from a module
 * of another ABI version. The kernel may load a module before it answers, which takes time.
 */
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "ioctl.h"
#include "testlib.h"
#include <univerbs.h>

static int breaking;
static int holding;	/* Hold answers back until it is 0. */
static int held;

/* This overrides the libc function for the library's answers. A thread may be cancelled in it. */
ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t length = syscall(SYS_recvmsg, fd, msg, flags);
	const struct nlmsghdr *first = msg->msg_iov->iov_base;

	while (__atomic_load_n(&holding, __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&held, 1, __ATOMIC_RELEASE);
		sleep_ms(5);
	}
	if (breaking && length >= (ssize_t)sizeof(*first) && first->nlmsg_type == NLMSG_DONE) {
		breaking = 0;
		errno = EIO;
		return -1;
	}
	return length;
}

static uint32_t abi;	/* The version in the module's answers, if it is not 0. */
static uint32_t listed;	/* The minor number of nodes in the list, if it is not 0. */
static uint32_t opened;	/* The same for nodes that are open. */

/* The kernel's encoding of the device number @wide, with another minor number. */
static uint64_t with_minor(uint64_t wide, uint32_t number)
{
	return (wide & 0xfff00) | (number & 0xff) | (uint64_t)(number & ~0xffu) << 12;
}

/*
 * This overrides the libmnl function by which the library reads the version and the device number
 * from the list.
 */
uint64_t mnl_attr_get_u64(const struct nlattr *attr)
{
	int type = attr->nla_type & NLA_TYPE_MASK;
	uint64_t value;

	memcpy(&value, attr + 1, sizeof(value));
	if (listed && type == RDMA_NLDEV_ATTR_CHARDEV)
		return with_minor(value, listed);
	return abi && type == RDMA_NLDEV_ATTR_CHARDEV_ABI ? abi : value;
}

/* This overrides the libc function by which the library reads the device number of a node. */
int fstat64(int fd, struct stat64 *st)
{
	int ret = fstatat64(fd, "", st, AT_EMPTY_PATH);

	if (!ret && opened && S_ISCHR(st->st_mode))
		st->st_rdev = makedev(major(st->st_rdev), opened);
	return ret;
}

/* The library asks a context for the version. */
static int library_ioctl(int fd, unsigned long request, void *arg)
{
	int ret = kernel_ioctl(fd, request, arg);

	if (!ret && abi && request == UNIV_CONTEXT_QUERY)
		((struct univ_context_query *)arg)->abi_version = abi;
	return ret;
}

/*
 * The devices arrive, but the end of the list does not. The library reports exactly this
 * failure.
 */
static void broken_off(void)
{
	struct ibv_device **list;
	int count = -1;

	if (!why_known())
		return;
	breaking = 1;
	errno = 0;
	list = ibv_get_device_list(&count);
	if (breaking) {
		printf("# the end comes with the last device\n");
		breaking = 0;
		ibv_free_device_list(list);
		return;
	}
	CHECK(!list && errno == EIO && !count, "%s, %s, %d devices", list ? "a list" : "none",
	      err_name(errno), count);
	CHECK(why().err == EIO, "explained as: %s", why_text());
	list = ibv_get_device_list(&count);
	CHECK(list && count > 0, "%d devices afterwards", count);
	ibv_free_device_list(list);
}

static bool set_within(const int *flag, unsigned int ms)
{
	uint64_t end = deadline_ms(ms);

	while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE) && now_ns() < end)
		sleep_ms(5);
	return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static void *list_once(void *arg)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	ibv_free_device_list(list);
	if (arg)
		__atomic_store_n((int *)arg, !!list, __ATOMIC_RELEASE);
	return NULL;
}

/* Start a thread that asks for the list and gets its answer when @holding is 0. */
static pthread_t ask_and_wait(void)
{
	pthread_t thread;

	held = 0;
	holding = 1;
	NEED(!pthread_create(&thread, NULL, list_once, NULL), "pthread_create");
	NEED(set_within(&held, WC_TIMEOUT), "the kernel was not asked");
	return thread;
}

static struct ibv_device **devices;
static int reopened;

static void *reopen(void *arg)
{
	struct ibv_context *ctx = ibv_open_device(devices[0]);

	(void)arg;
	NEED_PTR(ctx, "open_device");
	CHECK_ERR(ibv_close_device(ctx), 0);
	__atomic_store_n(&reopened, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Open and close devices while another thread waits for the kernel's answer. */
static void opened_meanwhile(void)
{
	pthread_t asking, opening;

	if (!why_known())
		return;
	devices = ibv_get_device_list(NULL);
	NEED(devices && devices[0], "no device");
	asking = ask_and_wait();
	pthread_create(&opening, NULL, reopen, NULL);
	CHECK(set_within(&reopened, WC_TIMEOUT), "waits for the other thread");
	__atomic_store_n(&holding, 0, __ATOMIC_RELEASE);
	pthread_join(asking, NULL);
	pthread_join(opening, NULL);
	ibv_free_device_list(devices);
}

/* A thread that is cancelled while it waits for the answer holds no lock afterwards. */
static void cancelled(void)
{
	pthread_t asking, next;
	int listed = 0;

	if (!why_known())
		return;
	asking = ask_and_wait();
	pthread_cancel(asking);
	__atomic_store_n(&holding, 0, __ATOMIC_RELEASE);
	pthread_join(asking, NULL);
	pthread_create(&next, NULL, list_once, &listed);
	NEED(set_within(&listed, WC_TIMEOUT), "no list afterwards");
	pthread_join(next, NULL);
}

static void want_versions(const char *verb)
{
	struct univerbs_error e = why();

	CHECK(!strcmp(e.verb, verb) && e.err == EPROTONOSUPPORT && e.value == abi &&
	      e.bound == UNIV_ABI_VERSION && strstr(e.text, "speaks version"), "%s: %s", verb, e.text);
}

/* A module of another version is loaded after the list was made, and before another list. */
static void other_abi(void)
{
	struct ibv_device **list, **none;
	int count = -1;

	if (!why_known())
		return;
	list = ibv_get_device_list(NULL);
	NEED(list && list[0], "no device");
	abi = UNIV_ABI_VERSION + 1;
	CHECK_NULL(ibv_open_device(list[0]), EPROTONOSUPPORT);
	want_versions("ibv_open_device");
	errno = 0;
	none = ibv_get_device_list(&count);
	CHECK(none && !count && errno == EPROTONOSUPPORT, "%d devices, %s", count, err_name(errno));
	want_versions("ibv_get_device_list");
	abi = 0;
	ibv_free_device_list(none);
	ibv_free_device_list(list);
}

/* The first device of a list in which nodes have this minor number. The list is @devices. */
static struct ibv_device *device_numbered(uint32_t number)
{
	listed = number;
	devices = ibv_get_device_list(NULL);
	NEED(devices && devices[0], "no device");
	listed = 0;
	return devices[0];
}

/* The device of the list is gone, and the node of its name is that of another device. */
static void name_used_again(void)
{
	struct ibv_device *gone;

	if (!why_known())
		return;
	gone = device_numbered(0xfffff);
	CHECK_NULL(ibv_open_device(gone), ENODEV);
	CHECK(strstr(why_text(), gone->dev_name), "explained as: %s", why_text());
	ibv_free_device_list(devices);
}

/* The kernel encodes minor numbers above 255 in another place. */
static void high_numbers(void)
{
	static const uint32_t numbers[] = { 255, 256, 300, 1023, 0xfffff };
	struct ibv_context *ctx;

	if (!why_known())
		return;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		opened = numbers[i];
		ctx = ibv_open_device(device_numbered(numbers[i]));
		CHECK(ctx, "device number %u: %s; %s", numbers[i], err_name(errno), why_text());
		if (ctx)
			CHECK_ERR(ibv_close_device(ctx), 0);
		opened = 0;
		ibv_free_device_list(devices);
	}
}

/* A program with the effective user root, such as one that is set-user-ID, finds the devices that it can open. */
static void effective_user(void)
{
	char folder[] = "/dev/infiniband";
	struct stat before;
	int status;
	pid_t pid;

	NEED_OK(stat(folder, &before));
	NEED_OK(chmod(folder, 0700));
	pid = fork();
	NEED(pid >= 0, "fork: %s", err_name(errno));
	if (!pid) {
		struct ibv_context *ctx;

		if (setresuid(65534, 0, 0))
			_exit(2);
		ctx = dev_open_named(dev_wanted());
		_exit(!ctx || ibv_close_device(ctx));
	}
	waitpid(pid, &status, 0);
	NEED_OK(chmod(folder, before.st_mode & 07777));
	CHECK(!status, "the device is not found or not opened: status %#x", status);
}

static const struct test_case cases[] = {
	{ "broken_off", broken_off },
	{ "opened_meanwhile", opened_meanwhile },
	{ "cancelled", cancelled },
	{ "other_abi", other_abi },
	{ "name_used_again", name_used_again },
	{ "high_numbers", high_numbers },
	{ "effective_user", effective_user },
};

TEST_MAIN("api_list", cases, 60)
