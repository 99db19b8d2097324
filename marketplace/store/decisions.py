"""The statements about what the operator decided, and about the images that were removed with it."""

from collections.abc import Mapping, Sequence

from marketplace.store.rows import Connection, DecisionKind, DecisionRow, SuspendedRow

KEYS_AT_ONCE = 500  # of list_shared_keys(), which reads all NFTs each time
_KEYS = ", ".join(f":key_{n}" for n in range(KEYS_AT_ONCE))


def insert_decision(db: Connection, decision: Mapping[str, object]) -> DecisionRow | None:
    # An existing decision gets the new reason, and keeps its date.
    sql = """
        INSERT INTO decision (kind, id, serial_no, reason, since, is_public, list, name, symbol)
        VALUES (:kind, :id, :serial_no, :reason, :since, :is_public, :list, :name, :symbol)
        ON CONFLICT (kind, id, serial_no) DO UPDATE
        SET reason = excluded.reason, is_public = excluded.is_public, list = excluded.list,
            name = excluded.name, symbol = excluded.symbol
        RETURNING *
    """
    return db.execute(sql, decision).fetchone()


def get_decision(
    db: Connection, kind: DecisionKind, id: str, serial_no: int = 0
) -> DecisionRow | None:
    sql = "SELECT * FROM decision WHERE kind = :kind AND id = :id AND serial_no = :serial_no"
    return db.execute(sql, {"kind": kind, "id": id, "serial_no": serial_no}).fetchone()


def get_hiding(db: Connection, token: str, serial_no: int) -> DecisionRow | None:
    # The decision that hides an NFT: its own, or its collection's.
    sql = """
        SELECT * FROM decision WHERE kind = 'hidden' AND id = :token AND serial_no IN (0, :serial_no)
        ORDER BY serial_no DESC
        LIMIT 1
    """
    return db.execute(sql, {"token": token, "serial_no": serial_no}).fetchone()


def list_decisions(db: Connection) -> list[DecisionRow]:
    return db.execute("SELECT * FROM decision ORDER BY kind, id, serial_no").fetchall()


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


def insert_hidden_image(db: Connection, key: str, token: str, serial_no: int) -> None:
    # serial_no 0: a picture of the collection itself.
    sql = """
        INSERT INTO hidden_image (key, token, serial_no) VALUES (:key, :token, :serial_no)
        ON CONFLICT (key, token, serial_no) DO NOTHING
    """
    db.execute(sql, {"key": key, "token": token, "serial_no": serial_no})


def is_image_hidden(db: Connection, key: str) -> bool:
    sql = "SELECT 1 FROM hidden_image WHERE key = :key LIMIT 1"
    return db.execute(sql, {"key": key}).fetchone() is not None


def list_hidden_images(db: Connection, token: str, serial_no: int) -> list[str]:
    # Of an NFT; with 0, of all of a collection.
    sql = """
        SELECT key FROM hidden_image
        WHERE token = :token AND serial_no BETWEEN :serial_no AND :last
    """
    last = serial_no or 2**63 - 1
    rows = db.execute(sql, {"token": token, "serial_no": serial_no, "last": last})
    return [row["key"] for row in rows]


def delete_hidden_images(db: Connection, token: str, serial_no: int) -> None:
    # Of an NFT; with 0, of the collection itself.
    sql = "DELETE FROM hidden_image WHERE token = :token AND serial_no = :serial_no"
    db.execute(sql, {"token": token, "serial_no": serial_no})


def list_shared_keys(db: Connection, keys: Sequence[str], token: str, serial_no: int) -> list[str]:
    # Which of at most KEYS_AT_ONCE images are shown outside this NFT, too; or with 0, outside the collection.
    sql = f"""
        SELECT image AS key FROM nft
        WHERE image IN ({_KEYS}) AND is_hidden = 0 AND NOT (token = :token AND :serial_no IN (0, serial_no))
        UNION
        SELECT logo FROM collection WHERE logo IN ({_KEYS}) AND is_hidden = 0 AND token <> :token
        UNION
        SELECT banner FROM collection WHERE banner IN ({_KEYS}) AND is_hidden = 0 AND token <> :token
    """
    parameters: dict[str, object] = {f"key_{n}": None for n in range(KEYS_AT_ONCE)}
    parameters |= {f"key_{n}": key for n, key in enumerate(keys)}
    rows = db.execute(sql, parameters | {"token": token, "serial_no": serial_no})
    return [row["key"] for row in rows]
