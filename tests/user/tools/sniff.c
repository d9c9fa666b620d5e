// SPDX-License-Identifier: GPL-2.0
/*
 * While a command runs, keep a packet socket open for all packets of its namespace, and never read
 * from it, so that the kernel keeps every packet.
 *   sniff COMMAND [ARG]...
 * The number of packets goes to standard error. Exit: COMMAND's status, 1 if no packet was kept. With SNIFF_SECRET=BYTE
 * the packets are read at the end, and 1 is also the exit status if one has many such bytes: COMMAND has put them into
 * memory that it had sent before.
 */
#include "testlib.h"
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define MEMORY	(64 << 20)	/* Far more than uroce has under way. */

static bool shows(int sock, int secret)
{
	static uint8_t packet[1 << 17], want[64];
	bool found = false;
	ssize_t n;

	memset(want, secret, sizeof(want));
	while ((n = recv(sock, packet, sizeof(packet), MSG_DONTWAIT)) > 0)
		found |= !!memmem(packet, n, want, sizeof(want));
	return found;
}

int main(int argc, char **argv)
{
	struct tpacket_stats stats = { 0 };
	socklen_t len = sizeof(stats);
	int sock, status, size = MEMORY;
	const char *secret = getenv("SNIFF_SECRET");
	pid_t pid;

	test_program = "sniff";
	test_now = "sniff";
	NEED(argc > 1, "usage: sniff COMMAND [ARG]...");
	sock = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
	NEED(sock >= 0, "packet socket: %s", err_name(errno));
	NEED(!setsockopt(sock, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)),
	     "SO_RCVBUFFORCE: %s", err_name(errno));

	pid = fork();
	if (!pid) {
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	NEED(pid > 0 && waitpid(pid, &status, 0) == pid, "fork: %s", err_name(errno));
	NEED(!getsockopt(sock, SOL_PACKET, PACKET_STATISTICS, &stats, &len),
	     "PACKET_STATISTICS: %s", err_name(errno));
	/* tp_packets includes the dropped packets. */
	fprintf(stderr, "sniff: kept %u of %u packets\n", stats.tp_packets - stats.tp_drops,
		stats.tp_packets);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	if (secret && shows(sock, atoi(secret))) {
		fprintf(stderr, "sniff: a packet has bytes that were written later\n");
		return 1;
	}
	return stats.tp_packets > stats.tp_drops ? 0 : 1;
}
