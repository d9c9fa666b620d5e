/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIV_KICK_H
#define UNIV_KICK_H

struct univ_context;
struct univ_object;

long univ_kick(struct univ_context *ctx, unsigned long arg);
void univ_kick_forget(struct univ_object *obj);
void univ_kick_retire(struct univ_object *obj);

#endif
