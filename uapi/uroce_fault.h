/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * Faults of uroce devices over generic netlink: family "uroce", version 1.
 *
 * What each fault does is said in Documentation/uroce.rst. The same values are
 * in debugfs, for who may look there; this way works in any network namespace.
 */
#ifndef UROCE_FAULT_UAPI_H
#define UROCE_FAULT_UAPI_H

#define UROCE_GENL_NAME "uroce"
#define UROCE_GENL_VERSION 1

/**
 * enum uroce_cmd - requests
 * @UROCE_CMD_UNSPEC: none
 * @UROCE_CMD_FAULT_GET: the faults of the device %UROCE_A_DEV, or, as a dump, of
 *	each that the caller's network namespace sees. The answer has this
 *	command and all attributes. Anybody may ask.
 *	ENODEV: no such device there.
 * @UROCE_CMD_FAULT_SET: change those faults of the device %UROCE_A_DEV that the
 *	request has attributes for; all of them or, on an error, none. Needs
 *	CAP_NET_ADMIN over the namespace of the device's net device.
 *	ENODEV; EPERM; ERANGE: a value is too large, the extended
 *	acknowledgment says which.
 */
enum uroce_cmd {
	UROCE_CMD_UNSPEC,
	UROCE_CMD_FAULT_GET,
	UROCE_CMD_FAULT_SET,
};

/* The greatest values of a rate and of the delay */
#define UROCE_FAULT_MAX_PPM 1000000
#define UROCE_FAULT_MAX_DELAY_US 10000000

/**
 * enum uroce_attr - attributes of both commands
 * @UROCE_A_UNSPEC: none
 * @UROCE_A_DEV: string, name of the RDMA device
 * @UROCE_A_DROP: u32, how many of a million arriving packets are lost
 * @UROCE_A_DUPLICATE: u32, how many of a million come twice
 * @UROCE_A_CORRUPT: u32, how many of a million have a wrong checksum
 * @UROCE_A_DELAY: u32, how many of a million wait for @UROCE_A_DELAY_US
 * @UROCE_A_RNR: u32, how many of a million requests find no receive posted
 * @UROCE_A_REMOTE_ERROR: u32, how many of a million requests the peer refuses
 * @UROCE_A_COMPLETION_ERROR: u32, how many of a million complete with an error
 * @UROCE_A_DELAY_US: u32, microseconds
 * @UROCE_A_PORT_DOWN: u32, 1 while the port is held down, else 0
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
