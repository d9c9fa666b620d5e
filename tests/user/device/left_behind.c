// SPDX-License-Identifier: GPL-2.0
/*
 * adv25. A device leaves its network namespace, which ends, while a process has a connection of it
 * and has joined a multicast group that every host is in. The process has many queue pairs, so that
 * its context takes longer to end than the namespace.
 *   left_behind 'ip -n NAMESPACE link set ... ; ip netns del NAMESPACE'
 */
#include "side.h"

#define DEPTH	4
#define QPS	1500

static struct ibv_qp_init_attr rc = { .qp_type = IBV_QPT_RC, .cap = { DEPTH, DEPTH, 1, 1, 0 } };

/* The kernel destroys queue pairs in the order of their creation. */
static struct ibv_qp *create_last(struct side *s)
{
	struct ibv_qp_init_attr init = rc;
	struct ibv_qp *qp = NULL;

	init.send_cq = s->cq;
	init.recv_cq = s->cq;
	for (int i = 0; i < QPS; i++) {
		qp = ibv_create_qp(s->pd, &init);
		NEED_PTR(qp, "create_qp");
	}
	return qp;
}

static void connect_to(const struct side *s, struct ibv_qp *qp, const struct side *peer,
		       uint32_t dest)
{
	struct test_dev way = s->dev;

	way.gid = peer->dev.gid;
	way.port.active_mtu = IBV_MTU_1024;
	qp_connect(&way, qp, dest, NULL);
}

/*
 * Each side writes to the other and reads from it, so that both have sent requests and
 * responses.
 */
static void talk(struct side *s, struct ibv_qp *qp, struct side *peer)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ };
	struct ibv_wc wc;

	for (int i = 0; i < 4; i++) {
		struct side *from = i < 2 ? s : peer, *to = i < 2 ? peer : s;
		struct ibv_sge sge = { (uintptr_t)from->buf, 3000, from->mr->lkey };
		struct ibv_send_wr wr = {
			.sg_list = &sge, .num_sge = 1, .opcode = opcodes[i % 2],
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { (uintptr_t)to->buf, to->mr->rkey },
		}, *bad;

		NEED_OK(ibv_post_send(i < 2 ? qp : peer->qp, &wr, &bad));
		WANT_WC(from->cq, &wc, IBV_WC_SUCCESS);
	}
}

static void join_all_nodes(struct side *s)
{
	struct ibv_qp_init_attr init = rc;
	union ibv_gid all = { .raw = { 0xff, 0x02, [15] = 1 } };
	struct ibv_qp *qp;

	init.qp_type = IBV_QPT_UD;
	init.send_cq = s->cq;
	init.recv_cq = s->cq;
	qp = ibv_create_qp(s->pd, &init);
	NEED_PTR(qp, "create_qp");
	qp_connect(&s->dev, qp, 0, NULL);
	NEED_OK(ibv_attach_mcast(qp, &all, 0));
}

int main(int argc, char **argv)
{
	struct side side[2] = {};
	struct ibv_qp *last;
	int status;

	setvbuf(stdout, NULL, _IOLBF, 0);
	test_program = "left_behind (adv25)";
	NEED(argc == 2, "usage: left_behind COMMAND");
	test_limit(60);
	sides_open(side, rc, 4096);
	last = create_last(&side[0]);
	connect_to(&side[0], last, &side[1], side[1].qp->qp_num);
	connect_to(&side[1], side[1].qp, &side[0], last->qp_num);
	talk(&side[0], last, &side[1]);
	join_all_nodes(&side[0]);
	status = system(argv[1]);
	NEED(!status, "%s: status %#x", argv[1], status);
	/* The context has been torn down when a call returns ENODEV. */
	while (!ibv_modify_qp(last, &(struct ibv_qp_attr){ .qp_state = IBV_QPS_ERR }, IBV_QP_STATE))
		sleep_ms(10);
	CHECK(errno == ENODEV, "%s", err_name(errno));
	return test_failures ? 1 : 0;
}
