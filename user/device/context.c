// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Opening and closing a device. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "abi/abi.h"
#include "device/device.h"
#include "ring/ring.h"
#include "verbs/verbs.h"
#include "watch/watch.h"
#include "why/why.h"

#define VERB_OPEN "ibv_open_device"
#define VERB_IMPORT "ibv_import_device"
#define POLL_IDLE_US 1000
#define UDEV_S 3

/*
 * The kernel creates a node for root alone, and udev gives it to its group a moment later. The
 * library itself may have loaded the module that created it. The caller tries once more after
 * this returns false, since udev may come between its call and the look at the mode.
 */
static bool udev_may_come(const char *path)
{
	struct timespec now;
	struct stat st;

	clock_gettime(CLOCK_REALTIME, &now);
	return !stat(path, &st) && !(st.st_mode & 0077) &&
	       now.tv_sec - st.st_mtim.tv_sec >= 0 && now.tv_sec - st.st_mtim.tv_sec <= UDEV_S;
}

static int node_open_wait(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd >= 0 || errno != EACCES)
		return fd;
	while (udev_may_come(path))
		usleep(20000);
	return open(path, O_RDWR | O_CLOEXEC);
}

/*
 * Opens the node that netlink named, and checks its device number: names are
 * reused when devices come and go, so the name may be another device's by now.
 */
static int node_open(const struct univ_device *device)
{
	char path[UNIV_NODE_PATH_MAX];
	struct stat st;
	int fd;

	univ_node_path(path, device->ibv.dev_name);
	fd = node_open_wait(path);
	if (fd < 0) {
		univ_fail_open(VERB_OPEN, errno, path);
		return -1;
	}
	if (!fstat(fd, &st) && S_ISCHR(st.st_mode) && st.st_rdev == device->node)
		return fd;
	close(fd);
	univ_fail_gone(VERB_OPEN, path);
	return -1;
}

static int context_query(struct univ_context *ctx, int fd)
{
	struct univ_context_query cmd = {};
	int err = univ_cmd_context_query(fd, &cmd);

	if (err)
		return err;
	if (cmd.abi_version != UNIV_ABI_VERSION)
		return univ_fail_version(VERB_OPEN, cmd.abi_version, "");
	ctx->doorbell_offset = cmd.doorbell_offset;
	ctx->bell_offset = cmd.bell_offset;
	ctx->post = cmd.bell_offset ? &univ_post_by_bell : &univ_post_by_kick;
	ctx->gives_way = !cmd.bell_offset;
	ctx->features = cmd.features;
	ctx->vctx.context.num_comp_vectors = (int)cmd.num_comp_vectors;
	return 0;
}

/*
 * UNIVERBS_POLL is 1, or the microseconds after which an idle poller sleeps. A
 * program works without a poller too, so a failure is recorded and otherwise
 * ignored.
 */
static void poller_start(struct univ_context *ctx, int fd)
{
	const char *env = secure_getenv("UNIVERBS_POLL");
	struct univ_poller_start cmd = {};
	unsigned long idle = env ? strtoul(env, NULL, 0) : 0;

	if (!idle)
		return;
	cmd.idle_us = idle == 1 ? POLL_IDLE_US : (uint32_t)(idle < UINT32_MAX ? idle : UINT32_MAX);
	if (!univ_cmd_poller_start(fd, &cmd))
		ctx->gives_way = false;
}

/* The macro of the public header hides the exported function. */
#undef ibv_get_device_list

static void direct_ops_set(struct ibv_context_ops *ops, const struct univ_post_ops *post)
{
	ops->poll_cq = univ_poll_cq;
	ops->req_notify_cq = univ_req_notify_cq;
	ops->post_send = post->send;
	ops->post_recv = post->recv;
	ops->post_srq_recv = post->srq_recv;
	ops->alloc_mw = univ_alloc_mw;
	ops->dealloc_mw = univ_dealloc_mw;
	ops->bind_mw = post->bind;
}

/* Programs linked with libibverbs 1.1.8 find the calls of flows in the placeholders. */
static void flow_ops_set(struct verbs_context *vctx)
{
	vctx->ibv_create_flow = univ_create_flow;
	vctx->ibv_destroy_flow = univ_destroy_flow;
	vctx->ABI_placeholder1 = (void (*)(void))univ_create_flow;
	vctx->ABI_placeholder2 = (void (*)(void))univ_destroy_flow;
	vctx->create_counters = univ_create_counters;
	vctx->destroy_counters = univ_destroy_counters;
	vctx->attach_counters_point_flow = univ_attach_counters_point_flow;
	vctx->read_counters = univ_read_counters;
}

static void ops_set(struct verbs_context *vctx, const struct univ_post_ops *post)
{
	univ_unsupported_ops(vctx);
	univ_compat_ops(&vctx->context.ops);
	direct_ops_set(&vctx->context.ops, post);
	flow_ops_set(vctx);
	vctx->query_port = univ_query_port;
	vctx->query_device_ex = univ_query_device_ex;
	vctx->query_rt_values = univ_query_rt_values;
	vctx->advise_mr = univ_advise_mr;
	vctx->alloc_null_mr = univ_alloc_null_mr;
	vctx->alloc_dm = univ_alloc_dm;
	vctx->free_dm = univ_free_dm;
	vctx->reg_dm_mr = univ_reg_dm_mr;
	vctx->alloc_td = univ_alloc_td;
	vctx->dealloc_td = univ_dealloc_td;
	vctx->alloc_parent_domain = univ_alloc_parent_domain;
	vctx->create_cq_ex = univ_create_cq_ex;
	vctx->modify_cq = univ_modify_cq;
	vctx->modify_qp_rate_limit = univ_modify_qp_rate_limit;
	vctx->create_qp_ex = univ_create_qp_ex;
	vctx->create_srq_ex = univ_create_srq_ex;
	vctx->get_srq_num = univ_get_srq_num;
	vctx->create_wq = univ_create_wq;
	vctx->modify_wq = univ_modify_wq;
	vctx->destroy_wq = univ_destroy_wq;
	vctx->create_rwq_ind_table = univ_create_rwq_ind_table;
	vctx->destroy_rwq_ind_table = univ_destroy_rwq_ind_table;
	vctx->open_xrcd = univ_open_xrcd;
	vctx->close_xrcd = univ_close_xrcd;
	vctx->open_qp = univ_open_qp;
	vctx->sz = sizeof(*vctx);
}

static void context_init(struct univ_context *ctx, struct univ_device *device, int fd)
{
	struct ibv_context *ibv = &ctx->vctx.context;

	ops_set(&ctx->vctx, ctx->post);
	ibv->device = &device->ibv;
	ibv->cmd_fd = fd;
	ibv->async_fd = fd;
	ibv->abi_compat = __VERBS_ABI_IS_EXTENDED;
	pthread_mutex_init(&ibv->mutex, NULL);
	univ_device_get(device);
}

/*
 * A thread that waits for events must not keep the objects when another thread closes the context,
 * so events have a file of their own. A module that does not know the call has the node alone.
 * Returns -1 with an explanation.
 */
static int async_open(int fd)
{
	struct univ_async_open cmd = {};
	int err = univ_cmd_async_open_try(fd, &cmd);

	if (err == ENOTTY)
		return fd;
	if (!err)
		return cmd.fd;
	univ_fail_hdr(VERB_OPEN, err, &cmd.hdr);
	return -1;
}

UNIV_EXPORT struct ibv_context *ibv_open_device(struct ibv_device *ibdev)
{
	struct univ_device *device = to_udevice(ibdev);
	struct univ_context *ctx = calloc(1, sizeof(*ctx));
	int fd, async_fd;

	if (!ctx) {
		univ_fail_memory(VERB_OPEN, sizeof(*ctx));
		return NULL;
	}
	fd = node_open(device);
	if (fd < 0)
		goto free_context;
	if (context_query(ctx, fd))
		goto close_node;
	async_fd = async_open(fd);
	if (async_fd < 0)
		goto close_node;
	poller_start(ctx, fd);
	context_init(ctx, device, fd);
	ctx->vctx.context.async_fd = async_fd;
	univ_watch_open(ctx);
	return &ctx->vctx.context;

close_node:
	close(fd);
free_context:
	free(ctx);
	return NULL;
}

/* The device whose node @fd is, with a reference, or NULL. */
static struct univ_device *node_device(int fd)
{
	struct univ_device *found = NULL;
	struct ibv_device **list, **each;
	struct stat st;

	if (fstat(fd, &st) || !S_ISCHR(st.st_mode)) {
		univ_fail_no_context(VERB_IMPORT, fd);
		return NULL;
	}
	list = ibv_get_device_list(NULL);
	for (each = list; each && *each && !found; each++)
		if (to_udevice(*each)->node == st.st_rdev)
			found = to_udevice(*each);
	if (found)
		univ_device_get(found);
	else
		univ_fail_no_context(VERB_IMPORT, fd);
	if (list)
		ibv_free_device_list(list);
	return found;
}

/*
 * A context belongs to its file, so the contexts of all processes that hold the file have the same
 * objects. Asynchronous events of the file go to the process that opened it. An imported context
 * reads its events from a completion channel instead, which UNIV_ASYNC_SET registers: those of the
 * device, of its ports, and of the objects that are created in this context. A module that does not
 * know UNIV_ASYNC_SET puts no events there.
 */
static int context_import(struct univ_context *ctx, struct univ_device *device, int fd)
{
	struct univ_channel_create channel = {};
	int err = context_query(ctx, fd);

	if (!err)
		err = univ_cmd_channel_create(fd, &channel);
	if (err)
		return err;
	context_init(ctx, device, fd);
	univ_cmd_async_set_try(fd, &(struct univ_async_set) { .channel_fd = channel.fd });
	ctx->vctx.context.async_fd = channel.fd;
	ctx->imported = true;
	univ_watch_open(ctx);
	return 0;
}

UNIV_EXPORT struct ibv_context *ibv_import_device(int cmd_fd)
{
	struct univ_device *device = node_device(cmd_fd);
	struct univ_context *ctx;

	if (!device)
		return NULL;
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		univ_fail_memory(VERB_IMPORT, sizeof(*ctx));
	if (ctx && context_import(ctx, device, cmd_fd)) {
		free(ctx);
		ctx = NULL;
	}
	univ_device_put(device);
	return ctx ? &ctx->vctx.context : NULL;
}

UNIV_EXPORT int ibv_close_device(struct ibv_context *context)
{
	struct univ_context *ctx = to_ucontext(context);

	univ_watch_close(ctx);
	if (ctx->doorbell)
		munmap((void *)ctx->doorbell, UNIV_PAGE_SIZE);
	if (context->async_fd != context->cmd_fd)
		close(context->async_fd);
	if (ctx->bells)
		munmap(ctx->bells, UNIV_PAGE_SIZE);
	univ_arenas_end(&ctx->arenas);
	close(context->cmd_fd);
	pthread_mutex_destroy(&context->mutex);
	univ_device_put(to_udevice(context->device));
	free(ctx);
	return 0;
}

/*
 * At fork() the kernel copies pinned pages for the child, so that the parent's stay
 * in place. Nothing is left to do here.
 */
UNIV_EXPORT int ibv_fork_init(void)
{
	return 0;
}

UNIV_EXPORT enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

UNIV_EXPORT int ibv_dontfork_range(void *base, size_t size);
int ibv_dontfork_range(void *base, size_t size)
{
	(void)base;
	(void)size;
	return 0;
}

UNIV_EXPORT int ibv_dofork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size)
{
	(void)base;
	(void)size;
	return 0;
}
