/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Room watch: warns when a program waits in vain although no call has failed, if
 * failures are printed (UNIVERBS_EXPLAIN). It does not know how objects are created.
 * The lower rooms call it through struct univ_watch_ops. This is its one header for
 * the other rooms.
 */
#ifndef UNIV_WATCH_H
#define UNIV_WATCH_H

struct univ_context;

/* The context was opened: gives it the operations of the watch, if failures are printed. */
void univ_watch_open(struct univ_context *ctx);

/* The context is about to be closed. */
void univ_watch_close(struct univ_context *ctx);

#endif
