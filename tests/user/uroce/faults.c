// SPDX-License-Identifier: GPL-2.0
/*
 * Faults that a uroce device injects on request, and the effect of each on a program.
 * FAULT_DIR is the device's debugfs folder, UNIV_LIBDIR contains uroce-fault. FAULT_WIRE
 * says that messages are sent as packets.
 */
#include <fcntl.h>

#include <infiniband/univerbs_verbs.h>

#include "events.h"
#include "testlib.h"

#define ALL "1000000"

static void knob(const char *name, const char *value)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", getenv("FAULT_DIR") ?: ".", name);
	fd = open(path, O_WRONLY);
	CHECK(fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value), "%s: %s", path,
	      strerror(errno));
	if (fd >= 0)
		close(fd);
}

/* Call uroce-fault set with these words. */
static __attribute__((format(printf, 1, 2))) void set(const char *format, ...)
{
	char words[256], command[512];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	snprintf(command, sizeof(command), "%s/uroce-fault set %s %s", getenv("UNIV_LIBDIR") ?: ".",
		 dev_wanted(), words);
	CHECK(!system(command), "%s", command);
}

static void clear(void)
{
	char command[256];

	snprintf(command, sizeof(command), "%s/uroce-fault clear %s", getenv("UNIV_LIBDIR") ?: ".",
		 dev_wanted());
	CHECK(!system(command), "%s", command);
}

static bool wire(void)
{
	return getenv("FAULT_WIRE");
}

/*
 * Send and write one message each under a fault that always happens. @send and @write are
 * the expected completion statuses.
 */
static void always(const char *name, enum ibv_wc_status send, enum ibv_wc_status write)
{
	struct pair_want want = { .retry_cnt = 3, .rnr_retry = 1, .timeout = 10 };
	struct ibv_wc wc;
	struct pair p;

	for (int rdma = 0; rdma < 2; rdma++) {
		pair_open(&p, &want);
		NEED_OK(post_recv_at(&p, 1, 7, 0, PAIR_HALF));
		knob(name, ALL);
		if (rdma)
			CHECK_ERR(post_rdma(&p, 0, 1, IBV_WR_RDMA_WRITE, 64, IBV_SEND_SIGNALED), 0);
		else
			CHECK_ERR(post_send_at(&p, 0, 1, 0, 64, IBV_SEND_SIGNALED), 0);
		WANT_WC(p.cq[0], &wc, rdma ? write : send);
		knob(name, "0");
		pair_close(&p);
	}
	pair_open(&p, NULL);
	CHECK(pair_works(&p), "it goes on when nothing is asked for any more");
	pair_close(&p);
}

static void rnr(void)
{
	always("rnr_ppm", IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_SUCCESS);
}

static void remote_error(void)
{
	always("remote_error_ppm", IBV_WC_REM_OP_ERR, IBV_WC_REM_ACCESS_ERR);
}

static void completion_error(void)
{
	always("completion_error_ppm", IBV_WC_GENERAL_ERR, IBV_WC_GENERAL_ERR);
}

static void drop(void)
{
	enum ibv_wc_status status = wire() ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS;

	always("drop_ppm", status, status);
}

static void corrupt(void)
{
	enum ibv_wc_status status = wire() ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS;

	always("corrupt_ppm", status, status);
}

static void duplicate(void)
{
	always("duplicate_ppm", IBV_WC_SUCCESS, IBV_WC_SUCCESS);
}

static void delay(void)
{
	struct pair_want want = { .timeout = 20 };
	uint64_t start, took;
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	knob("delay_us", "300000");
	knob("delay_ppm", ALL);
	NEED_OK(post_recv_at(&p, 1, 7, 0, PAIR_HALF));
	start = now_ns();
	CHECK_ERR(post_send_at(&p, 0, 1, 0, 64, IBV_SEND_SIGNALED), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	took = (now_ns() - start) / 1000000;
	CHECK(took >= 290, "took %" PRIu64 " ms", took);
	knob("delay_ppm", "0");
	knob("delay_us", "1000");
	pair_close(&p);
}

static void next_event(struct ibv_context *ctx, enum ibv_event_type type)
{
	struct ibv_async_event event;

	if (CHECK(take_event(ctx, type, &event, WC_TIMEOUT), "no event"))
		CHECK(event.event_type == type, "event %d", event.event_type);
}

static void port_down(void)
{
	struct pair_want want = { .retry_cnt = 1, .timeout = 10 };
	struct ibv_port_attr port;
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	NEED_OK(post_recv_at(&p, 1, 7, 0, PAIR_HALF));
	knob("port_down", "1");
	next_event(p.dev.ctx, IBV_EVENT_PORT_ERR);
	NEED_OK(ibv_query_port(p.dev.ctx, 1, &port));
	CHECK(port.state == IBV_PORT_DOWN, "state %d", port.state);
	CHECK_ERR(post_send_at(&p, 0, 1, 0, 64, IBV_SEND_SIGNALED), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_RETRY_EXC_ERR);
	knob("port_down", "0");
	next_event(p.dev.ctx, IBV_EVENT_PORT_ACTIVE);
	NEED_OK(ibv_query_port(p.dev.ctx, 1, &port));
	CHECK(port.state == IBV_PORT_ACTIVE, "state %d", port.state);
	pair_close(&p);
}

/* Faults happen seldom, so retries hide them; the program is only slower. */
static void survives(void)
{
	static const char *const knobs[] = { "drop_ppm", "duplicate_ppm", "corrupt_ppm", "delay_ppm",
					     "rnr_ppm" };
	struct pair_want want = { .retry_cnt = 6, .rnr_retry = 6, .timeout = 10 };
	struct pair p;

	pair_open(&p, &want);
	for (size_t i = 0; i < ARRAY_SIZE(knobs); i++)
		knob(knobs[i], "20000");
	for (int i = 0; i < test_rounds(100); i++)
		if (!CHECK(pair_works(&p), "message %d", i))
			break;
	for (size_t i = 0; i < ARRAY_SIZE(knobs); i++)
		knob(knobs[i], "0");
	pair_close(&p);
}

#define MANY 5

/* The completion status of the third of several writes is the chosen one, and no other fails. */
static void third(void)
{
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, NULL);
	set("completion_error '#3' status resp_timeout");
	for (int i = 0; i < MANY; i++)
		CHECK_ERR(post_rdma(&p, 0, i, IBV_WR_RDMA_WRITE, 64, IBV_SEND_SIGNALED), 0);
	for (int i = 0; i < MANY; i++) {
		WANT_WC(p.cq[0], &wc, i < 2 ? IBV_WC_SUCCESS : i == 2 ? IBV_WC_RESP_TIMEOUT_ERR :
					      IBV_WC_WR_FLUSH_ERR);
		CHECK(wc.wr_id == (uint64_t)i, "completion %d is of request %" PRIu64, i, wc.wr_id);
	}
	pair_close(&p);
	/* The numbers are over, so later requests succeed although the rule is still set. */
	pair_open(&p, NULL);
	CHECK(pair_works(&p), "requests after the numbers");
	pair_close(&p);
	clear();
}

/* Exactly the second and the third case are counted. */
static void numbers(const char *word, const char *counter)
{
	struct pair_want want = { .retry_cnt = 7, .rnr_retry = 7, .timeout = 10 };
	uint64_t before = hw_counter(dev_wanted(), counter);
	struct pair p;

	pair_open(&p, &want);
	set("%s '#2-3'", word);
	for (int i = 0; i < MANY; i++)
		CHECK(pair_works(&p), "message %d", i);
	CHECK(hw_counter(dev_wanted(), counter) - before == 2, "%s moved by %" PRIu64, counter,
	      hw_counter(dev_wanted(), counter) - before);
	clear();
	pair_close(&p);
}

static void numbered(void)
{
	numbers("rnr", "fault_rnr");
	numbers("delay", "fault_delay");
	if (wire())
		numbers("drop", "fault_drop");
}

/* Return a bit for each of some messages, which is set if the message was delayed. */
static uint32_t delayed(uint32_t seed)
{
	struct pair_want want = { .timeout = 20 };
	uint64_t before, after;
	uint32_t bits = 0;
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	set("seed %u delay 50%% delay_us 1 qp %u", seed, p.qp[wire() ? 1 : 0]->qp_num);
	for (int i = 0; i < 24; i++) {
		before = hw_counter(dev_wanted(), "fault_delay");
		CHECK_ERR(post_rdma(&p, 0, i, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
		after = hw_counter(dev_wanted(), "fault_delay");
		bits |= (uint32_t)(after != before) << i;
	}
	clear();
	set("delay_us 1000");
	pair_close(&p);
	return bits;
}

/* A seed selects the same cases each time, and another seed selects others. */
static void seeded(void)
{
	uint32_t one = delayed(1), other = delayed(2);

	CHECK(one && one != 0xffffff, "cases %x", one);
	CHECK(one == delayed(1), "the same seed selected other cases than %x", one);
	CHECK(one != other, "both seeds selected %x", one);
}

/* Only the queue pair that was chosen has faults. */
static void one_queue_pair(void)
{
	struct pair_want want = { .retry_cnt = 1, .rnr_retry = 1, .timeout = 10 };
	struct pair hit, spared;
	struct ibv_wc wc;

	pair_open(&hit, &want);
	pair_open(&spared, &want);
	set("remote_error 100%% qp %u", hit.qp[1]->qp_num);
	CHECK(pair_works(&spared), "the other pair");
	CHECK_ERR(post_rdma(&hit, 0, 1, IBV_WR_RDMA_WRITE, 64, IBV_SEND_SIGNALED), 0);
	WANT_WC(hit.cq[0], &wc, IBV_WC_REM_ACCESS_ERR);
	CHECK(pair_works(&spared), "the other pair afterwards");
	clear();
	pair_close(&hit);
	pair_close(&spared);
}

/*
 * The numbers count the requests of the chosen queue pair, and not those of others between them. A
 * message that is copied in several turns counts once.
 */
static void numbered_of_one_queue_pair(void)
{
	enum ibv_wc_status want;
	struct pair hit, spared;
	struct ibv_wc wc;

	pair_open(&hit, NULL);
	pair_open(&spared, NULL);
	set("completion_error '#3' qp %u status rem_op", hit.qp[0]->qp_num);
	for (int i = 1; i <= 3; i++) {
		CHECK(pair_works(&spared), "the other pair, message %d", i);
		CHECK_ERR(post_rdma(&hit, 0, i, IBV_WR_RDMA_WRITE, PAIR_HALF, IBV_SEND_SIGNALED), 0);
		want = i == 3 ? IBV_WC_REM_OP_ERR : IBV_WC_SUCCESS;
		WANT_WC(hit.cq[0], &wc, want);
	}
	CHECK(pair_works(&spared), "the other pair afterwards");
	clear();
	pair_close(&hit);
	pair_close(&spared);
}

/* The second call of a verb fails with the chosen errno, and calls before and after succeed. */
static void verb_fails(void)
{
	struct ibv_cq *cq[3];
	struct test_dev dev;

	dev_open(&dev);
	set("verb create_cq verb_at 2 verb_errno ENFILE");
	cq[0] = ibv_create_cq(dev.ctx, 4, NULL, NULL, 0);
	NEED_PTR(cq[0], "create_cq");
	CHECK_NULL(ibv_create_cq(dev.ctx, 4, NULL, NULL, 0), ENFILE);
	cq[1] = ibv_create_cq(dev.ctx, 4, NULL, NULL, 0);
	NEED_PTR(cq[1], "create_cq");
	/* Another verb is not affected, and ENOMEM is the default. */
	set("verb create_cq");
	struct ibv_pd *pd = ibv_alloc_pd(dev.ctx);

	NEED_PTR(pd, "alloc_pd");
	CHECK_NULL(ibv_create_cq(dev.ctx, 4, NULL, NULL, 0), ENOMEM);
	set("verb alloc_pd verb_at 0");
	for (int i = 0; i < 3; i++)
		CHECK_NULL(ibv_alloc_pd(dev.ctx), ENOMEM);
	clear();
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	CHECK_ERR(ibv_destroy_cq(cq[0]), 0);
	CHECK_ERR(ibv_destroy_cq(cq[1]), 0);
	dev_close(&dev);
}

/* Each verb that makes an object fails in turn; the verbs that came before are undone. */
static void each_verb(void)
{
	static char buffer[4096];
	struct ibv_qp_init_attr qp_init = { .qp_type = IBV_QPT_RC,
					    .cap = { 4, 4, 1, 1, 0 } };
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	struct ibv_srq_attr limit = { .srq_limit = 1 };
	struct ibv_mr *mr;
	struct ibv_srq *srq;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct test_dev dev;
	struct ibv_pd *pd;

	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	cq = ibv_create_cq(dev.ctx, 8, NULL, NULL, 0);
	NEED(pd && cq, "the objects below");
	qp_init.send_cq = qp_init.recv_cq = cq;
	set("verb reg_mr verb_errno EPERM");
	CHECK_NULL(ibv_reg_mr(pd, buffer, sizeof(buffer), 0), EPERM);
	mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
	set("verb rereg_mr verb_errno EAGAIN");
	CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			   IBV_ACCESS_LOCAL_WRITE), "rereg_mr succeeds");
	set("verb alloc_mw verb_errno ENOSPC");
	CHECK_NULL(ibv_alloc_mw(pd, IBV_MW_TYPE_1), ENOSPC);
	set("verb create_srq verb_errno EMFILE");
	CHECK_NULL(ibv_create_srq(pd, &srq_init), EMFILE);
	srq = ibv_create_srq(pd, &srq_init);
	NEED_PTR(srq, "create_srq");
	set("verb modify_srq verb_errno EBUSY");
	CHECK_ERR(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), EBUSY);
	set("verb create_qp verb_errno EIO");
	CHECK_NULL(ibv_create_qp(pd, &qp_init), EIO);
	qp = ibv_create_qp(pd, &qp_init);
	NEED_PTR(qp, "create_qp");
	set("verb modify_qp verb_errno ETIMEDOUT");
	CHECK_ERR(ibv_modify_qp(qp, &attr, mask), ETIMEDOUT);
	CHECK_ERR(ibv_modify_qp(qp, &attr, mask), 0);
	/* The way to the error state is always open. */
	set("verb any verb_at 0");
	attr.qp_state = IBV_QPS_ERR;
	CHECK_ERR(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	clear();
	CHECK_ERR(ibv_destroy_qp(qp), 0);
	CHECK_ERR(ibv_destroy_srq(srq), 0);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	CHECK_ERR(ibv_destroy_cq(cq), 0);
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	dev_close(&dev);
}

/* The verbs for datagrams and XRC, and those that resize a queue, fail once and then succeed. */
static void other_verbs(void)
{
	struct ibv_xrcd_init_attr domain = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, .oflags = O_CREAT,
	};
	union ibv_gid group = { .raw = { 0xff, 0x0e, [15] = 0x77 } };
	struct ibv_qp_attr room = { .cap = { .max_send_wr = 500, .max_recv_wr = 500 } };
	struct ibv_srq_attr longer = { .max_wr = 500 };
	struct ibv_ah_attr address;
	struct ibv_xrcd *xrcd;
	struct pair p, rc;
	struct ibv_ah *ah;

	pair_open(&p, &(struct pair_want){ .type = IBV_QPT_UD });
	pair_open(&rc, &(struct pair_want){ .use_srq = 1 });
	set("verb open_xrcd verb_errno ENFILE");
	CHECK_NULL(ibv_open_xrcd(p.dev.ctx, &domain), ENFILE);
	xrcd = ibv_open_xrcd(p.dev.ctx, &domain);
	NEED_PTR(xrcd, "open_xrcd");
	ah_attr_to(&p.dev, &address);
	set("verb create_ah verb_errno EHOSTUNREACH");
	CHECK_NULL(ibv_create_ah(p.pd, &address), EHOSTUNREACH);
	ah = ibv_create_ah(p.pd, &address);
	NEED_PTR(ah, "create_ah");
	/* The core tries the new address by creating an address handle before it modifies this one. */
	for (int at = 1; at <= 2; at++) {
		set("verb create_ah verb_at %d verb_errno EHOSTUNREACH", at);
		CHECK_ERR(univerbs_modify_ah(ah, &address), EHOSTUNREACH);
	}
	CHECK_ERR(univerbs_modify_ah(ah, &address), 0);
	set("verb attach_mcast verb_errno ENOSPC");
	CHECK_ERR(ibv_attach_mcast(p.qp[0], &group, 0), ENOSPC);
	CHECK_ERR(ibv_detach_mcast(p.qp[0], &group, 0), EINVAL);
	CHECK_ERR(ibv_attach_mcast(p.qp[0], &group, 0), 0);
	set("verb modify_qp verb_errno EAGAIN");
	CHECK_ERR(ibv_modify_qp(p.qp[0], &room, IBV_QP_CAP), EAGAIN);
	CHECK(pair_works(&p), "a queue pair that was not resized");
	CHECK_ERR(ibv_modify_qp(p.qp[0], &room, IBV_QP_CAP), 0);
	CHECK(pair_works(&p), "a queue pair that was resized");
	set("verb modify_srq verb_errno EBUSY");
	CHECK_ERR(ibv_modify_srq(rc.srq, &longer, IBV_SRQ_MAX_WR), EBUSY);
	CHECK(pair_works(&rc), "a shared receive queue that was not resized");
	CHECK_ERR(ibv_modify_srq(rc.srq, &longer, IBV_SRQ_MAX_WR), 0);
	CHECK(pair_works(&rc), "a shared receive queue that was resized");
	clear();
	CHECK_ERR(ibv_detach_mcast(p.qp[0], &group, 0), 0);
	CHECK_ERR(ibv_destroy_ah(ah), 0);
	CHECK_ERR(ibv_close_xrcd(xrcd), 0);
	pair_close(&rc);
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "rnr", rnr },
	{ "remote_error", remote_error },
	{ "completion_error", completion_error },
	{ "drop", drop },
	{ "corrupt", corrupt },
	{ "duplicate", duplicate },
	{ "delay", delay },
	{ "port_down", port_down },
	{ "survives", survives },
	{ "third", third },
	{ "numbered", numbered },
	{ "seeded", seeded },
	{ "one_queue_pair", one_queue_pair },
	{ "numbered_of_one_queue_pair", numbered_of_one_queue_pair },
	{ "verb_fails", verb_fails },
	{ "each_verb", each_verb },
	{ "other_verbs", other_verbs },
};

TEST_MAIN("faults", cases, 60)
