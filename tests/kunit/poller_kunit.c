// SPDX-License-Identifier: GPL-2.0
/*
 * The poller: which rings get a turn in a pass, which wait for one, and the processors of its
 * thread.
 */
#include "../../kernel/core/queue/poller.c"

#include "fixture.h"

#define MANY 100

/* A ring that counts its turns, and has something to do in @work of them. */
struct fake {
	struct univ_polled polled;
	unsigned int turns;
	unsigned int work;
	bool call;		/* a call waits for the lock after this turn */
};

struct pollee {
	struct univ_poller *poller;
	struct univ_context *ctx;
	struct fake rings[MANY];
};

static bool fake_turn(struct univ_polled *polled)
{
	struct fake *fake = container_of(polled, struct fake, polled);

	fake->turns++;
	if (fake->call)
		atomic_inc(&polled->poller->waiters);
	if (!fake->work)
		return false;
	fake->work--;
	return true;
}

static void fake_leave(struct univ_polled *polled)
{
	polled->poller = NULL;
}

static void pollee_end(void *data)
{
	struct pollee *e = data;

	e->ctx->poller = NULL;
	kfree(e->poller);
}

/* A poller with rings and without a thread. The tests make its passes. */
static struct pollee *pollee(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct pollee *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, e);
	e->ctx = f->ctx;
	e->poller = poller_alloc(100);
	KUNIT_ASSERT_NOT_NULL(test, e->poller);
	f->ctx->poller = e->poller;
	for (i = 0; i < MANY; i++) {
		e->rings[i].polled.turn = fake_turn;
		e->rings[i].polled.leave = fake_leave;
		univ_poller_add(e->ctx, &e->rings[i].polled);
	}
	return e;
}

static void turns_forget(struct pollee *e)
{
	int i;

	for (i = 0; i < MANY; i++)
		e->rings[i].turns = 0;
}

/* Makes the passes after which empty rings are cold, and one in which they are. */
static void cool(struct pollee *e)
{
	int i;

	for (i = 0; i <= POLLER_EMPTY_TURNS; i++)
		poller_pass(e->poller);
	turns_forget(e);
}

static unsigned int turns(const struct pollee *e)
{
	unsigned int sum = 0;
	int i;

	for (i = 0; i < MANY; i++)
		sum += e->rings[i].turns;
	return sum;
}

/* The first passes look at every ring, since each of them may soon be used. */
static void poller_new(struct kunit *test)
{
	struct pollee *e = pollee(test);

	poller_pass(e->poller);
	KUNIT_EXPECT_EQ(test, turns(e), MANY);
	poller_pass(e->poller);
	KUNIT_EXPECT_EQ(test, turns(e), 2 * MANY);
	pollee_end(e);
}

/* A ring in use gets a turn in every pass, and those without requests wait for each other. */
static void poller_hot(struct kunit *test)
{
	struct pollee *e = pollee(test);
	int i;

	e->rings[7].work = UINT_MAX;
	cool(e);
	for (i = 1; i <= 5; i++) {
		KUNIT_EXPECT_TRUE(test, poller_pass(e->poller));
		KUNIT_EXPECT_EQ(test, e->rings[7].turns, i);
		KUNIT_EXPECT_EQ(test, turns(e), i * (1 + POLLER_COLD_TURNS + 1));
	}
	pollee_end(e);
}

/* No cold ring gets a second turn before all others had one. */
static void poller_cold(struct kunit *test)
{
	struct pollee *e = pollee(test);
	int passes = DIV_ROUND_UP(MANY, POLLER_COLD_TURNS), i;

	cool(e);
	for (i = 0; i < passes; i++)
		KUNIT_EXPECT_FALSE(test, poller_pass(e->poller));
	for (i = 0; i < MANY; i++) {
		KUNIT_EXPECT_GE(test, e->rings[i].turns, 1);
		KUNIT_EXPECT_LE(test, e->rings[i].turns, 2);
	}
	pollee_end(e);
}

/* With fewer cold rings than a pass may look at, each gets one turn. */
static void poller_few(struct kunit *test)
{
	struct pollee *e = pollee(test);
	int i;

	for (i = 3; i < MANY; i++)
		univ_poller_remove(&e->rings[i].polled);
	cool(e);
	poller_pass(e->poller);
	KUNIT_EXPECT_EQ(test, turns(e), 3);
	pollee_end(e);
}

/* A request on a cold ring is found, and its ring is hot from then on. */
static void poller_warms(struct kunit *test)
{
	struct pollee *e = pollee(test);
	struct fake *ring = &e->rings[MANY - 1];
	int i;

	cool(e);
	ring->work = 1;
	for (i = 0; i < DIV_ROUND_UP(MANY, POLLER_COLD_TURNS) && ring->work; i++)
		KUNIT_EXPECT_EQ(test, poller_pass(e->poller), !ring->work);
	KUNIT_EXPECT_EQ(test, ring->work, 0);
	ring->turns = 0;
	for (i = 1; i <= 3; i++) {
		poller_pass(e->poller);
		KUNIT_EXPECT_GE(test, ring->turns, i);
	}
	pollee_end(e);
}

/* With many rings in use, cold ones get as many turns, so a request on one of them is found soon. */
static void poller_halves(struct kunit *test)
{
	struct pollee *e = pollee(test);
	int i;

	for (i = 0; i < MANY / 2; i++)
		e->rings[i].work = UINT_MAX;
	cool(e);
	poller_pass(e->poller);
	for (i = 0; i < MANY; i++)
		KUNIT_EXPECT_EQ(test, e->rings[i].turns, 1);
	pollee_end(e);
}

/* A pass before the poller sleeps looks at each ring, and cold ones do not become hot by it. */
static void poller_all(struct kunit *test)
{
	struct pollee *e = pollee(test);
	int i;

	e->rings[0].work = UINT_MAX;
	cool(e);
	e->rings[50].work = 1;
	KUNIT_EXPECT_TRUE(test, poller_pass_all(e->poller));
	for (i = 0; i < MANY; i++)
		KUNIT_EXPECT_GE(test, e->rings[i].turns, 1);
	KUNIT_EXPECT_LE(test, turns(e), MANY + 1);
	KUNIT_EXPECT_EQ(test, e->rings[50].work, 0);
	poller_pass(e->poller);
	turns_forget(e);
	poller_pass(e->poller);
	KUNIT_EXPECT_EQ(test, turns(e), 2 + POLLER_COLD_TURNS + 2);
	pollee_end(e);
}

/* Calls that break off each pass do not keep any ring from its turn. */
static void poller_breaks_off(struct kunit *test)
{
	struct pollee *e = pollee(test);
	int i;

	for (i = 0; i < MANY; i++)
		e->rings[i].call = true;
	for (i = 0; i < MANY; i++)
		KUNIT_EXPECT_TRUE(test, poller_pass(e->poller));
	for (i = 0; i < MANY; i++)
		KUNIT_EXPECT_EQ(test, e->rings[i].turns, 1);

	for (i = 0; i < MANY; i++)
		e->rings[i].call = false;
	atomic_set(&e->poller->waiters, 0);
	e->rings[0].work = UINT_MAX;
	e->rings[1].work = UINT_MAX;
	cool(e);
	e->rings[0].call = true;
	e->rings[1].call = true;
	for (i = 0; i < MANY; i++)
		poller_pass(e->poller);
	for (i = 0; i < MANY; i++)
		KUNIT_EXPECT_GE(test, e->rings[i].turns, 1);
	pollee_end(e);
}

/* Cold rings leave a poller that ends as hot ones do. */
static void poller_ends(struct kunit *test)
{
	struct pollee *e = pollee(test);
	struct univ_hdr hdr = {};
	int i;

	e->rings[0].work = UINT_MAX;
	cool(e);
	univ_poller_remove(&e->rings[1].polled);
	/* univ_poller_stop() gives it back. */
	KUNIT_ASSERT_EQ(test, univ_limit_charge_poller(&hdr), 0);
	KUNIT_ASSERT_EQ(test, poller_create_thread(e->poller), 0);
	down_write(&e->ctx->live);
	univ_poller_stop(e->ctx);
	up_write(&e->ctx->live);
	KUNIT_EXPECT_NULL(test, e->ctx->poller);
	for (i = 0; i < MANY; i++)
		KUNIT_EXPECT_NULL(test, e->rings[i].polled.poller);
}

/*
 * The thread may run on the processors of its process, and on no other. It sets them when it begins,
 * which can take long on a busy machine.
 */
static void poller_processors(struct kunit *test)
{
	const struct cpumask *last = cpumask_of(cpumask_last(cpu_online_mask));
	struct univ_hdr hdr = {};
	struct task_struct *task;
	struct pollee *e;
	int i;

	/* Each case has a thread of its own, which ends with the case. */
	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, last), 0);
	e = pollee(test);
	/* univ_poller_stop() gives it back. */
	KUNIT_ASSERT_EQ(test, univ_limit_charge_poller(&hdr), 0);
	KUNIT_ASSERT_EQ(test, poller_create_thread(e->poller), 0);
	task = e->poller->task;
	wake_up_process(task);
	for (i = 0; i < 10000 && !cpumask_equal(task->cpus_ptr, last); i++)
		usleep_range(1000, 2000);
	KUNIT_EXPECT_TRUE(test, cpumask_equal(task->cpus_ptr, last));
	down_write(&e->ctx->live);
	univ_poller_stop(e->ctx);
	up_write(&e->ctx->live);
}

static struct kunit_case poller_cases[] = {
	KUNIT_CASE(poller_new),
	KUNIT_CASE(poller_hot),
	KUNIT_CASE(poller_cold),
	KUNIT_CASE(poller_few),
	KUNIT_CASE(poller_warms),
	KUNIT_CASE(poller_halves),
	KUNIT_CASE(poller_all),
	KUNIT_CASE(poller_breaks_off),
	KUNIT_CASE(poller_ends),
	KUNIT_CASE(poller_processors),
	{}
};

static struct kunit_suite poller_suite = {
	.name = "univ_poller",
	.suite_init = fixture_suite_init,
	.suite_exit = fixture_suite_exit,
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = poller_cases,
};

kunit_test_suite(poller_suite);
