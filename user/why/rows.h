/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads the rows of reasons.def once. An includer defines the kinds of rows that it
 * wants; the others are empty, and all are undefined afterwards. So this header has
 * no guard.
 */
#ifndef SENTENCE
#define SENTENCE(name, text)
#endif
#ifndef EXPLAIN
#define EXPLAIN(name, function)
#endif
#ifndef NAMED
#define NAMED(name)
#endif
#ifndef COMPLETION
#define COMPLETION(name, status, text)
#endif
#ifndef FAIL
#define FAIL(function, name, parameters, ...)
#endif
#ifndef FAIL_LATER
#define FAIL_LATER(function, name, parameters, ...)
#endif
#ifndef FAIL_ABOUT
#define FAIL_ABOUT(function, name, parameters, about, ...)
#endif
#ifndef FAIL_ABOUT_LATER
#define FAIL_ABOUT_LATER(function, name, parameters, about, ...)
#endif
#ifndef WARN
#define WARN(function, name, parameters, ...)
#endif

#include "why/reasons.def"

#undef SENTENCE
#undef EXPLAIN
#undef NAMED
#undef COMPLETION
#undef FAIL
#undef FAIL_LATER
#undef FAIL_ABOUT
#undef FAIL_ABOUT_LATER
#undef WARN
