/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The room that makes queue pairs work: the runner of send queues (runner.c),
 * posts and kicks, which call it (post.c, attach.c), and packets that arrive
 * (input.c). The room knows queue pairs and their paths. It does not know
 * verbs, or how devices are made.
 */
#ifndef UROCE_ENGINE_H
#define UROCE_ENGINE_H

#include "../net/net.h"
#include "../qp/qp.h"

/*
 * runner.c: uroce_send_run() runs a send queue, for callers that hold no lock;
 * uroce_send_kick() does the same where it may sleep. uroce_send_rest() leaves
 * it to the work item of the queue.
 */
int uroce_queue_start(void);
void uroce_queue_stop(void);
void uroce_send_init(struct uroce_qp *qp);
void uroce_send_run(struct uroce_qp *qp);
void uroce_send_kick(struct uroce_qp *qp);
void uroce_send_rest(struct uroce_qp *qp);
u32 uroce_send_tail(struct uroce_qp *qp);
bool uroce_send_unflushed(const struct uroce_qp *qp, u32 tail);
void uroce_send_flush(struct uroce_qp *qp, u32 tail);
void uroce_recv_posted(struct uroce_qp *qp);
void uroce_srq_init(struct uroce_srq *srq);
void uroce_srq_posted(struct uroce_srq *srq);
void uroce_srq_later(struct uroce_srq *srq);

/* post.c */
int uroce_queue_private(struct uroce_qp *qp);
int uroce_recvq_private(struct uroce_recvq *rq, u32 max_wr);
int uroce_srq_resize(struct uroce_srq *srq, const struct ib_srq_attr *attr,
		     int mask);
int uroce_post_send(struct ib_qp *ib, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad);
int uroce_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad);
int uroce_post_srq_recv(struct ib_srq *ib, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad);

/* resize.c */
int uroce_qp_resize(struct ib_qp *ib, const struct univ_queue_rings *rings,
		    struct univ_queue_posted *posted);

/* attach.c */
extern const struct univ_queue_ops uroce_queue_ops;

/* input.c */
extern const struct uroce_net_ops uroce_input_ops;

#endif
