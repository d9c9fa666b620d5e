// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Requests over generic netlink. */
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <string.h>
#include <time.h>

#include "fault.h"

static struct {
	struct mnl_socket *socket;
	unsigned int seq;
	uint16_t family;
	const char *why;	/* the kernel's message about the last error */
	char buffer[16384];
} nl;

static int why_found(const struct nlattr *attr, void *data)
{
	(void)data;
	if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG &&
	    !mnl_attr_validate(attr, MNL_TYPE_NUL_STRING))
		nl.why = mnl_attr_get_str(attr);
	return MNL_CB_OK;
}

/* The end of a request that is not a dump: success, or an error with a message. */
static int error_read(const struct nlmsghdr *msg, void *data)
{
	const struct nlmsgerr *err = mnl_nlmsg_get_payload(msg);

	(void)data;
	if (mnl_nlmsg_get_payload_len(msg) < sizeof(*err))
		return MNL_CB_ERROR;
	if (!err->error)
		return MNL_CB_STOP;
	if (msg->nlmsg_flags & NLM_F_ACK_TLVS)
		mnl_attr_parse(msg, sizeof(*err), why_found, NULL);
	errno = -err->error;
	return MNL_CB_ERROR;
}

static int dump_end(const struct nlmsghdr *msg, void *data)
{
	(void)msg;
	(void)data;
	return MNL_CB_STOP;
}

static mnl_cb_t control[NLMSG_MIN_TYPE] = {
	[NLMSG_DONE] = dump_end,
	[NLMSG_ERROR] = error_read,
};

static struct nlmsghdr *request(uint16_t type, uint8_t command, uint8_t version, uint16_t flags)
{
	struct nlmsghdr *msg = mnl_nlmsg_put_header(nl.buffer);
	struct genlmsghdr *genl = mnl_nlmsg_put_extra_header(msg, sizeof(*genl));

	msg->nlmsg_type = type;
	msg->nlmsg_flags = NLM_F_REQUEST | flags;
	msg->nlmsg_seq = ++nl.seq;
	genl->cmd = command;
	genl->version = version;
	return msg;
}

struct nlmsghdr *netlink_request(uint8_t command, uint16_t flags)
{
	return request(nl.family, command, UROCE_GENL_VERSION, flags);
}

/* A request ends with an acknowledgment, or with the end of a dump. */
static int ask(struct nlmsghdr *msg, mnl_cb_t callback, void *data)
{
	unsigned int port = mnl_socket_get_portid(nl.socket);
	ssize_t length;
	int ret;

	nl.why = NULL;
	if (mnl_socket_sendto(nl.socket, msg, msg->nlmsg_len) < 0)
		return -1;
	do {
		length = mnl_socket_recvfrom(nl.socket, nl.buffer, sizeof(nl.buffer));
		if (length < 0)
			return -1;
		ret = mnl_cb_run2(nl.buffer, length, nl.seq, port, callback, data, control,
				  NLMSG_MIN_TYPE);
	} while (ret > MNL_CB_STOP);
	return ret;
}

const char *netlink_ask(struct nlmsghdr *msg, mnl_cb_t callback, void *data)
{
	if (!ask(msg, callback, data))
		return NULL;
	return nl.why ? nl.why : strerror(errno);
}

static int family_attr(const struct nlattr *attr, void *data)
{
	(void)data;
	if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID &&
	    !mnl_attr_validate(attr, MNL_TYPE_U16))
		nl.family = mnl_attr_get_u16(attr);
	return MNL_CB_OK;
}

static int family_found(const struct nlmsghdr *msg, void *data)
{
	return mnl_attr_parse(msg, sizeof(struct genlmsghdr), family_attr, data);
}

int netlink_connect(void)
{
	struct nlmsghdr *msg;
	int on = 1;

	if (nl.family)
		return 0;
	nl.socket = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	if (!nl.socket || mnl_socket_bind(nl.socket, 0, MNL_SOCKET_AUTOPID) < 0)
		return fail("netlink", strerror(errno));
	/* A kernel that refuses these options sends shorter errors. */
	mnl_socket_setsockopt(nl.socket, NETLINK_EXT_ACK, &on, sizeof(on));
	mnl_socket_setsockopt(nl.socket, NETLINK_CAP_ACK, &on, sizeof(on));
	nl.seq = (unsigned int)time(NULL);
	msg = request(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1, NLM_F_ACK);
	mnl_attr_put_strz(msg, CTRL_ATTR_FAMILY_NAME, UROCE_GENL_NAME);
	if (!ask(msg, family_found, NULL))
		return 0;
	return fail("uroce", errno == ENOENT ? "the module is not loaded" : strerror(errno));
}
