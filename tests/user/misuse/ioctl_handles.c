// SPDX-License-Identifier: GPL-2.0
/*
 * adv13. Handles of another kind or another file, destroyed and reused handles, objects
 * that are in use, and mixed protection domains.
 */
#include "ioctl_table.h"

/* Zero means no shared receive queue, and no DMA handle. */
static bool zero_is_none(const struct rule *r, const struct field *f)
{
	return f->type == UNIV_OBJECT_SRQ ? r->cmd == UNIV_QP_CREATE :
	       f->type == UNIV_OBJECT_DMAH && !destroys(r);
}

static void want_handle(const struct rule *r, const struct field *f, uint32_t handle,
			const char *what, uint32_t reason)
{
	int err;

	fresh(r);
	if (destroys(r))
		clean(r, &buf);
	*(uint32_t *)(buf.bytes + f->offset) = handle;
	if (!handle && zero_is_none(r, f))
		return;
	err = call_sized(r, r->size);
	if (refused(r, err))
		return;
	CHECK(err == EINVAL, "%s, field at %u, %s %u: expected EINVAL, got %s", r->name, f->offset,
	      what, handle, err_name(err));
	if (err == EINVAL) {
		CHECK(buf.hdr.reason == reason, "%s, field at %u, %s %u: expected reason %u, got %u",
		      r->name, f->offset, what, handle, reason, buf.hdr.reason);
		CHECK(buf.hdr.detail == f->type && buf.hdr.value == handle,
		      "%s, %s: detail %u value %llu, expected %u and %u", r->name, what,
		      buf.hdr.detail, buf.hdr.value, f->type, handle);
	}
	if (!err)
		undo(r, &buf);
}

static uint32_t another_kind(uint32_t type)
{
	return type == UNIV_OBJECT_CQ ? env.pd : env.cq.handle;
}

static void handle_rules(const struct rule *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(r->handles) && r->handles[i].length; i++) {
		const struct field *f = &r->handles[i];

		want_handle(r, f, 0, "handle", UNIV_REASON_HANDLE);
		want_handle(r, f, 0xffffffff, "handle", UNIV_REASON_HANDLE);
		want_handle(r, f, 0x80000001, "handle", UNIV_REASON_HANDLE);
		want_handle(r, f, 999999, "handle", UNIV_REASON_HANDLE);
		want_handle(r, f, env.foreign, "another context's handle", UNIV_REASON_HANDLE);
		want_handle(r, f, env.freed, "freed handle", UNIV_REASON_HANDLE);
		want_handle(r, f, another_kind(f->type), "handle of another kind",
			    UNIV_REASON_HANDLE_TYPE);
		if (buf.hdr.reason == UNIV_REASON_HANDLE_TYPE)
			CHECK(buf.hdr.bound == (f->type == UNIV_OBJECT_CQ ? UNIV_OBJECT_PD :
				UNIV_OBJECT_CQ), "%s: the other kind is told as %llu", r->name,
			      buf.hdr.bound);
	}
}

static void handles(void)
{
	for_each_rule(handle_rules);
}

/* Destroy twice; another object may get the number in between. */
static void destroyed_twice(void)
{
	uint32_t pd;

	set_up();
	pd = raw_pd(env.fd);
	CHECK_ERR(raw_destroy(env.fd, UNIV_PD_DEALLOC, pd), 0);
	CHECK(raw_destroy(env.fd, UNIV_PD_DEALLOC, pd), "a domain freed twice");
	tear_down();
}

static void busy(void)
{
	struct univ_destroy arg;

	set_up();
	arg = (struct univ_destroy){ .handle = env.pd };
	CHECK_ERR(raw_call(env.fd, UNIV_PD_DEALLOC, &arg), EBUSY);
	CHECK(arg.hdr.reason == UNIV_REASON_BUSY && arg.hdr.detail == UNIV_OBJECT_PD &&
	      arg.hdr.value == env.pd && arg.hdr.bound >= 4,
	      "domain: reason %u detail %u value %llu bound %llu", arg.hdr.reason, arg.hdr.detail,
	      arg.hdr.value, arg.hdr.bound);
	arg = (struct univ_destroy){ .handle = env.cq.handle };
	CHECK_ERR(raw_call(env.fd, UNIV_CQ_DESTROY, &arg), EBUSY);
	CHECK(arg.hdr.reason == UNIV_REASON_BUSY && arg.hdr.detail == UNIV_OBJECT_CQ,
	      "completion queue: reason %u detail %u", arg.hdr.reason, arg.hdr.detail);
	tear_down();
}

/* A call that takes an object for one of another kind fails and does not hold the object. */
static void another_kind_is_free(void)
{
	struct univ_qp_create qp;
	uint32_t pd;

	set_up();
	pd = raw_pd(env.fd);
	raw_qp_arg(&qp, IBV_QPT_RC, pd, pd, 0);
	CHECK_ERR(raw_call(env.fd, UNIV_QP_CREATE, &qp), EINVAL);
	CHECK(qp.hdr.reason == UNIV_REASON_HANDLE_TYPE, "reason %u", qp.hdr.reason);
	CHECK_ERR(raw_destroy(env.fd, UNIV_PD_DEALLOC, pd), 0);
	tear_down();
}

/* An address handle is the only object that is built on its domain. */
static void address_keeps_domain(void)
{
	struct univ_ah_create ah = { .pd = 0 };
	struct univ_destroy arg = { .handle = 0 };

	set_up();
	ah.pd = raw_pd(env.fd);
	raw_ah_attr(env.fd, &ah.attr);
	NEED_OK(raw_call(env.fd, UNIV_AH_CREATE, &ah));
	arg.handle = ah.pd;
	CHECK_ERR(raw_call(env.fd, UNIV_PD_DEALLOC, &arg), EBUSY);
	CHECK(arg.hdr.bound == 1, "%llu objects use the domain", arg.hdr.bound);
	CHECK_ERR(raw_destroy(env.fd, UNIV_AH_DESTROY, ah.handle), 0);
	CHECK_ERR(raw_destroy(env.fd, UNIV_PD_DEALLOC, ah.pd), 0);
	tear_down();
}

static void channels(void)
{
	struct univ_cq_create arg = { .cqe = 16 };
	int bad[4], pipes[2];

	set_up();
	NEED(!pipe(pipes), "pipe");
	bad[0] = pipes[0];
	bad[1] = env.fd;
	bad[2] = 9999;
	bad[3] = -2;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		int err;

		memset(&arg, 0, sizeof(arg));
		arg.cqe = 16;
		arg.channel_fd = bad[i];
		err = raw_call(env.fd, UNIV_CQ_CREATE, &arg);
		CHECK(err == EBADF, "channel_fd %d: %s", bad[i], err_name(err));
		CHECK(arg.hdr.reason == UNIV_REASON_FD, "channel_fd %d: reason %u", bad[i],
		      arg.hdr.reason);
	}
	close(pipes[0]);
	close(pipes[1]);
	tear_down();
}

/* A channel of another context on the same device, which ib_uverbs refuses as well. */
static void foreign_channel(void)
{
	struct univ_channel_create ch = { 0 };
	struct univ_cq_create cq = { .cqe = 16 };
	int err;

	set_up();
	NEED_OK(raw_call(env.other, UNIV_CHANNEL_CREATE, &ch));
	cq.channel_fd = ch.fd;
	err = raw_call(env.fd, UNIV_CQ_CREATE, &cq);
	CHECK(err == EBADF && cq.hdr.reason == UNIV_REASON_FD,
	      "a channel of another context: %s, reason %u", err_name(err), cq.hdr.reason);
	close(ch.fd);
	tear_down();
}

/*
 * A queue pair names the address handle of another protection domain. The request is
 * refused, and no other queue pair is affected.
 */
static void mixed_domains_ah(void)
{
	struct univ_ah_create ah = { 0 };
	struct univ_send_wr *wr;
	struct univ_qp_attr a;
	struct univ_cqe cqe;
	uint32_t pd2;

	set_up();
	pd2 = raw_pd(env.fd);
	ah.pd = pd2;
	raw_ah_attr(env.fd, &ah.attr);
	NEED_OK(raw_call(env.fd, UNIV_AH_CREATE, &ah));
	raw_attr_rtr(env.fd, &a, IBV_QPT_UD, 0);
	NEED_OK(raw_modify(env.fd, env.ud.handle, &a));
	raw_attr_rts(&a, IBV_QPT_UD);
	NEED_OK(raw_modify(env.fd, env.ud.handle, &a));
	wr = raw_slot(&env.ud.sq, 0);
	memset(wr, 0, env.ud.sq.stride);
	wr->opcode = UNIV_WR_SEND;
	wr->flags = UNIV_WR_SIGNALED;
	wr->ud.ah = ah.handle;
	wr->ud.remote_qpn = env.ud.qp_num;
	wr->ud.remote_qkey = PAIR_QKEY;
	raw_publish(env.fd, &env.ud.sq, env.ud.handle, UNIV_KICK_SEND);
	if (CHECK(raw_wait(&env.cq, &cqe, WC_TIMEOUT), "no completion for an address of another domain"))
		CHECK(cqe.status != IBV_WC_SUCCESS && cqe.reason == UNIV_REASON_WR_AH,
		      "status %u reason %u", cqe.status, cqe.reason);
	tear_down();
}

/* An SRQ in another protection domain than its queue pair, which the specification allows. */
static void mixed_domains_srq(void)
{
	struct univ_qp_create qp;
	uint32_t pd2;
	int err;

	set_up();
	pd2 = raw_pd(env.fd);
	raw_qp_arg(&qp, IBV_QPT_RC, pd2, env.cq.handle, env.srq.handle);
	err = raw_call(env.fd, UNIV_QP_CREATE, &qp);
	CHECK(!err, "a queue pair with another domain's shared queue: %s, reason %u", err_name(err),
	      qp.hdr.reason);
	tear_down();
}

static const struct test_case cases[] = {
	{ "handles", handles },
	{ "destroyed_twice", destroyed_twice },
	{ "busy", busy },
	{ "another_kind_is_free", another_kind_is_free },
	{ "address_keeps_domain", address_keeps_domain },
	{ "channels", channels },
	{ "foreign_channel", foreign_channel },
	{ "mixed_domains_ah", mixed_domains_ah },
	{ "mixed_domains_srq", mixed_domains_srq },
};

TEST_MAIN("ioctl_handles (adv13)", cases, 60)
