// SPDX-License-Identifier: GPL-2.0
/*
 * Regions of dma-bufs of several exporters: requests of every kind on them, what their
 * owner closes while they are used, and what cannot be registered.
 */
#include <sys/time.h>
#include "dmabuf.h"

#define IOVA 0x7000000123ull	/* The offset of a region has the same offset in its page. */
#define OFF (4096u + 0x123)
#define LEN (BUF_SIZE - 8192)

static struct pair p;

/* uroce registers dma-bufs on processors of x86 only. */
static void start(void)
{
	pair_open(&p, NULL);
	if (!raw_offers(p.dev.ctx->cmd_fd, UNIV_FEATURE_DMABUF))
		SKIP("the device registers no dma-bufs");
}

static struct ibv_mr *reg(const struct dmabuf *b, unsigned int access)
{
	struct ibv_mr *mr = ibv_reg_dmabuf_mr(p.pd, OFF, LEN, IOVA, b->fd, (int)access);

	NEED(mr, "reg_dmabuf_mr: %s; %s", err_name(errno), why_text());
	return mr;
}

static void fails(uint64_t off, size_t len, uint64_t iova, int fd, unsigned int access, int want,
		  uint32_t reason)
{
	CHECK_NULL(ibv_reg_dmabuf_mr(p.pd, off, len, iova, fd, (int)access), want);
	CHECK(why_reason() == reason, "reason %u, expected %u: %s", why_reason(), reason,
	      why_text());
}

static void post_write(uint64_t remote, uint32_t rkey, uint32_t len)
{
	struct ibv_sge sge = pair_sge(&p, 0, 0, len);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = remote, .rkey = rkey },
	};

	CHECK_ERR(post_one(&p, 0, &wr), 0);
}

static void request(enum ibv_wr_opcode op, uint64_t remote, uint32_t rkey, uint32_t len,
		    enum ibv_wc_status want)
{
	struct ibv_sge sge = pair_sge(&p, 0, 0, len);
	struct ibv_send_wr wr = {
		.opcode = op, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_wc wc;

	wr_remote(&wr, remote, rkey, 5);
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	WANT_WC(p.cq[0], &wc, want);
}

static void message(struct ibv_sge from, struct ibv_sge to)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .sg_list = &from, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_wc wc;

	CHECK_ERR(post_recv(&p, 1, 1, &to, 1), 0);
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
}

static void remote_requests(uint8_t *mem, const struct ibv_mr *mr)
{
	const uint64_t word = (IOVA + 7) & ~7ull;
	uint64_t *counter = (uint64_t *)(mem + OFF + (word - IOVA));

	fill(p.buf[0], LEN, 11);
	request(IBV_WR_RDMA_WRITE, IOVA, mr->rkey, LEN, IBV_WC_SUCCESS);
	CHECK_BYTES(mem + OFF, LEN, 11, "the peer wrote to the dma-buf");
	CHECK(all_zero(mem, OFF) && all_zero(mem + OFF + LEN, BUF_SIZE - OFF - LEN),
	      "bytes outside of the region were written");
	fill(mem + OFF, LEN, 12);
	request(IBV_WR_RDMA_READ, IOVA + 100, mr->rkey, LEN - 100, IBV_WC_SUCCESS);
	CHECK(!memcmp(p.buf[0], mem + OFF + 100, LEN - 100), "the peer read other bytes");
	*counter = 37;
	request(IBV_WR_ATOMIC_FETCH_AND_ADD, word, mr->rkey, 8, IBV_WC_SUCCESS);
	CHECK(*(uint64_t *)p.buf[0] == 37 && *counter == 42, "the atomic operation gives %lu",
	      (unsigned long)*counter);
}

static void messages(uint8_t *mem, const struct ibv_mr *mr)
{
	const struct ibv_sge region = { IOVA, LEN, mr->lkey };

	fill(mem + OFF, LEN, 13);
	memset(p.buf[1], 0, LEN);
	message(region, pair_sge(&p, 1, 0, LEN));
	CHECK_BYTES(p.buf[1], LEN, 13, "sent from the dma-buf");
	fill(p.buf[0], LEN, 14);
	message(pair_sge(&p, 0, 0, LEN), region);
	CHECK_BYTES(mem + OFF, LEN, 14, "received into the dma-buf");
}

/* All that an exporter gives is used, and closed while the region is used. */
static void exporter_works(enum exporter from)
{
	struct dmabuf b;
	struct ibv_mr *mr;

	start();
	if (!dmabuf_open(p.dev.ctx, from, &b)) {
		pair_close(&p);
		return;
	}
	mr = reg(&b, ALL_ACCESS);
	CHECK(mr->length == LEN && mr->addr == (void *)(uintptr_t)OFF && mr->pd == p.pd,
	      "another region");
	remote_requests(b.mem, mr);
	messages(b.mem, mr);
	dmabuf_forget(&b);
	memset(b.mem, 0, BUF_SIZE);
	remote_requests(b.mem, mr);
	messages(b.mem, mr);
	munmap(b.mem, BUF_SIZE);
	request(IBV_WR_RDMA_READ, IOVA, mr->rkey, LEN, IBV_WC_SUCCESS);
	CHECK_BYTES(p.buf[0], LEN, 14, "the region after its mapping is gone");
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	pair_close(&p);
}

static void dm(void)
{
	exporter_works(FROM_DM);
}

/* The exporter maps no memory in kernels before 6.2. */
static void udmabuf(void)
{
	struct dmabuf b;

	if (kernel_since(6, 2)) {
		exporter_works(FROM_UDMABUF);
		return;
	}
	start();
	if (dmabuf_open(p.dev.ctx, FROM_UDMABUF, &b)) {
		fails(OFF, LEN, IOVA, b.fd, ALL_ACCESS, EOPNOTSUPP, UNIV_REASON_DMABUF);
		dmabuf_close(&b);
	}
	pair_close(&p);
}

static void heap(void)
{
	exporter_works(FROM_HEAP);
}

static void vgem(void)
{
	exporter_works(FROM_VGEM);
}

/* The card maps device memory for its own DMA, and keeps it. */
static void dm_in_vgem(void)
{
	struct card_prime prime = { 0 };
	struct dmabuf b;
	int card;

	pair_open(&p, NULL);
	dmabuf_open(p.dev.ctx, FROM_DM, &b);
	card = vgem_card();
	if (card < 0) {
		printf("there is no card of vgem\n");
		dmabuf_close(&b);
		pair_close(&p);
		return;
	}
	prime.fd = b.fd;
	CHECK(!ioctl(card, CARD_FROM_FD, &prime), "import: %s", err_name(errno));
	dmabuf_close(&b);
	pair_close(&p);
	close(card);
}

/* A dma-buf keeps device memory, and shows nothing else. */
static void dm_kept(void)
{
	struct dmabuf b;
	void *mem;

	pair_open(&p, NULL);
	dmabuf_open(p.dev.ctx, FROM_DM, &b);
	CHECK(all_zero(b.mem, BUF_SIZE), "new memory is not zero");
	fill(b.mem, BUF_SIZE, 5);
	CHECK_ERR(ibv_free_dm(b.dm), 0);
	b.dm = NULL;
	munmap(b.mem, BUF_SIZE);
	CHECK(lseek(b.fd, 0, SEEK_END) == BUF_SIZE, "another size");
	mem = mmap(NULL, 4096, PROT_READ, MAP_SHARED, b.fd, BUF_SIZE);
	CHECK(mem == MAP_FAILED && errno == EINVAL, "a mapping behind the end");
	mem = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, b.fd, 0);
	CHECK(mem == MAP_FAILED && errno == EINVAL, "a private mapping");
	mem = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, b.fd, 0);
	CHECK(mem == MAP_FAILED && errno == EPERM, "an executable mapping");
	b.mem = mmap(NULL, BUF_SIZE, PROT_READ, MAP_SHARED, b.fd, 0);
	NEED(b.mem != MAP_FAILED, "mmap: %s", err_name(errno));
	CHECK(mprotect(b.mem, 4096, PROT_READ | PROT_EXEC) == -1, "execute permission was added");
	CHECK_BYTES(b.mem, BUF_SIZE, 5, "the memory after it was freed");
	mem = mmap(NULL, 4096, PROT_READ, MAP_SHARED, b.fd, BUF_SIZE - 4096);
	CHECK(mem != MAP_FAILED && !memcmp(mem, b.mem + BUF_SIZE - 4096, 4096), "the last page");
	munmap(mem, 4096);
	dmabuf_close(&b);
	pair_close(&p);
}

static void refused(void)
{
	const unsigned int all = ALL_ACCESS;
	struct dmabuf b;
	int file, lost;

	start();
	dmabuf_open(p.dev.ctx, FROM_DM, &b);
	file = memfd_create("file", 0);
	lost = dup(file);
	close(lost);
	/* UCX asks in this way whether the memory of a device can be registered. */
	fails(0, 4096, 0, -1, all, EOPNOTSUPP, UNIV_REASON_DMABUF);
	fails(0, 4096, 0, lost, all, EBADF, UNIV_REASON_DMABUF);
	fails(0, 4096, 0, file, all, EINVAL, UNIV_REASON_DMABUF);
	CHECK(strstr(why_text(), "is not a dma-buf"), "explained as: %s", why_text());
	fails(0, BUF_SIZE + 1, 0, b.fd, all, EINVAL, UNIV_REASON_DMABUF);
	CHECK(strstr(why_text(), "lie within the dma-buf"), "explained as: %s", why_text());
	fails(1, BUF_SIZE, 1, b.fd, all, EINVAL, UNIV_REASON_DMABUF);
	fails(BUF_SIZE, 1, 0, b.fd, all, EINVAL, UNIV_REASON_DMABUF);
	fails(UINT64_MAX - 4095, 4096, 0, b.fd, all, EINVAL, UNIV_REASON_DMABUF);
	fails(4096, UINT64_MAX - 8191, 0, b.fd, all, EINVAL, UNIV_REASON_LIMIT);
	fails(8192, BUF_SIZE - 4096, 0, b.fd, all, EINVAL, UNIV_REASON_DMABUF);
	fails(0, 0, 0, b.fd, all, EINVAL, UNIV_REASON_ZERO);
	fails(0, 4097, UINT64_MAX - 4095, b.fd, all, EINVAL, UNIV_REASON_ADDRESS_WRAP);
	fails(0, 4096, 8, b.fd, all, EINVAL, UNIV_REASON_ADDRESS);
	fails(0, 4096, 0, b.fd, IBV_ACCESS_REMOTE_WRITE, EINVAL, UNIV_REASON_ACCESS_FLAGS);
	fails(0, 4096, 0, b.fd, all | IBV_ACCESS_ON_DEMAND, EOPNOTSUPP, UNIV_REASON_ACCESS_FLAGS);
	fails(0, 4096, 0, b.fd, all | IBV_ACCESS_HUGETLB, EOPNOTSUPP, UNIV_REASON_ACCESS_FLAGS);
	fails(0, 4096, 0, b.fd, all | IBV_ACCESS_ZERO_BASED, EOPNOTSUPP, UNIV_REASON_ACCESS_FLAGS);
	close(file);
	dmabuf_close(&b);
	pair_close(&p);
}

/* A descriptor that is open for reading only grants no region that is written. */
static void read_only(void)
{
	struct dmabuf b;
	struct ibv_mr *mr;
	int fd;

	start();
	if (!vgem_buffer(&b)) {
		pair_close(&p);
		return;
	}
	fd = vgem_export(&b, O_RDONLY);
	fails(0, 4096, 0, fd, ALL_ACCESS, EACCES, UNIV_REASON_DMABUF);
	fails(0, 4096, 0, fd, IBV_ACCESS_LOCAL_WRITE, EACCES, UNIV_REASON_DMABUF);
	CHECK(strstr(why_text(), "O_RDWR"), "explained as: %s", why_text());
	mr = ibv_reg_dmabuf_mr(p.pd, 0, 4096, 0, fd, IBV_ACCESS_REMOTE_READ);
	NEED(mr, "reg_dmabuf_mr: %s; %s", err_name(errno), why_text());
	request(IBV_WR_RDMA_READ, 0, mr->rkey, 4096, IBV_WC_SUCCESS);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	close(fd);
	close(b.other);
	pair_close(&p);
}

static void rereg_refused(void)
{
	struct dmabuf b;
	struct ibv_mr *mr;

	start();
	dmabuf_open(p.dev.ctx, FROM_DM, &b);
	mr = reg(&b, ALL_ACCESS);
	CHECK_ERR(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0),
		  IBV_REREG_MR_ERR_INPUT);
	CHECK(errno == EOPNOTSUPP, "rereg_mr: %s", err_name(errno));
	request(IBV_WR_RDMA_WRITE, IOVA, mr->rkey, LEN, IBV_WC_SUCCESS);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	dmabuf_close(&b);
	pair_close(&p);
}

/* The same through ibv_reg_mr_ex(3), which names memory of the process or a dma-buf. */
static void by_attributes(void)
{
	struct ibv_mr_init_attr attr = {
		.length = LEN,
		.access = ALL_ACCESS,
		.comp_mask = IBV_REG_MR_MASK_IOVA | IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_FD_OFFSET,
		.iova = IOVA,
		.fd_offset = OFF,
	};
	struct dmabuf b;
	struct ibv_mr *mr;

	start();
	dmabuf_open(p.dev.ctx, FROM_DM, &b);
	attr.fd = b.fd;
	mr = ibv_reg_mr_ex(p.pd, &attr);
	NEED(mr, "reg_mr_ex: %s; %s", err_name(errno), why_text());
	remote_requests(b.mem, mr);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	attr.comp_mask = IBV_REG_MR_MASK_FD;
	attr.length = BUF_SIZE;
	mr = ibv_reg_mr_ex(p.pd, &attr);
	NEED(mr, "reg_mr_ex of the whole: %s; %s", err_name(errno), why_text());
	request(IBV_WR_RDMA_WRITE, BUF_SIZE - 64, mr->rkey, 64, IBV_WC_SUCCESS);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	attr.comp_mask |= IBV_REG_MR_MASK_ADDR;
	attr.addr = p.buf[0];
	CHECK_NULL(ibv_reg_mr_ex(p.pd, &attr), EINVAL);
	attr.comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_FD_OFFSET;
	CHECK_NULL(ibv_reg_mr_ex(p.pd, &attr), EINVAL);
	dmabuf_close(&b);
	pair_close(&p);
}

/* A window of the region, and what the owner cannot do while it is bound. */
static void window(void)
{
	struct ibv_mw_bind bind = { .wr_id = 7, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_mw *mw;
	struct dmabuf b;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	start();
	dmabuf_open(p.dev.ctx, FROM_DM, &b);
	mr = reg(&b, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	mw = ibv_alloc_mw(p.pd, IBV_MW_TYPE_1);
	NEED(mw, "alloc_mw: %s; %s", err_name(errno), why_text());
	bind.bind_info = (struct ibv_mw_bind_info){
		mr, IOVA + 4096, 4096, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};
	CHECK_ERR(ibv_bind_mw(p.qp[1], mw, &bind), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	fill(p.buf[0], 4096, 31);
	request(IBV_WR_RDMA_WRITE, IOVA + 4096, mw->rkey, 4096, IBV_WC_SUCCESS);
	CHECK_BYTES(b.mem + OFF + 4096, 4096, 31, "written through the window");
	CHECK_ERR(ibv_dereg_mr(mr), EBUSY);
	request(IBV_WR_RDMA_WRITE, IOVA + 4095, mw->rkey, 64, IBV_WC_REM_ACCESS_ERR);
	CHECK_ERR(ibv_dealloc_mw(mw), 0);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	dmabuf_close(&b);
	pair_close(&p);
}

/*
 * The region goes while the peer writes to it, and the memory with it. The first request
 * that does not find it fails, and all after it are flushed.
 */
static void dereg_under_traffic(void)
{
	bool failed;
	struct dmabuf b;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	for (int round = 0; round < 20; round++) {
		start();
		dmabuf_open(p.dev.ctx, FROM_DM, &b);
		mr = reg(&b, ALL_ACCESS);
		dmabuf_close(&b);
		for (int i = 0; i < 32; i++)
			post_write(IOVA, mr->rkey, LEN);
		CHECK_ERR(ibv_dereg_mr(mr), 0);
		failed = false;
		for (int i = 0; i < 32; i++) {
			NEED(wait_wc(p.cq[0], &wc, WC_TIMEOUT) == 1, "no completion %d", i);
			CHECK(failed ? wc.status == IBV_WC_WR_FLUSH_ERR :
			      wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_REM_ACCESS_ERR,
			      "status %d of request %d", wc.status, i);
			failed |= wc.status != IBV_WC_SUCCESS;
		}
		pair_close(&p);
	}
}

static volatile sig_atomic_t ticks;

/* The fifth call of the handler ends the wait: the card no longer uses the memory. */
static struct {
	int card;
	struct card_signal signal;
} busy;

static void tick(int sig)
{
	(void)sig;
	if (++ticks == 5)
		NEED_OK(ioctl(busy.card, VGEM_FENCE_SIGNAL, &busy.signal));
}

/* Signals come while the registration waits for a card that uses the memory. */
static void under_signals(void)
{
	struct itimerval often = { { 0, 20000 }, { 0, 20000 } }, limit;
	struct sigaction act = { .sa_handler = tick }, former;
	struct card_fence fence = { .flags = 1 };
	struct ibv_mr *mr;
	struct dmabuf b;

	start();
	if (dmabuf_open(p.dev.ctx, FROM_VGEM, &b)) {
		fence.handle = b.gem;
		NEED_OK(ioctl(b.other, VGEM_FENCE_ATTACH, &fence));
		busy.card = b.other;
		busy.signal.fence = fence.fence;
		NEED_OK(sigaction(SIGALRM, &act, &former));
		NEED_OK(setitimer(ITIMER_REAL, &often, &limit));
		mr = ibv_reg_dmabuf_mr(p.pd, OFF, LEN, IOVA, b.fd, ALL_ACCESS);
		/* The limit of the test uses the same timer. */
		NEED_OK(setitimer(ITIMER_REAL, &limit, NULL));
		NEED_OK(sigaction(SIGALRM, &former, NULL));
		CHECK(ticks >= 5, "the registration has not waited for the card");
		if (CHECK(mr, "reg_dmabuf_mr after %d signals: %s", (int)ticks, err_name(errno)))
			CHECK_ERR(ibv_dereg_mr(mr), 0);
		dmabuf_close(&b);
	}
	pair_close(&p);
}

/* The queue pairs send packets, as to a peer on another host. */
static void packets(void)
{
	/* Before the parameter changes, which would stay. */
	start();
	pair_close(&p);
	use_packets(true);
	exporter_works(FROM_DM);
	exporter_works(FROM_VGEM);
	if (kernel_since(6, 2))
		exporter_works(FROM_UDMABUF);
	exporter_works(FROM_HEAP);
	window();
	dereg_under_traffic();
	use_packets(false);
}

static const struct test_case cases[] = {
	{ "dm", dm },
	{ "udmabuf", udmabuf },
	{ "heap", heap },
	{ "vgem", vgem },
	{ "dm_in_vgem", dm_in_vgem },
	{ "dm_kept", dm_kept },
	{ "refused", refused },
	{ "read_only", read_only },
	{ "rereg_refused", rereg_refused },
	{ "by_attributes", by_attributes },
	{ "window", window },
	{ "dereg_under_traffic", dereg_under_traffic },
	{ "under_signals", under_signals },
	{ "packets", packets },
};

TEST_MAIN("dmabuf", cases, 60)
