// SPDX-License-Identifier: GPL-2.0
/*
 * Functions that rdma-core added after release 44, IBVERBS_1.15 to 1.18. Some work here;
 * the others fail with EOPNOTSUPP.
 */
#include <fcntl.h>

#include "raw.h"

#undef ibv_reg_mr

#define LEN 8192

static struct pair p;

static void buffer(void)
{
	struct ibv_buf *buf = NULL, *other = NULL;
	struct ibv_mr *mr;
	uint8_t *mem;

	pair_open(&p, NULL);
	CHECK_NULL(ibv_alloc_buf(p.pd, 0, &buf), EINVAL);
	CHECK_NULL(ibv_alloc_buf(p.pd, (size_t)1 << 60, &buf), ENOMEM);
	CHECK(strstr(why_text(), "no memory for 1152921504606846976 bytes in the process"),
	      "explained as: %s", why_text());
	mem = ibv_alloc_buf(p.pd, 2 * LEN + 1, &buf);
	NEED_PTR(mem, "alloc_buf");
	CHECK(!((uintptr_t)mem % 4096), "the buffer is not at the start of a page");
	mr = ibv_reg_buf_mr(p.pd, buf, mem + LEN, LEN, ALL_ACCESS);
	NEED_PTR(mr, "reg_buf_mr");
	CHECK(mr->addr == mem + LEN && mr->length == LEN && mr->pd == p.pd, "not that region");
	write_through(&p, mr, (uintptr_t)mem + LEN, mem + LEN, LEN, 71);
	CHECK_ERR(ibv_dereg_mr(mr), 0);

	CHECK_NULL(ibv_reg_buf_mr(p.pd, buf, mem + LEN, LEN + 2, ALL_ACCESS), EINVAL);
	CHECK_NULL(ibv_reg_buf_mr(p.pd, buf, mem - 1, 1, ALL_ACCESS), EINVAL);
	CHECK(strstr(why_text(), "within the buffer"), "explained as: %s", why_text());
	CHECK_NULL(ibv_reg_buf_mr(p.pd, buf, mem + 1, SIZE_MAX, ALL_ACCESS), EINVAL);
	errno = 0;
	CHECK(ibv_export_buf_dmabuf_fd(buf) == -1 && errno == ENODATA, "export: %s", err_name(errno));
	CHECK(strstr(why_text(), "ordinary memory"), "explained as: %s", why_text());
	CHECK(ibv_alloc_buf(p.pd, 1, &other), "a second buffer: %s", err_name(errno));
	CHECK_NULL(ibv_reg_buf_mr(p.pd, other, mem, 1, ALL_ACCESS), EINVAL);
	ibv_free_buf(other);
	ibv_free_buf(buf);
	pair_close(&p);
}

/* The dma-buf of a buffer: a mapping and a region of it have the bytes of the buffer. */
static void same_memory(struct ibv_buf *buf, const uint8_t *mem)
{
	int fd = ibv_export_buf_dmabuf_fd(buf), other = ibv_export_buf_dmabuf_fd(buf);
	struct ibv_mr *mr;
	uint8_t *seen;

	NEED(fd >= 0 && other >= 0 && fd != other, "export: %s; %s", err_name(errno), why_text());
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC, "the descriptor is inherited");
	close(other);
	seen = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	NEED(seen != MAP_FAILED, "mmap of the dma-buf: %s", err_name(errno));
	mr = ibv_reg_dmabuf_mr(p.pd, 0, LEN, 0, fd, ALL_ACCESS);
	NEED_PTR(mr, "reg_dmabuf_mr");
	close(fd);
	write_through(&p, mr, 0, mem, LEN, 74);
	CHECK_BYTES(seen, LEN, 74, "in the mapping");
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	munmap(seen, LEN);
}

/* The program allows special memory, of which uroce has pieces of at most 4 MiB. */
static void special_buffer(void)
{
	struct ibv_parent_domain_init_attr init = {
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC,
	};
	struct ibv_mr_init_attr attr = {
		.length = LEN, .access = ALL_ACCESS,
		.comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_BUF | IBV_REG_MR_MASK_IOVA,
	};
	struct ibv_buf *buf = NULL, *large = NULL;
	struct ibv_pd *parent;
	struct ibv_mr *mr;
	uint8_t *mem;

	pair_open(&p, NULL);
	init.pd = p.pd;
	parent = ibv_alloc_parent_domain(p.dev.ctx, &init);
	NEED_PTR(parent, "alloc_parent_domain");
	mem = ibv_alloc_buf(parent, 2 * LEN + 1, &buf);
	NEED_PTR(mem, "alloc_buf");
	CHECK(!mem[0] && !mem[2 * LEN], "the memory is not zero");
	mr = ibv_reg_buf_mr(parent, buf, mem + LEN, LEN, ALL_ACCESS);
	NEED_PTR(mr, "reg_buf_mr");
	CHECK(mr->addr == mem + LEN && mr->length == LEN && mr->pd == parent, "not that region");
	write_through(&p, mr, (uintptr_t)mem + LEN, mem + LEN, LEN, 75);
	CHECK_NULL(ibv_reg_buf_mr(parent, buf, mem + LEN, LEN + 2, ALL_ACCESS), EINVAL);
	if (raw_offers(p.dev.ctx->cmd_fd, UNIV_FEATURE_DMABUF)) {
		same_memory(buf, mem);
		attr.addr = mem;
		attr.buf = buf;
		attr.iova = (uintptr_t)mem;
		CHECK_NULL(ibv_reg_mr_ex(parent, &attr), EINVAL);
	} else {
		CHECK(ibv_export_buf_dmabuf_fd(buf) == -1 && errno == ENODATA, "export: %s",
		      err_name(errno));
	}
	NEED_PTR(ibv_alloc_buf(parent, 8u << 20, &large), "alloc_buf of 8 MiB");
	CHECK(ibv_export_buf_dmabuf_fd(large) == -1 && errno == ENODATA, "export: %s", err_name(errno));
	CHECK_ERR(ibv_dealloc_pd(parent), EBUSY);
	ibv_free_buf(large);
	ibv_free_buf(buf);
	/* The region keeps the memory. */
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	CHECK_ERR(ibv_dealloc_pd(parent), 0);
	pair_close(&p);
}

static void region(void)
{
	struct ibv_mr_init_attr attr = { .length = LEN, .access = ALL_ACCESS };
	struct ibv_pd *pd2;
	struct ibv_buf *buf;
	struct ibv_mr *mr;

	pair_open(&p, NULL);
	attr.addr = p.buf[1];
	CHECK_NULL(ibv_reg_mr_ex(p.pd, &attr), EINVAL);
	attr.comp_mask = IBV_REG_MR_MASK_ADDR;
	mr = ibv_reg_mr_ex(p.pd, &attr);
	NEED_PTR(mr, "reg_mr_ex");
	write_through(&p, mr, (uintptr_t)p.buf[1], p.buf[1], LEN, 72);
	CHECK_ERR(ibv_dereg_mr(mr), 0);

	attr.comp_mask |= IBV_REG_MR_MASK_IOVA;
	attr.iova = 0x7000000 + (uintptr_t)p.buf[1] % 4096;
	mr = ibv_reg_mr_ex(p.pd, &attr);
	NEED_PTR(mr, "reg_mr_ex with an address of its own");
	write_through(&p, mr, attr.iova, p.buf[1], LEN, 73);
	CHECK_ERR(ibv_dereg_mr(mr), 0);

	attr.comp_mask = IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_FD_OFFSET | IBV_REG_MR_MASK_IOVA;
	attr.fd = -1;
	CHECK_NULL(ibv_reg_mr_ex(p.pd, &attr), EOPNOTSUPP);
	attr.comp_mask = IBV_REG_MR_MASK_ADDR | 1ull << 40;
	CHECK_NULL(ibv_reg_mr_ex(p.pd, &attr), EOPNOTSUPP);

	/* A buffer belongs to one protection domain. */
	pd2 = ibv_alloc_pd(p.dev.ctx);
	NEED_PTR(pd2, "alloc_pd");
	attr.comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_BUF;
	attr.addr = ibv_alloc_buf(pd2, LEN, &attr.buf);
	buf = attr.buf;
	NEED_PTR(attr.addr, "alloc_buf");
	CHECK_NULL(ibv_reg_mr_ex(p.pd, &attr), EINVAL);
	CHECK(strstr(why_text(), "in another protection domain"), "explained as: %s", why_text());
	ibv_free_buf(buf);
	CHECK_ERR(ibv_dealloc_pd(pd2), 0);
	pair_close(&p);
}

/*
 * The speed in units of 100 Mbit/s is the rate of a lane, from the speed's code, times the
 * lanes.
 */
static void port_speed(void)
{
	static const struct { int width, lanes; } widths[] = { { 1, 1 }, { 2, 4 }, { 4, 8 }, { 8, 12 }, { 16, 2 } };
	static const struct { int speed, rate; } speeds[] = {
		{ 1, 25 }, { 2, 50 }, { 4, 100 }, { 8, 100 }, { 16, 140 }, { 32, 250 }, { 64, 500 }, { 128, 1000 },
	};
	uint64_t got = 0, want = 1;
	struct test_dev dev;

	dev_open(&dev);
	for (size_t i = 0; i < ARRAY_SIZE(widths); i++)
		if (widths[i].width == dev.port.active_width)
			want *= widths[i].lanes;
	for (size_t i = 0; i < ARRAY_SIZE(speeds); i++)
		if (speeds[i].speed == dev.port.active_speed)
			want *= speeds[i].rate;
	CHECK_ERR(ibv_query_port_speed(dev.ctx, PORT, &got), 0);
	CHECK(got == want, "width %u and speed %u are %" PRIu64 ", not %" PRIu64,
	      dev.port.active_width, dev.port.active_speed, want, got);
	CHECK_ERR(ibv_query_port_speed(dev.ctx, 77, &got), EINVAL);
	dev_close(&dev);
}

static void opcode_names(void)
{
	CHECK(!strcmp(ibv_wr_opcode_str(IBV_WR_RDMA_WRITE), "rdma-write"), "not rdma-write");
	CHECK(!strcmp(ibv_wr_opcode_str(IBV_WR_ATOMIC_WRITE), "atomic-write"), "not atomic-write");
	for (int i = -1; i < 20; i++)
		CHECK(!strcmp(ibv_wr_opcode_str(i), "unknown") == (i < 0 || i == 12 || i == 13 || i > 15),
		      "%d is called %s", i, ibv_wr_opcode_str(i));
}

/* The struct has grown. A program that passes the shorter one gets no more bytes than that. */
static void port_attr_lengths(void)
{
	const size_t old = offsetof(struct ibv_port_attr, active_speed_ex);
	const size_t members = offsetof(struct ibv_port_attr, port_cap_flags2) + sizeof(uint16_t);
	struct verbs_context *vctx;
	struct ibv_port_attr port;
	struct test_dev dev;

	dev_open(&dev);
	CHECK(dev.port.active_speed_ex >= dev.port.active_speed, "speed %u, and with more room %u",
	      dev.port.active_speed, dev.port.active_speed_ex);
	vctx = verbs_get_ctx_op(dev.ctx, query_port);
	NEED(vctx, "no query_port");
	memset(&port, 0x5a, sizeof(port));
	CHECK_ERR(vctx->query_port(dev.ctx, PORT, &port, old), 0);
	CHECK(port.active_speed_ex == 0x5a5a5a5a, "written behind the caller's struct");
	CHECK(!memcmp(&port, &dev.port, members), "the members that both know differ");
	/* The function of programs whose struct ends before port_cap_flags2. */
	memset(&port, 0x5a, sizeof(port));
	CHECK_ERR(dev.ctx->ops._compat_query_port(dev.ctx, PORT, (void *)&port), 0);
	CHECK(port.port_cap_flags2 == 0x5a5a, "written behind the struct of an old program");
	CHECK(!memcmp(&port, &dev.port, offsetof(struct ibv_port_attr, port_cap_flags2)),
	      "an old program sees another port");
	dev_close(&dev);
}

/* Programs that were linked before 2007 find no device. */
static void oldest_device_list(void)
{
	void *(*get)(int *) = dlvsym(RTLD_DEFAULT, "ibv_get_device_list", "IBVERBS_1.0");
	int count = -1;

	NEED(get, "no ibv_get_device_list of IBVERBS_1.0");
	CHECK_NULL(get(&count), EOPNOTSUPP);
	CHECK(!count, "%d devices", count);
}

/*
 * Other structs of which a program may have another size. The kernel fills an array of entries of
 * one size only.
 */
static void other_lengths(void)
{
	struct {
		struct ibv_gid_entry known;
		uint8_t newer[8];
	} longer;
	struct ibv_device_attr_ex attr;
	struct verbs_context *vctx;
	struct test_dev dev;

	dev_open(&dev);
	vctx = verbs_get_ctx_op(dev.ctx, query_device_ex);
	NEED(vctx, "no query_device_ex");
	CHECK_ERR(vctx->query_device_ex(dev.ctx, NULL, &attr, 8), EINVAL);
	CHECK(why_reason() == UNIV_REASON_SIZE && why_value() == 8, "explained as: %s", why_text());
	memset(&longer, 0xa5, sizeof(longer));
	CHECK_ERR(_ibv_query_gid_ex(dev.ctx, PORT, dev.gid_index, &longer.known, 0,
				    sizeof(longer)), 0);
	CHECK(!memcmp(&longer.known.gid, &dev.gid, sizeof(dev.gid)), "another GID");
	CHECK(all_zero(longer.newer, sizeof(longer.newer)), "newer members are not 0");
	CHECK(_ibv_query_gid_table(dev.ctx, &longer.known, 1, 0, sizeof(longer)) == -EINVAL &&
	      why_reason() == UNIV_REASON_SIZE, "explained as: %s", why_text());
	CHECK(_ibv_query_gid_table(dev.ctx, &longer.known, 1, 4, sizeof(longer.known)) ==
	      -EOPNOTSUPP && why_reason() == UNIV_REASON_FLAGS, "explained as: %s", why_text());
	dev_close(&dev);
}

static const struct test_case cases[] = {
	{ "buffer", buffer },
	{ "special_buffer", special_buffer },
	{ "region", region },
	{ "port_speed", port_speed },
	{ "opcode_names", opcode_names },
	{ "port_attr_lengths", port_attr_lengths },
	{ "other_lengths", other_lengths },
	{ "oldest_device_list", oldest_device_list },
};

TEST_MAIN("api_newer", cases, 20)
