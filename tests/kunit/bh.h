/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Run code with bottom halves disabled, as the receive path does. Functions that handle
 * packets may rely on that.
 */
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
