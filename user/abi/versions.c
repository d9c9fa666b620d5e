// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Symbols without a verb of today, and old versions of symbols. libibverbs.symbols lists them; the
 * version script and the directives in symver.h are made from it.
 *
 * Symbols of IBVERBS_PRIVATE_n are shared by libibverbs and the drivers in user space. Programs
 * that link to libmlx5 or libefa (perftest, libfabric, UCX) need them in order to load. No such
 * driver gets a device here, so most of these symbols only return an error.
 *
 * Symbols of IBVERBS_1.0, and of the old way to register a driver, are for programs linked before
 * 2007. Such programs load, and find no device. Nearly every member of the structs of that time
 * has another offset (no channel in a CQ, no address in an MR, another device), down to the work
 * requests that inline functions pass, so serving these programs would need a shadow of each
 * object. Instead the device list fails, which each of those programs reports. No object can
 * exist then, and the functions that take an object return an error as well.
 *
 * This file is compiled without link-time optimization (Makefile), which loses .symver directives;
 * clang does not know the attribute that gcc has in their place.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "base/base.h"
#include "sys/sys.h"

/* The two types of GIDs in sysfs. */
enum ibv_gid_type_sysfs {
	IBV_GID_TYPE_SYSFS_IB_ROCE_V1,
	IBV_GID_TYPE_SYSFS_ROCE_V2,
};

struct verbs_sysfs_dev;

UNIV_EXPORT extern bool verbs_allow_disassociate_destroy;
UNIV_EXPORT void __verbs_log(struct verbs_context *ctx, uint32_t level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
UNIV_EXPORT int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num,
				   unsigned int index, enum ibv_gid_type_sysfs *type);
UNIV_EXPORT int ibv_read_ibdev_sysfs_file(char *buf, size_t size, struct verbs_sysfs_dev *dev,
					  const char *fmt, ...);

/* Drivers in user space read it when a destroy command fails after unplug. */
bool verbs_allow_disassociate_destroy;

static uint32_t log_level;
static pthread_once_t log_once = PTHREAD_ONCE_INIT;

static void log_init(void)
{
	const char *env = secure_getenv("VERBS_LOG_LEVEL");

	if (env)
		log_level = (uint32_t)strtoul(env, NULL, 0);
}

/* VERBS_LOG_LEVEL is 1 for errors, 2 for warnings, 3 for information, 4 for debugging. */
void __verbs_log(struct verbs_context *ctx, uint32_t level, const char *fmt, ...)
{
	int err = errno;
	va_list args;

	(void)ctx;
	pthread_once(&log_once, log_init);
	if (level <= log_level) {
		va_start(args, fmt);
		vfprintf(stderr, fmt, args);
		va_end(args);
	}
	errno = err;
}

/* ibv_devinfo and pyverbs call it. An empty entry has the older type, as in rdma-core. */
int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
		       enum ibv_gid_type_sysfs *type)
{
	struct univ_gid_query cmd = { .port_num = port_num, .index = index };
	int err = univ_cmd_gid_query(context->cmd_fd, &cmd);

	if (err && err != ENODATA)
		return -1;
	*type = !err && cmd.entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? IBV_GID_TYPE_SYSFS_ROCE_V2 :
								     IBV_GID_TYPE_SYSFS_IB_ROCE_V1;
	return 0;
}

/*
 * Drivers in user space call it with a device from the library, and this library has none for
 * them.
 */
int ibv_read_ibdev_sysfs_file(char *buf, size_t size, struct verbs_sysfs_dev *dev, const char *fmt,
			      ...)
{
	(void)buf;
	(void)size;
	(void)fmt;
	errno = dev ? EOPNOTSUPP : EINVAL;
	return -1;
}

#define OPCODE_WORD(name, word, types, traits, feature) [IBV_WR_##name] = word,

static const char *const wr_opcodes[] = { UNIV_OPCODES(OPCODE_WORD) };

/* The public header of rdma-core has it since release 49, but its symbol is in the private node. */
UNIV_EXPORT const char *ibv_wr_opcode_str(enum ibv_wr_opcode opcode)
{
	if ((unsigned int)opcode >= UNIV_COUNT(wr_opcodes) || !wr_opcodes[opcode])
		return "unknown";
	return wr_opcodes[opcode];
}

/* The functions that return an error. They have no parameters, since they read none. */
#define ANSWER(name, type, value, err)			\
	UNIV_EXPORT type univ_answer_##name(void);	\
	type univ_answer_##name(void)			\
	{						\
		errno = err;				\
		return value;				\
	}

ANSWER(errno, int, EOPNOTSUPP, EOPNOTSUPP)
ANSWER(minus_1, int, -1, EOPNOTSUPP)
ANSWER(null, void *, NULL, EOPNOTSUPP)
ANSWER(zero, uint64_t, 0, EOPNOTSUPP)
/* Negative, since EOPNOTSUPP would be a number of completions. */
ANSWER(no_completions, int, -EOPNOTSUPP, EOPNOTSUPP)

UNIV_EXPORT void univ_answer_nothing(void);
void univ_answer_nothing(void)
{
}

/*
 * ibv_get_device_list() of IBVERBS_1.0, the only answer that old programs reach with valid
 * arguments.
 */
UNIV_EXPORT void *univ_answer_no_devices(int *count);
void *univ_answer_no_devices(int *count)
{
	if (count)
		*count = 0;
	errno = EOPNOTSUPP;
	return NULL;
}

#include "symver.h"
