/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The steps of a registration, which mr.c, memory.c and rereg.c share. Private
 * to this room.
 */
#ifndef UROCE_REGION_H
#define UROCE_REGION_H

#include "mr.h"

struct uroce_mr *uroce_mr_new(struct ib_pd *pd, int access);
void uroce_mr_set_range(struct uroce_mr *mr, u64 length, u64 iova);
int uroce_mr_fill(struct uroce_mr *mr, u64 start, u64 length, u64 iova);
struct uroce_mr *uroce_mr_begin(struct ib_pd *pd, int access);
struct ib_mr *uroce_mr_finish(struct uroce_mr *mr, int err, bool valid);
bool uroce_mr_close(struct uroce_mr *mr);
void uroce_mr_free(struct uroce_mr *mr);

#endif
