/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Inside the room why: names of things in the sentences. They are not NULL unless that is
 * stated.
 */
#ifndef UNIV_NAMES_H
#define UNIV_NAMES_H

#include <stdint.h>

const char *univ_attribute_name(unsigned int bit);
const char *univ_state_name(uint32_t state);
const char *univ_qp_type_name(uint32_t type);	/* with an article */
const char *univ_object_name(uint32_t type);
const char *univ_object_users(uint32_t type);
const char *univ_limit_name(uint32_t limit);
const char *univ_opcode_name(uint32_t opcode);
const char *univ_flags_word(uint32_t word);	/* or NULL */
const char *univ_flag_name(uint32_t word, uint64_t bit);	/* or NULL */
const char *univ_capability_name(uint32_t capability);

#endif
