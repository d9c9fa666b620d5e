// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The two ways to tell a device that requests were published. */
#include "ring/post.h"

const struct univ_post_ops univ_post_by_kick = {
	.send = univ_post_send,
	.recv = univ_post_recv,
	.srq_recv = univ_post_srq_recv,
	.bind = univ_bind_mw,
	.complete = univ_wr_complete,
};

const struct univ_post_ops univ_post_by_bell = {
	.send = univ_post_send_bell,
	.recv = univ_post_recv_bell,
	.srq_recv = univ_post_srq_recv_bell,
	.bind = univ_bind_mw_bell,
	.complete = univ_wr_complete_bell,
};
