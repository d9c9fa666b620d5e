// SPDX-License-Identifier: GPL-2.0
/* Selective repeat: the time until a probe asks for what is missing. */
#include <linux/delay.h>

#include "uroce_end.h"

/* The interval at which the requester looks for progress ends now. Nothing is in flight. */
static void end_interval(struct uroce_missing *missing)
{
	int i;

	hrtimer_start(&missing->probe, 0, HRTIMER_MODE_REL_SOFT);
	for (i = 0; i < 20000 && hrtimer_active(&missing->probe); i++)
		usleep_range(1000, 2000);
}

/* A probe doubles the time until the next one, and each interval with progress halves it again. */
static void probe_hastens(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_missing *missing = &w->a.conn.req.missing;
	s64 wait = missing->wait;
	int i;

	repeat_write(w, 2, 0x11);
	for (i = 0; i < 2; i++) {
		missing->due = true;
		wire_run(w);
	}
	wire_settle(w);
	wire_expect_done(test, 2);
	for (i = 2; i; i--) {
		end_interval(missing);
		repeat_write(w, 2, 0x11);
		/* The times are long, so that they differ on a slow machine too. */
		KUNIT_EXPECT_GT(test, hrtimer_get_remaining(&missing->probe), i * wait / 2);
		KUNIT_EXPECT_LE(test, hrtimer_get_remaining(&missing->probe), i * wait);
		wire_settle(w);
	}
	wire_expect_done(test, 4);
}

static struct kunit_case probe_cases[] = {
	KUNIT_CASE(probe_hastens),
	{}
};

static struct kunit_suite probe_suite = {
	.name = "univ_uroce_probe",
	.init = repeat_init,
	.exit = wire_exit,
	.test_cases = probe_cases,
};

kunit_test_suite(probe_suite);
