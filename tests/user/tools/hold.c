// SPDX-License-Identifier: GPL-2.0
/*
 * Hold one object of each kind, print so, and wait for the end of standard input, for
 * scripts that look at the kernel's counters. With the arguments "more N" it creates N
 * further queue pairs, wants the next one to be refused, and prints the reason.
 */
#include "testlib.h"
#include <univerbs.h>

static int refused(struct pair *p, int room)
{
	struct ibv_qp_init_attr init = { .send_cq = p->cq[0], .recv_cq = p->cq[0],
		.qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };
	int made = 0;

	while (made <= room && ibv_create_qp(p->pd, &init))
		made++;
	printf("%d more; refused: %s, reason %u: %s\n", made, err_name(errno), why_reason(),
	       why_text());
	return made == room && why_reason() == UNIV_REASON_CGROUP ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct pair_want want = { .use_srq = 1, .use_channel = 1 };
	struct pair p;
	char byte;

	setvbuf(stdout, NULL, _IOLBF, 0);
	test_program = "hold";
	test_limit(60);
	pair_open(&p, &want);
	if (argc > 2 && !strcmp(argv[1], "more"))
		return refused(&p, atoi(argv[2]));
	printf("holding\n");
	while (read(0, &byte, 1) > 0)
		;
	pair_close(&p);
	return test_failures ? 1 : 0;
}
