/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The room of devices: the list of devices, their counters and tracepoints,
 * faults on request, and the policy which namespaces communicate without
 * packets. The room knows network devices and packets. It does not know queue
 * pairs, memory or verbs: the per-device data of those rooms is opaque here.
 */
#ifndef UROCE_DEV_H
#define UROCE_DEV_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/rhashtable.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_verbs.h>

#include "fault.h"
#include "lines.h"
#include "stats.h"
#include "trace.h"

struct uroce_mr_table;
struct uroce_qp;

#define UROCE_MAX_SGE		32
#define UROCE_MAX_INLINE	1024
/*
 * Bytes of a TSO request. With the longest headers the packet is still shorter
 * than 64 KiB, which is the limit of IPv4 and of many net devices.
 */
#define UROCE_MAX_TSO		65280
#define UROCE_MAX_WR		16384
#define UROCE_MAX_CQE		(1 << 20)
#define UROCE_MAX_RD_ATOMIC	128
/* The length of the P_Key table of a device. */
#define UROCE_PKEYS		16

/**
 * struct uroce_move - the removal of a device by its netdev
 * @work: see control/move.c
 * @netdev: referenced, if the device is to be created on it again; else NULL
 * @tracker: of that reference
 * @removed: @work has removed the device, and no other thread
 */
struct uroce_move {
	struct work_struct work;
	struct net_device *netdev;
	netdevice_tracker tracker;
	bool removed;
};

/**
 * struct uroce_dev - a device
 * @ib: first member
 * @link: entry in uroce_devices, under RCU
 * @in_net: entry among the devices that have joined the same namespace, under
 *	RCU
 * @id: identifies the device; never reused. 0 stands for no device.
 * @netdev: the network device that sends and receives the packets; valid while
 *	the RDMA device is registered
 * @net: network namespace that the device has joined; NULL after @netdev has
 *	left it
 * @gone: @netdev has left its namespace, or is about to. A reader that finds
 *	this clear in an RCU read section may use dev_net(@netdev) until the
 *	section ends. Written under groups_lock.
 * @move: removes the device when @gone was set by the end of @netdev or by its
 *	departure
 * @gsi: queue pair 1, under RCU
 * @mrs_lock: protects @mrs and changes of @table
 * @mrs: allocates the indices that the keys of regions and windows contain
 * @table: regions by index, under RCU
 * @mws: memory windows by index, under RCU
 * @bound_lock: protects uroce_qp.windows
 * @groups_lock: protects changes of @groups and @group_count, and the multicast
 *	addresses of @netdev
 * @groups: members of multicast groups, under RCU
 * @group_count: number of groups that have a member
 * @flows_lock: protects changes of @flows, @egress, @flow_count and @tap
 * @flows: flows of received raw packets (raw/flow.c), under RCU
 * @egress: flows of raw packets that are sent, likewise
 * @flow_count: number of all flows
 * @tap: receives the frames of @netdev while there are flows in @flows
 * @delayed: memory of the frames that wait for receive requests (raw/delay.c)
 * @counters: counters of each processor, by enum uroce_counter
 * @qkey_violations: one counter for all processors, since each query of the
 *	port reports it
 * @pkey_violations: likewise
 * @held: bytes of packets that responders hold behind gaps
 * @pkeys: P_Key table; 0 is an empty entry. Requests over netlink write it
 * @changes: bits of enum uroce_change that the RDMA core is to be told
 * @tell: does so
 * @faults: faults on request
 * @mirror: packet sockets on @netdev see the messages that travel without
 *	packets
 */
struct uroce_dev {
	struct ib_device ib;

	/* Read for each message. */
	struct list_head link ____cacheline_aligned_in_smp;
	struct hlist_node in_net;
	u64 id;
	struct net_device *netdev;
	struct net *net;
	struct uroce_mr_table __rcu *table;
	u64 __percpu *counters;
	struct uroce_qp __rcu *gsi;
	bool gone;
	bool mirror;
	u16 pkeys[UROCE_PKEYS];
	struct list_head flows;
	struct list_head egress;
	/* Joining a group writes to it, mostly behind its first line. */
	struct rhltable groups;

	/* Written by calls. */
	struct mutex mrs_lock ____cacheline_aligned_in_smp;
	struct xarray mrs;
	struct mutex groups_lock;
	u32 group_count;
	struct mutex flows_lock;
	u32 flow_count;
	struct packet_type tap;
	struct uroce_move move;
	struct work_struct tell;
	unsigned long changes;
	struct uroce_faults faults;

	/* Read for each message that names a window. */
	struct xarray mws ____cacheline_aligned_in_smp;

	/* Written for messages. */
	spinlock_t bound_lock ____cacheline_aligned_in_smp;
	atomic_t delayed;
	atomic_t qkey_violations;
	atomic_t pkey_violations;
	atomic_t held;
};

univ_other_line(struct uroce_dev, table, mrs_lock);
univ_other_line(struct uroce_dev, egress, mrs_lock);
univ_other_line(struct uroce_dev, mws, faults);
univ_other_line(struct uroce_dev, mws, bound_lock);

/*
 * The device sends nothing: its port is held down, or @netdev has left its
 * namespace.
 */
static inline bool uroce_is_silent(struct uroce_dev *dev)
{
	return unlikely(READ_ONCE(dev->gone)) || uroce_port_is_down(dev);
}

static inline struct uroce_dev *to_udev(struct ib_device *ib)
{
	return container_of(ib, struct uroce_dev, ib);
}

/* stats.c */
const char *uroce_counter_name(enum uroce_counter what);
struct rdma_hw_stats *uroce_stats_alloc(struct ib_device *ib, u32 port);
int uroce_stats_get(struct ib_device *ib, struct rdma_hw_stats *stats, u32 port,
		    int index);

static inline void uroce_count_many(struct uroce_dev *dev,
				    enum uroce_counter what, u32 n)
{
	this_cpu_add(dev->counters[what], n);
}

static inline void uroce_count(struct uroce_dev *dev, enum uroce_counter what)
{
	uroce_count_many(dev, what, 1);
}

/*
 * device.c: the list of devices. Look-ups run under RCU and return NULL if
 * there is no such device.
 */
/* Under RCU, in ascending order of @id. */
extern struct list_head uroce_devices;
bool uroce_dev_add(struct uroce_dev *dev);
void uroce_dev_remove(struct uroce_dev *dev);
struct uroce_dev *uroce_dev_by_id(u64 id);
struct uroce_dev *uroce_dev_by_netdev(const struct net_device *netdev);
/* See uroce_net_ops.next_listener. */
struct uroce_dev *uroce_next_listener(struct net_device *netdev,
				      struct uroce_dev *last);
/* The device of a namespace that has this address. */
struct uroce_dev *uroce_dev_by_gid(struct net *net, const union ib_gid *gid);
/*
 * The device that has this address in a namespace that @net may reach without
 * packets.
 */
struct uroce_dev *uroce_dev_across(struct net *net, const union ib_gid *gid);

/*
 * The VLAN of an address of the device, as the RDMA core compares it, or
 * UROCE_NO_VLAN. Several net devices may have the same link-local address;
 * the one with @ifindex is preferred.
 */
#define UROCE_NO_VLAN 0xffff
u16 uroce_dev_vlan(struct uroce_dev *dev, const union ib_gid *gid, int ifindex);

/*
 * The MTU of the port. It follows the netdev's, which may change at any time.
 */
static inline enum ib_mtu uroce_port_mtu(const struct uroce_dev *dev)
{
	enum ib_mtu mtu = iboe_get_mtu(READ_ONCE(dev->netdev->mtu));

	/* The netdev's MTU may be too small even for IB_MTU_256. */
	return mtu ?: IB_MTU_256;
}

/* Changes of which uroce_dev_changed() tells the RDMA core. */
enum uroce_change {
	UROCE_CHANGE_PORT,
	UROCE_CHANGE_PKEYS,
};

/* device.c: the port, and changes on request. */
void uroce_dev_prepare(struct uroce_dev *dev);
void uroce_dev_changed(struct uroce_dev *dev, enum uroce_change what);
bool uroce_port_up(struct uroce_dev *dev);
void uroce_port_event(struct uroce_dev *dev);

/* policy.c: may two namespaces communicate without packets? Context: RCU. */
bool uroce_policy_across(const struct net *a, const struct net *b);
int uroce_policy_init(void);
void uroce_policy_exit(void);

#endif
