// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Changes of the faults of a device. */
#include <linux/netlink.h>
#include <stdio.h>

#include "fault.h"

#define REQUEST_SIZE 4096

static int pair_read(char **args, const struct word **word, struct value *value)
{
	*word = word_find(args[0]);
	if (!*word)
		return fail(args[0], "there is no such fault");
	if (!args[1] || !value_read(*word, args[1], value))
		return fail(args[0], (*word)->kind == VALUE_NUMBER || (*word)->kind == VALUE_RATE ?
					     "a number is wanted" : "there is no such value");
	return 0;
}

int set_check(char **args)
{
	const struct word *word;
	struct value value;
	int status;

	for (; args[0]; args += 2) {
		status = pair_read(args, &word, &value);
		if (status)
			return status;
	}
	return 0;
}

/* Puts the numbers of cases, of all words that have some, into one nested attribute. */
static void put_numbers(struct nlmsghdr *msg, char **args)
{
	const struct word *word;
	struct nlattr *nest = NULL;
	struct value value;

	for (; args[0]; args += 2) {
		if (pair_read(args, &word, &value) || !value.at.last)
			continue;
		if (!nest)
			nest = mnl_attr_nest_start(msg, UROCE_A_AT);
		mnl_attr_put(msg, word->attr, sizeof(value.at), &value.at);
	}
	if (nest)
		mnl_attr_nest_end(msg, nest);
}

static void put_value(struct nlmsghdr *msg, const struct word *word, const struct value *value)
{
	if (word->kind == VALUE_PKEYS)
		mnl_attr_put(msg, word->attr, value->count * sizeof(*value->pkey), value->pkey);
	else
		mnl_attr_put_u32(msg, word->attr, value->number);
}

static bool too_many(char **args)
{
	size_t n = 0;

	while (args[n])
		n++;
	return n > REQUEST_SIZE / 16;
}

int set(const char *device, char **args)
{
	const struct word *word;
	struct nlmsghdr *msg;
	struct value value;
	const char *why;
	int status = set_check(args);

	if (!status)
		status = netlink_connect();
	if (status)
		return status;
	if (too_many(args))
		return fail(device, "the request has too many words");
	msg = netlink_request(UROCE_CMD_FAULT_SET, NLM_F_ACK);
	mnl_attr_put_strz(msg, UROCE_A_DEV, device);
	put_numbers(msg, args);
	for (; args[0]; args += 2)
		if (!pair_read(args, &word, &value) && !value.at.last)
			put_value(msg, word, &value);
	why = netlink_ask(msg, NULL, NULL);
	return why ? fail(device, why) : 0;
}

int clear(const char *device)
{
	char *args[2 * LAST_ATTR + 1] = {};
	size_t n = 0;

	for (const struct word *word = words; word->name; word++) {
		if (!word->clear)
			continue;
		args[n++] = (char *)word->name;
		args[n++] = (char *)word->clear;
	}
	return set(device, args);
}
