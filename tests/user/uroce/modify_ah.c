// SPDX-License-Identifier: GPL-2.0
/*
 * univerbs_modify_ah(3): an address handle gets another address while sends use it. The IP
 * header in the first bytes of each receive buffer shows the address that a datagram was sent
 * to: the former one or the new one, with the traffic class and the label that belong to it.
 */
#include <infiniband/univerbs_verbs.h>

#include "raw.h"

#define GRH 40

static struct pair p;

/* Two addresses of the device: both are its own, so each datagram arrives. */
static struct ibv_ah_attr way[2];

static const struct {
	uint8_t tclass;
	uint32_t label;
} mark[2] = { { 0x28, 0xabcde }, { 0x50, 0x12345 } };

/* The GID of the pair, and another one of RoCEv2; without another one the first is used twice. */
static void set_up(void)
{
	struct ibv_gid_entry e;

	pair_open(&p, &(struct pair_want){ .type = IBV_QPT_UD });
	for (int i = 0; i < 2; i++) {
		ah_attr_to(&p.dev, &way[i]);
		way[i].grh.traffic_class = mark[i].tclass;
		way[i].grh.flow_label = mark[i].label;
	}
	for (int i = 0; i < p.dev.port.gid_tbl_len; i++) {
		if (ibv_query_gid_ex(p.dev.ctx, PORT, i, &e, 0) || e.gid_type != IBV_GID_TYPE_ROCE_V2 ||
		    i == p.dev.gid_index)
			continue;
		way[1].grh.sgid_index = i;
		way[1].grh.dgid = e.gid;
		break;
	}
	CHECK_ERR(univerbs_modify_ah(p.ah, &way[0]), 0);
}

static void tear_down(void)
{
	pair_close(&p);
}

/* Does the header in front of a datagram belong to this address? */
static bool came_by(const uint8_t *grh, int i)
{
	const uint8_t *gid = way[i].grh.dgid.raw;

	if (gid_is_ipv4(&way[i].grh.dgid))
		return !(grh[0] >> 4) && grh[20] >> 4 == 4 && grh[21] == mark[i].tclass &&
		       !memcmp(grh + 32, gid + 12, 4) && !memcmp(grh + 36, gid + 12, 4);
	return grh[0] >> 4 == 6 && ((grh[0] & 15) << 4 | grh[1] >> 4) == mark[i].tclass &&
	       ((grh[1] & 15u) << 16 | grh[2] << 8 | grh[3]) == mark[i].label &&
	       !memcmp(grh + 8, gid, 16) && !memcmp(grh + 24, gid, 16);
}

/* Send one datagram; return the index of the address in its header, or -1 for neither. */
static int by_which(void)
{
	struct ibv_wc wc;

	memset(p.buf[1], 0xee, GRH);
	CHECK_ERR(post_recv_at(&p, 1, 1, 0, 256), 0);
	CHECK_ERR(post_send_at(&p, 0, 2, 0, 64, IBV_SEND_SIGNALED), 0);
	if (!WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS) || !WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS))
		return -1;
	return came_by(p.buf[1], 0) ? 0 : came_by(p.buf[1], 1) ? 1 : -1;
}

static void has(const struct ibv_ah_attr *want, const char *what)
{
	struct univerbs_ah_attr a = { .size = sizeof(a) };

	CHECK_ERR(univerbs_query_ah(p.ah, &a), 0);
	CHECK(!memcmp(&a.attr.grh.dgid, &want->grh.dgid, 16) &&
	      a.attr.grh.sgid_index == want->grh.sgid_index &&
	      a.attr.grh.traffic_class == want->grh.traffic_class &&
	      a.attr.grh.flow_label == want->grh.flow_label && a.attr.is_global &&
	      a.attr.port_num == want->port_num && a.attr.sl == want->sl, "%s: other attributes", what);
}

static void replaced(void)
{
	set_up();
	for (int i = 0; i < 6; i++) {
		way[i & 1].sl = i;
		CHECK(!univerbs_modify_ah(p.ah, &way[i & 1]), "modify_ah: %s", why_text());
		has(&way[i & 1], "after a change");
		CHECK(by_which() == (i & 1), "the datagram went another way");
	}
	tear_down();
}

static void refuse(struct ibv_ah_attr *attr, int err, uint32_t reason, const char *what)
{
	int ret = univerbs_modify_ah(p.ah, attr);

	CHECK(ret == err && errno == err, "%s: expected %s, got %s", what, err_name(err), err_name(ret));
	CHECK(why_reason() == reason, "%s: expected reason %u, got %u: %s", what, reason, why_reason(),
	      why_text());
	has(&way[0], what);
}

static void refused(void)
{
	struct ibv_ah_attr attr;
	uint32_t handle;

	set_up();
	attr = way[1];
	attr.port_num = 2;
	refuse(&attr, EINVAL, UNIV_REASON_PORT, "a port that does not exist");
	attr = way[1];
	attr.grh.sgid_index = 250;
	refuse(&attr, EINVAL, UNIV_REASON_GID_INDEX, "a GID that does not exist");
	attr = way[1];
	attr.is_global = 0;
	refuse(&attr, EINVAL, UNIV_REASON_NO_GRH, "no GRH");
	handle = p.ah->handle;
	p.ah->handle = p.pd->handle;
	CHECK_ERR(univerbs_modify_ah(p.ah, &way[1]), EINVAL);
	CHECK(why_reason() == UNIV_REASON_HANDLE_TYPE, "%s", why_text());
	p.ah->handle = handle;
	CHECK(by_which() == 0, "the datagram went another way");
	tear_down();
}

static bool stop;

static void *modifier(void *arg)
{
	unsigned long *count = arg, n;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		n = __atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
		if (!CHECK(!univerbs_modify_ah(p.ah, &way[n & 1]), "modify_ah: %s", why_text()))
			break;
	}
	return NULL;
}

/* Each datagram goes to the one address or to the other; queries see no mixture, either. */
static void traffic(void)
{
	struct univerbs_ah_attr a = { .size = sizeof(a) };
	unsigned long changes[2] = { 0 }, seen[2] = { 0 };
	pthread_t thread[2];
	uint64_t end;
	int i;

	set_up();
	stop = false;
	for (i = 0; i < 2; i++)
		NEED(!pthread_create(&thread[i], NULL, modifier, &changes[i]), "pthread_create");
	end = deadline_ms(3000);
	while (race_goes_on(end, seen[0] && seen[1] && __atomic_load_n(&changes[0], __ATOMIC_RELAXED) > 5)) {
		i = by_which();
		if (!CHECK(i >= 0, "a datagram went to neither address"))
			break;
		seen[i]++;
		CHECK_ERR(univerbs_query_ah(p.ah, &a), 0);
		i = a.attr.grh.traffic_class == mark[1].tclass;
		CHECK(a.attr.grh.flow_label == mark[i].label &&
		      !memcmp(&a.attr.grh.dgid, &way[i].grh.dgid, 16), "a query saw a mixture");
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	CHECK(seen[0] && seen[1] && changes[0] > 5, "%lu and %lu datagrams, %lu changes", seen[0], seen[1],
	      changes[0]);
	printf("# changed %lu times during %lu and %lu datagrams\n", changes[0] + changes[1], seen[0],
	       seen[1]);
	tear_down();
}

/* The handle is destroyed and created while other threads modify it. */
static void *stubborn(void *arg)
{
	struct univ_ah_modify cmd = { 0 };
	int err;

	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		raw_ah_attr(p.dev.ctx->cmd_fd, &cmd.attr);
		cmd.handle = __atomic_load_n(&p.ah->handle, __ATOMIC_RELAXED);
		err = raw_call(p.dev.ctx->cmd_fd, UNIV_AH_MODIFY, &cmd);
		if (!CHECK(!err || err == EINVAL, "modify: %s", err_name(err)))
			break;
	}
	return NULL;
}

static void destroyed(void)
{
	struct univ_ah_create create = { 0 };
	pthread_t thread[2];
	uint64_t end;

	set_up();
	stop = false;
	create.pd = p.pd->handle;
	raw_ah_attr(p.dev.ctx->cmd_fd, &create.attr);
	for (int i = 0; i < 2; i++)
		NEED(!pthread_create(&thread[i], NULL, stubborn, NULL), "pthread_create");
	for (end = deadline_ms(1000); now_ns() < end;) {
		CHECK_ERR(raw_destroy(p.dev.ctx->cmd_fd, UNIV_AH_DESTROY, p.ah->handle), 0);
		NEED_OK(raw_call(p.dev.ctx->cmd_fd, UNIV_AH_CREATE, &create));
		__atomic_store_n(&p.ah->handle, create.handle, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	CHECK_ERR(univerbs_modify_ah(p.ah, &way[1]), 0);
	CHECK(by_which() == 1, "the datagram went another way");
	tear_down();
}

static const struct test_case cases[] = {
	{ "replaced", replaced },
	{ "refused", refused },
	{ "traffic", traffic },
	{ "destroyed", destroyed },
};

TEST_MAIN("modify_ah", cases, 60)
