// SPDX-License-Identifier: GPL-2.0
/*
 * XRC domains: ibv_open_xrcd(3). All processes that open the domain of one file
 * share it. A process that received a descriptor of the file may use the
 * domain.
 */
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "verbs.h"

bool univ_xrc_offered(const struct univ_device *dev)
{
	return univ_queue_can(dev, UNIV_QUEUE_XRC);
}

struct univ_xrcd *univ_xrcd_get(struct univ_context *ctx, u32 handle,
				struct univ_hdr *hdr)
{
	struct univ_object *obj =
		univ_object_get(ctx, handle, UNIV_OBJECT_XRCD, hdr);

	return IS_ERR(obj) ? ERR_CAST(obj) :
			     container_of(obj, struct univ_xrcd, obj);
}

/*
 * A domain keeps the path of its file, so that the file system stays mounted
 * and the inode stays the same. It holds an O_PATH file and not the file
 * itself, which may be the node of this context. The path is dropped without
 * locks: dropping a deleted file may wait for a file system in user space.
 */
static int domain_make(struct univ_domain *domain, struct univ_device *dev,
		       struct file *file)
{
	if (file) {
		domain->file = dentry_open(&file->f_path, O_PATH,
					   current_cred());
		if (IS_ERR(domain->file))
			return PTR_ERR(domain->file);
		domain->inode = file_inode(file);
	}
	domain->ib = ib_alloc_xrcd_user(dev->ib, domain->inode, NULL);
	if (!IS_ERR(domain->ib))
		return 0;
	if (file)
		fput(domain->file);
	return PTR_ERR(domain->ib);
}

static struct univ_domain *domain_new(struct univ_device *dev,
				      struct file *file)
{
	struct univ_domain *domain = kzalloc(sizeof(*domain),
					     GFP_KERNEL_ACCOUNT);
	int ret;

	if (!domain)
		return ERR_PTR(-ENOMEM);
	domain->users = 1;
	mutex_init(&domain->lock);
	ret = domain_make(domain, dev, file);
	if (ret) {
		kfree(domain);
		return ERR_PTR(ret);
	}
	return domain;
}

static int domain_put(struct univ_device *dev, struct univ_domain *domain)
{
	int ret = 0;

	mutex_lock(&dev->domains_lock);
	if (domain->users > 1) {
		domain->users--;
		domain = NULL;
	} else {
		ret = ib_dealloc_xrcd_user(domain->ib, NULL);
		if (!ret && domain->inode)
			rb_erase(&domain->node, &dev->domains);
	}
	mutex_unlock(&dev->domains_lock);
	if (ret || !domain)
		return ret;
	if (domain->file)
		fput(domain->file);
	kfree(domain);
	return 0;
}

/* The order of domains is that of the addresses of their inodes. */
static int domain_cmp(const void *key, const struct rb_node *node)
{
	const struct inode *inode = rb_entry(node, struct univ_domain,
					     node)->inode;

	if ((const struct inode *)key == inode)
		return 0;
	return (const struct inode *)key < inode ? -1 : 1;
}

static int domain_order(struct rb_node *node, const struct rb_node *other)
{
	return domain_cmp(rb_entry(node, struct univ_domain, node)->inode,
			  other);
}

/* A process may open very many domains, so they are not searched one by one. */
static struct univ_domain *domain_find(struct univ_device *dev,
				       const struct inode *inode)
{
	struct rb_node *node;

	lockdep_assert_held(&dev->domains_lock);
	node = rb_find(inode, &dev->domains, domain_cmp);
	return node ? rb_entry(node, struct univ_domain, node) : NULL;
}

static int xrcd_explain_file(struct univ_xrcd_open *cmd, int err,
			     enum univ_xrcd_file why)
{
	return univ_explain(&cmd->hdr, err, UNIV_REASON_XRCD_FILE, why,
			    (u32)cmd->fd, 0);
}

/* Errors are those of ib_uverbs. */
static struct univ_domain *domain_of_file(struct univ_device *dev,
					  struct univ_xrcd_open *cmd,
					  struct file *file)
{
	struct univ_domain *domain;

	if (mutex_lock_killable(&dev->domains_lock))
		return ERR_PTR(-EINTR);
	domain = domain_find(dev, file_inode(file));
	if (domain && cmd->oflags & O_EXCL) {
		domain = ERR_PTR(xrcd_explain_file(cmd, -EINVAL,
						   UNIV_XRCD_FILE_EXISTS));
	} else if (domain) {
		domain->users++;
	} else if (!(cmd->oflags & O_CREAT)) {
		domain = ERR_PTR(xrcd_explain_file(cmd, -EAGAIN,
						   UNIV_XRCD_FILE_NONE));
	} else {
		domain = domain_new(dev, file);
		if (!IS_ERR(domain))
			rb_find_add(&domain->node, &dev->domains, domain_order);
	}
	mutex_unlock(&dev->domains_lock);
	return domain;
}

static struct univ_domain *domain_get(struct univ_device *dev,
				      struct univ_xrcd_open *cmd)
{
	struct univ_domain *domain;
	struct file *file;

	if (cmd->fd == -1)
		return domain_new(dev, NULL);
	file = fget(cmd->fd);
	if (!file)
		return ERR_PTR(xrcd_explain_file(cmd, -EBADF,
						 UNIV_XRCD_FILE_CLOSED));
	domain = domain_of_file(dev, cmd, file);
	fput(file);
	return domain;
}

static int xrcd_build(struct univ_xrcd *xrcd, struct univ_call *call,
		      struct univ_xrcd_open *cmd)
{
	struct univ_device *dev = call->ctx->dev;
	int ret;

	xrcd->domain = domain_get(dev, cmd);
	if (IS_ERR(xrcd->domain)) {
		ret = univ_explain_driver(&cmd->hdr, PTR_ERR(xrcd->domain));
		univ_object_release(&xrcd->obj);
		return ret;
	}
	cmd->handle = xrcd->obj.handle;
	return univ_object_announce(call, &xrcd->obj, univ_xrcd_destroy);
}

int univ_xrcd_open_ioctl(struct univ_call *call, void *arg)
{
	struct univ_xrcd_open *cmd = arg;
	struct univ_xrcd *xrcd;
	int ret;

	if (!univ_xrc_offered(call->ctx->dev))
		return univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
	if (cmd->oflags & ~(O_CREAT | O_EXCL))
		return univ_explain(&cmd->hdr, -EOPNOTSUPP, UNIV_REASON_FLAGS,
				    0, cmd->oflags, O_CREAT | O_EXCL);
	xrcd = kzalloc(sizeof(*xrcd), GFP_KERNEL_ACCOUNT);
	if (!xrcd)
		return univ_explain_driver(&cmd->hdr, -ENOMEM);
	ret = univ_object_reserve(call->ctx, &xrcd->obj, UNIV_OBJECT_XRCD,
				  &cmd->hdr);
	if (ret) {
		kfree(xrcd);
		return ret;
	}
	return xrcd_build(xrcd, call, cmd);
}

/*
 * Objects of other contexts hold a reference to the domain, not to this handle.
 */
int univ_xrcd_destroy(struct univ_object *obj)
{
	struct univ_xrcd *xrcd = container_of(obj, struct univ_xrcd, obj);

	return domain_put(obj->ctx->dev, xrcd->domain);
}

int univ_xrcd_close_ioctl(struct univ_call *call, void *arg)
{
	return univ_object_destroy(call, arg, UNIV_OBJECT_XRCD,
				   univ_xrcd_destroy);
}
