// SPDX-License-Identifier: GPL-2.0
// Two processes of MPICH exchange messages of many sizes, write to and read from each other's
// windows, and count in both with atomic operations. Each byte is checked.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST (4 << 20)

static int rank, wrong;
static unsigned char *mine, *theirs;

static unsigned char byte_of(int from, int round, int i)
{
	return i * 31 + i / 256 * 7 + round * 13 + from * 101;
}

static void fill(unsigned char *data, int from, int round, int size)
{
	for (int i = 0; i < size; i++)
		data[i] = byte_of(from, round, i);
}

static void check(const char *what, const unsigned char *data, int from, int round, int size)
{
	for (int i = 0; i < size; i++) {
		if (data[i] == byte_of(from, round, i))
			continue;
		printf("%s of %d bytes: byte %d is wrong\n", what, size, i);
		wrong++;
		return;
	}
}

/* Both send at once, so that large messages of both directions are on their way together. */
static void messages(void)
{
	static const int sizes[] = {1, 64, 4096, 8191, 65537, 1 << 20, MOST};

	for (int round = 0; round < (int)(sizeof(sizes) / sizeof(sizes[0])); round++) {
		int size = sizes[round];

		fill(mine, rank, round, size);
		memset(theirs, 0, size);
		MPI_Sendrecv(mine, size, MPI_BYTE, !rank, round, theirs, size, MPI_BYTE, !rank,
			     round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		check("a message", theirs, !rank, round, size);
	}
}

static void one_sided(void)
{
	const int size = 100003;
	unsigned char *window;
	MPI_Win win;

	MPI_Win_allocate(2 * size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
	memset(window, 0, 2 * size);
	fill(window, rank, 50, size);
	fill(mine, rank, 51, size);
	MPI_Win_fence(0, win);
	MPI_Get(theirs, size, MPI_BYTE, !rank, 0, size, MPI_BYTE, win);
	MPI_Put(mine, size, MPI_BYTE, !rank, size, size, MPI_BYTE, win);
	MPI_Win_fence(0, win);
	check("a read", theirs, !rank, 50, size);
	check("a write", window + size, !rank, 51, size);
	MPI_Win_free(&win);
}

/* Each adds to both counters, and each value before an addition must come once. */
static void atomics(void)
{
	enum { TIMES = 100 };
	unsigned char *seen = calloc(2, 2 * TIMES), *all = calloc(2, 2 * TIMES);
	long one = 1, before, *counter;
	MPI_Win win;

	MPI_Win_allocate(sizeof(*counter), sizeof(*counter), MPI_INFO_NULL, MPI_COMM_WORLD,
			 &counter, &win);
	*counter = 0;
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, win);
	for (int i = 0; i < 2 * TIMES; i++) {
		int to = i & 1;

		MPI_Fetch_and_op(&one, &before, MPI_LONG, to, 0, MPI_SUM, win);
		MPI_Win_flush(to, win);
		if (before >= 0 && before < 2 * TIMES)
			seen[to * 2 * TIMES + before]++;
	}
	MPI_Win_unlock_all(win);
	MPI_Allreduce(seen, all, 4 * TIMES, MPI_UNSIGNED_CHAR, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < 4 * TIMES; i++) {
		if (all[i] != 1) {
			printf("value %d came %d times\n", i, all[i]);
			wrong++;
			break;
		}
	}
	MPI_Win_free(&win);
	free(seen);
	free(all);
}

static void say_library(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[1000];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "/libibverbs.so"))
			continue;
		printf("mapped: %s", strchr(line, '/'));
		break;
	}
	if (maps)
		fclose(maps);
}

int main(int argc, char **argv)
{
	int all;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	mine = malloc(MOST);
	theirs = malloc(MOST);
	messages();
	one_sided();
	atomics();
	say_library();
	MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (!rank && !all)
		printf("same bytes: messages, windows and counters\n");
	MPI_Finalize();
	free(mine);
	free(theirs);
	return all != 0;
}
