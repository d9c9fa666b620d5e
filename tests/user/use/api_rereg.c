// SPDX-License-Identifier: GPL-2.0
/*
 * adv14. Re-register a region with other memory, other access or another protection domain,
 * in one call or one after the other, and under traffic. A refused call leaves the region
 * unchanged.
 */
#include "raw.h"

#define LEN 20000
#define REGION 65536

static struct pair p;
static struct ibv_mr *mr;
static uint8_t *mem[2];

static void set_up(int access)
{
	pair_open(&p, NULL);
	for (int i = 0; i < 2; i++) {
		mem[i] = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);
		NEED(mem[i] != MAP_FAILED, "mmap: %s", err_name(errno));
	}
	mr = ibv_reg_mr(p.pd, mem[0], REGION, access);
	NEED_PTR(mr, "reg_mr");
}

static void tear_down(void)
{
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	pair_close(&p);
	for (int i = 0; i < 2; i++)
		munmap(mem[i], REGION);
}

/* Reconnect the pair after a failure. */
static void again(void)
{
	for (int i = 0; i < 2; i++)
		NEED_OK(qp_to_state(p.qp[i], IBV_QPS_RESET));
	pair_make_ready(&p);
}

/* Write the buffer of the first queue pair through the region, or read into it. */
static bool request(enum ibv_wr_opcode opcode, const uint8_t *at, enum ibv_wc_status want)
{
	struct ibv_sge sge = pair_sge(&p, 0, 0, LEN);
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)at, .rkey = mr->rkey },
	};
	struct ibv_wc wc;

	CHECK_ERR(post_one(&p, 0, &wr), 0);
	return WANT_WC(p.cq[0], &wc, want);
}

/* Write the pattern @seed through the region and compare it at @to. */
static void write_to(const uint8_t *to, uint32_t seed, enum ibv_wc_status want)
{
	fill(p.buf[0], LEN, seed);
	request(IBV_WR_RDMA_WRITE, to, want);
	if (want == IBV_WC_SUCCESS)
		CHECK_BYTES(to, LEN, seed, "written through the region");
	else
		again();
}

#define REREG(...)								\
	CHECK(!ibv_rereg_mr(mr, __VA_ARGS__), "rereg_mr: %s; %s", err_name(errno), why_text())

static void translation(void)
{
	set_up(ALL_ACCESS);
	write_to(mem[0], 1, IBV_WC_SUCCESS);
	REREG(IBV_REREG_MR_CHANGE_TRANSLATION, NULL, mem[1] + 8192, REGION - 8192, 0);
	CHECK(mr->addr == mem[1] + 8192 && mr->length == REGION - 8192, "addr, length");
	write_to(mem[1] + 8192, 2, IBV_WC_SUCCESS);
	CHECK_BYTES(mem[0], LEN, 1, "the former memory");
	write_to(mem[0], 3, IBV_WC_REM_ACCESS_ERR);
	write_to(mem[1], 3, IBV_WC_REM_ACCESS_ERR);
	CHECK_BYTES(mem[0], LEN, 1, "the former memory");
	tear_down();
}

/* The pages were pinned for reading only, and must become writable. */
static void access_flags(void)
{
	set_up(IBV_ACCESS_REMOTE_READ);
	write_to(mem[0], 1, IBV_WC_REM_ACCESS_ERR);
	REREG(IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ALL_ACCESS);
	write_to(mem[0], 2, IBV_WC_SUCCESS);
	REREG(IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE);
	write_to(mem[0], 3, IBV_WC_REM_ACCESS_ERR);
	CHECK_BYTES(mem[0], LEN, 2, "what must not be written");
	tear_down();
}

/* valgrind must not take memory that a peer has written for memory that was never written. */
static void fresh_memory(void)
{
	uint8_t *fresh = malloc(REGION);

	NEED_PTR(fresh, "malloc");
	set_up(ALL_ACCESS);
	REREG(IBV_REREG_MR_CHANGE_TRANSLATION, NULL, fresh, REGION, 0);
	write_to(fresh, 1, IBV_WC_SUCCESS);
	tear_down();
	free(fresh);
}

/*
 * Return the number of objects in the protection domains of this process, as the kernel
 * counts them. Its list has the process as "comm [NAME:PID]" or as "pid PID".
 */
static uint64_t listed_users(void)
{
	char line[512], ours[2][32];
	const char *users;
	uint64_t sum = 0;
	FILE *list;

	snprintf(ours[0], sizeof(ours[0]), ":%d]", getpid());
	snprintf(ours[1], sizeof(ours[1]), " pid %d ", getpid());
	list = popen("rdma resource show pd", "r");
	NEED_PTR(list, "rdma resource");
	while (fgets(line, sizeof(line), list)) {
		users = strstr(line, " users ");
		if (users && (strstr(line, ours[0]) || strstr(line, ours[1])))
			sum += strtoull(users + strlen(" users "), NULL, 10);
	}
	pclose(list);
	return sum;
}

static void domain(void)
{
	struct ibv_pd *other;
	uint64_t users;

	set_up(ALL_ACCESS);
	other = ibv_alloc_pd(p.dev.ctx);
	NEED_PTR(other, "alloc_pd");
	users = listed_users();
	CHECK(users, "rdma resource lists no object of this process");
	REREG(IBV_REREG_MR_CHANGE_PD, other, NULL, 0, 0);
	CHECK(mr->pd == other, "mr->pd");
	CHECK(listed_users() == users, "the domains had %" PRIu64 " users and have %" PRIu64,
	      users, listed_users());
	write_to(mem[0], 1, IBV_WC_REM_ACCESS_ERR);
	CHECK_ERR(ibv_dealloc_pd(other), EBUSY);
	REREG(IBV_REREG_MR_CHANGE_PD, p.pd, NULL, 0, 0);
	write_to(mem[0], 2, IBV_WC_SUCCESS);
	CHECK_ERR(ibv_dealloc_pd(other), 0);
	tear_down();
}

static void everything(void)
{
	struct ibv_pd *other;

	set_up(IBV_ACCESS_LOCAL_WRITE);
	other = ibv_alloc_pd(p.dev.ctx);
	NEED_PTR(other, "alloc_pd");
	REREG(IBV_REREG_MR_CHANGE_PD, other, NULL, 0, 0);
	REREG(IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS |
		      IBV_REREG_MR_CHANGE_TRANSLATION, p.pd, mem[1], REGION, ALL_ACCESS);
	write_to(mem[1], 1, IBV_WC_SUCCESS);
	CHECK_ERR(ibv_dealloc_pd(other), 0);
	tear_down();
}

static void refuse(int want, int err, int flags, void *addr, size_t len, int access,
		   const char *what)
{
	int ret;

	errno = 0;
	ret = ibv_rereg_mr(mr, flags, p.pd, addr, len, access);
	CHECK(ret == want && errno == err, "%s: gave %d and %s", what, ret, err_name(errno));
}

static void refused(void)
{
	const int trans = IBV_REREG_MR_CHANGE_TRANSLATION;
	struct ibv_pd nobodys = { .handle = 0x7ffff };

	set_up(ALL_ACCESS);
	munmap(mem[1] + 4096, 4096);
	refuse(IBV_REREG_MR_ERR_CMD, EFAULT, trans, mem[1], 3 * 4096, 0, "a hole");
	refuse(IBV_REREG_MR_ERR_INPUT, EINVAL, trans, mem[1], SIZE_MAX, 0, "a range that wraps");
	refuse(IBV_REREG_MR_ERR_INPUT, EINVAL, trans, mem[1], 0, 0, "no bytes");
	refuse(IBV_REREG_MR_ERR_INPUT, EINVAL, trans, NULL, 4096, 0, "no address");
	if (why_known())
		CHECK(strstr(why_text(), "no address was given"), "explained as: %s", why_text());
	refuse(IBV_REREG_MR_ERR_INPUT, EINVAL, 0, NULL, 0, 0, "no change");
	refuse(IBV_REREG_MR_ERR_INPUT, EINVAL, IBV_REREG_MR_CHANGE_ACCESS, NULL, 0,
	       IBV_ACCESS_REMOTE_WRITE, "remote write without local write");
	refuse(IBV_REREG_MR_ERR_INPUT, EINVAL, trans, mem[0], 4096, ALL_ACCESS,
	       "access that is not to be changed");
	nobodys.context = p.dev.ctx;
	CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, &nobodys, NULL, 0, 0) && errno == EINVAL,
	      "a domain that is not there: %s", err_name(errno));
	write_to(mem[0], 1, IBV_WC_SUCCESS);
	tear_down();
}

static void child_changes_access(void)
{
	test_failures = 0;
	fill(mem[0], LEN, 2);
	refuse(IBV_REREG_MR_ERR_INPUT, EOPNOTSUPP, IBV_REREG_MR_CHANGE_ACCESS, NULL, 0, ALL_ACCESS,
	       "a child");
	exit(test_failures ? 1 : 0);
}

static void peer_reads(const uint8_t *from, uint32_t seed)
{
	memset(p.buf[0], 0, LEN);
	if (request(IBV_WR_RDMA_READ, from, IBV_WC_SUCCESS))
		CHECK_BYTES(p.buf[0], LEN, seed, "read through the region");
}

/*
 * Pages that become writable are pinned again. A child that shares the device has other pages at
 * the same address; they do not take the place of the parent's.
 */
static void another_process(void)
{
	int status;
	pid_t pid;

	set_up(IBV_ACCESS_REMOTE_READ);
	fill(mem[0], LEN, 1);
	pid = fork();
	if (!pid)
		child_changes_access();
	CHECK(waitpid(pid, &status, 0) == pid && !status, "the child: status %#x", status);
	peer_reads(mem[0], 1);
	write_to(mem[0], 3, IBV_WC_REM_ACCESS_ERR);
	REREG(IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ALL_ACCESS);
	write_to(mem[0], 4, IBV_WC_SUCCESS);
	tear_down();
}

static bool stop;

static void *changer(void *arg)
{
	int *rounds = arg;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		int n = __atomic_add_fetch(rounds, 1, __ATOMIC_RELAXED);
		uint8_t *to = mem[n & 1];

		if (ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, to, REGION, 0))
			break;
		/*
		 * The device no longer uses these pages. Fresh zero pages would show any
		 * late copy.
		 */
		madvise(mem[!(n & 1)], REGION, MADV_DONTNEED);
	}
	return NULL;
}

/* A request reaches the one range or the other, but never pages that were unpinned. */
static void traffic(void)
{
	struct ibv_send_wr wr = {
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_sge sge;
	struct ibv_wc wc;
	pthread_t thread;
	int rounds = 0, done = 0;
	uint64_t end;

	set_up(ALL_ACCESS);
	sge = pair_sge(&p, 0, 0, REGION);
	wr.sg_list = &sge;
	wr.wr.rdma.rkey = mr->rkey;
	stop = false;
	NEED(!pthread_create(&thread, NULL, changer, &rounds), "pthread_create");
	end = deadline_ms(3000);
	while (race_goes_on(end, __atomic_load_n(&rounds, __ATOMIC_RELAXED) > 3)) {
		wr.wr.rdma.remote_addr = (uintptr_t)mem[done++ & 1];
		CHECK_ERR(post_one(&p, 0, &wr), 0);
		if (!CHECK(wait_wc(p.cq[0], &wc, WC_TIMEOUT) == 1, "no completion"))
			break;
		if (wc.status == IBV_WC_SUCCESS)
			continue;
		CHECK(wc.status == IBV_WC_REM_ACCESS_ERR, "%s", ibv_wc_status_str(wc.status));
		again();
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	CHECK(rounds > 3, "%d times", rounds);
	printf("# changed %d times in %d writes\n", rounds, done);
	tear_down();
}

/*
 * Several threads re-register the region at once. Each call succeeds, or fails with EBUSY
 * while another one is in progress.
 */
static void *rival(void *arg)
{
	int *busy = arg;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		if (!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, mem[0], REGION, 0))
			continue;
		if (!CHECK(errno == EBUSY, "a change beside another: %s", err_name(errno)))
			break;
		__atomic_add_fetch(busy, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void at_once(void)
{
	int busy = 0;
	pthread_t thread[3];
	uint64_t end;

	set_up(ALL_ACCESS);
	stop = false;
	for (int i = 0; i < 3; i++)
		NEED(!pthread_create(&thread[i], NULL, rival, &busy), "pthread_create");
	end = deadline_ms(1500);
	while (race_goes_on(end, __atomic_load_n(&busy, __ATOMIC_RELAXED)))
		sleep_ms(20);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	/* Each change waits for a grace period, so other threads call while it waits. */
	CHECK(busy, "no call was told that the region is busy");
	write_to(mem[0], 1, IBV_WC_SUCCESS);
	tear_down();
}

/* Return false for devices whose drivers lack the operation, after checking the error. */
static bool offered(void)
{
	int ret;

	set_up(ALL_ACCESS);
	ret = ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, mem[1], REGION, 0);
	if (ret) {
		CHECK(errno == EOPNOTSUPP, "rereg_mr: %d, %s", ret, err_name(errno));
		if (why_known())
			CHECK(ret == IBV_REREG_MR_ERR_INPUT &&
			      why_reason() == UNIV_REASON_UNSUPPORTED, "%d, %s", ret, why_text());
		write_to(mem[0], 1, IBV_WC_SUCCESS);
	}
	tear_down();
	return !ret;
}

static const struct test_case cases[] = {
	{ "translation", translation },
	{ "access_flags", access_flags },
	{ "fresh_memory", fresh_memory },
	{ "domain", domain },
	{ "everything", everything },
	{ "refused", refused },
	{ "another_process", another_process },
	{ "traffic", traffic },
	{ "at_once", at_once },
};

int main(int argc, char **argv)
{
	test_now = "offered";
	if (!offered()) {
		printf("the device has no such operation\n");
		return test_failures ? 1 : EXIT_SKIP;
	}
	return test_run("api_rereg (adv14)", argc, argv, cases, ARRAY_SIZE(cases), 60);
}
