"""A watcher delivers what happens, killed or not; the libraries of Standard Webhooks verify it."""

import json
import threading
import time

import pytest
from standardwebhooks import Webhook

from marketplace import times
from marketplace.market.events import insert
from marketplace.store.database import write
from marketplace.watcher.webhooks.deliveries import EVENTS_AT_ONCE
from marketplace.watcher.webhooks.messages import SECONDS
from tests.conftest import settings
from tests.network import serve, serve_raw, silence
from tests.postgresql import until
from tests.serving import run_flask, run_program, watcher
from tests.system.wallets.test_encoding import FOLDER, needs_wallets

VERIFY = """
import { Webhook } from "standardwebhooks";
import { readFileSync } from "node:fs";
const { secret, body, headers } = JSON.parse(readFileSync(0));
const webhook = new Webhook(secret);
const verified = webhook.verify(body, headers);
let isRefused = false;
try { webhook.verify(body.replace("60", "61"), headers); } catch { isRefused = true; }
console.log(JSON.stringify({ verified, isRefused }));
"""
KILLS = 4
EVENT = {
    "kind": "SOLD", "token": "0.0.7001", "from_account": "0.0.1001", "to_account": "0.0.1002", "price": 60,
    "previous_price": 60, "transaction_id": None, "consensus_at": None,
}  # fmt: skip


class Receiver:
    """Takes messages slowly, and refuses some."""

    def __init__(self):
        self.taken, self.messages = [], []

    def __call__(self, environ, start_response):
        names = ("webhook-id", "webhook-timestamp", "webhook-signature")
        headers = {name: environ[f"HTTP_{name.upper().replace('-', '_')}"] for name in names}
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])).decode()
        message = Webhook(self.secret).verify(body, headers)
        self.messages.append({"secret": self.secret, "body": body, "headers": headers})
        self.taken.append(message["data"]["serialNo"])
        time.sleep(0.02)
        start_response("204 No Content", [])
        return []


@pytest.fixture
def receiver(app, tmp_path):
    receiver = Receiver()
    with serve(receiver) as url:
        receiver.secret = add(tmp_path, f"{url}/hooks")
        yield receiver


def add(folder, url):
    added = run_flask(folder, "webhook", "add", url, "--allow-private", "--kind", "SOLD")
    assert added.exit_code == 0, added.output
    return added.stdout.strip()


def happen(app, serial_no):
    with app.app_context(), write() as db:
        seen_at = times.to_iso(times.now())
        insert(db, [EVENT | {"serial_no": serial_no, "seen_at": seen_at}])


def test_nothing_is_lost_where_the_watcher_is_killed(app, receiver, tmp_path):
    stop, happened = threading.Event(), []

    def go_on():
        while not stop.is_set():
            if len(happened) < len(receiver.taken) + 50:  # or a busy machine would never be done
                happen(app, len(happened) + 1)
                happened.append(len(happened) + 1)
            time.sleep(0.02)

    thread = threading.Thread(target=go_on)
    thread.start()
    for _ in range(KILLS):
        before = len(receiver.taken)
        with watcher(tmp_path, **settings(tmp_path)) as process:
            until(lambda before=before: len(receiver.taken) > before + 10, "none arrives")
            process.kill()
    stop.set()
    thread.join()
    with watcher(tmp_path, **settings(tmp_path)):
        until(lambda: receiver.taken[-1] == happened[-1], "the last does not arrive")
    taken = receiver.taken
    assert sorted({*taken}) == happened
    assert [n for i, n in enumerate(taken) if n not in taken[:i]] == happened  # in order
    assert len(taken) - len(happened) <= KILLS * EVENTS_AT_ONCE


@pytest.mark.once("no statement is asked")
def test_it_ends_at_once_while_a_webhook_is_silent(app, receiver, tmp_path):
    with serve_raw(silence) as url:
        add(tmp_path, url)
        happen(app, 1)
        with watcher(tmp_path, **settings(tmp_path)) as process:
            until(lambda: receiver.taken, "none arrives")
            started = time.monotonic()
        assert process.returncode == 0
        assert time.monotonic() - started < SECONDS


@pytest.mark.once("its signature")
@needs_wallets
def test_the_library_for_javascript_verifies_it(app, receiver, tmp_path):
    happen(app, 7)
    with watcher(tmp_path, **settings(tmp_path)):
        until(lambda: receiver.messages, "none arrives")
    command = ["node", "--input-type=module", "-e", VERIFY]
    given = json.dumps(receiver.messages[0])
    verified = run_program(*command, cwd=FOLDER, input=given, check=True)
    assert json.loads(verified.stdout) == {
        "verified": json.loads(receiver.messages[0]["body"]),
        "isRefused": True,
    }
