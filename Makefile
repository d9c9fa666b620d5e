# SPDX-License-Identifier: GPL-2.0
#
# univerbs: kernel modules, library, tests. `make help` lists the targets.

# SHELL=1 with the target t asks for a shell in the guest. The name is also make's own, here and in the makes below.
ifeq ($(SHELL),1)
CONSOLE := 1
MAKEOVERRIDES := $(filter-out SHELL=%,$(MAKEOVERRIDES))
endif
override SHELL := /bin/bash

prefix ?= /usr/local
bindir ?= $(prefix)/bin
sbindir ?= $(prefix)/sbin
libdir ?= $(prefix)/lib
includedir ?= $(prefix)/include
datadir ?= $(prefix)/share
mandir ?= $(datadir)/man
pkgconfigdir ?= $(libdir)/pkgconfig
udevrulesdir ?= $(prefix)/lib/udev/rules.d
systemdunitdir ?= $(prefix)/lib/systemd/system
# Where DKMS finds sources
srcdir ?= /usr/src
INSTALL ?= install

# The kernel to build for: the running one if it has its headers, else the newest that has
KDIR ?= /lib/modules/$(shell . ./tests/vm/kernel.sh && pick_release)/build
# The release that modules built there contain; Debian's kernel.release differs from it. Expanded when used, since
# `make deps` may have to install those headers first.
RELEASE = $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/include/generated/utsrelease.h)
moddir ?= /lib/modules/$(RELEASE)/extra

# Line numbers for backtraces, and no types: with Debian's -g a module is 28 times as large, and a guest loads it slower.
# Not exported, since a stage also builds a kernel, which takes it from the environment.
# Without types a module's BTF (CONFIG_DEBUG_INFO_BTF_MODULES) would be wrong: libbpf refuses to work while it is loaded.
KCFLAGS ?= -g1

O := $(CURDIR)/build/user
# Variables with which scripts build for and boot the same kernel
SETTINGS = KDIR=$(KDIR) UNIV_RELEASE=$(RELEASE)

.PHONY: all modules user test-programs built install install-modules install-user install-driver install-dkms uninstall uninstall-dkms deb rpm deps deps-kernel demo check check-all quick t adversaries coverage matrix kernels mutants fuzz fuzz-proof soak soak-wire bench clean help

all: modules user

modules:
	@echo 'modules for $(RELEASE)$(if $(findstring -rt-,$(RELEASE)), (PREEMPT_RT)); KDIR= chooses another kernel'
	$(MAKE) -C $(KDIR) M=$(CURDIR) KCFLAGS='$(KCFLAGS)' CONFIG_DEBUG_INFO_BTF_MODULES= modules

user:
	$(MAKE) -C user O=$(O)

# The programs that tests/guest runs: those that link with the library, the fuzzers, and a device of a driver that univerbs
# does not know. Stages that run at the same time find all of them built.
test-programs: user
	$(MAKE) -C tests/user
	$(MAKE) -C tests/fuzz
	$(MAKE) -C tests/programs
	$(MAKE) -C $(KDIR) M=$(CURDIR)/tests/unknown KCFLAGS='$(KCFLAGS)' CONFIG_DEBUG_INFO_BTF_MODULES= modules

# All of these, with every processor: make builds the prerequisites of a target one by one if it has no -j
built:
	@$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc)) all test-programs

install: install-modules install-user

# The symbols are for drivers outside this tree (packaging/driver.mk)
install-modules:
	@[ -n "$(wildcard kernel/*/*.ko)" ] && [ -e $(O)/libibverbs.so.1 ] || { echo "run make first" >&2; exit 1; }
	$(INSTALL) -d $(DESTDIR)$(moddir)
	$(INSTALL) -m 644 $(wildcard kernel/*/*.ko) $(DESTDIR)$(moddir)
	grep -w kernel/core/univerbs Module.symvers >$(DESTDIR)$(moddir)/univerbs.symvers
	$(if $(DESTDIR),,depmod $(RELEASE))

install-user: install-driver
	$(INSTALL) -d $(DESTDIR)$(libdir)/univerbs/vm $(DESTDIR)$(includedir)/univerbs/infiniband $(DESTDIR)$(pkgconfigdir) \
		$(DESTDIR)$(udevrulesdir) $(DESTDIR)$(systemdunitdir) $(DESTDIR)$(bindir) $(DESTDIR)$(sbindir)
	$(INSTALL) -m 755 $(O)/libibverbs.so.1 $(DESTDIR)$(libdir)/univerbs/libibverbs.so.1
	$(INSTALL) -m 644 $(O)/libuniverbs-explain.so $(DESTDIR)$(libdir)/univerbs/libuniverbs-explain.so
	ln -sf libibverbs.so.1 $(DESTDIR)$(libdir)/univerbs/libibverbs.so
	$(INSTALL) -m 644 user/include/infiniband/*.h $(DESTDIR)$(includedir)/univerbs/infiniband/
	$(call fill_in,$(O)/univerbs.pc) >$(DESTDIR)$(pkgconfigdir)/univerbs.pc
	$(INSTALL) -m 644 packaging/udev/90-univerbs.rules $(DESTDIR)$(udevrulesdir)/90-univerbs.rules
	$(INSTALL) -m 644 packaging/systemd/uroce@.service $(DESTDIR)$(systemdunitdir)/uroce@.service
	for tool in $(tools); do \
		$(call fill_in,$(O)/$$tool) >$(DESTDIR)$(bindir)/$$tool && chmod 755 $(DESTDIR)$(bindir)/$$tool || exit; \
	done
	$(INSTALL) -m 755 $(vm_programs) $(DESTDIR)$(libdir)/univerbs/vm/
	$(INSTALL) -m 644 $(vm_parts) $(DESTDIR)$(libdir)/univerbs/vm/
	$(INSTALL) -m 755 $(O)/uroce-fault $(DESTDIR)$(sbindir)/uroce-fault
	for page in $(man_pages); do \
		$(INSTALL) -D -m 644 "$$page" $(DESTDIR)$(mandir)/man$${page##*.}/$${page##*/} || exit; \
	done

# Headers of the kernel interface, and the file that the Kbuild file of a driver outside this tree includes
install-driver:
	$(INSTALL) -d $(DESTDIR)$(includedir)/univerbs/univerbs $(DESTDIR)$(includedir)/univerbs/kernel $(DESTDIR)$(datadir)/univerbs
	$(INSTALL) -m 644 uapi/*.h $(DESTDIR)$(includedir)/univerbs/univerbs/
	$(INSTALL) -m 644 kernel/include/*.h $(DESTDIR)$(includedir)/univerbs/kernel/
	$(INSTALL) -m 644 kernel/include/Kbuild $(DESTDIR)$(datadir)/univerbs/compat.mk
	$(call fill_in,packaging/driver.mk) >$(DESTDIR)$(datadir)/univerbs/driver.mk

# Scripts that contain the path of their installation, and the files that univerbs-vm shares with the guests of tests
tools = univerbs-run univerbs-vm univerbs-explain univerbs-report
vm_programs = tests/vm/run tests/vm/short-slices
vm_parts = $(addprefix tests/vm/,kernel.sh devices.sh initramfs-init guest-init tsc-khz.c) user/tools/vm/host user/tools/vm/agent
man_pages = $(wildcard Documentation/man/*.[1-9])
version = $(shell packaging/version)
fill_in = sed -e 's|@PREFIX@|$(prefix)|g' -e 's|@LIBDIR@|$(libdir)|g' -e 's|@INCLUDEDIR@|$(includedir)|g' \
	-e 's|@DATADIR@|$(datadir)|g' -e 's|@VERSION@|$(version)|g' $(1)

uninstall:
	rm -f $(addprefix $(DESTDIR)$(moddir)/,univerbs.ko uroce.ko univerbs.symvers)
	$(if $(DESTDIR),,depmod $(RELEASE))
	rm -rf $(DESTDIR)$(libdir)/univerbs $(DESTDIR)$(includedir)/univerbs $(DESTDIR)$(datadir)/univerbs
	rm -f $(DESTDIR)$(pkgconfigdir)/univerbs.pc $(DESTDIR)$(udevrulesdir)/90-univerbs.rules \
		$(DESTDIR)$(systemdunitdir)/uroce@.service $(addprefix $(DESTDIR)$(bindir)/,$(tools)) $(DESTDIR)$(sbindir)/uroce-fault
	rm -f $(foreach page,$(man_pages),$(DESTDIR)$(mandir)/man$(subst .,,$(suffix $(page)))/$(notdir $(page)))

# The sources of the modules, which DKMS builds for each kernel; without DESTDIR for the one of KDIR at once. DKMS would keep
# modules that it has built of other sources with the same version.
dkms_source = $(DESTDIR)$(srcdir)/univerbs-$(version)
install-dkms:
	rm -rf $(dkms_source)
	$(INSTALL) -d $(dkms_source)
	find Kbuild kernel uapi -type f \( -name Kbuild -o -name '*.[ch]' \) ! -name '*.mod.c' -exec cp --parents -t $(dkms_source) {} +
	$(INSTALL) -m 755 packaging/dkms/keep-symvers $(dkms_source)/keep-symvers
	$(call fill_in,packaging/dkms/dkms.conf) >$(dkms_source)/dkms.conf
	$(if $(DESTDIR),,dkms remove univerbs/$(version) -k $(RELEASE) >/dev/null 2>&1 || :)
	$(if $(DESTDIR),,dkms install univerbs/$(version) -k $(RELEASE))

uninstall-dkms:
	$(if $(DESTDIR),,dkms remove univerbs/$(version) --all)
	rm -rf $(dkms_source)

# Packages, in build/deb and build/rpm
deb:
	@packaging/install-deps debian-packages-deb.txt
	@packaging/deb

rpm:
	@packaging/install-deps debian-packages-rpm.txt
	@packaging/rpm/build

deps:
	@packaging/install-deps

demo: deps
	@$(SETTINGS) tests/demo

# STAGE="NAME..." runs those stages alone, with what they test built again.
# The packages come with a prerequisite: make expands all lines of a recipe, so SETTINGS, before it runs the first
check: deps-kernel
	@$(SETTINGS) tests/check $(if $(STAGE),build $(STAGE))

# PART="NAME..." runs those parts alone, WITHIN=MINUTES those that fit
# The test kernel is built before, so its build time counts for no part; that of the kernel for data races counts for its parts
check-all: deps-kernel built
	@$(SETTINGS) tests/kernel/build >/dev/null
	@$(SETTINGS) tests/check-all $(if $(WITHIN),--within $(WITHIN)) $(PART)

# KUnit wants the test kernel, which takes longer to build than all of this
quick: deps
	@tests/kernel/build --where >/dev/null 2>&1 || echo '# without KUnit: make check builds its kernel'
	@$(SETTINGS) UNIV_QUICK=1 tests/check build static $(shell tests/kernel/build --where >/dev/null 2>&1 && echo kunit) guest

# T="NAME [CASE]..." on LINK=rxe|uroce, K=stock|test|races|rt; SHELL=1, GDB=1 (tests/one)
t: export T := $(T)
t: export LINK := $(LINK)
t: export K := $(K)
t: export CONSOLE := $(CONSOLE)
t: export GDB := $(GDB)
# Suites of KUnit run on the test kernel whatever K is
t: $(if $(filter-out stock,$(K))$(wildcard tests/kunit/$(firstword $(T))_kunit.c),deps-kernel,deps) built
	@$(SETTINGS) tests/one

adversaries:
	@tests/adversaries

# Packages that every use of the test kernel needs
deps-kernel:
	@packaging/install-deps debian-packages.txt debian-packages-kernel.txt

coverage: deps-kernel built
	@$(SETTINGS) tests/coverage/run

# Every program over uroce, on PREEMPT_RT and on the test kernel, where make check runs none
matrix: deps-kernel all
	@$(SETTINGS) tests/kernel/matrix

# Kernels of other releases of Debian: downloaded, built for, booted
kernels: deps built
	@tests/kernels/check $(KERNELS)

# That the fuzzers find mistakes which were planted for them
fuzz-proof: deps-kernel all
	@$(SETTINGS) tests/fuzz/proof

# Mutations of the code that the tests would miss. ONLY="NAME|AREA..." picks mutations, SHARE=10 takes a tenth that SEED
# chooses
mutants: deps-kernel built
	@$(SETTINGS) tests/kernel/build >/dev/null
	@$(SETTINGS) tests/mutants/run $(if $(SHARE),--share $(SHARE)) $(if $(SEED),--seed $(SEED)) $(ONLY)

# For T seconds. K=races: on the kernel that finds data races, instead of the test kernel. LINK=rxe|uroce: the device of soak, which
# is another one each day
soak soak-wire: T = 1800
# Each day has seeds of its own, which count up from round to round; SEED= repeats a search
soak soak-wire: deps-kernel built
	@$(SETTINGS) $(if $(filter races,$(K)),UNIV_KERNEL=races) tests/fuzz/soak $(if $(filter soak-wire,$@),-w) -t $(T) -s $(or $(SEED),$(shell date +%Y%m%d00)) $(if $(LINK),-l $(LINK))

# For T seconds each; on the test kernel if it is there, since that one tells what code ran
T ?= 600
fuzz: deps all
	@$(SETTINGS) tests/fuzz/run -t $(T) -s $(or $(SEED),$$RANDOM) \
		$(shell tests/kernel/build --where >/dev/null 2>&1 && echo -k)

bench: deps all
	@$(SETTINGS) bench/run

clean:
	$(if $(wildcard Kbuild),-$(MAKE) -C $(KDIR) M=$(CURDIR) clean)
	$(if $(wildcard Kbuild),-$(MAKE) -C $(KDIR) M=$(CURDIR)/tests/unknown clean)
	rm -rf build

help:
	@echo 'all        modules and user (default)'
	@echo 'modules    the kernel modules, for the kernel whose headers lie in KDIR ($(KDIR))'
	@echo 'user       the library, in build/user'
	@echo 'test-programs  the programs that tests run in a guest, in build/tests and build/fuzz, and a module in tests/unknown'
	@echo 'install    modules, library, headers, tools; DESTDIR=, prefix=, libdir=, includedir=, moddir= as usual'
	@echo 'uninstall  removes what install has installed'
	@echo 'install-dkms  the sources of the modules for DKMS, which builds them for each kernel; uninstall-dkms removes them'
	@echo 'deb, rpm   packages, in build/deb and build/rpm'
	@echo 'deps       installs the Debian packages that the targets below need'
	@echo 'demo       programs over the stock stack and univerbs, rxe and uroce, side by side in one guest'
	@echo 'check      what has to pass before a change goes in; the last line says "N passed, N failed, N skipped"'
	@echo 'check-all  every test, in parts of at most an hour; PART="NAME..." picks some, tests/check-all --list lists them'
	@echo 'quick      build, static checks, KUnit if the test kernel is there, and a choice of tests in one guest'
	@echo 't          one test: T="NAME [CASE]..." LINK=rxe|uroce K=stock|test|races|rt SHELL=1 GDB=1; tests/one says more'
	@echo 'adversaries  the table of known ways to break such a stack, with the results of the last check'
	@echo 'coverage   the lines of the core, of uroce and of the library that the tests reach, and those that they do not'
	@echo 'matrix     every program over uroce, on PREEMPT_RT and on the test kernel'
	@echo 'kernels    builds for kernels of Debian from 6.1 to the newest, boots each, runs tests; KERNELS= chooses'
	@echo 'mutants    plants mistakes and shows that tests find them; SHARE=10 a tenth, SEED= repeats it, ONLY="NAME|AREA..." picks'
	@echo 'fuzz       each fuzzer for T=600 seconds; SEED= repeats a search'
	@echo 'fuzz-proof shows that the fuzzers find mistakes planted for them'
	@echo 'soak       fuzzers and adversaries together on the test kernel for T=1800 seconds'
	@echo 'soak-wire  mixed load over uroce on a bad network, on the test kernel, for T=1800 seconds'
	@echo 'bench      benchmarks beside the stock stack'
	@echo 'clean      removes what was built'
