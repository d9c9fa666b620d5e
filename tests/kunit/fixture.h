/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A context over a mock device, without a node or a file: tests make the calls
 * that a process would make, through the dispatcher, with the memory of the
 * process that loads the module.
 */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <kunit/test.h>

#include "mock.h"
#include "pump.h"
#include "verbs.h"
#include "univerbs.h"
#include "univerbs_ring.h"

#define FIXTURE_USER_SIZE (64 * 1024)

struct fixture {
	struct mock *mock;
	struct univ_device *dev;
	struct univ_context *ctx;
	unsigned long user;		/* address in the process */
	struct file *file;		/* its mmap() is that of the context */
};

/* suite_init, suite_exit, init and exit of a suite that uses the fixture. */
int fixture_suite_init(struct kunit_suite *suite);
void fixture_suite_exit(struct kunit_suite *suite);
int fixture_init(struct kunit *test);
void fixture_exit(struct kunit *test);

/* Use and release the memory of the process. No code between the two may end the thread. */
void fixture_enter(struct fixture *f);
void fixture_leave(struct fixture *f);

/*
 * Make calls as a process does. They return 0 or -errno; @arg is copied back as the
 * process would see it.
 */
int fixture_call(struct fixture *f, unsigned int cmd, void *arg, u32 size);
int fixture_call_at(struct fixture *f, unsigned int cmd, unsigned long uarg);
int fixture_kick(struct fixture *f, u32 handle, u32 which);
void fixture_kill(struct fixture *f);

/* The driver refused to destroy objects in fixture_kill(), which kept them. Now it does not. */
void fixture_kill_again(struct fixture *f);

/*
 * Map the context and use the mapping as a process does. A load from memory that cannot be
 * read gives 0xfa017.
 */
unsigned long fixture_map(struct fixture *f, u64 offset, size_t length,
			  unsigned long prot, unsigned long flags);
void fixture_unmap(struct fixture *f, unsigned long addr, size_t length);
u32 fixture_peek(struct fixture *f, unsigned long addr);
bool fixture_poke(struct fixture *f, unsigned long addr, u32 value);

/* Return an open context of @dev without a file, or NULL. */
struct univ_context *fixture_attach(struct univ_device *dev);

/* Return the errno of open() of the node, or 0. */
int fixture_open(struct fixture *f);

/* Create objects through their ioctls. They return NULL or 0 if the call fails. */
u32 fixture_pd(struct fixture *f);
struct univ_cq *fixture_cq(struct fixture *f, u32 cqe);
struct univ_srq *fixture_srq(struct fixture *f, u32 pd, u32 wr, u32 sge);
struct univ_qp *fixture_qp(struct fixture *f, enum ib_qp_type type, u32 pd,
			   struct univ_cq *cq, struct univ_srq *srq, u32 wr);
struct univ_qp *fixture_qp_of_two(struct fixture *f, enum ib_qp_type type,
				  u32 pd, struct univ_cq *send_cq,
				  struct univ_cq *recv_cq, struct univ_srq *srq,
				  u32 wr);
int fixture_destroy(struct fixture *f, unsigned int cmd, u32 handle);
int fixture_qp_state(struct univ_qp *qp, enum ib_qp_state state);

/* Defined in ioctl_kunit.c, which includes the dispatcher. */
long fixture_dispatch(struct univ_context *ctx, unsigned int cmd,
		      unsigned long arg);

#endif
