// SPDX-License-Identifier: GPL-2.0
/*
 * Flows with wrong arguments, and flows and raw packet queue pairs of processes without the
 * capability. Over devices without raw packets all of them are refused.
 */
#include "random.h"
#include "raw.h"

#define FLOWS_MAX 240	/* UROCE_MAX_FLOWS */

static int fd;
static uint32_t pd;
static struct raw_cq cq;
static struct raw_qp qp;

static void begin(void)
{
	fd = raw_open();
	pd = raw_pd(fd);
	raw_cq(fd, &cq, 64, -1);
	if (!raw_offers(fd, UNIV_FEATURE_RAW)) {
		raw_unmap(&cq.map);
		close(fd);
		SKIP("the device has no raw packets");
	}
	raw_qp(fd, &qp, IBV_QPT_RAW_PACKET, pd, cq.handle, 0);
}

static void end(void)
{
	raw_unmap(&qp.map);
	raw_unmap(&cq.map);
	close(fd);
}

static struct univ_flow_create valid(void)
{
	struct univ_flow_create flow = { .qp = qp.handle, .port_num = PORT, .count = 2 };

	flow.specs[0].type = UNIV_FLOW_ETH;
	flow.specs[0].mask[0] = 1;
	flow.specs[1].type = UNIV_FLOW_TAG;
	flow.specs[1].tag = 0xffffff;
	return flow;
}

static void refused(struct univ_flow_create flow, int err, uint32_t reason, uint32_t detail)
{
	int got = raw_call(fd, UNIV_FLOW_CREATE, &flow);

	CHECK(got == err && flow.hdr.reason == reason && flow.hdr.detail == detail,
	      "%s, reason %u, detail %u; expected %s, %u, %u", err_name(got), flow.hdr.reason, flow.hdr.detail,
	      err_name(err), reason, detail);
	if (!got)
		raw_destroy(fd, UNIV_FLOW_DESTROY, flow.handle);
}

/* Without raw packets: the answer is the same whatever the arguments are. */
static void not_offered(void)
{
	struct univ_flow_create flow = { .port_num = PORT };
	struct univ_counters_create counters = { 0 };
	struct univ_qp_create create;

	fd = raw_open();
	pd = raw_pd(fd);
	raw_cq(fd, &cq, 16, -1);
	if (!raw_offers(fd, UNIV_FEATURE_RAW)) {
		refused(flow, EOPNOTSUPP, UNIV_REASON_UNSUPPORTED, 0);
		raw_qp_arg(&create, IBV_QPT_RAW_PACKET, pd, cq.handle, 0);
		CHECK_ERR(raw_call(fd, UNIV_QP_CREATE, &create), EOPNOTSUPP);
		CHECK(create.hdr.reason == UNIV_REASON_QP_TYPE, "reason %u", create.hdr.reason);
		CHECK_ERR(raw_call(fd, UNIV_COUNTERS_CREATE, &counters), EOPNOTSUPP);
		CHECK(counters.hdr.reason == UNIV_REASON_UNSUPPORTED, "reason %u", counters.hdr.reason);
	}
	raw_unmap(&cq.map);
	close(fd);
}

#define REFUSED(err, reason, detail, ...) do {		\
	struct univ_flow_create flow = valid();		\
	__VA_ARGS__;					\
	refused(flow, err, reason, detail);		\
} while (0)

#define FAULTY(err, fault, ...) REFUSED(err, UNIV_REASON_FLOW, UNIV_FLOW_FAULT_##fault, __VA_ARGS__)

static void attributes(void)
{
	begin();
	FAULTY(EINVAL, TYPE, flow.type = 4);
	FAULTY(EINVAL, TYPE, flow.type = UINT32_MAX);
	FAULTY(EOPNOTSUPP, FLAGS, flow.flow_flags = 1);
	FAULTY(EOPNOTSUPP, FLAGS, flow.flow_flags = 8 | UNIV_FLOW_EGRESS);
	FAULTY(EINVAL, EGRESS_TAG, flow.flow_flags = UNIV_FLOW_EGRESS);
	for (uint32_t type = UNIV_FLOW_ALL; type <= UNIV_FLOW_SNIFFER; type++)
		FAULTY(EINVAL, FLAGS, flow.type = type; flow.count = 0; flow.flow_flags = UNIV_FLOW_EGRESS);
	FAULTY(EOPNOTSUPP, FLAGS, flow.flow_flags = 1u << 31 | UNIV_FLOW_DONT_TRAP);
	FAULTY(EINVAL, FLAGS, flow.type = UNIV_FLOW_ALL; flow.count = 0; flow.flow_flags = UNIV_FLOW_DONT_TRAP);
	FAULTY(EINVAL, PRIORITY, flow.priority = 65536);
	REFUSED(EINVAL, UNIV_REASON_LIMIT, UNIV_LIMIT_FLOW_SPECS, flow.count = UNIV_FLOW_SPECS + 1);
	REFUSED(EINVAL, UNIV_REASON_LIMIT, UNIV_LIMIT_FLOW_SPECS, flow.count = UINT32_MAX);
	REFUSED(EINVAL, UNIV_REASON_PORT, 0, flow.port_num = 0);
	REFUSED(EINVAL, UNIV_REASON_PORT, 0, flow.port_num = 2);
	REFUSED(EINVAL, UNIV_REASON_HANDLE, UNIV_OBJECT_QP, flow.qp = 0xfffff);
	REFUSED(EINVAL, UNIV_REASON_HANDLE_TYPE, UNIV_OBJECT_QP, flow.qp = cq.handle);
	end();
}

static void other_queue_pairs(void)
{
	struct raw_qp other;

	begin();
	raw_qp(fd, &other, IBV_QPT_UD, pd, cq.handle, 0);
	REFUSED(EINVAL, UNIV_REASON_QP_TYPE, 0, flow.qp = other.handle);
	raw_unmap(&other.map);
	end();
}

static void specs(void)
{
	static const uint32_t types[] = {
		0, IBV_FLOW_SPEC_IPV4_EXT, IBV_FLOW_SPEC_VXLAN_TUNNEL | IBV_FLOW_SPEC_INNER,
		IBV_FLOW_SPEC_GRE | IBV_FLOW_SPEC_INNER, IBV_FLOW_SPEC_ACTION_TAG | IBV_FLOW_SPEC_INNER,
		IBV_FLOW_SPEC_INNER, IBV_FLOW_SPEC_ACTION_HANDLE, UINT32_MAX,
	};
	static const struct {
		uint32_t type;
		uint32_t bytes;
	} lengths[] = {
		{ UNIV_FLOW_ETH, 16 }, { UNIV_FLOW_IPV4, 12 }, { UNIV_FLOW_IPV6, 39 },
		{ UNIV_FLOW_TCP, 4 }, { UNIV_FLOW_UDP, 4 }, { UNIV_FLOW_ESP, 8 }, { UNIV_FLOW_VXLAN, 4 },
		{ UNIV_FLOW_GRE, 8 }, { UNIV_FLOW_MPLS, 4 }, { UNIV_FLOW_IPV4 | UNIV_FLOW_INNER, 12 },
		{ UNIV_FLOW_MPLS | UNIV_FLOW_INNER, 4 }, { UNIV_FLOW_TAG, 0 }, { UNIV_FLOW_DROP, 0 },
	};

	begin();
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		FAULTY(EOPNOTSUPP, SPEC, flow.specs[0].type = types[i]);
	/* A bit behind the fields of a type, in the value or in the mask. */
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		FAULTY(EINVAL, VALUE, flow.specs[0].type = lengths[i].type; flow.specs[0].mask[0] = 0;
		       flow.specs[0].val[lengths[i].bytes] = 1);
		FAULTY(EINVAL, VALUE, flow.specs[0].type = lengths[i].type; flow.specs[0].mask[0] = 0;
		       flow.specs[0].mask[39] = 1);
	}
	FAULTY(EINVAL, VALUE, flow.specs[1].tag = 1 << 24);
	FAULTY(EINVAL, VALUE, flow.specs[0].tag = 1);
	FAULTY(EINVAL, VALUE, flow.specs[0].type = UNIV_FLOW_IPV6; flow.specs[0].val[33] = 0x10);
	FAULTY(EINVAL, VALUE, flow.specs[0].type = UNIV_FLOW_IPV6; flow.specs[0].mask[32] = 1);
	FAULTY(EINVAL, VALUE, flow.specs[0].type = UNIV_FLOW_IPV6 | UNIV_FLOW_INNER; flow.specs[0].mask[32] = 1);
	FAULTY(EINVAL, VALUE, flow.specs[0].type = UNIV_FLOW_VXLAN; flow.specs[0].val[0] = 1;
	       flow.specs[0].mask[0] = 0);
	FAULTY(EINVAL, VALUE, flow.specs[0].type = UNIV_FLOW_VXLAN);
	/* Counters by a handle that names none. */
	REFUSED(EINVAL, UNIV_REASON_HANDLE, UNIV_OBJECT_COUNTERS, flow.specs[1].type = UNIV_FLOW_COUNT);
	REFUSED(EINVAL, UNIV_REASON_HANDLE_TYPE, UNIV_OBJECT_COUNTERS, flow.specs[1].type = UNIV_FLOW_COUNT;
		flow.specs[1].tag = qp.handle);
	/* Other flows look at no header. */
	for (uint32_t type = UNIV_FLOW_ALL; type <= UNIV_FLOW_SNIFFER; type++)
		FAULTY(EINVAL, SPECS, flow.type = type);
	end();
}

static void set(struct univ_flow_spec *spec, uint32_t type, uint32_t at, uint8_t val, uint8_t mask)
{
	spec->type = type;
	spec->val[at] = val;
	spec->mask[at] = mask;
}

/* A flow of two specs; a mask of 0 means that the byte does not count. */
struct two {
	uint32_t type[2];
	uint8_t at[2];
	uint8_t val[2];
	uint8_t mask[2];
};

static struct univ_flow_create flow_two(const struct two *t, bool swap)
{
	struct univ_flow_create flow = { .qp = qp.handle, .port_num = PORT, .count = 2 };

	for (int i = 0; i < 2; i++)
		set(&flow.specs[swap ? 1 - i : i], t->type[i], t->at[i], t->val[i], t->mask[i]);
	return flow;
}

/* Two specs that no frame matches, in both orders, and specs that look so. */
static void contradictions(void)
{
	enum { INNER = UNIV_FLOW_INNER };
	static const struct two never[] = {
		{ { UNIV_FLOW_IPV4, UNIV_FLOW_IPV6 } },
		{ { UNIV_FLOW_TCP, UNIV_FLOW_UDP } },
		{ { UNIV_FLOW_TCP, UNIV_FLOW_VXLAN } },
		{ { UNIV_FLOW_GRE, UNIV_FLOW_UDP } },
		{ { UNIV_FLOW_ESP, UNIV_FLOW_TCP } },
		{ { UNIV_FLOW_TCP | INNER, UNIV_FLOW_UDP | INNER } },
		{ { UNIV_FLOW_IPV4, UNIV_FLOW_TCP }, { 8 }, { 17 }, { 0xff } },
		{ { UNIV_FLOW_IPV6, UNIV_FLOW_GRE }, { 36 }, { 17 }, { 0xff } },
		{ { UNIV_FLOW_IPV6, UNIV_FLOW_GRE }, { 36 }, { 0x40 }, { 0x40 } },
		{ { UNIV_FLOW_IPV4, UNIV_FLOW_GRE }, { 8 }, { 60 }, { 0xff } },
		{ { UNIV_FLOW_ETH, UNIV_FLOW_IPV4 }, { 13 }, { 6 }, { 0xff } },
		{ { UNIV_FLOW_ETH | INNER, UNIV_FLOW_IPV6 | INNER }, { 13 }, { 0 }, { 0xff } },
		{ { UNIV_FLOW_ETH, UNIV_FLOW_ETH }, { 3, 3 }, { 1, 2 }, { 3, 2 } },
	};
	static const struct two some[] = {
		{ { UNIV_FLOW_IPV4, UNIV_FLOW_IPV6 | INNER } },
		{ { UNIV_FLOW_UDP, UNIV_FLOW_VXLAN } },
		{ { UNIV_FLOW_UDP, UNIV_FLOW_MPLS } },
		{ { UNIV_FLOW_IPV4, UNIV_FLOW_TCP }, { 8 }, { 6 }, { 0xff } },
		{ { UNIV_FLOW_IPV4, UNIV_FLOW_TCP }, { 8 }, { 17 }, { 0 } },
		{ { UNIV_FLOW_IPV6, UNIV_FLOW_TCP }, { 36 }, { 0 }, { 0xff } },
		{ { UNIV_FLOW_IPV6, UNIV_FLOW_UDP }, { 36 }, { 43 }, { 0xff } },
		{ { UNIV_FLOW_IPV6, UNIV_FLOW_ESP }, { 36 }, { 44 }, { 0xff } },
		{ { UNIV_FLOW_IPV6 | INNER, UNIV_FLOW_TCP | INNER }, { 36 }, { 60 }, { 0xff } },
		{ { UNIV_FLOW_ETH, UNIV_FLOW_IPV4 }, { 13 }, { 0x47 }, { 0xff } },
		{ { UNIV_FLOW_ETH, UNIV_FLOW_IPV4 | INNER }, { 13 }, { 6 }, { 0xff } },
		{ { UNIV_FLOW_ETH, UNIV_FLOW_ETH }, { 3, 3 }, { 1, 2 }, { 1, 2 } },
		{ { UNIV_FLOW_MPLS, UNIV_FLOW_MPLS }, { 0, 0 }, { 1, 2 }, { 3, 3 } },
	};
	struct univ_flow_create flow;

	begin();
	for (size_t i = 0; i < ARRAY_SIZE(never); i++)
		for (int swap = 0; swap < 2; swap++)
			refused(flow_two(&never[i], swap), EINVAL, UNIV_REASON_FLOW, UNIV_FLOW_FAULT_CONTRADICTION);
	for (size_t i = 0; i < ARRAY_SIZE(some); i++) {
		flow = flow_two(&some[i], false);
		CHECK(!raw_call(fd, UNIV_FLOW_CREATE, &flow), "flow %zu: reason %u, detail %u", i, flow.hdr.reason,
		      flow.hdr.detail);
	}
	end();
}

/* A process that was compiled when a flow had eight specs. */
static void first_version(void)
{
	struct univ_flow_create flow;
	uint32_t size = offsetof(struct univ_flow_create, specs[8]);

	begin();
	flow = valid();
	CHECK_ERR(raw_call_size(fd, UNIV_FLOW_CREATE, &flow, size), 0);
	CHECK_ERR(raw_destroy(fd, UNIV_FLOW_DESTROY, flow.handle), 0);
	/* The kernel takes the specs that such a process has not passed as zero. */
	flow = valid();
	flow.count = 9;
	flow.specs[0].type = UNIV_FLOW_TAG;
	flow.specs[0].mask[0] = 0;
	for (int i = 1; i < 10; i++)
		flow.specs[i] = flow.specs[0];
	CHECK_ERR(raw_call_size(fd, UNIV_FLOW_CREATE, &flow, size), EOPNOTSUPP);
	CHECK(flow.hdr.detail == UNIV_FLOW_FAULT_SPEC && flow.hdr.bound == 8, "spec %u", (int)flow.hdr.bound);
	end();
}

/* A point is for later flows, or for a flow that exists. */
static void points(void)
{
	struct univ_counters_attach attach = { .flow = 999999 };
	struct univ_counters_create counters = { 0 };
	struct univ_flow_create flow;

	begin();
	NEED_OK(raw_call(fd, UNIV_COUNTERS_CREATE, &counters));
	attach.handle = counters.handle;
	CHECK_ERR(raw_call(fd, UNIV_COUNTERS_ATTACH, &attach), EINVAL);
	CHECK(attach.hdr.reason == UNIV_REASON_HANDLE && attach.hdr.detail == UNIV_OBJECT_FLOW, "reason %u",
	      attach.hdr.reason);
	attach.flow = qp.handle;
	CHECK_ERR(raw_call(fd, UNIV_COUNTERS_ATTACH, &attach), EINVAL);
	CHECK(attach.hdr.reason == UNIV_REASON_HANDLE_TYPE, "reason %u", attach.hdr.reason);
	/* The failures have attached nothing. */
	flow = valid();
	flow.specs[1] = (struct univ_flow_spec){ .type = UNIV_FLOW_COUNT, .tag = counters.handle };
	refused(flow, EINVAL, UNIV_REASON_FLOW, UNIV_FLOW_FAULT_NO_POINT);
	attach.flow = 0;
	CHECK_ERR(raw_call(fd, UNIV_COUNTERS_ATTACH, &attach), 0);
	CHECK_ERR(raw_call(fd, UNIV_FLOW_CREATE, &flow), 0);
	CHECK_ERR(raw_destroy(fd, UNIV_COUNTERS_DESTROY, counters.handle), EBUSY);
	/* Both go with the context. */
	end();
}

/* The specs behind the number of them are not looked at, and the valid flow is valid. */
static void valid_ones(void)
{
	struct univ_flow_create flow;

	begin();
	for (uint32_t type = UNIV_FLOW_NORMAL; type <= UNIV_FLOW_SNIFFER; type++) {
		flow = valid();
		flow.type = type;
		flow.priority = 65535;
		if (type != UNIV_FLOW_NORMAL)
			flow.count = 0;
		flow.specs[2].type = 0xdead;
		CHECK_ERR(raw_call(fd, UNIV_FLOW_CREATE, &flow), 0);
		CHECK_ERR(raw_destroy(fd, UNIV_QP_DESTROY, qp.handle), EBUSY);
		CHECK_ERR(raw_destroy(fd, UNIV_FLOW_DESTROY, flow.handle), 0);
	}
	end();
}

/* A device has room for a limited number of flows, and the last ones go with the context. */
static void too_many(void)
{
	struct univ_flow_create flow;
	int count, err = 0;

	begin();
	for (count = 0; !err && count <= FLOWS_MAX; count++) {
		flow = valid();
		/* Flows of both directions take room. */
		if (count % 2) {
			flow.count = 1;
			flow.flow_flags = UNIV_FLOW_EGRESS;
		}
		err = raw_call(fd, UNIV_FLOW_CREATE, &flow);
	}
	CHECK(err == ENOSPC && count == FLOWS_MAX + 1, "flow %d: %s", count, err_name(err));
	CHECK(flow.hdr.reason == UNIV_REASON_FLOW && flow.hdr.detail == UNIV_FLOW_FAULT_FULL, "reason %u",
	      flow.hdr.reason);
	end();
	begin();
	flow = valid();
	CHECK_ERR(raw_call(fd, UNIV_FLOW_CREATE, &flow), 0);
	end();
}

/* A process that has got the file from its opener needs the capability itself. */
static void without_capability(void)
{
	struct univ_qp_create create;
	int status;
	pid_t pid;

	begin();
	pid = fork();
	if (!pid) {
		test_failures = 0;
		NEED(!setgid(65534) && !setuid(65534), "setuid");
		REFUSED(EPERM, UNIV_REASON_PERMISSION, 0, flow.flow_flags = 0);
		raw_qp_arg(&create, IBV_QPT_RAW_PACKET, pd, cq.handle, 0);
		CHECK_ERR(raw_call(fd, UNIV_QP_CREATE, &create), EPERM);
		_exit(test_failures);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status, "as nobody: status %#x", status);
	end();
}

static void move(uint32_t state, uint32_t mask)
{
	struct univ_qp_attr a = { .attr_mask = IBV_QP_STATE | mask, .qp_state = state, .port_num = PORT };

	NEED_OK(raw_modify(fd, qp.handle, &a));
}

static void to_rts(void)
{
	move(IBV_QPS_RESET, 0);
	qp.sq.index = qp.sq.head->kernel.index;
	qp.sq.head->user.index = qp.sq.index;
	qp.rq.index = qp.rq.head->kernel.index;
	qp.rq.head->user.index = qp.rq.index;
	move(IBV_QPS_INIT, IBV_QP_PORT);
	move(IBV_QPS_RTR, 0);
	move(IBV_QPS_RTS, 0);
}

/* Write a request of which any part may be wrong. */
static void wild_send(uint64_t *seed, const struct raw_mr *mr, const uint8_t *mem)
{
	struct univ_send_wr *wr = raw_slot(&qp.sq, qp.sq.index);
	uint8_t *bytes = (uint8_t *)wr;

	for (uint32_t i = 0; i < qp.sq.stride; i++)
		bytes[i] = (uint8_t)rnd(seed);
	if (rnd(seed) % 8)
		wr->opcode = UNIV_WR_SEND;
	if (rnd(seed) % 4)
		wr->flags &= UNIV_WR_SIGNALED | UNIV_WR_INLINE | UNIV_WR_IP_CSUM;
	if (rnd(seed) % 4)
		wr->count = (uint16_t)(rnd(seed) % (wr->flags & UNIV_WR_INLINE ? 64 : 4));
	for (int i = 0; i < 4 && !(wr->flags & UNIV_WR_INLINE); i++)
		if (rnd(seed) % 8)
			((struct univ_sge *)wr->data)[i] = (struct univ_sge){
				(uintptr_t)mem + rnd(seed) % 4096, rnd(seed) % 600, mr->lkey,
			};
	raw_publish(fd, &qp.sq, qp.handle, UNIV_KICK_SEND);
}

/* Any request in the ring of a raw packet queue pair ends with a completion or a reset. */
static void wild_requests(void)
{
	uint64_t seed = rnd_seed();
	struct univ_flow_create flow;
	struct univ_cqe cqe;
	struct raw_mr mr;
	uint8_t *mem;

	begin();
	mem = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(mem != MAP_FAILED, "mmap: %s", err_name(errno));
	mr = raw_mr(fd, pd, mem, 8192, IBV_ACCESS_LOCAL_WRITE);
	/* Multicast frames return to the sender. */
	memset(mem, 0xff, 8192);
	flow = valid();
	flow.type = UNIV_FLOW_SNIFFER;
	flow.count = 0;
	NEED_OK(raw_call(fd, UNIV_FLOW_CREATE, &flow));
	for (int n = 0; n < test_rounds(4000); n++) {
		if (n % 4 == 0)
			to_rts();
		raw_recv_sge(fd, &qp, 1, (uintptr_t)mem + 4096, rnd(&seed) % 4096,
			     rnd(&seed) % 4 ? mr.lkey : rnd(&seed));
		wild_send(&seed, &mr, mem);
		while (raw_poll(&cq, &cqe))
			CHECK(cqe.qp_num == qp.qp_num, "a completion of queue pair %u", cqe.qp_num);
	}
	to_rts();
	while (raw_poll(&cq, &cqe))
		;
	raw_send_sge(fd, &qp, 7, (uintptr_t)mem, 100, mr.lkey);
	do
		NEED(raw_wait(&cq, &cqe, WC_TIMEOUT), "a valid frame is not sent after it");
	while (cqe.wr_id != 7);
	CHECK(!cqe.status, "a valid frame is not sent after it: status %u, reason %u", cqe.status, cqe.reason);
	munmap(mem, 8192);
	end();
}

/* A multicast frame returns to the flows of the device, also if no packets are sent (wire=0). */
static void returns(void)
{
	struct univ_flow_create flow;
	bool sent = false, got = false;
	struct univ_cqe cqe;
	struct raw_mr mr;
	uint8_t *mem;

	begin();
	mem = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(mem != MAP_FAILED, "mmap: %s", err_name(errno));
	mr = raw_mr(fd, pd, mem, 8192, IBV_ACCESS_LOCAL_WRITE);
	memset(mem, 0xff, 100);
	mem[12] = 0x88;
	mem[13] = 0xb5;
	flow = valid();
	memcpy(flow.specs[0].val, mem, 14);
	memset(flow.specs[0].mask, 0xff, 14);
	NEED_OK(raw_call(fd, UNIV_FLOW_CREATE, &flow));
	to_rts();
	raw_recv_sge(fd, &qp, 5, (uintptr_t)mem + 4096, 4096, mr.lkey);
	raw_send_sge(fd, &qp, 7, (uintptr_t)mem, 100, mr.lkey);
	while (!(sent && got)) {
		if (!CHECK(raw_wait(&cq, &cqe, WC_TIMEOUT), "sent: %d, received: %d", sent, got))
			break;
		CHECK(!cqe.status, "request %d: status %u", (int)cqe.wr_id, cqe.status);
		sent |= cqe.wr_id == 7;
		got |= cqe.wr_id == 5;
	}
	CHECK(!memcmp(mem, mem + 4096, 100), "other bytes have arrived");
	munmap(mem, 8192);
	end();
}

static void says(struct ibv_qp *qp, struct ibv_flow_attr *attr, const char *words)
{
	CHECK_NULL(ibv_create_flow(qp, attr), EINVAL);
	CHECK(strstr(why_text(), words), "explained as: %s", why_text());
}

/* Mistakes in flows of two specs. */
static void sentences_of_two(struct ibv_qp *qp)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth[2];
		struct ibv_flow_spec_action_tag tag;
	} __attribute__((packed, aligned(8))) flow = { .attr.port = PORT, .attr.num_of_specs = 2 };

	for (int i = 0; i < 2; i++) {
		flow.eth[i].type = IBV_FLOW_SPEC_ETH;
		flow.eth[i].size = sizeof(flow.eth[i]);
		flow.eth[i].val.dst_mac[3] = (uint8_t)i;
		flow.eth[i].mask.dst_mac[3] = 1;
	}
	flow.tag.type = IBV_FLOW_SPEC_ACTION_TAG;
	flow.tag.size = sizeof(flow.tag);
	flow.tag.tag_id = 1 << 24;
	says(qp, &flow.attr, "no frame can match both");
	flow.attr.type = 4;
	says(qp, &flow.attr, "no type 4 of flows");
	flow.attr.type = IBV_FLOW_ATTR_SNIFFER;
	says(qp, &flow.attr, "has no specs but actions");
	flow.attr.type = IBV_FLOW_ATTR_NORMAL;
	flow.eth[1].val.dst_mac[3] = 0;
	flow.attr.num_of_specs = 3;
	says(qp, &flow.attr, "a value out of range");
	flow.tag.tag_id = 5;
	flow.attr.flags = IBV_FLOW_ATTR_FLAGS_EGRESS;
	says(qp, &flow.attr, "which only received frames have");
}

/* The sentences, as a program gets them. */
static void sentences(void)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec spec;
	} __attribute__((packed, aligned(8))) flow = { .attr = { .port = PORT, .num_of_specs = 1 } };
	struct pair_want want = { .stay_reset = 1, .type = IBV_QPT_RAW_PACKET };
	struct pair p;

	begin();
	end();
	pair_open(&p, &want);
	flow.spec.hdr.type = IBV_FLOW_SPEC_VXLAN_TUNNEL | IBV_FLOW_SPEC_INNER;
	flow.spec.hdr.size = sizeof(flow.spec.tunnel);
	CHECK_NULL(ibv_create_flow(p.qp[0], &flow.attr), EOPNOTSUPP);
	CHECK(strstr(why_text(), "ibv_create_flow") && strstr(why_text(), "0x150") && strstr(why_text(), "tunnels"),
	      "explained as: %s", why_text());
	/* A spec that is shorter than its type is not read. */
	flow.spec.hdr.type = IBV_FLOW_SPEC_ETH;
	flow.spec.hdr.size = offsetof(struct ibv_flow_spec_eth, mask);
	CHECK_NULL(ibv_create_flow(p.qp[0], &flow.attr), EINVAL);
	CHECK(why_reason() == UNIV_REASON_SIZE, "explained as: %s", why_text());
	flow.attr.num_of_specs = 0;
	flow.attr.type = IBV_FLOW_ATTR_ALL_DEFAULT;
	flow.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	CHECK_NULL(ibv_create_flow(p.qp[0], &flow.attr), EINVAL);
	CHECK(strstr(why_text(), "IBV_FLOW_ATTR_NORMAL"), "explained as: %s", why_text());
	sentences_of_two(p.qp[0]);
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "not_offered", not_offered },
	{ "attributes", attributes },
	{ "other_queue_pairs", other_queue_pairs },
	{ "specs", specs },
	{ "points", points },
	{ "contradictions", contradictions },
	{ "first_version", first_version },
	{ "valid_ones", valid_ones },
	{ "too_many", too_many },
	{ "without_capability", without_capability },
	{ "wild_requests", wild_requests },
	{ "returns", returns },
	{ "sentences", sentences },
};

TEST_MAIN("bad_flows", cases, 60)
