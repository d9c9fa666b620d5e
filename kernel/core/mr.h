/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIV_MR_H
#define UNIV_MR_H

#include <linux/mutex.h>

#include "object.h"

struct ib_mr;
struct univ_pd;

struct univ_mr {
	struct univ_object obj;
	struct ib_mr *ib;
	struct univ_pd *pd;		/* dependant of it; changes under @change */
	struct mutex change;		/* one ibv_rereg_mr() at a time; only tried */
};

int univ_mr_reg_ioctl(struct univ_call *call, void *arg);
int univ_mr_rereg_ioctl(struct univ_call *call, void *arg);
int univ_mr_dereg_ioctl(struct univ_call *call, void *arg);
int univ_mr_destroy(struct univ_object *obj);

#endif
