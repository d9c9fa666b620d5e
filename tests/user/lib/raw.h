/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The node without the library: the test makes the ioctls, maps the rings and writes the
 * requests itself, to do things that the library would never do.
 */
#ifndef RAW_H
#define RAW_H

#include "random.h"
#include "raw_objects.h"
#include "raw_ring.h"
#include "raw_state.h"
#include "testlib.h"
#include <univerbs.h>
#include <univerbs_ring.h>

#endif
