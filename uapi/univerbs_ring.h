/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * Memory that a process and a queue driver share by mmap(): rings, work
 * requests, completions and the doorbell page. All devices use this format.
 *
 * Ownership: every shared word has exactly one writer, which its description
 * names. The kernel treats all words that the process writes as hostile, and
 * never reads back the words that it writes itself. Indices wrap at 32 bits.
 * The number of a slot is index & (slots - 1), and slots is a power of two.
 *
 * Ordering (the tables of Documentation/ordering.rst give the place of each
 * pair in the code):
 *
 *  - publish: the producer fills the slot, then stores the index (work
 *    requests) or the phase (completions) with release order. The consumer
 *    loads that word with acquire order before it reads the slot.
 *  - sleep: the consumer that stops polling stores its flag, issues a full
 *    fence and polls once more. The producer issues a full fence between its
 *    store of the index and its load of the flag. NEED_KICK and the arming of a
 *    completion queue both follow this rule.
 */
#ifndef UNIVERBS_RING_H
#define UNIVERBS_RING_H

#include <linux/types.h>

#define UNIV_CACHE_LINE 64

/**
 * enum univ_ring_flags - state of a ring, from the driver to the process
 * @UNIV_RING_NEED_KICK: The driver does not notice new requests by itself. The
 *	process must call the ioctl UNIV_KICK after it published them, or ring
 *	the bell of the ring if it has one (struct univ_bell). Clear while the
 *	driver polls the ring (a poller is awake, or the device of a receive
 *	queue still holds enough requests).
 * @UNIV_RING_DEAD: The device was removed. No more requests are consumed or
 *	completed. Set in completion rings and the doorbell page. Never
 *	cleared.
 * @UNIV_RING_OVERRUN: Completion queues only: a completion found no free slot
 *	and was lost, and no completion follows it. Never cleared.
 */
enum univ_ring_flags {
	UNIV_RING_NEED_KICK	= 1 << 0,
	UNIV_RING_DEAD		= 1 << 1,
	UNIV_RING_OVERRUN	= 1 << 2,
};

/**
 * struct univ_ring_user - cache line of a ring, written by the process
 * @index: send, receive, shared receive: the tail, which counts published
 *	requests. Completion queue: the head, which counts polled completions.
 * @arm: completion queue: (count of arms << 1) | solicited only. The queue is
 *	armed while @arm differs from @fired in struct univ_ring_kernel.
 * @reserved: zero
 */
struct univ_ring_user {
	__u32 index;
	__u32 arm;
	__u32 reserved[14];
};

/**
 * struct univ_ring_kernel - cache line of a ring, written by the kernel or the
 *	device
 * @index: send, receive, shared receive: number of retired requests. The
 *	process may reuse a slot once @index has passed it. Completion queue:
 *	unused.
 * @flags: enum univ_ring_flags
 * @fired: completion queue: value of @arm when the last event was raised
 * @fired_index: completion queue: index after the newest completion that was
 *	there when the last event was raised. 0 also if the kernel does not know
 *	it: before the first event, on a device that writes completions by
 *	itself, and in a module that does not know the word.
 * @reserved: zero
 */
struct univ_ring_kernel {
	__u32 index;
	__u32 flags;
	__u32 fired;
	__u32 fired_index;
	__u32 reserved[12];
};

/**
 * struct univ_ring_head - head of each ring
 * @user: written by the process only
 * @kernel: written by the kernel only; by the device instead, if it takes
 *	requests out of the ring itself
 *
 * The slots follow at the offset that the creating ioctl returned.
 */
struct univ_ring_head {
	struct univ_ring_user user;
	struct univ_ring_kernel kernel;
};

/**
 * struct univ_doorbell - the doorbell page, one for each context
 * @state: enum univ_ring_flags; %UNIV_RING_DEAD after the device was removed.
 *	Written by the kernel only.
 * @reserved: zero
 */
struct univ_doorbell {
	__u32 state;
	__u32 reserved[15];
};

/**
 * struct univ_sge - scatter/gather entry: a range of registered memory
 * @addr: address within the region of @lkey
 * @length: bytes
 * @lkey: local key
 */
struct univ_sge {
	__aligned_u64 addr;
	__u32 length;
	__u32 lkey;
};

/* The values equal enum ibv_wr_opcode, so that neither side translates. */
enum univ_wr_opcode {
	UNIV_WR_RDMA_WRITE,
	UNIV_WR_RDMA_WRITE_WITH_IMM,
	UNIV_WR_SEND,
	UNIV_WR_SEND_WITH_IMM,
	UNIV_WR_RDMA_READ,
	UNIV_WR_ATOMIC_CMP_AND_SWP,
	UNIV_WR_ATOMIC_FETCH_AND_ADD,
	UNIV_WR_LOCAL_INV,
	UNIV_WR_BIND_MW,
	UNIV_WR_SEND_WITH_INV,
	UNIV_WR_TSO,
	UNIV_WR_DRIVER1,
	UNIV_WR_FLUSH		= 14,
	UNIV_WR_ATOMIC_WRITE	= 15,
};

/* The values equal enum ibv_placement_type. */
enum univ_flush_type {
	UNIV_FLUSH_GLOBAL	= 1 << 0,
	UNIV_FLUSH_PERSISTENT	= 1 << 1,
};

/* The values equal enum ibv_selectivity_level. */
enum univ_flush_level {
	UNIV_FLUSH_RANGE,
	UNIV_FLUSH_MR,
};

/* The values equal enum ibv_send_flags. */
enum univ_wr_flags {
	UNIV_WR_FENCE		= 1 << 0,
	UNIV_WR_SIGNALED	= 1 << 1,
	UNIV_WR_SOLICITED	= 1 << 2,
	UNIV_WR_INLINE		= 1 << 3,
	UNIV_WR_IP_CSUM		= 1 << 4,
};

/**
 * struct univ_send_wr - a slot of a send ring
 * @wr_id: returned in the completion
 * @opcode: enum univ_wr_opcode
 * @flags: enum univ_wr_flags
 * @count: number of entries in @sge; with %UNIV_WR_INLINE, bytes in @data
 * @srqn: XRC: number of the remote shared receive queue. Every request needs
 *	it, because RDMA reaches the memory of this queue's domain.
 * @imm: immediate data in network order, or the remote key to invalidate
 * @rkey: remote key of an RDMA or atomic operation. Binding: new key of the
 *	window; the process may choose its low 8 bits.
 * @remote_addr: remote address of an RDMA or atomic operation. Binding: address
 *	of the first byte, in the addresses of the region at @bind.lkey.
 * @atomic: operands of an atomic operation
 * @atomic.compare_add: fetch and add: value to add; compare and swap: value to
 *	compare with
 * @atomic.swap: compare and swap: value to store
 * @ud: destination of a datagram
 * @ud.ah: object handle of an address handle
 * @ud.remote_qpn: number of the remote queue pair
 * @ud.remote_qkey: Q_Key of the remote queue pair; with the highest bit set,
 *	that of the sending one is used
 * @ud.reserved: zero
 * @bind: memory to which %UNIV_WR_BIND_MW binds a window
 * @bind.length: bytes; 0 unbinds a window of type 1
 * @bind.lkey: local key of the region
 * @bind.access: enum ibv_access_flags
 * @flush: memory that %UNIV_WR_FLUSH flushes, from @remote_addr on, or with
 *	%UNIV_FLUSH_MR the whole region of @rkey; then @remote_addr and
 *	@flush.length are ignored
 * @flush.length: bytes, at most 2^31
 * @flush.type: one or more of enum univ_flush_type
 * @flush.level: enum univ_flush_level
 * @tso: %UNIV_WR_TSO: each frame begins with a copy of the header
 * @tso.header: bytes of the header
 * @tso.mss: bytes of data behind the header in each frame; the last frame has
 *	the rest
 * @sge: scatter/gather entries, or
 * @data: inline data
 *
 * %UNIV_WR_ATOMIC_WRITE is inline, with a @count of 8. %UNIV_WR_FLUSH has no
 * data, and its @count is ignored. %UNIV_WR_TSO is not inline. Its header lies
 * behind the room for as many entries of @sge as UNIV_QP_CREATE returned in
 * max_send_sge, however many of them it has.
 *
 * A slot is @stride bytes long, a multiple of 64 that UNIV_QP_CREATE returns.
 * The driver does not read the bytes behind @count entries, except the header
 * of %UNIV_WR_TSO.
 */
struct univ_send_wr {
	__aligned_u64 wr_id;
	__u8 opcode;
	__u8 flags;
	__u16 count;
	__u32 srqn;
	__u32 imm;
	__u32 rkey;
	__aligned_u64 remote_addr;
	union {
		struct {
			__aligned_u64 compare_add;
			__aligned_u64 swap;
		} atomic;
		struct {
			__u32 ah;
			__u32 remote_qpn;
			__u32 remote_qkey;
			__u32 reserved;
		} ud;
		struct {
			__aligned_u64 length;
			__u32 lkey;
			__u32 access;
		} bind;
		struct {
			__aligned_u64 length;
			__u32 type;
			__u32 level;
		} flush;
		struct {
			__u16 header;
			__u16 mss;
		} tso;
	};
	union {
		struct univ_sge sge[1];
		__u8 data[16];
	};
};

/**
 * struct univ_recv_wr - a slot of a receive or shared receive ring
 * @wr_id: returned in the completion
 * @count: number of entries in @sge
 * @reserved: zero
 * @sge: memory for the message
 *
 * A slot is @stride bytes long: 32 with one entry, otherwise a multiple of 64.
 * It has room for the entries that were requested at creation and no more.
 */
struct univ_recv_wr {
	__aligned_u64 wr_id;
	__u32 count;
	__u32 reserved;
	struct univ_sge sge[3];
};

/* The values equal enum ibv_wc_flags. */
enum univ_wc_flags {
	UNIV_WC_GRH		= 1 << 0,
	UNIV_WC_WITH_IMM	= 1 << 1,
	UNIV_WC_IP_CSUM_OK	= 1 << 2,
	UNIV_WC_WITH_INV	= 1 << 3,
};

/**
 * struct univ_cqe - a slot of a completion ring
 * @wr_id: @wr_id of the work request
 * @status: enum ibv_wc_status
 * @opcode: enum ibv_wc_opcode; valid if @status is success
 * @wc_flags: enum univ_wc_flags
 * @byte_len: bytes received, read or exchanged
 * @imm: immediate data in network order, or the invalidated remote key
 * @qp_num: number of the local queue pair
 * @src_qp: datagrams: number of the sender's queue pair
 * @slid: datagrams: LID of the sender
 * @cvlan: raw packets: the VLAN tag (host order), or 0 for none
 * @pkey_index: datagrams: index of the receiver's P_Key
 * @vendor_err: vendor-specific error code of the device
 * @sl: service level. For a datagram over RoCE, the lower two bits give the
 *	header at the start of the receive buffer: 1 for IPv6, 2 for IPv4, 0 if
 *	the device does not report it.
 * @dlid_path_bits: destination LID path bits
 * @reason: enum univ_reason: why @status is not success, if known
 * @timestamp: monotonic nanoseconds, with %UNIV_CQ_TIMESTAMP
 * @wallclock: wall-clock nanoseconds, with %UNIV_CQ_WALLCLOCK
 * @flow_tag: raw packets: tag of the flow
 * @phase: UNIV_CQE_PHASE() of the index of this completion, stored last with
 *	release order. Never zero, so that a page of zeros reads as an empty
 *	ring.
 */
struct univ_cqe {
	__aligned_u64 wr_id;
	__u8 status;
	__u8 opcode;
	__u16 wc_flags;
	__u32 byte_len;
	__u32 imm;
	__u32 qp_num;
	__u32 src_qp;
	union {
		__u16 slid;
		__u16 cvlan;
	};
	__u16 pkey_index;
	__u32 vendor_err;
	__u8 sl;
	__u8 dlid_path_bits;
	__u16 reason;
	__aligned_u64 timestamp;
	__aligned_u64 wallclock;
	__u32 flow_tag;
	__u32 phase;
};

/**
 * struct univ_cntr - values of a completion counter
 * @done: successful completions, or their bytes
 * @failed: failed completions
 *
 * Written by the kernel only. A completion is counted before it is shown in a
 * completion ring.
 */
struct univ_cntr {
	__aligned_u64 done;
	__aligned_u64 failed;
};

/* The phase is 1 on even passes over the ring and 2 on odd passes. */
#define UNIV_CQE_PHASE(index, slots) (1 + !!((index) & (slots)))

#endif
