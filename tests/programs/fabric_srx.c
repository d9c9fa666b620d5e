// SPDX-License-Identifier: GPL-2.0
/*
 * Messages over libfabric into a shared receive context, as fi_shared_ctx of libfabric's
 * own tests has them: each receive request covers more bytes than are registered, and the messages
 * are short enough to stay within the registered bytes.
 *   fabric_srx ADDRESS PORT
 */
#include <arpa/inet.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION FI_VERSION(1, 17)
#define MESSAGES 20
#define BYTES 64
#define NAMED (16 * BYTES)
#define PATIENCE_MS 20000

#define NEED(expression) need(expression, #expression)

struct side {
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct fid_mr *mr;
	unsigned char *memory;
};

static struct fid_fabric *fabric;
static struct fid_eq *eq;

static void fail(const char *what, int err)
{
	fprintf(stderr, "%s: %s\n", what, fi_strerror(err));
	exit(1);
}

static void need(int ret, const char *what)
{
	if (ret)
		fail(what, -ret);
}

static struct fi_info *info_for(const char *address, const char *port, uint64_t flags)
{
	struct fi_info *hints = fi_allocinfo(), *info = NULL;

	if (!hints)
		fail("fi_allocinfo", FI_ENOMEM);
	hints->caps = FI_MSG;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->ep_attr->type = FI_EP_MSG;
	hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
				      FI_MR_PROV_KEY;
	hints->fabric_attr->prov_name = strdup("verbs");
	NEED(fi_getinfo(VERSION, address, port, flags, hints, &info));
	fi_freeinfo(hints);
	return info;
}

static void side_open(struct side *side, struct fi_info *info)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_MSG, .size = MESSAGES,
				   .wait_obj = FI_WAIT_UNSPEC };

	/*
	 * The memory has a page of its own, so that no memory behind the registered
	 * bytes is registered.
	 */
	if (posix_memalign((void **)&side->memory, 4096, 4096))
		fail("posix_memalign", FI_ENOMEM);
	NEED(fi_domain(fabric, info, &side->domain, NULL));
	NEED(fi_cq_open(side->domain, &attr, &side->cq, NULL));
	NEED(fi_mr_reg(side->domain, side->memory, BYTES, FI_SEND | FI_RECV, 0, 0, 0, &side->mr,
		       NULL));
	NEED(fi_endpoint(side->domain, info, &side->ep, NULL));
	NEED(fi_ep_bind(side->ep, &eq->fid, 0));
	NEED(fi_ep_bind(side->ep, &side->cq->fid, FI_TRANSMIT | FI_RECV));
}

/* Expect @wanted as the next event. Return the information that it carries. */
static struct fi_info *event(uint32_t wanted)
{
	struct fi_eq_cm_entry entry = {};
	struct fi_eq_err_entry error = {};
	uint32_t type = 0;
	ssize_t ret = fi_eq_sread(eq, &type, &entry, sizeof(entry), PATIENCE_MS, 0);

	if (ret == -FI_EAVAIL && fi_eq_readerr(eq, &error, 0) > 0)
		fail("connecting", error.err);
	if (ret < 0)
		fail("waiting for an event", (int)-ret);
	if (type != wanted)
		fail("another event than expected", FI_EOTHER);
	return entry.info;
}

static struct fi_cq_msg_entry completion(struct side *side, const char *what)
{
	struct fi_cq_err_entry error = {};
	struct fi_cq_msg_entry entry;
	ssize_t ret = fi_cq_sread(side->cq, &entry, 1, NULL, PATIENCE_MS);

	if (ret == -FI_EAVAIL && fi_cq_readerr(side->cq, &error, 0) > 0)
		fail(what, error.err);
	if (ret != 1)
		fail(what, ret < 0 ? (int)-ret : FI_EOTHER);
	return entry;
}

static struct fid_ep *shared_context(struct side *side, struct fi_info *info)
{
	struct fid_ep *context;

	NEED(fi_srx_context(side->domain, info->rx_attr, &context, NULL));
	NEED(fi_ep_bind(side->ep, &context->fid, 0));
	return context;
}

static void message(struct side *from, struct side *to, struct fid_ep *context, int number)
{
	struct fi_cq_msg_entry got;
	int i;

	memset(from->memory, number, BYTES);
	memset(to->memory, 0xee, BYTES);
	NEED((int)fi_recv(context, to->memory, NAMED, fi_mr_desc(to->mr), 0, NULL));
	NEED((int)fi_send(from->ep, from->memory, BYTES, fi_mr_desc(from->mr), 0, NULL));
	completion(from, "the send");
	got = completion(to, "the receive");
	if (got.len != BYTES)
		fail("a message of another length", FI_EOTHER);
	for (i = 0; i < BYTES; i++)
		if (to->memory[i] != number)
			fail("a wrong byte", FI_EOTHER);
}

int main(int argc, char **argv)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct side client = {}, server = {};
	struct fid_pep *listener;
	struct fid_ep *context;
	struct fi_info *info, *request;
	int i;

	if (argc != 3)
		return 2;
	info = info_for(argv[1], argv[2], FI_SOURCE);
	NEED(fi_fabric(info->fabric_attr, &fabric, NULL));
	NEED(fi_eq_open(fabric, &eq_attr, &eq, NULL));
	NEED(fi_passive_ep(fabric, info, &listener, NULL));
	NEED(fi_pep_bind(listener, &eq->fid, 0));
	NEED(fi_listen(listener));

	info = info_for(argv[1], argv[2], 0);
	side_open(&client, info);
	/* Both ends have a shared context, though only the server receives. */
	shared_context(&client, info);
	NEED(fi_enable(client.ep));
	NEED(fi_connect(client.ep, info->dest_addr, NULL, 0));

	request = event(FI_CONNREQ);
	request->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	side_open(&server, request);
	context = shared_context(&server, request);
	NEED(fi_enable(server.ep));
	NEED(fi_accept(server.ep, NULL, 0));
	event(FI_CONNECTED);
	event(FI_CONNECTED);
	for (i = 0; i < MESSAGES; i++)
		message(&client, &server, context, i);
	printf("%d messages\n", MESSAGES);
	return 0;
}
