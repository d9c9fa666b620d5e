// SPDX-License-Identifier: GPL-2.0
/*
 * Compares large messages with a copy of the same bytes by the kernel, and many queue
 * pairs with one, and measures how long it takes to destroy many. Prints NAME<TAB>NUMBER;
 * in a guest that counts instructions as time, a nanosecond is an instruction.
 *   traffic [DEVICE]
 */
#include "measure.h"

#define LARGE (1u << 20)
#define TIMES 9
/* The queue pairs are connected in pairs. */
#define SOME 1000
#define QUEUES 10000
#define ROUNDS 3
#define SMALL 64

static struct test_dev dev;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp[QUEUES];
static struct ibv_mr *mr[2];
static char *mem[2];

static void set_up(void)
{
	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	NEED_PTR(pd, "alloc_pd");
	cq = ibv_create_cq(dev.ctx, 256, NULL, NULL, 0);
	NEED_PTR(cq, "create_cq");
	for (int i = 0; i < 2; i++) {
		mem[i] = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		NEED(mem[i] != MAP_FAILED, "mmap");
		/* The number of huge pages that fit depends on the address of the memory. */
		madvise(mem[i], LARGE, MADV_NOHUGEPAGE);
		memset(mem[i], i + 1, LARGE);
		mr[i] = ibv_reg_mr(pd, mem[i], LARGE, ALL_ACCESS);
		NEED_PTR(mr[i], "reg_mr");
	}
}

static void open_queues(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	for (int i = 0; i < QUEUES; i++)
		NEED_PTR(qp[i] = ibv_create_qp(pd, &init), "create_qp");
	for (int i = 0; i < QUEUES; i++)
		qp_connect(&dev, qp[i], qp[i ^ 1]->qp_num, NULL);
}

/* Runs one request, from its post to its completion. */
static void transfer(struct ibv_qp *on, enum ibv_wr_opcode opcode, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)mem[0], length, mr[0]->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)mem[1], mr[1]->rkey },
	}, *bad;
	struct ibv_wc wc;
	int n;

	NEED_OK(ibv_post_send(on, &wr, &bad));
	do {
		n = ibv_poll_cq(cq, 1, &wc);
	} while (!n);
	NEED(n == 1 && wc.status == IBV_WC_SUCCESS, "completion: %d, status %d", n, wc.status);
}

static int file = -1;

static void copy_by_kernel(void)
{
	NEED(pwrite(file, mem[0], LARGE, 0) == LARGE, "pwrite");
}

static void write_large(void)
{
	transfer(qp[0], IBV_WR_RDMA_WRITE, LARGE);
}

static void read_large(void)
{
	transfer(qp[0], IBV_WR_RDMA_READ, LARGE);
}

static double measure(const char *name, void (*what)(void))
{
	uint64_t took[TIMES], middle;

	what();
	for (int i = 0; i < TIMES; i++) {
		uint64_t from = now_ns();

		what();
		took[i] = now_ns() - from;
	}
	middle = median(took, TIMES);
	printf("%s\t%" PRIu64 "\n", name, middle);
	return middle;
}

/* Copies from a process to memory that is mapped: the least work of a message. */
static void large_messages(void)
{
	double copy, moved;

	file = memfd_create("copy", 0);
	NEED(file >= 0, "memfd_create");
	copy = measure("kernel's copy 1 MiB", copy_by_kernel);
	moved = measure("RC write 1 MiB", write_large);
	printf("RC write 1 MiB, speed of the copy\t%.2f\n", copy / moved);
	moved = measure("RC read 1 MiB", read_large);
	printf("RC read 1 MiB, speed of the copy\t%.2f\n", copy / moved);
	close(file);
}

static double round_robin(int queues)
{
	int messages = ROUNDS * (queues > SOME ? queues : SOME);
	uint64_t from;

	for (int i = 0; i < queues; i++)
		transfer(qp[i], IBV_WR_RDMA_WRITE, SMALL);
	from = now_ns();
	for (int i = 0; i < messages; i++)
		transfer(qp[i % queues], IBV_WR_RDMA_WRITE, SMALL);
	return (double)(now_ns() - from) / messages;
}

/* @how: how the names of the rows begin */
static void many_queues(const char *how)
{
	double one = round_robin(1), some = round_robin(SOME), all = round_robin(QUEUES);

	printf("%s64 B, one queue pair\t%.1f\n", how, one);
	printf("%s64 B, %d in turn\t%.1f\n", how, SOME, some);
	printf("%s64 B, %d to one\t%.2f\n", how, SOME, some / one);
	printf("%s64 B, %d in turn\t%.1f\n", how, QUEUES, all);
	printf("%s64 B, %d to one\t%.2f\n", how, QUEUES, all / one);
}

static void destroy_queues(const char *how)
{
	uint64_t from = now_ns();

	for (int i = 0; i < QUEUES; i++)
		NEED_OK(ibv_destroy_qp(qp[i]));
	printf("%sdestroy %d, s\t%.3f\n", how, QUEUES, (now_ns() - from) / 1e9);
}

/* Queue pairs of uroce copy within a host unless they have to use packets. */
static void by_packets_too(void)
{
	if (!on_uroce())
		return;
	use_packets(true);
	open_queues();
	many_queues("packets: RC write ");
	destroy_queues("packets: ");
	use_packets(false);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		setenv("UNIV_TEST_DEVICE", argv[1], 1);
	test_program = "traffic";
	set_up();
	open_queues();
	large_messages();
	many_queues("RC write ");
	destroy_queues("");
	by_packets_too();
	for (int i = 0; i < 2; i++)
		ibv_dereg_mr(mr[i]);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	dev_close(&dev);
	return test_failures ? 1 : 0;
}
