/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The headers that all test programs share, and the headers of the C library that most of
 * them use. A program is a table of cases (cases.h).
 */
#ifndef TESTLIB_H
#define TESTLIB_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/verbs.h>
#include "cases.h"
#include "check.h"
#include "clock.h"
#include "completion.h"
#include "device.h"
#include "lasterror.h"
#include "pair.h"
#include "pattern.h"
#include "post.h"
#include "state.h"

#endif
