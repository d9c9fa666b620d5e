// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Prints the faults of devices, as words or as JSON. */
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>

#include "fault.h"

/* The attributes of one device. */
struct reply {
	const struct nlattr *value[LAST_ATTR + 1];
	const struct nlattr *at[LAST_ATTR + 1];
	uint16_t pkey[PKEYS_MAX];
	bool json;
	bool first;		/* no device was printed yet */
};

static int at_store(const struct nlattr *attr, void *data)
{
	struct reply *reply = data;
	unsigned int type = mnl_attr_get_type(attr);

	if (type <= LAST_ATTR &&
	    mnl_attr_get_payload_len(attr) == sizeof(struct uroce_fault_at))
		reply->at[type] = attr;
	return MNL_CB_OK;
}

static int value_store(const struct nlattr *attr, void *data)
{
	struct reply *reply = data;
	unsigned int type = mnl_attr_get_type(attr);

	if (type == UROCE_A_AT)
		return mnl_attr_parse_nested(attr, at_store, reply);
	if (type == UROCE_A_PKEYS && mnl_attr_get_payload_len(attr) == sizeof(reply->pkey))
		memcpy(reply->pkey, mnl_attr_get_payload(attr), sizeof(reply->pkey));
	else if (type <= LAST_ATTR &&
		 !mnl_attr_validate(attr, type == UROCE_A_DEV ? MNL_TYPE_NUL_STRING :
								MNL_TYPE_U32))
		reply->value[type] = attr;
	return MNL_CB_OK;
}

/* A line prints words that could be given to "set". Values that change nothing are left out. */
static bool is_shown(const struct reply *reply, const struct word *word, uint32_t number)
{
	switch (word->attr) {
	case UROCE_A_QP:
	case UROCE_A_SEED:
	case UROCE_A_VERB:
	case UROCE_A_MIRROR:
		return number;
	case UROCE_A_STATUS:
		return number != UROCE_FAULT_MAX_STATUS;
	case UROCE_A_VERB_AT:
	case UROCE_A_VERB_ERRNO:
		return reply->value[UROCE_A_VERB] && mnl_attr_get_u32(reply->value[UROCE_A_VERB]);
	default:
		return true;
	}
}

/* The number of entries up to the last one that is not empty. */
static size_t pkey_count(const struct reply *reply)
{
	size_t count = PKEYS_MAX;

	while (count && !reply->pkey[count - 1])
		count--;
	return count;
}

/* A table that was never changed has one entry. */
static void print_pkeys(const struct reply *reply)
{
	size_t count = pkey_count(reply);

	if (count == 1 && reply->pkey[0] == 0xffff)
		return;
	for (size_t i = 0; i < count; i++)
		printf("%s0x%04x", i ? "," : " pkeys ", reply->pkey[i]);
}

static void print_words(const struct reply *reply)
{
	fputs(mnl_attr_get_str(reply->value[UROCE_A_DEV]), stdout);
	for (const struct word *word = words; word->name; word++) {
		const struct nlattr *value = reply->value[word->attr];
		const struct uroce_fault_at *at;
		uint32_t number;

		if (!value)
			continue;
		number = mnl_attr_get_u32(value);
		if (reply->at[word->attr]) {
			at = mnl_attr_get_payload(reply->at[word->attr]);
			printf(at->first == at->last ? " %s #%u" : " %s #%u-%u", word->name,
			       at->first, at->last);
		} else if (is_shown(reply, word, number) && value_name(word->kind, number)) {
			printf(" %s %s", word->name, value_name(word->kind, number));
		} else if (is_shown(reply, word, number)) {
			printf(" %s %u", word->name, number);
		}
	}
	print_pkeys(reply);
	putchar('\n');
}

/* JSON has all values. The name of a device has no character that JSON would escape. */
static void print_json(struct reply *reply)
{
	printf("%s\n  {\"device\": \"%s\"", reply->first ? "[" : ",",
	       mnl_attr_get_str(reply->value[UROCE_A_DEV]));
	reply->first = false;
	for (const struct word *word = words; word->name; word++) {
		const struct nlattr *value = reply->value[word->attr];
		const struct uroce_fault_at *at;
		const char *name;

		if (!value)
			continue;
		name = value_name(word->kind, mnl_attr_get_u32(value));
		if (reply->at[word->attr]) {
			at = mnl_attr_get_payload(reply->at[word->attr]);
			printf(", \"%s\": {\"first\": %u, \"last\": %u}", word->name, at->first,
			       at->last);
		} else if (name) {
			printf(", \"%s\": \"%s\"", word->name, name);
		} else {
			printf(", \"%s\": %u", word->name, mnl_attr_get_u32(value));
		}
	}
	for (size_t i = 0; i < pkey_count(reply); i++)
		printf("%s%u", i ? ", " : ", \"pkeys\": [", reply->pkey[i]);
	fputs(pkey_count(reply) ? "]}" : "}", stdout);
}

static int device_shown(const struct nlmsghdr *msg, void *data)
{
	struct reply *all = data, reply = { .json = all->json, .first = all->first };

	mnl_attr_parse(msg, sizeof(struct genlmsghdr), value_store, &reply);
	if (!reply.value[UROCE_A_DEV])
		return MNL_CB_OK;
	if (reply.json)
		print_json(&reply);
	else
		print_words(&reply);
	all->first = reply.first;
	return MNL_CB_OK;
}

int show(const char *device, bool json)
{
	struct reply all = { .json = json, .first = true };
	struct nlmsghdr *msg;
	const char *why;
	int status = netlink_connect();

	if (status)
		return status;
	msg = netlink_request(UROCE_CMD_FAULT_GET, device ? NLM_F_ACK : NLM_F_DUMP);
	if (device)
		mnl_attr_put_strz(msg, UROCE_A_DEV, device);
	why = netlink_ask(msg, device_shown, &all);
	if (json)
		puts(all.first ? "[]" : "\n]");
	return why ? fail(device ? device : "devices", why) : 0;
}
