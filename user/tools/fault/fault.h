/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * uroce-fault: shows and changes the faults of uroce devices over generic netlink. See
 * uroce-fault(8) and uapi/uroce_fault.h.
 */
#ifndef FAULT_H
#define FAULT_H

#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uroce_fault.h"

#define LAST_ATTR UROCE_A_PKEYS

/* The length of a P_Key table. */
#define PKEYS_MAX 16

/* The forms that the value of a word has on the command line. */
enum value_kind {
	VALUE_RATE,		/* 10000, 1%, #5, #5-7 */
	VALUE_NUMBER,
	VALUE_STATUS,		/* retry_exc, 12 */
	VALUE_VERB,		/* create_qp, none, any */
	VALUE_ERRNO,		/* ENOMEM, 12 */
	VALUE_PKEYS,		/* 0xffff,0x8001 */
};

/**
 * struct word - a word that "set" takes, and its attribute
 * @name: on the command line and in the output
 * @attr: enum uroce_attr
 * @kind: the form of its value
 * @clear: the value that "clear" sets; NULL if "clear" keeps the value
 */
struct word {
	const char *name;
	uint16_t attr;
	enum value_kind kind;
	const char *clear;
};

/* A value: a number, the numbers of cases if @at.last is not 0, or a table of @count P_Keys. */
struct value {
	uint32_t number;
	struct uroce_fault_at at;
	uint16_t pkey[PKEYS_MAX];
	size_t count;
};

/* main.c: prints an error and returns the exit status 1. */
int fail(const char *what, const char *why);

/* words.c: all words, the last one without a name. */
extern const struct word words[];
const struct word *word_find(const char *name);
/* Fails for a text that the kind does not permit. The kernel checks the range. */
bool value_read(const struct word *word, const char *text, struct value *value);
/* Returns the name of the number, or NULL if the kind has only numbers. */
const char *value_name(enum value_kind kind, uint32_t number);

/* netlink.c: returns 0, or the exit status after an error was printed. */
int netlink_connect(void);
struct nlmsghdr *netlink_request(uint8_t command, uint16_t flags);
/* Returns the reason of a failure, or NULL. The reason stays until the next call. */
const char *netlink_ask(struct nlmsghdr *msg, mnl_cb_t callback, void *data);

/* show.c: @device is NULL for all devices. */
int show(const char *device, bool json);

/* set.c: @args are words and values, in turn, and end with NULL. */
int set(const char *device, char **args);
int clear(const char *device);
/* Prints an error and returns its exit status unless "set" would take @args. */
int set_check(char **args);

/* script.c: @path is NULL for standard input. */
int script(const char *device, const char *path);

#endif
