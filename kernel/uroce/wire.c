// SPDX-License-Identifier: GPL-2.0
/* What each opcode announces: a property of the wire format, and nothing else. */
#include "wire.h"

#define LEN_BTH		12
#define LEN_RETH	16
#define LEN_ATOMIC	28
#define LEN_AETH	4
#define LEN_IMM		4

#define SEND	(UROCE_OP_REQUEST | UROCE_OP_SEND | UROCE_OP_PAYLOAD)
#define WRITE	(UROCE_OP_REQUEST | UROCE_OP_WRITE | UROCE_OP_PAYLOAD)
#define READ	(UROCE_OP_RESPONSE | UROCE_OP_READ | UROCE_OP_PAYLOAD)
#define FIRST	UROCE_OP_FIRST
#define LAST	UROCE_OP_LAST
#define ONLY	(FIRST | LAST)
#define IMM	(UROCE_OP_IMM | UROCE_OP_RECV)
#define INV	UROCE_OP_INV
#define RECV	UROCE_OP_RECV
#define RETH	UROCE_OP_RETH
#define AETH	UROCE_OP_AETH

/* @extra: bytes that every request of the service has behind its base header */
#define OP(service, op, bits, len, extra) \
	[UROCE_##service | UROCE_##op] = { .flags = (bits), .length = LEN_BTH + (len) + (extra) }

/* Sends and writes, which reliable and unreliable connections share */
#define MESSAGES(service, extra)						\
	OP(service, SEND_FIRST, SEND | FIRST, 0, extra),			\
	OP(service, SEND_MIDDLE, SEND, 0, extra),				\
	OP(service, SEND_LAST, SEND | LAST | RECV, 0, extra),			\
	OP(service, SEND_LAST_IMM, SEND | LAST | IMM, LEN_IMM, extra),		\
	OP(service, SEND_ONLY, SEND | ONLY | RECV, 0, extra),			\
	OP(service, SEND_ONLY_IMM, SEND | ONLY | IMM, LEN_IMM, extra),		\
	OP(service, WRITE_FIRST, WRITE | FIRST | RETH, LEN_RETH, extra),	\
	OP(service, WRITE_MIDDLE, WRITE, 0, extra),				\
	OP(service, WRITE_LAST, WRITE | LAST, 0, extra),			\
	OP(service, WRITE_LAST_IMM, WRITE | LAST | IMM, LEN_IMM, extra),	\
	OP(service, WRITE_ONLY, WRITE | ONLY | RETH, LEN_RETH, extra),		\
	OP(service, WRITE_ONLY_IMM, WRITE | ONLY | IMM | RETH, LEN_RETH + LEN_IMM, extra)

#define RELIABLE(service, extra)						\
	MESSAGES(service, extra),						\
	OP(service, READ_REQUEST, UROCE_OP_REQUEST | UROCE_OP_READ | ONLY | RETH, LEN_RETH, extra), \
	OP(service, READ_FIRST, READ | FIRST | AETH, LEN_AETH, 0),		\
	OP(service, READ_MIDDLE, READ, 0, 0),					\
	OP(service, READ_LAST, READ | LAST | AETH, LEN_AETH, 0),		\
	OP(service, READ_ONLY, READ | ONLY | AETH, LEN_AETH, 0),		\
	OP(service, ACKNOWLEDGE, UROCE_OP_RESPONSE | ONLY | AETH, LEN_AETH, 0),	\
	OP(service, ATOMIC_ACK, UROCE_OP_RESPONSE | UROCE_OP_ATOMIC | ONLY | AETH, LEN_AETH + 8, 0), \
	OP(service, COMPARE_SWAP, UROCE_OP_REQUEST | UROCE_OP_ATOMIC | ONLY, LEN_ATOMIC, extra), \
	OP(service, FETCH_ADD, UROCE_OP_REQUEST | UROCE_OP_ATOMIC | ONLY, LEN_ATOMIC, extra), \
	OP(service, SEND_LAST_INV, SEND | LAST | RECV | INV, LEN_IMM, extra),	\
	OP(service, SEND_ONLY_INV, SEND | ONLY | RECV | INV, LEN_IMM, extra),	\
	OP(service, ATOMIC_WRITE, WRITE | ONLY | RETH | UROCE_OP_ATOMIC, LEN_RETH, extra)

#define DATAGRAM (SEND | ONLY | RECV | UROCE_OP_DETH)

const struct uroce_op uroce_ops[256] = {
	RELIABLE(RC, 0),
	MESSAGES(UC, 0),
	OP(UD, SEND_ONLY, DATAGRAM, 0, sizeof(struct uroce_deth)),
	OP(UD, SEND_ONLY_IMM, DATAGRAM | IMM, LEN_IMM, sizeof(struct uroce_deth)),
	RELIABLE(XRC, 4),
};
