/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIV_KICKED_H
#define UNIV_KICKED_H

#include "context.h"
#include "object.h"

static inline struct univ_object **univ_kicked_at(struct univ_context *ctx,
						  u32 handle)
{
	return &ctx->kicked[handle % UNIV_KICKED];
}

void univ_kicked_remember(struct univ_object *obj);
void univ_kicked_forget(struct univ_object *obj);
void univ_kicked_end(struct univ_context *ctx);
void univ_kicked_wait(struct univ_object *obj);

#endif
