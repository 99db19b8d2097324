# make run: serve the marketplace in the sandbox. make test: run the fast tests, make test-all: all of them.
# make bench: compare its speed with that of other servers.
# Each sets up what is missing.

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

# Install packages into a virtual environment: $(call install,folder,packages)
install = $(if $(UV),$(UV) pip install --quiet --compile-bytecode --python $(1)/bin/python, \
    $(1)/bin/python -m pip install --quiet --disable-pip-version-check --retries 1) -c constraints.txt $(2) || \
  { echo "Not everything could be installed. Can the package index be reached from here (https://pypi.org)?"; exit 1; }

# Install a command from Debian's packages if it is missing: $(call debian,command,packages)
debian = if command -v $(1) > /dev/null; then echo "$(1) is installed"; \
  elif command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ]; then \
    apt-get update --quiet && apt-get install --quiet --yes --no-install-recommends $(2); \
  else echo "Install $(1) first, on Debian as root: apt-get install $(2)"; exit 1; fi

.PHONY: docs run test test-stdlib test-system test-all test-again test-postgresql soak lives attack failover wheel bench bench-check gets wallets sdks java clients openapi postman browser postgresql prometheus load nginx container lint lint-scripts format clean

# The C library uses one memory arena for all threads of a process, which saves 3 MB.
run: .venv/installed
	@PORT=$(PORT) MALLOC_ARENA_MAX=1 exec $(BIN)/python -m gunicorn -c python:marketplace.sandbox.server wsgi:app

# The fast tests, in minutes. A single file: .venv/bin/pytest tests/api/test_add.py
# Tests sometimes wait, so there is one process more than cores.
test: .venv/installed-dev lint
	@$(PYTEST) -n $$(($(PROCESSES) + 1))

# The fast tests that use SQLite, with Python's own: without pysqlite3, as on Linux on Arm.
test-stdlib: .venv/installed-dev
	@PYTHONPATH=$(CURDIR)/tests/without_pysqlite3 $(PYTEST) -n $$(($(PROCESSES) + 1)) -k "not postgresql"

# Servers, browsers, failing PostgreSQL, packages, documents, wallets, SDKs and generated clients.
# These tests mostly wait, so there are twice as many processes as cores.
test-system: .venv/installed-dev
	@$(PYTEST) -n $$(($(PROCESSES) * 2)) tests/system

# All tests that use PostgreSQL: make test-postgresql TEST_POSTGRESQL_BIN=/usr/lib/postgresql/15/bin
test-postgresql: .venv/installed-dev
	@$(PYTEST) -n $$(($(PROCESSES) + 1)) -k postgresql $(ALL_TESTS)

# Hypothesis tries 60 examples of each property, in place of 20.
test-all: PYTEST += --hypothesis-profile=thorough
test-all: test test-stdlib test-system

# The tests that failed last, one after the other. If one fails again, the cause is not a busy machine.
test-again: .venv/installed-dev
	@$(PYTEST) --last-failed --last-failed-no-failures none $(ALL_TESTS)

# The service under load and random faults, for SECONDS: make soak SECONDS=1800. POSTGRESQL=1: on PostgreSQL.
soak: .venv/installed-dev
	@env -u MARKETPLACE_PUBLIC_URL $(BIN)/python -m stress.soak --seconds $(or $(SECONDS),600) $(if $(POSTGRESQL),--postgresql) $(if $(SEED),--seed $(SEED))

# Random histories of the service, compared with a model, for SECONDS: make lives SECONDS=3600. POSTGRESQL=1, too.
lives: .venv/installed-dev
	@env -u MARKETPLACE_PUBLIC_URL $(BIN)/python -m stress.lives --seconds $(or $(SECONDS),600) $(if $(POSTGRESQL),--postgresql) $(if $(SEED),--seed $(SEED))

# Hostile clients and hosts that try to harm all other clients, each for SECONDS.
attack: load .venv/installed-dev
	@env -u MARKETPLACE_PUBLIC_URL $(BIN)/python -m stress.attack --seconds $(or $(SECONDS),20)

# Two services on three PostgreSQL servers that fail, with clients for SECONDS before and after each fault.
failover: .venv/installed-dev
	@env -u MARKETPLACE_PUBLIC_URL $(BIN)/python -m stress.failover --seconds $(or $(SECONDS),10)

# QUICK=1: a smaller table, in a minute. FULL=1: ten million NFTs besides. POSTGRESQL=0: without PostgreSQL.
bench: load benchmarks/.venv/installed benchmarks/peers/fastify/node_modules/.installed
	@env -u MARKETPLACE_PUBLIC_URL benchmarks/.venv/bin/python -m benchmarks $(if $(QUICK),quick,$(if $(FULL),full))

# Fail if a figure misses its target by half, which noise can not explain.
bench-check: load benchmarks/.venv/installed benchmarks/peers/fastify/node_modules/.installed
	@env -u MARKETPLACE_PUBLIC_URL benchmarks/.venv/bin/python -m benchmarks check

# The CPU time of every GET with its worst parameters, on SQLite and PostgreSQL, among a million NFTs and events.
gets: .venv/installed-dev
	@env -u MARKETPLACE_PUBLIC_URL $(BIN)/python -m benchmarks.gets

# The libraries that wallets and dApps use, for tests/system/wallets; without them, make test-all skips these.
wallets:
	@npm ci --prefix tests/system/wallets --loglevel=error

# The Hedera SDKs of JavaScript and Java, for the programs of examples/sdk and tests/system/test_sdks.py; without
# them, make test-all skips these.
sdks: examples/sdk/java/lib/hedera/sdk-2.50.0.jar
	@npm ci --prefix examples/sdk/javascript --loglevel=error

examples/sdk/java/lib/hedera/sdk-2.50.0.jar: examples/sdk/java/requirements.txt | .venv/installed
	@$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps -d $(@D) -r $<
	@$(BIN)/python -m zipfile -e $(@D)/hedera_sdk_py-*.whl examples/sdk/java/lib
	@touch $@

# Debian's Java, for the Java program of examples/sdk.
java:
	@$(call debian,javac,default-jdk-headless)

# Debian's chromium and Firefox, for tests/system/browser; without them, make test-all skips these.
browser:
	@$(call debian,chromium,chromium fonts-liberation)
	@$(call debian,firefox-esr,firefox-esr)

# Debian's PostgreSQL, which is older than that of the tests' package. To test with its programs:
# make test-postgresql TEST_POSTGRESQL_BIN=/usr/lib/postgresql/15/bin
postgresql:
	@$(call debian,pg_lsclusters,postgresql)

# Debian's Prometheus, for tests/system/test_board.py; without it, make test-all skips these.
prometheus:
	@$(call debian,promtool,prometheus)

# Debian's wrk, which makes the load of a benchmark.
load:
	@$(call debian,wrk,wrk)

# Debian's nginx, and the programs that tests/system/test_deploy.py uses; without them, make test-all skips these.
nginx:
	@$(call debian,nginx,nginx-light)
	@$(call debian,curl,curl)
	@$(call debian,openssl,openssl)
	@$(call debian,systemd-analyze,systemd)

# The image, built and run, as root: its size, its start and its memory. BASE=image: on another base.
container: .venv/installed-dev
	@$(call debian,podman,podman crun)
	@$(call debian,mmdebstrap,mmdebstrap)
	@env -u MARKETPLACE_PUBLIC_URL $(BIN)/python -m stress.container

# The generators of API clients, for tests/system/test_clients.py; without them, make test-all skips these.
clients: .venv/installed-dev
	@$(call install,.venv,-r tests/system/clients/requirements.txt)
	@npm ci --prefix tests/system/clients/typescript --loglevel=error

# The linters of OpenAPI documents, Spectral and Redocly, and Postman's converter, for
# tests/system/test_openapi_lint.py; without them, make test-all skips these.
openapi:
	@npm ci --prefix tests/system/openapi --loglevel=error

# Make examples/postman.json from the OpenAPI document.
postman: .venv/installed-dev openapi
	@env -u MARKETPLACE_PUBLIC_URL $(BIN)/python -m tests.system.postman

# dist/nft_marketplace_service-*.whl and dist/hiero_sandbox-*.whl, to install elsewhere.
wheel: .venv/installed-dev
	@$(BIN)/python -m build --no-isolation
	@$(BIN)/python -m build --no-isolation --outdir dist sandbox

# Write the documents' tables that the code, or a stored run, already holds.
docs: .venv/installed-dev
	@env -u MARKETPLACE_PUBLIC_URL $(BIN)/python -m harness.tables

lint: .venv/installed-dev
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@if command -v npm > /dev/null; then $(MAKE) --silent lint-scripts; \
	  else echo "Without npm, the demo's scripts are not checked"; fi

# The types and the style of the demo's scripts.
lint-scripts: tests/lint/node_modules/.installed
	@tests/lint/node_modules/.bin/tsc -p tests/lint/jsconfig.json
	@tests/lint/node_modules/.bin/eslint -c tests/lint/eslint.config.js marketplace/demo/static

format: .venv/installed-dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:
	rm -rf .venv instance dist build *.egg-info sandbox/build sandbox/*.egg-info benchmarks/.venv benchmarks/.data

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
	@$(call install,.venv,-r requirements.txt -e ./sandbox)
	@$(BIN)/python -m compileall -q *.py sandbox/hiero_sandbox marketplace
	@touch $@

.venv/installed-dev: tests/requirements.txt .venv/installed
	@echo "Installing what the tests need ..."
	@$(call install,.venv,-r tests/requirements.txt)
	@touch $@

benchmarks/.venv/installed: requirements.txt sandbox/pyproject.toml benchmarks/requirements.txt constraints.txt | .venv/bin/python
	@echo "Installing what the service is compared with ..."
	@$(call venv,.venv/bin/python,benchmarks/.venv)
	@$(call install,benchmarks/.venv,-r requirements.txt -e ./sandbox -r benchmarks/requirements.txt)
	@touch $@

tests/lint/node_modules/.installed: tests/lint/package-lock.json
	@npm ci --prefix tests/lint --loglevel=error
	@touch $@

benchmarks/peers/fastify/node_modules/.installed: benchmarks/peers/fastify/package-lock.json
	@command -v npm > /dev/null || { echo "Fastify needs Node.js 20 or newer, with npm: https://nodejs.org"; exit 1; }
	@npm ci --prefix benchmarks/peers/fastify --loglevel=error
	@touch $@
