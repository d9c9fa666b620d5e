// SPDX-License-Identifier: GPL-2.0
/*
 * adv01. Every size at and past its limit, and sizes whose products overflow. A size past
 * the limit is EINVAL with the name of the limit, and nothing is allocated. A size at the
 * limit works or fails with ENOMEM.
 */
#include "raw.h"

static struct test_dev dev;
static struct ibv_pd *pd;
static struct ibv_cq *cq;

static void set_up(void)
{
	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	NEED_PTR(pd, "alloc_pd");
	cq = ibv_create_cq(dev.ctx, 16, NULL, NULL, 0);
	NEED_PTR(cq, "create_cq");
}

static void tear_down(void)
{
	CHECK_ERR(ibv_destroy_cq(cq), 0);
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	dev_close(&dev);
}

static void want_limit(const char *what, uint32_t limit, uint64_t asked, uint64_t bound)
{
	CHECK(errno == EINVAL, "%s of %" PRIu64 ": expected EINVAL, got %s", what, asked,
	      err_name(errno));
	CHECK(why_reason() == UNIV_REASON_LIMIT && why_detail() == limit && why_value() == asked,
	      "%s of %" PRIu64 ": reason %u detail %u value %" PRIu64 ": %s", what, asked,
	      why_reason(), why_detail(), why_value(), why_text());
	if (bound)
		CHECK(why_bound() == bound, "%s of %" PRIu64 ": bound %" PRIu64 ", expected %" PRIu64,
		      what, asked, why_bound(), bound);
}

/* A device may lack the memory for its limits. uroce has it. */
static bool failed_for_memory(void)
{
	return errno == ENOMEM && !on_uroce();
}

/* ---- Completion queues --------------------------------------------------- */

static void cq_entries(void)
{
	uint32_t bad[] = { 0, 0x10000, 0x7fffffff, 0x80000000u, 0xffffffffu };
	struct ibv_cq *one;

	set_up();
	one = ibv_create_cq(dev.ctx, dev.attr.max_cqe, NULL, NULL, 0);
	CHECK(one || failed_for_memory(), "%d entries, the limit: %s; %s", dev.attr.max_cqe,
	      err_name(errno), why_text());
	if (one)
		CHECK_ERR(ibv_destroy_cq(one), 0);
	bad[0] = dev.attr.max_cqe + 1;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (bad[i] <= (uint32_t)dev.attr.max_cqe)
			continue;
		one = ibv_create_cq(dev.ctx, bad[i], NULL, NULL, 0);
		if (CHECK(!one, "a queue of %u entries, limit %d", bad[i], dev.attr.max_cqe) &&
		    (int)bad[i] > 0)
			want_limit("cqe", UNIV_LIMIT_CQE, bad[i], dev.attr.max_cqe);
		if (one)
			ibv_destroy_cq(one);
	}
	CHECK_NULL(ibv_create_cq(dev.ctx, 0, NULL, NULL, 0), EINVAL);
	CHECK_NULL(ibv_create_cq(dev.ctx, -1, NULL, NULL, 0), EINVAL);
	tear_down();
}

static void cq_vector(void)
{
	static const int bad[] = { 1000, -1, 0x7fffffff };

	set_up();
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		CHECK_NULL(ibv_create_cq(dev.ctx, 16, NULL, NULL, bad[i]), EINVAL);
		CHECK(why_reason() == UNIV_REASON_VECTOR, "vector %d: reason %u: %s", bad[i],
		      why_reason(), why_text());
	}
	CHECK_NULL(ibv_create_cq(dev.ctx, 16, NULL, NULL, dev.ctx->num_comp_vectors), EINVAL);
	tear_down();
}

static void cq_resize_entries(void)
{
	static const int bad[] = { 0, -1, 0x7fffffff };
	struct ibv_wc wc;

	set_up();
	CHECK_ERR(ibv_resize_cq(cq, dev.attr.max_cqe + 1), EINVAL);
	errno = EINVAL;
	want_limit("resize", UNIV_LIMIT_CQE, dev.attr.max_cqe + 1, dev.attr.max_cqe);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK_ERR(ibv_resize_cq(cq, bad[i]), EINVAL);
	CHECK(!ibv_poll_cq(cq, 1, &wc), "the queue survives refused resizes");
	tear_down();
}

/* ---- Queue pairs --------------------------------------------------------- */

static const struct ibv_qp_cap small = {
	.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1,
};

static struct ibv_qp *create(const struct ibv_qp_cap *cap)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = *cap,
	};

	errno = 0;
	return ibv_create_qp(pd, &init);
}

struct cap_field {
	const char *name;
	size_t offset;
	uint32_t limit;
};

static const struct cap_field caps[] = {
	{ "max_send_wr", offsetof(struct ibv_qp_cap, max_send_wr), UNIV_LIMIT_SEND_WR },
	{ "max_recv_wr", offsetof(struct ibv_qp_cap, max_recv_wr), UNIV_LIMIT_RECV_WR },
	{ "max_send_sge", offsetof(struct ibv_qp_cap, max_send_sge), UNIV_LIMIT_SEND_SGE },
	{ "max_recv_sge", offsetof(struct ibv_qp_cap, max_recv_sge), UNIV_LIMIT_RECV_SGE },
	{ "max_inline_data", offsetof(struct ibv_qp_cap, max_inline_data), UNIV_LIMIT_INLINE },
};

static uint32_t *cap_at(struct ibv_qp_cap *cap, const struct cap_field *f)
{
	return (uint32_t *)((char *)cap + f->offset);
}

static uint32_t device_limit(const struct cap_field *f)
{
	switch (f->limit) {
	case UNIV_LIMIT_SEND_WR:
	case UNIV_LIMIT_RECV_WR:
		return dev.attr.max_qp_wr;
	case UNIV_LIMIT_SEND_SGE:
	case UNIV_LIMIT_RECV_SGE:
		return dev.attr.max_sge;
	default:
		return 0;
	}
}

static void qp_try_past(const struct cap_field *f, uint32_t value)
{
	struct ibv_qp_cap cap = small;
	struct ibv_qp *qp;

	*cap_at(&cap, f) = value;
	qp = create(&cap);
	if (!CHECK(!qp, "a queue pair with %s %u", f->name, value)) {
		ibv_destroy_qp(qp);
		return;
	}
	want_limit(f->name, f->limit, value, device_limit(f));
}

static void qp_past_limits(void)
{
	static const uint32_t huge[] = { 0x00ffffff, 0x02000000, 0x04000000, 0x10000000,
		0x40000000, 0x7fffffff, 0x80000000u, 0xffffffc0u, 0xffffffffu };

	set_up();
	for (size_t i = 0; i < ARRAY_SIZE(caps); i++) {
		if (device_limit(&caps[i]))
			qp_try_past(&caps[i], device_limit(&caps[i]) + 1);
		for (size_t k = 0; k < ARRAY_SIZE(huge); k++)
			qp_try_past(&caps[i], huge[k]);
	}
	tear_down();
}

static void qp_at_limits(void)
{
	set_up();
	for (size_t i = 0; i < ARRAY_SIZE(caps); i++) {
		struct ibv_qp_cap cap = small;
		uint32_t limit = device_limit(&caps[i]);
		struct ibv_qp *qp;

		if (!limit)
			continue;
		*cap_at(&cap, &caps[i]) = limit;
		qp = create(&cap);
		CHECK(qp || failed_for_memory(), "%s %u, the limit: %s; %s", caps[i].name, limit,
		      err_name(errno), why_text());
		if (qp)
			CHECK_ERR(ibv_destroy_qp(qp), 0);
	}
	tear_down();
}

/* All sizes at their limits at once; their product exceeds 32 bits. */
static void qp_products(void)
{
	struct ibv_qp_cap cap = small;
	struct ibv_qp *qp;

	set_up();
	cap.max_send_wr = cap.max_recv_wr = dev.attr.max_qp_wr;
	cap.max_send_sge = cap.max_recv_sge = dev.attr.max_sge;
	qp = create(&cap);
	CHECK(qp || failed_for_memory(), "everything at its limit: %s; %s", err_name(errno),
	      why_text());
	if (qp)
		CHECK_ERR(ibv_destroy_qp(qp), 0);
	tear_down();
}

/* Queues of size zero are valid, for a queue pair that only sends or only receives. */
static void qp_zero(void)
{
	struct ibv_qp_cap cap = { 0 };
	struct ibv_qp *qp;

	set_up();
	cap.max_send_wr = 4;
	cap.max_send_sge = 1;
	qp = create(&cap);
	CHECK(qp, "no receive queue: %s; %s", err_name(errno), why_text());
	if (qp)
		CHECK_ERR(ibv_destroy_qp(qp), 0);
	memset(&cap, 0, sizeof(cap));
	cap.max_recv_wr = 4;
	cap.max_recv_sge = 1;
	qp = create(&cap);
	CHECK(qp, "no send queue: %s; %s", err_name(errno), why_text());
	if (qp)
		CHECK_ERR(ibv_destroy_qp(qp), 0);
	tear_down();
}

static int wrong_kind_error(int type)
{
	switch (type) {
	case 0:
	case 1:
		/* The queue pairs of the subnet manager and of the general services. */
		return EPERM;
	case IBV_QPT_XRC_RECV:
		/* ibv_create_qp(3) has no place for its domain. */
		return EINVAL;
	default:
		return EOPNOTSUPP;
	}
}

static void qp_wrong_kinds(void)
{
	static const int types[] = { 0, 1, 5, 6, 7, 8, 9, 10, 100, 0xff, -1 };
	struct ibv_qp_init_attr init = { .cap = small };

	set_up();
	init.send_cq = cq;
	init.recv_cq = cq;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct ibv_qp *qp;

		if (types[i] == IBV_QPT_XRC_SEND && dev.attr.device_cap_flags & IBV_DEVICE_XRC)
			continue;
		if (types[i] == IBV_QPT_RAW_PACKET &&
		    dev.attr.device_cap_flags & IBV_DEVICE_MANAGED_FLOW_STEERING)
			continue;
		init.qp_type = types[i];
		errno = 0;
		qp = ibv_create_qp(pd, &init);
		CHECK(!qp && errno == wrong_kind_error(types[i]), "a queue pair of type %d: %s",
		      types[i], err_name(errno));
		CHECK(why_reason() == UNIV_REASON_QP_TYPE && why_value() == (uint32_t)types[i],
		      "type %d: reason %u: %s", types[i], why_reason(), why_text());
	}
	init.qp_type = IBV_QPT_RC;
	init.recv_cq = NULL;
	CHECK_NULL(ibv_create_qp(pd, &init), EINVAL);
	tear_down();
}

/* ---- Shared receive queues ----------------------------------------------- */

static void srq_sizes(void)
{
	struct {
		uint32_t wr;
		uint32_t sge;
		uint32_t limit;
	} bad[] = {
		{ 0, 1, UNIV_LIMIT_SRQ_WR }, { 0xffffffffu, 1, UNIV_LIMIT_SRQ_WR },
		{ 0x80000000u, 1, UNIV_LIMIT_SRQ_WR }, { 0x40000000, 1, UNIV_LIMIT_SRQ_WR },
		{ 4, 0, UNIV_LIMIT_SRQ_SGE }, { 4, 0xffffffffu, UNIV_LIMIT_SRQ_SGE },
		{ 4, 0x10000000, UNIV_LIMIT_SRQ_SGE },
	};
	struct ibv_srq_init_attr init;
	struct ibv_srq *srq;

	set_up();
	bad[0].wr = dev.attr.max_srq_wr + 1;
	bad[4].sge = dev.attr.max_srq_sge + 1;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		memset(&init, 0, sizeof(init));
		init.attr.max_wr = bad[i].wr;
		init.attr.max_sge = bad[i].sge;
		errno = 0;
		srq = ibv_create_srq(pd, &init);
		if (!CHECK(!srq, "a shared queue of %u requests, %u entries", bad[i].wr, bad[i].sge)) {
			ibv_destroy_srq(srq);
			continue;
		}
		want_limit("srq", bad[i].limit, bad[i].limit == UNIV_LIMIT_SRQ_WR ? bad[i].wr :
			   bad[i].sge, 0);
	}
	memset(&init, 0, sizeof(init));
	init.attr.max_wr = dev.attr.max_srq_wr;
	init.attr.max_sge = dev.attr.max_srq_sge;
	srq = ibv_create_srq(pd, &init);
	CHECK(srq || failed_for_memory(), "at the limits: %s; %s", err_name(errno), why_text());
	if (srq)
		CHECK_ERR(ibv_destroy_srq(srq), 0);
	memset(&init, 0, sizeof(init));
	init.attr.max_sge = 1;
	CHECK_NULL(ibv_create_srq(pd, &init), EINVAL);
	tear_down();
}

/* ---- The same by ioctls, because the library might check first ----------- */

static void raw_products(void)
{
	static const uint32_t values[] = { 0, 1, 0x7fff, 0x8000, 0xffff, 0x10000, 0x3ffffff,
		0x4000000, 0x7fffffff, 0x80000000u, 0xfffffff0u, 0xffffffffu };
	uint64_t seed = rnd_seed();
	struct univ_qp_create qp;
	struct univ_srq_create srq;
	struct univ_cq_create c;
	int made = 0, fd = raw_open();
	uint32_t rpd = raw_pd(fd);
	struct raw_cq rcq;

	raw_cq(fd, &rcq, 16, -1);
#define ANY values[rnd(&seed) % ARRAY_SIZE(values)]
	/*
	 * Some sizes are granted many MiB, which take long in a kernel that checks each
	 * byte, such as one with KASAN. So apply test_rounds() twice.
	 */
	for (int i = 0; i < test_rounds(test_rounds(1000)); i++) {
		raw_qp_arg(&qp, IBV_QPT_RC, rpd, rcq.handle, 0);
		qp.max_send_wr = ANY;
		qp.max_recv_wr = ANY;
		qp.max_send_sge = ANY;
		qp.max_recv_sge = ANY;
		qp.max_inline = ANY;
		if (!raw_call(fd, UNIV_QP_CREATE, &qp)) {
			NEED_OK(raw_destroy(fd, UNIV_QP_DESTROY, qp.handle));
			made++;
		}
		srq = (struct univ_srq_create){ .pd = rpd, .max_wr = ANY, .max_sge = ANY, .limit = ANY };
		if (!raw_call(fd, UNIV_SRQ_CREATE, &srq))
			NEED_OK(raw_destroy(fd, UNIV_SRQ_DESTROY, srq.handle));
		c = (struct univ_cq_create){ .cqe = ANY, .comp_vector = ANY & 3, .channel_fd = -1 };
		if (!raw_call(fd, UNIV_CQ_CREATE, &c))
			NEED_OK(raw_destroy(fd, UNIV_CQ_DESTROY, c.handle));
	}
#undef ANY
	printf("%d queue pairs were possible\n", made);
	raw_unmap(&rcq.map);
	close(fd);
}

static void gid_table_huge(void)
{
	static const uint32_t max[] = { 0, 0x10000, 0x8000000, 0xffffffffu };
	int fd = raw_open();

	for (size_t i = 0; i < ARRAY_SIZE(max); i++) {
		uint32_t reason = max[i] ? UNIV_REASON_FAULT : UNIV_REASON_ZERO;
		struct univ_gid_table arg = { .max = max[i] };
		int err = raw_call(fd, UNIV_GID_TABLE, &arg);

		CHECK(err == (max[i] ? EFAULT : EINVAL) && arg.hdr.reason == reason,
		      "a table of %u entries at address 0: %s, reason %u", max[i], err_name(err),
		      arg.hdr.reason);
	}
	close(fd);
}

static const struct test_case cases[] = {
	{ "cq_entries", cq_entries },
	{ "cq_vector", cq_vector },
	{ "cq_resize_entries", cq_resize_entries },
	{ "qp_past_limits", qp_past_limits },
	{ "qp_at_limits", qp_at_limits },
	{ "qp_products", qp_products },
	{ "qp_zero", qp_zero },
	{ "qp_wrong_kinds", qp_wrong_kinds },
	{ "srq_sizes", srq_sizes },
	{ "raw_products", raw_products },
	{ "gid_table_huge", gid_table_huge },
};

TEST_MAIN("bad_limits (adv01)", cases, 90)
