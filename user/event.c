// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion channels and asynchronous events. Events carry the address of the
 * object that they concern; destroying it waits until each event that was read
 * has been acknowledged.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "univ.h"

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
 * One event, so that nothing that was read can be lost between threads.
 * Returns 0 or -1 with errno; that no event waits and that a signal came are
 * no failures to explain.
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

UNIV_EXPORT int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq,
				 void **cq_context)
{
	struct univ_event event;

	if (univ_unlikely(to_ucontext(channel->context)->pid) && univ_watch_channel(channel))
		return -1;
	if (event_read("ibv_get_cq_event", channel->fd, &event))
		return -1;
	*cq = (struct ibv_cq *)(uintptr_t)event.cookie;
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
 * A program that never acknowledges waits for ever, which is said after a second; not
 * under the mutex, since an acknowledgement must not wait for the one who reads that.
 */
void univ_wait_acks(const struct univ_acks *acks, const uint32_t *done, uint32_t told)
{
	struct timespec patience;
	uint32_t missing;
	int err = 0;

	clock_gettime(CLOCK_REALTIME, &patience);
	patience.tv_sec++;
	pthread_mutex_lock(acks->mutex);
	while ((int32_t)(told - *done) > 0 && err != ETIMEDOUT)
		err = pthread_cond_timedwait(acks->cond, acks->mutex, &patience);
	missing = told - *done;
	if ((int32_t)missing > 0) {
		pthread_mutex_unlock(acks->mutex);
		univ_warn_unacknowledged(acks->verb, acks->type, missing);
		pthread_mutex_lock(acks->mutex);
	}
	while ((int32_t)(told - *done) > 0)
		pthread_cond_wait(acks->cond, acks->mutex);
	pthread_mutex_unlock(acks->mutex);
}

UNIV_EXPORT void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	ack(&cq->mutex, &cq->cond, &cq->comp_events_completed, nevents);
}

UNIV_EXPORT int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct univ_event told;

	if (event_read("ibv_get_async_event", context->async_fd, &told))
		return -1;
	event->event_type = (enum ibv_event_type)told.type;
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
		/* All members of the union that are pointers share its bytes. */
		event->element.qp = (struct ibv_qp *)(uintptr_t)told.cookie;
		break;
	default:
		event->element.port_num = (int)told.port_num;
		break;
	}
	return 0;
}

UNIV_EXPORT void ibv_ack_async_event(struct ibv_async_event *event)
{
	struct ibv_srq *srq = event->element.srq;
	struct ibv_qp *qp = event->element.qp;
	struct ibv_cq *cq = event->element.cq;

	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		ack(&cq->mutex, &cq->cond, &cq->async_events_completed, 1);
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		ack(&srq->mutex, &srq->cond, &srq->events_completed, 1);
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
