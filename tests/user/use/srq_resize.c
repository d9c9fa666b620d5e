// SPDX-License-Identifier: GPL-2.0
/* Shared receive queues that change their size: what is posted stays, in order, also under traffic. */
#include "events.h"
#include "raw.h"
#include "resize_traffic.h"

static bool offered(void)
{
	struct test_dev dev;
	bool has;

	dev_open(&dev);
	has = dev.attr.device_cap_flags & IBV_DEVICE_SRQ_RESIZE;
	dev_close(&dev);
	return has;
}

static int resize(struct ibv_srq *srq, uint32_t to)
{
	struct ibv_srq_attr attr = { .max_wr = to };

	return ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR);
}

static void want_size(struct ibv_srq *srq, uint32_t size, uint32_t limit)
{
	struct ibv_srq_attr attr;

	CHECK_ERR(ibv_query_srq(srq, &attr), 0);
	CHECK(attr.max_wr == size && attr.srq_limit == limit && attr.max_sge == 4,
	      "size %u limit %u sge %u, expected %u and %u", attr.max_wr, attr.srq_limit,
	      attr.max_sge, size, limit);
}

/* Post requests from @*next on until the queue is full, which has @size, of which @posted are taken. */
static void fill_up(struct pair *p, uint64_t *next, uint32_t posted, uint32_t size)
{
	for (; posted < size; posted++)
		NEED_OK(post_recv_at(p, 0, (*next)++, 8192, 64));
	CHECK_ERR(post_recv_at(p, 0, 0, 8192, 64), ENOMEM);
}

/* The posted requests wrap around the ends of the rings, and are more than the kernel moves in one step. */
static void keeps_requests(void)
{
	static const uint32_t sizes[] = { 100, 37, 5000, 4000, 33, 16384, 16 };
	struct pair_want want = { .use_srq = 1, .recv_wr = 40 };
	uint64_t first = 0, next = 0;
	struct pair p;

	if (!offered())
		return;
	pair_open(&p, &want);
	fill_up(&p, &next, 0, 40);
	take_receives(&p, &first, 7);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint32_t size = sizes[i], posted = next - first;

		if (posted > size)
			take_receives(&p, &first, posted - size);
		CHECK_ERR(resize(p.srq, size), 0);
		want_size(p.srq, size, 0);
		if (size < 16384)
			fill_up(&p, &next, next - first, size);
		take_receives(&p, &first, 9);
	}
	take_receives(&p, &first, next - first);
	WANT_EMPTY(p.cq[1]);
	CHECK(pair_works(&p), "the queue after the resizes");
	pair_close(&p);
}

static void want_refused(const char *what, int err, uint32_t reason, uint64_t value, uint64_t bound)
{
	CHECK(err == EINVAL, "%s: %s", what, err_name(err));
	CHECK(!why_known() || (why_reason() == reason && why_value() == value && why_bound() == bound),
	      "%s: reason %u value %" PRIu64 " bound %" PRIu64 ": %s", what, why_reason(), why_value(),
	      why_bound(), why_text());
}

/* A resize that is refused changes nothing. */
static void refused(void)
{
	struct ibv_srq_attr attr = { .max_wr = 50, .srq_limit = 51 };
	struct pair_want want = { .use_srq = 1, .recv_wr = 40 };
	uint64_t first = 0, next = 0;
	struct pair p;

	if (!offered())
		return;
	pair_open(&p, &want);
	fill_up(&p, &next, 0, 40);
	take_receives(&p, &first, 10);
	want_refused("fewer than are posted", resize(p.srq, 29), UNIV_REASON_SRQ_SHRINK, 29, 30);
	CHECK(strstr(why_text(), "30 receive requests are posted"), "sentence: %s", why_text());
	want_refused("none", resize(p.srq, 0), UNIV_REASON_ZERO, 0, p.dev.attr.max_srq_wr);
	want_refused("more than max_srq_wr", resize(p.srq, p.dev.attr.max_srq_wr + 1),
		     UNIV_REASON_LIMIT, p.dev.attr.max_srq_wr + 1, p.dev.attr.max_srq_wr);
	want_refused("a limit above the new size",
		     ibv_modify_srq(p.srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT),
		     UNIV_REASON_LIMIT, 51, 50);
	want_size(p.srq, 40, 0);
	attr.srq_limit = 35;
	CHECK_ERR(ibv_modify_srq(p.srq, &attr, IBV_SRQ_LIMIT), 0);
	want_refused("less than the armed limit", resize(p.srq, 34), UNIV_REASON_LIMIT, 35, 34);
	want_size(p.srq, 40, 35);
	fill_up(&p, &next, next - first, 40);
	CHECK_ERR(resize(p.srq, 40), 0);
	pair_close(&p);
}

/* One call sets the size and a limit that only the new size permits. The event comes as usual. */
static void with_limit(void)
{
	struct ibv_srq_attr attr = { .max_wr = 100, .srq_limit = 60 };
	struct pair_want want = { .use_srq = 1, .recv_wr = 40 };
	uint64_t first = 0, next = 0;
	struct pair p;

	if (!offered())
		return;
	pair_open(&p, &want);
	CHECK_ERR(ibv_modify_srq(p.srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), 0);
	want_size(p.srq, 100, 60);
	fill_up(&p, &next, 0, 100);
	take_receives(&p, &first, 40);
	CHECK(no_event_within(p.dev.ctx, 50), "an event before the limit is passed");
	take_receives(&p, &first, 1);
	want_async(p.dev.ctx, IBV_EVENT_SRQ_LIMIT_REACHED, p.srq);
	pair_close(&p);
}

/* A sender that waits for a receive request continues when one is posted to the new ring. */
static void sender_waits(void)
{
	struct pair_want want = { .use_srq = 1, .recv_wr = 40 };
	struct ibv_wc wc;
	struct pair p;

	if (!offered())
		return;
	pair_open(&p, &want);
	CHECK_ERR(post_send_at(&p, 0, 1, 0, 64, IBV_SEND_SIGNALED), 0);
	sleep_ms(20);
	WANT_EMPTY(p.cq[0]);
	CHECK_ERR(resize(p.srq, 200), 0);
	CHECK_ERR(post_recv_at(&p, 0, 2, 8192, 64), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* One thread posts, one sends and polls, and one resizes. */
static void under_traffic(void)
{
	static const uint32_t sizes[] = { 100, 40, 3000, 32, 64, 999, 33 };
	struct pair_want want = { .use_srq = 1, .recv_wr = 40 };
	struct traffic t = { .total = 10000 };
	uint32_t resized = 0;

	if (!offered())
		return;
	pair_open(&t.p, &want);
	traffic_start(&t);
	while (under_way(&t)) {
		int err = resize(t.p.srq, sizes[resized++ % ARRAY_SIZE(sizes)]);

		CHECK(!err, "resize %u: %s; %s", resized, err_name(err), why_text());
	}
	traffic_join(&t);
	printf("resized %u times\n", resized);
	WANT_EMPTY(t.p.cq[1]);
	pair_close(&t.p);
}

static void raw_resize_is(int fd, struct raw_srq *srq, uint32_t size, int want, uint32_t reason)
{
	struct univ_srq_modify arg = { .handle = srq->handle, .attr_mask = IBV_SRQ_MAX_WR, .max_wr = size };
	int err = raw_call(fd, UNIV_SRQ_MODIFY, &arg);

	CHECK(err == want && (!err || arg.hdr.reason == reason), "index %#x, size %u: %s, reason %u",
	      srq->ring.head->user.index, size, err_name(err), arg.hdr.reason);
	if (err)
		return;
	raw_unmap(&srq->map);
	raw_map(fd, &srq->map, arg.map_offset, arg.map_length);
	raw_ring_at(&srq->ring, &srq->map, &arg.ring);
}

/* A process that writes its ring by itself: wrong indices, wrong requests, and a struct of a former version. */
static void hostile(void)
{
	static const uint32_t wrong[] = { 33, 64, 0x7fffffff, 0x80000000, 0xffffffff };
	struct univ_srq_modify arg = { .attr_mask = IBV_SRQ_MAX_WR, .max_wr = 64 };
	struct raw_srq srq;
	int fd, err;

	if (!offered())
		return;
	fd = raw_open();
	raw_srq(fd, &srq, raw_pd(fd), 32);
	arg.handle = srq.handle;
	err = raw_call_size(fd, UNIV_SRQ_MODIFY, &arg, offsetof(struct univ_srq_modify, map_offset));
	CHECK(err == EOPNOTSUPP && arg.hdr.reason == UNIV_REASON_UNSUPPORTED,
	      "a struct without a ring: %s, reason %u", err_name(err), arg.hdr.reason);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		srq.ring.head->user.index = wrong[i];
		raw_resize_is(fd, &srq, 16384, EINVAL, UNIV_REASON_SRQ_SHRINK);
	}
	srq.ring.head->user.index = 20;
	memset(srq.ring.slots, 0xff, 32 * srq.ring.stride);
	raw_resize_is(fd, &srq, 4096, 0, 0);
	CHECK(srq.ring.head->user.index == 20 && !srq.ring.head->kernel.index && srq.ring.count == 4096,
	      "indices %u and %u of %u", srq.ring.head->user.index, srq.ring.head->kernel.index,
	      srq.ring.count);
	for (size_t i = 0; i < 20 * srq.ring.stride; i++)
		if (srq.ring.slots[i] != 0xff) {
			FAIL("byte %zu was not moved", i);
			break;
		}
	for (size_t i = 20 * srq.ring.stride; i < srq.ring.count * (size_t)srq.ring.stride; i++)
		if (srq.ring.slots[i]) {
			FAIL("byte %zu behind the requests is not zero", i);
			break;
		}
	close(fd);
}

/* A device without the capability refuses to resize. */
static void unoffered(void)
{
	struct pair_want want = { .use_srq = 1, .recv_wr = 40 };
	struct pair p;

	if (offered())
		return;
	pair_open(&p, &want);
	CHECK_ERR(resize(p.srq, 100), EOPNOTSUPP);
	CHECK(!why_known() || why_reason() == UNIV_REASON_UNSUPPORTED, "reason: %s", why_text());
	CHECK(pair_works(&p), "the queue after a resize was refused");
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "keeps_requests", keeps_requests },
	{ "refused", refused },
	{ "with_limit", with_limit },
	{ "sender_waits", sender_waits },
	{ "under_traffic", under_traffic },
	{ "hostile", hostile },
	{ "unoffered", unoffered },
};

TEST_MAIN("srq_resize", cases, 60)
