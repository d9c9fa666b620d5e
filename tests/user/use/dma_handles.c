// SPDX-License-Identifier: GPL-2.0
/*
 * DMA handles: ibv_alloc_dmah(3), and regions that use them. The hints of a handle have no effect,
 * but they are checked, and a handle stays as long as a region uses it.
 */
#include <sched.h>

#include "dmabuf.h"

#undef ibv_reg_mr

#define LEN 8192
#define PH IBV_DMAH_INIT_ATTR_MASK_PH
#define CPU IBV_DMAH_INIT_ATTR_MASK_CPU_ID
#define TYPE IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE

static struct pair p;

/* Return false on a device without DMA handles, which says so. */
static bool set_up(void)
{
	struct ibv_dmah_init_attr attr = { .comp_mask = PH };

	pair_open(&p, NULL);
	if (raw_offers(p.dev.ctx->cmd_fd, UNIV_FEATURE_DMAH))
		return true;
	CHECK(!on_uroce(), "uroce offers no DMA handles");
	CHECK_NULL(ibv_alloc_dmah(p.dev.ctx, &attr), EOPNOTSUPP);
	CHECK(why_reason() == UNIV_REASON_UNSUPPORTED, "explained as: %s", why_text());
	pair_close(&p);
	return false;
}

static struct ibv_dmah *handle_of(struct ibv_context *ctx)
{
	struct ibv_dmah_init_attr attr = { .comp_mask = PH, .ph = 2 };
	struct ibv_dmah *dmah = ibv_alloc_dmah(ctx, &attr);

	NEED_PTR(dmah, "alloc_dmah");
	CHECK(dmah->context == ctx, "the handle is of another context");
	return dmah;
}

/* A processor on which this thread runs. */
static uint32_t own_cpu(void)
{
	int cpu = sched_getcpu();

	NEED(cpu >= 0, "getcpu: %s", err_name(errno));
	return (uint32_t)cpu;
}

static void hints(void)
{
	const struct {
		struct ibv_dmah_init_attr attr;
		int err;
		const char *says;
	} cases[] = {
		{ { .comp_mask = PH } },
		{ { .comp_mask = PH, .ph = 3, .cpu_id = 1u << 31, .tph_mem_type = 77 } },
		{ { .comp_mask = PH | CPU | TYPE, .cpu_id = own_cpu(), .tph_mem_type = IBV_TPH_MEM_TYPE_VM } },
		{ { .comp_mask = PH | CPU | TYPE, .cpu_id = own_cpu(), .tph_mem_type = IBV_TPH_MEM_TYPE_PM } },
		{ { .comp_mask = 0 }, EINVAL, "IBV_DMAH_INIT_ATTR_MASK_PH" },
		{ { .comp_mask = CPU | TYPE, .cpu_id = own_cpu() }, EINVAL, "IBV_DMAH_INIT_ATTR_MASK_PH" },
		{ { .comp_mask = PH, .ph = 4 }, EINVAL, "ph is 4" },
		{ { .comp_mask = PH, .ph = 255 }, EINVAL, "hints 0 to 3" },
		{ { .comp_mask = PH | CPU, .cpu_id = own_cpu() }, EINVAL, "lacks IBV_DMAH_INIT_ATTR_MASK_TPH" },
		{ { .comp_mask = PH | TYPE }, EINVAL, "lacks IBV_DMAH_INIT_ATTR_MASK_CPU_ID" },
		{ { .comp_mask = PH | CPU | TYPE, .cpu_id = own_cpu(), .tph_mem_type = 2 }, EOPNOTSUPP,
		  "no tph_mem_type 2" },
		{ { .comp_mask = PH | CPU | TYPE, .cpu_id = 1 << 20 }, EINVAL, "no processor 1048576" },
		{ { .comp_mask = PH | CPU | TYPE, .cpu_id = UINT32_MAX }, EINVAL, "no processor 4294967295" },
		{ { .comp_mask = PH | 8 }, EOPNOTSUPP, "flags 0x8" },
	};

	if (!set_up())
		return;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ibv_dmah_init_attr attr = cases[i].attr;
		struct ibv_dmah *dmah = ibv_alloc_dmah(p.dev.ctx, &attr);

		if (!cases[i].err) {
			NEED(dmah, "case %zu: %s; %s", i, err_name(errno), why_text());
			CHECK_ERR(ibv_dealloc_dmah(dmah), 0);
			continue;
		}
		CHECK(!dmah && errno == cases[i].err && strstr(why_text(), cases[i].says),
		      "case %zu: %s; %s", i, err_name(errno), why_text());
	}
	pair_close(&p);
}

/* A process names a processor only if it may run there. */
static void affinity(void)
{
	struct ibv_dmah_init_attr attr = { .comp_mask = PH | CPU | TYPE };
	cpu_set_t before, one;
	uint32_t other = 0;

	if (!set_up())
		return;
	NEED(!sched_getaffinity(0, sizeof(before), &before), "getaffinity");
	while (other < CPU_SETSIZE && (!CPU_ISSET(other, &before) || other == own_cpu()))
		other++;
	if (other == CPU_SETSIZE) {
		printf("there is one processor\n");
		pair_close(&p);
		return;
	}
	attr.cpu_id = own_cpu();
	CPU_ZERO(&one);
	CPU_SET(other, &one);
	NEED(!sched_setaffinity(0, sizeof(one), &one), "setaffinity");
	CHECK_NULL(ibv_alloc_dmah(p.dev.ctx, &attr), EPERM);
	CHECK(strstr(why_text(), "may not run on processor"), "explained as: %s", why_text());
	NEED(!sched_setaffinity(0, sizeof(before), &before), "setaffinity");
	CHECK_ERR(ibv_dealloc_dmah(ibv_alloc_dmah(p.dev.ctx, &attr)), 0);
	pair_close(&p);
}

/* Both regions use the handle, and each keeps it. */
static void regions(void)
{
	struct ibv_mr_init_attr attr = {
		.length = LEN, .access = ALL_ACCESS, .comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_DMAH,
	};
	struct ibv_mr *mr[2];

	if (!set_up())
		return;
	attr.addr = p.buf[1];
	attr.dmah = handle_of(p.dev.ctx);
	for (int i = 0; i < 2; i++) {
		mr[i] = ibv_reg_mr_ex(p.pd, &attr);
		NEED_PTR(mr[i], "reg_mr_ex");
		write_through(&p, mr[i], (uintptr_t)p.buf[1], p.buf[1], LEN, 80 + i);
	}
	for (int i = 0; i < 2; i++) {
		CHECK_ERR(ibv_dealloc_dmah(attr.dmah), EBUSY);
		CHECK(strstr(why_text(), "deregister the memory regions that use it"), "explained as: %s",
		      why_text());
		CHECK_ERR(ibv_dereg_mr(mr[i]), 0);
	}
	CHECK_ERR(ibv_dealloc_dmah(attr.dmah), 0);
	/* A region that could not be registered does not keep the handle. */
	attr.dmah = handle_of(p.dev.ctx);
	attr.length = 0;
	CHECK_NULL(ibv_reg_mr_ex(p.pd, &attr), EINVAL);
	CHECK_ERR(ibv_dealloc_dmah(attr.dmah), 0);
	pair_close(&p);
}

/* Neither a new region nor an old one with a handle becomes one of on-demand paging. */
static void on_demand(void)
{
	struct ibv_mr_init_attr attr = {
		.length = LEN, .access = ALL_ACCESS | IBV_ACCESS_ON_DEMAND,
		.comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_DMAH,
	};
	struct ibv_device_attr_ex ex;
	struct ibv_mr *mr;

	if (!set_up())
		return;
	NEED_OK(ibv_query_device_ex(p.dev.ctx, NULL, &ex));
	if (!(ex.odp_caps.general_caps & IBV_ODP_SUPPORT))
		SKIP("the device has no on-demand paging");
	attr.addr = p.buf[1];
	attr.dmah = handle_of(p.dev.ctx);
	CHECK_NULL(ibv_reg_mr_ex(p.pd, &attr), EOPNOTSUPP);
	CHECK(strstr(why_text(), "on-demand paging"), "explained as: %s", why_text());
	attr.access = ALL_ACCESS;
	mr = ibv_reg_mr_ex(p.pd, &attr);
	NEED_PTR(mr, "reg_mr_ex");
	CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ALL_ACCESS | IBV_ACCESS_ON_DEMAND) &&
	      errno == EOPNOTSUPP && strstr(why_text(), "on-demand paging"), "explained as: %s", why_text());
	CHECK_ERR(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ALL_ACCESS), 0);
	write_through(&p, mr, (uintptr_t)p.buf[1], p.buf[1], LEN, 90);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	CHECK_ERR(ibv_dealloc_dmah(attr.dmah), 0);
	pair_close(&p);
}

static void kept_by(struct ibv_mr_init_attr *attr)
{
	struct ibv_mr *mr;

	attr->length = 4096;
	attr->access = IBV_ACCESS_LOCAL_WRITE;
	attr->comp_mask |= IBV_REG_MR_MASK_DMAH;
	mr = ibv_reg_mr_ex(p.pd, attr);
	NEED_PTR(mr, "reg_mr_ex");
	CHECK_ERR(ibv_dealloc_dmah(attr->dmah), EBUSY);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
}

/* Of a dma-buf, and of a buffer of the library. */
static void other_memory(void)
{
	struct ibv_mr_init_attr attr = { .comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_BUF };
	struct ibv_mr_init_attr shared = { .comp_mask = IBV_REG_MR_MASK_FD };
	struct dmabuf b;

	if (!set_up())
		return;
	attr.dmah = handle_of(p.dev.ctx);
	attr.addr = ibv_alloc_buf(p.pd, 4096, &attr.buf);
	NEED_PTR(attr.addr, "alloc_buf");
	kept_by(&attr);
	ibv_free_buf(attr.buf);
	if (raw_offers(p.dev.ctx->cmd_fd, UNIV_FEATURE_DMABUF) && dmabuf_open(p.dev.ctx, FROM_DM, &b)) {
		shared.dmah = attr.dmah;
		shared.fd = b.fd;
		kept_by(&shared);
		dmabuf_close(&b);
	}
	CHECK_ERR(ibv_dealloc_dmah(attr.dmah), 0);
	pair_close(&p);
}

static void wrong_handles(void)
{
	struct ibv_mr_init_attr attr = {
		.length = LEN, .access = ALL_ACCESS, .comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_DMAH,
	};
	struct ibv_context *other;

	if (!set_up())
		return;
	attr.addr = p.buf[1];
	CHECK_NULL(ibv_reg_mr_ex(p.pd, &attr), EINVAL);
	CHECK(strstr(why_text(), "DMA handle"), "explained as: %s", why_text());
	other = dev_open_named(dev_wanted());
	NEED_PTR(other, "open_device");
	attr.dmah = handle_of(other);
	CHECK_NULL(ibv_reg_mr_ex(p.pd, &attr), EINVAL);
	CHECK(strstr(why_text(), "of another context"), "explained as: %s", why_text());
	/* Without the flag the member is not looked at. */
	attr.comp_mask = IBV_REG_MR_MASK_ADDR;
	CHECK_ERR(ibv_dereg_mr(ibv_reg_mr_ex(p.pd, &attr)), 0);
	CHECK_ERR(ibv_dealloc_dmah(attr.dmah), 0);
	CHECK_ERR(ibv_close_device(other), 0);
	pair_close(&p);
}

/* The context ends with a region and its handle. */
static void left(void)
{
	struct univ_dmah_alloc alloc = { .fields = UNIV_DMAH_PH };
	struct univ_mr_reg reg = { .access = IBV_ACCESS_LOCAL_WRITE, .length = LEN };
	struct univ_destroy pd = { 0 };
	int fd;

	if (!set_up())
		return;
	fd = raw_open();
	NEED_OK(raw_call(fd, UNIV_DMAH_ALLOC, &alloc));
	reg.pd = raw_pd(fd);
	reg.addr = (uintptr_t)p.buf[1];
	reg.iova = reg.addr;
	reg.dmah = alloc.handle;
	NEED_OK(raw_call(fd, UNIV_MR_REG, &reg));
	pd.handle = reg.pd;
	CHECK_ERR(raw_call(fd, UNIV_PD_DEALLOC, &pd), EBUSY);
	close(fd);
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "hints", hints },
	{ "affinity", affinity },
	{ "regions", regions },
	{ "on_demand", on_demand },
	{ "other_memory", other_memory },
	{ "wrong_handles", wrong_handles },
	{ "left", left },
};

TEST_MAIN("dma_handles", cases, 20)
