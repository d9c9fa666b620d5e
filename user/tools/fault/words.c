// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The words of the command line, and the forms of their values. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"

const struct word words[] = {
	{ "drop", UROCE_A_DROP, VALUE_RATE, "0" },
	{ "duplicate", UROCE_A_DUPLICATE, VALUE_RATE, "0" },
	{ "corrupt", UROCE_A_CORRUPT, VALUE_RATE, "0" },
	{ "delay", UROCE_A_DELAY, VALUE_RATE, "0" },
	{ "rnr", UROCE_A_RNR, VALUE_RATE, "0" },
	{ "remote_error", UROCE_A_REMOTE_ERROR, VALUE_RATE, "0" },
	{ "completion_error", UROCE_A_COMPLETION_ERROR, VALUE_RATE, "0" },
	{ "delay_us", UROCE_A_DELAY_US, VALUE_NUMBER, NULL },
	{ "port_down", UROCE_A_PORT_DOWN, VALUE_NUMBER, "0" },
	{ "qp", UROCE_A_QP, VALUE_NUMBER, "0" },
	{ "seed", UROCE_A_SEED, VALUE_NUMBER, "0" },
	{ "status", UROCE_A_STATUS, VALUE_STATUS, "general" },
	{ "verb", UROCE_A_VERB, VALUE_VERB, "none" },
	{ "verb_at", UROCE_A_VERB_AT, VALUE_NUMBER, NULL },
	{ "verb_errno", UROCE_A_VERB_ERRNO, VALUE_ERRNO, NULL },
	{ "mirror", UROCE_A_MIRROR, VALUE_NUMBER, NULL },
	{ "pkeys", UROCE_A_PKEYS, VALUE_PKEYS, NULL },
	{ .name = NULL }
};

/* Short forms of enum ibv_wc_status, by number. */
static const char *const statuses[UROCE_FAULT_MAX_STATUS + 1] = {
	[1] = "loc_len", [2] = "loc_qp_op", [3] = "loc_eec_op", [4] = "loc_prot",
	[5] = "wr_flush", [6] = "mw_bind", [7] = "bad_resp", [8] = "loc_access",
	[9] = "rem_inv_req", [10] = "rem_access", [11] = "rem_op", [12] = "retry_exc",
	[13] = "rnr_retry_exc", [14] = "loc_rdd_viol", [15] = "rem_inv_rd_req",
	[16] = "rem_abort", [17] = "inv_eecn", [18] = "inv_eec_state", [19] = "fatal",
	[20] = "resp_timeout", [21] = "general",
};

static const char *const verbs[UROCE_VERBS] = {
	[UROCE_VERB_NONE] = "none",
	[UROCE_VERB_ANY] = "any",
	[UROCE_VERB_ALLOC_PD] = "alloc_pd",
	[UROCE_VERB_OPEN_XRCD] = "open_xrcd",
	[UROCE_VERB_REG_MR] = "reg_mr",
	[UROCE_VERB_REREG_MR] = "rereg_mr",
	[UROCE_VERB_ALLOC_MW] = "alloc_mw",
	[UROCE_VERB_CREATE_AH] = "create_ah",
	[UROCE_VERB_CREATE_CQ] = "create_cq",
	[UROCE_VERB_CREATE_SRQ] = "create_srq",
	[UROCE_VERB_MODIFY_SRQ] = "modify_srq",
	[UROCE_VERB_CREATE_QP] = "create_qp",
	[UROCE_VERB_MODIFY_QP] = "modify_qp",
	[UROCE_VERB_ATTACH_MCAST] = "attach_mcast",
};

const struct word *word_find(const char *name)
{
	for (const struct word *word = words; word->name; word++)
		if (!strcmp(word->name, name))
			return word;
	return NULL;
}

const char *value_name(enum value_kind kind, uint32_t number)
{
	switch (kind) {
	case VALUE_STATUS:
		return number <= UROCE_FAULT_MAX_STATUS ? statuses[number] : NULL;
	case VALUE_VERB:
		return number < UROCE_VERBS ? verbs[number] : NULL;
	case VALUE_ERRNO:
		return number ? strerrorname_np((int)number) : NULL;
	default:
		return NULL;
	}
}

/* Finds the number of a name; no kind has names beyond the errno values. */
static bool name_read(enum value_kind kind, const char *text, uint32_t *number)
{
	for (uint32_t i = 0; i <= UROCE_FAULT_MAX_ERRNO; i++) {
		const char *name = value_name(kind, i);

		if (name && !strcmp(name, text)) {
			*number = i;
			return true;
		}
	}
	return false;
}

static bool number_read(const char *text, char **end, double most, double scale, uint32_t *number)
{
	double value = strtod(text, end) * scale;

	if (*end == text || !(value >= 0 && value <= most))
		return false;
	*number = (uint32_t)(value + 0.5);
	return true;
}

/* "5" or "5-7", behind a "#" */
static bool at_read(const char *text, struct uroce_fault_at *at)
{
	unsigned long first, last;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	first = last = strtoul(text, &end, 10);
	if (*end == '-' && end[1] >= '0' && end[1] <= '9')
		last = strtoul(end + 1, &end, 10);
	if (*end || !last || last > UINT32_MAX || first > UINT32_MAX)
		return false;
	at->first = (uint32_t)first;
	at->last = (uint32_t)last;
	return true;
}

/* "0xffff,0x8001" */
static bool pkeys_read(const char *text, struct value *value)
{
	unsigned long pkey;
	char *end;

	for (;; text = end + 1) {
		if (*text < '0' || *text > '9' || value->count == PKEYS_MAX)
			return false;
		pkey = strtoul(text, &end, 0);
		if (pkey > UINT16_MAX)
			return false;
		value->pkey[value->count++] = (uint16_t)pkey;
		if (*end != ',')
			return !*end;
	}
}

bool value_read(const struct word *word, const char *text, struct value *value)
{
	size_t length = strlen(text);
	bool percent = word->kind == VALUE_RATE && length && text[length - 1] == '%';
	char *end;

	*value = (struct value){};
	if (word->kind == VALUE_PKEYS)
		return pkeys_read(text, value);
	if (word->kind == VALUE_RATE && *text == '#')
		return at_read(text + 1, &value->at);
	if (name_read(word->kind, text, &value->number))
		return true;
	return number_read(text, &end, UINT32_MAX, percent ? 10000 : 1, &value->number) &&
	       !strcmp(end, percent ? "%" : "");
}
