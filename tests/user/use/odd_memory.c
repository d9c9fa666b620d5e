// SPDX-License-Identifier: GPL-2.0
/*
 * adv15. Memory other than plain heap: huge pages, files, the stack, more than 4 GiB in one
 * region, no bytes. All of it can be registered, and the device reaches it.
 */
#include "number.h"
#include "testlib.h"

/* Write by RDMA and read by the processor, then the other way round. */
static void reach(struct pair *p, struct ibv_mr *mr, uint8_t *at, uint32_t len, const char *what)
{
	struct ibv_sge sge = pair_sge(p, 0, 0, len);
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)at, .rkey = mr->rkey },
	};
	struct ibv_wc wc;

	fill(p->buf[0], len, 3);
	CHECK_ERR(post_one(p, 0, &wr), 0);
	if (!WANT_WC(p->cq[0], &wc, IBV_WC_SUCCESS))
		return;
	CHECK_BYTES(at, len, 3, what);
	fill(at, len, 4);
	wr.opcode = IBV_WR_RDMA_READ;
	CHECK_ERR(post_one(p, 0, &wr), 0);
	if (WANT_WC(p->cq[0], &wc, IBV_WC_SUCCESS))
		CHECK_BYTES(p->buf[0], len, 4, what);
}

static void reach_all(uint8_t *mem, size_t len, const size_t *at, int n, const char *what)
{
	struct ibv_mr *mr;
	struct pair p;

	pair_open(&p, NULL);
	mr = ibv_reg_mr(p.pd, mem, len, ALL_ACCESS);
	if (CHECK(mr, "%s: %s; %s", what, err_name(errno), why_text())) {
		for (int i = 0; i < n; i++)
			reach(&p, mr, mem + at[i], 5000, what);
		CHECK_ERR(ibv_dereg_mr(mr), 0);
	}
	pair_close(&p);
}

#define HUGE_PAGE (2ul << 20)

static void huge_pages(void)
{
	static const size_t at[] = { 0, 100, HUGE_PAGE - 2500, 2 * HUGE_PAGE - 5000 };
	uint8_t *mem;

	write_number("/proc/sys/vm/nr_hugepages", 4);
	mem = mmap(NULL, 2 * HUGE_PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (mem == MAP_FAILED) {
		printf("no huge pages here\n");
		return;
	}
	reach_all(mem, 2 * HUGE_PAGE, at, ARRAY_SIZE(at), "huge pages");
	munmap(mem, 2 * HUGE_PAGE);
	write_number("/proc/sys/vm/nr_hugepages", 0);
}

static void memory_file(void)
{
	static const size_t at[] = { 0, 4095, 60000 };
	int fd = memfd_create("test", MFD_CLOEXEC);
	uint8_t *mem, *other;

	NEED(fd >= 0 && !ftruncate(fd, 65536), "memfd");
	mem = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	other = mmap(NULL, 65536, PROT_READ, MAP_SHARED, fd, 0);
	reach_all(mem, 65536, at, ARRAY_SIZE(at), "a shared file in memory");
	CHECK_BYTES(other + 60000, 5000, 4, "its second mapping");
	munmap(mem, 65536);
	munmap(other, 65536);
	close(fd);
}

static void stack(void)
{
	static const size_t at[] = { 1, 3000 };
	uint8_t mem[9000];

	memset(mem, 0, sizeof(mem));
	reach_all(mem, sizeof(mem), at, ARRAY_SIZE(at), "the stack");
}

/* Map one file of 64 MiB again and again, side by side. */
#define PIECE (64ul << 20)
#define PIECES 66

/* To pin a million small pages takes most of a minute, so use huge ones. */
static int piece_file(void)
{
	int fd;

	write_number("/proc/sys/vm/nr_hugepages", PIECE / HUGE_PAGE);
	fd = memfd_create("test", MFD_CLOEXEC | MFD_HUGETLB);
	NEED(fd >= 0 && !ftruncate(fd, PIECE), "memfd: %s", err_name(errno));
	return fd;
}

static void beyond_4_gib(void)
{
	static const size_t at[] = { 0, (4ul << 30) - 2500, (4ul << 30) + 12345, PIECE * PIECES - 5000 };
	uint8_t *all, *mem;
	int fd;

	if (later_rxe()) {
		printf("rdma_rxe of this kernel does not register that much\n");
		return;
	}
	fd = piece_file();
	all = mmap(NULL, PIECE * PIECES + HUGE_PAGE, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	NEED(all != MAP_FAILED, "mmap: %s", err_name(errno));
	mem = (uint8_t *)(((uintptr_t)all + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));
	for (size_t i = 0; i < PIECES; i++)
		NEED(mmap(mem + i * PIECE, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			  0) != MAP_FAILED, "mmap: %s", err_name(errno));
	reach_all(mem, PIECE * PIECES, at, ARRAY_SIZE(at), "more than 4 GiB");
	munmap(all, PIECE * PIECES + HUGE_PAGE);
	close(fd);
	write_number("/proc/sys/vm/nr_hugepages", 0);
}

/* Access @len bytes at @at by the keys of @mr. */
static void access_empty(const struct ibv_mr *mr, struct pair *p, uint8_t *at, uint32_t len,
			 bool local, enum ibv_wc_status want)
{
	struct ibv_sge sge = pair_sge(p, 0, 0, len);
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)at, .rkey = mr->rkey },
	};
	struct ibv_wc wc;

	if (local) {
		sge.addr = (uintptr_t)at;
		sge.lkey = mr->lkey;
		wr.wr.rdma.remote_addr = (uintptr_t)p->buf[1];
		wr.wr.rdma.rkey = p->mr->rkey;
	}
	CHECK_ERR(post_one(p, 0, &wr), 0);
	WANT_WC(p->cq[0], &wc, want);
	for (int i = 0; i < 2; i++)
		NEED_OK(qp_to_state(p->qp[i], IBV_QPS_RESET));
	while (ibv_poll_cq(p->cq[0], 1, &wc) > 0 || ibv_poll_cq(p->cq[1], 1, &wc) > 0)
		;
	for (int i = 0; i < 2; i++)
		qp_connect(&p->dev, p->qp[i], p->qp[!i]->qp_num, NULL);
}

/*
 * A region of no bytes can be registered within a page, as with other libraries, and grants
 * no byte. The driver siw refuses all of them, and each device one at the beginning of a page.
 */
static void no_bytes(void)
{
	uint8_t *mem = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;
	struct pair p;

	NEED(mem != MAP_FAILED, "mmap: %s", err_name(errno));
	pair_open(&p, NULL);
	errno = 0;
	mr = ibv_reg_mr(p.pd, mem, 0, ALL_ACCESS);
	CHECK(!mr && errno == EINVAL, "at the beginning of a page: %s", err_name(errno));
	mr = ibv_reg_mr(p.pd, mem + 64, 0, ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	CHECK(!mr, "on demand: registered");
	mr = ibv_reg_mr(p.pd, mem + 64, 0, ALL_ACCESS);
	if (!mr && !on_uroce() && !on_rxe()) {
		CHECK(errno == EINVAL, "%s", err_name(errno));
		goto out;
	}
	NEED(mr, "reg_mr: %s; %s", err_name(errno), why_text());
	CHECK(mr->addr == mem + 64 && !mr->length, "%zu bytes at %p", mr->length, mr->addr);
	access_empty(mr, &p, mem + 64, 0, false, IBV_WC_SUCCESS);
	access_empty(mr, &p, mem + 64, 0, true, IBV_WC_SUCCESS);
	access_empty(mr, &p, mem + 64, 1, false, IBV_WC_REM_ACCESS_ERR);
	access_empty(mr, &p, mem + 63, 1, false, IBV_WC_REM_ACCESS_ERR);
	if (!later_rxe())
		access_empty(mr, &p, mem + 64, 1, true, IBV_WC_LOC_PROT_ERR);
	CHECK(all_zero(mem, 4096), "the page was written");
	CHECK_ERR(ibv_dereg_mr(mr), 0);
out:
	CHECK(pair_works(&p), "afterwards");
	pair_close(&p);
	munmap(mem, 4096);
}

static const struct test_case cases[] = {
	{ "no_bytes", no_bytes },
	{ "huge_pages", huge_pages },
	{ "memory_file", memory_file },
	{ "stack", stack },
	{ "beyond_4_gib", beyond_4_gib },
};

TEST_MAIN("odd_memory (adv15)", cases, 60)
