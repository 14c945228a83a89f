# Every target makes its own virtual environment from the lock files first; nothing but git, make and Python 3.11+ with venv is
# needed. What the tests need besides, scripts/ensure-* look for, install as root on Debian and Ubuntu, or name.
# Written for the oldest make still in use (3.81, on macOS).

SHELL := /bin/sh
VENV := .venv
OLDEST_VENV := .venv-oldest
PYTHON := $(VENV)/bin/python
PIP_INSTALL := $(PYTHON) -m pip install -qq --disable-pip-version-check
PYTEST_ARGS ?=
BENCH_ARGS ?=
SOAK ?= 10
LOCKS ?= dev run warehouse java lock

.DEFAULT_GOAL := help
.PHONY: help run test gates pytest lint format types imports docs-check soak test-bare bench package lock clean postgres java browser commands
.PHONY: nginx prometheus oldest helm

help: ## Print the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

# Runs a gate, says how long it took, and passes its failure on.
define gate
@started=$$(date +%s); if $(2); then echo "[$(1)] passed in $$(( $$(date +%s) - started )) s"; \
else echo "[$(1)] FAILED after $$(( $$(date +%s) - started )) s"; exit 1; fi
endef

run: $(VENV)/run.stamp ## Start the demo network: posts a purchase order, prints its trace, keeps running (PORT=9200)
	@$(VENV)/bin/postroad demo $(if $(findstring command,$(origin PORT)),--port $(PORT))

# All tests run in several processes; some tests, or arguments of pytest, in one.
PYTEST := $(PYTHON) -m $(if $(strip $(PYTEST_ARGS)),pytest --durations=15 $(PYTEST_ARGS),scripts.run_tests)

test: ## Run every gate: lint, types, imports, tests (this is what CI runs)
	@$(MAKE) --no-print-directory -j2 gates
	@$(MAKE) --no-print-directory -j2 types pytest

# What comes before the tests, two at a time: most of it waits for downloads. Some tests may do without some of it.
gates: lint imports postgres java $(if $(strip $(PYTEST_ARGS)),,browser prometheus commands nginx oldest)

# Types are checked meanwhile: mypy would keep one core busy for more than a minute while the others are idle.
pytest: $(VENV)/warehouse.stamp
	$(call gate,pytest,$(PYTEST))

lint: $(VENV)/dev.stamp ## Check style and formatting
	$(call gate,ruff check,$(VENV)/bin/ruff check .)
	$(call gate,ruff format,$(VENV)/bin/ruff format --check .)

types: $(VENV)/warehouse.stamp ## Check types of the code and the tests (mypy, strict)
	$(call gate,mypy,$(VENV)/bin/mypy)

imports: $(VENV)/dev.stamp ## Check that imports point down
	$(call gate,imports,$(VENV)/bin/lint-imports --no-cache)

format: $(VENV)/dev.stamp ## Rewrite files to the house style
	@$(VENV)/bin/ruff check --fix-only --quiet . ; $(VENV)/bin/ruff format .

docs-check: $(VENV)/warehouse.stamp commands ## Check what the documentation promises: links, examples, references
	$(call gate,docs,$(PYTHON) -m pytest -q -m docs $(PYTEST_ARGS))

soak: $(VENV)/warehouse.stamp postgres java ## Run the random tests much longer: kills, power cuts, simulations (SOAK=10: ten times)
	$(call gate,soak,sh scripts/soak $(SOAK))

test-bare: ## Run make run and make test in a minimal Debian 12 made with debootstrap (as root; not part of CI)
	@sh scripts/test-bare

bench: $(VENV)/warehouse.stamp ## Run the benchmarks (BENCH_ARGS="...")
	@$(PYTHON) -m benchmarks $(BENCH_ARGS)

package: $(VENV)/dev.stamp ## Build the wheel, the source archive, the bill of materials and their checksums into dist/
	@$(PYTHON) -m scripts.package dist

postgres: $(VENV)/dev.stamp ## Show which PostgreSQL the tests use, and get one if there is none
	@PYTHON="$(PYTHON)" sh scripts/ensure-postgres

java: $(VENV)/warehouse.stamp ## Show which Java Spark uses, and get one if there is none
	@PYTHON="$(PYTHON)" sh scripts/ensure-java

browser: $(VENV)/dev.stamp ## Show which Chromium the console is tested with, and get one if there is none
	@PYTHON="$(PYTHON)" sh scripts/ensure-browser

prometheus: ## Show which Prometheus the alerts and dashboards are tested with, and unpack one if there is none
	@sh scripts/ensure-prometheus

helm: ## Show which Helm the chart is tested with, and build one with Go if there is none (not part of make test)
	@sh scripts/ensure-helm

commands: ## Show the other programs that tests start, and get those that are missing
	@sh scripts/ensure-command curl "the documentation, whose commands are tested,"
	@sh scripts/ensure-command openssl "the comparison with another implementation of AS2"
	@sh scripts/ensure-command ssh-keygen "the test of release signatures" openssh-client
	@sh scripts/ensure-systemd-analyze

nginx: ## Show which nginx the tests use, and get one if there is none
	@sh scripts/ensure-nginx

oldest: $(VENV)/dev.stamp ## Show the oldest Python the tests also run on, and make its environment
	@PYTHON="$(PYTHON)" sh scripts/ensure-oldest $(OLDEST_VENV)

lock: $(VENV)/lock.stamp ## Resolve dependencies into requirements/ (UPGRADE=1 takes the newest; LOCKS="warehouse" only that)
	@for name in $(LOCKS); do UV="$(VENV)/bin/uv" UPGRADE="$(UPGRADE)" sh scripts/lock $$name || exit 1; done

clean: ## Remove the virtual environment, caches and build results
	rm -rf $(VENV) $(OLDEST_VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# ---- the environment: a stamp file is newer than what it was made from, so a second call does nothing -----------------

$(VENV)/bin/python:
	@sh scripts/make-venv $(VENV)

$(VENV)/run.stamp: $(VENV)/bin/python requirements/run.txt pyproject.toml
	@echo "Installing what postroad needs (requirements/run.txt) ..."
	@$(PIP_INSTALL) --require-hashes -r requirements/run.txt
	@$(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/dev.stamp: $(VENV)/run.stamp requirements/dev.txt
	@echo "Installing what the tests need (requirements/dev.txt) ..."
	@$(PIP_INSTALL) --require-hashes -r requirements/dev.txt
	@touch $@

# pyspark is published as source only: half a gigabyte, and a wheel is made of it once, with the setuptools of the dev lock.
$(VENV)/warehouse.stamp: $(VENV)/dev.stamp requirements/warehouse.txt
	@echo "Installing Spark and what the warehouse needs (requirements/warehouse.txt; a minute or two the first time) ..."
	@$(PIP_INSTALL) --require-hashes --no-build-isolation -r requirements/warehouse.txt
	@touch $@

$(VENV)/lock.stamp: $(VENV)/bin/python requirements/lock.txt
	@$(PIP_INSTALL) --require-hashes -r requirements/lock.txt
	@touch $@
