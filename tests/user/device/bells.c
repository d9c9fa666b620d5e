// SPDX-License-Identifier: GPL-2.0
/*
 * A device with doorbells: the bell page, programs that post without a system call, and bells
 * of a device that is gone. With the argument "gone" and a command, the command removes the
 * device.
 *   UNIV_TEST_DEVICE=upci0 bells
 *   UNIV_TEST_DEVICE=upci0 bells gone COMMAND
 */
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "raw.h"
#include "lasterror.h"
#include "rounds.h"

/* In strict mode any system call but read, write and exit kills the process. */
static void strict_child(void)
{
	struct pair p;
	int status = 0;

	pair_open(&p, NULL);
	if (one_round(&p))
		_exit(2);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		_exit(3);
	for (int i = 0; i < ROUNDS && !status; i++)
		status = one_round(&p);
	syscall(SYS_exit, status);
}

/* Nothing polls in the kernel for this program. */
static void no_system_calls(void)
{
	pid_t child;
	int status;

	unsetenv("UNIVERBS_POLL");
	child = fork();
	if (!child)
		strict_child();
	NEED(child > 0 && waitpid(child, &status, 0) == child, "fork");
	NEED(!WIFSIGNALED(status), "the program made a system call (signal %d)", WTERMSIG(status));
	CHECK(!WEXITSTATUS(status), "the messages did not all arrive: %d", WEXITSTATUS(status));
}

static uint64_t bell_offset(int fd)
{
	struct univ_context_query query = {};

	NEED_OK(raw_call(fd, UNIV_CONTEXT_QUERY, &query));
	NEED(query.bell_offset, "the device has no bell page");
	return query.bell_offset;
}

#define REFUSED(offset, length, prot, flags, want) do {				\
	void *__at = mmap(NULL, length, prot, flags, fd, (off_t)(offset));	\
	int __err = errno;							\
	CHECK(__at == MAP_FAILED && __err == (want), "%s, %s, %s: %s", #offset,	\
	      #length, #prot, __at == MAP_FAILED ? err_name(__err) : "mapped");	\
} while (0)

/* A process maps its one page and nothing beside it. */
static void page_only(void)
{
	const int rw = PROT_READ | PROT_WRITE;
	int fd = raw_open();
	uint64_t offset = bell_offset(fd);
	void *page = mmap(NULL, PAGE, rw, MAP_SHARED, fd, (off_t)offset);

	NEED(page != MAP_FAILED, "mmap: %s", err_name(errno));
	REFUSED(offset, 2 * PAGE, rw, MAP_SHARED, EINVAL);
	REFUSED(offset + PAGE, PAGE, rw, MAP_SHARED, EINVAL);
	REFUSED(offset - PAGE, PAGE, rw, MAP_SHARED, EINVAL);
	REFUSED(offset, PAGE, rw, MAP_PRIVATE, EINVAL);
	REFUSED(offset, PAGE, rw | PROT_EXEC, MAP_SHARED, EPERM);
	CHECK(mprotect(page, PAGE, PROT_READ | PROT_EXEC) && errno == EACCES,
	      "the page became executable");
	CHECK(mremap(page, PAGE, 2 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED, "the page grew");
	munmap(page, PAGE);
	close(fd);
}

/* A ring that rings for no request, for other queues and for queues that do not exist. */
static void false_bells(void)
{
	int fd = raw_open();
	volatile uint32_t *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				       (off_t)bell_offset(fd));
	struct pair p;

	NEED(page != MAP_FAILED, "mmap: %s", err_name(errno));
	pair_open(&p, NULL);
	/* The values of the registers of ivshmem: peers 0 and 1 exist, with some vectors. */
	for (uint32_t peer = 0; peer < 4; peer++)
		for (uint32_t vector = 0; vector < 40; vector++)
			page[3] = peer << 16 | vector;
	page[3] = UINT32_MAX;
	CHECK(pair_works(&p), "a pair of queues does not work after false bells");
	pair_close(&p);
	munmap((void *)page, PAGE);
	close(fd);
}

/* The ioctl announces posted requests as well as the bell does. */
static void old_library(void)
{
	struct raw_self self;
	struct univ_cqe cqe;

	raw_self_open(&self);
	raw_recv_sge(self.fd, &self.qp, 1, (uintptr_t)self.mem, 8, self.mr.lkey);
	raw_send_sge(self.fd, &self.qp, 2, (uintptr_t)self.mem, 8, self.mr.lkey);
	for (int i = 0; i < 2; i++)
		CHECK(raw_wait(&self.cq, &cqe, WC_TIMEOUT) && !cqe.status, "completion %d", i);
	raw_self_close(&self);
}

/* The device writes the ring, so the core cannot move it. */
static void no_resize_of_rings(void)
{
	struct pair p;

	pair_open(&p, NULL);
	CHECK_ERR(ibv_resize_cq(p.cq[0], 500), EOPNOTSUPP);
	CHECK(pair_works(&p), "the queues do not work after a resize was refused");
	pair_close(&p);
}

/* Post two receive requests by one call, to the queue that the pair has. */
static int post_two(struct pair *p)
{
	struct ibv_recv_wr recv[2], *bad;
	struct ibv_sge sge[2];

	for (int i = 0; i < 2; i++) {
		sge[i] = pair_sge(p, 1, 4096 + 64 * i, 64);
		recv[i] = (struct ibv_recv_wr){ .wr_id = i, .sg_list = &sge[i], .num_sge = 1,
			.next = i ? NULL : &recv[1] };
	}
	return p->srq ? ibv_post_srq_recv(p->srq, recv, &bad) : ibv_post_recv(p->qp[1], recv, &bad);
}

/* Send two messages by the calls of an extended queue pair. */
static int send_two(struct pair *p)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(p->qp[0]);

	fill(p->buf[0], 64, 3);
	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED;
	for (int i = 0; i < 2; i++) {
		ibv_wr_send(qp);
		ibv_wr_set_sge(qp, p->mr->lkey, (uintptr_t)p->buf[0], 64);
	}
	return ibv_wr_complete(qp);
}

/* Several requests that are posted at once have one bell. */
static void lists(void)
{
	struct ibv_wc wc;
	struct pair p;

	for (int shared = 0; shared < 2; shared++) {
		pair_open(&p, &(struct pair_want){ .use_ex = 1, .use_srq = shared });
		memset(p.buf[1] + 4096, 0, 128);
		CHECK_ERR(post_two(&p), 0);
		CHECK_ERR(send_two(&p), 0);
		for (int i = 0; i < 2; i++) {
			WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
			if (WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS))
				CHECK(wc.wr_id == (uint64_t)i, "receive %" PRIu64, wc.wr_id);
			CHECK_BYTES(p.buf[1] + 4096 + 64 * i, 64, 3, "message");
		}
		pair_close(&p);
	}
}

/*
 * The register is mapped and was used when the device goes. Later stores go to memory and
 * kill no process, neither by the library nor by hand, in this process or in a child.
 */
static int gone(const char *command)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_recv_wr recv = {}, *bad = NULL;
	volatile uint32_t *page;
	struct ibv_srq *srq;
	struct pair p;
	int fd, status;
	off_t offset;
	pid_t child;

	test_program = "bells gone";
	test_limit(60);
	pair_open(&p, NULL);
	srq = ibv_create_srq(p.pd, &init);
	NEED_PTR(srq, "create_srq");
	fd = raw_open();
	offset = (off_t)bell_offset(fd);
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
	NEED(page != MAP_FAILED, "mmap: %s", err_name(errno));
	page[3] = 1;
	NEED(pair_works(&p), "the queues do not work");
	NEED(!system(command), "%s failed", command);
	for (int i = 0; i < 60000 && ibv_query_port(p.dev.ctx, PORT, &p.dev.port) != ENODEV; i++)
		sleep_ms(1);
	page[3] = 2;
	CHECK(page[3] == 2, "the store did not go to memory");
	CHECK(post_send_at(&p, 0, 1, 0, 8, IBV_SEND_SIGNALED) == ENODEV, "post_send: %s", why_text());
	CHECK(post_recv_at(&p, 0, 1, 0, 8) == ENODEV, "post_recv: %s", why_text());
	CHECK(ibv_post_srq_recv(srq, &recv, &bad) == ENODEV && bad == &recv, "post_srq_recv: %s",
	      why_text());
	CHECK(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, offset) == MAP_FAILED && errno == ENODEV,
	      "the page of a dead device was mapped");
	child = fork();
	if (!child) {
		page[3] = 3;
		_exit(page[3] != 3);
	}
	NEED(waitpid(child, &status, 0) == child, "waitpid");
	CHECK(!status, "a child of fork() ended with %#x", status);
	return test_failures ? 1 : 0;
}

static const struct test_case cases[] = {
	{ "no_system_calls", no_system_calls },
	{ "page_only", page_only },
	{ "false_bells", false_bells },
	{ "old_library", old_library },
	{ "no_resize_of_rings", no_resize_of_rings },
	{ "lists", lists },
};

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "gone"))
		return gone(argv[2]);
	return test_run("bells", argc, argv, cases, ARRAY_SIZE(cases), 60);
}
