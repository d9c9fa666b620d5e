// SPDX-License-Identifier: GPL-2.0
/*
 * adv12. A process registers memory with userfaultfd: our mappings, which do not support
 * it, and memory that the arguments of calls point to, whose faults the process may leave
 * unresolved for ever.
 */
#include "raw.h"
#include <linux/userfaultfd.h>
#include <sys/syscall.h>

static int uffd_open(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		SKIP("no userfaultfd: %s", err_name(errno));
	NEED(!ioctl(fd, UFFDIO_API, &api), "UFFDIO_API: %s", err_name(errno));
	return fd;
}

static int uffd_register(int fd, void *addr, size_t length)
{
	struct uffdio_register reg = {
		.range = { (uintptr_t)addr, length },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	return ioctl(fd, UFFDIO_REGISTER, &reg) ? errno : 0;
}

static int uffd_copy(int fd, void *to, void *from)
{
	struct uffdio_copy copy = {
		.dst = (uintptr_t)to, .src = (uintptr_t)from, .len = PAGE,
	};

	return ioctl(fd, UFFDIO_COPY, &copy) ? errno : 0;
}

/*
 * A ring is not anonymous memory; if userfaultfd accepted it, the kernel would warn about
 * impossible faults.
 */
static void ring_mapping(void)
{
	int fd = raw_open(), uffd = uffd_open(), err;
	static char page[PAGE] __attribute__((aligned(4096)));
	struct raw_cq cq;

	raw_cq(fd, &cq, 64, -1);
	err = uffd_register(uffd, cq.map.base, cq.map.length);
	CHECK(err == EINVAL, "UFFDIO_REGISTER of a ring: expected EINVAL, got %s", err_name(err));
	madvise(cq.map.base, cq.map.length, MADV_DONTNEED);
	uffd_copy(uffd, cq.map.base, page);
	raw_unmap(&cq.map);
	close(uffd);
	close(fd);
}

static int absent_fd;
static void *absent_arg;

static int absent_call(void *unused)
{
	(void)unused;
	signal(SIGALRM, SIG_DFL);
	alarm(1);
	ioctl(absent_fd, UNIV_CONTEXT_QUERY, absent_arg);
	_exit(0);
}

/* The argument lies on a missing page. The call waits for the page and can be killed. */
static void absent_argument(void)
{
	static char stack[65536] __attribute__((aligned(64)));
	int uffd = uffd_open(), status = 0;
	uint64_t end;
	pid_t pid;

	absent_fd = raw_open();
	absent_arg = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(absent_arg != MAP_FAILED, "mmap: %s", err_name(errno));
	NEED(!uffd_register(uffd, absent_arg, PAGE), "UFFDIO_REGISTER: %s", err_name(errno));
	/* The clone shares the memory, and so the missing page. */
	pid = clone(absent_call, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
	NEED(pid > 0, "clone: %s", err_name(errno));
	end = deadline_ms(20000);
	while (waitpid(pid, &status, WNOHANG) == 0 && now_ns() < end)
		sleep_ms(10);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM, "status %#x", status);
	close(uffd);
	munmap(absent_arg, PAGE);
	close(absent_fd);
}

static const struct test_case cases[] = {
	{ "ring_mapping", ring_mapping },
	{ "absent_argument", absent_argument },
};
TEST_MAIN("uffd (adv12)", cases, 30)
