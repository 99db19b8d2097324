"""A watcher delivers what happens, killed or not; the libraries of Standard Webhooks verify it."""

import json
import os
import re
import socket
import subprocess
import threading
import time
from contextlib import closing

import pytest
import requests

from harness.apps import settings
from harness.network import serve_raw, silence
from harness.postgresql import until
from harness.serving import ROOT, reserved_port, run_program, watcher
from marketplace.watcher.webhooks import ANSWER_SECONDS, EVENTS_AT_ONCE
from tests.engines import both_engines
from tests.system.wallets.programs import FOLDER, needs_wallets
from tests.watcher.receiver import Receiver, add, let_happen, receiving

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


class SlowReceiver(Receiver):
    """Takes messages slowly."""

    def __call__(self, environ, start_response):
        answer = super().__call__(environ, start_response)
        time.sleep(0.02)
        return answer


@pytest.fixture
def receiver(app, tmp_path):
    with receiving(tmp_path, "--kind", "SOLD", make=SlowReceiver) as receiver:
        yield receiver


@both_engines
def test_nothing_is_lost_where_the_watcher_is_killed(app, receiver, tmp_path):
    stop, happened = threading.Event(), []

    def go_on():
        while not stop.is_set():
            if len(happened) < len(receiver.received) + 50:  # or a busy machine would never be done
                let_happen(app, len(happened) + 1)
                happened.append(len(happened) + 1)
            time.sleep(0.02)

    thread = threading.Thread(target=go_on)
    thread.start()
    for _ in range(KILLS):
        before = len(receiver.received)
        with watcher(tmp_path, **settings(tmp_path)) as process:
            until(lambda before=before: len(receiver.received) > before + 10, "none arrives")
            process.kill()
    stop.set()
    thread.join()
    with watcher(tmp_path, **settings(tmp_path)):
        until(lambda: receiver.serial_numbers[-1] == happened[-1], "the last does not arrive")
    taken = receiver.serial_numbers
    assert sorted({*taken}) == happened
    assert [n for i, n in enumerate(taken) if n not in taken[:i]] == happened  # in order
    assert len(taken) - len(happened) <= KILLS * EVENTS_AT_ONCE


def test_it_ends_at_once_while_a_webhook_is_silent(app, receiver, tmp_path):
    with serve_raw(silence) as url:
        add(tmp_path, url)
        let_happen(app, 1)
        with watcher(tmp_path, **settings(tmp_path)) as process:
            until(lambda: receiver.received, "none arrives")
            started = time.monotonic()
        assert process.returncode == 0
        assert time.monotonic() - started < ANSWER_SECONDS


@needs_wallets
def test_the_library_for_javascript_verifies_it(app, receiver, tmp_path):
    let_happen(app, 7)
    with watcher(tmp_path, **settings(tmp_path)):
        until(lambda: receiver.received, "none arrives")
    command = ["node", "--input-type=module", "-e", VERIFY]
    body = receiver.body.decode()
    given = json.dumps({"secret": receiver.secret, "body": body, "headers": receiver.headers})
    verified = run_program(*command, cwd=FOLDER, input=given, check=True)
    assert json.loads(verified.stdout) == {
        "verified": json.loads(body),
        "isRefused": True,
    }


@needs_wallets
def test_the_documented_receiver_for_javascript_takes_a_message_once(app, receiver, tmp_path):
    let_happen(app, 7)
    with watcher(tmp_path, **settings(tmp_path)):
        until(lambda: receiver.received, "none arrives")
    text = (ROOT / "docs" / "webhooks.md").read_text()
    [program] = re.findall(r"^```js\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    with reserved_port() as port:
        environ = os.environ | {"WEBHOOK_SECRET": receiver.secret, "PORT": str(port)}
        command = ["node", "--input-type=module", "-e", program]
        node = subprocess.Popen(command, cwd=FOLDER, env=environ, stdout=subprocess.PIPE, text=True)
        with node, requests.Session() as session:
            session.headers.update(receiver.headers)
            url = f"http://127.0.0.1:{port}/"
            try:
                until(lambda: is_open(port), "it does not listen")
                twice = [session.post(url, data=receiver.body).status_code for _ in range(2)]
                forged = session.post(url, data=receiver.body.replace(b"7", b"8")).status_code
            finally:
                node.terminate()
            printed = node.stdout.read()
    assert ([*twice, forged], printed.count("serialNo: 7")) == ([204, 204, 401], 1)


def is_open(port):
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
