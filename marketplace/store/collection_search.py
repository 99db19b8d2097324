"""The statements that find collections by words, page by page in an order.

Keys grow in each order, so descending numbers have negative keys. A page begins after a key and a token.
"""

from collections.abc import Sequence
from typing import Any, TypedDict

from marketplace.store.connection import Connection, only
from marketplace.store.nft_collections import LAST, Chosen, write_chosen_condition
from marketplace.store.nfts import NftRow


class FoundCollectionRow(TypedDict):
    key: int | str  # its place in the requested order
    token: str
    name: str | None
    symbol: str | None
    listed: int
    is_verified: int
    floor_price: int | None
    sales: int
    volume: int
    volume_24h: int
    sales_7d: int
    volume_7d: int
    sales_30d: int
    volume_30d: int
    owners: int
    floor_price_24h_ago: int | None
    image: str | None


# A page begins after this key and token. None: the first page.
After = tuple[int | str, str] | None

# Each order's key, which has an index. The order by recent sales has no key or index: see _BY_SALES.
# Names that imitate a verified collection's come last in each order.
_HIGHEST_FIRST = {
    "-volume": "volume",
    "sales7d": "sales_7d",
    "volume7d": "volume_7d",
    "sales30d": "sales_30d",
    "volume30d": "volume_30d",
    "owners": "owners",
    "floorPrice": "floor_price",
    "floorPrice24hAgo": "floor_price_24h_ago",
    "listed": "listed",
    "newest": "number",
}
KEYS = {
    sort: f"is_imitation * 1000000000000000000 - {column}"
    for sort, column in _HIGHEST_FIRST.items()
} | {"name": "sort_name"}
BY_SALES, BY_VOLUME = "volume24h", "-volume"
MAX_WORDS = 8
LOOKED_THROUGH = 20  # how many NFTs of a collection are searched for an image

# The collections that have, for each searched word, a word that begins with it. The statements follow an
# order, and look up each collection among a word's collections: that is fast for rare and for common words.
# An empty word is ignored.
_MATCHING = """
    SELECT * FROM collection
    WHERE is_hidden = 0 AND is_verified >= :only_verified {chosen}
      AND (:word_1 = '' OR token IN (SELECT token FROM collection_word WHERE word >= :word_1 AND word < :end_1))
      AND (:word_2 = '' OR token IN (SELECT token FROM collection_word WHERE word >= :word_2 AND word < :end_2))
      AND (:word_3 = '' OR token IN (SELECT token FROM collection_word WHERE word >= :word_3 AND word < :end_3))
      AND (:word_4 = '' OR token IN (SELECT token FROM collection_word WHERE word >= :word_4 AND word < :end_4))
      AND (:word_5 = '' OR token IN (SELECT token FROM collection_word WHERE word >= :word_5 AND word < :end_5))
      AND (:word_6 = '' OR token IN (SELECT token FROM collection_word WHERE word >= :word_6 AND word < :end_6))
      AND (:word_7 = '' OR token IN (SELECT token FROM collection_word WHERE word >= :word_7 AND word < :end_7))
      AND (:word_8 = '' OR token IN (SELECT token FROM collection_word WHERE word >= :word_8 AND word < :end_8))
"""  # noqa: E501
_BY_KEY = """
    SELECT token, {key} AS key FROM matching
    WHERE {key} >= :key AND ({key} > :key OR token > :token)
    ORDER BY {key}, token
    LIMIT :limit + 0
"""
# In two parts: collections with sales, then all others by token. Without the first line, SQLite would group
# all sales ever made, by the index of tokens. Another statement lists imitations, which come last.
_BY_SALES = f"""
    WITH sale AS MATERIALIZED (SELECT token, price FROM event WHERE sold_at >= :since)
    SELECT token, key FROM (
        SELECT token, -CAST(SUM(price) AS BIGINT) AS key FROM sale GROUP BY token
    ) AS sold JOIN matching USING (token)
    WHERE (key, token) > (:key, :token) AND is_imitation = 0
    UNION ALL SELECT token, key FROM (
        SELECT token, 0 AS key FROM matching
        WHERE token > CASE WHEN :key < 0 THEN '' WHEN :key = 0 THEN :token ELSE '{LAST}' END
          AND token NOT IN (SELECT token FROM sale) AND is_imitation = 0
        ORDER BY token
        LIMIT :limit + 0
    ) AS unsold
    ORDER BY key, token
    LIMIT :limit + 0
"""
_IMITATING = """
    SELECT token, 1 AS key FROM matching
    WHERE is_imitation = 1 AND token > CASE WHEN :key < 1 THEN '' ELSE :token END
    ORDER BY token
    LIMIT :limit + 0
"""
_PAGES = {sort: _BY_KEY.format(key=key) for sort, key in KEYS.items()} | {BY_SALES: _BY_SALES}
# The image belongs to one of the cheapest listed NFTs, otherwise to one of the first NFTs.
_SHOWN = """
    WITH matching AS NOT MATERIALIZED ({matching}), page AS ({page})
    SELECT page.key, page.token, name, symbol, listed, is_verified,
        sales, volume, sales_7d, volume_7d, sales_30d, volume_30d, owners,
        NULLIF(floor_price_24h_ago, 0) AS floor_price_24h_ago,
        (SELECT MIN(listing_price) FROM nft WHERE is_listed = 1 AND nft.token = page.token) AS floor_price,
        (SELECT CAST(COALESCE(SUM(price), 0) AS BIGINT) FROM event
         WHERE event.token = page.token AND sold_at >= :since) AS volume_24h,
        COALESCE(
            (SELECT image FROM (
                SELECT image FROM nft WHERE is_listed = 1 AND nft.token = page.token
                ORDER BY listing_price, serial_no LIMIT :looked_through + 0
            ) AS cheapest WHERE image IS NOT NULL LIMIT 1),
            (SELECT image FROM (
                SELECT image FROM nft WHERE nft.token = page.token
                ORDER BY serial_no LIMIT :looked_through + 0
            ) AS first WHERE image IS NOT NULL LIMIT 1)
        ) AS image
    FROM page JOIN collection ON collection.token = page.token
    ORDER BY page.key, page.token
"""
_NFTS = """
    WITH matching AS NOT MATERIALIZED ({matching}), page AS ({page})
    SELECT nft.* FROM page JOIN nft ON nft.token = page.token AND nft.serial_no = :serial_no
    WHERE nft.is_hidden = 0
    ORDER BY page.key, page.token
"""


_STATEMENTS = {sort: _SHOWN.format(matching=_MATCHING, page=page) for sort, page in _PAGES.items()}
_STATEMENT_OF_IMITATIONS = _SHOWN.format(matching=_MATCHING, page=_IMITATING)
_NFT_STATEMENT = _NFTS.format(matching=_MATCHING, page=_PAGES[BY_VOLUME])


def list_found_collections(
    db: Connection,
    sort: str,
    words: Sequence[str],
    since: str,
    after: After,
    limit: int,
    only_verified: bool = False,
    chosen: Chosen = (),
) -> list[FoundCollectionRow]:
    """List a page of the collections in which each of these words begins a word.

    ``since``: volume_24h counts sales from this time on.
    """
    parameters = _begin(sort, after, words, only_verified) | {"since": since, "limit": limit}
    parameters["looked_through"] = LOOKED_THROUGH
    which = write_chosen_condition(chosen, "collection.token", parameters)
    rows = db.execute(_STATEMENTS[sort].format(chosen=which), parameters).fetchall()
    if sort == BY_SALES and len(rows) < limit:
        rest = parameters | {"limit": limit - len(rows)}
        rows += db.execute(_STATEMENT_OF_IMITATIONS.format(chosen=which), rest).fetchall()
    return rows


def list_found_nfts(
    db: Connection,
    words: Sequence[str],
    serial_no: int,
    limit: int,
    only_verified: bool = False,
    chosen: Chosen = (),
) -> list[NftRow]:
    """List the NFTs with a serial number in the first collections of list_found_collections()."""
    parameters = _begin(BY_VOLUME, None, words, only_verified)
    parameters |= {"serial_no": serial_no, "limit": limit}
    which = write_chosen_condition(chosen, "collection.token", parameters)
    return db.execute(_NFT_STATEMENT.format(chosen=which), parameters).fetchall()


def _begin(sort: str, after: After, words: Sequence[str], only_verified: bool) -> dict[str, Any]:
    """The parameters for the page's start and for the search."""
    key, token = after or ("" if sort == "name" else -(2**63), "")
    parameters: dict[str, Any] = {"key": key, "token": token, "only_verified": int(only_verified)}
    for n in range(MAX_WORDS):
        word = words[n] if n < len(words) else ""
        parameters |= {f"word_{n + 1}": word, f"end_{n + 1}": word + LAST}
    return parameters


def get_first_sale_since(db: Connection, since: str) -> str | None:
    sql = """
        SELECT MIN(sold_at) AS first_at FROM event
        WHERE sold_at >= :since
    """
    first_at: str | None = only(db, sql, {"since": since})["first_at"]
    return first_at


def insert_word(db: Connection, word: str, token: str) -> None:
    sql = "INSERT INTO collection_word (word, token) VALUES (:word, :token)"
    db.execute(sql, {"word": word, "token": token})


def delete_words(db: Connection, token: str) -> None:
    db.execute("DELETE FROM collection_word WHERE token = :token", {"token": token})
