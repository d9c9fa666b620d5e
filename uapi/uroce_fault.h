/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * Faults of uroce devices over generic netlink: family "uroce", version 1.
 *
 * Documentation/uroce.rst describes each fault. Rates are in debugfs, too.
 * Netlink has all values and works in any network namespace.
 */
#ifndef UROCE_FAULT_UAPI_H
#define UROCE_FAULT_UAPI_H

#include <linux/types.h>

#define UROCE_GENL_NAME "uroce"
#define UROCE_GENL_VERSION 1

/**
 * enum uroce_cmd - requests
 * @UROCE_CMD_UNSPEC: none
 * @UROCE_CMD_FAULT_GET: Get the faults of the device %UROCE_A_DEV, or, as a
 *	dump, of each device that is visible in the caller's network namespace.
 *	The reply has this command and all attributes; %UROCE_A_AT has only the
 *	faults that have numbers. Needs no privilege. Errors: ENODEV if the
 *	device does not exist in the namespace.
 * @UROCE_CMD_FAULT_SET: Change the faults of the device %UROCE_A_DEV for which
 *	the request has attributes. On an error, none is changed. Needs
 *	CAP_NET_ADMIN over the network namespace of the device's net device.
 *	Errors: ENODEV; EPERM; ERANGE if a value is out of range, or EINVAL if
 *	two attributes contradict each other. The extended acknowledgment names
 *	the attribute.
 */
enum uroce_cmd {
	UROCE_CMD_UNSPEC,
	UROCE_CMD_FAULT_GET,
	UROCE_CMD_FAULT_SET,
};

/* The greatest values of a rate, of the delay, and of an error number. */
#define UROCE_FAULT_MAX_PPM 1000000
#define UROCE_FAULT_MAX_DELAY_US 10000000
#define UROCE_FAULT_MAX_ERRNO 133

/* The greatest completion status, IBV_WC_GENERAL_ERR, which is the default. */
#define UROCE_FAULT_MAX_STATUS 21

/**
 * struct uroce_fault_at - the cases in which a fault happens
 * @first: number of the first case; 1 is the next case after the request
 * @last: number of the last case, at least @first
 */
struct uroce_fault_at {
	__u32 first;
	__u32 last;
};

/**
 * enum uroce_verb - verbs that can be made to fail
 * @UROCE_VERB_NONE: none
 * @UROCE_VERB_ANY: each of the verbs below
 * @UROCE_VERB_ALLOC_PD: ibv_alloc_pd(3)
 * @UROCE_VERB_OPEN_XRCD: ibv_open_xrcd(3)
 * @UROCE_VERB_REG_MR: ibv_reg_mr(3)
 * @UROCE_VERB_REREG_MR: ibv_rereg_mr(3)
 * @UROCE_VERB_ALLOC_MW: ibv_alloc_mw(3)
 * @UROCE_VERB_CREATE_AH: ibv_create_ah(3)
 * @UROCE_VERB_CREATE_CQ: ibv_create_cq(3)
 * @UROCE_VERB_CREATE_SRQ: ibv_create_srq(3)
 * @UROCE_VERB_MODIFY_SRQ: ibv_modify_srq(3)
 * @UROCE_VERB_CREATE_QP: ibv_create_qp(3)
 * @UROCE_VERB_MODIFY_QP: ibv_modify_qp(3)
 * @UROCE_VERB_ATTACH_MCAST: ibv_attach_mcast(3)
 * @UROCE_VERBS: number of values
 */
enum uroce_verb {
	UROCE_VERB_NONE,
	UROCE_VERB_ANY,
	UROCE_VERB_ALLOC_PD,
	UROCE_VERB_OPEN_XRCD,
	UROCE_VERB_REG_MR,
	UROCE_VERB_REREG_MR,
	UROCE_VERB_ALLOC_MW,
	UROCE_VERB_CREATE_AH,
	UROCE_VERB_CREATE_CQ,
	UROCE_VERB_CREATE_SRQ,
	UROCE_VERB_MODIFY_SRQ,
	UROCE_VERB_CREATE_QP,
	UROCE_VERB_MODIFY_QP,
	UROCE_VERB_ATTACH_MCAST,
	UROCE_VERBS,
};

/**
 * enum uroce_attr - attributes of both commands
 * @UROCE_A_UNSPEC: none
 * @UROCE_A_DEV: string, name of the RDMA device
 * @UROCE_A_DROP: u32, arriving packets per million that are lost
 * @UROCE_A_DUPLICATE: u32, packets per million that arrive twice
 * @UROCE_A_CORRUPT: u32, packets per million that have a wrong checksum
 * @UROCE_A_DELAY: u32, packets per million that wait for @UROCE_A_DELAY_US
 * @UROCE_A_RNR: u32, requests per million that find no receive posted
 * @UROCE_A_REMOTE_ERROR: u32, requests per million that the peer refuses
 * @UROCE_A_COMPLETION_ERROR: u32, requests per million that end in an
 *	error completion
 * @UROCE_A_DELAY_US: u32, microseconds
 * @UROCE_A_PORT_DOWN: u32, 1 while the port is forced down, else 0
 * @UROCE_A_AT: nested: any of the attributes from @UROCE_A_DROP to
 *	@UROCE_A_COMPLETION_ERROR, each with a &struct uroce_fault_at. Such a
 *	fault happens in these cases instead of at a rate; a rate that is set
 *	afterwards replaces the numbers.
 * @UROCE_A_QP: u32, number of the queue pair whose packets and requests are
 *	cases; 0 for every queue pair
 * @UROCE_A_SEED: u32, makes the cases that a rate selects the same each time;
 *	setting it counts the cases of all faults from 1 again. 0: random
 * @UROCE_A_STATUS: u32, enum ibv_wc_status of completions in error
 * @UROCE_A_VERB: u32, enum uroce_verb: the verb that fails. Setting it counts
 *	calls from 1 again, and sets the two attributes below to 1 and ENOMEM
 *	unless the request has them
 * @UROCE_A_VERB_AT: u32, number of the call that fails; 0: each call
 * @UROCE_A_VERB_ERRNO: u32, errno of the verb
 * @UROCE_A_MIRROR: u32, 1 while packet sockets on the net device see messages
 *	that are sent without packets, else 0
 * @UROCE_A_PKEYS: the P_Key table, 16 bits for each entry from index 0 on, at
 *	most 16 of them; missing entries are empty. 0 is an empty entry, which
 *	the first one cannot be. A P_Key has its highest bit set for a full
 *	member
 */
enum uroce_attr {
	UROCE_A_UNSPEC,
	UROCE_A_DEV,
	UROCE_A_DROP,
	UROCE_A_DUPLICATE,
	UROCE_A_CORRUPT,
	UROCE_A_DELAY,
	UROCE_A_RNR,
	UROCE_A_REMOTE_ERROR,
	UROCE_A_COMPLETION_ERROR,
	UROCE_A_DELAY_US,
	UROCE_A_PORT_DOWN,
	UROCE_A_AT,
	UROCE_A_QP,
	UROCE_A_SEED,
	UROCE_A_STATUS,
	UROCE_A_VERB,
	UROCE_A_VERB_AT,
	UROCE_A_VERB_ERRNO,
	UROCE_A_MIRROR,
	UROCE_A_PKEYS,
};

#endif
