// SPDX-License-Identifier: GPL-2.0
/*
 * adv11. The kernel hands out no stale memory: fresh rings are zero, unused fields are
 * zero, strings are padded with zeros, and a call leaves fields alone that it does not
 * return. The test first fills memory with a pattern and frees it, so that pages which were
 * not cleared would show it.
 */
#include "ioctl_table.h"

#define PATTERN 0xa5

static int fd;
static uint32_t pd;

static void dirty_memory(void)
{
	size_t len = (size_t)test_rounds(96) << 20;
	void *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		return;
	memset(mem, PATTERN, len);
	munmap(mem, len);
}

/* Fill small kernel allocations too: extended attributes and pipes hold bytes of the process. */
static void dirty_slabs(void)
{
	char bytes[4096];
	int pipes[2];

	memset(bytes, PATTERN, sizeof(bytes));
	for (int i = 0; i < 200; i++) {
		if (pipe(pipes))
			return;
		if (write(pipes[1], bytes, sizeof(bytes)) < 0)
			i = 200;
		close(pipes[0]);
		close(pipes[1]);
	}
}

static void begin(void)
{
	dirty_memory();
	dirty_slabs();
	fd = raw_open();
	pd = raw_pd(fd);
}

/* Of a mapping that several queue pairs use, the rings of this one, which lie beside each other. */
static struct raw_map own_rings(struct raw_qp *qp)
{
	struct raw_map own = qp->map;

	if (!(qp->map.offset & UNIV_MAP_SHARED))
		return own;
	own.base = (uint8_t *)qp->sq.head;
	own.length = (uint8_t *)raw_slot(&qp->rq, 0) + qp->rq.count * qp->rq.stride - own.base;
	return own;
}

/* Check everything except the lines that the kernel writes, whose flags have a meaning. */
static void check_fresh(const struct raw_map *map, const struct raw_ring *a,
			const struct raw_ring *b, const char *what)
{
	for (size_t i = 0; i < map->length; i++) {
		const uint8_t *p = map->base + i;
		bool head = false;

		if (a->head)
			head |= p >= (uint8_t *)&a->head->kernel && p < (uint8_t *)(a->head + 1);
		if (b && b->head)
			head |= p >= (uint8_t *)&b->head->kernel && p < (uint8_t *)(b->head + 1);
		if (*p && !head) {
			FAIL("byte %zu of a fresh %s is %#x", i, what, *p);
			return;
		}
	}
	CHECK(!(a->head->kernel.flags & ~UNIV_RING_NEED_KICK), "flags %#x", a->head->kernel.flags);
	CHECK(!a->head->kernel.index && !a->head->kernel.fired && !a->head->kernel.fired_index,
	      "index %u fired %u at %u", a->head->kernel.index, a->head->kernel.fired,
	      a->head->kernel.fired_index);
	CHECK(all_zero(a->head->kernel.reserved, sizeof(a->head->kernel.reserved)), "reserved words");
}

static void fresh_rings(void)
{
	struct raw_srq srq;
	struct raw_map own;
	struct raw_cq cq;
	struct raw_qp qp;

	begin();
	for (int i = 0; i < 20; i++) {
		raw_cq(fd, &cq, 100 + i * 50, -1);
		check_fresh(&cq.map, &cq.ring, NULL, "completion queue");
		raw_srq(fd, &srq, pd, 64 + i);
		check_fresh(&srq.map, &srq.ring, NULL, "shared receive queue");
		raw_qp(fd, &qp, IBV_QPT_RC, pd, cq.handle, 0);
		own = own_rings(&qp);
		check_fresh(&own, &qp.sq, &qp.rq, "queue pair");
		/* Leave the pattern behind for the next rings. */
		memset(qp.map.base, PATTERN, qp.map.length);
		memset(srq.map.base, PATTERN, srq.map.length);
		raw_unmap(&qp.map);
		raw_unmap(&srq.map);
		NEED_OK(raw_destroy(fd, UNIV_QP_DESTROY, qp.handle));
		NEED_OK(raw_destroy(fd, UNIV_SRQ_DESTROY, srq.handle));
		memset(cq.map.base, PATTERN, cq.map.length);
		raw_unmap(&cq.map);
		NEED_OK(raw_destroy(fd, UNIV_CQ_DESTROY, cq.handle));
	}
	close(fd);
}

static void resized_ring(void)
{
	struct univ_cq_resize arg = { .cqe = 1000 };
	struct raw_ring ring;
	struct raw_map map;
	struct raw_cq cq;

	begin();
	raw_cq(fd, &cq, 64, -1);
	arg.handle = cq.handle;
	NEED_OK(raw_call(fd, UNIV_CQ_RESIZE, &arg));
	raw_map(fd, &map, arg.map_offset, arg.map_length);
	raw_ring_at(&ring, &map, &arg.ring);
	check_fresh(&map, &ring, NULL, "resized completion queue");
	raw_unmap(&map);
	raw_unmap(&cq.map);
	close(fd);
}

static void resized_srq(void)
{
	struct univ_srq_modify arg = { .attr_mask = IBV_SRQ_MAX_WR, .max_wr = 1000 };
	struct raw_ring ring;
	struct raw_map map;
	struct raw_srq srq;

	begin();
	raw_srq(fd, &srq, raw_pd(fd), 64);
	arg.handle = srq.handle;
	if (!raw_call(fd, UNIV_SRQ_MODIFY, &arg)) {
		raw_map(fd, &map, arg.map_offset, arg.map_length);
		raw_ring_at(&ring, &map, &arg.ring);
		check_fresh(&map, &ring, NULL, "resized shared receive queue");
		raw_unmap(&map);
	}
	raw_unmap(&srq.map);
	close(fd);
}

/* ---- Answers ------------------------------------------------------------- */

static bool zero_after_nul(const char *text, size_t len)
{
	size_t n = strnlen(text, len);

	return n < len && all_zero(text + n, len - n);
}

static void check_hdr(const struct univ_hdr *h, const char *what)
{
	CHECK(!h->reason && !h->detail && !h->value && !h->bound,
	      "%s: a success with reason %u detail %u value %llu bound %llu", what, h->reason,
	      h->detail, h->value, h->bound);
}

static void answer_of(const struct rule *r)
{
	const struct call *c = r->call;

	fresh(r);
	if (call_sized(r, r->size))
		return;
	check_hdr(&buf.hdr, r->name);
	for (uint16_t i = 0; i < c->count; i++)
		CHECK(!field_reserved(&c->fields[i]) ||
		      all_zero(buf.bytes + c->fields[i].offset, c->fields[i].size),
		      "%s: %s holds something", r->name, c->fields[i].name);
	undo(r, &buf);
}

/* Every answer to a valid call has no reason, and zero in its reserved fields. */
static void every_answer(void)
{
	dirty_memory();
	dirty_slabs();
	for_each_rule(answer_of);
}

static void device_answers(void)
{
	struct univ_device_query d = { 0 };
	struct univ_context_query c = { 0 };

	begin();
	NEED_OK(raw_call(fd, UNIV_DEVICE_QUERY, &d));
	CHECK(zero_after_nul(d.fw_ver, sizeof(d.fw_ver)), "fw_ver has bytes behind its end");
	NEED_OK(raw_call(fd, UNIV_CONTEXT_QUERY, &c));
	CHECK(c.abi_version == UNIV_ABI_VERSION &&
	      !(c.features & ~(UNIV_FEATURE_WINDOWS | UNIV_FEATURE_XRC |
			       UNIV_FEATURE_ATOMIC_WRITE | UNIV_FEATURE_DM |
			       UNIV_FEATURE_CNTRS | UNIV_FEATURE_FLUSH |
			       UNIV_FEATURE_DMABUF | UNIV_FEATURE_IGNORE_OVERRUN |
			       UNIV_FEATURE_RAW | UNIV_FEATURE_WQ | UNIV_FEATURE_DMAH |
			       UNIV_FEATURE_TSO)),
	      "CONTEXT_QUERY: version %u features %#x", c.abi_version, c.features);
	close(fd);
}

/*
 * Output fields that held rubbish contain an answer or zero afterwards; the tail behind the
 * struct is unchanged.
 */
static void no_rubbish_kept(void)
{
	union {
		struct univ_device_query q;
		uint8_t bytes[1024];
	} u;

	begin();
	memset(&u, 0, sizeof(u));
	memset(u.q.fw_ver, PATTERN, sizeof(u.q) - offsetof(struct univ_device_query, fw_ver));
	u.q.reserved = 0;
	NEED_OK(raw_call_size(fd, UNIV_DEVICE_QUERY, &u, sizeof(u.q)));
	CHECK(zero_after_nul(u.q.fw_ver, sizeof(u.q.fw_ver)), "fw_ver");
	for (size_t i = 0; i + 4 <= sizeof(u.q); i += 4)
		CHECK(memcmp(u.bytes + i, "\xa5\xa5\xa5\xa5", 4), "offset %zu was not written", i);
	memset(&u, 0, sizeof(u));
	NEED_OK(raw_call_size(fd, UNIV_DEVICE_QUERY, &u, sizeof(u)));
	CHECK(all_zero(u.bytes + sizeof(u.q), sizeof(u) - sizeof(u.q)),
	      "bytes behind the known struct were written");
	close(fd);
}

static void gid_tables(void)
{
	struct univ_gid_entry entries[16];
	struct univ_gid_table t = { .entries = (uintptr_t)entries, .max = 16 };
	struct univ_gid_query q = { .port_num = PORT, .index = 1 };

	begin();
	memset(entries, PATTERN, sizeof(entries));
	NEED_OK(raw_call(fd, UNIV_GID_TABLE, &t));
	for (uint32_t i = t.count; i < 16; i++)
		for (size_t k = 0; k < sizeof(entries[0]); k++)
			CHECK(((uint8_t *)&entries[i])[k] == PATTERN, "entry %u was written", i);
	NEED_OK(raw_call(fd, UNIV_GID_QUERY, &q));
	CHECK(q.entry.port_num == PORT && q.entry.gid_index == 1, "GID_QUERY");
	close(fd);
}

/* A failure returns the reason and its detail, and changes no other field. */
static void failures(void)
{
	struct univ_qp_create qp;
	struct univ_cq_create cq = { .cqe = 0x7fffffff, .channel_fd = -1 };

	begin();
	CHECK_ERR(raw_call(fd, UNIV_CQ_CREATE, &cq), EINVAL);
	CHECK(!cq.handle && !cq.map_offset && !cq.map_length &&
	      all_zero(&cq.ring, sizeof(cq.ring)), "a refused CQ_CREATE filled its results");
	raw_qp_arg(&qp, IBV_QPT_RC, pd, 12345, 0);
	CHECK(raw_call(fd, UNIV_QP_CREATE, &qp), "a queue pair without completion queue");
	CHECK(!qp.handle && !qp.qp_num && !qp.map_offset && all_zero(&qp.sq, sizeof(qp.sq)),
	      "a refused QP_CREATE filled its results");
	close(fd);
}

static void qp_query(void)
{
	struct univ_qp_query q = { 0 };
	struct raw_cq cq;
	struct raw_qp qp;

	begin();
	raw_cq(fd, &cq, 64, -1);
	raw_qp(fd, &qp, IBV_QPT_UD, pd, cq.handle, 0);
	q.handle = qp.handle;
	NEED_OK(raw_call(fd, UNIV_QP_QUERY, &q));
	CHECK(all_zero(q.attr.reserved, sizeof(q.attr.reserved)) &&
	      all_zero(q.attr.ah.reserved, sizeof(q.attr.ah.reserved)) &&
	      all_zero(q.attr.alt_ah.reserved, sizeof(q.attr.alt_ah.reserved)), "reserved bytes");
	q.attr.alt_ah.is_global = 0;
	q.attr.alt_ah.port_num = 0;
	CHECK(all_zero(&q.attr.alt_ah, sizeof(q.attr.alt_ah)), "an alternate path that is none");
	CHECK(q.max_send_wr >= 32 && q.max_inline >= 64, "capacities");
	raw_unmap(&qp.map);
	raw_unmap(&cq.map);
	close(fd);
}

/* ---- Completions and events ---------------------------------------------- */

static void check_cqe(const struct univ_cqe *c, uint64_t id)
{
	CHECK(c->wr_id == id, "wr_id %llu, expected %" PRIu64, c->wr_id, id);
	CHECK(!c->flow_tag, "flow tag %#x", c->flow_tag);
	CHECK(!c->timestamp && !c->wallclock, "times that nobody asked for: %llu %llu", c->timestamp,
	      c->wallclock);
	CHECK(c->phase == 1, "phase %u", c->phase);
	CHECK(!c->status && !c->reason && !c->vendor_err, "status %u reason %u vendor_err %u",
	      c->status, c->reason, c->vendor_err);
}

static void completions(void)
{
	struct univ_cqe cqe;
	struct raw_cq cq;
	struct raw_qp qp;
	struct raw_mr mr;
	uint8_t *mem;

	begin();
	mem = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mr = raw_mr(fd, pd, mem, PAGE, ALL_ACCESS);
	raw_cq(fd, &cq, 64, -1);
	raw_qp(fd, &qp, IBV_QPT_RC, pd, cq.handle, 0);
	raw_connect(fd, &qp, qp.qp_num);
	raw_recv_sge(fd, &qp, 1, (uintptr_t)mem + 512, 512, mr.lkey);
	raw_send_sge(fd, &qp, 2, (uintptr_t)mem, 100, mr.lkey);
	for (int i = 0; i < 2; i++)
		if (CHECK(raw_wait(&cq, &cqe, WC_TIMEOUT), "no completion"))
			check_cqe(&cqe, cqe.wr_id == 1 ? 1 : 2);
	raw_unmap(&qp.map);
	raw_unmap(&cq.map);
	close(fd);
	munmap(mem, PAGE);
}

/*
 * Read with a buffer larger than one event: only whole events are returned, and nothing
 * behind them.
 */
static void events(void)
{
	struct univ_channel_create ch = { 0 };
	struct univ_event got[8];
	struct raw_cq cq;
	struct raw_qp qp;
	ssize_t n;

	begin();
	NEED_OK(raw_call(fd, UNIV_CHANNEL_CREATE, &ch));
	raw_cq(fd, &cq, 64, ch.fd);
	raw_qp(fd, &qp, IBV_QPT_RC, pd, cq.handle, 0);
	raw_connect(fd, &qp, qp.qp_num);
	cq.ring.head->user.arm = 2;
	raw_recv_sge(fd, &qp, 1, 0, 0, 0);
	NEED_OK(raw_to_state(fd, qp.handle, IBV_QPS_ERR));
	memset(got, PATTERN, sizeof(got));
	n = read(ch.fd, got, sizeof(got) - 5);
	CHECK(n == sizeof(got[0]), "read gave %zd: %s", n, err_name(errno));
	CHECK(got[0].type == UNIV_EVENT_COMPLETION && !got[0].port_num && got[0].cookie == 0xc0c0,
	      "type %#x port %u cookie %#llx", got[0].type, got[0].port_num, got[0].cookie);
	for (size_t i = 0; i < sizeof(got) - sizeof(got[0]); i++)
		if (((uint8_t *)&got[1])[i] != PATTERN) {
			FAIL("byte %zu behind the event was written", i);
			break;
		}
	close(ch.fd);
	raw_unmap(&qp.map);
	raw_unmap(&cq.map);
	close(fd);
}

/* Only the received bytes change; the buffer behind a message is untouched. */
static void short_messages(void)
{
	struct ibv_wc wc;
	struct pair p;

	dirty_memory();
	pair_open(&p, NULL);
	for (uint32_t len = 0; len < 70; len++) {
		memset(p.buf[1], PATTERN, 128);
		CHECK_ERR(post_recv_at(&p, 1, 1, 0, 128), 0);
		CHECK_ERR(post_send_at(&p, 0, 1, 0, len, IBV_SEND_SIGNALED), 0);
		if (!WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS) || !WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS))
			break;
		for (uint32_t i = len; i < 128; i++)
			if (p.buf[1][i] != PATTERN) {
				FAIL("message of %u bytes: byte %u was written", len, i);
				break;
			}
	}
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "fresh_rings", fresh_rings },
	{ "resized_ring", resized_ring },
	{ "resized_srq", resized_srq },
	{ "every_answer", every_answer },
	{ "device_answers", device_answers },
	{ "no_rubbish_kept", no_rubbish_kept },
	{ "gid_tables", gid_tables },
	{ "failures", failures },
	{ "qp_query", qp_query },
	{ "completions", completions },
	{ "events", events },
	{ "short_messages", short_messages },
};

TEST_MAIN("poison (adv11)", cases, 60)
