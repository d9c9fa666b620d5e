// SPDX-License-Identifier: GPL-2.0
/*
 * adv02, adv14, adv15. Memory that cannot be registered: addresses that wrap, wrong
 * permissions, contradictory access flags, more than RLIMIT_MEMLOCK.
 */
#include <sys/prctl.h>
#include "memlock.h"
#include "raw.h"

static struct test_dev dev;
static struct ibv_pd *pd;

static void set_up(void)
{
	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	NEED_PTR(pd, "alloc_pd");
}

static void tear_down(void)
{
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	dev_close(&dev);
}

static uint8_t *map(size_t len, int prot)
{
	void *mem = mmap(NULL, len, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(mem != MAP_FAILED, "mmap: %s", err_name(errno));
	return mem;
}

static void refuse(void *addr, size_t len, int access, int err, uint32_t reason, const char *what)
{
	struct ibv_mr *mr;

	errno = 0;
	mr = ibv_reg_mr(pd, addr, len, access);
	if (!CHECK(!mr, "%s was registered", what)) {
		ibv_dereg_mr(mr);
		return;
	}
	CHECK(errno == err, "%s: expected %s, got %s", what, err_name(err), err_name(errno));
	if (reason)
		CHECK(why_reason() == reason, "%s: expected reason %u, got %u: %s", what, reason,
		      why_reason(), why_text());
}

static void accept_mr(void *addr, size_t len, int access, const char *what)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, addr, len, access);

	if (CHECK(mr, "%s: %s; %s", what, err_name(errno), why_text()))
		CHECK_ERR(ibv_dereg_mr(mr), 0);
}

static void refuse_iova(void *addr, size_t len, uint64_t iova, uint32_t reason, const char *what)
{
	struct ibv_mr *mr = ibv_reg_mr_iova(pd, addr, len, iova, 0);

	if (!CHECK(!mr, "%s was registered", what)) {
		ibv_dereg_mr(mr);
		return;
	}
	CHECK(errno == EINVAL && (!why_known() || why_reason() == reason), "%s: %s, %s", what,
	      err_name(errno), why_text());
}

static void wraps(void)
{
	uint8_t *mem = map(8192, PROT_READ | PROT_WRITE);

	set_up();
	refuse((void *)0xfffffffffffff000ul, 8192, 0, EINVAL, UNIV_REASON_ADDRESS_WRAP,
	       "a region that wraps");
	refuse(mem, SIZE_MAX, 0, EINVAL, UNIV_REASON_ADDRESS_WRAP, "2^64 - 1 bytes");
	refuse(mem, SIZE_MAX - 4096, 0, EINVAL, UNIV_REASON_ADDRESS_WRAP, "nearly 2^64 bytes");
	refuse(mem, 0, 0, EINVAL, UNIV_REASON_ZERO, "zero bytes");
	refuse_iova(mem, 8192, 0xfffffffffffff000ul, UNIV_REASON_ADDRESS_WRAP,
		    "a region whose addresses on the wire wrap");
	tear_down();
	munmap(mem, 8192);
}

static void not_mapped(void)
{
	uint8_t *mem = map(3 * PAGE, PROT_READ | PROT_WRITE);

	set_up();
	munmap(mem + PAGE, PAGE);
	refuse(mem, 3 * PAGE, ALL_ACCESS, EFAULT, UNIV_REASON_ADDRESS, "a region with a hole");
	refuse(mem + PAGE, 1, 0, EFAULT, UNIV_REASON_ADDRESS, "unmapped memory");
	refuse(NULL, 4096, 0, EFAULT, UNIV_REASON_ADDRESS, "the null page");
	refuse((void *)0xffff888000000000ul, 4096, 0, EFAULT, UNIV_REASON_ADDRESS, "kernel memory");
	refuse((void *)0xffffffff81000000ul, 4096, 0, EFAULT, UNIV_REASON_ADDRESS, "kernel text");
	refuse((void *)0x7fffffffe000ul, 1ul << 20, 0, EFAULT, 0, "past the end of user memory");
	munmap(mem, PAGE);
	munmap(mem + 2 * PAGE, PAGE);
	tear_down();
}

static void permissions(void)
{
	uint8_t *ro = map(4096, PROT_READ), *none = map(4096, PROT_NONE);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *file = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

	set_up();
	refuse(ro, 4096, IBV_ACCESS_LOCAL_WRITE, EFAULT, UNIV_REASON_ADDRESS,
	       "read-only memory for writing");
	accept_mr(ro, 4096, IBV_ACCESS_REMOTE_READ, "read-only memory for reading");
	/*
	 * For reading, 6.1 pins private memory of any protection, because it belongs to the
	 * process.
	 */
	refuse(none, 4096, IBV_ACCESS_LOCAL_WRITE, EFAULT, UNIV_REASON_ADDRESS, "PROT_NONE");
	accept_mr(file, 4096, IBV_ACCESS_REMOTE_READ, "a file, read");
	refuse(file, 4096, IBV_ACCESS_LOCAL_WRITE, EFAULT, UNIV_REASON_ADDRESS, "a file, written");
	tear_down();
	close(fd);
	munmap(file, 4096);
	munmap(ro, 4096);
	munmap(none, 4096);
}

static void access_flags(void)
{
	uint8_t *mem = map(4096, PROT_READ | PROT_WRITE);

	set_up();
	refuse(mem, 4096, IBV_ACCESS_REMOTE_WRITE, EINVAL, UNIV_REASON_ACCESS_FLAGS,
	       "remote write without local write");
	refuse(mem, 4096, IBV_ACCESS_REMOTE_ATOMIC, EINVAL, UNIV_REASON_ACCESS_FLAGS,
	       "remote atomic without local write");
	for (int bit = 8; bit < 20; bit++) {
		struct ibv_mr *mr = ibv_reg_mr(pd, mem, 4096, 1 << bit);
		int err = mr ? 0 : errno;

		/*
		 * Later kernels define two more flags, for flushing, and their rdma_rxe
		 * supports them. uroce supports one of them, and knows the other one.
		 */
		if (on_uroce())
			CHECK(err == (bit == 8 ? 0 : bit == 9 ? EOPNOTSUPP : EINVAL),
			      "access flag %d: %s", bit, err_name(err));
		else
			CHECK(err ? err == EINVAL || err == EOPNOTSUPP : bit < 10 && later_rxe(),
			      "unknown access flag %d: %s", bit, err_name(err));
		if (mr)
			CHECK_ERR(ibv_dereg_mr(mr), 0);
	}
	if (!on_uroce()) {
		errno = 0;
		CHECK(!ibv_reg_mr(pd, mem, 4096, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE) &&
		      errno, "on-demand paging, which rxe on this kernel has not");
	}
	tear_down();
	munmap(mem, 4096);
}

/* Kernel memory, devices, and mappings without pages. */
static void odd_mappings(void)
{
	int fd = raw_open();
	struct raw_cq cq;
	struct ibv_mr *mr;
	void *zero;
	int zfd = open("/dev/zero", O_RDWR | O_CLOEXEC);

	raw_cq(fd, &cq, 64, -1);
	zero = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, zfd, 0);
	set_up();
	accept_mr(zero, 4096, ALL_ACCESS, "/dev/zero, private");
	/* Registering our own ring may succeed or fail; it must do no damage. */
	mr = ibv_reg_mr(pd, cq.map.base, 4096, ALL_ACCESS);
	if (mr)
		CHECK_ERR(ibv_dereg_mr(mr), 0);
	tear_down();
	raw_unmap(&cq.map);
	munmap(zero, 4096);
	close(zfd);
	close(fd);
}

/* ---- adv14 --------------------------------------------------------------- */

#define LIMIT_PAGES 64

static void memlock_child(void)
{
	uint8_t *mem = map((LIMIT_PAGES + 1) * PAGE, PROT_READ | PROT_WRITE);
	long before;
	struct ibv_mr *mr, *more;

	set_up();
	memset(mem, 1, (LIMIT_PAGES + 1) * PAGE);
	drop_ipc_lock();
	before = locked_kb();
	set_limit(before * 1024 + LIMIT_PAGES * PAGE);

	mr = ibv_reg_mr(pd, mem, LIMIT_PAGES * PAGE, ALL_ACCESS);
	NEED(mr, "exactly at the limit: %s; %s", err_name(errno), why_text());
	CHECK(locked_kb() - before == LIMIT_PAGES * 4, "accounted %ld KiB, expected %d",
	      locked_kb() - before, LIMIT_PAGES * 4);
	refuse(mem + LIMIT_PAGES * PAGE, 1, ALL_ACCESS, ENOMEM, UNIV_REASON_MEMLOCK, "one more byte");
	CHECK(why_value() == PAGE && !why_bound(), "asked %" PRIu64 ", left %" PRIu64 ": %s",
	      why_value(), why_bound(), why_text());
	CHECK(locked_kb() - before == LIMIT_PAGES * 4, "a refused region was accounted");
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	CHECK(locked_kb() == before, "%ld KiB are still accounted", locked_kb() - before);

	refuse(mem, (LIMIT_PAGES + 1) * PAGE, ALL_ACCESS, ENOMEM, UNIV_REASON_MEMLOCK,
	       "one page over");
	CHECK(why_bound() == LIMIT_PAGES * PAGE, "left %" PRIu64 ": %s", why_bound(), why_text());
	CHECK(strcasestr(why_text(), "memlock"), "the text does not say memlock: %s", why_text());
	CHECK(locked_kb() == before, "a refused region was accounted: %ld KiB", locked_kb() - before);
	mr = ibv_reg_mr(pd, mem, (LIMIT_PAGES - 1) * PAGE, ALL_ACCESS);
	CHECK(mr, "one page under: %s", err_name(errno));
	more = ibv_reg_mr(pd, mem, PAGE, ALL_ACCESS);
	CHECK(more, "and the last page: %s", err_name(errno));
	if (more)
		CHECK_ERR(ibv_dereg_mr(more), 0);
	if (mr)
		CHECK_ERR(ibv_dereg_mr(mr), 0);
	CHECK(locked_kb() == before, "%ld KiB are still accounted", locked_kb() - before);

	/* Two bytes across the end of a page count as two pages. */
	mr = ibv_reg_mr(pd, mem + PAGE - 1, 2, ALL_ACCESS);
	CHECK(mr && locked_kb() - before == 8, "two bytes in two pages: %ld KiB",
	      locked_kb() - before);
	if (mr)
		ibv_dereg_mr(mr);
	tear_down();
}

static void memlock(void)
{
	in_child(memlock_child);
}

/* Closing the context uncharges the regions that the process has left in it. */
static void memlock_close_child(void)
{
	uint8_t *mem = map(LIMIT_PAGES * PAGE, PROT_READ | PROT_WRITE);
	int fd = raw_open();
	uint32_t p = raw_pd(fd);
	long before = locked_kb();
	uint64_t end = deadline_ms(WC_TIMEOUT);

	for (int i = 0; i < 10; i++)
		raw_mr(fd, p, mem, LIMIT_PAGES * PAGE, ALL_ACCESS);
	CHECK(locked_kb() - before == 10 * LIMIT_PAGES * 4, "accounted %ld KiB", locked_kb() - before);
	close(fd);
	while (locked_kb() != before && now_ns() < end)
		sleep_ms(10);
	CHECK(locked_kb() == before, "%ld KiB are accounted after close", locked_kb() - before);
}

static void memlock_close(void)
{
	in_child(memlock_close_child);
}

static void rereg_accounting(void)
{
	uint8_t *mem = map(16 * PAGE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr;
	long before;
	int ret;

	set_up();
	before = locked_kb();
	mr = ibv_reg_mr(pd, mem, 4 * PAGE, ALL_ACCESS);
	NEED_PTR(mr, "reg_mr");
	ret = ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, mem, 16 * PAGE, 0);
	CHECK(locked_kb() - before == (ret ? 16 : 64), "rereg_mr gave %d, %ld KiB are accounted",
	      ret, locked_kb() - before);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	CHECK(locked_kb() == before, "%ld KiB left", locked_kb() - before);
	tear_down();
	munmap(mem, 16 * PAGE);
}

static const struct test_case cases[] = {
	{ "wraps", wraps },
	{ "not_mapped", not_mapped },
	{ "permissions", permissions },
	{ "access_flags", access_flags },
	{ "odd_mappings", odd_mappings },
	{ "memlock", memlock },
	{ "memlock_close", memlock_close },
	{ "rereg_accounting", rereg_accounting },
};

TEST_MAIN("bad_memory (adv02 adv14 adv15)", cases, 60)
