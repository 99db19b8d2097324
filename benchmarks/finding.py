"""Collections, searches, traits, NFTs by id: what is asked for, and what is stored before."""

import random

from benchmarks import records
from marketplace.market.search_words import find_words

COLLECTIONS = 10_000  # most of them without an NFT
FIRST = records.FIRST_TOKEN
TOKEN = f"0.0.{FIRST}"  # of COLLECTION NFTs, all for sale
SYLLABLES = ("ti", "mo", "ra", "pu", "lan", "ke", "cro", "so", "ben", "dri")
TRAITS = """
    INSERT INTO nft_trait (token, serial_no, type, value)
    SELECT token, serial_no, each.value ->> 'trait_type', each.value ->> 'value'
    FROM nft, json_each(attributes) AS each WHERE token = ?
"""
IDS = "&".join(f"id={TOKEN}:{serial_no}" for serial_no in range(1, 101))
# By the name of the row.
PATHS = {
    "collections, by what was sold in 24 hours": "/v1/collections",
    "search for a common word": "/v1/search?q=t",
    "search for two common words and a number": "/v1/search?q=t+m+7",
    "search for what is nowhere": "/v1/search?q=nowhere",
    "traits of a collection of 10,000": f"/v1/collection/{TOKEN}/traits",
    "traits and rank of an NFT": f"/v1/nft/{TOKEN}/7/traits",
    "order book, by price, with a trait": f"/v1/orderbook?tokenId={TOKEN}&trait=Sky:Dusk&sort=price",
    "100 NFTs by id": f"/v1/nfts?{IDS}",
    "an account's NFTs": f"/v1/user/{records.owner(0)}/nfts",
}


def fill(db) -> None:
    """Write the collections with their words, and the traits of one."""
    dice = random.Random(25)
    for number in range(COLLECTIONS):
        words = ["".join(dice.choices(SYLLABLES, k=dice.randrange(1, 4))) for _ in range(3)]
        token, name = f"0.0.{FIRST + number}", " ".join(words)
        db.execute(
            "INSERT INTO collection (token, name, sort_name, volume, retry_at) VALUES (?, ?, ?, ?, '9999')",
            (token, name, name, dice.randrange(10**6)),
        )
        found = [(word, token) for word in find_words(token, name)]
        db.executemany("INSERT INTO collection_word (word, token) VALUES (?, ?)", found)
    db.execute(TRAITS, (TOKEN,))
