// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion channels and asynchronous events. An event carries the address of its
 * object. Destroying an object waits until the program has acknowledged each event
 * that it has read.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "verbs/common.h"
#include "why/why.h"

UNIV_EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct univ_channel_create cmd = {};
	struct ibv_comp_channel *channel = malloc(sizeof(*channel));

	if (!channel) {
		univ_fail_memory("ibv_create_comp_channel", sizeof(*channel));
		return NULL;
	}
	if (univ_cmd_channel_create(context->cmd_fd, &cmd)) {
		free(channel);
		return NULL;
	}
	*channel = (struct ibv_comp_channel) {
		.context = context,
		.fd = cmd.fd,
	};
	return channel;
}

UNIV_EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	struct ibv_context *context = channel->context;
	int users;

	pthread_mutex_lock(&context->mutex);
	users = channel->refcnt;
	pthread_mutex_unlock(&context->mutex);
	if (users)
		return univ_fail_channel_busy("ibv_destroy_comp_channel", users);
	close(channel->fd);
	free(channel);
	return 0;
}

/*
 * Reads one event, so that no event is lost between threads. Returns 0, or -1 with
 * errno. EAGAIN and EINTR are not recorded as failures.
 */
static int event_read(const char *verb, int fd, struct univ_event *event)
{
	ssize_t length = read(fd, event, sizeof(*event));

	if (length == sizeof(*event))
		return 0;
	if (length < 0 && (errno == EAGAIN || errno == EINTR))
		return -1;
	if (length < 0 && errno != ENODEV)
		univ_fail_unknown(verb, errno);
	else
		univ_fail_gone(verb, "");
	return -1;
}

static void *cookie_object(const struct univ_event *event)
{
	return (void *)(uintptr_t)(event->cookie & ~UNIV_COOKIE_NO_ASYNC);
}

UNIV_EXPORT int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq,
				 void **cq_context)
{
	const struct univ_watch_ops *watch = to_ucontext(channel->context)->watch;
	struct univ_event event;

	if (univ_unlikely(watch) && watch->event_wait(channel))
		return -1;
	if (event_read("ibv_get_cq_event", channel->fd, &event))
		return -1;
	*cq = cookie_object(&event);
	univ_cq_told(to_ucq(*cq));
	*cq_context = (*cq)->cq_context;
	return 0;
}

static void ack(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *done, uint32_t count)
{
	pthread_mutex_lock(mutex);
	*done += count;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}

/*
 * A program that never acknowledges waits for ever, so a warning is printed after a
 * second. It is printed without the mutex: an acknowledgement must not wait for the
 * reader of standard error.
 */
void univ_acks_wait(const struct univ_acks *acks, const uint32_t *done, uint32_t delivered)
{
	struct timespec patience;
	uint32_t missing;
	int err = 0;

	clock_gettime(CLOCK_REALTIME, &patience);
	patience.tv_sec++;
	pthread_mutex_lock(acks->mutex);
	while ((int32_t)(delivered - *done) > 0 && err != ETIMEDOUT)
		err = pthread_cond_timedwait(acks->cond, acks->mutex, &patience);
	missing = delivered - *done;
	if ((int32_t)missing > 0) {
		pthread_mutex_unlock(acks->mutex);
		univ_warn_unacknowledged(acks->verb, acks->type, missing);
		pthread_mutex_lock(acks->mutex);
	}
	while ((int32_t)(delivered - *done) > 0)
		pthread_cond_wait(acks->cond, acks->mutex);
	pthread_mutex_unlock(acks->mutex);
}

UNIV_EXPORT void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	ack(&cq->mutex, &cq->cond, &cq->comp_events_completed, nevents);
}

/* A module that does not know the call queues no asynchronous events of the object. */
void univ_events_begin(struct ibv_context *context, uint32_t handle)
{
	struct univ_async_set cmd = { .handle = handle, .channel_fd = context->async_fd };

	if (to_ucontext(context)->imported)
		univ_cmd_async_set_try(context->cmd_fd, &cmd);
}

UNIV_EXPORT int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct univ_event got;

	if (event_read("ibv_get_async_event", context->async_fd, &got))
		return -1;
	event->event_type = (enum ibv_event_type)got.type;
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
	case IBV_EVENT_WQ_FATAL:
		/* All pointers of the union share its bytes. */
		event->element.qp = cookie_object(&got);
		break;
	default:
		event->element.port_num = (int)got.port_num;
		break;
	}
	return 0;
}

UNIV_EXPORT void ibv_ack_async_event(struct ibv_async_event *event)
{
	struct ibv_srq *srq = event->element.srq;
	struct ibv_qp *qp = event->element.qp;
	struct ibv_cq *cq = event->element.cq;
	struct ibv_wq *wq = event->element.wq;

	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		ack(&cq->mutex, &cq->cond, &cq->async_events_completed, 1);
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		ack(&srq->mutex, &srq->cond, &srq->events_completed, 1);
		break;
	case IBV_EVENT_WQ_FATAL:
		ack(&wq->mutex, &wq->cond, &wq->events_completed, 1);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		ack(&qp->mutex, &qp->cond, &qp->events_completed, 1);
		break;
	default:
		break;
	}
}
