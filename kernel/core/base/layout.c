// SPDX-License-Identifier: GPL-2.0
/* Asserts the layout of the contract, for the kernel's compiler. */
#include "check/layout.h"
