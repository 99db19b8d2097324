"""Makes all records that are measured, one for each number, the same in every run."""

import hashlib
import itertools
import json
import math
import random
from collections.abc import Iterator

from marketplace.hedera import times

COLLECTION = 10_000  # NFTs of one token
FIRST_TOKEN = 700_000
FIRST_OWNER = 2_000_000
OWNERS = 25_000
OWNER_STEP = 7_919  # neighbours belong to different owners
HOT = 1_000
BEGIN, END = 1_704_067_200 * times.SECOND, 1_735_689_600 * times.SECOND  # of the year 2024
COLUMNS = (
    "token, serial_no, name, file_type, attributes, image, original_image_url, owner, is_for_sale,"
    " is_listed, listing_price, last_listed_at, ledger_at, metadata, attempts"
)
TRAITS = {
    "Sky": ("Dusk", "Dawn", "Deep Sea", "Paper", "Terracotta", "Night"),
    "Body": ("Oak", "Steel", "Porcelain", "Glass", "Obsidian"),
    "Mood": ("Calm", "Curious", "Restless", "Radiant"),
    "Edition": ("Genesis", "Second", "Open"),
}
NAMES = ("Tides", "Hash Crowd", "Quiet Machines", "Lanterns", "Dead Pixels")


def key(number: int) -> tuple[str, int]:
    """Token and serial number."""
    return f"0.0.{FIRST_TOKEN + number // COLLECTION}", number % COLLECTION + 1


def owner(number: int) -> str:
    return f"0.0.{FIRST_OWNER + number * OWNER_STEP % OWNERS}"


def nft_path(number: int) -> str:
    return "/v1/nft/{}/{}".format(*key(number))


def listing(number: int) -> str:
    """The body of POST /v1/list/extwallet."""
    token, serial_no = key(number)
    body = {"tokenId": token, "serialNo": serial_no, "listingPrice": 250}
    return json.dumps(body | {"accountId": owner(number)})


def everywhere(nfts: int, start: int = 0) -> Iterator[int]:
    """The numbers of all NFTs, neighbours far apart, each once before any comes again."""
    step = int(nfts * 0.618)
    while math.gcd(step, nfts) > 1:
        step += 1
    return ((start + turn * step) % nfts for turn in itertools.count())


def hot(nfts: int) -> range:
    """A few NFTs from all over the table."""
    return range(0, nfts, nfts // HOT)


def listed_of(nfts: int) -> int:
    """Three NFTs of ten are listed."""
    return nfts * 3 // 10


def is_listed(number: int, nfts: int) -> bool:
    """Whether an NFT is listed: all of the first collection are, and the rest evenly spread.

    If fewer than a collection are listed, all of them are evenly spread. ``listed_of(nfts)`` are listed.
    """
    listed = listed_of(nfts)
    whole = COLLECTION if listed > COLLECTION else 0
    if number < whole:
        return True
    number, nfts, listed = number - whole, nfts - whole, listed - whole
    return number * listed // nfts != (number + 1) * listed // nfts


def listed_numbers(nfts: int) -> list[int]:
    return [number for number in range(nfts) if is_listed(number, nfts)]


def make(nfts: int) -> Iterator[tuple]:
    """All records, in the order of COLUMNS."""
    dice = random.Random(nfts)
    attributes = [json.dumps(list(_traits(dice)), separators=(",", ":")) for _ in range(5_000)]
    for number in range(nfts):
        token, serial_no = key(number)
        title = NAMES[number // COLLECTION % len(NAMES)]
        digest = hashlib.sha256(number.to_bytes(8)).hexdigest()
        folder = f"bafybeig{hashlib.sha256(token.encode()).hexdigest()[:51]}"
        for_sale = is_listed(number, nfts)
        listed_at = (
            times.to_iso(dice.randrange(BEGIN, END)) if for_sale and dice.random() > 0.002 else None
        )
        yield (
            token,
            serial_no,
            f"{title} #{serial_no}",
            "image/png",
            attributes[dice.randrange(len(attributes))],
            f"{digest}.webp",
            f"https://ipfs.io/ipfs/{folder}/{serial_no}.png",
            owner(number),
            int(for_sale),
            int(for_sale),
            dice.randrange(1, 50_000) if for_sale else 0,
            listed_at,
            listed_at or times.to_iso(BEGIN),
            f"ipfs://{folder}/{serial_no}.json",
            1,
        )


def _traits(dice: random.Random) -> Iterator[dict]:
    for trait, values in dice.sample(sorted(TRAITS.items()), 3):
        yield {"trait_type": trait, "value": dice.choice(values)}
