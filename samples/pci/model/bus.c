// SPDX-License-Identifier: GPL-2.0
/*
 * The bus of each guest. The model is a server of QEMU's ivshmem protocol with one
 * client for each socket. For each client it invents one other peer, which is the
 * model itself; guests do not see each other.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "model.h"

#define HEART_MS 200
#define MAX_RAM (2ll << 30)	/* more would not be one range of addresses */

struct guest guests[MAX_GUESTS];
int num_guests;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* ---- the ivshmem protocol: numbers of 8 bytes, some with a descriptor ----- */

static bool send_number(int socket, int64_t number, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = {};
	struct iovec iov = { &number, sizeof(number) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;

	if (fd >= 0) {
		msg.msg_control = control;
		msg.msg_controllen = sizeof(control);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	}
	return sendmsg(socket, &msg, MSG_NOSIGNAL) == sizeof(number);
}

static bool introduce(struct guest *guest)
{
	int s = guest->socket, i;
	bool ok = send_number(s, 0, -1) &&		/* version of the protocol */
		  send_number(s, UPCI_GUEST_ID, -1) &&
		  send_number(s, -1, guest->mem_fd);

	for (i = 0; i < UPCI_VECTORS; i++)
		ok = ok && send_number(s, UPCI_MODEL_ID, guest->bell[i]);
	for (i = 0; i < 2; i++)
		ok = ok && send_number(s, UPCI_GUEST_ID, guest->irq[i]);
	return ok;
}

/* ---- guests -------------------------------------------------------------- */

static bool ram_map(struct guest *guest)
{
	struct stat stat;
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s.ram", guest->path);
	fd = open(path, O_RDWR);
	if (fd < 0 || fstat(fd, &stat) || stat.st_size > MAX_RAM) {
		fprintf(stderr, "%s is not the memory of a guest with at most 2 GiB\n", path);
		close(fd);
		return false;
	}
	guest->ram_size = (uint64_t)stat.st_size;
	guest->ram = mmap(NULL, guest->ram_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (guest->ram != MAP_FAILED)
		return true;
	guest->ram = NULL;
	return false;
}

static void guest_leave(struct guest *guest)
{
	int i;

	guest_reset(guest);
	if (guest->ram)
		munmap(guest->ram, guest->ram_size);
	guest->ram = NULL;
	close(guest->socket);
	guest->socket = -1;
	for (i = 0; i < UPCI_VECTORS; i++)
		close(guest->bell[i]);
	for (i = 0; i < 2; i++)
		close(guest->irq[i]);
}

static int event_fd(void)
{
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

	if (fd < 0)
		die("eventfd");
	return fd;
}

static void guest_arrive(struct guest *guest)
{
	int i, socket = accept4(guest->listener, NULL, NULL, SOCK_CLOEXEC);

	if (socket < 0)
		return;
	if (guest->socket >= 0) {
		close(socket);
		return;
	}
	guest->socket = socket;
	for (i = 0; i < UPCI_VECTORS; i++)
		guest->bell[i] = event_fd();
	for (i = 0; i < 2; i++)
		guest->irq[i] = event_fd();
	guest->event_tail = 0;
	guest->cmd_done = 0;
	memset(guest->mem, 0, sizeof(*guest->mem));
	guest->mem->magic = UPCI_MAGIC;
	guest->mem->lid = guest->lid;
	guest->mem->guid = 0x0200000075000000ull + guest->lid;
	if (!introduce(guest))
		guest_leave(guest);
}

static void guest_listen(struct guest *guest, const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	guest->path = path;
	guest->socket = -1;
	guest->lid = (uint32_t)(guest - guests) + 1;
	guest->mem_fd = memfd_create("upci", MFD_CLOEXEC);
	if (guest->mem_fd < 0 || ftruncate(guest->mem_fd, UPCI_MEM_SIZE))
		die("memfd_create");
	guest->mem = mmap(NULL, UPCI_MEM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
			  guest->mem_fd, 0);
	if (guest->mem == MAP_FAILED)
		die("mmap");
	if (strlen(path) >= sizeof(addr.sun_path)) {
		fprintf(stderr, "%s: the path is too long\n", path);
		exit(1);
	}
	strcpy(addr.sun_path, path);
	unlink(path);
	guest->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (guest->listener < 0 || bind(guest->listener, (void *)&addr, sizeof(addr)) ||
	    listen(guest->listener, 1))
		die(path);
}

/* ---- memory and interrupts ----------------------------------------------- */

/* Whether the address is that of a page of memory. Nothing else is on this bus. */
bool bus_ok(const struct guest *guest, uint64_t addr)
{
	return !(addr % UPCI_PAGE) && addr < guest->ram_size && guest->ram_size - addr >= UPCI_PAGE;
}

void interrupt(struct guest *guest, int vector)
{
	uint64_t one = 1;

	if (write(guest->irq[vector], &one, sizeof(one)) < 0 && errno != EAGAIN)
		perror("interrupt");
}

static bool event_push(struct guest *guest, uint32_t type, uint32_t number)
{
	struct upci_mem *mem = guest->mem;
	uint32_t tail = guest->event_tail;

	if (tail - __atomic_load_n(&mem->event_head, __ATOMIC_ACQUIRE) >= UPCI_EVENTS)
		return false;
	mem->events[tail % UPCI_EVENTS] = (struct upci_event) { type, number };
	guest->event_tail = tail + 1;
	__atomic_store_n(&mem->event_tail, tail + 1, __ATOMIC_RELEASE);
	return true;
}

/*
 * F2: the phases were stored before. Either this look sees the arm word, or the
 * process sees the completion when it polls after arming.
 */
static bool cq_event(struct guest *guest, struct cq *cq)
{
	uint32_t arm;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	arm = __atomic_load_n(&ring_user(guest, &cq->ring)->arm, __ATOMIC_RELAXED);
	if (arm != cq->fired && (cq->solicited || !(arm & 1))) {
		if (!event_push(guest, UPCI_EVENT_COMPLETION, (uint32_t)(cq - guest->cqs)))
			return false;
		cq->fired = arm;
		interrupt(guest, UPCI_IRQ_EVENT);
	}
	cq->fresh = false;
	cq->solicited = false;
	return true;
}

/* Reports completions, overruns and errors. Those without room in the event ring wait. */
void event_try(struct guest *guest)
{
	bool told = false;
	uint32_t i;

	for (i = 0; i < UPCI_MAX_QUEUES; i++) {
		struct cq *cq = &guest->cqs[i];
		struct qp *qp = &guest->qps[i];

		if (cq->used && cq->fresh && !cq_event(guest, cq))
			break;
		if (cq->used && cq->tell && event_push(guest, UPCI_EVENT_OVERRUN, i)) {
			cq->tell = false;
			told = true;
		}
		if (qp->used && qp->tell && event_push(guest, UPCI_EVENT_QP_ERROR, i)) {
			qp->tell = false;
			told = true;
		}
	}
	if (told)
		interrupt(guest, UPCI_IRQ_EVENT);
}

/* ---- the loop ------------------------------------------------------------ */

/* QEMU makes the file of the guest's memory after it has connected, and before the guest runs. */
static void bells_hear(struct guest *guest)
{
	uint64_t count;
	int i;

	for (i = 0; i < UPCI_VECTORS; i++) {
		if (read(guest->bell[i], &count, sizeof(count)) != sizeof(count))
			continue;
		if (!guest->ram && !ram_map(guest))
			continue;
		if (i == UPCI_BELL_COMMAND)
			command_run(guest);
		else
			engine_bell(guest, i);
	}
}

/* A client of the protocol sends nothing, so a socket that can be read was closed. */
static void guest_hear(struct guest *guest, const struct pollfd *fd)
{
	if (guest->socket >= 0 && fd[1].revents)
		guest_leave(guest);
	if (fd[0].revents)
		guest_arrive(guest);
	if (guest->socket >= 0)
		bells_hear(guest);
}

#define FDS (2 + UPCI_VECTORS)

static void wait_and_hear(int timeout)
{
	struct pollfd fds[MAX_GUESTS * FDS];
	struct guest *guest;
	struct pollfd *fd;
	int g, i;

	for (g = 0; g < num_guests; g++) {
		guest = &guests[g];
		fd = &fds[g * FDS];
		fd[0] = (struct pollfd) { guest->listener, POLLIN, 0 };
		fd[1] = (struct pollfd) { guest->socket, POLLIN, 0 };
		for (i = 0; i < UPCI_VECTORS; i++)
			fd[2 + i] = (struct pollfd) {
				guest->socket >= 0 ? guest->bell[i] : -1, POLLIN, 0
			};
	}
	if (poll(fds, (nfds_t)(num_guests * FDS), timeout) < 0 && errno != EINTR)
		die("poll");
	for (g = 0; g < num_guests; g++)
		guest_hear(&guests[g], &fds[g * FDS]);
}

static void beat(void)
{
	static uint64_t last;
	int g;

	if (now_ms() - last < HEART_MS)
		return;
	last = now_ms();
	for (g = 0; g < num_guests; g++)
		__atomic_fetch_add(&guests[g].mem->heart, 1, __ATOMIC_RELAXED);
}

int main(int argc, char **argv)
{
	int wait;

	if (argc < 2 || argc > 1 + MAX_GUESTS) {
		fprintf(stderr, "usage: %s SOCKET...\n"
			"Each socket is for one guest, whose memory is the file SOCKET.ram.\n", argv[0]);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	for (num_guests = 0; num_guests < argc - 1; num_guests++)
		guest_listen(&guests[num_guests], argv[1 + num_guests]);
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		wait = engine_run();
		wait_and_hear(wait < 0 || wait > HEART_MS ? HEART_MS : wait);
		beat();
	}
}
