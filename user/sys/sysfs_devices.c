// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Finds devices in sysfs, for a process that may not use netlink (a seccomp filter, or systemd's
 * RestrictAddressFamilies=). sysfs has neither the index of a device nor the version of the
 * module's ABI, and reading it loads no module.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include <infiniband/verbs.h>

#include "sys/sys.h"

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Reads /sys/class/@class/@name/@file. Returns false if it cannot be read, or does not fit. */
static bool attribute_read(const char *class, const char *name, const char *file, char *text,
			   size_t size)
{
	char dir[IBV_SYSFS_PATH_MAX + 64];

	if (snprintf(dir, sizeof(dir), "%s/class/%s/%s", ibv_get_sysfs_path(), class, name) >=
	    (int)sizeof(dir))
		return false;
	return ibv_read_sysfs_file(dir, file, text, size) > 0;
}

/* Fails for a device that this network namespace does not see. */
static bool device_read(struct univ_found *found, const char *name)
{
	unsigned int part[4], type;
	char text[64];

	if (strlen(name) >= sizeof(found->name) ||
	    !attribute_read("infiniband", name, "node_guid", text, sizeof(text)) ||
	    sscanf(text, "%4x:%4x:%4x:%4x", &part[0], &part[1], &part[2], &part[3]) != 4)
		return false;
	strcpy(found->name, name);
	found->index = UNIV_INDEX_UNKNOWN;
	for (int i = 0; i < 4; i++)
		found->guid = found->guid << 16 | part[i];
	if (attribute_read("infiniband", name, "node_type", text, sizeof(text)) &&
	    sscanf(text, "%u:", &type) == 1)
		found->node_type = (uint8_t)type;
	return true;
}

/* ibv_open_device(3) asks the module for the version of its ABI. */
static bool node_read(struct univ_found *found, const char *node)
{
	unsigned int major_number, minor_number;
	char text[64];

	if (strlen(node) >= sizeof(found->node_name) ||
	    !attribute_read("univerbs", node, "dev", text, sizeof(text)) ||
	    sscanf(text, "%u:%u", &major_number, &minor_number) != 2)
		return false;
	strcpy(found->node_name, node);
	found->node = makedev(major_number, minor_number);
	found->abi = UNIV_ABI_VERSION;
	return true;
}

static bool is_listed(const struct univ_found *list, const char *name)
{
	for (; list; list = list->next)
		if (!strcmp(list->name, name))
			return true;
	return false;
}

/* The device of the node @entry, or, if @nodes is false, the device @entry without a node. */
static int entry_add(struct univ_found **list, const char *entry, bool nodes)
{
	struct univ_found *found;
	char name[NAME_MAX + 1];

	if (!nodes)
		snprintf(name, sizeof(name), "%s", entry);
	else if (!attribute_read("univerbs", entry, "ibdev", name, sizeof(name)))
		return 0;
	if (is_listed(*list, name))
		return 0;
	found = calloc(1, sizeof(*found));
	if (!found)
		return ENOMEM;
	if (!device_read(found, name) || (nodes && !node_read(found, entry))) {
		free(found);
		return 0;
	}
	while (*list)
		list = &(*list)->next;
	*list = found;
	return 0;
}

/* In the order of the numbers in the names, which for nodes is mostly that of the arrivals. */
static int class_read(struct univ_found **list, const char *class, bool nodes)
{
	char dir[IBV_SYSFS_PATH_MAX + 32];
	struct dirent **entries;
	int count, err = 0;

	snprintf(dir, sizeof(dir), "%s/class/%s", ibv_get_sysfs_path(), class);
	count = scandir(dir, &entries, visible, versionsort);
	if (count < 0)
		return errno;
	for (int i = 0; i < count; i++) {
		if (!err)
			err = entry_add(list, entries[i]->d_name, nodes);
		free(entries[i]);
	}
	free(entries);
	return err;
}

int univ_sysfs_find(struct univ_found **list)
{
	int err = class_read(list, "univerbs", true);

	/* Without the module, all devices are devices without a node. */
	return err && err != ENOENT ? err : class_read(list, "infiniband", false);
}
