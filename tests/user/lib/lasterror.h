/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The library's explanation of the last failure. The stock library has none, so programs
 * that also run on it call why_known() first.
 */
#ifndef LASTERROR_H
#define LASTERROR_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <infiniband/univerbs.h>
#include "check.h"

static MAYBE_UNUSED bool why_known(void)
{
	return dlsym(RTLD_DEFAULT, "univerbs_last_error");
}

static MAYBE_UNUSED struct univerbs_error why(void)
{
	struct univerbs_error e = { .size = sizeof(e) };
	int (*get)(struct univerbs_error *) = dlsym(RTLD_DEFAULT, "univerbs_last_error");

	if (!get || get(&e))
		snprintf(e.text, sizeof(e.text), "no explanation");
	return e;
}

static MAYBE_UNUSED uint32_t why_reason(void)
{
	return why().reason;
}

static MAYBE_UNUSED uint32_t why_detail(void)
{
	return why().detail;
}

static MAYBE_UNUSED uint64_t why_value(void)
{
	return why().value;
}

static MAYBE_UNUSED uint64_t why_bound(void)
{
	return why().bound;
}

static MAYBE_UNUSED const char *why_text(void)
{
	static __thread char text[256];

	snprintf(text, sizeof(text), "%s", why().text);
	return text;
}

#endif
