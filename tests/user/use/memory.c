// SPDX-License-Identifier: GPL-2.0
/*
 * Device memory and null regions: copies, requests of every kind on them, limits, and the
 * order in which the objects go. Devices without them must say so.
 */
#include "raw.h"

#define SIZE 12288u
#define DM_ACCESS (ALL_ACCESS | IBV_ACCESS_ZERO_BASED)

static struct pair p;

static bool offered(void)
{
	return raw_offers(p.dev.ctx->cmd_fd, UNIV_FEATURE_DM);
}

/* Open a pair. Return false on a device without device memory, which not_offered() tests. */
static bool set_up(void)
{
	pair_open(&p, NULL);
	if (offered())
		return true;
	pair_close(&p);
	return false;
}

static struct ibv_dm *dm_of(size_t length)
{
	struct ibv_alloc_dm_attr attr = { .length = length, .log_align_req = 6 };
	struct ibv_dm *dm = ibv_alloc_dm(p.dev.ctx, &attr);

	NEED(dm, "alloc_dm of %zu: %s; %s", length, err_name(errno), why_text());
	return dm;
}

static struct ibv_mr *mr_of(struct ibv_dm *dm, uint64_t offset, size_t length)
{
	struct ibv_mr *mr = ibv_reg_dm_mr(p.pd, dm, offset, length, DM_ACCESS);

	NEED(mr, "reg_dm_mr: %s; %s", err_name(errno), why_text());
	CHECK(mr->length == length && !mr->addr && mr->pd == p.pd, "another region");
	return mr;
}

/* Execute a request between half 0 of the buffer and remote memory. */
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

/* Send @len bytes of half 0 or of another region into half 1 or into another region. */
static void message(const struct ibv_sge *from, const struct ibv_sge *to)
{
	struct ibv_sge sge = *from, into = *to;
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_wc wc;

	CHECK_ERR(post_recv(&p, 1, 1, &into, 1), 0);
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
}

static void copies(void)
{
	static uint8_t from[SIZE], to[SIZE];
	struct ibv_dm *dm;

	if (!set_up())
		return;
	dm = dm_of(SIZE - 4);
	CHECK_ERR(ibv_memcpy_from_dm(to, dm, 0, SIZE - 4), 0);
	CHECK(all_zero(to, SIZE - 4), "new memory is not zero");
	fill(from, SIZE, 3);
	CHECK_ERR(ibv_memcpy_to_dm(dm, 4, from, 4096), 0);
	CHECK_ERR(ibv_memcpy_from_dm(to, dm, 4, 4096), 0);
	CHECK_BYTES(to, 4096, 3, "copied to and from the device memory");
	CHECK_ERR(ibv_memcpy_to_dm(dm, SIZE - 8, from, 4), 0);
	CHECK_ERR(ibv_memcpy_to_dm(dm, SIZE - 4, from, 0), 0);
	CHECK_ERR(ibv_memcpy_to_dm(dm, SIZE - 4, from, 4), EFAULT);
	CHECK_ERR(ibv_memcpy_to_dm(dm, SIZE, from, 4), EFAULT);
	CHECK_ERR(ibv_memcpy_to_dm(dm, 4, from, SIZE_MAX - 3), EFAULT);
	CHECK_ERR(ibv_memcpy_from_dm(to, dm, UINT64_MAX - 3, 4), EFAULT);
	CHECK_ERR(ibv_memcpy_from_dm(to, dm, SIZE - 5, 6), EFAULT);
	CHECK_ERR(ibv_memcpy_to_dm(dm, 3, from, 4), EINVAL);
	CHECK_ERR(ibv_memcpy_from_dm(to, dm, 4, 3), EINVAL);
	CHECK(strstr(why_text(), "multiples of 4"), "explained as: %s", why_text());
	CHECK_ERR(ibv_free_dm(dm), 0);
	pair_close(&p);
}

/* Requests on a region that begins in the middle of a page. */
static void requests(void)
{
	static uint8_t seen[SIZE];
	struct ibv_sge near, far;
	uint64_t value = 37;
	struct ibv_dm *dm;
	struct ibv_mr *mr;

	if (!set_up())
		return;
	dm = dm_of(2 * SIZE);
	mr = mr_of(dm, 1000, SIZE);
	fill(p.buf[0], SIZE, 9);
	request(IBV_WR_RDMA_WRITE, 0, mr->rkey, SIZE, IBV_WC_SUCCESS);
	CHECK_ERR(ibv_memcpy_from_dm(seen, dm, 1000, SIZE), 0);
	CHECK_BYTES(seen, SIZE, 9, "written into the device memory");
	memset(p.buf[0], 0, SIZE);
	request(IBV_WR_RDMA_READ, 0, mr->rkey, SIZE, IBV_WC_SUCCESS);
	CHECK_BYTES(p.buf[0], SIZE, 9, "read from the device memory");

	CHECK_ERR(ibv_memcpy_to_dm(dm, 1000 + 64, &value, 8), 0);
	request(IBV_WR_ATOMIC_FETCH_AND_ADD, 64, mr->rkey, 8, IBV_WC_SUCCESS);
	CHECK_ERR(ibv_memcpy_from_dm(&value, dm, 1000 + 64, 8), 0);
	CHECK(value == 42 && *(uint64_t *)p.buf[0] == 37, "after fetch-and-add: %" PRIu64, value);

	/* As local memory of a message, on both sides. */
	fill(seen, SIZE, 21);
	CHECK_ERR(ibv_memcpy_to_dm(dm, 1000, seen, SIZE), 0);
	near = (struct ibv_sge){ 0, 6000, mr->lkey };
	far = pair_sge(&p, 1, 0, 6000);
	message(&near, &far);
	CHECK_BYTES(p.buf[1], 6000, 21, "sent from the device memory");
	fill(p.buf[0], 6000, 22);
	near = pair_sge(&p, 0, 0, 6000);
	far = (struct ibv_sge){ 8, 6000, mr->lkey };
	message(&near, &far);
	CHECK_ERR(ibv_memcpy_from_dm(seen, dm, 1008, 6000), 0);
	CHECK_BYTES(seen, 6000, 22, "received into the device memory");

	CHECK_ERR(ibv_free_dm(dm), EBUSY);
	CHECK(strstr(why_text(), "device memory is still in use by 1 object"), "explained as: %s", why_text());
	CHECK_ERR(ibv_dealloc_pd(p.pd), EBUSY);
	/* Beyond the region there is memory of the same object, which the key does not cover. */
	request(IBV_WR_RDMA_WRITE, SIZE - 4, mr->rkey, 8, IBV_WC_REM_ACCESS_ERR);
	CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0) == IBV_REREG_MR_ERR_INPUT,
	      "registered again");
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	CHECK_ERR(ibv_free_dm(dm), 0);
	pair_close(&p);
}

static void limits(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 64 };
	struct ibv_device_attr_ex ex;
	struct ibv_pd *foreign;
	struct test_dev other;
	struct ibv_dm *dm;
	struct ibv_mr *mr;

	if (!set_up())
		return;
	CHECK_ERR(ibv_query_device_ex(p.dev.ctx, NULL, &ex), 0);
	CHECK(ex.max_dm_size, "max_dm_size is 0");
	CHECK_ERR(ibv_free_dm(dm_of(ex.max_dm_size)), 0);
	attr.length = ex.max_dm_size + 1;
	CHECK_NULL(ibv_alloc_dm(p.dev.ctx, &attr), EINVAL);
	CHECK(strstr(why_text(), "bytes of device memory were requested"), "explained as: %s", why_text());
	attr.length = SIZE_MAX;
	CHECK_NULL(ibv_alloc_dm(p.dev.ctx, &attr), EINVAL);
	attr.length = 0;
	CHECK_NULL(ibv_alloc_dm(p.dev.ctx, &attr), EINVAL);
	attr = (struct ibv_alloc_dm_attr){ .length = 64, .log_align_req = 13 };
	CHECK_NULL(ibv_alloc_dm(p.dev.ctx, &attr), EINVAL);
	attr = (struct ibv_alloc_dm_attr){ .length = 64, .comp_mask = 1 };
	CHECK_NULL(ibv_alloc_dm(p.dev.ctx, &attr), EOPNOTSUPP);

	dm = dm_of(100);
	CHECK_NULL(ibv_reg_dm_mr(p.pd, dm, 0, 64, IBV_ACCESS_LOCAL_WRITE), EINVAL);
	CHECK(strstr(why_text(), "IBV_ACCESS_ZERO_BASED"), "explained as: %s", why_text());
	CHECK_NULL(ibv_reg_dm_mr(p.pd, dm, 0, 104, DM_ACCESS), EINVAL);
	CHECK_NULL(ibv_reg_dm_mr(p.pd, dm, 101, 0, DM_ACCESS), EINVAL);
	CHECK_NULL(ibv_reg_dm_mr(p.pd, dm, UINT64_MAX, 2, DM_ACCESS), EINVAL);
	CHECK_NULL(ibv_reg_dm_mr(p.pd, dm, 64, SIZE_MAX, DM_ACCESS), EINVAL);
	CHECK_NULL(ibv_reg_dm_mr(p.pd, dm, 0, 64, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_REMOTE_WRITE), EINVAL);
	/* A region of no bytes is of no use, and rdma-core's tests make one. */
	mr = mr_of(dm, 100, 0);
	request(IBV_WR_RDMA_WRITE, 0, mr->rkey, 0, IBV_WC_SUCCESS);
	CHECK_ERR(ibv_dereg_mr(mr), 0);

	dev_open(&other);
	foreign = ibv_alloc_pd(other.ctx);
	NEED_PTR(foreign, "alloc_pd");
	CHECK_NULL(ibv_reg_dm_mr(foreign, dm, 0, 64, DM_ACCESS), EINVAL);
	CHECK(strstr(why_text(), "device memory is of another context"), "explained as: %s", why_text());
	CHECK_ERR(ibv_dealloc_pd(foreign), 0);
	dev_close(&other);
	CHECK_ERR(ibv_free_dm(dm), 0);
	pair_close(&p);
}

/* Memory that is imported is the same memory. */
static void imported(void)
{
	struct ibv_context *ctx;
	struct ibv_dm *dm, *alias;
	uint64_t value = 77;

	if (!set_up())
		return;
	dm = dm_of(64);
	ctx = ibv_import_device(dup(p.dev.ctx->cmd_fd));
	NEED_PTR(ctx, "import_device");
	CHECK_NULL(ibv_import_dm(ctx, p.pd->handle), EINVAL);
	alias = ibv_import_dm(ctx, dm->handle);
	NEED_PTR(alias, "import_dm");
	CHECK_ERR(ibv_memcpy_to_dm(dm, 8, &value, 8), 0);
	value = 0;
	CHECK_ERR(ibv_memcpy_from_dm(&value, alias, 8, 8), 0);
	CHECK(value == 77, "read %" PRIu64, value);
	CHECK_ERR(ibv_memcpy_from_dm(&value, alias, 60, 8), EFAULT);
	/* The mapping outlives the object, and shows the memory of no other one. */
	CHECK_ERR(ibv_free_dm(dm), 0);
	CHECK_ERR(ibv_memcpy_from_dm(&value, alias, 8, 8), 0);
	CHECK(value == 77, "read %" PRIu64, value);
	ibv_unimport_dm(alias);
	CHECK_ERR(ibv_close_device(ctx), 0);
	pair_close(&p);
}

/* An imported null region has the same keys: none for peers. */
static void import_null(const struct ibv_mr *mr)
{
	struct ibv_context *ctx = ibv_import_device(dup(p.dev.ctx->cmd_fd));
	struct ibv_mr *alias;
	struct ibv_pd *pd;

	NEED_PTR(ctx, "import_device");
	pd = ibv_import_pd(ctx, p.pd->handle);
	NEED_PTR(pd, "import_pd");
	alias = ibv_import_mr(pd, mr->handle);
	NEED_PTR(alias, "import_mr");
	CHECK(alias->lkey == mr->lkey && !alias->rkey && alias->length == SIZE_MAX,
	      "imported as lkey %#x, rkey %#x, length %zu", alias->lkey, alias->rkey, alias->length);
	ibv_unimport_mr(alias);
	ibv_unimport_pd(pd);
	CHECK_ERR(ibv_close_device(ctx), 0);
}

static void null_region(void)
{
	struct ibv_sge near, far;
	struct ibv_mr *mr;

	if (!set_up())
		return;
	mr = ibv_alloc_null_mr(p.pd);
	NEED(mr, "alloc_null_mr: %s; %s", err_name(errno), why_text());
	CHECK(mr->length == SIZE_MAX && !mr->rkey && mr->lkey && mr->pd == p.pd, "another region");
	import_null(mr);
	/* A send from the region carries zeros, also after a message was received into it. */
	for (uint64_t at = 0; at < 3; at++) {
		memset(p.buf[1], 0xff, SIZE);
		near = (struct ibv_sge){ at * 0x7fffffffffff0000ull, SIZE, mr->lkey };
		far = pair_sge(&p, 1, 0, SIZE);
		message(&near, &far);
		CHECK(all_zero(p.buf[1], SIZE), "not zeros");
		fill(p.buf[0], SIZE, 4);
		near = pair_sge(&p, 0, 0, SIZE);
		far = (struct ibv_sge){ at * 0x7fffffffffff0000ull, SIZE, mr->lkey };
		message(&near, &far);
	}
	/* A peer cannot use the local key. */
	CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ALL_ACCESS) ==
	      IBV_REREG_MR_ERR_INPUT, "registered again");
	request(IBV_WR_RDMA_WRITE, 0, mr->lkey, 8, IBV_WC_REM_ACCESS_ERR);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	pair_close(&p);
}

static void not_offered(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 64 };
	struct ibv_device_attr_ex ex;

	pair_open(&p, NULL);
	if (!offered()) {
		CHECK_NULL(ibv_alloc_dm(p.dev.ctx, &attr), EOPNOTSUPP);
		CHECK_NULL(ibv_alloc_null_mr(p.pd), EOPNOTSUPP);
		CHECK_ERR(ibv_query_device_ex(p.dev.ctx, NULL, &ex), 0);
		CHECK(!ex.max_dm_size, "max_dm_size is %zu", (size_t)ex.max_dm_size);
	}
	CHECK(on_uroce() == offered(), "device memory is %soffered", offered() ? "" : "not ");
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "not_offered", not_offered },
	{ "copies", copies },
	{ "requests", requests },
	{ "limits", limits },
	{ "imported", imported },
	{ "null_region", null_region },
};

TEST_MAIN("memory", cases, 30)
