/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between the kernels that univerbs builds on, 6.1 to 7.3.
 *
 * The code is written for the newest kernel. This header defines what older
 * kernels lack, under the kernel's own name where possible. The Kbuild file
 * beside it defines UNIV_HAS_* from the headers of the kernel at hand. The
 * versions named are those of the mainline kernel.
 */
#ifndef UNIV_COMPAT_H
#define UNIV_COMPAT_H

#include <linux/compiler.h>
#include <linux/device.h>
#include <linux/dma-buf.h>
#include <linux/dma-map-ops.h>
#include <linux/hmm.h>
#include <linux/hrtimer.h>
#include <linux/iommu.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/netdevice.h>
#include <linux/netfilter.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <net/gro.h>
#include <net/udp_tunnel.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/restrack.h>

/* Linux 6.5 moved the GSO functions here from linux/netdevice.h. */
#ifndef UNIV_HAS_NETDEVICE_GSO
#include <net/gso.h>
#endif

/* Linux 6.13 takes the names of symbol namespaces as strings. */
#ifdef UNIV_HAS_STRING_NS
#define UNIVERBS_NS "UNIVERBS"
#define UNIV_DMA_BUF_NS "DMA_BUF"
#else
#define UNIVERBS_NS UNIVERBS
#define UNIV_DMA_BUF_NS DMA_BUF
#endif

/*
 * 6.9. A compiler without the attribute cannot initialize automatic variables
 * either, so nothing has to be switched off.
 */
#ifndef __uninitialized
#if __has_attribute(__uninitialized__)
#define __uninitialized __attribute__((__uninitialized__))
#else
#define __uninitialized
#endif
#endif

/* Memory and devices */

/* 6.2 */
#ifdef UNIV_HAS_CONST_DEVNODE
#define univ_devnode_dev const struct device
#else
#define univ_devnode_dev struct device
#endif

/* 6.3 */
#ifndef UNIV_HAS_VM_FLAGS_MOD
static inline void vm_flags_mod(struct vm_area_struct *vma, vm_flags_t set,
				vm_flags_t clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

/* 6.6 */
#ifndef VM_SHADOW_STACK
#define VM_SHADOW_STACK	VM_NONE
#endif

/*
 * Behind an IOMMU that translates, dma_need_sync() is true for every device
 * before 6.10, and from 6.10 on for a device that has not set its mask or of
 * which one mapping was bounced. There the memory of a coherent device is
 * neither copied nor flushed if whole pages are mapped.
 */
static inline bool univ_dma_need_sync(struct device *dev, dma_addr_t addr)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	if (domain && domain->type & __IOMMU_DOMAIN_PAGING)
		return !dev_is_dma_coherent(dev);
	return dma_need_sync(dev, addr);
}

/* 6.2 has these names for the functions that take the buffer's lock. */
#ifndef UNIV_HAS_DMA_BUF_UNLOCKED
#define dma_buf_vmap_unlocked	dma_buf_vmap
#define dma_buf_vunmap_unlocked	dma_buf_vunmap
#endif

/* 7.1 has another name for this operation of an importer. */
#ifdef UNIV_HAS_DMA_BUF_INVALIDATE
#define univ_move_notify	invalidate_mappings
#else
#define univ_move_notify	move_notify
#endif

/* 6.7 allocates shrinkers itself. */
static inline struct shrinker *
univ_shrinker_add(const char *name,
		  unsigned long (*count)(struct shrinker *,
					 struct shrink_control *),
		  unsigned long (*scan)(struct shrinker *,
					struct shrink_control *))
{
#ifdef UNIV_HAS_SHRINKER_ALLOC
	struct shrinker *shrinker = shrinker_alloc(0, "%s", name);
#else
	struct shrinker *shrinker = kzalloc(sizeof(*shrinker), GFP_KERNEL);
#endif

	if (!shrinker)
		return NULL;
	shrinker->count_objects = count;
	shrinker->scan_objects = scan;
	shrinker->seeks = DEFAULT_SEEKS;
#ifdef UNIV_HAS_SHRINKER_ALLOC
	shrinker_register(shrinker);
#else
	if (register_shrinker(shrinker, "%s", name)) {
		kfree(shrinker);
		return NULL;
	}
#endif
	return shrinker;
}

static inline void univ_shrinker_remove(struct shrinker *shrinker)
{
#ifdef UNIV_HAS_SHRINKER_ALLOC
	shrinker_free(shrinker);
#else
	unregister_shrinker(shrinker);
	kfree(shrinker);
#endif
}

/* Verbs */

/* rdma/iter.h, where it exists, has iterators of ib_umem.h and ib_verbs.h. */
#ifdef UNIV_HAS_RDMA_ITER
#include <rdma/iter.h>
#endif

/*
 * 7.3. The newer function lets go of the mmap_lock for handlers of
 * userfaultfd(2).
 */
#if defined(CONFIG_HMM_MIRROR) && !defined(UNIV_HAS_HMM_UNLOCKED)
static inline int hmm_range_fault_unlocked_timeout(struct hmm_range *range,
						   unsigned long timeout)
{
	struct mm_struct *mm = range->notifier->mm;
	unsigned long end = jiffies + timeout;
	int ret;

	do {
		range->notifier_seq = mmu_interval_read_begin(range->notifier);
		mmap_read_lock(mm);
		ret = hmm_range_fault(range);
		mmap_read_unlock(mm);
	} while (ret == -EBUSY && time_before(jiffies, end));
	return ret;
}
#endif

/* Timers */

/* 6.2 */
#ifndef UNIV_HAS_TIMER_DELETE
#define timer_delete(timer)		del_timer(timer)
#define timer_delete_sync(timer)	del_timer_sync(timer)
#endif

/* 6.16 */
#ifndef timer_container_of
#define timer_container_of(var, timer, field)	from_timer(var, timer, field)
#endif

/* 6.13 */
#ifndef UNIV_HAS_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)
					(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/* Work items */

/* 6.17; 7.3 warns of the old name. */
#ifndef UNIV_HAS_DFL_WQ
#define system_dfl_wq	system_unbound_wq
#endif

/* Network */

/*
 * Without confirm(), from before 2024, the packet leaves connection tracking,
 * and the next packet begins a connection again.
 */
#if IS_ENABLED(CONFIG_NF_CONNTRACK)
static inline bool univ_ct_confirm(struct sk_buff *skb)
{
#ifdef UNIV_HAS_CT_CONFIRM
	const struct nf_ct_hook *hook = rcu_dereference(nf_ct_hook);

	return !hook || hook->confirm(skb) == NF_ACCEPT;
#else
	nf_reset_ct(skb);
	return true;
#endif
}
#endif

/* The state is a bit-field before 6.9, which READ_ONCE() does not take. */
static inline bool univ_netdev_registered(const struct net_device *dev)
{
	return data_race(dev->reg_state) == NETREG_REGISTERED;
}

/*
 * The IP header of a packet that is not encapsulated, for a UDP socket's
 * gro_receive(), and its offset in other packets of the list. 6.10 has one
 * offset for each of two headers, and skb_gro_network_header() takes that of
 * the inner one there.
 */
static inline int univ_gro_ip_offset(const struct sk_buff *skb)
{
#ifdef UNIV_HAS_GRO_NETWORK_OFFSET
	return NAPI_GRO_CB(skb)->network_offset;
#else
	return skb_network_offset(skb);
#endif
}

/* Returns whether the headers so far lie in the first fragment. */
static inline bool univ_gro_in_fragment(struct sk_buff *skb)
{
#ifdef UNIV_HAS_GRO_MAY_PULL
	return skb_gro_may_pull(skb, skb_gro_offset(skb));
#else
	return !skb_gro_header_hard(skb, skb_gro_offset(skb));
#endif
}

static inline const void *univ_gro_ip(struct sk_buff *skb)
{
#ifdef UNIV_HAS_GRO_NETWORK_OFFSET
	if (univ_gro_in_fragment(skb))
		return skb_gro_header_fast(skb, univ_gro_ip_offset(skb));
	return skb->data + univ_gro_ip_offset(skb);
#else
	return skb_gro_network_header(skb);
#endif
}

/* 6.12 has packets whose bytes lie in the memory of a device. */
#ifndef UNIV_HAS_FRAGS_READABLE
static inline bool skb_frags_readable(const struct sk_buff *skb)
{
	return true;
}
#endif

/* 7.1 takes the socket's inner part */
static inline void univ_setup_udp_tunnel_sock(struct net *net,
					      struct socket *sock,
					      struct udp_tunnel_sock_cfg *cfg)
{
#ifdef UNIV_HAS_TUNNEL_SOCK_SK
	setup_udp_tunnel_sock(net, sock->sk, cfg);
#else
	setup_udp_tunnel_sock(net, sock, cfg);
#endif
}

/* Tracepoints: 6.10 takes the string from __string() */
#ifdef UNIV_HAS_ASSIGN_STR_ALONE
#define univ_assign_str(dst, src)	__assign_str(dst)
#else
#define univ_assign_str(dst, src)	__assign_str(dst, src)
#endif

/* Kernel verbs, and the operations of a driver */

/* 6.11 changed the last argument of create_cq(), which no driver here uses. */
#ifdef UNIV_HAS_CREATE_CQ_ATTRS
#define univ_cq_attrs uverbs_attr_bundle
#else
#define univ_cq_attrs ib_udata
#endif

/*
 * 6.17 tells reg_user_mr() how a device is to reach the memory. The argument
 * comes from alloc_dmah() of the same driver, which neither uroce nor the
 * sample has.
 */
#ifdef UNIV_HAS_DMAH
#define UNIV_DMAH_ARG struct ib_dmah *dmah,
#else
#define UNIV_DMAH_ARG
#endif

/* From 6.14 on the core raises port events by itself without this operation. */
#ifdef UNIV_HAS_REPORT_PORT_EVENT
#define UNIV_REPORT_PORT_EVENT(op) .report_port_event = op,
#else
#define UNIV_REPORT_PORT_EVENT(op)
#endif

/* 7.0 has an event for a change of the speed. Older drivers raise none. */
static inline bool univ_speed_changes(const struct ib_event *event)
{
#ifdef UNIV_HAS_SPEED_EVENT
	return event->event == IB_EVENT_DEVICE_SPEED_CHANGE;
#else
	return false;
#endif
}

/* 7.2 has ib_umem_get_va() for an address in a process. */
#ifndef UNIV_HAS_UMEM_GET_VA
static inline struct ib_umem *ib_umem_get_va(struct ib_device *device,
					     unsigned long addr, size_t size,
					     int access)
{
	return ib_umem_get(device, addr, size, access);
}
#endif

/*
 * 7.1 removed the kernel verb. The driver's operation that is left,
 * resize_user_cq(), expects the queue of a process of the stock stack.
 */
#ifdef UNIV_HAS_RESIZE_CQ
static inline bool univ_can_resize_cq(const struct ib_cq *cq)
{
	return cq->device->ops.resize_cq;
}
#else
static inline bool univ_can_resize_cq(const struct ib_cq *cq)
{
	return false;
}

static inline int ib_resize_cq(struct ib_cq *cq, int cqe)
{
	return -EOPNOTSUPP;
}
#endif

/*
 * The struct that ib_client.get_nl_info() fills. Every client module needs it,
 * but the kernel keeps it in a private header. Unchanged from 5.3 to 7.3.
 */
struct ib_client_nl_info {
	struct sk_buff *nl_msg;
	struct device *cdev;
	u32 port;
	u64 abi;
};

/*
 * The kernel exports these functions for modules that create tracked objects,
 * as ib_uverbs does, but declares them in its private restrack.h. Unchanged
 * from 5.11 to 7.3.
 */
void rdma_restrack_new(struct rdma_restrack_entry *res,
		       enum rdma_restrack_type type);
void rdma_restrack_set_name(struct rdma_restrack_entry *res,
			    const char *caller);
void rdma_restrack_add(struct rdma_restrack_entry *res);

/*
 * The kernel exports this function too, and declares it in its private
 * core_priv.h. @udata is NULL here: a struct ib_udata since 5.15, a struct
 * uverbs_attr_bundle since 7.2.
 */
struct ib_qp *ib_create_qp_user(struct ib_device *dev, struct ib_pd *pd,
				struct ib_qp_init_attr *attr, void *udata,
				struct ib_uqp_object *uobj, const char *caller);

#endif
