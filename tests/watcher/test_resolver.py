"""What hosts answer to a pointer or an image's address: what can't be it, strange encodings, images."""

import json

import pytest
from werkzeug.wrappers import Request, Response

from harness.images import encoded
from harness.network import serve
from marketplace.ledger.http import FetchError, Unfetchable
from marketplace.ledger.rate import Deadline
from marketplace.watcher.enrichment_result import Description, Outcome
from marketplace.watcher.strangers.guarded_fetch import Fetcher
from marketplace.watcher.strangers.reader import fetch
from marketplace.watcher.strangers.resolver import Resolver
from marketplace.watcher.strangers.uri import Gateways
from tests.watcher.pictures import gradient

CID = "QmSoJYWXvds2qcPeRGJdirP7YTCYvZv4fo43TadwmbvV8H"
DOCUMENT = f'{{"name": "EnrichmentResult", "image": "ipfs://{CID}/1.png"}}'.encode()
PNG = encoded(gradient((40, 30)), "PNG")
PAGE = b"<!DOCTYPE html><html><head><title>Just a moment...</title></head><svg/></html>"
SVG = b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>'


@pytest.fixture
def hosts():
    """Two gateways. ``resolver.answers``: what each answers, by the last part of the path."""
    asked = []

    def gateway(environ, start_response):
        name = Request(environ).path
        asked.append(name)
        answers = resolver.answers[int(name.split("/")[1])]
        answer = answers.get(name.rpartition("/")[2], Response(b"", 404))
        answer = answer if isinstance(answer, Response) else Response(answer)
        return answer(environ, start_response)

    with serve(gateway) as url:
        resolver = Resolver(Fetcher({}), None, Gateways((f"{url}/0/ipfs/", f"{url}/1/ipfs/"), ()))
        resolver.answers, resolver.asked = ({}, {}), asked
        yield resolver


def read(hosts, name="7.json"):
    return hosts.read_metadata(f"ipfs://{CID}/{name}", Deadline(20)).description


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b" \n",
        PAGE,
        b"\xef\xbb\xbf<html>",
        b"busy, come again",
        b"[]",
        b'{"error": "rate limit"}',
        b"null",
    ],
)
def test_an_answer_that_cannot_be_metadata_has_the_next_gateway_asked(hosts, answer):
    hosts.answers[0]["7.json"] = answer
    hosts.answers[1]["7.json"] = DOCUMENT
    assert read(hosts).name == "EnrichmentResult"


@pytest.mark.parametrize("answer", [b"", PAGE, b"busy", b'{"error": "rate limit"}'])
def test_an_answer_that_cannot_be_an_image_has_the_next_gateway_asked(hosts, answer):
    for answers in hosts.answers:
        answers["7.json"] = DOCUMENT
    hosts.answers[0]["1.png"] = answer
    hosts.answers[1]["1.png"] = PNG
    found, content = fetch(hosts, f"ipfs://{CID}/7.json", 20)
    assert (found.outcome, content) == (Outcome.COMPLETE, PNG)


@pytest.mark.parametrize(
    "answer", [SVG, b"\0\0\0\x1cftypavif", b"\x89PNG\r\n\x1a\nbroken", b"\1\2unknown"]
)
def test_an_image_that_is_not_shown_is_an_answer(hosts, answer):
    hosts.answers[0]["1.png"] = answer
    assert hosts.read_image(f"ipfs://{CID}/1.png", Deadline(20)) == answer
    assert len(hosts.asked) == 1


@pytest.mark.parametrize("answer", [b"", PAGE])
def test_a_gateway_without_a_usable_answer_is_asked_again(hosts, answer):
    hosts.answers[0]["7.json"] = hosts.answers[1]["7.json"] = answer
    found, _ = fetch(hosts, f"ipfs://{CID}/7.json", 20)
    assert found.outcome is Outcome.UNREACHABLE


def test_a_failure_that_may_be_temporary_outweighs_a_final_one(hosts):
    hosts.answers[0]["7.json"] = b"no metadata"
    hosts.answers[1]["7.json"] = Response(b"", 503)
    with pytest.raises(FetchError, match="503"):
        read(hosts)


def test_a_final_failure_of_all_is_final(hosts):
    hosts.answers[0]["7.json"] = hosts.answers[1]["7.json"] = b"no metadata"
    with pytest.raises(Unfetchable, match="not JSON"):
        read(hosts)


def test_what_a_document_lacks_says_more_than_another_gateway_s_404(hosts):
    hosts.answers[1]["7.json"] = b"no metadata"
    found, _ = fetch(hosts, f"ipfs://{CID}/7.json", 20)
    assert found[:2] == (Outcome.UNREACHABLE, "the metadata is not JSON")


DIGITS = "1" * 5000


def test_numbers_that_python_cannot_hold_are_no_fault_of_the_document(hosts):
    hosts.answers[0]["7.json"] = (
        f'{{"name": "Large", "edition": {DIGITS}, "attributes":'
        f' [{{"trait_type": "Many", "value": -{DIGITS}}}, {{"trait_type": "More", "value": 1e999}}]}}'
    ).encode()
    found = read(hosts)
    assert found.name == "Large"
    values = [each["value"] for each in json.loads(found.attributes)]
    assert values == [f"-{DIGITS}"[:1000], "1e999"]
    as_text = json.dumps({"attributes": f'[{{"trait_type": "Many", "value": {DIGITS}}}]'})
    hosts.answers[0]["8.json"] = as_text.encode()
    assert json.loads(read(hosts, "8.json").attributes)[0]["value"] == DIGITS[:1000]


def test_a_file_whose_name_has_a_question_mark_is_found_by_either_name(hosts):
    hosts.answers[0]["7"] = DOCUMENT
    assert read(hosts, "7?.json").name == "EnrichmentResult"
    hosts.answers[1]["7?.json"] = b'{"name": "Whole"}'
    assert read(hosts, "7?.json").name == "Whole"


NAMED = '{"name": "Café · 猫"}'


@pytest.mark.parametrize(
    ("body", "content_type", "name"),
    [
        (NAMED.encode(), "application/json", "Café · 猫"),
        (NAMED.encode(), "text/plain; charset=ISO-8859-1", "Café · 猫"),
        (b"\xef\xbb\xbf" + NAMED.encode(), "application/json", "Café · 猫"),
        (NAMED.encode("utf-16"), "application/json", "Café · 猫"),
        (NAMED.encode("utf-16-be"), "application/json; charset=utf-16be", "Café · 猫"),
        ('{"name": "Café"}'.encode("latin-1"), "text/plain; charset=ISO-8859-1", "Café"),
        ('{"name": "Café"}'.encode("cp1252"), 'text/plain; charset="Windows-1252"', "Café"),
        ('{"name": "猫です"}'.encode("shift_jis"), "text/plain;charset=Shift_JIS", "猫です"),
        ('{"name": "猫です"}'.encode("iso2022_jp"), "text/plain;charset=ISO-2022-JP", "猫です"),
        ('{"name": "Café"}'.encode("latin-1"), "application/json", "Caf\ufffd"),
        ('{"name": "Café"}'.encode("latin-1"), "application/json; charset=utf-8", "Caf\ufffd"),
        ('{"name": "Café"}'.encode("latin-1"), "application/json; charset=invalid", "Caf\ufffd"),
        ('{"name": "Café"}'.encode("latin-1"), "application/json; charset=rot13", "Caf\ufffd"),
        ('{"name": "Café 猫"}'.encode() + b"\xff", "application/json", None),  # after the object
        ('{"name": "Aé\ud800"}'.encode("utf-8", "surrogatepass"), "", "Aé" + 3 * "\ufffd"),
        (b'{"name": "two\nlines\t"}', "application/json", "two\nlines"),
    ],
)  # fmt: skip
def test_one_bad_byte_loses_a_letter_not_the_nft(hosts, body, content_type, name):
    for answers in hosts.answers:
        answers["7.json"] = Response(body, content_type=content_type)
    if name is None:
        with pytest.raises(Unfetchable, match="not JSON"):
            read(hosts)
    else:
        assert read(hosts).name == name


def test_a_data_uri_has_a_charset_too(hosts):
    uri = 'data:application/json;charset=iso-8859-1,{"name":"Caf%E9"}'
    assert hosts.read_metadata(uri, Deadline(20)).description.name == "Café"


@pytest.mark.parametrize("content", [PNG, SVG, b"\0\0\0\x1cftypmp42"])
def test_a_pointer_to_the_image_itself_is_the_image(hosts, content):
    hosts.answers[0]["7.png"] = content
    found, image = fetch(hosts, pointer := f"ipfs://{CID}/7.png", 20)
    assert image == content
    assert found.description == Description(image=pointer)
    assert found.original_url.endswith("/0/ipfs/" + CID + "/7.png")
    assert len(hosts.asked) == 1


def test_a_large_image_may_be_pointed_to_but_no_large_document(hosts):
    hosts.answers[0]["7.png"] = PNG + bytes(2 * 1024 * 1024)
    hosts.answers[0]["7.json"] = hosts.answers[1]["7.json"] = b'{"name": "x"}' + b" " * 1024 * 1024
    assert read(hosts, "7.png").image
    with pytest.raises(Unfetchable, match="larger than 1048576 bytes"):
        read(hosts)
