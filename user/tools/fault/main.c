// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The command line of uroce-fault. */
#include <stdio.h>
#include <string.h>

#include "fault.h"

static const char usage[] =
	"usage: uroce-fault [--json] [show [DEVICE]]\n"
	"       uroce-fault set DEVICE FAULT VALUE [FAULT VALUE]...\n"
	"       uroce-fault clear DEVICE\n"
	"       uroce-fault script DEVICE [FILE]\n"
	"\n"
	"Faults: drop, duplicate, corrupt, delay, rnr, remote_error and completion_error. VALUE is\n"
	"the number of affected cases in a million (10000) or in a hundred (1%), or the cases\n"
	"themselves, counted from now (#5, #5-7).\n"
	"  delay_us N        microseconds of a delay\n"
	"  port_down 1|0     force the port down, and up again\n"
	"  qp N              only this queue pair is affected; 0: all\n"
	"  seed N            a rate selects the same cases each time; 0: at random\n"
	"  status NAME       status of completions in error (retry_exc, general)\n"
	"  verb NAME         verb that fails (create_qp, any, none)\n"
	"  verb_at N         its call that fails, counted from now; 0: each call\n"
	"  verb_errno NAME   its errno (ENOMEM)\n"
	"  mirror 1|0        show messages without packets to packet sockets\n"
	"  pkeys KEY[,KEY].. the table of P_Keys (0xffff,0x8001)\n"
	"See uroce-fault(8).\n";

int fail(const char *what, const char *why)
{
	fprintf(stderr, "uroce-fault: %s: %s\n", what, why);
	return 1;
}

static int bad_usage(void)
{
	fputs(usage, stderr);
	return 2;
}

static int run(int argc, char **argv)
{
	const char *command = argc ? argv[0] : "show";

	if (argc <= 2 && !strcmp(command, "show"))
		return show(argc == 2 ? argv[1] : NULL, false);
	if (argc >= 4 && !strcmp(command, "set"))
		return set(argv[1], argv + 2);
	if (argc == 2 && !strcmp(command, "clear"))
		return clear(argv[1]);
	if ((argc == 2 || argc == 3) && !strcmp(command, "script"))
		return script(argv[1], argc == 3 && strcmp(argv[2], "-") ? argv[2] : NULL);
	if (argc == 1 && !strcmp(command, "--version"))
		return printf("uroce-fault %s\n", UNIVERBS_VERSION) < 0;
	if (argc == 1 && !strcmp(command, "--help"))
		return fputs(usage, stdout) < 0;
	return bad_usage();
}

int main(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "--json"))
		return run(argc - 1, argv + 1);
	if (argc <= 4 && (argc == 2 || !strcmp(argv[2], "show")))
		return show(argc == 4 ? argv[3] : NULL, true);
	return bad_usage();
}
