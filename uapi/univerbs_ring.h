/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * The bytes that a process and a queue driver share by mmap: rings, work
 * requests, completions and the doorbell page. One format for all devices.
 *
 * Ownership: every shared word has exactly one writer, named beside it. What
 * the process writes, the kernel treats as hostile; what the kernel writes, it
 * never reads back. Indices run freely over 32 bits; a slot's number is
 * index & (slots - 1), and slots is a power of two.
 *
 * Ordering (Documentation/ordering.rst tables each pair with its place in the
 * code):
 *
 *  - publish: the producer fills the slot, then stores the index (work
 *    requests) or the phase (completions) with release order; the consumer
 *    loads it with acquire order before it reads the slot.
 *  - sleep: the side that stops looking stores its flag, issues a full fence
 *    and looks once more; the side that publishes issues a full fence between
 *    its index and its load of that flag. This holds for NEED_KICK and for the
 *    arming of a completion queue alike.
 */
#ifndef UNIVERBS_RING_H
#define UNIVERBS_RING_H

#include <linux/types.h>

#define UNIV_CACHE_LINE 64

/**
 * enum univ_ring_flags - what a queue driver asks of the process
 * @UNIV_RING_NEED_KICK: publishing alone is not noticed: follow it with the
 *	ioctl UNIV_KICK. Clear while the driver looks by itself (a poller is
 *	awake, or a receive queue's device still holds enough requests).
 * @UNIV_RING_DEAD: the device is gone; nothing more will be consumed or
 *	completed. Told in completion rings and the doorbell page. Never cleared.
 * @UNIV_RING_OVERRUN: completion queues only: a completion found no free slot
 *	and was lost; nothing follows it. Never cleared.
 */
enum univ_ring_flags {
	UNIV_RING_NEED_KICK	= 1 << 0,
	UNIV_RING_DEAD		= 1 << 1,
	UNIV_RING_OVERRUN	= 1 << 2,
};

/**
 * struct univ_ring_user - the cache line of a ring that the process writes
 * @index: send, receive, shared receive: the tail, requests published so far.
 *	Completion queue: the head, completions taken so far.
 * @arm: completion queue: (count of arms << 1) | solicited only. The queue is
 *	armed while this differs from @fired of the kernel's line.
 * @reserved: zero
 */
struct univ_ring_user {
	__u32 index;
	__u32 arm;
	__u32 reserved[14];
};

/**
 * struct univ_ring_kernel - the cache line of a ring that the kernel writes
 * @index: send, receive, shared receive: requests retired so far; a slot may
 *	be written again once this has passed it. Completion queue: unused.
 * @flags: enum univ_ring_flags
 * @fired: completion queue: the value of @arm that the last event answered
 * @reserved: zero
 */
struct univ_ring_kernel {
	__u32 index;
	__u32 flags;
	__u32 fired;
	__u32 reserved[13];
};

/**
 * struct univ_ring_head - what each ring begins with; its slots follow at the
 *	offset that the creating ioctl returned
 * @user: written by the process alone
 * @kernel: written by the kernel alone
 */
struct univ_ring_head {
	struct univ_ring_user user;
	struct univ_ring_kernel kernel;
};

/**
 * struct univ_doorbell - the doorbell page, one for each context
 * @state: enum univ_ring_flags; %UNIV_RING_DEAD once the device is gone.
 *	Written by the kernel alone.
 * @reserved: zero
 */
struct univ_doorbell {
	__u32 state;
	__u32 reserved[15];
};

/**
 * struct univ_sge - a piece of registered memory
 * @addr: address within the region named by @lkey
 * @length: bytes
 * @lkey: local key
 */
struct univ_sge {
	__aligned_u64 addr;
	__u32 length;
	__u32 lkey;
};

/* Values are those of enum ibv_wr_opcode, so that neither side translates. */
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

/* Values are those of enum ibv_send_flags. */
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
 * @count: entries of @sge, or with %UNIV_WR_INLINE bytes of @data
 * @srqn: XRC: number of the remote shared receive queue, for every request to the
 *	peer: its domain is where RDMA reaches
 * @imm: immediate data in network order, or the remote key to invalidate
 * @rkey: remote key of an RDMA or atomic operation; binding: that of the window
 *	from then on, of which the low 8 bits may be chosen
 * @remote_addr: remote address of an RDMA or atomic operation; binding: of the
 *	first byte, as the region at @bind.lkey counts them
 * @atomic: operands of an atomic operation
 * @ud: where a datagram goes; @ah is an address handle's object handle
 * @bind: what %UNIV_WR_BIND_MW binds a window to: @length bytes of the region of
 *	@lkey, for @access of enum ibv_access_flags. No bytes: a window of type 1
 *	is bound to nothing any more.
 * @sge: scattered data, or
 * @data: inline data
 *
 * %UNIV_WR_ATOMIC_WRITE is inline, with a @count of 8.
 *
 * A slot is @stride bytes long, a multiple of 64 told by UNIV_QP_CREATE; what
 * is behind @count entries is not read.
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
	};
	union {
		struct univ_sge sge[1];
		__u8 data[16];
	};
};

/**
 * struct univ_recv_wr - a slot of a receive or shared receive ring
 * @wr_id: returned in the completion
 * @count: entries of @sge
 * @reserved: zero
 * @sge: where the message goes
 *
 * A slot is @stride bytes long, of which those up to the entries that the queue
 * was made for exist: with one entry 32, otherwise a multiple of 64.
 */
struct univ_recv_wr {
	__aligned_u64 wr_id;
	__u32 count;
	__u32 reserved;
	struct univ_sge sge[3];
};

/* Values are those of enum ibv_wc_flags. */
enum univ_wc_flags {
	UNIV_WC_GRH		= 1 << 0,
	UNIV_WC_WITH_IMM	= 1 << 1,
	UNIV_WC_IP_CSUM_OK	= 1 << 2,
	UNIV_WC_WITH_INV	= 1 << 3,
};

/**
 * struct univ_cqe - a slot of a completion ring
 * @wr_id: of the work request
 * @status: enum ibv_wc_status
 * @opcode: enum ibv_wc_opcode; meaningful when @status is success
 * @wc_flags: enum univ_wc_flags
 * @byte_len: bytes received, read or exchanged
 * @imm: immediate data in network order, or the invalidated remote key
 * @qp_num: local queue pair
 * @src_qp: datagrams: the sender's queue pair
 * @slid: datagrams: the sender's LID
 * @pkey_index: index of the P_Key, GSI only
 * @vendor_err: the device's own word for an error
 * @sl: service level; in that of a datagram over RoCE the lower two bits say what
 *	header its buffer begins with: 1 for IPv6, 2 for IPv4, 0 if the device does
 *	not tell
 * @dlid_path_bits: destination LID path bits
 * @reason: enum univ_reason; why @status is not success, as far as known
 * @timestamp: monotonic nanoseconds, when asked for at creation
 * @wallclock: wall-clock nanoseconds, when asked for at creation
 * @reserved: zero
 * @phase: UNIV_CQE_PHASE() of this completion's index, stored last with
 *	release order. Never zero, so that a page of zeros reads as empty.
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
	__u16 slid;
	__u16 pkey_index;
	__u32 vendor_err;
	__u8 sl;
	__u8 dlid_path_bits;
	__u16 reason;
	__aligned_u64 timestamp;
	__aligned_u64 wallclock;
	__u32 reserved;
	__u32 phase;
};

/* 1 on the even passes over the ring, 2 on the odd ones. */
#define UNIV_CQE_PHASE(index, slots) (1 + !!((index) & (slots)))

#endif
