"""How a collection describes itself: its token's metadata points to a document (HIP-765, HIP-766)."""

import base64
import json
from contextlib import closing

import pytest

from harness.apps import write_sql
from harness.cast import KEYS, TOKEN
from marketplace.hedera import times
from marketplace.services import read
from marketplace.store import nft_collections
from marketplace.watcher.enrichment import Enricher
from marketplace.watcher.enrichment_result import Description, EnrichmentResult, Optimised, Outcome
from tests.engines import both_engines

WEBP = Optimised(b"RIFF", "image/png")
LINKS = [{"label": "website", "url": "https://seas.example"}]
SEAS = {"description": "Seas", "banner": "ipfs://banner", "logo": "ipfs://logo", "links": LINKS}


def found(collection=None, image=None):
    description = Description(collection=collection and json.dumps(collection))
    return EnrichmentResult(
        Outcome.COMPLETE if image else Outcome.UNUSABLE, None, description, image=image
    )


class Hosts:
    """What leads to which result. An image's address is asked for as a document that names it."""

    def __init__(self):
        self.answers, self.asked = {}, []

    def __call__(self, pointer, limits):
        self.asked.append(pointer)
        return self.answers.get(pointer, EnrichmentResult(Outcome.UNREACHABLE, "status 404"))


@pytest.fixture
def hosts():
    hosts = Hosts()
    hosts.answers["https://seas.example/7001.json"] = found(SEAS)
    for name in ("banner", "logo"):
        hosts.answers[json.dumps({"image": f"ipfs://{name}"})] = found(image=WEBP)
    return hosts


def point(app, mirror, client, pointer="https://seas.example/7001.json", key="metadata"):
    """Let the token point to a document, and the NFT of it be added."""
    value = base64.b64encode(pointer.encode()).decode() if key == "metadata" else pointer
    mirror.alter(
        f"/tokens/{TOKEN}$", lambda token: token.update({"metadata": "", "memo": ""} | {key: value})
    )
    assert client.post("/v1/add", json=KEYS).status_code == 200


def complete(app, hosts):
    with closing(Enricher(app, hosts)) as enricher:
        enricher.drain(60)


def shown(client):
    collection = client.get(f"/v1/collection/{TOKEN}").json
    images = [bool(collection[key]) for key in ("bannerUrl", "logoUrl")]
    return collection["description"], *images, collection["links"]


def stored(app):
    with app.app_context():
        return dict(nft_collections.get_collection(read(), TOKEN))


@pytest.mark.parametrize("key", ["metadata", "memo"])
def test_it_is_read(app, client, mirror, hosts, key):
    point(app, mirror, client, key=key)
    assert shown(client) == (None, False, False, [])
    complete(app, hosts)
    assert shown(client) == ("Seas", True, True, LINKS)
    url = client.get(f"/v1/collection/{TOKEN}").json["logoUrl"]
    assert client.get(url).content_type == "image/webp"


@both_engines
def test_a_fetch_that_fails_replaces_nothing_and_is_repeated(app, client, mirror, hosts):
    point(app, mirror, client)
    complete(app, hosts)
    hosts.answers.clear()
    write_sql(app, "UPDATE collection SET describe_at = :now", now=times.to_iso(times.now()))
    complete(app, hosts)
    assert shown(client) == ("Seas", True, True, LINKS)
    assert stored(app)["describe_attempts"] == 1
    assert stored(app)["describe_at"] < times.to_iso(times.now() + times.HOUR)


@both_engines
def test_an_image_that_fails_leaves_the_rest(app, client, mirror, hosts):
    del hosts.answers[json.dumps({"image": "ipfs://banner"})]
    point(app, mirror, client)
    complete(app, hosts)
    assert shown(client) == ("Seas", False, True, LINKS)
    assert stored(app)["describe_attempts"] == 1


def test_a_collection_that_says_nothing_asks_nobody(app, client, mirror, hosts):
    point(app, mirror, client, pointer="")
    complete(app, hosts)
    assert shown(client) == (None, False, False, [])
    assert stored(app)["describe_at"] is None
    assert not [asked for asked in hosts.asked if "seas" in asked]
