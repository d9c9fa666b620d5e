/* SPDX-License-Identifier: GPL-2.0 */
/* Arguments of the operations of queue.h on queue pairs. */
#ifndef UNIV_QUEUE_PAIR_H
#define UNIV_QUEUE_PAIR_H

#include <linux/types.h>

#include "univerbs.h"

/**
 * struct univ_queue_rate - the limit of a queue pair's rate
 * @kbps: 1000 bits in each second; 0: no limit
 * @burst: bytes that may be sent at once; 0: the device's choice
 * @packet: size of its typical packets; 0: the MTU
 */
struct univ_queue_rate {
	u32 kbps;
	u32 burst;
	u16 packet;
};

/**
 * struct univ_queue_hash - how a queue pair spreads frames over work queues
 * @key: of the Toeplitz hash; the lower bits of the hash select the entry of
 *	the receive indirection table
 * @fields: enum univ_rx_hash_fields, of those in univ_queue_ops.hash_fields; 0
 *	with a table of one entry
 */
struct univ_queue_hash {
	u8 key[UNIV_RX_HASH_KEY];
	u64 fields;
};

/**
 * struct univ_queue_posted - requests that do not fit into new rings
 * @send: number of posted send requests, or 0 if they fit
 * @recv: likewise of receive requests
 */
struct univ_queue_posted {
	u32 send;
	u32 recv;
};

#endif
