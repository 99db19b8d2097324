"""What the NFT of a number looks like: every measured record is made here, the same in every run."""

import hashlib
import json
import random
from collections.abc import Iterator

COLLECTION = 10_000  # NFTs of one token
FIRST_TOKEN = 700_000
FIRST_OWNER = 2_000_000
OWNERS = 25_000
OWNER_STEP = 7_919  # neighbours belong to different owners
COLUMNS = (
    "token, serial_no, name, file_type, attributes, image, original_image_url, owner, is_for_sale,"
    " listing_price, last_listed_at, ledger_at, metadata, attempts"
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


def is_listed(number: int, nfts: int, listed: int) -> bool:
    """Exactly ``listed`` of ``nfts``: all of the first collection, the rest evenly spread.

    In a table of a single collection all are evenly spread.
    """
    whole = COLLECTION if listed > COLLECTION else 0
    if number < whole:
        return True
    number, nfts, listed = number - whole, nfts - whole, listed - whole
    return number * listed // nfts != (number + 1) * listed // nfts


def listed_numbers(nfts: int, listed: int) -> list[int]:
    return [number for number in range(nfts) if is_listed(number, nfts, listed)]


def make(nfts: int, listed: int) -> Iterator[tuple]:
    """All records, in the order of COLUMNS."""
    dice = random.Random(nfts)
    attributes = [json.dumps(list(_traits(dice)), separators=(",", ":")) for _ in range(5_000)]
    for number in range(nfts):
        token, serial_no = key(number)
        title = NAMES[number // COLLECTION % len(NAMES)]
        digest = hashlib.sha256(number.to_bytes(8)).hexdigest()
        folder = f"bafybeig{hashlib.sha256(token.encode()).hexdigest()[:51]}"
        for_sale = is_listed(number, nfts, listed)
        listed_at = _date(dice) if for_sale and dice.random() > 0.002 else None
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
            dice.randrange(1, 50_000) if for_sale else 0,
            listed_at,
            listed_at or "2024-01-01T00:00:00.000000000Z",
            f"ipfs://{folder}/{serial_no}.json",
            1,
        )


def _traits(dice: random.Random) -> Iterator[dict]:
    for trait, values in dice.sample(sorted(TRAITS.items()), 3):
        yield {"trait_type": trait, "value": dice.choice(values)}


def _date(dice: random.Random) -> str:
    month, day = dice.randrange(1, 13), dice.randrange(1, 29)
    clock = f"{dice.randrange(24):02}:{dice.randrange(60):02}:{dice.randrange(60):02}"
    return f"2024-{month:02}-{day:02}T{clock}.{dice.randrange(10**9):09}Z"
