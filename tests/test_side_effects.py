"""create_app() changes nothing outside of the application that it returns."""

import gc
import json
import subprocess
import sys
import weakref

import pytest

from harness.engines import database_url
from harness.postgresql import until
from harness.serving import run_python
from marketplace import create_app
from marketplace.services import services
from tests.engines import both_engines

PROGRAM = """
import json, logging, os, signal, sys, threading

def loggers():
    known = {"": logging.root} | logging.root.manager.loggerDict
    return {
        name: [it.level, list(map(str, it.handlers)), list(map(str, it.filters)), it.propagate]
        for name, it in known.items()
        if isinstance(it, logging.Logger)
    }

def state():
    return {
        "environment": dict(os.environ),
        "threads": list(map(str, threading.enumerate())),
        "signals": [str(signal.getsignal(number)) for number in signal.valid_signals()],
        "hooks": list(map(str, (sys.excepthook, threading.excepthook, sys.stdout, sys.stderr))),
        "folder": os.getcwd(),
        "mask": os.umask(0o77),
    }

os.umask(0o77)
import marketplace.factory
before, logged = state(), loggers()
app = marketplace.factory.create_app(**json.loads(sys.argv[1]))
for timer in [it for it in threading.enumerate() if isinstance(it, threading.Timer)]:
    timer.join(1)  # the library of limits looks once for what has expired, 10 ms after its start
after, changed = state(), {name: it for name, it in loggers().items() if logged.get(name) != it}
unused = [0, [], [], True], [0, ["<NullHandler (NOTSET)>"], [], True]
unused += ([logging.WARNING, [], [], True],)  # as psycopg itself sets it
print(json.dumps({name: after[name] for name in before if before[name] != after[name]}))
print(json.dumps([name for name, it in changed.items() if it not in unused]))
"""


def settings(folder, network):
    return {
        "NETWORK": network,
        "ACCOUNT_ID": "0.0.9001",
        "DATA_DIR": str(folder),
        "DATABASE_URL": database_url(folder),
    }


@both_engines
@pytest.mark.parametrize("network", ["sandbox", "testnet"])
def test_create_app_leaves_environment_loggers_threads_and_signals_alone(tmp_path, network):
    output = run_python(PROGRAM, json.dumps(settings(tmp_path, network)))
    assert output == "{}\n[]\n"


@pytest.mark.parametrize("network", ["sandbox", "testnet"])
def test_an_application_that_is_dropped_is_collected(tmp_path, network):
    app = create_app(**settings(tmp_path, network))
    assert app.test_client().get("/status").status_code == 200
    own = services(app)
    parts = [weakref.ref(part) for part in (app, own, own.database, own.mirror_node)]
    del app, own

    def is_collected():
        gc.collect()
        return not any(part() for part in parts)

    until(is_collected, "something keeps it")  # its counts are written after a second


HOST = """
import logging, sys
from marketplace import create_app
app = create_app(NETWORK="testnet", ACCOUNT_ID="0.0.9001", DATA_DIR=sys.argv[1])
logging.basicConfig(format="host: %(message)s")
app.logger.info("a line")
"""


def test_a_host_that_configures_logging_after_it_reads_each_line_once(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", HOST, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert ended.stderr == "host: a line\n"


def test_our_own_server_does_not_wait_long_for_a_silent_name_server():
    program = "import os; from marketplace.serving import gunicorn_config; print(os.environ['RES_OPTIONS'])"
    assert run_python(program) == "timeout:2 attempts:1\n"
