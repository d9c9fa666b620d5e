// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Protection domains, thread domains and parent domains. */
#include <errno.h>
#include <stdlib.h>

#include "verbs/common.h"
#include "why/why.h"

static struct univ_pd *pd_new(const char *verb, struct ibv_context *context)
{
	struct univ_pd *pd = calloc(1, sizeof(*pd));

	if (pd) {
		pd->ibv.context = context;
		pd->refs = 1;
	} else {
		univ_fail_memory(verb, sizeof(*pd));
	}
	return pd;
}

/*
 * A domain may end before its objects: when the device is gone, and when it was imported. The
 * objects still refer to it, so the last of them frees it.
 */
static void pd_put(struct univ_pd *pd)
{
	if (!__atomic_sub_fetch(&pd->refs, 1, __ATOMIC_ACQ_REL))
		free(pd);
}

UNIV_EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct univ_pd_alloc cmd = {};
	struct univ_pd *pd = pd_new("ibv_alloc_pd", context);

	if (!pd)
		return NULL;
	if (univ_cmd_pd_alloc(context->cmd_fd, &cmd)) {
		free(pd);
		return NULL;
	}
	pd->ibv.handle = cmd.handle;
	return &pd->ibv;
}

static void users_add(int *users, int change)
{
	__atomic_add_fetch(users, change, __ATOMIC_RELAXED);
}

static int users_of(const int *users)
{
	return __atomic_load_n(users, __ATOMIC_RELAXED);
}

void univ_pd_hold(struct ibv_pd *pd)
{
	users_add(&to_upd(pd)->refs, 1);
	if (to_upd(pd)->domain)
		users_add(&to_upd(pd)->users, 1);
}

void univ_pd_release(struct ibv_pd *pd)
{
	if (to_upd(pd)->domain)
		users_add(&to_upd(pd)->users, -1);
	pd_put(to_upd(pd));
}

static void parent_domain_free(struct univ_pd *pd)
{
	users_add(&pd->domain->users, -1);
	if (pd->td)
		users_add(&pd->td->users, -1);
	pd_put(pd);
}

UNIV_EXPORT int ibv_dealloc_pd(struct ibv_pd *ibv)
{
	struct univ_destroy cmd = { .handle = ibv->handle };
	struct univ_pd *pd = to_upd(ibv);
	int err, users = users_of(&pd->users);

	if (users)
		return univ_fail_busy("ibv_dealloc_pd", UNIV_OBJECT_PD, ibv->handle, users);
	if (pd->domain) {
		parent_domain_free(pd);
		return 0;
	}
	err = univ_cmd_pd_dealloc(ibv->context->cmd_fd, &cmd);
	if (!err)
		pd_put(pd);
	return err;
}

struct ibv_td *univ_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	struct univ_td *td;

	if (attr->comp_mask) {
		univ_fail_flags("ibv_alloc_td", EOPNOTSUPP, UNIV_FLAGS_NONE, attr->comp_mask, 0);
		return NULL;
	}
	td = calloc(1, sizeof(*td));
	if (!td) {
		univ_fail_memory("ibv_alloc_td", sizeof(*td));
		return NULL;
	}
	td->ibv.context = context;
	return &td->ibv;
}

int univ_dealloc_td(struct ibv_td *ibv)
{
	struct univ_td *td = (struct univ_td *)ibv;
	int users = users_of(&td->users);

	if (users)
		return univ_fail_busy("ibv_dealloc_td", UNIV_OBJECT_TD, 0, users);
	free(td);
	return 0;
}

static int parent_domain_check(const struct ibv_context *context,
			       const struct ibv_parent_domain_init_attr *attr)
{
	const char *verb = "ibv_alloc_parent_domain";
	const uint32_t known = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			       IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT |
			       IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC;

	if (!attr->pd)
		return univ_fail_no_object(verb, UNIV_OBJECT_PD);
	if (attr->comp_mask & ~known)
		return univ_fail_flags(verb, EOPNOTSUPP, UNIV_FLAGS_NONE, attr->comp_mask, known);
	if (attr->pd->context != context)
		return univ_fail_context(verb, UNIV_OBJECT_PD);
	if (attr->td && attr->td->context != context)
		return univ_fail_context(verb, UNIV_OBJECT_TD);
	return 0;
}

/*
 * The allocators of @attr are not kept: rings are the kernel's memory, so the library has no
 * memory of a device to take from them.
 */
struct ibv_pd *univ_alloc_parent_domain(struct ibv_context *context,
					struct ibv_parent_domain_init_attr *attr)
{
	struct univ_pd *pd, *domain;

	if (parent_domain_check(context, attr))
		return NULL;
	pd = pd_new("ibv_alloc_parent_domain", context);
	if (!pd)
		return NULL;
	domain = to_upd(attr->pd)->domain;
	pd->domain = domain ? domain : to_upd(attr->pd);
	pd->td = (struct univ_td *)attr->td;
	pd->special = attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC;
	pd->ibv.handle = pd->domain->ibv.handle;
	users_add(&pd->domain->users, 1);
	if (pd->td)
		users_add(&pd->td->users, 1);
	return &pd->ibv;
}

UNIV_EXPORT struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t pd_handle)
{
	struct univ_handle_query cmd = { .handle = pd_handle, .type = UNIV_OBJECT_PD };
	struct univ_pd *pd = pd_new("ibv_import_pd", context);

	if (!pd)
		return NULL;
	if (univ_cmd_pd_import(context->cmd_fd, &cmd)) {
		free(pd);
		return NULL;
	}
	pd->ibv.handle = pd_handle;
	return &pd->ibv;
}

UNIV_EXPORT void ibv_unimport_pd(struct ibv_pd *pd)
{
	pd_put(to_upd(pd));
}
