"""The accounts that a ledger begins with: a local network's, with published keys, and the network's own.

The private keys are published, and worth nothing:
https://github.com/hiero-ledger/hiero-local-node/blob/main/src/configuration/accountConfiguration.json
https://github.com/hiero-ledger/solo/blob/main/src/commands/one-shot/predefined-accounts.ts
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from hiero_sdk_python.crypto.private_key import PrivateKey

from hiero_sandbox.ids import MAX_HBAR, TINYBARS
from hiero_sandbox.ledger import accounts, keys, queries
from hiero_sandbox.ledger.accounts import Account
from hiero_sandbox.storage import Connection

LOCAL_NODE, SOLO = NETWORKS = ("local-node", "solo")
OPERATOR = "0.0.2"  # the network's treasury, which has all HBAR that no other account has
FIRST_NUMBER = 1002
# The network's own accounts: with the operator's key, and without a key.
OF_OPERATOR = (*range(1, 101), *range(900, 1001))
WITHOUT_KEY = {
    accounts.STAKING_REWARDS: accounts.FIRST_BALANCE,
    "0.0.801": 0,  # pays the rewards of nodes
    accounts.FEE_COLLECTOR: 0,
}
OPERATORS_KEY = "91132178e72057a1d7528025956fe39b0b847f200ab59b2fdd367017f3087137"
ECDSA = [
    "7f109a9e3b0d8ecfba9cc23a3614433ce0fa7ddcc80f2a8f10b222179a5a80d6",
    "6ec1f2e7d126a74a1d2ff9e1c5d90b92378c725e506651ff8bb8616a5c724628",
    "b4d7f7e82f61d81c95985771b8abf518f9328d019c36849d4214b5f995d13814",
    "941536648ac10d5734973e94df413c17809d6cc5e24cd11e947e685acfbd12ae",
    "5829cf333ef66b6bdd34950f096cb24e06ef041c5f63e577b4f3362309125863",
    "8fc4bffe2b40b2b7db7fd937736c4575a0925511d7a0a2dfc3274e8c17b41d20",
    "b6c10e2baaeba1fa4a8b73644db4f28f4bf0912cceb6e8959f73bb423c33bd84",
    "fe8875acb38f684b2025d5472445b8e4745705a9e7adc9b0485a05df790df700",
    "bdc6e0a69f2921a78e9af930111334a41d3fab44653c8de0775572c526feea2d",
    "3e215c3d2a59626a669ed04ec1700f36c05c9b216e592f58bbfd3d8aa6ea25f9",
]
ECDSA_WITH_ALIAS = [
    "105d050185ccb907fba04dd92d8de9e32c18305e097ab41dadda21489a211524",
    "2e1d968b041d84dd120a5860cee60cd83f9374ef527ca86996317ada3d0d03e7",
    "45a5a7108a18dd5013cf2d5857a28144beadc9c70b3bdbd914e38df4e804b8d8",
    "6e9d61a325be3f6675cf8b7676c70e4a004d2308e3e182370a41f5653d52c6bd",
    "0b58b1bd44469ac9f813b5aeaf6213ddaea26720f0b2f133d08b6f234130a64f",
    "95eac372e0f0df3b43740fa780e62458b2d2cc32d6a440877f1cc2a9ad0c35cc",
    "6c6e6727b40c8d4b616ab0d26af357af09337299f09c66704146e14236972106",
    "5072e7aa1b03f531b4731a32a021f6a5d20d5ddc4e55acbb71ae202fc6f3a26d",
    "60fe891f13824a2c1da20fb6a14e28fa353421191069ba6b6d09dd6c29b90eff",
    "eae4e00ece872dd14fb6dc7a04f390563c7d69d16326f2a703ec8e0934060cc7",
]
ED25519 = [
    "a608e2130a0a3cb34f86e757303c862bee353d9ab77ba4387ec084f881d420d4",
    "bbd0894de0b4ecfa862e963825c5448d2d17f807a16869526bff29185747acdb",
    "8fd50f886a2e7ed499e7686efd1436b50aa9b64b26e4ecc4e58ca26e6257b67d",
    "62c966ebd9dcc0fc16a553b2ef5b72d1dca05cdf5a181027e761171e9e947420",
    "805c9f422fd9a768fdd8c68f4fe0c3d4a93af714ed147ab6aed5f0ee8e9ee165",
    "abfdb8bf0b46c0da5da8d764316f27f185af32357689f7e19cb9ec3e0f590775",
    "ec299c9f17bb8bdd5f3a21f1c2bffb3ac86c22e84c325e92139813639c9c3507",
    "cb833706d1df537f59c418a00e36159f67ce3760ce6bf661f11f6da2b11c2c5a",
    "9b6adacefbbecff03e4359098d084a3af8039ce7f29d95ed28c7ebdb83740c83",
    "9a07bbdbb62e24686d2a4259dc88e38438e2c7a1ba167b147ad30ac540b0a3cd",
]


DER_PREFIXES = {
    "ed25519": "302e020100300506032b657004220420",
    "ecdsa": "3030020100300706052b8104000a04220420",
}


class KnownAccount(NamedTuple):
    """An account whose private key is published."""

    account_id: str
    private_key: PrivateKey
    has_alias: bool = False  # its key and its EVM address are its aliases

    @property
    def der(self) -> str:
        """The private key as SDKs print it: an ECDSA key without its public key."""
        kind = "ed25519" if self.private_key.is_ed25519() else "ecdsa"
        return f"{DER_PREFIXES[kind]}{self.private_key.to_string_raw()}"

    @property
    def evm_address(self) -> str | None:
        return f"0x{self.aliases[0].hex()}" if self.aliases else None

    @property
    def public_key(self) -> bytes:
        return bytes(self.private_key.public_key().to_bytes_raw())

    @property
    def aliases(self) -> list[bytes]:
        if not self.has_alias:
            return []
        address = keys.evm_address(self.public_key) or b""
        return [address, keys.of_bytes(self.public_key).SerializeToString()]


@cache
def known_accounts(network: str = LOCAL_NODE) -> tuple[KnownAccount, ...]:
    """The treasury, and the accounts of a local network in the order of their ids."""
    numbers = iter(range(FIRST_NUMBER, FIRST_NUMBER + 30))
    read_ed25519, read_ecdsa = PrivateKey.from_string_ed25519, PrivateKey.from_string_ecdsa
    is_solo = network == SOLO
    return (
        KnownAccount(OPERATOR, read_ed25519(OPERATORS_KEY)),
        *(KnownAccount(f"0.0.{next(numbers)}", read_ecdsa(key)) for key in ECDSA if not is_solo),
        *(KnownAccount(f"0.0.{next(numbers)}", read_ecdsa(key), True) for key in ECDSA_WITH_ALIAS),
        *(
            KnownAccount(f"0.0.{next(numbers)}", read_ed25519(key))
            for key in ED25519
            if not is_solo
        ),
    )


def operator(network: str) -> KnownAccount:
    """The account with which programs on a local network begin."""
    return known_accounts(network)[network == SOLO]


def fill(db: Connection, network: str = LOCAL_NODE) -> None:
    """Write the first accounts, if the ledger has none yet. They have all HBAR there is."""
    if queries.get(db, "account", account_id=OPERATOR):
        return
    known = known_accounts(network)
    rows = {account.account_id: account for account in _list_accounts(known)}
    rest = MAX_HBAR * TINYBARS - sum(account.balance for account in rows.values())
    rows[OPERATOR] = rows[OPERATOR]._replace(balance=rest)
    for row in rows.values():
        queries.put(db, "account", **row._asdict())
    for each in known:
        for alias in each.aliases:
            queries.put(db, "alias", alias=alias, account_id=each.account_id)


def _list_accounts(known: Iterable[KnownAccount]) -> Iterator[Account]:
    treasury, *others = known
    key = _encode(treasury)
    for number in OF_OPERATOR:
        yield Account(f"0.0.{number}", key, balance=0, automatic_associations=0)
    for account_id, balance in WITHOUT_KEY.items():
        yield Account(account_id, balance=balance, automatic_associations=0)
    for each in others:
        limit = accounts.UNLIMITED if each.has_alias else 0
        yield Account(each.account_id, _encode(each), automatic_associations=limit)


def _encode(known: KnownAccount) -> str:
    return str(keys.of_bytes(known.public_key).SerializeToString().hex())
