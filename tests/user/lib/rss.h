/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive side scaling: work queues, a queue pair that spreads frames over them, a sender of
 * frames, and the hash that each frame has.
 */
#ifndef RSS_H
#define RSS_H

#include <arpa/inet.h>
#include "random.h"
#include "raw.h"

#define WQS 4
#define LOG 3
#define ENTRIES (1 << LOG)
#define KEY 40
#define FRAMES 48
#define ROOM 128
#define IPV4 (IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4)
#define IPV6 (IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6)
#define TCP (IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP)
#define UDP (IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP)

struct frame {
	uint8_t bytes[ROOM];
	uint32_t len;
	uint32_t wq;		/* The work queue that it is expected in. */
	bool seen;
};

static struct test_dev dev;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_cq *send_cq;
static struct ibv_qp *sender, *rss;
static struct ibv_cq *cqs[WQS];
static struct ibv_wq *wqs[WQS];
static struct ibv_wq *entries[ENTRIES];
static struct ibv_rwq_ind_table *table;
static struct ibv_flow *flow;
static uint8_t key[KEY], mac[6];
static struct {
	uint8_t out[ROOM];
	uint8_t in[WQS][FRAMES][ROOM];
} *memory;

/* ---- The expected hash ----------------------------------------------------------- */

static uint32_t key_from(unsigned int bit)
{
	uint64_t word = 0;

	for (unsigned int i = 0; i < 5; i++)
		word = word << 8 | (bit / 8 + i < KEY ? key[bit / 8 + i] : 0);
	return (uint32_t)(word >> (8 - bit % 8));
}

static uint32_t toeplitz(const uint8_t *data, unsigned int len)
{
	uint32_t hash = 0;

	for (unsigned int bit = 0; bit < 8 * len; bit++)
		if (data[bit / 8] & 0x80 >> bit % 8)
			hash ^= key_from(bit);
	return hash;
}

/* Append the field at @at of the frame if it is chosen. */
static unsigned int take(uint8_t *to, unsigned int len, bool chosen, const uint8_t *at,
			 unsigned int size)
{
	if (chosen)
		memcpy(to + len, at, size);
	return chosen ? len + size : len;
}

static MAYBE_UNUSED uint32_t expected_hash(const struct frame *f, uint64_t fields)
{
	bool v6 = f->bytes[12] == 0x86, v4 = f->bytes[12] == 8 && !f->bytes[13];
	const uint8_t *ip = f->bytes + 14, *l4 = ip + (v6 ? 40 : 20);
	uint8_t proto = v6 ? ip[6] : ip[9], data[36];
	bool tcp = (v4 || v6) && proto == IPPROTO_TCP, udp = (v4 || v6) && proto == IPPROTO_UDP;
	unsigned int n = 0;

	n = take(data, n, v4 && (fields & IBV_RX_HASH_SRC_IPV4), ip + 12, 4);
	n = take(data, n, v4 && (fields & IBV_RX_HASH_DST_IPV4), ip + 16, 4);
	n = take(data, n, v6 && (fields & IBV_RX_HASH_SRC_IPV6), ip + 8, 16);
	n = take(data, n, v6 && (fields & IBV_RX_HASH_DST_IPV6), ip + 24, 16);
	n = take(data, n, tcp && (fields & IBV_RX_HASH_SRC_PORT_TCP), l4, 2);
	n = take(data, n, tcp && (fields & IBV_RX_HASH_DST_PORT_TCP), l4 + 2, 2);
	n = take(data, n, udp && (fields & IBV_RX_HASH_SRC_PORT_UDP), l4, 2);
	n = take(data, n, udp && (fields & IBV_RX_HASH_DST_PORT_UDP), l4 + 2, 2);
	return toeplitz(data, n);
}

/* ---- Frames ---------------------------------------------------------------------- */

static MAYBE_UNUSED void random_bytes(uint8_t *to, size_t n)
{
	static uint64_t seed;

	if (!seed)
		seed = rnd_seed();
	while (n--)
		*to++ = (uint8_t)rnd(&seed);
}

/* A frame to this device, of random addresses and ports. @proto: 0 for a frame without IP. */
static MAYBE_UNUSED void frame_make(struct frame *f, bool v6, uint8_t proto)
{
	uint8_t *ip = f->bytes + 14;

	memset(f, 0, sizeof(*f));
	memcpy(f->bytes, mac, 6);
	memcpy(f->bytes + 6, mac, 6);
	f->len = 14 + 40 + 20 + 8;
	random_bytes(ip, f->len - 14);
	f->bytes[12] = !proto ? 0x88 : v6 ? 0x86 : 8;
	f->bytes[13] = !proto ? 0xb5 : v6 ? 0xdd : 0;
	if (!proto)
		return;
	ip[0] = v6 ? 0x60 : 0x45;
	if (v6) {
		ip[4] = 0;
		ip[5] = 20 + 8;
		ip[6] = proto;
	} else {
		ip[2] = 0;
		ip[3] = 40 + 20 + 8;
		ip[6] = 0x40;
		ip[7] = 0;
		ip[9] = proto;
	}
}

static MAYBE_UNUSED void frame_send(const struct frame *f)
{
	struct ibv_sge sge = { (uintptr_t)memory->out, f->len, mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED }, *bad = NULL;
	struct ibv_wc wc;

	memcpy(memory->out, f->bytes, f->len);
	CHECK_ERR(ibv_post_send(sender, &wr, &bad), 0);
	WANT_WC(send_cq, &wc, IBV_WC_SUCCESS);
}

/* ---- Objects --------------------------------------------------------------------- */

/* The name of the device's net device. */
static void read_netdev(char name[64])
{
	char path[160];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/%d",
		 dev_wanted(), dev.gid_index);
	first_word(path, name);
}

static void read_mac(void)
{
	char path[160], name[64], text[64];

	read_netdev(name);
	snprintf(path, sizeof(path), "/sys/class/net/%s/address", name);
	first_word(path, text);
	NEED(sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1], &mac[2], &mac[3],
		    &mac[4], &mac[5]) == 6, "%s: %s", path, text);
}

static void make_sender(void)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RAW_PACKET,
		.cap = { .max_send_wr = 4, .max_send_sge = 1 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = PORT };

	send_cq = ibv_create_cq(dev.ctx, 4, NULL, NULL, 0);
	NEED_PTR(send_cq, "create_cq");
	init.send_cq = send_cq;
	init.recv_cq = send_cq;
	sender = ibv_create_qp(pd, &init);
	NEED(sender, "create_qp: %s; %s", err_name(errno), why_text());
	NEED_OK(ibv_modify_qp(sender, &attr, IBV_QP_STATE | IBV_QP_PORT));
	for (attr.qp_state = IBV_QPS_RTR; attr.qp_state <= IBV_QPS_RTS; attr.qp_state++)
		NEED_OK(ibv_modify_qp(sender, &attr, IBV_QP_STATE));
}

static int change(struct ibv_wq *wq, enum ibv_wq_state state)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = state };

	return ibv_modify_wq(wq, &attr);
}

static void post(int i, uint64_t slot)
{
	struct ibv_sge sge = { (uintptr_t)memory->in[i][slot], ROOM, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad = NULL;

	CHECK_ERR(ibv_post_wq_recv(wqs[i], &wr, &bad), 0);
}

static struct ibv_wq *make_wq(struct ibv_cq *cq, uint32_t flags)
{
	struct ibv_wq_init_attr attr = { .wq_type = IBV_WQT_RQ, .max_wr = FRAMES, .max_sge = 1,
		.pd = pd, .cq = cq, .comp_mask = IBV_WQ_INIT_ATTR_FLAGS, .create_flags = flags };
	struct ibv_wq *wq = ibv_create_wq(dev.ctx, &attr);

	NEED(wq, "create_wq: %s; %s", err_name(errno), why_text());
	return wq;
}

static struct ibv_rwq_ind_table *make_table(struct ibv_wq **list, uint32_t log)
{
	struct ibv_rwq_ind_table_init_attr attr = { .log_ind_tbl_size = log, .ind_tbl = list };
	struct ibv_rwq_ind_table *made = ibv_create_rwq_ind_table(dev.ctx, &attr);

	NEED(made, "create_rwq_ind_table: %s; %s", err_name(errno), why_text());
	return made;
}

static struct ibv_qp_init_attr_ex rss_attr(uint64_t fields)
{
	return (struct ibv_qp_init_attr_ex) {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			     IBV_QP_INIT_ATTR_RX_HASH,
		.pd = pd,
		.rwq_ind_tbl = table,
		.rx_hash_conf = { .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
			.rx_hash_key_len = KEY, .rx_hash_key = key,
			.rx_hash_fields_mask = fields },
	};
}

/* A flow of the frames for this device. */
static void flow_to(struct ibv_qp *qp)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} want = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(want), .num_of_specs = 1,
			.port = PORT },
		.eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(want.eth) },
	};

	memcpy(want.eth.val.dst_mac, mac, 6);
	memset(want.eth.mask.dst_mac, 0xff, 6);
	flow = ibv_create_flow(qp, &want.attr);
	NEED(flow, "create_flow: %s; %s", err_name(errno), why_text());
}

static void make_rss(uint64_t fields)
{
	struct ibv_qp_init_attr_ex attr = rss_attr(fields);

	rss = ibv_create_qp_ex(dev.ctx, &attr);
	NEED(rss, "create_qp_ex: %s; %s", err_name(errno), why_text());
	flow_to(rss);
}

static MAYBE_UNUSED void drop_rss(void)
{
	CHECK_ERR(ibv_destroy_flow(flow), 0);
	CHECK_ERR(ibv_destroy_qp(rss), 0);
}

static void make_objects(void)
{
	pd = ibv_alloc_pd(dev.ctx);
	NEED_PTR(pd, "alloc_pd");
	memory = calloc(1, sizeof(*memory));
	NEED_PTR(memory, "calloc");
	mr = ibv_reg_mr(pd, memory, sizeof(*memory), IBV_ACCESS_LOCAL_WRITE);
	NEED_PTR(mr, "reg_mr");
	make_sender();
	for (int i = 0; i < WQS; i++) {
		cqs[i] = ibv_create_cq(dev.ctx, 2 * FRAMES, NULL, NULL, 0);
		NEED_PTR(cqs[i], "create_cq");
		wqs[i] = make_wq(cqs[i], 0);
		CHECK_ERR(change(wqs[i], IBV_WQS_RDY), 0);
		for (int slot = 0; slot < FRAMES; slot++)
			post(i, slot);
	}
	for (int i = 0; i < ENTRIES; i++)
		entries[i] = wqs[i * 3 / 2 % WQS];
	table = make_table(entries, LOG);
}

static void set_up(void)
{
	dev_open(&dev);
	read_mac();
	make_objects();
}

static void drop_objects(void)
{
	CHECK_ERR(ibv_destroy_rwq_ind_table(table), 0);
	for (int i = 0; i < WQS; i++) {
		CHECK_ERR(ibv_destroy_wq(wqs[i]), 0);
		CHECK_ERR(ibv_destroy_cq(cqs[i]), 0);
	}
	CHECK_ERR(ibv_destroy_qp(sender), 0);
	CHECK_ERR(ibv_destroy_cq(send_cq), 0);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	free(memory);
}

static void tear_down(void)
{
	drop_objects();
	dev_close(&dev);
}

static MAYBE_UNUSED int wq_of_entry(uint32_t entry)
{
	for (int i = 0; i < WQS; i++)
		if (entries[entry] == wqs[i])
			return i;
	return -1;
}

/* Send a frame whose work queue is number @i. */
static MAYBE_UNUSED void send_to(int i, struct frame *f)
{
	do
		frame_make(f, false, IPPROTO_UDP);
	while (wq_of_entry(expected_hash(f, IPV4 | UDP) % ENTRIES) != i);
	frame_send(f);
}

static MAYBE_UNUSED struct ibv_wq *saved;

/* One work queue with @flags gets all frames, and has no receive requests yet. */
static MAYBE_UNUSED void one_open(uint32_t flags)
{
	set_up();
	CHECK_ERR(ibv_destroy_rwq_ind_table(table), 0);
	saved = wqs[0];
	wqs[0] = make_wq(cqs[0], flags);
	CHECK_ERR(change(wqs[0], IBV_WQS_RDY), 0);
	table = make_table(&wqs[0], 0);
	make_rss(0);
}

static MAYBE_UNUSED void one_close(void)
{
	drop_rss();
	CHECK_ERR(ibv_destroy_rwq_ind_table(table), 0);
	CHECK_ERR(ibv_destroy_wq(wqs[0]), 0);
	wqs[0] = saved;
	table = make_table(entries, LOG);
	tear_down();
}

#endif
