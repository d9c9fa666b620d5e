/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Room sys: the library's system calls. It knows the contract of uapi/, and it
 * does not know the library's objects. This is its one header for the other rooms.
 */
#ifndef UNIV_SYS_H
#define UNIV_SYS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/base.h"
#include "univerbs.h"

/*
 * The ioctls: one row declares and defines a wrapper, univ_cmd_NAME(fd, struct *).
 * It returns 0 or an errno value; on failure it has set errno and recorded the
 * kernel's reason under the name of the verb.
 *
 * COMMAND(name of the wrapper, ioctl, struct, verb that programs call)
 * DESTROY(name, ioctl, verb): the struct is univ_destroy
 * TRY(name, ioctl, struct): records no failure; for calls of the library itself
 */
#define UNIV_COMMANDS(COMMAND, DESTROY, TRY)							\
	COMMAND(context_query, UNIV_CONTEXT_QUERY, univ_context_query, "ibv_open_device")	\
	COMMAND(poller_start, UNIV_POLLER_START, univ_poller_start, "ibv_open_device")		\
	COMMAND(device_query, UNIV_DEVICE_QUERY, univ_device_query, "ibv_query_device")		\
	COMMAND(port_query, UNIV_PORT_QUERY, univ_port_query, "ibv_query_port")			\
	COMMAND(pkey_query, UNIV_PKEY_QUERY, univ_pkey_query, "ibv_query_pkey")			\
	COMMAND(gid_table, UNIV_GID_TABLE, univ_gid_table, "ibv_query_gid_table")		\
	COMMAND(pd_alloc, UNIV_PD_ALLOC, univ_pd_alloc, "ibv_alloc_pd")				\
	DESTROY(pd_dealloc, UNIV_PD_DEALLOC, "ibv_dealloc_pd")					\
	COMMAND(xrcd_open, UNIV_XRCD_OPEN, univ_xrcd_open, "ibv_open_xrcd")			\
	DESTROY(xrcd_close, UNIV_XRCD_CLOSE, "ibv_close_xrcd")					\
	COMMAND(mr_reg, UNIV_MR_REG, univ_mr_reg, "ibv_reg_mr")					\
	COMMAND(mr_rereg, UNIV_MR_REREG, univ_mr_rereg, "ibv_rereg_mr")				\
	COMMAND(dmah_alloc, UNIV_DMAH_ALLOC, univ_dmah_alloc, "ibv_alloc_dmah")			\
	DESTROY(dmah_free, UNIV_DMAH_FREE, "ibv_dealloc_dmah")					\
	COMMAND(mr_extend, UNIV_MR_EXTEND, univ_mr_extend, "univerbs_extend_mr")		\
	COMMAND(mr_share, UNIV_MR_SHARE, univ_mr_share, "univerbs_share_mr")			\
	COMMAND(mr_query, UNIV_MR_QUERY, univ_mr_query, "univerbs_query_mr")			\
	COMMAND(mw_query, UNIV_MW_QUERY, univ_mw_query, "univerbs_query_mw")			\
	COMMAND(ah_query, UNIV_AH_QUERY, univ_ah_query, "univerbs_query_ah")			\
	COMMAND(cq_query, UNIV_CQ_QUERY, univ_cq_query, "univerbs_query_cq")			\
	DESTROY(mr_dereg, UNIV_MR_DEREG, "ibv_dereg_mr")					\
	COMMAND(mr_advise, UNIV_MR_ADVISE, univ_mr_advise, "ibv_advise_mr")			\
	COMMAND(mr_null_alloc, UNIV_MR_NULL_ALLOC, univ_mr_null_alloc, "ibv_alloc_null_mr")	\
	COMMAND(mr_dm_reg, UNIV_MR_DM_REG, univ_mr_dm_reg, "ibv_reg_dm_mr")			\
	COMMAND(mr_dmabuf_reg, UNIV_MR_DMABUF_REG, univ_mr_dmabuf_reg, "ibv_reg_dmabuf_mr")	\
	COMMAND(dm_export, UNIV_DM_EXPORT, univ_dm_export, "ibv_dm_export_dmabuf_fd")		\
	COMMAND(dm_alloc, UNIV_DM_ALLOC, univ_dm_alloc, "ibv_alloc_dm")				\
	DESTROY(dm_free, UNIV_DM_FREE, "ibv_free_dm")						\
	COMMAND(dm_import, UNIV_HANDLE_QUERY, univ_handle_query, "ibv_import_dm")		\
	COMMAND(mw_alloc, UNIV_MW_ALLOC, univ_mw_alloc, "ibv_alloc_mw")				\
	DESTROY(mw_dealloc, UNIV_MW_DEALLOC, "ibv_dealloc_mw")					\
	COMMAND(ah_create, UNIV_AH_CREATE, univ_ah_create, "ibv_create_ah")			\
	COMMAND(ah_modify, UNIV_AH_MODIFY, univ_ah_modify, "univerbs_modify_ah")		\
	DESTROY(ah_destroy, UNIV_AH_DESTROY, "ibv_destroy_ah")					\
	COMMAND(channel_create, UNIV_CHANNEL_CREATE, univ_channel_create, "ibv_create_comp_channel")	\
	COMMAND(cq_create, UNIV_CQ_CREATE, univ_cq_create, "ibv_create_cq")			\
	COMMAND(cq_resize, UNIV_CQ_RESIZE, univ_cq_resize, "ibv_resize_cq")			\
	COMMAND(cq_moderate, UNIV_CQ_MODERATE, univ_cq_moderate, "ibv_modify_cq")		\
	DESTROY(cq_destroy, UNIV_CQ_DESTROY, "ibv_destroy_cq")					\
	COMMAND(srq_create, UNIV_SRQ_CREATE, univ_srq_create, "ibv_create_srq")			\
	COMMAND(srq_modify, UNIV_SRQ_MODIFY, univ_srq_modify, "ibv_modify_srq")			\
	COMMAND(srq_query, UNIV_SRQ_QUERY, univ_srq_query, "ibv_query_srq")			\
	DESTROY(srq_destroy, UNIV_SRQ_DESTROY, "ibv_destroy_srq")				\
	COMMAND(qp_create, UNIV_QP_CREATE, univ_qp_create, "ibv_create_qp")			\
	COMMAND(qp_open, UNIV_QP_OPEN, univ_qp_open, "ibv_open_qp")				\
	COMMAND(qp_query, UNIV_QP_QUERY, univ_qp_query, "ibv_query_qp")				\
	DESTROY(qp_destroy, UNIV_QP_DESTROY, "ibv_destroy_qp")					\
	COMMAND(qp_rate, UNIV_QP_RATE, univ_qp_rate, "ibv_modify_qp_rate_limit")		\
	COMMAND(qp_cntr, UNIV_QP_CNTR, univ_qp_cntr, "ibv_qp_attach_comp_cntr")			\
	COMMAND(cntr_query, UNIV_CNTR_QUERY, univ_cntr_query, "ibv_query_comp_cntr_caps")	\
	COMMAND(cntr_create, UNIV_CNTR_CREATE, univ_cntr_create, "ibv_create_comp_cntr")	\
	COMMAND(cntr_set, UNIV_CNTR_MODIFY, univ_cntr_modify, "ibv_set_comp_cntr")		\
	COMMAND(cntr_set_err, UNIV_CNTR_MODIFY, univ_cntr_modify, "ibv_set_err_comp_cntr")	\
	COMMAND(cntr_inc, UNIV_CNTR_MODIFY, univ_cntr_modify, "ibv_inc_comp_cntr")		\
	COMMAND(cntr_inc_err, UNIV_CNTR_MODIFY, univ_cntr_modify, "ibv_inc_err_comp_cntr")	\
	DESTROY(cntr_destroy, UNIV_CNTR_DESTROY, "ibv_destroy_comp_cntr")			\
	COMMAND(flow_create, UNIV_FLOW_CREATE, univ_flow_create, "ibv_create_flow")		\
	DESTROY(flow_destroy, UNIV_FLOW_DESTROY, "ibv_destroy_flow")				\
	COMMAND(counters_create, UNIV_COUNTERS_CREATE, univ_counters_create, "ibv_create_counters")	\
	COMMAND(counters_read, UNIV_COUNTERS_READ, univ_counters_read, "ibv_read_counters")	\
	COMMAND(counters_attach, UNIV_COUNTERS_ATTACH, univ_counters_attach,			\
		"ibv_attach_counters_point_flow")						\
	DESTROY(counters_destroy, UNIV_COUNTERS_DESTROY, "ibv_destroy_counters")		\
	COMMAND(wq_create, UNIV_WQ_CREATE, univ_wq_create, "ibv_create_wq")			\
	COMMAND(wq_modify, UNIV_WQ_MODIFY, univ_wq_modify, "ibv_modify_wq")			\
	DESTROY(wq_destroy, UNIV_WQ_DESTROY, "ibv_destroy_wq")					\
	COMMAND(table_create, UNIV_TABLE_CREATE, univ_table_create, "ibv_create_rwq_ind_table")	\
	DESTROY(table_destroy, UNIV_TABLE_DESTROY, "ibv_destroy_rwq_ind_table")			\
	COMMAND(mcast_attach, UNIV_MCAST_ATTACH, univ_mcast, "ibv_attach_mcast")		\
	COMMAND(mcast_detach, UNIV_MCAST_DETACH, univ_mcast, "ibv_detach_mcast")		\
	COMMAND(pd_import, UNIV_HANDLE_QUERY, univ_handle_query, "ibv_import_pd")		\
	COMMAND(mr_import, UNIV_HANDLE_QUERY, univ_handle_query, "ibv_import_mr")		\
	TRY(port_try, UNIV_PORT_QUERY, univ_port_query)						\
	TRY(pd_try, UNIV_PD_ALLOC, univ_pd_alloc)						\
	TRY(dm_try, UNIV_DM_ALLOC, univ_dm_alloc)						\
	TRY(dm_export_try, UNIV_DM_EXPORT, univ_dm_export)					\
	TRY(gid_table_try, UNIV_GID_TABLE, univ_gid_table)					\
	TRY(async_set_try, UNIV_ASYNC_SET, univ_async_set)					\
	TRY(async_open_try, UNIV_ASYNC_OPEN, univ_async_open)					\
	TRY(cq_notify_try, UNIV_CQ_NOTIFY, univ_cq_notify)

#define DECLARE(name, request, type, verb) int univ_cmd_##name(int fd, struct type *cmd);
#define DECLARE_DESTROY(name, request, verb) int univ_cmd_##name(int fd, struct univ_destroy *cmd);
#define DECLARE_TRY(name, request, type) int univ_cmd_##name(int fd, struct type *cmd);

UNIV_COMMANDS(DECLARE, DECLARE_DESTROY, DECLARE_TRY)

#undef DECLARE
#undef DECLARE_DESTROY
#undef DECLARE_TRY

/* These differ from the rows above, so cmd.c writes them out. */
int univ_cmd_gid_query(int fd, struct univ_gid_query *cmd);
int univ_cmd_qp_modify(int fd, struct univ_qp_modify *cmd, uint32_t qp_type);

/* The kick of the data path: @what is a handle, or'ed with UNIV_KICK_SEND or UNIV_KICK_RECV. */
int univ_cmd_kick(const char *verb, int fd, uint32_t what);

/* map.c: shared memory of the node. */
struct univ_map {
	void *base;
	size_t length;
	struct univ_arena *arena;	/* of univ_map_shared() */
};

int univ_map_ring(const char *verb, int fd, struct univ_map *map, uint64_t offset,
		  uint64_t length);
/* Memory that only the kernel writes. */
int univ_map_read_only(const char *verb, int fd, struct univ_map *map, uint64_t offset,
		       uint64_t length);
void univ_unmap_ring(struct univ_map *map);

/* arena.c: mappings that several queue pairs use; of one context. */
#define UNIV_ARENA_BUCKETS 64

struct univ_arenas {
	struct univ_lock lock;
	struct univ_arena *buckets[UNIV_ARENA_BUCKETS];	/* by offset */
	struct univ_arena *idle;	/* NULL, or the one that is kept without users */
};

/* As univ_map_ring(), and undone by univ_unmap_shared(). */
int univ_map_shared(const char *verb, int fd, struct univ_arenas *arenas, struct univ_map *map,
		    uint64_t offset, uint64_t length);
void univ_unmap_shared(struct univ_arenas *arenas, struct univ_map *map);
/* The context is closed. */
void univ_arenas_end(struct univ_arenas *arenas);

/* netlink.c, sysfs_devices.c: a device and its node, as the kernel describes them. */
#define UNIV_INDEX_UNKNOWN UINT32_MAX

struct univ_found {
	struct univ_found *next;
	uint32_t index;		/* or UNIV_INDEX_UNKNOWN */
	uint64_t guid;		/* host order */
	uint8_t node_type;
	char name[64];
	/* The members below describe our node; @node_name is empty if there is none. */
	char node_name[64];
	dev_t node;
	uint64_t abi;
	int err;		/* the kernel's reason why there is no node */
};

/* Both return 0 or an errno value; the caller frees the list in either case. */
int univ_netlink_find(struct univ_found **list);
int univ_sysfs_find(struct univ_found **list);
void univ_found_free(struct univ_found *list);

#endif
