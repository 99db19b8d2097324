"""The Django project of examples/django: its users, and no others, call the marketplace inside it."""

import re

import pytest
from flask.cli import ScriptInfo
from werkzeug.test import Client

from harness.apps import settings
from harness.cast import KEYS, TOKEN
from harness.serving import ROOT
from tests.answers import assert_error

EXAMPLE = ROOT / "examples/django"


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """The project's WSGI callable; Django keeps its settings for the whole process."""
    folder = tmp_path_factory.mktemp("shop")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOP_DATABASE", f"{folder}/shop.db")
        patch.setenv("DJANGO_SETTINGS_MODULE", "shop.settings")
        # The browser tests leave an event loop in this thread, which Django takes for its own.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        for name, value in settings(folder).items():
            patch.setenv(f"MARKETPLACE_{name}", value)
        patch.syspath_prepend(EXAMPLE)
        from django.core.management import call_command
        from django.db import connections
        from shop.wsgi import application

        call_command("migrate", verbosity=0)
        yield application
        connections.close_all()


@pytest.fixture
def visitor(shop):
    return Client(shop)


def log_in(shop, name, *groups):
    """A browser whose session belongs to a new user of the shop."""
    from django.contrib.auth.models import Group, User
    from django.test import Client as DjangoClient

    user = User.objects.create_user(name)
    user.groups.set(Group.objects.get_or_create(name=group)[0] for group in groups)
    browser = DjangoClient()
    browser.force_login(user)
    client = Client(shop)
    client.set_cookie("sessionid", browser.cookies["sessionid"].value, domain="localhost")
    return client, user


def test_it_works(shop):
    client, _ = log_in(shop, "alice", "sellers")
    assert client.get("/").text == "The shop of alice"
    assert client.post("/market/v1/add", json=KEYS).json == {"result": "OK"}
    record = client.get(f"/market/v1/nft/{TOKEN}/7").json
    assert record["imageUrl"].startswith("http://127.0.0.1:8000/market/media/")
    with client.get(record["imageUrl"].removeprefix("http://127.0.0.1:8000")) as image:
        assert image.content_type == "image/webp"
    assert client.get("/market/openapi.json").json["servers"] == [
        {"url": "http://127.0.0.1:8000/market"}
    ]


def test_it_asks_for_the_shops_login(visitor):
    assert visitor.get("/").text == "The shop of nobody yet"
    assert_error(visitor.get("/market/v1/orderbook"), 401, "Log in to the shop first")
    visitor.set_cookie("sessionid", "x" * 32, domain="localhost")
    assert_error(visitor.get("/market/v1/orderbook"), 401)


def test_only_sellers_write(shop):
    client, _ = log_in(shop, "bob")
    assert client.get("/market/v1/orderbook").status_code == 200
    assert_error(client.post("/market/v1/add", json=KEYS), 403, "Only sellers may do this")


def test_runserver_and_commands_find_the_market(shop):
    from django.core.servers.basehttp import get_internal_wsgi_application

    assert get_internal_wsgi_application() is shop
    info = ScriptInfo(app_import_path="shop.wsgi:market")
    assert Client(info.load_app()).get("/status").status_code == 200


def test_its_page_logs_in(shop):
    from django.contrib.auth.models import User

    User.objects.create_superuser("carol", password="of the shop")
    client = Client(shop)
    form = client.get("/login/")
    [token] = re.findall('name="csrfmiddlewaretoken" value="([^"]+)"', form.text)
    data = {"username": "carol", "password": "of the shop", "csrfmiddlewaretoken": token}
    assert client.post("/login/", data=data).location == "/"
    assert client.get("/").text == "The shop of carol"
    assert client.post("/market/v1/add", json=KEYS).json == {"result": "OK"}
