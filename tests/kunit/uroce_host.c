// SPDX-License-Identifier: GPL-2.0
/* A host with two queue pairs, and stubs of the functions that uroce's sources call. */
#include <linux/etherdevice.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "uroce_host.h"

/* ---- Stubs -------------------------------------------------------------------- */

DEFINE_STATIC_KEY_DEFERRED_FALSE(uroce_faults_on, HZ);
DEFINE_STATIC_KEY_FALSE(uroce_mirrors_on);

bool uroce_fault_roll(struct uroce_dev *dev, u32 qpn, enum uroce_fault what)
{
	return false;
}

bool uroce_fault_down(struct uroce_dev *dev)
{
	return false;
}

u64 uroce_fault_delay_ns(struct uroce_dev *dev)
{
	return 0;
}

u32 uroce_fault_status(struct uroce_dev *dev)
{
	return IB_WC_GENERAL_ERR;
}

int uroce_fault_call(struct uroce_dev *dev, enum uroce_verb verb)
{
	return 0;
}

void uroce_mirror_message(struct uroce_qp *qp, struct uroce_dev *to,
			  struct uroce_wqe *wqe, u8 syndrome)
{
}

void uroce_mirror_datagram(struct uroce_qp *qp, struct uroce_dev *to,
			   struct uroce_wqe *wqe)
{
}

/* Every address is an address of this host, except for addresses of FAR_PORT. */
int uroce_av_init(struct uroce_dev *dev, struct uroce_av *av,
		  const struct rdma_ah_attr *attr)
{
	*av = (struct uroce_av){ .dev_id = attr->port_num == FAR_PORT ? 0 : dev->id };
	return 0;
}

/* Every address handle leads to this host. A datagram to a group does not use the address. */
bool uroce_ah_copy(u32 index, struct uroce_av *av)
{
	*av = (struct uroce_av){ .dev_id = index };
	return true;
}

void uroce_ah_load(struct uroce_ah *ah, struct uroce_av *av)
{
	*av = ah->av;
}

u16 host_vlan = UROCE_NO_VLAN;

u16 uroce_dev_vlan(struct uroce_dev *dev, const union ib_gid *gid, int ifindex)
{
	return host_vlan;
}

struct uroce_dev *uroce_dev_by_id(u64 id)
{
	return NULL;
}

bool uroce_raw_is_allowed(const struct uroce_dev *dev)
{
	return true;
}

u16 uroce_frame_check(const struct uroce_dev *dev, const struct uroce_wqe *wqe)
{
	return 0;
}

int uroce_frame_send(struct uroce_qp *qp, const struct uroce_wqe *wqe, u16 *reason)
{
	return 0;
}

bool host_lacks_memory;

int uroce_remote_prepare(const struct uroce_qp *qp, const struct ib_qp_attr *attr, int mask,
			 bool far, struct uroce_spare *spare)
{
	return far && host_lacks_memory ? -ENOMEM : 0;
}

void uroce_spare_free(struct uroce_spare *spare)
{
}

void uroce_remote_begin(struct uroce_qp *qp, struct uroce_spare *spare)
{
}

void uroce_remote_drop_routes(struct uroce_qp *qp)
{
}

void uroce_remote_end(struct uroce_qp *qp)
{
}

bool uroce_remote_step(struct uroce_qp *qp, u32 tail)
{
	return false;
}

void uroce_remote_flush(struct uroce_qp *qp)
{
}

void uroce_remote_changed(struct uroce_qp *qp, bool way)
{
}

void uroce_remote_remember(struct uroce_qp *qp, struct uroce_spare *spare)
{
}

bool uroce_remote_idle(struct uroce_qp *qp)
{
	return true;
}

void uroce_remote_psns(const struct uroce_qp *qp, struct ib_qp_attr *attr)
{
}

void uroce_remote_again(struct uroce_qp *qp)
{
}

void uroce_remote_partition(struct uroce_qp *qp)
{
}

void uroce_datagram_send(struct uroce_qp *qp, struct uroce_wqe *wqe)
{
}

/* ---- Memory ------------------------------------------------------------------- */

u8 *host_byte(const struct area *area, u32 at)
{
	at += BEGIN;
	return (u8 *)page_address(area->page[at >> PAGE_SHIFT]) + offset_in_page(at);
}

u8 host_pattern(u32 at, u8 seed)
{
	return at * 7 + (at >> 8) + seed;
}

static void area_fill(struct area *area, u8 seed)
{
	u32 i;

	for (i = 0; i < BYTES; i++)
		*host_byte(area, i) = host_pattern(i, seed);
}

void host_stale(struct area *area)
{
	int i;

	for (i = 0; i < PAGES; i++)
		memset(page_address(area->page[i]), STALE, PAGE_SIZE);
}

int host_differs(const struct area *area, u32 to, u32 from, u32 len, u8 seed)
{
	int i;

	for (i = -BEGIN; i < (int)BYTES + BEGIN; i++) {
		bool in = i >= (int)to && i < (int)(to + len);

		if (*host_byte(area, i) != (in ? host_pattern(i - to + from, seed) : STALE))
			return i;
	}
	return -1;
}

static int area_register(struct host *h, struct side *side, struct ib_pd *pd, u32 access)
{
	struct area *area = &side->area;
	struct scatterlist sg[PAGES];
	struct ib_mr *mr;
	int i, ret;

	mr = uroce_mr_alloc(pd, IB_MR_TYPE_MEM_REG, PAGES);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	sg_init_table(sg, PAGES);
	for (i = 0; i < PAGES; i++) {
		u32 skip = i ? 0 : BEGIN;

		sg_dma_address(&sg[i]) = (uintptr_t)page_address(area->page[i]) + skip;
		sg_dma_len(&sg[i]) = PAGE_SIZE - skip - (i == PAGES - 1 ? BEGIN : 0);
	}
	mr->page_size = PAGE_SIZE;
	ret = uroce_mr_map(mr, sg, PAGES, NULL);
	mr->iova = IOVA;
	if (ret == PAGES)
		ret = uroce_mr_fast(pd, mr, mr->lkey, access);
	if (!ret)
		area->mr = mr;
	else
		uroce_mr_dereg(mr, NULL);
	return ret;
}

void host_reopen(struct kunit *test, struct side *side, struct ib_pd *pd, u32 access)
{
	KUNIT_EXPECT_EQ(test, uroce_mr_dereg(side->area.mr, NULL), 0);
	side->area.mr = NULL;
	KUNIT_ASSERT_EQ(test, area_register(test->priv, side, pd, access), 0);
}

/* ---- Queue pairs -------------------------------------------------------------- */

static void on_event(struct ib_event *event, void *context)
{
	struct side *side = context;

	side->events |= BIT(event->event);
}

static int qp_make(struct host *h, struct side *side, enum ib_qp_type type, struct ib_srq *srq)
{
	struct ib_qp_init_attr init = {
		.qp_type = type, .send_cq = &side->cq.ib, .recv_cq = &side->cq.ib, .srq = srq,
		.cap = { QUEUE, h->no_receives ? 0 : QUEUE, 2, 2, 64 },
	};
	struct ib_qp *ib = &side->qp.ib;

	*ib = (struct ib_qp){ .device = &h->dev.ib, .pd = &h->pd, .qp_type = type,
			      .event_handler = on_event, .qp_context = side };
	return uroce_qp_create(ib, &init, NULL);
}

int host_to_init(struct side *side)
{
	struct ib_qp_attr a = { .qp_state = IB_QPS_INIT, .port_num = 1, .qkey = QKEY,
				.qp_access_flags = ALL_ACCESS };

	return uroce_qp_modify(&side->qp.ib, &a, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			       (side->qp.ib.qp_type == IB_QPT_UD ? IB_QP_QKEY :
				IB_QP_ACCESS_FLAGS), NULL);
}

int host_to_rtr(struct side *side, const struct side *peer)
{
	enum ib_qp_type type = side->qp.ib.qp_type;
	struct ib_qp_attr a = {
		.qp_state = IB_QPS_RTR, .path_mtu = IB_MTU_1024,
		.dest_qp_num = peer->qp.ib.qp_num, .max_dest_rd_atomic = 2, .min_rnr_timer = 1,
	};
	int mask = IB_QP_STATE;

	if (type != IB_QPT_UD)
		mask |= IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN;
	if (type == IB_QPT_RC)
		mask |= IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER;
	return uroce_qp_modify(&side->qp.ib, &a, mask, NULL);
}

int host_to_rts(struct side *side, u8 rnr_retry)
{
	struct ib_qp_attr a = { .qp_state = IB_QPS_RTS, .timeout = 1, .retry_cnt = 1,
				.rnr_retry = rnr_retry, .max_rd_atomic = 2 };
	int mask = IB_QP_STATE | IB_QP_SQ_PSN;

	if (side->qp.ib.qp_type == IB_QPT_RC)
		mask |= IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
			IB_QP_MAX_QP_RD_ATOMIC;
	return uroce_qp_modify(&side->qp.ib, &a, mask, NULL);
}

void host_connect(struct kunit *test, struct side *from, struct side *to,
		  enum ib_qp_type type, u8 rnr_retry)
{
	struct side *side[2] = { from, to };
	struct host *h = test->priv;
	int i;

	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, qp_make(h, side[i], type, i ? h->srq : NULL), 0);
		KUNIT_ASSERT_EQ(test, host_to_init(side[i]), 0);
	}
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, host_to_rtr(side[i], side[!i]), 0);
		KUNIT_ASSERT_EQ(test, host_to_rts(side[i], rnr_retry), 0);
	}
}

void host_drop(struct side *side)
{
	if (side->qp.qp)
		uroce_qp_destroy(&side->qp.ib, NULL);
	side->qp.qp = NULL;
	side->events = 0;
	side->cq.head = side->cq.tail;
}

static void disconnect(struct host *h)
{
	host_drop(&h->a);
	host_drop(&h->b);
}

int host_side_init(struct kunit *test, struct side *side)
{
	const struct ib_cq_init_attr attr = { .cqe = 4 * QUEUE };
	struct host *h = test->priv;
	int i;

	side->cq.ib.device = &h->dev.ib;
	for (i = 0; i < PAGES; i++) {
		side->area.page[i] = alloc_page(GFP_KERNEL);
		if (!side->area.page[i])
			return -ENOMEM;
	}
	return uroce_cq_create(&side->cq.ib, &attr, NULL) ?:
	       area_register(h, side, &h->pd, ALL_ACCESS);
}

void host_side_exit(struct side *side)
{
	int i;

	if (side->area.mr)
		uroce_mr_dereg(side->area.mr, NULL);
	uroce_cq_destroy(&side->cq.ib, NULL);
	for (i = 0; i < PAGES; i++)
		if (side->area.page[i])
			__free_page(side->area.page[i]);
}

int host_init(struct kunit *test)
{
	struct host *h = kunit_kzalloc(test, sizeof(*h), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, h);
	test->priv = h;
	h->dev.id = 1;
	h->dev.ib.local_dma_lkey = 0xdeadbeef;
	h->dev.pkeys[0] = UROCE_PKEY;
	h->dev.counters = __alloc_percpu(UROCE_COUNTERS * sizeof(u64), sizeof(u64));
	KUNIT_ASSERT_NOT_NULL(test, h->dev.counters);
	h->dev.netdev = alloc_etherdev(0);
	KUNIT_ASSERT_NOT_NULL(test, h->dev.netdev);
	/* register_netdev() would initialise it. */
	spin_lock_init(&h->dev.netdev->addr_list_lock);
	KUNIT_ASSERT_EQ(test, uroce_queue_start(), 0);
	KUNIT_ASSERT_EQ(test, uroce_qp_slab_init(), 0);
	KUNIT_ASSERT_EQ(test, uroce_mcast_init(&h->dev), 0);
	mutex_init(&h->dev.mrs_lock);
	spin_lock_init(&h->dev.bound_lock);
	xa_init_flags(&h->dev.mrs, XA_FLAGS_ALLOC);
	xa_init(&h->dev.mws);
	h->pd.device = &h->dev.ib;
	h->other.device = &h->dev.ib;
	KUNIT_ASSERT_EQ(test, host_side_init(test, &h->a), 0);
	KUNIT_ASSERT_EQ(test, host_side_init(test, &h->b), 0);
	area_fill(&h->a.area, 1);
	host_stale(&h->b.area);
	host_connect(test, &h->a, &h->b, IB_QPT_RC, 7);
	return 0;
}

void host_exit(struct kunit *test)
{
	struct host *h = test->priv;

	disconnect(h);
	host_side_exit(&h->a);
	host_side_exit(&h->b);
	/* The callbacks that free queue pairs. */
	rcu_barrier();
	uroce_qp_slab_exit();
	uroce_mcast_exit(&h->dev);
	uroce_queue_stop();
	uroce_mr_exit(&h->dev);
	free_percpu(h->dev.counters);
	free_netdev(h->dev.netdev);
}

void host_again(struct kunit *test, enum ib_qp_type type, u8 rnr_retry)
{
	struct host *h = test->priv;

	disconnect(h);
	host_stale(&h->b.area);
	host_connect(test, &h->a, &h->b, type, rnr_retry);
}

struct ib_sge host_piece(const struct side *side, u64 at, u32 len)
{
	return (struct ib_sge){ .addr = IOVA + at, .length = len, .lkey = side->area.mr->lkey };
}

int host_receive(struct host *h, struct side *side, u64 id, u64 at, u32 len)
{
	struct ib_sge sge = host_piece(side, at, len);
	const struct ib_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return uroce_post_recv(&side->qp.ib, &wr, &bad);
}

int host_ask(struct host *h, u64 id, enum ib_wr_opcode opcode, u64 at, u64 to, u32 len)
{
	struct ib_sge sge = host_piece(&h->a, at, len);
	const struct ib_rdma_wr wr = {
		.wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1, .opcode = opcode,
			.send_flags = IB_SEND_SIGNALED },
		.remote_addr = IOVA + to, .rkey = h->b.area.mr->rkey,
	};
	const struct ib_send_wr *bad;

	return uroce_post_send(&h->a.qp.ib, &wr.wr, &bad);
}

void host_expect_wc(struct kunit *test, struct side *side, u64 id, enum ib_wc_status status)
{
	struct ib_wc wc = {};

	KUNIT_ASSERT_EQ(test, uroce_cq_poll(&side->cq.ib, 1, &wc), 1);
	KUNIT_EXPECT_EQ(test, wc.wr_id, id);
	KUNIT_EXPECT_EQ(test, (int)wc.status, (int)status);
}

void host_expect_soon(struct kunit *test, struct side *side, u64 id, enum ib_wc_status status)
{
	struct ib_wc wc = {};

	EVENTUALLY(uroce_cq_poll(&side->cq.ib, 1, &wc));
	KUNIT_EXPECT_EQ(test, wc.wr_id, id);
	KUNIT_EXPECT_EQ(test, (int)wc.status, (int)status);
}

void host_take(struct kunit *test, struct side *side)
{
	spin_lock_bh(&side->qp.qp->resp.lock);
	KUNIT_EXPECT_EQ(test, (int)uroce_recv_take(side->qp.qp), (int)IB_WC_SUCCESS);
	spin_unlock_bh(&side->qp.qp->resp.lock);
}

void host_expect_none(struct kunit *test, struct side *side)
{
	struct ib_wc wc;

	KUNIT_EXPECT_EQ(test, uroce_cq_poll(&side->cq.ib, 1, &wc), 0);
}

enum ib_qp_state host_state(const struct side *side)
{
	return READ_ONCE(side->qp.qp->state);
}

bool host_is_stale(const struct side *side)
{
	return host_differs(&side->area, 0, 0, 0, 0) < 0;
}
