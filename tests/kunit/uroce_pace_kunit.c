// SPDX-License-Identifier: GPL-2.0
/* The pace of a sender: packets that wait for it. */
#include "uroce_end.h"

/* While the oldest packet waits for its pace, no answer is missing, so no timer runs. */
static void pace_of_repeats(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_pace pace = {
		.kbps = 1,
		.next = ktime_get_ns() + 3600 * NSEC_PER_SEC,
	};

	repeat_write(w, 4, 0x11);
	wire_lose(&w->a.out, 1);
	wire_ask(w, -1);
	w->a.conn.pace = &pace;
	wire_tell(w, -1);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->a.out));
	KUNIT_EXPECT_FALSE(test, timer_pending(&w->a.conn.req.timer));
	w->a.conn.pace = NULL;
	wire_end_wait(w);
	repeat_expect_clean(test, 2, 1);
}

static struct kunit_case pace_cases[] = {
	KUNIT_CASE(pace_of_repeats),
	{}
};

static struct kunit_suite pace_suite = {
	.name = "univ_uroce_pace",
	.init = repeat_init,
	.exit = wire_exit,
	.test_cases = pace_cases,
};

kunit_test_suite(pace_suite);
