// SPDX-License-Identifier: GPL-2.0
/*
 * adv08. Every allocation and every copy of every call of the node fails in
 * turn: the first, the second, ... until the call needs no more of them. Each
 * failure must come back as an error that says so, and leave nothing: no
 * object, no pinned page, no charge to the rdma cgroup, no file descriptor.
 *
 * Needs root and a kernel with FAULT_INJECTION, FAILSLAB and FAIL_PAGE_ALLOC.
 */
#include "raw.h"

#define DEBUGFS	"/sys/kernel/debug/"
#define CGROUP	"/sys/fs/cgroup"
#define BUFFER	(1u << 20)
/* More than any call allocates; a call that is still failing then never ends */
#define MOST	4000
/* What the allocator takes for itself differs each time, and may take the fault that was meant for one of ours */
#define ROUNDS	3

static struct {
	int fd;
	int nth;		/* /proc/self/task/TID/fail-nth */
	int rdma;		/* rdma.current of our cgroup, or -1 */
	uint32_t pd;
	struct raw_mr mr;
	struct raw_cq cq;
	struct raw_srq srq;
	struct raw_qp qp;
	struct raw_qp ud;
	uint32_t xrcd;		/* where XRC is offered */
	uint32_t target_num;
	struct univ_ah_attr to;
	uint8_t *mem;
	struct univ_gid_entry gids[64];
} env;

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

/* Whoever may sleep may fail as well; and no trace of each in the log */
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
	env.nth = open(path, O_RDWR | O_CLOEXEC);
	if (env.nth < 0)
		SKIP("no fail-nth: %s", err_name(errno));
}

static void arm(unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);
	ssize_t done;

	/* The fault may wait for just this copy; it strikes once */
	do {
		done = pwrite(env.nth, text, len, 0);
	} while (done < 0 && errno == EFAULT);
	NEED(done == len, "fail-nth: %s", err_name(errno));
}

/* Disarms; true if the fault has struck */
static bool struck(void)
{
	char text[16] = "";
	ssize_t len = pread(env.nth, text, sizeof(text) - 1, 0);

	arm(0);
	/* A fault that strikes the call that asks has not struck the one before it */
	return len > 0 && !strtoul(text, NULL, 10);
}

/* ---- What may not change --------------------------------------------------------- */

/* A cgroup of our own, where what we charge can be read */
static void enter_cgroup(void)
{
	char pid[16];

	env.rdma = -1;
	snprintf(pid, sizeof(pid), "%d", getpid());
	if (knob(CGROUP "/cgroup.subtree_control", "+rdma") ||
	    (mkdir(CGROUP "/failnth", 0755) && errno != EEXIST) ||
	    knob(CGROUP "/failnth/cgroup.procs", pid)) {
		printf("note: no rdma cgroup, charges are not watched\n");
		return;
	}
	env.rdma = open(CGROUP "/failnth/rdma.current", O_RDONLY | O_CLOEXEC);
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
	if (env.rdma >= 0 && pread(env.rdma, s->charges, sizeof(s->charges) - 1, 0) < 0)
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

static union {
	struct univ_hdr hdr;
	struct univ_destroy destroy;
	struct univ_channel_create channel;
	struct univ_context_query context;
	struct univ_poller_start poller;
	struct univ_device_query device;
	struct univ_port_query port;
	struct univ_gid_query gid;
	struct univ_gid_table gids;
	struct univ_pd_alloc pd;
	struct univ_xrcd_open xrcd;
	struct univ_mr_reg mr;
	struct univ_mr_rereg rereg;
	struct univ_mw_alloc mw;
	struct univ_ah_create ah;
	struct univ_cq_create cq;
	struct univ_cq_resize resize;
	struct univ_cq_moderate moderate;
	struct univ_srq_create srq;
	struct univ_srq_modify srq_modify;
	struct univ_srq_query srq_query;
	struct univ_qp_create qp;
	struct univ_qp_open open;
	struct univ_qp_modify modify;
	struct univ_qp_query query;
	struct univ_mcast mcast;
	uint32_t words[128];
} arg;

/*
 * One kind of call. @before makes what it works on, without a fault; @undo takes
 * back a success. A call without @cmd is @run instead.
 */
struct call {
	const char *name;
	unsigned long cmd;
	uint32_t size;
	void (*before)(void);
	void (*undo)(void);
	int (*run)(void);
	bool may_refuse;
	uint32_t feature;	/* left out where it is not offered */
};

static void no_faults_call(unsigned long cmd, void *a, uint32_t size, const char *what)
{
	int err = raw_call_size(env.fd, cmd, a, size);

	NEED(!err, "%s: %s, reason %u", what, err_name(err), ((struct univ_hdr *)a)->reason);
}

#define PLAIN(cmd, a) no_faults_call(cmd, a, sizeof(*(a)), #cmd)

static void port(void) { arg.port.port_num = PORT; }

static void gid(void)
{
	arg.gid.port_num = PORT;
	arg.gid.index = 1;
}

static void gid_table(void)
{
	arg.gids.entries = (uintptr_t)env.gids;
	arg.gids.max = ARRAY_SIZE(env.gids);
}

static void mr(void)
{
	arg.mr.pd = env.pd;
	arg.mr.access = ALL_ACCESS;
	arg.mr.addr = arg.mr.iova = (uintptr_t)env.mem;
	arg.mr.length = BUFFER;
}

static void rereg(void)
{
	arg.rereg.handle = env.mr.handle;
	arg.rereg.change = IBV_REREG_MR_CHANGE_ACCESS;
	arg.rereg.access = ALL_ACCESS;
}

static void mw(void)
{
	arg.mw.pd = env.pd;
	arg.mw.type = IBV_MW_TYPE_1;
}

static void xrcd(void)
{
	arg.xrcd.fd = env.fd;
	arg.xrcd.oflags = O_CREAT;
}

static void ah(void)
{
	arg.ah.pd = env.pd;
	arg.ah.attr = env.to;
}

static void cq(void)
{
	arg.cq.cqe = 200;
	arg.cq.channel_fd = -1;
}

/* There and back, so that each try has something to do */
static void resize(void)
{
	static uint32_t turn;

	arg.resize.handle = env.cq.handle;
	arg.resize.cqe = turn++ & 1 ? 64 : 128;
}

static void moderate(void)
{
	arg.moderate.handle = env.cq.handle;
	arg.moderate.count = 1;
}

static void srq(void)
{
	arg.srq.pd = env.pd;
	arg.srq.max_wr = 200;
	arg.srq.max_sge = 4;
}

static void srq_modify(void)
{
	arg.srq_modify.handle = env.srq.handle;
	arg.srq_modify.attr_mask = IBV_SRQ_LIMIT;
	arg.srq_modify.limit = 2;
}

static void srq_query(void) { arg.srq_query.handle = env.srq.handle; }
static void qp_rc(void) { raw_qp_arg(&arg.qp, IBV_QPT_RC, env.pd, env.cq.handle, 0); }
static void qp_uc(void) { raw_qp_arg(&arg.qp, IBV_QPT_UC, env.pd, env.cq.handle, 0); }
static void qp_ud(void) { raw_qp_arg(&arg.qp, IBV_QPT_UD, env.pd, env.cq.handle, 0); }

static void qp_shared(void)
{
	raw_qp_arg(&arg.qp, IBV_QPT_RC, env.pd, env.cq.handle, env.srq.handle);
}

static void xrc_srq(void)
{
	srq();
	arg.srq.srq_type = IBV_SRQT_XRC;
	arg.srq.cq = env.cq.handle;
	arg.srq.xrcd = env.xrcd;
}

static void xrc_send(void)
{
	raw_qp_arg(&arg.qp, IBV_QPT_XRC_SEND, env.pd, env.cq.handle, 0);
}

static void xrc_recv(void)
{
	arg.qp.qp_type = IBV_QPT_XRC_RECV;
	arg.qp.xrcd = env.xrcd;
}

static void qp_open(void)
{
	arg.open.xrcd = env.xrcd;
	arg.open.qp_num = env.target_num;
	arg.open.qp_type = IBV_QPT_XRC_RECV;
}

static void query(void)
{
	arg.query.handle = env.qp.handle;
	arg.query.attr_mask = ~0u >> 1;
}

static void modify_to(uint32_t state)
{
	struct univ_qp_attr a = { .attr_mask = IBV_QP_STATE, .qp_state = IBV_QPS_RESET };

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
	memset(&arg, 0, sizeof(arg));
	arg.modify.handle = env.qp.handle;
	arg.modify.attr = a;
}

static void modify_init(void) { modify_to(IBV_QPS_INIT); }
static void modify_rtr(void) { modify_to(IBV_QPS_RTR); }
static void modify_rts(void) { modify_to(IBV_QPS_RTS); }

static void modify_err(void)
{
	modify_to(IBV_QPS_RTS);
	arg.modify.attr = (struct univ_qp_attr){
		.attr_mask = IBV_QP_STATE, .qp_state = IBV_QPS_ERR,
	};
}

static void modify_reset(void)
{
	modify_to(IBV_QPS_RTS);
	arg.modify.attr = (struct univ_qp_attr){ .attr_mask = IBV_QP_STATE };
}

static void mcast_arg(struct univ_mcast *a)
{
	static const uint8_t group[16] = { [10] = 0xff, [11] = 0xff, 239, 7, 7, 7 };

	memset(a, 0, sizeof(*a));
	a->qp = env.ud.handle;
	memcpy(a->gid, group, sizeof(group));
}

static void mcast(void) { mcast_arg(&arg.mcast); }

static void attached(void)
{
	struct univ_mcast a;

	mcast_arg(&a);
	PLAIN(UNIV_MCAST_ATTACH, &a);
	mcast_arg(&arg.mcast);
}

static void detach(void)
{
	struct univ_mcast a;

	mcast_arg(&a);
	raw_call(env.fd, UNIV_MCAST_DETACH, &a);
}

/* What a creating command made goes by the destroying one */
#define UNDO(fn, what, cmd)							\
static void fn(void)								\
{										\
	CHECK_ERR(raw_destroy(env.fd, cmd, arg.what.handle), 0);		\
}
UNDO(undo_pd, pd, UNIV_PD_DEALLOC)
UNDO(undo_mr, mr, UNIV_MR_DEREG)
UNDO(undo_mw, mw, UNIV_MW_DEALLOC)
UNDO(undo_xrcd, xrcd, UNIV_XRCD_CLOSE)
UNDO(undo_open_qp, open, UNIV_QP_DESTROY)
UNDO(undo_ah, ah, UNIV_AH_DESTROY)
UNDO(undo_cq, cq, UNIV_CQ_DESTROY)
UNDO(undo_srq, srq, UNIV_SRQ_DESTROY)
UNDO(undo_qp, qp, UNIV_QP_DESTROY)

static void undo_channel(void) { close(arg.channel.fd); }

/* And a destroying command gets something that was just made */
#define DOOMED(fn, what, make, cmd)						\
static void fn(void)								\
{										\
	uint32_t handle;							\
										\
	memset(&arg, 0, sizeof(arg));						\
	make();									\
	PLAIN(cmd, &arg.what);							\
	handle = arg.what.handle;						\
	memset(&arg, 0, sizeof(arg));						\
	arg.destroy.handle = handle;						\
}
static void nothing(void) { }
DOOMED(doomed_pd, pd, nothing, UNIV_PD_ALLOC)
DOOMED(doomed_mr, mr, mr, UNIV_MR_REG)
DOOMED(doomed_mw, mw, mw, UNIV_MW_ALLOC)
DOOMED(doomed_xrcd, xrcd, xrcd, UNIV_XRCD_OPEN)
DOOMED(doomed_ah, ah, ah, UNIV_AH_CREATE)
DOOMED(doomed_cq, cq, cq, UNIV_CQ_CREATE)
DOOMED(doomed_srq, srq, srq, UNIV_SRQ_CREATE)
DOOMED(doomed_qp, qp, qp_rc, UNIV_QP_CREATE)

/* ---- Calls that are no ioctl ------------------------------------------------------ */

static int opened = -1;
static void *mapped;

static int run_open(void)
{
	opened = open(node_path(), O_RDWR | O_CLOEXEC);
	return opened < 0 ? errno : 0;
}

static void undo_open(void) { close(opened); }

/* A context of its own each time, since a second call would only change the first's poller */
static void before_poller(void)
{
	opened = open(node_path(), O_RDWR | O_CLOEXEC);
	NEED(opened >= 0, "open: %s", err_name(errno));
}

static int run_poller(void)
{
	int err = raw_call_size(opened, UNIV_POLLER_START, &arg, sizeof(arg.poller));

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

/* Posting allocates nothing here; what a device's driver does is its own */
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

/* The rows, in the order of uapi/univerbs.h */
#define CALL(what, cmd, type, ...) { what, UNIV_##cmd, sizeof(struct univ_##type), __VA_ARGS__ }
static const struct call calls[] = {
	{ "open", .run = run_open, .undo = undo_open },
	CALL("CONTEXT_QUERY", CONTEXT_QUERY, context_query),
	CALL("DEVICE_QUERY", DEVICE_QUERY, device_query),
	CALL("PORT_QUERY", PORT_QUERY, port_query, port),
	CALL("PKEY_QUERY", PKEY_QUERY, pkey_query, port),
	CALL("GID_QUERY", GID_QUERY, gid_query, gid),
	CALL("GID_TABLE", GID_TABLE, gid_table, gid_table),
	CALL("POLLER_START", POLLER_START, poller_start, before_poller, .run = run_poller),
	CALL("PD_ALLOC", PD_ALLOC, pd_alloc, nothing, undo_pd),
	CALL("PD_DEALLOC", PD_DEALLOC, destroy, doomed_pd),
	CALL("XRCD_OPEN", XRCD_OPEN, xrcd_open, xrcd, undo_xrcd, .feature = UNIV_FEATURE_XRC),
	CALL("XRCD_CLOSE", XRCD_CLOSE, destroy, doomed_xrcd, .feature = UNIV_FEATURE_XRC),
	CALL("MR_REG", MR_REG, mr_reg, mr, undo_mr),
	CALL("MR_REREG", MR_REREG, mr_rereg, rereg, .may_refuse = true),
	CALL("MR_DEREG", MR_DEREG, destroy, doomed_mr),
	CALL("MW_ALLOC", MW_ALLOC, mw_alloc, mw, undo_mw, .feature = UNIV_FEATURE_WINDOWS),
	CALL("MW_DEALLOC", MW_DEALLOC, destroy, doomed_mw, .feature = UNIV_FEATURE_WINDOWS),
	CALL("AH_CREATE", AH_CREATE, ah_create, ah, undo_ah),
	CALL("AH_DESTROY", AH_DESTROY, destroy, doomed_ah),
	CALL("CHANNEL_CREATE", CHANNEL_CREATE, channel_create, nothing, undo_channel),
	CALL("CQ_CREATE", CQ_CREATE, cq_create, cq, undo_cq),
	CALL("CQ_RESIZE", CQ_RESIZE, cq_resize, resize),
	CALL("CQ_MODERATE", CQ_MODERATE, cq_moderate, moderate, .may_refuse = true),
	CALL("CQ_DESTROY", CQ_DESTROY, destroy, doomed_cq),
	CALL("SRQ_CREATE", SRQ_CREATE, srq_create, srq, undo_srq),
	CALL("SRQ_MODIFY", SRQ_MODIFY, srq_modify, srq_modify),
	CALL("SRQ_QUERY", SRQ_QUERY, srq_query, srq_query),
	CALL("SRQ_DESTROY", SRQ_DESTROY, destroy, doomed_srq),
	CALL("QP_CREATE RC", QP_CREATE, qp_create, qp_rc, undo_qp),
	CALL("QP_CREATE UC", QP_CREATE, qp_create, qp_uc, undo_qp),
	CALL("QP_CREATE UD", QP_CREATE, qp_create, qp_ud, undo_qp),
	CALL("QP_CREATE shared", QP_CREATE, qp_create, qp_shared, undo_qp),
	CALL("SRQ_CREATE XRC", SRQ_CREATE, srq_create, xrc_srq, undo_srq,
	     .feature = UNIV_FEATURE_XRC),
	CALL("QP_CREATE XRC send", QP_CREATE, qp_create, xrc_send, undo_qp,
	     .feature = UNIV_FEATURE_XRC),
	CALL("QP_CREATE XRC receive", QP_CREATE, qp_create, xrc_recv, undo_qp,
	     .feature = UNIV_FEATURE_XRC),
	CALL("QP_OPEN", QP_OPEN, qp_open, qp_open, undo_open_qp, .feature = UNIV_FEATURE_XRC),
	CALL("QP_MODIFY init", QP_MODIFY, qp_modify, modify_init),
	CALL("QP_MODIFY rtr", QP_MODIFY, qp_modify, modify_rtr),
	CALL("QP_MODIFY rts", QP_MODIFY, qp_modify, modify_rts),
	CALL("QP_MODIFY err", QP_MODIFY, qp_modify, modify_err),
	CALL("QP_MODIFY reset", QP_MODIFY, qp_modify, modify_reset),
	CALL("QP_QUERY", QP_QUERY, qp_query, query),
	CALL("QP_DESTROY", QP_DESTROY, destroy, doomed_qp),
	CALL("MCAST_ATTACH", MCAST_ATTACH, mcast, mcast, detach),
	CALL("MCAST_DETACH", MCAST_DETACH, mcast, attached),
	{ "mmap", .run = run_map, .undo = undo_map },
	{ "mmap doorbell", .run = run_doorbell, .undo = undo_doorbell },
	{ "kick", .before = before_kick, .run = run_kick },
};

/* A command that the kernel knows and that has no row here answers otherwise than ENOTTY */
static void complete(void)
{
	bool have[256] = { [_IOC_NR(UNIV_KICK)] = true };

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].cmd)
			have[_IOC_NR(calls[i].cmd)] = true;
	for (unsigned int nr = 0; nr < ARRAY_SIZE(have); nr++) {
		if (have[nr])
			continue;
		memset(&arg, 0, sizeof(arg));
		CHECK(raw_call_size(env.fd, _IO(UNIV_IOCTL_MAGIC, nr), &arg, 0) == ENOTTY,
		      "the kernel knows command %#x, which has no row here", nr);
	}
}

/* ---- The loop --------------------------------------------------------------------- */

static int call_once(const struct call *c)
{
	if (c->run)
		return c->run();
	return raw_call_size(env.fd, c->cmd, &arg, c->size);
}

static bool is_destroy(const struct call *c)
{
	return c->size == sizeof(struct univ_destroy) && c->before && !c->undo &&
	       (c->before == doomed_pd || c->before == doomed_mr || c->before == doomed_mw || c->before == doomed_xrcd ||
		c->before == doomed_ah || c->before == doomed_cq || c->before == doomed_srq || c->before == doomed_qp);
}

/* What a lack of memory, a failing copy or a charge may answer; ENFILE is a socket of rxe's that finds no memory */
static bool honest(const struct call *c, int err)
{
	return err == ENOMEM || err == EFAULT || err == EAGAIN || err == ENOBUFS ||
	       (err == ENFILE && c->cmd == UNIV_QP_CREATE);
}

static void check_failure(const struct call *c, unsigned int n, int err)
{
	CHECK(honest(c, err), "%s, fault %u: %s, reason %u value %" PRIu64, c->name, n, err_name(err),
	      c->cmd ? arg.hdr.reason : 0, c->cmd ? (uint64_t)arg.hdr.value : 0);
	if (c->cmd && err == ENOMEM)
		CHECK(arg.hdr.reason, "%s, fault %u: ENOMEM without a reason", c->name, n);
}

/* A destroying call that failed has left its object, unless only its answer was lost */
static void finish_destroy(const struct call *c, unsigned int n, int err)
{
	uint32_t handle = arg.destroy.handle;
	int again = raw_destroy(env.fd, c->cmd, handle);

	CHECK(!again || (err == EFAULT && again == EINVAL), "%s, fault %u: %s, and then %s",
	      c->name, n, err_name(err), err_name(again));
}

/* Faults that struck in any call: without one nothing is tested */
static unsigned int strikes;

static void fail_each(const struct call *c)
{
	unsigned int n, hits = 0, errors = 0;
	struct state was;
	bool hit;
	int err;

	for (n = 1; n < MOST; n++) {
		memset(&arg, 0, sizeof(arg));
		state_now(&was);
		if (c->before)
			c->before();
		/* Touched before, so that no fault of a page is in between */
		arg.hdr.size = c->size;
		arm(n);
		err = call_once(c);
		hit = struck();
		if (c->may_refuse && (err == EOPNOTSUPP || err == ENOSYS))
			err = 0;
		if (!hit)
			CHECK(!err, "%s without a fault: %s, reason %u", c->name, err_name(err),
			      c->cmd ? arg.hdr.reason : 0);
		else if (err)
			check_failure(c, n, err);
		hits += hit;
		errors += hit && err;
		if (err && is_destroy(c))
			finish_destroy(c, n, err);
		if (err && c->before == attached)
			detach();
		if (!err && c->undo)
			c->undo();
		state_same(&was, c->name, n);
		if (!hit)
			break;
	}
	strikes += hits;
	CHECK(n < MOST, "%s: still failing at the %u. fault", c->name, n);
	printf("%-16s %4u faults, %4u errors\n", c->name, hits, errors);
}

/* An anonymous domain; that of the node itself is made and closed by the calls */
static void set_up_xrc(void)
{
	struct univ_xrcd_open open = { .fd = -1 };
	struct univ_qp_create target = { .qp_type = IBV_QPT_XRC_RECV };

	if (!raw_offers(env.fd, UNIV_FEATURE_XRC))
		return;
	NEED_OK(raw_call(env.fd, UNIV_XRCD_OPEN, &open));
	env.xrcd = open.handle;
	target.xrcd = open.handle;
	NEED_OK(raw_call(env.fd, UNIV_QP_CREATE, &target));
	env.target_num = target.qp_num;
}

static void set_up(void)
{
	struct univ_qp_attr a;

	env.fd = raw_open();
	env.mem = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	NEED(env.mem != MAP_FAILED, "mmap: %s", err_name(errno));
	env.pd = raw_pd(env.fd);
	env.mr = raw_mr(env.fd, env.pd, env.mem, BUFFER, ALL_ACCESS);
	raw_cq(env.fd, &env.cq, 128, -1);
	raw_srq(env.fd, &env.srq, env.pd, 64);
	raw_qp(env.fd, &env.qp, IBV_QPT_RC, env.pd, env.cq.handle, 0);
	raw_qp(env.fd, &env.ud, IBV_QPT_UD, env.pd, env.cq.handle, 0);
	raw_attr_init(&a, IBV_QPT_UD);
	NEED_OK(raw_modify(env.fd, env.ud.handle, &a));
	raw_ah_attr(env.fd, &env.to);
	set_up_xrc();
}

/* Mappings keep the file open */
static void unmap_rings(void)
{
	raw_unmap(&env.cq.map);
	raw_unmap(&env.srq.map);
	raw_unmap(&env.qp.map);
	raw_unmap(&env.ud.map);
}

/* Closing with everything still there, and a fault in the middle of it: close(2) does it all */
static void fail_close(void)
{
	bool hit = true;

	for (unsigned int n = 1; hit; n++) {
		NEED(n < MOST, "still failing at the %u. fault", n);
		set_up();
		unmap_rings();
		arm(n);
		close(env.fd);
		hit = struck();
		CHECK(!pinned_kib(), "fault %u: %ld KiB are pinned after close", n, pinned_kib());
		munmap(env.mem, BUFFER);
	}
}

static void fail_all(void)
{
	set_up();
	complete();
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
			if (raw_offers(env.fd, calls[i].feature))
				fail_each(&calls[i]);
	unmap_rings();
	close(env.fd);
	munmap(env.mem, BUFFER);
	CHECK(!pinned_kib(), "%ld KiB are pinned in the end", pinned_kib());
	CHECK(strikes >= ROUNDS * ARRAY_SIZE(calls), "only %u faults struck", strikes);
}

static const struct test_case cases[] = {
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
