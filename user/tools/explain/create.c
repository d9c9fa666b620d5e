// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Explains why an object cannot be created or destroyed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "tools/explain/explain.h"
#include "why/why.h"

/* The public header defines both as inline functions. */
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define PAGE_MASK 4095u

static void tell(const char *verb, int err, enum univ_reason reason, uint32_t detail,
		 uint64_t value, uint64_t bound)
{
	univ_fail(&(struct univ_failure) {
		.verb = verb,
		.err = err,
		.reason = reason,
		.detail = detail,
		.value = value,
		.bound = bound,
	});
}

static void refused(const char *verb, int err)
{
	tell(verb, err, UNIV_REASON_DEVICE_REFUSED, 0, (uint64_t)err, 0);
}

static bool over(const char *verb, int err, enum univ_limit what, uint64_t value, int64_t most)
{
	if (most < 0 || value <= (uint64_t)most)
		return false;
	tell(verb, err, UNIV_REASON_LIMIT, what, value, (uint64_t)most);
	return true;
}

/* ---- memory regions ---- */

/* Returns the bytes that the kernel counts as pinned by this process. */
static uint64_t pinned(void)
{
	unsigned long long kib = 0;
	char line[128];
	FILE *status = fopen("/proc/self/status", "re");

	if (!status)
		return 0;
	while (fgets(line, sizeof(line), status))
		if (sscanf(line, "VmPin: %llu", &kib) == 1)
			break;
	fclose(status);
	return kib * 1024;
}

static bool explain_memlock(const char *verb, int err, uint64_t length)
{
	struct rlimit limit;
	uint64_t used = pinned(), left;

	/* The kernel returns EPERM if the process may not lock any memory. */
	if ((err != ENOMEM && err != EPERM) || getrlimit(RLIMIT_MEMLOCK, &limit) ||
	    limit.rlim_cur == RLIM_INFINITY)
		return false;
	left = limit.rlim_cur > used ? limit.rlim_cur - used : 0;
	if (length <= left)
		return false;
	tell(verb, err, UNIV_REASON_MEMLOCK, 0, length, left);
	return true;
}

static void explain_mr(struct ibv_pd *pd, void *addr, uint64_t length, uint64_t iova,
		       unsigned int access, int err)
{
	const unsigned int writes = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
	const uint64_t start = (uintptr_t)addr;
	struct ibv_device_attr device;

	if (explain_memlock("ibv_reg_mr", err, length))
		return;
	if (access & writes && !(access & IBV_ACCESS_LOCAL_WRITE))
		tell("ibv_reg_mr", err, UNIV_REASON_ACCESS_FLAGS, 0, access, 0);
	else if (err == EFAULT)
		tell("ibv_reg_mr", err, UNIV_REASON_ADDRESS, 0, start, length);
	else if (start + length < start)
		tell("ibv_reg_mr", err, UNIV_REASON_ADDRESS_WRAP, 0, start, length);
	else if (!ibv_query_device(pd->context, &device) && length > device.max_mr_size)
		tell("ibv_reg_mr", err, UNIV_REASON_LIMIT, UNIV_LIMIT_MR_LENGTH, length,
		     device.max_mr_size);
	else if ((iova ^ start) & PAGE_MASK)
		tell("ibv_reg_mr", err, UNIV_REASON_ADDRESS, 0, iova, 0);
	else if (err == ENOMEM)
		univ_fail_kernel_memory("ibv_reg_mr", err, length);
	else
		refused("ibv_reg_mr", err);
}

/* The stock ibv_reg_mr() and ibv_reg_mr_iova() call ibv_reg_mr_iova2() of this file. */
static __thread unsigned int nested;

static struct ibv_mr *explained_mr(struct ibv_mr *mr, struct ibv_pd *pd, void *addr,
				   uint64_t length, uint64_t iova, unsigned int access)
{
	int err = errno;

	if (!mr && !nested && to_explain())
		explain_mr(pd, addr, length, iova, access, err);
	errno = err;
	return mr;
}

VERB struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct ibv_mr *mr;

	nested++;
	mr = REAL(ibv_reg_mr)(pd, addr, length, access);
	nested--;
	return explained_mr(mr, pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

VERB struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				    int access)
{
	struct ibv_mr *mr;

	nested++;
	mr = REAL(ibv_reg_mr_iova)(pd, addr, length, iova, access);
	nested--;
	return explained_mr(mr, pd, addr, length, iova, (unsigned int)access);
}

VERB struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				     unsigned int access)
{
	return explained_mr(REAL(ibv_reg_mr_iova2)(pd, addr, length, iova, access), pd, addr,
			    length, iova, access);
}

/* ---- completion queues ---- */

static void explain_cq(struct ibv_context *context, int entries, int vector, int err)
{
	struct ibv_device_attr device;

	if (entries <= 0) {
		univ_fail_zero("ibv_create_cq", UNIV_LIMIT_CQE);
		return;
	}
	if (!ibv_query_device(context, &device) &&
	    over("ibv_create_cq", err, UNIV_LIMIT_CQE, (uint64_t)entries, device.max_cqe))
		return;
	if (vector < 0 || vector >= context->num_comp_vectors)
		tell("ibv_create_cq", err, UNIV_REASON_VECTOR, 0, (uint32_t)vector,
		     (uint64_t)context->num_comp_vectors);
	else
		refused("ibv_create_cq", err);
}

VERB struct ibv_cq *ibv_create_cq(struct ibv_context *context, int entries, void *cq_context,
				  struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq *cq = REAL(ibv_create_cq)(context, entries, cq_context, channel, vector);
	int err = errno;

	if (!cq && to_explain())
		explain_cq(context, entries, vector, err);
	errno = err;
	return cq;
}

/* ---- shared receive queues ---- */

static void explain_srq(struct ibv_context *context, const struct ibv_srq_attr *attr, int err)
{
	struct ibv_device_attr device;

	if (!ibv_query_device(context, &device) &&
	    (over("ibv_create_srq", err, UNIV_LIMIT_SRQ_WR, attr->max_wr, device.max_srq_wr) ||
	     over("ibv_create_srq", err, UNIV_LIMIT_SRQ_SGE, attr->max_sge, device.max_srq_sge)))
		return;
	refused("ibv_create_srq", err);
}

VERB struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	const struct ibv_srq_attr asked = attr->attr;
	struct ibv_srq *srq = REAL(ibv_create_srq)(pd, attr);
	int err = errno;

	if (!srq && to_explain())
		explain_srq(pd->context, &asked, err);
	errno = err;
	return srq;
}

/* ---- queue pairs ---- */

static void explain_qp(const char *verb, struct ibv_context *context, const struct ibv_qp_cap *cap,
		       bool has_pd, int err)
{
	struct ibv_device_attr device;

	if (!has_pd) {
		univ_fail_no_object(verb, UNIV_OBJECT_PD);
		return;
	}
	if (!ibv_query_device(context, &device) &&
	    (over(verb, err, UNIV_LIMIT_SEND_WR, cap->max_send_wr, device.max_qp_wr) ||
	     over(verb, err, UNIV_LIMIT_RECV_WR, cap->max_recv_wr, device.max_qp_wr) ||
	     over(verb, err, UNIV_LIMIT_SEND_SGE, cap->max_send_sge, device.max_sge) ||
	     over(verb, err, UNIV_LIMIT_RECV_SGE, cap->max_recv_sge, device.max_sge)))
		return;
	refused(verb, err);
}

VERB struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	const struct ibv_qp_cap asked = attr->cap;
	struct ibv_qp *qp = REAL(ibv_create_qp)(pd, attr);
	int err = errno;

	if (qp)
		qp_add(qp);
	else if (to_explain())
		explain_qp("ibv_create_qp", pd->context, &asked, true, err);
	errno = err;
	return qp;
}

struct ibv_qp *explained_create_qp_ex(struct ibv_context *context,
				      struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_qp_cap asked = attr->cap;
	struct ibv_qp *qp = real_create_qp_ex(context, attr);
	int err = errno;

	if (qp)
		qp_add(qp);
	else
		explain_qp("ibv_create_qp_ex", context, &asked,
			   attr->qp_type == IBV_QPT_XRC_RECV ||
			   attr->comp_mask & IBV_QP_INIT_ATTR_PD, err);
	errno = err;
	return qp;
}

VERB int ibv_destroy_qp(struct ibv_qp *qp)
{
	qp_remove(qp);
	return REAL(ibv_destroy_qp)(qp);
}

/* ---- address handles ---- */

VERB struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ibv_ah *ah = REAL(ibv_create_ah)(pd, attr);
	int err = errno;

	if (!ah && to_explain() &&
	    !explain_path("ibv_create_ah", err, pd->context, attr, attr->port_num))
		refused("ibv_create_ah", err);
	errno = err;
	return ah;
}

/* ---- destruction of objects in use ---- */

static int explained_destroy(const char *verb, enum univ_object_type type, int ret)
{
	int err = errno;

	if (ret == EBUSY && to_explain())
		tell(verb, ret, UNIV_REASON_BUSY, type, 0, 0);
	errno = err;
	return ret;
}

VERB int ibv_dealloc_pd(struct ibv_pd *pd)
{
	return explained_destroy("ibv_dealloc_pd", UNIV_OBJECT_PD, REAL(ibv_dealloc_pd)(pd));
}

VERB int ibv_destroy_cq(struct ibv_cq *cq)
{
	return explained_destroy("ibv_destroy_cq", UNIV_OBJECT_CQ, REAL(ibv_destroy_cq)(cq));
}

VERB int ibv_destroy_srq(struct ibv_srq *srq)
{
	return explained_destroy("ibv_destroy_srq", UNIV_OBJECT_SRQ, REAL(ibv_destroy_srq)(srq));
}
