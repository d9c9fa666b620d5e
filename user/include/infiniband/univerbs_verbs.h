/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Verbs of the InfiniBand specification that libibverbs does not have. Only the
 * libibverbs.so.1 of univerbs has them. A program that may also run with another
 * libibverbs must look them up with dlsym(3). They need a device that offers them, such as
 * uroce; on other devices they fail with EOPNOTSUPP.
 */
#ifndef INFINIBAND_UNIVERBS_VERBS_H
#define INFINIBAND_UNIVERBS_VERBS_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * univerbs_extend_mr() - add memory to the end of a region that may be in use
 * @mr: memory region of this process
 * @length: bytes that the region is to have; at least @mr->length
 *
 * Keys and addresses stay. Requests that are in progress do not fail, and peers can use
 * the new bytes as soon as the call has returned. After a failure the region is unchanged.
 *
 * Return: 0 or an errno value
 */
int univerbs_extend_mr(struct ibv_mr *mr, size_t length);

/**
 * univerbs_share_mr() - make a further region of the pages of a region
 * @mr: memory region
 * @pd: protection domain of the new region, of the same context
 * @iova: address by which work requests refer to the first byte of the new region
 * @access: enum ibv_access_flags of the new region
 *
 * The pages are pinned and count against RLIMIT_MEMLOCK once, until the last of the regions
 * is deregistered by ibv_dereg_mr(3), in any order. The regions are independent otherwise.
 *
 * Return: the new region, or NULL with an errno value in errno
 */
struct ibv_mr *univerbs_share_mr(struct ibv_mr *mr, struct ibv_pd *pd, uint64_t iova,
				 unsigned int access);

/**
 * univerbs_modify_ah() - replace the address of an address handle that may be in use
 * @ah: address handle
 * @attr: the new address
 *
 * A request that was posted before the call goes to the former address or to the new one,
 * never to a mixture of both; a request that is posted afterwards goes to the new one.
 * After a failure the handle is unchanged.
 *
 * Return: 0 or an errno value
 */
int univerbs_modify_ah(struct ibv_ah *ah, struct ibv_ah_attr *attr);

/*
 * Queries of objects. The kernel answers them, not the library's memory. @size of each
 * struct is set by the caller to the size of the struct, and by the library to the number
 * of bytes that it has filled in; bytes behind them are zero. Each query returns 0 or an
 * errno value.
 */

/**
 * enum univerbs_mr_kind - memory of a region
 * @UNIVERBS_MR_MEMORY: memory of a process
 * @UNIVERBS_MR_DM: device memory
 * @UNIVERBS_MR_NULL: none: a null region
 * @UNIVERBS_MR_DMABUF: a dma-buf
 */
enum univerbs_mr_kind {
	UNIVERBS_MR_MEMORY,
	UNIVERBS_MR_DM,
	UNIVERBS_MR_NULL,
	UNIVERBS_MR_DMABUF,
};

/**
 * struct univerbs_mr_attr - attributes of a memory region
 * @size: see above
 * @pd_handle: ibv_pd.handle of the protection domain
 * @lkey: local key
 * @rkey: remote key; 0 for a null region
 * @access: enum ibv_access_flags
 * @kind: enum univerbs_mr_kind
 * @addr: address in the process that registered the region, or 0
 * @length: bytes
 * @iova: address by which work requests refer to the first byte
 */
struct univerbs_mr_attr {
	uint32_t size;
	uint32_t pd_handle;
	uint32_t lkey;
	uint32_t rkey;
	uint32_t access;
	uint32_t kind;
	uint64_t addr;
	uint64_t length;
	uint64_t iova;
};

int univerbs_query_mr(struct ibv_mr *mr, struct univerbs_mr_attr *attr);

/**
 * struct univerbs_mw_attr - attributes of a memory window
 * @size: see above
 * @pd_handle: ibv_pd.handle of the protection domain
 * @type: enum ibv_mw_type
 * @rkey: key that peers use, or that the latest bind request chose
 * @bound: 1 if the window is bound, otherwise 0 and so are the members below
 * @lkey: local key of the region
 * @access: enum ibv_access_flags: rights of peers
 * @qp_num: type 2: the queue pair that bound the window
 * @addr: address by which peers refer to the first byte
 * @length: bytes
 * @offset: offset of the first byte in the region
 */
struct univerbs_mw_attr {
	uint32_t size;
	uint32_t pd_handle;
	uint32_t type;
	uint32_t rkey;
	uint32_t bound;
	uint32_t lkey;
	uint32_t access;
	uint32_t qp_num;
	uint64_t addr;
	uint64_t length;
	uint64_t offset;
};

int univerbs_query_mw(struct ibv_mw *mw, struct univerbs_mw_attr *attr);

/**
 * struct univerbs_ah_attr - attributes of an address handle
 * @size: see above
 * @pd_handle: ibv_pd.handle of the protection domain
 * @attr: address vector
 */
struct univerbs_ah_attr {
	uint32_t size;
	uint32_t pd_handle;
	struct ibv_ah_attr attr;
};

int univerbs_query_ah(struct ibv_ah *ah, struct univerbs_ah_attr *attr);

/**
 * enum univerbs_cq_armed - whether a completion queue raises an event
 * @UNIVERBS_CQ_UNARMED: no
 * @UNIVERBS_CQ_ARMED: for the next completion
 * @UNIVERBS_CQ_ARMED_SOLICITED: for the next solicited completion, and for an error
 */
enum univerbs_cq_armed {
	UNIVERBS_CQ_UNARMED,
	UNIVERBS_CQ_ARMED,
	UNIVERBS_CQ_ARMED_SOLICITED,
};

/**
 * struct univerbs_cq_attr - attributes of a completion queue
 * @size: see above
 * @cqe: number of entries
 * @comp_vector: completion vector
 * @channel: 1 if the queue has a completion channel
 * @armed: enum univerbs_cq_armed
 * @moderation_count: completions per event, as ibv_modify_cq(3) has set it; or 0
 * @moderation_period: microseconds; likewise
 * @overrun: 1 if completions were lost because the queue was full
 */
struct univerbs_cq_attr {
	uint32_t size;
	uint32_t cqe;
	uint32_t comp_vector;
	uint32_t channel;
	uint32_t armed;
	uint32_t moderation_count;
	uint32_t moderation_period;
	uint32_t overrun;
};

int univerbs_query_cq(struct ibv_cq *cq, struct univerbs_cq_attr *attr);

#ifdef __cplusplus
}
#endif

#endif
