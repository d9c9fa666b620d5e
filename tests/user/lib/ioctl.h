/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For programs that stand between the library and the kernel: the program defines library_ioctl(),
 * which the library calls in place of ioctl(), and that calls kernel_ioctl().
 */
#ifndef IOCTL_H
#define IOCTL_H

#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

static int library_ioctl(int fd, unsigned long request, void *arg);

static int kernel_ioctl(int fd, unsigned long request, void *arg)
{
	return (int)syscall(SYS_ioctl, fd, request, arg);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	return library_ioctl(fd, request, arg);
}

#endif
