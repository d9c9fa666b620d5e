// SPDX-License-Identifier: GPL-2.0
/*
 * The list of devices while the kernel's answer is late, or breaks off. The kernel may
 * load a module before it answers, which takes its time.
 */
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "testlib.h"

static int breaking;

/* The library's answers come here. */
ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t length = syscall(SYS_recvmsg, fd, msg, flags);
	const struct nlmsghdr *first = msg->msg_iov->iov_base;

	if (breaking && length >= (ssize_t)sizeof(*first) && first->nlmsg_type == NLMSG_DONE) {
		breaking = 0;
		errno = EIO;
		return -1;
	}
	return length;
}

/* The devices came and the end of their list did not. That is the failure, and no other. */
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

static const struct test_case cases[] = {
	{ "broken_off", broken_off },
};

TEST_MAIN("api_list", cases, 60)
