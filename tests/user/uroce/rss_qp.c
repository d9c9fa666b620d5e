// SPDX-License-Identifier: GPL-2.0
/* Queue pairs with a receive indirection table: their attributes, and wrong ones. */
#include "rss.h"

static void busy(int err)
{
	CHECK_ERR(err, EBUSY);
	CHECK(why_reason() == UNIV_REASON_BUSY, "%s", why_text());
}

static void in_use(void)
{
	set_up();
	make_rss(IPV4);
	CHECK(!rss->send_cq && !rss->recv_cq && rss->pd == pd, "fields of the queue pair");
	busy(ibv_destroy_rwq_ind_table(table));
	busy(ibv_destroy_wq(wqs[0]));
	busy(ibv_destroy_cq(cqs[0]));
	busy(ibv_destroy_qp(rss));
	drop_rss();
	tear_down();
}

static void refused(const struct ibv_qp_init_attr_ex *attr, int err, uint32_t reason,
		    const char *words)
{
	struct ibv_qp_init_attr_ex copy = *attr;

	CHECK_NULL(ibv_create_qp_ex(dev.ctx, &copy), err);
	CHECK(why_reason() == reason && strstr(why_text(), words), "reason %u: %s", why_reason(),
	      why_text());
}

static void bad_hash(void)
{
	struct ibv_qp_init_attr_ex attr;
	uint8_t longer[256] = { 0 };

	set_up();
	attr = rss_attr(IPV4);
	attr.rx_hash_conf.rx_hash_function = 2;
	refused(&attr, EOPNOTSUPP, UNIV_REASON_RX_HASH, "IBV_RX_HASH_FUNC_TOEPLITZ");
	attr = rss_attr(IPV4);
	attr.rx_hash_conf.rx_hash_key = longer;
	attr.rx_hash_conf.rx_hash_key_len = 39;
	refused(&attr, EINVAL, UNIV_REASON_RX_HASH, "40 bytes");
	attr.rx_hash_conf.rx_hash_key_len = 255;
	refused(&attr, EINVAL, UNIV_REASON_RX_HASH, "40 bytes");
	attr = rss_attr(IBV_RX_HASH_IPSEC_SPI);
	refused(&attr, EOPNOTSUPP, UNIV_REASON_FLAGS, "IBV_RX_HASH_IPSEC_SPI");
	attr = rss_attr(IPV4 | (uint64_t)IBV_RX_HASH_INNER);
	refused(&attr, EOPNOTSUPP, UNIV_REASON_FLAGS, "IBV_RX_HASH_INNER");
	attr = rss_attr(1ull << 63);
	refused(&attr, EOPNOTSUPP, UNIV_REASON_FLAGS, "0x8000000000000000");
	attr = rss_attr(0);
	refused(&attr, EINVAL, UNIV_REASON_RX_HASH, "one entry");
	tear_down();
}

static void bad_qp(void)
{
	struct ibv_recv_wr wr = { 0 }, *bad = NULL;
	struct ibv_qp_init_attr_ex attr;
	struct test_dev other;

	set_up();
	attr = rss_attr(IPV4);
	attr.cap.max_recv_wr = 1;
	refused(&attr, EINVAL, UNIV_REASON_RX_HASH, "max_recv_wr");
	attr = rss_attr(IPV4);
	attr.comp_mask &= ~IBV_QP_INIT_ATTR_RX_HASH;
	refused(&attr, EINVAL, UNIV_REASON_FLAGS_MISSING, "IBV_QP_INIT_ATTR_RX_HASH");
	attr = rss_attr(IPV4);
	attr.comp_mask &= ~IBV_QP_INIT_ATTR_IND_TABLE;
	refused(&attr, EINVAL, UNIV_REASON_FLAGS_MISSING, "IBV_QP_INIT_ATTR_IND_TABLE");
	attr = rss_attr(IPV4);
	attr.rwq_ind_tbl = NULL;
	refused(&attr, EINVAL, UNIV_REASON_HANDLE, "receive indirection table");
	attr = rss_attr(IPV4);
	attr.qp_type = IBV_QPT_UD;
	refused(&attr, EOPNOTSUPP, UNIV_REASON_QP_TYPE, "UD");
	attr = rss_attr(IPV4);
	attr.cap.max_send_wr = 1;
	refused(&attr, EINVAL, UNIV_REASON_HANDLE, "completion queue");
	other = dev;
	dev_open(&dev);
	attr = rss_attr(IPV4);
	attr.pd = ibv_alloc_pd(dev.ctx);
	refused(&attr, EINVAL, UNIV_REASON_CONTEXT, "receive indirection table");
	CHECK_ERR(ibv_dealloc_pd(attr.pd), 0);
	dev_close(&dev);
	dev = other;
	make_rss(IPV4);
	CHECK_ERR(ibv_post_recv(rss, &wr, &bad), EINVAL);
	CHECK(why_reason() == UNIV_REASON_POST_STATE, "%s", why_text());
	drop_rss();
	tear_down();
}

/* With a send queue it sends, too. In the error state it gives no frame to a work queue. */
static void sends_too(void)
{
	struct ibv_qp_attr state = { .qp_state = IBV_QPS_INIT, .port_num = PORT };
	struct ibv_qp *saved;
	struct ibv_wc wc;
	struct frame f;

	set_up();
	saved = sender;
	random_bytes(key, sizeof(key));
	{
		struct ibv_qp_init_attr_ex attr = rss_attr(IPV4 | UDP);

		attr.send_cq = send_cq;
		attr.cap.max_send_wr = 4;
		attr.cap.max_send_sge = 1;
		sender = ibv_create_qp_ex(dev.ctx, &attr);
		NEED(sender, "create_qp_ex: %s; %s", err_name(errno), why_text());
	}
	make_rss(IPV4 | UDP);
	NEED_OK(ibv_modify_qp(sender, &state, IBV_QP_STATE | IBV_QP_PORT));
	for (state.qp_state = IBV_QPS_RTR; state.qp_state <= IBV_QPS_RTS; state.qp_state++)
		NEED_OK(ibv_modify_qp(sender, &state, IBV_QP_STATE));
	send_to(1, &f);
	WANT_WC(cqs[1], &wc, IBV_WC_SUCCESS);
	state.qp_state = IBV_QPS_INIT;
	NEED_OK(ibv_modify_qp(rss, &state, IBV_QP_STATE | IBV_QP_PORT));
	send_to(1, &f);
	WANT_WC(cqs[1], &wc, IBV_WC_SUCCESS);
	state.qp_state = IBV_QPS_ERR;
	NEED_OK(ibv_modify_qp(rss, &state, IBV_QP_STATE));
	send_to(1, &f);
	WANT_EMPTY(cqs[1]);
	drop_rss();
	CHECK_ERR(ibv_destroy_qp(sender), 0);
	sender = saved;
	tear_down();
}

/* Its work queues receive, so a counter of its own receives would stay at 0. */
static void not_counted(void)
{
	struct ibv_qp_attach_comp_cntr_attr ops = { .op_mask = IBV_QP_ATTACH_COMP_CNTR_OP_RECV };
	struct ibv_comp_cntr_init_attr init = { .type = IBV_COMP_CNTR_TYPE_WRS };
	struct ibv_comp_cntr *cntr;

	set_up();
	make_rss(IPV4);
	cntr = ibv_create_comp_cntr(dev.ctx, &init);
	NEED_PTR(cntr, "create_comp_cntr");
	CHECK_ERR(ibv_qp_attach_comp_cntr(rss, cntr, &ops), EOPNOTSUPP);
	CHECK(why_reason() == UNIV_REASON_FLAGS, "%s", why_text());
	ops.op_mask = IBV_QP_ATTACH_COMP_CNTR_OP_SEND;
	CHECK_ERR(ibv_qp_attach_comp_cntr(rss, cntr, &ops), 0);
	drop_rss();
	CHECK_ERR(ibv_destroy_comp_cntr(cntr), 0);
	tear_down();
}

static void reported(void)
{
	struct ibv_device_attr_ex ex;

	dev_open(&dev);
	NEED_OK(ibv_query_device_ex(dev.ctx, NULL, &ex));
	CHECK(ex.rss_caps.supported_qpts == 1u << IBV_QPT_RAW_PACKET, "supported_qpts %#x",
	      ex.rss_caps.supported_qpts);
	CHECK(ex.rss_caps.rx_hash_fields_mask == (IPV4 | IPV6 | TCP | UDP),
	      "rx_hash_fields_mask %#" PRIx64, ex.rss_caps.rx_hash_fields_mask);
	CHECK(ex.rss_caps.rx_hash_function == IBV_RX_HASH_FUNC_TOEPLITZ, "rx_hash_function %u",
	      ex.rss_caps.rx_hash_function);
	dev_close(&dev);
}

static const struct test_case cases[] = {
	{ "reported", reported },
	{ "in_use", in_use },
	{ "bad_hash", bad_hash },
	{ "bad_qp", bad_qp },
	{ "sends_too", sends_too },
	{ "not_counted", not_counted },
};

TEST_MAIN("rss_qp", cases, 60)
