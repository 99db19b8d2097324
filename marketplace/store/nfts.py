"""The statements about NFTs, except the lists of the order book, which are in orderbook.py."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

from marketplace.hedera import times
from marketplace.hedera.ids import NftId
from marketplace.store.connection import Connection, count

LedgerState = Literal[
    "decided", "row_only", "undecided", "gone"
]  # of an NFT: schema.sql explains it


class NftRow(TypedDict):
    token: str
    serial_no: int
    name: str
    file_type: str
    attributes: str | None
    image: str | None
    original_image_url: str | None
    owner: str
    is_for_sale: int
    listing_price: int
    last_listed_at: str | None
    ledger_at: str
    ledger_state: LedgerState
    metadata: str | None
    missing: str | None
    attempts: int
    retry_at: str | None
    listed_order: str
    unranked: str | None
    asked_at: str | None
    read_at: str | None
    reread_at: str | None
    is_hidden: int
    is_listed: int


def id_of(nft: NftRow) -> NftId:
    return NftId(nft["token"], nft["serial_no"])


def is_gone(nft: NftRow) -> bool:
    """Tell whether the NFT was burned, or its token was deleted. Both are final."""
    return nft["ledger_state"] == "gone"


def is_undecided(nft: NftRow) -> bool:
    """Tell whether its newest facts left the NFT undecided."""
    return nft["ledger_state"] == "undecided"


def find_stored_at(nft: NftRow) -> int:
    """The consensus time of the stored state, in nanoseconds."""
    return times.to_nanoseconds(nft["ledger_at"])


def shows(stored: NftRow, moment: int) -> bool:
    """Tell whether the stored state is as new as a moment, in nanoseconds, and decided."""
    is_as_new = stored["ledger_at"] >= times.to_iso(moment) or is_gone(stored)
    return is_as_new and not is_undecided(stored)


# The lanes of incomplete NFTs: first tries, second tries, and others. NFTs to be read again use the last
# lane, so that they delay no new ones. An NFT still waiting for its first or second try keeps its lane.
LANES = (0, 1, 2)
_LANE = "CASE WHEN attempts < 2 THEN attempts ELSE 2 END"
_LANE_OF_ASKED = "CASE WHEN attempts < 2 AND retry_at IS NOT NULL THEN attempts ELSE 2 END"
# Whether the operator has hidden the NFT of the parameters, or its collection; or blocked its owner.
_IS_HIDDEN = """EXISTS (
    SELECT 1 FROM decision WHERE kind = 'hidden' AND id = :token AND serial_no IN (0, :serial_no)
)"""
_IS_BLOCKED = "EXISTS (SELECT 1 FROM decision WHERE kind = 'blocked' AND id = :owner)"
NFTS_AT_ONCE = 100  # the most ids of get_nfts()
_PAIRS = [f"(:token_{n}, CAST(:serial_no_{n} AS BIGINT))" for n in range(NFTS_AT_ONCE)]
# Statements by the number of ids that they take. With IN, SQLite 3.40 would read all NFTs.
_BY_ID = {
    places: f"""
        WITH asked (token, serial_no) AS (VALUES {", ".join(_PAIRS[:places])})
        SELECT nft.* FROM asked JOIN nft USING (token, serial_no)
    """
    for places in (1, 10, NFTS_AT_ONCE)
}


def get_nft(db: Connection, token: str, serial_no: int) -> NftRow | None:
    sql = "SELECT * FROM nft WHERE token = :token AND serial_no = :serial_no"
    return db.execute(sql, {"token": token, "serial_no": serial_no}).fetchone()


def get_nfts(db: Connection, ids: Sequence[NftId]) -> dict[NftId, NftRow]:
    # At most NFTS_AT_ONCE ids, each one step in the primary key. NULL in the places left finds nothing.
    if not ids:
        return {}
    places = next(places for places in _BY_ID if places >= len(ids))
    parameters: dict[str, object] = {}
    for n, (token, serial_no) in enumerate([*ids, *[(None, None)] * (places - len(ids))]):
        parameters |= {f"token_{n}": token, f"serial_no_{n}": serial_no}
    rows = db.execute(_BY_ID[places], parameters)
    return {id_of(row): row for row in rows}


def list_nfts_of_owner(
    db: Connection, owner: str, token: str | None, after: tuple[str, int], limit: int
) -> list[NftRow]:
    # Of one token, or of all. Begins after a token and serial number. What is gone has no owner.
    # With "owner = :owner", PostgreSQL would look for a large owner's NFTs in the order of all NFTs' ids.
    last = "owner <= :owner" if token is None else "(owner, token) <= (:owner, :token)"
    sql = f"""
        SELECT * FROM nft
        WHERE (owner, token, serial_no) > (:owner, :after_token, :after_serial_no) AND {last}
          AND ledger_state <> 'gone' AND is_hidden = 0
        ORDER BY owner, token, serial_no
        LIMIT :limit + 0
    """
    after_token, after_serial_no = after
    parameters = {
        "owner": owner,
        "token": token,
        "after_token": after_token,
        "after_serial_no": after_serial_no,
        "limit": limit,
    }
    return db.execute(sql, parameters).fetchall()


def insert_nft(db: Connection, nft: Mapping[str, object]) -> NftRow | None:
    # If two processes add an NFT at once, the second changes nothing. A hidden NFT's files are not fetched.
    sql = f"""
        INSERT INTO nft (
            token, serial_no, name, file_type, attributes, image, original_image_url,
            owner, ledger_at, ledger_state, metadata, missing, attempts, is_hidden, retry_at
        )
        VALUES (
            :token, :serial_no, :name, :file_type, :attributes, :image, :original_image_url,
            :owner, :ledger_at, :ledger_state, :metadata, :missing, :attempts,
            CASE WHEN {_IS_HIDDEN} THEN 1 ELSE 0 END, CASE WHEN NOT {_IS_HIDDEN} THEN :retry_at END
        )
        ON CONFLICT (token, serial_no) DO NOTHING
        RETURNING *
    """
    return db.execute(sql, nft).fetchone()


def mark_reconciled(db: Connection, state: Mapping[str, object], stored: NftRow) -> NftRow | None:
    # Writes nothing if the ledger's state is older, or if the stored row has changed since it was read.
    sql = f"""
        UPDATE nft
        SET is_for_sale = :is_for_sale,
            is_listed = CASE WHEN :is_for_sale = 0 OR is_hidden = 1 OR {_IS_BLOCKED} THEN 0 ELSE 1 END,
            listing_price = :listing_price,
            owner = :owner,
            last_listed_at = COALESCE(:last_listed_at, last_listed_at),
            ledger_at = :ledger_at,
            ledger_state = :ledger_state
        WHERE token = :token AND serial_no = :serial_no AND ledger_at <= :ledger_at
          AND ledger_at = :ledger_at_before AND ledger_state = :ledger_state_before AND owner = :owner_before
          AND listing_price = :listing_price_before AND listed_order = :listed_order_before
        RETURNING *
    """
    return db.execute(sql, {**state, **_before(stored)}).fetchone()


def _before(stored: NftRow) -> dict[str, object]:
    return {f"{name}_before": value for name, value in {**stored}.items()}


def mark_pointer(
    db: Connection, token: str, serial_no: int, metadata: str, now: str
) -> NftRow | None:
    # The previous pointer's metadata stays until the new pointer's metadata was read.
    sql = """
        UPDATE nft
        SET metadata = :metadata, missing = 'its metadata changed', attempts = 0,
            retry_at = CASE WHEN is_hidden = 0 THEN :now END
        WHERE token = :token AND serial_no = :serial_no
        RETURNING *
    """
    parameters = {"token": token, "serial_no": serial_no, "metadata": metadata, "now": now}
    return db.execute(sql, parameters).fetchone()


def mark_enriched(db: Connection, nft: Mapping[str, object], stored: NftRow) -> NftRow | None:
    # Must not overwrite a later attempt's result, a new pointer, or a refresh.
    sql = """
        UPDATE nft
        SET name = :name,
            file_type = :file_type,
            attributes = :attributes,
            unranked = :unranked,
            image = :image,
            original_image_url = :original_image_url,
            missing = :missing,
            attempts = :attempts,
            retry_at = :retry_at,
            read_at = :read_at,
            reread_at = :reread_at
        WHERE token = :token AND serial_no = :serial_no
          AND missing IS NOT NULL AND is_hidden = 0 AND attempts = :attempts_before
          AND COALESCE(metadata, '') = COALESCE(:metadata_before, '')
          AND COALESCE(attributes, '') = COALESCE(:attributes_before, '')
          AND COALESCE(asked_at, '') = COALESCE(:asked_at_before, '')
        RETURNING *
    """
    return db.execute(sql, {**nft, **_before(stored)}).fetchone()


def mark_asked_again(
    db: Connection, token: str, serial_no: int, now: str, before: str
) -> NftRow | None:
    # Only if nobody has asked since then. The stored metadata stays until the new one was read.
    sql = f"""
        UPDATE nft
        SET missing = 'it is read again', attempts = {_LANE_OF_ASKED}, retry_at = :now, asked_at = :now
        WHERE token = :token AND serial_no = :serial_no AND is_hidden = 0
          AND (asked_at IS NULL OR asked_at <= :before OR asked_at > :now)
        RETURNING *
    """
    parameters = {"token": token, "serial_no": serial_no, "now": now, "before": before}
    return db.execute(sql, parameters).fetchone()


def mark_collection_asked_again(db: Connection, token: str, now: str) -> int:
    sql = f"""
        UPDATE nft
        SET missing = 'it is read again', attempts = {_LANE_OF_ASKED}, retry_at = :now
        WHERE token = :token AND ledger_state <> 'gone' AND is_hidden = 0
    """
    return db.execute(sql, {"token": token, "now": now}).rowcount


def list_to_reread(db: Connection, now: str, limit: int) -> list[tuple[str, int]]:
    sql = """
        SELECT token, serial_no FROM nft WHERE reread_at <= :now
        ORDER BY reread_at
        LIMIT :limit + 0
    """
    rows = db.execute(sql, {"now": now, "limit": limit})
    return [(row["token"], row["serial_no"]) for row in rows]


def mark_to_reread(db: Connection, token: str, serial_no: int, now: str, last_attempt: int) -> None:
    # Uses the last lane. Metadata that was given up gets one more attempt.
    sql = """
        UPDATE nft
        SET attempts = CASE WHEN missing IS NULL THEN 2 ELSE :last_attempt END,
            missing = COALESCE(missing, 'it is read again'),
            retry_at = :now,
            reread_at = NULL
        WHERE token = :token AND serial_no = :serial_no AND COALESCE(reread_at, '9999') <= :now
    """
    parameters = {"token": token, "serial_no": serial_no, "now": now, "last_attempt": last_attempt}
    db.execute(sql, parameters)


def list_collections_incomplete(db: Connection, now: str) -> list[str]:
    # One step of the index for each collection, however many of its NFTs are incomplete.
    sql = """
        WITH RECURSIVE incomplete (token) AS (
            SELECT MIN(token) FROM nft WHERE retry_at IS NOT NULL
            UNION ALL
            SELECT (SELECT MIN(n.token) FROM nft AS n
                    WHERE n.retry_at IS NOT NULL AND n.token > incomplete.token)
            FROM incomplete
            WHERE incomplete.token IS NOT NULL
        )
        SELECT token FROM incomplete
        WHERE token IS NOT NULL
          AND EXISTS (SELECT 1 FROM nft AS n
                      WHERE n.token = incomplete.token AND n.retry_at <= :now)
    """
    return [row["token"] for row in db.execute(sql, {"now": now})]


def list_incomplete(db: Connection, token: str, now: str, lane: int, limit: int) -> list[NftRow]:
    # Of one collection, and one of LANES.
    sql = f"""
        SELECT * FROM nft
        WHERE token = :token AND retry_at <= :now AND {_LANE} = :lane
        ORDER BY retry_at
        LIMIT :limit + 0
    """
    parameters = {"token": token, "now": now, "lane": lane, "limit": limit}
    return db.execute(sql, parameters).fetchall()


def count_incomplete(db: Connection) -> int:
    return count(db, "SELECT COUNT(*) AS n FROM nft WHERE retry_at IS NOT NULL")


def count_listed(db: Connection) -> int:
    return count(db, "SELECT COUNT(*) AS n FROM nft WHERE is_listed = 1")


def count_listed_of_owner(db: Connection, owner: str) -> int:
    sql = "SELECT COUNT(*) AS n FROM nft WHERE is_listed = 1 AND owner = :owner"
    return count(db, sql, {"owner": owner})


def count_for_sale_of_owner(
    db: Connection, owner: str, besides: tuple[str, int] | None = None
) -> int:
    # Counts by the ledger, so includes NFTs that are not listed here: hidden ones, or a blocked owner's.
    sql = """
        SELECT COUNT(*) AS n FROM (
            SELECT token, serial_no FROM nft WHERE is_listed = 1 AND owner = :owner
            UNION ALL
            SELECT token, serial_no FROM nft WHERE is_for_sale = 1 AND is_listed = 0 AND owner = :owner
        ) AS found
        WHERE NOT (token = :token AND serial_no = :serial_no)
    """
    token, serial_no = besides or ("", 0)
    return count(db, sql, {"owner": owner, "token": token, "serial_no": serial_no})


def list_known_of_seller(db: Connection, owner: str) -> list[tuple[str, int]]:
    # The NFTs that an account has listed, shown here or not, and those whose state is undecided.
    sql = """
        SELECT token, serial_no FROM nft WHERE owner = :owner AND is_listed = 1
        UNION ALL
        SELECT token, serial_no FROM nft WHERE owner = :owner AND is_for_sale = 1 AND is_listed = 0
        UNION ALL
        SELECT token, serial_no FROM nft WHERE owner = :owner AND ledger_state = 'undecided'
    """
    return [(row["token"], row["serial_no"]) for row in db.execute(sql, {"owner": owner})]


def is_any_stored_of_token(db: Connection, token: str) -> bool:
    sql = "SELECT 1 FROM nft WHERE token = :token LIMIT 1"
    return db.execute(sql, {"token": token}).fetchone() is not None


def list_stored_of_token(db: Connection, token: str) -> list[int]:
    sql = "SELECT serial_no FROM nft WHERE token = :token ORDER BY serial_no"
    return [row["serial_no"] for row in db.execute(sql, {"token": token})]


def list_shown_between(db: Connection, token: str, first: int, last: int) -> list[int]:
    # The serial numbers of NFTs that are neither gone nor hidden.
    sql = """
        SELECT serial_no FROM nft
        WHERE token = :token AND serial_no BETWEEN :first AND :last
          AND ledger_state <> 'gone' AND is_hidden = 0
        ORDER BY serial_no
    """
    found = db.execute(sql, {"token": token, "first": first, "last": last})
    return [row["serial_no"] for row in found]
