# SPDX-License-Identifier: GPL-2.0
#
# make          the modules, in build/; KDIR=... for a kernel tree of one's own
# make help     what else there is

RDM_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/rdm
export RDM_CACHE

FLAVOUR ?= cloud
export V FLAVOUR

# The kernel tree as the build root sees it.
ifdef KDIR
override KDIR := $(abspath $(KDIR))
export KDIR
kdir := /kdir
prepare := scripts/prepare root
else
kdir := /cache/kernel-$(FLAVOUR)/source
prepare := scripts/prepare kernel $(FLAVOUR)
endif

in-root := scripts/in-root
build := $(in-root) scripts/build-modules $(kdir)

.PHONY: all modules modules-fail prepare update run check check-quick check-debug check-long
.PHONY: shell bench profile rust-analyzer install uninstall format lint doc clean distclean help

all: modules

modules: prepare
	$(build) /rdm/build

# With failing allocations on demand, see Documentation/testing.rst.
modules-fail: prepare
	$(build) /rdm/build-fail RDM_FAIL=1

prepare:
	@$(prepare)

update: ## look for a newer kernel in the archive
	scripts/prepare update $(FLAVOUR)

run: modules ## build, boot Debian's kernel, and show verity, integrity and crypt at work
	scripts/demo

check: modules modules-fail ## all tests, one summary line
	scripts/check

check-quick: modules modules-fail ## the tests without fuzzing, and on the Rust modules only
	scripts/check --quick

check-debug: prepare ## the kselftests on a kernel with KASAN, lockdep and kmemleak
	scripts/check-debug

check-long: modules modules-fail ## the tests, with the long versions of the stress tests
	scripts/check --long

bench: modules ## C and Rust side by side: BENCH= WORKLOAD= IMPL= REPEAT= JSON= COMPARE= PLOT=
	tools/bench/run --bench $(or $(BENCH),verity) $(if $(WORKLOAD),--workload '$(WORKLOAD)') \
		$(if $(IMPL),--impl $(IMPL)) $(if $(REPEAT),--repeat $(REPEAT)) $(if $(JSON),--json '$(JSON)') \
		$(if $(COMPARE),--compare '$(COMPARE)') $(if $(PLOT),--plot '$(PLOT)')

profile: modules ## instructions by function of one workload: BENCH= WORKLOAD= IMPL= LINES_SHOWN=
	tools/bench/profile --bench $(or $(BENCH),verity) --workload '$(WORKLOAD)' \
		$(if $(IMPL),--impl $(IMPL)) $(if $(LINES_SHOWN),--lines $(LINES_SHOWN))

shell: modules ## a root shell in the VM with the modules loaded
	scripts/vm shell

format: prepare ## format the Rust sources
	scripts/lint format

lint: modules ## formatting, clippy and rustdoc without complaints, and the house rules
	scripts/lint

doc: modules ## the documentation of the dm crate, in build/doc
	scripts/lint doc

rust-analyzer: prepare ## rust-project.json for editors
	$(build) /rdm/build rust-analyzer
	@$(in-root) scripts/rust-project.py /rdm/build "$(CURDIR)" "$(RDM_CACHE)"

install: ## install on this Debian host, whose kernel must be the one built for
	TARGETS="$(TARGETS)" scripts/install

uninstall: ## remove what 'make install' has installed
	scripts/install --uninstall

clean: ## remove what was built; the cache stays
	rm -rf build build-fail build-clippy build-lint build-debug build-debug-fail

distclean: clean ## remove the cache as well
	@[ ! -e "$(RDM_CACHE)" ] || [ -e "$(RDM_CACHE)/lock" ] || \
		{ echo 'rdm: error: $(RDM_CACHE) is not a cache of rdm'; exit 1; }
	rm -rf --one-file-system "$(RDM_CACHE)"

help:
	@echo 'make                 build the modules, in build/ (KDIR=... for another kernel tree)'
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1\n\2/p' Makefile | \
		while read -r t && read -r d; do printf 'make %-15s %s\n' "$$t" "$$d"; done
