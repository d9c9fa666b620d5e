// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Turns a failure into a sentence, with the rows of reasons.def. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <infiniband/univerbs.h>

#include "why/line.h"
#include "why/names.h"

void univ_say(struct univ_line *line, const char *format, ...)
{
	va_list args;
	int length;

	if (line->used >= line->size)
		return;
	va_start(args, format);
	length = vsnprintf(line->text + line->used, line->size - line->used, format, args);
	va_end(args);
	if (length > 0)
		line->used += (size_t)length;
}

/* The placeholders of SENTENCE(). */
static void say_value(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "%llu", (ull)f->value);
}

static void say_bound(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "%llu", (ull)f->bound);
}

static void say_hex_value(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "0x%llx", (ull)f->value);
}

static void say_hex_bound(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "0x%llx", (ull)f->bound);
}

static void say_subject(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "%s", f->subject);
}

static void say_object(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "%s", univ_object_name(f->detail));
}

static void say_limit(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "%s", univ_limit_name(f->detail));
}

static void say_type(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "%s", univ_qp_type_name((uint32_t)f->value));
}

static void say_detail_type(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "%s", univ_qp_type_name(f->detail));
}

static void say_opcode(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "%s", univ_opcode_name((uint32_t)f->value));
}

/* Writes the opcode without "IBV_WR_", as it is part of the name of a flag. */
static void say_op(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "%s", univ_opcode_name((uint32_t)f->value) + sizeof("IBV_WR_") - 1);
}

static const struct placeholder {
	const char *name;
	univ_explainer *say;
} placeholders[] = {
	{ "{value}", say_value },
	{ "{bound}", say_bound },
	{ "{0xvalue}", say_hex_value },
	{ "{0xbound}", say_hex_bound },
	{ "{subject}", say_subject },
	{ "{object}", say_object },
	{ "{limit}", say_limit },
	{ "{type}", say_type },
	{ "{detail-type}", say_detail_type },
	{ "{opcode}", say_opcode },
	{ "{op}", say_op },
};

/* Writes the value of the placeholder at @text, and returns the text behind it. */
static const char *say_placeholder(struct univ_line *line, const char *text,
				   const struct univ_failure *f)
{
	size_t i, length;

	for (i = 0; i < UNIV_COUNT(placeholders); i++) {
		length = strlen(placeholders[i].name);
		if (!strncmp(text, placeholders[i].name, length)) {
			placeholders[i].say(line, f);
			return text + length;
		}
	}
	univ_say(line, "{");
	return text + 1;
}

static void say_sentence(struct univ_line *line, const char *text, const struct univ_failure *f)
{
	int plain;

	while (*text) {
		plain = (int)strcspn(text, "{");
		univ_say(line, "%.*s", plain, text);
		text += plain;
		if (*text)
			text = say_placeholder(line, text, f);
	}
}

static const struct reason {
	const char *name;
	const char *text;
	univ_explainer *explain;
} reasons[UNIV_REASON_COUNT] = {
#define SENTENCE(reason, words) [UNIV_REASON_##reason] = { .name = #reason, .text = words },
#define EXPLAIN(reason, function) [UNIV_REASON_##reason] = { .name = #reason, .explain = function },
#define NAMED(reason) [UNIV_REASON_##reason] = { .name = #reason },
#include "why/rows.h"
};

/* Each reason has one row; a second row for one is a warning of the compiler. */
#define SENTENCE(reason, words) + 1
#define EXPLAIN(reason, function) + 1
#define NAMED(reason) + 1
enum { ROWS = 0
#include "why/rows.h"
};
_Static_assert(ROWS == (int)UNIV_REASON_COUNT,
	       "each reason needs one row SENTENCE, EXPLAIN or NAMED in user/why/reasons.def");

/* A completion is the only failure without an errno value. */
void univ_explain(const struct univ_failure *failure, char *text, size_t size)
{
	const uint32_t known = failure->reason < UNIV_REASON_COUNT ? failure->reason : 0;
	const struct reason *reason = &reasons[known];
	struct univ_line line = {
		.text = text,
		.size = size,
	};

	univ_say(&line, "%s: ", failure->verb);
	if (!failure->err)
		univ_explain_completion(&line, failure);
	else if (reason->text)
		say_sentence(&line, reason->text, failure);
	else if (reason->explain)
		reason->explain(&line, failure);
	else
		univ_explain_errno(&line, failure);
}

UNIV_EXPORT const char *univerbs_reason_name(uint32_t reason)
{
	return reason < UNIV_REASON_COUNT ? reasons[reason].name : "unknown";
}
