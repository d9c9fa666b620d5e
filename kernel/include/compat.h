/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between the kernels that univerbs builds on: 6.1 and later. */
#ifndef UNIV_COMPAT_H
#define UNIV_COMPAT_H

#include <linux/device.h>
#include <linux/mm.h>
#include <linux/version.h>
#include <rdma/ib_verbs.h>
#include <rdma/restrack.h>

/* What cuts super-packets; before, linux/netdevice.h has it */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#include <net/gso.h>
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void univ_vm_flags_mod(struct vm_area_struct *vma,
				     vm_flags_t set, vm_flags_t clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#else
static inline void univ_vm_flags_mod(struct vm_area_struct *vma,
				     vm_flags_t set, vm_flags_t clear)
{
	vm_flags_mod(vma, set, clear);
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define univ_devnode_dev struct device
#else
#define univ_devnode_dev const struct device
#endif

/*
 * What ib_client.get_nl_info() fills. Every client module needs it, but the
 * kernel keeps it in a private header of its core. Unchanged since 5.3.
 */
struct ib_client_nl_info {
	struct sk_buff *nl_msg;
	struct device *cdev;
	u32 port;
	u64 abi;
};

/*
 * Exported by the core for modules that make tracked objects, as ib_uverbs
 * does, but declared in its private restrack.h. Unchanged since 5.11.
 */
void rdma_restrack_new(struct rdma_restrack_entry *res,
		       enum rdma_restrack_type type);
void rdma_restrack_set_name(struct rdma_restrack_entry *res,
			    const char *caller);
void rdma_restrack_add(struct rdma_restrack_entry *res);

/*
 * Likewise for those who make XRC targets, declared in its private core_priv.h.
 * Unchanged since 5.15.
 */
struct ib_qp *ib_create_qp_user(struct ib_device *dev, struct ib_pd *pd,
				struct ib_qp_init_attr *attr,
				struct ib_udata *udata,
				struct ib_uqp_object *uobj, const char *caller);

#endif
