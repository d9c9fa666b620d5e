/* SPDX-License-Identifier: GPL-2.0 */
/* As where packets come from: what handles them may count on that. */
#ifndef UNIV_KUNIT_BH_H
#define UNIV_KUNIT_BH_H

#include <linux/bottom_half.h>

#define IN_BOTTOM_HALF(statement)	\
	do {				\
		local_bh_disable();	\
		statement;		\
		local_bh_enable();	\
	} while (0)

#endif
