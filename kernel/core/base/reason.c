// SPDX-License-Identifier: GPL-2.0
/* Explained errors: the forms that many handlers share. */
#include <linux/errno.h>

#include "reason.h"

/*
 * The device's driver failed a call that passed the core's checks. A reason
 * that a deeper layer has given already is more exact and stays.
 */
int univ_explain_driver(struct univ_hdr *hdr, int err)
{
	/* Kernel-internal codes must not reach a process. */
	if (err == -ENOTSUPP || err == -ENOSYS)
		err = -EOPNOTSUPP;
	if (hdr->reason)
		return err;
	if (err == -EOPNOTSUPP)
		return univ_explain(hdr, err, UNIV_REASON_UNSUPPORTED, 0, 0, 0);
	if (err == -ENOMEM)
		return univ_explain(hdr, err, UNIV_REASON_NO_MEMORY, 0, 0, 0);
	return univ_explain(hdr, err, UNIV_REASON_DEVICE_REFUSED, 0, -err, 0);
}

int univ_explain_limit(struct univ_hdr *hdr, enum univ_limit limit, u64 asked,
		       u64 bound)
{
	return univ_explain(hdr, -EINVAL, UNIV_REASON_LIMIT, limit, asked,
			    bound);
}
