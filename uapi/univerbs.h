/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * Control interface of /dev/infiniband/univerbsN.
 *
 * Opening the node creates a context. The argument of each ioctl is one struct
 * that begins with struct univ_hdr. These rules hold for all ioctls:
 *
 *  - @size is the size of the struct that the caller was compiled with. A size
 *    below the first version of the struct fails with EINVAL. A size above the
 *    kernel's version fails with E2BIG unless the excess bytes are zero.
 *    Structs grow at the tail only.
 *  - A reserved field or an unknown flag that is not zero fails with
 *    EOPNOTSUPP.
 *  - On failure, @reason, @detail, @value and @bound explain the error. errno
 *    is the value that a libibverbs program expects.
 *  - If the result cannot be written to the caller's memory, the call fails
 *    with EFAULT. A creating call then destroys its object, and a queue keeps
 *    its former size; other changes stand.
 *  - After the device is removed, every well-formed ioctl fails with ENODEV.
 *    mmap() does too, and so does read() of a completion channel as soon as the
 *    queued events have been read. The node, and a channel that gets the events
 *    of the device, wait for more: the removal raises %IB_EVENT_DEVICE_FATAL,
 *    and no event is raised after it.
 *
 * read() of the node returns one or more whole structs univ_event, and so does
 * read() of a completion channel. Both files support poll() and O_NONBLOCK.
 */
#ifndef UNIVERBS_H
#define UNIVERBS_H

#include <linux/types.h>
#include <linux/ioctl.h>

/* GET_CHARDEV over RDMA netlink and UNIV_CONTEXT_QUERY return this version. */
#define UNIV_ABI_VERSION 1

#define UNIV_CLIENT_NAME "univerbs"

/**
 * enum univ_reason - reason for the failure of a call or a completion
 * @UNIV_REASON_NONE: Nothing is known beyond errno.
 * @UNIV_REASON_SIZE: The struct is too short. Value: given size. Bound: least
 *	size.
 * @UNIV_REASON_TAIL: Bytes behind the known part of the struct are not zero.
 *	Value: given size. Bound: known size.
 * @UNIV_REASON_RESERVED: A reserved field is not zero. Value: offset of the
 *	field.
 * @UNIV_REASON_FLAGS: A flag is unknown. Detail: enum univ_flags (library).
 *	Value: given flags. Bound: known flags. Completion: the request has the
 *	unknown flag.
 * @UNIV_REASON_FAULT: The struct or a buffer cannot be read or written.
 * @UNIV_REASON_DEVICE_GONE: The device was removed. For the destroying ioctls,
 *	value: completion events that were read, bound: other events that were
 *	read.
 * @UNIV_REASON_DEVICE_REFUSED: The device's driver refused the call. Value:
 *	errno of the driver. Bound (library): given IBV_QP_* bits.
 * @UNIV_REASON_UNSUPPORTED: The device lacks the operation. Bound (library):
 *	given IBV_QP_* bits.
 * @UNIV_REASON_HANDLE: The object does not exist. Detail: enum
 *	univ_object_type. Value: handle.
 * @UNIV_REASON_HANDLE_TYPE: The object has another type. Detail: wanted type.
 *	Value: handle. Bound: type of the object.
 * @UNIV_REASON_NOT_ATTACHED: The queue pair is not attached to the multicast
 *	group. Value: LID.
 * @UNIV_REASON_BUSY: The object is in use. Detail: type. Value: handle. Bound:
 *	users. Completion: the memory window is bound.
 * @UNIV_REASON_LIMIT: A limit is exceeded. Detail: enum univ_limit. Value:
 *	requested quantity. Bound: limit. Completion: the message is too long,
 *	or the peer accepts no reads and atomics.
 * @UNIV_REASON_ZERO: A quantity must not be zero. Detail: enum univ_limit.
 * @UNIV_REASON_MEMLOCK: RLIMIT_MEMLOCK is exceeded. Value: requested bytes.
 *	Bound: remaining bytes.
 * @UNIV_REASON_CGROUP: The limit of the rdma cgroup is reached. Detail: enum
 *	univ_object_type.
 * @UNIV_REASON_NO_MEMORY: The kernel has no memory. Value: bytes, if known.
 * @UNIV_REASON_ACCESS_FLAGS: The access flags of a memory region contradict
 *	each other, or are not offered. Value: flags. Bound: flags whose memory
 *	the device does not support.
 * @UNIV_REASON_ADDRESS: The memory is not mapped, or lacks the permission.
 *	Value: address. Bound: length.
 * @UNIV_REASON_ADDRESS_WRAP: Address + length exceeds 2^64. Value: address.
 *	Bound: length.
 * @UNIV_REASON_PERMISSION: The process lacks a capability. Detail: enum
 *	univ_permission. Value: capability.
 * @UNIV_REASON_QP_TYPE: The queue pair type is not offered, or is wrong for the
 *	call. Value: enum ibv_qp_type.
 * @UNIV_REASON_QP_STATE: The state transition does not exist. Detail: from << 8
 *	| to.
 * @UNIV_REASON_ATTR_MISSING: A transition requires further attributes. Detail:
 *	from << 8 | to. Value: missing IBV_QP_* bits.
 * @UNIV_REASON_ATTR_SURPLUS: A transition does not allow some attributes.
 *	Detail: from << 8 | to. Value: surplus IBV_QP_* bits.
 * @UNIV_REASON_ATTR_VALUE: The value of an attribute is out of range. Detail:
 *	IBV_QP_* bit. Value: given value. Bound: highest value allowed; for
 *	IBV_QP_AV, the port of the queue pair.
 * @UNIV_REASON_CUR_STATE: IBV_QP_CUR_STATE differs from the current state.
 *	Value: given state. Bound: current state.
 * @UNIV_REASON_PORT: The port does not exist. Value: given port. Bound: number
 *	of ports.
 * @UNIV_REASON_GID_INDEX: There is no GID at the index. Value: index. Bound:
 *	length of the table.
 * @UNIV_REASON_PKEY_INDEX: There is no P_Key at the index. Value: index. Bound:
 *	length of the table.
 * @UNIV_REASON_NO_ROUTE: The destination address cannot be resolved.
 * @UNIV_REASON_NO_GRH: RoCE needs a global route header.
 * @UNIV_REASON_NOT_MULTICAST: The GID is not a multicast address.
 * @UNIV_REASON_CQ_SHRINK: More completions are waiting than the new size holds.
 *	Value: requested size. Bound: waiting completions.
 * @UNIV_REASON_FD: The descriptor is not a completion channel of this context.
 *	Value: descriptor. Bound (library): 1 if it is no context of a device.
 * @UNIV_REASON_VECTOR: The completion vector does not exist. Value: given
 *	vector. Bound: number of vectors.
 * @UNIV_REASON_RING_CORRUPT: Data path: a ring index is out of bounds. Value:
 *	index.
 * @UNIV_REASON_WR_OPCODE: Data path: the opcode is unknown, or the type of the
 *	queue pair does not allow it. Value: opcode.
 * @UNIV_REASON_WR_SGE: Data path: a request has too many scatter/gather
 *	entries. Value: entries. Bound: limit.
 * @UNIV_REASON_WR_INLINE: Data path: the inline data is too long. Value: bytes.
 *	Bound: limit.
 * @UNIV_REASON_WR_AH: Data path: the address handle does not exist, or belongs
 *	to another protection domain. Value: handle.
 * @UNIV_REASON_WR_KEY: Data path: the process does not own the key. Value: key.
 * @UNIV_REASON_WR_REFUSED: Data path: the device refused the request. Value:
 *	errno of the driver.
 * @UNIV_REASON_QUEUE_FULL: Library: the queue is full. Value: outstanding
 *	requests. Bound: size of the queue.
 * @UNIV_REASON_POST_STATE: Library: the state of the queue pair does not allow
 *	the request. Value: state.
 * @UNIV_REASON_NO_MODULE: Library: univerbs.ko is not loaded.
 * @UNIV_REASON_NO_DEVICE: Library: there is no RDMA device.
 * @UNIV_REASON_NODE_PERMISSION: Library: the process may not open the node.
 * @UNIV_REASON_CHANNEL_BUSY: Library: completion queues use the channel. Value:
 *	number of queues.
 * @UNIV_REASON_NOT_OFFERED: Library: univerbs does not implement the verb.
 * @UNIV_REASON_MW_TYPE: The type of memory window does not exist, or cannot be
 *	bound by this call. Value: enum ibv_mw_type. Completion: likewise, or a
 *	window of this type cannot be invalidated.
 * @UNIV_REASON_XRCD_FILE: The file does not exist, or conflicts with O_CREAT or
 *	O_EXCL of the call. Detail: enum univ_xrcd_file. Value: descriptor.
 * @UNIV_REASON_XRC_QPN: The domain has no XRC receive queue pair of the number.
 *	Value: number.
 * @UNIV_REASON_NOT_XRC: Library: the shared receive queue has no number.
 * @UNIV_REASON_SRQ_OF_XRC: The shared receive queue is for XRC only. Value:
 *	handle.
 * @UNIV_REASON_KEY_UNKNOWN: Completion: the queue pair's protection domain has
 *	no memory region with the key, and no memory window that could be bound.
 * @UNIV_REASON_KEY_RANGE: Completion: some of the bytes lie outside the key's
 *	region.
 * @UNIV_REASON_KEY_ACCESS: Completion: the key's region does not grant the
 *	access.
 * @UNIV_REASON_QP_ACCESS: Completion: the peer's qp_access_flags do not allow
 *	the operation.
 * @UNIV_REASON_RECV_SHORT: Completion: the message is longer than the memory of
 *	the receive request. Library: datagrams of the port were too long.
 *	Value: number of datagrams. Bound: queue pair.
 * @UNIV_REASON_FLAGS_MISSING: Flags must be added. Detail: enum univ_flags.
 *	Value: missing flags.
 * @UNIV_REASON_WR_NOT_ASKED: Library: send_ops_flags at creation lack the
 *	operation. Value: opcode.
 * @UNIV_REASON_WR_DEVICE: Library: the device lacks the operation. Value:
 *	opcode.
 * @UNIV_REASON_WR_BATCH: Library: only ibv_wr_*(3) offers the operation. Value:
 *	opcode.
 * @UNIV_REASON_ATOMIC: The operand is not 8 bytes at a multiple of 8. In the
 *	library, value: address, bound: length.
 * @UNIV_REASON_CONTEXT: Library: the object belongs to another context. Detail:
 *	enum univ_object_type.
 * @UNIV_REASON_NO_VERBS: Library: the module is loaded, but the device has no
 *	node.
 * @UNIV_REASON_UNACKNOWLEDGED: Library: a destroying call waits for
 *	acknowledgements. Detail: enum univ_object_type. Value: events.
 * @UNIV_REASON_NOT_ARMED: Library: the program waits for an event, but armed no
 *	queue.
 * @UNIV_REASON_UNSIGNALED: Library: the program polls for requests, none of
 *	which is signaled. Value: number of requests. Bound: queue pair.
 * @UNIV_REASON_NO_TIMEOUT: Library: the program polls for an answer with a
 *	timeout of 0. Value: number of requests. Bound: queue pair.
 * @UNIV_REASON_LEFT_OBJECTS: Library: the context was closed while it had
 *	objects. Value: number of objects.
 * @UNIV_REASON_FORKED: Library: the queue belongs to the parent of this child
 *	of fork().
 * @UNIV_REASON_DRIVER_UNCHECKED: Library: the device has no node, because
 *	univerbs does not serve its driver.
 * @UNIV_REASON_QKEY: Library: the Q_Key of datagrams of the port differed from
 *	the receiver's. Value: number of datagrams. Bound: queue pair.
 * @UNIV_REASON_XRC_SRQN: Completion: the peer's XRC domain has no shared
 *	receive queue of the number.
 * @UNIV_REASON_DOMAIN: The object belongs to another protection domain.
 *	Detail: enum univ_object_type; in the library 0 for a buffer. Value:
 *	handle.
 * @UNIV_REASON_NOT_PARENT: Library: the protection domain is not a parent
 *	domain.
 * @UNIV_REASON_DM_RANGE: Library: a copy to or from device memory is not
 *	possible. Value: offset. Bound: length.
 * @UNIV_REASON_CNTR_STATE: A completion counter is attached to a queue pair
 *	before it leaves INIT. Value: state of the queue pair.
 * @UNIV_REASON_CNTR_TAKEN: The queue pair has a completion counter for some of
 *	the operations. Value: these operations.
 * @UNIV_REASON_PAGE_FAULT: A page of a region of on-demand paging could not be
 *	faulted in. Value: address of the first byte. Bound: number of bytes.
 *	Also in completions.
 * @UNIV_REASON_ADVICE_KEY: The advice is not possible for that key and range.
 *	Value: key.
 * @UNIV_REASON_SRQ_SHRINK: More requests are posted than the new size of a
 *	shared receive queue holds. Value: requested size. Bound: number of
 *	posted requests.
 * @UNIV_REASON_SRQ_BUSY: Requests are posted and taken faster than they are
 *	moved to a shared receive queue's new ring. Value: requested size.
 * @UNIV_REASON_QP_SIZE: The queue pair cannot get this size. Detail: enum
 *	univ_qp_size_cause. Value and bound: see there.
 * @UNIV_REASON_FLUSH: A flush has an unknown type or level, no type, or is too
 *	long. In the library, detail: level, value: type, bound: length.
 * @UNIV_REASON_MR_SHRINK: A memory region cannot become shorter. Value:
 *	requested length. Bound: length of the region.
 * @UNIV_REASON_MR_KIND: This is not possible with a null region, device memory,
 *	a dma-buf, or, for %UNIV_MR_SHARE, on-demand paging.
 * @UNIV_REASON_MR_OWNER: The memory of the region belongs to another process.
 * @UNIV_REASON_MR_READ_ONLY: The pages of the memory region were pinned for
 *	reading only. Value: access flags that write.
 * @UNIV_REASON_DMABUF: A dma-buf cannot be registered. Detail: enum
 *	univ_dmabuf_cause. Value: descriptor. With %UNIV_DMABUF_RANGE, value:
 *	offset, bound: bytes of the dma-buf.
 * @UNIV_REASON_FLOW: The flow is wrong or not offered. Detail: enum
 *	univ_flow_fault. Value and bound: see there.
 * @UNIV_REASON_FRAME_LENGTH: Completion: the frame is shorter than an Ethernet
 *	header, or longer than the net device takes.
 * @UNIV_REASON_WQ_STATE: A work queue does not change to this state, or its
 *	current state is another one. Detail: enum univ_wq_state_detail. Value:
 *	given state. Bound: current state.
 * @UNIV_REASON_RX_HASH: The way in which a queue pair spreads frames is not
 *	possible. Detail: enum univ_rx_hash_fault. Value and bound: see there.
 * @UNIV_REASON_ONE_PROCESSOR: A poller would have to share the only processor
 *	of its process.
 * @UNIV_REASON_DMAH: The hints of a DMA handle are wrong. Detail: enum
 *	univ_dmah_fault. Value and bound: see there.
 * @UNIV_REASON_COUNTERS: The flow counters cannot get another point. Detail:
 *	enum univ_counters_fault. Value: see there.
 * @UNIV_REASON_TSO_HEADER: Completion: the header of a segmentation request is
 *	longer than the queue pair allows, or is not exactly an Ethernet, an IP
 *	and a TCP header.
 * @UNIV_REASON_TSO_FRAMES: Completion: a segmentation request has a wrong mss,
 *	or too much data.
 * @UNIV_REASON_PATH_MIG: The alternate path or the state of path migration of a
 *	queue pair cannot be changed in this way. Detail: enum
 *	univ_path_mig_cause.
 * @UNIV_REASON_COUNT: Number of reasons; not a reason.
 *
 * "detail", "value" and "bound" in these descriptions are fields of struct
 * univ_hdr. The reasons that are marked "Data path" are in struct
 * univ_cqe.reason and are used by the library. "Library" marks reasons that
 * only the library uses, "Completion" the meaning in struct univ_cqe.reason.
 *
 * New reasons are added at the end. A reader treats an unknown reason as
 * %UNIV_REASON_NONE.
 */
enum univ_reason {
	UNIV_REASON_NONE,
	UNIV_REASON_SIZE,
	UNIV_REASON_TAIL,
	UNIV_REASON_RESERVED,
	UNIV_REASON_FLAGS,
	UNIV_REASON_FAULT,
	UNIV_REASON_DEVICE_GONE,
	UNIV_REASON_DEVICE_REFUSED,
	UNIV_REASON_UNSUPPORTED,
	UNIV_REASON_HANDLE,
	UNIV_REASON_HANDLE_TYPE,
	UNIV_REASON_NOT_ATTACHED,
	UNIV_REASON_BUSY,
	UNIV_REASON_LIMIT,
	UNIV_REASON_ZERO,
	UNIV_REASON_MEMLOCK,
	UNIV_REASON_CGROUP,
	UNIV_REASON_NO_MEMORY,
	UNIV_REASON_ACCESS_FLAGS,
	UNIV_REASON_ADDRESS,
	UNIV_REASON_ADDRESS_WRAP,
	UNIV_REASON_PERMISSION,
	UNIV_REASON_QP_TYPE,
	UNIV_REASON_QP_STATE,
	UNIV_REASON_ATTR_MISSING,
	UNIV_REASON_ATTR_SURPLUS,
	UNIV_REASON_ATTR_VALUE,
	UNIV_REASON_CUR_STATE,
	UNIV_REASON_PORT,
	UNIV_REASON_GID_INDEX,
	UNIV_REASON_PKEY_INDEX,
	UNIV_REASON_NO_ROUTE,
	UNIV_REASON_NO_GRH,
	UNIV_REASON_NOT_MULTICAST,
	UNIV_REASON_CQ_SHRINK,
	UNIV_REASON_FD,
	UNIV_REASON_VECTOR,
	UNIV_REASON_RING_CORRUPT,
	UNIV_REASON_WR_OPCODE,
	UNIV_REASON_WR_SGE,
	UNIV_REASON_WR_INLINE,
	UNIV_REASON_WR_AH,
	UNIV_REASON_WR_KEY,
	UNIV_REASON_WR_REFUSED,
	UNIV_REASON_QUEUE_FULL,
	UNIV_REASON_POST_STATE,
	UNIV_REASON_NO_MODULE,
	UNIV_REASON_NO_DEVICE,
	UNIV_REASON_NODE_PERMISSION,
	UNIV_REASON_CHANNEL_BUSY,
	UNIV_REASON_NOT_OFFERED,
	UNIV_REASON_MW_TYPE,
	UNIV_REASON_XRCD_FILE,
	UNIV_REASON_XRC_QPN,
	UNIV_REASON_NOT_XRC,
	UNIV_REASON_SRQ_OF_XRC,
	UNIV_REASON_KEY_UNKNOWN,
	UNIV_REASON_KEY_RANGE,
	UNIV_REASON_KEY_ACCESS,
	UNIV_REASON_QP_ACCESS,
	UNIV_REASON_RECV_SHORT,
	UNIV_REASON_FLAGS_MISSING,
	UNIV_REASON_WR_NOT_ASKED,
	UNIV_REASON_WR_DEVICE,
	UNIV_REASON_WR_BATCH,
	UNIV_REASON_ATOMIC,
	UNIV_REASON_CONTEXT,
	UNIV_REASON_NO_VERBS,
	UNIV_REASON_UNACKNOWLEDGED,
	UNIV_REASON_NOT_ARMED,
	UNIV_REASON_UNSIGNALED,
	UNIV_REASON_NO_TIMEOUT,
	UNIV_REASON_LEFT_OBJECTS,
	UNIV_REASON_FORKED,
	UNIV_REASON_DRIVER_UNCHECKED,
	UNIV_REASON_QKEY,
	UNIV_REASON_XRC_SRQN,
	UNIV_REASON_DOMAIN,
	UNIV_REASON_NOT_PARENT,
	UNIV_REASON_DM_RANGE,
	UNIV_REASON_CNTR_STATE,
	UNIV_REASON_CNTR_TAKEN,
	UNIV_REASON_PAGE_FAULT,
	UNIV_REASON_ADVICE_KEY,
	UNIV_REASON_SRQ_SHRINK,
	UNIV_REASON_SRQ_BUSY,
	UNIV_REASON_QP_SIZE,
	UNIV_REASON_FLUSH,
	UNIV_REASON_MR_SHRINK,
	UNIV_REASON_MR_KIND,
	UNIV_REASON_MR_OWNER,
	UNIV_REASON_MR_READ_ONLY,
	UNIV_REASON_DMABUF,
	UNIV_REASON_FLOW,
	UNIV_REASON_FRAME_LENGTH,
	UNIV_REASON_WQ_STATE,
	UNIV_REASON_RX_HASH,
	UNIV_REASON_ONE_PROCESSOR,
	UNIV_REASON_DMAH,
	UNIV_REASON_COUNTERS,
	UNIV_REASON_TSO_HEADER,
	UNIV_REASON_TSO_FRAMES,
	UNIV_REASON_PATH_MIG,
	UNIV_REASON_COUNT
};

/**
 * enum univ_permission - cause of a %UNIV_REASON_PERMISSION
 * @UNIV_PERMISSION_CAPABILITY: the process lacks the capability.
 * @UNIV_PERMISSION_NETNS: the process has it, but is in another network
 *	namespace than the net device of the RDMA device.
 */
enum univ_permission {
	UNIV_PERMISSION_CAPABILITY,
	UNIV_PERMISSION_NETNS,
};

/**
 * enum univ_xrcd_file - cause of a %UNIV_REASON_XRCD_FILE
 * @UNIV_XRCD_FILE_CLOSED: The descriptor is not open.
 * @UNIV_XRCD_FILE_NONE: The file has no domain, and O_CREAT was not given.
 * @UNIV_XRCD_FILE_EXISTS: The file has a domain, and O_EXCL was given.
 */
enum univ_xrcd_file {
	UNIV_XRCD_FILE_CLOSED,
	UNIV_XRCD_FILE_NONE,
	UNIV_XRCD_FILE_EXISTS,
};

/**
 * enum univ_dmabuf_cause - cause of a %UNIV_REASON_DMABUF
 * @UNIV_DMABUF_NONE: The descriptor is not open, or not a dma-buf.
 * @UNIV_DMABUF_MODE: The descriptor is not open for reading, or not for writing
 *	and the access flags let the region be written.
 * @UNIV_DMABUF_RANGE: The dma-buf does not have all of the bytes.
 * @UNIV_DMABUF_MEMORY: The device cannot use the memory of the dma-buf, or not
 *	with these access flags.
 */
enum univ_dmabuf_cause {
	UNIV_DMABUF_NONE,
	UNIV_DMABUF_MODE,
	UNIV_DMABUF_RANGE,
	UNIV_DMABUF_MEMORY,
};

/**
 * enum univ_wq_state_detail - cause of a %UNIV_REASON_WQ_STATE
 * @UNIV_WQ_STATE_NEXT: The work queue does not change to the state.
 * @UNIV_WQ_STATE_CURRENT: curr_wq_state differs from the current state.
 */
enum univ_wq_state_detail {
	UNIV_WQ_STATE_NEXT,
	UNIV_WQ_STATE_CURRENT,
};

/**
 * enum univ_rx_hash_fault - cause of a %UNIV_REASON_RX_HASH
 * @UNIV_RX_HASH_FAULT_RECEIVES: The queue pair has receives of its own.
 * @UNIV_RX_HASH_FAULT_FUNCTION: The hash function is not offered. Value:
 *	function.
 * @UNIV_RX_HASH_FAULT_KEY: The length of the key is wrong. Value: given length.
 *	Bound: length.
 * @UNIV_RX_HASH_FAULT_FIELDS: No field is hashed, and the table has more than
 *	one entry. Bound: number of entries.
 */
enum univ_rx_hash_fault {
	UNIV_RX_HASH_FAULT_RECEIVES,
	UNIV_RX_HASH_FAULT_FUNCTION,
	UNIV_RX_HASH_FAULT_KEY,
	UNIV_RX_HASH_FAULT_FIELDS,
};

/**
 * enum univ_dmah_fault - cause of a %UNIV_REASON_DMAH
 * @UNIV_DMAH_FAULT_NO_PH: There is no processing hint.
 * @UNIV_DMAH_FAULT_PH: The processing hint does not exist. Value: given hint.
 *	Bound: highest hint.
 * @UNIV_DMAH_FAULT_PARTIAL: There is a processor without a type of memory, or a
 *	type of memory without a processor. Value: enum univ_dmah_fields.
 * @UNIV_DMAH_FAULT_MEM_TYPE: The type of memory does not exist. Value: given
 *	type. Bound: highest type.
 * @UNIV_DMAH_FAULT_CPU: The processor does not exist. Value: given processor.
 *	Bound: number of processors.
 * @UNIV_DMAH_FAULT_AFFINITY: The caller may not run on the processor. Value:
 *	given processor.
 * @UNIV_DMAH_FAULT_ON_DEMAND: A region of on-demand paging cannot use a handle.
 *	Value: access flags.
 */
enum univ_dmah_fault {
	UNIV_DMAH_FAULT_NO_PH,
	UNIV_DMAH_FAULT_PH,
	UNIV_DMAH_FAULT_PARTIAL,
	UNIV_DMAH_FAULT_MEM_TYPE,
	UNIV_DMAH_FAULT_CPU,
	UNIV_DMAH_FAULT_AFFINITY,
	UNIV_DMAH_FAULT_ON_DEMAND,
};

/**
 * enum univ_qp_size_cause - cause of a %UNIV_REASON_QP_SIZE
 * @UNIV_QP_SIZE_DEVICE: The device does not change it.
 * @UNIV_QP_SIZE_ALONE: Other attributes are to be changed in the same call.
 *	Value: their bits in the mask.
 * @UNIV_QP_SIZE_STATE: The queue pair is in error. Value: its state.
 * @UNIV_QP_SIZE_SGE: Library: only the numbers of requests change, and one of
 *	the other sizes is greater than it is. Value: given size. Bound: present
 *	size.
 * @UNIV_QP_SIZE_SEND_SHRINK: More send requests are posted. Value: requested
 *	size. Bound: number of posted requests.
 * @UNIV_QP_SIZE_RECV_SHRINK: likewise for receive requests
 * @UNIV_QP_SIZE_BUSY: Send requests are being executed.
 */
enum univ_qp_size_cause {
	UNIV_QP_SIZE_DEVICE,
	UNIV_QP_SIZE_ALONE,
	UNIV_QP_SIZE_STATE,
	UNIV_QP_SIZE_SGE,
	UNIV_QP_SIZE_SEND_SHRINK,
	UNIV_QP_SIZE_RECV_SHRINK,
	UNIV_QP_SIZE_BUSY,
};

/**
 * enum univ_path_mig_cause - cause of a %UNIV_REASON_PATH_MIG
 * @UNIV_PATH_MIG_NO_PATH: The state becomes REARM only with an alternate path,
 *	and none was loaded since the queue pair has migrated or was reset.
 * @UNIV_PATH_MIG_NOT_ARMED: The queue pair cannot migrate, since its peer has
 *	not armed it.
 * @UNIV_PATH_MIG_ARMED: The queue pair may migrate at any time, so another
 *	alternate path is loaded only together with the state REARM.
 */
enum univ_path_mig_cause {
	UNIV_PATH_MIG_NO_PATH = 1,
	UNIV_PATH_MIG_NOT_ARMED,
	UNIV_PATH_MIG_ARMED,
};

/**
 * enum univ_limit - quantity that a %UNIV_REASON_LIMIT is about
 * @UNIV_LIMIT_NONE: No quantity.
 * @UNIV_LIMIT_CQE: Entries of a completion queue.
 * @UNIV_LIMIT_SEND_WR: Requests of a send queue.
 * @UNIV_LIMIT_RECV_WR: Requests of a receive queue.
 * @UNIV_LIMIT_SEND_SGE: Scatter/gather entries of a send request.
 * @UNIV_LIMIT_RECV_SGE: Scatter/gather entries of a receive request.
 * @UNIV_LIMIT_INLINE: Bytes of inline data.
 * @UNIV_LIMIT_SRQ_WR: Requests of a shared receive queue.
 * @UNIV_LIMIT_SRQ_SGE: Scatter/gather entries of a shared receive request.
 * @UNIV_LIMIT_SRQ_LIMIT: The limit of a shared receive queue that raises an
 *	event.
 * @UNIV_LIMIT_MR_LENGTH: Bytes of a memory region.
 * @UNIV_LIMIT_OBJECTS: Objects.
 * @UNIV_LIMIT_GID_ENTRIES: Entries of an array of GIDs.
 * @UNIV_LIMIT_RINGS: Bytes of ring memory. The bound is the number of bytes
 *	left.
 * @UNIV_LIMIT_CONTEXTS: Contexts. The library reports this limit when open()
 *	fails with ENFILE.
 * @UNIV_LIMIT_POLLERS: Poller threads.
 * @UNIV_LIMIT_MW_LENGTH: Bytes of a memory window.
 * @UNIV_LIMIT_DM_LENGTH: Bytes of device memory.
 * @UNIV_LIMIT_DM_ALIGN: Binary logarithm of the alignment of device memory.
 * @UNIV_LIMIT_RATE: Rate of a queue pair, in units of 1000 bits in each second.
 * @UNIV_LIMIT_FLOW_SPECS: Specs of a flow.
 * @UNIV_LIMIT_WQ_WR: Requests of a work queue.
 * @UNIV_LIMIT_WQ_SGE: Scatter/gather entries of a work queue's requests.
 * @UNIV_LIMIT_TABLE: Binary logarithm of the number of entries of a receive
 *	indirection table.
 * @UNIV_LIMIT_LISTENERS: Completion channels of a context that get the events
 *	of the device and its ports.
 * @UNIV_LIMIT_MR_PARTS: Parts of a region, of which each extension that pins
 *	pages adds one.
 * @UNIV_LIMIT_COUNTERS_INDEX: Index of a value of flow counters.
 * @UNIV_LIMIT_COUNTERS_POINTS: Points of flow counters, and of a flow.
 * @UNIV_LIMIT_TSO_HEADER: Bytes of the header of a segmentation request
 *	(%UNIV_WR_TSO).
 * @UNIV_LIMIT_TARGET_HANDLES: Handles of an XRC receive queue pair, in all
 *	processes.
 * @UNIV_LIMIT_COUNT: Number of limits; not a limit.
 */
enum univ_limit {
	UNIV_LIMIT_NONE,
	UNIV_LIMIT_CQE,
	UNIV_LIMIT_SEND_WR,
	UNIV_LIMIT_RECV_WR,
	UNIV_LIMIT_SEND_SGE,
	UNIV_LIMIT_RECV_SGE,
	UNIV_LIMIT_INLINE,
	UNIV_LIMIT_SRQ_WR,
	UNIV_LIMIT_SRQ_SGE,
	UNIV_LIMIT_SRQ_LIMIT,
	UNIV_LIMIT_MR_LENGTH,
	UNIV_LIMIT_OBJECTS,
	UNIV_LIMIT_GID_ENTRIES,
	UNIV_LIMIT_RINGS,
	UNIV_LIMIT_CONTEXTS,
	UNIV_LIMIT_POLLERS,
	UNIV_LIMIT_MW_LENGTH,
	UNIV_LIMIT_DM_LENGTH,
	UNIV_LIMIT_DM_ALIGN,
	UNIV_LIMIT_RATE,
	UNIV_LIMIT_FLOW_SPECS,
	UNIV_LIMIT_WQ_WR,
	UNIV_LIMIT_WQ_SGE,
	UNIV_LIMIT_TABLE,
	UNIV_LIMIT_LISTENERS,
	UNIV_LIMIT_MR_PARTS,
	UNIV_LIMIT_COUNTERS_INDEX,
	UNIV_LIMIT_COUNTERS_POINTS,
	UNIV_LIMIT_TSO_HEADER,
	UNIV_LIMIT_TARGET_HANDLES,
	UNIV_LIMIT_COUNT
};

/**
 * enum univ_flags - word that a %UNIV_REASON_FLAGS or a
 *	%UNIV_REASON_FLAGS_MISSING of the library is about
 * @UNIV_FLAGS_NONE: A word without names for its bits in this list.
 * @UNIV_FLAGS_QP_MASK: comp_mask of ibv_create_qp_ex(3).
 * @UNIV_FLAGS_SRQ_MASK: comp_mask of ibv_create_srq_ex(3).
 * @UNIV_FLAGS_CQ_MASK: comp_mask of ibv_create_cq_ex(3).
 * @UNIV_FLAGS_XRCD_MASK: comp_mask of ibv_open_xrcd(3).
 * @UNIV_FLAGS_OPEN_MASK: comp_mask of ibv_open_qp(3).
 * @UNIV_FLAGS_SEND_OPS: send_ops_flags of ibv_create_qp_ex(3).
 * @UNIV_FLAGS_WC: wc_flags of ibv_create_cq_ex(3).
 * @UNIV_FLAGS_CQ: flags of ibv_create_cq_ex(3).
 * @UNIV_FLAGS_REREG: flags of ibv_rereg_mr(3).
 * @UNIV_FLAGS_MR_MASK: comp_mask of ibv_reg_mr_ex(3).
 * @UNIV_FLAGS_ACCESS: access of ibv_reg_mr(3).
 * @UNIV_FLAGS_CNTR_MASK: comp_mask of ibv_create_comp_cntr(3) and
 *	ibv_qp_attach_comp_cntr(3).
 * @UNIV_FLAGS_CNTR: flags of ibv_create_comp_cntr(3).
 * @UNIV_FLAGS_CNTR_OPS: op_mask of ibv_qp_attach_comp_cntr(3); the kernel too
 *	names this word.
 * @UNIV_FLAGS_WQ: create_flags of ibv_create_wq(3), and flags of
 *	ibv_modify_wq(3); the kernel too names this word.
 * @UNIV_FLAGS_WQ_MASK: attr_mask of ibv_modify_wq(3); the kernel too names this
 *	word.
 * @UNIV_FLAGS_RX_HASH: rx_hash_fields_mask of ibv_create_qp_ex(3); the kernel
 *	too names this word.
 * @UNIV_FLAGS_COUNTERS_MASK: comp_mask of ibv_create_counters(3) and
 *	ibv_attach_counters_point_flow(3).
 * @UNIV_FLAGS_COUNTERS_READ: flags of ibv_read_counters(3).
 * @UNIV_FLAGS_COUNT: Number of words; not a word.
 */
enum univ_flags {
	UNIV_FLAGS_NONE,
	UNIV_FLAGS_QP_MASK,
	UNIV_FLAGS_SRQ_MASK,
	UNIV_FLAGS_CQ_MASK,
	UNIV_FLAGS_XRCD_MASK,
	UNIV_FLAGS_OPEN_MASK,
	UNIV_FLAGS_SEND_OPS,
	UNIV_FLAGS_WC,
	UNIV_FLAGS_CQ,
	UNIV_FLAGS_REREG,
	UNIV_FLAGS_MR_MASK,
	UNIV_FLAGS_ACCESS,
	UNIV_FLAGS_CNTR_MASK,
	UNIV_FLAGS_CNTR,
	UNIV_FLAGS_CNTR_OPS,
	UNIV_FLAGS_WQ,
	UNIV_FLAGS_WQ_MASK,
	UNIV_FLAGS_RX_HASH,
	UNIV_FLAGS_COUNTERS_MASK,
	UNIV_FLAGS_COUNTERS_READ,
	UNIV_FLAGS_COUNT
};

/**
 * enum univ_object_type - type of an object
 * @UNIV_OBJECT_NONE: No type.
 * @UNIV_OBJECT_PD: Protection domain.
 * @UNIV_OBJECT_MR: Memory region.
 * @UNIV_OBJECT_AH: Address handle.
 * @UNIV_OBJECT_CQ: Completion queue.
 * @UNIV_OBJECT_SRQ: Shared receive queue.
 * @UNIV_OBJECT_QP: Queue pair.
 * @UNIV_OBJECT_MW: Memory window.
 * @UNIV_OBJECT_XRCD: XRC domain.
 * @UNIV_OBJECT_TD: Thread domain; only the library has such objects.
 * @UNIV_OBJECT_DM: Device memory.
 * @UNIV_OBJECT_CNTR: Completion counter.
 * @UNIV_OBJECT_FLOW: Flow.
 * @UNIV_OBJECT_WQ: Receive work queue.
 * @UNIV_OBJECT_TABLE: Receive indirection table.
 * @UNIV_OBJECT_DMAH: DMA handle.
 * @UNIV_OBJECT_COUNTERS: Flow counters.
 * @UNIV_OBJECT_TYPES: Number of types; not a type.
 */
enum univ_object_type {
	UNIV_OBJECT_NONE,
	UNIV_OBJECT_PD,
	UNIV_OBJECT_MR,
	UNIV_OBJECT_AH,
	UNIV_OBJECT_CQ,
	UNIV_OBJECT_SRQ,
	UNIV_OBJECT_QP,
	UNIV_OBJECT_MW,
	UNIV_OBJECT_XRCD,
	UNIV_OBJECT_TD,
	UNIV_OBJECT_DM,
	UNIV_OBJECT_CNTR,
	UNIV_OBJECT_FLOW,
	UNIV_OBJECT_WQ,
	UNIV_OBJECT_TABLE,
	UNIV_OBJECT_DMAH,
	UNIV_OBJECT_COUNTERS,
	UNIV_OBJECT_TYPES
};

/**
 * struct univ_hdr - the head of each ioctl's struct
 * @size: in: size in bytes of the whole struct that the caller was compiled
 *	with
 * @flags: in: must be zero, because no flag is defined yet
 * @reason: out: enum univ_reason
 * @detail: out: see enum univ_reason
 * @value: out: see enum univ_reason
 * @bound: out: see enum univ_reason
 */
struct univ_hdr {
	__u32 size;
	__u32 flags;
	__u32 reason;
	__u32 detail;
	__aligned_u64 value;
	__aligned_u64 bound;
};

/**
 * enum univ_feature - capabilities that only some devices offer
 * @UNIV_FEATURE_WINDOWS: memory windows: %UNIV_MW_ALLOC, and send rings take
 *	%UNIV_WR_BIND_MW and %UNIV_WR_LOCAL_INV
 * @UNIV_FEATURE_XRC: %UNIV_XRCD_OPEN, and shared receive queues and queue pairs
 *	for XRC
 * @UNIV_FEATURE_ATOMIC_WRITE: send rings take %UNIV_WR_ATOMIC_WRITE
 * @UNIV_FEATURE_DM: device memory and null regions: %UNIV_DM_ALLOC,
 *	%UNIV_MR_DM_REG and %UNIV_MR_NULL_ALLOC
 * @UNIV_FEATURE_CNTRS: completion counters: %UNIV_CNTR_CREATE and
 *	%UNIV_QP_CNTR
 * @UNIV_FEATURE_FLUSH: send rings take %UNIV_WR_FLUSH
 * @UNIV_FEATURE_DMABUF: regions of dma-bufs: %UNIV_MR_DMABUF_REG
 * @UNIV_FEATURE_IGNORE_OVERRUN: %UNIV_CQ_IGNORE_OVERRUN
 * @UNIV_FEATURE_RAW: raw packet queue pairs, flows and their counters:
 *	%UNIV_FLOW_CREATE and %UNIV_COUNTERS_CREATE
 * @UNIV_FEATURE_WQ: work queues and receive indirection tables: %UNIV_WQ_CREATE
 *	and %UNIV_TABLE_CREATE
 * @UNIV_FEATURE_DMAH: DMA handles: %UNIV_DMAH_ALLOC
 * @UNIV_FEATURE_TSO: send rings of raw packets take %UNIV_WR_TSO
 */
enum univ_feature {
	UNIV_FEATURE_WINDOWS	= 1 << 0,
	UNIV_FEATURE_XRC	= 1 << 1,
	UNIV_FEATURE_ATOMIC_WRITE = 1 << 2,
	UNIV_FEATURE_DM		= 1 << 3,
	UNIV_FEATURE_CNTRS	= 1 << 4,
	UNIV_FEATURE_FLUSH	= 1 << 5,
	UNIV_FEATURE_DMABUF	= 1 << 6,
	UNIV_FEATURE_IGNORE_OVERRUN = 1 << 7,
	UNIV_FEATURE_RAW	= 1 << 8,
	UNIV_FEATURE_WQ		= 1 << 9,
	UNIV_FEATURE_DMAH	= 1 << 10,
	UNIV_FEATURE_TSO	= 1 << 11,
};

/**
 * struct univ_context_query - attributes of a context
 * @hdr: head
 * @abi_version: out: %UNIV_ABI_VERSION
 * @num_comp_vectors: out: completion vectors of the device
 * @num_ports: out: ports of the device
 * @features: in: zero; out: enum univ_feature
 * @node_guid: out: network order
 * @doorbell_offset: out: mmap() offset of the doorbell page (one page, read
 *	only), which holds struct univ_doorbell
 * @bell_offset: out: mmap() offset of the bell page, one page of the device
 *	that holds the bells of this context's queues (struct univ_bell); 0 if
 *	the context has none
 */
struct univ_context_query {
	struct univ_hdr hdr;
	__u32 abi_version;
	__u32 num_comp_vectors;
	__u32 num_ports;
	__u32 features;
	__aligned_u64 node_guid;
	__aligned_u64 doorbell_offset;
	__aligned_u64 bell_offset;
};

/* Longest time that a poller polls idle rings, in microseconds. */
#define UNIV_POLLER_MAX_IDLE_US 10000000

/**
 * struct univ_poller_start - start a kernel thread that polls the context's
 *	rings
 * @hdr: head
 * @idle_us: in: microseconds without a request after which the thread sleeps
 *	and rings need a kick again; out: the same, at most
 *	%UNIV_POLLER_MAX_IDLE_US
 * @reserved: zero
 *
 * Posting needs no kick while the thread is awake. The thread polls only queues
 * that are created after this call, and ends with the context. If the context
 * has a thread already, the call only changes @idle_us.
 *
 * Errors: EAGAIN if there are too many threads (module parameter max_pollers).
 * EINVAL if the process may run on one processor only.
 */
struct univ_poller_start {
	struct univ_hdr hdr;
	__u32 idle_us;
	__u32 reserved;
};

/**
 * struct univ_device_query - ibv_query_device_ex(3); names and units are those
 *	of struct ibv_device_attr_ex
 * @hdr: head
 * @fw_ver: out: version of the firmware, a string
 * @node_guid: out: network order
 * @sys_image_guid: out: network order
 * @max_mr_size: out: bytes of a memory region
 * @page_size_cap: out: page sizes, as bits
 * @device_cap_flags: out: enum ibv_device_cap_flags; what univerbs does not
 *	offer is cleared
 * @hca_core_clock: out: kHz of the clock of completion times
 * @timestamp_mask: out: valid bits of these times
 * @max_dm_size: out: bytes of device memory in one piece
 * @vendor_id: out: IEEE number of the vendor
 * @vendor_part_id: out: number of the model
 * @hw_ver: out: version of the hardware
 * @max_qp: out: queue pairs
 * @max_qp_wr: out: outstanding requests of one queue of a queue pair
 * @max_send_sge: out: entries of a send request
 * @max_recv_sge: out: entries of a receive request
 * @max_sge_rd: out: entries of a read
 * @max_cq: out: completion queues
 * @max_cqe: out: completions in one of them
 * @max_mr: out: memory regions
 * @max_pd: out: protection domains
 * @max_qp_rd_atom: out: reads and atomics that a queue pair responds to at the
 *	same time
 * @max_ee_rd_atom: out: likewise, of an EE context of RD
 * @max_res_rd_atom: out: likewise, of the whole device
 * @max_qp_init_rd_atom: out: reads and atomics that a queue pair may have
 *	outstanding as their requester
 * @max_ee_init_rd_atom: out: likewise, of an EE context of RD
 * @atomic_cap: out: enum ibv_atomic_cap
 * @max_ee: out: EE contexts of RD
 * @max_rdd: out: RD domains
 * @max_mw: out: memory windows
 * @max_raw_ipv6_qp: out: raw IPv6 queue pairs
 * @max_raw_ethy_qp: out: raw Ethertype queue pairs
 * @max_mcast_grp: out: multicast groups
 * @max_mcast_qp_attach: out: queue pairs in one multicast group
 * @max_total_mcast_qp_attach: out: queue pairs in all multicast groups
 * @max_ah: out: address handles
 * @max_srq: out: shared receive queues
 * @max_srq_wr: out: requests in one of them
 * @max_srq_sge: out: entries of a request in one of them
 * @max_pkeys: out: entries of the P_Key tables
 * @local_ca_ack_delay: out: time that the device needs to answer; 2^value *
 *	4.096 microseconds
 * @phys_port_cnt: out: number of ports
 * @num_comp_vectors: out: number of completion vectors
 * @max_wq_type_rq: out: work queues for receiving
 * @raw_packet_caps: out: enum ibv_raw_packet_caps; what univerbs does not offer
 *	is cleared
 * @odp_general_caps: out: enum ibv_odp_general_caps
 * @odp_rc_caps: out: enum ibv_odp_transport_cap_bits
 * @odp_uc_caps: out: likewise
 * @odp_ud_caps: out: likewise
 * @odp_xrc_caps: out: likewise
 * @rss_max_rwq_indirection_tables: out: receive indirection tables
 * @rss_max_rwq_indirection_table_size: out: entries of one of them
 * @rss_supported_qpts: out: types of queue pairs with such a table, as bits
 * @cq_mod_max_count: out: completions of ibv_modify_cq(3); 0 if it is not
 *	offered
 * @cq_mod_max_period: out: microseconds, likewise
 * @reserved: zero
 * @rate_limit_min: out: 1000 bits in each second
 * @rate_limit_max: out: 1000 bits in each second; 0 if no limit is offered
 * @rate_limit_types: out: enum ibv_qp_type, as bits
 * @rss_hash_fields: out: enum univ_rx_hash_fields
 * @max_tso: out: bytes of a segmentation request; 0 if it is not offered
 * @tso_types: out: enum ibv_qp_type, as bits
 *
 * Members with max_ in their names are maximum numbers.
 */
struct univ_device_query {
	struct univ_hdr hdr;
	char fw_ver[64];
	__aligned_u64 node_guid;
	__aligned_u64 sys_image_guid;
	__aligned_u64 max_mr_size;
	__aligned_u64 page_size_cap;
	__aligned_u64 device_cap_flags;
	__aligned_u64 hca_core_clock;
	__aligned_u64 timestamp_mask;
	__aligned_u64 max_dm_size;
	__u32 vendor_id;
	__u32 vendor_part_id;
	__u32 hw_ver;
	__u32 max_qp;
	__u32 max_qp_wr;
	__u32 max_send_sge;
	__u32 max_recv_sge;
	__u32 max_sge_rd;
	__u32 max_cq;
	__u32 max_cqe;
	__u32 max_mr;
	__u32 max_pd;
	__u32 max_qp_rd_atom;
	__u32 max_ee_rd_atom;
	__u32 max_res_rd_atom;
	__u32 max_qp_init_rd_atom;
	__u32 max_ee_init_rd_atom;
	__u32 atomic_cap;
	__u32 max_ee;
	__u32 max_rdd;
	__u32 max_mw;
	__u32 max_raw_ipv6_qp;
	__u32 max_raw_ethy_qp;
	__u32 max_mcast_grp;
	__u32 max_mcast_qp_attach;
	__u32 max_total_mcast_qp_attach;
	__u32 max_ah;
	__u32 max_srq;
	__u32 max_srq_wr;
	__u32 max_srq_sge;
	__u32 max_pkeys;
	__u32 local_ca_ack_delay;
	__u32 phys_port_cnt;
	__u32 num_comp_vectors;
	__u32 max_wq_type_rq;
	__u32 raw_packet_caps;
	__aligned_u64 odp_general_caps;
	__u32 odp_rc_caps;
	__u32 odp_uc_caps;
	__u32 odp_ud_caps;
	__u32 odp_xrc_caps;
	__u32 rss_max_rwq_indirection_tables;
	__u32 rss_max_rwq_indirection_table_size;
	__u32 rss_supported_qpts;
	__u32 cq_mod_max_count;
	__u32 cq_mod_max_period;
	__u32 reserved;
	__u32 rate_limit_min;
	__u32 rate_limit_max;
	__aligned_u64 rate_limit_types;
	__aligned_u64 rss_hash_fields;
	__u32 max_tso;
	__u32 tso_types;
};

/**
 * struct univ_port_query - ibv_query_port(3); names and units are those of
 *	struct ibv_port_attr
 * @hdr: head
 * @port_num: in: from 1
 * @state: out: enum ibv_port_state
 * @max_mtu: out: enum ibv_mtu
 * @active_mtu: out: enum ibv_mtu
 * @gid_tbl_len: out: entries of the GID table
 * @port_cap_flags: out: enum ibv_port_cap_flags
 * @max_msg_sz: out: bytes of a message
 * @bad_pkey_cntr: out: packets with a wrong P_Key
 * @qkey_viol_cntr: out: packets with a wrong Q_Key
 * @pkey_tbl_len: out: entries of the P_Key table
 * @port_cap_flags2: out: enum ibv_port_cap_flags2
 * @lid: out: local identifier; 0 if it does not fit in 16 bits
 * @sm_lid: out: local identifier of the subnet manager; likewise
 * @lmc: out: number of low bits of @lid that name a path
 * @max_vl_num: out: code of the number of virtual lanes, as in
 *	ibv_query_port(3)
 * @sm_sl: out: service level of the subnet manager
 * @subnet_timeout: out: delay of a packet in the subnet; 2^value * 4.096
 *	microseconds
 * @init_type_reply: out: kind of initialization that the subnet manager made
 * @active_width: out: code of the link width, as in ibv_query_port(3)
 * @phys_state: out: code of the physical state, as in ibv_query_port(3)
 * @link_layer: out: IBV_LINK_LAYER_*
 * @active_speed: out: code of the link speed, as in ibv_query_port(3)
 * @flags: out: IBV_QPF_GRH_REQUIRED
 * @reserved: zero
 */
struct univ_port_query {
	struct univ_hdr hdr;
	__u32 port_num;
	__u32 state;
	__u32 max_mtu;
	__u32 active_mtu;
	__u32 gid_tbl_len;
	__u32 port_cap_flags;
	__u32 max_msg_sz;
	__u32 bad_pkey_cntr;
	__u32 qkey_viol_cntr;
	__u16 pkey_tbl_len;
	__u16 port_cap_flags2;
	__u32 lid;
	__u32 sm_lid;
	__u8 lmc;
	__u8 max_vl_num;
	__u8 sm_sl;
	__u8 subnet_timeout;
	__u8 init_type_reply;
	__u8 active_width;
	__u8 phys_state;
	__u8 link_layer;
	__u32 active_speed;
	__u8 flags;
	__u8 reserved[3];
};

/**
 * struct univ_pkey_query - one entry of the P_Key table
 * @hdr: head
 * @port_num: in: from 1
 * @index: in: index in the port's table
 * @pkey: out: network order
 * @reserved: zero
 */
struct univ_pkey_query {
	struct univ_hdr hdr;
	__u32 port_num;
	__u32 index;
	__u16 pkey;
	__u16 reserved[3];
};

/**
 * struct univ_gid_entry - one entry of a GID table; layout of struct
 *	ibv_gid_entry
 * @gid: network order
 * @gid_index: index in the port's table
 * @port_num: from 1
 * @gid_type: enum ibv_gid_type
 * @ndev_ifindex: index of the net device, or 0 if there is none
 */
struct univ_gid_entry {
	__u8 gid[16];
	__u32 gid_index;
	__u32 port_num;
	__u32 gid_type;
	__u32 ndev_ifindex;
};

/**
 * struct univ_gid_query - one entry of a GID table
 * @hdr: head
 * @port_num: in: from 1
 * @index: in: index in the port's table
 * @entry: out: the entry
 */
struct univ_gid_query {
	struct univ_hdr hdr;
	__u32 port_num;
	__u32 index;
	struct univ_gid_entry entry;
};

/**
 * struct univ_gid_table - all valid GIDs of a device
 * @hdr: head
 * @entries: in: address of an array of struct univ_gid_entry
 * @max: in: number of entries that the array holds
 * @count: out: number of entries written
 */
struct univ_gid_table {
	struct univ_hdr hdr;
	__aligned_u64 entries;
	__u32 max;
	__u32 count;
};

/**
 * struct univ_handle_query - what another process has to know of an object that
 *	it imports: ibv_import_pd(3), ibv_import_mr(3), ibv_import_dm(3)
 * @hdr: head
 * @handle: in: object
 * @type: in: enum univ_object_type: %UNIV_OBJECT_PD, %UNIV_OBJECT_MR or
 *	%UNIV_OBJECT_DM
 * @domain: in: of a region: handle of its protection domain
 * @lkey: out: of a region
 * @rkey: out: likewise; 0 for a null region
 * @reserved: zero
 * @length: out: bytes of a region or of device memory
 * @iova: out: address by which work requests refer to a region's first byte
 * @map_offset: out: of device memory: mmap() offset
 * @map_length: out: of device memory: mmap() length in bytes
 *
 * Errors: EBUSY while another call registers the region again.
 */
struct univ_handle_query {
	struct univ_hdr hdr;
	__u32 handle;
	__u32 type;
	__u32 domain;
	__u32 lkey;
	__u32 rkey;
	__u32 reserved;
	__aligned_u64 length;
	__aligned_u64 iova;
	__aligned_u64 map_offset;
	__aligned_u64 map_length;
};

/**
 * struct univ_destroy - destroy an object of the type that the ioctl names
 * @hdr: head
 * @handle: in: object to destroy
 * @comp_events: out: CQ: completion events of it that were read from its
 *	channel
 * @async_events: out: CQ, SRQ, QP, WQ: asynchronous events that were read
 * @reserved: zero
 */
struct univ_destroy {
	struct univ_hdr hdr;
	__u32 handle;
	__u32 comp_events;
	__u32 async_events;
	__u32 reserved;
};

/**
 * struct univ_pd_alloc - ibv_alloc_pd(3)
 * @hdr: head
 * @handle: out
 * @reserved: zero
 */
struct univ_pd_alloc {
	struct univ_hdr hdr;
	__u32 handle;
	__u32 reserved;
};

/**
 * struct univ_xrcd_open - ibv_open_xrcd(3)
 * @hdr: head
 * @fd: in: descriptor of the file that identifies the domain, or -1 to create a
 *	domain without a file
 * @oflags: in: O_CREAT: create the domain if the file has none; O_EXCL: fail if
 *	the file has a domain
 * @handle: out
 * @reserved: zero
 *
 * All contexts that open the domain of one file (one inode) on one device share
 * the domain. Only devices with %UNIV_FEATURE_XRC offer this; their drivers are
 * native.
 */
struct univ_xrcd_open {
	struct univ_hdr hdr;
	__s32 fd;
	__u32 oflags;
	__u32 handle;
	__u32 reserved;
};

/**
 * struct univ_mr_reg - ibv_reg_mr_iova2(3)
 * @hdr: head
 * @pd: in: handle
 * @access: in: enum ibv_access_flags
 * @addr: in: address in the process
 * @length: in: bytes
 * @iova: in: address by which work requests refer to @addr
 * @handle: out
 * @lkey: out
 * @rkey: out
 * @reserved: zero
 * @dmah: in: handle of a DMA handle with hints for the region, or 0
 * @reserved2: zero
 */
struct univ_mr_reg {
	struct univ_hdr hdr;
	__u32 pd;
	__u32 access;
	__aligned_u64 addr;
	__aligned_u64 length;
	__aligned_u64 iova;
	__u32 handle;
	__u32 lkey;
	__u32 rkey;
	__u32 reserved;
	__u32 dmah;
	__u32 reserved2;
};

/**
 * enum univ_dmah_fields - members of struct univ_dmah_alloc that are given
 * @UNIV_DMAH_CPU: @cpu
 * @UNIV_DMAH_PH: @ph
 * @UNIV_DMAH_MEM_TYPE: @mem_type
 */
enum univ_dmah_fields {
	UNIV_DMAH_CPU		= 1 << 0,
	UNIV_DMAH_PH		= 1 << 1,
	UNIV_DMAH_MEM_TYPE	= 1 << 2,
};

/**
 * struct univ_dmah_alloc - ibv_alloc_dmah(3)
 * @hdr: head
 * @fields: in: enum univ_dmah_fields
 * @cpu: in: processor whose cache should get the data
 * @ph: in: processing hint of PCI, at most 3
 * @mem_type: in: enum ibv_tph_mem_type
 * @handle: out
 * @reserved: zero
 *
 * Regions that are registered with the handle use it: it is not freed before
 * they are. Only devices with %UNIV_FEATURE_DMAH offer this.
 */
struct univ_dmah_alloc {
	struct univ_hdr hdr;
	__u32 fields;
	__u32 cpu;
	__u32 ph;
	__u32 mem_type;
	__u32 handle;
	__u32 reserved;
};

/**
 * struct univ_mr_rereg - ibv_rereg_mr(3)
 * @hdr: head
 * @handle: in
 * @change: in: enum ibv_rereg_mr_flags, the parts that change
 * @pd: in: handle, with IBV_REREG_MR_CHANGE_PD
 * @access: in: with IBV_REREG_MR_CHANGE_ACCESS. out: enum ibv_access_flags of
 *	the region
 * @addr: in: with IBV_REREG_MR_CHANGE_TRANSLATION
 * @length: in: likewise
 * @iova: in: likewise
 * @lkey: out
 * @rkey: out
 */
struct univ_mr_rereg {
	struct univ_hdr hdr;
	__u32 handle;
	__u32 change;
	__u32 pd;
	__u32 access;
	__aligned_u64 addr;
	__aligned_u64 length;
	__aligned_u64 iova;
	__u32 lkey;
	__u32 rkey;
};

/**
 * enum univ_mr_kind - memory of a region
 * @UNIV_MR_MEMORY: memory of a process; on demand, if IBV_ACCESS_ON_DEMAND is
 *	among the access flags
 * @UNIV_MR_DM: device memory
 * @UNIV_MR_NULL: none: a null region
 * @UNIV_MR_DMABUF: a dma-buf
 */
enum univ_mr_kind {
	UNIV_MR_MEMORY,
	UNIV_MR_DM,
	UNIV_MR_NULL,
	UNIV_MR_DMABUF,
};

/**
 * struct univ_mr_query - univerbs_query_mr(3)
 * @hdr: head
 * @handle: in
 * @domain: out: handle of the protection domain
 * @kind: out: enum univ_mr_kind
 * @access: out: enum ibv_access_flags
 * @lkey: out
 * @rkey: out: 0 for a null region
 * @addr: out: address in the process that registered the region; 0 without
 *	such memory
 * @length: out: bytes
 * @iova: out: address by which work requests refer to the first byte
 *
 * Errors: EBUSY while another call changes the region.
 */
struct univ_mr_query {
	struct univ_hdr hdr;
	__u32 handle;
	__u32 domain;
	__u32 kind;
	__u32 access;
	__u32 lkey;
	__u32 rkey;
	__aligned_u64 addr;
	__aligned_u64 length;
	__aligned_u64 iova;
};

/**
 * struct univ_mr_extend - univerbs_extend_mr(3)
 * @hdr: head
 * @handle: in
 * @access: out: enum ibv_access_flags of the region
 * @length: in: bytes that the region is to have
 *
 * The region grows at its end; keys and addresses stay. Requests that are in
 * progress do not fail. Errors: EOPNOTSUPP if the device cannot do this, or if
 * the region does not consist of memory of a process. EPERM if the memory is
 * another process's. EINVAL if the region is longer, or was extended so often
 * that it has too many parts. EBUSY while another call changes the region.
 * Otherwise as %UNIV_MR_REG.
 */
struct univ_mr_extend {
	struct univ_hdr hdr;
	__u32 handle;
	__u32 access;
	__aligned_u64 length;
};

/**
 * struct univ_mr_share - univerbs_share_mr(3)
 * @hdr: head
 * @mr: in: handle of a region
 * @pd: in: handle of the domain of the new region
 * @access: in: enum ibv_access_flags of the new region
 * @handle: out: the new region
 * @iova: in: address by which work requests refer to the first byte of the new
 *	region
 * @lkey: out
 * @rkey: out
 * @length: out: bytes of the new region; another thread may have extended @mr
 *
 * The new region has all pages that @mr has now. They are pinned and counted
 * once, and stay until both regions are gone. Errors: EOPNOTSUPP if the device
 * cannot do this, or if @mr does not consist of pinned memory of a process.
 * EACCES if @access writes to pages that were pinned for reading only. EBUSY
 * while another call changes @mr. Otherwise as %UNIV_MR_REG.
 */
struct univ_mr_share {
	struct univ_hdr hdr;
	__u32 mr;
	__u32 pd;
	__u32 access;
	__u32 handle;
	__aligned_u64 iova;
	__u32 lkey;
	__u32 rkey;
	__aligned_u64 length;
};

/**
 * struct univ_mr_advise - ibv_advise_mr(3), for one part of a region
 * @hdr: head
 * @pd: in: handle
 * @advice: in: enum ibv_advise_mr_advice
 * @flags: in: IBV_ADVISE_MR_FLAG_FLUSH: return when the advice was followed
 * @lkey: in: of the region, which has IBV_ACCESS_ON_DEMAND
 * @addr: in: address by which requests refer to the first byte
 * @length: in: bytes
 *
 * Errors: EOPNOTSUPP if the device has no on-demand paging, or does not know
 * the advice. EINVAL for another flag, and if the region has no on-demand
 * paging. ENOENT if no region has the key. EPERM if it is that of a region of
 * this process in another domain, or if the region may not be written. EFAULT
 * if the bytes do not lie within the region, and, with the flag, if the process
 * has no such memory. EAGAIN, with the flag, while too much other advice about
 * the region is being followed.
 */
struct univ_mr_advise {
	struct univ_hdr hdr;
	__u32 pd;
	__u32 advice;
	__u32 flags;
	__u32 lkey;
	__aligned_u64 addr;
	__aligned_u64 length;
};

/**
 * struct univ_mr_null_alloc - ibv_alloc_null_mr(3)
 * @hdr: head
 * @pd: in: handle
 * @handle: out
 * @lkey: out
 * @reserved: zero
 *
 * The region has every address. Requests read zeros from it, and the bytes that
 * they write to it are lost. A peer cannot use it. Only devices with
 * %UNIV_FEATURE_DM offer this.
 */
struct univ_mr_null_alloc {
	struct univ_hdr hdr;
	__u32 pd;
	__u32 handle;
	__u32 lkey;
	__u32 reserved;
};

/**
 * struct univ_dm_alloc - ibv_alloc_dm(3)
 * @hdr: head
 * @length: in: bytes
 * @log_align: in: binary logarithm of the alignment
 * @handle: out
 * @map_offset: out: mmap() offset of the memory
 * @map_length: out: mmap() length in bytes
 *
 * The memory is zeroed. It counts as ring memory, and is freed when the object
 * and all mappings of it are gone. Only devices with %UNIV_FEATURE_DM offer
 * this.
 */
struct univ_dm_alloc {
	struct univ_hdr hdr;
	__aligned_u64 length;
	__u32 log_align;
	__u32 handle;
	__aligned_u64 map_offset;
	__aligned_u64 map_length;
};

/**
 * struct univ_mr_dm_reg - ibv_reg_dm_mr(3)
 * @hdr: head
 * @pd: in: handle
 * @dm: in: handle
 * @offset: in: offset of the first byte in the device memory
 * @length: in: bytes
 * @access: in: enum ibv_access_flags, with IBV_ACCESS_ZERO_BASED
 * @handle: out
 * @lkey: out
 * @rkey: out
 *
 * Requests refer to the first byte of the region by address 0.
 */
struct univ_mr_dm_reg {
	struct univ_hdr hdr;
	__u32 pd;
	__u32 dm;
	__aligned_u64 offset;
	__aligned_u64 length;
	__u32 access;
	__u32 handle;
	__u32 lkey;
	__u32 rkey;
};

/**
 * struct univ_mr_dmabuf_reg - ibv_reg_dmabuf_mr(3)
 * @hdr: head
 * @pd: in: handle
 * @access: in: enum ibv_access_flags
 * @offset: in: offset of the first byte in the dma-buf
 * @length: in: bytes
 * @iova: in: address by which work requests refer to the first byte
 * @fd: in: descriptor of the dma-buf, which may be closed after the call
 * @handle: out
 * @lkey: out
 * @rkey: out
 * @dmah: in: as in struct univ_mr_reg
 * @reserved: zero
 *
 * Only devices with %UNIV_FEATURE_DMABUF offer this.
 */
struct univ_mr_dmabuf_reg {
	struct univ_hdr hdr;
	__u32 pd;
	__u32 access;
	__aligned_u64 offset;
	__aligned_u64 length;
	__aligned_u64 iova;
	__s32 fd;
	__u32 handle;
	__u32 lkey;
	__u32 rkey;
	__u32 dmah;
	__u32 reserved;
};

/**
 * struct univ_dm_export - ibv_dm_export_dmabuf_fd(3)
 * @hdr: head
 * @handle: in: device memory
 * @fd: out: descriptor of a new dma-buf, which consists of the whole pages of
 *	the memory and keeps them
 */
struct univ_dm_export {
	struct univ_hdr hdr;
	__u32 handle;
	__s32 fd;
};

/**
 * struct univ_mw_alloc - ibv_alloc_mw(3)
 * @hdr: head
 * @pd: in: handle
 * @type: in: enum ibv_mw_type
 * @handle: out
 * @rkey: out: remote key of the window in requests; its low 8 bits are set by
 *	the latest bind request
 *
 * The new window is not bound. Only devices with %UNIV_FEATURE_WINDOWS offer
 * windows; their drivers are native.
 */
struct univ_mw_alloc {
	struct univ_hdr hdr;
	__u32 pd;
	__u32 type;
	__u32 handle;
	__u32 rkey;
};

/**
 * struct univ_mw_query - univerbs_query_mw(3)
 * @hdr: head
 * @handle: in
 * @domain: out: handle of the protection domain
 * @type: out: enum ibv_mw_type
 * @rkey: out: key that peers use, or that the latest bind request chose
 * @bound: out: 1 if the window is bound; otherwise the fields below are 0
 * @lkey: out: local key of the region
 * @access: out: enum ibv_access_flags, rights of peers
 * @qp_num: out: type 2: number of the queue pair that bound the window
 * @addr: out: address by which peers refer to the first byte
 * @length: out: bytes
 * @offset: out: of the first byte in the region
 *
 * A bind request that is in progress may or may not have been executed.
 */
struct univ_mw_query {
	struct univ_hdr hdr;
	__u32 handle;
	__u32 domain;
	__u32 type;
	__u32 rkey;
	__u32 bound;
	__u32 lkey;
	__u32 access;
	__u32 qp_num;
	__aligned_u64 addr;
	__aligned_u64 length;
	__aligned_u64 offset;
};

/**
 * struct univ_ah_attr - an address vector; names are those of struct
 *	ibv_ah_attr
 * @dgid: GID of the destination, in network order; only with @is_global
 * @flow_label: of the route header; only with @is_global
 * @dlid: local identifier of the destination; not on Ethernet
 * @sgid_index: index of the own GID; only with @is_global
 * @hop_limit: of the route header; only with @is_global
 * @traffic_class: of the route header; only with @is_global
 * @sl: service level
 * @src_path_bits: low bits of the own local identifier
 * @static_rate: enum ibv_rate
 * @is_global: there is a global route header, which RoCE needs
 * @port_num: own port, from 1
 * @reserved: zero
 */
struct univ_ah_attr {
	__u8 dgid[16];
	__u32 flow_label;
	__u16 dlid;
	__u8 sgid_index;
	__u8 hop_limit;
	__u8 traffic_class;
	__u8 sl;
	__u8 src_path_bits;
	__u8 static_rate;
	__u8 is_global;
	__u8 port_num;
	__u8 reserved[2];
};

/**
 * struct univ_ah_create - ibv_create_ah(3)
 * @hdr: head
 * @pd: in: handle
 * @handle: out: handle for the work requests of datagrams
 * @attr: in: address vector
 */
struct univ_ah_create {
	struct univ_hdr hdr;
	__u32 pd;
	__u32 handle;
	struct univ_ah_attr attr;
};

/**
 * struct univ_ah_modify - univerbs_modify_ah(3)
 * @hdr: head
 * @handle: in
 * @reserved: zero
 * @attr: in: the new address vector
 *
 * A request that the device has not executed yet goes to the former address or
 * to the new one, with all attributes of that address. Errors: as
 * %UNIV_AH_CREATE; the handle is then unchanged. EOPNOTSUPP if the device
 * cannot do this.
 */
struct univ_ah_modify {
	struct univ_hdr hdr;
	__u32 handle;
	__u32 reserved;
	struct univ_ah_attr attr;
};

/**
 * struct univ_ah_query - univerbs_query_ah(3)
 * @hdr: head
 * @handle: in
 * @domain: out: handle of the protection domain
 * @attr: out: address vector
 */
struct univ_ah_query {
	struct univ_hdr hdr;
	__u32 handle;
	__u32 domain;
	struct univ_ah_attr attr;
};

/**
 * struct univ_channel_create - ibv_create_comp_channel(3)
 * @hdr: head
 * @fd: out: descriptor; read() returns struct univ_event, close() destroys the
 *	channel
 * @reserved: zero
 */
struct univ_channel_create {
	struct univ_hdr hdr;
	__s32 fd;
	__u32 reserved;
};

/**
 * struct univ_ring_map - position of a ring in a mapping
 * @head_offset: bytes from the start of the mapping to struct univ_ring_head
 * @slot_offset: bytes from the start of the mapping to slot 0
 * @slots: number of slots, a power of two; 0 if the queue has no such ring
 * @stride: bytes from one slot to the next, a multiple of 64; 32 for receive
 *	requests with one entry
 */
struct univ_ring_map {
	__u32 head_offset;
	__u32 slot_offset;
	__u32 slots;
	__u32 stride;
};

/**
 * struct univ_bell - register of a device that replaces UNIV_KICK for a ring
 * @offset: bytes from the start of the bell page, a multiple of 4
 * @value: 32 bits to store there, in the processor's byte order
 *
 * Only a context with a bell page has bells. After requests were published and
 * %UNIV_RING_NEED_KICK was found set, the process stores @value once. All
 * earlier stores must be visible to the device before that store. UNIV_KICK
 * works as well.
 */
struct univ_bell {
	__u32 offset;
	__u32 value;
};

/**
 * enum univ_cq_flags - optional fields of the completions of a queue, and its
 *	kind
 * @UNIV_CQ_TIMESTAMP: Fill univ_cqe.timestamp.
 * @UNIV_CQ_WALLCLOCK: Fill univ_cqe.wallclock.
 * @UNIV_CQ_IGNORE_OVERRUN: A completion that finds no free slot is lost, and
 *	nothing else happens. Needs %UNIV_FEATURE_IGNORE_OVERRUN.
 */
enum univ_cq_flags {
	UNIV_CQ_TIMESTAMP	= 1 << 0,
	UNIV_CQ_WALLCLOCK	= 1 << 1,
	UNIV_CQ_IGNORE_OVERRUN	= 1 << 2,
};

/**
 * struct univ_cq_create - ibv_create_cq(3)
 * @hdr: head
 * @cqe: in: least number of entries; out: actual number
 * @comp_vector: in: completion vector
 * @channel_fd: in: completion channel, or -1
 * @cq_flags: in: enum univ_cq_flags
 * @cookie: in: returned in each event
 * @handle: out
 * @reserved: zero
 * @map_offset: out: mmap() offset of the ring
 * @map_length: out: mmap() length in bytes
 * @ring: out: position of the ring in the mapping
 */
struct univ_cq_create {
	struct univ_hdr hdr;
	__u32 cqe;
	__u32 comp_vector;
	__s32 channel_fd;
	__u32 cq_flags;
	__aligned_u64 cookie;
	__u32 handle;
	__u32 reserved;
	__aligned_u64 map_offset;
	__aligned_u64 map_length;
	struct univ_ring_map ring;
};

/**
 * struct univ_cq_resize - ibv_resize_cq(3)
 * @hdr: head
 * @handle: in
 * @cqe: in: least number of entries; out: actual number
 * @map_offset: out: mmap() offset of the new ring
 * @map_length: out: mmap() length in bytes
 * @ring: out: position of the new ring in the mapping
 *
 * On success, the kernel has moved the completions that were not polled yet to
 * the new ring, and the head of the new ring starts at 0. The caller must
 * prevent other threads from polling during the call. The former mapping stays
 * readable until it is unmapped.
 */
struct univ_cq_resize {
	struct univ_hdr hdr;
	__u32 handle;
	__u32 cqe;
	__aligned_u64 map_offset;
	__aligned_u64 map_length;
	struct univ_ring_map ring;
};

/**
 * struct univ_cq_moderate - ibv_modify_cq(3)
 * @hdr: head
 * @handle: in
 * @count: in: number of completions per event
 * @period: in: microseconds
 */
struct univ_cq_moderate {
	struct univ_hdr hdr;
	__u32 handle;
	__u16 count;
	__u16 period;
};

/**
 * enum univ_cq_armed - whether a completion queue raises an event
 * @UNIV_CQ_UNARMED: The last event was raised, or none was requested.
 * @UNIV_CQ_ARMED: The next completion raises one.
 * @UNIV_CQ_ARMED_SOLICITED: The next solicited completion, or the next error,
 *	raises one.
 */
enum univ_cq_armed {
	UNIV_CQ_UNARMED,
	UNIV_CQ_ARMED,
	UNIV_CQ_ARMED_SOLICITED,
};

/**
 * struct univ_cq_query - univerbs_query_cq(3)
 * @hdr: head
 * @handle: in
 * @cqe: out: number of entries
 * @comp_vector: out: completion vector
 * @cq_flags: out: enum univ_cq_flags
 * @channel: out: 1 if the queue has a completion channel
 * @armed: out: enum univ_cq_armed
 * @count: out: as the latest %UNIV_CQ_MODERATE has set it, or 0
 * @period: out: likewise
 * @overrun: out: 1 if completions were lost because the queue was full
 */
struct univ_cq_query {
	struct univ_hdr hdr;
	__u32 handle;
	__u32 cqe;
	__u32 comp_vector;
	__u32 cq_flags;
	__u32 channel;
	__u32 armed;
	__u16 count;
	__u16 period;
	__u32 overrun;
};

/**
 * struct univ_cq_notify - raise the event for a completion that came too early
 * @hdr: head
 * @handle: in
 * @reserved: must be 0
 *
 * The process has armed the queue, and has found a completion that it had not
 * polled. An event follows for a completion that is added after the queue was
 * armed; this call raises it for the one that is there. It does nothing if the
 * queue is not armed. If the queue is armed for solicited completions only, a
 * completion must be there that is solicited or has failed, and that no event
 * has reported. On a device that writes completions by itself, each completion
 * counts.
 */
struct univ_cq_notify {
	struct univ_hdr hdr;
	__u32 handle;
	__u32 reserved;
};

/**
 * struct univ_srq_create - ibv_create_srq(3), ibv_create_srq_ex(3)
 * @hdr: head
 * @pd: in: handle
 * @max_wr: in: least number of requests; out: actual number
 * @max_sge: in: least number of entries of a request; out: actual number
 * @limit: in: srq_limit
 * @cookie: in: returned in each event
 * @handle: out
 * @reserved: zero
 * @map_offset: out: mmap() offset of the ring
 * @map_length: out: mmap() length in bytes
 * @ring: out: position of the ring in the mapping
 * @srq_type: in: enum ibv_srq_type, basic or XRC; the following fields are for
 *	XRC only
 * @cq: in: handle of the completion queue of the receives
 * @xrcd: in: handle of the XRC domain
 * @srq_num: out: number by which a peer's requests name the queue
 * @bell: out: bell of the ring
 */
struct univ_srq_create {
	struct univ_hdr hdr;
	__u32 pd;
	__u32 max_wr;
	__u32 max_sge;
	__u32 limit;
	__aligned_u64 cookie;
	__u32 handle;
	__u32 reserved;
	__aligned_u64 map_offset;
	__aligned_u64 map_length;
	struct univ_ring_map ring;
	__u32 srq_type;
	__u32 cq;
	__u32 xrcd;
	__u32 srq_num;
	struct univ_bell bell;
};

/**
 * struct univ_srq_modify - ibv_modify_srq(3)
 * @hdr: head
 * @handle: in
 * @attr_mask: in: enum ibv_srq_attr_mask
 * @max_wr: in: number of requests; ignored unless IBV_SRQ_MAX_WR is set
 * @limit: in: srq_limit
 * @map_offset: out: mmap() offset of the new ring; this and the following
 *	fields are for IBV_SRQ_MAX_WR only, which a struct without them does not
 *	offer
 * @map_length: out: mmap() length in bytes
 * @ring: out: position of the new ring in the mapping
 *
 * With IBV_SRQ_MAX_WR, the kernel has moved the requests that were not taken
 * yet to the new ring, in which both indices go on from the former ones. The
 * caller must prevent other threads from posting during the call.
 */
struct univ_srq_modify {
	struct univ_hdr hdr;
	__u32 handle;
	__u32 attr_mask;
	__u32 max_wr;
	__u32 limit;
	__aligned_u64 map_offset;
	__aligned_u64 map_length;
	struct univ_ring_map ring;
};

/**
 * struct univ_srq_query - ibv_query_srq(3)
 * @hdr: head
 * @handle: in
 * @max_wr: out
 * @max_sge: out
 * @limit: out
 */
struct univ_srq_query {
	struct univ_hdr hdr;
	__u32 handle;
	__u32 max_wr;
	__u32 max_sge;
	__u32 limit;
};

/**
 * enum univ_qp_flags - properties of a queue pair; values of enum
 *	ibv_qp_create_flags
 * @UNIV_QP_BLOCK_SELF_MCAST: Datagrams and raw packets: the queue pair does not
 *	get its own multicasts. Not every device offers it.
 * @UNIV_QP_SCATTER_FCS: Raw packets: received frames have their frame check
 *	sequence behind them. The device reports it in raw_packet_caps.
 * @UNIV_QP_CVLAN_STRIPPING: Raw packets: received frames have no VLAN tag,
 *	which is in the completion (univ_cqe.cvlan). Needs %UNIV_FEATURE_RAW.
 * @UNIV_QP_SOURCE_QPN: Datagrams: they carry another number than that of their
 *	queue pair (univ_qp_create.source_qpn). Needs CAP_NET_RAW. Not every
 *	device offers it.
 * @UNIV_QP_PCI_WRITE_END_PADDING: Raw packets: the device may write more bytes
 *	than a frame has, up to the end of a cache line and of the receive
 *	request. The device reports it in device_cap_flags.
 */
enum univ_qp_flags {
	UNIV_QP_BLOCK_SELF_MCAST = 1 << 1,
	UNIV_QP_SCATTER_FCS	= 1 << 8,
	UNIV_QP_CVLAN_STRIPPING	= 1 << 9,
	UNIV_QP_SOURCE_QPN	= 1 << 10,
	UNIV_QP_PCI_WRITE_END_PADDING = 1 << 11,
};

#define UNIV_RX_HASH_KEY	40	/* bytes of a key */
#define UNIV_RX_HASH_TOEPLITZ	1	/* enum ibv_rx_hash_function_flags */

/**
 * enum univ_rx_hash_fields - fields of a frame; values of enum
 *	ibv_rx_hash_fields
 * @UNIV_RX_HASH_SRC_IPV4: source address
 * @UNIV_RX_HASH_DST_IPV4: destination address
 * @UNIV_RX_HASH_SRC_IPV6: likewise
 * @UNIV_RX_HASH_DST_IPV6: likewise
 * @UNIV_RX_HASH_SRC_PORT_TCP: source port
 * @UNIV_RX_HASH_DST_PORT_TCP: destination port
 * @UNIV_RX_HASH_SRC_PORT_UDP: likewise
 * @UNIV_RX_HASH_DST_PORT_UDP: likewise
 */
enum univ_rx_hash_fields {
	UNIV_RX_HASH_SRC_IPV4		= 1 << 0,
	UNIV_RX_HASH_DST_IPV4		= 1 << 1,
	UNIV_RX_HASH_SRC_IPV6		= 1 << 2,
	UNIV_RX_HASH_DST_IPV6		= 1 << 3,
	UNIV_RX_HASH_SRC_PORT_TCP	= 1 << 4,
	UNIV_RX_HASH_DST_PORT_TCP	= 1 << 5,
	UNIV_RX_HASH_SRC_PORT_UDP	= 1 << 6,
	UNIV_RX_HASH_DST_PORT_UDP	= 1 << 7,
};

/**
 * struct univ_qp_create - ibv_create_qp(3)
 * @hdr: head
 * @pd: in: handle
 * @send_cq: in: handle
 * @recv_cq: in: handle
 * @srq: in: handle, or 0 for none
 * @qp_type: in: enum ibv_qp_type
 * @sq_sig_all: in: 0 or 1
 * @max_send_wr: in: least number of send requests; out: actual number
 * @max_recv_wr: likewise for receive requests
 * @max_send_sge: likewise for entries of a send request
 * @max_recv_sge: likewise for entries of a receive request
 * @max_inline: likewise for bytes of inline data
 * @create_flags: in: enum univ_qp_flags
 * @cookie: in: returned in each event
 * @handle: out
 * @qp_num: out: the device's number
 * @map_offset: out: mmap() offset of one mapping with both rings; with
 *	%UNIV_MAP_SHARED other queue pairs of the context use the mapping too
 * @map_length: out: mmap() length in bytes
 * @sq: out: position of the send ring in the mapping
 * @rq: out: position of the receive ring in the mapping; slots is 0 with a
 *	shared receive queue
 * @xrcd: in: XRC receive: handle of the XRC domain
 * @reserved: zero
 * @sq_bell: out: bell of the send ring
 * @rq_bell: out: bell of the receive ring
 * @table: in: raw packets: handle of a receive indirection table, or 0 for
 *	none; the following fields are for queue pairs with a table only
 * @rx_hash_function: in: %UNIV_RX_HASH_TOEPLITZ
 * @rx_hash_key_len: in: %UNIV_RX_HASH_KEY
 * @rx_hash_fields: in: enum univ_rx_hash_fields; 0 only with a table of one
 *	entry
 * @rx_hash_key: in: key of the hash
 * @max_tso_header: in: raw packets: highest number of bytes of a header of
 *	%UNIV_WR_TSO, or 0 for a queue pair that posts no such requests; needs
 *	%UNIV_FEATURE_TSO
 * @source_qpn: in: with %UNIV_QP_SOURCE_QPN: number that its datagrams carry
 *
 * An XRC receive queue pair belongs to @xrcd; the kernel ignores @pd, @send_cq,
 * @recv_cq and @srq. It has no rings, so @map_length is 0. It exists until
 * every context that created or opened it has destroyed its handle. For an XRC
 * send queue pair, the kernel ignores @recv_cq and @srq.
 *
 * A queue pair with a table gives each frame to the work queue in the entry
 * that the lower bits of its hash select. It receives in each state except
 * IBV_QPS_ERR. The kernel ignores @recv_cq, and without @max_send_wr @send_cq
 * too.
 */
struct univ_qp_create {
	struct univ_hdr hdr;
	__u32 pd;
	__u32 send_cq;
	__u32 recv_cq;
	__u32 srq;
	__u32 qp_type;
	__u32 sq_sig_all;
	__u32 max_send_wr;
	__u32 max_recv_wr;
	__u32 max_send_sge;
	__u32 max_recv_sge;
	__u32 max_inline;
	__u32 create_flags;
	__aligned_u64 cookie;
	__u32 handle;
	__u32 qp_num;
	__aligned_u64 map_offset;
	__aligned_u64 map_length;
	struct univ_ring_map sq;
	struct univ_ring_map rq;
	__u32 xrcd;
	__u32 reserved;
	struct univ_bell sq_bell;
	struct univ_bell rq_bell;
	__u32 table;
	__u16 rx_hash_function;
	__u16 rx_hash_key_len;
	__aligned_u64 rx_hash_fields;
	__u8 rx_hash_key[UNIV_RX_HASH_KEY];
	__u32 max_tso_header;
	__u32 source_qpn;
};

/**
 * struct univ_qp_open - ibv_open_qp(3): another handle of an XRC receive queue
 *	pair
 * @hdr: head
 * @xrcd: in: handle
 * @qp_num: in: number of the queue pair
 * @qp_type: in: enum ibv_qp_type
 * @handle: out
 * @cookie: in: returned in each event
 */
struct univ_qp_open {
	struct univ_hdr hdr;
	__u32 xrcd;
	__u32 qp_num;
	__u32 qp_type;
	__u32 handle;
	__aligned_u64 cookie;
};

/**
 * struct univ_qp_attr - attributes of a queue pair; names and values are those
 *	of struct ibv_qp_attr
 * @attr_mask: enum ibv_qp_attr_mask: the valid fields
 * @qp_state: enum ibv_qp_state: new state; when queried: present state
 * @cur_qp_state: enum ibv_qp_state: state that is expected
 * @path_mtu: enum ibv_mtu
 * @path_mig_state: enum ibv_mig_state
 * @qkey: Q_Key of datagrams
 * @rq_psn: first sequence number of the peer; 24 bits
 * @sq_psn: own first sequence number; 24 bits
 * @dest_qp_num: number of the peer; 24 bits
 * @qp_access_flags: enum ibv_access_flags: what the peer may do
 * @rate_limit: 1000 bits in each second; 0: no limit
 * @pkey_index: index in the P_Key table of the port
 * @alt_pkey_index: likewise, for the alternate path
 * @en_sqd_async_notify: raise IBV_EVENT_SQ_DRAINED when the send queue is
 *	drained
 * @sq_draining: only queried: the send queue is being drained
 * @max_rd_atomic: outstanding reads and atomics as their requester
 * @max_dest_rd_atomic: outstanding reads and atomics of the peer
 * @min_rnr_timer: wait that an RNR NAK asks for, a code of ibv_modify_qp(3);
 *	the lower five bits count
 * @port_num: port of the primary path, from 1
 * @timeout: wait for an answer: 2^value * 4.096 microseconds; 0: no limit
 * @retry_cnt: retries after a timeout; above 7: 7
 * @rnr_retry: retries after an RNR NAK; 7: no limit; above 7: 6
 * @alt_port_num: port of the alternate path, from 1
 * @alt_timeout: as @timeout, for the alternate path
 * @reserved: zero
 * @ah: primary path
 * @alt_ah: alternate path
 */
struct univ_qp_attr {
	__u32 attr_mask;
	__u32 qp_state;
	__u32 cur_qp_state;
	__u32 path_mtu;
	__u32 path_mig_state;
	__u32 qkey;
	__u32 rq_psn;
	__u32 sq_psn;
	__u32 dest_qp_num;
	__u32 qp_access_flags;
	__u32 rate_limit;
	__u16 pkey_index;
	__u16 alt_pkey_index;
	__u8 en_sqd_async_notify;
	__u8 sq_draining;
	__u8 max_rd_atomic;
	__u8 max_dest_rd_atomic;
	__u8 min_rnr_timer;
	__u8 port_num;
	__u8 timeout;
	__u8 retry_cnt;
	__u8 rnr_retry;
	__u8 alt_port_num;
	__u8 alt_timeout;
	__u8 reserved[5];
	struct univ_ah_attr ah;
	struct univ_ah_attr alt_ah;
};

/**
 * struct univ_qp_modify - ibv_modify_qp(3)
 * @hdr: head
 * @handle: in
 * @reserved: zero
 * @attr: in: attributes to change
 * @max_send_wr: with IBV_QP_CAP, in: least number of send requests, or 0 to
 *	leave it; out: actual number. The kernel neither reads nor writes the
 *	following fields without that bit
 * @max_recv_wr: likewise for receive requests
 * @map_offset: out: as in struct univ_qp_create, like the following ones
 * @map_length: out
 * @sq: out
 * @rq: out
 *
 * With IBV_QP_CAP no other attribute changes. The rings are moved to another
 * place, in the same or another mapping, where indices continue. When the call
 * returns, the kernel has stopped looking at the former rings, and in a shared
 * mapping another queue pair may have their place.
 */
struct univ_qp_modify {
	struct univ_hdr hdr;
	__u32 handle;
	__u32 reserved;
	struct univ_qp_attr attr;
	__u32 max_send_wr;
	__u32 max_recv_wr;
	__aligned_u64 map_offset;
	__aligned_u64 map_length;
	struct univ_ring_map sq;
	struct univ_ring_map rq;
};

/**
 * struct univ_qp_rate - ibv_modify_qp_rate_limit(3)
 * @hdr: head
 * @handle: in
 * @rate_limit: in: 1000 bits in each second; 0: no limit
 * @max_burst_sz: in: bytes that may be sent at once; 0: the device's choice
 * @typical_pkt_sz: in: bytes of the packets; 0: the MTU
 * @reserved: zero
 *
 * IBV_QP_RATE_LIMIT of %UNIV_QP_MODIFY sets the rate alone. A reset ends the
 * limit.
 *
 * Errors: EOPNOTSUPP if the device limits no rate of queue pairs of this type.
 * EINVAL for a rate above the highest one, and for a burst or a packet size
 * without a rate.
 */
struct univ_qp_rate {
	struct univ_hdr hdr;
	__u32 handle;
	__u32 rate_limit;
	__u32 max_burst_sz;
	__u16 typical_pkt_sz;
	__u16 reserved;
};

/**
 * struct univ_qp_query - ibv_query_qp(3)
 * @hdr: head
 * @handle: in
 * @attr_mask: in: a hint, as in ibv_query_qp(3)
 * @attr: out: attributes
 * @max_send_wr: out: size of the send queue, in requests
 * @max_recv_wr: out: size of the receive queue, in requests
 * @max_send_sge: out: most entries of a send request
 * @max_recv_sge: out: most entries of a receive request
 * @max_inline: out: most bytes of inline data
 * @sq_sig_all: out: 0 or 1
 */
struct univ_qp_query {
	struct univ_hdr hdr;
	__u32 handle;
	__u32 attr_mask;
	struct univ_qp_attr attr;
	__u32 max_send_wr;
	__u32 max_recv_wr;
	__u32 max_send_sge;
	__u32 max_recv_sge;
	__u32 max_inline;
	__u32 sq_sig_all;
};

/**
 * struct univ_mcast - ibv_attach_mcast(3), ibv_detach_mcast(3)
 * @hdr: head
 * @qp: in: handle
 * @lid: in: host order
 * @reserved: zero
 * @gid: in: multicast GID, network order
 */
struct univ_mcast {
	struct univ_hdr hdr;
	__u32 qp;
	__u16 lid;
	__u16 reserved;
	__u8 gid[16];
};

/**
 * enum univ_flow_type - frames of a flow; values of enum ibv_flow_attr_type
 * @UNIV_FLOW_NORMAL: frames that match each spec
 * @UNIV_FLOW_ALL: frames that no %UNIV_FLOW_NORMAL flow takes
 * @UNIV_FLOW_MULTICAST: the same for multicast frames
 * @UNIV_FLOW_SNIFFER: all frames, which other flows take as well
 */
enum univ_flow_type {
	UNIV_FLOW_NORMAL,
	UNIV_FLOW_ALL,
	UNIV_FLOW_MULTICAST,
	UNIV_FLOW_SNIFFER,
};

/**
 * enum univ_flow_flags - properties of a flow; values of enum ibv_flow_flags
 * @UNIV_FLOW_DONT_TRAP: flows of lower priority take the frames as well
 * @UNIV_FLOW_EGRESS: the flow is about frames that any raw packet queue pair of
 *	the device sends, not only its own; it has no tag
 */
enum univ_flow_flags {
	UNIV_FLOW_DONT_TRAP	= 1 << 1,
	UNIV_FLOW_EGRESS	= 1 << 2,
};

/**
 * enum univ_flow_spec_type - kinds of specs; values of enum ibv_flow_spec_type
 * @UNIV_FLOW_ETH: Ethernet header; its type is that behind the last VLAN tag,
 *	its tag the first one
 * @UNIV_FLOW_IPV4: IPv4 header
 * @UNIV_FLOW_IPV6: IPv6 header
 * @UNIV_FLOW_ESP: ESP header
 * @UNIV_FLOW_TCP: TCP ports
 * @UNIV_FLOW_UDP: UDP ports
 * @UNIV_FLOW_VXLAN: network identifier of VXLAN
 * @UNIV_FLOW_GRE: GRE header; a key in the mask needs a frame with a key
 * @UNIV_FLOW_MPLS: first entry of the labels behind the header of the spec
 *	before it: IP, UDP or GRE; with others behind the Ethernet header
 * @UNIV_FLOW_INNER: a flag: the header is in a tunnel (VXLAN, GRE, MPLS in UDP,
 *	GRE or IP, or IP in IP); for Ethernet, IP, ESP, TCP, UDP and MPLS, whose
 *	labels are then behind the inner Ethernet header
 * @UNIV_FLOW_TAG: completions of the flow have the tag @tag of 24 bits
 * @UNIV_FLOW_DROP: frames of the flow are dropped
 * @UNIV_FLOW_COUNT: frames of the flow are counted by the points of the flow
 *	counters @tag, which have some; at most one such spec
 */
enum univ_flow_spec_type {
	UNIV_FLOW_ETH		= 0x20,
	UNIV_FLOW_IPV4		= 0x30,
	UNIV_FLOW_IPV6		= 0x31,
	UNIV_FLOW_ESP		= 0x34,
	UNIV_FLOW_TCP		= 0x40,
	UNIV_FLOW_UDP		= 0x41,
	UNIV_FLOW_VXLAN		= 0x50,
	UNIV_FLOW_GRE		= 0x51,
	UNIV_FLOW_MPLS		= 0x60,
	UNIV_FLOW_INNER		= 0x100,
	UNIV_FLOW_TAG		= 0x1000,
	UNIV_FLOW_DROP		= 0x1001,
	UNIV_FLOW_COUNT		= 0x1003,
};

/**
 * struct univ_flow_spec - a condition or an action of a flow
 * @type: enum univ_flow_spec_type
 * @tag: %UNIV_FLOW_TAG: the tag; %UNIV_FLOW_COUNT: the handle of the flow
 *	counters; otherwise zero
 * @val: values of the fields of a header
 * @mask: the bits of @val that count
 *
 * @val and @mask begin with the struct that libibverbs has for the type: struct
 * ibv_flow_eth_filter (16 bytes), ibv_flow_ipv4_ext_filter (12),
 * ibv_flow_ipv6_filter (39), ibv_flow_esp_filter (8), ibv_flow_tcp_udp_filter
 * (4), ibv_flow_tunnel_filter (4), ibv_flow_gre_filter (8) or
 * ibv_flow_mpls_filter (4). Numbers are in network order. Bytes behind it are
 * zero, and so are all bytes for an action.
 */
struct univ_flow_spec {
	__u32 type;
	__u32 tag;
	__u8 val[40];
	__u8 mask[40];
};

/* Most specs of a flow. The first version of struct univ_flow_create had 8. */
#define UNIV_FLOW_SPECS 10

/**
 * enum univ_flow_fault - cause of a %UNIV_REASON_FLOW
 * @UNIV_FLOW_FAULT_TYPE: the type of flow is unknown. Value: type.
 * @UNIV_FLOW_FAULT_FLAGS: the flags are unknown, or not offered for this type
 *	of flow. Value: flags.
 * @UNIV_FLOW_FAULT_SPECS: flows of the type have no specs but actions. Value:
 *	type of the flow.
 * @UNIV_FLOW_FAULT_SPEC: the type of a spec is unknown or not offered. Value:
 *	type. Bound: index.
 * @UNIV_FLOW_FAULT_VALUE: a spec has a value out of range, or bits that do not
 *	belong to its type. Value: type. Bound: index.
 * @UNIV_FLOW_FAULT_PRIORITY: the priority is too high. Value: priority. Bound:
 *	highest priority.
 * @UNIV_FLOW_FAULT_FULL: the device has no room for another flow.
 * @UNIV_FLOW_FAULT_COUNTS: the flow has another spec of flow counters. Value:
 *	handle. Bound: index.
 * @UNIV_FLOW_FAULT_NO_POINT: the flow counters have no point. Value: handle.
 *	Bound: index.
 * @UNIV_FLOW_FAULT_CONTRADICTION: no frame can match both of two specs. Value:
 *	index. Bound: index of the later one.
 * @UNIV_FLOW_FAULT_EGRESS_TAG: frames that are sent get no tag. Value: tag.
 *	Bound: index.
 */
enum univ_flow_fault {
	UNIV_FLOW_FAULT_TYPE,
	UNIV_FLOW_FAULT_FLAGS,
	UNIV_FLOW_FAULT_SPECS,
	UNIV_FLOW_FAULT_SPEC,
	UNIV_FLOW_FAULT_VALUE,
	UNIV_FLOW_FAULT_PRIORITY,
	UNIV_FLOW_FAULT_FULL,
	UNIV_FLOW_FAULT_COUNTS,
	UNIV_FLOW_FAULT_NO_POINT,
	UNIV_FLOW_FAULT_CONTRADICTION,
	UNIV_FLOW_FAULT_EGRESS_TAG,
};

/**
 * struct univ_flow_create - ibv_create_flow(3)
 * @hdr: head
 * @qp: in: handle of a raw packet queue pair
 * @type: in: enum univ_flow_type
 * @flow_flags: in: enum univ_flow_flags
 * @priority: in: the flow with the lowest number takes a frame
 * @port_num: in: from 1
 * @count: in: number of entries of @specs, at most %UNIV_FLOW_SPECS
 * @handle: out
 * @reserved: zero
 * @specs: in: conditions and actions; entries from @count on are ignored
 *
 * Errors: EPERM without CAP_NET_RAW, EOPNOTSUPP without %UNIV_FEATURE_RAW.
 */
struct univ_flow_create {
	struct univ_hdr hdr;
	__u32 qp;
	__u32 type;
	__u32 flow_flags;
	__u32 priority;
	__u32 port_num;
	__u32 count;
	__u32 handle;
	__u32 reserved;
	struct univ_flow_spec specs[UNIV_FLOW_SPECS];
};

/* Most values of flow counters; most points of flow counters and of a flow. */
#define UNIV_COUNTERS_VALUES 64
#define UNIV_COUNTERS_POINTS 16

/**
 * struct univ_counters_create - ibv_create_counters(3)
 * @hdr: head
 * @handle: out
 * @reserved: zero
 *
 * Flow counters count the frames of flows. They are no completion counters,
 * which are named cntr here.
 *
 * Errors: EOPNOTSUPP without %UNIV_FEATURE_RAW.
 */
struct univ_counters_create {
	struct univ_hdr hdr;
	__u32 handle;
	__u32 reserved;
};

/**
 * struct univ_counters_read - ibv_read_counters(3)
 * @hdr: head
 * @handle: in
 * @reserved: zero
 * @values: out
 */
struct univ_counters_read {
	struct univ_hdr hdr;
	__u32 handle;
	__u32 reserved;
	__aligned_u64 values[UNIV_COUNTERS_VALUES];
};

/**
 * enum univ_counters_unit - unit of a point; values of enum
 *	ibv_counter_description
 * @UNIV_COUNTERS_PACKETS: frames
 * @UNIV_COUNTERS_BYTES: their bytes, from the Ethernet header on
 */
enum univ_counters_unit {
	UNIV_COUNTERS_PACKETS,
	UNIV_COUNTERS_BYTES,
};

/**
 * enum univ_counters_fault - cause of a %UNIV_REASON_COUNTERS
 * @UNIV_COUNTERS_FAULT_UNIT: the unit is unknown. Value: unit.
 * @UNIV_COUNTERS_FAULT_BOUND: a flow exists that was created with the flow
 *	counters, so the points of later flows stay as they are. Value: handle.
 */
enum univ_counters_fault {
	UNIV_COUNTERS_FAULT_UNIT,
	UNIV_COUNTERS_FAULT_BOUND,
};

/**
 * struct univ_counters_attach - ibv_attach_counters_point_flow(3)
 * @hdr: head
 * @handle: in
 * @flow: in: handle of the flow that is counted from now on; 0: flows that are
 *	created with %UNIV_FLOW_COUNT
 * @unit: in: enum univ_counters_unit
 * @index: in: the value to add to, below %UNIV_COUNTERS_VALUES
 *
 * Points of the same index add to the same value.
 */
struct univ_counters_attach {
	struct univ_hdr hdr;
	__u32 handle;
	__u32 flow;
	__u32 unit;
	__u32 index;
};

/**
 * enum univ_cntr_ops - operations whose completions a counter counts; values of
 *	enum ibv_qp_attach_comp_cntr_op
 * @UNIV_CNTR_SEND: sends
 * @UNIV_CNTR_RECV: receive requests
 * @UNIV_CNTR_READ: RDMA reads
 * @UNIV_CNTR_PEER_READ: RDMA reads by the peer
 * @UNIV_CNTR_WRITE: RDMA writes
 * @UNIV_CNTR_PEER_WRITE: RDMA writes by the peer
 */
enum univ_cntr_ops {
	UNIV_CNTR_SEND		= 1 << 0,
	UNIV_CNTR_RECV		= 1 << 1,
	UNIV_CNTR_READ		= 1 << 2,
	UNIV_CNTR_PEER_READ	= 1 << 3,
	UNIV_CNTR_WRITE		= 1 << 4,
	UNIV_CNTR_PEER_WRITE	= 1 << 5,
};

/**
 * enum univ_cntr_type - unit of a completion counter; values of enum
 *	ibv_comp_cntr_type
 * @UNIV_CNTR_WRS: work requests
 * @UNIV_CNTR_BYTES: bytes
 */
enum univ_cntr_type {
	UNIV_CNTR_WRS,
	UNIV_CNTR_BYTES,
};

/**
 * struct univ_cntr_query - ibv_query_comp_cntr_caps(3)
 * @hdr: head
 * @max_value: out: highest value; one more is 0
 * @max_counters: out: most counters of a context, without other objects
 * @ops: out: enum univ_cntr_ops that can be counted
 *
 * Errors: EOPNOTSUPP without %UNIV_FEATURE_CNTRS.
 */
struct univ_cntr_query {
	struct univ_hdr hdr;
	__aligned_u64 max_value;
	__u32 max_counters;
	__u32 ops;
};

/**
 * struct univ_cntr_create - ibv_create_comp_cntr(3)
 * @hdr: head
 * @type: in: enum univ_cntr_type
 * @handle: out
 * @map_offset: out: mmap() offset of the values (read only), which are a struct
 *	univ_cntr
 * @map_length: out: mmap() length in bytes
 */
struct univ_cntr_create {
	struct univ_hdr hdr;
	__u32 type;
	__u32 handle;
	__aligned_u64 map_offset;
	__aligned_u64 map_length;
};

/**
 * enum univ_cntr_change - changes of a completion counter
 * @UNIV_CNTR_SET: set the count of successful completions
 * @UNIV_CNTR_SET_ERR: set the count of failed completions
 * @UNIV_CNTR_INC: add to the count of successful completions
 * @UNIV_CNTR_INC_ERR: add to the count of failed completions
 */
enum univ_cntr_change {
	UNIV_CNTR_SET,
	UNIV_CNTR_SET_ERR,
	UNIV_CNTR_INC,
	UNIV_CNTR_INC_ERR,
};

/**
 * struct univ_cntr_modify - ibv_set_comp_cntr(3), ibv_set_err_comp_cntr(3),
 *	ibv_inc_comp_cntr(3), ibv_inc_err_comp_cntr(3)
 * @hdr: head
 * @handle: in
 * @change: in: enum univ_cntr_change
 * @amount: in: value to set or to add
 */
struct univ_cntr_modify {
	struct univ_hdr hdr;
	__u32 handle;
	__u32 change;
	__aligned_u64 amount;
};

/**
 * struct univ_qp_cntr - ibv_qp_attach_comp_cntr(3)
 * @hdr: head
 * @handle: in: queue pair, in RESET or INIT
 * @cntr: in: handle of the counter
 * @ops: in: enum univ_cntr_ops
 * @reserved: zero
 *
 * The counter is attached until the queue pair is destroyed.
 */
struct univ_qp_cntr {
	struct univ_hdr hdr;
	__u32 handle;
	__u32 cntr;
	__u32 ops;
	__u32 reserved;
};

/**
 * struct univ_wq_create - ibv_create_wq(3)
 * @hdr: head
 * @pd: in: handle
 * @cq: in: handle of the completion queue of the receives
 * @wq_type: in: enum ibv_wq_type
 * @create_flags: in: enum ibv_wq_flags, of those that raw_packet_caps and
 *	device_cap_flags of %UNIV_DEVICE_QUERY report. They need
 *	%UNIV_FEATURE_RAW
 * @max_wr: in: least number of requests; out: actual number
 * @max_sge: in: least number of entries of a request; out: actual number
 * @cookie: in: returned in each event
 * @handle: out
 * @wq_num: out: the device's number, which completions have as their qp_num
 * @map_offset: out: mmap() offset of the ring
 * @map_length: out: mmap() length in bytes
 * @ring: out: position of the ring in the mapping
 *
 * The new queue is in state IBV_WQS_RESET. Only devices with %UNIV_FEATURE_WQ
 * offer this.
 */
struct univ_wq_create {
	struct univ_hdr hdr;
	__u32 pd;
	__u32 cq;
	__u32 wq_type;
	__u32 create_flags;
	__u32 max_wr;
	__u32 max_sge;
	__aligned_u64 cookie;
	__u32 handle;
	__u32 wq_num;
	__aligned_u64 map_offset;
	__aligned_u64 map_length;
	struct univ_ring_map ring;
};

/**
 * struct univ_wq_modify - ibv_modify_wq(3)
 * @hdr: head
 * @handle: in
 * @attr_mask: in: enum ibv_wq_attr_mask
 * @wq_state: in: enum ibv_wq_state; ignored unless IBV_WQ_ATTR_STATE is set
 * @curr_wq_state: in: likewise, for IBV_WQ_ATTR_CURR_STATE
 * @flags: in: likewise, for IBV_WQ_ATTR_FLAGS: new values of the flags in
 *	@flags_mask
 * @flags_mask: in: enum ibv_wq_flags, of those that a new queue may have
 *
 * A queue changes from each state to each other, except from IBV_WQS_ERR to
 * IBV_WQS_RDY. In IBV_WQS_ERR its requests complete with IBV_WC_WR_FLUSH_ERR.
 * On the way to IBV_WQS_RESET they are lost.
 */
struct univ_wq_modify {
	struct univ_hdr hdr;
	__u32 handle;
	__u32 attr_mask;
	__u32 wq_state;
	__u32 curr_wq_state;
	__u32 flags;
	__u32 flags_mask;
};

/* Most entries of a receive indirection table. */
#define UNIV_TABLE_LOG 7
#define UNIV_TABLE_MAX (1 << UNIV_TABLE_LOG)

/**
 * struct univ_table_create - ibv_create_rwq_ind_table(3)
 * @hdr: head
 * @log_size: in: binary logarithm of the number of entries, at most
 *	%UNIV_TABLE_LOG
 * @handle: out
 * @wqs: in: handle of the work queue of each entry; the rest is ignored
 *
 * Only devices with %UNIV_FEATURE_WQ offer this.
 */
struct univ_table_create {
	struct univ_hdr hdr;
	__u32 log_size;
	__u32 handle;
	__u32 wqs[UNIV_TABLE_MAX];
};

/* univ_event.type of a completion channel. Nodes use enum ibv_event_type. */
#define UNIV_EVENT_COMPLETION 0x100

/*
 * A bit of @cookie of a completion queue, a queue pair, a shared receive queue
 * or a work queue: its asynchronous events are not queued for the file. It is
 * for a process that has got the file from its opener, because the opener alone
 * reads them. See %UNIV_ASYNC_SET.
 */
#define UNIV_COOKIE_NO_ASYNC 1ull

/**
 * struct univ_async_set - another reader of asynchronous events
 * @hdr: head
 * @handle: in: a completion queue, a queue pair, a shared receive queue or a
 *	work queue that was created with %UNIV_COOKIE_NO_ASYNC: its events go to
 *	the channel from now on. 0: the events of the device and its ports go
 *	there too
 * @channel_fd: in: completion channel
 *
 * The destruction of the object counts the events that were read from there.
 *
 * Errors: EBUSY if the events of the object have a reader. ENOMEM if 64
 * channels of the context get the events of the device.
 */
struct univ_async_set {
	struct univ_hdr hdr;
	__u32 handle;
	__s32 channel_fd;
};

/**
 * struct univ_async_open - a file for asynchronous events
 * @hdr: head
 * @fd: out: descriptor; read() returns the same events as read() of the node
 * @reserved: zero
 *
 * A thread that reads the node keeps it open. A thread that reads this file
 * does not, so close() of the node destroys the objects all the same; the
 * thread then sleeps on.
 */
struct univ_async_open {
	struct univ_hdr hdr;
	__s32 fd;
	__u32 reserved;
};

/**
 * struct univ_event - record that read() returns
 * @type: %UNIV_EVENT_COMPLETION or enum ibv_event_type
 * @port_num: number of the port for port events; otherwise 0
 * @cookie: @cookie of the object for object events; otherwise 0
 */
struct univ_event {
	__u32 type;
	__u32 port_num;
	__aligned_u64 cookie;
};

/*
 * The numbers do not encode the size of the struct, because structs grow at the
 * tail. @size states the version that the caller was compiled with.
 */
#define UNIV_IOCTL_MAGIC 0xb8
#define UNIV_IO(nr) _IO(UNIV_IOCTL_MAGIC, nr)

#define UNIV_CONTEXT_QUERY	UNIV_IO(0x00)	/* struct univ_context_query */
#define UNIV_DEVICE_QUERY	UNIV_IO(0x01)	/* struct univ_device_query */
#define UNIV_PORT_QUERY		UNIV_IO(0x02)	/* struct univ_port_query */
#define UNIV_PKEY_QUERY		UNIV_IO(0x03)	/* struct univ_pkey_query */
#define UNIV_GID_QUERY		UNIV_IO(0x04)	/* struct univ_gid_query */
#define UNIV_GID_TABLE		UNIV_IO(0x05)	/* struct univ_gid_table */
#define UNIV_POLLER_START	UNIV_IO(0x06)	/* struct univ_poller_start */
#define UNIV_HANDLE_QUERY	UNIV_IO(0x08)	/* struct univ_handle_query */
#define UNIV_PD_ALLOC		UNIV_IO(0x10)	/* struct univ_pd_alloc */
#define UNIV_PD_DEALLOC		UNIV_IO(0x11)	/* struct univ_destroy */
#define UNIV_XRCD_OPEN		UNIV_IO(0x12)	/* struct univ_xrcd_open */
#define UNIV_XRCD_CLOSE		UNIV_IO(0x13)	/* struct univ_destroy */
#define UNIV_MR_REG		UNIV_IO(0x14)	/* struct univ_mr_reg */
#define UNIV_MR_REREG		UNIV_IO(0x15)	/* struct univ_mr_rereg */
#define UNIV_MR_DEREG		UNIV_IO(0x16)	/* struct univ_destroy */
#define UNIV_MR_ADVISE		UNIV_IO(0x17)	/* struct univ_mr_advise */
#define UNIV_AH_CREATE		UNIV_IO(0x18)	/* struct univ_ah_create */
#define UNIV_AH_DESTROY		UNIV_IO(0x19)	/* struct univ_destroy */
#define UNIV_MW_ALLOC		UNIV_IO(0x1a)	/* struct univ_mw_alloc */
#define UNIV_MW_DEALLOC		UNIV_IO(0x1b)	/* struct univ_destroy */
#define UNIV_CHANNEL_CREATE	UNIV_IO(0x1c)	/* struct univ_channel_create */
#define UNIV_CQ_CREATE		UNIV_IO(0x20)	/* struct univ_cq_create */
#define UNIV_CQ_RESIZE		UNIV_IO(0x21)	/* struct univ_cq_resize */
#define UNIV_CQ_MODERATE	UNIV_IO(0x22)	/* struct univ_cq_moderate */
#define UNIV_CQ_DESTROY		UNIV_IO(0x23)	/* struct univ_destroy */
#define UNIV_SRQ_CREATE		UNIV_IO(0x28)	/* struct univ_srq_create */
#define UNIV_SRQ_MODIFY		UNIV_IO(0x29)	/* struct univ_srq_modify */
#define UNIV_SRQ_QUERY		UNIV_IO(0x2a)	/* struct univ_srq_query */
#define UNIV_SRQ_DESTROY	UNIV_IO(0x2b)	/* struct univ_destroy */
#define UNIV_QP_CREATE		UNIV_IO(0x30)	/* struct univ_qp_create */
#define UNIV_QP_MODIFY		UNIV_IO(0x31)	/* struct univ_qp_modify */
#define UNIV_QP_QUERY		UNIV_IO(0x32)	/* struct univ_qp_query */
#define UNIV_QP_DESTROY		UNIV_IO(0x33)	/* struct univ_destroy */
#define UNIV_QP_OPEN		UNIV_IO(0x34)	/* struct univ_qp_open */
#define UNIV_QP_CNTR		UNIV_IO(0x35)	/* struct univ_qp_cntr */
#define UNIV_MCAST_ATTACH	UNIV_IO(0x38)	/* struct univ_mcast */
#define UNIV_MCAST_DETACH	UNIV_IO(0x39)	/* struct univ_mcast */
#define UNIV_DM_ALLOC		UNIV_IO(0x40)	/* struct univ_dm_alloc */
#define UNIV_DM_FREE		UNIV_IO(0x41)	/* struct univ_destroy */
#define UNIV_MR_DM_REG		UNIV_IO(0x42)	/* struct univ_mr_dm_reg */
#define UNIV_MR_NULL_ALLOC	UNIV_IO(0x43)	/* struct univ_mr_null_alloc */
#define UNIV_MR_DMABUF_REG	UNIV_IO(0x44)	/* struct univ_mr_dmabuf_reg */
#define UNIV_DM_EXPORT		UNIV_IO(0x45)	/* struct univ_dm_export */
#define UNIV_QP_RATE		UNIV_IO(0x46)	/* struct univ_qp_rate */
#define UNIV_ASYNC_SET		UNIV_IO(0x47)	/* struct univ_async_set */
#define UNIV_ASYNC_OPEN		UNIV_IO(0x48)	/* struct univ_async_open */

#define UNIV_CNTR_QUERY		UNIV_IO(0x50)	/* struct univ_cntr_query */
#define UNIV_CNTR_CREATE	UNIV_IO(0x51)	/* struct univ_cntr_create */
#define UNIV_CNTR_MODIFY	UNIV_IO(0x52)	/* struct univ_cntr_modify */
#define UNIV_CNTR_DESTROY	UNIV_IO(0x53)	/* struct univ_destroy */
#define UNIV_WQ_CREATE		UNIV_IO(0x68)	/* struct univ_wq_create */
#define UNIV_WQ_MODIFY		UNIV_IO(0x69)	/* struct univ_wq_modify */
#define UNIV_WQ_DESTROY		UNIV_IO(0x6a)	/* struct univ_destroy */
#define UNIV_TABLE_CREATE	UNIV_IO(0x6b)	/* struct univ_table_create */
#define UNIV_TABLE_DESTROY	UNIV_IO(0x6c)	/* struct univ_destroy */

#define UNIV_MR_EXTEND		UNIV_IO(0x70)	/* struct univ_mr_extend */
#define UNIV_MR_QUERY		UNIV_IO(0x71)	/* struct univ_mr_query */
#define UNIV_MW_QUERY		UNIV_IO(0x72)	/* struct univ_mw_query */
#define UNIV_AH_QUERY		UNIV_IO(0x73)	/* struct univ_ah_query */
#define UNIV_COUNTERS_CREATE	UNIV_IO(0x74) /* struct univ_counters_create */
#define UNIV_COUNTERS_DESTROY	UNIV_IO(0x75) /* struct univ_destroy */
#define UNIV_COUNTERS_READ	UNIV_IO(0x76) /* struct univ_counters_read */
#define UNIV_COUNTERS_ATTACH	UNIV_IO(0x77) /* struct univ_counters_attach */
#define UNIV_CQ_QUERY		UNIV_IO(0x78)	/* struct univ_cq_query */
#define UNIV_CQ_NOTIFY		UNIV_IO(0x7b)	/* struct univ_cq_notify */
#define UNIV_AH_MODIFY		UNIV_IO(0x79)	/* struct univ_ah_modify */
#define UNIV_MR_SHARE		UNIV_IO(0x7a)	/* struct univ_mr_share */
#define UNIV_FLOW_CREATE	UNIV_IO(0x60)	/* struct univ_flow_create */
#define UNIV_FLOW_DESTROY	UNIV_IO(0x61)	/* struct univ_destroy */
#define UNIV_DMAH_ALLOC		UNIV_IO(0x80)	/* struct univ_dmah_alloc */
#define UNIV_DMAH_FREE		UNIV_IO(0x81)	/* struct univ_destroy */

/*
 * UNIV_KICK tells the kernel that a ring holds new requests. The argument is
 * the handle of a queue pair, a shared receive queue or a work queue, or'ed
 * with the bit of the ring (UNIV_KICK_SEND, UNIV_KICK_RECV). It is not a
 * struct, because this is the only call on the data path. EINVAL: the handle
 * does not exist, or its object has no such ring. ENODEV: the device was
 * removed.
 */
#define UNIV_KICK UNIV_IO(0x3f)
#define UNIV_KICK_SEND		(1u << 30)
#define UNIV_KICK_RECV		(1u << 31)
#define UNIV_KICK_HANDLE	((1u << 24) - 1)

/*
 * A bit in the @map_offset of queue pairs. Several queue pairs of the context
 * may have the same @map_offset then, and one mapping serves all of them. When
 * the last of them is gone, the kernel may free the mapping; its offset
 * is not used again before 8 million others.
 */
#define UNIV_MAP_SHARED		(1ull << 55)

#endif
