// SPDX-License-Identifier: GPL-2.0
/*
 * adv07. The device is removed at a moment that a program cannot choose: between the publication of
 * a request and its kick, between the reading of an event and its acknowledgement, or while calls
 * wait for a lock, or while the process changes its page tables all the time; or its driver reports
 * that the device has gone, and it has not. The first argument is the command that removes the
 * device.
 *   unplug_late 'rdma link del rxe8' send|recv|batch|events|line|contexts|paging|pins|refused
 */
#include "ioctl.h"
#include "odp.h"
#include "univerbs.h"

static const char *command;
static bool armed;
static bool refusing;

static void take_away(void)
{
	int status = system(command);

	NEED(!status, "%s: status %#x", command, status);
}

/* Answer like a driver whose destruction of an object fails. */
static int refuse(struct univ_destroy *cmd)
{
	cmd->hdr.reason = UNIV_REASON_DEVICE_REFUSED;
	cmd->hdr.value = ENODEV;
	errno = ENODEV;
	return -1;
}

/*
 * The first kick after @armed is set finds no device, and the first destruction of a queue after
 * @refusing is set is refused.
 */
static int library_ioctl(int fd, unsigned long request, void *arg)
{
	if (request == UNIV_KICK && __atomic_exchange_n(&armed, false, __ATOMIC_RELAXED))
		take_away();
	if (request == UNIV_CQ_DESTROY && __atomic_exchange_n(&refusing, false, __ATOMIC_RELAXED))
		return refuse(arg);
	return kernel_ioctl(fd, request, arg);
}

/* Count the completions of the request until the queue reports that the device is gone. */
static int completions_of(struct ibv_cq *cq, uint64_t id)
{
	uint64_t end = deadline_ms(WC_TIMEOUT);
	struct ibv_wc wc;
	int n, count = 0;

	do {
		n = ibv_poll_cq(cq, 1, &wc);
		count += n > 0 && wc.wr_id == id;
	} while (n >= 0 && now_ns() < end);
	CHECK(n < 0, "the queue of a device that is gone reads as empty");
	return count;
}

/* If a post returned an error, its request must not complete. */
static void check_once(struct ibv_cq *cq, int err, uint64_t id)
{
	int count = completions_of(cq, id);

	CHECK(!armed, "no kick was made");
	CHECK(count <= !err, "posting gave %s, and the request completed %d times", err_name(err),
	      count);
	printf("posting gave %s, and the request completed %d times\n", err_name(err), count);
}

static void late_send(void)
{
	struct pair p;

	pair_open(&p, NULL);
	armed = true;
	check_once(p.cq[0], post_send_at(&p, 0, 77, 0, 64, IBV_SEND_SIGNALED), 77);
}

static void late_recv(void)
{
	struct pair p;

	pair_open(&p, NULL);
	/* In the error state every receive needs a kick; in other states it does not. */
	NEED_OK(qp_to_state(p.qp[0], IBV_QPS_ERR));
	armed = true;
	check_once(p.cq[0], post_recv_at(&p, 0, 77, 0, 64), 77);
}

static void late_batch(void)
{
	struct pair_want want = { .use_ex = 1 };
	struct ibv_qp_ex *qp;
	struct pair p;

	pair_open(&p, &want);
	qp = ibv_qp_to_qp_ex(p.qp[0]);
	armed = true;
	ibv_wr_start(qp);
	qp->wr_id = 77;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, p.mr->lkey, (uintptr_t)p.buf[0], 64);
	check_once(p.cq[0], ibv_wr_complete(qp), 77);
}

static int destroyed;

static void *destroy(void *arg)
{
	struct pair *p = arg;

	CHECK_ERR(ibv_destroy_qp(p->qp[1]), 0);
	CHECK_ERR(ibv_destroy_srq(p->srq), 0);
	__atomic_add_fetch(&destroyed, 1, __ATOMIC_ACQ_REL);
	CHECK_ERR(ibv_destroy_cq(p->cq[1]), 0);
	__atomic_add_fetch(&destroyed, 1, __ATOMIC_ACQ_REL);
	return NULL;
}

static int destroyed_within(unsigned int ms)
{
	uint64_t end = deadline_ms(ms);

	while (__atomic_load_n(&destroyed, __ATOMIC_ACQUIRE) < 2 && now_ns() < end)
		sleep_ms(10);
	return __atomic_load_n(&destroyed, __ATOMIC_ACQUIRE);
}

/* The object of an event stays until the event is acknowledged. */
static void late_events(void)
{
	struct pair_want want = { .use_srq = 1, .use_channel = 1 };
	struct ibv_srq_attr attr = { .srq_limit = 2 };
	struct ibv_async_event event;
	struct ibv_cq *cq;
	pthread_t thread;
	struct pair p;
	void *context;

	pair_open(&p, &want);
	for (int i = 0; i < 2; i++)
		NEED_OK(post_recv_at(&p, 1, i, 4096, 2048));
	NEED_OK(ibv_modify_srq(p.srq, &attr, IBV_SRQ_LIMIT));
	NEED_OK(ibv_req_notify_cq(p.cq[1], 0));
	NEED_OK(post_send_at(&p, 0, 1, 0, 64, IBV_SEND_SIGNALED));
	NEED(!ibv_get_cq_event(p.ch, &cq, &context) && cq == p.cq[1], "no event of the queue");
	do {
		NEED(!ibv_get_async_event(p.dev.ctx, &event), "%s", err_name(errno));
		if (event.event_type != IBV_EVENT_SRQ_LIMIT_REACHED)
			ibv_ack_async_event(&event);
	} while (event.event_type != IBV_EVENT_SRQ_LIMIT_REACHED);
	take_away();
	pthread_create(&thread, NULL, destroy, &p);
	CHECK(!destroyed_within(300), "destroyed %d objects whose events are in use", destroyed);
	ibv_ack_async_event(&event);
	CHECK(destroyed_within(300) < 2, "destroyed a queue whose event is in use");
	ibv_ack_cq_events(cq, 1);
	CHECK(destroyed_within(WC_TIMEOUT) == 2, "destroyed %d objects after acknowledgement",
	      destroyed);
}

#define IN_LINE 64

static int left;

static void *modify(void *arg)
{
	struct pair *p = arg;

	CHECK(qp_to_nobody(&p->dev, p->qp[0]), "connected to nobody");
	__atomic_add_fetch(&left, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* Calls that wait in line for one queue pair, each for a second, do not delay the removal. */
static void late_line(void)
{
	struct pair_want want = { .stay_reset = 1 };
	pthread_t thread[IN_LINE];
	uint64_t start;
	struct pair p;

	pair_open(&p, &want);
	NEED_OK(qp_to_init(p.qp[0]));
	for (int i = 0; i < IN_LINE; i++)
		NEED(!pthread_create(&thread[i], NULL, modify, &p), "pthread_create");
	sleep_ms(500 * test_slowness());
	CHECK(__atomic_load_n(&left, __ATOMIC_RELAXED) < IN_LINE / 2, "%d calls have returned already",
	      left);
	start = now_ns();
	take_away();
	CHECK(now_ns() - start < 20 * 1000000000ull * test_slowness(), "it took %" PRIu64
	      " ms, and %d were back", (now_ns() - start) / 1000000, left);
	for (int i = 0; i < IN_LINE; i++)
		pthread_join(thread[i], NULL);
}

#define CONTEXTS 64

/* Resolve an address that nobody has, which takes a second each time, until the device has gone. */
static void *resolve(void *arg)
{
	struct test_dev *dev = arg;
	struct ibv_pd *pd = ibv_alloc_pd(dev->ctx);
	struct ibv_ah_attr attr;
	struct ibv_ah *ah;

	NEED_PTR(pd, "alloc_pd");
	ah_attr_to(dev, &attr);
	attr.grh.dgid.raw[15] = 254;
	do {
		ah = ibv_create_ah(pd, &attr);
		CHECK(!ah, "found nobody");
	} while (!ah && errno != ENODEV);
	__atomic_add_fetch(&left, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* Contexts that always have a call under way do not delay the removal, each by the length of a call. */
static void late_contexts(void)
{
	static struct test_dev dev[CONTEXTS];
	pthread_t thread[CONTEXTS];
	uint64_t start;

	for (int i = 0; i < CONTEXTS; i++) {
		dev_open(&dev[i]);
		NEED(!pthread_create(&thread[i], NULL, resolve, &dev[i]), "pthread_create");
	}
	sleep_ms(500 * test_slowness());
	CHECK(!__atomic_load_n(&left, __ATOMIC_RELAXED), "%d threads have ended already", left);
	start = now_ns();
	take_away();
	CHECK(now_ns() - start < 15 * 1000000000ull * test_slowness(), "it took %" PRIu64 " ms",
	      (now_ns() - start) / 1000000);
	for (int i = 0; i < CONTEXTS; i++)
		pthread_join(thread[i], NULL);
}

#define CHANGING 4

/* A change of so much memory takes a while, on a slow kernel as on others. */
static size_t populated_size(void)
{
	return (128ul << 20) / test_slowness();
}

/* Such threads leave few moments at which the page tables of this memory do not change. */
static void *changes(void *arg)
{
	size_t size = populated_size();

	while (!madvise(arg, size, MADV_FREE))
		__atomic_add_fetch(&left, 1, __ATOMIC_RELAXED);
	FAIL("madvise: %s", err_name(errno));
	return NULL;
}

static void removed_while_changing(void *mem)
{
	uint64_t start, end = deadline_ms(WC_TIMEOUT);
	pthread_t thread;

	for (int i = 0; i < CHANGING; i++)
		NEED(!pthread_create(&thread, NULL, changes, mem), "pthread_create");
	while (__atomic_load_n(&left, __ATOMIC_RELAXED) < CHANGING && now_ns() < end)
		sleep_ms(10);
	start = now_ns();
	take_away();
	CHECK(now_ns() - start < 20 * 1000000000ull * test_slowness(), "it took %" PRIu64 " ms",
	      (now_ns() - start) / 1000000);
	printf("changed %d times in %" PRIu64 " ms\n", left, (now_ns() - start) / 1000000);
}

static void *populated(void)
{
	size_t size = populated_size();
	void *mem = map(size, -1);

	madvise(mem, size, MADV_NOHUGEPAGE);
	memset(mem, 1, size);
	return mem;
}

/* The removal does not wait until the pages of a region of on-demand paging do not change. */
static void late_paging(void)
{
	struct odp o;
	struct pair p;

	start(&p, NULL);
	o = odp_of(&p, populated(), populated_size());
	prefetch(&p, &o, 0, 16 * PAGE, IBV_ADVISE_MR_FLAG_FLUSH);
	removed_while_changing(o.mem);
}

static void set_limit(const char *mib)
{
	FILE *f = fopen("/sys/module/uroce/parameters/pin_cache_mib", "w");

	NEED(f && fputs(mib, f) >= 0 && !fclose(f), "pin_cache_mib: %s", err_name(errno));
}

/* Nor until pages that could have been registered again do not change. */
static void late_pins(void)
{
	uint8_t *mem = populated();
	struct ibv_mr *mr;
	struct pair p;

	pair_open(&p, NULL);
	set_limit("64");
	for (int i = 0; i < 2; i++) {
		mr = ibv_reg_mr(p.pd, mem, 16 * PAGE, ALL_ACCESS);
		NEED_PTR(mr, "reg_mr");
		if (!i)
			CHECK_ERR(ibv_dereg_mr(mr), 0);
	}
	set_limit("0");
	removed_while_changing(mem);
}

static int refusal = -1;

static void *destroy_refused(void *arg)
{
	int err = ibv_destroy_cq(arg);

	__atomic_store_n(&refusal, err, __ATOMIC_RELEASE);
	return NULL;
}

/* With another reason, the number in the answer is not a count of events. */
static void late_refused(void)
{
	uint64_t end = deadline_ms(WC_TIMEOUT);
	struct test_dev dev;
	struct ibv_cq *cq;
	pthread_t thread;
	int err;

	dev_open(&dev);
	cq = ibv_create_cq(dev.ctx, 4, NULL, NULL, 0);
	NEED_PTR(cq, "create_cq");
	refusing = true;
	pthread_create(&thread, NULL, destroy_refused, cq);
	while ((err = __atomic_load_n(&refusal, __ATOMIC_ACQUIRE)) < 0 && now_ns() < end)
		sleep_ms(10);
	NEED(err == ENODEV, "destroying gave %s", err < 0 ? "nothing" : err_name(err));
	pthread_join(thread, NULL);
	CHECK_ERR(ibv_destroy_cq(cq), 0);
	dev_close(&dev);
	take_away();
}

static const struct test_case cases[] = {
	{ "send", late_send },
	{ "recv", late_recv },
	{ "batch", late_batch },
	{ "events", late_events },
	{ "line", late_line },
	{ "contexts", late_contexts },
	{ "paging", late_paging },
	{ "pins", late_pins },
	{ "refused", late_refused },
};

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	test_program = "unplug_late (adv07)";
	NEED(argc == 3, "usage: unplug_late COMMAND CASE");
	command = argv[1];
	test_limit(60);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (strcmp(cases[i].name, argv[2]))
			continue;
		test_now = argv[2];
		cases[i].run();
		return !!test_failures;
	}
	NEED(false, "no case %s", argv[2]);
}
