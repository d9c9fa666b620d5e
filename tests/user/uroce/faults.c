// SPDX-License-Identifier: GPL-2.0
/*
 * Faults that a uroce device injects on request, and the effect of each on a program.
 * FAULT_DIR is the device's debugfs folder. FAULT_WIRE says that messages are sent as
 * packets.
 */
#include <fcntl.h>
#include <poll.h>

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
	struct pollfd fd = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	if (!CHECK(poll(&fd, 1, WC_TIMEOUT) == 1, "no event"))
		return;
	NEED_OK(ibv_get_async_event(ctx, &event));
	CHECK(event.event_type == type, "event %d", event.event_type);
	ibv_ack_async_event(&event);
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
};

TEST_MAIN("faults", cases, 60)
