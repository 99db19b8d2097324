"""What becomes of an NFT's metadata and image, whatever the hosts do, and in which order."""

import json
import threading
from contextlib import closing

import pytest

from harness import network
from harness.apps import authorized_client, completing, on_testnet, write_sql
from harness.cast import ALICE, KEYS, TOKEN
from harness.network import answering, serve, serve_raw
from harness.postgresql import until
from marketplace.hedera import times
from marketplace.hedera.ids import NftId
from marketplace.market import throttled_log
from marketplace.market.nfts import add as add_nfts
from marketplace.market.nfts import read_again, read_collection_again
from marketplace.market.requests import MarketRequest
from marketplace.sandbox import gateway
from marketplace.sandbox.application import create_sandbox
from marketplace.services import read, write
from marketplace.store import media, nfts
from marketplace.watcher import enrichment as module
from marketplace.watcher import maintenance
from marketplace.watcher.done import Done
from marketplace.watcher.enrichment import Enricher
from marketplace.watcher.enrichment_result import (
    Description,
    EnrichmentResult,
    Limits,
    Optimised,
    Outcome,
)
from tests.engines import both_engines

HURRY_SECONDS = 0.3  # where a fault lasts until the time is used up


def stored(app, token=TOKEN, serial_no=7):
    with app.app_context():
        return nfts.get_nft(read(), token, serial_no)


def add(app, token=TOKEN, serial_no=7):
    with app.app_context():
        add_nfts(MarketRequest(ALICE, [NftId(token, serial_no)]))


def test_an_add_is_completed(client, app, complete):
    assert client.post("/v1/add", json=KEYS).json == {"result": "OK"}
    before = client.get(f"/v1/nft/{TOKEN}/7").json
    assert before["name"] == f"Sandbox {TOKEN} #7"
    assert before["imageUrl"].endswith("/media/placeholder.webp")
    assert before["fileType"] == "application/octet-stream"
    assert stored(app)["missing"] and stored(app)["retry_at"]

    assert complete() == {Done.COMPLETED: 1}
    after = client.get(f"/v1/nft/{TOKEN}/7").json
    assert after["fileType"] == "image/png"
    assert after["stringifiedAttributes"] and after["originalImageUrl"]
    assert client.get(after["imageUrl"]).content_type == "image/webp"
    assert stored(app)["missing"] is stored(app)["retry_at"] is None


FAULTS = {
    "silence": network.silence,
    "a reset in the middle": network.reset_in_the_middle,
    "200 MB": network.huge_body,
    "404": answering(b"gone", "404 Not EnrichmentResult"),
    "no object": answering(b"[]"),
    "NaN and depth": answering(b'{"name": NaN, "a": ' + b"[" * 50_000),
    "gzip that is none": answering(b"plain", Content_Encoding="gzip"),
    "a redirect to no address": answering(b"", "302 EnrichmentResult", Location="http://["),
    "an address of a million letters": answering(
        json.dumps({"image": "https://nft.example/" + "x" * 900_000}).encode()
    ),
    "a redirect loop": answering(b"", "302 EnrichmentResult", Location="/ipfs/again"),
}


@pytest.fixture
def connect(tmp_path):
    """The service on testnet, whose mirror node is the sandbox's, with this gateway."""
    sandbox = create_sandbox(f"{tmp_path}/ledger.db")
    sandbox.register_blueprint(gateway.blp)
    with serve(sandbox) as mirror_url:

        def make(gateway):
            return on_testnet(tmp_path, mirror_url, gateway)

        make.sandbox = sandbox
        yield make


@pytest.mark.parametrize("fault", FAULTS)
def test_a_failing_host_leaves_what_is_there(connect, monkeypatch, fault):
    if fault == "silence":
        monkeypatch.setattr(module, "QUICK", Limits(HURRY_SECONDS, 60))
        monkeypatch.setattr(module, "LONG", Limits(HURRY_SECONDS, 60))
    with serve_raw(FAULTS[fault]) as gateway:
        app = connect(gateway)
        add(app)
        completing(app)()
    nft = stored(app)
    assert nft["name"] == f"Sandbox {TOKEN} #7"
    assert nft["image"] is None
    assert nft["missing"] and nft["retry_at"] > times.to_iso(times.now())


def test_a_failing_image_leaves_the_metadata(connect):
    def gateway(environ, start_response):
        if environ["PATH_INFO"].endswith(".json"):
            return connect.sandbox(environ, start_response)
        start_response("404 Not EnrichmentResult", [])
        return [b""]

    with serve(gateway) as url:
        app = connect(url)
        add(app)
        completing(app)()
    nft = authorized_client(app, "read").get(f"/v1/nft/{TOKEN}/7").json
    assert nft["stringifiedAttributes"]
    assert nft["fileType"] == "image/png"
    assert nft["originalImageUrl"].startswith(f"{url}/ipfs/")
    assert nft["imageUrl"].endswith("/media/placeholder.webp")


WEBP = Optimised(b"RIFF", "image/png")
OLD = Description("Old", "image/png", '[{"trait_type":"a","value":"1"}]', "ipfs://old")
NEW = Description("New", "image/gif", None, "ipfs://new")


class Hosts:
    """What hosts answer, pointer by pointer; another answer than a EnrichmentResult is raised or called."""

    def __init__(self, app):
        self.answers, self.asked = {}, []
        self._app = app

    def __call__(self, pointer, limits):
        is_quick = limits is module.QUICK
        self.asked.append((pointer, is_quick))
        answer = self.answers.get(
            pointer, EnrichmentResult(Outcome.COMPLETE, None, OLD, "http://old", WEBP)
        )
        return answer(is_quick) if callable(answer) else answer

    def complete(self):
        with closing(Enricher(self._app, self)) as enricher:
            return enricher.drain(60)


@pytest.fixture
def hosts(app):
    return Hosts(app)


@pytest.fixture
def pointer(app):
    """The pointer of the NFT, which is stored and due."""
    add(app)
    return stored(app)["metadata"]


def change_pointer(app, pointer):
    """As it is stored once the ledger shows another pointer."""
    sql = """
        UPDATE nft SET metadata = :pointer, missing = 'changed', attempts = 0, retry_at = :now
    """
    write_sql(app, sql, pointer=pointer, now=times.to_iso(times.now()))


def test_a_fetch_that_fails_takes_no_good_data_away(app, hosts, pointer):
    hosts.complete()
    before = stored(app)
    assert (before["name"], before["attributes"]) == ("Old", OLD.attributes)
    change_pointer(app, "ipfs://new")
    hosts.answers["ipfs://new"] = EnrichmentResult(Outcome.UNREACHABLE, "status 404")
    hosts.complete()
    during = stored(app)
    for column in ("name", "attributes", "image", "file_type", "original_image_url"):
        assert during[column] == before[column]
    assert during["missing"] == "status 404"


def test_new_metadata_takes_the_place_of_the_old(app, hosts, pointer):
    hosts.complete()
    image = stored(app)["image"]
    change_pointer(app, "ipfs://new")
    hosts.answers["ipfs://new"] = EnrichmentResult(
        Outcome.UNREACHABLE, "status 404", NEW, "http://new"
    )
    hosts.complete()
    nft = stored(app)
    assert (nft["name"], nft["attributes"], nft["file_type"]) == ("New", None, "image/gif")
    assert nft["image"] == image  # until the new one is there


def test_metadata_of_an_older_pointer_is_not_stored(app, hosts, pointer):
    def change_meanwhile(is_quick):
        change_pointer(app, "ipfs://new")
        hosts.answers[pointer] = None
        return EnrichmentResult(Outcome.COMPLETE, None, OLD, "http://old", WEBP)

    hosts.answers[pointer] = change_meanwhile
    hosts.answers["ipfs://new"] = EnrichmentResult(Outcome.COMPLETE, None, NEW, "http://new", WEBP)
    hosts.complete()
    assert stored(app)["name"] == "New"


@both_engines
def test_a_second_try_with_more_time_follows_at_once_and_others_later(app, hosts, pointer):
    hosts.answers[pointer] = EnrichmentResult(Outcome.SLOW, "it took too long")
    hosts.complete()
    assert [is_quick for _, is_quick in hosts.asked] == [True, False]
    nft = stored(app)
    assert nft["attempts"] == 2
    assert nft["retry_at"] > times.to_iso(times.now() + times.MINUTE)


def test_the_log_says_once_a_minute_why_an_nft_is_incomplete(
    app, hosts, pointer, caplog, monkeypatch
):
    hosts.answers[pointer] = EnrichmentResult(Outcome.SLOW, "it took too long")
    hosts.complete()  # two tries
    lines = [f"{TOKEN} #7 lacks its metadata or image: it took too long"]
    assert [record.getMessage() for record in caplog.records] == lines
    monkeypatch.setattr(throttled_log, "PAUSE_SECONDS", 0)
    change_pointer(app, "ipfs://new")
    hosts.answers["ipfs://new"] = EnrichmentResult(Outcome.UNUSABLE, "it is not JSON")
    hosts.complete()
    lines.append(
        f"{TOKEN} #7 lacks its metadata or image: it is not JSON (1 more since the last such line)"
    )
    assert [record.getMessage() for record in caplog.records] == lines


def test_metadata_that_is_unusable_is_tried_again_in_a_day(app, hosts, pointer):
    hosts.answers[pointer] = EnrichmentResult(Outcome.UNUSABLE, "the metadata is not JSON")
    hosts.complete()
    assert len(hosts.asked) == 1
    assert stored(app)["retry_at"] > times.to_iso(times.now() + times.DAY - times.MINUTE)


def test_a_busy_decoder_does_not_count_as_an_attempt(app, hosts, pointer):
    hosts.answers[pointer] = EnrichmentResult(Outcome.BUSY, "no image can be decoded now")
    hosts.complete()
    nft = stored(app)
    assert nft["attempts"] == 0
    assert nft["retry_at"] < times.to_iso(times.now() + 2 * times.MINUTE)


def test_no_image_is_stored_on_a_disk_that_is_nearly_full(
    app, hosts, pointer, tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr(media, "MIN_FREE_BYTES", 10**18)
    hosts.complete()
    nft = stored(app)
    assert nft["name"] == "Old"
    assert nft["image"] is None
    assert nft["missing"] == "the disk of MARKETPLACE_MEDIA_URL is nearly full"
    assert nft["attempts"] == 0
    assert "nearly full" in caplog.text
    assert not list((tmp_path / "media").glob("*.webp"))


def test_the_log_says_once_why_images_cannot_be_stored(app, hosts, pointer, tmp_path, caplog):
    (tmp_path / "media").rmdir()
    (tmp_path / "media").write_text("no folder")
    add(app, serial_no=6)
    hosts.complete()
    for serial_no in 6, 7:
        nft = stored(app, serial_no=serial_no)
        assert (nft["image"], nft["attempts"]) == (None, 0)
    (said,) = (record.message for record in caplog.records if "cannot be stored" in record.message)
    assert "File exists" in said


HOSTED = "https://nft.example/7.json"


@pytest.fixture
def hosted(app, hosts):
    """The NFT of an address of the web, complete; what the host answers is in ``hosts.answers[HOSTED]``."""
    add(app)
    change_pointer(app, HOSTED)
    hosts.answers[HOSTED] = EnrichmentResult(Outcome.COMPLETE, None, OLD, "http://old", WEBP)
    hosts.complete()
    return hosts


def pause_of(app):
    """In how many days complete metadata is read again."""
    at = stored(app)["reread_at"]
    return at and round((times.to_nanoseconds(at) - times.now()) / times.DAY, 1)


def pass_days(app, days):
    """Let as many days pass as make it due, and have it read."""
    sql = "UPDATE nft SET read_at = :read_at, reread_at = :now"
    now = times.now()
    write_sql(app, sql, read_at=times.to_iso(now - days * times.DAY), now=times.to_iso(now))
    with app.app_context():
        maintenance.read_metadata_again()


def test_metadata_of_the_web_is_read_again_after_growing_pauses(app, hosted):
    assert pause_of(app) == 1
    for days, following in ((1, 2), (2, 4), (20, 32), (32, 32)):
        pass_days(app, days)
        assert stored(app)["retry_at"] and stored(app)["name"] == "Old"
        hosted.complete()
        assert pause_of(app) == following
        assert stored(app)["missing"] is stored(app)["retry_at"] is None
    hosted.answers[HOSTED] = EnrichmentResult(Outcome.COMPLETE, None, NEW, "http://new", WEBP)
    pass_days(app, 32)
    hosted.complete()
    assert (stored(app)["name"], pause_of(app)) == ("New", 1)


@both_engines
def test_a_new_reading_that_fails_replaces_nothing(app, hosted):
    before = stored(app)
    hosted.answers[HOSTED] = EnrichmentResult(Outcome.UNREACHABLE, "status 404")
    pass_days(app, 1)
    hosted.complete()
    during = stored(app)
    for column in ("name", "attributes", "image", "file_type", "original_image_url"):
        assert during[column] == before[column]
    assert during["retry_at"] and during["reread_at"] is None
    hosted.answers[HOSTED] = EnrichmentResult(Outcome.COMPLETE, None, OLD, "http://old", WEBP)
    write_sql(app, "UPDATE nft SET retry_at = :now", now=times.to_iso(times.now()))
    hosted.complete()
    assert stored(app)["missing"] is None and pause_of(app) == 1


def test_a_hosts_message_in_place_of_the_document_takes_no_attributes_away(app, hosted):
    before = stored(app)
    message = Description(collection='{"description":"Too many requests"}')
    hosted.answers[HOSTED] = EnrichmentResult(
        Outcome.UNUSABLE, "the metadata names no image", message
    )
    pass_days(app, 1)
    hosted.complete()
    for column in ("name", "attributes", "image", "original_image_url"):
        assert stored(app)[column] == before[column]
    assert stored(app)["missing"] == "the metadata names no image"


@both_engines
def test_metadata_that_failed_twenty_times_is_tried_again_later(app, hosted):
    hosted.answers[HOSTED] = EnrichmentResult(Outcome.UNUSABLE, "the metadata is not JSON")
    sql = "UPDATE nft SET attempts = 19, missing = 'x', retry_at = :now"
    write_sql(app, sql, now=times.to_iso(times.now()))
    hosted.complete()
    assert stored(app)["retry_at"] is None and pause_of(app) == 32
    hosted.answers[HOSTED] = EnrichmentResult(Outcome.COMPLETE, None, NEW, "http://new", WEBP)
    pass_days(app, 32)
    hosted.complete()
    assert (stored(app)["name"], pause_of(app)) == ("New", 1)


def test_immutable_metadata_is_not_read_again(app, hosts, pointer):
    hosts.complete()
    assert stored(app)["missing"] is None and pause_of(app) is None


class Gate:
    """Hosts that answer no NFT of these tokens before the gate is opened."""

    def __init__(self, app, hosts, keys):
        self.gate, self.begun = threading.Event(), 0
        for key in keys:
            add(app, *key)
            hosts.answers[stored(app, *key)["metadata"]] = self.hang

    def hang(self, is_quick):
        self.begun += 1
        assert self.gate.wait(60)
        return EnrichmentResult(Outcome.UNUSABLE, "at last")


def step_until(enricher, condition):
    def step():
        enricher.step()
        return condition()

    until(step, "there is no end to it")


def assert_completed_meanwhile(app, enricher):
    """Complete another collection's NFT while none of the others ends."""
    add(app)
    step_until(enricher, lambda: not stored(app)["missing"])


def test_one_collection_takes_half_the_places_of_the_enricher(app, hosts):
    gate = Gate(app, hosts, [("0.0.666", n) for n in range(1, 2 * module.FIRST_AT_ONCE)])
    with closing(Enricher(app, hosts)) as enricher:
        try:
            enricher.step()
            assert_completed_meanwhile(app, enricher)
            assert gate.begun == module.FIRST_AT_ONCE // 2
        finally:
            gate.gate.set()


def test_slow_tries_leave_places_for_others(app, hosts):
    """The first tries of many collections fail; their second ones have more time."""
    keys = [(f"0.0.{number}", 1) for number in range(660, 680)]
    gate = Gate(app, hosts, keys)
    for key in keys:
        hosts.answers[stored(app, *key)["metadata"]] = lambda is_quick: (
            EnrichmentResult(Outcome.SLOW, "it took too long") if is_quick else gate.hang(is_quick)
        )
    with closing(Enricher(app, hosts)) as enricher:
        try:
            step_until(enricher, lambda: gate.begun == module.LATER_AT_ONCE)
            assert_completed_meanwhile(app, enricher)
            assert gate.begun == module.LATER_AT_ONCE
        finally:
            gate.gate.set()


@both_engines
@pytest.mark.parametrize("way", ["refresh", "flask refresh", "daily"])
def test_what_is_read_again_leaves_places_for_what_is_new(app, hosts, way):
    """Hundreds of refreshes of silent hosts shared the lane of first tries."""
    keys = [(f"0.0.{number}", 1) for number in range(660, 680)]
    for key in keys:
        add(app, *key)
    hosts.complete()
    gate = Gate(app, hosts, keys)
    write_sql(app, "UPDATE nft SET reread_at = '2'")
    with app.app_context():
        for key in keys:
            if way == "daily":
                with write() as db:
                    nfts.mark_to_reread(db, *key, times.to_iso(times.now()), 19)
            else:
                read_again(*key) if way == "refresh" else read_collection_again(key[0])
    with closing(Enricher(app, hosts)) as enricher:
        try:
            step_until(enricher, lambda: gate.begun == module.LATER_AT_ONCE)
            assert_completed_meanwhile(app, enricher)
            write_sql(
                app,
                "UPDATE nft SET attempts = 1, missing = 'x', retry_at = '2' WHERE serial_no = 7",
            )
            step_until(enricher, lambda: not stored(app)["missing"])  # a second try, too
            assert gate.begun == module.LATER_AT_ONCE
        finally:
            gate.gate.set()


def test_a_refresh_does_not_put_back_what_is_new(app, hosts, pointer):
    with app.app_context():
        read_again(TOKEN, 7)
    assert stored(app)["attempts"] == 0
    assert hosts.complete() == {Done.COMPLETED: 1}
    assert hosts.asked == [(pointer, True)]


@both_engines
def test_a_read_that_began_before_a_refresh_does_not_count_as_one(app, hosts, pointer):
    write_sql(app, "UPDATE nft SET attempts = 5")

    def be_asked_meanwhile(is_quick):
        if len(hosts.asked) == 1:
            with app.app_context():
                read_again(TOKEN, 7)
        return EnrichmentResult(
            Outcome.COMPLETE, None, NEW if len(hosts.asked) > 1 else OLD, "x", WEBP
        )

    hosts.answers[pointer] = be_asked_meanwhile
    hosts.complete()
    assert stored(app)["name"] == "New" and len(hosts.asked) == 2


@both_engines
def test_refused_addresses_are_logged_once_a_minute_with_a_count(
    app, complete, monkeypatch, caplog
):
    """Each was a line of its own, as often as a stranger liked."""
    for serial_no in range(1, 6):
        add(app, serial_no=serial_no)
    private = f"metadata = 'http://127.0.0.1/7.json', retry_at = '{times.to_iso(0)}', attempts = 0"
    write_sql(app, f"UPDATE nft SET {private}")
    complete()

    def logged():
        lines = [record.getMessage() for record in caplog.records]
        return [
            line for line in lines if line.startswith("An address that is not public was not asked")
        ]

    assert len(logged()) == 1
    monkeypatch.setattr(throttled_log, "PAUSE_SECONDS", 0)
    write_sql(app, f"UPDATE nft SET {private} WHERE serial_no = 1")
    complete()
    assert logged()[1].endswith("(9 more since the last such line)")  # five NFTs, two tries each
