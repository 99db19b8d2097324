"""NFTs' traits: rows derived from their attributes, for filters, counts and ranks.

An NFT has a row for each trait of read_traits(), and no rows if it is burned. Hidden NFTs do not count.
"""

import json
import unicodedata
from collections.abc import Iterable
from itertools import islice
from typing import TypedDict

from marketplace.store.connection import Connection
from marketplace.store.nfts import NftRow


class TraitRow(TypedDict):
    type: str
    value: str
    serial_no: int


class UnrankedRow(TypedDict):
    serial_no: int
    unranked: str


class TraitValueRow(TypedDict):
    type: str
    value: str
    count: int
    listed: int
    floor_price: int | None


class ToRankRow(TypedDict):
    token: str
    traits_version: int


class RankingRow(TypedDict):
    token: str
    version: int
    trait_values: str
    ranks: str


# Strangers write metadata. Traits beyond these bounds are shown, but not used in filters, counts or ranks.
MAX_TRAITS = 30  # of an NFT
MAX_TYPE, MAX_VALUE = 100, 200  # characters
MAX_VALUES = 1000  # of a collection, in a list
MAX_COLONS = 5  # of a requested trait, whose type and value may contain colons

_IS_SHOWN = "serial_no NOT IN (SELECT serial_no FROM nft WHERE token = :token AND is_hidden = 1)"

Trait = tuple[str, str]  # its type and its value


def read_traits(attributes: str | None) -> list[Trait]:
    """Read the traits from the stored JSON of an NFT's attributes, within the bounds above."""
    stored = json.loads(attributes or "[]")
    pairs = [(normalise(each["trait_type"]), normalise(each["value"])) for each in stored]
    short = [pair for pair in pairs if len(pair[0]) <= MAX_TYPE and len(pair[1]) <= MAX_VALUE]
    return [*dict.fromkeys(short)][:MAX_TRAITS]


def normalise(text: str) -> str:
    """The one form (NFC) of texts that Unicode calls equal, such as the two that "é" has."""
    return unicodedata.normalize("NFC", text)


def split_trait(text: str) -> list[Trait]:
    """The traits that "type:value" may mean: each of the first colons may end the type."""
    parts = normalise(text).split(":")
    ways = [(":".join(parts[:end]), ":".join(parts[end:])) for end in range(1, len(parts))]
    sound = (way for way in ways if 0 < len(way[0]) <= MAX_TYPE and 0 < len(way[1]) <= MAX_VALUE)
    return [*islice(sound, MAX_COLONS)]


def replace_traits(db: Connection, before: NftRow, nft: NftRow) -> None:
    """Update an NFT's rows after a change of its attributes, or after it was burned.

    Call it in the transaction of that change.
    """
    old, new = set(read_traits(before["attributes"])), set(read_traits(nft["attributes"]))
    if nft["ledger_state"] == "gone":
        new = set()
    if old == new and before["unranked"] == nft["unranked"]:
        return
    sql = "UPDATE collection SET traits_version = traits_version + 1 WHERE token = :token"
    db.execute(sql, {"token": nft["token"]})
    for kind, value in old - new:
        delete_trait(db, nft["token"], kind, value, nft["serial_no"])
    insert_traits(db, nft["token"], nft["serial_no"], new - old)


INSERT_TRAIT = """
    INSERT INTO nft_trait (token, type, value, serial_no)
    VALUES (:token, :kind, :value, :serial_no)
"""


def insert_traits(db: Connection, token: str, serial_no: int, traits: Iterable[Trait]) -> None:
    for kind, value in traits:
        keys = {"token": token, "kind": kind, "value": value, "serial_no": serial_no}
        db.execute(INSERT_TRAIT, keys)


def delete_trait(db: Connection, token: str, kind: str, trait_value: str, serial_no: int) -> None:
    sql = """
        DELETE FROM nft_trait
        WHERE token = :token AND type = :kind AND value = :value AND serial_no = :serial_no
    """
    db.execute(sql, {"token": token, "kind": kind, "value": trait_value, "serial_no": serial_no})


def list_trait_values(db: Connection, token: str) -> list[TraitValueRow]:
    # The most frequent values: how many NFTs have each, how many of those are listed, and their lowest price.
    # The prices are read from an index first. Otherwise SQLite would look up each row.
    sql = f"""
        WITH listing AS MATERIALIZED (
            SELECT serial_no, listing_price FROM nft WHERE is_listed = 1 AND token = :token
        )
        SELECT type, value, COUNT(*) AS count,
            COUNT(listing_price) AS listed, MIN(listing_price) AS floor_price
        FROM nft_trait LEFT JOIN listing USING (serial_no)
        WHERE token = :token AND {_IS_SHOWN}
        GROUP BY type, value
        ORDER BY COUNT(*) DESC, type, value
        LIMIT :limit + 0
    """
    return db.execute(sql, {"token": token, "limit": MAX_VALUES}).fetchall()


def list_traits(db: Connection, token: str, limit: int) -> list[TraitRow]:
    sql = f"""
        SELECT type, value, serial_no FROM nft_trait WHERE token = :token AND {_IS_SHOWN}
        ORDER BY type, value, serial_no
        LIMIT :limit + 0
    """
    return db.execute(sql, {"token": token, "limit": limit}).fetchall()


def is_any_with_trait(db: Connection, token: str, kind: str, trait_value: str) -> bool:
    sql = "SELECT 1 FROM nft_trait WHERE token = :token AND type = :kind AND value = :value LIMIT 1"
    parameters = {"token": token, "kind": kind, "value": trait_value}
    return db.execute(sql, parameters).fetchone() is not None


def list_unranked(db: Connection, token: str) -> list[UnrankedRow]:
    sql = "SELECT serial_no, unranked FROM nft WHERE token = :token AND unranked IS NOT NULL"
    return db.execute(sql, {"token": token}).fetchall()


def list_to_rank(db: Connection) -> list[ToRankRow]:
    # The collections of which traits or listings have changed.
    sql = """
        SELECT token, traits_version FROM collection
        WHERE traits_version > ranked_version
        ORDER BY token
    """
    return db.execute(sql).fetchall()


def get_ranking_version(db: Connection, token: str) -> int | None:
    row = db.execute(
        "SELECT version FROM ranking WHERE token = :token", {"token": token}
    ).fetchone()
    return row["version"] if row else None


def get_ranking(db: Connection, token: str) -> RankingRow | None:
    return db.execute("SELECT * FROM ranking WHERE token = :token", {"token": token}).fetchone()


def mark_ranking(db: Connection, ranking: RankingRow) -> None:
    sql = """
        INSERT INTO ranking (token, version, trait_values, ranks)
        VALUES (:token, :version, :trait_values, :ranks)
        ON CONFLICT (token) DO UPDATE
        SET version = excluded.version, trait_values = excluded.trait_values, ranks = excluded.ranks
    """
    db.execute(sql, ranking)
    sql = "UPDATE collection SET ranked_version = :version WHERE token = :token"
    db.execute(sql, ranking)
