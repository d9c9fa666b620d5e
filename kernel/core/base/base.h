/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The base: handles, calls, contexts, events, memory that is shared with
 * processes, and explained errors.
 *
 * This room knows the device as a struct ib_device and the dispatcher's rules.
 * It does not know what a verb object or a queue is.
 */
#ifndef UNIV_BASE_H
#define UNIV_BASE_H

#include "bell.h"
#include "call.h"
#include "channel.h"
#include "context.h"
#include "event.h"
#include "kicked.h"
#include "limit.h"
#include "object.h"
#include "reason.h"
#include "region.h"

#endif
