"""Events reach each webhook in order, at least once, signed, and at its own pace."""

import base64
import json
import random
import re
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from itertools import pairwise

import pytest
from jsonschema.exceptions import ValidationError
from openapi_schema_validator import OAS31Validator
from standardwebhooks import Webhook, WebhookVerificationError

from harness.apps import authorized_client, write_sql
from harness.network import serve, serve_raw, silence
from harness.postgresql import until
from harness.serving import run_flask
from marketplace.hedera import times
from marketplace.market import moderation
from marketplace.market.moderation import Ruling, Subject
from marketplace.services import read, write
from marketplace.store import events, webhooks
from marketplace.watcher import webhooks as deliveries
from marketplace.watcher.webhooks import Deliveries, Refusal
from tests.engines import both_engines
from tests.watcher.receiver import add, let_happen, receiving

HOUR = 3600 * times.SECOND


@pytest.fixture
def receiver(app, tmp_path):
    with receiving(tmp_path) as receiver:
        yield receiver


@pytest.fixture
def happen(app):
    return partial(let_happen, app)


@pytest.fixture
def deliver(app):
    """Deliver all that is due within this many nanoseconds."""
    delivering = Deliveries(app)

    def deliver(later=0, delivering=delivering):
        with app.app_context():
            until(lambda: not delivering.step(times.now() + later), "there is no end to it")

    return deliver


@pytest.fixture
def send(happen, deliver):
    """Let something happen, and deliver what is due."""

    def send(*serial_numbers, kind="SOLD"):
        happen(*serial_numbers, kind=kind)
        deliver()

    return send


def webhook(app, id=None):
    """A webhook as it is stored; the only one, if none is named."""
    with app.app_context():
        return dict(webhooks.get_webhook(read(), id) if id else webhooks.list_webhooks(read())[0])


def listed(folder):
    return run_flask(folder, "webhook", "list").output


def test_it_works(app, client, receiver, send):
    send(7)
    [event] = client.get("/v1/events").json
    assert receiver.received == [
        (event["id"], {"type": "nft.sold", "timestamp": event["date"], "data": event})
    ]
    assert event["serialNo"] == 7
    assert list(json.loads(receiver.body)["data"]) == list(event)


@both_engines
def test_a_takedown_is_delivered_and_what_happens_then_waits(app, nft, receiver, happen, deliver):
    with app.app_context():
        moderation.hide(Subject(*nft), Ruling("stolen"))
    happen(nft[1])
    deliver()
    assert receiver.kinds == ["nft.hidden"]
    with app.app_context():
        moderation.unhide(Subject(*nft))
    deliver()
    assert receiver.kinds == ["nft.hidden", "nft.sold", "nft.shown"]


def test_the_document_describes_it(app, receiver, send):
    send(7)
    document = app.test_client().get("/openapi.json").json
    post = document["webhooks"]["event"]["post"]
    assert {each["name"] for each in post["parameters"]} == receiver.headers.keys()
    [content] = post["requestBody"]["content"].values()
    validator = OAS31Validator(document | content["schema"])
    validator.validate(receiver.received[0][1])
    with pytest.raises(ValidationError):
        validator.validate(receiver.received[0][1] | {"data": {}})


@both_engines
def test_events_come_in_order_and_once(receiver, send, deliver, tmp_path):
    send(*range(1, 30))
    deliver()
    assert receiver.serial_numbers == [*range(1, 30)]
    assert "all delivered" in listed(tmp_path)


def test_a_message_is_signed_with_its_own_secret(receiver, send, tmp_path):
    with receiving(tmp_path) as other:
        send(7)
    assert receiver.secret != other.secret
    Webhook(other.secret).verify(other.body, other.headers)
    altered = other.body.replace(b"60", b"61")
    for secret, body in ((receiver.secret, other.body), (other.secret, altered)):
        with pytest.raises(WebhookVerificationError):
            Webhook(secret).verify(body, other.headers)


def test_events_before_a_webhook_was_added_are_left_out(app, send, happen, tmp_path):
    happen(1, 2)
    with receiving(tmp_path) as receiver:
        send(3)
    assert receiver.serial_numbers == [3]


@both_engines
def test_a_webhook_gets_only_the_kinds_it_asks_for(app, send, happen, tmp_path):
    with receiving(tmp_path, "--kind", "SOLD", "--kind", "BURNED") as receiver:
        happen(1, kind="LISTED")
        happen(2)
        happen(3, kind="BURNED")
        send(4, kind="ADDED")
        assert webhook(app)["delivered_to"] == 3
    assert receiver.kinds == ["nft.sold", "nft.burned"]


@both_engines
def test_events_of_other_kinds_are_not_called_lost(app, send, tmp_path, monkeypatch):
    monkeypatch.setattr(deliveries, "NOTED_AFTER", 2)
    with receiving(tmp_path, "--kind", "SOLD"):
        send(1, 2, kind="LISTED")
    assert webhook(app)["delivered_to"] == 2


@both_engines
def test_a_watcher_that_was_killed_before_it_noted_deliveries_repeats_them(
    app, receiver, happen, deliver
):
    happen(7, 8)
    killed = Deliveries(app)
    with app.app_context():
        killed.step(times.now())
    # They arrive, and nothing is stored.
    until(lambda: len(receiver.received) == 2, "they do not arrive")
    deliver()
    assert receiver.serial_numbers == [7, 8, 7, 8]
    first, second, *repeated = [message_id for message_id, _ in receiver.received]
    assert [first, second] == repeated


@both_engines
def test_several_events_are_stored_in_one_write(app, receiver, happen, deliver, monkeypatch):
    monkeypatch.setattr(deliveries, "STORING_SECONDS", 60)
    happen(*range(20))
    delivering = Deliveries(app)
    with app.app_context():
        while delivering.step(times.now()):
            assert webhook(app)["delivered_to"] in (0, 20)
            time.sleep(0.01)
    assert len(receiver.received) == 20
    assert webhook(app)["delivered_to"] == 20


def test_a_failure_in_the_middle_keeps_what_was_delivered(app, receiver, send, deliver):
    receiver.statuses = ["204 No Content", "500 Oops"]
    send(7, 8, 9)
    assert receiver.serial_numbers == [7, 8]
    assert webhook(app)["delivered_to"] == 1
    assert webhook(app)["failure"] == "it answered 500"
    deliver(HOUR)
    assert receiver.serial_numbers == [7, 8, 8, 9]


def test_a_delivery_that_is_noted_late_takes_nothing_back(app, receiver, send, happen, deliver):
    happen(7)
    late = Deliveries(app)
    with app.app_context():
        late.step(times.now())
    until(lambda: receiver.received, "it does not arrive")
    deliver()
    send(8)
    with app.app_context():
        late.step(times.now())
    assert webhook(app)["delivered_to"] == 2


def test_failures_are_tried_again_ever_later_for_three_days(
    app, receiver, send, happen, deliver, tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr(random, "uniform", lambda low, high: high)
    receiver.statuses = ["500 Oops"] * 1000
    happen(7)
    later = 0
    pauses = []
    while True:
        deliver(later)
        state = webhook(app)
        if state["due_at"] is None:
            break
        due = times.to_nanoseconds(state["due_at"]) - times.now()
        pauses.append((due - later) / times.SECOND)
        deliver(due - times.SECOND // 2)  # not before
        later = due + times.SECOND
    assert len(receiver.received) == len(pauses) + 1 < 40
    assert pauses[0] == pytest.approx(5, abs=1)
    assert all(after > before for before, after in pairwise(pauses[2:11]))
    assert max(pauses) == pytest.approx(6 * 3600, abs=2)
    assert later == pytest.approx(3 * 24 * HOUR, abs=2 * 60 * times.SECOND)
    assert "given up: it answered 500" in listed(tmp_path)
    assert "It is given up" in caplog.text
    deliver(later + 30 * 24 * HOUR)
    assert len(receiver.received) == len(pauses) + 1

    receiver.statuses = []
    resumed = run_flask(tmp_path, "webhook", "resume", receiver.id)
    assert resumed.output == f"Resumed webhook {receiver.id}\n"
    send(8)
    assert receiver.serial_numbers[-2:] == [7, 8]
    assert webhook(app)["failure"] is None


@both_engines
def test_jitter_only_shortens_a_pause():
    since = times.now()
    due = {deliveries.find_next_try(Refusal("it answered 500"), since, since) for _ in range(20)}
    assert len(due) > 1
    assert all(2 <= times.from_iso(each) - since / times.SECOND <= 5 for each in due)


def in_seconds(seconds):
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    ("retry_after", "seconds"),
    [
        ("600", 600),
        (600, 600),  # a number is a date, this many seconds from now
        ("0", 5),
        ("1", 5),
        (-600, 5),
        ("999999999999", 6 * 3600),
        ("soon", 5),
        ("Fri, 99 Nov 2026 20:00:00 GMT", 5),
        ("-5", 5),
    ],
)
def test_the_receiver_says_when_to_try_again(
    app, receiver, send, happen, deliver, retry_after, seconds, monkeypatch
):
    monkeypatch.setattr(random, "uniform", lambda low, high: high)
    is_date = isinstance(retry_after, int)
    receiver.retry_after = in_seconds(retry_after) if is_date else retry_after
    receiver.statuses = ["503 Busy"]
    send(7)
    due = times.to_nanoseconds(webhook(app)["due_at"]) - times.now()
    assert due / times.SECOND == pytest.approx(seconds, abs=90 if seconds == 600 else 2)
    deliver(due - 2 * times.SECOND)
    assert len(receiver.received) == 1
    deliver(due + times.SECOND)
    assert receiver.serial_numbers == [7, 7]


def test_a_receiver_that_was_down_for_hours_may_ask_to_be_tried_soon():
    since = times.now()
    now = since + 5 * HOUR
    due = deliveries.find_next_try(Refusal("it answered 503", 60), since, now)
    assert due == times.to_iso(now + 60 * times.SECOND)
    late = since + deliveries.GIVEN_UP_AFTER - times.SECOND
    due = deliveries.find_next_try(Refusal("it answered 503", 60), since, late)
    assert due == times.to_iso(late + times.SECOND)


@both_engines
def test_a_410_ends_a_webhook_at_once(app, receiver, send, deliver, tmp_path):
    receiver.statuses = ["410 Gone"]
    send(7, 8)
    deliver(HOUR)
    assert receiver.serial_numbers == [7]
    assert "given up: it answered 410" in listed(tmp_path)


def test_a_redirect_is_not_followed(app, receiver, send):
    receiver.statuses = ["307 Elsewhere"]
    send(7)
    assert webhook(app)["failure"] == "it answered 307"
    assert len(receiver.received) == 1


def test_a_webhook_that_does_not_answer_holds_up_no_other(
    app, happen, deliver, tmp_path, monkeypatch
):
    monkeypatch.setattr(deliveries, "ANSWER_SECONDS", 0.9)
    with serve_raw(silence) as url:
        id, _ = add(tmp_path, url)
        with receiving(tmp_path) as receiver, app.app_context():
            happen(*range(5))
            delivering = Deliveries(app)
            while len(receiver.received) < 5:
                assert delivering.step(times.now())
        assert webhook(app, id)["failure"] is None  # it is still waited for
        deliver(delivering=delivering)
        assert webhook(app, id)["failure"] == "it did not answer in time"
        assert webhook(app, id)["delivered_to"] == 0


def test_a_webhook_that_cannot_be_reached_is_tried_again(app, send, deliver, tmp_path):
    with receiving(tmp_path) as receiver:
        pass
    send(7)
    assert webhook(app)["failure"] == "it cannot be reached"
    with serve(receiver, int(receiver.url.rpartition(":")[2])):
        deliver(HOUR)
    assert receiver.serial_numbers == [7]


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("localhost", "InvalidIPAddress"),
        ("8.8.8.8:8443", "it is not an http or https address on port 80 or 443"),
    ],
)
def test_a_private_address_is_refused(app, send, tmp_path, host, reason):
    assert run_flask(tmp_path, "webhook", "add", f"https://{host}/").exit_code == 0
    send(7)
    assert webhook(app)["failure"] == reason


@pytest.mark.parametrize(
    "url",
    [
        "http://shop.example/",
        "ftp://shop.example/",
        "shop.example",
        "https://",
        "https:///hooks",
        "https://user:password@shop.example/",
        "https://shop.example/#part",
        "https://shop.example/a b",
        "https://shop.example/\n",
        "https://shop.example/\x1b[31m",
        "https://shop.example/" + "a" * 2000,
    ],
)
def test_it_refuses_an_unusable_address(app, tmp_path, url):
    refused = run_flask(tmp_path, "webhook", "add", url)
    assert refused.exit_code == 1
    assert "The URL " in refused.output and "password@" not in refused.output
    assert "There is no webhook yet" in listed(tmp_path)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://user:password@shop.example/", "has a user name or a password"),
        ("https://shop.example/#part", "has a part after #"),
        ("http://shop.example/", "--allow-private"),
        ("ftp://shop.example/", "is not an https address"),
    ],
)
def test_the_refusal_of_an_address_says_why_and_never_shows_it(tmp_path, app, url, words):
    refused = run_flask(tmp_path, "webhook", "add", url)
    assert words in refused.output
    assert url not in refused.output and "user" not in refused.output.replace("user name", "")


def test_a_scheme_may_be_in_capitals_and_a_query_is_not_listed(tmp_path, app):
    url = "HTTPS://shop.example/hooks?token=s3cret"
    assert run_flask(tmp_path, "webhook", "add", url).exit_code == 0
    assert "  https://shop.example/hooks?...  [all kinds]" in listed(tmp_path)
    assert "s3cret" not in listed(tmp_path)


def test_events_that_were_deleted_are_reported(app, receiver, happen, deliver, caplog):
    happen(1, 2, 3, 4)
    with app.app_context(), write() as db:
        events.delete_events(db, times.to_iso(times.now()), 2)
    deliver()
    deliver()
    assert receiver.serial_numbers == [3, 4]
    assert f"Webhook {receiver.id} goes on after event 2 instead of 0" in caplog.text


@both_engines
def test_a_database_that_lost_events_goes_on_from_its_newest(app, receiver, send, deliver, caplog):
    send(1, 2, 3)
    write_sql(app, "DELETE FROM event WHERE id > 1")
    deliver()
    send(12)
    assert receiver.serial_numbers == [1, 2, 3, 12]
    assert f"Webhook {receiver.id} goes on after event 1 instead of 3" in caplog.text


def test_a_secret_is_shown_once(receiver, tmp_path):
    assert len(base64.b64decode(receiver.secret.removeprefix("whsec_"))) == 32
    assert receiver.secret not in listed(tmp_path)
    assert add(tmp_path, "https://shop.example/")[1] != receiver.secret


@both_engines
def test_a_test_is_signed_and_tells_what_became_of_it(app, receiver, tmp_path):
    taken = run_flask(tmp_path, "webhook", "test", receiver.id)
    assert taken.output == f"{receiver.url}/hooks accepted the message\n"
    [(message_id, message)] = receiver.received
    assert message_id.startswith("test-")
    assert (message["type"], message["data"]) == ("webhook.test", {})
    receiver.statuses = ["404 Not Found"]
    refused = run_flask(tmp_path, "webhook", "test", receiver.id)
    assert refused.exit_code == 1
    assert "did not accept the message: it answered 404" in refused.output


@pytest.mark.parametrize("words", ["test", "resume", "remove"])
def test_an_unknown_webhook_cannot_be_removed(app, tmp_path, words):
    refused = run_flask(tmp_path, "webhook", words, "7")
    assert refused.exit_code == 1
    assert 'There is no webhook "7"' in refused.output


@both_engines
def test_a_removed_webhook_gets_nothing_more(app, receiver, send, happen, deliver, tmp_path):
    happen(7)
    delivering = Deliveries(app)
    with app.app_context():
        delivering.step(times.now())
    removed = run_flask(tmp_path, "webhook", "remove", receiver.id)
    assert removed.output == f"Removed webhook {receiver.id}\n"
    deliver(delivering=delivering)
    send(8)
    assert receiver.serial_numbers in ([], [7])
    assert "There is no webhook yet" in listed(tmp_path)
    assert add(tmp_path, receiver.url)[0] != receiver.id


@both_engines
def test_prometheus_sees_what_waits_and_what_is_given_up(app, receiver, send, deliver):
    scraper = authorized_client(app, "metrics")

    def scrape():
        return dict(
            re.findall(r"^marketplace_(webhook\S+) (\S+)$", scraper.get("/metrics").text, re.M)
        )

    receiver.statuses = ["500 Oops", "204 No Content", "410 Gone"]
    send(7)
    assert float(scrape()["webhook_delay_seconds"]) > 0
    deliver(HOUR)
    assert float(scrape()["webhook_delay_seconds"]) == 0
    send(8)
    found = scrape()
    assert float(found["webhook_delay_seconds"]) == 0
    assert float(found["webhooks_given_up"]) == 1
    assert float(found['webhook_deliveries_total{outcome="delivered"}']) == 1
    assert float(found['webhook_deliveries_total{outcome="failed"}']) == 2
