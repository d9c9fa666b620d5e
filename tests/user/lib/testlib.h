/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions for all test programs: cases and checks, waiting with a limit, a connected pair
 * of queue pairs on one device, datagrams, explained errors.
 *
 * A program is a table of cases. Without arguments it runs all of them, with arguments the
 * named ones. The exit status is 0 if all passed, 1 if some failed, 77 if it skipped.
 */
#ifndef TESTLIB_H
#define TESTLIB_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MAYBE_UNUSED __attribute__((unused))
#define PORT 1
#define EXIT_SKIP 77

/* ---- Cases and checks ---------------------------------------------------- */

struct test_case {
	const char *name;
	void (*run)(void);
};

static const char *test_program = "?";
static const char *test_now = "start";
static int test_failures;

__attribute__((format(printf, 3, 4)))
static MAYBE_UNUSED void test_fail(const char *file, int line, const char *fmt, ...)
{
	const char *base = strrchr(file, '/');
	int saved = errno;
	va_list ap;

	printf("%s:%d: %s: ", base ? base + 1 : file, line, test_now);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	__atomic_add_fetch(&test_failures, 1, __ATOMIC_RELAXED);
	errno = saved;
}

#define FAIL(...) test_fail(__FILE__, __LINE__, __VA_ARGS__)

/* On failure, record it and continue. */
#define CHECK(cond, ...) ({				\
	bool __ok = !!(cond);				\
	if (!__ok)					\
		FAIL(__VA_ARGS__);			\
	__ok;						\
})

/* On failure, exit, because nothing after it could work. */
#define NEED(cond, ...) do {				\
	if (!(cond)) {					\
		FAIL(__VA_ARGS__);			\
		exit(1);				\
	}						\
} while (0)

#define SKIP(...) do {					\
	printf(__VA_ARGS__);				\
	printf("\n");					\
	exit(test_failures ? 1 : EXIT_SKIP);		\
} while (0)

static MAYBE_UNUSED const char *err_name(int err)
{
	const char *name = err ? strerrorname_np(err) : "success";

	return name ? name : "unknown errno";
}

/* For calls that return an errno value. */
#define CHECK_ERR(call, want) ({						\
	int __got = (call), __want = (want);					\
	CHECK(__got == __want, "%s: expected %s, got %d (%s)", #call,		\
	      err_name(__want), __got, err_name(__got));			\
})

#define NEED_OK(call) do {							\
	int __got = (call);							\
	NEED(!__got, "%s: expected success, got %d (%s)", #call, __got,		\
	     err_name(__got));							\
} while (0)

/* For calls that return a pointer, or NULL and errno. */
#define CHECK_NULL(call, want) ({						\
	const void *__ptr = (errno = 0, (const void *)(call));			\
	int __err = errno, __want = (want);					\
	CHECK(!__ptr && __err == __want, "%s: expected NULL and %s, got %s and %s", \
	      #call, err_name(__want), __ptr ? "an object" : "NULL", err_name(__err)); \
})

#define NEED_PTR(ptr, what) NEED((ptr), "%s: %s", (what), err_name(errno))

static void test_alarm(int sig)
{
	static const char text[] = " hangs: time is up\n";
	ssize_t n;

	(void)sig;
	n = write(1, test_program, strlen(test_program));
	n = write(1, ": ", 2);
	n = write(1, test_now, strlen(test_now));
	n = write(1, text, sizeof(text) - 1);
	(void)n;
	_exit(1);
}

/* Return how many times slower this machine is than the usual one. */
static MAYBE_UNUSED unsigned int test_slowness(void)
{
	const char *slow = getenv("UNIV_SLOW");

	return slow && atoi(slow) > 0 ? atoi(slow) : 1;
}

/* Reduce @n rounds so that they take the usual time on this machine. */
static MAYBE_UNUSED int test_rounds(int n)
{
	return (n + test_slowness() - 1) / test_slowness();
}

static MAYBE_UNUSED void test_limit(unsigned int seconds)
{
	signal(SIGALRM, test_alarm);
	alarm(seconds * test_slowness());
}

static bool test_wanted(int argc, char **argv, const char *name)
{
	if (argc < 2)
		return true;
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return false;
}

static MAYBE_UNUSED int test_run(const char *program, int argc, char **argv,
				 const struct test_case *cases, size_t count,
				 unsigned int seconds_each)
{
	int before, ran = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	test_program = program;
	for (size_t i = 0; i < count; i++) {
		if (!test_wanted(argc, argv, cases[i].name))
			continue;
		test_now = cases[i].name;
		before = test_failures;
		test_limit(seconds_each);
		cases[i].run();
		alarm(0);
		printf("%s %s\n", test_failures == before ? "ok  " : "FAIL", cases[i].name);
		ran++;
	}
	if (ran < (argc < 2 ? 1 : argc - 1)) {
		printf("%s: no such case\n", program);
		return 1;
	}
	printf("%s: %d cases, %d failed checks\n", program, ran, test_failures);
	return test_failures ? 1 : 0;
}

/* The first argument names the program and the rows of tests/adversaries that it covers. */
#define TEST_MAIN(program, cases, seconds_each)					\
int main(int argc, char **argv)							\
{										\
	return test_run(program, argc, argv, cases, ARRAY_SIZE(cases), seconds_each); \
}

/* ---- Time ---------------------------------------------------------------- */

static MAYBE_UNUSED uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static MAYBE_UNUSED uint64_t deadline_ms(unsigned int ms)
{
	return now_ns() + ms * 1000000ull;
}

static MAYBE_UNUSED void sleep_ms(unsigned int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000l };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* ---- Explained errors ---------------------------------------------------- */

#include "lasterror.h"

/* ---- Device -------------------------------------------------------------- */

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

/* The driver of the devices under test, as tests/vm/lib.sh sets it. */
/* Return true if uroce uses packets within a host too. A peer cannot send a reason in a packet. */
static MAYBE_UNUSED bool by_packets(void)
{
	FILE *f = fopen("/sys/module/uroce/parameters/local", "r");
	bool local = !f || strchr("1Y", fgetc(f));

	if (f)
		fclose(f);
	return !local;
}

static MAYBE_UNUSED bool on_uroce(void)
{
	const char *link = getenv("UNIV_LINK");

	return link && !strcmp(link, "uroce");
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

static MAYBE_UNUSED void dev_open(struct test_dev *dev)
{
	memset(dev, 0, sizeof(*dev));
	dev->ctx = dev_open_named(dev_wanted());
	NEED(dev->ctx, "cannot open %s: %s; %s", dev_wanted(), err_name(errno), why_text());
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

/* ---- A connected pair ---------------------------------------------------- */

#define PAIR_HALF (512u << 10)
#define PAIR_QKEY 0x11223344u
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

#define ALL_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
		    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/* Options of a pair; zero means the default. */
struct pair_want {
	enum ibv_qp_type type;
	uint32_t send_wr;
	uint32_t recv_wr;
	uint32_t send_sge;
	uint32_t recv_sge;
	uint32_t inline_data;
	int cqe;
	int sig_all;
	int use_srq;
	int use_channel;
	int use_ex;
	uint64_t ex_ops;		/* In addition to the default operations. */
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t timeout;
	int stay_reset;
	struct ibv_context *ctx;
};

/* Each queue pair has one completion queue for both directions, and one half of the buffer. */
struct pair {
	struct test_dev dev;
	struct ibv_pd *pd;
	struct ibv_comp_channel *ch;
	struct ibv_cq *cq[2];
	struct ibv_qp *qp[2];
	struct ibv_qp_cap cap;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	uint8_t *buf[2];
	struct ibv_ah *ah;
	enum ibv_qp_type type;
	struct pair_want want;
};

static MAYBE_UNUSED int qp_to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qkey = PAIR_QKEY,
		.qp_access_flags = ALL_ACCESS,
	};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	mask |= qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	if (qp->qp_type == IBV_QPT_UC)
		a.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	return ibv_modify_qp(qp, &a, mask);
}

static MAYBE_UNUSED void ah_attr_to(const struct test_dev *dev, struct ibv_ah_attr *ah)
{
	memset(ah, 0, sizeof(*ah));
	ah->dlid = dev->port.lid;
	ah->is_global = !dev->port.lid;
	ah->grh.dgid = dev->gid;
	ah->grh.sgid_index = dev->gid_index;
	ah->grh.hop_limit = 64;
	ah->port_num = PORT;
}

static MAYBE_UNUSED int qp_to_rtr(const struct test_dev *dev, struct ibv_qp *qp,
				  uint32_t dest_qpn)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = dev->port.active_mtu,
		.dest_qp_num = dest_qpn,
		.rq_psn = 100,
		.max_dest_rd_atomic = 8,
		.min_rnr_timer = 1,
	};
	int mask = IBV_QP_STATE;

	if (qp->qp_type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (qp->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	ah_attr_to(dev, &a.ah_attr);
	return ibv_modify_qp(qp, &a, mask);
}

/*
 * Connect the queue pair to a neighbour that does not answer, the last address of an IPv4
 * network. The call needs a second or more to detect that.
 */
static MAYBE_UNUSED int qp_to_nobody(const struct test_dev *dev, struct ibv_qp *qp)
{
	struct test_dev nobody = *dev;
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = 17,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 1,
	};

	nobody.gid.raw[15] = 254;
	ah_attr_to(&nobody, &a.ah_attr);
	return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			     IBV_QP_MIN_RNR_TIMER);
}

static MAYBE_UNUSED int qp_to_rts(struct ibv_qp *qp, const struct pair_want *want)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = 100,
		.timeout = want && want->timeout ? want->timeout : 14,
		.retry_cnt = want && want->retry_cnt ? want->retry_cnt : 6,
		.rnr_retry = want && want->rnr_retry ? want->rnr_retry : 7,
		.max_rd_atomic = 8,
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (qp->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return ibv_modify_qp(qp, &a, mask);
}

static MAYBE_UNUSED int qp_to_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr a = { .qp_state = state };

	return ibv_modify_qp(qp, &a, IBV_QP_STATE);
}

static MAYBE_UNUSED bool rxe_since(int major, int minor)
{
	const char *link = getenv("UNIV_LINK");
	int has_major, has_minor;
	struct utsname u;

	return (!link || !strcmp(link, "rxe")) && !uname(&u) &&
	       sscanf(u.release, "%d.%d", &has_major, &has_minor) == 2 &&
	       (has_major > major || (has_major == major && has_minor >= minor));
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
	const char *link = getenv("UNIV_LINK");

	return rxe_since(7, 2) || (link && !strcmp(link, "upci"));
}

static MAYBE_UNUSED enum ibv_qp_state qp_state_now(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	NEED_OK(ibv_query_qp(qp, &a, IBV_QP_STATE, &init));
	return a.qp_state;
}

/*
 * Wait for the error state, because a driver may complete the failed request before it
 * changes the state.
 */
static MAYBE_UNUSED enum ibv_qp_state qp_state_after_error(struct ibv_qp *qp)
{
	uint64_t end = deadline_ms(2000 * test_slowness());
	enum ibv_qp_state state;

	do
		state = qp_state_now(qp);
	while (state == IBV_QPS_RTS && now_ns() < end);
	return state;
}

static MAYBE_UNUSED void qp_connect(const struct test_dev *dev, struct ibv_qp *qp,
				    uint32_t dest_qpn, const struct pair_want *want)
{
	NEED_OK(qp_to_init(qp));
	NEED_OK(qp_to_rtr(dev, qp, dest_qpn));
	NEED_OK(qp_to_rts(qp, want));
}

static MAYBE_UNUSED struct ibv_qp *pair_create_ex(struct pair *p,
						  const struct ibv_qp_init_attr *from)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_context = from->qp_context,
		.send_cq = from->send_cq,
		.recv_cq = from->recv_cq,
		.srq = from->srq,
		.cap = from->cap,
		.qp_type = from->qp_type,
		.sq_sig_all = from->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = p->pd,
	};
	struct ibv_qp *qp;

	if (from->qp_type == IBV_QPT_UD)
		ex.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	else
		ex.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE |
			IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
			IBV_QP_EX_WITH_SEND_WITH_IMM;
	if (from->qp_type == IBV_QPT_RC)
		ex.send_ops_flags |= IBV_QP_EX_WITH_RDMA_READ |
			IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	ex.send_ops_flags |= p->want.ex_ops;
	qp = ibv_create_qp_ex(p->dev.ctx, &ex);
	p->cap = ex.cap;
	return qp;
}

static MAYBE_UNUSED void pair_create_qp(struct pair *p, int i)
{
	const struct pair_want *w = &p->want;
	struct ibv_qp_init_attr init = {
		.qp_context = p,
		.send_cq = p->cq[i],
		.recv_cq = p->cq[i],
		.srq = p->srq,
		.qp_type = p->type,
		.sq_sig_all = w->sig_all,
		.cap = {
			.max_send_wr = w->send_wr ? w->send_wr : 64,
			.max_recv_wr = w->recv_wr ? w->recv_wr : 64,
			.max_send_sge = w->send_sge ? w->send_sge : 4,
			.max_recv_sge = w->recv_sge ? w->recv_sge : 4,
			.max_inline_data = w->inline_data ? w->inline_data : 64,
		},
	};

	if (w->use_ex) {
		p->qp[i] = pair_create_ex(p, &init);
	} else {
		p->qp[i] = ibv_create_qp(p->pd, &init);
		p->cap = init.cap;
	}
	NEED(p->qp[i], "create_qp: %s; %s", err_name(errno), why_text());
}

static MAYBE_UNUSED void pair_create_srq(struct pair *p)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = p->want.recv_wr ? p->want.recv_wr : 64, .max_sge = 4 },
	};

	p->srq = ibv_create_srq(p->pd, &init);
	NEED_PTR(p->srq, "create_srq");
}

static MAYBE_UNUSED void pair_alloc_buffer(struct pair *p)
{
	void *mem = mmap(NULL, 2 * PAIR_HALF, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(mem != MAP_FAILED, "mmap: %s", err_name(errno));
	p->buf[0] = mem;
	p->buf[1] = p->buf[0] + PAIR_HALF;
	p->mr = ibv_reg_mr(p->pd, mem, 2 * PAIR_HALF, ALL_ACCESS);
	NEED(p->mr, "reg_mr: %s; %s", err_name(errno), why_text());
}

static MAYBE_UNUSED void pair_make_ready(struct pair *p)
{
	struct ibv_ah_attr ah;

	for (int i = 0; i < 2; i++)
		qp_connect(&p->dev, p->qp[i], p->qp[!i]->qp_num, &p->want);
	if (p->type != IBV_QPT_UD)
		return;
	ah_attr_to(&p->dev, &ah);
	p->ah = ibv_create_ah(p->pd, &ah);
	NEED_PTR(p->ah, "create_ah");
}

static MAYBE_UNUSED void pair_open(struct pair *p, const struct pair_want *want)
{
	memset(p, 0, sizeof(*p));
	if (want)
		p->want = *want;
	p->type = p->want.type ? p->want.type : IBV_QPT_RC;
	dev_open(&p->dev);
	p->pd = ibv_alloc_pd(p->dev.ctx);
	NEED_PTR(p->pd, "alloc_pd");
	if (p->want.use_channel) {
		p->ch = ibv_create_comp_channel(p->dev.ctx);
		NEED_PTR(p->ch, "create_comp_channel");
	}
	if (p->want.use_srq)
		pair_create_srq(p);
	pair_alloc_buffer(p);
	for (int i = 0; i < 2; i++) {
		p->cq[i] = ibv_create_cq(p->dev.ctx, p->want.cqe ? p->want.cqe : 256, &p->cq[i],
					 p->ch, 0);
		NEED_PTR(p->cq[i], "create_cq");
		pair_create_qp(p, i);
	}
	if (!p->want.stay_reset)
		pair_make_ready(p);
}

/*
 * Let the first side of @p, which was opened with stay_reset, complete into @cq; then
 * connect both sides.
 */
static MAYBE_UNUSED void pair_replace_cq(struct pair *p, struct ibv_cq *cq)
{
	NEED_OK(ibv_destroy_qp(p->qp[0]));
	NEED_OK(ibv_destroy_cq(p->cq[0]));
	p->cq[0] = cq;
	pair_create_qp(p, 0);
	pair_make_ready(p);
}

static MAYBE_UNUSED void pair_close(struct pair *p)
{
	if (p->ah)
		CHECK_ERR(ibv_destroy_ah(p->ah), 0);
	for (int i = 0; i < 2; i++) {
		if (p->qp[i])
			CHECK_ERR(ibv_destroy_qp(p->qp[i]), 0);
		if (p->cq[i])
			CHECK_ERR(ibv_destroy_cq(p->cq[i]), 0);
	}
	if (p->srq)
		CHECK_ERR(ibv_destroy_srq(p->srq), 0);
	if (p->ch)
		CHECK_ERR(ibv_destroy_comp_channel(p->ch), 0);
	CHECK_ERR(ibv_dereg_mr(p->mr), 0);
	munmap(p->buf[0], 2 * PAIR_HALF);
	CHECK_ERR(ibv_dealloc_pd(p->pd), 0);
	dev_close(&p->dev);
}

/* ---- Posting and polling ------------------------------------------------- */

/* A scatter/gather entry in half @i of the buffer, at offset @off. */
static MAYBE_UNUSED struct ibv_sge pair_sge(const struct pair *p, int i, size_t off, uint32_t len)
{
	return (struct ibv_sge){
		.addr = (uintptr_t)p->buf[i] + off,
		.length = len,
		.lkey = p->mr->lkey,
	};
}

static MAYBE_UNUSED int post_recv(const struct pair *p, int i, uint64_t id,
				  struct ibv_sge *sge, int n)
{
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = sge, .num_sge = n }, *bad = NULL;

	if (p->srq)
		return ibv_post_srq_recv(p->srq, &wr, &bad);
	return ibv_post_recv(p->qp[i], &wr, &bad);
}

static MAYBE_UNUSED int post_recv_at(const struct pair *p, int i, uint64_t id, size_t off,
				     uint32_t len)
{
	struct ibv_sge sge = pair_sge(p, i, off, len);

	return post_recv(p, i, id, &sge, 1);
}

/* Fill in the destination of a datagram. */
static MAYBE_UNUSED void wr_address(const struct pair *p, int i, struct ibv_send_wr *wr)
{
	if (p->type != IBV_QPT_UD)
		return;
	wr->wr.ud.ah = p->ah;
	wr->wr.ud.remote_qpn = p->qp[!i]->qp_num;
	wr->wr.ud.remote_qkey = PAIR_QKEY;
}

static MAYBE_UNUSED int post_one(const struct pair *p, int i, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;

	return ibv_post_send(p->qp[i], wr, &bad);
}

static MAYBE_UNUSED int post_send_at(const struct pair *p, int i, uint64_t id, size_t off,
				     uint32_t len, unsigned int flags)
{
	struct ibv_sge sge = pair_sge(p, i, off, len);
	struct ibv_send_wr wr = {
		.wr_id = id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = flags,
	};

	wr_address(p, i, &wr);
	return post_one(p, i, &wr);
}

/* Post an RDMA operation between half @i and the start of the other half. */
static MAYBE_UNUSED int post_rdma(const struct pair *p, int i, uint64_t id,
				  enum ibv_wr_opcode opcode, uint32_t len, unsigned int flags)
{
	struct ibv_sge sge = pair_sge(p, i, 0, len);
	struct ibv_send_wr wr = {
		.wr_id = id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = flags,
		.imm_data = htobe32(0xabcd1234),
		.wr.rdma = { .remote_addr = (uintptr_t)p->buf[!i], .rkey = p->mr->rkey },
	};

	return post_one(p, i, &wr);
}

/* Return 1 for a completion, 0 for none in time, and a negative value for an error of the queue. */
static MAYBE_UNUSED int wait_wc(struct ibv_cq *cq, struct ibv_wc *wc, unsigned int ms)
{
	uint64_t end = deadline_ms(ms);
	int n;

	do {
		n = ibv_poll_cq(cq, 1, wc);
		if (n)
			return n;
		sched_yield();
	} while (now_ns() < end);
	/* Poll once more, because this process may not have run since the last poll. */
	return ibv_poll_cq(cq, 1, wc);
}

#define WC_TIMEOUT ((int)(10000 * test_slowness()))

/* Expect a completion with this status. */
#define WANT_WC(cq, wc, want_status) ({						\
	int __n = wait_wc(cq, wc, WC_TIMEOUT);					\
	enum ibv_wc_status __s = (want_status);					\
	CHECK(__n == 1, "no completion from %s (poll gave %d), expected %s", #cq, __n, \
	      ibv_wc_status_str(__s)) &&					\
	CHECK((wc)->status == __s, "wr_id %" PRIu64 ": status is %d (%s), expected %s", \
	      (wc)->wr_id, (wc)->status, ibv_wc_status_str((wc)->status),	\
	      ibv_wc_status_str(__s));						\
})

#define WANT_EMPTY(cq) do {							\
	struct ibv_wc __wc;							\
	int __n = ibv_poll_cq(cq, 1, &__wc);					\
	CHECK(!__n, "%s is not empty: poll gave %d, status %s", #cq, __n,	\
	      __n > 0 ? ibv_wc_status_str(__wc.status) : "-");			\
} while (0)

/* ---- Patterns ------------------------------------------------------------ */

static MAYBE_UNUSED void fill(void *mem, size_t len, uint32_t seed)
{
	uint8_t *p = mem;

	for (size_t i = 0; i < len; i++)
		p[i] = (i * 7 + (i >> 8) * 13 + seed) & 0xff;
}

/* Return the offset of the first byte that differs from the pattern, or -1. */
static MAYBE_UNUSED ssize_t differs(const void *mem, size_t len, uint32_t seed)
{
	const uint8_t *p = mem;

	for (size_t i = 0; i < len; i++)
		if (p[i] != (uint8_t)(i * 7 + (i >> 8) * 13 + seed))
			return i;
	return -1;
}

#define CHECK_BYTES(mem, len, seed, what) do {					\
	ssize_t __at = differs(mem, len, seed);					\
	CHECK(__at < 0, "%s: byte %zd of %zu is wrong", what, __at, (size_t)(len)); \
} while (0)

static MAYBE_UNUSED bool all_zero(const void *mem, size_t len)
{
	const uint8_t *p = mem;

	for (size_t i = 0; i < len; i++)
		if (p[i])
			return false;
	return true;
}

/* Send one message each way, to check that a connected pair works. */
static MAYBE_UNUSED bool pair_works(struct pair *p)
{
	size_t grh = p->type == IBV_QPT_UD ? 40 : 0;
	struct ibv_wc wc;
	int before = test_failures;

	for (int i = 0; i < 2; i++) {
		fill(p->buf[i], 1000, i + 1);
		memset(p->buf[!i] + 4096, 0, 2000);
		CHECK_ERR(post_recv_at(p, !i, 1, 4096, 2000), 0);
		CHECK_ERR(post_send_at(p, i, 2, 0, 1000, IBV_SEND_SIGNALED), 0);
		WANT_WC(p->cq[!i], &wc, IBV_WC_SUCCESS);
		WANT_WC(p->cq[i], &wc, IBV_WC_SUCCESS);
		CHECK_BYTES(p->buf[!i] + 4096 + grh, 1000, i + 1, "message");
	}
	return test_failures == before;
}

#endif
