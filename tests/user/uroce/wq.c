// SPDX-License-Identifier: GPL-2.0
/*
 * Receive work queues and receive indirection tables without frames: states, flushes, limits,
 * objects in use, and handles and rings that lie. rss.c sends frames to them.
 */
#include "cq_ender.h"
#include "raw.h"

#define MAX_WR 16

static struct test_dev dev;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static uint8_t memory[4096];

static void set_up(void)
{
	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	NEED_PTR(pd, "alloc_pd");
	cq = ibv_create_cq(dev.ctx, 64, NULL, NULL, 0);
	NEED_PTR(cq, "create_cq");
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	NEED_PTR(mr, "reg_mr");
}

static void tear_down(void)
{
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	CHECK_ERR(ibv_destroy_cq(cq), 0);
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	dev_close(&dev);
}

static struct ibv_wq_init_attr wq_attr(void)
{
	return (struct ibv_wq_init_attr) {
		.wq_context = &dev,
		.wq_type = IBV_WQT_RQ,
		.max_wr = MAX_WR,
		.max_sge = 2,
		.pd = pd,
		.cq = cq,
	};
}

static struct ibv_wq *new_wq(void)
{
	struct ibv_wq_init_attr attr = wq_attr();
	struct ibv_wq *wq = ibv_create_wq(dev.ctx, &attr);

	NEED(wq, "create_wq: %s; %s", err_name(errno), why_text());
	return wq;
}

static int change(struct ibv_wq *wq, enum ibv_wq_state state)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = state };

	return ibv_modify_wq(wq, &attr);
}

static int post(struct ibv_wq *wq, uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)memory, sizeof(memory), mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad = NULL;
	int err = ibv_post_wq_recv(wq, &wr, &bad);

	CHECK(!err || bad == &wr, "bad_recv_wr is not set");
	return err;
}

static void want_flushed(struct ibv_wq *wq, uint64_t id)
{
	struct ibv_wc wc;

	if (WANT_WC(cq, &wc, IBV_WC_WR_FLUSH_ERR))
		CHECK(wc.wr_id == id && wc.qp_num == wq->wq_num, "wr_id %" PRIu64 ", qp_num %u",
		      wc.wr_id, wc.qp_num);
}

static struct ibv_rwq_ind_table *new_table(struct ibv_wq **wqs, uint32_t log)
{
	struct ibv_rwq_ind_table_init_attr attr = { .log_ind_tbl_size = log, .ind_tbl = wqs };

	return ibv_create_rwq_ind_table(dev.ctx, &attr);
}

/* A device that has no work queues refuses the calls, and does not report work queues. */
static bool offered(void)
{
	struct ibv_wq_init_attr attr;
	struct ibv_device_attr_ex ex;
	bool offers;

	set_up();
	attr = wq_attr();
	offers = raw_offers(dev.ctx->cmd_fd, UNIV_FEATURE_WQ);
	CHECK(offers == on_uroce(), "the device %s", offers ? "offers work queues" : "offers none");
	NEED_OK(ibv_query_device_ex(dev.ctx, NULL, &ex));
	CHECK(!!ex.max_wq_type_rq == offers, "max_wq_type_rq %u", ex.max_wq_type_rq);
	CHECK(ex.rss_caps.max_rwq_indirection_table_size == (offers ? UNIV_TABLE_MAX : 0),
	      "max_rwq_indirection_table_size %u", ex.rss_caps.max_rwq_indirection_table_size);
	CHECK(!!ex.rss_caps.max_rwq_indirection_tables == offers, "max_rwq_indirection_tables %u",
	      ex.rss_caps.max_rwq_indirection_tables);
	if (!offers) {
		CHECK_NULL(ibv_create_wq(dev.ctx, &attr), EOPNOTSUPP);
		CHECK(why_reason() == UNIV_REASON_UNSUPPORTED, "%s", why_text());
		CHECK_NULL(new_table(NULL, UNIV_TABLE_LOG + 1), EOPNOTSUPP);
	}
	tear_down();
	return offers;
}

static void create(void)
{
	struct ibv_wq_init_attr attr;
	struct ibv_wq *wq, *second;

	if (!offered())
		return;
	set_up();
	attr = wq_attr();
	attr.max_wr = 100;
	attr.max_sge = 0;
	wq = ibv_create_wq(dev.ctx, &attr);
	NEED_PTR(wq, "create_wq");
	CHECK(attr.max_wr >= 100 && attr.max_sge >= 1, "got %u, %u", attr.max_wr, attr.max_sge);
	CHECK(wq->context == dev.ctx && wq->pd == pd && wq->cq == cq && wq->wq_context == &dev &&
	      wq->state == IBV_WQS_RESET && wq->wq_type == IBV_WQT_RQ, "fields of the queue");
	second = new_wq();
	CHECK(second->wq_num != wq->wq_num && wq->wq_num > 1 && wq->wq_num < 1 << 24,
	      "numbers %u and %u", wq->wq_num, second->wq_num);
	CHECK_ERR(ibv_destroy_wq(wq), 0);
	CHECK_ERR(ibv_destroy_wq(second), 0);
	tear_down();
}

static void states(void)
{
	struct ibv_wq *wq;
	uint64_t id;

	if (!offered())
		return;
	set_up();
	wq = new_wq();
	CHECK_ERR(post(wq, 1), EINVAL);
	CHECK(why_reason() == UNIV_REASON_POST_STATE, "%s", why_text());
	CHECK_ERR(change(wq, IBV_WQS_RDY), 0);
	CHECK(wq->state == IBV_WQS_RDY, "state %d", wq->state);
	for (id = 0; id < MAX_WR; id++)
		CHECK_ERR(post(wq, id), 0);
	CHECK_ERR(post(wq, id), ENOMEM);
	CHECK(why_reason() == UNIV_REASON_QUEUE_FULL, "%s", why_text());
	WANT_EMPTY(cq);
	CHECK_ERR(change(wq, IBV_WQS_ERR), 0);
	for (id = 0; id < MAX_WR; id++)
		want_flushed(wq, id);
	for (id = 100; id < 100 + 2 * MAX_WR; id++) {
		CHECK_ERR(post(wq, id), 0);
		want_flushed(wq, id);
	}
	CHECK_ERR(change(wq, IBV_WQS_RDY), EINVAL);
	CHECK(why_reason() == UNIV_REASON_WQ_STATE && why_value() == IBV_WQS_RDY &&
	      why_bound() == IBV_WQS_ERR, "%s", why_text());
	CHECK(wq->state == IBV_WQS_ERR, "state %d", wq->state);
	CHECK_ERR(change(wq, IBV_WQS_RESET), 0);
	CHECK_ERR(post(wq, 1), EINVAL);
	CHECK_ERR(change(wq, IBV_WQS_RDY), 0);
	CHECK_ERR(post(wq, 200), 0);
	WANT_EMPTY(cq);
	CHECK_ERR(change(wq, IBV_WQS_ERR), 0);
	want_flushed(wq, 200);
	WANT_EMPTY(cq);
	CHECK_ERR(ibv_destroy_wq(wq), 0);
	tear_down();
}

/* A reset loses the requests, and the completions that the program has not polled. */
static void reset(void)
{
	struct ibv_wq *wq;

	if (!offered())
		return;
	set_up();
	wq = new_wq();
	for (int round = 0; round <= 3 * MAX_WR; round++) {
		CHECK_ERR(change(wq, IBV_WQS_RDY), 0);
		CHECK_ERR(post(wq, 1), 0);
		CHECK_ERR(post(wq, 2), 0);
		if (round % 2)
			CHECK_ERR(change(wq, IBV_WQS_ERR), 0);
		CHECK_ERR(change(wq, IBV_WQS_RESET), 0);
		WANT_EMPTY(cq);
	}
	CHECK_ERR(change(wq, IBV_WQS_RDY), 0);
	CHECK_ERR(post(wq, 3), 0);
	CHECK_ERR(change(wq, IBV_WQS_ERR), 0);
	want_flushed(wq, 3);
	WANT_EMPTY(cq);
	CHECK_ERR(ibv_destroy_wq(wq), 0);
	tear_down();
}

/* The destruction of a queue removes the completions that the program has not polled, of this queue alone. */
static void destroy_forgets(void)
{
	struct ibv_wq *gone, *kept;

	if (!offered())
		return;
	set_up();
	gone = new_wq();
	kept = new_wq();
	for (uint64_t id = 0; id < MAX_WR; id++) {
		struct ibv_wq *wq = id % 2 ? kept : gone;

		if (id < 2)
			CHECK_ERR(change(wq, IBV_WQS_RDY), 0);
		CHECK_ERR(post(wq, id), 0);
	}
	CHECK_ERR(change(gone, IBV_WQS_ERR), 0);
	CHECK_ERR(change(kept, IBV_WQS_ERR), 0);
	CHECK_ERR(ibv_destroy_wq(gone), 0);
	for (uint64_t id = 1; id < MAX_WR; id += 2)
		want_flushed(kept, id);
	WANT_EMPTY(cq);
	CHECK_ERR(ibv_destroy_wq(kept), 0);
	tear_down();
}

/* A long queue is flushed in more than one turn. */
static void long_queue(void)
{
	struct ibv_wq_init_attr attr;
	struct ibv_wq *wq;

	if (!offered())
		return;
	set_up();
	attr = wq_attr();
	attr.max_wr = 2000;
	attr.cq = ibv_create_cq(dev.ctx, 2000, NULL, NULL, 0);
	NEED_PTR(attr.cq, "create_cq");
	wq = ibv_create_wq(dev.ctx, &attr);
	NEED_PTR(wq, "create_wq");
	CHECK_ERR(change(wq, IBV_WQS_RDY), 0);
	for (uint64_t id = 0; id < 2000; id++)
		CHECK_ERR(post(wq, id), 0);
	CHECK_ERR(change(wq, IBV_WQS_ERR), 0);
	for (uint64_t id = 0; id < 2000; id++) {
		struct ibv_wc wc;

		if (!WANT_WC(attr.cq, &wc, IBV_WC_WR_FLUSH_ERR) ||
		    !CHECK(wc.wr_id == id, "wr_id %" PRIu64 " after %" PRIu64, wc.wr_id, id))
			break;
	}
	CHECK_ERR(ibv_destroy_wq(wq), 0);
	CHECK_ERR(ibv_destroy_cq(attr.cq), 0);
	tear_down();
}

static void bad_modify(void)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_FLAGS,
		.flags_mask = IBV_WQ_FLAGS_DELAY_DROP };
	struct ibv_wq *wq;

	if (!offered())
		return;
	set_up();
	wq = new_wq();
	CHECK_ERR(ibv_modify_wq(wq, &attr), EOPNOTSUPP);
	CHECK(why_reason() == UNIV_REASON_FLAGS && strstr(why_text(), "IBV_WQ_FLAGS_DELAY_DROP"),
	      "%s", why_text());
	attr.attr_mask = IBV_WQ_ATTR_RESERVED;
	CHECK_ERR(ibv_modify_wq(wq, &attr), EOPNOTSUPP);
	CHECK(why_reason() == UNIV_REASON_FLAGS && strstr(why_text(), "attr_mask"), "%s",
	      why_text());
	attr.attr_mask = IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE;
	attr.wq_state = IBV_WQS_RDY;
	attr.curr_wq_state = IBV_WQS_ERR;
	CHECK_ERR(ibv_modify_wq(wq, &attr), EINVAL);
	CHECK(why_reason() == UNIV_REASON_WQ_STATE && strstr(why_text(), "state RESET"), "%s",
	      why_text());
	CHECK(wq->state == IBV_WQS_RESET, "state %d", wq->state);
	attr.curr_wq_state = IBV_WQS_RESET;
	CHECK_ERR(ibv_modify_wq(wq, &attr), 0);
	CHECK_ERR(change(wq, IBV_WQS_UNKNOWN), EINVAL);
	CHECK_ERR(change(wq, (enum ibv_wq_state)0x10001), EINVAL);
	CHECK_ERR(post(wq, 1), 0);
	WANT_EMPTY(cq);
	CHECK_ERR(ibv_destroy_wq(wq), 0);
	tear_down();
}

static void refused(const struct ibv_wq_init_attr *attr, int err, uint32_t reason)
{
	struct ibv_wq_init_attr copy = *attr;

	CHECK_NULL(ibv_create_wq(dev.ctx, &copy), err);
	CHECK(why_reason() == reason, "%s", why_text());
}

static void bad_create(void)
{
	struct ibv_wq_init_attr attr;

	if (!offered())
		return;
	set_up();
	attr = wq_attr();
	attr.max_wr = 0;
	refused(&attr, EINVAL, UNIV_REASON_ZERO);
	attr.max_wr = dev.attr.max_qp_wr + 1;
	refused(&attr, EINVAL, UNIV_REASON_LIMIT);
	attr.max_wr = UINT32_MAX;
	refused(&attr, EINVAL, UNIV_REASON_LIMIT);
	attr = wq_attr();
	attr.max_sge = dev.attr.max_sge + 1;
	refused(&attr, EINVAL, UNIV_REASON_LIMIT);
	attr = wq_attr();
	attr.wq_type = IBV_WQT_RQ + 1;
	refused(&attr, EOPNOTSUPP, UNIV_REASON_UNSUPPORTED);
	attr = wq_attr();
	attr.comp_mask = IBV_WQ_INIT_ATTR_FLAGS;
	for (uint32_t flag = IBV_WQ_FLAGS_RESERVED; flag; flag *= 2) {
		attr.create_flags = flag;
		refused(&attr, EOPNOTSUPP, UNIV_REASON_FLAGS);
	}
	/* Without the bit in the mask the member means nothing. */
	attr.comp_mask = 0;
	CHECK_ERR(ibv_destroy_wq(ibv_create_wq(dev.ctx, &attr)), 0);
	attr.comp_mask = IBV_WQ_INIT_ATTR_RESERVED;
	refused(&attr, EOPNOTSUPP, UNIV_REASON_FLAGS);
	tear_down();
}

static void bad_post(void)
{
	struct ibv_sge sge[3] = { { 0 } };
	struct ibv_recv_wr second = { .wr_id = 2, .sg_list = sge, .num_sge = 3 };
	struct ibv_recv_wr first = { .wr_id = 1, .sg_list = sge, .num_sge = 2, .next = &second };
	struct ibv_recv_wr *bad = NULL;
	struct ibv_wq *wq;

	if (!offered())
		return;
	set_up();
	wq = new_wq();
	CHECK_ERR(change(wq, IBV_WQS_RDY), 0);
	CHECK_ERR(ibv_post_wq_recv(wq, &first, &bad), EINVAL);
	CHECK(bad == &second && why_reason() == UNIV_REASON_WR_SGE, "%s", why_text());
	CHECK_ERR(change(wq, IBV_WQS_ERR), 0);
	want_flushed(wq, 1);
	WANT_EMPTY(cq);
	CHECK_ERR(ibv_destroy_wq(wq), 0);
	tear_down();
}

static void busy(int err)
{
	CHECK_ERR(err, EBUSY);
	CHECK(why_reason() == UNIV_REASON_BUSY, "%s", why_text());
}

static void in_use(void)
{
	struct ibv_rwq_ind_table *one, *all;
	struct ibv_wq *wqs[UNIV_TABLE_MAX], *a, *b;

	if (!offered())
		return;
	set_up();
	a = new_wq();
	b = new_wq();
	busy(ibv_destroy_cq(cq));
	busy(ibv_dealloc_pd(pd));
	for (int i = 0; i < UNIV_TABLE_MAX; i++)
		wqs[i] = i % 3 ? a : b;
	all = new_table(wqs, UNIV_TABLE_LOG);
	NEED_PTR(all, "create_rwq_ind_table");
	one = new_table(&a, 0);
	NEED_PTR(one, "create_rwq_ind_table");
	CHECK(all->context == dev.ctx && all->ind_tbl_handle != one->ind_tbl_handle, "fields");
	busy(ibv_destroy_wq(a));
	CHECK(strstr(why_text(), "receive indirection tables"), "%s", why_text());
	busy(ibv_destroy_wq(b));
	CHECK_ERR(change(a, IBV_WQS_RDY), 0);
	CHECK_ERR(post(a, 5), 0);
	CHECK_ERR(ibv_destroy_rwq_ind_table(all), 0);
	CHECK_ERR(ibv_destroy_wq(b), 0);
	busy(ibv_destroy_wq(a));
	CHECK_ERR(ibv_destroy_rwq_ind_table(one), 0);
	CHECK_ERR(ibv_destroy_wq(a), 0);
	tear_down();
}

static void bad_table(void)
{
	struct ibv_wq *wqs[UNIV_TABLE_MAX * 2], *wq;
	struct test_dev other;

	if (!offered())
		return;
	set_up();
	wq = new_wq();
	for (size_t i = 0; i < ARRAY_SIZE(wqs); i++)
		wqs[i] = wq;
	CHECK_NULL(new_table(wqs, UNIV_TABLE_LOG + 1), EINVAL);
	CHECK(why_reason() == UNIV_REASON_LIMIT && strstr(why_text(), "log_ind_tbl_size"), "%s",
	      why_text());
	CHECK_NULL(new_table(wqs, 32), EINVAL);
	CHECK_NULL(new_table(wqs, UINT32_MAX), EINVAL);
	other = dev;
	dev_open(&dev);
	CHECK_NULL(new_table(wqs, 1), EINVAL);
	CHECK(why_reason() == UNIV_REASON_CONTEXT, "%s", why_text());
	dev_close(&dev);
	dev = other;
	CHECK_ERR(ibv_destroy_wq(wq), 0);
	tear_down();
}

static int raw_table(const struct univ_table_create *want, uint32_t reason)
{
	struct univ_table_create arg = *want;
	int err = raw_call(dev.ctx->cmd_fd, UNIV_TABLE_CREATE, &arg);

	CHECK(arg.hdr.reason == reason, "reason %u, expected %u", arg.hdr.reason, reason);
	return err;
}

/* An entry that cannot be used leaves the work queues of the others as they were. */
static void hostile_handles(void)
{
	struct univ_table_create arg = { .log_size = 2 };
	struct ibv_wq *wq;

	if (!offered())
		return;
	set_up();
	wq = new_wq();
	for (int i = 0; i < 4; i++)
		arg.wqs[i] = wq->handle;
	arg.wqs[3] = 0;
	CHECK_ERR(raw_table(&arg, UNIV_REASON_HANDLE), EINVAL);
	arg.wqs[3] = UINT32_MAX;
	CHECK_ERR(raw_table(&arg, UNIV_REASON_HANDLE), EINVAL);
	arg.wqs[3] = cq->handle;
	CHECK_ERR(raw_table(&arg, UNIV_REASON_HANDLE_TYPE), EINVAL);
	arg.log_size = UINT32_MAX;
	CHECK_ERR(raw_table(&arg, UNIV_REASON_LIMIT), EINVAL);
	CHECK_ERR(raw_kick(dev.ctx->cmd_fd, wq->handle, UNIV_KICK_SEND), EINVAL);
	CHECK_ERR(raw_kick(dev.ctx->cmd_fd, wq->handle, UNIV_KICK_RECV), 0);
	CHECK_ERR(ibv_destroy_wq(wq), 0);
	tear_down();
}

/* The tail of the ring lies. The kernel flushes a wrong number of requests and goes on. */
static void hostile_ring(void)
{
	struct univ_wq_create arg = { .max_wr = MAX_WR, .max_sge = 1 };
	struct univ_wq_modify modify = { .attr_mask = IBV_WQ_ATTR_STATE };
	int fd, state = 0;
	struct raw_ring ring;
	struct raw_map map;
	struct raw_cq done;

	if (!offered())
		return;
	fd = raw_open();
	arg.pd = raw_pd(fd);
	raw_cq(fd, &done, 64, -1);
	arg.cq = done.handle;
	NEED_OK(raw_call(fd, UNIV_WQ_CREATE, &arg));
	raw_map(fd, &map, arg.map_offset, arg.map_length);
	raw_ring_at(&ring, &map, &arg.ring);
	modify.handle = arg.handle;
	for (int round = 0; round < 60; round++) {
		struct univ_cqe cqe;

		modify.wq_state = state = (state + 1) % 3;
		CHECK_ERR(raw_call(fd, UNIV_WQ_MODIFY, &modify), 0);
		ring.index += round % 7 ? MAX_WR + 1000u * (uint32_t)round : UINT32_MAX - 2;
		CHECK_ERR(raw_publish(fd, &ring, arg.handle, UNIV_KICK_RECV), 0);
		while (raw_poll(&done, &cqe))
			CHECK(cqe.status == IBV_WC_WR_FLUSH_ERR, "status %u", cqe.status);
	}
	/* The work queue and its ring are left behind. */
	raw_unmap(&map);
	raw_unmap(&done.map);
	close(fd);
}

/* A process ends with objects that are built on each other. */
static void left_behind(void)
{
	struct ibv_wq *wqs[2];

	if (!offered())
		return;
	for (int i = 0; i < 20; i++) {
		set_up();
		wqs[0] = new_wq();
		wqs[1] = new_wq();
		CHECK_ERR(change(wqs[1], IBV_WQS_RDY), 0);
		CHECK_ERR(post(wqs[1], 1), 0);
		NEED_PTR(new_table(wqs, 1), "create_rwq_ind_table");
		CHECK_ERR(ibv_close_device(dev.ctx), 0);
	}
}

/*
 * The kernel lets the completion queue go before the thread that destroys the work queue has
 * removed its completions.
 */
static void queues_end(void)
{
	struct ibv_cq *first;
	struct ibv_wq *wq;
	struct ibv_wc wc;

	if (!offered())
		return;
	set_up();
	first = cq;
	for (int k = 0; k < test_rounds(20); k++) {
		cq = ibv_create_cq(dev.ctx, 64, NULL, NULL, 0);
		NEED_PTR(cq, "create_cq");
		wq = new_wq();
		CHECK_ERR(change(wq, IBV_WQS_RDY), 0);
		for (int i = 0; i < MAX_WR; i++)
			NEED_OK(post(wq, i));
		CHECK_ERR(change(wq, IBV_WQS_ERR), 0);
		WANT_WC(cq, &wc, IBV_WC_WR_FLUSH_ERR);
		cq_ender_start(cq, k);
		CHECK_ERR(ibv_destroy_wq(wq), 0);
		cq_ender_join();
	}
	cq = first;
	tear_down();
}

static const struct test_case cases[] = {
	{ "create", create },
	{ "states", states },
	{ "reset", reset },
	{ "destroy_forgets", destroy_forgets },
	{ "long_queue", long_queue },
	{ "bad_create", bad_create },
	{ "bad_modify", bad_modify },
	{ "bad_post", bad_post },
	{ "in_use", in_use },
	{ "bad_table", bad_table },
	{ "hostile_handles", hostile_handles },
	{ "hostile_ring", hostile_ring },
	{ "left_behind", left_behind },
	{ "queues_end", queues_end },
};

TEST_MAIN("wq", cases, 60)
