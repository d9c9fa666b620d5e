// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel writes into memory that the program never initialised: received and read
 * bytes, results of atomics, tables, completions, events. The program branches on each
 * byte, so that a checker of uninitialised memory which was not told of such a write
 * reports it.
 */
#include "testlib.h"

#define SIZE 256

/* Branch on each byte. */
static unsigned int weigh(const void *mem, size_t len)
{
	const uint8_t *byte = mem;
	unsigned int set = 0;

	for (size_t i = 0; i < len; i++)
		if (byte[i])
			set++;
	return set;
}

struct fresh {
	struct pair p;
	uint8_t *mem;
	struct ibv_mr *mr;
};

static void fresh_open(struct fresh *f)
{
	struct pair_want want = { .use_channel = 1 };

	pair_open(&f->p, &want);
	fill(f->p.buf[0], PAIR_HALF, 1);
	f->mem = malloc(2 * SIZE);
	NEED_PTR(f->mem, "malloc");
	f->mr = ibv_reg_mr(f->p.pd, f->mem, 2 * SIZE, ALL_ACCESS);
	NEED_PTR(f->mr, "reg_mr");
}

static void fresh_close(struct fresh *f)
{
	NEED_OK(ibv_dereg_mr(f->mr));
	free(f->mem);
	pair_close(&f->p);
}

/* Wait for the completion by an event; both are written to this function's stack. */
static void finish(struct pair *p, struct ibv_cq *cq)
{
	struct ibv_cq *of;
	struct ibv_wc wc;
	void *context;

	NEED_OK(ibv_req_notify_cq(cq, 0));
	if (wait_wc(cq, &wc, 0) != 1) {
		NEED_OK(ibv_get_cq_event(p->ch, &of, &context));
		ibv_ack_cq_events(of, 1);
		CHECK(of == cq && context, "the event is another queue's");
		NEED(wait_wc(cq, &wc, WC_TIMEOUT) == 1, "no completion");
	}
	CHECK(wc.status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc.status));
	CHECK(wc.wr_id == 7, "wr_id %" PRIu64, wc.wr_id);
}

static void message(void)
{
	struct fresh f;
	struct ibv_sge sge;

	fresh_open(&f);
	sge = (struct ibv_sge){ (uintptr_t)f.mem, SIZE, f.mr->lkey };
	NEED_OK(post_recv(&f.p, 1, 7, &sge, 1));
	NEED_OK(post_send_at(&f.p, 0, 8, 0, SIZE, 0));
	finish(&f.p, f.p.cq[1]);
	CHECK(weigh(f.mem, SIZE) > SIZE / 2, "what was received is zero");
	CHECK_BYTES(f.mem, SIZE, 1, "received");
	fresh_close(&f);
}

static void one_sided(enum ibv_wr_opcode opcode, uint32_t len)
{
	struct fresh f;
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .wr_id = 7, .sg_list = &sge, .num_sge = 1, .opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED };

	fresh_open(&f);
	sge = (struct ibv_sge){ (uintptr_t)f.mem, len, f.mr->lkey };
	if (opcode == IBV_WR_RDMA_READ) {
		wr.wr.rdma.remote_addr = (uintptr_t)f.p.buf[0];
		wr.wr.rdma.rkey = f.p.mr->rkey;
	} else {
		wr.wr.atomic.remote_addr = (uintptr_t)f.p.buf[0];
		wr.wr.atomic.rkey = f.p.mr->rkey;
		wr.wr.atomic.compare_add = 1;
	}
	NEED_OK(post_one(&f.p, 1, &wr));
	finish(&f.p, f.p.cq[1]);
	CHECK(weigh(f.mem, len), "what was read is zero");
	fresh_close(&f);
}

static void read_bytes(void)
{
	one_sided(IBV_WR_RDMA_READ, SIZE);
}

static void atomic(void)
{
	one_sided(IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
}

/* The peer writes; this side posts nothing. */
static void written(void)
{
	struct fresh f;
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .wr_id = 7, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED };

	fresh_open(&f);
	sge = pair_sge(&f.p, 0, 0, SIZE);
	wr.wr.rdma.remote_addr = (uintptr_t)f.mem;
	wr.wr.rdma.rkey = f.mr->rkey;
	NEED_OK(post_one(&f.p, 0, &wr));
	finish(&f.p, f.p.cq[0]);
	CHECK_BYTES(f.mem, SIZE, 1, "written");
	fresh_close(&f);
}

static void tables(void)
{
	struct ibv_context *ctx = dev_open_named(dev_wanted());
	struct ibv_gid_entry *entries = malloc(64 * sizeof(*entries));
	struct ibv_device_attr *attr = malloc(sizeof(*attr));
	struct ibv_port_attr *port = malloc(sizeof(*port));
	ssize_t n;

	NEED(ctx && entries && attr && port, "open: %s", err_name(errno));
	n = ibv_query_gid_table(ctx, entries, 64, 0);
	CHECK(n > 0, "%zd entries", n);
	for (ssize_t i = 0; i < n; i++)
		CHECK(weigh(&entries[i], sizeof(entries[i])), "entry %zd is zero", i);
	NEED_OK(ibv_query_device(ctx, attr));
	CHECK(weigh(attr->fw_ver, sizeof(attr->fw_ver)) < 64 && weigh(&attr->node_guid, 8) &&
	      attr->max_qp > 0, "no device's attributes");
	NEED_OK(ibv_query_port(ctx, PORT, port));
	CHECK(port->state == IBV_PORT_ACTIVE && port->lid == 0, "no active port");
	free(entries);
	free(attr);
	free(port);
	NEED_OK(ibv_close_device(ctx));
}

static const struct test_case cases[] = {
	{ "message", message },
	{ "read_bytes", read_bytes },
	{ "atomic", atomic },
	{ "written", written },
	{ "tables", tables },
};

TEST_MAIN("defined", cases, 60)
