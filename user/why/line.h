/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Inside the room why: recording failures, and composing their sentences. */
#ifndef UNIV_WHY_LINE_H
#define UNIV_WHY_LINE_H

#include <stddef.h>

#include "why/why.h"

/* failure.c: as univ_fail(), but printed by univ_fail_tell(). */
int univ_fail_later(const struct univ_failure *failure) UNIV_COLD;

/* Records without a change of errno; prints by univ_fail_tell(), unless @quiet. */
void univ_fail_record(const struct univ_failure *failure, bool quiet) UNIV_COLD;

/* Prints, if the user wants that, and does not record. */
void univ_warn(const struct univ_failure *failure) UNIV_COLD;

typedef unsigned long long ull;

/* A line that is composed; text that does not fit is cut off. */
struct univ_line {
	char *text;
	size_t size;
	size_t used;
};

void univ_say(struct univ_line *line, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

typedef void univ_explainer(struct univ_line *line, const struct univ_failure *f);

/* sentences.c, sentences_frames.c */
#define EXPLAIN(name, function) univ_explainer function;
#include "why/rows.h"

/* completion.c */
univ_explainer univ_explain_completion;

#endif
