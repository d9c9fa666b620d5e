// SPDX-License-Identifier: GPL-2.0
/*
 * adv08. Every allocation and every copy of every call of the node fails in turn: the
 * first, the second, and so on until the call has no more of them. Each failure must be
 * returned as an error with an honest errno, and leave nothing behind: no object, no pinned
 * page, no charge to the rdma cgroup, no file descriptor.
 *
 * This needs root and a kernel with FAULT_INJECTION, FAILSLAB and FAIL_PAGE_ALLOC.
 */
#define RULES_MEM (1u << 20)
#include "ioctl_table.h"

#define DEBUGFS	"/sys/kernel/debug/"
#define CGROUP	"/sys/fs/cgroup"
/* More than any call allocates. A call that still fails then would never succeed. */
#define MOST	4000
/*
 * The allocator's own allocations differ each time, and may take the fault that was meant
 * for an allocation of the module. Several rounds make up for that.
 */
#define ROUNDS	3

static int nth;		/* /proc/self/task/TID/fail-nth. */
static int rdma = -1;	/* rdma.current of our cgroup. */

/* ---- The knobs ------------------------------------------------------------------ */

static int knob(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return errno;
	if (write(fd, value, strlen(value)) < 0)
		err = errno;
	close(fd);
	return err;
}

/* Let allocations that may sleep fail too, and keep each failure out of the log. */
static void allow_faults(void)
{
	static const char *const kinds[] = { "failslab", "fail_page_alloc" };
	char path[128];

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		snprintf(path, sizeof(path), DEBUGFS "%s/ignore-gfp-wait", kinds[i]);
		if (knob(path, "0"))
			SKIP("this kernel has no %s (CONFIG_FAULT_INJECTION), or debugfs is not mounted",
			     kinds[i]);
		snprintf(path, sizeof(path), DEBUGFS "%s/verbose", kinds[i]);
		knob(path, "0");
	}
	knob(DEBUGFS "fail_page_alloc/min-order", "0");
	knob(DEBUGFS "fail_page_alloc/ignore-gfp-highmem", "0");
	knob(DEBUGFS "fail_usercopy/verbose", "0");
}

static void open_nth(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/fail-nth", gettid());
	nth = open(path, O_RDWR | O_CLOEXEC);
	if (nth < 0)
		SKIP("no fail-nth: %s", err_name(errno));
}

static void arm(unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);
	ssize_t done;

	/* The pending fault may strike the copy of this write itself; it strikes only once. */
	do {
		done = pwrite(nth, text, len, 0);
	} while (done < 0 && errno == EFAULT);
	NEED(done == len, "fail-nth: %s", err_name(errno));
}

/* Disarm; return true if the fault has struck. */
static bool struck(void)
{
	char text[16] = "";
	ssize_t len = pread(nth, text, sizeof(text) - 1, 0);

	arm(0);
	/* If the fault strikes this read, it did not strike the call before. */
	return len > 0 && !strtoul(text, NULL, 10);
}

/* ---- State that must not change --------------------------------------------------- */

/* Enter a new cgroup, which counts only the charges of this process. */
static void enter_cgroup(void)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	if (knob(CGROUP "/cgroup.subtree_control", "+rdma") ||
	    (mkdir(CGROUP "/failnth", 0755) && errno != EEXIST) ||
	    knob(CGROUP "/failnth/cgroup.procs", pid)) {
		printf("note: no rdma cgroup, charges are not watched\n");
		return;
	}
	rdma = open(CGROUP "/failnth/rdma.current", O_RDONLY | O_CLOEXEC);
}

struct state {
	char charges[256];
	long pinned;
	int lowest_fd;
};

static long pinned_kib(void)
{
	char text[4096], *at;
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t len = read(fd, text, sizeof(text) - 1);

	close(fd);
	text[len > 0 ? len : 0] = '\0';
	at = strstr(text, "VmPin:");
	return at ? strtol(at + 6, NULL, 10) : -1;
}

static void state_now(struct state *s)
{
	memset(s, 0, sizeof(*s));
	if (rdma >= 0 && pread(rdma, s->charges, sizeof(s->charges) - 1, 0) < 0)
		strcpy(s->charges, "unreadable");
	s->pinned = pinned_kib();
	s->lowest_fd = dup(env.fd);
	close(s->lowest_fd);
}

static bool state_same(const struct state *was, const char *call, unsigned int n)
{
	struct state now;

	state_now(&now);
	return CHECK(!strcmp(was->charges, now.charges), "%s, fault %u: charges were %s are %s",
		     call, n, was->charges, now.charges) &
	       CHECK(was->pinned == now.pinned, "%s, fault %u: %ld KiB were pinned, now %ld",
		     call, n, was->pinned, now.pinned) &
	       CHECK(was->lowest_fd == now.lowest_fd, "%s, fault %u: a file descriptor is lost",
		     call, n);
}

/* ---- The calls ------------------------------------------------------------------- */

/*
 * A call to test: an ioctl with the valid argument of its rule, or @run. @before prepares
 * the objects and changes the argument, without a fault; @undo reverts a success.
 */
struct target {
	const char *name;
	const struct rule *rule;
	void (*before)(void);
	void (*undo)(void);
	int (*run)(void);
};

/* Arguments with which calls allocate more than with those of the table. */
static void larger(const struct rule *r)
{
	static uint32_t turn;
	void *arg = &buf;

	switch (r->cmd) {
	case UNIV_MR_REG:
		((struct univ_mr_reg *)arg)->length = RULES_MEM;
		break;
	case UNIV_XRCD_OPEN:
		((struct univ_xrcd_open *)arg)->fd = env.fd;
		((struct univ_xrcd_open *)arg)->oflags = O_CREAT;
		break;
	case UNIV_CQ_CREATE:
		((struct univ_cq_create *)arg)->cqe = 200;
		break;
	case UNIV_CQ_RESIZE:
		/* Alternate between two sizes, so that each attempt allocates a new ring. */
		((struct univ_cq_resize *)arg)->cqe = turn++ & 1 ? 64 : 128;
		break;
	case UNIV_SRQ_CREATE:
		((struct univ_srq_create *)arg)->max_wr = 200;
		((struct univ_srq_create *)arg)->max_sge = 4;
		break;
	case UNIV_SRQ_MODIFY:
		((struct univ_srq_modify *)arg)->limit = 2;
		break;
	case UNIV_QP_QUERY:
		((struct univ_qp_query *)arg)->attr_mask = ~0u >> 1;
		break;
	default:
		break;
	}
}

static const struct rule *rule_of(unsigned long cmd)
{
	for (size_t i = 0; i < rule_count; i++)
		if (rules[i].cmd == cmd)
			return &rules[i];
	NEED(false, "no rule for %#lx", cmd);
	return NULL;
}

/* Queue pair types that the table lacks. */
static void qp_of(uint32_t type)
{
	raw_qp_arg((void *)&buf, type, env.pd, env.cq.handle, 0);
}

static void qp_rc(void) { qp_of(IBV_QPT_RC); }
static void qp_uc(void) { qp_of(IBV_QPT_UC); }
static void qp_ud(void) { qp_of(IBV_QPT_UD); }

static void undo_qp(void)
{
	undo(rule_of(UNIV_QP_CREATE), &buf);
}

static void modify_to(uint32_t state)
{
	struct univ_qp_attr a = { .attr_mask = IBV_QP_STATE, .qp_state = IBV_QPS_RESET };
	struct univ_qp_modify *arg = (void *)&buf;

	NEED_OK(raw_modify(env.fd, env.qp.handle, &a));
	raw_attr_init(&a, IBV_QPT_RC);
	if (state != IBV_QPS_INIT)
		NEED_OK(raw_modify(env.fd, env.qp.handle, &a));
	if (state == IBV_QPS_RTR || state == IBV_QPS_RTS)
		raw_attr_rtr(env.fd, &a, IBV_QPT_RC, env.qp.qp_num);
	if (state == IBV_QPS_RTS) {
		NEED_OK(raw_modify(env.fd, env.qp.handle, &a));
		raw_attr_rts(&a, IBV_QPT_RC);
	}
	*arg = (struct univ_qp_modify){ .handle = env.qp.handle, .attr = a };
}

static void modify_init(void) { modify_to(IBV_QPS_INIT); }
static void modify_rtr(void) { modify_to(IBV_QPS_RTR); }
static void modify_rts(void) { modify_to(IBV_QPS_RTS); }

static void modify_from_rts(uint32_t state)
{
	struct univ_qp_modify *arg = (void *)&buf;

	modify_to(IBV_QPS_RTS);
	NEED_OK(raw_modify(env.fd, env.qp.handle, &arg->attr));
	arg->attr = (struct univ_qp_attr){
		.attr_mask = IBV_QP_STATE, .qp_state = state,
	};
}

/* Load an alternate path. */
static void modify_path(void)
{
	struct univ_qp_attr *a = &((struct univ_qp_modify *)&buf)->attr;

	modify_from_rts(IBV_QPS_RTS);
	if (!on_uroce())
		return;
	a->attr_mask |= IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE;
	a->path_mig_state = IBV_MIG_REARM;
	a->alt_port_num = PORT;
	raw_ah_attr(env.fd, &a->alt_ah);
}

/* Alternate between two sizes, so that each attempt makes new rings. */
static void modify_cap(void)
{
	struct univ_qp_modify *arg = (void *)&buf;
	static int turn;

	modify_from_rts(IBV_QPS_RTS);
	if (!on_uroce())
		return;
	arg->attr.attr_mask = IBV_QP_CAP;
	arg->max_send_wr = turn++ & 1 ? 64 : 128;
	arg->max_recv_wr = arg->max_send_wr;
}

static void modify_err(void) { modify_from_rts(IBV_QPS_ERR); }
static void modify_reset(void) { modify_from_rts(IBV_QPS_RESET); }

/* ---- Calls that are not ioctls ---------------------------------------------------- */

static int opened = -1;
static void *mapped;

static int run_open(void)
{
	opened = open(node_path(), O_RDWR | O_CLOEXEC);
	return opened < 0 ? errno : 0;
}

static void undo_open(void) { close(opened); }

/*
 * Each attempt opens a new context, because a second call would only change the first
 * call's poller.
 */
static void before_poller(void)
{
	opened = open(node_path(), O_RDWR | O_CLOEXEC);
	NEED(opened >= 0, "open: %s", err_name(errno));
}

static int run_poller(void)
{
	int err = raw_call_size(opened, UNIV_POLLER_START, &buf, sizeof(struct univ_poller_start));

	close(opened);
	return err;
}

static int map_at(uint64_t offset, size_t length, int prot)
{
	mapped = mmap(NULL, length, prot, MAP_SHARED, env.fd, offset);
	return mapped == MAP_FAILED ? errno : 0;
}

static int run_map(void)
{
	return map_at(env.qp.map.offset, env.qp.map.length, PROT_READ | PROT_WRITE);
}

static void undo_map(void) { munmap(mapped, env.qp.map.length); }
static int run_doorbell(void) { return map_at(0, PAGE, PROT_READ); }
static void undo_doorbell(void) { munmap(mapped, PAGE); }

/* Posting allocates nothing in the core. Allocations of the device's driver do not count. */
static int run_kick(void)
{
	struct univ_cqe cqe;
	int err = raw_recv_sge(env.fd, &env.ud, 1, (uintptr_t)env.mem, 256, env.mr.lkey);

	while (raw_poll(&env.cq, &cqe))
		;
	return err;
}

static void before_kick(void)
{
	struct univ_qp_attr a;

	NEED_OK(raw_to_state(env.fd, env.ud.handle, IBV_QPS_RESET));
	raw_attr_init(&a, IBV_QPT_UD);
	NEED_OK(raw_modify(env.fd, env.ud.handle, &a));
}

/* Calls and variants that the table of ioctls lacks. */
static const struct {
	struct target target;
	unsigned long cmd;
} more[] = {
	{ { "open", .run = run_open, .undo = undo_open } },
	{ { "POLLER_START", .before = before_poller, .run = run_poller }, UNIV_POLLER_START },
	{ { "QP_CREATE RC", .before = qp_rc, .undo = undo_qp }, UNIV_QP_CREATE },
	{ { "QP_CREATE UC", .before = qp_uc, .undo = undo_qp }, UNIV_QP_CREATE },
	{ { "QP_CREATE UD", .before = qp_ud, .undo = undo_qp }, UNIV_QP_CREATE },
	{ { "QP_MODIFY init", .before = modify_init }, UNIV_QP_MODIFY },
	{ { "QP_MODIFY rtr", .before = modify_rtr }, UNIV_QP_MODIFY },
	{ { "QP_MODIFY rts", .before = modify_rts }, UNIV_QP_MODIFY },
	{ { "QP_MODIFY path", .before = modify_path }, UNIV_QP_MODIFY },
	{ { "QP_MODIFY cap", .before = modify_cap }, UNIV_QP_MODIFY },
	{ { "QP_MODIFY err", .before = modify_err }, UNIV_QP_MODIFY },
	{ { "QP_MODIFY reset", .before = modify_reset }, UNIV_QP_MODIFY },
	{ { "mmap", .run = run_map, .undo = undo_map } },
	{ { "mmap doorbell", .run = run_doorbell, .undo = undo_doorbell } },
	{ { "kick", .before = before_kick, .run = run_kick } },
};

/* ---- The loop --------------------------------------------------------------------- */

static int call_once(const struct target *t)
{
	return t->run ? t->run() : call_sized(t->rule, t->rule->size);
}

static void prepare(const struct target *t)
{
	memset(&buf, 0, sizeof(buf));
	if (t->rule && !t->before) {
		before(t->rule);
		fill_valid(t->rule, &buf);
		larger(t->rule);
	} else if (t->before) {
		t->before();
	}
	/* Write to the argument before the fault is armed: a page fault must not take the fault. */
	buf.hdr.size = t->rule ? t->rule->size : 0;
}

static void take_back(const struct target *t)
{
	if (t->undo)
		t->undo();
	else if (t->rule)
		undo(t->rule, &buf);
}

/*
 * The errors that a lack of memory, a failed copy or a failed charge may return. ENFILE
 * comes from rxe's socket, which reports a lack of memory that way.
 */
static bool honest(const struct target *t, int err)
{
	return err == ENOMEM || err == EFAULT || err == EAGAIN || err == ENOBUFS ||
	       (err == ENFILE && t->rule && t->rule->cmd == UNIV_QP_CREATE);
}

static void check_failure(const struct target *t, unsigned int n, int err)
{
	CHECK(honest(t, err), "%s, fault %u: %s, reason %u value %" PRIu64, t->name, n, err_name(err),
	      t->rule ? buf.hdr.reason : 0, t->rule ? (uint64_t)buf.hdr.value : 0);
	if (t->rule && err == ENOMEM)
		CHECK(buf.hdr.reason, "%s, fault %u: ENOMEM without a reason", t->name, n);
}

/* A destroying call that failed has kept its object, unless only its copy-out failed. */
static void finish_destroy(const struct target *t, unsigned int n, int err)
{
	uint32_t handle = ((struct univ_destroy *)&buf)->handle;
	int again = raw_destroy(env.fd, t->rule->cmd, handle);

	CHECK(!again || (err == EFAULT && again == EINVAL), "%s, fault %u: %s, and then %s",
	      t->name, n, err_name(err), err_name(again));
}

/*
 * A change of a queue pair that got no memory has changed nothing, so it can be repeated.
 * rdma_rxe sets some attributes before it allocates memory for others.
 */
static void repeat_modify(const struct target *t, unsigned int n)
{
	int err = call_once(t);

	CHECK(!err, "%s, repeated after fault %u: %s, reason %u value %" PRIu64, t->name, n,
	      err_name(err), buf.hdr.reason, (uint64_t)buf.hdr.value);
}

/* Bring the objects back to the state that the next attempt needs. */
static void clean_up(const struct target *t, unsigned int n, int err)
{
	if (!t->rule)
		return;
	if (destroys(t->rule))
		finish_destroy(t, n, err);
	if (t->rule->cmd == UNIV_QP_MODIFY && err == ENOMEM && on_uroce())
		repeat_modify(t, n);
	if (t->rule->cmd == UNIV_MCAST_DETACH)
		undo(rule_of(UNIV_MCAST_ATTACH), &buf);
}

/* The number of faults that struck in all calls. If it is zero, nothing was tested. */
static unsigned int strikes;

static void fail_each(const struct target *t)
{
	unsigned int n, hits = 0, errors = 0;
	struct state was;
	bool hit, absent;
	int err;

	for (n = 1; n < MOST; n++) {
		state_now(&was);
		prepare(t);
		arm(n);
		err = call_once(t);
		hit = struck();
		absent = t->rule && refused(t->rule, err);
		if (absent)
			err = 0;
		if (!hit)
			CHECK(!err, "%s without a fault: %s, reason %u", t->name, err_name(err),
			      t->rule ? buf.hdr.reason : 0);
		else if (err)
			check_failure(t, n, err);
		hits += hit;
		errors += hit && err;
		if (err)
			clean_up(t, n, err);
		else if (!absent)
			take_back(t);
		state_same(&was, t->name, n);
		if (!hit)
			break;
	}
	strikes += hits;
	CHECK(n < MOST, "%s: still failing at the %u. fault", t->name, n);
	printf("%-20s %4u faults, %4u errors\n", t->name, hits, errors);
}

/*
 * Close a context that still has all its objects, with a fault during the close: close(2)
 * must free everything.
 */
static void fail_close(void)
{
	bool hit = true;

	for (unsigned int n = 1; hit; n++) {
		NEED(n < MOST, "still failing at the %u. fault", n);
		set_up_objects();
		unmap_rings();
		arm(n);
		close(env.fd);
		hit = struck();
		CHECK(!pinned_kib(), "fault %u: %ld KiB are pinned after close", n, pinned_kib());
		munmap(env.mem, RULES_MEM);
	}
}

/* Leave POLLER_START to its row in @more, which opens a new context each time. */
static void fail_round(void)
{
	for (size_t i = 0; i < rule_count; i++) {
		struct target t = { rules[i].name, &rules[i] };

		if (offered(&rules[i]) && rules[i].cmd != UNIV_POLLER_START)
			fail_each(&t);
	}
	for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
		struct target t = more[i].target;

		t.rule = more[i].cmd ? rule_of(more[i].cmd) : NULL;
		fail_each(&t);
	}
}

static void fail_all(void)
{
	set_up_objects();
	for (int round = 0; round < ROUNDS; round++)
		fail_round();
	unmap_rings();
	close(env.fd);
	munmap(env.mem, RULES_MEM);
	CHECK(!pinned_kib(), "%ld KiB are pinned in the end", pinned_kib());
	CHECK(strikes >= ROUNDS * rule_count, "only %u faults struck", strikes);
}

/* By packets a queue pair gets more memory than within a host. */
static void fail_modify(void)
{
	set_up_objects();
	for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
		struct target t = more[i].target;

		t.rule = rule_of(UNIV_QP_MODIFY);
		if (more[i].cmd == UNIV_QP_MODIFY)
			fail_each(&t);
	}
	unmap_rings();
	close(env.fd);
	munmap(env.mem, RULES_MEM);
}

static const struct test_case cases[] = {
	{ "modify", fail_modify },
	{ "every_call", fail_all },
	{ "close", fail_close },
};

int main(int argc, char **argv)
{
	allow_faults();
	open_nth();
	enter_cgroup();
	return test_run("failnth (adv08)", argc, argv, cases, ARRAY_SIZE(cases), 1500);
}
