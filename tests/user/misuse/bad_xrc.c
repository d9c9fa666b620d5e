// SPDX-License-Identifier: GPL-2.0
/*
 * adv13. Misuse of XRC: wrong numbers of shared receive queues, mixed domains, objects
 * destroyed in the wrong order and in the middle of messages, requests to the wrong side. A
 * request reaches only memory that was registered for its protection domain and its access.
 */
#include <sys/mount.h>
#include <sys/prctl.h>
#include "xrc.h"

static const enum ibv_wr_opcode every[] = {
	IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
	IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP,
};

/* Every opcode is refused, changes no memory and consumes no receive request. */
static void all_refused(struct xrc *x, uint32_t srqn, const char *what)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	receive(x, 0, 1, 0, 4096);
	for (size_t i = 0; i < ARRAY_SIZE(every); i++) {
		memset(x->buf[0], 0x5a, 64);
		memset(x->buf[1], 0, 64);
		does(x, every[i], srqn, 0, 8, IBV_WC_REM_INV_REQ_ERR);
		CHECK(by_packets() || why_reason() == UNIV_REASON_XRC_SRQN, "%s: reason %u", what,
		      why_reason());
		CHECK(all_zero(x->buf[1], 64) && x->buf[0][0] == 0x5a, "%s: opcode %d did something",
		      what, every[i]);
		CHECK_ERR(ibv_query_qp(x->tgt, &attr, IBV_QP_STATE, &init), 0);
		CHECK(attr.qp_state == IBV_QPS_ERR, "%s: state %d", what, attr.qp_state);
		want_failure(x->dev.ctx, IBV_EVENT_QP_REQ_ERR, x);
		WANT_EMPTY(x->rcq[0]);
		WANT_EMPTY(x->rcq[1]);
		reconnect(x);
	}
}

static void no_such_queue(void)
{
	static const uint32_t numbers[] = { 0, 0xffffff, 0xffffffff, 0x800000 };
	struct xrc x;

	xrc_open(&x, -1);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		all_refused(&x, numbers[i], "no such number");
	sends(&x, 1, 100, 3);
	xrc_close(&x);
}

static void destroyed_queue(void)
{
	struct xrc x;

	xrc_open(&x, -1);
	sends(&x, 1, 100, 3);
	CHECK_ERR(ibv_destroy_srq(x.srq[1]), 0);
	x.srq[1] = NULL;
	all_refused(&x, x.srqn[1], "destroyed");
	xrc_close(&x);
}

/* The SRQ exists and has the same process, memory and key, but another XRC domain. */
static void another_domain(void)
{
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	uint32_t srqn;
	struct xrc x;

	xrc_open(&x, -1);
	xrcd = xrcd_of(x.dev.ctx, -1, O_CREAT);
	NEED_PTR(xrcd, "open_xrcd");
	srq = srq_of(x.pd, xrcd, x.rcq[1], &srqn);
	receive_by(srq, 5, xrc_sge(&x, 1, 0, 4096));
	all_refused(&x, srqn, "another domain's");
	/* Queue 0 still has the receive requests that were not consumed. */
	sends(&x, 1, 4096, 4);
	CHECK_ERR(ibv_destroy_srq(srq), 0);
	CHECK_ERR(ibv_close_xrcd(xrcd), 0);
	xrc_close(&x);
}

/* An RDMA request reaches the protection domain of the SRQ that it names, and no other. */
static void another_protection_domain(void)
{
	struct ibv_wc wc;
	struct ibv_srq *srq;
	struct ibv_pd *pd;
	uint32_t srqn;
	struct xrc x;

	xrc_open(&x, -1);
	pd = ibv_alloc_pd(x.dev.ctx);
	NEED_PTR(pd, "alloc_pd");
	srq = srq_of(pd, x.xrcd, x.rcq[1], &srqn);
	for (size_t i = 2; i < ARRAY_SIZE(every); i++) {
		memset(x.buf[1], 0, 64);
		if (every[i] == IBV_WR_RDMA_WRITE_WITH_IMM)
			continue;
		does(&x, every[i], srqn, 0, 8, IBV_WC_REM_ACCESS_ERR);
		CHECK(all_zero(x.buf[1], 64), "opcode %d wrote", every[i]);
		want_failure(x.dev.ctx, IBV_EVENT_QP_ACCESS_ERR, &x);
		reconnect(&x);
		does(&x, every[i], x.srqn[0], 0, 8, IBV_WC_SUCCESS);
	}
	/* The memory of a receive request must belong to the protection domain of the SRQ, too. */
	memset(x.buf[1], 0, 64);
	receive_by(srq, 6, xrc_sge(&x, 1, 0, 64));
	does(&x, IBV_WR_SEND, srqn, 0, 64, IBV_WC_REM_OP_ERR);
	WANT_WC(x.rcq[1], &wc, IBV_WC_LOC_PROT_ERR);
	CHECK(wc.wr_id == 6 && all_zero(x.buf[1], 64), "wr_id %" PRIu64, wc.wr_id);
	CHECK_ERR(ibv_destroy_srq(srq), 0);
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	xrc_close(&x);
}

/* A device that keeps the region of the last request still checks the domain of each request. */
static void domains_in_a_list(void)
{
	struct ibv_send_wr wr[2];
	struct ibv_sge sge;
	struct ibv_srq *srq;
	struct ibv_pd *pd;
	uint32_t srqn;
	struct xrc x;

	xrc_open(&x, -1);
	pd = ibv_alloc_pd(x.dev.ctx);
	NEED_PTR(pd, "alloc_pd");
	srq = srq_of(pd, x.xrcd, x.rcq[1], &srqn);
	memset(x.buf[0], 0x5a, 64);
	memset(x.buf[1], 0, 128);
	sge = xrc_sge(&x, 0, 0, 64);
	wr[0] = request(&x, IBV_WR_RDMA_WRITE, x.srqn[0], 0, &sge);
	wr[1] = request(&x, IBV_WR_RDMA_WRITE, srqn, 64, &sge);
	wr[0].next = &wr[1];
	post(x.ini, wr);
	finish(&x, IBV_WC_SUCCESS);
	finish(&x, IBV_WC_REM_ACCESS_ERR);
	CHECK(!memcmp(x.buf[1], x.buf[0], 64) && all_zero(x.buf[1] + 64, 64),
	      "what was written");
	want_failure(x.dev.ctx, IBV_EVENT_QP_ACCESS_ERR, &x);
	CHECK_ERR(ibv_destroy_srq(srq), 0);
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	xrc_close(&x);
}

static void too_long(void)
{
	struct ibv_wc wc;
	struct xrc x;

	xrc_open(&x, -1);
	for (uint32_t len = 101; len < HALF; len *= 31) {
		memset(x.buf[1], 0, HALF);
		receive(&x, 1, 4, 0, 100);
		does(&x, IBV_WR_SEND, x.srqn[1], 0, len, IBV_WC_REM_INV_REQ_ERR);
		WANT_WC(x.rcq[1], &wc, IBV_WC_LOC_LEN_ERR);
		CHECK(wc.wr_id == 4 && all_zero(x.buf[1] + 100, HALF - 100), "bytes behind it");
		reconnect(&x);
	}
	xrc_close(&x);
}

/* ---- Dependencies between objects ---------------------------------------------- */

static void dependants(void)
{
	struct xrc x;

	xrc_open(&x, -1);
	CHECK_ERR(ibv_close_xrcd(x.xrcd), EBUSY);
	CHECK_ERR(ibv_destroy_cq(x.rcq[0]), EBUSY);
	CHECK_ERR(ibv_dealloc_pd(x.pd), EBUSY);
	for (int i = 0; i < 2; i++) {
		CHECK_ERR(ibv_destroy_srq(x.srq[i]), 0);
		x.srq[i] = NULL;
	}
	CHECK_ERR(ibv_close_xrcd(x.xrcd), EBUSY);
	/* The target holds neither the SRQ nor its completion queue. */
	CHECK_ERR(ibv_destroy_cq(x.rcq[0]), 0);
	x.rcq[0] = ibv_create_cq(x.dev.ctx, 2 * DEPTH, NULL, NULL, 0);
	x.srq[0] = srq_of(x.pd, x.xrcd, x.rcq[0], &x.srqn[0]);
	sends(&x, 0, 100, 3);
	CHECK_ERR(ibv_destroy_qp(x.tgt), 0);
	x.tgt = NULL;
	CHECK_ERR(ibv_close_xrcd(x.xrcd), EBUSY);
	CHECK_ERR(ibv_destroy_srq(x.srq[0]), 0);
	x.srq[0] = NULL;
	xrc_close(&x);
}

static void wrong_side(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad_send;
	struct ibv_recv_wr recv = { .num_sge = 0 }, *bad_recv;
	struct xrc x;

	xrc_open(&x, -1);
	sge = xrc_sge(&x, 0, 0, 8);
	wr = request(&x, IBV_WR_SEND, x.srqn[0], 0, &sge);
	CHECK_ERR(ibv_post_send(x.tgt, &wr, &bad_send), EINVAL);
	CHECK_ERR(ibv_post_recv(x.tgt, &recv, &bad_recv), EINVAL);
	CHECK_ERR(ibv_post_recv(x.ini, &recv, &bad_recv), EINVAL);
	CHECK(bad_send == &wr && bad_recv == &recv, "bad_wr");
	CHECK_ERR(raw_kick(x.dev.ctx->cmd_fd, x.tgt->handle, UNIV_KICK_SEND), EINVAL);
	CHECK_ERR(raw_kick(x.dev.ctx->cmd_fd, x.tgt->handle, UNIV_KICK_RECV), EINVAL);
	CHECK_ERR(raw_kick(x.dev.ctx->cmd_fd, x.ini->handle, UNIV_KICK_SEND | UNIV_KICK_RECV), 0);
	sends(&x, 0, 100, 3);
	xrc_close(&x);
}

static void made_wrongly(void)
{
	struct ibv_qp_init_attr basic = { .qp_type = IBV_QPT_RC,
					  .cap = { .max_send_wr = 1, .max_send_sge = 1 } };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_XRC_RECV,
					 .cap = { .max_recv_wr = 1, .max_recv_sge = 1 } };
	struct ibv_qp_init_attr_ex ex = { .qp_type = IBV_QPT_XRC_RECV };
	struct ibv_srq_init_attr plain = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq_init_attr_ex sx = { .attr = { .max_wr = 4, .max_sge = 1 },
					   .srq_type = IBV_SRQT_XRC };
	struct ibv_srq *srq;
	uint32_t number;
	struct xrc x;

	xrc_open(&x, -1);
	/*
	 * An RC queue pair cannot use an XRC SRQ: the receive requests would be checked
	 * against the protection domain of the queue pair.
	 */
	basic.send_cq = x.cq;
	basic.recv_cq = x.cq;
	basic.srq = x.srq[0];
	CHECK_NULL(ibv_create_qp(x.pd, &basic), EINVAL);
	CHECK(why_reason() == UNIV_REASON_SRQ_OF_XRC, "explained as: %s", why_text());
	init.send_cq = x.cq;
	init.recv_cq = x.cq;
	CHECK_NULL(ibv_create_qp(x.pd, &init), EINVAL);
	ex.pd = x.pd;
	ex.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
	CHECK_NULL(ibv_create_qp_ex(x.dev.ctx, &ex), EINVAL);
	ex.xrcd = NULL;
	ex.comp_mask = IBV_QP_INIT_ATTR_XRCD;
	CHECK_NULL(ibv_create_qp_ex(x.dev.ctx, &ex), EINVAL);
	sx.pd = x.pd;
	sx.cq = x.cq;
	sx.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ;
	CHECK_NULL(ibv_create_srq_ex(x.dev.ctx, &sx), EINVAL);
	sx.xrcd = x.xrcd;
	sx.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD;
	CHECK_NULL(ibv_create_srq_ex(x.dev.ctx, &sx), EINVAL);
	sx.srq_type = IBV_SRQT_TM;
	CHECK_NULL(ibv_create_srq_ex(x.dev.ctx, &sx), EOPNOTSUPP);
	srq = ibv_create_srq(x.pd, &plain);
	NEED_PTR(srq, "create_srq");
	CHECK_ERR(ibv_get_srq_num(srq, &number), EINVAL);
	CHECK(why_reason() == UNIV_REASON_NOT_XRC, "explained as: %s", why_text());
	CHECK_ERR(ibv_destroy_srq(srq), 0);
	CHECK_NULL(target_opened(x.dev.ctx, x.xrcd, x.ini->qp_num, NULL), EINVAL);
	CHECK_NULL(target_opened(x.dev.ctx, x.xrcd, 0xfffff0, NULL), EINVAL);
	CHECK(why_reason() == UNIV_REASON_XRC_QPN && why_value() == 0xfffff0,
	      "explained as: %s", why_text());
	CHECK_NULL(ibv_open_qp(x.dev.ctx, &(struct ibv_qp_open_attr){
		.qp_num = x.tgt->qp_num, .xrcd = x.xrcd, .qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE }), EINVAL);
	CHECK_NULL(ibv_open_qp(x.dev.ctx, &(struct ibv_qp_open_attr){ .qp_num = x.tgt->qp_num }),
		   EINVAL);
	sends(&x, 0, 100, 3);
	xrc_close(&x);
}

/* An event goes to each handle of a target, so there is a limit. */
static void many_handles(void)
{
	enum { HANDLES = 4096 };
	static struct ibv_qp *handle[HANDLES];
	struct xrc x;

	xrc_open(&x, -1);
	/* The creation of the target made the first handle. */
	for (int i = 1; i < HANDLES; i++) {
		handle[i] = target_opened(x.dev.ctx, x.xrcd, x.tgt->qp_num, NULL);
		NEED(handle[i], "handle %d: %s", i, why_text());
	}
	CHECK_NULL(target_opened(x.dev.ctx, x.xrcd, x.tgt->qp_num, NULL), ENOMEM);
	CHECK(why_reason() == UNIV_REASON_LIMIT && why_bound() == HANDLES, "explained as: %s", why_text());
	CHECK_ERR(ibv_destroy_qp(handle[1]), 0);
	handle[1] = target_opened(x.dev.ctx, x.xrcd, x.tgt->qp_num, NULL);
	CHECK(handle[1], "a handle in the place of another: %s", why_text());
	for (int i = 1; i < HANDLES; i++)
		CHECK_ERR(ibv_destroy_qp(handle[i]), 0);
	sends(&x, 0, 100, 3);
	xrc_close(&x);
}

/* ---- Objects destroyed in the middle of messages ------------------------------- */

/* Send long messages to queue 1 until it is destroyed. */
static void *sender(void *arg)
{
	struct xrc *x = arg;
	struct ibv_wc wc;

	for (;;) {
		start(x, IBV_WR_SEND, x->srqn[1], 0, HALF);
		if (wait_wc(x->cq, &wc, WC_TIMEOUT) != 1)
			return (void *)"no completion";
		if (wc.status != IBV_WC_SUCCESS)
			break;
	}
	if (wc.status == IBV_WC_REM_INV_REQ_ERR || wc.status == IBV_WC_RETRY_EXC_ERR)
		return NULL;
	return (void *)ibv_wc_status_str(wc.status);
}

static void queue_goes(void)
{
	struct ibv_wc wc;
	pthread_t thread;
	void *wrong;
	struct xrc x;

	xrc_open(&x, -1);
	for (int round = 0; round < test_rounds(30); round++) {
		for (int i = 0; i < 4; i++)
			receive(&x, 1, i, 0, HALF);
		pthread_create(&thread, NULL, sender, &x);
		for (int i = 0; i < 4 + round % 8; i++)
			if (wait_wc(x.rcq[1], &wc, 20) == 1)
				receive(&x, 1, 9, 0, HALF);
		CHECK_ERR(ibv_destroy_srq(x.srq[1]), 0);
		pthread_join(thread, &wrong);
		CHECK(!wrong, "round %d: %s", round, (char *)wrong);
		while (ibv_poll_cq(x.rcq[1], 1, &wc) > 0)
			/*
			 * A receive request that holds the first half of a message
			 * completes with the error of the other half.
			 */
			CHECK(wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_WR_FLUSH_ERR ||
			      wc.status == IBV_WC_REM_INV_REQ_ERR, "a receive of the destroyed queue: %s",
			      ibv_wc_status_str(wc.status));
		x.srq[1] = srq_of(x.pd, x.xrcd, x.rcq[1], &x.srqn[1]);
		reconnect(&x);
	}
	sends(&x, 0, 5000, 3);
	xrc_close(&x);
}

static void target_goes(void)
{
	pthread_t thread;
	void *wrong;
	struct xrc x;

	xrc_open(&x, -1);
	for (int round = 0; round < test_rounds(20); round++) {
		for (int i = 0; i < DEPTH / 2; i++)
			receive(&x, 1, i, 0, HALF);
		pthread_create(&thread, NULL, sender, &x);
		sleep_ms(round % 5);
		CHECK_ERR(ibv_destroy_qp(x.tgt), 0);
		pthread_join(thread, &wrong);
		CHECK(!wrong, "round %d: %s", round, (char *)wrong);
		CHECK_ERR(ibv_destroy_srq(x.srq[1]), 0);
		CHECK_ERR(ibv_destroy_cq(x.rcq[1]), 0);
		x.rcq[1] = ibv_create_cq(x.dev.ctx, 2 * DEPTH, NULL, NULL, 0);
		NEED_PTR(x.rcq[1], "create_cq");
		x.srq[1] = srq_of(x.pd, x.xrcd, x.rcq[1], &x.srqn[1]);
		x.tgt = target_of(x.dev.ctx, x.xrcd, &x);
		reconnect(&x);
	}
	xrc_close(&x);
}

/* A process with SRQs and a handle of the target is killed under traffic; other processes go on. */
static void owner_killed(void)
{
	int fd = memfd_create("xrc", MFD_CLOEXEC), to[2], status;
	uint32_t word[2];
	struct ibv_qp *same;
	struct ibv_wc wc;
	struct xrc x;
	pid_t pid;

	NEED(fd >= 0 && !pipe(to), "memfd, pipe: %s", err_name(errno));
	for (int round = 0; round < 4; round++) {
		pid = fork();
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			xrc_open(&x, fd);
			for (int i = 0; i < DEPTH; i++)
				receive(&x, 1, i, 0, HALF);
			word[0] = x.tgt->qp_num;
			word[1] = x.srqn[1];
			NEED(write(to[1], word, sizeof(word)) == sizeof(word), "write");
			pause();
		}
		NEED(read(to[0], word, sizeof(word)) == sizeof(word), "the child has gone");
		xrc_open_queues(&x, fd);
		x.ini = initiator_of(x.pd, x.cq, 0);
		same = target_opened(x.dev.ctx, x.xrcd, word[0], &x);
		NEED_PTR(same, "open_qp");
		connect_pair(&x.dev, x.ini, same, 7);
		for (int i = 0; i < 8; i++)
			start(&x, IBV_WR_SEND, word[1], 0, HALF);
		sleep_ms(round * 2);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		for (int i = 0; i < 8; i++)
			CHECK(wait_wc(x.cq, &wc, WC_TIMEOUT) == 1, "no completion %d", i);
		/* Take over the target in this process. */
		x.tgt = same;
		reconnect(&x);
		sends(&x, 0, 3000, 7);
		xrc_close(&x);
	}
	close(fd);
	close(to[0]);
	close(to[1]);
}

static void want_mounted(const char *dir, const char *when)
{
	CHECK(umount(dir) && errno == EBUSY, "%s, umount: %s", when, err_name(errno));
}

/* The file system of a domain's file cannot be unmounted until the last handle is closed. */
static void file_system_goes(void)
{
	char dir[] = "/tmp/xrc-XXXXXX", path[sizeof(dir) + 8];
	struct ibv_xrcd *one, *two;
	struct test_dev dev;
	int fd;

	NEED(mkdtemp(dir) && !mount("none", dir, "tmpfs", 0, NULL), "tmpfs: %s", err_name(errno));
	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	NEED(fd >= 0, "%s: %s", path, err_name(errno));
	dev_open(&dev);
	one = xrcd_of(dev.ctx, fd, O_CREAT);
	two = xrcd_of(dev.ctx, fd, 0);
	NEED(one && two, "open_xrcd: %s; %s", err_name(errno), why_text());
	close(fd);
	want_mounted(dir, "two handles are open");
	CHECK_ERR(ibv_close_xrcd(one), 0);
	want_mounted(dir, "a handle is open");
	CHECK_ERR(ibv_close_xrcd(two), 0);
	CHECK(!umount(dir), "no handle is open, umount: %s", err_name(errno));
	CHECK(!rmdir(dir), "rmdir: %s", err_name(errno));
	dev_close(&dev);
}

/*
 * A window of type 2 would serve only the peer of the initiator, which asks for nothing, so
 * it is not bound. A window of type 1 serves other queue pairs of its domain.
 */
static void windows_of_initiator(void)
{
	struct ibv_mw_bind_info info = { .length = 64, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE };
	struct ibv_mw_bind bind = { .wr_id = 77, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr wr = { .wr_id = 77, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_mw *one, *two;
	struct ibv_mr *mr;
	struct xrc x;

	xrc_open(&x, -1);
	mr = ibv_reg_mr(x.pd, x.buf[1], 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	NEED(mr, "reg_mr: %s", why_text());
	info.mr = mr;
	info.addr = (uintptr_t)x.buf[1];
	two = ibv_alloc_mw(x.pd, IBV_MW_TYPE_2);
	NEED_PTR(two, "alloc_mw");
	wr.bind_mw.mw = two;
	wr.bind_mw.rkey = ibv_inc_rkey(two->rkey);
	wr.bind_mw.bind_info = info;
	post(x.ini, &wr);
	finish(&x, IBV_WC_MW_BIND_ERR);
	CHECK(why_reason() == UNIV_REASON_MW_TYPE, "explained as: %s", why_text());
	reconnect(&x);
	one = ibv_alloc_mw(x.pd, IBV_MW_TYPE_1);
	NEED_PTR(one, "alloc_mw");
	bind.bind_info = info;
	CHECK_ERR(ibv_bind_mw(x.ini, one, &bind), 0);
	finish(&x, IBV_WC_SUCCESS);
	CHECK_ERR(ibv_dereg_mr(mr), EBUSY);
	CHECK_ERR(ibv_dealloc_mw(one), 0);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	CHECK_ERR(ibv_dealloc_mw(two), 0);
	xrc_close(&x);
}

static const struct test_case cases[] = {
	{ "no_such_queue", no_such_queue },
	{ "destroyed_queue", destroyed_queue },
	{ "another_domain", another_domain },
	{ "another_protection_domain", another_protection_domain },
	{ "domains_in_a_list", domains_in_a_list },
	{ "too_long", too_long },
	{ "dependants", dependants },
	{ "wrong_side", wrong_side },
	{ "made_wrongly", made_wrongly },
	{ "many_handles", many_handles },
	{ "windows_of_initiator", windows_of_initiator },
	{ "queue_goes", queue_goes },
	{ "target_goes", target_goes },
	{ "owner_killed", owner_killed },
	{ "file_system_goes", file_system_goes },
};

int main(int argc, char **argv)
{
	/* In many rounds the peer has gone, and the retries are used up. */
	xrc_timeout = 12;
	if (!is_offered())
		SKIP("%s offers no XRC", dev_wanted());
	return test_run("bad_xrc (adv13 adv05 adv06)", argc, argv, cases, ARRAY_SIZE(cases), 60);
}
