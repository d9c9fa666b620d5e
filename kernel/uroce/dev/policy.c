// SPDX-License-Identifier: GPL-2.0
/*
 * Which network namespaces communicate without packets: each with itself, and
 * the pairs that the administrator has added to the module's parameter, by the
 * inode numbers of the namespaces, which `stat -Lc %i /run/netns/NAME`
 * prints.
 *
 *	echo "4026532301 4026532405" >/sys/module/uroce/parameters/across
 *	echo "-4026532301 4026532405" >/sys/module/uroce/parameters/across
 *
 * Only root of the initial namespace can write there. The pairs of a namespace
 * are removed when it ends, since its number may be given to another one. The
 * policy is applied when a queue pair is connected; later changes do not affect
 * that queue pair.
 */
#include <linux/capability.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/net_namespace.h>

#include "dev.h"

#define MAX_PAIRS 128

struct pair {
	struct list_head link;
	struct rcu_head rcu;
	unsigned int a;
	unsigned int b;
};

static LIST_HEAD(pairs);		/* under RCU */
/* Protects changes of pairs, pairs_count and ready. */
static DEFINE_SPINLOCK(pairs_lock);
static unsigned int pairs_count;
/* True while the module is notified when a namespace ends. */
static bool ready;

static bool is_pair(const struct pair *pair, unsigned int a, unsigned int b)
{
	return (pair->a == a && pair->b == b) || (pair->a == b && pair->b == a);
}

static struct pair *pair_find(unsigned int a, unsigned int b)
{
	struct pair *pair;

	list_for_each_entry_rcu(pair, &pairs, link,
				lockdep_is_held(&pairs_lock))
		if (is_pair(pair, a, b))
			return pair;
	return NULL;
}

/* Context: RCU */
bool uroce_policy_across(const struct net *a, const struct net *b)
{
	return !list_empty(&pairs) && pair_find(a->ns.inum, b->ns.inum);
}

static void pair_remove(struct pair *pair)
{
	lockdep_assert_held(&pairs_lock);
	list_del_rcu(&pair->link);
	pairs_count--;
	kfree_rcu(pair, rcu);
}

static int pair_allow(unsigned int a, unsigned int b)
{
	struct pair *pair = kmalloc(sizeof(*pair), GFP_KERNEL);
	int ret = 0;

	if (!pair)
		return -ENOMEM;
	pair->a = a;
	pair->b = b;
	spin_lock(&pairs_lock);
	if (!ready)
		ret = -EAGAIN;
	else if (pair_find(a, b))
		ret = -EEXIST;
	else if (pairs_count == MAX_PAIRS)
		ret = -ENOSPC;
	else
		list_add_tail_rcu(&pair->link, &pairs);
	pairs_count += !ret;
	spin_unlock(&pairs_lock);
	if (ret)
		kfree(pair);
	return ret;
}

static int pair_forbid(unsigned int a, unsigned int b)
{
	struct pair *pair;

	spin_lock(&pairs_lock);
	pair = pair_find(a, b);
	if (pair)
		pair_remove(pair);
	spin_unlock(&pairs_lock);
	return pair ? 0 : -ENOENT;
}

/*
 * Both namespaces must exist: the number of a namespace that is gone may be
 * given to a new one. A namespace that is found here is hidden only after the
 * caller has released net_rwsem, so net_gone() runs later and finds the pair.
 */
static bool ns_exists(unsigned int inum)
{
	struct net *net;

	for_each_net(net)
		if (net->ns.inum == inum)
			return true;
	return false;
}

static int across_set(const char *text, const struct kernel_param *kp)
{
	bool forbid = *text == '-';
	unsigned int a, b;
	char end;
	int ret;

	if (!capable(CAP_NET_ADMIN))
		return -EPERM;
	if (sscanf(text + forbid, "%u %u %c", &a, &b, &end) != 2 || a == b)
		return -EINVAL;
	if (forbid)
		return pair_forbid(a, b);
	down_read(&net_rwsem);
	ret = ns_exists(a) && ns_exists(b) ? pair_allow(a, b) : -ENOENT;
	up_read(&net_rwsem);
	return ret;
}

static int across_get(char *text, const struct kernel_param *kp)
{
	struct pair *pair;
	int n = 0;

	rcu_read_lock();
	list_for_each_entry_rcu(pair, &pairs, link)
		n += scnprintf(text + n, PAGE_SIZE - n, "%u %u\n", pair->a,
			       pair->b);
	rcu_read_unlock();
	return n;
}

static const struct kernel_param_ops across_ops = {
	.set = across_set,
	.get = across_get,
};
module_param_cb(across, &across_ops, NULL, 0600);
MODULE_PARM_DESC(across,
		 "pairs of network namespaces, by inode number, that communicate without packets");

/* The namespace is hidden from for_each_net() already. */
static void net_gone(struct net *net)
{
	struct pair *pair, *next;

	spin_lock(&pairs_lock);
	list_for_each_entry_safe(pair, next, &pairs, link)
		if (pair->a == net->ns.inum || pair->b == net->ns.inum)
			pair_remove(pair);
	spin_unlock(&pairs_lock);
}

static struct pernet_operations policy_net_ops = {
	.exit = net_gone,
};

static void set_ready(bool is)
{
	spin_lock(&pairs_lock);
	ready = is;
	spin_unlock(&pairs_lock);
}

int uroce_policy_init(void)
{
	int ret = register_pernet_subsys(&policy_net_ops);

	if (!ret)
		set_ready(true);
	return ret;
}

/*
 * Unregistering calls net_gone() for each namespace, which removes all pairs.
 */
void uroce_policy_exit(void)
{
	set_ready(false);
	unregister_pernet_subsys(&policy_net_ops);
}
