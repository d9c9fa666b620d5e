// SPDX-License-Identifier: GPL-2.0
/* Queue pairs: every operation of RC, UC and UD, and both interfaces for posting them. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include "testlib.h"
#include <univerbs.h>

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

/*
 * Programs pass the flags that they register memory with. Bits without a meaning for a
 * queue pair are ignored.
 */
static void access_flags(void)
{
	struct ibv_qp_attr a = { .qp_access_flags = ALL_ACCESS | IBV_ACCESS_RELAXED_ORDERING };
	struct pair p;

	pair_open(&p, NULL);
	CHECK_ERR(ibv_modify_qp(p.qp[1], &a, IBV_QP_ACCESS_FLAGS), 0);
	CHECK(pair_works(&p), "afterwards");
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

/* Inline data of each short length, in two pieces. */
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
	}
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

/* The queue pair supports as many entries as were granted. */
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
	/* The message is one byte too long. Drivers report different statuses at the receiver. */
	CHECK_ERR(post_recv(&p, 1, 3, to, 2), 0);
	CHECK_ERR(post_send_at(&p, 0, 4, 0, 4097, IBV_SEND_SIGNALED), 0);
	if (CHECK(wait_wc(p.cq[1], &wc, WC_TIMEOUT) == 1, "no completion at the receiver"))
		CHECK(wc.status == IBV_WC_LOC_PROT_ERR || wc.status == IBV_WC_LOC_QP_OP_ERR,
		      "receiver: %s", ibv_wc_status_str(wc.status));
	WANT_WC(p.cq[0], &wc, IBV_WC_REM_OP_ERR);
	pair_close(&p);
}

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
				.num_sge = 1, .opcode = IBV_WR_SEND,
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

/* A fenced send behind a read sends the bytes that the read returned. */
static void rc_fence(void)
{
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, NULL);
	fill(p.buf[1], 5000, 8);
	CHECK_ERR(post_rdma(&p, 0, 1, IBV_WR_RDMA_READ, 5000, 0), 0);
	CHECK_ERR(post_recv_at(&p, 1, 9, 8192, 8192), 0);
	CHECK_ERR(post_send_at(&p, 0, 2, 0, 5000, IBV_SEND_SIGNALED | IBV_SEND_FENCE), 0);
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

static void query(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct pair p;

	pair_open(&p, NULL);
	memset(&attr, 0xa5, sizeof(attr));
	memset(&init, 0xa5, sizeof(init));
	CHECK_ERR(ibv_query_qp(p.qp[0], &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_CAP, &init), 0);
	CHECK(attr.qp_state == IBV_QPS_RTS && p.qp[0]->state == IBV_QPS_RTS, "state %d",
	      attr.qp_state);
	CHECK(attr.dest_qp_num == p.qp[1]->qp_num, "dest_qp_num %u", attr.dest_qp_num);
	CHECK(attr.path_mtu == p.dev.port.active_mtu, "path_mtu %d", attr.path_mtu);
	CHECK(attr.port_num == PORT && attr.retry_cnt == 6 && attr.rnr_retry == 7 &&
	      attr.timeout == 14 && attr.min_rnr_timer == 1, "port %u retry %u rnr %u timeout %u",
	      attr.port_num, attr.retry_cnt, attr.rnr_retry, attr.timeout);
	CHECK(!memcmp(&attr.ah_attr.grh.dgid, &p.dev.gid, 16) && attr.ah_attr.is_global &&
	      attr.ah_attr.grh.sgid_index == p.dev.gid_index, "the address vector");
	CHECK(init.cap.max_send_wr >= 64 && init.cap.max_recv_wr >= 64 &&
	      init.cap.max_send_sge >= 4 && init.cap.max_inline_data >= 64 &&
	      !memcmp(&init.cap, &attr.cap, sizeof(init.cap)), "capacities: %u %u %u %u",
	      init.cap.max_send_wr, init.cap.max_recv_wr, init.cap.max_send_sge,
	      init.cap.max_inline_data);
	CHECK(init.qp_type == IBV_QPT_RC && init.send_cq == p.cq[0] && init.recv_cq == p.cq[0] &&
	      !init.srq && init.qp_context == &p, "what it was made of");
	pair_close(&p);
}

/* Reset and reconnect: no request or completion from before the reset remains. */
static void reset_and_again(void)
{
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, NULL);
	for (int round = 0; round < 3; round++) {
		for (int k = 0; k < 5; k++)
			CHECK_ERR(post_recv_at(&p, 1, 50 + k, 0, 64), 0);
		CHECK_ERR(post_send_at(&p, 0, round, 0, 8, IBV_SEND_SIGNALED), 0);
		WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
		CHECK(wc.wr_id == 50, "receive %" PRIu64 " of round %d", wc.wr_id, round);
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
		for (int i = 0; i < 2; i++)
			CHECK_ERR(qp_to_state(p.qp[i], IBV_QPS_RESET), 0);
		for (int i = 0; i < 2; i++)
			WANT_EMPTY(p.cq[i]);
		for (int i = 0; i < 2; i++)
			qp_connect(&p.dev, p.qp[i], p.qp[!i]->qp_num, &p.want);
	}
	CHECK(pair_works(&p), "the pair does not work after its resets");
	pair_close(&p);
}

/*
 * A reset drops the queue pair's completions that were not polled, and keeps those of other
 * queue pairs, as on mlx5.
 */
static void reset_forgets(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_recv_wr wr = { .wr_id = 100 }, *bad;
	struct ibv_qp *other;
	struct ibv_wc wc;
	struct pair p;
	int flushed = 0;

	pair_open(&p, NULL);
	init.send_cq = p.cq[0];
	init.recv_cq = p.cq[0];
	other = ibv_create_qp(p.pd, &init);
	NEED_PTR(other, "create_qp");
	NEED_OK(qp_to_init(other));
	for (int i = 0; i < 3; i++) {
		wr.wr_id = 100 + i;
		CHECK_ERR(ibv_post_recv(other, &wr, &bad), 0);
	}
	for (int i = 0; i < 3; i++)
		CHECK_ERR(post_rdma(&p, 0, i, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	sleep_ms(100);
	CHECK_ERR(qp_to_state(other, IBV_QPS_ERR), 0);
	sleep_ms(100);
	CHECK_ERR(post_rdma(&p, 0, 3, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	sleep_ms(100);
	CHECK_ERR(qp_to_state(p.qp[0], IBV_QPS_RESET), 0);
	CHECK_ERR(qp_to_state(p.qp[1], IBV_QPS_RESET), 0);
	/* rdma_rxe of 6.1 does not flush receive requests. */
	while (ibv_poll_cq(p.cq[0], 1, &wc) == 1) {
		CHECK(wc.qp_num == other->qp_num, "a completion of the queue pair that was reset");
		flushed++;
	}
	CHECK(flushed == 3 || !on_uroce(), "%d of 3 completions of the other queue pair", flushed);
	pair_make_ready(&p);
	CHECK(pair_works(&p), "messages after the reset");
	CHECK_ERR(ibv_destroy_qp(other), 0);
	pair_close(&p);
}

/* Both sides of @p complete into one extended completion queue without a lock. */
static struct ibv_cq_ex *open_on_one_queue(struct pair *p)
{
	struct ibv_cq_init_attr_ex init = {
		.cqe = 64,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
		.wc_flags = IBV_WC_EX_WITH_QP_NUM,
	};
	struct ibv_cq_ex *cq;

	pair_open(p, &(struct pair_want) { .stay_reset = 1, .use_channel = 1 });
	init.channel = p->ch;
	cq = ibv_create_cq_ex(p->dev.ctx, &init);
	NEED_PTR(cq, "create_cq_ex");
	for (int i = 0; i < 2; i++) {
		NEED_OK(ibv_destroy_qp(p->qp[i]));
		NEED_OK(ibv_destroy_cq(p->cq[i]));
		p->cq[i] = ibv_cq_ex_to_cq(cq);
		pair_create_qp(p, i);
	}
	pair_make_ready(p);
	return cq;
}

/* Make a completion of side @i the next one in the queue, without polling the queue. */
static void complete_one(struct pair *p, int i)
{
	struct ibv_cq *cq;
	void *context;

	NEED_OK(ibv_req_notify_cq(p->cq[0], 0));
	NEED_OK(post_rdma(p, i, 7, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED));
	NEED(!ibv_get_cq_event(p->ch, &cq, &context), "get_cq_event: %s", err_name(errno));
	ibv_ack_cq_events(cq, 1);
}

/*
 * Reset side 0 while the program reads the first completion. @order tells the side of each
 * completion. The first completion is unchanged, and the completions of side 1 behind it
 * are returned.
 */
static void reset_while_polling(struct pair *p, struct ibv_cq_ex *cq, const char *order)
{
	struct ibv_poll_cq_attr attr = {};
	uint32_t first;

	for (const char *side = order; *side; side++)
		complete_one(p, *side - '0');
	NEED_OK(ibv_start_poll(cq, &attr));
	first = p->qp[*order - '0']->qp_num;
	CHECK_ERR(qp_to_state(p->qp[0], IBV_QPS_RESET), 0);
	CHECK(ibv_wc_read_qp_num(cq) == first && cq->wr_id == 7,
	      "%s: the current completion is another", order);
	for (const char *side = order + 1; *side; side++)
		if (*side == '1' && CHECK_ERR(ibv_next_poll(cq), 0))
			CHECK(ibv_wc_read_qp_num(cq) == p->qp[1]->qp_num,
			      "%s: a completion of the queue pair that was reset", order);
	CHECK_ERR(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	CHECK_ERR(qp_to_state(p->qp[1], IBV_QPS_RESET), 0);
	pair_make_ready(p);
	CHECK(pair_works(p), "%s: messages after the reset", order);
	WANT_EMPTY(p->cq[0]);
}

static void reset_between_polls(void)
{
	static const char *const orders[] = { "0", "001", "100", "0101" };
	struct ibv_cq_ex *cq;
	struct pair p;

	if (!why_known())
		return;
	cq = open_on_one_queue(&p);
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++)
		reset_while_polling(&p, cq, orders[i]);
	p.cq[1] = NULL;
	CHECK_ERR(ibv_destroy_qp(p.qp[1]), 0);
	p.qp[1] = NULL;
	pair_close(&p);
}

static void flush(void)
{
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, NULL);
	for (int k = 0; k < 10; k++)
		CHECK_ERR(post_recv_at(&p, 1, k, 0, 64), 0);
	CHECK_ERR(qp_to_state(p.qp[1], IBV_QPS_ERR), 0);
	for (int k = 0; k < 10; k++) {
		if (!WANT_WC(p.cq[1], &wc, IBV_WC_WR_FLUSH_ERR))
			break;
		CHECK(wc.wr_id == (uint64_t)k && wc.qp_num == p.qp[1]->qp_num,
		      "flushed wr_id %" PRIu64 " of qp %u", wc.wr_id, wc.qp_num);
	}
	if (why_known()) {
		CHECK_ERR(post_recv_at(&p, 1, 99, 0, 64), 0);
		WANT_WC(p.cq[1], &wc, IBV_WC_WR_FLUSH_ERR);
	}
	CHECK_ERR(post_rdma(&p, 1, 98, IBV_WR_RDMA_WRITE, 8, 0), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_WR_FLUSH_ERR);
	CHECK(wc.wr_id == 98, "an unsignaled request is flushed too: %" PRIu64, wc.wr_id);
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

/* An answer goes to the source of the header, and not to its destination: 192.0.2.7. */
static void answers_go_back(struct pair *p, struct ibv_wc *wc)
{
	static const uint8_t source[4] = { 192, 0, 2, 7 };
	struct ibv_ah_attr back;
	uint8_t *ipv4 = p->buf[1] + 20;

	if (p->dev.gid.raw[10] != 0xff || p->dev.gid.raw[11] != 0xff)
		return;
	memcpy(ipv4 + 12, source, sizeof(source));
	CHECK_ERR(ibv_init_ah_from_wc(p->dev.ctx, PORT, wc, (void *)p->buf[1], &back), 0);
	CHECK(!memcmp(&back.grh.dgid.raw[12], source, sizeof(source)), "to %u.%u.%u.%u",
	      back.grh.dgid.raw[12], back.grh.dgid.raw[13], back.grh.dgid.raw[14],
	      back.grh.dgid.raw[15]);
	memcpy(ipv4 + 12, &p->dev.gid.raw[12], sizeof(source));
}

static void ud_message(void)
{
	struct pair_want want = { .type = IBV_QPT_UD };
	struct ibv_ah_attr back;
	struct ibv_ah *ah;
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	CHECK(pair_works(&p), "messages over UD");
	memset(p.buf[1], 0xee, 4096);
	fill(p.buf[0], 500, 6);
	CHECK_ERR(post_recv_at(&p, 1, 1, 0, 1024), 0);
	CHECK_ERR(post_send_at(&p, 0, 2, 0, 500, IBV_SEND_SIGNALED), 0);
	if (WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS)) {
		CHECK(wc.byte_len == 540 && wc.wc_flags & IBV_WC_GRH &&
		      wc.src_qp == p.qp[0]->qp_num, "len %u flags %#x src_qp %u", wc.byte_len,
		      wc.wc_flags, wc.src_qp);
		CHECK_BYTES(p.buf[1] + 40, 500, 6, "datagram");
		CHECK_ERR(ibv_init_ah_from_wc(p.dev.ctx, PORT, &wc, (void *)p.buf[1], &back), 0);
		CHECK(!memcmp(&back.grh.dgid, &p.dev.gid, 16), "the way back");
		answers_go_back(&p, &wc);
		ah = ibv_create_ah_from_wc(p.pd, &wc, (void *)p.buf[1], PORT);
		CHECK(ah, "create_ah_from_wc: %s; %s", err_name(errno), why_text());
		if (ah)
			CHECK_ERR(ibv_destroy_ah(ah), 0);
	}
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void ud_imm(void)
{
	struct pair_want want = { .type = IBV_QPT_UD };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htobe32(99),
	};
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	wr_address(&p, 0, &wr);
	CHECK_ERR(post_recv_at(&p, 1, 1, 0, 40), 0);
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	CHECK(wc.byte_len == 40 && wc.wc_flags & IBV_WC_WITH_IMM && wc.imm_data == htobe32(99),
	      "len %u flags %#x", wc.byte_len, wc.wc_flags);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* A datagram with the wrong Q_Key is dropped silently. */
static void ud_wrong_qkey(void)
{
	struct pair_want want = { .type = IBV_QPT_UD };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	wr_address(&p, 0, &wr);
	wr.wr.ud.remote_qkey = PAIR_QKEY + 1;
	CHECK_ERR(post_recv_at(&p, 1, 1, 0, 64), 0);
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	sleep_ms(100);
	WANT_EMPTY(p.cq[1]);
	pair_close(&p);
}

/* Join the group with a socket: otherwise the network does not loop a host's own datagrams back. */
static int join_group(const struct test_dev *dev, const union ibv_gid *group)
{
	struct ip_mreqn req = { 0 };
	struct ibv_gid_entry gid;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	NEED_OK(ibv_query_gid_ex(dev->ctx, PORT, dev->gid_index, &gid, 0));
	memcpy(&req.imr_multiaddr, group->raw + 12, 4);
	req.imr_ifindex = gid.ndev_ifindex;
	NEED(!setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &req, sizeof(req)),
	     "IP_ADD_MEMBERSHIP: %s", err_name(errno));
	return fd;
}

static void multicast(void)
{
	struct pair_want want = { .type = IBV_QPT_UD };
	union ibv_gid group = { .raw = { [10] = 0xff, [11] = 0xff, 239, 1, 2, 3 } };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_ah_attr attr;
	struct ibv_sge sge;
	struct ibv_ah *ah;
	struct ibv_wc wc;
	struct pair p;
	int member;

	pair_open(&p, &want);
	member = join_group(&p.dev, &group);
	CHECK(ibv_attach_mcast(p.qp[0], &p.dev.gid, 0), "attached to a GID that is no group");
	if (why_known())
		CHECK(why_reason() == UNIV_REASON_NOT_MULTICAST, "explained as: %s", why_text());
	for (int i = 0; i < 2; i++)
		CHECK_ERR(ibv_attach_mcast(p.qp[i], &group, 0), 0);
	ah_attr_to(&p.dev, &attr);
	attr.grh.dgid = group;
	ah = ibv_create_ah(p.pd, &attr);
	NEED(ah, "create_ah of a group: %s; %s", err_name(errno), why_text());
	for (int i = 0; i < 2; i++)
		CHECK_ERR(post_recv_at(&p, i, 1, 4096, 1024), 0);
	fill(p.buf[0], 300, 12);
	sge = pair_sge(&p, 0, 0, 300);
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = 0xffffff;
	wr.wr.ud.remote_qkey = PAIR_QKEY;
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	CHECK_BYTES(p.buf[1] + 4096 + 40, 300, 12, "datagram to a group");
	for (int n = 0; n < 2; n++)
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	for (int i = 0; i < 2; i++)
		CHECK_ERR(ibv_detach_mcast(p.qp[i], &group, 0), 0);
	CHECK(ibv_detach_mcast(p.qp[0], &group, 0), "detached twice");
	/*
	 * Ethernet has no LIDs, so another LID means the same group, and the queue pair can
	 * be destroyed after one detach for each attach.
	 */
	CHECK_ERR(ibv_attach_mcast(p.qp[0], &group, 0xc001), 0);
	CHECK_ERR(ibv_attach_mcast(p.qp[0], &group, 0xc002), 0);
	CHECK_ERR(ibv_detach_mcast(p.qp[0], &group, 0xc002), 0);
	CHECK(ibv_detach_mcast(p.qp[0], &group, 0xc001), "detached twice, by another LID");
	CHECK_ERR(ibv_destroy_ah(ah), 0);
	close(member);
	pair_close(&p);
}

/* ---- ibv_wr_* ------------------------------------------------------------ */

static void ex_rdma(struct pair *p, struct ibv_qp_ex *qp)
{
	struct ibv_sge list[2] = { pair_sge(p, 0, 0, 100), pair_sge(p, 0, 100, 200) };
	struct ibv_wc wc;

	fill(p->buf[0], 300, 30);
	CHECK_ERR(post_recv(p, 1, 4, NULL, 0), 0);
	ibv_wr_start(qp);
	qp->wr_id = 1;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(qp, p->mr->rkey, (uintptr_t)p->buf[1]);
	ibv_wr_set_sge_list(qp, 2, list);
	qp->wr_id = 2;
	ibv_wr_rdma_write_imm(qp, p->mr->rkey, (uintptr_t)p->buf[1] + 1000, htobe32(5));
	ibv_wr_set_sge(qp, p->mr->lkey, (uintptr_t)p->buf[0], 300);
	qp->wr_id = 3;
	ibv_wr_rdma_read(qp, p->mr->rkey, (uintptr_t)p->buf[1]);
	ibv_wr_set_sge(qp, p->mr->lkey, (uintptr_t)p->buf[0] + 2000, 300);
	CHECK_ERR(ibv_wr_complete(qp), 0);
	for (uint64_t k = 1; k <= 3; k++) {
		WANT_WC(p->cq[0], &wc, IBV_WC_SUCCESS);
		CHECK(wc.wr_id == k, "wr_id %" PRIu64 ", expected %" PRIu64, wc.wr_id, k);
	}
	WANT_WC(p->cq[1], &wc, IBV_WC_SUCCESS);
	CHECK_BYTES(p->buf[1], 300, 30, "wr_rdma_write");
	CHECK_BYTES(p->buf[1] + 1000, 300, 30, "wr_rdma_write_imm");
	CHECK_BYTES(p->buf[0] + 2000, 300, 30, "wr_rdma_read");
}

static void ex_atomics(struct pair *p, struct ibv_qp_ex *qp)
{
	uint64_t *cell = (uint64_t *)p->buf[1], *old = (uint64_t *)p->buf[0];
	struct ibv_wc wc;

	*cell = 10;
	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_atomic_fetch_add(qp, p->mr->rkey, (uintptr_t)cell, 5);
	ibv_wr_set_sge(qp, p->mr->lkey, (uintptr_t)old, 8);
	ibv_wr_atomic_cmp_swp(qp, p->mr->rkey, (uintptr_t)cell, 15, 77);
	ibv_wr_set_sge(qp, p->mr->lkey, (uintptr_t)(old + 1), 8);
	CHECK_ERR(ibv_wr_complete(qp), 0);
	for (int k = 0; k < 2; k++)
		WANT_WC(p->cq[0], &wc, IBV_WC_SUCCESS);
	CHECK(old[0] == 10 && old[1] == 15 && *cell == 77, "%" PRIu64 " %" PRIu64 " %" PRIu64,
	      old[0], old[1], *cell);
}

static void ex_sends(struct pair *p, struct ibv_qp_ex *qp)
{
	struct ibv_data_buf pieces[2];
	uint8_t local[48];
	struct ibv_wc wc;

	fill(local, sizeof(local), 90);
	pieces[0] = (struct ibv_data_buf){ local, 16 };
	pieces[1] = (struct ibv_data_buf){ local + 16, 32 };
	for (int k = 0; k < 2; k++)
		CHECK_ERR(post_recv_at(p, 1, k, k * 256, 256), 0);
	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qp);
	if (p->type == IBV_QPT_UD)
		ibv_wr_set_ud_addr(qp, p->ah, p->qp[1]->qp_num, PAIR_QKEY);
	ibv_wr_set_inline_data(qp, local, 48);
	ibv_wr_send_imm(qp, htobe32(6));
	if (p->type == IBV_QPT_UD)
		ibv_wr_set_ud_addr(qp, p->ah, p->qp[1]->qp_num, PAIR_QKEY);
	ibv_wr_set_inline_data_list(qp, 2, pieces);
	CHECK_ERR(ibv_wr_complete(qp), 0);
	for (int k = 0; k < 2; k++) {
		size_t grh = p->type == IBV_QPT_UD ? 40 : 0;

		WANT_WC(p->cq[1], &wc, IBV_WC_SUCCESS);
		CHECK(wc.byte_len == 48 + grh, "%u bytes", wc.byte_len);
		CHECK_BYTES(p->buf[1] + k * 256 + grh, 48, 90, "wr_send");
		CHECK(!k == !(wc.wc_flags & IBV_WC_WITH_IMM), "message %d: flags %#x", k,
		      wc.wc_flags);
		CHECK(!k || be32toh(wc.imm_data) == 6, "immediate data %#x", be32toh(wc.imm_data));
		WANT_WC(p->cq[0], &wc, IBV_WC_SUCCESS);
	}
}

static void ex_abort(struct pair *p, struct ibv_qp_ex *qp)
{
	struct ibv_wc wc;

	memset(p->buf[1], 0, 64);
	fill(p->buf[0], 64, 1);
	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(qp, p->mr->rkey, (uintptr_t)p->buf[1]);
	ibv_wr_set_sge(qp, p->mr->lkey, (uintptr_t)p->buf[0], 64);
	ibv_wr_abort(qp);
	sleep_ms(50);
	WANT_EMPTY(p->cq[0]);
	CHECK(all_zero(p->buf[1], 64), "an aborted write was done");
	CHECK_ERR(post_rdma(p, 0, 5, IBV_WR_RDMA_WRITE, 64, IBV_SEND_SIGNALED), 0);
	WANT_WC(p->cq[0], &wc, IBV_WC_SUCCESS);
	CHECK(wc.wr_id == 5, "wr_id %" PRIu64 " after an abort", wc.wr_id);
}

/* Post more requests than fit: ibv_wr_complete() returns ENOMEM and posts nothing of the batch. */
static void ex_too_many(struct pair *p, struct ibv_qp_ex *qp)
{
	uint32_t n = p->cap.max_send_wr + 10000;
	struct ibv_wc wc;
	int ret;

	memset(p->buf[1], 0, 64);
	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED;
	for (uint32_t k = 0; k < n; k++) {
		ibv_wr_rdma_write(qp, p->mr->rkey, (uintptr_t)p->buf[1]);
		ibv_wr_set_sge(qp, p->mr->lkey, (uintptr_t)p->buf[0], 64);
	}
	ret = ibv_wr_complete(qp);
	CHECK(ret == ENOMEM, "wr_complete of %u requests: %s", n, err_name(ret));
	sleep_ms(50);
	WANT_EMPTY(p->cq[0]);
	CHECK_ERR(post_rdma(p, 0, 6, IBV_WR_RDMA_WRITE, 64, IBV_SEND_SIGNALED), 0);
	WANT_WC(p->cq[0], &wc, IBV_WC_SUCCESS);
}

static void ex_rc(void)
{
	struct pair_want want = { .use_ex = 1 };
	struct ibv_qp_ex *qp;
	struct pair p;

	/* rxe's own library gathers lists wrongly and loses inline data here. */
	if (!why_known())
		return;
	pair_open(&p, &want);
	qp = ibv_qp_to_qp_ex(p.qp[0]);
	NEED(qp, "qp_to_qp_ex gave NULL");
	ex_rdma(&p, qp);
	ex_atomics(&p, qp);
	ex_sends(&p, qp);
	ex_abort(&p, qp);
	ex_too_many(&p, qp);
	CHECK(pair_works(&p), "classic posting on an extended queue pair");
	pair_close(&p);
}

static void ex_ud(void)
{
	struct pair_want want = { .use_ex = 1, .type = IBV_QPT_UD };
	struct pair p;

	if (!why_known())
		return;
	pair_open(&p, &want);
	ex_sends(&p, ibv_qp_to_qp_ex(p.qp[0]));
	pair_close(&p);
}

/*
 * A datagram without an address is not sent, not even to the address of the request that
 * used its slot before.
 */
static void ex_ud_unaddressed(void)
{
	struct pair_want want = { .use_ex = 1, .type = IBV_QPT_UD, .send_wr = 1 };
	struct ibv_qp_ex *qp;
	struct ibv_wc wc;
	struct pair p;
	int n;

	if (!why_known())
		return;
	pair_open(&p, &want);
	qp = ibv_qp_to_qp_ex(p.qp[0]);
	n = p.cap.max_send_wr;
	NEED(n < 256, "a ring of %d", n);
	for (int k = 0; k < 512; k++) {
		ibv_wr_start(qp);
		qp->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_send(qp);
		ibv_wr_set_ud_addr(qp, p.ah, p.qp[1]->qp_num, PAIR_QKEY);
		ibv_wr_set_sge(qp, p.mr->lkey, (uintptr_t)p.buf[0], 8);
		CHECK_ERR(ibv_wr_complete(qp), 0);
		if (!WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS))
			break;
	}
	ibv_wr_start(qp);
	qp->wr_id = 9;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, p.mr->lkey, (uintptr_t)p.buf[0], 8);
	if (!ibv_wr_complete(qp)) {
		CHECK(wait_wc(p.cq[0], &wc, WC_TIMEOUT) == 1 && wc.wr_id == 9 &&
		      wc.status != IBV_WC_SUCCESS, "a datagram without an address was sent");
		CHECK(strstr(why_text(), "address handle"), "%s", why_text());
	}
	pair_close(&p);
}

/* A queue pair created without send_ops_flags has no extended interface. */
static void ex_not_asked(void)
{
	struct pair p;

	pair_open(&p, NULL);
	CHECK(!ibv_qp_to_qp_ex(p.qp[0]), "an extended interface that nobody asked for");
	pair_close(&p);
}

/* Create many queue pairs in one process. */
static void many(void)
{
	struct pair_want want = { .stay_reset = 1 };
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp[200];
	struct pair p;

	pair_open(&p, &want);
	init.send_cq = p.cq[0];
	init.recv_cq = p.cq[1];
	for (size_t i = 0; i < ARRAY_SIZE(qp); i++) {
		qp[i] = ibv_create_qp(p.pd, &init);
		NEED(qp[i], "queue pair %zu: %s; %s", i, err_name(errno), why_text());
		for (size_t k = 0; k < i; k++)
			CHECK(qp[k]->qp_num != qp[i]->qp_num, "the same number twice");
	}
	for (size_t i = 0; i < ARRAY_SIZE(qp); i++)
		CHECK_ERR(ibv_destroy_qp(qp[i]), 0);
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
	{ "access_flags", access_flags },
	{ "rc_inline", rc_inline },
	{ "rc_inline_lengths", rc_inline_lengths },
	{ "rc_inline_write", rc_inline_write },
	{ "rc_sge", rc_sge },
	{ "rc_beyond", rc_beyond },
	{ "rc_all_sge", rc_all_sge },
	{ "rc_chain", rc_chain },
	{ "rc_unsignaled", rc_unsignaled },
	{ "rc_sig_all", rc_sig_all },
	{ "rc_fence", rc_fence },
	{ "rc_rnr", rc_rnr },
	{ "query", query },
	{ "reset_and_again", reset_and_again },
	{ "reset_forgets", reset_forgets },
	{ "reset_between_polls", reset_between_polls },
	{ "flush", flush },
	{ "uc_all", uc_all },
	{ "ud_message", ud_message },
	{ "ud_imm", ud_imm },
	{ "ud_wrong_qkey", ud_wrong_qkey },
	{ "multicast", multicast },
	{ "ex_rc", ex_rc },
	{ "ex_ud", ex_ud },
	{ "ex_ud_unaddressed", ex_ud_unaddressed },
	{ "ex_not_asked", ex_not_asked },
	{ "many", many },
};

TEST_MAIN("api_qp", cases, 30)
