/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control verbs: the handlers of ioctls, one file for each object.
 *
 * This room knows kernel verbs that create, modify, query and destroy. It does
 * not know how requests and completions move: it tells the implementation of
 * the queues through struct univ_queue_ops.
 */
#ifndef UNIV_VERBS_H
#define UNIV_VERBS_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/path.h>
#include <rdma/ib_verbs.h>

#include "queues.h"

struct inode;

struct univ_mr {
	struct univ_object obj;
	struct ib_mr *ib;
	struct univ_pd *pd;		/* dependant of it; see @change */
	/* Protects the range, @access and @pd; mutex_trylock() only. */
	struct mutex change;
	u64 addr;			/* in the process; see @kind */
	u32 access;			/* enum ib_access_flags */
	struct univ_dm *dm;		/* dependant of it, or NULL */
	struct univ_dmah *dmah;		/* likewise */
	/* enum univ_mr_kind. All but a process's memory stays as it is. */
	u32 kind;
};

/**
 * struct univ_mr_range - the memory of a region
 * @addr: in the process
 * @length: bytes
 * @iova: the address by which requests refer to it
 */
struct univ_mr_range {
	u64 addr;
	u64 length;
	u64 iova;
};

/* Device memory. No device has any, so it is memory of the kernel. */
struct univ_dm {
	struct univ_object obj;
	struct univ_region *region;
	u64 length;
};

/* A DMA handle. Its hints were checked, and have no effect. */
struct univ_dmah {
	struct univ_object obj;
};

/* Most bytes of device memory in one piece; more than cards have. */
#define UNIV_DM_MAX (4u << 20)

struct univ_mw {
	struct univ_object obj;
	struct ib_mw *ib;
	struct univ_pd *pd;		/* dependant of it */
};

/*
 * A receive indirection table. @wqs is what ib_rwq_ind_table.ind_tbl points to.
 */
struct univ_table {
	struct univ_object obj;
	struct ib_rwq_ind_table *ib;
	u32 count;
	struct ib_wq *wqs[];		/* dependant of them */
};

/*
 * An XRC domain of the device. All processes that open the domain of one file
 * share it. @users is protected by univ_device.domains_lock.
 */
struct univ_domain {
	struct rb_node node;		/* univ_device.domains */
	struct ib_xrcd *ib;
	struct inode *inode;		/* NULL for none; held by @file */
	struct file *file;
	u32 users;
	struct mutex lock;		/* the objects that are built on @ib */
};

struct univ_xrcd {
	struct univ_object obj;
	struct univ_domain *domain;
};

struct univ_pd *univ_pd_get(struct univ_context *ctx, u32 handle,
			    struct univ_hdr *hdr);
int univ_pd_destroy(struct univ_object *obj);
int univ_mr_destroy(struct univ_object *obj);
bool univ_odp_offered(const struct univ_device *dev);
int univ_mr_check_access(struct ib_device *ib, struct univ_hdr *hdr, u32 access,
			 bool odp);
int univ_mr_check_range(struct ib_device *ib, struct univ_hdr *hdr,
			const struct univ_mr_range *range, u32 access);
int univ_mr_explain(struct univ_hdr *hdr, const struct univ_mr_range *range,
		    int err);
u32 univ_mr_access(const struct univ_device *dev, u32 access);
struct univ_mr *univ_mr_new(struct univ_call *call, struct univ_hdr *hdr,
			    struct univ_pd *pd);
void univ_mr_adopt(struct univ_mr *mr, struct ib_mr *ib);
struct univ_mr *univ_mr_lock(struct univ_context *ctx, u32 handle,
			     struct univ_hdr *hdr);
void univ_mr_unlock(struct univ_mr *mr);
struct univ_mr *univ_mr_of_memory(struct univ_call *call, struct univ_hdr *hdr,
				  struct univ_pd *pd, void *memory, u64 length,
				  u32 access);
bool univ_dm_offered(const struct univ_device *dev);
bool univ_dmabuf_offered(const struct univ_device *dev);
int univ_dm_destroy(struct univ_object *obj);
/* NULL for the handle 0; univ_dmah_put() then does nothing. */
struct univ_dmah *univ_dmah_get(struct univ_context *ctx, u32 handle,
				struct univ_hdr *hdr);
void univ_dmah_put(struct univ_dmah *dmah);
/* Whether a region with a handle can have the access flags @access. */
int univ_dmah_check_access(struct univ_hdr *hdr, u32 access);
/* The region, which is not announced yet, uses the handle, or none if NULL. */
void univ_mr_use_dmah(struct univ_mr *mr, struct univ_dmah *dmah);
int univ_dmah_destroy(struct univ_object *obj);
bool univ_mw_offered(const struct univ_device *dev);
int univ_mw_destroy(struct univ_object *obj);
int univ_ah_destroy(struct univ_object *obj);
struct univ_cq *univ_cq_get(struct univ_context *ctx, u32 handle,
			    struct univ_hdr *hdr);
int univ_cq_destroy(struct univ_object *obj);
void univ_cq_keep(struct univ_object *obj);
bool univ_cq_overrun_offered(const struct univ_device *dev);
bool univ_xrc_offered(const struct univ_device *dev);
struct univ_xrcd *univ_xrcd_get(struct univ_context *ctx, u32 handle,
				struct univ_hdr *hdr);
int univ_xrcd_destroy(struct univ_object *obj);
struct univ_srq *univ_srq_get(struct univ_context *ctx, u32 handle,
			      struct univ_hdr *hdr);
int univ_srq_destroy(struct univ_object *obj);
void univ_srq_keep(struct univ_object *obj);
bool univ_qp_resize_offered(const struct univ_device *dev);
bool univ_altpath_offered(const struct univ_device *dev);
bool univ_raw_offered(const struct univ_device *dev);
bool univ_tso_offered(const struct univ_device *dev);
/* Explains the error of a driver for raw packets. */
int univ_raw_explain(struct univ_hdr *hdr, int err);
int univ_flow_destroy(struct univ_object *obj);
int univ_counters_destroy(struct univ_object *obj);
struct univ_region *univ_recv_region_create(struct univ_context *ctx,
					    u32 max_wr, u32 max_sge,
					    struct univ_ring_map *map,
					    struct univ_hdr *hdr);
bool univ_wq_offered(const struct univ_device *dev);
struct univ_wq *univ_wq_get(struct univ_context *ctx, u32 handle,
			    struct univ_hdr *hdr);
void univ_wq_flush(struct univ_object *obj);
int univ_wq_destroy(struct univ_object *obj);
void univ_wq_keep(struct univ_object *obj);
struct univ_table *univ_table_get(struct univ_context *ctx, u32 handle,
				  struct univ_hdr *hdr);
int univ_table_destroy(struct univ_object *obj);
/* The arguments of a queue pair with a table; then those of its table. */
int univ_rss_check(struct univ_context *ctx, struct univ_qp_create *cmd);
int univ_rss_check_table(const struct univ_table *table,
			 struct univ_qp_create *cmd);
int univ_cntr_destroy(struct univ_object *obj);
/* The queue pair is destroyed: it counts nothing any more. */
void univ_cntrs_detach(struct univ_qp *qp);
void univ_qp_flush(struct univ_object *obj);
int univ_qp_destroy(struct univ_object *obj);
void univ_qp_keep(struct univ_object *obj);

/* query.c */
int univ_port_check(struct univ_context *ctx, u32 port, struct univ_hdr *hdr);

/* attr.c: conversion of attributes between the ABI and kernel verbs */
int univ_ah_attr_in(struct univ_context *ctx, struct univ_ah_attr *attr,
		    struct rdma_ah_attr *ah, struct univ_hdr *hdr);
void univ_ah_attr_out(const struct rdma_ah_attr *ah, struct univ_ah_attr *attr);
void univ_qp_attr_in(const struct univ_qp_attr *attr, struct ib_qp_attr *ib);
void univ_qp_attr_out(const struct ib_qp_attr *ib, struct univ_qp_attr *attr);

/* async.c: of a file whose private_data is a context */
ssize_t univ_async_read(struct file *file, char __user *buf, size_t len,
			loff_t *pos);
__poll_t univ_async_poll(struct file *file, poll_table *wait);
int univ_async_fasync(int fd, struct file *file, int on);

#endif
