/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The version of everything in this tree. The library, the tools, DKMS and the
 * packages read it from this line (packaging/version), so a release changes it
 * here, and adds an entry to debian/changelog.
 */
#ifndef UNIV_VERSION_H
#define UNIV_VERSION_H

#define UNIV_VERSION "0.1.0"

#endif
