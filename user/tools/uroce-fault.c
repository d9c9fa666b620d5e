// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Faults of uroce devices: shows and changes them over generic netlink.
 * See uroce-fault(8) and uapi/uroce_fault.h.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "uroce_fault.h"

#define BUFFER_SIZE 16384
#define LAST_ATTR UROCE_A_PORT_DOWN

static const char usage[] =
	"usage: uroce-fault [show [DEVICE]]\n"
	"       uroce-fault set DEVICE FAULT VALUE [FAULT VALUE]...\n"
	"       uroce-fault clear DEVICE\n"
	"\n"
	"Faults: drop, duplicate, corrupt, delay, rnr, remote_error and completion_error, VALUE being\n"
	"how many of a million cases (10000) or how many of a hundred (1%); delay_us, how many\n"
	"microseconds a delay is; port_down, 1 or 0. See uroce-fault(8).\n";

static const struct fault {
	const char *name;
	uint16_t attr;
	bool is_rate;
} faults[] = {
	{ "drop", UROCE_A_DROP, true },
	{ "duplicate", UROCE_A_DUPLICATE, true },
	{ "corrupt", UROCE_A_CORRUPT, true },
	{ "delay", UROCE_A_DELAY, true },
	{ "rnr", UROCE_A_RNR, true },
	{ "remote_error", UROCE_A_REMOTE_ERROR, true },
	{ "completion_error", UROCE_A_COMPLETION_ERROR, true },
	{ "delay_us", UROCE_A_DELAY_US, false },
	{ "port_down", UROCE_A_PORT_DOWN, false },
};

#define FAULTS (sizeof(faults) / sizeof(faults[0]))

static struct {
	struct mnl_socket *socket;
	unsigned int seq;
	uint16_t family;
	const char *why;	/* the kernel's words for the last error */
	char buffer[BUFFER_SIZE];
} nl;

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "uroce-fault: %s: %s\n", what, why);
	return 1;
}

static int bad_usage(void)
{
	fputs(usage, stderr);
	return 2;
}

/* ---- netlink ------------------------------------------------------------------------------ */

static int why_found(const struct nlattr *attr, void *data)
{
	(void)data;
	if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG && !mnl_attr_validate(attr, MNL_TYPE_NUL_STRING))
		nl.why = mnl_attr_get_str(attr);
	return MNL_CB_OK;
}

/* The end of a request that is no dump; remembers what the kernel says of an error */
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

/* 0, or -1 with errno. A request ends with an acknowledgment, or with the end of a dump. */
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

static int family_attr(const struct nlattr *attr, void *data)
{
	(void)data;
	if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID && !mnl_attr_validate(attr, MNL_TYPE_U16))
		nl.family = mnl_attr_get_u16(attr);
	return MNL_CB_OK;
}

static int family_found(const struct nlmsghdr *msg, void *data)
{
	return mnl_attr_parse(msg, sizeof(struct genlmsghdr), family_attr, data);
}

static int connect_kernel(void)
{
	struct nlmsghdr *msg;
	int on = 1;

	nl.socket = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	if (!nl.socket || mnl_socket_bind(nl.socket, 0, MNL_SOCKET_AUTOPID) < 0)
		return fail("netlink", strerror(errno));
	/* Without these the kernel only says less */
	mnl_socket_setsockopt(nl.socket, NETLINK_EXT_ACK, &on, sizeof(on));
	mnl_socket_setsockopt(nl.socket, NETLINK_CAP_ACK, &on, sizeof(on));
	nl.seq = (unsigned int)time(NULL);
	msg = request(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1, NLM_F_ACK);
	mnl_attr_put_strz(msg, CTRL_ATTR_FAMILY_NAME, UROCE_GENL_NAME);
	if (!ask(msg, family_found, NULL))
		return 0;
	return fail("uroce", errno == ENOENT ? "the module is not loaded" : strerror(errno));
}

/* ---- show --------------------------------------------------------------------------------- */

static int attribute_store(const struct nlattr *attr, void *data)
{
	const struct nlattr **table = data;
	unsigned int type = mnl_attr_get_type(attr);

	if (type <= LAST_ATTR)
		table[type] = attr;
	return MNL_CB_OK;
}

/* One line for a device: its name, then each fault and its value */
static int device_shown(const struct nlmsghdr *msg, void *data)
{
	const struct nlattr *table[LAST_ATTR + 1] = {};

	(void)data;
	mnl_attr_parse(msg, sizeof(struct genlmsghdr), attribute_store, table);
	if (!table[UROCE_A_DEV] || mnl_attr_validate(table[UROCE_A_DEV], MNL_TYPE_NUL_STRING))
		return MNL_CB_OK;
	fputs(mnl_attr_get_str(table[UROCE_A_DEV]), stdout);
	for (size_t i = 0; i < FAULTS; i++) {
		const struct nlattr *value = table[faults[i].attr];

		if (value && !mnl_attr_validate(value, MNL_TYPE_U32))
			printf(" %s %u", faults[i].name, mnl_attr_get_u32(value));
	}
	putchar('\n');
	return MNL_CB_OK;
}

static int show(const char *device)
{
	struct nlmsghdr *msg;

	if (connect_kernel())
		return 1;
	msg = request(nl.family, UROCE_CMD_FAULT_GET, UROCE_GENL_VERSION,
		      device ? NLM_F_ACK : NLM_F_DUMP);
	if (device)
		mnl_attr_put_strz(msg, UROCE_A_DEV, device);
	if (ask(msg, device_shown, NULL))
		return fail(device ? device : "devices", nl.why ? nl.why : strerror(errno));
	return 0;
}

/* ---- set ---------------------------------------------------------------------------------- */

static const struct fault *fault_find(const char *name)
{
	for (size_t i = 0; i < FAULTS; i++)
		if (!strcmp(faults[i].name, name))
			return &faults[i];
	return NULL;
}

/* "10000", or for rates "1%" and "0.05%". How much is too much is for the kernel to say. */
static bool value_read(const struct fault *fault, const char *text, uint32_t *value)
{
	char *end;
	double number = strtod(text, &end);

	if (end == text)
		return false;
	if (fault->is_rate && *end == '%') {
		number *= 10000;
		end++;
	}
	if (*end || !(number >= 0 && number <= UINT32_MAX))
		return false;
	*value = (uint32_t)(number + 0.5);
	return true;
}

static int set(const char *device, char **args)
{
	const struct fault *fault;
	struct nlmsghdr *msg;
	uint32_t value;

	if (connect_kernel())
		return 1;
	msg = request(nl.family, UROCE_CMD_FAULT_SET, UROCE_GENL_VERSION, NLM_F_ACK);
	mnl_attr_put_strz(msg, UROCE_A_DEV, device);
	for (; args[0]; args += 2) {
		fault = fault_find(args[0]);
		if (!fault)
			return fail(args[0], "there is no such fault");
		if (!args[1] || !value_read(fault, args[1], &value))
			return fail(args[0], "a number is wanted");
		if (!mnl_attr_put_u32_check(msg, BUFFER_SIZE, fault->attr, value))
			return fail(args[0], "too many of them");
	}
	if (ask(msg, NULL, NULL))
		return fail(device, nl.why ? nl.why : strerror(errno));
	return 0;
}

static int clear(const char *device)
{
	char *args[2 * FAULTS + 1] = {};
	size_t n = 0;

	for (size_t i = 0; i < FAULTS; i++) {
		/* How long a delay is, is none */
		if (faults[i].attr == UROCE_A_DELAY_US)
			continue;
		args[n++] = (char *)faults[i].name;
		args[n++] = "0";
	}
	return set(device, args);
}

int main(int argc, char **argv)
{
	if (argc == 1 || (argc <= 3 && !strcmp(argv[1], "show")))
		return show(argc == 3 ? argv[2] : NULL);
	if (argc >= 5 && !strcmp(argv[1], "set"))
		return set(argv[2], argv + 3);
	if (argc == 3 && !strcmp(argv[1], "clear"))
		return clear(argv[2]);
	if (argc == 2 && !strcmp(argv[1], "--version"))
		return printf("uroce-fault %s\n", UNIVERBS_VERSION) < 0;
	if (argc == 2 && !strcmp(argv[1], "--help"))
		return fputs(usage, stdout) < 0;
	return bad_usage();
}
