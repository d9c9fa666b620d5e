/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Old names; new programs include <rdma/ib_user_sa.h> and use its own. */
#ifndef INFINIBAND_SA_KERN_ABI_H
#define INFINIBAND_SA_KERN_ABI_H

#include <rdma/ib_user_sa.h>

#define ibv_kern_path_rec	ib_user_path_rec
#define ib_kern_path_rec	ib_user_path_rec

#endif /* INFINIBAND_SA_KERN_ABI_H */
