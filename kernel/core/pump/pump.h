/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pump: an implementation of struct univ_queue_ops that serves any
 * ib_device. It moves requests from the shared rings to the device through
 * kernel verbs, and completions back.
 *
 * This room knows the post and poll functions of kernel verbs and which drivers
 * may be given requests of processes. It does not know ioctls or how objects
 * are created.
 */
#ifndef UNIV_PUMP_H
#define UNIV_PUMP_H

struct ib_device;
struct univ_device;
struct univ_driver;

const struct univ_driver *univ_driver_find(struct ib_device *ib);
int univ_pump_add(struct univ_device *dev, const struct univ_driver *driver);
void univ_pump_remove(struct univ_device *dev);

#endif
