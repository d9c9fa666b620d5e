// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Files of sysfs, where the kernel describes its RDMA devices. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "base/base.h"

static char sysfs_path[IBV_SYSFS_PATH_MAX] = "/sys";
static pthread_once_t sysfs_once = PTHREAD_ONCE_INIT;

static void sysfs_path_init(void)
{
	/* NULL in a set-user-ID program, whose user must not choose the files that it trusts. */
	const char *env = secure_getenv("SYSFS_PATH");
	size_t len;

	if (!env)
		return;
	len = strnlen(env, sizeof(sysfs_path));
	while (len && env[len - 1] == '/')
		len--;
	if (len >= sizeof(sysfs_path))
		return;
	memcpy(sysfs_path, env, len);
	sysfs_path[len] = '\0';
}

UNIV_EXPORT const char *ibv_get_sysfs_path(void)
{
	pthread_once(&sysfs_once, sysfs_path_init);
	return sysfs_path;
}

static ssize_t file_read(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;
	int err;

	if (fd < 0)
		return -1;
	do {
		len = read(fd, buf, size);
	} while (len < 0 && errno == EINTR);
	err = errno;
	close(fd);
	errno = err;
	return len;
}

/* Fails if the text does not fit: callers would take the first digits for the number. */
UNIV_EXPORT int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
	char path[PATH_MAX];
	ssize_t len;

	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	len = file_read(path, buf, size);
	if (len < 0)
		return -1;
	if (len > 0 && buf[len - 1] == '\n')
		len--;
	if ((size_t)len == size) {
		errno = EOVERFLOW;
		return -1;
	}
	buf[len] = '\0';
	return (int)len;
}
