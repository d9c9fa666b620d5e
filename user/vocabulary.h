/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Names of things in explanations. Never NULL but where that is said. */
#ifndef UNIV_VOCABULARY_H
#define UNIV_VOCABULARY_H

#include <stdint.h>

const char *univ_attribute_name(unsigned int bit);
const char *univ_state_name(uint32_t state);
const char *univ_qp_type_name(uint32_t type);	/* with its article */
const char *univ_object_name(uint32_t type);
const char *univ_object_users(uint32_t type);
const char *univ_limit_name(uint32_t limit);
const char *univ_opcode_name(uint32_t opcode);
const char *univ_flags_word(uint32_t word);	/* NULL: none that has a name */
const char *univ_flag_name(uint32_t word, uint64_t bit);	/* NULL likewise */
const char *univ_capability_name(uint32_t capability);
const char *univ_status_name(uint32_t status);

/* The usual cause of a completion's status, in words, or NULL. */
const char *univ_status_cause(uint32_t status);

#endif
