// SPDX-License-Identifier: GPL-2.0
/*
 * adv22. Flushes and atomic writes between uroce and the kernel's rdma_rxe, each of them as
 * the requester and as the responder. This process has the queue pair of uroce. A second one
 * has the queue pair of rdma_rxe and the stock library, because kernel verbs cannot post these
 * requests to rdma_rxe: UNIV_TEST_PEER_RUN is the command that starts this program in front of
 * that library, and UNIV_TEST_PEER names the device. The second process obeys the orders of
 * the first one, so that each case is written once for both directions.
 */
#include <sys/socket.h>
#include "testlib.h"

#define CAP_FLUSH_GLOBAL	(1ull << 38)
#define CAP_ATOMIC_WRITE	(1ull << 40)
#define FLUSHABLE (ALL_ACCESS | IBV_ACCESS_FLUSH_GLOBAL)
/* The queue pairs permit more than the regions do, except where a case says otherwise. */
#define QP_ACCESS (FLUSHABLE | IBV_ACCESS_FLUSH_PERSISTENT)
#define SIZE 4096
#define CHAIN 20
#define ORDERS 3	/* The descriptor of the second process for orders. */

enum what {
	OPEN,		/* Create a queue pair, and a region with the rights @access. */
	CONNECT,	/* To the queue pair @qpn of @gid, with the rights @access of the peer. */
	SET,		/* Fill the region with the byte @value. */
	GET,		/* Return the eight bytes at @offset. */
	FLUSH,		/* Write @count words from @value on, each followed by a flush. */
	ATOMIC_WRITE,	/* The same words as atomic writes. */
	CLOSE,
};

struct order {
	enum what what;
	unsigned int access;
	uint32_t qpn, rkey, offset, count;
	union ibv_gid gid;
	uint64_t value, addr, length;
	uint8_t type, level;
};

struct answer {
	int err;
	enum ibv_wc_status status;
	uint32_t qpn, rkey;
	union ibv_gid gid;
	uint64_t addr, value, caps;
};

/* ---- The queue pair of this process ---------------------------------------- */

static struct {
	struct test_dev dev;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *mem;
} end;

static void create_qp(void)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = end.cq, .recv_cq = end.cq, .qp_type = IBV_QPT_RC, .pd = end.pd,
		.cap = { .max_send_wr = 4 * CHAIN, .max_recv_wr = 4, .max_send_sge = 1,
			 .max_recv_sge = 1, .max_inline_data = 8 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_FLUSH |
				  IBV_QP_EX_WITH_ATOMIC_WRITE,
	};

	end.qp = ibv_create_qp_ex(end.dev.ctx, &init);
	NEED_PTR(end.qp, "create_qp_ex");
}

static void open_end(const struct order *o, struct answer *a)
{
	struct ibv_device_attr_ex attr;

	dev_open(&end.dev);
	NEED_OK(ibv_query_device_ex(end.dev.ctx, NULL, &attr));
	end.pd = ibv_alloc_pd(end.dev.ctx);
	NEED_PTR(end.pd, "alloc_pd");
	end.mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(end.mem != MAP_FAILED, "mmap: %s", err_name(errno));
	end.cq = ibv_create_cq(end.dev.ctx, 8 * CHAIN, NULL, NULL, 0);
	NEED_PTR(end.cq, "create_cq");
	a->caps = attr.device_cap_flags_ex;
	a->gid = end.dev.gid;
	end.mr = ibv_reg_mr(end.pd, end.mem, SIZE, o->access);
	a->err = end.mr ? 0 : errno;
	if (a->err || ~a->caps & (CAP_FLUSH_GLOBAL | CAP_ATOMIC_WRITE))
		return;
	create_qp();
	a->qpn = end.qp->qp_num;
	a->rkey = end.mr->rkey;
	a->addr = (uintptr_t)end.mem;
}

static void close_end(void)
{
	if (end.qp)
		CHECK_ERR(ibv_destroy_qp(end.qp), 0);
	if (end.mr)
		CHECK_ERR(ibv_dereg_mr(end.mr), 0);
	CHECK_ERR(ibv_destroy_cq(end.cq), 0);
	CHECK_ERR(ibv_dealloc_pd(end.pd), 0);
	dev_close(&end.dev);
	munmap(end.mem, SIZE);
	memset(&end, 0, sizeof(end));
}

static void connect_end(const struct order *o)
{
	struct ibv_qp_attr a = { .qp_access_flags = o->access };
	struct test_dev to = end.dev;

	to.gid = o->gid;
	qp_connect(&to, end.qp, o->qpn, NULL);
	NEED_OK(ibv_modify_qp(end.qp, &a, IBV_QP_ACCESS_FLAGS));
}

/* Each word is signaled by its last request, so there are @count completions. */
static void post_words(const struct order *o)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(end.qp);

	NEED_PTR(ex, "extended interface");
	ibv_wr_start(ex);
	for (uint32_t i = 0; i < o->count; i++) {
		uint64_t value = o->value + i;

		ex->wr_id = i;
		if (o->what == ATOMIC_WRITE) {
			ex->wr_flags = IBV_SEND_SIGNALED;
			ibv_wr_atomic_write(ex, o->rkey, o->addr + 8 * i, &value);
			continue;
		}
		ex->wr_flags = IBV_SEND_INLINE;
		ibv_wr_rdma_write(ex, o->rkey, o->addr + 8 * i);
		ibv_wr_set_inline_data(ex, &value, sizeof(value));
		ex->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_flush(ex, o->rkey, o->addr + 8 * i + o->offset, o->length, o->type, o->level);
	}
	NEED_OK(ibv_wr_complete(ex));
}

/* Answer with the first bad status. */
static void request(const struct order *o, struct answer *a)
{
	enum ibv_wc_opcode opcode = o->what == FLUSH ? IBV_WC_FLUSH : IBV_WC_ATOMIC_WRITE;
	struct ibv_wc wc;

	post_words(o);
	for (uint32_t i = 0; i < o->count && !a->status && !a->err; i++) {
		if (wait_wc(end.cq, &wc, WC_TIMEOUT) != 1)
			a->err = ETIME;
		else if (wc.status)
			a->status = wc.status;
		else if (wc.wr_id != i || wc.opcode != opcode)
			a->err = EPROTO;
	}
}

static struct answer obey(const struct order *o)
{
	struct answer a = { 0 };

	switch (o->what) {
	case OPEN:
		open_end(o, &a);
		break;
	case CONNECT:
		connect_end(o);
		break;
	case SET:
		memset(end.mem, (int)o->value, SIZE);
		break;
	case GET:
		a.value = __atomic_load_n((uint64_t *)(end.mem + o->offset), __ATOMIC_ACQUIRE);
		break;
	case FLUSH:
	case ATOMIC_WRITE:
		request(o, &a);
		break;
	case CLOSE:
		close_end();
	}
	return a;
}

/* The second process ends when the first one has closed the socket. */
static int obey_orders(void)
{
	struct answer a;
	struct order o;

	setvbuf(stdout, NULL, _IOLBF, 0);
	test_now = "the peer";
	while (read(ORDERS, &o, sizeof(o)) == sizeof(o)) {
		a = obey(&o);
		if (write(ORDERS, &a, sizeof(a)) != sizeof(a))
			return 1;
	}
	return test_failures ? 1 : 0;
}

/* ---- Both queue pairs ------------------------------------------------------ */

enum side { UROCE, RXE };

static const char *const names[] = { "uroce", "rdma_rxe" };
static int orders;
static pid_t peer;

static struct answer tell(enum side side, struct order o)
{
	struct answer a;

	if (side == UROCE)
		return obey(&o);
	NEED(write(orders, &o, sizeof(o)) == sizeof(o) && read(orders, &a, sizeof(a)) == sizeof(a),
	     "the process of rdma_rxe has ended");
	return a;
}

static void start_peer(void)
{
	const char *run = getenv("UNIV_TEST_PEER_RUN"), *name = getenv("UNIV_TEST_PEER");
	char command[512];
	int pair[2];

	if (!run || !name)
		SKIP("tests/guest/82-newer.sh makes the device of rdma_rxe");
	NEED_OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	snprintf(command, sizeof(command), "exec %s obey", run);
	fflush(stdout);
	peer = fork();
	NEED(peer >= 0, "fork: %s", err_name(errno));
	if (!peer) {
		setenv("UNIV_TEST_DEVICE", name, 1);
		dup2(pair[1], ORDERS);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(1);
	}
	close(pair[1]);
	orders = pair[0];
}

static void stop_peer(void)
{
	int status;

	close(orders);
	CHECK(waitpid(peer, &status, 0) == peer && !status, "the process of rdma_rxe: status %x", status);
}

/* The requester's queue pair permits nothing; the responder permits @qp_access. */
static struct answer connect_both(enum side from, unsigned int access, unsigned int qp_access)
{
	struct answer a[2];

	start_peer();
	for (int i = UROCE; i <= RXE; i++) {
		a[i] = tell(i, (struct order){ OPEN, .access = i == (int)from ? ALL_ACCESS : access });
		if (~a[i].caps & CAP_FLUSH_GLOBAL)
			SKIP("%s of this kernel has no flushes", names[i]);
		NEED(!a[i].err && a[i].caps & CAP_ATOMIC_WRITE, "%s: capabilities %" PRIx64 ", %s", names[i], a[i].caps,
		     err_name(a[i].err));
	}
	for (int i = UROCE; i <= RXE; i++)
		tell(i, (struct order){
			CONNECT, .qpn = a[!i].qpn, .gid = a[!i].gid, .access = i == (int)from ? 0 : qp_access,
		});
	tell(!from, (struct order){ SET, .value = 0x33 });
	return a[!from];
}

static void disconnect(void)
{
	tell(UROCE, (struct order){ CLOSE });
	tell(RXE, (struct order){ CLOSE });
	stop_peer();
}

static void want_word(enum side at, uint32_t offset, uint64_t want)
{
	struct answer a = tell(at, (struct order){ GET, .offset = offset });

	CHECK(a.value == want, "at %s, the word at %u is %" PRIx64 " instead of %" PRIx64, names[at], offset,
	      a.value, want);
}

/* Expect a status for the request @o, and its words where it succeeds. */
static void perform(enum side from, struct order o, struct answer at, enum ibv_wc_status status)
{
	uint64_t base = o.addr;
	struct answer a;

	o.addr += at.addr;
	o.rkey ^= at.rkey;
	a = tell(from, o);
	CHECK(!a.err && a.status == status, "from %s, type %u, level %u, %" PRIu64 " bytes: %s, status %d (%s)",
	      names[from], o.type, o.level, o.length, err_name(a.err), a.status, ibv_wc_status_str(a.status));
	for (uint32_t i = 0; i < o.count && !status; i++)
		want_word(!from, base + 8 * i, o.value + i);
}

static void both_ways(void (*one_way)(enum side from))
{
	one_way(UROCE);
	one_way(RXE);
}

/* ---- Flushes --------------------------------------------------------------- */

/* The packets that uroce has received with a wrong ICRC. */
static unsigned long wrong_icrcs(void)
{
	unsigned long count = 0;
	char path[160];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/hw_counters/lifespan", dev_wanted());
	f = fopen(path, "w");
	NEED(f && fputs("0", f) > 0 && !fclose(f), "%s: %s", path, err_name(errno));
	usleep(50000);
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/hw_counters/rcvd_icrc_err", dev_wanted());
	f = fopen(path, "r");
	NEED(f && fscanf(f, "%lu", &count) == 1 && !fclose(f), "%s: %s", path, err_name(errno));
	return count;
}

/*
 * rdma_rxe (of Linux 7.3, too) takes the headers of a flush for its payload as well, so it computes the ICRC
 * over them twice. Two queue pairs of rdma_rxe do not notice. A kernel without this mistake runs all cases.
 */
static void need_right_icrc(void)
{
	struct answer at = connect_both(RXE, FLUSHABLE, QP_ACCESS), a;
	unsigned long before = wrong_icrcs();

	a = tell(RXE, (struct order){
		FLUSH, .count = 1, .type = IBV_FLUSH_GLOBAL, .level = IBV_FLUSH_MR, .rkey = at.rkey, .addr = at.addr,
	});
	disconnect();
	if (a.status != IBV_WC_RETRY_EXC_ERR)
		return;
	if (CHECK(wrong_icrcs() > before, "uroce does not answer flushes whose ICRC is right"))
		SKIP("rdma_rxe of this kernel sends flushes with a wrong ICRC, and expects that");
}

static void flush_from(enum side from)
{
	struct answer at = connect_both(from, FLUSHABLE, QP_ACCESS);
	struct order o = { FLUSH, .count = 1, .type = IBV_FLUSH_GLOBAL, .level = IBV_FLUSH_RANGE };

	o.value = 0x0123456789abcdef;
	o.length = 8;
	perform(from, o, at, IBV_WC_SUCCESS);
	o.value++;
	o.length = SIZE;
	perform(from, o, at, IBV_WC_SUCCESS);
	/* A range that begins and ends within a word. */
	o.value++;
	o.addr = 1024;
	o.offset = 3;
	o.length = 1;
	perform(from, o, at, IBV_WC_SUCCESS);
	o.value++;
	o.length = 0;
	perform(from, o, at, IBV_WC_SUCCESS);
	/* Of the whole region; the range does not matter. */
	o.level = IBV_FLUSH_MR;
	o.value++;
	perform(from, o, at, IBV_WC_SUCCESS);
	o.value++;
	o.offset = 1 << 20;
	o.length = 1 << 20;
	perform(from, o, at, IBV_WC_SUCCESS);
	disconnect();
}

static void flush(void)
{
	need_right_icrc();
	both_ways(flush_from);
}

static void flush_chain_from(enum side from)
{
	struct answer at = connect_both(from, FLUSHABLE, QP_ACCESS);
	struct order o = { FLUSH, .count = CHAIN, .value = 1000, .length = 8, .type = IBV_FLUSH_GLOBAL };

	for (o.level = IBV_FLUSH_RANGE; o.level <= IBV_FLUSH_MR; o.level++) {
		perform(from, o, at, IBV_WC_SUCCESS);
		o.value += CHAIN;
	}
	disconnect();
}

/* More flushes than reads may be under way at once. */
static void flush_chain(void)
{
	need_right_icrc();
	both_ways(flush_chain_from);
}

static void refused(enum side from, unsigned int access, unsigned int qp_access, struct order o,
		    enum ibv_wc_status status)
{
	struct answer at = connect_both(from, access, qp_access);

	o.value = 7;
	o.count = 1;
	perform(from, o, at, status);
	disconnect();
}

static void flush_refused_from(enum side from)
{
	struct order o = { FLUSH, .length = 8, .type = IBV_FLUSH_GLOBAL, .level = IBV_FLUSH_RANGE };
	struct order persistent = o, beyond = o;

	persistent.type = IBV_FLUSH_PERSISTENT;
	beyond.offset = SIZE - 7;
	/* The region grants no flush, or none of this type, or ends before the range. */
	refused(from, ALL_ACCESS, QP_ACCESS, o, IBV_WC_REM_ACCESS_ERR);
	refused(from, FLUSHABLE, QP_ACCESS, persistent, IBV_WC_REM_ACCESS_ERR);
	persistent.level = IBV_FLUSH_MR;
	refused(from, FLUSHABLE, QP_ACCESS, persistent, IBV_WC_REM_ACCESS_ERR);
	persistent.type |= IBV_FLUSH_GLOBAL;
	refused(from, FLUSHABLE, QP_ACCESS, persistent, IBV_WC_REM_ACCESS_ERR);
	refused(from, FLUSHABLE, QP_ACCESS, beyond, IBV_WC_REM_ACCESS_ERR);
	/* The queue pair permits none, or none of this type. */
	refused(from, FLUSHABLE, ALL_ACCESS, o, IBV_WC_REM_INV_REQ_ERR);
	refused(from, FLUSHABLE, FLUSHABLE, persistent, IBV_WC_REM_INV_REQ_ERR);
}

static void flush_refused(void)
{
	need_right_icrc();
	both_ways(flush_refused_from);
}

/* Neither device registers ordinary memory as persistent. */
static void not_persistent(void)
{
	struct answer a;

	start_peer();
	for (int i = UROCE; i <= RXE; i++) {
		a = tell(i, (struct order){ OPEN, .access = FLUSHABLE | IBV_ACCESS_FLUSH_PERSISTENT });
		if (~a.caps & CAP_FLUSH_GLOBAL)
			SKIP("%s of this kernel has no flushes", names[i]);
		CHECK(a.err == EOPNOTSUPP || (a.err == EINVAL && i == RXE), "%s: %s", names[i],
		      err_name(a.err));
	}
	disconnect();
}

/* ---- Atomic writes --------------------------------------------------------- */

static void atomic_write_from(enum side from)
{
	struct answer at = connect_both(from, ALL_ACCESS, QP_ACCESS);
	struct order o = { ATOMIC_WRITE, .count = 1, .value = 0x0123456789abcdef, .addr = 24 };

	perform(from, o, at, IBV_WC_SUCCESS);
	want_word(!from, 16, 0x3333333333333333);
	want_word(!from, 32, 0x3333333333333333);
	o.addr = SIZE - 8;
	perform(from, o, at, IBV_WC_SUCCESS);
	o.addr = 1024;
	o.count = CHAIN;
	perform(from, o, at, IBV_WC_SUCCESS);
	want_word(!from, 1024 + 8 * CHAIN, 0x3333333333333333);
	disconnect();
}

static void atomic_write(void)
{
	both_ways(atomic_write_from);
}

static void atomic_write_refused_from(enum side from)
{
	const unsigned int others = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	struct order o = { ATOMIC_WRITE }, other_key = o, beyond = o;

	other_key.rkey = 0x55;
	beyond.addr = SIZE;
	refused(from, ALL_ACCESS, QP_ACCESS, other_key, IBV_WC_REM_ACCESS_ERR);
	refused(from, ALL_ACCESS, QP_ACCESS, beyond, IBV_WC_REM_ACCESS_ERR);
	refused(from, others, QP_ACCESS, o, IBV_WC_REM_ACCESS_ERR);
	refused(from, ALL_ACCESS, others, o, IBV_WC_REM_INV_REQ_ERR);
}

static void atomic_write_refused(void)
{
	both_ways(atomic_write_refused_from);
}

static const struct test_case cases[] = {
	{ "flush", flush },
	{ "flush_chain", flush_chain },
	{ "flush_refused", flush_refused },
	{ "not_persistent", not_persistent },
	{ "atomic_write", atomic_write },
	{ "atomic_write_refused", atomic_write_refused },
};

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "obey"))
		return obey_orders();
	return test_run("with_rxe", argc, argv, cases, ARRAY_SIZE(cases), 60);
}
