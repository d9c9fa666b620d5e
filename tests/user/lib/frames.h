/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Raw packet queue pairs, their flows and frames, and packet sockets as independent observers.
 * Each of two devices is on one end of a veth, in a namespace of the name of its device
 * (tests/user/network.sh), and queue pairs and flows are created in that namespace. A program includes side.h as well, by which tests/user/one.sh
 * recognizes it.
 */
#ifndef FRAMES_H
#define FRAMES_H

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include "side.h"

#define TYPE		0x88b5		/* for experiments */
#define SLOT		8192
#define SLOTS		160
#define RECVS		8		/* the first slots; the others are for sends */
#define HDR		14

static MAYBE_UNUSED const uint8_t group[6] = { 0x01, 0x00, 0x5e, 0x42, 0x17, 0x05 };

struct station {
	struct side s;
	struct ibv_cq_ex *cq;
	uint8_t mac[6];
	const char *netdev;
};

/* A completion of a receive request. */
struct got {
	enum ibv_wc_status status;
	uint32_t slot;
	uint32_t len;
	uint32_t tag;
	uint16_t cvlan;
	bool sums_ok;
	const uint8_t *bytes;
};

/* ---- sides ---- */

/* station_open() overwrites the name that dev_wanted() reads. */
static MAYBE_UNUSED const char *name_of(int i)
{
	static char near[64];

	if (!near[0])
		snprintf(near, sizeof(near), "%s", dev_wanted());
	return i ? getenv("UNIV_TEST_PEER") : near;
}

/* Enter the namespace of @r. Returns a descriptor for leave(). */
static MAYBE_UNUSED int enter(const struct station *r)
{
	int home = open("/proc/self/ns/net", O_RDONLY), there;
	char path[96];

	snprintf(path, sizeof(path), "/run/netns/%s", r->netdev);
	there = open(path, O_RDONLY);
	NEED(home >= 0 && there >= 0 && !setns(there, 0), "%s: %s", path, err_name(errno));
	close(there);
	return home;
}

static MAYBE_UNUSED void leave(int home)
{
	NEED(!setns(home, 0), "setns: %s", err_name(errno));
	close(home);
}

static MAYBE_UNUSED struct ifreq netdev_ask(const struct station *r, unsigned long request)
{
	struct ifreq ifr = {};
	int home = enter(r), fd = socket(AF_INET, SOCK_DGRAM, 0);

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", r->netdev);
	NEED(fd >= 0 && !ioctl(fd, request, &ifr), "%s: %s", r->netdev, err_name(errno));
	close(fd);
	leave(home);
	return ifr;
}

static MAYBE_UNUSED uint32_t netdev_mtu(const struct station *r)
{
	return (uint32_t)netdev_ask(r, SIOCGIFMTU).ifr_mtu;
}

/* Create the queue pair. @init has the attributes that not each of them has. */
static MAYBE_UNUSED void station_qp_ex(struct station *r, struct ibv_qp_init_attr_ex *init)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = PORT };
	int home = enter(r);

	init->send_cq = init->recv_cq = r->s.cq;
	init->qp_type = IBV_QPT_RAW_PACKET;
	init->pd = r->s.pd;
	init->cap = (struct ibv_qp_cap){ SLOTS, SLOTS, 4, 4, 128 };
	init->comp_mask |= IBV_QP_INIT_ATTR_PD;
	r->s.qp = ibv_create_qp_ex(r->s.dev.ctx, init);
	leave(home);
	NEED_PTR(r->s.qp, "create_qp_ex");
	NEED_OK(ibv_modify_qp(r->s.qp, &attr, IBV_QP_STATE | IBV_QP_PORT));
	attr.qp_state = IBV_QPS_RTR;
	NEED_OK(ibv_modify_qp(r->s.qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	NEED_OK(ibv_modify_qp(r->s.qp, &attr, IBV_QP_STATE));
}

static MAYBE_UNUSED void station_qp(struct station *r, uint32_t create_flags)
{
	struct ibv_qp_init_attr_ex init = {
		.create_flags = create_flags, .comp_mask = IBV_QP_INIT_ATTR_CREATE_FLAGS,
	};

	station_qp_ex(r, &init);
}

static MAYBE_UNUSED void station_open_flags(struct station *r, int i, uint32_t create_flags)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 4 * SLOTS,
		.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_FLOW_TAG | IBV_WC_EX_WITH_CVLAN,
	};

	memset(r, 0, sizeof(*r));
	r->netdev = name_of(i);
	setenv("UNIV_TEST_DEVICE", r->netdev, 1);
	dev_open(&r->s.dev);
	r->s.pd = ibv_alloc_pd(r->s.dev.ctx);
	NEED_PTR(r->s.pd, "alloc_pd");
	r->s.size = SLOTS * SLOT;
	r->s.buf = mmap(NULL, r->s.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(r->s.buf != MAP_FAILED, "mmap: %s", err_name(errno));
	r->s.mr = ibv_reg_mr(r->s.pd, r->s.buf, r->s.size, IBV_ACCESS_LOCAL_WRITE);
	NEED_PTR(r->s.mr, "reg_mr");
	r->cq = ibv_create_cq_ex(r->s.dev.ctx, &attr);
	NEED_PTR(r->cq, "create_cq_ex");
	r->s.cq = ibv_cq_ex_to_cq(r->cq);
	station_qp(r, create_flags);
	memcpy(r->mac, netdev_ask(r, SIOCGIFHWADDR).ifr_hwaddr.sa_data, 6);
}

static MAYBE_UNUSED void station_open(struct station *r, int i)
{
	station_open_flags(r, i, 0);
}

static MAYBE_UNUSED void station_recv_len(struct station *r, uint32_t slot, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)r->s.buf + slot * SLOT, len, r->s.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	memset(r->s.buf + slot * SLOT, 0x5a, SLOT);
	NEED_OK(ibv_post_recv(r->s.qp, &wr, &bad));
}

static MAYBE_UNUSED void station_recv(struct station *r, uint32_t slot)
{
	station_recv_len(r, slot, SLOT);
}

static MAYBE_UNUSED void station_recvs(struct station *r)
{
	for (uint32_t slot = 0; slot < RECVS; slot++)
		station_recv(r, slot);
}

/* Wait @ms for a completion, which is copied before it is given back. */
static MAYBE_UNUSED bool take(struct station *r, struct got *got, unsigned int ms)
{
	struct ibv_poll_cq_attr attr = {};
	uint64_t end = deadline_ms(ms);
	int ret;

	while ((ret = ibv_start_poll(r->cq, &attr)) == ENOENT && now_ns() < end)
		sched_yield();
	if (ret)
		return false;
	*got = (struct got) { .status = r->cq->status, .slot = (uint32_t)r->cq->wr_id };
	if (!got->status) {
		got->len = ibv_wc_read_byte_len(r->cq);
		got->tag = ibv_wc_read_flow_tag(r->cq);
		got->cvlan = ibv_wc_read_cvlan(r->cq);
		got->sums_ok = ibv_wc_read_wc_flags(r->cq) & IBV_WC_IP_CSUM_OK;
	}
	got->bytes = r->s.buf + got->slot * SLOT;
	ibv_end_poll(r->cq);
	return true;
}

#define WANT_FRAME(r, got, frame, length) do {							\
	if (CHECK(take(r, got, WC_TIMEOUT), "no frame has arrived") &&				\
	    CHECK(!(got)->status, "status %d", (got)->status) &&				\
	    CHECK((got)->len == (length), "%u bytes, not %u", (got)->len, (unsigned int)(length))) \
		CHECK(!memcmp((got)->bytes, frame, length), "other bytes have arrived");	\
} while (0)

/* Frames of one sender arrive in their order, so a later one shows that a former one is lost. */
#define WANT_NO_FRAME(r) do {									\
	struct got __got;									\
	CHECK(!take(r, &__got, 0), "a frame of %u bytes has arrived", __got.len);		\
} while (0)

static MAYBE_UNUSED void post_frame(struct station *r, const uint8_t *frame, uint32_t len, unsigned int flags)
{
	uint32_t slot = RECVS, first = len < 20 ? len : 20;
	uint8_t *at = r->s.buf + slot * SLOT;
	struct ibv_sge sge[2] = {
		{ (uintptr_t)at, first, r->s.mr->lkey },
		{ (uintptr_t)at + SLOT, len - first, r->s.mr->lkey },
	};
	struct ibv_send_wr wr = {
		.wr_id = slot, .sg_list = sge, .num_sge = 2, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | flags,
	}, *bad;

	memcpy(at, frame, first);
	memcpy(at + SLOT, frame + first, len - first);
	NEED_OK(ibv_post_send(r->s.qp, &wr, &bad));
}

/* Send a frame. Its completion is the next one, unless the frame comes back. */
static MAYBE_UNUSED void send_frame_flags(struct station *r, const uint8_t *frame, uint32_t len, unsigned int flags)
{
	struct got got;

	post_frame(r, frame, len, flags);
	CHECK(take(r, &got, WC_TIMEOUT) && got.slot == RECVS && !got.status, "the frame is sent: %d",
	      got.status);
}

static MAYBE_UNUSED void send_frame(struct station *r, const uint8_t *frame, uint32_t len)
{
	send_frame_flags(r, frame, len, 0);
}

/* ---- frames ---- */

static MAYBE_UNUSED uint32_t make_frame(uint8_t *frame, const uint8_t *dst, const uint8_t *src, uint16_t type, uint32_t len)
{
	memset(frame, 0, len);
	memcpy(frame, dst, 6);
	memcpy(frame + 6, src, 6);
	frame[12] = (uint8_t)(type >> 8);
	frame[13] = (uint8_t)type;
	if (type == TYPE)
		fill(frame + HDR, len - HDR, len);
	return len;
}

/* Behind an Ethernet header, which has 14 bytes. */
struct ip_udp {
	struct iphdr ip;
	struct udphdr udp;
} __attribute__((packed));

static MAYBE_UNUSED uint32_t make_udp(uint8_t *frame, const uint8_t *dst, const uint8_t *src, uint16_t port, uint32_t len)
{
	struct ip_udp *h = (void *)(frame + HDR);

	make_frame(frame, dst, src, ETH_P_IP, len);
	h->ip = (struct iphdr) {
		.version = 4, .ihl = 5, .tos = 0x28, .tot_len = htobe16((uint16_t)(len - HDR)), .ttl = 9,
		.protocol = IPPROTO_UDP, .frag_off = htobe16(0x4000),
		.saddr = htobe32(0x0a580001), .daddr = htobe32(0x0a580002),
	};
	h->udp.source = htobe16(4000);
	h->udp.dest = htobe16(port);
	h->udp.len = htobe16((uint16_t)(len - HDR - sizeof(h->ip)));
	fill((uint8_t *)(h + 1), len - HDR - sizeof(*h), port);
	return len;
}

static MAYBE_UNUSED uint16_t add_up(uint32_t sum, const void *from, uint32_t len)
{
	const uint8_t *at = from;

	for (uint32_t i = 0; i < len; i++)
		sum += (uint32_t)at[i] << (i % 2 ? 0 : 8);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* Headers behind that of Ethernet, where they are not aligned. */
typedef struct iphdr iphdr_at __attribute__((aligned(1)));
typedef struct ip6_hdr ip6_hdr_at __attribute__((aligned(1)));

/* Are the checksums of IPv4 and UDP right? */
static MAYBE_UNUSED bool sums_right(const uint8_t *frame)
{
	const iphdr_at *ip = (const void *)(frame + HDR);
	uint16_t len = (uint16_t)(be16toh(ip->tot_len) - sizeof(*ip));
	uint32_t pseudo = add_up((uint32_t)IPPROTO_UDP + len, &ip->saddr, 8);

	return add_up(0, ip, sizeof(*ip)) == 0xffff && ((const struct udphdr *)(ip + 1))->check &&
	       add_up(pseudo, ip + 1, len) == 0xffff;
}

/* ---- packet sockets ---- */

/* Open a packet socket on the net device of @r, for frames of @type that arrive there. */
static MAYBE_UNUSED int observe(const struct station *r, uint16_t type)
{
	struct timeval limit = { .tv_sec = WC_TIMEOUT / 1000 };
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htobe16(type) };
	int home = enter(r), fd;

	at.sll_ifindex = (int)if_nametoindex(r->netdev);
	fd = socket(AF_PACKET, SOCK_RAW, 0);
	NEED(fd >= 0 && at.sll_ifindex && !bind(fd, (void *)&at, sizeof(at)) &&
	     !setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)),
	     "packet socket: %s", err_name(errno));
	leave(home);
	return fd;
}

static MAYBE_UNUSED bool observed(int fd, const uint8_t *frame, uint32_t len)
{
	uint8_t bytes[SLOT];
	ssize_t got = recv(fd, bytes, sizeof(bytes), 0);

	return CHECK(got == (ssize_t)len, "the socket has got %zd bytes, not %u", got, len) &&
	       CHECK(!memcmp(bytes, frame, len), "the socket has got other bytes");
}

static MAYBE_UNUSED void put(int fd, const uint8_t *frame, uint32_t len)
{
	NEED(send(fd, frame, len, 0) == (ssize_t)len, "send: %s", err_name(errno));
}

/*
 * Wait until the hosts are silent, which send frames for some time after a link comes up. After
 * that they send none by themselves, see still() in network.sh.
 */
static MAYBE_UNUSED void quiet(const struct station *r)
{
	struct timeval second = { .tv_sec = 1 };
	int fd = observe(r, ETH_P_ALL);
	uint8_t byte;

	NEED(!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second)), "SO_RCVTIMEO");
	while (recv(fd, &byte, 1, 0) > 0)
		;
	close(fd);
}

/* The host of @r sends @count datagrams of @len bytes as one packet. The first byte of each is its number. */
static MAYBE_UNUSED void send_super(const struct station *r, const char *address, uint16_t port, uint32_t len,
				    uint32_t count)
{
	int home = enter(r), fd = socket(AF_INET, SOCK_DGRAM, 0), size = (int)len;
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htobe16(port) };
	uint8_t *bytes = calloc(count, len);

	for (uint32_t i = 0; i < count; i++)
		bytes[i * len] = (uint8_t)i;
	NEED(inet_pton(AF_INET, address, &to.sin_addr) == 1, "%s", address);
	NEED(fd >= 0 && !setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof(size)), "UDP_SEGMENT: %s",
	     err_name(errno));
	NEED(sendto(fd, bytes, count * len, 0, (void *)&to, sizeof(to)) == (ssize_t)(count * len), "sendto: %s",
	     err_name(errno));
	free(bytes);
	close(fd);
	leave(home);
}

#endif
