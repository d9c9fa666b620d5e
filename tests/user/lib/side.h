/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One of two connected devices, with its own queue pair and memory. The script that runs
 * the program makes both devices and the network between them: UNIV_TEST_DEVICE names the
 * first one, UNIV_TEST_PEER the second one.
 */
#ifndef TESTS_USER_SIDE_H
#define TESTS_USER_SIDE_H

#include "testlib.h"

struct side {
	struct test_dev dev;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	uint8_t *buf;
	size_t size;
};

/*
 * Open the device @name with @size bytes of memory and a queue pair of attributes @init,
 * whose completions all go to one queue.
 */
static MAYBE_UNUSED void side_open(struct side *s, const char *name, struct ibv_qp_init_attr init,
				   size_t size)
{
	setenv("UNIV_TEST_DEVICE", name, 1);
	dev_open(&s->dev);
	s->pd = ibv_alloc_pd(s->dev.ctx);
	NEED_PTR(s->pd, "alloc_pd");
	s->size = size;
	s->buf = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(s->buf != MAP_FAILED, "mmap: %s", err_name(errno));
	s->mr = ibv_reg_mr(s->pd, s->buf, size, ALL_ACCESS);
	NEED_PTR(s->mr, "reg_mr");
	s->cq = ibv_create_cq(s->dev.ctx, 2 * (init.cap.max_send_wr + init.cap.max_recv_wr), NULL, NULL, 0);
	NEED_PTR(s->cq, "create_cq");
	init.send_cq = s->cq;
	init.recv_cq = s->cq;
	s->qp = ibv_create_qp(s->pd, &init);
	NEED_PTR(s->qp, "create_qp");
}

/* Open UNIV_TEST_DEVICE and UNIV_TEST_PEER, in this order. */
static MAYBE_UNUSED void sides_open(struct side side[2], struct ibv_qp_init_attr init, size_t size)
{
	static char near[64];

	/* side_open() overwrites the name that dev_wanted() reads. */
	if (!near[0])
		snprintf(near, sizeof(near), "%s", dev_wanted());
	side_open(&side[0], near, init, size);
	side_open(&side[1], getenv("UNIV_TEST_PEER"), init, size);
}

/* The queue pair may have been destroyed before. */
static MAYBE_UNUSED void side_close(struct side *s)
{
	if (s->qp)
		CHECK_ERR(ibv_destroy_qp(s->qp), 0);
	CHECK_ERR(ibv_destroy_cq(s->cq), 0);
	CHECK_ERR(ibv_dereg_mr(s->mr), 0);
	munmap(s->buf, s->size);
	CHECK_ERR(ibv_dealloc_pd(s->pd), 0);
	dev_close(&s->dev);
}

#endif
