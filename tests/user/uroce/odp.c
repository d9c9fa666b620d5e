// SPDX-License-Identifier: GPL-2.0
/*
 * On-demand paging: regions whose pages are not pinned. All operations fault pages in, on
 * both sides, and memory that the process does not have is refused.
 */
#include <linux/capability.h>
#include <linux/userfaultfd.h>
#include <sys/syscall.h>
#include "odp.h"

static long status_kib(const char *name)
{
	FILE *f = fopen("/proc/self/status", "r");
	size_t len = strlen(name);
	char line[128];
	long kib = -1;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, len))
			kib = strtol(line + len + 1, NULL, 10);
	if (f)
		fclose(f);
	return kib;
}

static void capabilities(void)
{
	uint32_t xrc = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ |
		       IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV | IBV_ODP_SUPPORT_FLUSH |
		       IBV_ODP_SUPPORT_ATOMIC_WRITE;
	uint32_t rc = xrc | IBV_ODP_SUPPORT_RECV;
	struct ibv_device_attr_ex ex;
	struct pair p;

	start(&p, NULL);
	NEED_OK(ibv_query_device_ex(p.dev.ctx, NULL, &ex));
	CHECK(ex.odp_caps.per_transport_caps.rc_odp_caps == rc, "RC: %#x",
	      ex.odp_caps.per_transport_caps.rc_odp_caps);
	CHECK(ex.odp_caps.per_transport_caps.uc_odp_caps == IBV_ODP_SUPPORT_SEND, "UC: %#x",
	      ex.odp_caps.per_transport_caps.uc_odp_caps);
	CHECK(ex.odp_caps.per_transport_caps.ud_odp_caps == IBV_ODP_SUPPORT_SEND, "UD: %#x",
	      ex.odp_caps.per_transport_caps.ud_odp_caps);
	CHECK(ex.xrc_odp_caps == xrc, "XRC: %#x", ex.xrc_odp_caps);
	pair_close(&p);
}

/* A process that may lock no memory. */
static void lock_nothing(void)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2];
	struct rlimit none = { 0, 0 };

	NEED(!syscall(SYS_capget, &h, d), "capget: %s", err_name(errno));
	d[0].effective &= ~(1u << CAP_IPC_LOCK);
	d[0].permitted &= ~(1u << CAP_IPC_LOCK);
	d[0].inheritable &= ~(1u << CAP_IPC_LOCK);
	NEED(!syscall(SYS_capset, &h, d), "capset: %s", err_name(errno));
	NEED(!setrlimit(RLIMIT_MEMLOCK, &none), "setrlimit: %s", err_name(errno));
}

static void registers_in_child(void)
{
	size_t len = (size_t)1 << 30;
	long pinned, present;
	struct odp o;
	struct pair p;

	start(&p, NULL);
	pinned = status_kib("VmPin:");
	present = status_kib("VmRSS:");
	lock_nothing();
	CHECK(!ibv_reg_mr(p.pd, p.buf[0], PAGE, ALL_ACCESS), "a pinned region was registered");
	o = odp_open(&p, len);
	CHECK(status_kib("VmPin:") == pinned, "%ld KiB were pinned", status_kib("VmPin:") - pinned);
	CHECK(status_kib("VmRSS:") - present < 1024, "%ld KiB were faulted in",
	      status_kib("VmRSS:") - present);
	o.mem[len - 1] = 1;
	fill(o.mem, PAGE, 3);
	post(&p, IBV_WR_RDMA_WRITE, &o, 0, &o, len - PAGE, PAGE);
	done(&p, IBV_WC_SUCCESS);
	CHECK_BYTES(o.mem + len - PAGE, PAGE, 3, "the last page");
	CHECK(status_kib("VmPin:") == pinned, "a copy has pinned %ld KiB",
	      status_kib("VmPin:") - pinned);
	odp_close(&o);
	pair_close(&p);
	exit(test_failures ? 1 : 0);
}

/* Registration of 1 GiB pins nothing, charges nothing and needs no page. */
static void nothing_is_pinned(void)
{
	pid_t child = fork();
	int status;

	if (!child)
		registers_in_child();
	NEED(waitpid(child, &status, 0) == child, "waitpid");
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIP)
		SKIP("skipped");
	CHECK(!status, "the child ended with %#x", status);
}

static void write_and_read(const struct pair *p, uint32_t len, size_t off)
{
	struct odp a = odp_open(p, BIG + PAGE), b = odp_open(p, BIG + PAGE);
	struct odp c = odp_open(p, BIG + PAGE);

	fill(a.mem + off, len, len);
	post(p, IBV_WR_RDMA_WRITE, &a, off, &b, 3 * off, len);
	if (done(p, IBV_WC_SUCCESS))
		CHECK_BYTES(b.mem + 3 * off, len, len, "write");
	post(p, IBV_WR_RDMA_READ, &c, off, &b, 3 * off, len);
	if (done(p, IBV_WC_SUCCESS))
		CHECK_BYTES(c.mem + off, len, len, "read");
	odp_close(&a);
	odp_close(&b);
	odp_close(&c);
}

/* Nothing has touched the memory that is written, nor what is sent as zeros. */
static void reads_and_writes(void)
{
	static const uint32_t lens[] = { 1, 8, PAGE, PAGE + 1, 300000, BIG - 100 };
	struct pair p;

	start(&p, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(lens); i++)
		write_and_read(&p, lens[i], 17);
	pair_close(&p);
}

static void message(const struct pair *p, enum ibv_wr_opcode op, uint32_t len)
{
	struct odp a = odp_open(p, BIG), b = odp_open(p, BIG);
	struct ibv_sge sge = sge_of(&b, 100, BIG - 100);
	struct ibv_wc wc;

	fill(a.mem, len, len);
	CHECK_ERR(post_recv(p, 1, 2, &sge, 1), 0);
	post(p, op, &a, 0, op == IBV_WR_RDMA_WRITE_WITH_IMM ? &b : NULL, 100, len);
	if (done(p, IBV_WC_SUCCESS) && WANT_WC(p->cq[1], &wc, IBV_WC_SUCCESS)) {
		CHECK(wc.byte_len == len, "%u bytes", wc.byte_len);
		CHECK_BYTES(b.mem + 100, len, len, "message");
	}
	odp_close(&a);
	odp_close(&b);
}

static void messages(void)
{
	static const uint32_t lens[] = { 1, PAGE, 300000, BIG - 100 };
	struct pair_want shared = { .use_srq = 1 };
	struct pair p;

	for (int srq = 0; srq < 2; srq++) {
		start(&p, srq ? &shared : NULL);
		for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
			message(&p, IBV_WR_SEND, lens[i]);
			message(&p, IBV_WR_RDMA_WRITE_WITH_IMM, lens[i]);
		}
		pair_close(&p);
	}
}

/* From a pinned region, inline, into a list of which one segment is on demand. */
static void mixed(void)
{
	struct pair p;
	struct odp b;
	struct ibv_sge sge[2];
	struct ibv_wc wc;

	start(&p, NULL);
	b = odp_open(&p, BIG);
	for (int flags = 0; flags < 2; flags++) {
		sge[0] = pair_sge(&p, 1, 0, 10);
		sge[1] = sge_of(&b, flags ? 2 * PAGE : 0, 100);
		fill(p.buf[0], 60, flags);
		CHECK_ERR(post_recv(&p, 1, 2, sge, 2), 0);
		CHECK_ERR(post_send_at(&p, 0, 1, 0, 60, IBV_SEND_SIGNALED |
				       (flags ? IBV_SEND_INLINE : 0)), 0);
		if (!done(&p, IBV_WC_SUCCESS) || !WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS))
			break;
		memcpy(p.buf[1] + 10, (void *)(uintptr_t)sge[1].addr, 50);
		CHECK_BYTES(p.buf[1], 60, flags, "message");
	}
	odp_close(&b);
	pair_close(&p);
}

static void atomics(void)
{
	struct pair p;
	struct odp a, b;
	uint64_t *there, *here;

	start(&p, NULL);
	a = odp_open(&p, PAGE);
	b = odp_open(&p, 2 * PAGE);
	there = (uint64_t *)(b.mem + PAGE);
	here = (uint64_t *)a.mem;
	post(&p, IBV_WR_ATOMIC_FETCH_AND_ADD, &a, 0, &b, PAGE, 8);
	done(&p, IBV_WC_SUCCESS);
	CHECK(*there == 5 && !*here, "fetch and add: %" PRIu64 ", %" PRIu64, *there, *here);
	madvise(a.mem, PAGE, MADV_DONTNEED);
	post(&p, IBV_WR_ATOMIC_CMP_AND_SWP, &a, 8, &b, PAGE, 8);
	done(&p, IBV_WC_SUCCESS);
	CHECK(*there == 9 && here[1] == 5, "compare and swap: %" PRIu64 ", %" PRIu64, *there,
	      here[1]);
	odp_close(&a);
	odp_close(&b);
	pair_close(&p);
}

/* A datagram for pages that are not there is lost, and the next one arrives. */
static void datagrams(void)
{
	struct pair_want want = { .type = IBV_QPT_UD };
	struct ibv_wc wc;
	struct odp a, b;
	struct ibv_sge sge;
	struct pair p;
	int n = 0;

	start(&p, &want);
	a = odp_open(&p, PAGE);
	b = odp_open(&p, PAGE);
	fill(a.mem, 500, 9);
	sge = sge_of(&b, 0, PAGE);
	CHECK_ERR(post_recv(&p, 1, 2, &sge, 1), 0);
	do {
		struct ibv_sge from = sge_of(&a, 0, 500);
		struct ibv_send_wr wr = {
			.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED,
		};

		wr_address(&p, 0, &wr);
		CHECK_ERR(post_one(&p, 0, &wr), 0);
		done(&p, IBV_WC_SUCCESS);
	} while (!wait_wc(p.cq[1], &wc, 100) && ++n < 50);
	CHECK(n < 50 && wc.status == IBV_WC_SUCCESS && wc.wr_id == 2 && wc.byte_len == 540,
	      "%d lost, status %d", n, wc.status);
	CHECK_BYTES(b.mem + 40, 500, 9, "datagram");
	WANT_EMPTY(p.cq[1]);
	odp_close(&a);
	odp_close(&b);
	pair_close(&p);
}

static void refused(enum ibv_wr_opcode op, const struct odp *from, const struct odp *to,
		    struct pair *p, enum ibv_wc_status status, const char *what)
{
	struct ibv_wc wc;

	post(p, op, from, 0, to, 0, 100);
	if (!WANT_WC(p->cq[0], &wc, status)) {
		FAIL("%s", what);
		return;
	}
	if (status == IBV_WC_LOC_PROT_ERR || !by_packets())
		CHECK(why_reason() == UNIV_REASON_PAGE_FAULT && strstr(why_text(), "ON_DEMAND"),
		      "%s: %s", what, why_text());
}

/* Memory that is not mapped, or not for writing: on the peer's side, and on this side. */
static void unmapped(void)
{
	struct odp o, ok;
	struct pair p;

	for (int i = 0; i < 5; i++) {
		start(&p, NULL);
		ok = odp_open(&p, PAGE);
		o = odp_open(&p, PAGE);
		fill(ok.mem, PAGE, i);
		post(&p, IBV_WR_RDMA_WRITE, &ok, 0, &o, 0, PAGE);
		done(&p, IBV_WC_SUCCESS);
		CHECK_BYTES(o.mem, PAGE, i, "before");
		if (i < 3)
			munmap(o.mem, PAGE);
		else
			mprotect(o.mem, PAGE, PROT_READ);
		if (i == 0)
			refused(IBV_WR_RDMA_WRITE, &ok, &o, &p, IBV_WC_REM_ACCESS_ERR, "write");
		else if (i == 1)
			refused(IBV_WR_RDMA_WRITE, &o, &ok, &p, IBV_WC_LOC_PROT_ERR, "gather");
		else if (i == 2)
			refused(IBV_WR_RDMA_READ, &ok, &o, &p, IBV_WC_REM_ACCESS_ERR, "read");
		else if (i == 3)
			refused(IBV_WR_RDMA_WRITE, &ok, &o, &p, IBV_WC_REM_ACCESS_ERR, "read-only");
		else
			refused(IBV_WR_RDMA_READ, &o, &ok, &p, IBV_WC_LOC_PROT_ERR, "scatter");
		CHECK_ERR(ibv_dereg_mr(o.mr), 0);
		if (i >= 3)
			munmap(o.mem, PAGE);
		odp_close(&ok);
		pair_close(&p);
	}
}

/* A region of all addresses: memory that is mapped later, in places far from each other. */
static void implicit(void)
{
	struct odp all, a, b;
	struct pair p;

	start(&p, NULL);
	all.mr = ibv_reg_mr(p.pd, NULL, SIZE_MAX, ODP);
	NEED(all.mr, "reg_mr: %s; %s", err_name(errno), why_text());
	CHECK(!all.mr->addr && all.mr->length == SIZE_MAX, "address and length");
	for (int i = 0; i < 200; i++) {
		a = (struct odp){ map(PAGE, -1), PAGE, all.mr };
		b = (struct odp){ map(4u << 20, -1), 4u << 20, all.mr };
		fill(a.mem, PAGE, i);
		post(&p, IBV_WR_RDMA_WRITE, &a, 0, &b, (2u << 20) - 100, PAGE);
		if (!done(&p, IBV_WC_SUCCESS))
			break;
		CHECK_BYTES(b.mem + (2u << 20) - 100, PAGE, i, "write");
		munmap(a.mem, a.len);
		if (i & 1)
			munmap(b.mem, b.len);
	}
	b.mem = NULL;
	a = odp_open(&p, PAGE);
	refused(IBV_WR_RDMA_WRITE, &a, &b, &p, IBV_WC_REM_ACCESS_ERR, "address 0");
	odp_close(&a);
	CHECK_ERR(ibv_dereg_mr(all.mr), 0);
	CHECK(!ibv_reg_mr(p.pd, (void *)(uintptr_t)PAGE, SIZE_MAX, ODP), "another address");
	CHECK(!ibv_reg_mr(p.pd, NULL, SIZE_MAX, ALL_ACCESS), "pinned");
	pair_close(&p);
}

/* The key is checked as that of a pinned region. */
static void outside(void)
{
	struct odp a, b;
	struct pair p;

	for (int i = 0; i < 3; i++) {
		start(&p, NULL);
		a = odp_open(&p, 2 * PAGE);
		b = odp_of(&p, map(2 * PAGE, -1), PAGE);
		if (i == 2) {
			CHECK_ERR(ibv_dereg_mr(b.mr), 0);
			b.mr = ibv_reg_mr(p.pd, b.mem, PAGE, IBV_ACCESS_LOCAL_WRITE |
					  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND);
			NEED_PTR(b.mr, "reg_mr");
		}
		if (i == 1)
			post(&p, IBV_WR_RDMA_WRITE, &b, PAGE - 8, &a, 0, 9);
		else
			post(&p, IBV_WR_RDMA_WRITE, &a, 0, &b, i ? 0 : PAGE - 8, 9);
		done(&p, i == 1 ? IBV_WC_LOC_PROT_ERR : IBV_WC_REM_ACCESS_ERR);
		if (i == 1 || !by_packets())
			CHECK(why_reason() == (i == 2 ? UNIV_REASON_KEY_ACCESS :
					       UNIV_REASON_KEY_RANGE), "%s", why_text());
		CHECK(all_zero(a.mem, 2 * PAGE) && all_zero(b.mem, 2 * PAGE), "memory was written");
		odp_close(&a);
		odp_close(&b);
		munmap(b.mem + PAGE, PAGE);
		pair_close(&p);
	}
}

/* A receive request whose memory is gone. */
static void receive_unmapped(void)
{
	struct ibv_sge sge;
	struct ibv_wc wc;
	struct pair p;
	struct odp o;

	start(&p, NULL);
	o = odp_open(&p, PAGE);
	sge = sge_of(&o, 0, PAGE);
	CHECK_ERR(post_recv(&p, 1, 2, &sge, 1), 0);
	munmap(o.mem, PAGE);
	CHECK_ERR(post_send_at(&p, 0, 1, 0, 100, IBV_SEND_SIGNALED), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_REM_OP_ERR);
	if (WANT_WC(p.cq[1], &wc, IBV_WC_LOC_PROT_ERR))
		CHECK(why_reason() == UNIV_REASON_PAGE_FAULT, "%s", why_text());
	CHECK_ERR(ibv_dereg_mr(o.mr), 0);
	pair_close(&p);
}

/* Other memory at the same address is used from now on. */
static void mapped_again(void)
{
	struct odp a, b;
	struct pair p;
	void *at;

	start(&p, NULL);
	a = odp_open(&p, PAGE);
	b = odp_open(&p, PAGE);
	for (int i = 0; i < 20; i++) {
		fill(a.mem, PAGE, i);
		post(&p, IBV_WR_RDMA_WRITE, &a, 0, &b, 0, PAGE);
		if (!done(&p, IBV_WC_SUCCESS))
			break;
		CHECK_BYTES(b.mem, PAGE, i, "write");
		at = mmap(b.mem, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		CHECK(at == b.mem && all_zero(at, PAGE), "the mapping was not replaced");
	}
	odp_close(&a);
	odp_close(&b);
	pair_close(&p);
}

/* The peer flushes a region of which no page is present, and then one that it has written. */
static void flushes(void)
{
	struct pair_want want = { .use_ex = 1, .ex_ops = IBV_QP_EX_WITH_FLUSH };
	struct ibv_qp_attr permit = { .qp_access_flags = ALL_ACCESS | IBV_ACCESS_FLUSH_GLOBAL };
	struct ibv_qp_ex *ex;
	struct odp a, b;
	struct pair p;

	start(&p, &want);
	NEED_OK(ibv_modify_qp(p.qp[1], &permit, IBV_QP_ACCESS_FLAGS));
	ex = ibv_qp_to_qp_ex(p.qp[0]);
	NEED(ex, "no extended interface");
	a = odp_open(&p, PAGE);
	b = (struct odp){ map(2 * PAGE, -1), 2 * PAGE };
	b.mr = ibv_reg_mr(p.pd, b.mem, b.len, ODP | IBV_ACCESS_FLUSH_GLOBAL);
	NEED(b.mr, "reg_mr: %s; %s", err_name(errno), why_text());
	fill(a.mem, PAGE, 6);
	for (int i = 0; i < 2; i++) {
		ibv_wr_start(ex);
		ex->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_flush(ex, b.mr->rkey, (uintptr_t)b.mem + 10, PAGE, IBV_FLUSH_GLOBAL,
			     i ? IBV_FLUSH_MR : IBV_FLUSH_RANGE);
		NEED_OK(ibv_wr_complete(ex));
		done(&p, IBV_WC_SUCCESS);
		post(&p, IBV_WR_RDMA_WRITE, &a, 0, &b, 10, PAGE);
		done(&p, IBV_WC_SUCCESS);
	}
	CHECK_BYTES(b.mem + 10, PAGE, 6, "write");
	odp_close(&a);
	odp_close(&b);
	pair_close(&p);
}

/* No handler answers faults of this memory: only the request that needs it fails or waits. */
static void nobody_answers(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg;
	struct odp ok, o;
	struct ibv_wc wc;
	struct pair p;
	int fd, early;
	bool waits;

	start(&p, NULL);
	fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (fd < 0)
		SKIP("no userfaultfd: %s", err_name(errno));
	NEED(!ioctl(fd, UFFDIO_API, &api), "UFFDIO_API: %s", err_name(errno));
	ok = odp_open(&p, PAGE);
	o = odp_open(&p, PAGE);
	reg = (struct uffdio_register){
		.range = { (uintptr_t)o.mem, PAGE }, .mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	NEED(!ioctl(fd, UFFDIO_REGISTER, &reg), "UFFDIO_REGISTER: %s", err_name(errno));
	post(&p, IBV_WR_RDMA_WRITE, &ok, 0, &o, 0, 100);
	/*
	 * Until Linux 7.3 the kernel fails such a fault at once. From then on it waits for the
	 * handler, and after the end of the handler both results are right.
	 */
	waits = kernel_since(7, 3);
	early = wait_wc(p.cq[0], &wc, waits ? 3000 : WC_TIMEOUT);
	close(fd);
	if (early || CHECK(waits && wait_wc(p.cq[0], &wc, WC_TIMEOUT) == 1, "no completion"))
		CHECK(wc.status == IBV_WC_REM_ACCESS_ERR || (!early && !wc.status), "status %d",
		      wc.status);
	odp_close(&ok);
	odp_close(&o);
	pair_close(&p);
}

/* Pages that the kernel itself cannot reach are refused. */
static void secret(void)
{
	int fd = syscall(SYS_memfd_secret, 0);
	struct odp ok, o;
	struct pair p;

	if (fd < 0) {
		printf("no memfd_secret: %s\n", err_name(errno));
		return;
	}
	start(&p, NULL);
	NEED(!ftruncate(fd, PAGE), "ftruncate: %s", err_name(errno));
	ok = odp_open(&p, PAGE);
	o = odp_of(&p, map(PAGE, fd), PAGE);
	o.mem[0] = 1;
	refused(IBV_WR_RDMA_READ, &ok, &o, &p, IBV_WC_REM_ACCESS_ERR, "read");
	CHECK(o.mem[0] == 1 && !ok.mem[0], "memory was copied");
	odp_close(&ok);
	odp_close(&o);
	pair_close(&p);
	close(fd);
}

/* linux/mman.h has these names since Linux 6.6 and 6.10. */
#define MAP_SHADOW_STACK_NR 453
#define TOKEN 1

/* A shadow stack can be read, but not written, by the address of a region of any kind. */
static void shadow_stack(void)
{
	struct odp ok, all;
	struct pair p;
	long at;

	at = syscall(MAP_SHADOW_STACK_NR, 0, 4 * PAGE, TOKEN);
	if (at == -1) {
		CHECK(system("grep -qw user_shstk /proc/cpuinfo"), "map_shadow_stack: %s",
		      err_name(errno));
		printf("the kernel or the processor has no shadow stacks, as any that QEMU emulates\n");
		return;
	}
	for (int i = 0; i < 3; i++) {
		start(&p, NULL);
		ok = odp_open(&p, PAGE);
		fill(ok.mem, PAGE, i);
		all = (struct odp){ (uint8_t *)at + 3 * PAGE, PAGE };
		all.mr = i ? ibv_reg_mr(p.pd, all.mem, PAGE, ODP) :
			     ibv_reg_mr(p.pd, NULL, SIZE_MAX, ODP);
		NEED_PTR(all.mr, "reg_mr");
		CHECK_NULL(ibv_reg_mr(p.pd, all.mem, PAGE, ALL_ACCESS), EFAULT);
		post(&p, IBV_WR_RDMA_READ, &ok, 0, &all, 0, PAGE);
		done(&p, IBV_WC_SUCCESS);
		if (i < 2)
			refused(IBV_WR_RDMA_WRITE, &ok, &all, &p, IBV_WC_REM_ACCESS_ERR, "write");
		else
			refused(IBV_WR_RDMA_READ, &all, &ok, &p, IBV_WC_LOC_PROT_ERR, "scatter");
		CHECK_ERR(ibv_dereg_mr(all.mr), 0);
		odp_close(&ok);
		pair_close(&p);
	}
	munmap((void *)at, 4 * PAGE);
}

/* A second use of the pages faults nothing in. */
static void faults_once(void)
{
	uint64_t before, after;
	struct odp a, b;
	struct pair p;

	start(&p, NULL);
	a = odp_open(&p, 4 * PAGE);
	b = odp_open(&p, 4 * PAGE);
	for (int i = 0; i < 3; i++) {
		before = hw_counter(dev_wanted(), "page_faults");
		post(&p, IBV_WR_RDMA_WRITE, &a, 0, &b, 0, 4 * PAGE);
		done(&p, IBV_WC_SUCCESS);
		after = hw_counter(dev_wanted(), "page_faults");
		CHECK(i ? after == before : after > before, "round %d: %" PRIu64 " faults", i,
		      after - before);
	}
	odp_close(&a);
	odp_close(&b);
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "capabilities", capabilities },
	{ "nothing_is_pinned", nothing_is_pinned },
	{ "reads_and_writes", reads_and_writes },
	{ "messages", messages },
	{ "mixed", mixed },
	{ "atomics", atomics },
	{ "flushes", flushes },
	{ "datagrams", datagrams },
	{ "unmapped", unmapped },
	{ "outside", outside },
	{ "implicit", implicit },
	{ "receive_unmapped", receive_unmapped },
	{ "mapped_again", mapped_again },
	{ "faults_once", faults_once },
	{ "nobody_answers", nobody_answers },
	{ "secret", secret },
	{ "shadow_stack", shadow_stack },
};
TEST_MAIN("odp", cases, 40)
