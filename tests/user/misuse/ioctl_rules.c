// SPDX-License-Identifier: GPL-2.0
/*
 * adv09, adv10. The rules that uapi/univerbs.h states for every ioctl, tested on every
 * ioctl: sizes, tails, reserved fields, unknown flags, memory that cannot be written.
 */
#include "ioctl_table.h"

static void want(const struct rule *r, const char *what, int err, int want_err, uint32_t reason)
{
	if (refused(r, err))
		return;
	CHECK(err == want_err, "%s, %s: expected %s, got %s", r->name, what, err_name(want_err),
	      err_name(err));
	if (err == want_err && reason)
		CHECK(buf.hdr.reason == reason, "%s, %s: expected reason %u, got %u", r->name,
		      what, reason, buf.hdr.reason);
	if (err && destroys(r))
		clean(r, &buf);
	if (!err)
		undo(r, &buf);
}

/* ---- adv10 --------------------------------------------------------------- */

static void size_rules(const struct rule *r)
{
	static const uint32_t tiny[] = { 0, 1, 4, sizeof(struct univ_hdr) - 1 };
	uint32_t min = r->min ? r->min : r->size;
	int err;

	fresh(r);
	err = call_sized(r, min - 1);
	want(r, "one byte short", err, EINVAL, UNIV_REASON_SIZE);
	if (err == EINVAL)
		CHECK(buf.hdr.value == min - 1 && buf.hdr.bound == min,
		      "%s: value %llu bound %llu, expected %u and %u", r->name, buf.hdr.value,
		      buf.hdr.bound, min - 1, min);
	for (size_t i = 0; i < ARRAY_SIZE(tiny); i++) {
		fresh(r);
		want(r, "tiny", call_sized(r, tiny[i]), EINVAL, 0);
	}
	fresh(r);
	want(r, "exact", call_sized(r, r->size), 0, 0);
	fresh(r);
	want(r, "longer, zeros", call_sized(r, r->size + 40), 0, 0);
	fresh(r);
	buf.bytes[r->size + 39] = 1;
	err = call_sized(r, r->size + 40);
	want(r, "longer, last byte set", err, E2BIG, UNIV_REASON_TAIL);
	if (err == E2BIG)
		CHECK(buf.hdr.value == r->size + 40 && buf.hdr.bound == r->size,
		      "%s: value %llu bound %llu, expected %u and %u", r->name, buf.hdr.value,
		      buf.hdr.bound, r->size + 40, r->size);
	fresh(r);
	buf.bytes[r->size] = 1;
	want(r, "longer, first byte set", call_sized(r, r->size + 40), E2BIG, UNIV_REASON_TAIL);
	fresh(r);
	want(r, "size 2^32 - 1", call_sized(r, 0xffffffffu), E2BIG, UNIV_REASON_TAIL);
}

static void sizes(void)
{
	for_each_rule(size_rules);
}

/* A success clears the reason of an earlier failure. */
static void success_rules(const struct rule *r)
{
	fresh(r);
	buf.hdr.reason = 12;
	buf.hdr.detail = 13;
	buf.hdr.value = 14;
	buf.hdr.bound = 15;
	want(r, "with rubbish in the output fields", call_sized(r, r->size), 0, 0);
}

/*
 * A caller that knows only the first version of a struct gets the meaning of that version,
 * although the struct has grown.
 */
static void first_version(const struct rule *r)
{
	/* A resize returns the new ring, for which the first version has no room. */
	if (!r->min || r->feature || r->fill == fill_srq_resize)
		return;
	fresh(r);
	memset(buf.bytes + r->min, 0x5a, r->size - r->min);
	want(r, "as the first version", call_sized(r, r->min), 0, 0);
	for (uint32_t at = r->min; at < r->size; at++)
		CHECK(buf.bytes[at] == 0x5a, "%s: byte %u behind the struct was written", r->name,
		      at);
}

static void first_versions(void)
{
	for_each_rule(first_version);
}

static void success(void)
{
	for_each_rule(success_rules);
}

static void flag_rules(const struct rule *r)
{
	int err;

	for (int bit = 0; bit < 32; bit++) {
		fresh(r);
		buf.hdr.flags = 1u << bit;
		err = call_sized(r, r->size);
		want(r, "unknown header flag", err, EOPNOTSUPP, UNIV_REASON_FLAGS);
		if (err == EOPNOTSUPP)
			CHECK(buf.hdr.value == 1u << bit && !buf.hdr.bound,
			      "%s: value %#llx bound %#llx for flag %d", r->name, buf.hdr.value,
			      buf.hdr.bound, bit);
	}
}

static void flags(void)
{
	for_each_rule(flag_rules);
}

/* create_flags is a word of flags, so it has another reason. */
static uint32_t reserved_reason(const struct rule *r, const struct field *f)
{
	return r->cmd == UNIV_QP_CREATE && f->offset == offsetof(struct univ_qp_create, create_flags) ?
		UNIV_REASON_FLAGS : UNIV_REASON_RESERVED;
}

static void reserved_rules(const struct rule *r)
{
	for (size_t f = 0; f < ARRAY_SIZE(r->reserved) && r->reserved[f].length; f++) {
		for (uint32_t b = 0; b < r->reserved[f].length; b++) {
			uint32_t at = r->reserved[f].offset + b;
			int err;

			fresh(r);
			buf.bytes[at] = 0x40;
			err = call_sized(r, r->size);
			want(r, "reserved byte set", err, EOPNOTSUPP,
			     reserved_reason(r, &r->reserved[f]));
			if (err != EOPNOTSUPP)
				printf("    ... at offset %u\n", at);
			else if (buf.hdr.reason == UNIV_REASON_RESERVED)
				CHECK(buf.hdr.value >= r->reserved[f].offset && buf.hdr.value <= at,
				      "%s: offset %llu told, %u meant", r->name, buf.hdr.value, at);
		}
	}
}

static void reserved(void)
{
	for_each_rule(reserved_rules);
}

/* Flags outside the header. */
static void other_flags(void)
{
	struct univ_cq_create cq = { .cqe = 16, .channel_fd = -1, .cq_flags = 1u << 9 };
	struct univ_srq_modify srq = { .attr_mask = 1u << 9 };
	struct univ_mr_rereg mr = { .change = 1u << 9 };

	set_up();
	CHECK_ERR(raw_call(env.fd, UNIV_CQ_CREATE, &cq), EOPNOTSUPP);
	CHECK(cq.hdr.reason == UNIV_REASON_FLAGS && cq.hdr.value == 1u << 9, "reason %u value %#llx",
	      cq.hdr.reason, cq.hdr.value);
	srq.handle = env.srq.handle;
	CHECK_ERR(raw_call(env.fd, UNIV_SRQ_MODIFY, &srq), EOPNOTSUPP);
	CHECK(srq.hdr.reason == UNIV_REASON_FLAGS, "reason %u", srq.hdr.reason);
	mr.handle = env.mr.handle;
	CHECK_ERR(raw_call(env.fd, UNIV_MR_REREG, &mr), EOPNOTSUPP);
	CHECK(mr.hdr.reason == UNIV_REASON_FLAGS && mr.hdr.value == 1u << 9, "reason %u value %#llx",
	      mr.hdr.reason, mr.hdr.value);
	tear_down();
}

/* ---- adv09 --------------------------------------------------------------- */

static void *page_with(const void *bytes, size_t len, int prot)
{
	void *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	NEED(page != MAP_FAILED, "mmap");
	memcpy(page, bytes, len);
	mprotect(page, 2 * PAGE, prot);
	return page;
}

static int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Count the handles that the command has made in spite of its failure; there must be none. */
static uint32_t count_handles(unsigned long destroy, uint32_t below)
{
	uint32_t n = 0;

	for (uint32_t h = 1; h < below; h++)
		n += !raw_destroy(env.fd, destroy, h);
	return n;
}

static void fault_rules(const struct rule *r)
{
	int fds, err;
	void *page;

	fresh(r);
	buf.hdr.size = r->size;
	page = page_with(&buf, r->size, PROT_NONE);
	err = ioctl(env.fd, r->cmd, page) ? errno : 0;
	want(r, "PROT_NONE", err, EFAULT, 0);
	munmap(page, 2 * PAGE);

	fresh(r);
	buf.hdr.size = r->size;
	page = page_with(&buf, r->size, PROT_READ);
	fds = count_fds();
	err = ioctl(env.fd, r->cmd, page) ? errno : 0;
	if (refused(r, err))
		goto out;
	CHECK(err == EFAULT, "%s, read-only: expected EFAULT, got %s", r->name, err_name(err));
	CHECK(count_fds() == fds, "%s, read-only: %d file descriptors more", r->name,
	      count_fds() - fds);
	if (destroys(r))
		clean(r, &buf);
out:
	munmap(page, 2 * PAGE);
}

static void faults(void)
{
	struct univ_gid_table table;
	char *page;

	for_each_rule(fault_rules);
	set_up();
	page = page_with("", 1, PROT_READ);
	table = (struct univ_gid_table){ .entries = (uintptr_t)page, .max = 16 };
	CHECK_ERR(raw_call(env.fd, UNIV_GID_TABLE, &table), EFAULT);
	CHECK(table.hdr.reason == UNIV_REASON_FAULT, "reason %u", table.hdr.reason);
	table.entries = 0xffffffffffffff00ull;
	CHECK_ERR(raw_call(env.fd, UNIV_GID_TABLE, &table), EFAULT);
	munmap(page, 2 * PAGE);
	tear_down();
}

/*
 * After EFAULT the object does not exist. For each kind of object, create one on a fresh
 * context with a result that cannot be written. Then no handle of that kind is valid, and
 * the parents can be destroyed, which a child would prevent.
 */
static void fault_leaves_nothing(void)
{
	set_up();
	tear_down();
	for (size_t i = 0; i < rule_count; i++) {
		const struct rule *r = &rules[i];
		uint32_t keep;
		void *page;
		int err;

		if (!r->destroy)
			continue;
		set_up();
		if (!offered(r)) {
			tear_down();
			continue;
		}
		fresh(r);
		buf.hdr.size = r->size;
		page = page_with(&buf, r->size, PROT_READ);
		err = ioctl(env.fd, r->cmd, page) ? errno : 0;
		munmap(page, 2 * PAGE);
		if (refused(r, err)) {
			tear_down();
			continue;
		}
		CHECK(err == EFAULT, "%s: expected EFAULT, got %s", r->name, err_name(err));
		CHECK_ERR(raw_destroy(env.fd, UNIV_QP_DESTROY, env.qp.handle), 0);
		CHECK_ERR(raw_destroy(env.fd, UNIV_QP_DESTROY, env.ud.handle), 0);
		if (env.bare)
			CHECK_ERR(raw_destroy(env.fd, UNIV_QP_DESTROY, env.bare), 0);
		if (env.flow)
			CHECK_ERR(raw_destroy(env.fd, UNIV_FLOW_DESTROY, env.flow), 0);
		if (env.counters)
			CHECK_ERR(raw_destroy(env.fd, UNIV_COUNTERS_DESTROY, env.counters), 0);
		if (env.frames)
			CHECK_ERR(raw_destroy(env.fd, UNIV_QP_DESTROY, env.frames), 0);
		CHECK_ERR(raw_destroy(env.fd, UNIV_SRQ_DESTROY, env.srq.handle), 0);
		CHECK_ERR(raw_destroy(env.fd, UNIV_MR_DEREG, env.mr.handle), 0);
		if (env.odp.handle)
			CHECK_ERR(raw_destroy(env.fd, UNIV_MR_DEREG, env.odp.handle), 0);
		if (env.wq)
			CHECK_ERR(raw_destroy(env.fd, UNIV_WQ_DESTROY, env.wq), 0);
		CHECK_ERR(raw_destroy(env.fd, UNIV_CQ_DESTROY, env.cq.handle), 0);
		if (env.xrcd) {
			CHECK_ERR(raw_destroy(env.fd, UNIV_QP_DESTROY, env.target), 0);
			CHECK_ERR(raw_destroy(env.fd, UNIV_XRCD_CLOSE, env.xrcd), 0);
		}
		CHECK_ERR(raw_destroy(env.fd, UNIV_AH_DESTROY, env.ah), 0);
		if (env.mw)
			CHECK_ERR(raw_destroy(env.fd, UNIV_MW_DEALLOC, env.mw), 0);
		if (env.dm)
			CHECK_ERR(raw_destroy(env.fd, UNIV_DM_FREE, env.dm), 0);
		if (env.cntr)
			CHECK_ERR(raw_destroy(env.fd, UNIV_CNTR_DESTROY, env.cntr), 0);
		if (env.dmah)
			CHECK_ERR(raw_destroy(env.fd, UNIV_DMAH_FREE, env.dmah), 0);
		err = raw_destroy(env.fd, UNIV_PD_DEALLOC, env.pd);
		CHECK(!err, "after a faulted %s its domain cannot go: %s", r->name, err_name(err));
		keep = count_handles(r->destroy, 1000);
		CHECK(!keep, "a faulted %s left %u objects", r->name, keep);
		tear_down();
	}
}

/* Pointers to unmapped memory, into the kernel, unaligned, and across the end of a mapping. */
static void odd_pointers(void)
{
	static const uintptr_t bad[] = { 0, 8, 0xffff888000000000ull, 0xffffffffffffffffull,
		0x7fffffffffffull, 0x800000000000ull };
	const struct univ_pd_alloc alloc = { .hdr.size = sizeof(alloc) };
	char *page = page_with("", 1, PROT_READ | PROT_WRITE);
	struct univ_pd_alloc *arg;
	int err;

	set_up();
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		err = ioctl(env.fd, UNIV_PD_ALLOC, bad[i]) ? errno : 0;
		CHECK(err == EFAULT, "pointer %#lx: %s", bad[i], err_name(err));
	}
	munmap(page + PAGE, PAGE);
	arg = (void *)(page + PAGE - sizeof(*arg) + 8);
	arg->hdr.size = sizeof(*arg);
	err = ioctl(env.fd, UNIV_PD_ALLOC, arg) ? errno : 0;
	CHECK(err == EFAULT, "a struct across the end: %s", err_name(err));
	memcpy(page + 1, &alloc, sizeof(alloc));
	err = ioctl(env.fd, UNIV_PD_ALLOC, page + 1) ? errno : 0;
	CHECK(!err, "a struct that is not aligned: %s", err_name(err));
	munmap(page, PAGE);
	tear_down();
}

/* ---- Unknown numbers ----------------------------------------------------- */

static bool known(unsigned int nr)
{
	if (nr == _IOC_NR(UNIV_KICK))
		return true;
	for (size_t i = 0; i < rule_count; i++)
		if (_IOC_NR(rules[i].cmd) == nr)
			return true;
	return false;
}

static void unknown(void)
{
	int err;

	set_up();
	for (unsigned int nr = 0; nr < 256; nr++) {
		memset(&buf, 0, sizeof(buf));
		buf.hdr.size = sizeof(struct univ_destroy);
		if (!known(nr)) {
			err = ioctl(env.fd, _IO(UNIV_IOCTL_MAGIC, nr), &buf) ? errno : 0;
			CHECK(err == ENOTTY, "number %#x: expected ENOTTY, got %s", nr, err_name(err));
		}
		err = ioctl(env.fd, _IO(UNIV_IOCTL_MAGIC + 1, nr), &buf) ? errno : 0;
		CHECK(err == ENOTTY, "another magic, number %#x: %s", nr, err_name(err));
	}
	err = ioctl(env.fd, _IOWR(UNIV_IOCTL_MAGIC, 0x10, struct univ_pd_alloc), &buf) ? errno : 0;
	CHECK(err == ENOTTY, "a number with a size in it: %s", err_name(err));
	tear_down();
}

static void kick(void)
{
	set_up();
	CHECK_ERR(raw_kick(env.fd, env.qp.handle, UNIV_KICK_SEND), 0);
	CHECK_ERR(raw_kick(env.fd, env.qp.handle, UNIV_KICK_RECV), 0);
	CHECK_ERR(raw_kick(env.fd, env.qp.handle, UNIV_KICK_SEND | UNIV_KICK_RECV), 0);
	CHECK_ERR(raw_kick(env.fd, env.srq.handle, UNIV_KICK_RECV), 0);
	CHECK_ERR(raw_kick(env.fd, env.cq.handle, UNIV_KICK_SEND), EINVAL);
	CHECK_ERR(raw_kick(env.fd, env.pd, UNIV_KICK_RECV), EINVAL);
	if (env.xrcd) {
		CHECK_ERR(raw_kick(env.fd, env.target, UNIV_KICK_SEND), EINVAL);
		CHECK_ERR(raw_kick(env.fd, env.target, UNIV_KICK_RECV), EINVAL);
	}
	CHECK_ERR(raw_kick(env.fd, 0, UNIV_KICK_SEND), EINVAL);
	CHECK_ERR(raw_kick(env.fd, UNIV_KICK_HANDLE, UNIV_KICK_SEND), EINVAL);
	CHECK_ERR(raw_kick(env.fd, env.freed, UNIV_KICK_SEND), EINVAL);
	tear_down();
}

/* The other operations of the file. */
static void other_calls(void)
{
	char byte[64] = {};
	ssize_t n;
	int fd;

	set_up();
	fcntl(env.fd, F_SETFL, O_NONBLOCK);
	errno = 0;
	n = read(env.fd, byte, sizeof(byte));
	CHECK(n == -1 && errno == EAGAIN, "read without events: %zd, %s", n, err_name(errno));
	n = read(env.fd, byte, 1);
	CHECK(n == -1, "read of less than an event: %zd", n);
	n = write(env.fd, byte, sizeof(byte));
	CHECK(n == -1 && errno == EINVAL, "write: %zd, %s", n, err_name(errno));
	CHECK(lseek(env.fd, 0, SEEK_CUR) == -1 || !lseek(env.fd, 0, SEEK_CUR), "lseek");
	fd = open(node_path(), O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		struct univ_context_query q = { 0 };

		CHECK_ERR(raw_call(fd, UNIV_CONTEXT_QUERY, &q), 0);
		close(fd);
	}
	tear_down();
}

static const struct test_case cases[] = {
	{ "sizes", sizes },
	{ "first_versions", first_versions },
	{ "success", success },
	{ "flags", flags },
	{ "reserved", reserved },
	{ "other_flags", other_flags },
	{ "faults", faults },
	{ "fault_leaves_nothing", fault_leaves_nothing },
	{ "odd_pointers", odd_pointers },
	{ "unknown", unknown },
	{ "kick", kick },
	{ "other_calls", other_calls },
};

TEST_MAIN("ioctl_rules (adv09 adv10)", cases, 60)
