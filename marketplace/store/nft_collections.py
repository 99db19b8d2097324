"""The statements about collections: their facts, when to read them again, and which a shop shows."""

from collections.abc import Iterable, Mapping
from typing import TypedDict

from marketplace.store.connection import Connection


class CollectionFactsRow(TypedDict):
    """The facts of a collection that clients see, without its floor price."""

    token: str
    name: str | None
    symbol: str | None
    total_supply: int | None
    treasury: str | None
    royalties: str | None
    fixed_fees: str | None
    listed: int
    sales: int
    volume: int
    last_sale_price: int | None
    last_sale_at: str | None
    description: str | None
    banner: str | None
    logo: str | None
    links: str | None
    is_verified: int
    sales_7d: int
    volume_7d: int
    sales_30d: int
    volume_30d: int


class CollectionRow(CollectionFactsRow):
    metadata: str | None
    describe_at: str | None
    describe_attempts: int
    read_at: str | None
    attempts: int
    retry_at: str
    sort_name: str
    number: int
    traits_version: int
    ranked_version: int
    can_change_fees: int | None
    is_hidden: int
    is_imitation: int
    owners: int
    floor_price: int  # 0 if nothing is listed
    floor_price_24h_ago: int
    figures_due_at: str | None


class CollectionOnSaleRow(CollectionFactsRow):
    is_hidden: int
    floor_price: int | None
    floor_price_24h_ago: int | None
    owners: int


class OwnerRow(TypedDict):
    key: int  # its place in the order
    account_id: str
    nfts: int


class LastSerialNoRow(TypedDict):
    token: str
    last_serial_no: int


Chosen = tuple[str, ...]  # the setting STOREFRONT_COLLECTIONS: token ids, or VERIFIED; () for all
VERIFIED: Chosen = ("verified",)
# The last character: it sorts after all names, and word + LAST after all that begin with the word.
LAST = "\U0010ffff"
_IS_IMITATION = """CASE WHEN is_verified = 0 AND EXISTS (
    SELECT 1 FROM collection_skeleton AS own
    JOIN collection_skeleton AS other ON other.skeleton = own.skeleton
    JOIN collection AS original ON original.token = other.token
    WHERE own.token = collection.token AND original.is_verified = 1
) THEN 1 ELSE 0 END"""
# Whether the operator has verified a token of this name and symbol.
_IS_VERIFIED = """CASE WHEN EXISTS (
    SELECT 1 FROM decision
    WHERE kind = 'verified' AND id = {0}token
      AND COALESCE(decision.name, '') = COALESCE({0}name, '')
      AND COALESCE(decision.symbol, '') = COALESCE({0}symbol, '')
) THEN 1 ELSE 0 END"""
_SORT_NAME = f"CASE WHEN {_IS_IMITATION} = 1 THEN :last ELSE '' END || LTRIM(sort_name, :last)"


def get_collection(db: Connection, token: str) -> CollectionRow | None:
    return db.execute("SELECT * FROM collection WHERE token = :token", {"token": token}).fetchone()


def is_verified(db: Connection, token: str) -> bool:
    """Whether the operator has verified a collection, and it is still called what it was called then."""
    collection = get_collection(db, token)
    return bool(collection and collection["is_verified"])


def get_collection_on_sale(db: Connection, token: str) -> CollectionOnSaleRow | None:
    # A collection with a stored NFT, and a summary of its listings. Unknown columns are null.
    sql = """
        SELECT
            asked.token, name, symbol, total_supply, treasury, royalties, fixed_fees,
            COALESCE(sales, 0) AS sales, COALESCE(volume, 0) AS volume, last_sale_price, last_sale_at,
            COALESCE(sales_7d, 0) AS sales_7d, COALESCE(volume_7d, 0) AS volume_7d,
            COALESCE(sales_30d, 0) AS sales_30d, COALESCE(volume_30d, 0) AS volume_30d,
            NULLIF(floor_price_24h_ago, 0) AS floor_price_24h_ago,
            COALESCE(listed, 0) AS listed, description, banner, logo, links,
            COALESCE(is_verified, 0) AS is_verified, COALESCE(collection.is_hidden, 0) AS is_hidden,
            (SELECT MIN(listing_price) FROM nft WHERE is_listed = 1 AND token = :token) AS floor_price,
            (SELECT COUNT(*) FROM (
                SELECT 1 FROM nft
                WHERE token = :token AND ledger_state <> 'gone' AND is_hidden = 0
                GROUP BY owner
            ) AS found) AS owners
        FROM (SELECT CAST(:token AS TEXT) AS token) AS asked
        LEFT JOIN collection ON collection.token = asked.token
        WHERE EXISTS (SELECT 1 FROM nft WHERE token = :token)
    """
    return db.execute(sql, {"token": token}).fetchone()


def list_owners(
    db: Connection, token: str, after: tuple[int, str] | None, limit: int
) -> list[OwnerRow]:
    # The accounts with the most NFTs first. A page begins after a key and an account, which is where lists of
    # collections have a token.
    sql = """
        SELECT -COUNT(*) AS key, owner AS account_id, COUNT(*) AS nfts FROM nft
        WHERE token = :token AND ledger_state <> 'gone' AND is_hidden = 0
        GROUP BY owner
        HAVING -COUNT(*) > :key OR (-COUNT(*) = :key AND owner > :account_id)
        ORDER BY -COUNT(*), owner
        LIMIT :limit + 0
    """
    key, account_id = after or (-(2**63), "")
    parameters = {"token": token, "key": key, "account_id": account_id, "limit": limit}
    return db.execute(sql, parameters).fetchall()


def list_collections(db: Connection) -> list[str]:
    return [row["token"] for row in db.execute("SELECT token FROM collection")]


def list_collections_due(db: Connection, now: str, limit: int) -> list[str]:
    sql = """
        SELECT token FROM collection WHERE retry_at <= :now
        ORDER BY retry_at, token
        LIMIT :limit + 0
    """
    return [row["token"] for row in db.execute(sql, {"now": now, "limit": limit})]


def mark_collection_asked(db: Connection, token: str, until: str) -> None:
    # No other process asks before ``until``. mark_collection_read() notices if it becomes due meanwhile.
    sql = "UPDATE collection SET retry_at = :until WHERE token = :token"
    db.execute(sql, {"token": token, "until": until})


def mark_collection_read(
    db: Connection, collection: Mapping[str, object], until: str | None = None
) -> CollectionRow | None:
    # Keeps a stored row that is newer, or if nothing was read. A row that became due meanwhile stays due.
    sql = f"""
        INSERT INTO collection (
            token, name, symbol, total_supply, treasury, royalties, fixed_fees, read_at, attempts, retry_at,
            sort_name, metadata, can_change_fees, describe_at, listed, is_hidden, is_verified
        )
        VALUES (
            :token, :name, :symbol, :total_supply, :treasury, :royalties, :fixed_fees, :read_at, :attempts,
            :retry_at, :sort_name, :metadata, :can_change_fees,
            CASE WHEN CAST(:metadata AS TEXT) IS NOT NULL THEN :read_at END,
            (SELECT COUNT(*) FROM nft WHERE is_listed = 1 AND token = :token),
            (SELECT COUNT(*) FROM decision WHERE kind = 'hidden' AND id = :token AND serial_no = 0),
            {_IS_VERIFIED.format(":")}
        )
        ON CONFLICT (token) DO UPDATE
        SET name = excluded.name,
            symbol = excluded.symbol,
            sort_name = excluded.sort_name,
            is_imitation = 0,
            total_supply = excluded.total_supply,
            treasury = excluded.treasury,
            royalties = excluded.royalties,
            fixed_fees = excluded.fixed_fees,
            metadata = excluded.metadata,
            can_change_fees = excluded.can_change_fees,
            is_verified = excluded.is_verified,
            describe_at = CASE WHEN COALESCE(collection.metadata, '') = COALESCE(excluded.metadata, '')
                THEN collection.describe_at ELSE excluded.read_at END,
            describe_attempts = CASE WHEN COALESCE(collection.metadata, '') = COALESCE(excluded.metadata, '')
                THEN collection.describe_attempts ELSE 0 END,
            read_at = excluded.read_at,
            attempts = excluded.attempts,
            retry_at = CASE WHEN collection.retry_at <> :until THEN collection.retry_at
                ELSE excluded.retry_at END
        WHERE excluded.read_at IS NOT NULL
          AND (collection.read_at IS NULL OR collection.read_at < excluded.read_at)
        RETURNING *
    """
    return db.execute(sql, {**collection, "until": until}).fetchone()


def list_collections_to_describe(db: Connection, now: str, limit: int) -> list[CollectionRow]:
    sql = """
        SELECT * FROM collection WHERE describe_at <= :now AND is_hidden = 0
        ORDER BY describe_at
        LIMIT :limit + 0
    """
    return db.execute(sql, {"now": now, "limit": limit}).fetchall()


def mark_collection_described(db: Connection, collection: Mapping[str, object]) -> None:
    # Unless its pointer has changed since.
    sql = """
        UPDATE collection
        SET description = :description,
            banner = :banner,
            logo = :logo,
            links = :links,
            describe_at = :describe_at,
            describe_attempts = :describe_attempts
        WHERE token = :token AND COALESCE(metadata, '') = COALESCE(:metadata, '') AND is_hidden = 0
    """
    db.execute(sql, collection)


def mark_collection_unread(db: Connection, token: str, attempts: int, retry_at: str) -> None:
    # An attempt that began before another one ended must not count.
    sql = """
        UPDATE collection SET attempts = :attempts, retry_at = :retry_at
        WHERE token = :token AND attempts = :attempts - 1
    """
    db.execute(sql, {"token": token, "attempts": attempts, "retry_at": retry_at})


def add_sale(db: Connection, event: Mapping[str, object]) -> None:
    # Sales may arrive in a different order than on the ledger. A hidden NFT's sale is not counted.
    sql = """
        UPDATE collection
        SET sales = sales + 1,
            volume = volume + :price,
            last_sale_price = CASE WHEN last_sale_at > :consensus_at THEN last_sale_price ELSE :price END,
            last_sale_at = CASE WHEN last_sale_at > :consensus_at THEN last_sale_at ELSE :consensus_at END
        WHERE token = :token AND NOT EXISTS (
            SELECT 1 FROM nft WHERE nft.token = :token AND serial_no = :serial_no AND nft.is_hidden = 1
        )
    """
    db.execute(sql, event)


def add_listed(db: Connection, token: str, change: int) -> None:
    # Adds to the count of listed NFTs. A new price changes it by 0.
    sql = """
        UPDATE collection SET listed = listed + :change, traits_version = traits_version + 1
        WHERE token = :token
    """
    db.execute(sql, {"token": token, "change": change})


def mark_collection_due(db: Connection, token: str, soon: str, beyond: str) -> None:
    # Only if it would otherwise be read after `beyond`.
    sql = """
        UPDATE collection SET retry_at = :soon
        WHERE token = :token AND retry_at > :beyond AND attempts = 0
    """
    db.execute(sql, {"token": token, "soon": soon, "beyond": beyond})


def count_again(db: Connection, token: str, sales: int, volume: int) -> None:
    # After NFTs were hidden, shown, or taken off sale: counts listings, and adds sales, or subtracts negative
    # ones. The last sale is the newest visible one.
    sql = """
        UPDATE collection
        SET listed = (SELECT COUNT(*) FROM nft WHERE is_listed = 1 AND token = :token),
            traits_version = traits_version + 1,
            sales = CASE WHEN sales + :sales < 0 THEN 0 ELSE sales + :sales END,
            volume = CASE WHEN volume + :volume < 0 THEN 0 ELSE volume + :volume END,
            last_sale_price = (
                SELECT price FROM event WHERE event.token = :token AND sold_at IS NOT NULL
                ORDER BY sold_at DESC LIMIT 1
            ),
            last_sale_at = (SELECT MAX(sold_at) FROM event WHERE event.token = :token AND sold_at IS NOT NULL)
        WHERE token = :token
    """
    db.execute(sql, {"token": token, "sales": sales, "volume": volume})


def mark_verified_as_decided(db: Connection, token: str) -> None:
    is_verified = _IS_VERIFIED.format("collection.")
    sql = f"""
        UPDATE collection
        SET is_verified = {is_verified}, is_imitation = 0, sort_name = LTRIM(sort_name, :last)
        WHERE token = :token
    """
    db.execute(sql, {"token": token, "last": LAST})


def mark_imitations(db: Connection, skeleton: str) -> None:
    # Marks unverified collections whose name looks like a verified one's. They come last in each order, also
    # in that of names. Writes no unchanged rows, so that their writers need not wait for this one.
    sql = f"""
        UPDATE collection
        SET is_imitation = {_IS_IMITATION}, sort_name = {_SORT_NAME}
        WHERE token IN (SELECT token FROM collection_skeleton WHERE skeleton = :skeleton)
          AND (is_imitation <> {_IS_IMITATION} OR sort_name <> {_SORT_NAME})
    """
    db.execute(sql, {"skeleton": skeleton, "last": LAST})


def list_skeletons(db: Connection, token: str) -> list[str]:
    sql = "SELECT skeleton FROM collection_skeleton WHERE token = :token ORDER BY skeleton"
    return [row["skeleton"] for row in db.execute(sql, {"token": token})]


def insert_skeleton(db: Connection, token: str, skeleton: str) -> None:
    sql = "INSERT INTO collection_skeleton (skeleton, token) VALUES (:skeleton, :token)"
    db.execute(sql, {"token": token, "skeleton": skeleton})


def delete_skeletons(db: Connection, token: str) -> None:
    db.execute("DELETE FROM collection_skeleton WHERE token = :token", {"token": token})


def write_chosen_condition(chosen: Chosen, column: str, parameters: dict[str, object]) -> str:
    """Write the SQL condition for a column with tokens, and add its parameters. For all, it is empty."""
    if not chosen:
        return ""
    if chosen == VERIFIED:
        # Those whose names are still what the operator has verified.
        which = """
            SELECT verified.token FROM decision JOIN collection AS verified ON verified.token = decision.id
            WHERE decision.kind = 'verified' AND verified.is_verified = 1
        """
    else:
        named = {f"chosen_{number}": token for number, token in enumerate(chosen)}
        parameters |= named
        which = ", ".join(f":{name}" for name in named)
    # Each token is looked up on the way through an order: "|| ''" keeps planners from sorting instead.
    return f"AND {column} || '' IN ({which})"


def list_chosen(db: Connection, chosen: Chosen, tokens: Iterable[str]) -> set[str]:
    """List those of these tokens whose collections are chosen."""
    if not chosen:
        return set(tokens)
    if chosen != VERIFIED:
        return set(tokens).intersection(chosen)
    named = {f"token_{number}": token for number, token in enumerate(tokens)}
    sql = f"""
        SELECT token FROM collection
        WHERE token IN ({", ".join(f":{name}" for name in named)}) AND is_verified = 1
    """
    return {row["token"] for row in db.execute(sql, named)} if named else set()


def list_last_serial_nos(db: Connection, chosen: Chosen, limit: int) -> list[LastSerialNoRow]:
    # Some chosen collections, ordered by token as text, each with its highest stored serial number.
    parameters: dict[str, object] = {"limit": limit}
    sql = f"""
        SELECT token,
            (SELECT MAX(serial_no) FROM nft WHERE nft.token = collection.token) AS last_serial_no
        FROM collection
        WHERE is_hidden = 0 AND EXISTS (SELECT 1 FROM nft WHERE nft.token = collection.token)
            {write_chosen_condition(chosen, "collection.token", parameters)}
        ORDER BY token LIMIT :limit + 0
    """
    return db.execute(sql, parameters).fetchall()


def list_some_read(db: Connection, limit: int) -> list[str]:
    # Some collections that were read from the ledger, ordered by token as text.
    sql = """
        SELECT token FROM collection WHERE read_at IS NOT NULL
        ORDER BY token LIMIT :limit + 0
    """
    return [row["token"] for row in db.execute(sql, {"limit": limit})]
