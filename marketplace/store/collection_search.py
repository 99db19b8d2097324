"""The statements that find collections by words, page by page in some order.

Keys grow along each order: those of numbers are negative. A page begins after a key and a token.
"""

from collections.abc import Sequence

from marketplace.store.rows import Connection, FirstSaleRow, FoundCollectionRow, only

# The keys of each order, and its index. By what was sold since a moment, there is none: _BY_SALES.
KEYS = {"-volume": "-volume", "listed": "-listed", "name": "sort_name", "newest": "-number"}
BY_SALES = "volume24h"
LOOKED_THROUGH = 20  # NFTs of a collection, for an image

_BY_KEY = """
    SELECT token, {key} AS key FROM collection
    WHERE {key} >= :key AND ({key} > :key OR token > :token) {has_words}
    ORDER BY {key}, token
    LIMIT :limit
"""
# In two parts: what was sold of, and all others by token.
_BY_SALES = """
    SELECT token, key FROM (
        SELECT token, -CAST(SUM(price) AS BIGINT) AS key FROM event
        WHERE kind = 'SOLD' AND consensus_at >= :since {has_words}
        GROUP BY token
    ) AS sold
    WHERE (key, token) > (:key, :token)
    UNION ALL SELECT token, key FROM (
        SELECT token, 0 AS key FROM collection
        WHERE token > CASE WHEN :key < 0 THEN '' ELSE :token END {has_words}
          AND NOT EXISTS (
              SELECT 1 FROM event
              WHERE kind = 'SOLD' AND event.token = collection.token AND consensus_at >= :since
          )
        ORDER BY token
        LIMIT :limit
    ) AS unsold
    ORDER BY key, token
    LIMIT :limit
"""
_HAS_WORD = """
    AND token IN (SELECT token FROM collection_word WHERE word >= :word_{n} AND word < :end_{n})
"""
# An image of one of the cheapest, or else of one of the first.
_SHOWN = """
    WITH page AS ({page})
    SELECT page.key, page.token, name, symbol, listed,
        (SELECT MIN(listing_price) FROM nft WHERE is_for_sale = 1 AND nft.token = page.token) AS floor_price,
        (SELECT CAST(COALESCE(SUM(price), 0) AS BIGINT) FROM event
         WHERE kind = 'SOLD' AND event.token = page.token AND consensus_at >= :since) AS volume_24h,
        COALESCE(
            (SELECT image FROM (
                SELECT image FROM nft WHERE is_for_sale = 1 AND nft.token = page.token
                ORDER BY listing_price, serial_no LIMIT :looked_through
            ) AS cheapest WHERE image IS NOT NULL LIMIT 1),
            (SELECT image FROM (
                SELECT image FROM nft WHERE nft.token = page.token
                ORDER BY serial_no LIMIT :looked_through
            ) AS first WHERE image IS NOT NULL LIMIT 1)
        ) AS image
    FROM page JOIN collection ON collection.token = page.token
    ORDER BY page.key, page.token
"""


def list_found_collections(
    db: Connection,
    sort: str,
    words: Sequence[str],
    since: str,
    after: tuple[int | str, str] | None,
    limit: int,
) -> list[FoundCollectionRow]:
    """List a page of the collections that have words which begin with each of these.

    ``since``: from when sales count for volume_24h.
    """
    has_words = "".join(_HAS_WORD.format(n=n) for n in range(len(words)))
    page = _BY_SALES if sort == BY_SALES else _BY_KEY.replace("{key}", KEYS[sort])
    sql = _SHOWN.replace("{page}", page).replace("{has_words}", has_words)
    key, token = after or ("" if sort == "name" else -(2**63), "")
    parameters = {
        "key": key, "token": token, "since": since, "limit": limit, "looked_through": LOOKED_THROUGH
    }  # fmt: skip
    for n, word in enumerate(words):
        parameters |= {f"word_{n}": word, f"end_{n}": f"{word}\U0010ffff"}
    return db.execute(sql, parameters).fetchall()


def get_first_sale_since(db: Connection, since: str) -> FirstSaleRow:
    sql = """
        SELECT MIN(consensus_at) AS first_at FROM event
        WHERE kind = 'SOLD' AND consensus_at >= :since
    """
    row: FirstSaleRow = only(db, sql, {"since": since})
    return row


def insert_word(db: Connection, word: str, token: str) -> None:
    sql = "INSERT INTO collection_word (word, token) VALUES (:word, :token)"
    db.execute(sql, {"word": word, "token": token})


def delete_words(db: Connection, token: str) -> None:
    db.execute("DELETE FROM collection_word WHERE token = :token", {"token": token})
