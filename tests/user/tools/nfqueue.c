// SPDX-License-Identifier: GPL-2.0
/*
 * While a command runs, take the packets that rules of netfilter send to a queue, and give all of
 * them back: the kernel continues with them in this process's system call.
 *   nfqueue [-c] [-k] NUMBER COMMAND [ARG]...
 *   -c  super-packets are segmented first
 *   -k  packets are kept until their receiving device is deleted or this process ends
 * The number of packets goes to standard error. Exit: COMMAND's status, 1 if no packet came, 77 if
 * the kernel has no such queues.
 */
#include "testlib.h"
#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define RANGE	(0xffffu - NLA_HDRLEN)	/* The maximum payload of a netlink attribute. */
#define LENGTH	16384			/* Of the queue, in packets. */
#define MEMORY	(64 << 20)		/* Of the socket's receive buffer. */

static struct mnl_socket *sock;
static bool cut, keep;
static uint16_t number;
/* The kernel's numbers of the packets that are held now. */
static uint32_t held[256];
static unsigned int count;
static unsigned long packets, super_packets, most;
static char buffer[0xffff + 16384];

static struct nlmsghdr *message(uint16_t type, uint16_t flags)
{
	struct nlmsghdr *msg = mnl_nlmsg_put_header(buffer);
	struct nfgenmsg *nf;

	msg->nlmsg_type = NFNL_SUBSYS_QUEUE << 8 | type;
	msg->nlmsg_flags = NLM_F_REQUEST | flags;
	nf = mnl_nlmsg_put_extra_header(msg, sizeof(*nf));
	nf->nfgen_family = AF_UNSPEC;
	nf->version = NFNETLINK_V0;
	nf->res_id = htons(number);
	return msg;
}

static void need_sent(const struct nlmsghdr *msg)
{
	NEED(mnl_socket_sendto(sock, msg, msg->nlmsg_len) >= 0, "send: %s", err_name(errno));
}

static int attribute(const struct nlattr *attr, void *data)
{
	const struct nlattr **found = data;

	if (mnl_attr_type_valid(attr, NFQA_MAX) > 0)
		found[mnl_attr_get_type(attr)] = attr;
	return MNL_CB_OK;
}

static int packet(const struct nlmsghdr *msg, void *data)
{
	const struct nlattr *found[NFQA_MAX + 1] = {};
	const struct nfqnl_msg_packet_hdr *hdr;

	(void)data;
	mnl_attr_parse(msg, sizeof(struct nfgenmsg), attribute, found);
	NEED(found[NFQA_PACKET_HDR] && found[NFQA_PAYLOAD], "a packet that is none");
	hdr = mnl_attr_get_payload(found[NFQA_PACKET_HDR]);
	packets++;
	if (found[NFQA_SKB_INFO] &&
	    ntohl(mnl_attr_get_u32(found[NFQA_SKB_INFO])) & NFQA_SKB_GSO)
		super_packets++;
	if (!keep)
		held[count++] = ntohl(hdr->packet_id);
	return MNL_CB_OK;
}

/* Return false if no packet has come. */
static bool receive(void)
{
	ssize_t len = mnl_socket_recvfrom(sock, buffer, sizeof(buffer));

	if (len < 0 && errno == EAGAIN)
		return false;
	/*
	 * On ENOBUFS a packet was lost, which would make the command fail without an
	 * explanation.
	 */
	NEED(len >= 0, "receive: %s", err_name(errno));
	NEED(mnl_cb_run(buffer, len, 0, 0, packet, NULL) >= 0, "refused: %s", err_name(errno));
	return true;
}

static void give_back(void)
{
	struct nfqnl_msg_verdict_hdr verdict = { .verdict = htonl(NF_ACCEPT) };
	struct nlmsghdr *msg;

	most = count > most ? count : most;
	for (unsigned int i = 0; i < count; i++) {
		verdict.id = htonl(held[i]);
		msg = message(NFQNL_MSG_VERDICT, 0);
		mnl_attr_put(msg, NFQA_VERDICT_HDR, sizeof(verdict), &verdict);
		need_sent(msg);
	}
	count = 0;
}

static struct nlmsghdr *settings(void)
{
	struct nfqnl_msg_config_params params = {
		.copy_range = htonl(RANGE), .copy_mode = NFQNL_COPY_PACKET,
	};
	struct nfqnl_msg_config_cmd bind = { .command = NFQNL_CFG_CMD_BIND };
	struct nlmsghdr *msg = message(NFQNL_MSG_CONFIG, NLM_F_ACK);

	mnl_attr_put(msg, NFQA_CFG_CMD, sizeof(bind), &bind);
	mnl_attr_put(msg, NFQA_CFG_PARAMS, sizeof(params), &params);
	mnl_attr_put_u32(msg, NFQA_CFG_QUEUE_MAXLEN, htonl(LENGTH));
	mnl_attr_put_u32(msg, NFQA_CFG_FLAGS, htonl(cut ? 0 : NFQA_CFG_F_GSO));
	mnl_attr_put_u32(msg, NFQA_CFG_MASK, htonl(NFQA_CFG_F_GSO));
	return msg;
}

/* The answer is available when the request returns, and precedes any packet. */
static void open_queue(void)
{
	int size = MEMORY;
	ssize_t len;

	/* The command must not inherit the socket, since the queue would outlive this process. */
	sock = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (!sock && errno == EPROTONOSUPPORT)
		SKIP("this kernel has no nfnetlink");
	NEED_PTR(sock, "socket");
	NEED(!mnl_socket_bind(sock, 0, MNL_SOCKET_AUTOPID), "bind: %s", err_name(errno));
	NEED(!setsockopt(mnl_socket_get_fd(sock), SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)),
	     "SO_RCVBUFFORCE: %s", err_name(errno));
	need_sent(settings());
	len = mnl_socket_recvfrom(sock, buffer, sizeof(buffer));
	NEED(len >= 0, "no answer: %s", err_name(errno));
	if (mnl_cb_run(buffer, len, 0, 0, NULL, NULL) >= 0)
		return;
	if (errno == EINVAL)
		SKIP("this kernel has no nfnetlink_queue");
	NEED(false, "queue %u: %s", number, err_name(errno));
}

static pid_t start(char **argv)
{
	pid_t child = fork();

	NEED(child >= 0, "fork: %s", err_name(errno));
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execvp(argv[0], argv);
	fprintf(stderr, "nfqueue: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* Serve the queue until the command ends. */
static void serve(pid_t child)
{
	struct pollfd fds[] = {
		{ .fd = mnl_socket_get_fd(sock), .events = POLLIN },
		{ .fd = syscall(SYS_pidfd_open, child, 0), .events = POLLIN },
	};

	NEED(fds[1].fd >= 0, "pidfd_open: %s", err_name(errno));
	while (!(fds[1].revents & POLLIN)) {
		NEED(poll(fds, 2, -1) > 0, "poll: %s", err_name(errno));
		/* Hold all available packets at the same time. */
		while (count < ARRAY_SIZE(held) && receive())
			;
		give_back();
	}
}

int main(int argc, char **argv)
{
	int option, status;
	pid_t child;

	test_program = "nfqueue";
	while ((option = getopt(argc, argv, "+ck")) != -1) {
		NEED(option != '?', "usage: nfqueue [-c] [-k] NUMBER COMMAND [ARG]...");
		cut |= option == 'c';
		keep |= option == 'k';
	}
	NEED(argc - optind >= 2, "usage: nfqueue [-c] [-k] NUMBER COMMAND [ARG]...");
	number = atoi(argv[optind]);
	test_limit(300);
	open_queue();
	child = start(argv + optind + 1);
	serve(child);
	NEED(waitpid(child, &status, 0) == child, "waitpid: %s", err_name(errno));
	fprintf(stderr, "nfqueue: %lu packets were held, %lu of them super-packets, up to %lu at a time\n",
		packets, super_packets, keep ? packets : most);
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	NEED(packets || status, "no packet came");
	return status;
}
