// SPDX-License-Identifier: GPL-2.0
/* See fault.h. */
#include <linux/debugfs.h>
#include <linux/mutex.h>
#include <linux/random.h>

#include "uroce_fault.h"
#include "../net/net.h"
#include "dev.h"

#define DELAY_US	1000
#define HELD_MAX	4096

DEFINE_STATIC_KEY_FALSE(uroce_faults_on);

static DEFINE_MUTEX(knobs_lock);	/* rates, down, and the key */
static struct dentry *root;

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

/* ---- when they happen --------------------------------------------------------- */

bool uroce_fault_roll(struct uroce_dev *dev, enum uroce_fault what)
{
	u32 rate = READ_ONCE(dev->faults.rate[what]);

	if (!rate || reciprocal_scale(get_random_u32(), UROCE_FAULT_MAX_PPM) >= rate)
		return false;
	uroce_count(dev, kinds[what].counter);
	return true;
}

bool uroce_fault_down(struct uroce_dev *dev)
{
	return READ_ONCE(dev->faults.down);
}

u64 uroce_fault_delay_ns(struct uroce_dev *dev)
{
	return (u64)READ_ONCE(dev->faults.delay_us) * NSEC_PER_USEC;
}

/* ---- packets that wait -------------------------------------------------------- */

/* What parsing a packet again does not tell */
struct held_cb {
	struct in6_addr src;
	struct in6_addr dst;
	ktime_t due;
	u32 start;		/* of the base transport header */
	bool ce;
};

static struct held_cb *held_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct held_cb) > sizeof(skb->cb));
	return (struct held_cb *)skb->cb;
}

/* False when it could not be kept: then it is not delayed */
static bool hold(struct uroce_dev *dev, const struct uroce_packet *pkt)
{
	struct uroce_faults *f = &dev->faults;
	struct sk_buff *skb;
	struct held_cb *cb;

	if (skb_queue_len_lockless(&f->held) >= HELD_MAX)
		return false;
	skb = skb_clone(pkt->skb, GFP_ATOMIC);
	if (!skb)
		return false;
	/* A packet that came by lo has a route, which must not outlive its namespace */
	skb_dst_drop(skb);
	cb = held_cb(skb);
	cb->src = pkt->src;
	cb->dst = pkt->dst;
	cb->ce = pkt->ce;
	cb->start = (u8 *)pkt->bth - pkt->skb->data;
	cb->due = ktime_add_ns(ktime_get(), uroce_fault_delay_ns(dev));
	skb_queue_tail(&f->held, skb);
	/* Either the timer is yet to look, or we see that it is not queued */
	smp_mb();
	if (!hrtimer_is_queued(&f->timer))
		hrtimer_start(&f->timer, cb->due, HRTIMER_MODE_ABS_SOFT);
	return true;
}

/* A packet of its own, since whoever gets one may put it in a queue */
static void deliver_copy(struct uroce_dev *dev, const struct uroce_packet *pkt)
{
	struct uroce_packet copy = *pkt;

	copy.skb = skb_clone(pkt->skb, GFP_ATOMIC);
	if (!copy.skb)
		return;
	uroce_net_deliver(dev, &copy);
	consume_skb(copy.skb);
}

static void let_go(struct uroce_dev *dev, struct sk_buff *skb)
{
	struct uroce_packet pkt = {
		.skb = skb,
		.src = held_cb(skb)->src,
		.dst = held_cb(skb)->dst,
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
	struct sk_buff *skb;
	ktime_t due;

	while ((skb = skb_dequeue(&dev->faults.held))) {
		due = held_cb(skb)->due;
		if (ktime_after(due, ktime_get())) {
			skb_queue_head(&dev->faults.held, skb);
			hrtimer_start(timer, due, HRTIMER_MODE_ABS_SOFT);
			break;
		}
		let_go(dev, skb);
	}
	return HRTIMER_NORESTART;
}

bool uroce_fault_arriving(struct uroce_dev *dev, const struct uroce_packet *pkt)
{
	if (uroce_fault_down(dev) || uroce_fault_roll(dev, UROCE_FAULT_DROP))
		return true;
	/* A bit that is wrong, and the checksum tells */
	if (uroce_fault_roll(dev, UROCE_FAULT_CORRUPT)) {
		uroce_count(dev, UROCE_CNT_DAMAGED);
		return true;
	}
	if (uroce_fault_roll(dev, UROCE_FAULT_DUPLICATE))
		deliver_copy(dev, pkt);
	return uroce_fault_roll(dev, UROCE_FAULT_DELAY) && hold(dev, pkt);
}

/* ---- knobs -------------------------------------------------------------------- */

/* Context: knobs_lock */
static void key_count(bool was, bool is)
{
	if (is && !was)
		static_branch_inc(&uroce_faults_on);
	if (was && !is)
		static_branch_dec(&uroce_faults_on);
}

static int rate_get(void *data, u64 *val)
{
	*val = READ_ONCE(*(u32 *)data);
	return 0;
}

static void rate_change(u32 *rate, u32 val)
{
	mutex_lock(&knobs_lock);
	key_count(*rate, val);
	WRITE_ONCE(*rate, val);
	mutex_unlock(&knobs_lock);
}

/* At most UROCE_FAULT_MAX_PPM. Context: the device is held; may sleep. */
void uroce_fault_set_rate(struct uroce_dev *dev, enum uroce_fault what, u32 rate)
{
	rate_change(&dev->faults.rate[what], rate);
}

/* At most UROCE_FAULT_MAX_DELAY_US */
void uroce_fault_set_delay(struct uroce_dev *dev, u32 delay_us)
{
	WRITE_ONCE(dev->faults.delay_us, delay_us);
}

/* Context: the device is held, since an event after its end would come too late; may sleep. */
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
		uroce_port_event(dev);
}

static int rate_set(void *data, u64 val)
{
	if (val > UROCE_FAULT_MAX_PPM)
		return -EINVAL;
	rate_change(data, val);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(rate_fops, rate_get, rate_set, "%llu\n");

static int delay_set(void *data, u64 val)
{
	if (val > UROCE_FAULT_MAX_DELAY_US)
		return -EINVAL;
	WRITE_ONCE(*(u32 *)data, val);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(delay_fops, rate_get, delay_set, "%llu\n");

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

/* ---- devices come and go ------------------------------------------------------ */

void uroce_fault_prepare(struct uroce_dev *dev)
{
	struct uroce_faults *f = &dev->faults;

	f->delay_us = DELAY_US;
	skb_queue_head_init(&f->held);
	hrtimer_setup(&f->timer, held_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
}

/* It has its name. Without debugfs there are no knobs, and that is no error. */
void uroce_fault_add(struct uroce_dev *dev)
{
	struct uroce_faults *f = &dev->faults;
	char name[32];
	int i;

	f->dir = debugfs_create_dir(dev_name(&dev->ib.dev), root);
	for (i = 0; i < UROCE_FAULTS; i++) {
		snprintf(name, sizeof(name), "%s_ppm", kinds[i].name);
		debugfs_create_file_unsafe(name, 0600, f->dir, &f->rate[i],
					   &rate_fops);
	}
	debugfs_create_file_unsafe("delay_us", 0600, f->dir, &f->delay_us,
				   &delay_fops);
	debugfs_create_file_unsafe("port_down", 0600, f->dir, dev, &down_fops);
}

/* No packet comes any more. Nor does anybody write to a knob, once they are gone. */
void uroce_fault_remove(struct uroce_dev *dev)
{
	struct uroce_faults *f = &dev->faults;
	int i;

	debugfs_remove_recursive(f->dir);
	mutex_lock(&knobs_lock);
	for (i = 0; i < UROCE_FAULTS; i++)
		key_count(f->rate[i], false);
	key_count(f->down, false);
	mutex_unlock(&knobs_lock);
	hrtimer_cancel(&f->timer);
	skb_queue_purge(&f->held);
}

void uroce_fault_init(void)
{
	root = debugfs_create_dir("uroce", NULL);
}

void uroce_fault_exit(void)
{
	debugfs_remove_recursive(root);
}
