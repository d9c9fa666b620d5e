/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Faults on request, for people who test applications: each device has a folder
 * in debugfs with a rate for each kind, and the same over netlink (fault_nl.c). While all rates of all devices are 0,
 * and no port is held down, a fault costs one branch that is patched out.
 *
 * Packets suffer on arrival, after their checksum was found right: what the
 * network could have done to them on the way.
 */
#ifndef UROCE_FAULT_H
#define UROCE_FAULT_H

#include <linux/hrtimer.h>
#include <linux/jump_label.h>
#include <linux/skbuff.h>

struct dentry;
struct uroce_dev;
struct uroce_packet;

enum uroce_fault {
	UROCE_FAULT_DROP,
	UROCE_FAULT_DUPLICATE,
	UROCE_FAULT_CORRUPT,
	UROCE_FAULT_DELAY,
	UROCE_FAULT_RNR,
	UROCE_FAULT_REMOTE,
	UROCE_FAULT_COMPLETION,
	UROCE_FAULTS
};

/**
 * struct uroce_faults - what is done to a device
 * @rate: how many of a million, by enum uroce_fault
 * @delay_us: how long a delay is
 * @down: the port is held down
 * @dir: folder in debugfs
 * @held: packets that are delayed, in the order in which they came
 * @timer: looks for the first of @held
 */
struct uroce_faults {
	u32 rate[UROCE_FAULTS];
	u32 delay_us;
	bool down;
	struct dentry *dir;
	struct sk_buff_head held;
	struct hrtimer timer;
};

DECLARE_STATIC_KEY_FALSE(uroce_faults_on);

bool uroce_fault_roll(struct uroce_dev *dev, enum uroce_fault what);
bool uroce_fault_down(struct uroce_dev *dev);
bool uroce_fault_arriving(struct uroce_dev *dev, const struct uroce_packet *pkt);
u64 uroce_fault_delay_ns(struct uroce_dev *dev);

/* Whether the fault is to happen now; it is counted then */
static inline bool uroce_fault(struct uroce_dev *dev, enum uroce_fault what)
{
	return static_branch_unlikely(&uroce_faults_on) &&
	       uroce_fault_roll(dev, what);
}

/* Whether the port is held down */
static inline bool uroce_port_is_down(struct uroce_dev *dev)
{
	return static_branch_unlikely(&uroce_faults_on) && uroce_fault_down(dev);
}

/* Any fault of a packet that came in; true if it is not to be looked at */
static inline bool uroce_fault_packet(struct uroce_dev *dev,
				      const struct uroce_packet *pkt)
{
	return static_branch_unlikely(&uroce_faults_on) &&
	       uroce_fault_arriving(dev, pkt);
}

void uroce_fault_set_rate(struct uroce_dev *dev, enum uroce_fault what, u32 rate);
void uroce_fault_set_delay(struct uroce_dev *dev, u32 delay_us);
void uroce_fault_set_down(struct uroce_dev *dev, bool down);

void uroce_fault_prepare(struct uroce_dev *dev);
void uroce_fault_add(struct uroce_dev *dev);
void uroce_fault_remove(struct uroce_dev *dev);
void uroce_fault_init(void);
void uroce_fault_exit(void);

#endif
