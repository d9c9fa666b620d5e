// SPDX-License-Identifier: GPL-2.0
/* Faults on request. See fault.h. */
#include <linux/debugfs.h>
#include <linux/jhash.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <net/xfrm.h>

#include "../net/net.h"
#include "dev.h"

#define DELAY_US	1000
#define HELD_MAX	4096
/* Memory of all packets that are delayed on this host. */
#define HELD_BYTES	(64 << 20)

/*
 * The timer function delivers this number at once. Then it lets other work of
 * the processor run: packets may arrive as fast as it delivers them.
 */
#define HELD_TURN	64
#define HELD_PAUSE_US	50

DEFINE_STATIC_KEY_DEFERRED_FALSE(uroce_faults_on, HZ);

static DEFINE_MUTEX(knobs_lock);	/* protects all values, and the key */
static struct dentry *root;
static atomic_t held_bytes;

static const struct {
	const char *name;
	enum uroce_counter counter;
} kinds[UROCE_FAULTS] = {
	[UROCE_FAULT_DROP] = { "drop", UROCE_CNT_FAULT_DROP },
	[UROCE_FAULT_DUPLICATE] = { "duplicate", UROCE_CNT_FAULT_DUPLICATE },
	[UROCE_FAULT_CORRUPT] = { "corrupt", UROCE_CNT_FAULT_CORRUPT },
	[UROCE_FAULT_DELAY] = { "delay", UROCE_CNT_FAULT_DELAY },
	[UROCE_FAULT_RNR] = { "rnr", UROCE_CNT_FAULT_RNR },
	[UROCE_FAULT_REMOTE] = { "remote_error", UROCE_CNT_FAULT_REMOTE },
	[UROCE_FAULT_COMPLETION] = { "completion_error",
				     UROCE_CNT_FAULT_COMPLETION },
};

/* ---- cases --------------------------------------------------------------- */

/* With a seed, the same cases are selected each time. */
static bool selected(const struct uroce_faults *f, enum uroce_fault what,
		     u64 number, u32 rate)
{
	u32 seed = READ_ONCE(f->seed);
	u32 value = seed ? jhash_3words(lower_32_bits(number), what,
					upper_32_bits(number), seed) :
			   get_random_u32();

	return reciprocal_scale(value, UROCE_FAULT_MAX_PPM) < rate;
}

/*
 * Without a lock: a case that comes while the rule is changed follows the old
 * rule, the new one, or a mixture of both.
 */
bool uroce_fault_roll(struct uroce_dev *dev, u32 qpn, enum uroce_fault what)
{
	struct uroce_faults *f = &dev->faults;
	struct uroce_fault_rule *rule = &f->rule[what];
	u32 rate = READ_ONCE(rule->rate), last = READ_ONCE(rule->at.last);
	u32 only = READ_ONCE(f->qpn);
	u64 number;

	if ((!rate && !last) || (only && only != qpn))
		return false;
	number = atomic64_inc_return(&rule->cases);
	if (last ? number < READ_ONCE(rule->at.first) || number > last :
		   !selected(f, what, number, rate))
		return false;
	uroce_count(dev, kinds[what].counter);
	return true;
}

/* Takes no lock, like uroce_fault_roll(). */
int uroce_fault_call(struct uroce_dev *dev, enum uroce_verb verb)
{
	struct uroce_verb_rule *rule = &dev->faults.verb;
	u32 which = READ_ONCE(rule->verb), at = READ_ONCE(rule->at);
	u64 number;

	if (which != UROCE_VERB_ANY && which != verb)
		return 0;
	number = atomic64_inc_return(&rule->calls);
	if (at && number != at)
		return 0;
	uroce_count(dev, UROCE_CNT_FAULT_VERB);
	return -(int)READ_ONCE(rule->error);
}

u32 uroce_fault_status(struct uroce_dev *dev)
{
	return READ_ONCE(dev->faults.status);
}

/* Whether a packet of the device may have a fault. */
bool uroce_fault_any(const struct uroce_dev *dev)
{
	const struct uroce_faults *f = &dev->faults;
	int i;

	for (i = 0; i < UROCE_FAULTS; i++)
		if (READ_ONCE(f->rule[i].rate) ||
		    READ_ONCE(f->rule[i].at.last))
			return true;
	return READ_ONCE(f->down);
}

bool uroce_fault_down(struct uroce_dev *dev)
{
	return READ_ONCE(dev->faults.down);
}

u64 uroce_fault_delay_ns(struct uroce_dev *dev)
{
	return (u64)READ_ONCE(dev->faults.delay_us) * NSEC_PER_USEC;
}

/* ---- delayed packets ----------------------------------------------------- */

/*
 * The part of struct uroce_packet that parsing the packet again does not yield.
 */
struct held_cb {
	struct in6_addr src;
	struct in6_addr dst;
	ktime_t due;
	int link;
	u16 start;		/* offset of the base transport header */
	bool ce;
};

static struct held_cb *held_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct held_cb) > sizeof(skb->cb));
	return (struct held_cb *)skb->cb;
}

/*
 * A delayed packet has no socket, and its sender has sent it, so no process is
 * charged for it. Returns false if the host has no room for another one.
 */
static bool held_charge(const struct sk_buff *skb)
{
	if (atomic_add_return(skb->truesize, &held_bytes) <= HELD_BYTES)
		return true;
	atomic_sub(skb->truesize, &held_bytes);
	return false;
}

/* Returns false if the packet cannot be kept. It is not delayed then. */
static bool hold(struct uroce_dev *dev, const struct uroce_packet *pkt)
{
	struct uroce_faults *f = &dev->faults;
	struct sk_buff *skb;
	struct held_cb *cb;
	ktime_t due;

	if (skb_queue_len_lockless(&f->held) >= HELD_MAX)
		return false;
	skb = skb_clone(pkt->skb, GFP_ATOMIC);
	if (!skb)
		return false;
	if (!held_charge(skb)) {
		kfree_skb(skb);
		return false;
	}
	/*
	 * A packet that came by lo has a route. The end of its network
	 * namespace waits for it, and for an entry of connection tracking.
	 */
	skb_dst_drop(skb);
	nf_reset_ct(skb);
	secpath_reset(skb);
	cb = held_cb(skb);
	cb->src = pkt->src;
	cb->dst = pkt->dst;
	cb->link = pkt->link;
	cb->ce = pkt->ce;
	cb->start = (u8 *)pkt->bth - pkt->skb->data;
	due = ktime_add_ns(ktime_get(), uroce_fault_delay_ns(dev));
	cb->due = due;
	/* From here on the timer function may free the packet. */
	skb_queue_tail(&f->held, skb);
	/*
	 * Either the timer function sees the packet, or this thread sees that
	 * the timer is not queued.
	 */
	smp_mb();
	if (!hrtimer_is_queued(&f->timer))
		hrtimer_start(&f->timer, due, HRTIMER_MODE_ABS_SOFT);
	return true;
}

/* Delivers a clone, because the receiver may put the packet into a queue. */
static void deliver_copy(struct uroce_dev *dev, const struct uroce_packet *pkt)
{
	struct uroce_packet copy = *pkt;

	copy.skb = skb_clone(pkt->skb, GFP_ATOMIC);
	if (!copy.skb)
		return;
	uroce_net_deliver(dev, &copy);
	consume_skb(copy.skb);
}

static void deliver_late(struct uroce_dev *dev, struct sk_buff *skb)
{
	struct uroce_packet pkt = {
		.skb = skb,
		.src = held_cb(skb)->src,
		.dst = held_cb(skb)->dst,
		.link = held_cb(skb)->link,
		.ce = held_cb(skb)->ce,
	};

	rcu_read_lock();
	if (uroce_packet_parse(&pkt, held_cb(skb)->start))
		uroce_net_deliver(dev, &pkt);
	rcu_read_unlock();
	consume_skb(skb);
}

static enum hrtimer_restart held_timer(struct hrtimer *timer)
{
	struct uroce_dev *dev = container_of(timer, struct uroce_dev,
					     faults.timer);
	int left = HELD_TURN;
	struct sk_buff *skb;
	ktime_t due;

	while ((skb = skb_dequeue(&dev->faults.held))) {
		due = left ? held_cb(skb)->due :
			     ktime_add_us(ktime_get(), HELD_PAUSE_US);
		if (!left || ktime_after(due, ktime_get())) {
			skb_queue_head(&dev->faults.held, skb);
			hrtimer_start(timer, due, HRTIMER_MODE_ABS_SOFT);
			break;
		}
		left--;
		atomic_sub(skb->truesize, &held_bytes);
		deliver_late(dev, skb);
	}
	return HRTIMER_NORESTART;
}

bool uroce_fault_arriving(struct uroce_dev *dev, const struct uroce_packet *pkt)
{
	u32 qpn = uroce_bth_qpn(pkt->bth);

	if (uroce_fault_down(dev) ||
	    uroce_fault_roll(dev, qpn, UROCE_FAULT_DROP))
		return true;
	/* A packet with a wrong checksum is counted and dropped. */
	if (uroce_fault_roll(dev, qpn, UROCE_FAULT_CORRUPT)) {
		uroce_count(dev, UROCE_CNT_DAMAGED);
		return true;
	}
	if (uroce_fault_roll(dev, qpn, UROCE_FAULT_DUPLICATE))
		deliver_copy(dev, pkt);
	return uroce_fault_roll(dev, qpn, UROCE_FAULT_DELAY) && hold(dev, pkt);
}

/* ---- values -------------------------------------------------------------- */

/* Context: knobs_lock */
static void key_count(bool was, bool is)
{
	if (is && !was)
		static_branch_inc(&uroce_faults_on.key);
	if (was && !is)
		static_branch_slow_dec_deferred(&uroce_faults_on);
}

static bool rule_is_set(const struct uroce_fault_rule *rule)
{
	return rule->rate || rule->at.last;
}

static void rule_change(struct uroce_fault_rule *rule, u32 rate,
			struct uroce_fault_at at)
{
	bool was;

	mutex_lock(&knobs_lock);
	was = rule_is_set(rule);
	WRITE_ONCE(rule->rate, rate);
	WRITE_ONCE(rule->at.first, at.first);
	WRITE_ONCE(rule->at.last, at.last);
	atomic64_set(&rule->cases, 0);
	key_count(was, rule_is_set(rule));
	mutex_unlock(&knobs_lock);
}

void uroce_fault_set_rule(struct uroce_dev *dev, enum uroce_fault what,
			  u32 rate, struct uroce_fault_at at)
{
	rule_change(&dev->faults.rule[what], rate, at);
}

void uroce_fault_set_verb(struct uroce_dev *dev, u32 verb, u32 at, u32 error)
{
	struct uroce_verb_rule *rule = &dev->faults.verb;

	mutex_lock(&knobs_lock);
	key_count(rule->verb, verb);
	WRITE_ONCE(rule->at, at);
	WRITE_ONCE(rule->error, error);
	atomic64_set(&rule->calls, 0);
	WRITE_ONCE(rule->verb, verb);
	mutex_unlock(&knobs_lock);
}

void uroce_fault_set_seed(struct uroce_dev *dev, u32 seed)
{
	int i;

	mutex_lock(&knobs_lock);
	WRITE_ONCE(dev->faults.seed, seed);
	for (i = 0; i < UROCE_FAULTS; i++)
		atomic64_set(&dev->faults.rule[i].cases, 0);
	mutex_unlock(&knobs_lock);
}

void uroce_fault_set_down(struct uroce_dev *dev, bool down)
{
	bool changes;

	mutex_lock(&knobs_lock);
	changes = dev->faults.down != down;
	key_count(dev->faults.down, down);
	WRITE_ONCE(dev->faults.down, down);
	mutex_unlock(&knobs_lock);
	if (changes && down)
		uroce_count(dev, UROCE_CNT_FAULT_PORT_DOWN);
	if (changes)
		uroce_dev_changed(dev, UROCE_CHANGE_PORT);
}

static int rate_get(void *data, u64 *val)
{
	struct uroce_fault_rule *rule = data;

	*val = READ_ONCE(rule->rate);
	return 0;
}

static int rate_set(void *data, u64 val)
{
	if (val > UROCE_FAULT_MAX_PPM)
		return -EINVAL;
	rule_change(data, val, (struct uroce_fault_at){});
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(rate_fops, rate_get, rate_set, "%llu\n");

static int delay_get(void *data, u64 *val)
{
	*val = READ_ONCE(*(u32 *)data);
	return 0;
}

static int delay_set(void *data, u64 val)
{
	if (val > UROCE_FAULT_MAX_DELAY_US)
		return -EINVAL;
	WRITE_ONCE(*(u32 *)data, val);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(delay_fops, delay_get, delay_set, "%llu\n");

static int down_get(void *data, u64 *val)
{
	*val = uroce_fault_down(data);
	return 0;
}

static int down_set(void *data, u64 val)
{
	struct uroce_dev *dev = data;

	if (val > 1)
		return -EINVAL;
	if (!ib_device_try_get(&dev->ib))
		return -ENODEV;
	uroce_fault_set_down(dev, val);
	ib_device_put(&dev->ib);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(down_fops, down_get, down_set, "%llu\n");

/* ---- life of a device ---------------------------------------------------- */

void uroce_fault_prepare(struct uroce_dev *dev)
{
	struct uroce_faults *f = &dev->faults;

	f->delay_us = DELAY_US;
	f->status = IB_WC_GENERAL_ERR;
	skb_queue_head_init(&f->held);
	hrtimer_setup(&f->timer, held_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
}

/* The device has its name already. A kernel without debugfs has no files. */
void uroce_fault_add(struct uroce_dev *dev)
{
	struct uroce_faults *f = &dev->faults;
	char name[32];
	int i;

	f->dir = debugfs_create_dir(dev_name(&dev->ib.dev), root);
	for (i = 0; i < UROCE_FAULTS; i++) {
		snprintf(name, sizeof(name), "%s_ppm", kinds[i].name);
		debugfs_create_file_unsafe(name, 0600, f->dir, &f->rule[i],
					   &rate_fops);
	}
	debugfs_create_file_unsafe("delay_us", 0600, f->dir, &f->delay_us,
				   &delay_fops);
	debugfs_create_file_unsafe("port_down", 0600, f->dir, dev, &down_fops);
}

/*
 * No packet arrives any more. After the files were removed, no value changes.
 */
void uroce_fault_remove(struct uroce_dev *dev)
{
	struct uroce_faults *f = &dev->faults;
	struct sk_buff *skb;
	int i;

	debugfs_remove_recursive(f->dir);
	mutex_lock(&knobs_lock);
	for (i = 0; i < UROCE_FAULTS; i++)
		key_count(rule_is_set(&f->rule[i]), false);
	key_count(f->verb.verb, false);
	key_count(f->down, false);
	mutex_unlock(&knobs_lock);
	hrtimer_cancel(&f->timer);
	while ((skb = skb_dequeue(&f->held))) {
		atomic_sub(skb->truesize, &held_bytes);
		kfree_skb(skb);
	}
}

void uroce_fault_init(void)
{
	root = debugfs_create_dir("uroce", NULL);
}

void uroce_fault_exit(void)
{
	debugfs_remove_recursive(root);
	static_key_deferred_flush(&uroce_faults_on);
}
