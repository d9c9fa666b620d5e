// SPDX-License-Identifier: GPL-2.0
/*
 * Receive side scaling: frames of many flows are spread over work queues as this program's own
 * Toeplitz hash says. wq.c tests work queues without frames, and rss_qp.c the queue pair.
 */
#include "events.h"
#include "rss.h"

/* The frame that was received in @slot of a work queue, or NULL. */
static struct frame *frame_of(struct frame *frames, int count, const uint8_t *bytes, uint32_t len)
{
	for (int i = 0; i < count; i++)
		if (frames[i].len == len && !memcmp(frames[i].bytes, bytes, len))
			return &frames[i];
	return NULL;
}

static void take_one(int i, struct frame *frames)
{
	struct frame *f;
	struct ibv_wc wc;

	if (!WANT_WC(cqs[i], &wc, IBV_WC_SUCCESS))
		return;
	CHECK(wc.opcode == IBV_WC_RECV && wc.qp_num == wqs[i]->wq_num, "opcode %d, qp_num %u",
	      wc.opcode, wc.qp_num);
	f = frame_of(frames, FRAMES, memory->in[i][wc.wr_id], wc.byte_len);
	if (!CHECK(f, "work queue %d has an unknown frame of %u bytes", i, wc.byte_len))
		return;
	CHECK((int)f->wq == i && !f->seen, "frame %td is in work queue %d, expected once in %u",
	      f - frames, i, f->wq);
	f->seen = true;
	post(i, wc.wr_id);
}

static void spread(uint64_t fields)
{
	static const uint8_t protos[] = { IPPROTO_UDP, IPPROTO_TCP, IPPROTO_ICMP, 0 };
	static struct frame frames[FRAMES];
	int count[WQS] = { 0 }, used = 0;

	random_bytes(key, sizeof(key));
	make_rss(fields);
	for (int i = 0; i < FRAMES; i++) {
		frame_make(&frames[i], i / 4 % 2, protos[i % 4]);
		frames[i].wq = wq_of_entry(expected_hash(&frames[i], fields) % ENTRIES);
		count[frames[i].wq]++;
	}
	for (int i = 0; i < FRAMES; i++)
		frame_send(&frames[i]);
	for (int i = 0; i < WQS; i++) {
		used += count[i] > 0;
		while (count[i]--)
			take_one(i, frames);
		WANT_EMPTY(cqs[i]);
	}
	CHECK(used > 1, "the frames of fields %#" PRIx64 " went to one work queue", fields);
	drop_rss();
}

static void hashes(void)
{
	static const uint64_t masks[] = {
		IPV4, IPV6, IPV4 | UDP, IPV4 | TCP, IPV6 | UDP, IPV6 | TCP, IPV4 | IPV6 | TCP | UDP,
		IBV_RX_HASH_SRC_IPV4, IBV_RX_HASH_DST_IPV6, IBV_RX_HASH_DST_PORT_UDP, TCP,
	};

	set_up();
	for (size_t i = 0; i < ARRAY_SIZE(masks); i++)
		spread(masks[i]);
	tear_down();
}

/* One entry needs no fields. */
static void one_entry(void)
{
	struct ibv_rwq_ind_table *all = table, *one;
	struct frame f;
	struct ibv_wc wc;

	set_up();
	all = table;
	one = make_table(&wqs[2], 0);
	table = one;
	make_rss(0);
	for (int i = 0; i < 10; i++) {
		frame_make(&f, i % 2, IPPROTO_UDP);
		frame_send(&f);
		WANT_WC(cqs[2], &wc, IBV_WC_SUCCESS);
		CHECK(wc.byte_len == f.len && !memcmp(memory->in[2][wc.wr_id], f.bytes, f.len),
		      "the frame has %u other bytes", wc.byte_len);
	}
	drop_rss();
	CHECK_ERR(ibv_destroy_rwq_ind_table(one), 0);
	table = all;
	tear_down();
}

/* A work queue that is not ready loses its frames, and the others get theirs. */
static void not_ready(void)
{
	struct frame f;
	struct ibv_wc wc;

	set_up();
	random_bytes(key, sizeof(key));
	make_rss(IPV4 | UDP);
	CHECK_ERR(change(wqs[0], IBV_WQS_RESET), 0);
	CHECK_ERR(change(wqs[1], IBV_WQS_ERR), 0);
	for (int slot = 0; slot < FRAMES; slot++)
		WANT_WC(cqs[1], &wc, IBV_WC_WR_FLUSH_ERR);
	for (int i = 0; i < WQS; i++)
		send_to(i, &f);
	for (int i = 2; i < WQS; i++)
		WANT_WC(cqs[i], &wc, IBV_WC_SUCCESS);
	for (int i = 0; i < 2; i++) {
		WANT_EMPTY(cqs[i]);
		CHECK_ERR(change(wqs[i], IBV_WQS_RESET), 0);
		CHECK_ERR(change(wqs[i], IBV_WQS_RDY), 0);
		post(i, 7);
		send_to(i, &f);
		WANT_WC(cqs[i], &wc, IBV_WC_SUCCESS);
		CHECK(wc.wr_id == 7 && !memcmp(memory->in[i][7], f.bytes, f.len), "another frame");
		/* There is no request for this one. */
		send_to(i, &f);
		WANT_EMPTY(cqs[i]);
	}
	drop_rss();
	tear_down();
}

/* The memory of a receive request is not valid: its work queue fails, and no other. */
static void bad_key(void)
{
	struct ibv_sge sge;
	struct ibv_recv_wr wr = { .wr_id = 70, .sg_list = &sge, .num_sge = 1 }, *bad = NULL;
	struct ibv_wq_attr to_rdy = { .attr_mask = IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE,
		.wq_state = IBV_WQS_RDY, .curr_wq_state = IBV_WQS_RDY };
	struct frame f;
	struct ibv_wc wc;

	set_up();
	random_bytes(key, sizeof(key));
	make_rss(IPV4 | UDP);
	CHECK_ERR(change(wqs[0], IBV_WQS_RESET), 0);
	CHECK_ERR(change(wqs[0], IBV_WQS_RDY), 0);
	sge = (struct ibv_sge){ (uintptr_t)memory->in, ROOM, mr->lkey ^ 0x55 };
	CHECK_ERR(ibv_post_wq_recv(wqs[0], &wr, &bad), 0);
	post(0, 1);
	send_to(0, &f);
	send_to(1, &f);
	WANT_WC(cqs[0], &wc, IBV_WC_LOC_PROT_ERR);
	CHECK(wc.wr_id == 70 && wc.qp_num == wqs[0]->wq_num, "wr_id %" PRIu64, wc.wr_id);
	WANT_WC(cqs[0], &wc, IBV_WC_WR_FLUSH_ERR);
	WANT_WC(cqs[1], &wc, IBV_WC_SUCCESS);
	/* The error state has come without ibv_modify_wq(3). */
	CHECK_ERR(ibv_modify_wq(wqs[0], &to_rdy), EINVAL);
	CHECK(why_reason() == UNIV_REASON_WQ_STATE && why_bound() == IBV_WQS_ERR, "%s", why_text());
	drop_rss();
	tear_down();
}

/* A completion that finds no room ends the work queue, and an event tells about it. */
static void overrun_one(void)
{
	bool fatal = false, full = false;
	struct ibv_async_event event;
	struct pollfd pfd;
	struct ibv_wq *saved;
	struct ibv_cq *small;
	struct frame f;

	CHECK_ERR(ibv_destroy_rwq_ind_table(table), 0);
	small = ibv_create_cq(dev.ctx, 1, NULL, NULL, 0);
	NEED_PTR(small, "create_cq");
	saved = wqs[0];
	wqs[0] = make_wq(small, 0);
	CHECK_ERR(change(wqs[0], IBV_WQS_RDY), 0);
	for (int slot = 0; slot < FRAMES; slot++)
		post(0, slot);
	table = make_table(&wqs[0], 0);
	make_rss(0);
	for (int i = 0; i < FRAMES; i++) {
		frame_make(&f, false, IPPROTO_UDP);
		frame_send(&f);
	}
	pfd = (struct pollfd){ .fd = dev.ctx->async_fd, .events = POLLIN };
	while (!(fatal && full) && poll(&pfd, 1, WC_TIMEOUT) == 1) {
		NEED_OK(ibv_get_async_event(dev.ctx, &event));
		full |= event.event_type == IBV_EVENT_CQ_ERR && event.element.cq == small;
		fatal |= event.event_type == IBV_EVENT_WQ_FATAL && event.element.wq == wqs[0];
		ibv_ack_async_event(&event);
	}
	CHECK(fatal, "no IBV_EVENT_WQ_FATAL");
	CHECK(full, "no IBV_EVENT_CQ_ERR");
	drop_rss();
	CHECK_ERR(ibv_destroy_rwq_ind_table(table), 0);
	CHECK_ERR(ibv_destroy_wq(wqs[0]), 0);
	CHECK_ERR(ibv_destroy_cq(small), 0);
	wqs[0] = saved;
	table = make_table(entries, LOG);
}

static void overrun(void)
{
	set_up();
	overrun_one();
	tear_down();
}

/* The event of a work queue of an imported context reaches this context, and not the opener. */
static void overrun_imported(void)
{
	struct ibv_context *opener;

	dev_open(&dev);
	read_mac();
	opener = dev.ctx;
	dev.ctx = ibv_import_device(dup(opener->cmd_fd));
	NEED(dev.ctx, "import_device: %s; %s", err_name(errno), why_text());
	make_objects();
	overrun_one();
	drop_objects();
	CHECK(no_event_within(opener, 0), "the opener has an event");
	CHECK_ERR(ibv_close_device(dev.ctx), 0);
	dev.ctx = opener;
	dev_close(&dev);
}

/* A frame with a VLAN tag, which work queues take out if they were told to. */
static void tagged(struct frame *f)
{
	static const uint8_t tag[] = { 0x81, 0, 0x20, 5 };

	frame_make(f, false, IPPROTO_UDP);
	memmove(f->bytes + 16, f->bytes + 12, f->len - 12);
	memcpy(f->bytes + 12, tag, sizeof(tag));
	f->len += sizeof(tag);
}

static void want_tagged(bool stripped)
{
	struct frame f;
	struct ibv_wc wc;
	uint8_t *in;

	tagged(&f);
	frame_send(&f);
	if (!WANT_WC(cqs[0], &wc, IBV_WC_SUCCESS))
		return;
	in = memory->in[0][wc.wr_id];
	CHECK(wc.byte_len == f.len - (stripped ? 4 : 0), "%u bytes", wc.byte_len);
	CHECK(!memcmp(in, f.bytes, 12), "other addresses");
	CHECK(!memcmp(in + 12, f.bytes + (stripped ? 16 : 12), wc.byte_len - 12), "other bytes");
	post(0, wc.wr_id);
}

static void strip(void)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_FLAGS,
		.flags_mask = IBV_WQ_FLAGS_CVLAN_STRIPPING };

	one_open(IBV_WQ_FLAGS_CVLAN_STRIPPING);
	for (int slot = 0; slot < FRAMES; slot++)
		post(0, slot);
	want_tagged(true);
	CHECK_ERR(ibv_modify_wq(wqs[0], &attr), 0);
	want_tagged(false);
	attr.flags = IBV_WQ_FLAGS_CVLAN_STRIPPING;
	CHECK_ERR(ibv_modify_wq(wqs[0], &attr), 0);
	want_tagged(true);
	attr.flags_mask = IBV_WQ_FLAGS_DELAY_DROP;
	CHECK_ERR(ibv_modify_wq(wqs[0], &attr), EOPNOTSUPP);
	CHECK(strstr(why_text(), "IBV_WQ_FLAGS_DELAY_DROP"), "%s", why_text());
	one_close();
}

static bool stop;

static void *send_always(void *arg)
{
	struct frame f;

	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		frame_make(&f, false, IPPROTO_UDP);
		frame_send(&f);
	}
	return arg;
}

/* Take a work queue out of the table and put a new one in its place. */
static void replace_wq(int i)
{
	struct ibv_wc wc;

	CHECK_ERR(ibv_destroy_rwq_ind_table(table), 0);
	CHECK_ERR(ibv_destroy_wq(wqs[i]), 0);
	while (ibv_poll_cq(cqs[i], 1, &wc) > 0)
		continue;
	wqs[i] = make_wq(cqs[i], 0);
	CHECK_ERR(change(wqs[i], IBV_WQS_RDY), 0);
	for (int slot = 0; slot < FRAMES; slot++)
		post(i, slot);
	for (int k = 0; k < ENTRIES; k++)
		entries[k] = wqs[k * 3 / 2 % WQS];
	table = make_table(entries, LOG);
}

/* Queue pairs, tables and work queues come and go while frames arrive. */
static void churn(void)
{
	pthread_t thread;
	struct ibv_wc wc;

	set_up();
	random_bytes(key, sizeof(key));
	stop = false;
	NEED(!pthread_create(&thread, NULL, send_always, NULL), "pthread_create");
	for (int round = 0; round < 150; round++) {
		int i = round % WQS;

		make_rss(IPV4 | UDP);
		if (round % 3)
			CHECK_ERR(change(wqs[i], round % 3 == 1 ? IBV_WQS_ERR : IBV_WQS_RESET), 0);
		sched_yield();
		drop_rss();
		replace_wq(i);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	for (int i = 0; i < WQS; i++)
		while (ibv_poll_cq(cqs[i], 1, &wc) > 0)
			if (wc.status == IBV_WC_SUCCESS)
				post(i, wc.wr_id);
	spread(IPV4 | UDP);
	tear_down();
}

static const struct test_case cases[] = {
	{ "hashes", hashes },
	{ "one_entry", one_entry },
	{ "not_ready", not_ready },
	{ "bad_key", bad_key },
	{ "overrun", overrun },
	{ "overrun_imported", overrun_imported },
	{ "strip", strip },
	{ "churn", churn },
};

TEST_MAIN("rss", cases, 60)
