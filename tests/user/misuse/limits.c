// SPDX-License-Identifier: GPL-2.0
/*
 * adv27. The limits that the module's parameters set: each one refuses, explains the
 * refusal, and no longer counts resources that were freed. The script sets the parameter
 * for each case but quarter_of_memory to the value below.
 */
#include "raw.h"
#include "testlib.h"
#include "lasterror.h"

#define MAX_CONTEXTS	12u
#define MAX_OBJECTS	40u
#define MAX_RING_MIB	8u
#define MANY		64

static void contexts(void)
{
	struct ibv_context *more[MANY];
	struct test_dev dev;
	unsigned int n = 0;

	dev_open(&dev);
	/* One context is open already. */
	while (n < MANY && (more[n] = ibv_open_device(dev.ctx->device)))
		n++;
	CHECK(errno == ENFILE, "errno %d at the limit", errno);
	CHECK(n + 1 == MAX_CONTEXTS, "%u contexts instead of %u", n + 1, MAX_CONTEXTS);
	CHECK(why_reason() == UNIV_REASON_LIMIT && strstr(why_text(), "max_contexts"),
	      "explained as: %s", why_text());
	NEED_OK(ibv_close_device(more[--n]));
	NEED_PTR((more[n] = ibv_open_device(dev.ctx->device)), "open again");
	n++;
	while (n)
		NEED_OK(ibv_close_device(more[--n]));
	dev_close(&dev);
}

/* Any further object is refused, whatever its kind, and leaves nothing. */
static void no_object_more(struct ibv_context *ctx, struct ibv_pd *pd, struct ibv_cq *cq)
{
	static uint8_t mem[4096];
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_init_attr qp = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	CHECK_NULL(ibv_reg_mr(pd, mem, sizeof(mem), IBV_ACCESS_LOCAL_WRITE), ENOMEM);
	CHECK(why_reason() == UNIV_REASON_LIMIT, "a region is explained as: %s", why_text());
	CHECK_NULL(ibv_create_cq(ctx, 4, NULL, NULL, 0), ENOMEM);
	CHECK(why_reason() == UNIV_REASON_LIMIT, "a CQ is explained as: %s", why_text());
	CHECK_NULL(ibv_create_srq(pd, &srq), ENOMEM);
	CHECK(why_reason() == UNIV_REASON_LIMIT, "an SRQ is explained as: %s", why_text());
	CHECK_NULL(ibv_create_qp(pd, &qp), ENOMEM);
	CHECK(why_reason() == UNIV_REASON_LIMIT, "a QP is explained as: %s", why_text());
}

static void objects_of_each_kind(void)
{
	struct ibv_pd *pd[MANY];
	struct ibv_cq *cq;
	struct test_dev dev;
	unsigned int n = 0;

	dev_open(&dev);
	NEED_PTR((cq = ibv_create_cq(dev.ctx, 4, NULL, NULL, 0)), "create_cq");
	while (n < MANY && (pd[n] = ibv_alloc_pd(dev.ctx)))
		n++;
	CHECK(n + 1 == MAX_OBJECTS, "%u objects instead of %u", n + 1, MAX_OBJECTS);
	no_object_more(dev.ctx, pd[0], cq);
	while (n)
		NEED_OK(ibv_dealloc_pd(pd[--n]));
	NEED_OK(ibv_destroy_cq(cq));
	dev_close(&dev);
}

static void objects(void)
{
	struct ibv_pd *pd[MANY];
	struct test_dev dev;
	unsigned int n = 0;

	dev_open(&dev);
	while (n < MANY && (pd[n] = ibv_alloc_pd(dev.ctx)))
		n++;
	CHECK(errno == ENOMEM, "errno %d at the limit", errno);
	CHECK(n == MAX_OBJECTS, "%u objects instead of %u", n, MAX_OBJECTS);
	CHECK(why_reason() == UNIV_REASON_LIMIT && strstr(why_text(), "max_objects"),
	      "explained as: %s", why_text());
	NEED_OK(ibv_dealloc_pd(pd[--n]));
	NEED_PTR((pd[n] = ibv_alloc_pd(dev.ctx)), "a PD again");
	n++;
	while (n)
		NEED_OK(ibv_dealloc_pd(pd[--n]));
	dev_close(&dev);
}

/* The ring of 16384 completions needs 1 MiB and a page. */
#define RING_BYTES ((1u << 20) + 4096)

static unsigned int fill_rings(struct ibv_context *ctx, struct ibv_cq **cq)
{
	unsigned int n = 0;

	while (n < MANY && (cq[n] = ibv_create_cq(ctx, 16384, NULL, NULL, 0)))
		n++;
	CHECK(errno == ENOMEM, "errno %d at the limit", errno);
	return n;
}

static void rings(void)
{
	struct ibv_cq *cq[MANY];
	struct test_dev dev;
	unsigned int n;

	dev_open(&dev);
	n = fill_rings(dev.ctx, cq);
	CHECK(n == MAX_RING_MIB - 1, "%u rings of 1 MiB and a page instead of %u", n, MAX_RING_MIB - 1);
	CHECK(why_reason() == UNIV_REASON_LIMIT && strstr(why_text(), "ring memory"),
	      "explained as: %s", why_text());
	NEED_OK(ibv_destroy_cq(cq[--n]));
	NEED_PTR((cq[n] = ibv_create_cq(dev.ctx, 16384, NULL, NULL, 0)), "a ring again");
	n++;
	while (n)
		NEED_OK(ibv_destroy_cq(cq[--n]));
	n = fill_rings(dev.ctx, cq);
	CHECK(n == MAX_RING_MIB - 1, "%u rings the second time instead of %u", n, MAX_RING_MIB - 1);
	while (n)
		NEED_OK(ibv_destroy_cq(cq[--n]));
	dev_close(&dev);
}

/*
 * One context has all that the device may have. The rings that are refused to another context do not
 * count for that one: there are more than max_ring_mib permits, whose default is 1024.
 */
static void rings_of_another(void)
{
	struct ibv_cq *cq[MANY], *later;
	struct ibv_context *other;
	struct test_dev dev;
	unsigned int n;

	dev_open(&dev);
	other = ibv_open_device(dev.ctx->device);
	NEED_PTR(other, "open_device");
	n = fill_rings(dev.ctx, cq);
	for (int i = 0; i < 1100; i++)
		CHECK_NULL(ibv_create_cq(other, 16384, NULL, NULL, 0), ENOMEM);
	while (n)
		NEED_OK(ibv_destroy_cq(cq[--n]));
	later = ibv_create_cq(other, 16384, NULL, NULL, 0);
	CHECK(later, "a ring of the other context: %s; %s", err_name(errno), why_text());
	if (later)
		NEED_OK(ibv_destroy_cq(later));
	NEED_OK(ibv_close_device(other));
	dev_close(&dev);
}

/*
 * Without the parameter a device may have a quarter of the machine's memory. A ring of this size has
 * more than 7 MiB, so the loop ends before a kernel without the limit has given much more.
 */
static void quarter_of_memory(void)
{
	uint64_t quarter = (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / 4;
	struct univ_srq_create srq;
	unsigned int n = 0;
	int fd, err;
	uint32_t pd;

	if (quarter > 1024ull << 20)
		SKIP("the limit of a context, max_ring_mib, comes first");
	fd = raw_open();
	pd = raw_pd(fd);
	do {
		srq = (struct univ_srq_create){ .pd = pd, .max_wr = 16384, .max_sge = 27 };
		err = raw_call(fd, UNIV_SRQ_CREATE, &srq);
	} while (!err && ++n <= quarter / (7u << 20));
	CHECK_ERR(err, ENOMEM);
	CHECK(srq.hdr.reason == UNIV_REASON_LIMIT && srq.hdr.detail == UNIV_LIMIT_RINGS,
	      "reason %u, detail %u", srq.hdr.reason, srq.hdr.detail);
	CHECK(n * srq.hdr.value + srq.hdr.bound == quarter,
	      "%u rings of %llu bytes, and %llu bytes left, of %" PRIu64, n, srq.hdr.value,
	      srq.hdr.bound, quarter);
	close(fd);
}

#define RING_ASKERS 4

/* Ask for much more than the limit. The script checks how much was allocated meanwhile. */
static void *ask_for_ring(void *arg)
{
	struct univ_srq_create srq = { .pd = *(uint32_t *)arg, .max_wr = 16384, .max_sge = 27 };
	int fd = *((int *)arg + 1);

	for (int i = 0; i < test_rounds(20); i++) {
		CHECK_ERR(raw_call(fd, UNIV_SRQ_CREATE, &srq), ENOMEM);
		CHECK(srq.hdr.reason == UNIV_REASON_LIMIT && srq.hdr.detail == UNIV_LIMIT_RINGS,
		      "reason %u, detail %u", srq.hdr.reason, srq.hdr.detail);
	}
	return NULL;
}

static void refused_rings(void)
{
	pthread_t thread[RING_ASKERS];
	int fd = raw_open();
	uint32_t arg[] = { raw_pd(fd), (uint32_t)fd };

	for (int i = 0; i < RING_ASKERS; i++)
		NEED(!pthread_create(&thread[i], NULL, ask_for_ring, arg), "pthread_create");
	for (int i = 0; i < RING_ASKERS; i++)
		pthread_join(thread[i], NULL);
	close(fd);
}

/* A destroyed queue counts until its mapping is gone. */
static void mappings(void)
{
	struct univ_cq_create create = { .cqe = 16384, .channel_fd = -1 };
	struct univ_destroy destroy;
	void *map[MANY];
	unsigned int n = 0;
	int fd = raw_open();

	while (n < MANY && !raw_call(fd, UNIV_CQ_CREATE, &create)) {
		map[n] = mmap(NULL, create.map_length, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			      (off_t)create.map_offset);
		NEED(map[n++] != MAP_FAILED, "mmap: %s", err_name(errno));
		destroy = (struct univ_destroy) { .handle = create.handle };
		NEED_OK(raw_call(fd, UNIV_CQ_DESTROY, &destroy));
		create.cqe = 16384;
	}
	CHECK(n == MAX_RING_MIB - 1, "%u mappings of 1 MiB and a page instead of %u", n, MAX_RING_MIB - 1);
	/* The memory is freed with the mapping and not before. */
	NEED_OK(munmap(map[--n], RING_BYTES));
	create.cqe = 16384;
	NEED_OK(raw_call(fd, UNIV_CQ_CREATE, &create));
	close(fd);
}

static const struct test_case cases[] = {
	{ "contexts", contexts },
	{ "objects", objects },
	{ "objects_of_each_kind", objects_of_each_kind },
	{ "rings", rings },
	{ "rings_of_another", rings_of_another },
	{ "quarter_of_memory", quarter_of_memory },
	{ "refused_rings", refused_rings },
	{ "mappings", mappings },
};

TEST_MAIN("limits (adv27)", cases, 60)
