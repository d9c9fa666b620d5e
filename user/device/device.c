// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The list of devices. A device keeps its address as long as it exists or is
 * referenced, because programs (librdmacm among them) compare pointers from
 * different lists.
 */
#include <errno.h>
#include <pthread.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/device.h"
#include "sys/sys.h"
#include "base/base.h"
#include "why/why.h"

#define VERB_LIST "ibv_get_device_list"

/*
 * One thread at a time asks the kernel, so that the later of two answers is kept.
 * devices_lock is taken inside asking_lock. It is not held while the kernel is
 * asked, since the kernel may load a module before it answers.
 */
static pthread_mutex_t asking_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;
static struct univ_device *devices;	/* under devices_lock, as are all refs */

static void device_drop(struct univ_device *device)
{
	if (!--device->refs)
		free(device);
}

void univ_device_get(struct univ_device *device)
{
	pthread_mutex_lock(&devices_lock);
	device->refs++;
	pthread_mutex_unlock(&devices_lock);
}

void univ_device_put(struct univ_device *device)
{
	pthread_mutex_lock(&devices_lock);
	device_drop(device);
	pthread_mutex_unlock(&devices_lock);
}

static enum ibv_node_type node_type(uint8_t kernel_type)
{
	switch (kernel_type) {
	case RDMA_NODE_IB_CA:
		return IBV_NODE_CA;
	case RDMA_NODE_IB_SWITCH:
		return IBV_NODE_SWITCH;
	case RDMA_NODE_IB_ROUTER:
		return IBV_NODE_ROUTER;
	case RDMA_NODE_RNIC:
		return IBV_NODE_RNIC;
	case RDMA_NODE_USNIC:
		return IBV_NODE_USNIC;
	case RDMA_NODE_USNIC_UDP:
		return IBV_NODE_USNIC_UDP;
	case RDMA_NODE_UNSPECIFIED:
		return IBV_NODE_UNSPECIFIED;
	default:
		return IBV_NODE_UNKNOWN;
	}
}

static enum ibv_transport_type transport_type(enum ibv_node_type type)
{
	switch (type) {
	case IBV_NODE_CA:
	case IBV_NODE_SWITCH:
	case IBV_NODE_ROUTER:
		return IBV_TRANSPORT_IB;
	case IBV_NODE_RNIC:
		return IBV_TRANSPORT_IWARP;
	case IBV_NODE_USNIC:
		return IBV_TRANSPORT_USNIC;
	case IBV_NODE_USNIC_UDP:
		return IBV_TRANSPORT_USNIC_UDP;
	case IBV_NODE_UNSPECIFIED:
		return IBV_TRANSPORT_UNSPECIFIED;
	default:
		return IBV_TRANSPORT_UNKNOWN;
	}
}

static struct univ_device *device_new(const struct univ_found *found)
{
	struct univ_device *device = calloc(1, sizeof(*device));
	struct ibv_device *ibv;

	if (!device)
		return NULL;
	ibv = &device->ibv;
	ibv->node_type = node_type(found->node_type);
	ibv->transport_type = transport_type(ibv->node_type);
	strcpy(ibv->name, found->name);
	strcpy(ibv->dev_name, found->node_name);
	snprintf(ibv->dev_path, sizeof(ibv->dev_path), "%s/class/univerbs/%s",
		 ibv_get_sysfs_path(), ibv->dev_name);
	snprintf(ibv->ibdev_path, sizeof(ibv->ibdev_path), "%s/class/infiniband/%s",
		 ibv_get_sysfs_path(), ibv->name);
	device->index = found->index;
	device->guid = htobe64(found->guid);
	device->node = found->node;
	return device;
}

static bool device_is(const struct univ_device *device, const struct univ_found *found)
{
	return (device->index == found->index || found->index == UNIV_INDEX_UNKNOWN) &&
	       device->guid == htobe64(found->guid) &&
	       device->node == found->node && !strcmp(device->ibv.name, found->name) &&
	       !strcmp(device->ibv.dev_name, found->node_name);
}

/* Takes the device that @found describes out of the former list, or creates it. */
static struct univ_device *device_claim(struct univ_device **former, const struct univ_found *found)
{
	struct univ_device **link;
	struct univ_device *device;

	for (link = former; *link; link = &(*link)->next) {
		if (!device_is(*link, found))
			continue;
		device = *link;
		*link = device->next;
		return device;
	}
	device = device_new(found);
	if (device)
		device->refs = 1;
	return device;
}

void univ_node_path(char path[UNIV_NODE_PATH_MAX], const char *name)
{
	snprintf(path, UNIV_NODE_PATH_MAX, "/dev/infiniband/%s", name);
}

/*
 * A container has only some of the nodes. The stock library does not list the other devices either.
 * Unlike access(2), stat(2) searches directories by the effective user, which opens the node.
 */
static bool node_is_there(const struct univ_found *found)
{
	char path[UNIV_NODE_PATH_MAX];
	struct stat node;

	univ_node_path(path, found->node_name);
	return !stat(path, &node);
}

static bool usable(const struct univ_found *found)
{
	return found->node_name[0] && found->abi == UNIV_ABI_VERSION && node_is_there(found);
}

/*
 * Updates the list to the devices that the kernel has now, in the kernel's order.
 * Returns their number, or -1 if memory is missing for one of them.
 */
static int devices_update(const struct univ_found *found)
{
	struct univ_device *former = devices;
	struct univ_device **tail = &devices;
	struct univ_device *device;
	bool lost = false;
	int count = 0;

	devices = NULL;
	for (; found; found = found->next) {
		if (!usable(found))
			continue;
		device = device_claim(&former, found);
		if (!device) {
			lost = true;
			continue;
		}
		device->next = NULL;
		*tail = device;
		tail = &device->next;
		count++;
	}
	while (former) {
		device = former;
		former = device->next;
		device_drop(device);
	}
	return lost ? -1 : count;
}

static bool module_is_loaded(void)
{
	char path[IBV_SYSFS_PATH_MAX];

	snprintf(path, sizeof(path), "%s/class/univerbs", ibv_get_sysfs_path());
	return !access(path, F_OK);
}

/* The answer of the module for a device whose driver it does not serve. */
static bool refused(const struct univ_found *found)
{
	return found->err == EKEYREJECTED;
}

/* Explains why devices that the stock library lists are missing. */
static void missing_explain(const struct univ_found *found)
{
	const bool loaded = module_is_loaded();

	for (; found; found = found->next)
		if (refused(found))
			univ_fail_driver_unchecked(VERB_LIST, found->name);
		else if (loaded && !found->node_name[0])
			univ_fail_no_verbs(VERB_LIST, found->name);
}

static void unusable_explain(const struct univ_found *found)
{
	char path[UNIV_NODE_PATH_MAX];

	if (found->abi != UNIV_ABI_VERSION) {
		univ_fail_version(VERB_LIST, found->abi, found->name);
		return;
	}
	univ_node_path(path, found->node_name);
	univ_fail_open(VERB_LIST, ENOENT, path);
}

/* Explains why the list is empty. */
static void nothing_explain(const struct univ_found *found)
{
	if (!found)
		univ_fail_no_device(VERB_LIST);
	else if (found->node_name[0])
		unusable_explain(found);
	else if (!module_is_loaded())
		univ_fail_no_module(VERB_LIST, found->name);
}

/* A list that is not empty is a success, so errno is restored. */
static void list_explain(const struct univ_found *found, int count)
{
	int err = errno;

	if (!count)
		nothing_explain(found);
	missing_explain(found);
	if (count)
		errno = err;
}

static struct ibv_device **list_make(int count)
{
	struct ibv_device **list = count < 0 ? NULL : calloc((size_t)count + 1, sizeof(*list));
	struct univ_device *device;
	unsigned int i = 0;

	if (!list)
		return NULL;
	for (device = devices; device; device = device->next) {
		device->refs++;
		list[i++] = &device->ibv;
	}
	return list;
}

/* Errors of a process that may not use netlink. Other errors say that the kernel has no answer. */
static bool netlink_is_barred(int err)
{
	return err == EAFNOSUPPORT || err == EPERM || err == EACCES || err == ENOSYS;
}

/* If sysfs cannot be read either, netlink's error is the one to report. */
static int kernel_ask(struct univ_found **found)
{
	int before = errno;
	int err = univ_netlink_find(found);

	if (!netlink_is_barred(err))
		return err;
	univ_found_free(*found);
	*found = NULL;
	if (univ_sysfs_find(found))
		return err;
	errno = before;
	return 0;
}

/* Fills @found and, on success, @list, which stays NULL if memory is missing. */
static int list_ask(struct univ_found **found, struct ibv_device ***list, int *count)
{
	int err = kernel_ask(found);

	/* A kernel without RDMA does not know the socket's family. */
	if (err && err != EPROTONOSUPPORT)
		return err;
	pthread_mutex_lock(&devices_lock);
	*count = devices_update(*found);
	*list = list_make(*count);
	pthread_mutex_unlock(&devices_lock);
	return 0;
}

#undef ibv_get_device_list
UNIV_EXPORT struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct ibv_device **list = NULL;
	struct univ_found *found;
	int count = 0, err, state;

	if (num_devices)
		*num_devices = 0;
	/* Netlink and sysfs have cancellation points. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_mutex_lock(&asking_lock);
	err = list_ask(&found, &list, &count);
	pthread_mutex_unlock(&asking_lock);
	pthread_setcancelstate(state, &state);
	if (err)
		univ_fail_unknown(VERB_LIST, err);
	else if (!list)
		univ_fail_memory(VERB_LIST, sizeof(struct univ_device));
	else
		list_explain(found, count);
	univ_found_free(found);
	if (list && num_devices)
		*num_devices = count;
	return list;
}

UNIV_EXPORT void ibv_free_device_list(struct ibv_device **list)
{
	struct ibv_device **each;

	if (!list)
		return;
	pthread_mutex_lock(&devices_lock);
	for (each = list; *each; each++)
		device_drop(to_udevice(*each));
	pthread_mutex_unlock(&devices_lock);
	free(list);
}

UNIV_EXPORT const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

UNIV_EXPORT int ibv_get_device_index(struct ibv_device *device)
{
	return (int)to_udevice(device)->index;
}

UNIV_EXPORT __be64 ibv_get_device_guid(struct ibv_device *device)
{
	return to_udevice(device)->guid;
}
