// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Contexts: the opening of a context, and the replacement of the functions that the
 * inline functions of verbs.h call through it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/explain/explain.h"
#include "why/why.h"

/* Entries are reused after the context is closed and never freed, so pollers need no lock. */
struct entry {
	struct entry *next;
	struct ibv_context *context;	/* NULL if the entry is free */
	struct ibv_context_ops ops;
	struct ibv_qp *(*create_qp_ex)(struct ibv_context *context,
				       struct ibv_qp_init_attr_ex *attr);
};

static struct entry *entries;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct entry *entry_of(const struct ibv_context *context)
{
	struct entry *entry = __atomic_load_n(&entries, __ATOMIC_ACQUIRE);

	while (entry && __atomic_load_n(&entry->context, __ATOMIC_ACQUIRE) != context)
		entry = entry->next;
	return entry;
}

static int poll_cq(struct ibv_cq *cq, int max, struct ibv_wc *wc)
{
	int found = entry_of(cq->context)->ops.poll_cq(cq, max, wc);
	int i;

	for (i = 0; i < found; i++)
		if (wc[i].status != IBV_WC_SUCCESS)
			completion_failed(cq->context, &wc[i]);
	return found;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	int err = entry_of(qp->context)->ops.post_send(qp, wr, bad);

	if (err)
		explain_post_send(qp, *bad, err);
	return err;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int err = entry_of(qp->context)->ops.post_recv(qp, wr, bad);

	if (err)
		explain_post_recv(qp, *bad, err);
	return err;
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int err = entry_of(srq->context)->ops.post_srq_recv(srq, wr, bad);

	if (err)
		explain_post_srq_recv(srq, *bad, err);
	return err;
}

struct ibv_qp *real_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	return entry_of(context)->create_qp_ex(context, attr);
}

static void entry_fill(struct entry *entry, struct ibv_context *context)
{
	struct verbs_context *vctx = verbs_get_ctx_op(context, create_qp_ex);

	entry->ops = context->ops;
	entry->create_qp_ex = vctx ? vctx->create_qp_ex : NULL;
	__atomic_store_n(&entry->context, context, __ATOMIC_RELEASE);
	context->ops.poll_cq = poll_cq;
	context->ops.post_send = post_send;
	context->ops.post_recv = post_recv;
	context->ops.post_srq_recv = post_srq_recv;
	if (vctx)
		vctx->create_qp_ex = explained_create_qp_ex;
}

/* If there is no memory for an entry, the context keeps its functions. */
static void context_add(struct ibv_context *context)
{
	struct entry *entry;

	pthread_mutex_lock(&mutex);
	entry = entry_of(NULL);
	if (entry) {
		entry_fill(entry, context);
	} else if ((entry = calloc(1, sizeof(*entry)))) {
		entry_fill(entry, context);
		entry->next = entries;
		__atomic_store_n(&entries, entry, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&mutex);
}

bool to_explain(void)
{
	return !dlsym(RTLD_NEXT, "univerbs_last_error");
}

VERB struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *context = REAL(ibv_open_device)(device);
	char path[sizeof(device->dev_name) + sizeof("/dev/infiniband/")];
	int err = errno;

	if (context && to_explain())
		context_add(context);
	if (context || !to_explain()) {
		errno = err;
		return context;
	}
	snprintf(path, sizeof(path), "/dev/infiniband/%s", device->dev_name);
	/* The stock library tries several places and returns the error of the last one. */
	univ_fail_open("ibv_open_device", access(path, R_OK | W_OK) ? errno : err, path);
	errno = err;
	return NULL;
}

VERB int ibv_close_device(struct ibv_context *context)
{
	struct entry *entry;

	pthread_mutex_lock(&mutex);
	entry = entry_of(context);
	if (entry)
		__atomic_store_n(&entry->context, NULL, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&mutex);
	return REAL(ibv_close_device)(context);
}

static void explain_list(struct ibv_device **list, int found, int err)
{
	if (!list)
		univ_fail(&(struct univ_failure) {
			.verb = "ibv_get_device_list",
			.err = err ? err : ENOSYS,
			.subject = "is the module ib_uverbs loaded?",
		});
	else if (!found)
		univ_fail_no_device("ibv_get_device_list");
}

VERB struct ibv_device **ibv_get_device_list(int *count)
{
	int found = 0;
	struct ibv_device **list = REAL(ibv_get_device_list)(&found);
	int err = errno;

	if (count)
		*count = found;
	if (to_explain())
		explain_list(list, found, err);
	errno = err;
	return list;
}
