// SPDX-License-Identifier: GPL-2.0
/*
 * Queues that are kicked again and again, found without a look into the table.
 */
#include "context.h"
#include "kicked.h"

/*
 * A queue is remembered at the second kick in a row: a process that kicks many
 * queues in turn would gain nothing.
 */
void univ_kicked_remember(struct univ_object *obj)
{
	struct univ_context *ctx = obj->ctx;
	u32 *last = &ctx->kicked_last[obj->handle % UNIV_KICKED];

	if (READ_ONCE(*last) != obj->handle) {
		WRITE_ONCE(*last, obj->handle);
		return;
	}
	xa_lock(&ctx->objects);
	if (!ctx->ending && xa_load(&ctx->objects, obj->handle) == obj)
		WRITE_ONCE(*univ_kicked_at(ctx, obj->handle), obj);
	xa_unlock(&ctx->objects);
}

/*
 * The object is being taken out of the table. Context: the table's lock is
 * held.
 */
void univ_kicked_forget(struct univ_object *obj)
{
	struct univ_object **kicked = univ_kicked_at(obj->ctx, obj->handle);

	lockdep_assert_held(&obj->ctx->objects.xa_lock);
	if (*kicked == obj)
		WRITE_ONCE(*kicked, NULL);
}

/*
 * The context ends, so a look-up finds no queue any more, and none is
 * remembered. Forgets this one before it waits for the kicks that hold it: if
 * others could follow, a process could delay the end for any time.
 * Context: the live lock is held for writing, and ctx->ending is set.
 */
void univ_kicked_retire(struct univ_object *obj)
{
	lockdep_assert_held_write(&obj->ctx->live);
	xa_lock(&obj->ctx->objects);
	univ_kicked_forget(obj);
	xa_unlock(&obj->ctx->objects);
	if (!refcount_dec_and_test(&obj->users))
		wait_for_completion(&obj->idle);
}
