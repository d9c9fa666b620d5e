// SPDX-License-Identifier: GPL-2.0
/* Protection domains, memory regions as lists of pages, address handles. */
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <rdma/ib_umem.h>

#include "compat.h"
#include "upci.h"

struct upci_mr {
	struct ib_mr ib;
	struct ib_umem *umem;
};

struct upci_ah {
	struct ib_ah ib;
	u32 dlid;
	u32 number;			/* 0 until it is attached */
};

static int pd_alloc(struct ib_pd *ib, struct ib_udata *udata)
{
	struct upci_pd *pd = container_of(ib, struct upci_pd, ib);

	return xa_alloc(&to_upci(ib->device)->pds, &pd->number, pd,
			xa_limit_31b, GFP_KERNEL);
}

static int pd_dealloc(struct ib_pd *ib, struct ib_udata *udata)
{
	xa_erase(&to_upci(ib->device)->pds, upci_pd_number(ib));
	return 0;
}

/* ---- memory regions ------------------------------------------------------ */

static int mr_create(struct upci_dev *dev, struct upci_mr *mr,
		     struct upci_cmd *cmd)
{
	void __iomem *list = (void __iomem *)dev->mem + UPCI_LIST;
	struct ib_block_iter block;
	int ret;

	mutex_lock(&dev->lock);
	rdma_umem_for_each_dma_block(mr->umem, &block, UPCI_PAGE)
		writeq(rdma_block_iter_dma_address(&block),
		       list + cmd->pages++ * 8);
	ret = upci_command_locked(dev, cmd);
	mutex_unlock(&dev->lock);
	return ret;
}

static struct ib_mr *mr_reg(struct ib_pd *pd, u64 start, u64 length, u64 iova,
			    int access, UNIV_DMAH_ARG struct ib_udata *udata)
{
	struct upci_cmd cmd = {
		.op = UPCI_CREATE_MR,
		.pd = upci_pd_number(pd),
		.access = access,
		.iova = iova,
		.length = length,
	};
	struct upci_dev *dev = to_upci(pd->device);
	struct upci_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	int ret;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->ib.pd = pd;
	mr->umem = ib_umem_get_va(pd->device, start, length, access);
	if (IS_ERR(mr->umem)) {
		ret = PTR_ERR(mr->umem);
		goto free;
	}
	ret = -ENOMEM;
	if (ib_umem_num_dma_blocks(mr->umem, UPCI_PAGE) > UPCI_LIST_MAX)
		goto release;
	ret = xa_alloc(&dev->mrs, &mr->ib.lkey, mr,
		       XA_LIMIT(1, UPCI_MAX_KEYS - 1), GFP_KERNEL);
	if (ret)
		goto release;
	cmd.number = mr->ib.lkey;
	ret = mr_create(dev, mr, &cmd);
	if (ret)
		goto erase;
	mr->ib.rkey = mr->ib.lkey;
	return &mr->ib;

erase:
	xa_erase(&dev->mrs, mr->ib.lkey);
release:
	ib_umem_release(mr->umem);
free:
	kfree(mr);
	return ERR_PTR(ret);
}

static int mr_dereg(struct ib_mr *ib, struct ib_udata *udata)
{
	struct upci_mr *mr = container_of(ib, struct upci_mr, ib);
	struct upci_dev *dev = to_upci(ib->device);

	upci_destroy(dev, UPCI_DESTROY_MR, ib->lkey);
	xa_erase(&dev->mrs, ib->lkey);
	ib_umem_release(mr->umem);
	kfree(mr);
	return 0;
}

/* ---- address handles ----------------------------------------------------- */

static int ah_create(struct ib_ah *ib, struct rdma_ah_init_attr *init,
		     struct ib_udata *udata)
{
	struct upci_ah *ah = container_of(ib, struct upci_ah, ib);

	ah->dlid = rdma_ah_get_dlid(init->ah_attr);
	return 0;
}

/* The device finds the handle of a request by its domain and this number. */
int upci_ah_attach(struct ib_ah *ib, u32 handle)
{
	struct upci_ah *ah = container_of(ib, struct upci_ah, ib);
	struct upci_dev *dev = to_upci(ib->device);
	struct upci_cmd cmd = {
		.op = UPCI_CREATE_AH,
		.pd = upci_pd_number(ib->pd),
		.type = handle,
		.dlid = ah->dlid,
	};
	int ret = xa_alloc(&dev->ahs, &ah->number, ah,
			   XA_LIMIT(1, UPCI_MAX_AHS - 1), GFP_KERNEL);

	if (ret)
		return ret;
	cmd.number = ah->number;
	ret = upci_command(dev, &cmd);
	if (!ret)
		return 0;
	xa_erase(&dev->ahs, ah->number);
	ah->number = 0;
	return ret;
}

static int ah_destroy(struct ib_ah *ib, u32 flags)
{
	struct upci_ah *ah = container_of(ib, struct upci_ah, ib);
	struct upci_dev *dev = to_upci(ib->device);

	if (!ah->number)
		return 0;
	upci_destroy(dev, UPCI_DESTROY_AH, ah->number);
	xa_erase(&dev->ahs, ah->number);
	return 0;
}

const struct ib_device_ops upci_memory_verbs = {
	.alloc_pd = pd_alloc,
	.create_ah = ah_create,
	.create_user_ah = ah_create,
	.dealloc_pd = pd_dealloc,
	.dereg_mr = mr_dereg,
	.destroy_ah = ah_destroy,
	.reg_user_mr = mr_reg,

	INIT_RDMA_OBJ_SIZE(ib_ah, upci_ah, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, upci_pd, ib),
};
