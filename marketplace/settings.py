"""Every setting: read once, from MARKETPLACE_* or create_app(), and refused if it is not valid."""

import difflib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from marketplace.errors import StartRefused
from marketplace.hedera import hbar
from marketplace.hedera.ids import is_entity_id

PREFIX = "MARKETPLACE_"
NETWORKS = ("sandbox", "mainnet", "testnet", "previewnet")
LONGEST_SHOWN = 40  # characters: every form of a private key is longer
# Values in environment files, which sh, systemd, Docker and load() read alike.
PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./*?-]*")
QUOTED = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*)\"""")
SPECIAL = re.compile(r'(["$`\\])')  # in double quotes
ESCAPED = re.compile(r'\\(["$`\\])')
KEY_ADVICE = "If it is the key itself, write the key to a file, and give the account a new key"

# A transaction names no network: what a real key signs in the sandbox is valid on the account's network.
NO_KEY_IN_SANDBOX = f"{PREFIX}NETWORK is sandbox, where no real key may sign: set it, or set no key"


class SettingError(StartRefused):
    """A setting is not valid. The message names it."""


def _valid(is_valid: Callable[[str], Any], form: str) -> Callable[[str], str]:
    def parse(value: str) -> str:
        if not is_valid(value):
            raise ValueError(f"is not {form}")
        return value

    return parse


def _matching(pattern: str, form: str) -> Callable[[str], str]:
    return _valid(re.compile(pattern).fullmatch, form)


def _list_of(parse: Callable[[str], str], at_least: int = 1) -> Callable[[str], tuple[str, ...]]:
    def parse_list(value: str) -> tuple[str, ...]:
        words = [word.strip() for word in value.split(",") if word.strip()]
        if len(words) < at_least:
            raise ValueError("is not a list with at least one entry")
        return tuple(map(parse, words))

    return parse_list


def _integer(low: int, high: int) -> Callable[[str], int]:
    def parse(value: str) -> int:
        if not re.fullmatch(r"[0-9]{1,18}", value) or not low <= int(value) <= high:
            raise ValueError(f"is not a whole number from {low} to {high}")
        return int(value)

    return parse


def _switch(value: str) -> bool:
    if value not in ("on", "off"):
        raise ValueError("is not on or off")
    return value == "on"


def _text(value: str) -> str:
    if not value.strip() or not value.isprintable():
        raise ValueError("is not a line of text")
    return value.strip()


def _hbar(value: str) -> int:
    """An amount in tinybars, up to 10,000 HBAR."""
    match = re.fullmatch(r"([0-9]{1,5}|[0-9]{0,5}\.[0-9]{1,8}) *(?:HBAR)?", value.strip())
    if not match or Decimal(match[1]) > 10_000:
        raise ValueError("is not an amount of HBAR (5)")
    return int(Decimal(match[1]) * hbar.TINYBARS)


def _fee(value: str) -> int:
    if not (tinybars := _hbar(value)):
        raise ValueError("is not an amount of HBAR above 0 (5)")
    return tinybars


def _url(value: str) -> str:
    try:
        parts = urlsplit(value)
        is_valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid or not value.isprintable() or re.search(r"[\s?#@\\]", value):
        raise ValueError("is not a web address (https://nft.example.com)")
    # The same form as the HTTP client's, so that prefixes can be compared.
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path}".rstrip("/")


def _origins(value: str) -> tuple[str, ...]:
    return ("*",) if value.strip() == "*" else _list_of(_origin, 0)(value)


def _folder(value: str) -> str:
    if not value.strip() or "\0" in value:
        raise ValueError("is not a folder (instance)")
    return str(Path(value))


def _database(value: str) -> str:
    """Return the path of an SQLite file, or the address of a PostgreSQL database."""
    if value.startswith("sqlite:///") and value not in ("sqlite:///", "sqlite:///:memory:"):
        return value.removeprefix("sqlite:///")
    if not value.startswith(("postgresql://", "postgres://")) or not value.isprintable():
        raise ValueError(
            "is not an address of a PostgreSQL database (postgresql://user:password@host-a,host-b/market),"
            " nor an SQLite file (sqlite:///instance/marketplace.db)"
        )
    return value.replace("postgres://", "postgresql://", 1)


# The form that browsers send: lower case, no default port, and nothing after the port.
_origin = _matching(
    r"(?!http://.*:80\Z|https://.*:443\Z)"
    r"[a-z][a-z0-9+.-]*://([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])(:[1-9][0-9]{0,4})?",
    "a web origin (https://dapp.example,http://localhost:3000)",
)
_link = _matching(
    r"[^=]{1,40}=(https?://|mailto:)[^\s\"<>]+",
    "a list of links (Imprint=https://example.com/imprint)",
)
# A wallet's universal link, or the scheme of its app.
_wallet_link = _matching(
    r"[^=]{1,40}=(https://[^\s\"<>?#]+|(?!https?:|file:|javascript:|data:|blob:)[a-z][a-z0-9+.-]{1,40}://)",
    "a list of wallets' links (Wallet=https://wallet.example.com)",
)
_token_ids = _list_of(_valid(is_entity_id, "all, verified, or a list of token ids (0.0.1234)"))


def _collections(value: str) -> tuple[str, ...]:
    """() for all, ("verified",), or token ids."""
    return () if value == "all" else (value,) if value == "verified" else _token_ids(value)


_account_id = _valid(is_entity_id, "an account id (0.0.1234)")
_gateways = _list_of(lambda word: _url(word) + "/")
parse_rate = _matching("off|[1-9][0-9]{0,5}/[smh]", "a rate (10/s, 600/m, 5000/h) or off")


class Setting(NamedTuple):
    """A setting. Its default may refer to settings above it. A setting without a default is required."""

    parse: Callable[[str], Any]
    default: str | None
    meaning: str  # for docs/settings.md, as Markdown: make docs
    in_sandbox: str | None = None  # the sandbox's default, if it differs


SETTINGS = {
    "NETWORK": Setting(
        _valid(NETWORKS.__contains__, f"a network {NETWORKS}"),
        "sandbox",
        "`sandbox`, `mainnet`, `testnet` or `previewnet`",
    ),
    "ACCOUNT_ID": Setting(
        _account_id,
        None,
        "The marketplace's account: the spender of every listing. A database belongs to one network and one"
        " account",
        in_sandbox="0.0.9001",
    ),
    "NAME": Setting(
        _text,
        "NFT Marketplace",
        "The name at the end of each transaction's memo. It is cut if the memo would exceed 100 bytes",
    ),
    "PUBLIC_URL": Setting(
        _url,
        "http://127.0.0.1:8000",
        "The service's public URL, with its mount path. Each `imageUrl` begins with it. The sandbox answers"
        " only to this host, IP addresses and names without a dot; other hosts get a 421",
    ),
    # Clients resolve the segments . and .. before they send a request.
    "API_PREFIX": Setting(
        _matching(r"(/(?!\.{1,2}(/|\Z))[A-Za-z0-9._~-]+)*", "a path prefix (/marketplace)"),
        "",
        "A path before `/v1`, `/openapi.json`, `/llms.txt` and `/reference`",
    ),
    "DATA_DIR": Setting(
        _folder,
        "instance",
        "The folder of [all files on this machine](#data_dir), on a local disk. Each service needs its own",
    ),
    "DATABASE_URL": Setting(
        _database,
        "sqlite:///{DATA_DIR}/marketplace.db",
        "An SQLite file on a local disk (three slashes for a relative path, four for an absolute one), or"
        " [PostgreSQL](postgresql.md): `postgresql://user:password@host-a,host-b,host-c/market`",
    ),
    "MEDIA_URL": Setting(
        _matching(
            r"file:.+|s3://[a-z0-9][a-z0-9.-]{2,62}(/[^?#]*)?",
            "a folder (file:instance/media) or a bucket (s3://bucket/prefix)",
        ),
        "file:{DATA_DIR}/media",
        "Where optimized images are stored: a folder, or `s3://bucket/prefix` with AWS's own variables,"
        " such as `AWS_ENDPOINT_URL`",
    ),
    "MEDIA_PUBLIC_URL": Setting(
        _url,
        "{PUBLIC_URL}/media",
        "The URL from which browsers load images, if a CDN or the bucket serves them",
    ),
    "WALLETS": Setting(
        _list_of(_matching("[a-z0-9-]{1,32}", "a list of wallet names (extwallet,hashpack)")),
        "extwallet",
        "The names allowed as `<wallet>` in a path, separated by commas",
    ),
    # A dApp under development has another port. It needs a token: cookies give no access.
    "CORS_ORIGINS": Setting(
        _origins,
        "",
        "Origins whose web pages [may call the API](install.md#pages-in-a-browser):"
        " `https://dapp.example,http://localhost:3000`, or `*`. Any page may load images",
        in_sandbox="*",
    ),
    "TRUSTED_PROXIES": Setting(
        _integer(0, 10),
        "0",
        "The number of [proxies](install.md#behind-a-proxy), 0 to 10, whose headers about client, host and"
        " path prefix are trusted",
    ),
    "WRITE_LIMIT": Setting(
        parse_rate,
        "600/m",
        "The [rate of writes](#limits) of each access token, and of each address: `10/s`, `600/m`, `5000/h`"
        " or `off`",
        in_sandbox="off",
    ),
    "STOREFRONT": Setting(
        _switch,
        "off",
        "`on` serves [a shop's pages](storefront.md) to [visitors](#visitors) at `/`. In the sandbox, always",
        in_sandbox="on",
    ),
    "STOREFRONT_DIR": Setting(
        _valid(str.isprintable, "a folder (/srv/shop)"),
        "",
        "A folder with [the shop's own face](storefront.md#your-own-face)",
    ),
    "STOREFRONT_OPERATOR": Setting(
        _text,
        "{NAME}",
        "Who runs the shop, in the footer of each page: `Example Ltd, 1 Main Street, Zurich`",
    ),
    "STOREFRONT_LINKS": Setting(
        _list_of(_link, 0),
        "",
        "The footer's links: `Imprint=https://example.com/imprint,Report an NFT=mailto:legal@example.com`",
    ),
    "STOREFRONT_INTRO": Setting(
        _valid(str.isprintable, "a line of text"),
        "",
        "A sentence at the top of the first page, and its description for search engines",
    ),
    "STOREFRONT_OPERATORS": Setting(
        _list_of(_account_id, 0),
        "",
        "The accounts that sign in to [the console](storefront.md#the-console): `0.0.1234,0.0.1235`",
    ),
    "STOREFRONT_COLLECTIONS": Setting(
        _collections,
        "all",
        "Which collections the pages show: `all`, `verified` ([those that you verified](moderation.md)), or"
        " token IDs: `0.0.5001,0.0.5002`. The API has all, unless it is asked with `shown=true`",
    ),
    "STOREFRONT_WALLETS": Setting(
        _list_of(_wallet_link, 0),
        "",
        "Wallets that a phone can open, each with its universal link or scheme:"
        " `Wallet=https://wallet.example.com,Other=other://`",
    ),
    "WALLETCONNECT_PROJECT_ID": Setting(
        _matching("[A-Za-z0-9_-]{0,64}", "a project ID"),
        "",
        "Your project at [the wallets' relay](https://dashboard.reown.com). The sandbox needs none",
    ),
    "WALLETCONNECT_RELAY_URL": Setting(
        _matching(
            r"wss?://[A-Za-z0-9.-]+(:[1-9][0-9]{0,4})?(/[A-Za-z0-9._~/-]*)?",
            "a WebSocket address (wss://relay.example.com)",
        ),
        "wss://relay.walletconnect.com",
        "The wallets' relay. The sandbox serves its own",
    ),
    "EXPLORER_URL": Setting(
        _url,
        "https://hashscan.io/{NETWORK}/transaction",
        "The pages' links to transactions: `/` and the ID follow. The sandbox shows them itself",
    ),
    "EVENTS_DAYS": Setting(
        _integer(1, 36_500),
        "400",
        "The days, 1 to 36,500, after which [events](api.md#events) and [ended offers](offers.md#limits) go",
    ),
    "NODE_ACCOUNT_IDS": Setting(
        _list_of(_account_id, 0),
        "",
        "The consensus nodes that [transactions name](wallets.md#one-node), in turn. By default, the"
        " network's nodes with the lowest numbers. `flask status` and `/status` show which nodes are gone",
        in_sandbox="0.0.3",
    ),
    "MAX_TRANSACTION_FEE": Setting(
        _fee,
        "5",
        "The maximum fee of a listing or withdrawal, in HBAR (the network charges $0.05). A purchase's"
        " maximum is a tenth of it (the network charges less than $0.01, plus an association). Raise it if"
        " HBAR gets very cheap",
    ),
    "ACCOUNT_KEY_FILE": Setting(
        _valid(str.isprintable, f"the path of a file. {KEY_ADVICE}"),
        "",
        "A file with the private key of `ACCOUNT_ID`, which [signs purchases](buying.md#the-key). Refused in"
        " the sandbox",
    ),
    "SALE_FEE_BASIS_POINTS": Setting(
        _integer(0, 5000),
        "0",
        "The marketplace's part of each price, in hundredths of a percent, 0 to 5000. `ACCOUNT_ID` receives"
        " it",
    ),
    # In the sandbox, HBAR are worth nothing, and a developer may buy all day.
    "SALE_FEE_BUDGET": Setting(
        _hbar,
        "20",
        "What purchases may [cost the marketplace](buying.md) in an hour, in HBAR. It must cover one"
        " purchase: a tenth of `MAX_TRANSACTION_FEE` plus an association ($0.05). 0 turns buying off",
        in_sandbox="2000",
    ),
    "MIRROR_NODE_URL": Setting(
        lambda value: _url(value).removesuffix("/api/v1"),
        "https://{NETWORK}.mirrornode.hedera.com",
        "The mirror node's URL, without `/api/v1`. Your own mirror node must be version 0.164 or newer"
        " ([block streams](#block-streams)), and serve its REST API and its rest-java API at one address."
        " With the REST API alone (port 5551), three things do not work: buying, which needs the exchange"
        " rate; metadata inscribed in topics (HCS-1); reading the network's nodes",
        in_sandbox="{PUBLIC_URL}/sandbox",
    ),
    "MIRROR_NODE_RATE": Setting(
        _integer(1, 10_000),
        "40",
        "Requests per second to the mirror node, 1 to 10,000, by all processes of this machine. Buying one"
        " NFT needs a rate of at least 6, and the largest basket 34. The public mirror nodes allow 50 per"
        " address; [several machines](postgresql.md#several-machines) share them",
    ),
    "IPFS_GATEWAYS": Setting(
        _gateways,
        "https://ipfs.io/ipfs,https://dweb.link/ipfs",
        "IPFS gateways, tried in order",
        in_sandbox="{PUBLIC_URL}/sandbox/ipfs",
    ),
    "ARWEAVE_GATEWAYS": Setting(
        _gateways,
        "https://arweave.net",
        "Arweave gateways, tried in order",
        in_sandbox="{PUBLIC_URL}/sandbox/arweave",
    ),
}


def format_setting(name: str, value: Any) -> str:
    """A parsed setting as text for the operator, without passwords and possible private keys."""
    if SETTINGS[name].parse in (_fee, _hbar):
        return hbar.format_amount(value)
    if isinstance(value, bool):
        return "on" if value else "off"
    if name == "ACCOUNT_KEY_FILE" and value and not os.path.isfile(value):
        return "(not shown: it names no file)"
    if SETTINGS[name].parse is _collections and not value:
        return "all"
    text = ",".join(value) if isinstance(value, tuple) else str(value)
    return re.sub(r"(?<=://)[^/@]*@", "***@", text)


def _may_be_secret(name: str, text: str) -> bool:
    """True if a value may contain a password or a private key: no message may repeat it."""
    longest = 0 if name == "ACCOUNT_KEY_FILE" else LONGEST_SHOWN
    return len(text) > longest or bool(re.search("@|pass|pwd", text, re.IGNORECASE))


def load(overrides: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """Return every parsed setting, by its name without the prefix. Overrides beat the environment.

    Raises SettingError, which names the setting, if one is unknown, missing or not valid.
    """
    given = {
        name.removeprefix(PREFIX): _unquote(value)
        for name, value in environ.items()
        if name.startswith(PREFIX)
    } | dict(overrides)
    for name in given.keys() - SETTINGS.keys():
        close = difflib.get_close_matches(name, SETTINGS, n=1)
        hint = f" (did you mean {PREFIX}{close[0]}?)" if close else ""
        raise SettingError(
            f"{PREFIX}{name} is not a setting{hint}. docs/settings.md lists all, and what replaced others"
        )
    settings: dict[str, Any] = {}
    for name, setting in SETTINGS.items():
        if (value := given.get(name)) is None:
            value = _find_default(setting, settings)
        if value is None:
            raise SettingError(
                f"{PREFIX}{name} is required when {PREFIX}NETWORK is {settings['NETWORK']}"
            )
        settings[name] = _parse(name, setting, value)
    _require_agreement(settings)
    return settings


def _find_default(setting: Setting, settings: Mapping[str, Any]) -> str | None:
    """A setting's default, which follows from the settings above it. None if it has none."""
    is_sandbox = settings.get("NETWORK") == "sandbox"
    default = (setting.in_sandbox if is_sandbox else None) or setting.default
    return default and default.format_map(settings)


def list_changed(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the settings that differ from their defaults, and those of the database, without secrets."""
    for name, setting in SETTINGS.items():
        default, value = _find_default(setting, settings), settings[name]
        if name in ("NETWORK", "ACCOUNT_ID") or setting.parse(default or "") != value:
            is_address = name == "DATABASE_URL"
            yield name, _write_address(value) if is_address else format_setting(name, value)


def _write_address(database: str) -> str:
    """The address of a database, without its password."""
    if not database.startswith("postgresql://"):
        return f"sqlite:///{database}"
    address = re.sub(r"(?<=//)([^/@:]*):[^/@]*@", r"\1@", database)
    return re.sub(r"(?<=[?&])(ssl)?password=[^&]*&?", "", address)


def write_changed(settings: Mapping[str, Any]) -> str:
    """The lines of an environment file with these settings."""
    return "".join(f"{PREFIX}{name}={_quote(text)}\n" for name, text in list_changed(settings))


def _quote(value: str) -> str:
    """A value as it is written in a file: in double quotes, if it needs them."""
    return value if PLAIN.fullmatch(value) else '"' + SPECIAL.sub(r"\\\1", value) + '"'


def _unquote(value: str) -> str:
    """The value itself: Docker's --env-file leaves the quotes in it, and the CR of a file from Windows."""
    value = value.removesuffix("\r")
    if not (match := QUOTED.fullmatch(value)):
        return value
    return match[1] if match[2] is None else ESCAPED.sub(r"\1", match[2])


def _require_agreement(settings: dict[str, Any]) -> None:
    """Raise SettingError if two settings contradict each other."""
    if 0 < settings["SALE_FEE_BUDGET"] < settings["MAX_TRANSACTION_FEE"] // 10:
        raise SettingError(
            f"{PREFIX}SALE_FEE_BUDGET is below the maximum cost of one purchase: a tenth of"
            f" {PREFIX}MAX_TRANSACTION_FEE. Raise it, or set it to 0 to turn buying off"
        )
    if settings["NETWORK"] == "sandbox" and settings["ACCOUNT_KEY_FILE"]:
        raise SettingError(f"{PREFIX}ACCOUNT_KEY_FILE is set, but {NO_KEY_IN_SANDBOX}")
    if settings["NETWORK"] == "sandbox" and not settings["STOREFRONT"]:
        raise SettingError(f"{PREFIX}STOREFRONT is off, but the sandbox always has its pages")
    is_shop = settings["NETWORK"] != "sandbox" and settings["STOREFRONT"]
    if is_shop and not settings["WALLETCONNECT_PROJECT_ID"]:
        raise SettingError(
            f"{PREFIX}STOREFRONT is on, but its pages reach no wallet: set {PREFIX}WALLETCONNECT_PROJECT_ID"
        )
    prefix = settings["API_PREFIX"]
    if settings["NETWORK"] == "sandbox" and f"{prefix}/".startswith("/sandbox/"):
        raise SettingError(
            f"{PREFIX}API_PREFIX={prefix!r} is the sandbox's own path: choose another prefix (/marketplace)"
        )
    files = settings["DATABASE_URL"], f"{settings['DATA_DIR']}/sandbox.db"
    if len({*map(os.path.realpath, files)}) < 2:
        raise SettingError(f"{PREFIX}DATABASE_URL is the sandbox's ledger: name another file")


def _parse(name: str, setting: Setting, value: Any) -> Any:
    text = ",".join(value) if isinstance(value, list | tuple) else str(value)
    if isinstance(value, bool) and setting.parse is _switch:
        return value
    try:
        return setting.parse(text)
    except ValueError as error:
        shown = "" if _may_be_secret(name, text) else f"={text!r}"
        raise SettingError(f"{PREFIX}{name}{shown} {error}") from None
