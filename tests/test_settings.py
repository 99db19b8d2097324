import re
import sys

import pytest

import marketplace
from harness.apps import settings
from harness.serving import ROOT
from marketplace import create_app
from marketplace.errors import StartRefused
from marketplace.services import services
from marketplace.settings import SettingError, format_setting, list_changed, load, write_changed
from marketplace.storefront.surroundings import surroundings


def test_the_defaults_serve_the_sandbox():
    loaded = load({}, {})
    assert loaded["NETWORK"] == "sandbox"
    assert loaded["ACCOUNT_ID"] == "0.0.9001"
    assert loaded["MIRROR_NODE_URL"] == "http://127.0.0.1:8000/sandbox"
    assert loaded["MAX_TRANSACTION_FEE"] == 500_000_000


def test_limits_are_of_the_real_networks():
    assert load({}, {})["WRITE_LIMIT"] == "off"
    assert load({"NETWORK": "testnet", "ACCOUNT_ID": "0.0.4321"}, {})["WRITE_LIMIT"] == "600/m"


def test_the_environment_is_read_with_the_prefix_and_overrides_without():
    environ = {"MARKETPLACE_NAME": "From outside", "MARKETPLACE_WALLETS": "a, b", "NAME": "no"}
    loaded = load({"NAME": "From the code"}, environ)
    assert loaded["NAME"] == "From the code"
    assert loaded["WALLETS"] == ("a", "b")


@pytest.mark.parametrize("network", ["mainnet", "testnet", "previewnet"])
def test_a_real_network_needs_an_account(network):
    with pytest.raises(SettingError, match="MARKETPLACE_ACCOUNT_ID is required"):
        load({"NETWORK": network}, {})
    loaded = load({"NETWORK": network, "ACCOUNT_ID": "0.0.4321"}, {})
    assert loaded["MIRROR_NODE_URL"] == f"https://{network}.mirrornode.hedera.com"


INVALID = {
    "NETWORK": ["devnet"],
    "ACCOUNT_ID": ["0.0", "0.0.5\n"],
    "NAME": ["", "a\0b"],
    "WALLETS": ["a/b"],
    "MAX_TRANSACTION_FEE": ["0", "five", "0.000000001"],
    "SALE_FEE_BUDGET": ["-1", "10001"],
    "SALE_FEE_BASIS_POINTS": ["5001", "2.5"],
    "PUBLIC_URL": ["nft.example.com"],
    "API_PREFIX": ["marketplace", "/market/", "/market/../x"],
    "CORS_ORIGINS": [
        "https://dapp.example/",
        "https://dapp.example:443",
        "https://*.example",
        "https://dapp.example,*",
    ],
    "TRUSTED_PROXIES": ["-1", "all"],
    "DATA_DIR": [" "],
    "MIRROR_NODE_URL": ["not a url"],
    "IPFS_GATEWAYS": ["ipfs.io"],
    "ARWEAVE_GATEWAYS": [" , "],
    "DATABASE_URL": ["mysql://localhost/market", "sqlite://"],
    "MEDIA_URL": ["instance/media"],
    "STOREFRONT_LINKS": ["https://example.com", "Imprint=javascript:alert(1)"],
    "STOREFRONT_WALLETS": ["https://a.example", "A=http://a.example", "A=javascript://"],
    "STOREFRONT_COLLECTIONS": ["some", "0.0.5001,verified"],
    "WRITE_LIMIT": ["0/m", "600/d", "1000000/s", "30/m; 1/s"],
}


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_value_stops_the_start_and_is_named(name):
    for value in INVALID[name]:
        words = re.escape(f"MARKETPLACE_{name}={value!r} is not")
        with pytest.raises(SettingError, match=words):
            load({name: value}, {})


@pytest.mark.parametrize("prefix", ["/sandbox", "/sandbox/x"])
def test_a_prefix_where_the_sandbox_is_stops_the_start(prefix):
    with pytest.raises(SettingError, match=f"API_PREFIX='{prefix}' is the sandbox's own path:"):
        load({"API_PREFIX": prefix}, {})
    loaded = load({"API_PREFIX": prefix, "NETWORK": "mainnet", "ACCOUNT_ID": "0.0.4321"}, {})
    assert loaded["API_PREFIX"] == prefix


OWN_ADDRESSES = (
    "/",
    "/status",
    "/media/placeholder.webp",
    "/activity",
    "/list",
    "/sandbox/openapi.json",
)


@pytest.mark.parametrize(
    "prefix",
    ["", "/sandboxes", "/demo", "/assets", "/nft", "/media", "/status", "/static", "/v1"],
)
def test_no_other_prefix_hides_an_address(tmp_path, prefix):
    app = create_app(API_PREFIX=prefix, **settings(tmp_path))
    client = app.test_client()
    script = f"/assets/{surroundings(app).assets.digest}/base.css"
    page = client.get(f"{prefix}/reference").text
    files = re.findall(r'(?:src|href)="(/[^"]+)"', page)
    for address in (f"{prefix}/openapi.json", *files, script, *OWN_ADDRESSES):
        with client.get(address) as response:
            assert response.status_code == 200, address
    assert client.get(f"{prefix}/v1/orderbook").status_code == 401
    assert client.get("/v1/orderbook").status_code == (404 if prefix else 401)


def test_a_budget_below_one_fee_stops_the_start():
    with pytest.raises(
        SettingError, match=r"SALE_FEE_BUDGET is below the maximum cost of one purchase"
    ):
        load({"SALE_FEE_BUDGET": "0.4"}, {})
    for none in ("0", "0.0", "0 HBAR"):
        assert load({"SALE_FEE_BUDGET": none}, {})["SALE_FEE_BUDGET"] == 0
    for half in ("0.5", ".5 HBAR"):
        assert load({"SALE_FEE_BUDGET": half}, {})["SALE_FEE_BUDGET"] == 50_000_000


def test_two_databases_in_one_file_stop_the_start():
    with pytest.raises(SettingError, match="is the sandbox's ledger"):
        load({"DATABASE_URL": "sqlite:///x/sandbox.db", "DATA_DIR": "./x/"}, {})


def test_database_and_images_are_in_one_folder():
    loaded = load({"DATA_DIR": "/srv/market/"}, {})
    assert loaded["DATABASE_URL"] == "/srv/market/marketplace.db"
    assert loaded["MEDIA_URL"] == "file:/srv/market/media"


def test_a_file_may_be_called_what_an_address_has():
    for path in ("my password.db", "alice@home/market.db"):
        assert load({"DATABASE_URL": f"sqlite:///{path}"}, {})["DATABASE_URL"] == path


GONE = ["REDIS_URL", "ACCESS_LOG", "MEDIA_MAX_BYTES", "READY_SYNC_SECONDS", "SANDBOX_DATABASE_URL"]
GONE += ["TRANSACTION_VALID_SECONDS", "USER_LIMIT_MAX", "SANDBOX_BALANCE_QUERIES", "OFFERS"]
GONE += ["ON_BEHALF_LIMIT", "SALE_FEE_TOKEN_SHARE", "SALE_FEE_USER_SHARE"]


def test_an_unknown_setting_stops_the_start():
    with pytest.raises(
        SettingError, match=r"_DATABSE_URL is not a setting \(did you mean .*DATABASE_URL"
    ):
        load({}, {"MARKETPLACE_DATABSE_URL": "x"})
    with pytest.raises(SettingError, match="MARKETPLACE_NETWROK is not a setting"):
        create_app(NETWROK="mainnet")
    for gone in GONE:
        with pytest.raises(SettingError, match=f"{gone} is not a setting.* docs/settings.md"):
            load({}, {f"MARKETPLACE_{gone}": "1"})


def test_a_trailing_slash_does_no_harm():
    loaded = load(
        {"MIRROR_NODE_URL": "https://mirror.example/", "IPFS_GATEWAYS": "https://a/ipfs/"}, {}
    )
    assert loaded["MIRROR_NODE_URL"] == "https://mirror.example"
    assert loaded["IPFS_GATEWAYS"] == ("https://a/ipfs/",)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "mysql://market:secret@host/market"),
        ("DATABASE_URL", "host=database user=market password=secret"),
        ("DATABASE_URL", "postgresql://market:secret@host/mar\0ket"),
        ("DATABASE_URL", "postgresql://market:secret\ud800@host/market"),
        ("DATABASE_URL", "postgresql:market,secret,password=secret"),
        ("MEDIA_URL", "postgresql://market:secret@host/market"),
        ("MIRROR_NODE_URL", "https://market:secret@mirror.example"),
    ],
)
def test_a_refused_address_is_shown_without_its_password(name, value):
    with pytest.raises(SettingError, match=f"MARKETPLACE_{name}") as refused:
        load({name: value}, {})
    assert "secret" not in str(refused.value)
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


def test_secrets_in_settings_are_not_shown(tmp_path):
    address = "postgresql://market:secret@host/market"
    assert format_setting("DATABASE_URL", address) == "postgresql://***@host/market"
    path = tmp_path / "key"
    assert format_setting("ACCOUNT_KEY_FILE", "") == ""
    for name in ("short", "5" * 64, str(path)):
        assert format_setting("ACCOUNT_KEY_FILE", name) == "(not shown: it names no file)"
    path.touch()
    assert format_setting("ACCOUNT_KEY_FILE", str(path)) == str(path)


def test_all_collections_are_shown_as_they_are_set():
    settings = load({"STOREFRONT_COLLECTIONS": "all"}, {})
    assert format_setting("STOREFRONT_COLLECTIONS", settings["STOREFRONT_COLLECTIONS"]) == "all"


CHANGED = {
    "NAME": "Bob's",
    "DATABASE_URL": "sqlite:////srv/other.db",
    "CORS_ORIGINS": "",
    "MAX_TRANSACTION_FEE": "2.5",
    "IPFS_GATEWAYS": "https://a.example/ipfs,https://b.example/ipfs",
}


def test_changed_settings_can_be_written_and_loaded():
    own = {"NETWORK": "sandbox", "ACCOUNT_ID": "0.0.9001"}
    assert dict(list_changed(load({}, {}))) == own
    loaded = load(CHANGED, {})
    written = dict(list_changed(loaded))
    assert written.keys() == CHANGED.keys() | own
    environ = dict(line.split("=", 1) for line in write_changed(loaded).splitlines())
    assert load({}, environ) == loaded


def test_changed_settings_are_written_without_passwords():
    for given, written in {
        "postgresql://market:secret@a,b:5433/x?sslmode=require": "market@a,b:5433/x?sslmode=require",
        "postgresql://a/x?password=secret&sslmode=require": "a/x?sslmode=require",
        "postgresql://a/x?sslmode=require&password=secret": "a/x?sslmode=require&",
        "postgresql://a/x?sslkey=k&sslpassword=secret&sslcert=c": "a/x?sslkey=k&sslcert=c",
    }.items():
        changed = dict(list_changed(load({"DATABASE_URL": given}, {})))
        assert changed["DATABASE_URL"] == f"postgresql://{written}"


@pytest.mark.parametrize(
    ("written", "value"), [("'My $hop'", "My $hop"), (r'"a \"b\" \$c"', 'a "b" $c'), ("'", "'")]
)
def test_a_value_may_be_in_quotes(written, value):
    assert load({}, {"MARKETPLACE_NAME": written})["NAME"] == value


def test_an_address_of_postgresql_may_be_written_shorter():
    loaded = load({"DATABASE_URL": "postgres://a,b:5433/market"}, {})
    assert loaded["DATABASE_URL"] == "postgresql://a,b:5433/market"


def test_two_apps_share_nothing(tmp_path):
    one = create_app(NAME="One", API_PREFIX="/one", **settings(tmp_path / "one"))
    two = create_app(NAME="Two", **settings(tmp_path / "two"))
    assert services(one).database.path != services(two).database.path
    assert one.test_client().get("/one/openapi.json").json["info"]["title"] == "One"
    assert two.test_client().get("/openapi.json").json["info"]["title"] == "Two"


@pytest.mark.parametrize("network", ["mainnet", "testnet", "previewnet"])
def test_nothing_of_the_sandbox_exists_on_a_real_network(tmp_path, network):
    folders = settings(tmp_path)
    app = create_app(NETWORK=network, ACCOUNT_ID="0.0.4321", **folders)
    client = app.test_client()
    for path in ("/sandbox/transactions", "/sandbox/sign", "/sandbox/transfers"):
        assert client.post(path, json={}).status_code == 404
    assert client.get("/sandbox/api/v1/tokens/0.0.1").status_code == 404
    assert "sandbox" not in app.cli.commands
    assert not (tmp_path / "sandbox.db").exists()


def test_a_database_is_of_one_network_and_account_for_ever(tmp_path):
    """Its listings were approved for that account. A sync for another one would take them all off."""
    create_app(**settings(tmp_path))
    for network, account_id, said in (
        ("testnet", "0.0.9001", r"belongs to sandbox, but MARKETPLACE_NETWORK is testnet"),
        ("sandbox", "0.0.900", r"to 0\.0\.9001, but MARKETPLACE_ACCOUNT_ID is 0\.0\.900:"),
    ):
        with pytest.raises(StartRefused, match=said):
            create_app(NETWORK=network, ACCOUNT_ID=account_id, **settings(tmp_path))


def test_every_removed_setting_is_in_the_operators_table():
    page = (ROOT / "docs/settings.md").read_text().partition("### Old names")[2].partition("\n#")[0]
    assert sorted(re.findall(r"^\| `([A-Z_]+)` \|", page, re.MULTILINE)) == sorted(GONE)


def test_the_sandbox_is_not_installed(tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("marketplace.sandbox")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "hiero_sandbox", None)
    monkeypatch.delattr(marketplace, "sandbox", raising=False)
    with pytest.raises(StartRefused, match=r"pip install .*\[sandbox\]"):
        create_app(**settings(tmp_path))


@pytest.mark.parametrize("value", ["testnet\r", '"testnet"\r', "'testnet'\r"])
def test_a_file_from_windows_ends_lines_with_cr(value):
    """Docker hands it over."""
    environ = {"MARKETPLACE_NETWORK": value, "MARKETPLACE_ACCOUNT_ID": "0.0.4321\r"}
    assert load({}, environ)["NETWORK"] == "testnet"
