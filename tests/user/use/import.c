// SPDX-License-Identifier: GPL-2.0
/*
 * A second process imports the device, the protection domain and the memory region of the
 * first one, by a descriptor that it was sent, and works with them.
 */
#include <limits.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "events.h"
#include "raw.h"

static struct pair p;

static void send_fd(int sock, int fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.bytes, .msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	NEED(sendmsg(sock, &msg, 0) == 1, "sendmsg: %s", err_name(errno));
}

static int receive_fd(int sock)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	int fd;

	NEED(recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) == 1, "recvmsg: %s", err_name(errno));
	NEED(CMSG_FIRSTHDR(&msg), "no descriptor came");
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

struct handles {
	uint32_t pd, mr, lkey, rkey;
	size_t length;
	uint64_t addr;
	char node[128];
};

static struct ibv_context *imported(int sock)
{
	int fd = receive_fd(sock);
	struct ibv_context *ctx = ibv_import_device(fd);

	NEED(ctx, "import_device: %s; %s", err_name(errno), why_text());
	CHECK(ctx->cmd_fd == fd, "the context has another descriptor");
	CHECK(!strcmp(ctx->device->name, dev_wanted()), "device %s", ctx->device->name);
	return ctx;
}

/*
 * In the second process, with a pair of queue pairs of its own in the domain: send the memory
 * of the first process from one to the other, into memory of this process.
 */
static void use_region(struct ibv_pd *pd, const struct handles *h)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ, .send_flags = IBV_SEND_SIGNALED,
		.num_sge = 1 };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };
	struct test_dev dev = p.dev;
	struct ibv_send_wr *bad;
	struct ibv_mr *mr, *own;
	struct ibv_sge sge;
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
	struct ibv_wc wc;
	static uint8_t into[4096];

	mr = ibv_import_mr(pd, h->mr);
	NEED(mr, "import_mr: %s; %s", err_name(errno), why_text());
	CHECK(mr->lkey == h->lkey && mr->rkey == h->rkey && mr->length == h->length &&
	      mr->handle == h->mr && mr->pd == pd && !mr->addr, "another region");
	own = ibv_reg_mr(pd, into, sizeof(into), ALL_ACCESS);
	NEED_PTR(own, "reg_mr");
	cq = ibv_create_cq(pd->context, 8, NULL, NULL, 0);
	NEED_PTR(cq, "create_cq");
	init.send_cq = init.recv_cq = cq;
	dev.ctx = pd->context;
	for (int i = 0; i < 2; i++) {
		qp[i] = ibv_create_qp(pd, &init);
		NEED_PTR(qp[i], "create_qp");
	}
	for (int i = 0; i < 2; i++)
		qp_connect(&dev, qp[i], qp[!i]->qp_num, NULL);
	sge = (struct ibv_sge){ (uintptr_t)into, sizeof(into), own->lkey };
	wr.sg_list = &sge;
	wr.wr.rdma.remote_addr = h->addr;
	wr.wr.rdma.rkey = mr->rkey;
	CHECK_ERR(ibv_post_send(qp[0], &wr, &bad), 0);
	WANT_WC(cq, &wc, IBV_WC_SUCCESS);
	CHECK_BYTES(into, sizeof(into), 5, "read from the first process");

	/* The event of this process's queue pair reaches this process, and not the first one. */
	wr.wr.rdma.rkey = ~mr->rkey;
	CHECK_ERR(ibv_post_send(qp[0], &wr, &bad), 0);
	WANT_WC(cq, &wc, IBV_WC_REM_ACCESS_ERR);
	/* rdma_rxe raises none. */
	if (raw_offers(pd->context->cmd_fd, UNIV_FEATURE_DM))
		want_async(pd->context, IBV_EVENT_QP_ACCESS_ERR, qp[1]);
	for (int i = 0; i < 2; i++)
		CHECK_ERR(ibv_destroy_qp(qp[i]), 0);
	CHECK_ERR(ibv_destroy_cq(cq), 0);
	CHECK_ERR(ibv_dereg_mr(own), 0);
	ibv_unimport_mr(mr);
}

static void second_process(int sock)
{
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct handles h;

	test_failures = 0;
	NEED(read(sock, &h, sizeof(h)) == sizeof(h), "read: %s", err_name(errno));
	ctx = imported(sock);
	CHECK_NULL(ibv_import_pd(ctx, h.mr), EINVAL);
	CHECK(strstr(why_text(), "memory region instead of protection domain"), "explained as: %s", why_text());
	CHECK_NULL(ibv_import_pd(ctx, 99999), EINVAL);
	pd = ibv_import_pd(ctx, h.pd);
	NEED(pd, "import_pd: %s; %s", err_name(errno), why_text());
	CHECK_NULL(ibv_import_mr(pd, h.pd), EINVAL);
	CHECK_NULL(ibv_import_mr(pd, 99999), EINVAL);
	use_region(pd, &h);
	CHECK(no_event_within(ctx, 0), "another event");
	ibv_unimport_pd(pd);
	CHECK_ERR(ibv_close_device(ctx), 0);
	exit(test_failures ? 1 : 0);
}

static struct handles handles_of(const struct pair *from)
{
	return (struct handles){
		.pd = from->pd->handle, .mr = from->mr->handle,
		.lkey = from->mr->lkey, .rkey = from->mr->rkey,
		.length = from->mr->length, .addr = (uintptr_t)from->buf[0],
	};
}

static void two_processes(void)
{
	struct handles h;
	int sock[2], status;
	pid_t pid;

	NEED(!socketpair(AF_UNIX, SOCK_STREAM, 0, sock), "socketpair: %s", err_name(errno));
	pid = fork();
	if (!pid) {
		close(sock[0]);
		/* The second process knows the device's address and nothing else of the first one. */
		dev_open(&p.dev);
		dev_close(&p.dev);
		second_process(sock[1]);
	}
	pair_open(&p, NULL);
	fill(p.buf[0], 4096, 5);
	h = handles_of(&p);
	NEED(write(sock[0], &h, sizeof(h)) == sizeof(h), "write: %s", err_name(errno));
	send_fd(sock[0], p.dev.ctx->cmd_fd);
	NEED(waitpid(pid, &status, 0) == pid, "waitpid: %s", err_name(errno));
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status), "the second process: status %#x", status);
	CHECK(no_event_within(p.dev.ctx, 0), "an event of the second process");
	/* The first process's objects are as they were. */
	CHECK(pair_works(&p), "the pair does not work after it");
	pair_close(&p);
}

/* A region of another domain, and a descriptor that is no context. */
static void mistakes(void)
{
	struct ibv_pd *pd, *alias;
	struct ibv_context *ctx;
	int fd;

	pair_open(&p, NULL);
	fd = open("/dev/null", O_RDWR);
	CHECK_NULL(ibv_import_device(fd), EINVAL);
	CHECK(strstr(why_text(), "is not a context of a device"), "explained as: %s", why_text());
	close(fd);
	CHECK_NULL(ibv_import_device(-1), EINVAL);
	CHECK_NULL(ibv_import_device(12345), EINVAL);

	pd = ibv_alloc_pd(p.dev.ctx);
	NEED_PTR(pd, "alloc_pd");
	CHECK_NULL(ibv_import_mr(pd, p.mr->handle), EINVAL);
	CHECK(strstr(why_text(), "memory region belongs to another protection domain"),
	      "explained as: %s", why_text());

	fd = dup(p.dev.ctx->cmd_fd);
	ctx = ibv_import_device(fd);
	NEED_PTR(ctx, "import_device");
	/* An import is another name of the domain: deallocating it here deallocates it there. */
	alias = ibv_import_pd(ctx, pd->handle);
	NEED_PTR(alias, "import_pd");
	CHECK_ERR(ibv_dealloc_pd(alias), 0);
	CHECK_ERR(ibv_dealloc_pd(pd), EINVAL);
	ibv_unimport_pd(pd);
	CHECK_ERR(ibv_close_device(ctx), 0);
	CHECK(pair_works(&p), "closing the imported context has broken the pair");
	pair_close(&p);
}

/* An imported domain ends before the regions in it; what takes its memory then stays untouched. */
static void domain_first(void)
{
	unsigned char *taken[8];
	struct ibv_context *ctx;
	struct ibv_mr *mr, *own;
	struct ibv_pd *pd;
	struct pair p;

	pair_open(&p, NULL);
	ctx = ibv_import_device(dup(p.dev.ctx->cmd_fd));
	NEED_PTR(ctx, "import_device");
	pd = ibv_import_pd(ctx, p.pd->handle);
	NEED_PTR(pd, "import_pd");
	mr = ibv_import_mr(pd, p.mr->handle);
	NEED_PTR(mr, "import_mr");
	own = ibv_reg_mr(pd, taken, sizeof(taken), 0);
	NEED_PTR(own, "reg_mr");
	ibv_unimport_pd(pd);
	for (int i = 0; i < 8; i++) {
		taken[i] = malloc(32 + 8 * i);
		NEED(taken[i], "malloc");
		memset(taken[i], 0x5a, 32 + 8 * i);
	}
	ibv_unimport_mr(mr);
	CHECK_ERR(ibv_dereg_mr(own), 0);
	for (int i = 0; i < 8; i++) {
		for (int at = 0; at < 32 + 8 * i; at++)
			if (!CHECK(taken[i][at] == 0x5a, "byte %d is %#x", at, taken[i][at]))
				break;
		free(taken[i]);
	}
	CHECK_ERR(ibv_close_device(ctx), 0);
	pair_close(&p);
}

/* Send a message of no bytes from a queue pair to itself. */
static void send_nothing(struct ibv_qp *qp, struct ibv_cq *cq)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_wc wc;

	NEED_OK(ibv_post_send(qp, &wr, &bad));
	for (int i = 0; i < 2; i++)
		WANT_WC(cq, &wc, IBV_WC_SUCCESS);
}

/*
 * The limit of a shared receive queue is reported to the context that has created the queue, and
 * not to the opener.
 */
static void srq_limit(void)
{
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 4, 0, 1, 0, 0 } };
	struct ibv_srq_attr limit = { .srq_limit = 2 };
	struct ibv_recv_wr recv = { 0 }, *bad;
	struct test_dev opener, dev;
	struct ibv_pd *pd;

	dev_open(&opener);
	dev = opener;
	dev.ctx = ibv_import_device(dup(opener.ctx->cmd_fd));
	NEED(dev.ctx, "import_device: %s; %s", err_name(errno), why_text());
	pd = ibv_alloc_pd(dev.ctx);
	NEED_PTR(pd, "alloc_pd");
	init.send_cq = init.recv_cq = ibv_create_cq(dev.ctx, 16, NULL, NULL, 0);
	NEED_PTR(init.send_cq, "create_cq");
	init.srq = ibv_create_srq(pd, &srq_init);
	NEED_PTR(init.srq, "create_srq");
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	NEED_PTR(qp, "create_qp");
	qp_connect(&dev, qp, qp->qp_num, NULL);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 2; i++)
			NEED_OK(ibv_post_srq_recv(init.srq, &recv, &bad));
		CHECK_ERR(ibv_modify_srq(init.srq, &limit, IBV_SRQ_LIMIT), 0);
		send_nothing(qp, init.send_cq);
		want_async(dev.ctx, IBV_EVENT_SRQ_LIMIT_REACHED, init.srq);
		send_nothing(qp, init.send_cq);
	}
	CHECK(no_event_within(opener.ctx, 0), "an event of the imported context's queue");
	CHECK_ERR(ibv_destroy_qp(qp), 0);
	CHECK_ERR(ibv_destroy_srq(init.srq), 0);
	CHECK_ERR(ibv_destroy_cq(init.send_cq), 0);
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	CHECK_ERR(ibv_close_device(dev.ctx), 0);
	dev_close(&opener);
}

static void link_set(const char *name, bool up)
{
	struct ifreq req = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
	NEED(!ioctl(fd, SIOCGIFFLAGS, &req), "SIOCGIFFLAGS %s: %s", name, err_name(errno));
	req.ifr_flags = (short)(up ? req.ifr_flags | IFF_UP : req.ifr_flags & ~IFF_UP);
	NEED(!ioctl(fd, SIOCSIFFLAGS, &req), "SIOCSIFFLAGS %s: %s", name, err_name(errno));
	close(fd);
}

/* Every context gets the events of the port: those that were opened, and imported ones. */
static void port_events(void)
{
	struct ibv_context *ctx[2];
	struct ibv_gid_entry gid;
	char name[IF_NAMESIZE];
	struct test_dev dev;

	dev_open(&dev);
	NEED_OK(ibv_query_gid_ex(dev.ctx, PORT, dev.gid_index, &gid, 0));
	NEED(if_indextoname(gid.ndev_ifindex, name), "if_indextoname: %s", err_name(errno));
	for (int i = 0; i < 2; i++) {
		ctx[i] = ibv_import_device(dup(dev.ctx->cmd_fd));
		NEED(ctx[i], "import_device: %s; %s", err_name(errno), why_text());
	}
	link_set(name, false);
	want_async(dev.ctx, IBV_EVENT_PORT_ERR, NULL);
	want_async(ctx[0], IBV_EVENT_PORT_ERR, NULL);
	CHECK_ERR(ibv_close_device(ctx[0]), 0);
	link_set(name, true);
	want_async(dev.ctx, IBV_EVENT_PORT_ACTIVE, NULL);
	want_async(ctx[1], IBV_EVENT_PORT_ERR, NULL);
	want_async(ctx[1], IBV_EVENT_PORT_ACTIVE, NULL);
	CHECK_ERR(ibv_close_device(ctx[1]), 0);
	/* The next program needs the address. */
	while (ibv_query_gid_ex(dev.ctx, PORT, dev.gid_index, &gid, 0))
		usleep(10000);
	dev_close(&dev);
}

/* One channel gets the events of the device already. At most 64 do, and a closed one makes room. */
static void many_listen(int fd)
{
	struct univ_async_set set = { 0 };
	struct univ_channel_create ch[64];

	for (int i = 0; i < 64; i++) {
		ch[i] = (struct univ_channel_create){ 0 };
		NEED_OK(raw_call(fd, UNIV_CHANNEL_CREATE, &ch[i]));
		set.channel_fd = ch[i].fd;
		CHECK_ERR(raw_call(fd, UNIV_ASYNC_SET, &set), i < 63 ? 0 : ENOMEM);
	}
	CHECK(set.hdr.reason == UNIV_REASON_LIMIT && set.hdr.detail == UNIV_LIMIT_LISTENERS,
	      "reason %u, detail %u", set.hdr.reason, set.hdr.detail);
	close(ch[0].fd);
	CHECK_ERR(raw_call(fd, UNIV_ASYNC_SET, &set), 0);
	for (int i = 1; i < 64; i++)
		close(ch[i].fd);
}

/* An object has one reader of its events, and the opener's objects report to the opener. */
static void one_reader(void)
{
	struct univ_channel_create ch = { 0 };
	struct univ_async_set set = { 0 };
	int fd = raw_open();
	struct raw_cq cq;
	struct univ_cq_create create = { .cqe = 32, .channel_fd = -1, .cookie = UNIV_COOKIE_NO_ASYNC };

	NEED_OK(raw_call(fd, UNIV_CHANNEL_CREATE, &ch));
	raw_cq(fd, &cq, 32, -1);
	set.channel_fd = ch.fd;
	set.handle = cq.handle;
	CHECK_ERR(raw_call(fd, UNIV_ASYNC_SET, &set), EBUSY);
	NEED_OK(raw_call(fd, UNIV_CQ_CREATE, &create));
	set.handle = create.handle;
	CHECK_ERR(raw_call(fd, UNIV_ASYNC_SET, &set), 0);
	CHECK_ERR(raw_call(fd, UNIV_ASYNC_SET, &set), EBUSY);
	set.handle = raw_pd(fd);
	CHECK_ERR(raw_call(fd, UNIV_ASYNC_SET, &set), EINVAL);
	set.handle = 99999;
	CHECK_ERR(raw_call(fd, UNIV_ASYNC_SET, &set), EINVAL);
	set.handle = 0;
	CHECK_ERR(raw_call(fd, UNIV_ASYNC_SET, &set), 0);
	CHECK_ERR(raw_call(fd, UNIV_ASYNC_SET, &set), 0);
	many_listen(fd);
	set.channel_fd = fd;
	CHECK_ERR(raw_call(fd, UNIV_ASYNC_SET, &set), EBADF);
	/* The object keeps the channel, whose file goes first. */
	close(ch.fd);
	CHECK_ERR(raw_destroy(fd, UNIV_CQ_DESTROY, create.handle), 0);
	raw_unmap(&cq.map);
	close(fd);
}

/* Only these types of objects are asked for. */
static void other_types(void)
{
	int fd = raw_open();
	struct univ_handle_query arg = { .handle = raw_pd(fd), .type = UNIV_OBJECT_PD };
	uint32_t pd = arg.handle;

	CHECK_ERR(raw_call(fd, UNIV_HANDLE_QUERY, &arg), 0);
	CHECK(!arg.lkey && !arg.rkey && !arg.length && !arg.iova, "a domain has keys");
	for (uint32_t type = 0; type < 70; type++) {
		arg = (struct univ_handle_query){ .handle = pd, .type = type };
		if (type != UNIV_OBJECT_PD && type != UNIV_OBJECT_MR && type != UNIV_OBJECT_DM)
			CHECK_ERR(raw_call(fd, UNIV_HANDLE_QUERY, &arg), EOPNOTSUPP);
	}
	arg = (struct univ_handle_query){ .handle = pd, .type = ~0u };
	CHECK_ERR(raw_call(fd, UNIV_HANDLE_QUERY, &arg), EOPNOTSUPP);
	close(fd);
}

static struct {
	struct ibv_context *(*import)(int fd);
	pthread_barrier_t failed, closed;
} plugin;

static void *fail_in_plugin(void *unused)
{
	(void)unused;
	CHECK_NULL(plugin.import(-1), EINVAL);
	pthread_barrier_wait(&plugin.failed);
	pthread_barrier_wait(&plugin.closed);
	return NULL;
}

/* Another copy of the library, because this program keeps the first one until it ends. */
static void *library_copy(void)
{
	char path[] = "/tmp/libibverbs-XXXXXX", command[PATH_MAX + 64];
	int fd = mkstemp(path);
	Dl_info library;
	void *copy;

	NEED(fd >= 0, "mkstemp: %s", err_name(errno));
	close(fd);
	NEED(dladdr(dlsym(RTLD_DEFAULT, "ibv_import_device"), &library), "no library");
	snprintf(command, sizeof(command), "cp '%s' '%s'", library.dli_fname, path);
	NEED(!system(command), "%s", command);
	copy = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	NEED(copy, "dlopen: %s", dlerror());
	unlink(path);
	return copy;
}

/* A plugin that uses the library ends before a thread that has called the library. */
static void closed_library(void)
{
	void *copy = library_copy();
	pthread_t thread;
	Dl_info info;

	plugin.import = (__typeof__(plugin.import))dlsym(copy, "ibv_import_device");
	NEED(plugin.import && plugin.import != ibv_import_device, "no copy of the library");
	pthread_barrier_init(&plugin.failed, NULL, 2);
	pthread_barrier_init(&plugin.closed, NULL, 2);
	NEED(!pthread_create(&thread, NULL, fail_in_plugin, NULL), "pthread_create");
	pthread_barrier_wait(&plugin.failed);
	CHECK(!dlclose(copy), "dlclose: %s", dlerror());
	CHECK(!dladdr((void *)plugin.import, &info), "the library is still there");
	pthread_barrier_wait(&plugin.closed);
	pthread_join(thread, NULL);
}

static const struct test_case cases[] = {
	{ "two_processes", two_processes },
	{ "mistakes", mistakes },
	{ "domain_first", domain_first },
	{ "srq_limit", srq_limit },
	{ "port_events", port_events },
	{ "one_reader", one_reader },
	{ "other_types", other_types },
	{ "closed_library", closed_library },
};

TEST_MAIN("import", cases, 40)
