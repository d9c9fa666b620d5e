// SPDX-License-Identifier: GPL-2.0
// librpma with both ends in one process: the server owns memory; the client writes to it, flushes,
// reads it back, and sends a message that the server returns. Each byte is checked.
#include <librpma.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE (4 << 20)
#define must(call) must_be_0(#call, call)

static const char *address, *port;
static sem_t listening;

static void must_be_0(const char *what, int result)
{
	if (!result)
		return;
	printf("%s: %s\n", what, rpma_err_2str(result));
	exit(1);
}

static void must_be_event(struct rpma_conn *conn, enum rpma_conn_event wanted)
{
	enum rpma_conn_event event;

	must(rpma_conn_next_event(conn, &event));
	if (event == wanted)
		return;
	printf("event %s\n", rpma_utils_conn_event_2str(event));
	exit(1);
}

/* Waits for one completion of the connection and returns it. */
static struct ibv_wc completion(struct rpma_conn *conn, int receives)
{
	struct rpma_cq *cq;
	struct ibv_wc wc;

	must(receives ? rpma_conn_get_rcq(conn, &cq) : rpma_conn_get_cq(conn, &cq));
	must(rpma_cq_wait(cq));
	must(rpma_cq_get_wc(cq, 1, &wc, NULL));
	if (wc.status == IBV_WC_SUCCESS)
		return wc;
	printf("completion: %s\n", ibv_wc_status_str(wc.status));
	exit(1);
}

static struct rpma_peer *peer_at(enum rpma_util_ibv_context_type type)
{
	struct ibv_context *context;
	struct rpma_peer *peer;

	must(rpma_utils_get_ibv_context(address, type, &context));
	must(rpma_peer_new(context, &peer));
	return peer;
}

static struct rpma_conn_cfg *with_receives(void)
{
	struct rpma_conn_cfg *cfg;

	must(rpma_conn_cfg_new(&cfg));
	must(rpma_conn_cfg_set_rcq_size(cfg, 4));
	return cfg;
}

static unsigned char byte_of(int i)
{
	return i * 29 + i / 256 * 5;
}

/* Sends the descriptor of its memory as it accepts, and returns one message. */
static void *serve(void *unused)
{
	const int usage = RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_RECV |
			  RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY;
	struct rpma_peer *peer = peer_at(RPMA_UTIL_IBV_CONTEXT_LOCAL);
	struct rpma_conn_cfg *cfg = with_receives();
	struct rpma_conn_private_data data;
	struct rpma_conn_req *request;
	struct rpma_mr_local *memory;
	struct rpma_conn *conn;
	struct rpma_ep *endpoint;
	char descriptor[64];
	void *bytes;
	size_t size;

	(void)unused;
	if (posix_memalign(&bytes, 4096, SIZE))
		exit(1);
	must(rpma_ep_listen(peer, address, port, &endpoint));
	sem_post(&listening);
	must(rpma_mr_reg(peer, bytes, SIZE, usage, &memory));
	must(rpma_mr_get_descriptor_size(memory, &size));
	must(rpma_mr_get_descriptor(memory, descriptor));
	must(rpma_ep_next_conn_req(endpoint, cfg, &request));
	must(rpma_conn_req_recv(request, memory, 0, 4096, NULL));
	data.ptr = descriptor;
	data.len = size;
	must(rpma_conn_req_connect(&request, &data, &conn));
	must_be_event(conn, RPMA_CONN_ESTABLISHED);
	size = completion(conn, 1).byte_len;
	must(rpma_send(conn, memory, 0, size, RPMA_F_COMPLETION_ALWAYS, NULL));
	completion(conn, 0);
	must_be_event(conn, RPMA_CONN_CLOSED);
	must(rpma_conn_disconnect(conn));
	must(rpma_conn_delete(&conn));
	must(rpma_mr_dereg(&memory));
	must(rpma_ep_shutdown(&endpoint));
	must(rpma_conn_cfg_delete(&cfg));
	must(rpma_peer_delete(&peer));
	free(bytes);
	return NULL;
}

static struct rpma_conn *connected(struct rpma_peer *peer, struct rpma_conn_cfg *cfg,
				   struct rpma_mr_local *memory)
{
	struct rpma_conn_req *request;
	struct rpma_conn *conn;

	sem_wait(&listening);
	must(rpma_conn_req_new(peer, address, port, cfg, &request));
	must(rpma_conn_req_recv(request, memory, 0, 4096, NULL));
	must(rpma_conn_req_connect(&request, NULL, &conn));
	must_be_event(conn, RPMA_CONN_ESTABLISHED);
	return conn;
}

static void check(const char *what, const unsigned char *bytes, int size)
{
	for (int i = 0; i < size; i++) {
		if (bytes[i] == byte_of(i))
			continue;
		printf("%s: byte %d is wrong\n", what, i);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	const int usage = RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_RECV |
			  RPMA_MR_USAGE_SEND;
	struct rpma_mr_local *from, *to;
	struct rpma_conn_private_data data;
	struct rpma_mr_remote *remote;
	unsigned char *sent, *got;
	struct rpma_conn_cfg *cfg;
	struct rpma_peer *peer;
	struct rpma_conn *conn;
	pthread_t server;
	char word[8];

	if (argc < 3)
		return 2;
	address = argv[1];
	port = argv[2];
	if (sem_init(&listening, 0, 0) || pthread_create(&server, NULL, serve, NULL) ||
	    posix_memalign((void **)&sent, 4096, SIZE) || posix_memalign((void **)&got, 4096, SIZE))
		return 1;
	for (int i = 0; i < SIZE; i++)
		sent[i] = byte_of(i);
	peer = peer_at(RPMA_UTIL_IBV_CONTEXT_REMOTE);
	cfg = with_receives();
	must(rpma_mr_reg(peer, sent, SIZE, usage, &from));
	must(rpma_mr_reg(peer, got, SIZE, usage, &to));
	conn = connected(peer, cfg, to);
	must(rpma_conn_get_private_data(conn, &data));
	must(rpma_mr_remote_from_descriptor(data.ptr, data.len, &remote));

	memset(got, 0, SIZE);
	must(rpma_write(conn, remote, 0, from, 0, SIZE, RPMA_F_COMPLETION_ON_ERROR, NULL));
	must(rpma_flush(conn, remote, 0, SIZE, RPMA_FLUSH_TYPE_VISIBILITY, RPMA_F_COMPLETION_ALWAYS,
			NULL));
	completion(conn, 0);
	memcpy(word, sent + 64, 8);
	memset(sent + 64, 0, 8);
	must(rpma_write(conn, remote, 64, from, 64, 8, RPMA_F_COMPLETION_ON_ERROR, NULL));
	must(rpma_atomic_write(conn, remote, 64, word, RPMA_F_COMPLETION_ALWAYS, NULL));
	completion(conn, 0);
	memcpy(sent + 64, word, 8);
	must(rpma_read(conn, to, 0, remote, 0, SIZE, RPMA_F_COMPLETION_ALWAYS, NULL));
	completion(conn, 0);
	check("write and read", got, SIZE);

	memset(got, 0, SIZE);
	must(rpma_send(conn, from, 0, 3000, RPMA_F_COMPLETION_ALWAYS, NULL));
	completion(conn, 0);
	if (completion(conn, 1).byte_len != 3000)
		return 1;
	check("message", got, 3000);

	must(rpma_mr_remote_delete(&remote));
	must(rpma_conn_disconnect(conn));
	must_be_event(conn, RPMA_CONN_CLOSED);
	must(rpma_conn_delete(&conn));
	must(rpma_mr_dereg(&from));
	must(rpma_mr_dereg(&to));
	must(rpma_conn_cfg_delete(&cfg));
	must(rpma_peer_delete(&peer));
	pthread_join(server, NULL);
	free(sent);
	free(got);
	printf("same bytes: %d\n", SIZE);
	return 0;
}
