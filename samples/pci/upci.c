// SPDX-License-Identifier: GPL-2.0
/*
 * upci: a PCI device whose queues and doorbells lie in the process, so that no
 * kernel code runs when a request is posted, executed or polled. The device is
 * QEMU's ivshmem-doorbell with the program samples/pci/model behind it.
 * Documentation/driver.rst explains the code in "A device with doorbells".
 *
 * BAR0 of an ivshmem device has one doorbell register, so all contexts of a
 * device get the same page. A process can therefore ring for
 * queues of another one, which makes the device look at a ring in vain, and can
 * raise this guest's own interrupts. A device of your own has a page for each
 * context, and takes a doorbell only through the page of the queue's context.
 */
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/module.h>

#include "compat.h"
#include "upci.h"

static int query_device(struct ib_device *ib, struct ib_device_attr *attr,
			struct ib_udata *udata)
{
	struct pci_dev *pdev = to_upci(ib)->pdev;

	attr->sys_image_guid = ib->node_guid;
	attr->vendor_id = pdev->vendor;
	attr->vendor_part_id = pdev->device;
	attr->max_mr_size = (u64)UPCI_LIST_MAX * UPCI_PAGE;
	attr->page_size_cap = UPCI_PAGE;
	attr->max_qp = UPCI_MAX_QUEUES - 2;
	attr->max_qp_wr = UPCI_MAX_WR;
	attr->max_send_sge = UPCI_MAX_SGE;
	attr->max_recv_sge = UPCI_MAX_SGE;
	attr->max_sge_rd = UPCI_MAX_SGE;
	attr->max_cq = UPCI_MAX_QUEUES - 1;
	attr->max_cqe = UPCI_MAX_WR * 4;
	attr->max_srq = UPCI_MAX_QUEUES - 1;
	attr->max_srq_wr = UPCI_MAX_WR;
	attr->max_srq_sge = UPCI_MAX_SGE;
	attr->max_mr = UPCI_MAX_KEYS - 1;
	attr->max_ah = UPCI_MAX_AHS - 1;
	attr->max_pd = INT_MAX;
	attr->max_qp_rd_atom = 16;
	attr->max_qp_init_rd_atom = 16;
	attr->max_res_rd_atom = 16 * (UPCI_MAX_QUEUES - 2);
	attr->atomic_cap = IB_ATOMIC_HCA;
	attr->max_pkeys = 1;
	return 0;
}

static int query_port(struct ib_device *ib, u32 port, struct ib_port_attr *attr)
{
	attr->state = IB_PORT_ACTIVE;
	attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_4096;
	attr->gid_tbl_len = 1;
	attr->pkey_tbl_len = 1;
	attr->max_msg_sz = UPCI_MAX_MSG;
	attr->lid = readl(&to_upci(ib)->mem->lid);
	attr->sm_lid = 1;
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_SDR;
	return 0;
}

static int port_immutable(struct ib_device *ib, u32 port,
			  struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_CAP_PROT_IB;
	immutable->gid_tbl_len = 1;
	immutable->pkey_tbl_len = 1;
	return 0;
}

static int query_gid(struct ib_device *ib, u32 port, int index,
		     union ib_gid *gid)
{
	gid->global.subnet_prefix = cpu_to_be64(0xfe80000000000000ull);
	gid->global.interface_id = ib->node_guid;
	return 0;
}

static int query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey)
{
	*pkey = 0xffff;
	return 0;
}

static const struct ib_device_ops upci_ops = {
	.owner = THIS_MODULE,
	.get_port_immutable = port_immutable,
	.query_device = query_device,
	.query_gid = query_gid,
	.query_pkey = query_pkey,
	.query_port = query_port,
};

/* ---- the PCI device ------------------------------------------------------ */

static irqreturn_t event_irq(int irq, void *data)
{
	upci_events_handle(data);
	return IRQ_HANDLED;
}

static irqreturn_t command_irq(int irq, void *data)
{
	struct upci_dev *dev = data;

	wake_up(&dev->done);
	return IRQ_HANDLED;
}

static void upci_init(struct upci_dev *dev, struct pci_dev *pdev)
{
	dev->pdev = pdev;
	mutex_init(&dev->lock);
	init_waitqueue_head(&dev->done);
	spin_lock_init(&dev->events_lock);
	INIT_DELAYED_WORK(&dev->watch, upci_watch);
	xa_init_flags(&dev->cqs, XA_FLAGS_ALLOC1);
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC1);
	xa_init_flags(&dev->srqs, XA_FLAGS_ALLOC1);
	xa_init_flags(&dev->mrs, XA_FLAGS_ALLOC1);
	xa_init_flags(&dev->ahs, XA_FLAGS_ALLOC1);
	xa_init_flags(&dev->pds, XA_FLAGS_ALLOC1);
	dev->ib.dev.parent = &pdev->dev;
	dev->ib.node_type = RDMA_NODE_IB_CA;
	dev->ib.phys_port_cnt = 1;
	dev->ib.num_comp_vectors = 1;
	ib_set_device_ops(&dev->ib, &upci_ops);
	ib_set_device_ops(&dev->ib, &upci_memory_verbs);
	ib_set_device_ops(&dev->ib, &upci_queue_verbs);
}

/*
 * BAR0 is smaller than the page that processes map, and another device may have
 * a BAR behind it. Without the rest of the page, queues are kicked.
 */
static void page_reserve(struct upci_dev *dev)
{
	struct resource *bar = &dev->pdev->resource[0];

	dev->rest = (struct resource){
		.name = "upci",
		.start = bar->end + 1,
		.end = bar->start + PAGE_SIZE - 1,
		.flags = bar->flags,
	};
	dev->whole_page = PAGE_ALIGNED(bar->start) &&
			  !request_resource(bar->parent, &dev->rest);
}

static void page_release(struct upci_dev *dev)
{
	if (dev->whole_page)
		release_resource(&dev->rest);
}

/* The resources of pcim functions end with the binding of the driver. */
static int upci_setup(struct upci_dev *dev, struct pci_dev *pdev)
{
	int ret = pcim_enable_device(pdev);

	if (!ret)
		ret = pcim_iomap_regions(pdev, BIT(0) | BIT(2), "upci");
	if (!ret)
		ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (ret)
		return ret;
	/* Regions of processes would get bounce buffers. */
	if (dma_addressing_limited(&pdev->dev))
		return -EIO;
	dev->regs = pcim_iomap_table(pdev)[0];
	dev->mem = pcim_iomap_table(pdev)[2];
	/* The model knows pages of this size and this byte order alone. */
	if (PAGE_SIZE != UPCI_PAGE || IS_ENABLED(CONFIG_CPU_BIG_ENDIAN))
		return -EOPNOTSUPP;
	if (pci_resource_len(pdev, 2) < UPCI_MEM_SIZE ||
	    readl(&dev->mem->magic) != UPCI_MAGIC)
		return -ENODEV;
	dev->ib.node_guid = cpu_to_be64(readq(&dev->mem->guid));
	ret = pci_alloc_irq_vectors(pdev, 2, 2, PCI_IRQ_MSIX);
	if (ret < 0)
		return ret;
	ret = pci_request_irq(pdev, UPCI_IRQ_COMMAND, command_irq, NULL, dev,
			      "upci-command");
	if (ret)
		return ret;
	ret = pci_request_irq(pdev, UPCI_IRQ_EVENT, event_irq, NULL, dev,
			      "upci-event");
	if (ret)
		pci_free_irq(pdev, UPCI_IRQ_COMMAND, dev);
	return ret;
}

/* The handlers of the interrupts use @dev, so the interrupts go first. */
static void upci_free(struct upci_dev *dev)
{
	pci_free_irq(dev->pdev, UPCI_IRQ_COMMAND, dev);
	pci_free_irq(dev->pdev, UPCI_IRQ_EVENT, dev);
	page_release(dev);
	ib_dealloc_device(&dev->ib);
}

static int upci_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct upci_cmd reset = { .op = UPCI_RESET };
	struct upci_dev *dev = ib_alloc_device(upci_dev, ib);
	int ret;

	if (!dev)
		return -ENOMEM;
	upci_init(dev, pdev);
	pci_set_drvdata(pdev, dev);
	ret = upci_setup(dev, pdev);
	if (ret) {
		ib_dealloc_device(&dev->ib);
		return ret;
	}
	page_reserve(dev);
	ret = upci_command(dev, &reset);
	if (ret)
		goto free;
	/*
	 * After the reset: the device may have known queues in memory of an
	 * earlier driver or kernel.
	 */
	pci_set_master(pdev);
	ret = univ_queue_register(&dev->ib, &upci_queue_ops);
	if (ret)
		goto free;
	ret = ib_register_device(&dev->ib, "upci%d", &pdev->dev);
	if (ret)
		goto unregister_queue;
	set_bit(UPCI_REGISTERED, &dev->flags);
	queue_delayed_work(system_long_wq, &dev->watch, UPCI_HEART_PERIOD);
	return 0;

unregister_queue:
	univ_queue_unregister(&dev->ib);
free:
	upci_free(dev);
	return ret;
}

static void upci_remove(struct pci_dev *pdev)
{
	struct upci_dev *dev = pci_get_drvdata(pdev);

	/* A device that was pulled out does not answer any more. */
	if (!pci_device_is_present(pdev))
		upci_die(dev);
	/* This destroys the objects of all processes. */
	ib_unregister_device(&dev->ib);
	cancel_delayed_work_sync(&dev->watch);
	univ_queue_unregister(&dev->ib);
	upci_free(dev);
}

/*
 * Makes the device forget all addresses: after kexec the memory there belongs
 * to the next kernel.
 */
static void upci_shutdown(struct pci_dev *pdev)
{
	struct upci_cmd reset = { .op = UPCI_RESET };

	upci_command(pci_get_drvdata(pdev), &reset);
	pci_clear_master(pdev);
}

/* QEMU's ivshmem; one that is not upci has no UPCI_MAGIC in BAR2. */
static const struct pci_device_id upci_ids[] = {
	{ PCI_DEVICE(0x1af4, 0x1110) },
	{ }
};
MODULE_DEVICE_TABLE(pci, upci_ids);

static struct pci_driver upci_driver = {
	.name = "upci",
	.id_table = upci_ids,
	.probe = upci_probe,
	.remove = upci_remove,
	.shutdown = upci_shutdown,
};
module_pci_driver(upci_driver);

MODULE_DESCRIPTION("Sample of a driver for a PCI device with doorbells");
MODULE_AUTHOR("univerbs maintainers");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(UNIVERBS_NS);
