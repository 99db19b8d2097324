# make run: serve the marketplace in the sandbox. make test: run all tests. make bench: measure it against others.
# Each sets up what is missing.

PYTHON ?= python3
PORT ?= 8000
BIN := .venv/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
export BENCH_POSTGRESQL ?= $(POSTGRESQL)
export MARKETPLACE_PUBLIC_URL ?= http://127.0.0.1:$(PORT)

# Have a command, from Debian's packages where it is missing: $(call debian,command,packages)
debian = if command -v $(1) > /dev/null; then echo "$(1) is installed"; \
  elif command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ]; then \
    apt-get update --quiet && apt-get install --quiet --yes --no-install-recommends $(2); \
  else echo "Install $(1) first, on Debian as root: apt-get install $(2)"; exit 1; fi

.PHONY: run test soak lives attack failover wheel bench bench-check wallets sdks java clients openapi browser postgresql redis prometheus load nginx container lint format clean

run: .venv/installed
	@$(BIN)/python -c 'import socket; socket.create_server(("127.0.0.1", $(PORT)))' 2> /dev/null || \
	  { echo "Port $(PORT) is taken: choose another one, make run PORT=$$(($(PORT) + 1))"; exit 1; }
	@$(BIN)/flask --app wsgi sandbox seed
	@exec $(BIN)/gunicorn --bind 127.0.0.1:$(PORT) --log-level warning

# One process of tests for each core, up to eight: who runs out of work takes half of another's.
# A single file is as well run by itself: .venv/bin/pytest tests/api/test_add.py
test: .venv/installed-dev lint
	@env -u MARKETPLACE_PUBLIC_URL $(BIN)/python -m pytest -n auto --maxprocesses 8 --dist worksteal

# The service among all that may happen to it, for SECONDS: make soak SECONDS=1800. POSTGRESQL=1: on PostgreSQL.
soak: .venv/installed-dev
	@env -u MARKETPLACE_PUBLIC_URL $(BIN)/python -m tests.soak --seconds $(or $(SECONDS),600) $(if $(POSTGRESQL),--postgresql) $(if $(SEED),--seed $(SEED))

# Random stories, told to the service and to a model of it, for SECONDS: make lives SECONDS=3600
lives: .venv/installed-dev
	@env -u MARKETPLACE_PUBLIC_URL $(BIN)/python -m tests.lives --seconds $(or $(SECONDS),600) $(if $(SEED),--seed $(SEED))

# Clients and hosts that want to cost everybody else something, each for SECONDS.
attack: load .venv/installed-dev
	@env -u MARKETPLACE_PUBLIC_URL $(BIN)/python -m tests.attack --seconds $(or $(SECONDS),20)

# Two services on three PostgreSQL servers that fail, with clients for SECONDS before and after each fault.
failover: .venv/installed-dev
	@env -u MARKETPLACE_PUBLIC_URL $(BIN)/python -m tests.failover --seconds $(or $(SECONDS),10)

# QUICK=1: a smaller table, in a minute. FULL=1: ten million NFTs besides. POSTGRESQL=1: PostgreSQL beside SQLite.
bench: load benchmarks/.venv/installed benchmarks/peers/fastify/node_modules/.installed
	@env -u MARKETPLACE_PUBLIC_URL benchmarks/.venv/bin/python -m benchmarks $(if $(QUICK),quick,$(if $(FULL),full))

# What no noise explains: a scan, a missing 304, half of a target missed.
bench-check: load benchmarks/.venv/installed benchmarks/peers/fastify/node_modules/.installed
	@env -u MARKETPLACE_PUBLIC_URL benchmarks/.venv/bin/python -m benchmarks check

# The libraries that wallets and dApps are made of, for tests/wallets/test_page.py; without them, make test skips that.
wallets:
	@npm ci --prefix tests/wallets --loglevel=error

# The Hedera SDKs of JavaScript and Java, for the programs of examples/sdk and tests/sandbox/test_sdks.py; without
# them, make test skips these.
sdks: examples/sdk/java/lib/hedera/sdk-2.50.0.jar
	@npm ci --prefix examples/sdk/javascript --loglevel=error

examples/sdk/java/lib/hedera/sdk-2.50.0.jar: examples/sdk/java/requirements.txt | .venv/bin/python
	@$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps -d $(@D) -r $<
	@$(BIN)/python -m zipfile -e $(@D)/hedera_sdk_py-*.whl examples/sdk/java/lib
	@touch $@

# Debian's Java, for the program in that.
java:
	@$(call debian,javac,default-jdk-headless)

# Debian's chromium and Firefox, for tests/demo/browser; without them, make test skips these.
browser:
	@$(call debian,chromium,chromium fonts-liberation)
	@$(call debian,firefox-esr,firefox-esr)

# Debian's PostgreSQL, older than that of the tests' package. Its programs are tried by
# TEST_POSTGRESQL_BIN=/usr/lib/postgresql/15/bin make test
postgresql:
	@$(call debian,pg_lsclusters,postgresql)

# Debian's Prometheus, for tests/operator/test_board.py; without it, make test skips these.
prometheus:
	@$(call debian,promtool,prometheus)

# Debian's Redis, for tests/api/test_limits.py; without it, make test skips these.
redis:
	@$(call debian,redis-server,redis-server)

# Debian's wrk, which makes the load of a benchmark.
load:
	@$(call debian,wrk,wrk)

# Debian's nginx, and what its tests call it with, for tests/operator/test_deploy.py; without, make test skips these.
nginx:
	@$(call debian,nginx,nginx-light)
	@$(call debian,curl,curl)
	@$(call debian,openssl,openssl)
	@$(call debian,systemd-analyze,systemd)

# The image, built and run, as root: its size, its start and its memory. BASE=image: on another base.
container: .venv/installed-dev
	@$(call debian,podman,podman crun)
	@$(call debian,mmdebstrap,mmdebstrap)
	@env -u MARKETPLACE_PUBLIC_URL $(BIN)/python -m tests.container

# The generators of API clients, for tests/test_clients.py; without them, make test skips these.
clients: .venv/installed-dev
	@$(PIP_INSTALL) -r tests/clients/requirements.txt
	@npm ci --prefix tests/clients/typescript --loglevel=error

# The linters of OpenAPI documents, Spectral and Redocly, for tests/api/test_openapi_lint.py; without them, make test
# skips these.
openapi:
	@npm ci --prefix tests/openapi --loglevel=error

# dist/nft_marketplace_service-*.whl, to install elsewhere.
wheel: .venv/installed-dev
	@$(BIN)/python -m build --no-isolation

lint: .venv/installed-dev
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

format: .venv/installed-dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:
	rm -rf .venv instance dist build *.egg-info benchmarks/.venv benchmarks/.data

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; $$($(PYTHON) --version) was found. Try: make PYTHON=python3.12"; exit 1; }
	@echo "Setting up .venv ..."
	@$(PYTHON) -m venv .venv

.venv/installed: requirements.txt constraints.txt | .venv/bin/python
	@echo "Installing what the service runs on ..."
	@$(PIP_INSTALL) -r requirements.txt
	@touch $@

.venv/installed-dev: requirements-dev.txt .venv/installed
	@echo "Installing what the tests need ..."
	@$(PIP_INSTALL) -r requirements-dev.txt
	@touch $@

benchmarks/.venv/installed: requirements.txt benchmarks/requirements.txt constraints.txt | .venv/bin/python
	@echo "Installing what the service is compared with ..."
	@.venv/bin/python -m venv benchmarks/.venv
	@benchmarks/.venv/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
	  -r requirements.txt -r benchmarks/requirements.txt
	@touch $@

benchmarks/peers/fastify/node_modules/.installed: benchmarks/peers/fastify/package-lock.json
	@command -v npm > /dev/null || { echo "Fastify needs Node.js 20 or newer, with npm: https://nodejs.org"; exit 1; }
	@npm ci --prefix benchmarks/peers/fastify --loglevel=error
	@touch $@
