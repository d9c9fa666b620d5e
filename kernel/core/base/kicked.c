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
 * The context ends: a kick that begins now finds no queue. If kicks could
 * follow each other, a process could delay the end for any time.
 */
void univ_kicked_end(struct univ_context *ctx)
{
	u32 i;

	lockdep_assert_held_write(&ctx->live);
	xa_lock(&ctx->objects);
	WRITE_ONCE(ctx->ending, true);
	for (i = 0; i < UNIV_KICKED; i++)
		WRITE_ONCE(ctx->kicked[i], NULL);
	xa_unlock(&ctx->objects);
}

/*
 * Waits until the kicks that hold the object have left. univ_kicked_end() was
 * called before.
 */
void univ_kicked_wait(struct univ_object *obj)
{
	lockdep_assert_held_write(&obj->ctx->live);
	if (!refcount_dec_and_test(&obj->users))
		wait_for_completion(&obj->idle);
}
