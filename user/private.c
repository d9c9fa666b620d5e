// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The symbols between libibverbs and the drivers in user space. Programs that link to libmlx5 or
 * libefa (perftest, libfabric, UCX) need them to load; no such driver ever gets a device here, so
 * all but a few only say that they can do nothing.
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

struct verbs_device_ops;

UNIV_EXPORT extern bool verbs_allow_disassociate_destroy;
UNIV_EXPORT void verbs_register_driver_34(const struct verbs_device_ops *ops);
UNIV_EXPORT void __verbs_log(struct verbs_context *ctx, uint32_t level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
UNIV_EXPORT int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num,
				   unsigned int index, enum ibv_gid_type_sysfs *type);

/* Drivers read it when a destroy command fails after unplug. */
bool verbs_allow_disassociate_destroy;

/* The constructors of libmlx5 and libefa call it. */
void verbs_register_driver_34(const struct verbs_device_ops *ops)
{
	(void)ops;
}

static uint32_t log_level;
static pthread_once_t log_once = PTHREAD_ONCE_INIT;

static void log_init(void)
{
	const char *env = getenv("VERBS_LOG_LEVEL");

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

/* Defined without parameters: nothing is read from what the caller passes. */
#define UNSUPPORTED(ret_type, name, ret)	\
	UNIV_EXPORT ret_type name(void);	\
	ret_type name(void)			\
	{					\
		errno = EOPNOTSUPP;		\
		return ret;			\
	}

#define UNSUPPORTED_INT(name)	UNSUPPORTED(int, name, EOPNOTSUPP)
#define UNSUPPORTED_PTR(name)	UNSUPPORTED(void *, name, NULL)
#define IGNORED(name)			\
	UNIV_EXPORT void name(void);	\
	void name(void)			\
	{				\
	}

UNSUPPORTED_PTR(_verbs_init_and_alloc_context)
UNSUPPORTED_PTR(verbs_open_device)
IGNORED(verbs_uninit_context)
IGNORED(verbs_set_ops)
IGNORED(verbs_init_cq)

UNSUPPORTED(unsigned int, __ioctl_final_num_attrs, 0)
UNSUPPORTED_INT(execute_ioctl)

UNSUPPORTED_INT(ibv_cmd_get_context)
UNSUPPORTED_INT(ibv_cmd_query_context)
UNSUPPORTED_INT(ibv_cmd_query_device_any)
UNSUPPORTED_INT(ibv_cmd_query_port)

UNSUPPORTED_INT(ibv_cmd_alloc_pd)
UNSUPPORTED_INT(ibv_cmd_dealloc_pd)
UNSUPPORTED_INT(ibv_cmd_open_xrcd)
UNSUPPORTED_INT(ibv_cmd_close_xrcd)

UNSUPPORTED_INT(ibv_cmd_reg_mr)
UNSUPPORTED_INT(ibv_cmd_rereg_mr)
UNSUPPORTED_INT(ibv_cmd_reg_dmabuf_mr)
UNSUPPORTED_INT(ibv_cmd_reg_dm_mr)
UNSUPPORTED_INT(ibv_cmd_query_mr)
UNSUPPORTED_INT(ibv_cmd_advise_mr)
UNSUPPORTED_INT(ibv_cmd_dereg_mr)
UNSUPPORTED_INT(ibv_cmd_alloc_mw)
UNSUPPORTED_INT(ibv_cmd_dealloc_mw)
UNSUPPORTED_INT(ibv_cmd_alloc_dm)
UNSUPPORTED_INT(ibv_cmd_free_dm)

UNSUPPORTED_INT(ibv_cmd_create_ah)
UNSUPPORTED_INT(ibv_cmd_destroy_ah)

UNSUPPORTED_INT(ibv_cmd_create_cq)
UNSUPPORTED_INT(ibv_cmd_create_cq_ex)
UNSUPPORTED_INT(ibv_cmd_modify_cq)
UNSUPPORTED_INT(ibv_cmd_resize_cq)
UNSUPPORTED_INT(ibv_cmd_req_notify_cq)
/* Not EOPNOTSUPP: that would be a number of completions. */
UNSUPPORTED(int, ibv_cmd_poll_cq, -EOPNOTSUPP)
UNSUPPORTED_INT(ibv_cmd_destroy_cq)

UNSUPPORTED_INT(ibv_cmd_create_srq)
UNSUPPORTED_INT(ibv_cmd_create_srq_ex)
UNSUPPORTED_INT(ibv_cmd_modify_srq)
UNSUPPORTED_INT(ibv_cmd_query_srq)
UNSUPPORTED_INT(ibv_cmd_post_srq_recv)
UNSUPPORTED_INT(ibv_cmd_destroy_srq)

UNSUPPORTED_INT(ibv_cmd_create_qp)
UNSUPPORTED_INT(ibv_cmd_create_qp_ex)
UNSUPPORTED_INT(ibv_cmd_create_qp_ex2)
UNSUPPORTED_INT(ibv_cmd_open_qp)
UNSUPPORTED_INT(ibv_cmd_modify_qp)
UNSUPPORTED_INT(ibv_cmd_modify_qp_ex)
UNSUPPORTED_INT(ibv_cmd_query_qp)
UNSUPPORTED_INT(ibv_cmd_post_send)
UNSUPPORTED_INT(ibv_cmd_post_recv)
UNSUPPORTED_INT(ibv_cmd_attach_mcast)
UNSUPPORTED_INT(ibv_cmd_detach_mcast)
UNSUPPORTED_INT(ibv_cmd_destroy_qp)

UNSUPPORTED_INT(ibv_cmd_create_wq)
UNSUPPORTED_INT(ibv_cmd_modify_wq)
UNSUPPORTED_INT(ibv_cmd_destroy_wq)
UNSUPPORTED_INT(ibv_cmd_create_rwq_ind_table)
UNSUPPORTED_INT(ibv_cmd_destroy_rwq_ind_table)

UNSUPPORTED_INT(ibv_cmd_create_flow)
UNSUPPORTED_INT(ibv_cmd_destroy_flow)
UNSUPPORTED_INT(ibv_cmd_create_flow_action_esp)
UNSUPPORTED_INT(ibv_cmd_modify_flow_action_esp)
UNSUPPORTED_INT(ibv_cmd_destroy_flow_action)
UNSUPPORTED_INT(ibv_cmd_create_counters)
UNSUPPORTED_INT(ibv_cmd_read_counters)
UNSUPPORTED_INT(ibv_cmd_destroy_counters)
