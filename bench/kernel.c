// SPDX-License-Identifier: GPL-2.0
/*
 * Measures the part of a request that the kernel executes in the post: the time of
 * the ioctl(2) that the library calls for it, minus that of an ioctl(2) that univerbs
 * does not know, which has the same way into the module. Prints NAME<TAB>NANOSECONDS
 * of each request. Its ioctl() replaces the C library's. The stock library posts by
 * write(2), so it has no figures here.
 *   kernel [DEVICE]
 */
#include <stdarg.h>
#include <sys/syscall.h>
#include "measure.h"

#define SAMPLES 51
#define MOST 32

static struct pair p;
static uint64_t spent;
static int last_fd = -1;

int ioctl(int fd, unsigned long request, ...)
{
	uint64_t from;
	va_list args;
	void *arg;
	long ret;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	from = now_ns();
	ret = syscall(SYS_ioctl, fd, request, arg);
	spent += now_ns() - from;
	last_fd = fd;
	return ret;
}

/* A request of another driver, to the file descriptor of the last post. */
static double unknown_request(void)
{
	uint64_t at[SAMPLES];

	for (int i = 0; i < SAMPLES; i++) {
		spent = 0;
		NEED(ioctl(last_fd, _IO('U', 0xff), NULL) < 0, "an unknown request succeeded");
		at[i] = spent;
	}
	return median(at, SAMPLES);
}

static void drain(struct ibv_cq *cq, int n)
{
	struct ibv_wc wc;

	for (int k = 0; k < n; k++)
		NEED(wait_wc(cq, &wc, 1000) == 1 && wc.status == IBV_WC_SUCCESS, "completion");
}

static void measure(const char *name, int n, enum ibv_wr_opcode opcode)
{
	struct ibv_send_wr wr[MOST], *bad;
	struct ibv_sge sge[MOST];
	uint64_t at[SAMPLES];
	double kernel;

	chain_of(&p, wr, sge, n, opcode);
	for (int i = -10; i < SAMPLES; i++) {
		if (opcode == IBV_WR_SEND)
			receive_some(&p, n);
		spent = 0;
		NEED_OK(ibv_post_send(p.qp[0], wr, &bad));
		if (i >= 0)
			at[i] = spent;
		drain(p.cq[0], n);
		if (opcode == IBV_WR_SEND)
			drain(p.cq[1], n);
	}
	kernel = median(at, SAMPLES);
	if (kernel)
		printf("%s\t%.1f\n", name, (kernel - unknown_request()) / n);
}

int main(int argc, char **argv)
{
	struct pair_want want = { .send_sge = 1, .recv_sge = 1 };

	if (argc > 1)
		setenv("UNIV_TEST_DEVICE", argv[1], 1);
	test_program = "kernel";
	pair_open(&p, &want);
	measure("kernel: RC write 64 B", 1, IBV_WR_RDMA_WRITE);
	measure("kernel: chain of 32 writes, each", MOST, IBV_WR_RDMA_WRITE);
	measure("kernel: RC send 64 B", 1, IBV_WR_SEND);
	measure("kernel: chain of 32 sends, each", MOST, IBV_WR_SEND);
	measure("kernel: RC read 64 B", 1, IBV_WR_RDMA_READ);
	measure("kernel: chain of 32 reads, each", MOST, IBV_WR_RDMA_READ);
	pair_close(&p);
	return test_failures ? 1 : 0;
}
