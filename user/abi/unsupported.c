// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Verbs that are not offered. Their operations are never NULL, since some inline
 * functions of the public header call them without a check.
 */
#include <errno.h>
#include <string.h>

#include "abi/abi.h"
#include "base/base.h"
#include "why/why.h"

/* NO_OBJECT_FOR(enum univ_lack, name of the verb, type of the object, parameters ...) */
#define NO_OBJECT_FOR(lack, verb, type, ...)			\
	static type *no_##verb(__VA_ARGS__)			\
	{							\
		univ_fail_lacking("ibv_" #verb, lack);		\
		return NULL;					\
	}

#define NO_CALL_FOR(lack, verb, ...)				\
	static int no_##verb(__VA_ARGS__)			\
	{							\
		return univ_fail_lacking("ibv_" #verb, lack);	\
	}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* The caller looks at the first operation that was not posted. */
static int no_post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *op, struct ibv_ops_wr **bad)
{
	*bad = op;
	return univ_fail_lacking("ibv_post_srq_ops", UNIV_LACK_TAGS);
}

NO_OBJECT_FOR(UNIV_LACK_IPSEC, create_flow_action_esp, struct ibv_flow_action,
	      struct ibv_context *context, struct ibv_flow_action_esp_attr *attr)
NO_CALL_FOR(UNIV_LACK_IPSEC, modify_flow_action_esp, struct ibv_flow_action *action,
	    struct ibv_flow_action_esp_attr *attr)
NO_CALL_FOR(UNIV_LACK_IPSEC, destroy_flow_action, struct ibv_flow_action *action)

#pragma GCC diagnostic pop

static void queue_ops_set(struct verbs_context *vctx)
{
	vctx->post_srq_ops = no_post_srq_ops;
}

static void flow_ops_set(struct verbs_context *vctx)
{
	vctx->create_flow_action_esp = no_create_flow_action_esp;
	vctx->modify_flow_action_esp = no_modify_flow_action_esp;
	vctx->destroy_flow_action = no_destroy_flow_action;
}

void univ_unsupported_ops(struct verbs_context *vctx)
{
	queue_ops_set(vctx);
	flow_ops_set(vctx);
}

/* librdmacm calls both for every queue pair. */
UNIV_EXPORT int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	(void)ece;
	return univ_fail_probe("ibv_set_ece", UNIV_LACK_ECE);
}

UNIV_EXPORT int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	(void)ece;
	return univ_fail_probe("ibv_query_ece", UNIV_LACK_ECE);
}
