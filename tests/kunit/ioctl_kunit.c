// SPDX-License-Identifier: GPL-2.0
/*
 * Test the rules of uapi/univerbs.h that every ioctl keeps. The tests walk the dispatch
 * table itself, so that a new row is covered at once (adv09, adv10). A call that passes
 * every check is stopped by the dead context: ENODEV means success.
 */
#include "../../kernel/core/node/ioctl.c"

#include "fixture.h"

long fixture_dispatch(struct univ_context *ctx, unsigned int cmd,
		      unsigned long arg)
{
	if (cmd == UNIV_KICK)
		return univ_kick(ctx, arg);
	return call_dispatch(ctx, cmd, (void __user *)arg);
}

#define for_each_row(row, nr)						\
	for ((nr) = 0; (nr) < ARRAY_SIZE(ioctls); (nr)++)		\
		if (((row) = &ioctls[nr])->handler)

#define CMD(nr) _IO(UNIV_IOCTL_MAGIC, nr)

/* Allocate memory of the process for structs that are longer than the kernel's. */
static u8 *buffer(struct kunit *test)
{
	u8 *buf = kunit_kzalloc(test, 2 * PAGE_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, buf);
	return buf;
}

static int dead_init(struct kunit *test)
{
	int ret = fixture_init(test);

	if (!ret)
		fixture_kill(test->priv);
	return ret;
}

static void ioctl_table_makes_sense(struct kunit *test)
{
	const struct univ_ioctl *row;
	const struct univ_field *field;
	size_t nr, i;

	for_each_row(row, nr) {
		KUNIT_EXPECT_LE_MSG(test, row->size, sizeof(union univ_arg),
				    "row %#zx", nr);
		KUNIT_EXPECT_LE_MSG(test, row->min, row->size, "row %#zx", nr);
		KUNIT_EXPECT_GE_MSG(test, row->min, sizeof(struct univ_hdr),
				    "row %#zx", nr);
		KUNIT_EXPECT_EQ_MSG(test, row->size % 8, 0, "row %#zx", nr);
		for (i = 0; i < ARRAY_SIZE(row->reserved); i++) {
			field = &row->reserved[i];
			if (!field->len)
				continue;
			KUNIT_EXPECT_GE_MSG(test, field->offset,
					    sizeof(struct univ_hdr),
					    "row %#zx", nr);
			KUNIT_EXPECT_LE_MSG(test, field->offset + field->len,
					    row->size, "row %#zx", nr);
			/* A list ends at its first empty field. */
			KUNIT_EXPECT_TRUE_MSG(test,
					      !i || row->reserved[i - 1].len,
					      "row %#zx", nr);
		}
	}
}

static void ioctl_too_short(struct kunit *test)
{
	struct fixture *f = test->priv;
	const struct univ_ioctl *row;
	u8 *buf = buffer(test);
	struct univ_hdr *hdr = (void *)buf;
	size_t nr;
	u32 size;

	for_each_row(row, nr)
		for (size = 0; size < row->min; size++) {
			memset(buf, 0, PAGE_SIZE);
			hdr->size = size;
			KUNIT_EXPECT_EQ_MSG(test,
					    fixture_call(f, CMD(nr), buf,
							 size ?: 4),
					    -EINVAL, "row %#zx size %u", nr,
					    size);
			if (size >= sizeof(*hdr))
				KUNIT_EXPECT_EQ(test, hdr->reason,
						UNIV_REASON_SIZE);
		}
}

static void ioctl_exact_and_longer(struct kunit *test)
{
	static const u32 more[] = { 0, 1, 8, 64, 500 };
	struct fixture *f = test->priv;
	const struct univ_ioctl *row;
	u8 *buf = buffer(test);
	struct univ_hdr *hdr = (void *)buf;
	size_t nr, i;

	for_each_row(row, nr)
		for (i = 0; i < ARRAY_SIZE(more); i++) {
			memset(buf, 0, 2 * PAGE_SIZE);
			KUNIT_EXPECT_EQ_MSG(test,
					    fixture_call(f, CMD(nr), buf,
							 row->size + more[i]),
					    -ENODEV, "row %#zx + %u", nr,
					    more[i]);
			KUNIT_EXPECT_EQ(test, hdr->reason,
					UNIV_REASON_DEVICE_GONE);
		}
}

static void ioctl_tail_not_zero(struct kunit *test)
{
	static const u32 more[] = { 1, 8, 500 };
	struct fixture *f = test->priv;
	const struct univ_ioctl *row;
	u8 *buf = buffer(test);
	struct univ_hdr *hdr = (void *)buf;
	size_t nr, i;
	u32 size;

	for_each_row(row, nr) {
		for (i = 0; i < ARRAY_SIZE(more); i++) {
			size = row->size + more[i];
			memset(buf, 0, 2 * PAGE_SIZE);
			buf[size - 1] = 1;
			KUNIT_EXPECT_EQ_MSG(test,
					    fixture_call(f, CMD(nr), buf, size),
					    -E2BIG, "row %#zx + %u", nr,
					    more[i]);
			KUNIT_EXPECT_EQ(test, hdr->reason, UNIV_REASON_TAIL);
			KUNIT_EXPECT_EQ(test, hdr->value, size);
			KUNIT_EXPECT_EQ(test, hdr->bound, row->size);
		}
		memset(buf, 0, 2 * PAGE_SIZE);
		KUNIT_EXPECT_EQ_MSG(test,
				    fixture_call(f, CMD(nr), buf,
						 PAGE_SIZE + 8),
				    -E2BIG, "row %#zx", nr);
	}
}

static void ioctl_reserved_not_zero(struct kunit *test)
{
	struct fixture *f = test->priv;
	const struct univ_ioctl *row;
	u8 *buf = buffer(test);
	struct univ_hdr *hdr = (void *)buf;
	size_t nr, i, at;

	for_each_row(row, nr)
		for (i = 0; i < ARRAY_SIZE(row->reserved); i++)
			for (at = 0; at < row->reserved[i].len; at++) {
				memset(buf, 0, PAGE_SIZE);
				buf[row->reserved[i].offset + at] = 0x80;
				KUNIT_EXPECT_EQ_MSG(test,
						    fixture_call(f, CMD(nr),
								 buf,
								 row->size),
						    -EOPNOTSUPP,
						    "row %#zx byte %zu", nr,
						    at);
				KUNIT_EXPECT_EQ(test, hdr->reason,
						UNIV_REASON_RESERVED);
				KUNIT_EXPECT_EQ(test, hdr->value,
						row->reserved[i].offset);
			}
}

static void ioctl_flags_unknown(struct kunit *test)
{
	struct fixture *f = test->priv;
	const struct univ_ioctl *row;
	u8 *buf = buffer(test);
	struct univ_hdr *hdr = (void *)buf;
	size_t nr;
	int bit;

	for_each_row(row, nr)
		for (bit = 0; bit < 32; bit++) {
			memset(buf, 0, PAGE_SIZE);
			hdr->flags = BIT(bit);
			KUNIT_EXPECT_EQ_MSG(test,
					    fixture_call(f, CMD(nr), buf,
							 row->size),
					    -EOPNOTSUPP, "row %#zx bit %d", nr,
					    bit);
			KUNIT_EXPECT_EQ(test, hdr->reason, UNIV_REASON_FLAGS);
		}
}

/* The kernel overwrites the reply fields of the header, whatever the process wrote there. */
static void ioctl_head_is_ours(struct kunit *test)
{
	struct fixture *f = test->priv;
	const struct univ_ioctl *row;
	u8 *buf = buffer(test);
	struct univ_hdr *hdr = (void *)buf;
	size_t nr;

	for_each_row(row, nr) {
		memset(buf, 0, PAGE_SIZE);
		hdr->reason = U32_MAX;
		hdr->detail = U32_MAX;
		hdr->value = U64_MAX;
		hdr->bound = U64_MAX;
		KUNIT_EXPECT_EQ(test, fixture_call(f, CMD(nr), buf, row->size),
				-ENODEV);
		KUNIT_EXPECT_EQ(test, hdr->reason, UNIV_REASON_DEVICE_GONE);
		KUNIT_EXPECT_EQ(test, hdr->detail, 0);
		KUNIT_EXPECT_EQ(test, hdr->value, 0);
		KUNIT_EXPECT_EQ(test, hdr->bound, 0);
		KUNIT_EXPECT_EQ(test, hdr->size, row->size);
	}
}

/* Return how often @text contains @words. */
static int times(const char *text, const char *words)
{
	int n = 0;

	while ((text = strstr(text, words))) {
		text += strlen(words);
		n++;
	}
	return n;
}

/* Each failed call is kept with its reason. The newest is first, and takes the place of the oldest. */
static void ioctl_failures_are_kept(struct kunit *test)
{
	struct fixture *f = test->priv;
	u8 *buf = buffer(test);
	char *page = (char *)get_zeroed_page(GFP_KERNEL);
	u32 size;

	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_EXPECT_EQ(test, univ_failed_calls_show(&f->dev->failed, page), 0);
	strscpy(f->ctx->name, "na\nme:1", sizeof(f->ctx->name));
	for (size = 4; size < 4 + UNIV_FAILED_CALLS + 2; size++) {
		memset(buf, 0, PAGE_SIZE);
		KUNIT_EXPECT_EQ(test, fixture_call(f, UNIV_QP_CREATE, buf, size), -EINVAL);
	}
	univ_failed_calls_show(&f->dev->failed, page);
	KUNIT_EXPECT_EQ_MSG(test, times(page, " QP_CREATE error -22 reason 1 detail 0x0 value "),
			    UNIV_FAILED_CALLS, "%s", page);
	KUNIT_EXPECT_EQ_MSG(test, times(page, " by na\\nme:1\n"), UNIV_FAILED_CALLS, "%s", page);
	KUNIT_EXPECT_EQ(test, times(page, "\n"), UNIV_FAILED_CALLS);
	KUNIT_EXPECT_NULL_MSG(test, strstr(page, "value 5 "), "%s", page);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(page, "value 6 "), "%s", page);
	KUNIT_EXPECT_TRUE_MSG(test, strstr(page, "value 37 ") < strstr(page, "value 36 "), "%s",
			      page);
	free_page((unsigned long)page);
}

/* Long lines fill a page; the last of them is whole. */
static void ioctl_failures_fit_in_a_page(struct kunit *test)
{
	struct univ_hdr hdr = { .reason = U32_MAX, .detail = U32_MAX,
				.value = U64_MAX, .bound = U64_MAX };
	struct fixture *f = test->priv;
	char *page = (char *)get_zeroed_page(GFP_KERNEL);
	char name[sizeof(f->ctx->name)];
	ssize_t length;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, page);
	memset(name, 1, sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (i = 0; i < UNIV_FAILED_CALLS; i++)
		univ_failed_calls_add(&f->dev->failed, "MR_NULL_ALLOC", name, -MAX_ERRNO, &hdr);
	length = univ_failed_calls_show(&f->dev->failed, page);
	KUNIT_EXPECT_LT(test, length, (ssize_t)PAGE_SIZE);
	KUNIT_EXPECT_GT(test, length, (ssize_t)PAGE_SIZE - 512);
	KUNIT_EXPECT_EQ(test, strlen(page), (size_t)length);
	KUNIT_EXPECT_EQ(test, page[length - 1], '\n');
	free_page((unsigned long)page);
}

static void ioctl_unknown_commands(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int nr;

	for (nr = 0; nr < 256; nr++) {
		unsigned int cmd = CMD(nr);

		if (cmd == UNIV_KICK)
			continue;
		if (nr >= ARRAY_SIZE(ioctls) || !ioctls[nr].handler)
			KUNIT_EXPECT_EQ_MSG(test,
					    fixture_call_at(f, cmd, f->user),
					    -ENOTTY, "command %#x", cmd);
		/* The same number with another magic, or with a size or a direction, is unknown. */
		KUNIT_EXPECT_EQ(test,
				fixture_call_at(f, _IO(UNIV_IOCTL_MAGIC ^ 1, nr),
						f->user), -ENOTTY);
		KUNIT_EXPECT_EQ(test,
				fixture_call_at(f, _IOWR(UNIV_IOCTL_MAGIC, nr,
							 u64), f->user),
				-ENOTTY);
	}
}

static void ioctl_no_memory_there(struct kunit *test)
{
	static const unsigned long nowhere[] = { 0, 8, TASK_SIZE_MAX - 2,
						 -8ul, PAGE_OFFSET };
	struct fixture *f = test->priv;
	const struct univ_ioctl *row;
	size_t nr, i;

	for_each_row(row, nr)
		for (i = 0; i < ARRAY_SIZE(nowhere); i++)
			KUNIT_EXPECT_EQ_MSG(test,
					    fixture_call_at(f, CMD(nr),
							    nowhere[i]),
					    -EFAULT, "row %#zx at %#lx", nr,
					    nowhere[i]);
}

static void ioctl_kick_when_dead(struct kunit *test)
{
	struct fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, fixture_kick(f, 1, UNIV_KICK_SEND), -ENODEV);
}

static struct kunit_case ioctl_cases[] = {
	KUNIT_CASE(ioctl_table_makes_sense),
	KUNIT_CASE(ioctl_too_short),
	KUNIT_CASE(ioctl_exact_and_longer),
	KUNIT_CASE(ioctl_tail_not_zero),
	KUNIT_CASE(ioctl_reserved_not_zero),
	KUNIT_CASE(ioctl_flags_unknown),
	KUNIT_CASE(ioctl_head_is_ours),
	KUNIT_CASE(ioctl_failures_are_kept),
	KUNIT_CASE(ioctl_failures_fit_in_a_page),
	KUNIT_CASE(ioctl_unknown_commands),
	KUNIT_CASE(ioctl_no_memory_there),
	KUNIT_CASE(ioctl_kick_when_dead),
	{}
};

static struct kunit_suite ioctl_suite = {
	.name = "univ_ioctl",
	.suite_init = fixture_suite_init,
	.suite_exit = fixture_suite_exit,
	.init = dead_init,
	.exit = fixture_exit,
	.test_cases = ioctl_cases,
};
kunit_test_suite(ioctl_suite);
