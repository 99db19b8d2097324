"""What make run serves, without the sample: the service, a node and a relay for wallets."""

import sys
from contextlib import contextmanager

from harness.network import reserved_port
from harness.postgresql import until
from harness.serving import ROOT, Service, environment

SERVER = ("-m", "gunicorn", "-c", "python:marketplace.sandbox.server", "wsgi:app")


@contextmanager
def serve_desk(folder):
    """A service, which also has the addresses of its ``node`` and its ``relay``."""
    with reserved_port() as port, reserved_port() as node, reserved_port() as relay:
        url = f"http://127.0.0.1:{port}"
        environ = environment(DATA_DIR=f"{folder}/instance", PUBLIC_URL=url)
        environ |= {"PORT": str(port), "GRPC_PORT": str(node), "RELAY_PORT": str(relay)}
        environ |= {"SAMPLE": "no"}
        del environ["PROMETHEUS_MULTIPROC_DIR"]  # the server sets its own
        service = Service(folder, port, environ)
        service.node, service.relay = f"127.0.0.1:{node}", f"ws://127.0.0.1:{relay}"
        with service.running([sys.executable, *SERVER, "--chdir", str(ROOT)]):
            until(service.answers, "the service does not start")
            yield service
