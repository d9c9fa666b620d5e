// SPDX-License-Identifier: GPL-2.0
/*
 * Measures each verb: the median of many calls, minus the cost of the clock.
 * Prints NAME<TAB>NANOSECONDS. It uses nothing but the API, so the same binary
 * measures whichever library it finds. In a guest that counts instructions as time
 * the nanoseconds are instructions.
 *   calls [DEVICE]
 */
#include "measure.h"

#define SAMPLES 101

static uint64_t clock_cost;

struct series {
	uint64_t at[SAMPLES];
	int n;
};

static uint64_t middle(struct series *s)
{
	return median(s->at, s->n);
}

static double report(const char *name, struct series *s, double divisor)
{
	double ns = (double)middle(s) - (double)clock_cost;

	ns = (ns > 0 ? ns : 0) / divisor;
	printf("%s\t%.1f\n", name, ns);
	s->n = 0;
	return ns;
}

#define TIME(series, statement) do {						\
	uint64_t __from = now_ns();						\
	statement;								\
	if ((series)->n < SAMPLES)						\
		(series)->at[(series)->n++] = now_ns() - __from;		\
} while (0)

static void measure_clock(void)
{
	struct series s = { .n = 0 };

	for (int i = 0; i < SAMPLES; i++)
		TIME(&s, asm volatile("" ::: "memory"));
	clock_cost = middle(&s);
}

static struct series a, b, c;
static struct test_dev dev;
static struct ibv_pd *pd;

/* ---- Control ------------------------------------------------------------- */

static void contexts(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL), *d = NULL;

	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), dev_wanted()))
			d = list[i];
	NEED(d, "no device %s", dev_wanted());
	for (int i = 0; i < 41; i++) {
		struct ibv_context *ctx;

		TIME(&a, ctx = ibv_open_device(d));
		NEED_PTR(ctx, "open_device");
		TIME(&b, ibv_close_device(ctx));
	}
	ibv_free_device_list(list);
	report("open_device", &a, 1);
	report("close_device", &b, 1);
}

static void domains(void)
{
	for (int i = 0; i < SAMPLES; i++) {
		struct ibv_pd *p;

		TIME(&a, p = ibv_alloc_pd(dev.ctx));
		NEED_PTR(p, "alloc_pd");
		TIME(&b, ibv_dealloc_pd(p));
	}
	report("alloc_pd", &a, 1);
	report("dealloc_pd", &b, 1);
}

static void report_regions(const char *name, const char *which)
{
	double both;
	char line[64];

	snprintf(line, sizeof(line), "reg_mr %s%s", name, which);
	both = report(line, &a, 1);
	snprintf(line, sizeof(line), "dereg_mr %s%s", name, which);
	both += report(line, &b, 1);
	printf("reg_mr + dereg_mr %s%s\t%.1f\n", name, which, both);
}

static void region(char *mem, size_t length)
{
	struct ibv_mr *mr;

	TIME(&a, mr = ibv_reg_mr(pd, mem, length, ALL_ACCESS));
	NEED_PTR(mr, "reg_mr");
	TIME(&b, ibv_dereg_mr(mr));
}

/* Present memory at an address. The number of huge pages that fit would depend on it. */
static char *memory_at(char *at, size_t length)
{
	char *mem = mmap(at, length, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	NEED(mem == at, "mmap");
	madvise(mem, length, MADV_NOHUGEPAGE);
	memset(mem, 1, length);
	return mem;
}

/* uroce keeps pages for another registration; by default it does not. */
static void keep_pages(const char *mib)
{
	FILE *f;

	if (strncmp(ibv_get_device_name(dev.ctx->device), "uroce", 5))
		return;
	f = fopen("/sys/module/uroce/parameters/pin_cache_mib", "w");
	NEED(f && fputs(mib, f) >= 0 && !fclose(f), "pin_cache_mib");
}

/*
 * Memory at an address that was not registered before, and the same memory again, which uroce
 * keeps pinned. The kernel marks each page dirty when it is unpinned for the first time.
 */
static void regions(const char *name, size_t length, int times)
{
	char *space = mmap(NULL, times * length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *mem;

	NEED(space != MAP_FAILED, "mmap");
	for (int i = 0; i < times; i++) {
		mem = memory_at(space + i * length, length);
		region(mem, length);
		munmap(mem, length);
	}
	report_regions(name, "");
	mem = memory_at(space, length);
	keep_pages("64");
	for (int i = 0; i < times; i++)
		region(mem, length);
	keep_pages("0");
	munmap(space, times * length);
	report_regions(name, " again");
}

static void queues(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 64, .max_sge = 1 } };

	for (int i = 0; i < 51; i++) {
		struct ibv_cq *cq;

		TIME(&a, cq = ibv_create_cq(dev.ctx, 256, NULL, NULL, 0));
		NEED_PTR(cq, "create_cq");
		TIME(&b, ibv_destroy_cq(cq));
	}
	report("create_cq 256", &a, 1);
	report("destroy_cq 256", &b, 1);
	for (int i = 0; i < 51; i++) {
		struct ibv_srq *srq;

		TIME(&a, srq = ibv_create_srq(pd, &init));
		NEED_PTR(srq, "create_srq");
		TIME(&b, ibv_destroy_srq(srq));
	}
	report("create_srq 64", &a, 1);
	report("destroy_srq 64", &b, 1);
}

/* Measures each transition. qp_to_*() do no work that would be measured. */
static void queue_pairs(void)
{
	struct ibv_cq *cq = ibv_create_cq(dev.ctx, 256, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 1,
			 .max_recv_sge = 1, .max_inline_data = 64 },
	};
	struct series d = { .n = 0 }, e = { .n = 0 };
	double both;

	for (int i = 0; i < 51; i++) {
		struct ibv_qp *qp;

		TIME(&a, qp = ibv_create_qp(pd, &init));
		NEED_PTR(qp, "create_qp");
		TIME(&b, qp_to_init(qp));
		TIME(&c, qp_to_rtr(&dev, qp, qp->qp_num));
		TIME(&d, qp_to_rts(qp, NULL));
		TIME(&e, ibv_destroy_qp(qp));
	}
	ibv_destroy_cq(cq);
	both = report("create_qp RC 64/64", &a, 1);
	both += report("destroy_qp RC 64/64", &e, 1);
	printf("create_qp + destroy_qp RC 64/64\t%.1f\n", both);
	report("modify_qp INIT", &b, 1);
	report("modify_qp RTR", &c, 1);
	report("modify_qp RTS", &d, 1);
}

static void addresses(void)
{
	struct ibv_ah_attr attr;

	ah_attr_to(&dev, &attr);
	for (int i = 0; i < SAMPLES; i++) {
		struct ibv_ah *ah;

		TIME(&a, ah = ibv_create_ah(pd, &attr));
		NEED_PTR(ah, "create_ah");
		TIME(&b, ibv_destroy_ah(ah));
	}
	report("create_ah", &a, 1);
	report("destroy_ah", &b, 1);
}

static void queries(void)
{
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	union ibv_gid gid;

	for (int i = 0; i < SAMPLES; i++) {
		TIME(&a, ibv_query_device(dev.ctx, &attr));
		TIME(&b, ibv_query_port(dev.ctx, PORT, &port));
		TIME(&c, ibv_query_gid(dev.ctx, PORT, dev.gid_index, &gid));
	}
	report("query_device", &a, 1);
	report("query_port", &b, 1);
	report("query_gid", &c, 1);
}

/* ---- Data ---------------------------------------------------------------- */

static struct pair p;

static void inline_write(struct ibv_send_wr *wr, struct ibv_sge *sge, unsigned int flags)
{
	*sge = pair_sge(&p, 0, 0, 8);
	*wr = (struct ibv_send_wr){
		.sg_list = sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_INLINE | flags,
		.wr.rdma = { .remote_addr = (uintptr_t)p.buf[1], .rkey = p.mr->rkey },
	};
}

static void drain(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n;

	do {
		n = ibv_poll_cq(cq, 1, &wc);
	} while (!n);
	NEED(n == 1 && wc.status == IBV_WC_SUCCESS, "completion: %d, status %d", n, wc.status);
}

static void inline_writes(void)
{
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;

	inline_write(&wr, &sge, IBV_SEND_SIGNALED);
	for (int i = 0; i < 50 + SAMPLES; i++) {
		uint64_t from = now_ns(), posted;

		if (ibv_post_send(p.qp[0], &wr, &bad))
			NEED(false, "post_send");
		posted = now_ns();
		drain(p.cq[0]);
		if (i < 50)
			continue;
		b.at[b.n++] = now_ns() - from - clock_cost;
		a.at[a.n++] = posted - from;
	}
	report("RC inline 8 B: post_send", &a, 1);
	report("RC inline 8 B: to its completion", &b, 1);
}

static void chains(void)
{
	struct ibv_send_wr wr[32], *bad;
	struct ibv_sge sge[32];

	for (int i = 0; i < 32; i++) {
		inline_write(&wr[i], &sge[i], i == 31 ? IBV_SEND_SIGNALED : 0);
		wr[i].next = i < 31 ? &wr[i + 1] : NULL;
	}
	for (int i = 0; i < 10 + 51; i++) {
		uint64_t from = now_ns();

		if (ibv_post_send(p.qp[0], wr, &bad))
			NEED(false, "post_send");
		drain(p.cq[0]);
		if (i >= 10)
			a.at[a.n++] = now_ns() - from;
	}
	report("chain of 32 writes, each", &a, 32);
}

/* Measures @n requests from the post to the last completion of the sender. */
static void signaled(const char *name, int n, enum ibv_wr_opcode opcode)
{
	struct ibv_send_wr wr[32], *bad;
	struct ibv_sge sge[32];

	chain_of(&p, wr, sge, n, opcode);
	for (int i = 0; i < 10 + 51; i++) {
		uint64_t from;

		if (opcode == IBV_WR_SEND)
			receive_some(&p, n);
		from = now_ns();
		if (ibv_post_send(p.qp[0], wr, &bad))
			NEED(false, "post_send");
		for (int k = 0; k < n; k++)
			drain(p.cq[0]);
		if (i >= 10)
			a.at[a.n++] = now_ns() - from;
		for (int k = 0; opcode == IBV_WR_SEND && k < n; k++)
			drain(p.cq[1]);
	}
	report(name, &a, n);
}

/* Posts receives while messages arrive, so the receive queue stays nearly full. */
static void steady_receives(void)
{
	struct ibv_sge to = pair_sge(&p, 1, 4096, 64), sge = pair_sge(&p, 0, 0, 8);
	struct ibv_recv_wr recv = { .sg_list = &to, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED,
	}, *bad;

	for (int i = 0; i < 48; i++)
		NEED_OK(ibv_post_recv(p.qp[1], &recv, &bad_recv));
	for (int i = 0; i < 200 + SAMPLES; i++) {
		int err;

		NEED_OK(ibv_post_send(p.qp[0], &wr, &bad));
		drain(p.cq[1]);
		drain(p.cq[0]);
		if (i < 200)
			err = ibv_post_recv(p.qp[1], &recv, &bad_recv);
		else
			TIME(&a, err = ibv_post_recv(p.qp[1], &recv, &bad_recv));
		NEED_OK(err);
	}
	report("post_recv in steady traffic", &a, 1);
}

#define LOOP 200

static void polling(void)
{
	struct ibv_wc wc;

	for (int i = 0; i < 31; i++) {
		TIME(&b, for (int k = 0; k < LOOP; k++) asm volatile("" ::: "memory"));
		TIME(&a, for (int k = 0; k < LOOP; k++) ibv_poll_cq(p.cq[0], 1, &wc));
		TIME(&c, for (int k = 0; k < LOOP; k++) ibv_req_notify_cq(p.cq[0], 0));
	}
	printf("poll_cq, empty\t%.1f\n", (double)(middle(&a) - middle(&b)) / LOOP);
	printf("req_notify_cq\t%.1f\n", (double)(middle(&c) - middle(&b)) / LOOP);
	a.n = b.n = c.n = 0;
}

int main(int argc, char **argv)
{
	struct pair_want want = { .send_sge = 1, .recv_sge = 1 };

	if (argc > 1)
		setenv("UNIV_TEST_DEVICE", argv[1], 1);
	test_program = "calls";
	measure_clock();
	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	NEED_PTR(pd, "alloc_pd");
	contexts();
	domains();
	regions("4 KiB", 4096, 51);
	regions("1 MiB", 1 << 20, 31);
	regions("64 MiB", 64 << 20, 7);
	queues();
	queue_pairs();
	addresses();
	queries();
	ibv_dealloc_pd(pd);
	dev_close(&dev);
	pair_open(&p, &want);
	inline_writes();
	chains();
	signaled("RC send 64 B: to its completion", 1, IBV_WR_SEND);
	signaled("chain of 32 signaled sends, each", 32, IBV_WR_SEND);
	signaled("RC read 64 B: to its completion", 1, IBV_WR_RDMA_READ);
	signaled("chain of 32 signaled reads, each", 32, IBV_WR_RDMA_READ);
	steady_receives();
	polling();
	pair_close(&p);
	return test_failures ? 1 : 0;
}
