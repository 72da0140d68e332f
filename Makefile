# Builds, runs and tests pumice. Needed: the Rust toolchain, CPython 3.11 or newer, make.

VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.built$(if $(PGO),-pgo)$(if $(QUICK),-quick)
WHEELS := target/wheels
DIST   := dist
OUT    := out/first-light

# What the installed package is made of: it is rebuilt if any of these changed.
SOURCES := Cargo.toml Cargo.lock pyproject.toml Makefile \
    $(shell find crates presets python papers experiments -type f -not -path '*/__pycache__/*' -not -name '*.so')

# Files that a registry's macro declares as modules: cargo fmt does not find them.
IN_REGISTRIES := crates/types/src/erase/schemes/*.rs

# What the engine says that it was built from; nothing outside a clone.
export PUMICE_COMMIT := $(shell git describe --always --dirty --abbrev=40 --match '' 2>/dev/null)

# `make install PREFIX=…`: the libraries for C. Their versions are those of the interfaces, crates/capi/include/pumice_*.h.
# One archive holds both; each shared library exports its own functions alone.
PREFIX         ?= /usr/local
override PREFIX := $(abspath $(PREFIX))
LIBRARIES      := chip device
chip_VERSION   := 1.1.0
chip_ABOUT     := A simulated NAND flash chip for the tests of firmware
device_VERSION := 1.2.0
device_ABOUT   := A simulated SSD inside the simulations of other programs
MAJOR           = $(firstword $(subst ., ,$($(1)_VERSION)))
ARCHIVE         = $(RELEASE)/libpumice_capi.a
ifeq ($(shell uname -s),Darwin)
SHARED          = libpumice_$(1).$(call MAJOR,$(1)).dylib
LINK            = libpumice_$(1).dylib
LINK_SHARED     = $(CC) -dynamiclib -Wl,-install_name,$(PREFIX)/lib/$(call SHARED,$(1)) -Wl,-force_load,$(ARCHIVE) \
    -Wl,-exported_symbol,'_pumice_$(1)_*' -Wl,-dead_strip
NATIVE_LIBS    := -liconv -lSystem -lc -lm
else
SHARED          = libpumice_$(1).so.$(call MAJOR,$(1))
LINK            = libpumice_$(1).so
LINK_SHARED     = echo '{ global: pumice_$(1)_*; local: *; };' > $(RELEASE)/$(1).map && \
    $(CC) -shared -Wl,-soname,$(call SHARED,$(1)) -Wl,--version-script=$(RELEASE)/$(1).map \
    -Wl,--whole-archive $(ARCHIVE) -Wl,--no-whole-archive -Wl,--gc-sections
NATIVE_LIBS    := -lgcc_s -lutil -lrt -lpthread -lm -ldl -lc
endif
RELEASE := $(or $(CARGO_TARGET_DIR),target)/release

# The first interpreter that is new enough. `make PYTHON=/path/to/python3` overrides the choice.
IS_NEW_ENOUGH := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in python3 python3.11 python3.12 python3.13 python3.14; do \
    if $$python -c '$(IS_NEW_ENOUGH)' >/dev/null 2>&1; then command -v $$python; break; fi; done)

.DEFAULT_GOAL := help
.PHONY: help build run test power lint bench clients recipes faults figures generated docs fuzz miri dist install clean \
    $(LIBRARIES:%=install-%) c-archive tests-built plugins-built suite

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' Makefile

build: $(STAMP) ## build the engine and install everything into .venv (leaves .venv/bin/pumice); PGO=1: optimised for training runs

run: $(STAMP) ## the main job: partial erase against its baseline, as a table, figures and a report
	$(BIN)/pumice compare --preset pen-1tb --workload twin:prn_1 --scale 0.0625 \
	    --vary ftl.merge=block-erase,m-merge --out $(OUT)
	$(BIN)/pumice reproduce pen --figure 6 --figure 10 --figure 11 --out $(OUT)/worked-examples
	$(BIN)/pumice report $(OUT) $(OUT)/worked-examples --out $(OUT)/report.html

# Where no engine was built yet, the tests have one without link-time optimisation, which takes minutes; the
# wheel and the test programs are built side by side, because the last step of a wheel keeps one core busy and not two.
TESTED := $(MAKE) --no-print-directory $(if $(wildcard $(VENV)/.built),,QUICK=1)
ifdef QUICK
export CARGO_PROFILE_RELEASE_LTO           := off
export CARGO_PROFILE_RELEASE_CODEGEN_UNITS := 16
# What is kept for the next build takes time in this one.
export CARGO_INCREMENTAL                   := 0
endif

test: ## check the code, then run every test
	rustc --version
	@$(TESTED) -j2 build tests-built plugins-built
	@$(TESTED) suite

# Examples are compiled by clippy alone. `--lib` would build libraries without tests of their own too.
TESTS   := --workspace --tests
PLUGINS := examples/own-ftl-rust crates/capi/tests/ftl/faulty

tests-built:
	cargo test $(TESTS) --no-run --quiet

# Plug-ins in Rust that a test builds as their readers would: it finds them built.
plugins-built:
	@for folder in $(PLUGINS); do cargo build --release --locked --quiet --manifest-path $$folder/Cargo.toml \
	    --target-dir $(dir $(RELEASE))tmp/plugins || exit 1; done

suite: lint
	cargo test $(TESTS)
	cargo test --workspace --doc
	$(BIN)/python -m pytest -n auto --dist loadfile

power: ## cut the power on small devices at all instants of which `make test` takes samples, and POWER_CUTS (10^6) times at random, from POWER_SEED (the time); of one POWER_LAYER alone, if it is given
	export PUMICE_POWER_WHOLE=1 PUMICE_POWER_CUTS=$(or $(POWER_CUTS),1000000) \
	        PUMICE_POWER_SEED=$(or $(POWER_SEED),$(shell date +%s)) \
	        $(if $(POWER_LAYER),PUMICE_POWER_LAYER=$(POWER_LAYER)); \
	cargo test -p pumice-engine --test engine -- --nocapture power smallest_reserve

# Only the Rust toolchain itself is assumed, and rustfmt and clippy are parts that may be missing.
lint: $(STAMP) ## check the code: rustfmt, clippy, ruff, mypy
	@if cargo fmt --version >/dev/null 2>&1; then echo cargo fmt --all --check; cargo fmt --all --check \
	    && rustfmt --edition 2024 --check $(IN_REGISTRIES); \
	    else echo 'rustfmt is not installed: the layout of the Rust code is not checked'; fi
	@if cargo clippy --version >/dev/null 2>&1; then echo cargo clippy; \
	    cargo clippy --workspace --all-targets --quiet -- -D warnings; \
	    else echo 'clippy is not installed: the Rust code is not linted'; fi
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

fuzz: ## mutate traces and specs, and call the C interface at random, for FUZZ_SECONDS (60) in all, from FUZZ_SEED (the time); then FUZZ_MESSAGES (10^6) to a served device
	export FUZZ_SECONDS=$(or $(FUZZ_SECONDS),60) FUZZ_MESSAGES=$(or $(FUZZ_MESSAGES),1000000) \
	        FUZZ_SEED=$(or $(FUZZ_SEED),$(shell date +%s)); \
	cargo test -p pumice-workload -p pumice-engine -p pumice-capi --test fuzz -- --nocapture --test-threads=1 && \
	cargo test -p pumice-serve --test serve --test hostile_files -- --nocapture s20

miri: ## look for accesses of memory that Rust does not allow, in calls of the chip, in calls of a device from two threads and in tables of plug-ins; needs a nightly toolchain with miri
	MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test -p pumice-capi --test fuzz -- t073 t074 t076 t080

bench: ## measure the engine: nanoseconds a flash command, requests a second, bytes a page
	cargo run --release -p pumice-engine --example bench

clients: $(STAMP) ## let real programs use a served device (nbdcopy, fio, QEMU, file systems, SQLite), as far as they are installed
	$(BIN)/python tests/clients.py $(CLIENTS)

recipes: ## follow the recipes of CONTRIBUTING.md for the engine on a copy of the sources, compile it once, and run the tests that they name
	python3 tests/recipes.py

faults: ## write the faults of crates/engine/tests/engine/recovery_faults.toml into a copy of the sources, and run the tests that have to notice them
	python3 tests/faults.py

figures: $(STAMP) ## draw docs/figures anew: the simulator beside closed forms (MEASURE=--measure: its speed as well) and a drive, a terminal
	$(BIN)/python benches/recording.py docs/figures/terminal.svg
	$(BIN)/python -m pumice_papers.studies.ground_truth --out docs/figures $(MEASURE)
	$(BIN)/pumice reproduce drives --figure micron7450 --figure under-load --out out/drives
	cp out/drives/figures/micron7450.svg out/drives/figures/under-load.svg docs/figures/

docs: $(STAMP) ## build the site of docs/ into out/site; a warning is an error
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'mkdocs-material>=9.5,<10' 'mkdocstrings[python]>=1,<2'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo site written to out/site/index.html

generated: $(STAMP) ## write docs/KEYS.md, docs/schema and the lists of docs/RESULTS.md anew, from the engine
	$(BIN)/python -m pumice.runs.keys .
	$(BIN)/python -m pumice.results.fields docs/RESULTS.md

# The wheel is built from the unpacked source distribution, so that one which lacks a file is noticed.
dist: $(BIN)/maturin ## build the source distribution, this machine's wheel, and that of pumice-papers into dist/
	rm -rf $(DIST)
	$(BIN)/maturin build --release --sdist $(if $(PGO),--pgo) --interpreter $(BIN)/python --out $(DIST)
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir $(DIST) ./papers

install: $(LIBRARIES:%=install-%) ## build the libraries for C (chip, device) and put them, headers and pkg-config files into PREFIX (/usr/local)

c-archive:
	cargo rustc --release --locked -p pumice-capi --lib --crate-type staticlib

$(LIBRARIES:%=install-%): install-%: c-archive
	mkdir -p '$(DESTDIR)$(PREFIX)/include' '$(DESTDIR)$(PREFIX)/lib/pkgconfig'
	install -m 644 crates/capi/include/pumice_$*.h '$(DESTDIR)$(PREFIX)/include/pumice_$*.h'
	$(call LINK_SHARED,$*) $(NATIVE_LIBS) -o '$(DESTDIR)$(PREFIX)/lib/$(call SHARED,$*)'
	ln -sf $(call SHARED,$*) '$(DESTDIR)$(PREFIX)/lib/$(call LINK,$*)'
	install -m 644 '$(ARCHIVE)' '$(DESTDIR)$(PREFIX)/lib/libpumice_$*.a'
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@NAME@|pumice_$*|' -e 's|@ABOUT@|$($*_ABOUT)|' -e 's|@VERSION@|$($*_VERSION)|' \
	    -e 's|@NATIVE_LIBS@|$(NATIVE_LIBS)|' crates/capi/pumice.pc.in > '$(DESTDIR)$(PREFIX)/lib/pkgconfig/pumice_$*.pc'

clean: ## remove everything that was built or simulated
	rm -rf $(VENV) out target $(DIST)

$(BIN)/maturin:
	@command -v cargo >/dev/null || { echo 'make: cargo was not found; install the Rust toolchain from rustup.rs'; exit 1; }
	@test -n '$(PYTHON)' || { echo 'make: no CPython 3.11 or newer with venv was found; name one: make PYTHON=/path/to/python3'; exit 1; }
	@'$(PYTHON)' -c '$(IS_NEW_ENOUGH)' || { echo 'make: $(PYTHON) is not CPython 3.11 or newer with venv'; exit 1; }
	'$(PYTHON)' -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'maturin>=1.16,<2'

$(STAMP): $(BIN)/maturin $(SOURCES)
	rm -f $(WHEELS)/pumice-*.whl $(VENV)/.built*
	$(BIN)/maturin build --release $(if $(PGO),--pgo) --interpreter $(BIN)/python --out $(WHEELS)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall $(WHEELS)/pumice-*.whl
	wheel=$$(echo $(WHEELS)/pumice-*.whl) && $(BIN)/python -m pip install --quiet --disable-pip-version-check "$$wheel[dev]"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall ./papers
	@touch $@
