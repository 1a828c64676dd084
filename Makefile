# A newcomer needs two of these: `make serve` and `make test`. Set-up happens on the way and is done again only when its inputs change.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
KERNEL := tokenizer_core/kernel
BIN := .venv/bin
# rustup installs here and tells the shell only at the next login.
export PATH := $(PATH):$(HOME)/.cargo/bin
CARGO = cargo
MANIFEST := --manifest-path $(KERNEL)/Cargo.toml
PYTEST := $(BIN)/pytest --numprocesses 3 --dist worksteal
HAS_RUST = command -v $(CARGO) >/dev/null
REQUIRE_RUST = $(HAS_RUST) || { echo "tokd needs a Rust toolchain, 1.95 or newer: https://rustup.rs" >&2; exit 1; }
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: help
help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' Makefile | while IFS='|' read -r name text; do printf '  make %-8s %s\n' "$$name" "$$text"; done

.PHONY: serve
serve: .venv/serving ## serve artifacts/base on 127.0.0.1:8000
	@exec $(BIN)/tokd serve

.PHONY: test
test: .venv/installed ## run the tests of what every change can break: Rust, then Python
	@$(CARGO) test --quiet $(MANIFEST)
	@$(PYTEST) -m 'not nightly'

.PHONY: test-all
test-all: .venv/installed ## run every test: also kills, clusters, browsers, shells and the wheel
	@$(CARGO) test --quiet $(MANIFEST)
	@$(PYTEST)

.PHONY: quick
quick: .venv/installed ## run the quick Python tests: no real data, no processes, no Postgres
	@HYPOTHESIS_PROFILE=quick $(PYTEST) --quiet -m 'not real_data and not process and not postgres and not slow and not nightly'

.PHONY: check
check: .venv/installed ## lint, types, format and architecture, for Python and Rust
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo --no-cache
	@$(CARGO) fmt --check $(MANIFEST)
	@$(CARGO) clippy --quiet --all-targets --all-features $(MANIFEST) -- --deny warnings

.PHONY: format
format: .venv/installed ## rewrite the sources in the one format
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format --quiet .
	@$(CARGO) fmt $(MANIFEST)

.PHONY: bench
bench: .venv/installed ## measure against the public peers, the short way
	@$(BIN)/maturin develop --quiet --skip-install --profile dist
	@$(BIN)/python -m benchmarks encode --short

.PHONY: wheel
wheel: .venv/maturin ## build a wheel into dist/ for every Python from 3.11 on, with artifacts/base in it
	@$(BIN)/maturin build --quiet --out dist

.PHONY: sdist
sdist: .venv/maturin ## build the source distribution into dist/
	@$(BIN)/maturin sdist --out dist

LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --upgrade pyproject.toml

.PHONY: lock
lock: ## pin the newest Python packages that pyproject.toml allows, by hash; needs uv
	@$(LOCK) --extra build --extra jobs --output-file .ci/image.lock
	@$(LOCK) --extra build --extra jobs --extra test --extra tools --output-file .ci/tests.lock

.PHONY: clean
clean: ## remove everything that set-up and tests made
	@rm -rf .venv benchmarks/.peers dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache $(KERNEL)/target
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
	@rm -f tokenizer_core/_kernel*.so

# ---- set-up

.venv/created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	    { echo "tokd needs Python 3.11 or newer: '$(PYTHON)' is $$($(PYTHON) --version 2>&1 || true); try make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	    { echo "tokd needs Python's venv module: apt-get install python3-venv" >&2; exit 1; }
	@echo "making .venv with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv .venv
	@touch $@

# What builds the kernel's package.
.venv/maturin: .venv/created .ci/image.lock
	@$(PIP) --require-hashes --requirement <(sed -n '/^maturin==/,/[^\\]$$/p' .ci/image.lock)
	@touch $@

# What serving needs. The kernel compiles while the other packages are fetched. Where no Rust is, a wheel in dist/ has the
# kernel, until there is Rust; or else pip lets maturin fetch a toolchain with rustup.
.venv/serving: .venv/maturin pyproject.toml .ci/image.lock $(KERNEL)/Cargo.toml $(KERNEL)/Cargo.lock $(shell find $(KERNEL)/src -name '*.rs')
	@if $(HAS_RUST); then \
	    echo "installing tokd into .venv (the kernel compiles for about a minute the first time)"; tokd='--no-build-isolation --editable .'; \
	elif compgen -G 'dist/tokd-*.whl' >/dev/null; then \
	    echo "installing the wheel of dist/ into .venv, for there is no Rust toolchain"; tokd='--no-index --find-links dist tokd'; \
	else \
	    echo "installing tokd into .venv (there is no Rust toolchain: one is fetched, and the kernel compiles)"; tokd='--editable .'; \
	fi; \
	PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) --no-deps $$tokd & kernel=$$!; \
	$(PIP) --require-hashes --requirement .ci/image.lock; \
	wait $$kernel || { $(REQUIRE_RUST); exit 1; }; \
	[[ $$tokd == *dist* ]] || touch $@

# What tests and checks need besides.
.venv/installed: .venv/serving .ci/tests.lock
	@$(REQUIRE_RUST)
	@echo "installing what the tests need"
	@$(PIP) --require-hashes --requirement .ci/tests.lock
	@touch $@
