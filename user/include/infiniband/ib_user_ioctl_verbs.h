/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The kernel's own header under the name that programs may include it by. */
#ifndef INFINIBAND_IB_USER_IOCTL_VERBS_H
#define INFINIBAND_IB_USER_IOCTL_VERBS_H

#include <rdma/ib_user_ioctl_verbs.h>

#endif /* INFINIBAND_IB_USER_IOCTL_VERBS_H */
