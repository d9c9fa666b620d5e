// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Symbols that no verb of today stands behind, and further versions of those that one does; which
 * they are is in libibverbs.symbols.
 *
 * IBVERBS_PRIVATE_n is what libibverbs and the drivers in user space share. Programs that link to
 * libmlx5 or libefa (perftest, libfabric, UCX) need it to load; no such driver ever gets a device
 * here, so all but a few of these symbols only say that they can do nothing.
 *
 * IBVERBS_1.0, and the old way to register a driver, are for programs linked before 2007. They
 * load, and then find no device. Structures of that time differ in nearly every member's offset
 * (no channel in a CQ, no address in an MR, another device), down to the work requests that inline
 * functions pass, so serving them would need a shadow of each object. Instead the device list
 * fails, which each of those programs reports; no object can exist then, and the functions that
 * take one say so too.
 *
 * This file is compiled without link-time optimization (Makefile): that loses .symver directives,
 * and clang does not know the attribute that gcc has in their place.
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

#include "export.h"

/* The two kinds that a RoCE GID table tells apart in sysfs. */
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

/* Drivers read it when a destroy command fails after unplug. */
bool verbs_allow_disassociate_destroy;

static uint32_t log_level;
static pthread_once_t log_once = PTHREAD_ONCE_INIT;

static void log_init(void)
{
	const char *env = secure_getenv("VERBS_LOG_LEVEL");

	if (env)
		log_level = (uint32_t)strtoul(env, NULL, 0);
}

/* VERBS_LOG_LEVEL: 1 errors, 2 warnings, 3 information, 4 debugging. */
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

/* ibv_devinfo calls it. The kernel gives EINVAL for the type of an empty entry. */
int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
		       enum ibv_gid_type_sysfs *type)
{
	char file[64];
	char text[32];

	snprintf(file, sizeof(file), "ports/%u/gid_attrs/types/%u", port_num, index);
	if (ibv_read_sysfs_file(context->device->ibdev_path, file, text, sizeof(text)) < 0) {
		if (errno != EINVAL)
			return -1;
		text[0] = '\0';
	}
	*type = strcmp(text, "RoCE v2") ? IBV_GID_TYPE_SYSFS_IB_ROCE_V1 :
					  IBV_GID_TYPE_SYSFS_ROCE_V2;
	return 0;
}

/* Drivers in user space call it with a device that the library gave them; ours gives none. */
int ibv_read_ibdev_sysfs_file(char *buf, size_t size, struct verbs_sysfs_dev *dev, const char *fmt,
			      ...)
{
	(void)buf;
	(void)size;
	(void)fmt;
	errno = dev ? EOPNOTSUPP : EINVAL;
	return -1;
}

static const char *const wr_opcodes[] = {
	[IBV_WR_RDMA_WRITE]		= "rdma-write",
	[IBV_WR_RDMA_WRITE_WITH_IMM]	= "rdma-write-with-imm",
	[IBV_WR_SEND]			= "send",
	[IBV_WR_SEND_WITH_IMM]		= "send-with-imm",
	[IBV_WR_RDMA_READ]		= "rdma-read",
	[IBV_WR_ATOMIC_CMP_AND_SWP]	= "atomic-cmp-and-swp",
	[IBV_WR_ATOMIC_FETCH_AND_ADD]	= "atomic-fetch-and-add",
	[IBV_WR_LOCAL_INV]		= "local-inv",
	[IBV_WR_BIND_MW]		= "bind-mw",
	[IBV_WR_SEND_WITH_INV]		= "send-with-inv",
	[IBV_WR_TSO]			= "tso",
	[IBV_WR_DRIVER1]		= "driver1",
	[IBV_WR_FLUSH]			= "flush",
	[IBV_WR_ATOMIC_WRITE]		= "atomic-write",
};

/* Public in verbs.h since release 49 of rdma-core, and yet in the private node. */
UNIV_EXPORT const char *ibv_wr_opcode_str(enum ibv_wr_opcode opcode)
{
	size_t count = sizeof(wr_opcodes) / sizeof(wr_opcodes[0]);

	if ((unsigned int)opcode >= count || !wr_opcodes[opcode])
		return "unknown";
	return wr_opcodes[opcode];
}

/* The answers, defined without parameters: nothing is read from what a caller passes. */
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
/* Not EOPNOTSUPP: that would be a number of completions. */
ANSWER(no_completions, int, -EOPNOTSUPP, EOPNOTSUPP)

UNIV_EXPORT void univ_answer_nothing(void);
void univ_answer_nothing(void)
{
}

/* ibv_get_device_list() of IBVERBS_1.0: the one that an old program reaches with valid arguments. */
UNIV_EXPORT void *univ_answer_no_devices(int *count);
void *univ_answer_no_devices(int *count)
{
	if (count)
		*count = 0;
	errno = EOPNOTSUPP;
	return NULL;
}

#include "symver.h"
