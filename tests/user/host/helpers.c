// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The library's functions that need no device: names, rates, marshalling, sysfs. Their
 * results are compared with those of the stock library if its path is given, and otherwise
 * with a few known ones.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/marshall.h>
#include <infiniband/verbs.h>

#include "sys/sys.h"

enum ibv_gid_type_sysfs {
	GID_V1,
	GID_V2,
};

int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
		       enum ibv_gid_type_sysfs *type);

static int failed;
static void *stock;

#define FAIL(...) do {							\
	fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);			\
	fprintf(stderr, __VA_ARGS__);					\
	fprintf(stderr, "\n");						\
	failed = 1;							\
} while (0)

#define CHECK(cond) do {						\
	if (!(cond))							\
		FAIL("%s", #cond);					\
} while (0)

/* A function of the stock library, with the type of ours. */
#define STOCK(fn) ((__typeof__(&fn))stock_find(#fn))

static void *stock_find(const char *name)
{
	void *fn = dlsym(stock, name);

	if (!fn) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return fn;
}

/* Compare all names except @newer, which a stock library of today need not know. */
#define SAME_NAMES(fn, newer) do {						\
	for (int v = -300; v <= 300; v++)					\
		if (v != (newer) && strcmp(fn(v), STOCK(fn)(v)))		\
			FAIL(#fn "(%d): %s, stock %s", v, fn(v), STOCK(fn)(v));	\
} while (0)

#define NONE_NEWER INT_MAX

#define SAME_NUMBERS(fn, from, to) do {						\
	__typeof__(&fn) stock_fn = STOCK(fn);					\
	for (int v = from; v <= to; v++)					\
		if (fn(v) != stock_fn(v))					\
			FAIL(#fn "(%d): %d, stock %d", v, (int)fn(v),		\
			     (int)stock_fn(v));					\
} while (0)

static void test_names(void)
{
	CHECK(!strcmp(ibv_node_type_str(IBV_NODE_CA), "InfiniBand channel adapter"));
	CHECK(!strcmp(ibv_port_state_str(IBV_PORT_ACTIVE), "active"));
	CHECK(!strcmp(ibv_event_type_str(IBV_EVENT_WQ_FATAL), "WQ fatal"));
	CHECK(!strcmp(ibv_event_type_str(IBV_EVENT_DEVICE_SPEED_CHANGE), "Device link speed change"));
	CHECK(!strcmp(ibv_wc_status_str(IBV_WC_WR_FLUSH_ERR), "Work Request Flushed Error"));
	CHECK(!strcmp(ibv_wc_status_str((enum ibv_wc_status)1000), "unknown"));
	if (!stock)
		return;
	SAME_NAMES(ibv_node_type_str, NONE_NEWER);
	SAME_NAMES(ibv_port_state_str, NONE_NEWER);
	SAME_NAMES(ibv_event_type_str, IBV_EVENT_DEVICE_SPEED_CHANGE);
	SAME_NAMES(ibv_wc_status_str, NONE_NEWER);
}

static void test_rates(void)
{
	CHECK(ibv_rate_to_mult(IBV_RATE_5_GBPS) == 2);
	CHECK(mult_to_ibv_rate(2) == IBV_RATE_5_GBPS);
	CHECK(ibv_rate_to_mbps(IBV_RATE_100_GBPS) == 103125);
	CHECK(mbps_to_ibv_rate(103125) == IBV_RATE_100_GBPS);
	CHECK(ibv_rate_to_mult(IBV_RATE_100_GBPS) == -1);
	CHECK(mbps_to_ibv_rate(1) == IBV_RATE_MAX && mbps_to_ibv_rate(0) == IBV_RATE_MAX);
	if (!stock)
		return;
	SAME_NUMBERS(ibv_rate_to_mult, -300, 300);
	SAME_NUMBERS(ibv_rate_to_mbps, -300, 300);
	SAME_NUMBERS(mult_to_ibv_rate, -600, 600);
	SAME_NUMBERS(mbps_to_ibv_rate, -100, 1300000);
}

/*
 * Every byte of the source has its own value; every byte of both destinations is the same
 * before.
 */
#define SAME_BYTES(fn, dst_type, src_type) do {				\
	dst_type ours, theirs;						\
	src_type src;							\
	memset(&ours, 0xa5, sizeof(ours));				\
	memset(&theirs, 0xa5, sizeof(theirs));				\
	for (size_t i = 0; i < sizeof(src); i++)			\
		((uint8_t *)&src)[i] = (uint8_t)(seed + i * 7);		\
	fn(&ours, &src);						\
	STOCK(fn)(&theirs, &src);					\
	if (memcmp(&ours, &theirs, sizeof(ours)))			\
		FAIL(#fn " gives other bytes, seed %d", seed);		\
} while (0)

static void test_marshalling(void)
{
	struct ib_uverbs_qp_attr src;
	struct ibv_qp_attr dst;

	memset(&src, 0, sizeof(src));
	memset(&dst, 0, sizeof(dst));
	src.dest_qp_num = 17;
	src.ah_attr.grh.dgid[15] = 3;
	src.alt_ah_attr.port_num = 2;
	src.max_inline_data = 64;
	ibv_copy_qp_attr_from_kern(&dst, &src);
	CHECK(dst.dest_qp_num == 17 && dst.cap.max_inline_data == 64);
	CHECK(dst.ah_attr.grh.dgid.raw[15] == 3 && dst.alt_ah_attr.port_num == 2);

	for (int seed = 0; stock && seed < 256; seed++) {
		SAME_BYTES(ibv_copy_qp_attr_from_kern, struct ibv_qp_attr,
			   struct ib_uverbs_qp_attr);
		SAME_BYTES(ibv_copy_ah_attr_from_kern, struct ibv_ah_attr,
			   struct ib_uverbs_ah_attr);
		SAME_BYTES(ibv_copy_path_rec_from_kern, struct ibv_sa_path_rec,
			   struct ib_user_path_rec);
		SAME_BYTES(ibv_copy_path_rec_to_kern, struct ib_user_path_rec,
			   struct ibv_sa_path_rec);
	}
}

static void file_write(const char *dir, const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	if (!file || fputs(text, file) < 0 || fclose(file)) {
		perror(path);
		exit(1);
	}
}

/* Texts of about the size of the buffer, with and without a newline. */
static void test_sysfs_file(const char *dir)
{
	static const char *const texts[] = {
		"rxe0\n", "rxe0", "1234567\n", "12345678\n", "1234567", "12345678", "123456789",
		"\n",
	};
	char ours[8], theirs[8];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		int len, stock_len;

		file_write(dir, "text", texts[i]);
		len = ibv_read_sysfs_file(dir, "text", ours, sizeof(ours));
		CHECK(len < (int)sizeof(ours));
		CHECK(len < 0 || (size_t)len == strlen(ours));
		if (!stock)
			continue;
		stock_len = STOCK(ibv_read_sysfs_file)(dir, "text", theirs, sizeof(theirs));
		if (len != stock_len || (len > 0 && strcmp(ours, theirs)))
			FAIL("text %zu: %d, stock %d", i, len, stock_len);
	}
	file_write(dir, "text", "");
	CHECK(ibv_read_sysfs_file(dir, "text", ours, sizeof(ours)) == 0 && !ours[0]);
	CHECK(ibv_read_sysfs_file(dir, "none", ours, sizeof(ours)) == -1 && errno == ENOENT);
}

static void test_sysfs_path(void)
{
	CHECK(!strcmp(ibv_get_sysfs_path(), "/some/where"));
	if (stock)
		CHECK(!strcmp(ibv_get_sysfs_path(), STOCK(ibv_get_sysfs_path)()));
}

/* In place of the kernel: one entry of each type and an empty one */
int univ_cmd_gid_query(int fd, struct univ_gid_query *cmd)
{
	(void)fd;
	if (cmd->port_num != 1 || cmd->index > 2)
		return EINVAL;
	if (cmd->index == 2)
		return ENODATA;
	cmd->entry.gid_type = cmd->index ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
	return 0;
}

static void test_gid_type(void)
{
	struct ibv_context context = {};
	enum ibv_gid_type_sysfs type;

	CHECK(!ibv_query_gid_type(&context, 1, 0, &type) && type == GID_V1);
	CHECK(!ibv_query_gid_type(&context, 1, 1, &type) && type == GID_V2);
	CHECK(!ibv_query_gid_type(&context, 1, 2, &type) && type == GID_V1);
	CHECK(ibv_query_gid_type(&context, 1, 3, &type) == -1);
	CHECK(ibv_query_gid_type(&context, 2, 0, &type) == -1);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: %s EMPTY-DIRECTORY [STOCK-LIBRARY]\n", argv[0]);
		return 1;
	}
	/* With RTLD_DEEPBIND the stock library's functions call each other and not ours. */
	if (argc > 2) {
		stock = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
		if (!stock) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
	}
	setenv("SYSFS_PATH", "/some/where//", 1);

	test_names();
	test_rates();
	test_marshalling();
	test_sysfs_file(argv[1]);
	test_sysfs_path();
	test_gid_type();
	return failed;
}
