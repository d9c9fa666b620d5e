/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Marks what libibverbs.map may export; everything else stays inside the library. */
#ifndef UNIV_EXPORT_H
#define UNIV_EXPORT_H

#define UNIV_EXPORT __attribute__((visibility("default")))

#endif /* UNIV_EXPORT_H */
