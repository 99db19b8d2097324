"""The host of examples/flask_login: the users of its login, and no others, call the marketplace inside it."""

import runpy

import pytest
from werkzeug.test import Client

from harness.apps import settings
from harness.cast import KEYS
from harness.serving import ROOT
from tests.answers import assert_error


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings(tmp_path_factory.mktemp("shop")).items():
            patch.setenv(f"MARKETPLACE_{name}", value)
        return runpy.run_path(str(ROOT / "examples/flask_login/app.py"))["site"]


@pytest.fixture
def visitor(site):
    return Client(site)


def log_in(visitor, name, password=None):
    return visitor.post(
        "/login", data={"name": name, "password": password or f"{name} of the shop"}
    )


def test_it_works(visitor):
    assert log_in(visitor, "alice").location == "/"
    assert visitor.get("/").text.startswith("alice: ")
    assert visitor.post("/market/v1/add", json=KEYS).json == {"result": "OK"}
    assert visitor.get("/market/v1/orderbook").json == []
    visitor.get("/logout")
    assert visitor.get("/market/v1/orderbook").status_code == 401


def test_it_asks_for_the_shops_login(visitor):
    assert_error(visitor.get("/market/v1/orderbook"), 401, "Log in to the shop first")
    assert log_in(visitor, "alice", "a guess").status_code == 401
    assert log_in(visitor, "mallory").status_code == 401
    assert_error(visitor.get("/market/v1/orderbook"), 401)


def test_only_sellers_write(visitor):
    log_in(visitor, "bob")
    assert visitor.get("/market/v1/orderbook").status_code == 200
    assert_error(visitor.post("/market/v1/add", json=KEYS), 403, "Only sellers may do this")
