// SPDX-License-Identifier: GPL-2.0
/* Verbs on devices, ports, domains, memory and addresses, each used as intended. */
#include "testlib.h"
#include <sys/resource.h>

static void list_twice(void)
{
	struct ibv_device **a, **b;
	int n = -1, m = -1;

	a = ibv_get_device_list(&n);
	NEED_PTR(a, "get_device_list");
	b = ibv_get_device_list(&m);
	NEED_PTR(b, "get_device_list again");
	CHECK(n > 0 && n == m, "%d devices, then %d", n, m);
	for (int i = 0; i < n && i < m; i++)
		CHECK(a[i] == b[i], "device %d moved between two lists", i);
	CHECK(!a[n], "the list does not end with NULL");
	ibv_free_device_list(a);
	CHECK(ibv_get_device_name(b[0])[0], "a device without a name");
	CHECK(ibv_get_device_guid(b[0]), "a device without a GUID");
	CHECK(ibv_get_device_index(b[0]) >= -1, "index %d", ibv_get_device_index(b[0]));
	ibv_free_device_list(b);
}

/* An open context keeps its device after the list is freed. */
static void open_outlives_list(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;

	NEED_PTR(list, "get_device_list");
	ctx = ibv_open_device(list[0]);
	NEED_PTR(ctx, "open_device");
	ibv_free_device_list(list);
	CHECK(ctx->device && ctx->device->name[0], "the context lost its device");
	CHECK(ctx->async_fd >= 0 && ctx->cmd_fd >= 0, "fds %d and %d", ctx->cmd_fd,
	      ctx->async_fd);
	CHECK(ctx->num_comp_vectors > 0, "%d completion vectors", ctx->num_comp_vectors);
	CHECK_ERR(ibv_close_device(ctx), 0);
}

/* A context takes more than one descriptor. If there is one alone, the call gives it back. */
static void one_descriptor_left(void)
{
	struct rlimit all, few;
	struct test_dev dev;
	int fd;

	dev_open(&dev);
	fd = dup(0);
	NEED(fd >= 0 && !close(fd) && !getrlimit(RLIMIT_NOFILE, &all), "%s", err_name(errno));
	few = (struct rlimit){ .rlim_cur = fd + 1, .rlim_max = all.rlim_max };
	NEED(!setrlimit(RLIMIT_NOFILE, &few), "setrlimit: %s", err_name(errno));
	CHECK_NULL(ibv_open_device(dev.ctx->device), EMFILE);
	CHECK(dup(0) == fd, "the descriptor is still in use");
	close(fd);
	NEED(!setrlimit(RLIMIT_NOFILE, &all), "setrlimit: %s", err_name(errno));
	dev_close(&dev);
}

/* Members that the library does not know read as 0 for a program with a longer struct. */
static void device_attr_of_newer_program(struct test_dev *dev)
{
	struct verbs_context *verbs = verbs_get_ctx_op(dev->ctx, query_device_ex);
	struct {
		struct ibv_device_attr_ex known;
		uint8_t newer[16];
	} ex;

	if (!why_known() || !verbs)
		return;
	memset(&ex, 0xa5, sizeof(ex));
	CHECK_ERR(verbs->query_device_ex(dev->ctx, NULL, &ex.known, sizeof(ex)), 0);
	CHECK(ex.known.orig_attr.max_qp == dev->attr.max_qp, "max_qp %d", ex.known.orig_attr.max_qp);
	CHECK(all_zero(ex.newer, sizeof(ex.newer)), "newer members are not 0");
}

static void device_attr(void)
{
	struct ibv_device_attr_ex ex;
	struct test_dev dev;

	dev_open(&dev);
	CHECK(dev.attr.max_qp > 0 && dev.attr.max_cq > 0 && dev.attr.max_mr > 0 &&
	      dev.attr.max_pd > 0 && dev.attr.max_qp_wr > 0 && dev.attr.max_cqe > 0 &&
	      dev.attr.max_sge > 0, "a limit is not positive");
	CHECK(dev.attr.phys_port_cnt == 1, "%d ports", dev.attr.phys_port_cnt);
	CHECK(dev.attr.node_guid == ibv_get_device_guid(dev.ctx->device), "two different GUIDs");
	memset(&ex, 0xa5, sizeof(ex));
	CHECK_ERR(ibv_query_device_ex(dev.ctx, NULL, &ex), 0);
	CHECK(!memcmp(&ex.orig_attr, &dev.attr, sizeof(dev.attr)),
	      "query_device and query_device_ex differ");
	CHECK(!ex.comp_mask, "comp_mask %#x", ex.comp_mask);
	CHECK(on_uroce() || (!ex.tso_caps.max_tso && !ex.tso_caps.supported_qpts && !ex.xrc_odp_caps),
	      "capabilities that rxe has not");
	device_attr_of_newer_program(&dev);
	dev_close(&dev);
}

/* Each capability that the device reports works. */
static void device_flags(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_srq_attr attr = { .max_wr = 16 };
	const unsigned int none = IBV_DEVICE_RAW_MULTI | IBV_DEVICE_UD_IP_CSUM | IBV_DEVICE_RC_IP_CSUM;
	const unsigned int raw = IBV_DEVICE_RAW_IP_CSUM | IBV_DEVICE_MANAGED_FLOW_STEERING;
	struct test_dev dev;
	struct ibv_srq *srq;
	struct ibv_pd *pd;
	int err;

	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	NEED_PTR(pd, "alloc_pd");
	srq = ibv_create_srq(pd, &init);
	NEED_PTR(srq, "create_srq");
	err = ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR);
	CHECK(!err == !!(dev.attr.device_cap_flags & IBV_DEVICE_SRQ_RESIZE),
	      "flags %#x, and a change of the size gives %s", dev.attr.device_cap_flags,
	      err_name(err));
	CHECK(!(dev.attr.device_cap_flags & none), "flags %#x", dev.attr.device_cap_flags);
	CHECK(!!(dev.attr.device_cap_flags & IBV_DEVICE_RESIZE_MAX_WR) == on_uroce(), "sizes: flags %#x",
	      dev.attr.device_cap_flags);
	CHECK(!!(dev.attr.device_cap_flags & IBV_DEVICE_AUTO_PATH_MIG) == on_uroce(), "path migration: flags %#x",
	      dev.attr.device_cap_flags);
	CHECK((dev.attr.device_cap_flags & raw) == (on_uroce() ? raw : 0), "raw packets: flags %#x",
	      dev.attr.device_cap_flags);
	CHECK_ERR(ibv_destroy_srq(srq), 0);
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	dev_close(&dev);
}

/* Members that the library does not know read as 0 for a program with a longer struct. */
static void port_attr_of_newer_program(struct test_dev *dev)
{
	struct verbs_context *verbs = verbs_get_ctx_op(dev->ctx, query_port);
	struct {
		struct ibv_port_attr known;
		uint8_t newer[16];
	} port;

	if (!why_known() || !verbs)
		return;
	memset(&port, 0xa5, sizeof(port));
	CHECK_ERR(verbs->query_port(dev->ctx, PORT, &port.known, sizeof(port)), 0);
	CHECK(port.known.state == IBV_PORT_ACTIVE, "port state %d", port.known.state);
	CHECK(all_zero(port.newer, sizeof(port.newer)), "newer members are not 0");
}

static void port_attr(void)
{
	struct test_dev dev;
	struct ibv_port_attr port;
	__be16 pkey;

	dev_open(&dev);
	CHECK(dev.port.state == IBV_PORT_ACTIVE, "port state %d", dev.port.state);
	CHECK(dev.port.link_layer == IBV_LINK_LAYER_ETHERNET, "link layer %d",
	      dev.port.link_layer);
	CHECK(dev.port.active_mtu >= IBV_MTU_256 && dev.port.active_mtu <= IBV_MTU_4096,
	      "MTU %d", dev.port.active_mtu);
	CHECK(dev.port.gid_tbl_len > 1 && dev.port.pkey_tbl_len > 0, "tables of %d and %d",
	      dev.port.gid_tbl_len, dev.port.pkey_tbl_len);
	CHECK_ERR(ibv_query_port(dev.ctx, 0, &port), EINVAL);
	CHECK_ERR(ibv_query_port(dev.ctx, 2, &port), EINVAL);
	CHECK(!ibv_query_pkey(dev.ctx, PORT, 0, &pkey) && pkey == htobe16(0xffff),
	      "P_Key 0 is %#x", be16toh(pkey));
	CHECK(ibv_query_pkey(dev.ctx, PORT, dev.port.pkey_tbl_len, &pkey),
	      "a P_Key behind the table");
	CHECK(ibv_get_pkey_index(dev.ctx, PORT, htobe16(0xffff)) == 0, "P_Key index");
	CHECK(ibv_get_pkey_index(dev.ctx, PORT, htobe16(0x1234)) == -1, "index of no P_Key");
	port_attr_of_newer_program(&dev);
	dev_close(&dev);
}

/* A symbol of drivers in user space, which ibv_devinfo and pyverbs call. 0: RoCE v1, 1: RoCE v2. */
int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index, int *type);

static void gid_types(void)
{
	struct ibv_gid_entry entry;
	struct test_dev dev;
	int v2 = 0, type;

	dev_open(&dev);
	for (int i = 0; i < dev.port.gid_tbl_len; i++) {
		bool is_v2 = !ibv_query_gid_ex(dev.ctx, PORT, i, &entry, 0) &&
			     entry.gid_type == IBV_GID_TYPE_ROCE_V2;

		CHECK_ERR(ibv_query_gid_type(dev.ctx, PORT, i, &type), 0);
		CHECK(type == is_v2, "GID %d has the type %d", i, type);
		v2 += is_v2;
	}
	CHECK(v2 && v2 < dev.port.gid_tbl_len, "%d GIDs of RoCE v2", v2);
	CHECK(ibv_query_gid_type(dev.ctx, PORT, dev.port.gid_tbl_len, &type) == -1, "no GID");
	dev_close(&dev);
}

static void gids(void)
{
	struct ibv_gid_entry one, *table;
	struct test_dev dev;
	union ibv_gid gid;
	ssize_t n;

	dev_open(&dev);
	table = calloc(dev.port.gid_tbl_len, sizeof(*table));
	n = ibv_query_gid_table(dev.ctx, table, dev.port.gid_tbl_len, 0);
	CHECK(n >= 2, "GID table of %zd entries", n);
	for (ssize_t i = 0; i < n; i++) {
		CHECK_ERR(ibv_query_gid_ex(dev.ctx, PORT, table[i].gid_index, &one, 0), 0);
		CHECK(!memcmp(&one, &table[i], sizeof(one)), "entry %zd differs", i);
		CHECK_ERR(ibv_query_gid(dev.ctx, PORT, table[i].gid_index, &gid), 0);
		CHECK(!memcmp(&gid, &one.gid, sizeof(gid)), "GID %zd differs", i);
		CHECK(one.ndev_ifindex, "GID %zd has no net device", i);
	}
	n = ibv_query_gid_table(dev.ctx, table, 1, 0);
	CHECK(n == -EINVAL, "a table of one entry gave %zd", n);
	CHECK_ERR(ibv_query_gid_ex(dev.ctx, PORT, dev.port.gid_tbl_len, &one, 0), EINVAL);
	CHECK(!why_known() || strstr(why_text(), "table ends at"), "explained as: %s", why_text());
	CHECK(ibv_query_gid_ex(dev.ctx, PORT, 0, &one, 0x80), "flags of query_gid_ex");
	free(table);
	dev_close(&dev);
}

static void names(void)
{
	char text[64] = "";
	char dir[128];

	CHECK(strstr(ibv_event_type_str(IBV_EVENT_DEVICE_FATAL), "catastrophic"), "event name: %s",
	      ibv_event_type_str(IBV_EVENT_DEVICE_FATAL));
	CHECK(strcasestr(ibv_port_state_str(IBV_PORT_ACTIVE), "active"), "port state name: %s",
	      ibv_port_state_str(IBV_PORT_ACTIVE));
	CHECK(ibv_node_type_str(IBV_NODE_CA)[0], "node type name");
	CHECK(!strcmp(ibv_wc_status_str(IBV_WC_SUCCESS), "success"), "status name: %s",
	      ibv_wc_status_str(IBV_WC_SUCCESS));
	CHECK(ibv_wc_status_str(1000)[0] && ibv_event_type_str(1000)[0], "unknown values");
	CHECK(ibv_rate_to_mbps(IBV_RATE_100_GBPS) == 103125, "100 Gbit/s is %d",
	      ibv_rate_to_mbps(IBV_RATE_100_GBPS));
	CHECK(mbps_to_ibv_rate(103125) == IBV_RATE_100_GBPS, "and back");
	CHECK(ibv_rate_to_mult(IBV_RATE_10_GBPS) == 4, "10 Gbit/s is 4 times");
	CHECK(mult_to_ibv_rate(4) == IBV_RATE_10_GBPS, "and back");
	CHECK(!strcmp(ibv_get_sysfs_path(), "/sys"), "sysfs at %s", ibv_get_sysfs_path());
	snprintf(dir, sizeof(dir), "/sys/class/infiniband/%s", getenv("UNIV_TEST_DEVICE") ?: "rxe0");
	CHECK(ibv_read_sysfs_file(dir, "ports/1/state", text, sizeof(text)) > 0 &&
	      strstr(text, "ACTIVE"), "state: %s", text);
}

static void domains(void)
{
	struct ibv_pd *pd[64];
	struct test_dev dev;

	dev_open(&dev);
	for (size_t i = 0; i < ARRAY_SIZE(pd); i++) {
		pd[i] = ibv_alloc_pd(dev.ctx);
		NEED_PTR(pd[i], "alloc_pd");
		CHECK(pd[i]->context == dev.ctx, "the domain's context");
	}
	for (size_t i = 0; i < ARRAY_SIZE(pd); i++)
		CHECK_ERR(ibv_dealloc_pd(pd[i]), 0);
	dev_close(&dev);
}

static void memory(void)
{
	static const size_t lengths[] = { 1, 4095, 4096, 4097, 1 << 20 };
	struct test_dev dev;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	char *mem = malloc(2 << 20);

	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		mr = ibv_reg_mr(pd, mem + 13, lengths[i], ALL_ACCESS);
		if (!CHECK(mr, "register %zu: %s; %s", lengths[i], err_name(errno), why_text()))
			continue;
		CHECK(mr->addr == mem + 13 && mr->length == lengths[i] && mr->pd == pd &&
		      mr->context == dev.ctx, "the region's fields");
		CHECK(mr->lkey && mr->rkey, "keys %#x %#x", mr->lkey, mr->rkey);
		CHECK_ERR(ibv_dereg_mr(mr), 0);
	}
	mr = ibv_reg_mr(pd, mem, 4096, 0);
	CHECK(mr, "local read only: %s", err_name(errno));
	if (mr)
		CHECK_ERR(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr(pd, mem, 4096, ALL_ACCESS | IBV_ACCESS_RELAXED_ORDERING);
	CHECK(mr, "relaxed ordering, an optional flag: %s", err_name(errno));
	if (mr)
		CHECK_ERR(ibv_dereg_mr(mr), 0);
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	dev_close(&dev);
	free(mem);
}

static void memory_rereg(void)
{
	struct test_dev dev;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	char *mem = malloc(8192);
	int ret;

	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	mr = ibv_reg_mr(pd, mem, 4096, IBV_ACCESS_LOCAL_WRITE);
	NEED_PTR(mr, "reg_mr");
	ret = ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, mem, 8192, 0);
	CHECK(!ret || (!on_uroce() && (errno == EOPNOTSUPP || errno == ENOSYS)), "rereg_mr: %d, %s", ret,
	      err_name(errno));
	CHECK(ibv_rereg_mr(mr, 0x100, NULL, NULL, 0, 0) == IBV_REREG_MR_ERR_INPUT,
	      "rereg_mr with an unknown flag");
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	dev_close(&dev);
	free(mem);
}

/* The region starts at address 0 for the peer, which needs only the offset and the key. */
static void memory_iova(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED };
	uint8_t *mem = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	struct pair p;
	struct ibv_sge sge;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	pair_open(&p, NULL);
	mr = ibv_reg_mr_iova(p.pd, mem, 8192, 0, ALL_ACCESS);
	NEED_PTR(mr, "reg_mr_iova");
	fill(p.buf[0], 100, 5);
	sge = pair_sge(&p, 0, 0, 100);
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.wr.rdma.remote_addr = 4096;
	wr.wr.rdma.rkey = mr->rkey;
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	CHECK_BYTES(mem + 4096, 100, 5, "written by iova");
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr_iova2(p.pd, mem, 8192, 0x10000, ALL_ACCESS);
	CHECK(mr, "reg_mr_iova2: %s", err_name(errno));
	if (mr)
		CHECK_ERR(ibv_dereg_mr(mr), 0);
	pair_close(&p);
	munmap(mem, 8192);
}

/* Compare with the MAC address of the network device below the first port, from sysfs. */
static bool is_mac_of_netdev(const struct test_dev *dev, const uint8_t mac[6])
{
	char path[256], name[64] = "", text[64] = "", mine[64];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/%d",
		 ibv_get_device_name(dev->ctx->device), dev->gid_index);
	file = fopen(path, "r");
	NEED(file && fscanf(file, "%63s", name) == 1, "%s", path);
	fclose(file);
	snprintf(path, sizeof(path), "/sys/class/net/%s/address", name);
	file = fopen(path, "r");
	NEED(file && fscanf(file, "%63s", text) == 1, "%s", path);
	fclose(file);
	snprintf(mine, sizeof(mine), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		 mac[3], mac[4], mac[5]);
	return !strcmp(text, mine);
}

static void addresses(void)
{
	struct ibv_ah *ah[32];
	struct ibv_ah_attr attr;
	struct test_dev dev;
	struct ibv_pd *pd;
	uint8_t mac[6];
	uint16_t vid;

	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	ah_attr_to(&dev, &attr);
	for (size_t i = 0; i < ARRAY_SIZE(ah); i++) {
		ah[i] = ibv_create_ah(pd, &attr);
		NEED_PTR(ah[i], "create_ah");
	}
	for (size_t i = 0; i < ARRAY_SIZE(ah); i++)
		CHECK_ERR(ibv_destroy_ah(ah[i]), 0);
	memset(mac, 0xa5, sizeof(mac));
	vid = 0;
	CHECK_ERR(ibv_resolve_eth_l2_from_gid(dev.ctx, &attr, mac, &vid), 0);
	if (why_known())
		CHECK(is_mac_of_netdev(&dev, mac) && vid == 0xffff,
		      "%02x:%02x:%02x:%02x:%02x:%02x, VLAN %#x", mac[0], mac[1], mac[2], mac[3],
		      mac[4], mac[5], vid);
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	dev_close(&dev);
}

/*
 * Unsupported functions return an error and do not crash. The stock library supports some
 * of them.
 */
static void not_there(void)
{
	struct ibv_counters_init_attr counters = { 0 };
	struct ibv_rwq_ind_table_init_attr ind = { 0 };
	struct ibv_flow_action_esp_attr esp = { 0 };
	struct ibv_wq_init_attr wq = { .wq_type = IBV_WQT_RQ, .max_wr = 1, .max_sge = 1 };
	struct ibv_flow_attr flow = { .size = sizeof(flow), .port = 1 };
	struct ibv_ece ece = { 0 };
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct pair p;
	int ret;

	pair_open(&p, NULL);
	/* Flows and their counters need raw packets. */
	if (!on_uroce())
		CHECK_NULL(ibv_create_counters(p.dev.ctx, &counters), EOPNOTSUPP);
	CHECK_NULL(ibv_create_flow_action_esp(p.dev.ctx, &esp), EOPNOTSUPP);
	ret = ibv_query_rt_values_ex(p.dev.ctx, &values);
	if (!why_known())
		CHECK(!ret || ret == EOPNOTSUPP, "query_rt_values_ex: %s", err_name(ret));
	else
		CHECK(!ret && values.comp_mask == IBV_VALUES_MASK_RAW_CLOCK,
		      "query_rt_values_ex: %s, mask %#x", err_name(ret), values.comp_mask);
	CHECK(ibv_advise_mr(p.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, NULL, 0), "advise_mr");
	CHECK(ibv_query_ece(p.qp[0], &ece), "query_ece");
	if (why_known()) {
		/* Flows are for raw packet queue pairs. */
		CHECK_NULL(ibv_create_flow(p.qp[0], &flow), on_uroce() ? EINVAL : EOPNOTSUPP);
		if (!on_uroce()) {
			CHECK_NULL(ibv_create_wq(p.dev.ctx, &wq), EOPNOTSUPP);
			CHECK_NULL(ibv_create_rwq_ind_table(p.dev.ctx, &ind), EOPNOTSUPP);
		}
		/* EBADF would say that the device can use a dma-buf of any exporter. */
		CHECK_NULL(ibv_reg_dmabuf_mr(p.pd, 0, 4096, 0, -1, 0), EOPNOTSUPP);
	}
	CHECK(pair_works(&p), "the pair does not work after it");
	pair_close(&p);
}

/* Two of them have other parameters than the verbs. */
static void old_operations_work(struct ibv_context *ctx)
{
	struct ibv_cq *(*create_cq)(struct ibv_context *context, int cqe,
				    struct ibv_comp_channel *channel, int comp_vector);
	struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				 int access);
	struct ibv_comp_channel *ch = ibv_create_comp_channel(ctx);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	static char memory[64] __attribute__((aligned(4096)));
	struct ibv_mr *mr;
	struct ibv_cq *cq;

	NEED(ch && pd, "a channel and a domain");
	create_cq = (__typeof__(create_cq))(void (*)(void))ctx->ops._compat_create_cq;
	cq = create_cq(ctx, 4, ch, 0);
	NEED(cq, "create_cq");
	CHECK(cq->channel == ch && cq->cqe >= 4, "%d entries, or another channel", cq->cqe);
	reg_mr = (__typeof__(reg_mr))(void (*)(void))ctx->ops._compat_reg_mr;
	mr = reg_mr(pd, memory, sizeof(memory), 0x1000, IBV_ACCESS_LOCAL_WRITE);
	NEED(mr, "reg_mr");
	CHECK(mr->addr == memory && mr->length == sizeof(memory), "a region of %zu bytes at %p",
	      mr->length, mr->addr);
	NEED_OK(ibv_dereg_mr(mr));
	NEED_OK(ibv_destroy_cq(cq));
	NEED_OK(ibv_dealloc_pd(pd));
	NEED_OK(ibv_destroy_comp_channel(ch));
}

/*
 * rdma-core sets all operations of a context, also those that its inline functions do not call any
 * more.
 */
static void old_operations(void)
{
	struct test_dev d;
	void (**op)(void);
	bool all = true;

	dev_open(&d);
	op = (void (**)(void))&d.ctx->ops;
	for (size_t i = 0; i < sizeof(d.ctx->ops) / sizeof(*op); i++)
		all &= CHECK(op[i], "operation %zu of the context is NULL", i);
	if (all && why_known())
		old_operations_work(d.ctx);
	dev_close(&d);
}

/*
 * Software copies the bytes of a message in any order, so a program must wait for the completion.
 * Neither an operation that has no such order nor an unknown flag is an error.
 */
static void data_in_order(void)
{
	static const uint32_t flags[] = {
		0, IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS, IBV_QUERY_QP_DATA_IN_ORDER_DEVICE_ONLY,
		IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS | IBV_QUERY_QP_DATA_IN_ORDER_DEVICE_ONLY, 1u << 31,
	};
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };

	for (size_t t = 0; t < ARRAY_SIZE(types); t++) {
		struct pair p;

		pair_open(&p, &(struct pair_want) { .type = types[t] });
		for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
			for (int op = 0; op < 20; op++)
				CHECK(!ibv_query_qp_data_in_order(p.qp[0], op, flags[i]),
				      "operation %d, flags %#x: in order", op, flags[i]);
		pair_close(&p);
	}
}

static void says(const char *verb, const char *ability)
{
	CHECK(strstr(why_text(), verb) && strstr(why_text(), ability), "explained as: %s", why_text());
}

/* Abilities of hardware alone: each verb names the ability, and the device does not claim it. */
static void hardware_only(void)
{
	struct pair_want want = { .use_srq = 1 };
	struct ibv_flow_action_esp_attr esp = { 0 };
	struct ibv_flow_action action = { 0 };
	struct ibv_ops_wr op = { 0 }, *bad = NULL;
	struct ibv_srq_init_attr_ex tags = {
		.attr = { 4, 1, 0 }, .srq_type = IBV_SRQT_TM, .tm_cap = { 4, 4 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_TM,
	};
	struct ibv_device_attr_ex attr;
	struct ibv_ece ece = { 0 };
	struct pair p;

	/* The stock library passes these calls on to the provider. */
	if (!why_known())
		return;
	pair_open(&p, &want);
	CHECK_NULL(ibv_create_flow_action_esp(p.dev.ctx, &esp), EOPNOTSUPP);
	says("ibv_create_flow_action_esp", "IPsec");
	action.context = p.dev.ctx;
	CHECK_ERR(ibv_modify_flow_action_esp(&action, &esp), EOPNOTSUPP);
	says("ibv_modify_flow_action_esp", "IPsec");
	CHECK_ERR(ibv_destroy_flow_action(&action), EOPNOTSUPP);
	says("ibv_destroy_flow_action", "IPsec");
	CHECK_ERR(ibv_query_ece(p.qp[0], &ece), EOPNOTSUPP);
	says("ibv_query_ece", "connection establishment");
	CHECK_ERR(ibv_set_ece(p.qp[0], &ece), EOPNOTSUPP);
	says("ibv_set_ece", "connection establishment");
	CHECK_ERR(ibv_post_srq_ops(p.srq, &op, &bad), EOPNOTSUPP);
	CHECK(bad == &op, "bad_op is not the first operation");
	says("ibv_post_srq_ops", "tag matching");
	tags.pd = p.pd;
	tags.cq = p.cq[0];
	CHECK_NULL(ibv_create_srq_ex(p.dev.ctx, &tags), EOPNOTSUPP);
	says("ibv_create_srq_ex", "tag matching");
	NEED_OK(ibv_query_device_ex(p.dev.ctx, NULL, &attr));
	CHECK(!attr.tm_caps.max_num_tags && !attr.tm_caps.flags, "the device claims to match tags");
	pair_close(&p);
}

static void fork_calls(void)
{
	enum ibv_fork_status status;

	CHECK_ERR(ibv_fork_init(), 0);
	status = ibv_is_fork_initialized();
	CHECK(status == IBV_FORK_ENABLED || status == IBV_FORK_UNNEEDED, "fork status %d", status);
}

static const struct test_case cases[] = {
	{ "fork_calls", fork_calls },
	{ "list_twice", list_twice },
	{ "open_outlives_list", open_outlives_list },
	{ "one_descriptor_left", one_descriptor_left },
	{ "device_attr", device_attr },
	{ "device_flags", device_flags },
	{ "port_attr", port_attr },
	{ "gids", gids },
	{ "gid_types", gid_types },
	{ "names", names },
	{ "domains", domains },
	{ "memory", memory },
	{ "memory_rereg", memory_rereg },
	{ "memory_iova", memory_iova },
	{ "addresses", addresses },
	{ "not_there", not_there },
	{ "old_operations", old_operations },
	{ "data_in_order", data_in_order },
	{ "hardware_only", hardware_only },
};

TEST_MAIN("api_device", cases, 30)
