// SPDX-License-Identifier: GPL-2.0
/*
 * Requests for faults of a uroce device that are not well-formed. uroce-fault sends none of these.
 * Each is refused, and no fault of the device changes.
 */
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>

#include "testlib.h"
#include "uroce_fault.h"

#define REPLY_MAX 8192

static struct mnl_socket *sock;
static uint16_t family;
static uint32_t seq;
static char request[4096];
static char reply[REPLY_MAX];

static struct nlmsghdr *begin(uint16_t type, uint8_t cmd)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(request);
	struct genlmsghdr *genl;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	nlh->nlmsg_seq = ++seq;
	genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));
	genl->cmd = cmd;
	genl->version = 1;
	return nlh;
}

/* Send the request. @found gets each reply. Returns an errno. */
static int ask(const struct nlmsghdr *nlh, void (*found)(const struct nlmsghdr *reply))
{
	NEED(mnl_socket_sendto(sock, nlh, nlh->nlmsg_len) > 0, "send: %s", err_name(errno));
	for (;;) {
		int len = mnl_socket_recvfrom(sock, reply, sizeof(reply));
		const struct nlmsghdr *each = (const void *)reply;

		NEED(len > 0, "receive: %s", err_name(errno));
		for (; mnl_nlmsg_ok(each, len); each = mnl_nlmsg_next(each, &len)) {
			if (each->nlmsg_type == NLMSG_ERROR)
				return -((const struct nlmsgerr *)mnl_nlmsg_get_payload(each))->error;
			if (found)
				found(each);
		}
	}
}

static void found_family(const struct nlmsghdr *nlh)
{
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, sizeof(struct genlmsghdr))
		if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID)
			family = mnl_attr_get_u16(attr);
}

static void connect_kernel(void)
{
	struct nlmsghdr *nlh;

	if (sock)
		return;
	sock = mnl_socket_open(NETLINK_GENERIC);
	NEED(sock && !mnl_socket_bind(sock, 0, MNL_SOCKET_AUTOPID), "netlink: %s", err_name(errno));
	nlh = begin(GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, UROCE_GENL_NAME);
	NEED(!ask(nlh, found_family) && family, "there is no family %s", UROCE_GENL_NAME);
}

/* ---- the faults of the device ------------------------------------------------------------- */

static char faults[REPLY_MAX];
static size_t faults_len;

static void found_faults(const struct nlmsghdr *nlh)
{
	faults_len = mnl_nlmsg_get_payload_len(nlh);
	memcpy(faults, mnl_nlmsg_get_payload(nlh), faults_len);
}

static void get_faults(void)
{
	struct nlmsghdr *nlh = begin(family, UROCE_CMD_FAULT_GET);

	mnl_attr_put_strz(nlh, UROCE_A_DEV, dev_wanted());
	faults_len = 0;
	CHECK(!ask(nlh, found_faults) && faults_len, "the faults of %s", dev_wanted());
}

static void want_unchanged(const char *what)
{
	static char before[REPLY_MAX];
	size_t len = faults_len;

	memcpy(before, faults, len);
	get_faults();
	CHECK(faults_len == len && !memcmp(before, faults, len), "%s: a fault has changed", what);
}

/* ---- requests ----------------------------------------------------------------------------- */

/* The errno for an attribute of a wrong length depends on the kernel. */
static void want_refusal(const char *what, int err)
{
	CHECK(err == EINVAL || err == ERANGE, "%s: %s", what, err_name(err));
	want_unchanged(what);
}

/* A request that changes one fault, and has @len bytes of another attribute as well. */
static int changes(uint16_t type, const void *data, size_t len)
{
	struct nlmsghdr *nlh = begin(family, UROCE_CMD_FAULT_SET);

	mnl_attr_put_strz(nlh, UROCE_A_DEV, dev_wanted());
	mnl_attr_put_u32(nlh, UROCE_A_SEED, 4711);
	mnl_attr_put(nlh, type, len, data);
	return ask(nlh, NULL);
}

static void refused(const char *what, uint16_t type, const void *data, size_t len)
{
	want_refusal(what, changes(type, data, len));
}

static void out_of_range(const char *what, uint16_t type, uint32_t value)
{
	int err = changes(type, &value, sizeof(value));

	CHECK(err == ERANGE, "%s: %s", what, err_name(err));
	want_unchanged(what);
}

static void values(void)
{
	connect_kernel();
	get_faults();
	out_of_range("a rate above 100 %", UROCE_A_DROP, UROCE_FAULT_MAX_PPM + 1);
	out_of_range("a delay that is too long", UROCE_A_DELAY_US, UROCE_FAULT_MAX_DELAY_US + 1);
	out_of_range("a port that is more than down", UROCE_A_PORT_DOWN, 2);
	out_of_range("the status of success", UROCE_A_STATUS, 0);
	out_of_range("an unknown status", UROCE_A_STATUS, UROCE_FAULT_MAX_STATUS + 1);
	out_of_range("an unknown verb", UROCE_A_VERB, UROCE_VERBS);
	out_of_range("no errno", UROCE_A_VERB_ERRNO, 0);
	out_of_range("an unknown errno", UROCE_A_VERB_ERRNO, UROCE_FAULT_MAX_ERRNO + 1);
	out_of_range("a mirror that is more than on", UROCE_A_MIRROR, 2);
}

/* Attributes of a wrong length, which a kernel that trusts them reads beyond. */
static void lengths(void)
{
	static const uint16_t numbers[] = {
		UROCE_A_DROP, UROCE_A_COMPLETION_ERROR, UROCE_A_DELAY_US, UROCE_A_PORT_DOWN, UROCE_A_QP,
		UROCE_A_SEED, UROCE_A_STATUS, UROCE_A_VERB, UROCE_A_VERB_AT, UROCE_A_VERB_ERRNO,
		UROCE_A_MIRROR,
	};
	static const uint8_t zeros[1024];
	char what[64];

	connect_kernel();
	get_faults();
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		for (size_t len = 0; len < 9; len++) {
			snprintf(what, sizeof(what), "attribute %u of %zu bytes", numbers[i], len);
			if (len != sizeof(uint32_t))
				refused(what, numbers[i], zeros, len);
		}
	refused("half a P_Key", UROCE_A_PKEYS, zeros, 3);
	refused("no P_Key", UROCE_A_PKEYS, zeros, 0);
	refused("too many P_Keys", UROCE_A_PKEYS, zeros, sizeof(zeros));
}

static void nested(void)
{
	struct {
		struct nlattr attr;
		struct uroce_fault_at at;
	} member = { { sizeof(member), UROCE_A_DROP }, { 1, 1 } };
	const uint16_t type = UROCE_A_AT | NLA_F_NESTED;

	connect_kernel();
	get_faults();
	refused("numbers without the flag of nested attributes", UROCE_A_AT, &member,
		sizeof(member));
	refused("numbers that are cut off", type, &member, sizeof(member) - 1);
	refused("numbers without a member", type, &member, 3);
	member.attr.nla_len -= sizeof(uint32_t);
	refused("a member that is too short", type, &member, member.attr.nla_len);
	member.attr.nla_len = sizeof(member);
	member.attr.nla_type = UROCE_A_DELAY_US;
	refused("a member that has no numbers", type, &member, sizeof(member));
	member.attr.nla_type = UROCE_A_DROP;
	member.at.first = 2;
	refused("numbers in the wrong order", type, &member, sizeof(member));
}

static void strange_kinds(void)
{
	struct nlmsghdr *nlh;
	int err;

	connect_kernel();
	get_faults();
	refused("an unknown attribute", UROCE_A_PKEYS + 1, "x", 2);
	nlh = begin(family, UROCE_CMD_FAULT_SET + 1);
	mnl_attr_put_strz(nlh, UROCE_A_DEV, dev_wanted());
	err = ask(nlh, NULL);
	CHECK(err == EOPNOTSUPP, "an unknown command: %s", err_name(err));
}

/* @len bytes of @name are the device's name. */
static int names_device(uint8_t cmd, const char *name, size_t len)
{
	struct nlmsghdr *nlh = begin(family, cmd);

	if (name)
		mnl_attr_put(nlh, UROCE_A_DEV, len, name);
	return ask(nlh, NULL);
}

static void names(void)
{
	char longest[256];

	memset(longest, 'x', sizeof(longest));
	connect_kernel();
	get_faults();
	for (uint8_t cmd = UROCE_CMD_FAULT_GET; cmd <= UROCE_CMD_FAULT_SET; cmd++) {
		want_refusal("no name", names_device(cmd, NULL, 0));
		want_refusal("an empty name", names_device(cmd, "", 0));
		want_refusal("a name without an end",
			     names_device(cmd, dev_wanted(), strlen(dev_wanted())));
		want_refusal("a name that is too long", names_device(cmd, longest, sizeof(longest)));
		CHECK_ERR(names_device(cmd, "nobody", sizeof("nobody")), ENODEV);
	}
}

static const struct test_case cases[] = {
	{ "values", values },
	{ "lengths", lengths },
	{ "nested", nested },
	{ "strange_kinds", strange_kinds },
	{ "names", names },
};

TEST_MAIN("fault_messages", cases, 30)
