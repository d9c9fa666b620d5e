/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Faults on request, to test applications. Netlink (control/fault_nl.c) sets
 * them; debugfs has a file for each rate. While no device has a fault, each
 * place that may inject one costs a branch that is patched out.
 *
 * Faults act on a packet on arrival, after its checksum was found correct: they
 * imitate the network between the two hosts.
 */
#ifndef UROCE_FAULT_H
#define UROCE_FAULT_H

#include <linux/atomic.h>
#include <linux/hrtimer.h>
#include <linux/jump_label_ratelimit.h>
#include <linux/skbuff.h>

#include "uroce_fault.h"

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
 * struct uroce_fault_rule - when a fault of one kind happens
 * @rate: at random, in this many of a million cases
 * @at: in the cases with these numbers; @at.last is 0 if there are none. A rule
 *	has either a rate or numbers.
 * @cases: cases since the rule or the seed was set
 */
struct uroce_fault_rule {
	u32 rate;
	struct uroce_fault_at at;
	atomic64_t cases;
};

/**
 * struct uroce_verb_rule - when a verb fails
 * @verb: enum uroce_verb; %UROCE_VERB_NONE for never
 * @at: in the call with this number, or 0 for each call
 * @error: errno of the failure
 * @calls: calls since the rule was set
 */
struct uroce_verb_rule {
	u32 verb;
	u32 at;
	u32 error;
	atomic64_t calls;
};

/**
 * struct uroce_faults - the faults of a device
 * @rule: by enum uroce_fault
 * @verb: failures of verbs
 * @qpn: only this queue pair has cases; 0 for all
 * @seed: decides which cases a rate selects; 0 for the kernel's random numbers
 * @status: of completions in error, enum ib_wc_status
 * @delay_us: length of a delay
 * @down: the port is held down
 * @dir: folder in debugfs
 * @held: delayed packets, in order of arrival
 * @timer: delivers the first packet of @held
 */
struct uroce_faults {
	struct uroce_fault_rule rule[UROCE_FAULTS];
	struct uroce_verb_rule verb;
	u32 qpn;
	u32 seed;
	u32 status;
	u32 delay_us;
	bool down;
	struct dentry *dir;
	struct sk_buff_head held;
	struct hrtimer timer;
};

/*
 * A device has faults. When the last one goes the key stays for a second, so
 * that a process that sets and clears a fault again and again does not patch
 * the kernel's text each time.
 */
extern struct static_key_false_deferred uroce_faults_on;

bool uroce_fault_roll(struct uroce_dev *dev, u32 qpn, enum uroce_fault what);
bool uroce_fault_any(const struct uroce_dev *dev);
bool uroce_fault_down(struct uroce_dev *dev);
bool uroce_fault_arriving(struct uroce_dev *dev,
			  const struct uroce_packet *pkt);
u64 uroce_fault_delay_ns(struct uroce_dev *dev);
u32 uroce_fault_status(struct uroce_dev *dev);
int uroce_fault_call(struct uroce_dev *dev, enum uroce_verb verb);

/*
 * Returns whether the fault happens in this case, which is one of queue pair
 * @qpn of @dev. The fault is then counted.
 */
static inline bool uroce_fault(struct uroce_dev *dev, u32 qpn,
			       enum uroce_fault what)
{
	return static_branch_unlikely(&uroce_faults_on.key) &&
	       uroce_fault_roll(dev, qpn, what);
}

/* Returns whether the port is held down. */
static inline bool uroce_port_is_down(struct uroce_dev *dev)
{
	return static_branch_unlikely(&uroce_faults_on.key) &&
	       uroce_fault_down(dev);
}

/* Returns whether packets of the device are to arrive one by one. */
static inline bool uroce_fault_singly(const struct uroce_dev *dev)
{
	return static_branch_unlikely(&uroce_faults_on.key) &&
	       uroce_fault_any(dev);
}

/* Injects the faults of an arriving packet; true if it must be ignored. */
static inline bool uroce_fault_packet(struct uroce_dev *dev,
				      const struct uroce_packet *pkt)
{
	return static_branch_unlikely(&uroce_faults_on.key) &&
	       uroce_fault_arriving(dev, pkt);
}

/* Returns the errno with which this call of a verb fails, or 0. */
static inline int uroce_fault_verb(struct uroce_dev *dev, enum uroce_verb verb)
{
	return static_branch_unlikely(&uroce_faults_on.key) ?
		       uroce_fault_call(dev, verb) :
		       0;
}

/*
 * The values are in range (fault_nl.c). Context: the device is held; may sleep.
 */
void uroce_fault_set_rule(struct uroce_dev *dev, enum uroce_fault what,
			  u32 rate, struct uroce_fault_at at);
void uroce_fault_set_verb(struct uroce_dev *dev, u32 verb, u32 at, u32 error);
void uroce_fault_set_seed(struct uroce_dev *dev, u32 seed);
void uroce_fault_set_down(struct uroce_dev *dev, bool down);

void uroce_fault_prepare(struct uroce_dev *dev);
void uroce_fault_add(struct uroce_dev *dev);
void uroce_fault_remove(struct uroce_dev *dev);
void uroce_fault_init(void);
void uroce_fault_exit(void);

#endif
