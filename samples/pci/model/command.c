// SPDX-License-Identifier: GPL-2.0
/*
 * Commands. As with every bus master, the driver is trusted to name addresses
 * that the device may use. A command that makes no sense gets an errno.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

#define PSN_MASK 0xffffff

/* Reads the addresses of the list. Returns NULL if one of them is not memory. */
static uint64_t *list_take(struct guest *guest, uint32_t count)
{
	const uint64_t *list = (const void *)((const char *)guest->mem + UPCI_LIST);
	uint64_t *page;
	uint32_t i;

	if (!count || count > UPCI_LIST_MAX)
		return NULL;
	page = malloc(count * sizeof(*page));
	for (i = 0; page && i < count; i++) {
		page[i] = __atomic_load_n(&list[i], __ATOMIC_RELAXED);
		if (!bus_ok(guest, page[i])) {
			free(page);
			return NULL;
		}
	}
	return page;
}

/*
 * Whether the ring lies in so many pages, none of its cache lines in two of them. A page that is
 * larger than UPCI_PAGE in the guest is listed once, so its ring is refused.
 */
static bool ring_ok(const struct upci_ring *at, uint32_t pages)
{
	uint64_t end = at->slots + (uint64_t)at->count * at->stride;
	uint64_t bytes = (uint64_t)pages * UPCI_PAGE;

	return at->count && !(at->count & (at->count - 1)) && at->stride >= 32 &&
	       !(at->stride % 32) && !(at->slots % 64) && end <= bytes && !(at->head % 64) &&
	       at->head + sizeof(struct univ_ring_head) <= bytes;
}

static bool ring_take(struct guest *guest, struct ring *ring, const struct upci_cmd *cmd)
{
	if (!ring_ok(&cmd->ring, cmd->pages))
		return false;
	*ring = (struct ring) { .at = cmd->ring, .page = list_take(guest, cmd->pages) };
	return ring->page;
}

static int create_cq(struct guest *guest, const struct upci_cmd *cmd)
{
	struct cq *cq = &guest->cqs[cmd->number];

	if (cq->used)
		return -EINVAL;
	memset(cq, 0, sizeof(*cq));
	if (cmd->ring.stride != sizeof(struct univ_cqe) ||
	    !ring_take(guest, &cq->ring, cmd))
		return -EINVAL;
	cq->used = true;
	return 0;
}

static int create_srq(struct guest *guest, const struct upci_cmd *cmd)
{
	struct srq *srq = &guest->srqs[cmd->number];

	if (!cmd->number || srq->used || !ring_take(guest, &srq->ring, cmd))
		return -EINVAL;
	srq->used = true;
	return 0;
}

static struct cq *cq_find(struct guest *guest, uint32_t number)
{
	return number < UPCI_MAX_QUEUES && guest->cqs[number].used ? &guest->cqs[number] : NULL;
}

static struct srq *srq_find(struct guest *guest, uint32_t number)
{
	return number < UPCI_MAX_QUEUES && guest->srqs[number].used ? &guest->srqs[number] : NULL;
}

static void destroy_qp(struct qp *qp)
{
	free(qp->send.page);		/* the pages of both rings */
	memset(qp, 0, sizeof(*qp));
}

static bool qp_rings(struct guest *guest, struct qp *qp, const struct upci_cmd *cmd)
{
	if (cmd->ring.stride < sizeof(struct univ_send_wr) ||
	    (cmd->recv.count && !ring_ok(&cmd->recv, cmd->pages)) ||
	    !ring_take(guest, &qp->send, cmd))
		return false;
	if (cmd->recv.count)
		qp->recv = (struct ring) { .at = cmd->recv, .page = qp->send.page };
	return true;
}

static int create_qp(struct guest *guest, const struct upci_cmd *cmd)
{
	struct qp *qp = &guest->qps[cmd->number];

	if (qp->used || (cmd->type != IBV_QPT_RC && cmd->type != IBV_QPT_UD))
		return -EINVAL;
	qp->number = cmd->number;
	qp->pd = cmd->pd;
	qp->type = cmd->type;
	qp->sig_all = cmd->sig_all;
	qp->max_sge = cmd->max_sge < UPCI_MAX_SGE ? cmd->max_sge : UPCI_MAX_SGE;
	qp->send_cq = cq_find(guest, cmd->send_cq);
	qp->recv_cq = cq_find(guest, cmd->recv_cq);
	qp->srq = srq_find(guest, cmd->srq);
	qp->used = qp->send_cq && qp->recv_cq && (qp->srq || !cmd->srq) &&
		   qp_rings(guest, qp, cmd);
	if (qp->used)
		return 0;
	destroy_qp(qp);
	return -EINVAL;
}

static int modify_qp(struct guest *guest, const struct upci_cmd *cmd)
{
	struct qp *qp = &guest->qps[cmd->number];

	if (!qp->used)
		return -EINVAL;
	if (cmd->mask & IBV_QP_DEST_QPN)
		qp->dest_qpn = cmd->dest_qpn;
	if (cmd->mask & IBV_QP_AV)
		qp->dlid = cmd->dlid;
	if (cmd->mask & IBV_QP_QKEY)
		qp->qkey = cmd->qkey;
	if (cmd->mask & IBV_QP_ACCESS_FLAGS)
		qp->access = cmd->access;
	if (cmd->mask & IBV_QP_RQ_PSN)
		qp->rq_psn = cmd->psn & PSN_MASK;
	if (cmd->mask & IBV_QP_SQ_PSN)
		qp->sq_psn = cmd->psn & PSN_MASK;
	if (cmd->mask & IBV_QP_RNR_RETRY)
		qp->rnr_retry = cmd->rnr_retry;
	if (cmd->mask & IBV_QP_STATE)
		qp_enter(guest, qp, cmd->state);
	return 0;
}

static int create_ah(struct guest *guest, const struct upci_cmd *cmd)
{
	if (guest->ahs[cmd->number].used)
		return -EINVAL;
	guest->ahs[cmd->number] = (struct ah) {
		.used = true, .pd = cmd->pd, .handle = cmd->type, .dlid = cmd->dlid,
	};
	return 0;
}

static int create_mr(struct guest *guest, const struct upci_cmd *cmd)
{
	struct mr *mr = &guest->mrs[cmd->number];
	uint64_t bytes = (uint64_t)cmd->pages * UPCI_PAGE, first = cmd->iova % UPCI_PAGE;

	if (mr->used || cmd->length > bytes || first > bytes - cmd->length)
		return -EINVAL;
	*mr = (struct mr) {
		.pd = cmd->pd, .access = cmd->access, .iova = cmd->iova, .length = cmd->length,
		.page = list_take(guest, cmd->pages),
	};
	mr->used = mr->page;
	return mr->used ? 0 : -EINVAL;
}

/* A queue pair has pointers to its completion queues and its shared receive queue. */
static bool has_users(const struct guest *guest, const void *queue)
{
	const struct qp *qp;

	for (qp = guest->qps; qp < guest->qps + UPCI_MAX_QUEUES; qp++)
		if (qp->send_cq == queue || qp->recv_cq == queue || qp->srq == queue)
			return true;
	return false;
}

static int destroy(struct guest *guest, uint32_t op, uint32_t number)
{
	if ((op == UPCI_DESTROY_CQ && has_users(guest, &guest->cqs[number])) ||
	    (op == UPCI_DESTROY_SRQ && has_users(guest, &guest->srqs[number])))
		return -EBUSY;
	switch (op) {
	case UPCI_DESTROY_CQ:
		free(guest->cqs[number].ring.page);
		guest->cqs[number] = (struct cq) {};
		return 0;
	case UPCI_DESTROY_SRQ:
		free(guest->srqs[number].ring.page);
		guest->srqs[number] = (struct srq) {};
		return 0;
	case UPCI_DESTROY_QP:
		destroy_qp(&guest->qps[number]);
		return 0;
	case UPCI_DESTROY_AH:
		guest->ahs[number].used = false;
		return 0;
	case UPCI_DESTROY_MR:
		free(guest->mrs[number].page);
		guest->mrs[number] = (struct mr) {};
		return 0;
	default:
		return -EINVAL;
	}
}

/* Forgets all objects: a guest has left, or its driver begins. */
void guest_reset(struct guest *guest)
{
	uint32_t i;

	for (i = 0; i < UPCI_MAX_QUEUES; i++)
		destroy_qp(&guest->qps[i]);
	for (i = 0; i < UPCI_MAX_QUEUES; i++) {
		destroy(guest, UPCI_DESTROY_SRQ, i);
		destroy(guest, UPCI_DESTROY_CQ, i);
	}
	memset(guest->ahs, 0, sizeof(guest->ahs));
	for (i = 0; i < UPCI_MAX_KEYS; i++)
		destroy(guest, UPCI_DESTROY_MR, i);
}

_Static_assert(UPCI_MAX_AHS == UPCI_MAX_QUEUES, "execute() checks both numbers alike");

static int execute(struct guest *guest, const struct upci_cmd *cmd)
{
	bool region = cmd->op == UPCI_CREATE_MR || cmd->op == UPCI_DESTROY_MR;

	if (cmd->number >= (region ? UPCI_MAX_KEYS : UPCI_MAX_QUEUES))
		return -EINVAL;
	switch (cmd->op) {
	case UPCI_CREATE_CQ:
		return create_cq(guest, cmd);
	case UPCI_CREATE_SRQ:
		return create_srq(guest, cmd);
	case UPCI_CREATE_QP:
		return create_qp(guest, cmd);
	case UPCI_MODIFY_QP:
		return modify_qp(guest, cmd);
	case UPCI_CREATE_AH:
		return create_ah(guest, cmd);
	case UPCI_CREATE_MR:
		return create_mr(guest, cmd);
	case UPCI_RESET:
		guest_reset(guest);
		guest->event_tail = __atomic_load_n(&guest->mem->event_head, __ATOMIC_RELAXED);
		guest->mem->event_tail = guest->event_tail;
		return 0;
	default:
		return destroy(guest, cmd->op, cmd->number);
	}
}

void command_run(struct guest *guest)
{
	struct upci_mem *mem = guest->mem;
	uint32_t asked = __atomic_load_n(&mem->cmd_asked, __ATOMIC_ACQUIRE);
	struct upci_cmd cmd;

	if (asked == guest->cmd_done)
		return;
	guest->cmd_done = asked;
	memcpy(&cmd, &mem->cmd, sizeof(cmd));
	__asm__ __volatile__("" ::: "memory");
	mem->cmd_result = execute(guest, &cmd);
	__atomic_store_n(&mem->cmd_done, asked, __ATOMIC_RELEASE);
	interrupt(guest, UPCI_IRQ_COMMAND);
}
