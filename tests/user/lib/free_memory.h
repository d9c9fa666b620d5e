/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The free memory of the machine, to measure what many objects take. This needs root and an
 * otherwise idle machine.
 */
#ifndef FREE_MEMORY_H
#define FREE_MEMORY_H

#include "check.h"
#include "clock.h"
#include "number.h"

/* Memory in the per-CPU page lists, which MemFree does not count although it is free. */
static long free_memory_kept(void)
{
	char line[128];
	long pages, kb = 0;
	FILE *f = fopen("/proc/zoneinfo", "r");

	NEED(f, "/proc/zoneinfo");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " count: %ld", &pages) == 1)
			kb += pages * 4;
	fclose(f);
	return kb;
}

/* In KiB. Frees the caches and waits for grace periods first; stat_refresh adds up the counters of each CPU. */
static long free_memory(void)
{
	char line[128];
	long kb = -1;
	FILE *f;

	sleep_ms(300);
	write_number("/proc/sys/vm/drop_caches", 3);
	write_number("/proc/sys/vm/stat_refresh", 1);
	f = fopen("/proc/meminfo", "r");
	while (f && kb < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "MemFree: %ld", &kb);
	NEED(kb >= 0, "/proc/meminfo");
	fclose(f);
	return kb + free_memory_kept();
}

#endif
