"""A receiver of webhooks, and events to deliver."""

import json
from contextlib import contextmanager

from standardwebhooks import Webhook

from harness.network import serve
from harness.serving import run_flask
from marketplace.hedera import times
from tests.actions import tell


class Receiver:
    """A server that keeps what it is sent; it answers with one status after the other, then 204."""

    def __init__(self):
        self.statuses, self.received, self.headers = [], [], {}
        self.retry_after = None
        self.secret = self.id = None

    def __call__(self, environ, start_response):
        names = ("webhook-id", "webhook-timestamp", "webhook-signature")
        headers = {name: environ[f"HTTP_{name.upper().replace('-', '_')}"] for name in names}
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        assert environ["REQUEST_METHOD"] == "POST"
        assert environ["CONTENT_TYPE"] == "application/json"
        if self.secret:
            Webhook(self.secret).verify(body, headers)
        self.received.append((headers["webhook-id"], json.loads(body)))
        self.headers, self.body = headers, body
        status = self.statuses.pop(0) if self.statuses else "204 No Content"
        later = [("Retry-After", self.retry_after)] if self.retry_after else []
        start_response(status, [("Location", f"{self.url}/elsewhere"), *later])
        return []

    @property
    def kinds(self):
        return [message["type"] for _, message in self.received]

    @property
    def serial_numbers(self):
        return [message["data"]["serialNo"] for _, message in self.received]


@contextmanager
def receiving(folder, *options, make=Receiver):
    receiver = make()
    with serve(receiver) as receiver.url:
        receiver.id, receiver.secret = add(folder, f"{receiver.url}/hooks", *options)
        yield receiver


def add(folder, url, *options):
    added = run_flask(folder, "webhook", "add", url, "--allow-private", *options)
    assert added.exit_code == 0, added.output
    return added.stderr.split()[2].strip("."), added.stdout.strip()


def let_happen(app, *serial_numbers, kind="SOLD"):
    """Something happens to an NFT, once for each serial number."""
    for serial_no in serial_numbers:
        now = times.to_iso(times.now())
        change = {"kind": kind, "serial_no": serial_no, "consensus_at": now, "seen_at": now}
        tell(app, change | {"price": 60})
