// SPDX-License-Identifier: GPL-2.0
/* Mistakes that a call refuses, and the printed line that names the correction: see mistakes.h. */
#include <grp.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "mistakes.h"

#define NOBODY 65534

/* Run in a child, because a process cannot take back dropped privileges. */
static void in_child(void (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		test_failures = 0;
		fn();
		exit(test_failures ? 1 : 0);
	}
	NEED(waitpid(pid, &status, 0) == pid, "waitpid: %s", err_name(errno));
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status), "the child: status %#x", status);
}

/* ---- Permissions and limits of the process ----------------------------------- */

static void open_as_nobody(void)
{
	NEED(!setgroups(0, NULL) && !setgid(NOBODY) && !setuid(NOBODY), "setuid");
	CHECK(!dev_open_named(dev_wanted()), "opened");
	SAYS("ibv_open_device", "no permission on", node_path(), "group");
}

static void node_without_permission(void)
{
	struct stat node;

	NEED(!stat(node_path(), &node) && !chmod(node_path(), 0600), "%s", err_name(errno));
	in_child(open_as_nobody);
	chmod(node_path(), node.st_mode & 07777);
}

/* @may: the number of bytes that the process may lock. */
static void lock_too_much(rlim_t may)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2];
	struct rlimit limit = { may, may };
	struct test_dev dev;
	struct ibv_pd *pd;
	static uint8_t pages[8192];

	NEED(!syscall(SYS_capget, &head, caps), "capget: %s", err_name(errno));
	caps[0].effective &= ~(1u << CAP_IPC_LOCK);
	NEED(!syscall(SYS_capset, &head, caps), "capset: %s", err_name(errno));
	NEED(!setrlimit(RLIMIT_MEMLOCK, &limit), "setrlimit: %s", err_name(errno));
	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	NEED_PTR(pd, "alloc_pd");
	CHECK(!ibv_reg_mr(pd, pages, sizeof(pages), 0), "registered");
	SAYS("ibv_reg_mr", "RLIMIT_MEMLOCK", "ulimit -l");
	NEED_OK(ibv_dealloc_pd(pd));
	dev_close(&dev);
}

static void lock_beyond_limit(void)
{
	lock_too_much(4096);
}

static void lock_with_nothing(void)
{
	lock_too_much(0);
}

static void memlock_exceeded(void)
{
	in_child(lock_beyond_limit);
	in_child(lock_with_nothing);
}

static void limit_exceeded(void)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 1 << 30, 4, 1, 1, 0 } };
	struct pair p;

	pair_open(&p, NULL);
	init.send_cq = init.recv_cq = p.cq[0];
	CHECK(!ibv_create_qp(p.pd, &init), "created");
	SAYS("ibv_create_qp", "max_send_wr", "the limit is");
	CHECK(!ibv_create_cq(p.dev.ctx, p.dev.attr.max_cqe + 1, NULL, NULL, 0), "created");
	SAYS("ibv_create_cq", "completion queue entries", "the limit is");
	pair_close(&p);
}

static void srq_limit_exceeded(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_sge = 1 } };
	struct pair p;

	pair_open(&p, NULL);
	init.attr.max_wr = (uint32_t)p.dev.attr.max_srq_wr + 1;
	CHECK(!ibv_create_srq(p.pd, &init), "created");
	SAYS("ibv_create_srq", "max_wr", "the limit is");
	init.attr = (struct ibv_srq_attr) { .max_wr = 4,
		.max_sge = (uint32_t)p.dev.attr.max_srq_sge + 1 };
	CHECK(!ibv_create_srq(p.pd, &init), "created");
	SAYS("ibv_create_srq", "max_sge", "the limit is");
	pair_close(&p);
}

/* ---- Memory ------------------------------------------------------------------- */

static void remote_write_without_local_write(void)
{
	struct pair p;

	pair_open(&p, NULL);
	CHECK(!ibv_reg_mr(p.pd, p.buf[0], 4096, IBV_ACCESS_REMOTE_WRITE), "registered");
	SAYS("ibv_reg_mr", "IBV_ACCESS_REMOTE_WRITE needs IBV_ACCESS_LOCAL_WRITE");
	pair_close(&p);
}

static void iova_at_another_offset(void)
{
	struct pair p;

	pair_open(&p, NULL);
	CHECK(!ibv_reg_mr_iova(p.pd, p.buf[0] + 100, 4096, 0, 0), "registered");
	SAYS("iova 0x0", "same offset in their page");
	pair_close(&p);
}

/* No device knows this flag. */
static void access_not_offered(void)
{
	struct pair p;

	pair_open(&p, NULL);
	CHECK(!ibv_reg_mr(p.pd, p.buf[0], 4096, IBV_ACCESS_LOCAL_WRITE | 1 << 15), "registered");
	SAYS("ibv_reg_mr", "not all", "offered", "IBV_ACCESS_LOCAL_WRITE, 0x8000");
	pair_close(&p);
}

static void rereg_without_access(void)
{
	struct pair p;

	pair_open(&p, NULL);
	CHECK(ibv_rereg_mr(p.mr, IBV_REREG_MR_CHANGE_PD, p.pd, NULL, 0, IBV_ACCESS_LOCAL_WRITE),
	      "altered");
	SAYS("ibv_rereg_mr", "add IBV_REREG_MR_CHANGE_ACCESS");
	CHECK(ibv_rereg_mr(p.mr, 0, NULL, NULL, 0, 0), "altered");
	SAYS("ibv_rereg_mr", "add", "IBV_REREG_MR_CHANGE_TRANSLATION");
	pair_close(&p);
}

/* ---- Objects ------------------------------------------------------------------- */

static struct ibv_qp_init_attr_ex ex_attr(const struct pair *p, uint64_t ops)
{
	return (struct ibv_qp_init_attr_ex) {
		.send_cq = p->cq[0],
		.recv_cq = p->cq[0],
		.qp_type = IBV_QPT_RC,
		.cap = { 4, 4, 1, 1, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = p->pd,
		.send_ops_flags = ops,
	};
}

static void extended_limit_exceeded(void)
{
	struct ibv_qp_init_attr_ex init;
	struct pair p;

	pair_open(&p, NULL);
	init = ex_attr(&p, IBV_QP_EX_WITH_SEND);
	init.cap.max_send_wr = 1 << 30;
	CHECK(!ibv_create_qp_ex(p.dev.ctx, &init), "created");
	SAYS("ibv_create_qp", "max_send_wr", "the limit is");
	pair_close(&p);
}

/* Bits and structs of programs that were compiled for a newer library. */
static void unknown_bits(void)
{
	const uint32_t bit = 1u << 30;
	struct ibv_srq_init_attr_ex srq = { .attr = { 4, 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_PD | bit };
	struct ibv_rwq_ind_table_init_attr table = { .comp_mask = bit };
	struct ibv_xrcd_init_attr xrcd = { .comp_mask = bit };
	struct ibv_qp_open_attr open = { .comp_mask = bit };
	struct ibv_qp_init_attr_ex qp;
	struct pair p;

	pair_open(&p, NULL);
	qp = ex_attr(&p, 0);
	qp.comp_mask |= bit;
	CHECK_NULL(ibv_create_qp_ex(p.dev.ctx, &qp), EOPNOTSUPP);
	SAYS("ibv_create_qp_ex", "0x40000000", "not supported");
	srq.pd = p.pd;
	CHECK_NULL(ibv_create_srq_ex(p.dev.ctx, &srq), EOPNOTSUPP);
	SAYS("ibv_create_srq_ex", "0x40000000", "not supported");
	CHECK_NULL(ibv_open_xrcd(p.dev.ctx, &xrcd), EOPNOTSUPP);
	SAYS("ibv_open_xrcd", "0x40000000", "not supported");
	CHECK_NULL(ibv_open_qp(p.dev.ctx, &open), EOPNOTSUPP);
	SAYS("ibv_open_qp", "0x40000000", "not supported");
	CHECK_NULL(ibv_create_rwq_ind_table(p.dev.ctx, &table), EOPNOTSUPP);
	if (on_uroce())
		SAYS("ibv_create_rwq_ind_table", "0x40000000", "not supported");
	pair_close(&p);
}

static void no_domain_in_comp_mask(void)
{
	struct ibv_srq_init_attr_ex srq = { .attr = { 4, 1 }, .comp_mask = IBV_SRQ_INIT_ATTR_TYPE };
	struct ibv_qp_init_attr_ex qp;
	struct pair p;

	pair_open(&p, NULL);
	qp = ex_attr(&p, 0);
	qp.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	CHECK(!ibv_create_qp_ex(p.dev.ctx, &qp), "created");
	SAYS("ibv_create_qp_ex", "add IBV_QP_INIT_ATTR_PD (comp_mask)");
	CHECK(!ibv_create_srq_ex(p.dev.ctx, &srq), "created");
	SAYS("ibv_create_srq_ex", "add IBV_SRQ_INIT_ATTR_PD");
	pair_close(&p);
}

static void incomplete_comp_mask(void)
{
	struct ibv_xrcd_init_attr xrcd = { .comp_mask = IBV_XRCD_INIT_ATTR_FD, .fd = -1 };
	struct ibv_qp_open_attr open = { .comp_mask = IBV_QP_OPEN_ATTR_NUM };
	struct test_dev dev;

	dev_open(&dev);
	CHECK(!ibv_open_xrcd(dev.ctx, &xrcd), "opened");
	SAYS("ibv_open_xrcd", "add IBV_XRCD_INIT_ATTR_OFLAGS");
	CHECK(!ibv_open_qp(dev.ctx, &open), "opened");
	SAYS("ibv_open_qp", "add", "IBV_QP_OPEN_ATTR_XRCD", "IBV_QP_OPEN_ATTR_TYPE");
	dev_close(&dev);
}

static void flags_by_name(void)
{
	struct ibv_cq_init_attr_ex cq = { .cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = 1u << 30 };
	struct ibv_qp_init_attr_ex qp;
	struct pair p;

	pair_open(&p, NULL);
	CHECK(!ibv_create_cq_ex(p.dev.ctx, &cq) && errno == EOPNOTSUPP, "created");
	SAYS("ibv_create_cq_ex", "0x40000000", "not supported",
	     "supported are IBV_CREATE_CQ_ATTR_SINGLE_THREADED");
	qp = ex_attr(&p, IBV_QP_EX_WITH_TSO);
	CHECK(!ibv_create_qp_ex(p.dev.ctx, &qp), "created");
	SAYS("ibv_create_qp_ex", "IBV_QP_EX_WITH_TSO (send_ops_flags)");
	pair_close(&p);
}

/* univerbs-explain does not know the number of users. */
static const char *users(const char *number)
{
	return why_known() ? number : "";
}

static void busy_object(void)
{
	struct pair p;

	pair_open(&p, &(struct pair_want) { .use_srq = 1 });
	CHECK(ibv_dealloc_pd(p.pd) == EBUSY, "deallocated");
	SAYS("ibv_dealloc_pd", "protection domain is still in use", users("by 4 objects"),
	     "memory regions", "queue pairs");
	CHECK(ibv_destroy_cq(p.cq[0]) == EBUSY, "destroyed");
	SAYS("ibv_destroy_cq", "completion queue is still in use", users("by"), "queue pairs");
	CHECK(ibv_destroy_srq(p.srq) == EBUSY, "destroyed");
	SAYS("ibv_destroy_srq", "shared receive queue is still in use", users("by 2 objects"),
	     "queue pairs");
	pair_close(&p);
}

static void objects_of_two_contexts(void)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };
	struct pair a, b;

	pair_open(&a, &(struct pair_want) { .use_srq = 1, .use_channel = 1 });
	pair_open(&b, NULL);
	init.send_cq = a.cq[0];
	init.recv_cq = b.cq[0];
	CHECK(!ibv_create_qp(a.pd, &init), "with completion queues of two contexts");
	SAYS("ibv_create_qp", "completion queue is of another context");
	init.recv_cq = a.cq[0];
	CHECK(!ibv_create_qp(b.pd, &init), "with another context's queues");
	SAYS("ibv_create_qp", "of another context");
	init.send_cq = init.recv_cq = b.cq[0];
	init.srq = a.srq;
	CHECK(!ibv_create_qp(b.pd, &init), "with another context's shared receive queue");
	SAYS("ibv_create_qp", "shared receive queue is of another context");
	CHECK(!ibv_create_cq(b.dev.ctx, 4, NULL, a.ch, 0), "with another context's channel");
	SAYS("ibv_create_cq", "not a completion channel of this context");
	pair_close(&a);
	pair_close(&b);
}

/*
 * rdma-core's header creates a basic SRQ in the context of its protection domain, so only
 * an XRC SRQ can name a protection domain of another context.
 */
static struct ibv_srq *xrc_srq(struct pair *p, struct ibv_pd *pd)
{
	return ibv_create_srq_ex(p->dev.ctx, &(struct ibv_srq_init_attr_ex){
		.attr = { .max_wr = 4, .max_sge = 1 },
		.srq_type = IBV_SRQT_XRC, .pd = pd, .cq = p->cq[0],
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_XRCD });
}

/* Calls other than ibv_create_qp(3) take objects as well. */
static void objects_of_another_context(void)
{
	struct ibv_qp_init_attr_ex init;
	struct ibv_ah_attr to;
	struct ibv_qp_ex *ex;
	struct ibv_ah *ah;
	struct ibv_qp *qp;
	struct pair a, b;

	pair_open(&a, NULL);
	pair_open(&b, &(struct pair_want) { .type = IBV_QPT_UD });
	CHECK(ibv_rereg_mr(a.mr, IBV_REREG_MR_CHANGE_PD, b.pd, NULL, 0, 0), "altered");
	SAYS("ibv_rereg_mr", "protection domain is of another context");
	CHECK(!xrc_srq(&b, a.pd), "created");
	SAYS("ibv_create_srq", "protection domain is of another context");
	ah_attr_to(&a.dev, &to);
	ah = ibv_create_ah(a.pd, &to);
	NEED_PTR(ah, "create_ah");
	init = ex_attr(&b, IBV_QP_EX_WITH_SEND);
	init.qp_type = IBV_QPT_UD;
	qp = ibv_create_qp_ex(b.dev.ctx, &init);
	NEED_PTR(qp, "create_qp_ex");
	qp_connect(&b.dev, qp, 0, NULL);
	ex = ibv_qp_to_qp_ex(qp);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_ud_addr(ex, ah, 1, 0);
	CHECK(ibv_wr_complete(ex), "posted");
	SAYS("address handle of its protection domain");
	CHECK_ERR(ibv_destroy_qp(qp), 0);
	CHECK_ERR(ibv_destroy_ah(ah), 0);
	pair_close(&a);
	pair_close(&b);
}

static void wq_of_two_contexts(struct pair *a, struct pair *b)
{
	struct ibv_wq_init_attr init = { .wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1 };

	init.pd = a->pd;
	init.cq = b->cq[0];
	CHECK(!ibv_create_wq(b->dev.ctx, &init), "created");
	SAYS("ibv_create_wq", "protection domain is of another context");
	CHECK(!ibv_create_wq(a->dev.ctx, &init), "created");
	SAYS("ibv_create_wq", "completion queue is of another context");
}

/* The extended calls name the context beside the objects. */
static void extended_calls_of_two_contexts(void)
{
	struct ibv_qp_open_attr open = { .comp_mask = IBV_QP_OPEN_ATTR_NUM |
		IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE, .qp_type = IBV_QPT_XRC_RECV };
	struct ibv_srq_init_attr_ex srq = { .attr = { 4, 1 }, .srq_type = IBV_SRQT_XRC,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_XRCD };
	struct ibv_qp_init_attr_ex qp;
	struct ibv_xrcd xrcd = {};
	struct pair a, b;

	pair_open(&a, NULL);
	pair_open(&b, NULL);
	xrcd.context = a.dev.ctx;
	qp = ex_attr(&a, 0);
	CHECK(!ibv_create_qp_ex(b.dev.ctx, &qp), "created");
	SAYS("ibv_create_qp", "protection domain is of another context");
	qp = (struct ibv_qp_init_attr_ex){ .qp_type = IBV_QPT_XRC_RECV, .xrcd = &xrcd,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD };
	CHECK(!ibv_create_qp_ex(b.dev.ctx, &qp), "created");
	SAYS("ibv_create_qp", "XRC domain is of another context");
	srq.pd = b.pd;
	srq.cq = a.cq[0];
	srq.xrcd = &xrcd;
	CHECK(!ibv_create_srq_ex(b.dev.ctx, &srq), "created");
	SAYS("ibv_create_srq_ex", "completion queue is of another context");
	srq.cq = b.cq[0];
	CHECK(!ibv_create_srq_ex(b.dev.ctx, &srq), "created");
	SAYS("ibv_create_srq_ex", "XRC domain is of another context");
	CHECK(!ibv_open_qp(b.dev.ctx, &open), "opened");
	SAYS("ibv_open_qp", "XRC domain");
	open.xrcd = &xrcd;
	CHECK(!ibv_open_qp(b.dev.ctx, &open), "opened");
	SAYS("ibv_open_qp", "XRC domain is of another context");
	if (on_uroce())
		wq_of_two_contexts(&a, &b);
	pair_close(&a);
	pair_close(&b);
}

/* ---- States and paths ------------------------------------------------------------ */

static void wrong_attributes(void)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTR };
	struct pair p;

	pair_open(&p, &(struct pair_want) { .stay_reset = 1 });
	NEED_OK(qp_to_init(p.qp[0]));
	CHECK(ibv_modify_qp(p.qp[0], &a, IBV_QP_STATE), "modified");
	SAYS("INIT -> RTR of an RC queue pair needs", "IBV_QP_MIN_RNR_TIMER");
	CHECK(ibv_modify_qp(p.qp[0], &a, IBV_QP_STATE | IBV_QP_QKEY | IBV_QP_AV | IBV_QP_PATH_MTU |
			    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			    IBV_QP_MIN_RNR_TIMER), "modified");
	SAYS("INIT -> RTR of an RC queue pair does not take IBV_QP_QKEY");
	a.qp_state = IBV_QPS_RTS;
	CHECK(ibv_modify_qp(p.qp[0], &a, IBV_QP_STATE), "modified");
	SAYS("no transition INIT -> RTS");
	pair_close(&p);
}

/* The call succeeds with other values. */
static void high_counts(void)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTS, .sq_psn = 100, .timeout = 14,
		.retry_cnt = 10, .rnr_retry = 9, .max_rd_atomic = 8, .min_rnr_timer = 33 };
	struct pair p;

	pair_open(&p, &(struct pair_want) { .stay_reset = 1 });
	NEED_OK(qp_to_init(p.qp[0]));
	NEED_OK(qp_to_rtr(&p.dev, p.qp[0], p.qp[1]->qp_num));
	forget();
	CHECK_ERR(ibv_modify_qp(p.qp[0], &a, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
				IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC), 0);
	CHECK(!strcasestr(all_printed(), "MIN_RNR_TIMER"), "printed: %s", all_printed());
	CHECK(some_line_has((const char *const[]) { "IBV_QP_RETRY_CNT", "10", "; 7 is used", NULL }),
	      "printed: %s", all_printed());
	SAYS("ibv_modify_qp", "IBV_QP_RNR_RETRY", "9", "; 6 is used");
	CHECK_ERR(ibv_modify_qp(p.qp[0], &a, IBV_QP_MIN_RNR_TIMER), 0);
	SAYS("IBV_QP_MIN_RNR_TIMER", "33", "; 1 is used");
	a.min_rnr_timer = 31;
	CHECK_ERR(ibv_modify_qp(p.qp[0], &a, IBV_QP_MIN_RNR_TIMER), 0);
	CHECK(!*all_printed(), "printed: %s", all_printed());
	pair_close(&p);
}

static void av_of_another_port(void)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
		.dest_qp_num = 1, .min_rnr_timer = 1 };
	struct pair p;

	pair_open(&p, &(struct pair_want) { .stay_reset = 1 });
	NEED_OK(qp_to_init(p.qp[0]));
	ah_attr_to(&p.dev, &a.ah_attr);
	a.ah_attr.port_num = 2;
	CHECK(ibv_modify_qp(p.qp[0], &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			    IBV_QP_MIN_RNR_TIMER), "modified");
	SAYS("ibv_modify_qp", "no port 2");
	pair_close(&p);
}

static void no_grh_gid_or_port(void)
{
	struct ibv_ah_attr ah;
	struct pair p;

	pair_open(&p, &(struct pair_want) { .stay_reset = 1 });
	ah_attr_to(&p.dev, &ah);
	ah.is_global = 0;
	CHECK(!ibv_create_ah(p.pd, &ah), "created");
	SAYS("ibv_create_ah", "is_global");
	ah_attr_to(&p.dev, &ah);
	ah.grh.sgid_index = p.dev.port.gid_tbl_len - 1;
	CHECK(!ibv_create_ah(p.pd, &ah), "created");
	SAYS("ibv_create_ah", "no GID at index", "/gids");
	ah_attr_to(&p.dev, &ah);
	ah.port_num = 9;
	CHECK(!ibv_create_ah(p.pd, &ah), "created");
	SAYS("ibv_create_ah", "no port 9", "from 1");
	pair_close(&p);
}

/* rdma_rxe does not check the index, so this case needs univerbs. */
static void no_pkey(void)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = PORT, .pkey_index = 500 };
	const int mask = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS;
	struct pair p;

	pair_open(&p, &(struct pair_want) { .stay_reset = 1 });
	CHECK(ibv_modify_qp(p.qp[0], &a, mask), "modified");
	SAYS("ibv_modify_qp", "no P_Key at index 500");
	pair_close(&p);
}

static int set_size(struct ibv_qp *qp, uint32_t send_wr, uint32_t send_sge, int mask)
{
	struct ibv_qp_attr a = { .cap = { .max_send_wr = send_wr, .max_send_sge = send_sge } };

	return ibv_modify_qp(qp, &a, mask);
}

/* The size changes over uroce only. */
static void another_size(void)
{
	struct pair p;

	pair_open(&p, NULL);
	if (!(p.dev.attr.device_cap_flags & IBV_DEVICE_RESIZE_MAX_WR)) {
		CHECK_ERR(set_size(p.qp[0], 100, 1, IBV_QP_CAP), EINVAL);
		SAYS("ibv_modify_qp", "size of a queue pair does not change", "IBV_QP_CAP");
	} else {
		CHECK_ERR(set_size(p.qp[0], 100, 1, IBV_QP_CAP | IBV_QP_RNR_RETRY), EINVAL);
		SAYS("ibv_modify_qp", "nothing else", "IBV_QP_RNR_RETRY");
		CHECK_ERR(set_size(p.qp[0], 100, 5, IBV_QP_CAP), EINVAL);
		SAYS("ibv_modify_qp", "5 entries or inline bytes of a request are more than the 4");
		CHECK_ERR(set_size(p.qp[0], p.dev.attr.max_qp_wr + 1, 1, IBV_QP_CAP), EINVAL);
		SAYS("ibv_modify_qp", "(max_send_wr) were requested, the limit is");
	}
	CHECK(pair_works(&p), "the queue pair after the call");
	pair_close(&p);
}

/* The kernel has no alternate paths on RoCE. In uroce, both paths of a queue pair lead to one host, or neither does. */
static void driver_refuses(void)
{
	struct ibv_qp_attr a = { .alt_timeout = 14, .alt_port_num = PORT };
	struct pair p;

	pair_open(&p, NULL);
	ah_attr_to(&p.dev, &a.alt_ah_attr);
	a.alt_ah_attr.grh.dgid.raw[15] = 254;
	CHECK(ibv_modify_qp(p.qp[0], &a, IBV_QP_ALT_PATH), "modified");
	SAYS("ibv_modify_qp", on_uroce() ? "does not offer this" : "driver refused", "given: IBV_QP_ALT_PATH");
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "node_without_permission", node_without_permission },
	{ "memlock_exceeded", memlock_exceeded },
	{ "limit_exceeded", limit_exceeded },
	{ "srq_limit_exceeded", srq_limit_exceeded },
	{ "remote_write_without_local_write", remote_write_without_local_write },
	{ "iova_at_another_offset", iova_at_another_offset },
	{ "access_not_offered", access_not_offered },
	{ "rereg_without_access", rereg_without_access },
	{ "extended_limit_exceeded", extended_limit_exceeded },
	{ "unknown_bits", unknown_bits },
	{ "no_domain_in_comp_mask", no_domain_in_comp_mask },
	{ "incomplete_comp_mask", incomplete_comp_mask },
	{ "flags_by_name", flags_by_name },
	{ "busy_object", busy_object },
	{ "objects_of_two_contexts", objects_of_two_contexts },
	{ "objects_of_another_context", objects_of_another_context },
	{ "extended_calls_of_two_contexts", extended_calls_of_two_contexts },
	{ "wrong_attributes", wrong_attributes },
	{ "high_counts", high_counts },
	{ "av_of_another_port", av_of_another_port },
	{ "no_grh_gid_or_port", no_grh_gid_or_port },
	{ "no_pkey", no_pkey },
	{ "another_size", another_size },
	{ "driver_refuses", driver_refuses },
};

TEST_MAIN("mistakes_calls", cases, 60)
