# SPDX-License-Identifier: GPL-2.0
#
# For the Kbuild file of a driver that lies outside the sources of univerbs:
#   obj-m := my_driver.o
#   include @DATADIR@/univerbs/driver.mk
# It adds the flags that the headers of univerbs need, and tells modpost which symbols the installed univerbs.ko exports.
# UNIVERBS_SYMVERS= names another file of symbols, as Module.symvers of a source tree.

# $(srctree) and $(objtree) are the directories of the kernel, as everywhere in Kbuild.
include @DATADIR@/univerbs/compat.mk
ccflags-y += -I@INCLUDEDIR@/univerbs/kernel -I@INCLUDEDIR@/univerbs/univerbs $(univ-compat)

# The symbols were installed by DKMS or by make install.
univ-release := $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' $(objtree)/include/generated/utsrelease.h)
UNIVERBS_SYMVERS ?= $(lastword $(wildcard /var/lib/dkms/univerbs/*/$(univ-release)/*/Module.symvers \
	/lib/modules/$(univ-release)/extra/univerbs.symvers))
$(if $(UNIVERBS_SYMVERS),,$(warning univerbs.ko is not installed for $(univ-release)))
KBUILD_EXTRA_SYMBOLS += $(UNIVERBS_SYMVERS)
