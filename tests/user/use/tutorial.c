// SPDX-License-Identifier: GPL-2.0
/*
 * A first program with verbs, in the order of most tutorials: the device list, a context, a
 * protection domain, memory, a completion queue, a queue pair and its three transitions,
 * one message, its completions, and the destruction of all objects. The queue pair is its
 * own peer.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/verbs.h>

#define MESSAGE "hello, verbs"
#define SIZE 4096

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* Find the first GID for RoCEv2: an IPv4-mapped IPv6 address. */
static int find_gid(struct ibv_context *ctx, int entries, union ibv_gid *gid)
{
	static const uint8_t v4[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	int i;

	for (i = 0; i < entries; i++)
		if (!ibv_query_gid(ctx, 1, i, gid) && !memcmp(gid->raw, v4, sizeof(v4)))
			return i;
	fprintf(stderr, "no usable GID\n");
	exit(1);
}

static void connect_to_itself(struct ibv_qp *qp, struct ibv_port_attr *port,
			      union ibv_gid *gid, int gid_index)
{
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT,
		.pkey_index = 0,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
	};
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = port->active_mtu,
		.dest_qp_num = qp->qp_num,
		.rq_psn = 0,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {
			.is_global = 1,
			.grh = { .dgid = *gid, .sgid_index = gid_index, .hop_limit = 1 },
			.port_num = 1,
		},
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.sq_psn = 0,
		.max_rd_atomic = 1,
	};

	if (ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			  IBV_QP_ACCESS_FLAGS))
		die("to INIT");
	if (ibv_modify_qp(qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			  IBV_QP_MIN_RNR_TIMER))
		die("to RTR");
	if (ibv_modify_qp(qp, &rts, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			  IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		die("to RTS");
}

static void send_and_receive(struct ibv_qp *qp, struct ibv_mr *mr, char *out, char *in)
{
	struct ibv_sge from = { (uintptr_t)out, sizeof(MESSAGE), mr->lkey };
	struct ibv_sge to = { (uintptr_t)in, SIZE / 2, mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = 1, .sg_list = &to, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = {
		.wr_id = 2,
		.sg_list = &from,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad_send;

	if (ibv_post_recv(qp, &recv, &bad_recv))
		die("post_recv");
	if (ibv_post_send(qp, &send, &bad_send))
		die("post_send");
}

/* Wait for the completions of the receive and the send. */
static void wait_for_two(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int done = 0, n;

	while (done < 2) {
		n = ibv_poll_cq(cq, 1, &wc);
		if (n < 0)
			die("poll_cq");
		if (!n)
			continue;
		if (wc.status != IBV_WC_SUCCESS) {
			fprintf(stderr, "request %llu: %s\n", (unsigned long long)wc.wr_id,
				ibv_wc_status_str(wc.status));
			exit(1);
		}
		done++;
	}
}

int main(void)
{
	struct ibv_device **list;
	struct ibv_context *ctx;
	struct ibv_port_attr port;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	union ibv_gid gid;
	int gid_index;
	char *buf;

	list = ibv_get_device_list(NULL);
	if (!list || !list[0])
		die("no RDMA device");
	ctx = ibv_open_device(list[0]);
	if (!ctx)
		die("open_device");
	printf("device %s\n", ibv_get_device_name(list[0]));
	ibv_free_device_list(list);

	if (ibv_query_port(ctx, 1, &port))
		die("query_port");
	gid_index = find_gid(ctx, port.gid_tbl_len, &gid);

	pd = ibv_alloc_pd(ctx);
	if (!pd)
		die("alloc_pd");
	buf = calloc(1, SIZE);
	if (!buf)
		die("calloc");
	mr = ibv_reg_mr(pd, buf, SIZE, IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		die("reg_mr");
	cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	if (!cq)
		die("create_cq");
	init.send_cq = cq;
	init.recv_cq = cq;
	qp = ibv_create_qp(pd, &init);
	if (!qp)
		die("create_qp");
	connect_to_itself(qp, &port, &gid, gid_index);

	strcpy(buf, MESSAGE);
	send_and_receive(qp, mr, buf, buf + SIZE / 2);
	wait_for_two(cq);
	printf("received \"%s\"\n", buf + SIZE / 2);
	if (strcmp(buf + SIZE / 2, MESSAGE))
		return 1;

	if (ibv_destroy_qp(qp))
		die("destroy_qp");
	if (ibv_destroy_cq(cq))
		die("destroy_cq");
	if (ibv_dereg_mr(mr))
		die("dereg_mr");
	if (ibv_dealloc_pd(pd))
		die("dealloc_pd");
	if (ibv_close_device(ctx))
		die("close_device");
	free(buf);
	return 0;
}
