// SPDX-License-Identifier: GPL-2.0
/*
 * Completions of uroce that tell which check has failed, for mistakes that rdma_rxe reports
 * by a status alone. mistakes.h lists the other kinds.
 */
#include <sys/wait.h>
#include <infiniband/univerbs_verbs.h>
#include "mistakes.h"

#define WINDOW_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND)

static struct pair p;

static void fails(int i, struct ibv_send_wr *wr, enum ibv_wc_status want)
{
	struct ibv_wc wc;

	forget();
	wr->send_flags = IBV_SEND_SIGNALED;
	CHECK_ERR(post_one(&p, i, wr), 0);
	WANT_WC(p.cq[i], &wc, want);
}

/* ---- windows ------------------------------------------------------------------- */

struct window {
	struct ibv_mr *mr;
	struct ibv_mw *mw;
};

/* Allocate a window in the protection domain of queue pair 0, and a region of 4096 bytes for it. */
static void window_open(struct window *w, enum ibv_mw_type type, int access)
{
	pair_open(&p, NULL);
	w->mr = ibv_reg_mr(p.pd, p.buf[0], 4096, access);
	NEED_PTR(w->mr, "reg_mr");
	w->mw = ibv_alloc_mw(p.pd, type);
	NEED_PTR(w->mw, "alloc_mw");
}

static void window_close(struct window *w)
{
	CHECK_ERR(ibv_dealloc_mw(w->mw), 0);
	CHECK_ERR(ibv_dereg_mr(w->mr), 0);
	pair_close(&p);
}

static struct ibv_send_wr bind_wr(const struct window *w, uint64_t length, unsigned int access)
{
	return (struct ibv_send_wr){
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = { w->mw, w->mw->rkey, { w->mr, (uintptr_t)w->mr->addr, length, access } },
	};
}

static void bind_fails(enum ibv_mw_type type, int access, uint64_t length, unsigned int window_access)
{
	struct ibv_send_wr wr;
	struct window w;

	window_open(&w, type, access);
	wr = bind_wr(&w, length, window_access);
	fails(0, &wr, IBV_WC_MW_BIND_ERR);
	window_close(&w);
}

static void bind_refused(void)
{
	bind_fails(IBV_MW_TYPE_2, IBV_ACCESS_LOCAL_WRITE, 64, IBV_ACCESS_REMOTE_READ);
	SAYS("memory window bind error", "lkey", "without IBV_ACCESS_MW_BIND");
	bind_fails(IBV_MW_TYPE_2, IBV_ACCESS_MW_BIND, 64, IBV_ACCESS_REMOTE_WRITE);
	SAYS("memory window bind error", "lkey", "without IBV_ACCESS_LOCAL_WRITE");
	bind_fails(IBV_MW_TYPE_2, WINDOW_ACCESS, 4097, IBV_ACCESS_REMOTE_READ);
	SAYS("memory window bind error", "lkey", "does not have all of the window's bytes");
	bind_fails(IBV_MW_TYPE_2, WINDOW_ACCESS, 64, 1u << 31);
	SAYS("memory window bind error", "access flags");
}

static void bind_unknown_region(void)
{
	struct ibv_send_wr wr;
	struct ibv_mr gone;
	struct window w;

	window_open(&w, IBV_MW_TYPE_2, WINDOW_ACCESS);
	gone = *w.mr;
	gone.lkey += 77777;
	wr = bind_wr(&w, 64, IBV_ACCESS_REMOTE_READ);
	wr.bind_mw.bind_info.mr = &gone;
	fails(0, &wr, IBV_WC_MW_BIND_ERR);
	SAYS("memory window bind error", "lkey", "protection domain");
	window_close(&w);
}

static void bind_twice(void)
{
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	struct window w;

	window_open(&w, IBV_MW_TYPE_2, WINDOW_ACCESS);
	wr = bind_wr(&w, 64, IBV_ACCESS_REMOTE_READ);
	wr.send_flags = IBV_SEND_SIGNALED;
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	fails(0, &wr, IBV_WC_MW_BIND_ERR);
	SAYS("memory window bind error", "bound already", "IBV_WR_LOCAL_INV");
	window_close(&w);
}

static void invalidate_region(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_LOCAL_INV };

	pair_open(&p, NULL);
	wr.invalidate_rkey = p.mr->rkey;
	fails(0, &wr, IBV_WC_LOC_QP_OP_ERR);
	SAYS("local queue pair operation error", "to be invalidated", "memory window of type 2");
	pair_close(&p);
}

/* ---- requests that the peer refuses ------------------------------------------------ */

/* The remote address is a multiple of 8, but the memory that it maps to is not aligned. */
static void atomic_askew(void)
{
	const unsigned int access = IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED;
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	struct window w;

	window_open(&w, IBV_MW_TYPE_2, WINDOW_ACCESS);
	wr = bind_wr(&w, 64, access);
	wr.bind_mw.bind_info.addr += 4;
	wr.bind_mw.rkey = ibv_inc_rkey(w.mw->rkey);
	wr.send_flags = IBV_SEND_SIGNALED;
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	sge = pair_sge(&p, 1, 0, 8);
	wr = (struct ibv_send_wr){
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .sg_list = &sge, .num_sge = 1,
		.wr.atomic.rkey = wr.bind_mw.rkey,
	};
	fails(1, &wr, IBV_WC_REM_INV_REQ_ERR);
	SAYS("remote invalid request", "8 bytes at a multiple of 8");
	window_close(&w);
}

static void read_rights(int i, uint8_t most)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = p.dev.port.active_mtu, .rq_psn = 100,
		.dest_qp_num = p.qp[!i]->qp_num, .max_dest_rd_atomic = most, .min_rnr_timer = 1,
	};

	ah_attr_to(&p.dev, &a.ah_attr);
	NEED_OK(qp_to_init(p.qp[i]));
	NEED_OK(ibv_modify_qp(p.qp[i], &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			      IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			      IBV_QP_MIN_RNR_TIMER));
	NEED_OK(qp_to_rts(p.qp[i], NULL));
}

static void reads_at_once(void)
{
	struct ibv_wc wc;

	pair_open(&p, &(struct pair_want){ .stay_reset = 1 });
	read_rights(0, 8);
	read_rights(1, 0);
	forget();
	CHECK_ERR(post_rdma(&p, 0, 1, IBV_WR_RDMA_READ, 8, IBV_SEND_SIGNALED), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_REM_INV_REQ_ERR);
	SAYS("remote invalid request", "max_dest_rd_atomic is 0");
	pair_close(&p);
}

static void receive_too_short(void)
{
	struct ibv_wc wc;

	pair_open(&p, NULL);
	CHECK_ERR(post_recv_at(&p, 1, 1, 4096, 50), 0);
	forget();
	CHECK_ERR(post_send_at(&p, 0, 2, 0, 100, IBV_SEND_SIGNALED), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_REM_INV_REQ_ERR);
	SAYS("remote invalid request", "longer than the receive request's memory");
	pair_close(&p);
}

static void invalidate_by_peer(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND_WITH_INV, .sg_list = &sge, .num_sge = 1 };
	struct ibv_wc wc;

	pair_open(&p, NULL);
	sge = pair_sge(&p, 0, 0, 8);
	wr.invalidate_rkey = p.mr->rkey;
	CHECK_ERR(post_recv_at(&p, 1, 1, 4096, 64), 0);
	fails(0, &wr, IBV_WC_REM_ACCESS_ERR);
	SAYS("remote access error", "to be invalidated", "memory window of type 2");
	WANT_WC(p.cq[1], &wc, IBV_WC_LOC_QP_OP_ERR);
	SAYS("local queue pair operation error", "to be invalidated", "memory window of type 2");
	pair_close(&p);
}

/* ---- our own side ------------------------------------------------------------------ */

static void datagram_too_long(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };

	pair_open(&p, &(struct pair_want){ .type = IBV_QPT_UD });
	sge = pair_sge(&p, 0, 0, (128u << p.dev.port.active_mtu) + 1);
	wr_address(&p, 0, &wr);
	fails(0, &wr, IBV_WC_LOC_LEN_ERR);
	SAYS("local length error", "active_mtu");
	pair_close(&p);
}

/*
 * If an unreliable connection loses a message, this must not be reported as the cause of
 * the next failure.
 */
static void lost_before(void)
{
	struct ibv_qp_attr a = { .qp_access_flags = 0 };
	struct ibv_sge sge[2];
	struct ibv_send_wr wr[2], *bad;
	struct ibv_wc wc;

	pair_open(&p, &(struct pair_want){ .type = IBV_QPT_UC });
	NEED_OK(ibv_modify_qp(p.qp[1], &a, IBV_QP_ACCESS_FLAGS));
	for (int i = 0; i < 2; i++) {
		sge[i] = pair_sge(&p, 0, 0, 64);
		wr[i] = (struct ibv_send_wr){
			.opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge[i], .num_sge = 1,
			.next = i ? NULL : &wr[1], .wr.rdma = { (uintptr_t)p.buf[1], p.mr->rkey },
		};
	}
	sge[1].lkey += 77777;
	forget();
	CHECK_ERR(ibv_post_send(p.qp[0], wr, &bad), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_LOC_PROT_ERR);
	SAYS("local protection error", "no memory region", "lkey");
	pair_close(&p);
}

/* ---- verbs that other libraries do not have ------------------------------------------ */

static void extend_refused(void)
{
	struct ibv_mr *null;
	int status;
	pid_t pid;

	pair_open(&p, NULL);
	forget();
	CHECK_ERR(univerbs_extend_mr(p.mr, 4096), EINVAL);
	SAYS("univerbs_extend_mr", "has 1048576 bytes", "cannot be made shorter", "4096");
	CHECK_ERR(univerbs_extend_mr(p.mr, 1ul << 45), EINVAL);
	SAYS("univerbs_extend_mr", "35184372088832");
	null = ibv_alloc_null_mr(p.pd);
	NEED_PTR(null, "alloc_null_mr");
	CHECK_ERR(univerbs_extend_mr(null, SIZE_MAX), EOPNOTSUPP);
	SAYS("univerbs_extend_mr", "null region");
	CHECK_ERR(ibv_dereg_mr(null), 0);
	pid = fork();
	if (!pid)
		_exit(univerbs_extend_mr(p.mr, p.mr->length + 1) == EPERM ? 0 : 1);
	CHECK(waitpid(pid, &status, 0) == pid && !status, "the child: status %#x", status);
	SAYS("univerbs_extend_mr", "belongs to another process");
	pair_close(&p);
}

static void share_refused(void)
{
	struct ibv_mr *mr;

	pair_open(&p, NULL);
	mr = ibv_reg_mr(p.pd, p.buf[0], 4096, IBV_ACCESS_REMOTE_READ);
	NEED_PTR(mr, "reg_mr");
	forget();
	CHECK(!univerbs_share_mr(mr, p.pd, 0, IBV_ACCESS_LOCAL_WRITE) && errno == EACCES, "%s",
	      err_name(errno));
	SAYS("univerbs_share_mr", "pinned for reading only", "0x1");
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	pair_close(&p);
}

static void query_too_short(void)
{
	struct univerbs_cq_attr attr = { .size = 4 };

	pair_open(&p, NULL);
	forget();
	CHECK_ERR(univerbs_query_cq(p.cq[0], &attr), EINVAL);
	SAYS("univerbs_query_cq", "4 bytes", "too short");
	pair_close(&p);
}

static void modify_ah_refused(void)
{
	struct ibv_ah_attr attr;

	pair_open(&p, &(struct pair_want){ .type = IBV_QPT_UD });
	ah_attr_to(&p.dev, &attr);
	attr.is_global = 0;
	forget();
	CHECK_ERR(univerbs_modify_ah(p.ah, &attr), EINVAL);
	SAYS("univerbs_modify_ah", "is_global");
	pair_close(&p);
}

/* ---- path migration ------------------------------------------------------------ */

static int set_path(int i, int mask, enum ibv_mig_state state)
{
	struct ibv_qp_attr a = { .alt_port_num = PORT, .path_mig_state = state };

	forget();
	ah_attr_to(&p.dev, &a.alt_ah_attr);
	return ibv_modify_qp(p.qp[i], &a, mask);
}

static void path_migration(void)
{
	const int both = IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE;

	pair_open(&p, NULL);
	CHECK_ERR(set_path(0, IBV_QP_PATH_MIG_STATE, IBV_MIG_REARM), EINVAL);
	SAYS("ibv_modify_qp", "no alternate path is loaded");
	CHECK_ERR(set_path(0, both, IBV_MIG_ARMED), EINVAL);
	SAYS("ibv_modify_qp", "IBV_QP_PATH_MIG_STATE is 2, the highest allowed is 1");
	CHECK_ERR(set_path(0, both, IBV_MIG_REARM), 0);
	CHECK_ERR(set_path(0, IBV_QP_PATH_MIG_STATE, IBV_MIG_MIGRATED), EINVAL);
	SAYS("ibv_modify_qp", "cannot migrate before it is in state ARMED");
	CHECK_ERR(set_path(1, both, IBV_MIG_REARM), 0);
	CHECK_ERR(set_path(0, IBV_QP_ALT_PATH, 0), EINVAL);
	SAYS("ibv_modify_qp", "may migrate at any time", "IBV_MIG_REARM");
	CHECK_ERR(set_path(0, IBV_QP_PATH_MIG_STATE, IBV_MIG_MIGRATED), 0);
	CHECK(pair_works(&p), "the queue pairs after the calls");
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "bind_refused", bind_refused },
	{ "bind_unknown_region", bind_unknown_region },
	{ "bind_twice", bind_twice },
	{ "invalidate_region", invalidate_region },
	{ "atomic_askew", atomic_askew },
	{ "reads_at_once", reads_at_once },
	{ "receive_too_short", receive_too_short },
	{ "invalidate_by_peer", invalidate_by_peer },
	{ "datagram_too_long", datagram_too_long },
	{ "lost_before", lost_before },
	{ "extend_refused", extend_refused },
	{ "share_refused", share_refused },
	{ "query_too_short", query_too_short },
	{ "modify_ah_refused", modify_ah_refused },
	{ "path_migration", path_migration },
};

TEST_MAIN("mistakes_uroce", cases, 60)
