/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Marks the functions and data that the library exports; everything else stays inside it. */
#ifndef UNIV_EXPORT_H
#define UNIV_EXPORT_H

#define UNIV_EXPORT __attribute__((visibility("default")))

#endif /* UNIV_EXPORT_H */
