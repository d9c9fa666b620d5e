// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Finds devices by NETLINK_RDMA. The request for the node of a client named
 * "univerbs" makes the kernel load the module if it is installed.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <rdma/rdma_netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "sys/sys.h"
#include "univerbs.h"

#ifndef NETLINK_RDMA
#define NETLINK_RDMA 20
#endif

#define BUFFER_SIZE 16384

struct session {
	struct mnl_socket *socket;
	unsigned int seq;
	char buffer[BUFFER_SIZE];
};

static int attribute_store(const struct nlattr *attr, void *data)
{
	const struct nlattr **table = data;
	unsigned int type = mnl_attr_get_type(attr);

	if (type < RDMA_NLDEV_ATTR_MAX)
		table[type] = attr;
	return MNL_CB_OK;
}

static uint64_t u64_or_zero(const struct nlattr *attr)
{
	return attr && !mnl_attr_validate(attr, MNL_TYPE_U64) ? mnl_attr_get_u64(attr) : 0;
}

static uint32_t u32_or_zero(const struct nlattr *attr)
{
	return attr && !mnl_attr_validate(attr, MNL_TYPE_U32) ? mnl_attr_get_u32(attr) : 0;
}

/* Leaves @to empty if the text does not fit: a part of a name may be the name of another device. */
static void text_copy(char *to, size_t size, const struct nlattr *attr)
{
	to[0] = '\0';
	if (!attr || mnl_attr_validate(attr, MNL_TYPE_NUL_STRING))
		return;
	if (mnl_attr_get_payload_len(attr) <= size)
		strcpy(to, mnl_attr_get_str(attr));
}

static int device_found(const struct nlmsghdr *msg, void *data)
{
	const struct nlattr *table[RDMA_NLDEV_ATTR_MAX] = {};
	struct univ_found **list = data;
	struct univ_found *found;

	mnl_attr_parse(msg, 0, attribute_store, table);
	if (!table[RDMA_NLDEV_ATTR_DEV_INDEX] || !table[RDMA_NLDEV_ATTR_DEV_NAME])
		return MNL_CB_OK;
	found = calloc(1, sizeof(*found));
	if (!found) {
		errno = ENOMEM;
		return MNL_CB_ERROR;
	}
	found->index = u32_or_zero(table[RDMA_NLDEV_ATTR_DEV_INDEX]);
	found->guid = u64_or_zero(table[RDMA_NLDEV_ATTR_NODE_GUID]);
	if (table[RDMA_NLDEV_ATTR_DEV_NODE_TYPE])
		found->node_type = mnl_attr_get_u8(table[RDMA_NLDEV_ATTR_DEV_NODE_TYPE]);
	text_copy(found->name, sizeof(found->name), table[RDMA_NLDEV_ATTR_DEV_NAME]);
	while (*list)
		list = &(*list)->next;
	*list = found;
	return MNL_CB_OK;
}

/* Netlink carries the kernel's wide encoding of a device number. */
static dev_t node_decode(uint64_t wide)
{
	return makedev((wide & 0xfff00) >> 8, (wide & 0xff) | ((wide >> 12) & 0xfff00));
}

static int node_found(const struct nlmsghdr *msg, void *data)
{
	const struct nlattr *table[RDMA_NLDEV_ATTR_MAX] = {};
	struct univ_found *found = data;

	mnl_attr_parse(msg, 0, attribute_store, table);
	found->abi = u64_or_zero(table[RDMA_NLDEV_ATTR_CHARDEV_ABI]);
	found->node = node_decode(u64_or_zero(table[RDMA_NLDEV_ATTR_CHARDEV]));
	text_copy(found->node_name, sizeof(found->node_name),
		  table[RDMA_NLDEV_ATTR_CHARDEV_NAME]);
	return MNL_CB_OK;
}

/*
 * Reads the answer to the last request. An answer of one message has no end mark,
 * so @single stops after the first message; an error ends either kind.
 */
static int answer_read(struct session *nl, mnl_cb_t callback, void *data, int single)
{
	unsigned int port = mnl_socket_get_portid(nl->socket);
	ssize_t length;
	int ret;

	do {
		length = mnl_socket_recvfrom(nl->socket, nl->buffer, sizeof(nl->buffer));
		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0)
			return errno;
		ret = mnl_cb_run(nl->buffer, length, nl->seq, port, callback, data);
		if (ret < MNL_CB_STOP)
			return errno ? errno : EIO;
	} while (length < 0 || (ret > MNL_CB_STOP && !single));
	return 0;
}

static struct nlmsghdr *request_start(struct session *nl, unsigned int command, uint16_t flags)
{
	struct nlmsghdr *msg = mnl_nlmsg_put_header(nl->buffer);

	msg->nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
	msg->nlmsg_flags = NLM_F_REQUEST | flags;
	msg->nlmsg_seq = ++nl->seq;
	return msg;
}

static int devices_ask(struct session *nl, struct univ_found **list)
{
	struct nlmsghdr *msg = request_start(nl, RDMA_NLDEV_CMD_GET, NLM_F_DUMP);

	if (mnl_socket_sendto(nl->socket, msg, msg->nlmsg_len) < 0)
		return errno;
	return answer_read(nl, device_found, list, 0);
}

static int node_ask(struct session *nl, struct univ_found *found)
{
	struct nlmsghdr *msg = request_start(nl, RDMA_NLDEV_CMD_GET_CHARDEV, 0);

	mnl_attr_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, found->index);
	mnl_attr_put_strz(msg, RDMA_NLDEV_ATTR_CHARDEV_TYPE, UNIV_CLIENT_NAME);
	if (mnl_socket_sendto(nl->socket, msg, msg->nlmsg_len) < 0)
		return errno;
	return answer_read(nl, node_found, found, 1);
}

static int everything_ask(struct session *nl, struct univ_found **list)
{
	struct univ_found *found;
	int err = devices_ask(nl, list);

	/* A device without our node is listed as such; it is no error. */
	for (found = *list; !err && found; found = found->next)
		found->err = node_ask(nl, found);
	return err;
}

int univ_netlink_find(struct univ_found **list)
{
	struct session *nl = malloc(sizeof(*nl));
	int err;

	*list = NULL;
	if (!nl)
		return ENOMEM;
	nl->seq = (unsigned int)time(NULL);
	nl->socket = mnl_socket_open2(NETLINK_RDMA, SOCK_CLOEXEC);
	if (!nl->socket) {
		err = errno;
		goto free_session;
	}
	err = mnl_socket_bind(nl->socket, 0, MNL_SOCKET_AUTOPID) < 0 ? errno :
	      everything_ask(nl, list);
	mnl_socket_close(nl->socket);
free_session:
	free(nl);
	return err;
}

void univ_found_free(struct univ_found *list)
{
	struct univ_found *next;

	for (; list; list = next) {
		next = list->next;
		free(list);
	}
}
