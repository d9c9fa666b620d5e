/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every ioctl of uapi/univerbs.h with the fields of its struct. tests/user/lib/grammar
 * makes grammar.h from that header when the tests are built, so each test that uses calls[]
 * covers a new ioctl without a change. Only the names tell which fields are reserved, which
 * are handles and of what kind, and which call destroys the object of another call.
 */
#ifndef CALLS_H
#define CALLS_H

#include "raw.h"

struct call_field {
	const char *name;	/* With a dot for each struct that contains it. */
	uint16_t offset;
	uint16_t size;
};

struct call {
	const char *name;	/* For example UNIV_PD_ALLOC. */
	unsigned long cmd;
	uint16_t size;
	const struct call_field *fields;
	uint16_t count;
};

#include "grammar.h"

static const struct {
	const char *name;	/* In upper case in UNIV_CQ_CREATE, in lower case in a field. */
	enum univ_object_type type;
} call_kinds[] = {
	{ "pd", UNIV_OBJECT_PD },	{ "mr", UNIV_OBJECT_MR },	{ "mw", UNIV_OBJECT_MW },
	{ "ah", UNIV_OBJECT_AH },	{ "cq", UNIV_OBJECT_CQ },	{ "srq", UNIV_OBJECT_SRQ },
	{ "qp", UNIV_OBJECT_QP },	{ "xrcd", UNIV_OBJECT_XRCD },	{ "send_cq", UNIV_OBJECT_CQ },
	{ "recv_cq", UNIV_OBJECT_CQ },	{ "dm", UNIV_OBJECT_DM },
	{ "cntr", UNIV_OBJECT_CNTR },	{ "flow", UNIV_OBJECT_FLOW },
	{ "wq", UNIV_OBJECT_WQ },	{ "table", UNIV_OBJECT_TABLE },	{ "dmah", UNIV_OBJECT_DMAH },
	{ "counters", UNIV_OBJECT_COUNTERS },
};

static enum univ_object_type kind_named(const char *name, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(call_kinds); i++)
		if (strlen(call_kinds[i].name) == length &&
		    !strncasecmp(call_kinds[i].name, name, length))
			return call_kinds[i].type;
	return UNIV_OBJECT_NONE;
}

/*
 * Return the kind of object in the call's name, for example CQ for UNIV_CQ_RESIZE, or
 * UNIV_OBJECT_NONE.
 */
static MAYBE_UNUSED enum univ_object_type call_kind(const struct call *c)
{
	const char *object = c->name + strlen("UNIV_");

	return kind_named(object, strcspn(object, "_"));
}

static MAYBE_UNUSED bool call_destroys(const struct call *c)
{
	return c->fields == fields_univ_destroy;
}

static MAYBE_UNUSED bool call_makes(const struct call *c)
{
	static const char *const verbs[] = { "_CREATE", "_ALLOC", "_REG", "_OPEN", "_SHARE" };

	for (size_t i = 0; call_kind(c) != UNIV_OBJECT_NONE && i < ARRAY_SIZE(verbs); i++)
		if (!strcmp(c->name + strlen(c->name) - strlen(verbs[i]), verbs[i]))
			return true;
	return false;
}

/* Return the call that destroys such an object. */
static MAYBE_UNUSED const struct call *call_destroyer(enum univ_object_type type)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (call_destroys(&calls[i]) && call_kind(&calls[i]) == type)
			return &calls[i];
	return NULL;
}

static MAYBE_UNUSED const struct call_field *call_field(const struct call *c, const char *name)
{
	for (uint16_t i = 0; i < c->count; i++)
		if (!strcmp(c->fields[i].name, name))
			return &c->fields[i];
	return NULL;
}

/* Return the kind of object whose handle the process writes to this field, or UNIV_OBJECT_NONE. */
static MAYBE_UNUSED enum univ_object_type field_kind(const struct call *c,
						     const struct call_field *f)
{
	if (f->size != sizeof(uint32_t))
		return UNIV_OBJECT_NONE;
	if (!strcmp(f->name, "handle"))
		return call_makes(c) ? UNIV_OBJECT_NONE : call_kind(c);
	return kind_named(f->name, strlen(f->name));
}

static MAYBE_UNUSED bool field_reserved(const struct call_field *f)
{
	const char *last = strrchr(f->name, '.');

	return !strcmp(last ? last + 1 : f->name, "reserved");
}

#endif
