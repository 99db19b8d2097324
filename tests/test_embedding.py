"""The service inside a larger WSGI stack: under a prefix, twice, with the host's own users."""

import click
import pytest
from click.testing import CliRunner
from flask import Flask, request
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.test import Client

from harness.apps import completing, settings
from harness.cast import KEYS, TOKEN
from marketplace import AskRefused, ask, create_app
from marketplace.errors import StartRefused


@pytest.fixture
def market(tmp_path):
    return create_app(
        authenticate=lambda request, scope: True,
        PUBLIC_URL="https://shop.example/market",
        **settings(tmp_path),
    )


@pytest.fixture
def host(market):
    def shop(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"the shop"]

    return Client(DispatcherMiddleware(shop, {"/market": market}))


def add(host):
    assert host.post("/market/v1/add", json=KEYS).json == {"result": "OK"}


def test_it_works_beside_its_host(host):
    assert host.get("/").text == "the shop"
    add(host)
    assert host.get(f"/market/v1/nft/{TOKEN}/7").json["token"] == TOKEN
    assert host.get("/v1/orderbook").text == "the shop"


def test_a_hosts_own_command_may_catch_a_refused_start(tmp_path):
    @click.command()
    def serve():
        with pytest.raises(StartRefused, match="is not a network"):
            create_app(NETWORK="moon", **settings(tmp_path))
        click.echo("caught")

    assert CliRunner().invoke(serve).output == "caught\n"


@pytest.mark.parametrize("wrong", [lambda request: True, lambda request, *, scope: True])
def test_an_authenticate_with_a_wrong_signature_is_refused_at_the_start(tmp_path, wrong):
    """Each request was a 500, and only then."""
    with pytest.raises(StartRefused, match=r"called as authenticate\(request, scope\)"):
        create_app(authenticate=wrong, **settings(tmp_path))


@pytest.mark.parametrize("wrong", [1, lambda: None, lambda body, key: None])
def test_a_signer_that_cannot_be_called_is_refused_at_the_start(tmp_path, wrong):
    """Each purchase was a 503, and only then."""
    with pytest.raises(StartRefused, match=r"sign is called as sign\(body\): "):
        create_app(sign=wrong, **settings(tmp_path))


def test_its_links_keep_the_prefix(host, market):
    add(host)
    completing(market)()
    doc = host.get(f"/market/v1/nft/{TOKEN}/7").json
    assert doc["imageUrl"].startswith("https://shop.example/market/media/")
    assert doc["originalImageUrl"].startswith("https://shop.example/market/sandbox/ipfs/")
    assert host.get("/market/openapi.json").json["servers"] == [
        {"url": "https://shop.example/market"}
    ]
    assert 'href="/market/list"' in host.get("/market/").text
    assert 'data-document="/market/openapi.json"' in host.get("/market/reference").text


def refuse(request, scope):
    return False


def test_its_host_asks_without_a_server_or_a_token(tmp_path, lister):
    market = create_app(authenticate=refuse, **settings(tmp_path))
    with pytest.raises(AskRefused) as refused:
        ask(market, f"/nft/{TOKEN}/7")
    assert (refused.value.status, refused.value.answer["reason"]) == (404, "NFT_NOT_STORED")
    assert ask(market, "/orderbook", limit=3) == []
    assert ask(market, "/collections", verified=True, sort=None) == []
    assert ask(market, "/nfts", id=["0.0.7001:1", "0.0.7001:2"]) == [None, None]
    client = market.test_client()
    assert client.get("/v1/orderbook", headers={"marketplace.trusted": "1"}).status_code == 401


def test_its_host_asks_while_it_answers(tmp_path):
    market = create_app(**settings(tmp_path))
    shop = Flask("shop")

    @shop.get("/")
    def show_newest():
        ask(market, "/orderbook", limit=3)
        return request.path  # the shop's own request is the current one again

    assert shop.test_client().get("/").text == "/"
