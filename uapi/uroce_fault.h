/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * Faults of uroce devices over generic netlink: family "uroce", version 1.
 *
 * Documentation/uroce.rst describes each fault. The same values are in debugfs
 * for privileged users. Netlink also works in any network namespace.
 */
#ifndef UROCE_FAULT_UAPI_H
#define UROCE_FAULT_UAPI_H

#define UROCE_GENL_NAME "uroce"
#define UROCE_GENL_VERSION 1

/**
 * enum uroce_cmd - requests
 * @UROCE_CMD_UNSPEC: none
 * @UROCE_CMD_FAULT_GET: Get the faults of the device %UROCE_A_DEV, or, as a
 *	dump, of each device that is visible in the caller's network namespace.
 *	The reply has this command and all attributes. Needs no privilege.
 *	Errors: ENODEV if the device does not exist in the namespace.
 * @UROCE_CMD_FAULT_SET: Change the faults of the device %UROCE_A_DEV for which
 *	the request has attributes. On an error, none is changed. Needs
 *	CAP_NET_ADMIN over the network namespace of the device's net device.
 *	Errors: ENODEV; EPERM; ERANGE if a value is too large, which the
 *	extended acknowledgment then names.
 */
enum uroce_cmd {
	UROCE_CMD_UNSPEC,
	UROCE_CMD_FAULT_GET,
	UROCE_CMD_FAULT_SET,
};

/* The greatest values of a rate and of the delay. */
#define UROCE_FAULT_MAX_PPM 1000000
#define UROCE_FAULT_MAX_DELAY_US 10000000

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
};

#endif
