/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * Control interface of /dev/infiniband/univerbsN.
 *
 * Opening the node makes a context. Each ioctl takes one struct that begins
 * with struct univ_hdr. The rules for all of them:
 *
 *  - @size is what the caller knows. Shorter than the first version of the
 *    struct: EINVAL. Longer than the kernel's, with anything but zeros behind:
 *    E2BIG. Structs grow at the tail only.
 *  - A reserved field or an unknown flag that is not zero: EOPNOTSUPP.
 *  - On failure @reason, @detail, @value and @bound say why, errno stays what a
 *    libibverbs program expects.
 *  - If the result cannot be written to the caller's memory the call fails with
 *    EFAULT and the object does not exist.
 *  - After the device is gone every ioctl that is well formed fails with
 *    ENODEV, and so do mmap() and, once its events are read, read().
 *
 * read() of the node yields struct univ_event, one or more whole ones; so does
 * read() of a completion channel. Both can be polled and made O_NONBLOCK.
 */
#ifndef UNIVERBS_H
#define UNIVERBS_H

#include <linux/types.h>
#include <linux/ioctl.h>

/* Told by GET_CHARDEV over RDMA netlink and by UNIV_CONTEXT_QUERY. */
#define UNIV_ABI_VERSION 1

#define UNIV_CLIENT_NAME "univerbs"

/**
 * enum univ_reason - why a call or a completion failed
 *
 * What @detail, @value and @bound of struct univ_hdr hold is said behind each.
 * New reasons are added at the end; a reader treats an unknown one as
 * %UNIV_REASON_NONE.
 */
enum univ_reason {
	UNIV_REASON_NONE,		/* nothing known beyond errno */
	UNIV_REASON_SIZE,		/* struct too short: value given, bound least */
	UNIV_REASON_TAIL,		/* non-zero bytes behind the known ones: value given, bound known */
	UNIV_REASON_RESERVED,		/* reserved field not zero: value its offset */
	UNIV_REASON_FLAGS,		/* unknown flag: detail enum univ_flags (library), value the flags, bound the known ones; completion: in the request */
	UNIV_REASON_FAULT,		/* the struct or a buffer cannot be read or written */
	UNIV_REASON_DEVICE_GONE,	/* the device was removed; of UNIV_*_DESTROY: value completion events read, bound others */
	UNIV_REASON_DEVICE_REFUSED,	/* the device's driver said no: value its errno, bound (library) the IBV_QP_* bits given */
	UNIV_REASON_UNSUPPORTED,	/* the device has no such operation: bound (library) the IBV_QP_* bits given */
	UNIV_REASON_HANDLE,		/* no such object: detail enum univ_object_type, value handle */
	UNIV_REASON_HANDLE_TYPE,	/* another kind: detail wanted type, value handle, bound its type */
	UNIV_REASON_NOT_ATTACHED,	/* not attached to that multicast group: value LID */
	UNIV_REASON_BUSY,		/* still in use: detail type, value handle, bound users; completion: the window is bound */
	UNIV_REASON_LIMIT,		/* detail enum univ_limit, value asked, bound limit; completion: message too long, or the peer takes no reads and atomics */
	UNIV_REASON_ZERO,		/* must not be zero: detail enum univ_limit */
	UNIV_REASON_MEMLOCK,		/* RLIMIT_MEMLOCK: value bytes asked, bound bytes left */
	UNIV_REASON_CGROUP,		/* rdma cgroup limit: detail enum univ_object_type */
	UNIV_REASON_NO_MEMORY,		/* kernel memory: value bytes, where known */
	UNIV_REASON_ACCESS_FLAGS,	/* MR access flags contradict: value flags */
	UNIV_REASON_ADDRESS,		/* memory not mapped, or not with that permission: value address, bound length */
	UNIV_REASON_ADDRESS_WRAP,	/* address + length passes 2^64: value address, bound length */
	UNIV_REASON_PERMISSION,		/* lacks a capability: value the capability */
	UNIV_REASON_QP_TYPE,		/* not offered, or wrong for this call: value enum ibv_qp_type */
	UNIV_REASON_QP_STATE,		/* no such transition: detail from << 8 | to */
	UNIV_REASON_ATTR_MISSING,	/* detail from << 8 | to, value the missing IBV_QP_* bits */
	UNIV_REASON_ATTR_SURPLUS,	/* detail from << 8 | to, value the surplus IBV_QP_* bits */
	UNIV_REASON_ATTR_VALUE,		/* detail the IBV_QP_* bit, value given, bound highest allowed */
	UNIV_REASON_CUR_STATE,		/* IBV_QP_CUR_STATE is not the state: value given, bound real */
	UNIV_REASON_PORT,		/* no such port: value given, bound ports */
	UNIV_REASON_GID_INDEX,		/* no GID at this index: value index, bound table length */
	UNIV_REASON_PKEY_INDEX,		/* no P_Key at this index: value index, bound table length */
	UNIV_REASON_NO_ROUTE,		/* destination address cannot be resolved */
	UNIV_REASON_NO_GRH,		/* RoCE needs a global route header */
	UNIV_REASON_NOT_MULTICAST,	/* the GID is not a multicast address */
	UNIV_REASON_CQ_SHRINK,		/* more completions wait than would fit: value asked, bound waiting */
	UNIV_REASON_FD,			/* not a completion channel of this context: value fd */
	UNIV_REASON_VECTOR,		/* no such completion vector: value given, bound vectors */
	/* Data path; told in struct univ_cqe.reason and by the library. */
	UNIV_REASON_RING_CORRUPT,	/* ring index out of bounds: value index */
	UNIV_REASON_WR_OPCODE,		/* opcode unknown, or not for this QP type: value opcode */
	UNIV_REASON_WR_SGE,		/* too many scatter/gather entries: value given, bound limit */
	UNIV_REASON_WR_INLINE,		/* inline data too long: value given, bound limit */
	UNIV_REASON_WR_AH,		/* no such address handle, or of another PD: value handle */
	UNIV_REASON_WR_KEY,		/* key not of this process: value key */
	UNIV_REASON_WR_REFUSED,		/* the device refused the request: value its errno */
	UNIV_REASON_QUEUE_FULL,		/* library: value requests outstanding, bound the queue's size */
	UNIV_REASON_POST_STATE,		/* library: the queue pair's state takes no such request: value state */
	UNIV_REASON_NO_MODULE,		/* library: univerbs.ko is not loaded */
	UNIV_REASON_NO_DEVICE,		/* library: no RDMA device */
	UNIV_REASON_NODE_PERMISSION,	/* library: no permission on the node */
	UNIV_REASON_CHANNEL_BUSY,	/* library: completion channel has queues: value how many */
	UNIV_REASON_NOT_OFFERED,	/* library: not implemented by univerbs */
	UNIV_REASON_MW_TYPE,		/* no such type of memory window, or not bound this way: value enum ibv_mw_type; completion: or not to be invalidated */
	UNIV_REASON_XRCD_FILE,		/* no such file, or one that O_CREAT and O_EXCL of the call do not suit: detail enum univ_xrcd_file, value fd */
	UNIV_REASON_XRC_QPN,		/* no XRC receive queue pair in that domain: value number */
	UNIV_REASON_NOT_XRC,		/* library: the shared receive queue has no number */
	UNIV_REASON_SRQ_OF_XRC,		/* the shared receive queue is for XRC alone: value handle */
	UNIV_REASON_KEY_UNKNOWN,	/* completion: no region, or window to be bound, of the queue pair's domain has the key */
	UNIV_REASON_KEY_RANGE,		/* completion: not all of the bytes lie in the key's region */
	UNIV_REASON_KEY_ACCESS,		/* completion: the key's region does not grant the access */
	UNIV_REASON_QP_ACCESS,		/* completion: the peer's qp_access_flags do not allow the operation */
	UNIV_REASON_RECV_SHORT,		/* completion: the message is longer than the receive's memory; library: datagrams of the port were: value how many, bound queue pair */
	UNIV_REASON_FLAGS_MISSING,	/* library: flags that must be added: detail enum univ_flags, value those */
	UNIV_REASON_WR_NOT_ASKED,	/* library: send_ops_flags at creation lack the operation: value opcode */
	UNIV_REASON_WR_DEVICE,		/* library: the device has no such operation: value opcode */
	UNIV_REASON_WR_BATCH,		/* library: only ibv_wr_*(3) has the operation: value opcode */
	UNIV_REASON_ATOMIC,		/* not 8 bytes at a multiple of 8; library: value address, bound length */
	UNIV_REASON_CONTEXT,		/* library: an object of another context: detail enum univ_object_type */
	UNIV_REASON_NO_VERBS,		/* library: the module is loaded and has no node for the device */
	UNIV_REASON_UNACKNOWLEDGED,	/* library: destroying waits: detail enum univ_object_type, value events */
	UNIV_REASON_NOT_ARMED,		/* library: an event is waited for that nothing was armed for */
	UNIV_REASON_UNSIGNALED,		/* library: polled for requests none of which is signaled: value how many, bound queue pair */
	UNIV_REASON_NO_TIMEOUT,		/* library: polled for an answer with a timeout of 0: value how many, bound queue pair */
	UNIV_REASON_LEFT_OBJECTS,	/* library: the context was closed with objects: value how many */
	UNIV_REASON_FORKED,		/* library: the queue is the parent's of this child of fork() */
	UNIV_REASON_DRIVER_UNCHECKED,	/* library: the device has no node, since univerbs does not serve its driver */
	UNIV_REASON_QKEY,		/* library: datagrams of the port had another Q_Key than their receiver: value how many, bound queue pair */
	UNIV_REASON_XRC_SRQN,		/* completion: no shared receive queue of that number in the peer's XRC domain */
	UNIV_REASON_DOMAIN,		/* library: the buffer is of another protection domain */
	UNIV_REASON_COUNT
};

/**
 * enum univ_xrcd_file - what a %UNIV_REASON_XRCD_FILE speaks of
 */
enum univ_xrcd_file {
	UNIV_XRCD_FILE_CLOSED,		/* not open */
	UNIV_XRCD_FILE_NONE,		/* has no domain, and O_CREAT was not given */
	UNIV_XRCD_FILE_EXISTS,		/* has one, and O_EXCL was given */
};

/**
 * enum univ_limit - which quantity a %UNIV_REASON_LIMIT speaks of
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
	UNIV_LIMIT_RINGS,		/* bytes of ring memory; bound: bytes left */
	UNIV_LIMIT_CONTEXTS,		/* told by the library: open said ENFILE */
	UNIV_LIMIT_POLLERS,		/* poller threads */
	UNIV_LIMIT_MW_LENGTH,
	UNIV_LIMIT_COUNT
};

/**
 * enum univ_flags - which word a %UNIV_REASON_FLAGS or a
 *	%UNIV_REASON_FLAGS_MISSING of the library speaks of
 */
enum univ_flags {
	UNIV_FLAGS_NONE,		/* one whose bits have no names here */
	UNIV_FLAGS_QP_MASK,		/* comp_mask of ibv_create_qp_ex(3) */
	UNIV_FLAGS_SRQ_MASK,		/* comp_mask of ibv_create_srq_ex(3) */
	UNIV_FLAGS_CQ_MASK,		/* comp_mask of ibv_create_cq_ex(3) */
	UNIV_FLAGS_XRCD_MASK,		/* comp_mask of ibv_open_xrcd(3) */
	UNIV_FLAGS_OPEN_MASK,		/* comp_mask of ibv_open_qp(3) */
	UNIV_FLAGS_SEND_OPS,		/* send_ops_flags */
	UNIV_FLAGS_WC,			/* wc_flags of ibv_create_cq_ex(3) */
	UNIV_FLAGS_CQ,			/* flags of ibv_create_cq_ex(3) */
	UNIV_FLAGS_REREG,		/* flags of ibv_rereg_mr(3) */
	UNIV_FLAGS_MR_MASK,		/* comp_mask of ibv_reg_mr_ex(3) */
	UNIV_FLAGS_ACCESS,		/* access of ibv_reg_mr(3) */
	UNIV_FLAGS_COUNT
};

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
	UNIV_OBJECT_TYPES
};

/**
 * struct univ_hdr - the head of each ioctl's struct
 * @size: in: bytes of the whole struct as the caller knows it
 * @flags: in: none is known yet; must be zero
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
 * enum univ_feature - what not every device offers
 * @UNIV_FEATURE_WINDOWS: memory windows: %UNIV_MW_ALLOC, and send rings take
 *	%UNIV_WR_BIND_MW and %UNIV_WR_LOCAL_INV
 * @UNIV_FEATURE_XRC: %UNIV_XRCD_OPEN, shared receive queues and queue pairs of
 *	XRC
 * @UNIV_FEATURE_ATOMIC_WRITE: send rings take %UNIV_WR_ATOMIC_WRITE
 */
enum univ_feature {
	UNIV_FEATURE_WINDOWS	= 1 << 0,
	UNIV_FEATURE_XRC	= 1 << 1,
	UNIV_FEATURE_ATOMIC_WRITE = 1 << 2,
};

/**
 * struct univ_context_query - what a context is made of
 * @hdr: head
 * @abi_version: out: %UNIV_ABI_VERSION
 * @num_comp_vectors: out
 * @num_ports: out
 * @features: in: zero; out: enum univ_feature
 * @node_guid: out: network order
 * @doorbell_offset: out: what to mmap (one page, read only) for struct
 *	univ_doorbell
 */
struct univ_context_query {
	struct univ_hdr hdr;
	__u32 abi_version;
	__u32 num_comp_vectors;
	__u32 num_ports;
	__u32 features;
	__aligned_u64 node_guid;
	__aligned_u64 doorbell_offset;
};

/* Longest time that a poller looks at idle rings, in microseconds. */
#define UNIV_POLLER_MAX_IDLE_US 10000000

/**
 * struct univ_poller_start - have a kernel thread look at the context's rings,
 *	so that posting needs no kick while it is awake. It looks after queues
 *	that are made afterwards, and ends with the context. Once there is one,
 *	another call changes @idle_us. EAGAIN: too many (parameter max_pollers
 *	of the module).
 * @hdr: head
 * @idle_us: in: microseconds without a request after which it sleeps, and rings
 *	need a kick again; out: the same, at most %UNIV_POLLER_MAX_IDLE_US
 * @reserved: zero
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
 */
struct univ_device_query {
	struct univ_hdr hdr;
	char fw_ver[64];
	__aligned_u64 node_guid;	/* network order */
	__aligned_u64 sys_image_guid;	/* network order */
	__aligned_u64 max_mr_size;
	__aligned_u64 page_size_cap;
	__aligned_u64 device_cap_flags;
	__aligned_u64 hca_core_clock;	/* kHz */
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
	__u32 atomic_cap;		/* enum ibv_atomic_cap */
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
	__u32 cq_mod_max_period;	/* microseconds */
	__u32 reserved;
};

/**
 * struct univ_port_query - ibv_query_port(3); names and units are those of
 *	struct ibv_port_attr
 * @hdr: head
 * @port_num: in: from 1
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
 * @index: in
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
 * @ndev_ifindex: net device, 0 when there is none
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
 * @index: in
 * @entry: out
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
 * @max: in: entries of that array
 * @count: out: entries written
 */
struct univ_gid_table {
	struct univ_hdr hdr;
	__aligned_u64 entries;
	__u32 max;
	__u32 count;
};

/**
 * struct univ_destroy - destroys an object of the kind that the ioctl names
 * @hdr: head
 * @handle: in
 * @comp_events: out: CQ: completion events that were read from its channel
 * @async_events: out: CQ, SRQ, QP: asynchronous events that were read
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
 * @fd: in: the file whose domain is meant, or -1: a new one without a name
 * @oflags: in: O_CREAT: if it has none it gets one; O_EXCL: only if it has none
 * @handle: out
 * @reserved: zero
 *
 * All who open the domain of one file (of one inode) on one device share it. Only
 * on devices that take rings themselves: %UNIV_FEATURE_XRC.
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
 * @iova: in: address that work requests use
 * @handle: out
 * @lkey: out
 * @rkey: out
 * @reserved: zero
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
};

/**
 * struct univ_mr_rereg - ibv_rereg_mr(3)
 * @hdr: head
 * @handle: in
 * @change: in: enum ibv_rereg_mr_flags
 * @pd: in: handle, with IBV_REREG_MR_CHANGE_PD
 * @access: in: with IBV_REREG_MR_CHANGE_ACCESS
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
 * struct univ_mw_alloc - ibv_alloc_mw(3)
 * @hdr: head
 * @pd: in: handle
 * @type: in: enum ibv_mw_type
 * @handle: out
 * @rkey: out: names the window in requests; its low 8 bits are those of the
 *	latest bind request
 *
 * The window is bound to nothing yet. Only on devices that take rings
 * themselves: %UNIV_FEATURE_WINDOWS.
 */
struct univ_mw_alloc {
	struct univ_hdr hdr;
	__u32 pd;
	__u32 type;
	__u32 handle;
	__u32 rkey;
};

/**
 * struct univ_ah_attr - an address vector; names are those of struct
 *	ibv_ah_attr
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
 * @handle: out: what a datagram's work request names
 * @attr: in
 */
struct univ_ah_create {
	struct univ_hdr hdr;
	__u32 pd;
	__u32 handle;
	struct univ_ah_attr attr;
};

/**
 * struct univ_channel_create - ibv_create_comp_channel(3)
 * @hdr: head
 * @fd: out: read() yields struct univ_event; closing it destroys the channel
 * @reserved: zero
 */
struct univ_channel_create {
	struct univ_hdr hdr;
	__s32 fd;
	__u32 reserved;
};

/**
 * struct univ_ring_map - where a ring lies in a mapping
 * @head_offset: bytes from the start of the mapping to struct univ_ring_head
 * @slot_offset: bytes from the start of the mapping to slot 0
 * @slots: number of slots, a power of two; 0 when there is no such ring
 * @stride: bytes from one slot to the next, a multiple of 64; of receive requests
 *	with one entry 32
 */
struct univ_ring_map {
	__u32 head_offset;
	__u32 slot_offset;
	__u32 slots;
	__u32 stride;
};

enum univ_cq_flags {
	UNIV_CQ_TIMESTAMP	= 1 << 0,	/* fill univ_cqe.timestamp */
	UNIV_CQ_WALLCLOCK	= 1 << 1,	/* fill univ_cqe.wallclock */
};

/**
 * struct univ_cq_create - ibv_create_cq(3)
 * @hdr: head
 * @cqe: in: least number of entries; out: the real one
 * @comp_vector: in
 * @channel_fd: in: completion channel, or -1
 * @cq_flags: in: enum univ_cq_flags
 * @cookie: in: returned in each event
 * @handle: out
 * @reserved: zero
 * @map_offset: out: what to mmap
 * @map_length: out: bytes to mmap
 * @ring: out
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
 * @cqe: in: least number of entries; out: the real one
 * @map_offset: out: what to mmap instead of the former ring
 * @map_length: out
 * @ring: out
 *
 * On success the completions that were not taken yet have been moved to the new
 * ring, whose head starts at 0. The caller must keep other threads from polling
 * across the call. The former mapping stays readable until it is unmapped.
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
 * @count: in: completions to an event
 * @period: in: microseconds
 */
struct univ_cq_moderate {
	struct univ_hdr hdr;
	__u32 handle;
	__u16 count;
	__u16 period;
};

/**
 * struct univ_srq_create - ibv_create_srq(3), ibv_create_srq_ex(3)
 * @hdr: head
 * @pd: in: handle
 * @max_wr: in: least; out: real
 * @max_sge: in: least; out: real
 * @limit: in: srq_limit
 * @cookie: in: returned in each event
 * @handle: out
 * @reserved: zero
 * @map_offset: out
 * @map_length: out
 * @ring: out
 * @srq_type: in: enum ibv_srq_type, basic or XRC; what follows is of XRC alone
 * @cq: in: handle; receives complete there
 * @xrcd: in: handle
 * @srq_num: out: what a peer's requests name it by
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
};

/**
 * struct univ_srq_modify - ibv_modify_srq(3)
 * @hdr: head
 * @handle: in
 * @attr_mask: in: enum ibv_srq_attr_mask; IBV_SRQ_MAX_WR is not offered
 * @max_wr: in: ignored without its bit
 * @limit: in
 */
struct univ_srq_modify {
	struct univ_hdr hdr;
	__u32 handle;
	__u32 attr_mask;
	__u32 max_wr;
	__u32 limit;
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
 * struct univ_qp_create - ibv_create_qp(3)
 * @hdr: head
 * @pd: in: handle
 * @send_cq: in: handle
 * @recv_cq: in: handle
 * @srq: in: handle, 0 for none
 * @qp_type: in: enum ibv_qp_type
 * @sq_sig_all: in: 0 or 1
 * @max_send_wr: in: least; out: real; likewise the four that follow
 * @max_recv_wr: in, out
 * @max_send_sge: in, out
 * @max_recv_sge: in, out
 * @max_inline: in, out: bytes
 * @create_flags: in: none is known yet; must be zero
 * @cookie: in: returned in each event
 * @handle: out
 * @qp_num: out: the device's number
 * @map_offset: out: one mapping for both rings
 * @map_length: out
 * @sq: out
 * @rq: out: slots is 0 with a shared receive queue
 * @xrcd: in: XRC receive: handle, of what the queue pair is built on instead of
 *	@pd, the queues and @srq, which do not count. It has no rings, so
 *	@map_length is 0, and lives until everybody who opened it has destroyed it.
 *	XRC send: @recv_cq and @srq do not count.
 * @reserved: zero
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
};

/**
 * struct univ_qp_open - ibv_open_qp(3): one more handle of an XRC receive queue pair
 * @hdr: head
 * @xrcd: in: handle
 * @qp_num: in
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
 */
struct univ_qp_attr {
	__u32 attr_mask;	/* enum ibv_qp_attr_mask: the fields that count */
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
 * @attr: in
 */
struct univ_qp_modify {
	struct univ_hdr hdr;
	__u32 handle;
	__u32 reserved;
	struct univ_qp_attr attr;
};

/**
 * struct univ_qp_query - ibv_query_qp(3)
 * @hdr: head
 * @handle: in
 * @attr_mask: in: a hint, as in ibv_query_qp(3)
 * @attr: out
 * @max_send_wr: out, as are the four that follow
 * @max_recv_wr: out
 * @max_send_sge: out
 * @max_recv_sge: out
 * @max_inline: out
 * @sq_sig_all: out
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
 * @gid: in
 */
struct univ_mcast {
	struct univ_hdr hdr;
	__u32 qp;
	__u16 lid;
	__u16 reserved;
	__u8 gid[16];
};

/* univ_event.type of a completion channel; others are enum ibv_event_type. */
#define UNIV_EVENT_COMPLETION 0x100

/**
 * struct univ_event - what read() yields
 * @type: %UNIV_EVENT_COMPLETION or enum ibv_event_type
 * @port_num: port events: the port; otherwise 0
 * @cookie: object events: that of the object; otherwise 0
 */
struct univ_event {
	__u32 type;
	__u32 port_num;
	__aligned_u64 cookie;
};

/*
 * The numbers do not encode the struct's size: it grows at its tail, and @size
 * tells which version the caller knows.
 */
#define UNIV_IOCTL_MAGIC 0xb8

#define UNIV_CONTEXT_QUERY	_IO(UNIV_IOCTL_MAGIC, 0x00)	/* struct univ_context_query */
#define UNIV_DEVICE_QUERY	_IO(UNIV_IOCTL_MAGIC, 0x01)	/* struct univ_device_query */
#define UNIV_PORT_QUERY		_IO(UNIV_IOCTL_MAGIC, 0x02)	/* struct univ_port_query */
#define UNIV_PKEY_QUERY		_IO(UNIV_IOCTL_MAGIC, 0x03)	/* struct univ_pkey_query */
#define UNIV_GID_QUERY		_IO(UNIV_IOCTL_MAGIC, 0x04)	/* struct univ_gid_query */
#define UNIV_GID_TABLE		_IO(UNIV_IOCTL_MAGIC, 0x05)	/* struct univ_gid_table */
#define UNIV_POLLER_START	_IO(UNIV_IOCTL_MAGIC, 0x06)	/* struct univ_poller_start */
#define UNIV_PD_ALLOC		_IO(UNIV_IOCTL_MAGIC, 0x10)	/* struct univ_pd_alloc */
#define UNIV_PD_DEALLOC		_IO(UNIV_IOCTL_MAGIC, 0x11)	/* struct univ_destroy */
#define UNIV_XRCD_OPEN		_IO(UNIV_IOCTL_MAGIC, 0x12)	/* struct univ_xrcd_open */
#define UNIV_XRCD_CLOSE		_IO(UNIV_IOCTL_MAGIC, 0x13)	/* struct univ_destroy */
#define UNIV_MR_REG		_IO(UNIV_IOCTL_MAGIC, 0x14)	/* struct univ_mr_reg */
#define UNIV_MR_REREG		_IO(UNIV_IOCTL_MAGIC, 0x15)	/* struct univ_mr_rereg */
#define UNIV_MR_DEREG		_IO(UNIV_IOCTL_MAGIC, 0x16)	/* struct univ_destroy */
#define UNIV_AH_CREATE		_IO(UNIV_IOCTL_MAGIC, 0x18)	/* struct univ_ah_create */
#define UNIV_AH_DESTROY		_IO(UNIV_IOCTL_MAGIC, 0x19)	/* struct univ_destroy */
#define UNIV_MW_ALLOC		_IO(UNIV_IOCTL_MAGIC, 0x1a)	/* struct univ_mw_alloc */
#define UNIV_MW_DEALLOC		_IO(UNIV_IOCTL_MAGIC, 0x1b)	/* struct univ_destroy */
#define UNIV_CHANNEL_CREATE	_IO(UNIV_IOCTL_MAGIC, 0x1c)	/* struct univ_channel_create */
#define UNIV_CQ_CREATE		_IO(UNIV_IOCTL_MAGIC, 0x20)	/* struct univ_cq_create */
#define UNIV_CQ_RESIZE		_IO(UNIV_IOCTL_MAGIC, 0x21)	/* struct univ_cq_resize */
#define UNIV_CQ_MODERATE	_IO(UNIV_IOCTL_MAGIC, 0x22)	/* struct univ_cq_moderate */
#define UNIV_CQ_DESTROY		_IO(UNIV_IOCTL_MAGIC, 0x23)	/* struct univ_destroy */
#define UNIV_SRQ_CREATE		_IO(UNIV_IOCTL_MAGIC, 0x28)	/* struct univ_srq_create */
#define UNIV_SRQ_MODIFY		_IO(UNIV_IOCTL_MAGIC, 0x29)	/* struct univ_srq_modify */
#define UNIV_SRQ_QUERY		_IO(UNIV_IOCTL_MAGIC, 0x2a)	/* struct univ_srq_query */
#define UNIV_SRQ_DESTROY	_IO(UNIV_IOCTL_MAGIC, 0x2b)	/* struct univ_destroy */
#define UNIV_QP_CREATE		_IO(UNIV_IOCTL_MAGIC, 0x30)	/* struct univ_qp_create */
#define UNIV_QP_MODIFY		_IO(UNIV_IOCTL_MAGIC, 0x31)	/* struct univ_qp_modify */
#define UNIV_QP_QUERY		_IO(UNIV_IOCTL_MAGIC, 0x32)	/* struct univ_qp_query */
#define UNIV_QP_DESTROY		_IO(UNIV_IOCTL_MAGIC, 0x33)	/* struct univ_destroy */
#define UNIV_QP_OPEN		_IO(UNIV_IOCTL_MAGIC, 0x34)	/* struct univ_qp_open */
#define UNIV_MCAST_ATTACH	_IO(UNIV_IOCTL_MAGIC, 0x38)	/* struct univ_mcast */
#define UNIV_MCAST_DETACH	_IO(UNIV_IOCTL_MAGIC, 0x39)	/* struct univ_mcast */

/*
 * UNIV_KICK tells the kernel that a ring holds new requests. Its argument is
 * no struct, because it is the one call on the data path: the handle of a queue
 * pair or shared receive queue, or'ed with which of its rings is meant. It
 * fails with EINVAL for a handle of another kind, ENODEV after removal.
 */
#define UNIV_KICK		_IO(UNIV_IOCTL_MAGIC, 0x3f)
#define UNIV_KICK_SEND		(1u << 30)
#define UNIV_KICK_RECV		(1u << 31)
#define UNIV_KICK_HANDLE	((1u << 24) - 1)

#endif
