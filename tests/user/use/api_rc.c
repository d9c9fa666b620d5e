// SPDX-License-Identifier: GPL-2.0
/* Connections: every operation of RC and UC, inline data, lists of entries and chains of requests. */
#include "testlib.h"

static void rc_send(void)
{
	static const uint32_t lengths[] = { 0, 1, 7, 64, 1023, 1024, 1025, 4096, 4097, 65536, 262144 };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		fill(p.buf[0], lengths[i], i);
		memset(p.buf[1], 0xee, lengths[i] + 16);
		CHECK_ERR(post_recv_at(&p, 1, 10 + i, 0, PAIR_HALF), 0);
		CHECK_ERR(post_send_at(&p, 0, i, 0, lengths[i], IBV_SEND_SIGNALED), 0);
		if (!WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS))
			break;
		CHECK(wc.byte_len == lengths[i], "%u bytes sent, %u received", lengths[i],
		      wc.byte_len);
		CHECK(wc.opcode == IBV_WC_RECV && wc.wr_id == 10 + i &&
		      wc.qp_num == p.qp[1]->qp_num && !(wc.wc_flags & IBV_WC_WITH_IMM),
		      "receive: opcode %d wr_id %" PRIu64 " flags %#x", wc.opcode, wc.wr_id,
		      wc.wc_flags);
		CHECK_BYTES(p.buf[1], lengths[i], i, "message");
		CHECK(p.buf[1][lengths[i]] == 0xee, "a byte behind the message was written");
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
		CHECK(wc.opcode == IBV_WC_SEND && wc.wr_id == i && wc.qp_num == p.qp[0]->qp_num,
		      "send: opcode %d wr_id %" PRIu64, wc.opcode, wc.wr_id);
	}
	pair_close(&p);
}

static void rc_send_imm(void)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htobe32(0xcafe1234),
	};
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, NULL);
	CHECK_ERR(post_recv(&p, 1, 1, NULL, 0), 0);
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	CHECK(wc.wc_flags & IBV_WC_WITH_IMM && wc.imm_data == htobe32(0xcafe1234) &&
	      !wc.byte_len, "flags %#x imm %#x len %u", wc.wc_flags, be32toh(wc.imm_data),
	      wc.byte_len);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void rc_write(void)
{
	static const uint32_t lengths[] = { 0, 1, 4096, 100000 };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		fill(p.buf[0], lengths[i], 40 + i);
		memset(p.buf[1], 0xee, lengths[i] + 16);
		CHECK_ERR(post_rdma(&p, 0, i, IBV_WR_RDMA_WRITE, lengths[i], IBV_SEND_SIGNALED), 0);
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
		CHECK(wc.opcode == IBV_WC_RDMA_WRITE, "opcode %d", wc.opcode);
		CHECK_BYTES(p.buf[1], lengths[i], 40 + i, "written");
		CHECK(p.buf[1][lengths[i]] == 0xee, "a byte behind the target was written");
		WANT_EMPTY(p.cq[1]);
	}
	pair_close(&p);
}

static void rc_write_imm(void)
{
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, NULL);
	fill(p.buf[0], 300, 3);
	CHECK_ERR(post_recv(&p, 1, 77, NULL, 0), 0);
	CHECK_ERR(post_rdma(&p, 0, 1, IBV_WR_RDMA_WRITE_WITH_IMM, 300, IBV_SEND_SIGNALED), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	CHECK(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc.wr_id == 77 && wc.byte_len == 300 &&
	      wc.wc_flags & IBV_WC_WITH_IMM && wc.imm_data == htobe32(0xabcd1234),
	      "opcode %d wr_id %" PRIu64 " len %u flags %#x", wc.opcode, wc.wr_id, wc.byte_len,
	      wc.wc_flags);
	CHECK_BYTES(p.buf[1], 300, 3, "written");
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void rc_read(void)
{
	static const uint32_t lengths[] = { 0, 1, 4096, 100000 };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		fill(p.buf[1], lengths[i], 60 + i);
		memset(p.buf[0], 0, lengths[i]);
		CHECK_ERR(post_rdma(&p, 0, i, IBV_WR_RDMA_READ, lengths[i], IBV_SEND_SIGNALED), 0);
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
		CHECK(wc.opcode == IBV_WC_RDMA_READ, "opcode %d", wc.opcode);
		CHECK_BYTES(p.buf[0], lengths[i], 60 + i, "read");
	}
	pair_close(&p);
}

static void atomic_wr(struct pair *p, struct ibv_send_wr *wr, struct ibv_sge *sge,
		      enum ibv_wr_opcode opcode)
{
	*sge = pair_sge(p, 0, 0, 8);
	*wr = (struct ibv_send_wr){
		.sg_list = sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.atomic = { .remote_addr = (uintptr_t)p->buf[1], .rkey = p->mr->rkey },
	};
}

static void rc_atomics(void)
{
	uint64_t *old, *cell;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, NULL);
	old = (uint64_t *)p.buf[0];
	cell = (uint64_t *)p.buf[1];
	*cell = 100;
	atomic_wr(&p, &wr, &sge, IBV_WR_ATOMIC_FETCH_AND_ADD);
	wr.wr.atomic.compare_add = 0x100000000ull;
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	CHECK(wc.opcode == IBV_WC_FETCH_ADD, "opcode %d", wc.opcode);
	CHECK(*old == 100 && *cell == 0x100000064ull, "old %#" PRIx64 " new %#" PRIx64, *old, *cell);

	atomic_wr(&p, &wr, &sge, IBV_WR_ATOMIC_CMP_AND_SWP);
	wr.wr.atomic.compare_add = 0x100000064ull;
	wr.wr.atomic.swap = 42;
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	CHECK(wc.opcode == IBV_WC_COMP_SWAP, "opcode %d", wc.opcode);
	CHECK(*old == 0x100000064ull && *cell == 42, "old %#" PRIx64 " new %" PRIu64, *old, *cell);

	wr.wr.atomic.compare_add = 7;
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	CHECK(*old == 42 && *cell == 42, "a swap that must not happen: %" PRIu64, *cell);
	pair_close(&p);
}

/* The eight bytes of an atomic may be spread over several scatter/gather entries. */
static void rc_atomic_pieces(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge[2];
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, NULL);
	*(uint64_t *)p.buf[1] = 0x1122334455667788ull;
	atomic_wr(&p, &wr, sge, IBV_WR_ATOMIC_FETCH_AND_ADD);
	sge[0] = pair_sge(&p, 0, 0, 4);
	sge[1] = pair_sge(&p, 0, 64, 4);
	wr.num_sge = 2;
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	CHECK(*(uint32_t *)p.buf[0] == 0x55667788 && *(uint32_t *)(p.buf[0] + 64) == 0x11223344,
	      "the former value: %#x, %#x", *(uint32_t *)p.buf[0], *(uint32_t *)(p.buf[0] + 64));
	pair_close(&p);
}

/* Inline data is copied before the call returns, and needs no key. */
static void rc_inline(void)
{
	struct pair_want want = { .inline_data = 200, .send_sge = 4 };
	struct ibv_sge sge[3];
	struct ibv_send_wr wr = {
		.sg_list = sge,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
	};
	uint8_t local[200];
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	CHECK(p.cap.max_inline_data >= 200, "asked 200 bytes, got %u", p.cap.max_inline_data);
	for (int n = 0; n <= 3; n++) {
		fill(local, sizeof(local), n);
		sge[0] = (struct ibv_sge){ (uintptr_t)local, 50, 0xdead };
		sge[1] = (struct ibv_sge){ (uintptr_t)local + 50, 0, 0xdead };
		sge[2] = (struct ibv_sge){ (uintptr_t)local + 50, 150, 0xdead };
		wr.num_sge = n;
		CHECK_ERR(post_recv_at(&p, 1, 0, 0, 1024), 0);
		CHECK_ERR(post_one(&p, 0, &wr), 0);
		memset(local, 0, sizeof(local));
		WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
		CHECK(wc.byte_len == (n == 0 ? 0 : n < 3 ? 50 : 200), "%d pieces: %u bytes", n,
		      wc.byte_len);
		CHECK_BYTES(p.buf[1], wc.byte_len, n, "inline message");
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	}
	pair_close(&p);
}

/* Inline data of each short length, in one piece and in two. */
static void rc_inline_lengths(void)
{
	enum { ALL = 41 };
	struct pair_want want = { .inline_data = 64, .send_sge = 2 };
	uint8_t local[ALL];
	struct ibv_sge sge[2];
	struct ibv_send_wr wr = {
		.sg_list = sge,
		.num_sge = 2,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
	};
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	wr.wr.rdma.remote_addr = (uintptr_t)p.buf[1];
	wr.wr.rdma.rkey = p.mr->rkey;
	for (uint32_t n = 0; n <= ALL; n++) {
		fill(local, ALL, n);
		memset(p.buf[1], 0, 64);
		sge[0] = (struct ibv_sge){ (uintptr_t)local, n, 0 };
		sge[1] = (struct ibv_sge){ (uintptr_t)local + n, ALL - n, 0 };
		CHECK_ERR(post_one(&p, 0, &wr), 0);
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
		CHECK_BYTES(p.buf[1], ALL, n, "two inline pieces");
		CHECK(all_zero(p.buf[1] + ALL, 8), "%u bytes: more were written", n);
		memset(p.buf[1], 0, 64);
		wr.num_sge = 1;
		CHECK_ERR(post_one(&p, 0, &wr), 0);
		wr.num_sge = 2;
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
		CHECK_BYTES(p.buf[1], n, n, "an inline piece");
		CHECK(all_zero(p.buf[1] + n, 64 - n), "%u bytes: more were written", n);
	}
	pair_close(&p);
}

/*
 * Programs set IBV_SEND_INLINE on each small request. On a request without data that is sent
 * the flag has no effect, as with other libraries.
 */
static void rc_inline_nothing(void)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
	};
	struct ibv_sge sge[2] = {};
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &(struct pair_want) { .inline_data = 16, .send_sge = 2 });
	for (int i = 0; i < 2; i++)
		sge[i] = pair_sge(&p, 0, 0, 0);
	for (wr.num_sge = 0; wr.num_sge <= 2; wr.num_sge++) {
		wr.sg_list = wr.num_sge ? sge : NULL;
		wr.wr.rdma.remote_addr = (uintptr_t)p.buf[1];
		wr.wr.rdma.rkey = p.mr->rkey;
		CHECK_ERR(post_one(&p, 0, &wr), 0);
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
		CHECK(wc.opcode == IBV_WC_RDMA_READ, "%d pieces: opcode %d", wr.num_sge,
		      wc.opcode);
	}
	/* Nor does it change that a read of some bytes, and an atomic operation, are refused. */
	sge[0].length = 1;
	wr.num_sge = 2;
	CHECK_ERR(post_one(&p, 0, &wr), EINVAL);
	sge[0].length = 8;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.wr.atomic.remote_addr = (uintptr_t)p.buf[1];
	wr.wr.atomic.rkey = p.mr->rkey;
	CHECK_ERR(post_one(&p, 0, &wr), EINVAL);
	CHECK(pair_works(&p), "afterwards");
	pair_close(&p);
}

static void rc_inline_write(void)
{
	uint8_t local[32];
	struct ibv_sge sge = { (uintptr_t)local, 32, 0 };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
	};
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, NULL);
	fill(local, 32, 9);
	wr.wr.rdma.remote_addr = (uintptr_t)p.buf[1] + 3;
	wr.wr.rdma.rkey = p.mr->rkey;
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	CHECK_BYTES(p.buf[1] + 3, 32, 9, "inline write");
	pair_close(&p);
}

/* Gather a message from four entries and scatter it to three others. */
static void rc_sge(void)
{
	struct ibv_sge from[4], to[3];
	struct ibv_send_wr wr = {
		.sg_list = from,
		.num_sge = 4,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	uint8_t whole[6000];
	struct ibv_wc wc;
	struct pair p;
	size_t done = 0;

	pair_open(&p, NULL);
	fill(whole, sizeof(whole), 21);
	for (int i = 0; i < 4; i++) {
		static const uint32_t len[] = { 1, 3000, 0, 2999 };

		from[i] = pair_sge(&p, 0, i * 8192 + i, len[i]);
		memcpy((void *)(uintptr_t)from[i].addr, whole + done, len[i]);
		done += len[i];
	}
	to[0] = pair_sge(&p, 1, 5, 17);
	to[1] = pair_sge(&p, 1, 8192, 5000);
	to[2] = pair_sge(&p, 1, 20000, 5000);
	CHECK_ERR(post_recv(&p, 1, 0, to, 3), 0);
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	CHECK(wc.byte_len == 6000, "%u bytes", wc.byte_len);
	CHECK(!memcmp(p.buf[1] + 5, whole, 17), "first piece");
	CHECK(!memcmp(p.buf[1] + 8192, whole + 17, 5000), "second piece");
	CHECK(!memcmp(p.buf[1] + 20000, whole + 5017, 983), "third piece");
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* Only entries that a message reaches are checked, so a list may exceed its region. */
static void rc_beyond(void)
{
	struct ibv_sge to[2], from;
	struct ibv_send_wr wr = {
		.sg_list = &from,
		.num_sge = 1,
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, NULL);
	/* The first entry exceeds its region, and the entry behind it has an invalid key. */
	to[0] = pair_sge(&p, 1, PAIR_HALF - 4096, 1u << 20);
	to[1] = (struct ibv_sge){ .addr = 0x1000, .length = 4096, .lkey = 0 };
	for (uint32_t len = 0; len <= 4096; len += 2048) {
		fill(p.buf[0], len, 33);
		CHECK_ERR(post_recv(&p, 1, 1, to, 2), 0);
		CHECK_ERR(post_send_at(&p, 0, 2, 0, len, IBV_SEND_SIGNALED), 0);
		WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
		CHECK_BYTES(p.buf[1] + PAIR_HALF - 4096, len, 33, "message");
	}
	/* The response of an atomic is eight bytes, which fit into the region. */
	memcpy(p.buf[0], &(uint64_t){ 5 }, 8);
	from = pair_sge(&p, 1, PAIR_HALF - 8, 64);
	wr.wr.atomic.remote_addr = (uintptr_t)p.buf[0];
	wr.wr.atomic.rkey = p.mr->rkey;
	wr.wr.atomic.compare_add = 3;
	CHECK_ERR(post_one(&p, 1, &wr), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	CHECK(!memcmp(p.buf[1] + PAIR_HALF - 8, &(uint64_t){ 5 }, 8), "the former value");
	CHECK(!memcmp(p.buf[0], &(uint64_t){ 8 }, 8), "the sum");
	/* The message is one byte too long. */
	CHECK_ERR(post_recv(&p, 1, 3, to, 2), 0);
	CHECK_ERR(post_send_at(&p, 0, 4, 0, 4097, IBV_SEND_SIGNALED), 0);
	if (CHECK(wait_wc(p.cq[1], &wc, WC_TIMEOUT) == 1, "no completion at the receiver"))
		CHECK(failed_as(wc.status, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_QP_OP_ERR),
		      "receiver: %s", ibv_wc_status_str(wc.status));
	WANT_WC(p.cq[0], &wc, IBV_WC_REM_OP_ERR);
	pair_close(&p);
}

/* The queue pair supports as many entries as were granted. */
static void rc_all_sge(void)
{
	struct pair_want want = { .send_sge = 16, .recv_sge = 16 };
	struct ibv_sge sge[64];
	struct ibv_send_wr wr = {
		.sg_list = sge,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_wc wc;
	struct pair p;
	uint32_t n;

	pair_open(&p, &want);
	n = p.cap.max_send_sge;
	CHECK(n >= 16 && n <= 64 && p.cap.max_recv_sge >= 16, "%u and %u entries", n,
	      p.cap.max_recv_sge);
	fill(p.buf[0], n, 1);
	for (uint32_t i = 0; i < n; i++)
		sge[i] = pair_sge(&p, 0, i, 1);
	wr.num_sge = n;
	CHECK_ERR(post_recv_at(&p, 1, 0, 0, 1024), 0);
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	CHECK_BYTES(p.buf[1], n, 1, "message of single bytes");
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* Post a chain of requests by one call; only the last one asks for a completion. */
static void rc_chain(void)
{
	struct ibv_send_wr wr[32], *bad = NULL;
	struct ibv_recv_wr rwr[32], *rbad = NULL;
	struct ibv_sge sge[32], rsge[32];
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, NULL);
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 32; i++) {
			fill(p.buf[0] + i * 64, 64, i + round);
			sge[i] = pair_sge(&p, 0, i * 64, 64);
			rsge[i] = pair_sge(&p, 1, i * 64, 64);
			rwr[i] = (struct ibv_recv_wr){ .wr_id = i, .sg_list = &rsge[i],
				.num_sge = 1, .next = i < 31 ? &rwr[i + 1] : NULL };
			wr[i] = (struct ibv_send_wr){ .wr_id = i, .sg_list = &sge[i],
				.num_sge = 1, .opcode = i % 2 ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND,
				.imm_data = htobe32(100 * round + i),
				.next = i < 31 ? &wr[i + 1] : NULL };
		}
		wr[31].send_flags = IBV_SEND_SIGNALED;
		CHECK_ERR(ibv_post_recv(p.qp[1], rwr, &rbad), 0);
		CHECK_ERR(ibv_post_send(p.qp[0], wr, &bad), 0);
		for (int i = 0; i < 32; i++) {
			if (!WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS))
				goto out;
			CHECK(wc.wr_id == (uint64_t)i, "receive %" PRIu64 ", expected %d",
			      wc.wr_id, i);
			CHECK_BYTES(p.buf[1] + i * 64, 64, i + round, "message of a chain");
			CHECK(!(i % 2) || (wc.wc_flags & IBV_WC_WITH_IMM &&
					   wc.imm_data == htobe32(100 * round + i)),
			      "message %d: flags %#x imm %u", i, wc.wc_flags, be32toh(wc.imm_data));
		}
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
		CHECK(wc.wr_id == 31, "send %" PRIu64, wc.wr_id);
		WANT_EMPTY(p.cq[0]);
	}
out:
	pair_close(&p);
}

/* Post far more requests than the queue holds, of which one in sixteen is signaled. */
static void rc_unsignaled(void)
{
	struct pair_want want = { .send_wr = 32 };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	for (int i = 0; i < 320; i++) {
		CHECK_ERR(post_rdma(&p, 0, i, IBV_WR_RDMA_WRITE, 8,
				    i % 16 == 15 ? IBV_SEND_SIGNALED : 0), 0);
		if (i % 16 == 15) {
			if (!WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS))
				break;
			CHECK(wc.wr_id == (uint64_t)i, "wr_id %" PRIu64 ", expected %d",
			      wc.wr_id, i);
		}
	}
	WANT_EMPTY(p.cq[0]);
	pair_close(&p);
}

static void rc_sig_all(void)
{
	struct pair_want want = { .sig_all = 1 };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	CHECK_ERR(post_rdma(&p, 0, 5, IBV_WR_RDMA_WRITE, 8, 0), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

/*
 * A fenced send behind a read sends the bytes that the read returned. One call posts both, so
 * that the read is under way when the device comes to the send.
 */
static void rc_fence(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr send = {
		.wr_id = 2, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE,
	};
	struct ibv_send_wr read = {
		.wr_id = 1, .next = &send, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
	};
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, NULL);
	fill(p.buf[1], 5000, 8);
	sge = pair_sge(&p, 0, 0, 5000);
	wr_remote(&read, (uintptr_t)p.buf[1], p.mr->rkey, 0);
	CHECK_ERR(post_recv_at(&p, 1, 9, 8192, 8192), 0);
	CHECK_ERR(post_one(&p, 0, &read), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	CHECK_BYTES(p.buf[1] + 8192, 5000, 8, "sent what had just been read");
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* The receive request is posted late; the sender retries until then. */
static void rc_rnr(void)
{
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, NULL);
	fill(p.buf[0], 64, 4);
	CHECK_ERR(post_send_at(&p, 0, 1, 0, 64, IBV_SEND_SIGNALED), 0);
	sleep_ms(100);
	WANT_EMPTY(p.cq[0]);
	CHECK_ERR(post_recv_at(&p, 1, 2, 0, 64), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	CHECK_BYTES(p.buf[1], 64, 4, "message");
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void uc_all(void)
{
	struct pair_want want = { .type = IBV_QPT_UC };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	CHECK(pair_works(&p), "messages over UC");
	fill(p.buf[0], 9000, 2);
	CHECK_ERR(post_rdma(&p, 0, 1, IBV_WR_RDMA_WRITE, 9000, IBV_SEND_SIGNALED), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	CHECK_ERR(post_recv(&p, 1, 2, NULL, 0), 0);
	CHECK_ERR(post_rdma(&p, 0, 3, IBV_WR_RDMA_WRITE_WITH_IMM, 9000, IBV_SEND_SIGNALED), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	CHECK(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM, "opcode %d", wc.opcode);
	CHECK_BYTES(p.buf[1], 9000, 2, "written");
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "rc_send", rc_send },
	{ "rc_send_imm", rc_send_imm },
	{ "rc_write", rc_write },
	{ "rc_write_imm", rc_write_imm },
	{ "rc_read", rc_read },
	{ "rc_atomics", rc_atomics },
	{ "rc_atomic_pieces", rc_atomic_pieces },
	{ "rc_inline", rc_inline },
	{ "rc_inline_lengths", rc_inline_lengths },
	{ "rc_inline_nothing", rc_inline_nothing },
	{ "rc_inline_write", rc_inline_write },
	{ "rc_sge", rc_sge },
	{ "rc_beyond", rc_beyond },
	{ "rc_all_sge", rc_all_sge },
	{ "rc_chain", rc_chain },
	{ "rc_unsignaled", rc_unsignaled },
	{ "rc_sig_all", rc_sig_all },
	{ "rc_fence", rc_fence },
	{ "rc_rnr", rc_rnr },
	{ "uc_all", uc_all },
};

TEST_MAIN("api_rc", cases, 30)
