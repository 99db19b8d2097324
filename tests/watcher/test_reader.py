"""What is read for an NFT by the watcher's own processes, with nothing replaced, from servers on sockets."""

import base64
import hashlib
import json

import pytest
import zstandard
from PIL import Image

from harness import apps
from harness.images import encoded
from harness.network import serve
from harness.topics import Topics
from marketplace.watcher.enrichment import make_enricher
from marketplace.watcher.enrichment_result import LONG, Outcome
from marketplace.watcher.strangers.decoder import optimise

PICTURE = encoded(Image.effect_noise((60, 40), 90), "PNG")


@pytest.fixture
def topics():
    return Topics()


@pytest.fixture
def enrich(tmp_path, topics):
    """What the watcher calls for an NFT: made as the watcher makes it."""
    with serve(topics) as url:
        enricher = make_enricher(apps.on_testnet(tmp_path, url))
        yield lambda pointer: enricher._enrich(pointer, LONG)
        enricher.close()


def inscribe(topics, topic, content, mime, **options):
    """Write a file into a topic as HCS-1 says: pieces of 1,024 characters."""
    uri = f"data:{mime};base64,{base64.b64encode(zstandard.compress(content)).decode()}"
    topics.create(topic, f"{hashlib.sha256(content).hexdigest()}:zstd:base64")
    for order, at in enumerate(range(0, len(uri), 1024)):
        piece = {"o": order, "c": uri[at : at + 1024]}
        topics.submit(topic, json.dumps(piece).encode(), **options)
    return f"hcs://1/{topic}"


@pytest.fixture
def write(topics):
    """Write a document and its picture; returns every form of a pointer to the network's own topics."""

    def write(**options):
        picture = inscribe(topics, "0.0.701", PICTURE, "image/png", **options)
        fields = {"name": "Inscribed", "image": picture, "description": "A" * 3000}
        document = json.dumps(fields).encode()
        registered = json.dumps({"p": "hcs-6", "op": "register", "t_id": "0.0.702"}).encode()
        inscribe(topics, "0.0.702", document, "application/json", **options)
        topics.create("0.0.703", "hcs-6:1:86400")
        registry = topics.submit("0.0.703", registered, **options)
        message = topics.submit("0.0.704", document, **options)
        return {
            "hcs-1": "hcs://1/0.0.702",
            "bare topic": "0.0.702",
            "hcs-6": "hcs://6/0.0.703",
            "message": message[0],
            "last part": message[-1],
            "registered": registry[0],
        }

    return write


@pytest.mark.parametrize("form", ["hcs-1", "bare topic", "hcs-6", "message", "registered"])
def test_the_network_s_own_topics_are_read(enrich, write, form):
    found = enrich(write()[form])
    assert (found.outcome, found.reason) == (Outcome.COMPLETE, None)
    assert found.description.name == "Inscribed"
    assert json.loads(found.description.collection)["description"] == "A" * 3000
    assert found.image == optimise(PICTURE)


@pytest.mark.parametrize(
    "form", ["hcs-1", "bare topic", "hcs-6", "message", "last part", "registered"]
)
@pytest.mark.parametrize("split_at", [1024, 100])
def test_messages_that_an_sdk_split_are_joined(enrich, write, form, split_at):
    found = enrich(write(split_at=split_at)[form])
    assert (found.outcome, found.reason) == (Outcome.COMPLETE, None)
    assert found.description.name == "Inscribed"
    assert found.image == optimise(PICTURE)


def test_a_topic_that_does_not_exist_leaves_the_document(enrich):
    found = enrich('{"name": "A", "image": "hcs://1/0.0.999"}')
    assert found[:2] == (Outcome.UNUSABLE, "its topic does not exist")
    assert found.description.name == "A"
