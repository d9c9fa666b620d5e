/* SPDX-License-Identifier: GPL-2.0 */
/* Pages that uroce keeps pinned for another registration: the memory and helpers of their tests. */
#ifndef PINS_H
#define PINS_H

#include "memlock.h"
#include "raw.h"

#define PAGES 64
#define LEN (PAGES * PAGE)
#define KIB ((long)(LEN / 1024))
#define READ IBV_ACCESS_REMOTE_READ
#define LIMIT "/sys/module/uroce/parameters/pin_cache_mib"

static struct pair p;
static uint8_t *mem;
static long before;

static MAYBE_UNUSED void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	NEED(f && fputs(text, f) >= 0 && !fclose(f), "%s: %s", path, err_name(errno));
}

/* It is off by default, and programs that count pinned pages run after this one. */
static __attribute__((destructor)) void limit_off(void)
{
	int fd = open(LIMIT, O_WRONLY);

	if (fd >= 0) {
		(void)!write(fd, "0", 1);
		close(fd);
	}
}

static MAYBE_UNUSED uint8_t *map_at(void *at)
{
	void *m = mmap(at, LEN, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	NEED(m != MAP_FAILED, "mmap: %s", err_name(errno));
	madvise(m, LEN, MADV_NOHUGEPAGE);
	return m;
}

static MAYBE_UNUSED void set_up(void)
{
	write_file(LIMIT, "64");
	pair_open(&p, NULL);
	mem = map_at(NULL);
	before = locked_kb();
}

static MAYBE_UNUSED void tear_down(void)
{
	munmap(mem, LEN);
	pair_close(&p);
}

static MAYBE_UNUSED uint64_t hits(void)
{
	return hw_counter(dev_wanted(), "pins_reused");
}

static MAYBE_UNUSED struct ibv_mr *reg_in(struct ibv_pd *pd, void *at, size_t length, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, at, length, access);

	NEED(mr, "reg_mr: %s; %s", err_name(errno), why_text());
	return mr;
}

static MAYBE_UNUSED struct ibv_mr *reg(int access)
{
	return reg_in(p.pd, mem, LEN, access);
}

static MAYBE_UNUSED void again_in(struct ibv_pd *pd, void *at, size_t length, int access)
{
	CHECK_ERR(ibv_dereg_mr(reg_in(pd, at, length, access)), 0);
}

static MAYBE_UNUSED void unpinned_soon(const char *what)
{
	uint64_t end = deadline_ms(10000 * test_slowness());

	while (locked_kb() != before && now_ns() < end)
		sleep_ms(1);
	CHECK(locked_kb() == before, "%s: %ld KiB are still pinned", what, locked_kb() - before);
}

/* The second region of a range at the latest leaves its pages idle. */
static MAYBE_UNUSED void make_idle(int access)
{
	unpinned_soon("former pages");
	for (int i = 0; i < 2 && locked_kb() == before; i++)
		again_in(p.pd, mem, LEN, access);
	CHECK(locked_kb() == before + KIB, "%ld KiB are idle", locked_kb() - before);
}

/* One request between the peer's buffer and the region. */
static MAYBE_UNUSED void remote(const struct ibv_mr *mr, enum ibv_wr_opcode opcode, uint8_t *at, uint32_t len)
{
	struct ibv_sge sge = pair_sge(&p, 0, 0, len);
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_wc wc;

	wr_remote(&wr, (uintptr_t)at, mr->rkey, 0);
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
}

/* The device reads the bytes of the process, and the process those of the device. */
static MAYBE_UNUSED void is_seen(const struct ibv_mr *mr, bool write, const char *what)
{
	uint8_t *at = mr->addr;

	if (write)
		fill(at, mr->length, 11);
	memset(p.buf[0], 0, mr->length);
	remote(mr, IBV_WR_RDMA_READ, at, mr->length);
	CHECK(!memcmp(p.buf[0], at, mr->length), "%s: the device reads other memory", what);
	if (!write)
		return;
	fill(p.buf[0], mr->length, 12);
	remote(mr, IBV_WR_RDMA_WRITE, at, mr->length);
	CHECK_BYTES(at, mr->length, 12, what);
}

/* Registers the memory, which has changed: there must be no hit. */
static MAYBE_UNUSED void is_new(const char *what)
{
	uint64_t hit = hits();
	struct ibv_mr *mr = reg(ALL_ACCESS);

	CHECK(hits() == hit, "%s: the former pages were used again", what);
	is_seen(mr, true, what);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
}

#endif
