// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Symbol versions that only programs linked before 2007 ask for (IBVERBS_1.0, and the old way to
 * register a driver). They load, and then find no device.
 *
 * Structures of that time differ in nearly every member's offset (no channel in a CQ, no address
 * in an MR, another device), down to the work requests that inline functions pass, so serving
 * them would need a shadow of each object. Instead the device list fails, which each of those
 * programs reports; no object can exist then, and the functions that take one say so too.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "export.h"

#define COMPAT(name, version)						\
	__asm__(".symver univ_compat_" #name ", " #name "@" version)

/* Defined without parameters: nothing is read from what the caller passes. */
#define COMPAT_ERRNO(name)						\
	UNIV_EXPORT int univ_compat_##name(void);			\
	UNIV_EXPORT int univ_compat_##name(void)			\
	{								\
		return EOPNOTSUPP;					\
	}								\
	COMPAT(name, "IBVERBS_1.0")

/* As above, for functions that report failure by -1 and errno. */
#define COMPAT_MINUS_1(name)						\
	UNIV_EXPORT int univ_compat_##name(void);			\
	UNIV_EXPORT int univ_compat_##name(void)			\
	{								\
		errno = EOPNOTSUPP;					\
		return -1;						\
	}								\
	COMPAT(name, "IBVERBS_1.0")

#define COMPAT_NULL(name)						\
	UNIV_EXPORT void *univ_compat_##name(void);			\
	UNIV_EXPORT void *univ_compat_##name(void)			\
	{								\
		errno = EOPNOTSUPP;					\
		return NULL;						\
	}								\
	COMPAT(name, "IBVERBS_1.0")

#define COMPAT_NOTHING(name, version)					\
	UNIV_EXPORT void univ_compat_##name(void);			\
	UNIV_EXPORT void univ_compat_##name(void)			\
	{								\
	}								\
	COMPAT(name, version)

/* The one function that such a program reaches with valid arguments. */
UNIV_EXPORT void *univ_compat_ibv_get_device_list(int *num_devices);
UNIV_EXPORT void *univ_compat_ibv_get_device_list(int *num_devices)
{
	if (num_devices)
		*num_devices = 0;
	errno = EOPNOTSUPP;
	return NULL;
}
COMPAT(ibv_get_device_list, "IBVERBS_1.0");

UNIV_EXPORT uint64_t univ_compat_ibv_get_device_guid(void);
UNIV_EXPORT uint64_t univ_compat_ibv_get_device_guid(void)
{
	return 0;
}
COMPAT(ibv_get_device_guid, "IBVERBS_1.0");

COMPAT_NOTHING(ibv_free_device_list, "IBVERBS_1.0");
COMPAT_NULL(ibv_get_device_name);
COMPAT_NULL(ibv_open_device);
COMPAT_MINUS_1(ibv_close_device);

COMPAT_MINUS_1(ibv_get_async_event);
COMPAT_NOTHING(ibv_ack_async_event, "IBVERBS_1.0");
COMPAT_MINUS_1(ibv_get_cq_event);
COMPAT_NOTHING(ibv_ack_cq_events, "IBVERBS_1.0");

COMPAT_ERRNO(ibv_query_device);
COMPAT_ERRNO(ibv_query_port);
COMPAT_MINUS_1(ibv_query_gid);
COMPAT_MINUS_1(ibv_query_pkey);

COMPAT_NULL(ibv_alloc_pd);
COMPAT_ERRNO(ibv_dealloc_pd);
COMPAT_NULL(ibv_reg_mr);
COMPAT_ERRNO(ibv_dereg_mr);
COMPAT_NULL(ibv_create_ah);
COMPAT_ERRNO(ibv_destroy_ah);

COMPAT_NULL(ibv_create_cq);
COMPAT_ERRNO(ibv_resize_cq);
COMPAT_ERRNO(ibv_destroy_cq);

COMPAT_NULL(ibv_create_srq);
COMPAT_ERRNO(ibv_modify_srq);
COMPAT_ERRNO(ibv_query_srq);
COMPAT_ERRNO(ibv_destroy_srq);

COMPAT_NULL(ibv_create_qp);
COMPAT_ERRNO(ibv_modify_qp);
COMPAT_ERRNO(ibv_query_qp);
COMPAT_ERRNO(ibv_destroy_qp);
COMPAT_ERRNO(ibv_attach_mcast);
COMPAT_ERRNO(ibv_detach_mcast);

COMPAT_NOTHING(ibv_register_driver, "IBVERBS_1.1");
