// SPDX-License-Identifier: GPL-2.0
/* See fixture.h. The contexts are made by the core's own code. */
#include "../../kernel/core/node/chardev.c"

#include <linux/anon_inodes.h>
#include <linux/kthread.h>
#include <linux/mman.h>
#include <linux/sched/mm.h>

#include "driver.h"
#include "fixture.h"

/*
 * The memory of the process that loads the module. KUnit runs its cases in kernel
 * threads, which have none.
 */
static struct mm_struct *loader;

int fixture_suite_init(struct kunit_suite *suite)
{
	if (!current->mm)
		return -EINVAL;
	loader = current->mm;
	mmget(loader);
	return 0;
}

void fixture_suite_exit(struct kunit_suite *suite)
{
	if (loader)
		mmput(loader);
	loader = NULL;
}

void fixture_enter(struct fixture *f)
{
	if (current->flags & PF_KTHREAD)
		kthread_use_mm(loader);
}

void fixture_leave(struct fixture *f)
{
	if (current->flags & PF_KTHREAD)
		kthread_unuse_mm(loader);
}

static int fixture_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct fixture *f = file->private_data;

	return univ_region_mmap(f->ctx, vma);
}

static const struct file_operations fixture_fops = {
	.mmap = fixture_mmap,
};

static int fixture_memory(struct fixture *f)
{
	fixture_enter(f);
	f->user = vm_mmap(NULL, 0, FIXTURE_USER_SIZE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, 0);
	fixture_leave(f);
	return IS_ERR_VALUE(f->user) ? -ENOMEM : 0;
}

/* A driver without flags: the pump assumes nothing about its handlers. */
static const struct univ_driver fixture_driver = {};

struct univ_context *fixture_attach(struct univ_device *dev)
{
	struct univ_context *ctx = univ_context_alloc(dev);

	if (!ctx || !context_attach(ctx))
		return ctx;
	univ_context_put(ctx);
	return NULL;
}

int fixture_init(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	if (!f || fixture_memory(f))
		return -ENOMEM;
	test->priv = f;
	f->mock = mock_create();
	if (!f->mock)
		return -ENODEV;
	f->dev = univ_device_alloc(&f->mock->ib);
	if (!f->dev)
		return -ENOMEM;
	if (univ_pump_add(f->dev, &fixture_driver))
		return -ENOMEM;
	f->ctx = fixture_attach(f->dev);
	if (!f->ctx)
		return -ENOMEM;
	f->file = anon_inode_getfile("[univerbs-kunit]", &fixture_fops, f,
				     O_RDWR);
	if (IS_ERR(f->file))
		return PTR_ERR(f->file);
	mock_reset(f->mock);
	return 0;
}

int fixture_open(struct fixture *f)
{
	struct inode *inode = kzalloc(sizeof(*inode), GFP_KERNEL);
	struct file *file = kzalloc(sizeof(*file), GFP_KERNEL);
	int ret = -ENOMEM;

	if (inode && file) {
		inode->i_cdev = &f->dev->cdev;
		ret = univ_open(inode, file);
	}
	kfree(inode);
	kfree(file);
	return ret;
}

void fixture_kill(struct fixture *f)
{
	univ_context_kill(f->ctx, true);
}

void fixture_kill_again(struct fixture *f)
{
	down_write(&f->ctx->live);
	context_destroy_objects(f->ctx, true);
	up_write(&f->ctx->live);
	univ_context_put(f->ctx);
	module_put(THIS_MODULE);
}

void fixture_exit(struct kunit *test)
{
	struct fixture *f = test->priv;

	if (!f)
		return;
	fput(f->file);
	if (f->ctx) {
		mock_reset(f->mock);
		univ_context_kill(f->ctx, false);
		list_del_init(&f->ctx->link);
		univ_context_put(f->ctx);
	}
	if (f->dev)
		put_device(&f->dev->dev);
	/* The context has destroyed all its objects by now. */
	KUNIT_EXPECT_EQ(test, atomic_read(&f->mock->objects), 0);
	mock_destroy(f->mock);
	fixture_enter(f);
	vm_munmap(f->user, FIXTURE_USER_SIZE);
	fixture_leave(f);
	test->priv = NULL;
}

int fixture_call_at(struct fixture *f, unsigned int cmd, unsigned long uarg)
{
	int ret;

	fixture_enter(f);
	ret = fixture_dispatch(f->ctx, cmd, uarg);
	fixture_leave(f);
	return ret;
}

int fixture_call(struct fixture *f, unsigned int cmd, void *arg, u32 size)
{
	void __user *uarg = (void __user *)f->user;
	int ret = -EFAULT;

	((struct univ_hdr *)arg)->size = size;
	fixture_enter(f);
	if (copy_to_user(uarg, arg, size))
		goto leave;
	ret = fixture_dispatch(f->ctx, cmd, f->user);
	if (copy_from_user(arg, uarg, size))
		ret = -EFAULT;
leave:
	fixture_leave(f);
	return ret;
}

unsigned long fixture_map(struct fixture *f, u64 offset, size_t length,
			  unsigned long prot, unsigned long flags)
{
	unsigned long addr;

	fixture_enter(f);
	addr = vm_mmap(f->file, 0, length, prot, flags, offset);
	fixture_leave(f);
	return addr;
}

void fixture_unmap(struct fixture *f, unsigned long addr, size_t length)
{
	fixture_enter(f);
	vm_munmap(addr, length);
	fixture_leave(f);
}

u32 fixture_peek(struct fixture *f, unsigned long addr)
{
	u32 value = 0xdead;

	fixture_enter(f);
	if (copy_from_user(&value, (void __user *)addr, sizeof(value)))
		value = 0xfa017;
	fixture_leave(f);
	return value;
}

bool fixture_poke(struct fixture *f, unsigned long addr, u32 value)
{
	unsigned long left;

	fixture_enter(f);
	left = copy_to_user((void __user *)addr, &value, sizeof(value));
	fixture_leave(f);
	return !left;
}

int fixture_kick(struct fixture *f, u32 handle, u32 which)
{
	return fixture_call_at(f, UNIV_KICK, handle | which);
}

static struct univ_object *fixture_find(struct fixture *f, u32 handle)
{
	struct univ_object *obj = univ_object_find(f->ctx, handle);

	if (obj)
		univ_object_put(obj);
	return obj;
}

u32 fixture_pd(struct fixture *f)
{
	struct univ_pd_alloc arg = {};

	return fixture_call(f, UNIV_PD_ALLOC, &arg, sizeof(arg)) ? 0 :
								  arg.handle;
}

struct univ_cq *fixture_cq(struct fixture *f, u32 cqe)
{
	struct univ_cq_create arg = { .cqe = cqe, .channel_fd = -1 };

	if (fixture_call(f, UNIV_CQ_CREATE, &arg, sizeof(arg)))
		return NULL;
	return container_of(fixture_find(f, arg.handle), struct univ_cq, obj);
}

struct univ_srq *fixture_srq(struct fixture *f, u32 pd, u32 wr, u32 sge)
{
	struct univ_srq_create arg = { .pd = pd, .max_wr = wr, .max_sge = sge };

	if (fixture_call(f, UNIV_SRQ_CREATE, &arg, sizeof(arg)))
		return NULL;
	return container_of(fixture_find(f, arg.handle), struct univ_srq, obj);
}

struct univ_qp *fixture_qp_of_two(struct fixture *f, enum ib_qp_type type,
				  u32 pd, struct univ_cq *send_cq,
				  struct univ_cq *recv_cq, struct univ_srq *srq,
				  u32 wr)
{
	struct univ_qp_create arg = {
		.pd = pd,
		.send_cq = send_cq->obj.handle,
		.recv_cq = recv_cq->obj.handle,
		.srq = srq ? srq->obj.handle : 0,
		.qp_type = type,
		.max_send_wr = wr,
		.max_recv_wr = srq ? 0 : wr,
		.max_send_sge = 4,
		.max_recv_sge = srq ? 0 : 4,
		.max_inline = 64,
	};

	if (fixture_call(f, UNIV_QP_CREATE, &arg, sizeof(arg)))
		return NULL;
	return container_of(fixture_find(f, arg.handle), struct univ_qp, obj);
}

struct univ_qp *fixture_qp(struct fixture *f, enum ib_qp_type type, u32 pd,
			   struct univ_cq *cq, struct univ_srq *srq, u32 wr)
{
	return fixture_qp_of_two(f, type, pd, cq, cq, srq, wr);
}

int fixture_destroy(struct fixture *f, unsigned int cmd, u32 handle)
{
	struct univ_destroy arg = { .handle = handle };

	return fixture_call(f, cmd, &arg, sizeof(arg));
}

/* The mock accepts requests in every state; only the state that the core has recorded matters. */
int fixture_qp_state(struct univ_qp *qp, enum ib_qp_state state)
{
	mutex_lock(&qp->mutex);
	WRITE_ONCE(qp->state, state);
	mutex_unlock(&qp->mutex);
	return 0;
}
