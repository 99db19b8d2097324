"""The sandbox's world beside a marketplace: every id exists, and the demo wallet signs for all accounts.

Two things happen in it without a signature: an NFT gets its first owner, or is sold elsewhere.
"""

import base64
import logging
from collections.abc import Iterable

from hiero_sdk_python.hapi.services.basic_types_pb2 import TokenSupplyType, TokenType
from hiero_sdk_python.hapi.services.custom_fees_pb2 import CustomFee
from hiero_sdk_python.hapi.services.token_create_pb2 import TokenCreateTransactionBody

from hiero_sandbox.database import database
from hiero_sandbox.ledger import accounts, keys, nfts, queries, records, tokens
from hiero_sandbox.ledger.consensus import Receipt
from hiero_sandbox.ledger.envelopes import Refused
from hiero_sandbox.ledger.nfts import Nft
from hiero_sandbox.ledger.tokens import KEYS, LIFE_SECONDS
from hiero_sandbox.ledger.unsigned import begin
from hiero_sandbox.messages import account
from hiero_sandbox.versions import set_clock
from hiero_sandbox.world import World
from marketplace.sandbox import catalogue, wallet
from marketplace.sandbox.catalogue import TREASURY

logger = logging.getLogger("hiero_sandbox")
# Derived here, before make run forks: a process that derives it itself needs 3 MB more.
TREASURYS_KEY = keys.of_bytes(wallet.public_key(TREASURY))
FIRST_KEY = "The first key that signs for an account becomes its key: sign with that one."
KEYS_OF_CATALOGUE = ("admin", "metadata", "supply", "wipe")


class EveryId(World):
    """Every id is an account with 10,000 HBAR, or a collection of the catalogue, until it is changed.

    The account TREASURY holds each NFT that nobody has asked for, and its key is all keys of these tokens.
    """

    cents_per_hbar = 10  # round figures for the pages and the documents
    hints = {"INVALID_SIGNATURE": FIRST_KEY}

    def __init__(self, signs_for: str | None = None) -> None:
        """``signs_for``: an account that has the demo wallet's key from the beginning, as the marketplace's.

        Otherwise the first signature of a purchase could make the buyer's key the marketplace's.
        """
        self._keyed = {TREASURY, signs_for}

    def find_account(self, account_id: str) -> bool:
        return True

    def find_token(self, token: str) -> TokenCreateTransactionBody:
        collection = catalogue.collection_of(token)
        made = TokenCreateTransactionBody(
            name=collection.name,
            symbol=collection.symbol,
            treasury=account(TREASURY),
            tokenType=TokenType.NON_FUNGIBLE_UNIQUE,
            supplyType=TokenSupplyType.INFINITE,
            autoRenewPeriod={"seconds": LIFE_SECONDS},
            custom_fees=map(_custom_fee, collection.royalties),
            metadata=(catalogue.collection_pointer(token) or "").encode(),
        )
        for name in KEYS_OF_CATALOGUE:
            getattr(made, KEYS[name][0]).CopyFrom(TREASURYS_KEY)
        return made

    def find_metadata(self, token: str, serial_no: int) -> str:
        return base64.b64encode(catalogue.pointer(token, serial_no).encode()).decode()

    def find_key(self, account_id: str) -> bytes | None:
        return wallet.public_key(account_id) if account_id in self._keyed else None

    def choose_key(self, account_id: str, signers: Iterable[bytes]) -> bytes | None:
        """The demo wallet's key for the account, or else the first that has signed."""
        found, demo_key = [*signers], wallet.public_key(account_id)
        return demo_key if demo_key in found else next(iter(found), None)

    def ask_for_nft(self, token: str, serial_no: int, account_id: str, now: int) -> None:
        """The first account that asks for an NFT by its serial number gets it."""
        mint(token, serial_no, account_id, now)

    def refuse_key(self, account_id: str) -> None:
        logger.warning("%s already has another key", account_id)


def _custom_fee(royalty: catalogue.Royalty) -> CustomFee:
    part = {"numerator": royalty.numerator, "denominator": royalty.denominator}
    fallback = {"amount": royalty.fallback} if royalty.fallback else None
    return CustomFee(
        fee_collector_account_id=account(royalty.collector),
        royalty_fee={"exchange_value_fraction": part, "fallback_fee": fallback},
    )


def mint(token: str, serial_no: int, owner: str, now: int) -> None:
    """Give an NFT of the catalogue that nobody has asked for yet to its first owner."""
    with database().write() as db:
        is_there = tokens.find(db, token).is_created or nfts.find(db, token, serial_no)
        if is_there or queries.is_deleted(db, token) or accounts.get(db, owner).is_deleted:
            return
        set_clock(db, now)
        accounts.associate(db, owner, token, now)
        metadata = db.world.find_metadata(token, serial_no)
        nfts.put(db, Nft(token, serial_no, owner, None, now, now, metadata))
        columns = {"serial_no": serial_no, "consensus_at": now, "owner": owner}
        queries.put(db, "gift", token=token, **columns)


def hand_over(token: str, serial_no: int, receiver: str, now: int) -> Receipt:
    """Move an NFT to another account, as a sale on another market would. Its owner does not sign."""
    with database().write() as db:
        nft = nfts.get(db, token, serial_no)
        owner, modified_at = (nft.owner, nft.modified_at) if nft else (TREASURY, 0)
        now = max(now, queries.get_last_consensus(db) + 1, modified_at + 1)
        set_clock(db, now)
        transfer = begin(db, owner or TREASURY, now, "cryptoTransfer")
        try:
            tokens.get_usable(db, token)
            nft = nfts.require(nft)
            accounts.require_usable(db, receiver)
            accounts.associate_receiver(db, receiver, token, now)
        except Refused as refusal:
            return Receipt(str(transfer.id), str(refusal), reached_consensus=False)
        transfer.move_nft(nft, receiver)
        records.write(transfer)
    return Receipt(str(transfer.id), "SUCCESS")
