/* SPDX-License-Identifier: GPL-2.0 */
/* The pool of inputs: saved, loaded, and changed at random. */
#ifndef POOL_H
#define POOL_H

#include <dirent.h>
#include <sys/stat.h>
#include "input.h"

static void input_save(const struct input *in, const char *why, uint64_t number)
{
	char path[512];
	FILE *f;

	if (!fuzz_out)
		return;
	snprintf(path, sizeof(path), "%s/%s-%" PRIu64, fuzz_out, why, number);
	f = fopen(path, "w");
	if (!f)
		return;
	fwrite(in->byte, 1, in->len, f);
	fclose(f);
}

/* The input is on disk before it runs, in case the kernel crashes. */
static void input_running(void)
{
	static int fd = -1;
	char path[512];

	if (!fuzz_out)
		return;
	if (fd < 0) {
		snprintf(path, sizeof(path), "%s/running", fuzz_out);
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	}
	if (fd >= 0 && (pwrite(fd, fuzz->current.byte, fuzz->current.len, 0) < 0 ||
			ftruncate(fd, fuzz->current.len)))
		close(fd);
}

static void input_load(const char *path)
{
	struct input *in = &fuzz->pool[fuzz->pool_count];
	FILE *f = fopen(path, "r");

	NEED(f, "%s: %s", path, err_name(errno));
	if (fuzz->pool_count < POOL_MAX) {
		in->len = fread(in->byte, 1, INPUT_MAX, f);
		fuzz->pool_count++;
	}
	fclose(f);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void inputs_load(const char *path)
{
	struct dirent **entry;
	char name[512];
	struct stat st;
	int n;

	if (!stat(path, &st) && !S_ISDIR(st.st_mode)) {
		input_load(path);
		return;
	}
	n = scandir(path, &entry, NULL, by_name);
	NEED(n >= 0, "%s: %s", path, err_name(errno));
	for (int i = 0; i < n; i++) {
		if (entry[i]->d_name[0] != '.') {
			snprintf(name, sizeof(name), "%s/%s", path, entry[i]->d_name);
			input_load(name);
		}
		free(entry[i]);
	}
	free(entry);
}

static void change_once(struct input *in, uint64_t *seed)
{
	const struct input *other = &fuzz->pool[rnd(seed) % (fuzz->pool_count ? fuzz->pool_count : 1)];
	uint32_t at = rnd(seed) % in->len, n = 1 + rnd(seed) % 16, from;

	switch (rnd(seed) % 6) {
	case 0:
		in->byte[at] ^= 1 << rnd(seed) % 8;
		break;
	case 1:
		in->byte[at] = rnd(seed);
		break;
	case 2:		/* remove a piece */
		n = n < in->len - at ? n : in->len - at;
		memmove(in->byte + at, in->byte + at + n, in->len - at - n);
		in->len -= n;
		break;
	case 3:		/* insert random bytes */
		if (in->len + n > INPUT_MAX)
			break;
		memmove(in->byte + at + n, in->byte + at, in->len - at);
		for (uint32_t i = 0; i < n; i++)
			in->byte[at + i] = rnd(seed);
		in->len += n;
		break;
	case 4:		/* continue as another input */
		if (!other->len)
			break;
		from = rnd(seed) % other->len;
		n = other->len - from < INPUT_MAX - at ? other->len - from : INPUT_MAX - at;
		memmove(in->byte + at, other->byte + from, n);
		in->len = at + n;
		break;
	default:	/* repeat a piece */
		n = n < in->len - at ? n : in->len - at;
		if (in->len + n > INPUT_MAX)
			break;
		memmove(in->byte + at + n, in->byte + at, in->len - at);
		in->len += n;
	}
}

static void input_next(void)
{
	struct input *in = &fuzz->current;
	uint64_t *seed = &fuzz->seed;

	if (fuzz->next_named < fuzz->named) {
		*in = fuzz->pool[fuzz->next_named++];
		return;
	}
	if (fuzz->pool_count && rnd(seed) % 5) {
		*in = fuzz->pool[rnd(seed) % fuzz->pool_count];
	} else {
		in->len = 8 + rnd(seed) % 200;
		for (uint32_t i = 0; i < in->len; i++)
			in->byte[i] = rnd(seed);
	}
	for (uint32_t n = 1 + rnd(seed) % 8; n && in->len; n--)
		change_once(in, seed);
}

#endif
