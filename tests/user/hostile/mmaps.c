// SPDX-License-Identifier: GPL-2.0
/*
 * adv12. Mappings with wrong offsets, sizes and protections; mappings that are unmapped in
 * part, moved or inherited; mapping while the object is destroyed. A mapping keeps its
 * pages alive.
 */
#include "raw.h"

static int fd;
static uint32_t pd;
static struct raw_cq cq;

static void set_up(void)
{
	fd = raw_open();
	pd = raw_pd(fd);
	raw_cq(fd, &cq, 256, -1);
}

static void tear_down(void)
{
	if (cq.map.base)
		raw_unmap(&cq.map);
	close(fd);
}

static void refuse(int prot, int flags, uint64_t offset, size_t length, const char *what)
{
	void *at;

	errno = 0;
	at = mmap(NULL, length, prot, flags, fd, offset);
	CHECK(at == MAP_FAILED && errno, "%s: mapped", what);
	if (at != MAP_FAILED)
		munmap(at, length);
}

#define RW (PROT_READ | PROT_WRITE)

static void wrong_offsets(void)
{
	uint64_t seed = rnd_seed();

	set_up();
	refuse(RW, MAP_SHARED, cq.map.offset + PAGE, cq.map.length, "an offset one page on");
	refuse(RW, MAP_SHARED, cq.map.offset + PAGE, PAGE, "an offset within");
	refuse(RW, MAP_SHARED, cq.map.offset + (1ull << 40), cq.map.length, "an offset far away");
	refuse(RW, MAP_SHARED, 0x7ffffffffffff000ull, PAGE, "the highest offset");
	for (int i = 0; i < 2000; i++) {
		uint64_t offset = ((uint64_t)rnd(&seed) << 31 | rnd(&seed)) & ~(PAGE - 1);

		if (offset == cq.map.offset || !offset)
			continue;
		refuse(RW, MAP_SHARED, offset & 0x7fffffffffffffffull, PAGE, "a random offset");
	}
	tear_down();
}

static void wrong_sizes(void)
{
	set_up();
	refuse(RW, MAP_SHARED, cq.map.offset, cq.map.length + PAGE, "one page too long");
	refuse(RW, MAP_SHARED, cq.map.offset, cq.map.length + (1ul << 30), "a gigabyte too long");
	NEED(cq.map.length > PAGE, "the ring has %zu bytes only", (size_t)cq.map.length);
	refuse(RW, MAP_SHARED, cq.map.offset, cq.map.length - PAGE, "one page too short");
	tear_down();
}

static void protections(void)
{
	set_up();
	refuse(RW | PROT_EXEC, MAP_SHARED, cq.map.offset, cq.map.length, "PROT_EXEC");
	refuse(PROT_EXEC, MAP_SHARED, cq.map.offset, cq.map.length, "PROT_EXEC alone");
	refuse(RW, MAP_PRIVATE, cq.map.offset, cq.map.length, "MAP_PRIVATE");
	CHECK(mprotect(cq.map.base, cq.map.length, RW | PROT_EXEC) && errno == EACCES,
	      "a ring was made executable");
	CHECK(!mprotect(cq.map.base, cq.map.length, PROT_READ), "a ring made read-only: %s",
	      err_name(errno));
	tear_down();
}

static uint64_t doorbell_offset(void)
{
	struct univ_context_query q = { 0 };

	NEED_OK(raw_call(fd, UNIV_CONTEXT_QUERY, &q));
	return q.doorbell_offset;
}

static void doorbell(void)
{
	uint64_t offset;
	uint8_t *page;

	set_up();
	offset = doorbell_offset();
	refuse(RW, MAP_SHARED, offset, PAGE, "the doorbell, writable");
	refuse(PROT_WRITE, MAP_SHARED, offset, PAGE, "the doorbell, write only");
	refuse(PROT_READ | PROT_EXEC, MAP_SHARED, offset, PAGE, "the doorbell, executable");
	refuse(PROT_READ, MAP_SHARED, offset, 2 * PAGE, "the doorbell and what is behind it");
	page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, offset);
	NEED(page != MAP_FAILED, "the doorbell: %s", err_name(errno));
	CHECK(all_zero(page, PAGE), "the doorbell page is not zero");
	CHECK(mprotect(page, PAGE, RW) && errno == EACCES, "the doorbell was made writable");
	CHECK(mprotect(page, PAGE, PROT_READ | PROT_EXEC) && errno == EACCES,
	      "the doorbell was made executable");
	munmap(page, PAGE);
	tear_down();
}

/* The offset of one context is invalid in another. */
static void other_context(void)
{
	struct raw_qp qp;
	int mine;

	set_up();
	for (int i = 0; i < 5; i++)
		raw_qp(fd, &qp, IBV_QPT_RC, pd, cq.handle, 0);
	mine = fd;
	fd = raw_open();
	refuse(RW, MAP_SHARED, qp.map.offset, qp.map.length, "another context's ring");
	close(fd);
	fd = mine;
	tear_down();
}

static void channel(void)
{
	struct univ_channel_create ch = { 0 };
	void *at;

	set_up();
	NEED_OK(raw_call(fd, UNIV_CHANNEL_CREATE, &ch));
	at = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, ch.fd, 0);
	CHECK(at == MAP_FAILED, "a completion channel was mapped");
	close(ch.fd);
	tear_down();
}

static void parts(void)
{
	uint8_t *moved, *again;
	size_t len;

	set_up();
	len = cq.map.length;
	NEED(len >= 3 * PAGE, "the ring has %zu bytes only", len);
	again = mmap(NULL, len, RW, MAP_SHARED, fd, cq.map.offset);
	NEED(again != MAP_FAILED, "mapped twice: %s", err_name(errno));
	again[PAGE] = 77;
	CHECK(cq.map.base[PAGE] == 77, "two mappings of a ring differ");
	CHECK(!munmap(again + PAGE, PAGE), "munmap of a page in the middle");
	CHECK(again[0] == cq.map.base[0] && again[2 * PAGE] == cq.map.base[2 * PAGE],
	      "what is left of a mapping");
	munmap(again, PAGE);
	munmap(again + 2 * PAGE, len - 2 * PAGE);
	moved = mremap(cq.map.base, len, len + 16 * PAGE, MREMAP_MAYMOVE);
	CHECK(moved == MAP_FAILED, "a ring's mapping grew");
	if (moved == MAP_FAILED) {
		moved = mremap(cq.map.base, len, PAGE, 0);
		CHECK(moved == cq.map.base, "a mapping made smaller: %s", err_name(errno));
		cq.map.length = PAGE;
	}
	raw_destroy(fd, UNIV_CQ_DESTROY, cq.handle);
	tear_down();
}

/* Read every page, so that a missing page faults. */
static unsigned int touch(const volatile uint8_t *p, size_t len)
{
	unsigned int sum = 0;

	for (size_t i = 0; i < len; i += 512)
		sum += p[i];
	return sum;
}

static int child_status(void (*fn)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		fn();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void child_reads(void)
{
	touch(cq.map.base, cq.map.length);
}

static void child_writes(void)
{
	memset(cq.map.base + PAGE, 0x5a, cq.map.length - PAGE);
}

static void inherited(void)
{
	int status;

	set_up();
	status = child_status(child_reads);
	CHECK((WIFEXITED(status) && !WEXITSTATUS(status)) || WTERMSIG(status) == SIGSEGV,
	      "a child that reads the ring: status %#x", status);
	status = child_status(child_writes);
	CHECK(WIFEXITED(status) || WTERMSIG(status) == SIGSEGV, "a child that writes: status %#x",
	      status);
	touch(cq.map.base, cq.map.length);
	tear_down();
}

static void after_destroy(void)
{
	uint64_t offset;

	set_up();
	offset = cq.map.offset;
	memset(cq.map.base + PAGE, 0x33, PAGE);
	NEED_OK(raw_destroy(fd, UNIV_CQ_DESTROY, cq.handle));
	touch(cq.map.base, cq.map.length);
	CHECK(cq.map.base[PAGE] == 0x33, "the page of a destroyed queue changed");
	memset(cq.map.base, 0x44, cq.map.length);
	refuse(RW, MAP_SHARED, offset, cq.map.length, "a destroyed queue");
	/* If the pages were freed too early, the new rings would get them. */
	for (int i = 0; i < 50; i++) {
		struct raw_cq other;

		raw_cq(fd, &other, 256, -1);
		CHECK(all_zero(other.map.base + 128, 1024), "a fresh ring holds foreign bytes");
		raw_unmap(&other.map);
		raw_destroy(fd, UNIV_CQ_DESTROY, other.handle);
	}
	for (size_t i = 0; i < cq.map.length; i++)
		if (cq.map.base[i] != 0x44) {
			FAIL("byte %zu of a mapping that outlived its queue changed", i);
			break;
		}
	tear_down();
}

static void after_close(void)
{
	set_up();
	memset(cq.map.base + PAGE, 0x66, PAGE);
	close(fd);
	touch(cq.map.base, cq.map.length);
	CHECK(cq.map.base[PAGE] == 0x66, "the page of a closed context changed");
	memset(cq.map.base, 1, cq.map.length);
	raw_unmap(&cq.map);
}

/* ---- Races --------------------------------------------------------------- */

static uint64_t race_end;
static uint64_t race_first;

static void *create_and_destroy(void *arg)
{
	(void)arg;
	while (now_ns() < race_end) {
		struct univ_cq_create a = { .cqe = 256, .channel_fd = -1 };

		if (raw_call(fd, UNIV_CQ_CREATE, &a))
			continue;
		__atomic_store_n(&race_first, a.map_offset, __ATOMIC_RELAXED);
		sched_yield();
		raw_destroy(fd, UNIV_CQ_DESTROY, a.handle);
	}
	return NULL;
}

static void *map_and_touch(void *arg)
{
	unsigned long *hits = arg;

	while (now_ns() < race_end) {
		uint64_t offset = __atomic_load_n(&race_first, __ATOMIC_RELAXED);
		uint8_t *at = mmap(NULL, 2 * PAGE, RW, MAP_SHARED, fd, offset);

		if (at == MAP_FAILED)
			continue;
		touch(at, 2 * PAGE);
		at[PAGE] = 9;
		munmap(at, 2 * PAGE);
		++*hits;
	}
	return NULL;
}

static void racing_destroy(void)
{
	unsigned long hits[2] = { 0 };
	pthread_t t[4];

	set_up();
	race_end = deadline_ms(2000);
	race_first = cq.map.offset;
	for (int i = 0; i < 2; i++) {
		pthread_create(&t[i], NULL, create_and_destroy, NULL);
		pthread_create(&t[2 + i], NULL, map_and_touch, &hits[i]);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("%lu mappings\n", hits[0] + hits[1]);
	tear_down();
}

/* Memory that mappings keep is freed when they are unmapped; a leak would exhaust it here. */
static void no_leak(void)
{
	set_up();
	for (int i = 0; i < test_rounds(300); i++) {
		struct univ_cq_create a = { .cqe = 30000, .channel_fd = -1 };
		int err = raw_call(fd, UNIV_CQ_CREATE, &a);
		uint8_t *at;

		NEED(!err, "queue %d: %s, reason %u", i, err_name(err), a.hdr.reason);
		at = mmap(NULL, a.map_length, RW, MAP_SHARED, fd, a.map_offset);
		NEED(at != MAP_FAILED, "mapping %d: %s", i, err_name(errno));
		NEED_OK(raw_destroy(fd, UNIV_CQ_DESTROY, a.handle));
		touch(at, a.map_length);
		munmap(at, a.map_length);
	}
	tear_down();
}

static const struct test_case cases[] = {
	{ "wrong_offsets", wrong_offsets },
	{ "wrong_sizes", wrong_sizes },
	{ "protections", protections },
	{ "doorbell", doorbell },
	{ "other_context", other_context },
	{ "channel", channel },
	{ "parts", parts },
	{ "inherited", inherited },
	{ "after_destroy", after_destroy },
	{ "after_close", after_close },
	{ "racing_destroy", racing_destroy },
	{ "no_leak", no_leak },
};

TEST_MAIN("mmaps (adv12)", cases, 60)
