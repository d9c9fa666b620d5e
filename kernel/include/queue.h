/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The queue interface: how an implementation takes requests out of the shared
 * rings and writes completions. A driver that can work on these rings itself is
 * one implementation; the core's pump, which serves all other drivers through
 * kernel verbs, is another.
 *
 * A driver registers its ib_device with univ_queue_register(), before
 * ib_register_device(). Control stays plain kernel verbs: the core makes,
 * modifies and destroys queues by the device's ib_device_ops. Right after the
 * core has made a queue it attaches the ring that it shares with a process.
 * From then on requests come out of that ring and completions go to
 * univ_queue_complete(), and no post, poll or notify function of the device is
 * called for this queue. A queue that is never attached belongs to a user in
 * the kernel and has the usual functions.
 *
 * The contents of a ring are hostile. Use ring.h for every access: make one
 * private copy of each request, keep indices privately, and check keys against
 * the queue pair's protection domain. A device-wide key of kernel memory must
 * be refused in an attached queue.
 *
 * The core sets the flags in the head of a send ring: a poller, if the process
 * has one, kicks the queue pair when it sees that something was published. The
 * implementation sets the flags of receive rings, and with %UNIV_QUEUE_POLLS
 * those of send rings too.
 *
 * A driver of hardware lets the device work on the rings: with %UNIV_QUEUE_DMA
 * it gets their DMA addresses, %UNIV_QUEUE_WRITES_CQ lets the device write
 * completions, and @page_alloc gives each context a page in which the process
 * rings the device's doorbells.
 */
#ifndef UNIV_QUEUE_H
#define UNIV_QUEUE_H

#include <linux/atomic.h>
#include <linux/types.h>

#include "queue_caps.h"
#include "queue_pair.h"
#include "ring.h"

struct dma_buf;
struct ib_ah;
struct ib_cq;
struct ib_device;
struct ib_mr;
struct ib_mw;
struct ib_pd;
struct ib_qp;
struct ib_srq;
struct ib_wq;
struct ib_qp_attr;
struct ib_srq_attr;
struct univ_cq;
struct univ_qp;
struct univ_srq;

/*
 * ib_device_ops.rereg_user_mr is optional. The core calls it without udata, one
 * call at a time for each region. It modifies the region that it is given, its
 * ib_mr.pd too, and returns NULL; or it leaves everything unchanged and returns
 * an error.
 *
 * ib_device_ops.modify_ah is optional, too. The core calls it while requests
 * use the address handle, one call at a time for each handle. Each request goes
 * to the former or to the new address, with all attributes of that address.
 */

/**
 * struct univ_queue_cntr - a completion counter, attached to a queue pair
 * @done: in memory that the process can read
 * @failed: likewise
 * @bytes: @done counts bytes
 */
struct univ_queue_cntr {
	atomic64_t *done;
	atomic64_t *failed;
	bool bytes;
};

/**
 * univ_queue_count() - count a completion
 * @cntr: as passed to univ_queue_ops.qp_cntr()
 * @ok: the request has succeeded
 * @bytes: length of its message
 *
 * Called before the completion is written. Release: the message is in memory
 * before it is counted; the library's univ_load_acquire_64() acquires it. Any
 * context.
 */
static inline void univ_queue_count(const struct univ_queue_cntr *cntr, bool ok,
				    u64 bytes)
{
	if (ok)
		atomic64_fetch_add_release(cntr->bytes ? bytes : 1, cntr->done);
	else
		atomic64_fetch_inc_release(cntr->failed);
}

/*
 * A region that was registered has one part, and each extension that pins pages
 * adds one.
 */
#define UNIV_MR_PARTS 4096

/**
 * struct univ_queue_rings - the rings of a queue pair
 * @core: for univ_queue_ah_get(); stays until the queue pair was destroyed
 * @send: requests to send
 * @recv: requests to receive; @recv.count is 0 with a shared receive queue, and
 *	of an XRC initiator
 * @max_tso: bytes that the header of a %UNIV_WR_TSO may have; 0: the queue pair
 *	sends no such requests
 * @sig_all: every send is signaled
 */
struct univ_queue_rings {
	struct univ_qp *core;
	struct univ_ring send;
	struct univ_ring recv;
	u32 max_tso;
	bool sig_all;
};

/**
 * struct univ_queue_page - a page of the device that one context maps
 * @addr: physical address, of a page of a BAR that holds nothing else than the
 *	bells of this context
 * @write_combining: map it write-combining instead of uncached. The driver maps
 *	the page itself in the same way, while it is allocated: x86 takes the
 *	caching of the process's mapping from the driver's
 * @priv: the driver's
 */
struct univ_queue_page {
	phys_addr_t addr;
	bool write_combining;
	void *priv;
};

/**
 * struct univ_queue_window - state of a memory window
 * @rkey: the key that peers use, or that the last bind request chose
 * @bound: the window is bound; otherwise the fields below are 0
 * @lkey: of the region
 * @access: rights of peers, enum ib_access_flags
 * @qp_num: type 2: the queue pair that bound it
 * @addr: address of the first byte, as requests name it
 * @length: in bytes
 * @offset: of the first byte in the region
 */
struct univ_queue_window {
	u32 rkey;
	bool bound;
	u32 lkey;
	u32 access;
	u32 qp_num;
	u64 addr;
	u64 length;
	u64 offset;
};

/**
 * struct univ_queue_ops - an implementation of queues
 * @caps: enum univ_queue_caps
 * @cntr_ops: enum univ_cntr_ops that completion counters count; 0: the device
 *	has no completion counters
 * @max_tso: most bytes of data of a %UNIV_WR_TSO; 0: raw packet queue pairs do
 *	not send it. Needs %UNIV_QUEUE_RAW
 * @rate_max: highest rate of @qp_rate, in units of 1000 bits in each second;
 *	the lowest one is 1
 * @rate_types: enum ib_qp_type of queue pairs with such a limit, as bits
 * @hash_fields: enum univ_rx_hash_fields by which queue pairs spread frames
 *	over the work queues of a receive indirection table; 0: there are no
 *	such queue pairs. Needs %UNIV_QUEUE_WQ and %UNIV_QUEUE_RAW
 * @cq_attach: completions go to @core from now on, until destroy_cq
 * @qp_attach: requests come from @rings, whose struct is copied; its memory
 *	stays until destroy_qp has returned. The queue pair is in RESET. Both of
 *	its completion queues are attached, and so is its shared receive queue.
 *	A reset discards the published requests.
 * @qp_hash: the queue pair, which was created with
 *	ib_qp_init_attr.rwq_ind_tbl, spreads frames by @hash, whose struct is
 *	copied. It has no receive ring. Called before @qp_attach; needed with
 *	@hash_fields
 * @srq_attach: likewise, until destroy_srq
 * @wq_attach: likewise, until destroy_wq; needed with %UNIV_QUEUE_WQ
 * @qp_kick: requests were published; @which is %UNIV_KICK_SEND,
 *	%UNIV_KICK_RECV or both. Process context, bottom halves on.
 * @srq_kick: likewise
 * @wq_kick: likewise; needed with %UNIV_QUEUE_WQ
 * @qp_cntr: count the completions of @ops, which are among @cntr_ops and not
 *	counted yet, in @cntr, whose struct is copied; its memory stays until
 *	destroy_qp has returned. The queue pair is in RESET or INIT. Return 0 or
 *	an errno. Needed with @cntr_ops
 * @qp_rate: limit the rate of the requests that the queue pair sends, from now
 *	until a reset. The queue pair is of @rate_types, in any state, and the
 *	rate is at most @rate_max. query_qp returns it. Optional: without it
 *	rates are not limited
 * @srq_resize: move the requests that were not taken to @ring, whose struct is
 *	copied, with their indices, and take requests from there; set the size
 *	in @attr, and its limit too with %IB_SRQ_LIMIT in @mask. The former ring
 *	is freed afterwards. Return 0 or an errno, with which nothing has
 *	changed. If @attr->max_wr is too small for the requests, return -EINVAL
 *	and their number in @posted, which is 0 before the call. If requests
 *	are posted and taken faster than they are moved, return -EBUSY.
 *	Optional: without it shared receive queues are not resized. One call at
 *	a time for each queue. May sleep
 * @cq_resize: the process has room for @cqe entries; return 0 or an errno
 * @cq_close: no completion is written any more; the device's queue will be
 *	destroyed
 * @cq_reopen: the device has refused to destroy it; completions are written
 *	again
 * @cq_detach: the device's queue is gone
 * @qp_modified: the device has modified the queue pair
 * @qp_close: the device's queue pair will be destroyed
 * @qp_reopen: the device has refused to destroy it
 * @qp_detach: the device's queue pair is gone
 * @srq_limit: a limit event is about to be armed, or has disarmed itself
 * @srq_close: the device's queue will be destroyed
 * @srq_reopen: the device has refused to destroy it
 * @srq_detach: the device's queue is gone
 * @mr_memory: registers @length bytes of the core's memory at @memory, which
 *	stays until dereg_mr. Requests refer to the first byte by address 0. A
 *	@memory of NULL makes a null region: every address is valid, reads give
 *	zeros and writes are lost. May sleep
 * @mr_extend: the region gets @length bytes, which are more than before: the
 *	pages behind it are pinned, and keys and addresses stay. Operations that
 *	are in progress do not fail, and operations that begin later may use the
 *	new bytes. Return 0, or an errno with which the region is unchanged:
 *	-EOPNOTSUPP if it does not consist of memory of a process, -EXDEV if
 *	that is not the calling process, -E2BIG if it would consist of more than
 *	UNIV_MR_PARTS parts, the others as reg_user_mr(). One call at a time for
 *	each region, and none beside rereg_user_mr(). May sleep
 * @mr_share: makes a further region of the pinned pages of @of, without pinning
 *	or charging them again; set its ib_mr.iova and length. The pages stay
 *	until both regions are gone. An errno: -EOPNOTSUPP if @of does not
 *	consist of pinned memory of a process, -EACCES if @access writes to
 *	pages that were pinned for reading only. @of does not change during the
 *	call. May sleep
 * @mw_query: fill in @window, which is zeroed. Without it windows cannot be
 *	queried. May sleep
 * @mr_dmabuf: registers @length bytes of a dma-buf, from byte @offset on, all
 *	of which lie in it. Requests refer to the first byte by @iova. The
 *	caller's reference to the dma-buf ends with the call. -EOPNOTSUPP: the
 *	device cannot use memory of this exporter, or not with this access. May
 *	sleep
 *
 * @page_alloc: a context begins: fill in its page. -ENOSPC: no page is left,
 *	and the queues of this context are kicked. Other errors fail open(2)
 * @page_free: the context has ended and no process can reach the page
 * @qp_bells: after @qp_attach, for a context with a page: fill in the bells of
 *	both rings, the offset in @page and the value that a process stores
 *	there. The device obeys a bell of this queue pair only if it comes
 *	through @page
 * @srq_bell: likewise
 * @ah_attach: datagram requests in the protection domain of @ah refer to it by
 *	@handle
 * @qp_path: load the alternate path in @attr, with %IB_QP_ALT_PATH in @mask,
 *	and check its path_mig_state, with %IB_QP_PATH_MIG_STATE. The path is
 *	used when the next modify_qp succeeds, which gets the state but not the
 *	path; if that fails, the call is repeated with a NULL @attr and
 *	discards the path.
 *	Return 0 or an errno; with -EINVAL, @cause may be set to an enum
 *	univ_path_mig_cause. query_qp returns path and state. Raise
 *	%IB_EVENT_PATH_MIG for each migration. Optional: the RDMA core refuses
 *	alternate paths on RoCE, so there are none without it. One call at a
 *	time for each queue pair. May sleep
 * @qp_resize: as @srq_resize for both rings of a queue pair, which is in no
 *	error state; @rings also has those that keep their size. -EBUSY: send
 *	requests are being executed, too. Optional: without it queue pairs keep
 *	their size. One call at a time for each queue pair. May sleep
 *
 * The attaching functions may sleep, and return 0 or an errno. If one of them
 * or the function for bells fails, the core destroys the queue at once, and the
 * driver must not refuse that: the ring is freed or used again.
 *
 * The device must not soon give the number of a destroyed queue pair or work
 * queue to another one, so xa_alloc_cyclic() is better than xa_alloc(). The
 * library removes unpolled completions of a destroyed queue by its number.
 *
 * The functions from @cq_resize to @srq_detach are optional. All of them but
 * @srq_limit may sleep. They are for an implementation with state of its own
 * beside the device's objects, since modify_qp and the destroy functions of the
 * device do not know that state.
 *
 * @mr_memory is optional: without it the device has no device memory and no
 * null regions. @mr_extend, @mr_share and @mw_query are optional as well, and
 * so is @mr_dmabuf: without it no dma-buf is registered.
 *
 * The functions from @page_alloc to @ah_attach are optional and may sleep. They
 * are for devices that read rings by themselves. A driver with @page_alloc has
 * @page_free and @qp_bells, and @srq_bell if it has shared receive queues.
 */
struct univ_queue_ops {
	u32 caps;
	u32 cntr_ops;
	u32 max_tso;
	u32 rate_max;
	u32 rate_types;
	u64 hash_fields;
	int (*cq_attach)(struct ib_cq *cq, struct univ_cq *core);
	int (*qp_attach)(struct ib_qp *qp,
			 const struct univ_queue_rings *rings);
	int (*qp_hash)(struct ib_qp *qp, const struct univ_queue_hash *hash);
	int (*srq_attach)(struct ib_srq *srq, const struct univ_ring *ring);
	int (*wq_attach)(struct ib_wq *wq, const struct univ_ring *ring);
	void (*qp_kick)(struct ib_qp *qp, unsigned long which);
	void (*srq_kick)(struct ib_srq *srq);
	void (*wq_kick)(struct ib_wq *wq);
	int (*srq_resize)(struct ib_srq *srq, const struct univ_ring *ring,
			  const struct ib_srq_attr *attr, int mask,
			  u32 *posted);
	int (*qp_cntr)(struct ib_qp *qp, u32 ops,
		       const struct univ_queue_cntr *cntr);
	void (*qp_rate)(struct ib_qp *qp, const struct univ_queue_rate *rate);

	int (*cq_resize)(struct univ_cq *core, u32 cqe);
	void (*cq_close)(struct univ_cq *core);
	void (*cq_reopen)(struct univ_cq *core);
	void (*cq_detach)(struct univ_cq *core);
	void (*qp_modified)(struct univ_qp *core, const struct ib_qp_attr *attr,
			    int mask);
	void (*qp_close)(struct univ_qp *core);
	void (*qp_reopen)(struct univ_qp *core);
	void (*qp_detach)(struct univ_qp *core);
	void (*srq_limit)(struct univ_srq *core, bool armed);
	void (*srq_close)(struct univ_srq *core);
	void (*srq_reopen)(struct univ_srq *core);
	void (*srq_detach)(struct univ_srq *core);

	struct ib_mr *(*mr_memory)(struct ib_pd *pd, void *memory, u64 length,
				   int access);
	int (*mr_extend)(struct ib_mr *mr, u64 length);
	struct ib_mr *(*mr_share)(struct ib_pd *pd, struct ib_mr *of, u64 iova,
				  int access);
	void (*mw_query)(struct ib_mw *mw, struct univ_queue_window *window);
	struct ib_mr *(*mr_dmabuf)(struct ib_pd *pd, struct dma_buf *buf,
				   u64 offset, u64 length, u64 iova,
				   int access);

	int (*page_alloc)(struct ib_device *ib, struct univ_queue_page *page);
	void (*page_free)(struct ib_device *ib,
			  const struct univ_queue_page *page);
	int (*qp_bells)(struct ib_qp *qp, const struct univ_queue_page *page,
			struct univ_bell *send, struct univ_bell *recv);
	int (*srq_bell)(struct ib_srq *srq, const struct univ_queue_page *page,
			struct univ_bell *recv);
	int (*ah_attach)(struct ib_ah *ah, u32 handle);

	int (*qp_path)(struct ib_qp *qp, const struct ib_qp_attr *attr,
		       int mask, u32 *cause);
	int (*qp_resize)(struct ib_qp *qp,
			 const struct univ_queue_rings *rings,
			 struct univ_queue_posted *posted);
};

/**
 * struct univ_queue_ah - an address handle that a request names
 * @ib: the device's
 * @held: the core's
 */
struct univ_queue_ah {
	struct ib_ah *ib;
	void *held;
};

int univ_queue_register(struct ib_device *ib, const struct univ_queue_ops *ops);
void univ_queue_unregister(struct ib_device *ib);

/**
 * enum univ_complete_flags - for univ_queue_complete_all()
 * @UNIV_COMPLETE_SOLICITED: wakes a process that waits for solicited
 *	completions
 * @UNIV_COMPLETE_NOTIFY: raises the event if the process armed the queue.
 *	Otherwise univ_queue_notify() has to follow.
 * @UNIV_COMPLETE_LOOK: looks whether the process armed the queue. If it did
 *	not, the univ_queue_notify() that follows costs nothing.
 */
enum univ_complete_flags {
	UNIV_COMPLETE_SOLICITED	= 1 << 0,
	UNIV_COMPLETE_NOTIFY	= 1 << 1,
	UNIV_COMPLETE_LOOK	= 1 << 2,
};

bool univ_queue_complete(struct univ_cq *cq, const struct univ_cqe *cqe,
			 bool solicited);
bool univ_queue_complete_all(struct univ_cq *cq, const struct univ_cqe *cqes,
			     u32 count, u32 flags);
bool univ_queue_timed(const struct univ_cq *cq);
void univ_queue_notify(struct univ_cq *cq);

const struct univ_ring *univ_queue_cq_ring(struct univ_cq *cq);
void univ_queue_raise(struct univ_cq *cq);
void univ_queue_overrun(struct univ_cq *cq);

bool univ_queue_ah_get(struct univ_qp *qp, u32 handle,
		       struct univ_queue_ah *ah);
void univ_queue_ah_put(const struct univ_queue_ah *ah);

#endif
