// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Scripts: each line has a time since the start of the script, and a change or a command.
 *
 *	0ms    set drop 1%
 *	500ms  set port_down 1
 *	700ms  set port_down 0
 *	1s     run ip addr del 10.0.0.1/24 dev eth0
 *	2s     clear
 *
 * Empty lines, and lines that begin with "#", are comments. The whole script is read and
 * checked before its first line takes effect.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fault.h"

#define LINES_MAX 10000
#define WORDS_MAX (2 * LAST_ATTR)

/**
 * struct line - a line of a script
 * @at_ns: time since the start, in nanoseconds
 * @number: number of the line, for errors
 * @text: the memory of @args and @command
 * @command: of "run", for the shell; otherwise NULL
 * @args: of "set"; empty for "clear"
 */
struct line {
	uint64_t at_ns;
	unsigned int number;
	char *text;
	char *command;
	char *args[WORDS_MAX + 1];
};

static int wrong(unsigned int number, const char *why)
{
	char where[32];

	snprintf(where, sizeof(where), "line %u", number);
	return fail(where, why);
}

static bool time_read(const char *text, uint64_t *ns)
{
	static const struct { const char *unit; double ns; } units[] = {
		{ "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 },
	};
	char *end;
	double value = strtod(text, &end);

	if (end == text || !(value >= 0 && value <= 1e9))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].unit))
			continue;
		*ns = (uint64_t)(value * units[i].ns);
		return true;
	}
	return false;
}

/* The words of "set", which are checked now. */
static int args_read(struct line *line, char *rest)
{
	size_t n = 0;

	for (char *word = strtok(rest, " \t"); word; word = strtok(NULL, " \t")) {
		if (n == WORDS_MAX)
			return wrong(line->number, "there are too many words");
		line->args[n++] = word;
	}
	if (!n)
		return wrong(line->number, "set takes faults and values");
	return set_check(line->args) ? wrong(line->number, "this line is wrong") : 0;
}

static int line_read(struct line *line)
{
	char *save, *time = strtok_r(line->text, " \t", &save);
	char *action = strtok_r(NULL, " \t", &save);

	if (!time_read(time, &line->at_ns))
		return wrong(line->number, "a line begins with a time such as 500ms or 1.5s");
	if (action && !strcmp(action, "set"))
		return args_read(line, save);
	if (action && !strcmp(action, "clear") && !*save)
		return 0;
	if (action && !strcmp(action, "run") && *save) {
		line->command = save;
		return 0;
	}
	return wrong(line->number, "a time is followed by set, clear or run");
}

static bool is_comment(const char *text)
{
	text += strspn(text, " \t\n");
	return !*text || *text == '#';
}

/* Returns the number of lines, or -1 after an error was printed. */
static int lines_read(FILE *file, struct line *lines)
{
	char *text = NULL;
	size_t size = 0;
	unsigned int number = 0;
	int n = 0;

	while (getline(&text, &size, file) > 0) {
		struct line *line = &lines[n];

		number++;
		if (is_comment(text))
			continue;
		if (n == LINES_MAX)
			return wrong(number, "the script is too long"), -1;
		text[strcspn(text, "\n")] = '\0';
		*line = (struct line){ .number = number, .text = strdup(text) };
		if (!line->text)
			return fail("script", strerror(errno)), -1;
		if (line_read(line))
			return -1;
		if (n && line->at_ns < lines[n - 1].at_ns)
			return wrong(number, "the time is before that of the previous line"), -1;
		n++;
	}
	free(text);
	return n;
}

static int line_run(const char *device, struct line *line)
{
	int status;

	if (line->command) {
		status = system(line->command);
		return status ? wrong(line->number, "the command has failed") : 0;
	}
	status = line->args[0] ? set(device, line->args) : clear(device);
	return status ? wrong(line->number, "the change was refused") : 0;
}

static int lines_run(const char *device, struct line *lines, int n)
{
	struct timespec start, due;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (int i = 0; i < n; i++) {
		uint64_t ns = (uint64_t)start.tv_nsec + lines[i].at_ns;

		due.tv_sec = start.tv_sec + (time_t)(ns / 1000000000);
		due.tv_nsec = (long)(ns % 1000000000);
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
			;
		if (line_run(device, &lines[i]))
			return 1;
	}
	return 0;
}

int script(const char *device, const char *path)
{
	FILE *file = path ? fopen(path, "re") : stdin;
	struct line *lines = calloc(LINES_MAX, sizeof(*lines));
	int n, status;

	if (!file || !lines)
		return fail(path ? path : "script", strerror(errno));
	n = lines_read(file, lines);
	if (n < 0)
		return 1;
	/* Fails before the first line if the module is not loaded. */
	status = netlink_connect();
	if (!status)
		status = lines_run(device, lines, n);
	for (int i = 0; i < n; i++)
		free(lines[i].text);
	free(lines);
	return status;
}
