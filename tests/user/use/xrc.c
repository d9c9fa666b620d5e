// SPDX-License-Identifier: GPL-2.0
/*
 * XRC as programs use it: domains of files, SRQs by number, RDMA, targets that several
 * processes share. A device without XRC must say so. bad_xrc.c tests invalid uses.
 */
#include <poll.h>
#include "xrc.h"

static int domain_file(void)
{
	char path[] = "/tmp/xrc-XXXXXX";
	int fd = mkstemp(path);

	NEED(fd >= 0, "a file: %s", err_name(errno));
	unlink(path);
	return fd;
}

/* ---- domains ------------------------------------------------------------------- */

static void domains(void)
{
	struct ibv_xrcd *none[2], *one, *two;
	struct ibv_qp *qp, *same;
	int fd = domain_file(), other = domain_file();
	struct test_dev dev;

	dev_open(&dev);
	CHECK_NULL(xrcd_of(dev.ctx, fd, 0), EAGAIN);
	CHECK(why_reason() == UNIV_REASON_XRCD_FILE && why_value() == (uint64_t)fd,
	      "explained as: %s", why_text());
	CHECK_NULL(xrcd_of(dev.ctx, 1000, O_CREAT), EBADF);
	one = xrcd_of(dev.ctx, fd, O_CREAT | O_EXCL);
	NEED(one, "O_EXCL: %s; %s", err_name(errno), why_text());
	CHECK_NULL(xrcd_of(dev.ctx, fd, O_CREAT | O_EXCL), EINVAL);
	two = xrcd_of(dev.ctx, fd, 0);
	NEED(two, "a second time: %s; %s", err_name(errno), why_text());
	CHECK_NULL(xrcd_of(dev.ctx, other, 0), EAGAIN);
	qp = target_of(dev.ctx, one, NULL);
	/*
	 * Both handles are of the same domain, so a queue pair of one can be opened by the
	 * other.
	 */
	same = target_opened(dev.ctx, two, qp->qp_num, NULL);
	NEED(same, "open_qp: %s; %s", err_name(errno), why_text());
	CHECK(same->qp_num == qp->qp_num && same->qp_type == IBV_QPT_XRC_RECV && !same->pd,
	      "what ibv_open_qp returned");
	CHECK_ERR(ibv_destroy_qp(qp), 0);
	CHECK_ERR(ibv_close_xrcd(one), 0);
	CHECK_ERR(ibv_destroy_qp(same), 0);
	CHECK_ERR(ibv_close_xrcd(two), 0);
	CHECK_NULL(xrcd_of(dev.ctx, fd, 0), EAGAIN);
	/* Domains without a file are all different. */
	for (int i = 0; i < 2; i++)
		none[i] = xrcd_of(dev.ctx, -1, i ? O_CREAT : 0);
	NEED(none[0] && none[1], "without a file: %s; %s", err_name(errno), why_text());
	qp = target_of(dev.ctx, none[0], NULL);
	CHECK_NULL(target_opened(dev.ctx, none[1], qp->qp_num, NULL), EINVAL);
	CHECK_ERR(ibv_destroy_qp(qp), 0);
	for (int i = 0; i < 2; i++)
		CHECK_ERR(ibv_close_xrcd(none[i]), 0);
	dev_close(&dev);
	close(fd);
	close(other);
}

/* ---- messages and RDMA --------------------------------------------------------- */

static void messages(void)
{
	static const uint32_t lengths[] = { 1, 64, 1024, 1025, 100000, HALF };
	struct xrc x;

	xrc_open(&x, -1);
	for (uint32_t i = 0; i < ARRAY_SIZE(lengths); i++)
		for (int which = 0; which < 2; which++)
			sends(&x, which, lengths[i], 1 + i);
	xrc_close(&x);
}

/* Many messages are under way at once, alternately to both SRQs. */
static void in_turn(void)
{
	struct ibv_send_wr wr[8];
	struct ibv_sge sge[8];
	struct ibv_wc wc;
	struct xrc x;

	xrc_open(&x, -1);
	for (uint32_t i = 0; i < 8; i++) {
		fill(x.buf[0] + i * 8192, 8000, i);
		sge[i] = xrc_sge(&x, 0, i * 8192, 8000);
		wr[i] = request(&x, IBV_WR_SEND_WITH_IMM, x.srqn[i % 2], 0, &sge[i]);
		wr[i].next = i < 7 ? &wr[i + 1] : NULL;
		receive(&x, i % 2, i, i * 8192, 8192);
	}
	post(x.ini, wr);
	for (uint32_t i = 0; i < 8; i++) {
		WANT_WC(x.rcq[i % 2], &wc, IBV_WC_SUCCESS);
		CHECK(wc.wr_id == i && wc.byte_len == 8000 && wc.wc_flags & IBV_WC_WITH_IMM &&
		      wc.imm_data == htobe32(0xabcd), "receive %u is wr_id %" PRIu64, i, wc.wr_id);
		CHECK_BYTES(x.buf[1] + i * 8192, 8000, i, "received");
		finish(&x, IBV_WC_SUCCESS);
	}
	xrc_close(&x);
}

static void rdma(void)
{
	struct ibv_wc wc;
	struct xrc x;
	uint64_t *word;

	xrc_open(&x, -1);
	word = (uint64_t *)(x.buf[1] + 512);
	for (uint32_t len = 200; len < HALF; len = len * 20 + 7) {
		fill(x.buf[0], len, len);
		does(&x, IBV_WR_RDMA_WRITE, x.srqn[0], 0, len, IBV_WC_SUCCESS);
		CHECK_BYTES(x.buf[1], len, len, "written");
		memset(x.buf[0], 0, len);
		does(&x, IBV_WR_RDMA_READ, x.srqn[1], 0, len, IBV_WC_SUCCESS);
		CHECK_BYTES(x.buf[0], len, len, "read");
		receive(&x, 1, 4, 0, 0);
		does(&x, IBV_WR_RDMA_WRITE_WITH_IMM, x.srqn[1], 0, len, IBV_WC_SUCCESS);
		WANT_WC(x.rcq[1], &wc, IBV_WC_SUCCESS);
		CHECK(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc.byte_len == len && wc.wr_id == 4,
		      "opcode %d length %u", wc.opcode, wc.byte_len);
	}
	*word = 41;
	does(&x, IBV_WR_ATOMIC_FETCH_AND_ADD, x.srqn[0], 512, 8, IBV_WC_SUCCESS);
	CHECK(*word == 42 && *(uint64_t *)x.buf[0] == 41, "fetch and add: %" PRIu64, *word);
	*word = 1;
	does(&x, IBV_WR_ATOMIC_CMP_AND_SWP, x.srqn[1], 512, 8, IBV_WC_SUCCESS);
	CHECK(*word == 5 && *(uint64_t *)x.buf[0] == 1, "compare and swap: %" PRIu64, *word);
	WANT_EMPTY(x.rcq[0]);
	xrc_close(&x);
}

/* Responses to reads come late; each read uses the protection domain of the SRQ that it names. */
static void reads_and_sends(void)
{
	struct ibv_send_wr wr[6];
	struct ibv_sge sge[6];
	struct ibv_wc wc;
	struct xrc x;

	xrc_open(&x, -1);
	fill(x.buf[1], 60000, 9);
	for (uint32_t i = 0; i < 6; i++) {
		sge[i] = i % 2 ? xrc_sge(&x, 0, 131072, 100) : xrc_sge(&x, 0, i * 20000, 20000);
		wr[i] = request(&x, i % 2 ? IBV_WR_SEND : IBV_WR_RDMA_READ, x.srqn[i % 2], i * 10000,
				&sge[i]);
		wr[i].next = i < 5 ? &wr[i + 1] : NULL;
		if (i % 2)
			receive(&x, 1, i, 131072, 100);
	}
	post(x.ini, wr);
	for (uint32_t i = 0; i < 6; i++) {
		finish(&x, IBV_WC_SUCCESS);
		if (i % 2)
			WANT_WC(x.rcq[1], &wc, IBV_WC_SUCCESS);
		else
			CHECK(!memcmp(x.buf[0] + i * 20000, x.buf[1] + i * 10000, 20000), "read %u", i);
	}
	xrc_close(&x);
}

static void by_wr_calls(void)
{
	struct ibv_qp_ex *ex;
	struct ibv_wc wc;
	struct xrc x;

	xrc_open_queues(&x, -1);
	x.ini = initiator_of(x.pd, x.cq, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE);
	x.tgt = target_of(x.dev.ctx, x.xrcd, &x);
	connect_pair(&x.dev, x.ini, x.tgt, 7);
	ex = ibv_qp_to_qp_ex(x.ini);
	NEED(ex, "no ibv_qp_ex");
	fill(x.buf[0], 3000, 3);
	receive(&x, 1, 9, 0, 3000);
	ibv_wr_start(ex);
	ex->wr_id = 77;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	ibv_wr_set_xrc_srqn(ex, x.srqn[1]);
	ibv_wr_set_sge(ex, x.mr->lkey, (uintptr_t)x.buf[0], 3000);
	ibv_wr_rdma_write(ex, x.mr->rkey, (uintptr_t)x.buf[1] + 8192);
	ibv_wr_set_xrc_srqn(ex, x.srqn[0]);
	ibv_wr_set_inline_data(ex, x.buf[0], 40);
	CHECK_ERR(ibv_wr_complete(ex), 0);
	finish(&x, IBV_WC_SUCCESS);
	finish(&x, IBV_WC_SUCCESS);
	WANT_WC(x.rcq[1], &wc, IBV_WC_SUCCESS);
	CHECK_BYTES(x.buf[1], 3000, 3, "received");
	CHECK_BYTES(x.buf[1] + 8192, 40, 3, "written");
	xrc_close(&x);
}

/* ---- shared receive queues ----------------------------------------------------- */

/* One SRQ serves several targets, and each completion has the number of its target. */
static void many_targets(void)
{
	struct ibv_qp *ini[3], *tgt[3];
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	struct xrc x;

	xrc_open(&x, -1);
	sge = xrc_sge(&x, 0, 0, 500);
	for (int i = 0; i < 3; i++) {
		ini[i] = initiator_of(x.pd, x.cq, 0);
		tgt[i] = target_of(x.dev.ctx, x.xrcd, NULL);
		connect_pair(&x.dev, ini[i], tgt[i], 7);
	}
	for (uint32_t k = 0; k < 12; k++) {
		receive(&x, 0, k, 0, 500);
		wr = request(&x, IBV_WR_SEND, x.srqn[0], 0, &sge);
		post(ini[k % 3], &wr);
		WANT_WC(x.rcq[0], &wc, IBV_WC_SUCCESS);
		CHECK(wc.wr_id == k && wc.qp_num == tgt[k % 3]->qp_num &&
		      wc.src_qp == ini[k % 3]->qp_num, "receive %u: qp_num %u src_qp %u", k,
		      wc.qp_num, wc.src_qp);
		WANT_WC(x.cq, &wc, IBV_WC_SUCCESS);
	}
	for (int i = 0; i < 3; i++) {
		CHECK_ERR(ibv_destroy_qp(ini[i]), 0);
		CHECK_ERR(ibv_destroy_qp(tgt[i]), 0);
	}
	xrc_close(&x);
}

static void limit(void)
{
	struct ibv_srq_attr attr = { .srq_limit = 3 };
	struct ibv_wc wc;
	struct xrc x;

	xrc_open(&x, -1);
	for (int i = 0; i < 5; i++)
		receive(&x, 1, i, 0, 100);
	CHECK_ERR(ibv_modify_srq(x.srq[1], &attr, IBV_SRQ_LIMIT), 0);
	for (int i = 0; i < 3; i++) {
		CHECK(no_event_within(x.dev.ctx, 50), "an event before message %d", i);
		does(&x, IBV_WR_SEND, x.srqn[1], 0, 10, IBV_WC_SUCCESS);
		WANT_WC(x.rcq[1], &wc, IBV_WC_SUCCESS);
	}
	want_async(x.dev.ctx, IBV_EVENT_SRQ_LIMIT_REACHED, x.srq[1]);
	xrc_close(&x);
}

/* ibv_create_srq_ex() arms the limit, unlike ibv_create_srq(). */
static void limit_from_the_start(void)
{
	struct ibv_srq_init_attr_ex init = {
		.attr = { .max_wr = DEPTH, .max_sge = 1, .srq_limit = 4 }, .srq_type = IBV_SRQT_XRC,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
			     IBV_SRQ_INIT_ATTR_CQ,
	};
	struct ibv_srq_attr attr;
	struct ibv_srq *srq;
	struct xrc x;

	xrc_open(&x, -1);
	init.pd = x.pd;
	init.xrcd = x.xrcd;
	init.cq = x.rcq[0];
	srq = ibv_create_srq_ex(x.dev.ctx, &init);
	NEED(srq, "create_srq_ex: %s; %s", err_name(errno), why_text());
	CHECK_ERR(ibv_query_srq(srq, &attr), 0);
	CHECK(attr.srq_limit == 4, "limit %u", attr.srq_limit);
	CHECK_ERR(ibv_destroy_srq(srq), 0);
	init.attr.srq_limit = init.attr.max_wr + 1;
	CHECK_NULL(ibv_create_srq_ex(x.dev.ctx, &init), EINVAL);
	xrc_close(&x);
}

/* Posted requests stay when the size of their SRQ changes, and messages to another SRQ do not notice. */
static void resized(void)
{
	static const uint32_t sizes[] = { 200, 12, 1000, DEPTH };
	struct ibv_wc wc;
	struct xrc x;

	xrc_open(&x, -1);
	for (uint32_t i = 0; i < 10; i++)
		receive(&x, i % 2, i, 0, 100);
	for (uint32_t i = 0; i < 10; i++) {
		struct ibv_srq_attr attr = { .max_wr = sizes[i % ARRAY_SIZE(sizes)] };

		CHECK_ERR(ibv_modify_srq(x.srq[0], &attr, IBV_SRQ_MAX_WR), 0);
		does(&x, IBV_WR_SEND, x.srqn[i % 2], 0, 10, IBV_WC_SUCCESS);
		WANT_WC(x.rcq[i % 2], &wc, IBV_WC_SUCCESS);
		CHECK(wc.wr_id == i, "receive %" PRIu64 ", expected %u", wc.wr_id, i);
	}
	xrc_close(&x);
}

/* The queue of the target's last receive request is replaced by one that often gets its memory. */
static void replaced(void)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	struct xrc x;

	xrc_open(&x, -1);
	for (int i = 0; i < 8; i++) {
		receive(&x, 1, i, 0, 100);
		does(&x, IBV_WR_SEND, x.srqn[1], 0, 10, IBV_WC_SUCCESS);
		WANT_WC(x.rcq[1], &wc, IBV_WC_SUCCESS);
		does(&x, IBV_WR_RDMA_WRITE, x.srqn[0], 0, 10, IBV_WC_SUCCESS);
		cq = ibv_create_cq(x.dev.ctx, 2 * DEPTH, NULL, NULL, 0);
		NEED_PTR(cq, "create_cq");
		CHECK_ERR(ibv_destroy_srq(x.srq[1]), 0);
		x.srq[1] = srq_of(x.pd, x.xrcd, cq, &x.srqn[1]);
		CHECK_ERR(ibv_destroy_cq(x.rcq[1]), 0);
		x.rcq[1] = cq;
	}
	xrc_close(&x);
}

/* A CQ that is armed, and an SRQ with one receive request that completes there. */
static struct ibv_srq *armed_srq(const struct xrc *x, int which, struct ibv_cq **cq, uint32_t *number)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(x->dev.ctx);
	struct ibv_srq *srq;

	NEED_PTR(channel, "create_comp_channel");
	*cq = ibv_create_cq(x->dev.ctx, 4, NULL, channel, 0);
	NEED_PTR(*cq, "create_cq");
	srq = srq_of(x->pd, x->xrcd, *cq, number);
	receive_by(srq, which, xrc_sge(x, 1, 4096 * which, 100));
	NEED_OK(ibv_req_notify_cq(*cq, 0));
	return srq;
}

/* The messages of one post go to two queues, and both completion queues raise their events. */
static void chain_to_two(void)
{
	struct ibv_send_wr wr[2];
	struct ibv_cq *cq[2], *told;
	struct ibv_srq *srq[2];
	uint32_t number[2];
	struct ibv_sge sge;
	struct ibv_wc wc;
	void *context;
	struct xrc x;

	xrc_open(&x, -1);
	sge = xrc_sge(&x, 0, 0, 10);
	for (int i = 0; i < 2; i++) {
		srq[i] = armed_srq(&x, i, &cq[i], &number[i]);
		wr[i] = request(&x, IBV_WR_SEND, number[i], 0, &sge);
	}
	wr[0].next = &wr[1];
	post(x.ini, wr);
	for (int i = 0; i < 2; i++) {
		struct ibv_comp_channel *channel = cq[i]->channel;
		struct pollfd fd = { .fd = channel->fd, .events = POLLIN };

		finish(&x, IBV_WC_SUCCESS);
		CHECK(poll(&fd, 1, WC_TIMEOUT) == 1, "no event of queue %d", i);
		if (fd.revents && !ibv_get_cq_event(channel, &told, &context))
			ibv_ack_cq_events(told, 1);
		WANT_WC(cq[i], &wc, IBV_WC_SUCCESS);
		CHECK_ERR(ibv_destroy_srq(srq[i]), 0);
		CHECK_ERR(ibv_destroy_cq(cq[i]), 0);
		CHECK_ERR(ibv_destroy_comp_channel(channel), 0);
	}
	xrc_close(&x);
}

/* An empty SRQ makes the sender retry, as often as rnr_retry allows. */
static void not_ready(void)
{
	struct ibv_wc wc;
	struct xrc x;

	xrc_open(&x, -1);
	start(&x, IBV_WR_SEND, x.srqn[0], 0, 300);
	sleep_ms(20);
	WANT_EMPTY(x.cq);
	receive(&x, 0, 1, 0, 300);
	finish(&x, IBV_WC_SUCCESS);
	WANT_WC(x.rcq[0], &wc, IBV_WC_SUCCESS);
	connect_pair(&x.dev, x.ini, x.tgt, 0);
	does(&x, IBV_WR_SEND, x.srqn[0], 0, 300, IBV_WC_RNR_RETRY_EXC_ERR);
	reconnect(&x);
	sends(&x, 0, 300, 2);
	xrc_close(&x);
}

/* ---- shared targets ------------------------------------------------------------ */

/* Send one word to the other process. */
static void tell(int fd, uint32_t word)
{
	NEED(write(fd, &word, sizeof(word)) == sizeof(word), "write: %s", err_name(errno));
}

static uint32_t hear(int fd)
{
	uint32_t word = 0;

	NEED(read(fd, &word, sizeof(word)) == sizeof(word), "the other process has gone");
	return word;
}

#define ROUND 3000

/* The child has its own SRQs and a handle of its parent's target. */
static void receiver(int file, int from, int to)
{
	struct ibv_qp *qp;
	struct ibv_wc wc;
	struct xrc x;

	xrc_open_queues(&x, file);
	qp = target_opened(x.dev.ctx, x.xrcd, hear(from), &x);
	NEED(qp, "open_qp: %s; %s", err_name(errno), why_text());
	for (uint32_t k = 0; k < 3; k++)
		receive(&x, 0, k, k * 4096, ROUND);
	tell(to, x.srqn[0]);
	tell(to, x.mr->rkey);
	tell(to, (uintptr_t)x.buf[1] >> 32);
	tell(to, (uint32_t)(uintptr_t)x.buf[1]);
	for (uint32_t k = 0; k < 3; k++) {
		WANT_WC(x.rcq[0], &wc, IBV_WC_SUCCESS);
		CHECK(wc.wr_id == k && wc.qp_num == qp->qp_num, "receive %u", k);
		CHECK_BYTES(x.buf[1] + k * 4096, ROUND, k, "received from another process");
		tell(to, 0);
	}
	hear(from);
	CHECK_BYTES(x.buf[1] + 100000, ROUND, 50, "written by another process");
	CHECK_ERR(ibv_destroy_qp(qp), 0);
	tell(to, 0);
	xrc_close(&x);
	exit(test_failures ? 1 : 0);
}

static void child_writes(struct xrc *x, uint32_t srqn, int from)
{
	struct ibv_sge sge = xrc_sge(x, 0, 0, ROUND);
	struct ibv_send_wr wr = request(x, IBV_WR_RDMA_WRITE, srqn, 0, &sge);

	wr.wr.rdma.rkey = hear(from);
	wr.wr.rdma.remote_addr = (uint64_t)hear(from) << 32;
	wr.wr.rdma.remote_addr |= hear(from);
	wr.wr.rdma.remote_addr += 100000;
	fill(x->buf[0], ROUND, 50);
	post(x->ini, &wr);
	finish(x, IBV_WC_SUCCESS);
}

static void processes(void)
{
	int to[2], from[2], file = domain_file(), status;
	uint32_t srqn;
	struct xrc x;
	pid_t pid;

	NEED(!pipe(to) && !pipe(from), "pipe: %s", err_name(errno));
	pid = fork();
	if (!pid) {
		close(to[1]);
		close(from[0]);
		receiver(file, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	xrc_open(&x, file);
	tell(to[1], x.tgt->qp_num);
	srqn = hear(from[0]);
	child_writes(&x, srqn, from[0]);
	sends(&x, 0, 700, 5);
	for (uint32_t k = 0; k < 3; k++) {
		/* The other handle keeps the target alive. */
		if (k == 1) {
			CHECK_ERR(ibv_destroy_qp(x.tgt), 0);
			x.tgt = NULL;
		}
		fill(x.buf[0], ROUND, k);
		does(&x, IBV_WR_SEND, srqn, 0, ROUND, IBV_WC_SUCCESS);
		hear(from[0]);
	}
	tell(to[1], 0);
	hear(from[0]);
	/* The last handle is gone. */
	does(&x, IBV_WR_SEND, srqn, 0, 10, IBV_WC_RETRY_EXC_ERR);
	CHECK(waitpid(pid, &status, 0) == pid && !status, "the child: status %#x", status);
	xrc_close(&x);
	close(file);
	close(to[1]);
	close(from[0]);
}

/* Each handle gets the events of the queue pair and sees its state. */
static void events(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_xrcd *xrcd;
	struct test_dev dev;
	struct ibv_qp *same;
	int file = domain_file();
	struct xrc x;

	xrc_open(&x, file);
	dev_open(&dev);
	xrcd = xrcd_of(dev.ctx, file, 0);
	NEED_PTR(xrcd, "open_xrcd");
	same = target_opened(dev.ctx, xrcd, x.tgt->qp_num, &dev);
	NEED_PTR(same, "open_qp");
	CHECK_ERR(ibv_query_qp(same, &attr, IBV_QP_STATE, &init), 0);
	CHECK(attr.qp_state == IBV_QPS_RTS && attr.dest_qp_num == x.ini->qp_num, "state %d",
	      attr.qp_state);
	does(&x, IBV_WR_SEND, 0xabcdef, 0, 10, IBV_WC_REM_INV_REQ_ERR);
	want_failure(x.dev.ctx, IBV_EVENT_QP_REQ_ERR, &x);
	want_failure(dev.ctx, IBV_EVENT_QP_REQ_ERR, &dev);
	CHECK_ERR(ibv_query_qp(same, &attr, IBV_QP_STATE, &init), 0);
	CHECK(attr.qp_state == IBV_QPS_ERR, "state %d", attr.qp_state);
	/* The other handle reconnects it. */
	connect_pair(&x.dev, x.ini, same, 7);
	sends(&x, 0, 300, 2);
	CHECK_ERR(ibv_destroy_qp(same), 0);
	CHECK_ERR(ibv_close_xrcd(xrcd), 0);
	dev_close(&dev);
	xrc_close(&x);
	close(file);
}

/* An initiator receives nothing, so a completion queue for that may go before it. */
static void queue_gone_before(void)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_XRC_SEND,
					 .cap = { .max_send_wr = 1, .max_send_sge = 1 } };
	struct ibv_qp *qp;
	struct pair p;

	pair_open(&p, NULL);
	init.send_cq = p.cq[0];
	init.recv_cq = ibv_create_cq(p.dev.ctx, 1, NULL, NULL, 0);
	NEED_PTR(init.recv_cq, "create_cq");
	qp = ibv_create_qp(p.pd, &init);
	NEED_PTR(qp, "create_qp");
	CHECK_ERR(ibv_destroy_cq(init.recv_cq), 0);
	CHECK_ERR(qp_to_state(qp, IBV_QPS_RESET), 0);
	CHECK_ERR(ibv_destroy_qp(qp), 0);
	pair_close(&p);
}

/* ---- not offered --------------------------------------------------------------- */

static void unoffered(void)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_XRC_SEND,
					 .cap = { .max_send_wr = 1, .max_send_sge = 1 } };
	struct pair p;

	pair_open(&p, NULL);
	init.send_cq = p.cq[0];
	init.recv_cq = p.cq[0];
	CHECK_NULL(xrcd_of(p.dev.ctx, -1, O_CREAT), EOPNOTSUPP);
	CHECK_NULL(ibv_create_qp(p.pd, &init), EOPNOTSUPP);
	CHECK(pair_works(&p), "the pair does not work after it");
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "domains", domains },
	{ "messages", messages },
	{ "in_turn", in_turn },
	{ "rdma", rdma },
	{ "reads_and_sends", reads_and_sends },
	{ "by_wr_calls", by_wr_calls },
	{ "many_targets", many_targets },
	{ "limit", limit },
	{ "limit_from_the_start", limit_from_the_start },
	{ "resized", resized },
	{ "replaced", replaced },
	{ "chain_to_two", chain_to_two },
	{ "not_ready", not_ready },
	{ "processes", processes },
	{ "events", events },
	{ "queue_gone_before", queue_gone_before },
};

static const struct test_case without[] = {
	{ "unoffered", unoffered },
};

int main(int argc, char **argv)
{
	if (is_offered())
		return test_run("xrc", argc, argv, cases, ARRAY_SIZE(cases), 40);
	return test_run("xrc", argc, argv, without, ARRAY_SIZE(without), 40);
}
