// SPDX-License-Identifier: GPL-2.0
/*
 * adv05, adv09, adv16. The argument of a creation lies on a read-only page, so the handle
 * cannot be copied out and the kernel undoes the object. Another thread may have found the
 * object before, by the offset of its mapping or by its queue pair number. Nothing of such
 * an object may remain, and no event may come from it.
 */
#include "raw.h"

#define RACE_MS		3000
#define COOKIE		0x600d0
#define NO_COOKIE	0xbad0		/* Cookie of the objects whose creation fails. */

_Static_assert(!((COOKIE | NO_COOKIE) & UNIV_COOKIE_NO_ASYNC), "the cookies refuse events");

static int fd;
static bool stop;

static void race_open(void)
{
	fd = raw_open();
	NEED(!fcntl(fd, F_SETFL, O_NONBLOCK), "O_NONBLOCK: %s", err_name(errno));
	__atomic_store_n(&stop, false, __ATOMIC_RELAXED);
}

static bool stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_RELAXED);
}

/* Return a copy of @arg that a call can read but not write. */
static void *read_only(void *arg, uint32_t size)
{
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(page != MAP_FAILED, "mmap: %s", err_name(errno));
	((struct univ_hdr *)arg)->size = size;
	memcpy(page, arg, size);
	NEED(!mprotect(page, PAGE, PROT_READ), "mprotect: %s", err_name(errno));
	return page;
}

/* Read and count all pending events. Each must carry the cookie of an existing object. */
static bool only_good_events(unsigned int *events)
{
	struct univ_event event;

	while (read(fd, &event, sizeof(event)) == sizeof(event)) {
		++*events;
		if (!CHECK(event.cookie == COOKIE,
			   "event %u with cookie %#" PRIx64 ", which no object has", event.type,
			   (uint64_t)event.cookie))
			return false;
	}
	return true;
}

/*
 * Repeat the creation, which fails with @err, until *@met is not 0, or an event has come if @met is NULL, and check the
 * events meanwhile.
 */
static unsigned int make_in_vain(unsigned long cmd, void *arg, int err, const unsigned int *met)
{
	uint64_t end = deadline_ms(RACE_MS);
	unsigned int events = 0;

	if (!met)
		met = &events;
	while (race_goes_on(end, __atomic_load_n(met, __ATOMIC_RELAXED))) {
		if (!CHECK(ioctl(fd, cmd, arg) && errno == err, "expected %s, got %s", err_name(err),
			   err_name(errno)))
			break;
		if (!only_good_events(&events))
			break;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	return events;
}

/* ---- a shared receive queue ------------------------------------------------------ */

static struct univ_srq_create srq_arg;
static unsigned int spoilt;

/* Map the ring as soon as it exists, and publish more requests than it has room for. */
static void *spoil_ring(void *unused)
{
	struct univ_ring_head *head;
	uint8_t *map;

	(void)unused;
	while (!stopped()) {
		map = mmap(NULL, srq_arg.map_length, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			   srq_arg.map_offset);
		if (map == MAP_FAILED)
			continue;
		head = (void *)(map + srq_arg.ring.head_offset);
		__atomic_store_n(&head->user.index, 1u << 31, __ATOMIC_RELEASE);
		munmap(map, srq_arg.map_length);
		__atomic_add_fetch(&spoilt, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* With a limit armed, the creation checks the ring, and a corrupt ring causes an event. */
static void srq_ring_spoilt(void)
{
	pthread_t thread;
	void *page;

	race_open();
	srq_arg = (struct univ_srq_create){ .pd = raw_pd(fd), .max_wr = 8, .max_sge = 1,
		.limit = 1, .cookie = NO_COOKIE };
	/* The next SRQ gets the same offset in the file. */
	NEED_OK(raw_call(fd, UNIV_SRQ_CREATE, &srq_arg));
	NEED_OK(raw_destroy(fd, UNIV_SRQ_DESTROY, srq_arg.handle));
	page = read_only(&(struct univ_srq_create){ .pd = srq_arg.pd, .max_wr = 8, .max_sge = 1,
		.limit = 1, .cookie = NO_COOKIE }, sizeof(struct univ_srq_create));
	spoilt = 0;
	NEED(!pthread_create(&thread, NULL, spoil_ring, NULL), "pthread_create");
	make_in_vain(UNIV_SRQ_CREATE, page, EFAULT, &spoilt);
	pthread_join(thread, NULL);
	CHECK(spoilt, "no ring was found before its queue was undone");
	munmap(page, PAGE);
	close(fd);
}

/* ---- a handle of an XRC target --------------------------------------------------- */

static uint32_t target;

/* Each round ends with an event for every handle of the queue pair. */
static void *upset_target(void *unused)
{
	struct univ_qp_attr init;

	(void)unused;
	raw_attr_init(&init, IBV_QPT_XRC_RECV);
	while (!stopped()) {
		NEED_OK(raw_to_state(fd, target, IBV_QPS_RESET));
		NEED_OK(raw_modify(fd, target, &init));
		NEED_OK(raw_to_state(fd, target, IBV_QPS_ERR));
	}
	return NULL;
}

/* Creates the target, and sets *@open to what opens another handle of it. False without XRC. */
static bool target_made(struct univ_qp_open *open)
{
	struct univ_xrcd_open xrcd = { .fd = -1, .oflags = O_CREAT };
	struct univ_qp_create create = { .qp_type = IBV_QPT_XRC_RECV, .cookie = COOKIE };

	race_open();
	if (!raw_offers(fd, UNIV_FEATURE_XRC)) {
		close(fd);
		printf("%s offers no XRC\n", dev_wanted());
		return false;
	}
	NEED_OK(raw_call(fd, UNIV_XRCD_OPEN, &xrcd));
	create.xrcd = xrcd.handle;
	NEED_OK(raw_call(fd, UNIV_QP_CREATE, &create));
	target = create.handle;
	*open = (struct univ_qp_open){ .qp_type = IBV_QPT_XRC_RECV, .cookie = NO_COOKIE,
		.xrcd = xrcd.handle, .qp_num = create.qp_num };
	open->hdr.size = sizeof(*open);
	return true;
}

/* The handle is refused with @err each time while the queue pair fails. */
static void refused_while_upset(struct univ_qp_open *open, int err)
{
	pthread_t thread;

	NEED(!pthread_create(&thread, NULL, upset_target, NULL), "pthread_create");
	CHECK(make_in_vain(UNIV_QP_OPEN, open, err, NULL), "the queue pair that exists has no event either");
	pthread_join(thread, NULL);
	close(fd);
}

static void target_upset(void)
{
	struct univ_qp_open open;
	void *page;

	if (!target_made(&open))
		return;
	page = read_only(&open, sizeof(open));
	refused_while_upset(page, EFAULT);
	munmap(page, PAGE);
}

/* Every handle of the target that may exist does, so the kernel closes another one that it has opened. */
static void target_crowded(void)
{
	struct univ_qp_open open, more;

	if (!target_made(&open))
		return;
	more = open;
	more.cookie = COOKIE;
	for (int i = 1; i < 4096; i++)
		NEED_OK(raw_call(fd, UNIV_QP_OPEN, &more));
	refused_while_upset(&open, ENOMEM);
}

/* ---- arguments ------------------------------------------------------------------- */

/* The child shares every page with its parent until one of them writes to it. */
static pid_t sharing_child(void)
{
	pid_t pid = fork();

	NEED(pid >= 0, "fork: %s", err_name(errno));
	if (pid)
		return pid;
	pause();
	_exit(0);
}

static void forked_argument_at(uint8_t *mem, size_t split, uint32_t pd, uint8_t *buf)
{
	struct univ_mr_reg want = { .pd = pd, .access = ALL_ACCESS, .addr = (uintptr_t)buf + 1,
		.length = PAGE + 1, .iova = (uintptr_t)buf + 1 };
	/* The address is not aligned for the type, so the argument is copied in and out. */
	void *at = mem + PAGE - split;
	struct univ_mr_reg arg;
	int ret, status;
	pid_t pid;

	want.hdr.size = sizeof(want);
	memcpy(at, &want, sizeof(want));
	pid = sharing_child();
	ret = ioctl(fd, UNIV_MR_REG, at);
	memcpy(&arg, at, sizeof(arg));
	CHECK(!ret, "page ends at byte %zu: %s, reason %u", split, err_name(errno),
	      arg.hdr.reason);
	CHECK(arg.pd == want.pd && arg.access == want.access && arg.addr == want.addr &&
	      arg.length == want.length && arg.iova == want.iova,
	      "page ends at byte %zu: pd %u, access %#x, address %#" PRIx64 ", length %" PRIu64
	      ", iova %#" PRIx64, split, arg.pd, arg.access, (uint64_t)arg.addr,
	      (uint64_t)arg.length, (uint64_t)arg.iova);
	if (!ret)
		CHECK_ERR(raw_destroy(fd, UNIV_MR_DEREG, arg.handle), 0);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

/*
 * The child shares the pages of an argument, so they are readable and not writable yet. A
 * call that breaks this sharing to write its answer must not alter its input.
 */
static void forked_argument(void)
{
	uint8_t *mem = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	uint8_t *buf = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	uint32_t pd;

	NEED(mem != MAP_FAILED && buf != MAP_FAILED, "mmap: %s", err_name(errno));
	race_open();
	pd = raw_pd(fd);
	for (size_t split = offsetof(struct univ_mr_reg, pd);
	     split <= offsetof(struct univ_mr_reg, iova); split += 4)
		forked_argument_at(mem, split, pd, buf);
	close(fd);
	munmap(mem, 2 * PAGE);
	munmap(buf, 2 * PAGE);
}

static const struct test_case cases[] = {
	{ "srq_ring_spoilt", srq_ring_spoilt },
	{ "target_upset", target_upset },
	{ "target_crowded", target_crowded },
	{ "forked_argument", forked_argument },
};
TEST_MAIN("half_made (adv05 adv09 adv16)", cases, 60)
