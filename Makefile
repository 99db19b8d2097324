# make: the targets for newcomers. Each target sets up what is missing.

PYTHON ?= python3
PORT ?= 8000
# make run SAMPLE=no begins with an empty market.
export SAMPLE ?= yes
BIN := .venv/bin
PROCESSES ?= $(shell n=$$(nproc); echo $$((n < 8 ? n : 8)))
# Compiled files are kept: without them, each process compiles the tests for five seconds.
PYTEST = env -u MARKETPLACE_PUBLIC_URL -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest --dist worksteal
# All tests. With "tests tests/system", pytest would leave out tests/system, because it is inside tests.
ALL_TESTS = --override-ini "norecursedirs=.* node_modules" tests sandbox/tests
UV := $(shell command -v uv)
export BENCH_POSTGRESQL ?= $(POSTGRESQL)
export MARKETPLACE_PUBLIC_URL ?= http://127.0.0.1:$(PORT)

# Make a virtual environment, and remove it if that fails: $(call venv,python,folder). Prefers uv, which is faster.
venv = trap 'rm -rf $(2); exit 1' INT TERM; $(if $(UV),$(UV) venv --quiet --python,) $(1) $(if $(UV),,-m venv) $(2) || \
  { rm -rf $(2); echo "$(2) could not be made. On Debian, as root: apt-get install python3-venv"; exit 1; }

# Install packages into a virtual environment: $(call install,folder,packages). uv takes a quarter of pip's time. It does
# not read pip's settings, so where they name an index, pip installs.
PIP_INSTALL = -m pip install --quiet --disable-pip-version-check --retries 1 -c constraints.txt
install = uv=$(UV); py=$(1)/bin/python; \
  if [ -z "$$uv" ] && ! $$py -m pip config list | grep --quiet '\.index-url='; then \
    $$py $(PIP_INSTALL) --only-binary=:all: uv && uv=$(1)/bin/uv; fi; \
  if [ "$$uv" ]; then $$uv pip install --quiet --compile-bytecode --python $$py -c constraints.txt $(2); \
  else $$py $(PIP_INSTALL) $(2); fi || \
  { echo "Not everything could be installed. Can the package index be reached from here (https://pypi.org)?"; exit 1; }

# The Debian packages of a program, if it is missing: $(call lacking,program,packages)
lacking = $(if $(shell command -v $(1)),,$(2))
# Install Debian packages, if any are given: $(call debian,packages,command if that is impossible)
debian = $(if $(strip $(1)),if command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ]; then \
    apt-get update --quiet && apt-get install --quiet --yes --no-install-recommends $(1); \
  else echo "Missing. As root on Debian: apt-get install $(strip $(1))"; $(2); fi,true)

.PHONY: help run test test-all tools format clean test-stdlib test-system test-alone test-postgresql test-again lint \
  lint-style lint-scripts bench bench-check attack lives soak container wheel docs site postman wallet-link market-client

## For newcomers

help:
	@echo "make TARGET:"
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' $(firstword $(MAKEFILE_LIST)) | expand --tabs=12
	@echo "The Makefile describes the other targets."

# The C library uses one memory arena for all threads of a process, which saves 3 MB.
run: .venv/installed  ## serve the marketplace in the sandbox
	@PORT=$(PORT) MALLOC_ARENA_MAX=1 exec $(BIN)/python -m gunicorn -c python:marketplace.sandbox.server wsgi:app

# A single file: .venv/bin/pytest tests/api/test_add.py
# Tests sometimes wait, so there is one process more than cores.
test: .venv/installed-dev lint  ## run the linters and the fast tests, in minutes
	@$(PYTEST) -n $$(($(PROCESSES) + 1))

# Hypothesis tries 60 examples of each property, in place of 20.
test-all: PYTEST += --hypothesis-profile=thorough
test-all: test test-stdlib test-system test-alone  ## run all tests; those whose tools are missing are skipped

tools: .venv/installed-tools  ## install what test-all needs: browsers, Java, nginx, wallets and more
	@$(call debian,$(DEBIAN_TOOLS),echo "Without these some tests are skipped")
	@$(if $(shell command -v npm),,echo "Without npm (Node.js 20 or newer), tests are skipped: https://nodejs.org")

format: .venv/installed-dev  ## format the code
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:  ## remove what make has installed and made, and the data of make run
	rm -rf .venv instance dist build *.egg-info sandbox/build sandbox/*.egg-info benchmarks/.venv benchmarks/.data

## Tests

# The fast tests that use SQLite, with Python's own: without pysqlite3, as on Linux on Arm.
test-stdlib: .venv/installed-dev
	@PYTHONPATH=$(CURDIR)/tests/without_pysqlite3 $(PYTEST) -n $$(($(PROCESSES) + 1)) -k "not postgresql"

# Servers, browsers, failing PostgreSQL, packages, documents, wallets, SDKs and generated clients.
# These tests mostly wait, so there are twice as many processes as cores. Some of them: make test-system ONLY=firefox
test-system: .venv/installed-dev
	@$(PYTEST) -n $$(($(PROCESSES) * 2)) -m "not alone" $(if $(ONLY),-k "$(ONLY)") --durations 25 --durations-min 10 \
	  tests/system sandbox/tests/system

# Floods, random lives and a soak, one after the other.
test-alone: .venv/installed-dev
	@$(PYTEST) -m alone --durations 0 tests/system

# All tests that use PostgreSQL, with Debian's older version, for example:
# make test-postgresql TEST_POSTGRESQL_BIN=/usr/lib/postgresql/15/bin
test-postgresql: .venv/installed-dev
	@$(PYTEST) -n $$(($(PROCESSES) + 1)) -k postgresql -m "not alone" $(ALL_TESTS)

# The tests that failed last, one after the other. If one fails again, the cause is not a busy machine.
test-again: .venv/installed-dev
	@$(PYTEST) --last-failed --last-failed-no-failures none $(ALL_TESTS)

lint: .venv/installed-dev lint-style
	@$(BIN)/mypy
	@if command -v npm > /dev/null; then $(MAKE) --silent lint-scripts; \
	  else echo "Without npm, the demo's scripts are not checked"; fi

# Only what git tracks: a user may save programs of their own in the clone. A release's archive has no git.
SOURCES = $(if $(wildcard .git),git ls-files -z --cached --deduplicate '*.py',printf '.\0')
lint-style: .venv/installed-dev
	@$(SOURCES) | xargs -0 $(BIN)/ruff check
	@$(SOURCES) | xargs -0 $(BIN)/ruff format --check
	@$(if $(wildcard .git),$(BIN)/python tests/lint/words.py,echo "Without git, words are not checked")

# The types and the style of the demo's scripts, and of clients/market.
lint-scripts: tests/lint/node_modules/.installed
	@tests/lint/node_modules/.bin/tsc -p tests/lint/jsconfig.json
	@tests/lint/node_modules/.bin/eslint -c tests/lint/eslint.config.js marketplace/storefront/static marketplace/demo/static clients/market/index.js clients/market/src \
	  clients/market/tests

## Measurements

# QUICK=1: a smaller table, in a minute. FULL=1: ten million NFTs besides. POSTGRESQL=0: without PostgreSQL.
bench: benchmarks/.venv/installed benchmarks/peers/fastify/node_modules/.installed
	@$(call debian,$(call lacking,wrk,wrk),exit 1)
	@env -u MARKETPLACE_PUBLIC_URL benchmarks/.venv/bin/python -m benchmarks $(if $(QUICK),quick,$(if $(FULL),full))

# Fail if a figure misses its target by half, which noise cannot explain.
bench-check: benchmarks/.venv/installed benchmarks/peers/fastify/node_modules/.installed
	@$(call debian,$(call lacking,wrk,wrk),exit 1)
	@env -u MARKETPLACE_PUBLIC_URL benchmarks/.venv/bin/python -m benchmarks check

# The image, built and run, as root: its size, its start and its memory.
container: .venv/installed-dev
	@$(call debian,$(call lacking,podman,podman crun) $(call lacking,mmdebstrap,mmdebstrap),exit 1)
	@env -u MARKETPLACE_PUBLIC_URL $(BIN)/python -m stress.container

# Attacks, random lives compared with a model, and traders while everything fails: make lives ARGS="--seconds 60"
attack: .venv/installed-dev
	@env -u MARKETPLACE_PUBLIC_URL $(BIN)/python -m stress.attack $(ARGS)

lives: .venv/installed-dev
	@env -u MARKETPLACE_PUBLIC_URL $(BIN)/python -m stress.lives $(ARGS)

soak: .venv/installed-dev
	@env -u MARKETPLACE_PUBLIC_URL $(BIN)/python -m stress.soak $(ARGS)

## What is built or generated

# dist/nft_marketplace_service-*.whl and dist/hiero_sandbox-*.whl, and their sdists.
wheel: .venv/installed-dev
	@$(BIN)/python -m build --no-isolation
	@$(BIN)/python -m build --no-isolation --outdir dist sandbox

# The documents' tables that the code, or a stored run, already holds.
docs: .venv/installed-dev
	@env -u MARKETPLACE_PUBLIC_URL $(BIN)/python -m harness.tables
	@$(BIN)/python -m hiero_sandbox.tables sandbox/README.md

# build/site/html: the documents as a site, with search and the API reference. Fails if a link leads nowhere.
REPOSITORY ?= https://github.com/example/nft-marketplace
site: .venv/installed-site
	@env -u MARKETPLACE_PUBLIC_URL $(BIN)/python -m harness.site $(REPOSITORY)

# examples/postman.json, from the OpenAPI document.
postman: .venv/installed-dev tests/system/openapi/node_modules/.installed
	@env -u MARKETPLACE_PUBLIC_URL $(BIN)/python -m tests.system.postman

# The pages' bundles of clients/wallet-link: wallet-link.js, and the demo's wallet-check.js.
wallet-link: clients/wallet-link/node_modules/.installed
	@node clients/wallet-link/build.mjs wallet-link > marketplace/storefront/static/wallet-link.js
	@node clients/wallet-link/build.mjs wallet-check > marketplace/demo/static/wallet-check.js

# What clients/market has of the API, and marketplace/storefront/static/market.js, its bundle for the pages.
market-client: .venv/installed-dev clients/market/node_modules/.installed
	@$(BIN)/python -m harness.market_client > clients/market/src/operations.js
	@$(BIN)/python -m harness.market_client openapi | \
	  clients/market/node_modules/.bin/openapi-typescript > clients/market/src/api.d.ts
	@node clients/market/build.mjs > marketplace/storefront/static/market.js

## What is installed

.venv/bin/python:
	@command -v $(PYTHON) > /dev/null || \
	  { echo "Python 3.11 or newer is needed, and there is no $(PYTHON). Try: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; $$($(PYTHON) --version) was found. Try: make PYTHON=python3.12"; exit 1; }
	@echo "Setting up .venv ..."
	@$(call venv,$(PYTHON),.venv)

# Compile now: a process that compiles modules at its start keeps 2 MB of memory for that.
.venv/installed: requirements.txt sandbox/pyproject.toml constraints.txt | .venv/bin/python
	@echo "Installing what the service runs on ..."
	@$(call install,.venv,-r requirements.txt -e './sandbox[relay]' pillow)
	@$(BIN)/python -m compileall -q *.py sandbox/hiero_sandbox marketplace
	@touch $@

.venv/installed-dev: tests/requirements.txt .venv/installed
	@echo "Installing what the tests need ..."
	@$(call install,.venv,-r tests/requirements.txt)
	@touch $@

.venv/installed-site: docs/requirements.txt .venv/installed-dev
	@$(call install,.venv,-r docs/requirements.txt)
	@touch $@

benchmarks/.venv/installed: requirements.txt sandbox/pyproject.toml benchmarks/requirements.txt constraints.txt | .venv/bin/python
	@echo "Installing what the service is compared with ..."
	@$(call venv,.venv/bin/python,benchmarks/.venv)
	@$(call install,benchmarks/.venv,-r requirements.txt -e ./sandbox pillow -r benchmarks/requirements.txt)
	@touch $@

# What make tools installs: packages of Debian, of npm and of PyPI, and the Java SDK.
DEBIAN_TOOLS = $(call lacking,chromium,chromium fonts-liberation) $(call lacking,firefox-esr,firefox-esr) \
  $(call lacking,javac,default-jdk-headless) $(call lacking,wrk,wrk) $(call lacking,pg_lsclusters,postgresql) \
  $(call lacking,nginx,nginx-light) $(call lacking,curl,curl) $(call lacking,openssl,openssl) \
  $(call lacking,systemd-analyze,systemd) $(call lacking,promtool,prometheus) \
  $(call lacking,fusermount3,fuse3) $(call lacking,soffice,libreoffice-calc)
NPM_TOOLS = clients/market clients/wallet-link examples/sdk/javascript sandbox/tests/system/relay tests/lint \
  tests/system/clients/typescript tests/system/openapi tests/system/wallets

.venv/installed-tools: tests/system/clients/requirements.txt examples/sdk/java/lib/hedera/sdk-2.50.0.jar \
    $(if $(shell command -v npm),$(NPM_TOOLS:%=%/node_modules/.installed)) | .venv/installed-dev
	@$(call install,.venv,-r tests/system/clients/requirements.txt)
	@touch $@

examples/sdk/java/lib/hedera/sdk-2.50.0.jar: examples/sdk/java/requirements.txt | .venv/installed
	@$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps -d $(@D) -r $<
	@$(BIN)/python -m zipfile -e $(@D)/hedera_sdk_py-*.whl examples/sdk/java/lib
	@touch $@

%/node_modules/.installed: %/package-lock.json
	@command -v npm > /dev/null || { echo "npm is missing (Node.js 20 or newer): https://nodejs.org"; exit 1; }
	@npm ci --prefix $* --loglevel=error
	@touch $@
