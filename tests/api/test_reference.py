"""The API reference: a page that needs no internet, holds a token in the sandbox only, and may do little."""

import gzip
import re

from harness.apps import settings
from marketplace import create_app
from marketplace.api.reference import ASSETS, SCRIPT_NAME

SCRIPT = f"/reference/assets/{ASSETS.digest}/{SCRIPT_NAME}"


def test_the_page_needs_no_internet(app):
    client = app.test_client()
    page = client.get("/reference").text
    assert "://" not in page
    addresses = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert SCRIPT in addresses
    for address in addresses:
        with client.get(address) as r:
            assert r.status_code == 200, address


def test_its_policy_forbids_other_origins(app):
    r = app.test_client().get("/reference")
    policy = dict(
        part.strip().split(" ", 1) for part in r.headers["Content-Security-Policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == "'self'"
    assert policy["img-src"] == "'self' data:"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert "unsafe-eval" not in r.headers["Content-Security-Policy"]
    assert not re.search(r"<script(?![^>]* src=)|<style| style=| on\w+=", r.text)
    assert r.headers["X-Content-Type-Options"] == "nosniff"
    assert r.headers["Referrer-Policy"] == "no-referrer"
    assert r.headers["Cache-Control"] == "private, no-cache"


def test_the_sandbox_fills_in_its_token(app):
    page = app.test_client().get("/reference").text
    [token] = re.findall(r'data-token="(nftm_[^"]+)"', page)
    headers = {"Authorization": f"Bearer {token}"}
    assert app.test_client().get("/v1/orderbook", headers=headers).status_code == 200
    assert 'data-sandbox="/sandbox/openapi.json"' in page
    assert 'href="/list"' in page


def test_on_a_real_network_there_is_no_token_and_no_demo(tmp_path):
    app = create_app(
        **settings(tmp_path),
        NETWORK="testnet",
        ACCOUNT_ID="0.0.4321",
        NAME="Shop",
        API_PREFIX="/api",
    )
    client = app.test_client()
    page = client.get("/api/reference", environ_overrides={"SCRIPT_NAME": "/market"}).text
    assert "nftm_" not in page
    assert "data-token" not in page
    assert "sandbox" not in page
    links = re.findall(r'<a [^>]*href="([^"]+)"', page)
    assert {*links} == {"/market/api/reference", "/market/api/openapi.json"}
    assert 'data-document="/market/api/openapi.json"' in page
    for link in links:
        assert client.get(link.removeprefix("/market")).status_code == 200


def test_the_script_is_kept_for_good(app):
    client = app.test_client()
    answer = client.get(SCRIPT)
    assert {*answer.headers["Cache-Control"].split(", ")} == {
        "public",
        "max-age=31536000",
        "immutable",
    }
    assert answer.content_type == "text/javascript; charset=utf-8"
    assert len(answer.data) > 1_000_000
    packed = client.get(SCRIPT, headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.data) == answer.data
    assert len(packed.data) < len(answer.data) / 3
    with client.get(SCRIPT, headers={"If-None-Match": answer.headers["ETag"]}) as again:
        assert (again.status_code, again.data) == (304, b"")
    for other in (
        f"/reference/assets/{ASSETS.digest}/scalar-0.0.0.js",
        f"/reference/assets/{SCRIPT_NAME}",
    ):
        assert client.get(other).status_code == 404
    with client.head(SCRIPT) as head:
        assert head.data == b""
