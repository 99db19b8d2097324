"""The statements that find collections by words, page by page in an order.

Keys grow in each order, so descending numbers have negative keys. A page begins after a key and a token.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from marketplace.store.rows import Connection, FoundCollectionRow, NftRow, count, only

# Each search word, and how many words of collections begin with it, counted up to RARE.
Words = Mapping[str, int]
# A page begins after this key and token. None: the first page.
After = tuple[int | str, str] | None

# The key of each order, which has an index. The order by recent sales has neither: see _BY_SALES.
KEYS = {"-volume": "-volume", "listed": "-listed", "name": "sort_name", "newest": "-number"}
BY_SALES, BY_VOLUME = "volume24h", "-volume"
LAST = "\U0010ffff"  # the last character: word + LAST sorts after all that begin with word
LOOKED_THROUGH = 20  # how many NFTs of a collection are searched for an image

_BY_KEY = """
    SELECT token, {key} AS key FROM collection
    WHERE {key} >= :key AND ({key} > :key OR token > :token) {has_words}
    ORDER BY {key}, token
    LIMIT :limit + 0
"""
# In two parts: collections with sales, then all others by token. Without the first line, SQLite would group
# all sales of all time by the index of tokens.
_BY_SALES = """
    WITH sale AS MATERIALIZED (SELECT token, price FROM event WHERE sold_at >= :since)
    SELECT token, key FROM (
        SELECT token, -CAST(SUM(price) AS BIGINT) AS key FROM sale GROUP BY token
    ) AS sold
    WHERE (key, token) > (:key, :token) {sold_has_words}
    UNION ALL SELECT token, key FROM (
        SELECT token, 0 AS key FROM collection
        WHERE token > CASE WHEN :key < 0 THEN '' ELSE :token END {has_words}
          AND token NOT IN (SELECT token FROM sale)
        ORDER BY token
        LIMIT :limit + 0
    ) AS unsold
    ORDER BY key, token
    LIMIT :limit + 0
"""
# The collections of a rare word are looked up. For a common word, the order is followed, and each checked.
RARE = 300
_HAS_WORD = {
    True: """
        AND token IN (SELECT token FROM collection_word WHERE word >= :word_{n} AND word < :end_{n})""",
    False: """
        AND EXISTS (
            SELECT 1 FROM collection_word AS w
            WHERE w.token = collection.token AND w.word >= :word_{n} AND w.word < :end_{n}
        )""",
}
# The image is of one of the cheapest listed NFTs, otherwise of one of the first NFTs.
_SHOWN = """
    WITH page AS ({page})
    SELECT page.key, page.token, name, symbol, listed,
        (SELECT MIN(listing_price) FROM nft WHERE is_for_sale = 1 AND nft.token = page.token) AS floor_price,
        (SELECT CAST(COALESCE(SUM(price), 0) AS BIGINT) FROM event
         WHERE event.token = page.token AND sold_at >= :since) AS volume_24h,
        COALESCE(
            (SELECT image FROM (
                SELECT image FROM nft WHERE is_for_sale = 1 AND nft.token = page.token
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
    WITH page AS ({page})
    SELECT nft.* FROM page JOIN nft ON nft.token = page.token AND nft.serial_no = :serial_no
    ORDER BY page.key, page.token
"""


def list_found_collections(
    db: Connection, sort: str, words: Words, since: str, after: After, limit: int
) -> list[FoundCollectionRow]:
    """List a page of the collections in which each of these words begins a word.

    ``since``: volume_24h counts sales from this time on.
    """
    others = {"since": since, "looked_through": LOOKED_THROUGH, "limit": limit}
    return _list_found(db, _SHOWN, sort, words, after, others)


def list_found_nfts(db: Connection, words: Words, serial_no: int, limit: int) -> list[NftRow]:
    """List the NFTs with a serial number in the first collections of list_found_collections()."""
    others = {"serial_no": serial_no, "limit": limit}
    return _list_found(db, _NFTS, BY_VOLUME, words, None, others)


def _list_found(
    db: Connection, sql: str, sort: str, words: Words, after: After, others: Mapping[str, object]
) -> list[Any]:
    """Run a statement with the page of keys and tokens in place of ``{page}``."""
    if 0 in words.values():
        return []
    key, token = after or ("" if sort == "name" else -(2**63), "")
    parameters: dict[str, object] = {"key": key, "token": token, **others}
    rarest = min(words, key=words.__getitem__, default="")
    has_words = ""
    for n, word in enumerate(words):
        parameters |= {f"word_{n}": word, f"end_{n}": word + LAST}
        has_words += _HAS_WORD[word == rarest and words[word] < RARE].format(n=n)
    page = (_BY_SALES if sort == BY_SALES else _BY_KEY).format(
        key=KEYS.get(sort),
        has_words=has_words,
        sold_has_words=has_words.replace("collection.token", "sold.token"),
    )
    return db.execute(sql.replace("{page}", page), parameters).fetchall()


def count_words(db: Connection, words: Sequence[str]) -> Words:
    sql = """
        SELECT COUNT(*) AS n FROM (
            SELECT 1 FROM collection_word WHERE word >= :word AND word < :end
            LIMIT :limit + 0
        ) AS found
    """
    return {
        word: count(db, sql, {"word": word, "end": word + LAST, "limit": RARE}) for word in words
    }


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
