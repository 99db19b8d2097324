"""Every setting: read once, from MARKETPLACE_* or create_app(), and refused when it makes no sense."""

import difflib
import os
import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from marketplace import hbar
from marketplace.errors import StartRefused
from marketplace.ids import is_entity_id
from marketplace.private_keys import describe_key

PREFIX = "MARKETPLACE_"

# The public mirror node of each network. The sandbox has its own, below PUBLIC_URL.
NETWORKS = {
    "sandbox": None,
    "mainnet": "https://mainnet.mirrornode.hedera.com",
    "testnet": "https://testnet.mirrornode.hedera.com",
    "previewnet": "https://previewnet.mirrornode.hedera.com",
}


class SettingError(StartRefused):
    """A setting that makes no sense. The message names it."""


def _text(value: str) -> str:
    if not value.strip() or not value.isprintable():
        raise ValueError("is not a line of text")
    return value.strip()


def _network(value: str) -> str:
    if value not in NETWORKS:
        raise ValueError(f"is not a network ({', '.join(NETWORKS)})")
    return value


def _account_id(value: str) -> str:
    if not is_entity_id(value):
        raise ValueError("is not an account id (0.0.1234)")
    return value


def _account_ids(value: str) -> tuple[str, ...]:
    ids = tuple(_account_id(part) for part in _words(value))
    if len(set(ids)) < len(ids):
        raise ValueError("is not a list of different account ids (0.0.3,0.0.4)")
    return ids


def _words(value: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in value.split(",") if word.strip())


def _wallets(value: str) -> tuple[str, ...]:
    wallets = _words(value)
    if not wallets or not all(re.fullmatch(r"[a-z0-9-]{1,32}", wallet) for wallet in wallets):
        raise ValueError("is not a list of wallet names (extwallet,hashpack)")
    return wallets


def _integer(low: int, high: int) -> Callable[[str], int]:
    def parse(value: str) -> int:
        if not re.fullmatch(r"[0-9]{1,18}", value) or not low <= int(value) <= high:
            raise ValueError(f"is not a whole number from {low} to {high}")
        return int(value)

    return parse


def _tinybars(value: str) -> int:
    try:
        tinybars = Decimal(value.removesuffix("HBAR").strip()) * hbar.TINYBARS
    except InvalidOperation:
        tinybars = Decimal(0)
    if (
        not tinybars.is_finite()
        or tinybars.adjusted() > 12
        or not 1 <= tinybars <= 10**12
        or tinybars % 1
    ):
        raise ValueError("is not an amount of HBAR (5)")
    return int(tinybars)


def _tinybars_or_none(value: str) -> int:
    return 0 if re.fullmatch(r"0+(\.0*)?( *HBAR)?", value) else _tinybars(value)


def _url(value: str) -> str:
    try:
        parts = urlsplit(value)
        valid = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
    except ValueError:
        valid = False
    if not valid or re.search(r"[\s?#@\\]", value) or not value.isprintable():
        raise ValueError("is not a web address (https://nft.example.com)")
    # As the HTTP client writes it, so that prefixes can be compared.
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path}".rstrip("/")


def _mirror_node_url(value: str) -> str:
    return _url(value).removesuffix("/api/v1")


def _gateways(value: str) -> tuple[str, ...]:
    if not _words(value):
        raise ValueError("is not a list of gateways: it names none")
    return tuple(_url(word) + "/" for word in _words(value))


def _origins(value: str) -> tuple[str, ...]:
    origins = _words(value)
    if origins != ("*",) and not all(map(_is_origin, origins)):
        raise ValueError(
            "is not a list of web origins (https://dapp.example,http://localhost:3000)"
        )
    return origins


def _is_origin(value: str) -> bool:
    # As a browser writes it: scheme://host or scheme://host:port, lower case, and nothing after.
    host = r"(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])"
    if not re.fullmatch(rf"[a-z][a-z0-9+.-]*://{host}(?::[1-9][0-9]{{0,4}})?", value):
        return False
    return not re.fullmatch(r"http://.*:80|https://.*:443", value)  # browsers leave these out


def _prefix(value: str) -> str:
    # Clients resolve the segments . and .. before they ask.
    if value and not re.fullmatch(r"(/(?!\.{1,2}(/|\Z))[A-Za-z0-9._~-]+)+", value):
        raise ValueError("is not a path prefix (/marketplace)")
    return value


def _sqlite_path(value: str) -> str:
    if not value.startswith("sqlite:///") or value in ("sqlite:///", "sqlite:///:memory:"):
        raise ValueError("is not an SQLite file (sqlite:///instance/marketplace.db)")
    return value.removeprefix("sqlite:///")


def _database(value: str) -> str:
    """Return the path of an SQLite file, or the address of a PostgreSQL database."""
    is_address = value.startswith(("postgresql://", "postgres://"))
    if is_address and value.isprintable():
        return value.replace("postgres://", "postgresql://", 1)
    may_hold_password = re.search("@|pass|pwd", value, re.IGNORECASE)
    if is_address or (may_hold_password and not value.startswith("sqlite:///")):
        raise SettingError(  # without the value: it may hold a password
            f"{PREFIX}DATABASE_URL is not an address of a PostgreSQL database"
            " (postgresql://user:password@host-a,host-b/market), nor an SQLite file"
            " (sqlite:///instance/marketplace.db)"
        )
    return _sqlite_path(value)


def _store(value: str) -> str:
    if not re.fullmatch(r"file:.+|s3://[a-z0-9][a-z0-9.-]{2,62}(/[^?#]*)?", value):
        raise ValueError("is not a folder (file:instance/media) or a bucket (s3://bucket/prefix)")
    return value


def parse_rate(value: str) -> str:
    """How often something may happen: 10/s, 600/m, 5000/h or off, as it is written."""
    if value != "off" and not re.fullmatch(r"[1-9][0-9]{0,5}/[smh]", value):
        raise ValueError("is not a rate (10/s, 600/m, 5000/h) or off")
    return value


def _redis(value: str) -> str | None:
    try:
        parts = urlsplit(value)
        is_server = parts.scheme in ("redis", "rediss") and parts.hostname and (parts.port or 1)
    except ValueError:
        is_server = False
    if value and not (is_server and value.isprintable()):
        raise ValueError("is not a Redis server (redis://host:6379/0)")
    return value or None


class Setting(NamedTuple):
    """How one setting is read, and its default: text, a function of the settings before it, or
    None where there is none and the operator must decide."""

    parse: Callable[[str], Any]
    default: str | Callable[[dict[str, Any]], str | None]


def _sandbox_or(path: str, otherwise: str | None) -> Callable[[dict[str, Any]], str | None]:
    def default(settings: dict[str, Any]) -> str | None:
        if settings["NETWORK"] != "sandbox":
            return otherwise
        return f"{settings['PUBLIC_URL']}{path}"

    return default


def _folder(value: str) -> str:
    if not value.strip() or "\0" in value:
        raise ValueError("is not a folder (instance)")
    return str(Path(value))


def _key_file(value: str) -> str | None:
    if describe_key(value) or not value.isprintable():
        raise ValueError("is not the path of a file")
    return value.strip() or None


SETTINGS = {
    "NETWORK": Setting(_network, "sandbox"),
    "PUBLIC_URL": Setting(_url, "http://127.0.0.1:8000"),
    "API_PREFIX": Setting(_prefix, ""),
    "DATA_DIR": Setting(_folder, "instance"),
    "DATABASE_URL": Setting(_database, lambda s: f"sqlite:///{s['DATA_DIR']}/marketplace.db"),
    "MEDIA_URL": Setting(_store, lambda s: f"file:{s['DATA_DIR']}/media"),
    "MEDIA_PUBLIC_URL": Setting(_url, lambda s: s["PUBLIC_URL"] + "/media"),
    "MEDIA_MAX_BYTES": Setting(_integer(1_000_000, 10**15), "10000000000"),
    "ACCOUNT_ID": Setting(_account_id, lambda s: "0.0.9001" if s["NETWORK"] == "sandbox" else None),
    "NAME": Setting(_text, "NFT Marketplace"),
    "WALLETS": Setting(_wallets, "extwallet"),
    # A dApp under development is at another port; it needs a token, which no cookie gives it.
    "CORS_ORIGINS": Setting(_origins, lambda s: "*" if s["NETWORK"] == "sandbox" else ""),
    "TRUSTED_PROXIES": Setting(_integer(0, 10), "0"),
    "WRITE_LIMIT": Setting(parse_rate, lambda s: "off" if s["NETWORK"] == "sandbox" else "600/m"),
    "REDIS_URL": Setting(_redis, ""),
    "READY_SYNC_SECONDS": Setting(_integer(0, 604_800), "0"),
    "USER_LIMIT_MAX": Setting(_integer(10, 10_000), "1000"),
    "EVENTS_DAYS": Setting(_integer(1, 36_500), "400"),
    "NODE_ACCOUNT_IDS": Setting(
        _account_ids, lambda s: "0.0.3" if s["NETWORK"] == "sandbox" else ""
    ),
    "TRANSACTION_VALID_SECONDS": Setting(_integer(15, 180), "180"),
    "MAX_TRANSACTION_FEE": Setting(_tinybars, "5"),
    "ACCOUNT_KEY_FILE": Setting(_key_file, ""),
    "SALE_FEE_BASIS_POINTS": Setting(_integer(0, 5000), "0"),
    # In the sandbox a developer may buy all day, and nothing is worth money.
    "SALE_FEE_BUDGET": Setting(
        _tinybars_or_none, lambda s: "2000" if s["NETWORK"] == "sandbox" else "20"
    ),
    "MIRROR_NODE_URL": Setting(
        _mirror_node_url,
        lambda s: NETWORKS[s["NETWORK"]] or s["PUBLIC_URL"] + "/sandbox",
    ),
    "MIRROR_NODE_RATE": Setting(_integer(1, 10_000), "40"),
    "IPFS_GATEWAYS": Setting(
        _gateways,
        _sandbox_or("/sandbox/ipfs", "https://ipfs.io/ipfs,https://dweb.link/ipfs"),
    ),
    "SANDBOX_BALANCE_QUERIES": Setting(_integer(0, 1), "0"),
    "ARWEAVE_GATEWAYS": Setting(_gateways, _sandbox_or("/sandbox/arweave", "https://arweave.net")),
}
# Settings of version 0.2, which work until 0.4, and what the start says of them.
OLD_SETTINGS = {
    "ACCESS_LOG": "start gunicorn with --access-logfile - instead, which writes text",
    "SANDBOX_DATABASE_URL": f"set {PREFIX}DATA_DIR to the folder of sandbox.db instead",
}


def written(name: str, value: Any) -> str:
    """A parsed setting as an operator reads it, without the password of an address."""
    if value is None:
        return ""
    if SETTINGS[name].parse in (_tinybars, _tinybars_or_none):
        return hbar.written(value)
    text = ",".join(value) if isinstance(value, tuple) else str(value)
    return re.sub(r"(?<=://)[^/@]*@", "***@", text)


def load(overrides: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """Return every setting by its name without the prefix, parsed; an override beats the environment.

    Raises SettingError with a sentence that names the setting when one is unknown, missing or nonsense.
    """
    given = {
        name.removeprefix(PREFIX): value
        for name, value in environ.items()
        if name.startswith(PREFIX)
    } | dict(overrides)
    for name in given.keys() - SETTINGS.keys() - OLD_SETTINGS.keys():
        close = difflib.get_close_matches(name, SETTINGS, n=1)
        hint = f" (did you mean {PREFIX}{close[0]}?)" if close else ""
        raise SettingError(f"{PREFIX}{name} is not a setting{hint}")
    settings: dict[str, Any] = {}
    for name, setting in SETTINGS.items():
        value = given.get(name)
        if value is None:
            default = setting.default
            value = default(settings) if callable(default) else default
        if value is None:
            raise SettingError(f"{PREFIX}{name} is required when NETWORK is {settings['NETWORK']}")
        settings[name] = _parse(name, setting, value)
    _require_room_for_a_fee(settings)
    _require_free_prefix(settings)
    name, path = "SANDBOX_DATABASE_URL", f"sqlite:///{settings['DATA_DIR']}/sandbox.db"
    settings[name] = _parse(name, Setting(_sqlite_path, path), given.get(name, path))
    if os.path.realpath(settings[name]) == os.path.realpath(settings["DATABASE_URL"]):
        raise SettingError(f"{PREFIX}DATABASE_URL is the file of the sandbox's ledger")
    settings["OLD_SETTINGS"] = [
        f"{PREFIX}{name} is an old setting: {hint}"
        for name, hint in OLD_SETTINGS.items()
        if name in given
    ]
    return settings


def _require_room_for_a_fee(settings: dict[str, Any]) -> None:
    if 0 < settings["SALE_FEE_BUDGET"] < settings["MAX_TRANSACTION_FEE"] // 10:
        raise SettingError(
            f"{PREFIX}SALE_FEE_BUDGET is less than one purchase may cost, a tenth of"
            f" {PREFIX}MAX_TRANSACTION_FEE. Raise it, or set it to 0, which turns buying off"
        )


def _require_free_prefix(settings: dict[str, Any]) -> None:
    """The sandbox itself answers below /sandbox."""
    prefix = settings["API_PREFIX"]
    if settings["NETWORK"] == "sandbox" and f"{prefix}/".startswith("/sandbox/"):
        raise SettingError(
            f"{PREFIX}API_PREFIX={prefix!r} is where the sandbox is: take another prefix (/marketplace)"
        )


def _parse(name: str, setting: Setting, value: Any) -> Any:
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    text = ",".join(value) if isinstance(value, list | tuple) else str(value)
    try:
        return setting.parse(text)
    except ValueError as error:
        if form := describe_key(text):
            raise _holds_key(name, form) from None
        # A value that is no path may be a key of another form.
        value = "" if setting.parse is _key_file else f"={_without_password(text)!r}"
        raise SettingError(f"{PREFIX}{name}{value} {error}") from None


def _holds_key(name: str, form: str) -> SettingError:
    return SettingError(
        f"{PREFIX}{name} looks like a private key ({form}), which is not shown here. Write a key to a file,"
        f" and set {PREFIX}ACCOUNT_KEY_FILE to that file's path. And give the account a new key: others may"
        " have seen this one in the environment or in a log"
    )


def _without_password(text: str) -> str:
    """A value for a sentence: the address of a database may stand where another one belongs."""
    return re.sub(r"(?<=://)[^/@]*:.*@|(?<=password=)[^&\s]*", "...", text, flags=re.DOTALL)
