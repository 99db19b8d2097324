"""What the operator decided, and what follows from it in other tables.

Each statement reads the decisions that are in force, and writes only what differs from them.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypedDict

from marketplace.store import nft_collections
from marketplace.store.connection import Connection
from marketplace.store.events import get_sales_between

DecisionKind = Literal["hidden", "blocked", "verified"]


class DecisionRow(TypedDict):
    """What the operator decided."""

    kind: DecisionKind
    id: str
    serial_no: int
    reason: str
    since: str
    is_public: int
    list: str | None
    name: str | None
    symbol: str | None
    decided_by: str | None


class ToApplyRow(TypedDict):
    kind: DecisionKind
    id: str
    serial_no: int


class SuspendedRow(TypedDict):
    """A verified collection that is called something else by now."""

    token: str
    name: str  # when it was verified
    symbol: str
    name_now: str | None
    symbol_now: str | None


AT_ONCE = 500  # NFTs in one transaction: others wait for it


class DecisionBatch(NamedTuple):
    """Some NFTs of one token, which a decision is about. With an owner, only those of that account."""

    token: str
    first: int
    last: int
    owner: str | None
    is_last: bool  # whether no others are to be changed

    @property
    def condition(self) -> str:
        of_owner = "" if self.owner is None else "AND owner = :owner"
        return f"token = :token AND serial_no BETWEEN :first AND :last {of_owner}"


# What follows for an NFT: whether it is hidden, and whether it is listed.
_HIDDEN = """CASE WHEN EXISTS (
    SELECT 1 FROM decision
    WHERE kind = 'hidden' AND id = nft.token AND decision.serial_no IN (0, nft.serial_no)
) THEN 1 ELSE 0 END"""
_LISTED = f"""CASE WHEN is_for_sale = 1 AND {_HIDDEN} = 0 AND NOT EXISTS (
    SELECT 1 FROM decision WHERE kind = 'blocked' AND id = nft.owner
) THEN 1 ELSE 0 END"""
_DIFFERS = f"(is_hidden <> {_HIDDEN} OR is_listed <> {_LISTED})"


def insert_decision(db: Connection, decision: Mapping[str, object]) -> DecisionRow | None:
    # An existing decision gets the new reason, and keeps its date.
    sql = """
        INSERT INTO decision (
            kind, id, serial_no, reason, since, is_public, list, name, symbol, decided_by
        )
        VALUES (
            :kind, :id, :serial_no, :reason, :since, :is_public, :list, :name, :symbol, :decided_by
        )
        ON CONFLICT (kind, id, serial_no) DO UPDATE
        SET reason = excluded.reason, is_public = excluded.is_public, list = excluded.list,
            name = excluded.name, symbol = excluded.symbol, decided_by = excluded.decided_by
        RETURNING *
    """
    return db.execute(sql, decision).fetchone()


def get_block(db: Connection, account_id: str) -> DecisionRow | None:
    # The decision that blocks an account.
    sql = "SELECT * FROM decision WHERE kind = 'blocked' AND id = :account_id AND serial_no = 0"
    return db.execute(sql, {"account_id": account_id}).fetchone()


def get_hiding(db: Connection, token: str, serial_no: int) -> DecisionRow | None:
    # The decision that hides an NFT: its own, or its collection's.
    sql = """
        SELECT * FROM decision WHERE kind = 'hidden' AND id = :token AND serial_no IN (0, :serial_no)
        ORDER BY serial_no DESC
        LIMIT 1
    """
    return db.execute(sql, {"token": token, "serial_no": serial_no}).fetchone()


def is_withheld(db: Connection, token: str, serial_no: int, owner: str) -> bool:
    # Whether a decision keeps an NFT off sale, applied to its row already or not.
    sql = """
        SELECT 1 FROM decision
        WHERE (kind = 'hidden' AND id = :token AND serial_no IN (0, :serial_no))
           OR (kind = 'blocked' AND id = :owner AND serial_no = 0)
        LIMIT 1
    """
    parameters = {"token": token, "serial_no": serial_no, "owner": owner}
    return db.execute(sql, parameters).fetchone() is not None


def list_decisions(db: Connection) -> list[DecisionRow]:
    return db.execute("SELECT * FROM decision ORDER BY kind, id, serial_no").fetchall()


def list_decisions_about(db: Connection, id: str, serial_no: int) -> list[DecisionRow]:
    # About an NFT and its collection; with serial number 0, about a token or an account.
    sql = """
        SELECT * FROM decision
        WHERE kind IN ('hidden', 'blocked', 'verified') AND id = :id AND serial_no IN (0, :serial_no)
    """
    return db.execute(sql, {"id": id, "serial_no": serial_no}).fetchall()


def list_newest_decisions(db: Connection, limit: int) -> list[DecisionRow]:
    sql = "SELECT * FROM decision ORDER BY since DESC, id, serial_no LIMIT :limit + 0"
    return db.execute(sql, {"limit": limit}).fetchall()


def list_suspended(db: Connection) -> list[SuspendedRow]:
    # The verified collections that are called something else by now.
    sql = """
        SELECT token, decision.name, decision.symbol, collection.name AS name_now,
            collection.symbol AS symbol_now
        FROM decision JOIN collection ON token = id
        WHERE kind = 'verified' AND is_verified = 0
        ORDER BY id
    """
    return db.execute(sql).fetchall()


def delete_decision(
    db: Connection, kind: DecisionKind, id: str, serial_no: int = 0
) -> DecisionRow | None:
    sql = """
        DELETE FROM decision WHERE kind = :kind AND id = :id AND serial_no = :serial_no
        RETURNING *
    """
    return db.execute(sql, {"kind": kind, "id": id, "serial_no": serial_no}).fetchone()


def insert_to_apply(db: Connection, kind: DecisionKind, id: str, serial_no: int) -> None:
    sql = """
        INSERT INTO decision_to_apply (kind, id, serial_no) VALUES (:kind, :id, :serial_no)
        ON CONFLICT (kind, id, serial_no) DO NOTHING
    """
    db.execute(sql, {"kind": kind, "id": id, "serial_no": serial_no})


def list_to_apply(db: Connection) -> list[ToApplyRow]:
    return db.execute("SELECT * FROM decision_to_apply ORDER BY kind, id, serial_no").fetchall()


def delete_to_apply(db: Connection, kind: DecisionKind, id: str, serial_no: int) -> None:
    sql = "DELETE FROM decision_to_apply WHERE kind = :kind AND id = :id AND serial_no = :serial_no"
    db.execute(sql, {"kind": kind, "id": id, "serial_no": serial_no})


def find_part(
    db: Connection, kind: DecisionKind, id: str, serial_no: int, after: tuple[str, int]
) -> DecisionBatch | None:
    """The next NFTs that differ from what was decided about a token, an NFT or an account."""
    of_token = "token = :id AND serial_no > :after" + (
        " AND serial_no = :serial_no" if serial_no else ""
    )
    of_owner = """
        owner = :id AND (token, serial_no) > (:after_token, :after)
        AND is_for_sale = 1 AND ledger_state <> 'gone'
    """
    sql = f"""
        SELECT token, serial_no FROM nft
        WHERE {of_owner if kind == "blocked" else of_token} AND {_DIFFERS}
        ORDER BY token, serial_no
        LIMIT :limit + 0
    """
    parameters = {"id": id, "serial_no": serial_no, "after_token": after[0], "after": after[1]}
    rows = db.execute(sql, parameters | {"limit": AT_ONCE}).fetchall()
    if not rows:
        return None
    token = rows[0]["token"]
    of_one = [row["serial_no"] for row in rows if row["token"] == token]
    owner = id if kind == "blocked" else None
    return DecisionBatch(
        token, of_one[0], of_one[-1], owner, len(of_one) < AT_ONCE and len(of_one) == len(rows)
    )


def apply(db: Connection, part: DecisionBatch, now: str) -> int:
    """Let everything follow from the decisions about some NFTs. Returns how many NFTs changed.

    Call it after Engine.lock_nfts() and lock_events().
    """
    sold = get_sales_between(db, part.token, part.first, part.last)
    insert_events(db, part, now)
    insert_hidden_images(db, part)
    changed = mark_nfts(db, part, now)
    mark_events(db, part)
    left = get_sales_between(db, part.token, part.first, part.last)
    sales, volume = left["sales"] - sold["sales"], left["volume"] - sold["volume"]
    nft_collections.count_again(db, part.token, sales, volume)
    return changed


def insert_events(db: Connection, part: DecisionBatch, now: str) -> None:
    # Before the NFTs change: HIDDEN, SHOWN, and the ends and beginnings of listings.
    sql = f"""
        INSERT INTO event (
            id, kind, token, serial_no, from_account, to_account, price, previous_price, consensus_at, seen_at
        )
        SELECT (SELECT COALESCE(MAX(id), 0) FROM event) + ROW_NUMBER() OVER (ORDER BY token, serial_no),
            CASE WHEN hidden > is_hidden THEN 'HIDDEN' WHEN hidden < is_hidden THEN 'SHOWN'
                WHEN listed = 1 THEN 'LISTED' ELSE 'WITHDRAWN' END,
            token, serial_no,
            CASE WHEN hidden >= is_hidden THEN owner END,
            CASE WHEN hidden < is_hidden THEN owner END,
            CASE WHEN listed = 1 THEN listing_price END,
            CASE WHEN is_listed = 1 THEN listing_price END,
            CASE WHEN listed = 1 THEN last_listed_at END,
            :now
        FROM (
            SELECT nft.*, {_HIDDEN} AS hidden, {_LISTED} AS listed FROM nft
            WHERE {part.condition} AND {_DIFFERS}
        ) AS changing
    """
    db.execute(sql, part._asdict() | {"now": now})


def insert_hidden_images(db: Connection, part: DecisionBatch) -> None:
    # Before the NFTs change, of those that are to be hidden.
    sql = f"""
        INSERT INTO hidden_image (key, token, serial_no)
        SELECT image, token, serial_no FROM nft
        WHERE {part.condition} AND image IS NOT NULL AND is_hidden = 0 AND {_HIDDEN} = 1
        ON CONFLICT (key, token, serial_no) DO NOTHING
    """
    db.execute(sql, part._asdict())


def mark_nfts(db: Connection, part: DecisionBatch, now: str) -> int:
    # A hidden NFT loses its image. What is shown again is read again.
    sql = f"""
        UPDATE nft
        SET is_hidden = {_HIDDEN},
            is_listed = {_LISTED},
            image = CASE WHEN {_HIDDEN} = 0 THEN image END,
            missing = CASE WHEN {_HIDDEN} = 1 THEN 'it is hidden'
                WHEN is_hidden = 1 THEN 'it is read again' ELSE missing END,
            attempts = CASE WHEN is_hidden = 1 THEN 0 ELSE attempts END,
            retry_at = CASE WHEN {_HIDDEN} = 1 THEN NULL
                WHEN is_hidden = 1 AND ledger_state <> 'gone' THEN :now ELSE retry_at END,
            reread_at = CASE WHEN {_HIDDEN} = 0 THEN reread_at END
        WHERE {part.condition} AND {_DIFFERS}
    """
    return db.execute(sql, part._asdict() | {"now": now}).rowcount


def mark_collection(db: Connection, token: str, now: str) -> None:
    # A hidden collection loses its pictures; a shown one is described again.
    hidden = """CASE WHEN EXISTS (
        SELECT 1 FROM decision WHERE kind = 'hidden' AND id = :token AND serial_no = 0
    ) THEN 1 ELSE 0 END"""
    for column in ("banner", "logo"):
        sql = f"""
            INSERT INTO hidden_image (key, token, serial_no)
            SELECT {column}, token, 0 FROM collection
            WHERE token = :token AND {column} IS NOT NULL AND is_hidden = 0 AND {hidden} = 1
            ON CONFLICT (key, token, serial_no) DO NOTHING
        """
        db.execute(sql, {"token": token})
    sql = f"""
        UPDATE collection
        SET is_hidden = {hidden}, banner = NULL, logo = NULL,
            describe_at = CASE WHEN metadata IS NOT NULL THEN :now END, describe_attempts = 0
        WHERE token = :token AND is_hidden <> {hidden}
    """
    db.execute(sql, {"token": token, "now": now})


def mark_events(db: Connection, part: DecisionBatch) -> None:
    # All but those that tell that an NFT was hidden.
    sql = """
        UPDATE event SET is_hidden = 1 - is_hidden
        WHERE token = :token AND serial_no BETWEEN :first AND :last AND kind <> 'HIDDEN' AND is_hidden <> (
            SELECT nft.is_hidden FROM nft
            WHERE nft.token = event.token AND nft.serial_no = event.serial_no
        )
    """
    db.execute(sql, part._asdict())


# Images


def insert_hidden_image(db: Connection, key: str, token: str, serial_no: int) -> None:
    # serial_no 0: a picture of the collection itself.
    sql = """
        INSERT INTO hidden_image (key, token, serial_no) VALUES (:key, :token, :serial_no)
        ON CONFLICT (key, token, serial_no) DO UPDATE SET is_removed = 0
    """
    db.execute(sql, {"key": key, "token": token, "serial_no": serial_no})


def is_image_hidden(db: Connection, key: str) -> bool:
    sql = "SELECT 1 FROM hidden_image WHERE key = :key LIMIT 1"
    return db.execute(sql, {"key": key}).fetchone() is not None


def list_images_to_remove(db: Connection, limit: int) -> list[str]:
    sql = "SELECT DISTINCT key FROM hidden_image WHERE is_removed = 0 ORDER BY key LIMIT :limit + 0"
    return [row["key"] for row in db.execute(sql, {"limit": limit})]


def mark_image_removed(db: Connection, key: str) -> bool:
    # Returns whether it is still hidden.
    sql = "UPDATE hidden_image SET is_removed = 1 WHERE key = :key"
    return db.execute(sql, {"key": key}).rowcount > 0


def delete_hidden_image(db: Connection, key: str) -> None:
    # Something that is shown has it.
    db.execute("DELETE FROM hidden_image WHERE key = :key", {"key": key})


def delete_shown_images(db: Connection, token: str) -> None:
    # Of a token's hidden images, those of NFTs that are no longer hidden; and those that others show, too.
    sql = """
        DELETE FROM hidden_image
        WHERE token = :token AND serial_no > 0 AND EXISTS (
            SELECT 1 FROM nft WHERE nft.token = :token AND nft.serial_no = hidden_image.serial_no
              AND nft.is_hidden = 0
        )
    """
    db.execute(sql, {"token": token})
    sql = """
        DELETE FROM hidden_image
        WHERE token = :token AND serial_no = 0
          AND EXISTS (SELECT 1 FROM collection WHERE collection.token = :token AND is_hidden = 0)
    """
    db.execute(sql, {"token": token})
    noted = "SELECT key FROM hidden_image WHERE token = :token AND is_removed = 0"
    sql = f"""
        DELETE FROM hidden_image
        WHERE token = :token AND is_removed = 0 AND key IN (
            SELECT image FROM nft WHERE is_hidden = 0 AND image IN ({noted})
            UNION SELECT logo FROM collection WHERE is_hidden = 0 AND logo IN ({noted})
            UNION SELECT banner FROM collection WHERE is_hidden = 0 AND banner IN ({noted})
        )
    """
    db.execute(sql, {"token": token})


def mark_image_lost(db: Connection, key: str, now: str) -> None:
    # It was removed while something that is shown got it: that is read again.
    sql = """
        UPDATE nft SET missing = 'it is read again', attempts = 0, retry_at = :now
        WHERE image = :key AND is_hidden = 0
    """
    db.execute(sql, {"key": key, "now": now})
    sql = """
        UPDATE collection SET describe_at = :now, describe_attempts = 0
        WHERE :key IN (logo, banner) AND is_hidden = 0
    """
    db.execute(sql, {"key": key, "now": now})
