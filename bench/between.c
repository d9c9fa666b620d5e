// SPDX-License-Identifier: GPL-2.0
/*
 * Measures the cost of traffic for two hosts: the time in which the processor was not
 * idle. In guests that count instructions as time, this is a number of instructions.
 * Both ends sleep while they have no work. Prints NAME<TAB>NUMBER, for one request.
 *   between DEVICE [SERVER]
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PORT 18516
#define GID_INDEX 1
#define DEPTH 64
#define LARGE (1u << 20)
#define LONGEST (4u << 20)

#define NEED(true_, what)							\
	do {									\
		if (!(true_)) {							\
			fprintf(stderr, "between: %s: %s\n", what, strerror(errno)); \
			exit(1);						\
		}								\
	} while (0)

/* The message that each end sends to the other. */
struct end {
	union ibv_gid gid;
	uint64_t addr;
	uint32_t rkey;
	uint32_t qpn;
	uint64_t busy;
};

/* In place of an opcode: the bytes go over the socket. */
#define TCP (-1)

static const struct {
	const char *name;
	int opcode;
	uint32_t length;
	int at_once;		/* as many requests are outstanding */
	int few;
	int many;
} cases[] = {
	{ "TCP, 1 MiB", TCP, LARGE, 1, 16, 272 },
	{ "write 1 MiB", IBV_WR_RDMA_WRITE, LARGE, 4, 16, 272 },
	{ "read 1 MiB", IBV_WR_RDMA_READ, LARGE, 4, 16, 272 },
	{ "write 4 MiB", IBV_WR_RDMA_WRITE, LONGEST, 1, 4, 68 },
	{ "read 4 MiB", IBV_WR_RDMA_READ, LONGEST, 1, 4, 68 },
	{ "write 64 B", IBV_WR_RDMA_WRITE, 64, DEPTH / 2, 500, 100500 },
	{ "write 64 B, one at a time", IBV_WR_RDMA_WRITE, 64, 1, 500, 20500 },
	{ "send 64 B", IBV_WR_SEND, 64, DEPTH / 2, 500, 100500 },
};

static struct ibv_context *ctx;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static struct ibv_port_attr port;
static struct end here, there;
static char *memory;
static int sock;

static void set_up(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { DEPTH, DEPTH, 1, 1, 0 },
	};
	struct ibv_pd *pd;
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	NEED(ctx, name);
	NEED(pd = ibv_alloc_pd(ctx), "alloc_pd");
	NEED(channel = ibv_create_comp_channel(ctx), "create_comp_channel");
	NEED(cq = ibv_create_cq(ctx, 2 * DEPTH, NULL, channel, 0), "create_cq");
	init.send_cq = cq;
	init.recv_cq = cq;
	NEED(qp = ibv_create_qp(pd, &init), "create_qp");
	memory = mmap(NULL, LONGEST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(memory != MAP_FAILED, "mmap");
	/* The number of huge pages that fit depends on the address of the memory. */
	madvise(memory, LONGEST, MADV_NOHUGEPAGE);
	memset(memory, 1, LONGEST);
	NEED(mr = ibv_reg_mr(pd, memory, LONGEST, IBV_ACCESS_LOCAL_WRITE |
			     IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ), "reg_mr");
	NEED(!ibv_query_port(ctx, 1, &port), "query_port");
	NEED(!ibv_query_gid(ctx, 1, GID_INDEX, &here.gid), "query_gid");
	here.addr = (uintptr_t)memory;
	here.rkey = mr->rkey;
	here.qpn = qp->qp_num;
}

static void join(const char *server)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int one = 1, tries;

	sock = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (server) {
		inet_pton(AF_INET, server, &addr.sin_addr);
		for (tries = 0; connect(sock, (void *)&addr, sizeof(addr)) && tries < 600; tries++)
			usleep(100000);
	} else {
		NEED(!bind(sock, (void *)&addr, sizeof(addr)) && !listen(sock, 1), "listen");
		sock = accept(sock, NULL, NULL);
	}
	setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/* Waits until both ends have reached this point. */
static void meet(void)
{
	NEED(write(sock, &here, sizeof(here)) == sizeof(here), "write");
	NEED(recv(sock, &there, sizeof(there), MSG_WAITALL) == sizeof(there), "recv");
}

static void connect_qp(void)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};

	NEED(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			    IBV_QP_ACCESS_FLAGS), "to INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR, .path_mtu = port.active_mtu, .dest_qp_num = there.qpn,
		.max_dest_rd_atomic = 4, .min_rnr_timer = 12,
		.ah_attr = {
			.is_global = 1, .port_num = 1,
			.grh = { .dgid = there.gid, .sgid_index = GID_INDEX, .hop_limit = 64 },
		},
	};
	NEED(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			    IBV_QP_MIN_RNR_TIMER), "to RTR");
	/* Guests that count instructions are slow, so wait four seconds. */
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 20, .retry_cnt = 7, .rnr_retry = 7,
		.max_rd_atomic = 4,
	};
	NEED(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			    IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC), "to RTS");
}

/* Returns the microseconds since boot in which the machine was not idle. */
static uint64_t busy(void)
{
	double up, idle;
	FILE *file = fopen("/proc/uptime", "r");

	NEED(file && fscanf(file, "%lf %lf", &up, &idle) == 2, "/proc/uptime");
	fclose(file);
	return (up - idle) * 1e6;
}

static void post(enum ibv_wr_opcode opcode, uint32_t length)
{
	struct ibv_sge sge = { here.addr, length, mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { there.addr, there.rkey },
	}, *bad;

	NEED(!ibv_post_send(qp, &wr, &bad), "post_send");
}

static void post_recv(void)
{
	struct ibv_sge sge = { here.addr, 4096, mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	NEED(!ibv_post_recv(qp, &wr, &bad), "post_recv");
}

/* Waits for at least one completion. */
static int completed(void)
{
	struct ibv_wc wc[DEPTH];
	struct ibv_cq *which;
	void *context;
	int i, n;

	while (!(n = ibv_poll_cq(cq, DEPTH, wc))) {
		ibv_req_notify_cq(cq, 0);
		n = ibv_poll_cq(cq, DEPTH, wc);
		if (n)
			break;
		NEED(!ibv_get_cq_event(channel, &which, &context), "get_cq_event");
		ibv_ack_cq_events(which, 1);
	}
	for (i = 0; i < n; i++) {
		if (!wc[i].status)
			continue;
		fprintf(stderr, "between: %s\n", ibv_wc_status_str(wc[i].status));
		exit(1);
	}
	return n;
}

static void stream(int times, bool client)
{
	size_t done;
	ssize_t n;

	for (; times; times--) {
		for (done = 0; done < LARGE; done += n) {
			n = client ? send(sock, memory + done, LARGE - done, 0) :
				     recv(sock, memory + done, LARGE - done, 0);
			NEED(n > 0, "the socket");
		}
	}
}

static void ask(int which, int times)
{
	int posted = 0, done = 0;

	if (cases[which].opcode == TCP) {
		stream(times, true);
		return;
	}
	while (done < times) {
		for (; posted < times && posted - done < cases[which].at_once; posted++)
			post(cases[which].opcode, cases[which].length);
		done += completed();
	}
}

static void serve(int which, int times)
{
	int done = 0, n;

	if (cases[which].opcode == TCP)
		stream(times, false);
	if (cases[which].opcode != IBV_WR_SEND)
		return;
	while (done < times) {
		n = completed();
		done += n;
		while (n--)
			post_recv();
	}
}

/* Returns the cost for both ends, in nanoseconds. */
static uint64_t spend(int which, int times, bool client)
{
	uint64_t ours, theirs;

	meet();
	ours = busy();
	if (client)
		ask(which, times);
	else
		serve(which, times);
	here.busy = busy() - ours;
	meet();
	/* Count again: the client still writes while the server sleeps in meet(). */
	here.busy = busy() - ours;
	meet();
	theirs = there.busy;
	return (here.busy + theirs) * 1000;
}

int main(int argc, char **argv)
{
	bool client = argc > 2;
	uint64_t few, many;
	unsigned int i;

	NEED(argc > 1, "which device?");
	set_up(argv[1]);
	join(argv[2]);
	meet();
	connect_qp();
	for (i = 0; i < DEPTH; i++)
		post_recv();
	meet();
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		few = spend(i, cases[i].few, client);
		many = spend(i, cases[i].many, client);
		if (client)
			printf("%s\t%llu\n", cases[i].name, (unsigned long long)
			       ((many - few) / (cases[i].many - cases[i].few)));
		fflush(stdout);
	}
	return 0;
}
