"""The sandbox's collections: a sample of four, and one more for each other token id."""

import base64
import hashlib
import json
from functools import lru_cache
from typing import NamedTuple

from marketplace.hedera.hbar import TINYBARS
from marketplace.hedera.ids import is_entity_id

CREATOR = "The sandbox"
TREASURY = "0.0.1000"  # holds every NFT that nobody has asked for yet
# CIDv1, raw bytes, identity multihash: https://github.com/multiformats/cid
CID_HEADER = bytes((0x01, 0x55, 0x00))


class Royalty(NamedTuple):
    """A custom fee of a collection: a fraction of the price of its NFTs, or a fallback in tinybars."""

    collector: str
    numerator: int
    denominator: int
    fallback: int | None = None


class Collection(NamedTuple):
    token: str
    name: str
    symbol: str
    form: str  # of its artwork
    story: str
    royalties: tuple[Royalty, ...] = ()


TIDES = (Royalty("0.0.2001", 5, 100),)
ORBITS = (Royalty("0.0.2002", 5, 100, 10 * TINYBARS), Royalty("0.0.2003", 1, 40))
SAMPLE = (
    Collection("0.0.5001", "Tides", "TIDE", "Current", "Water that never stands still.", TIDES),
    Collection("0.0.5002", "Orbits", "ORBIT", "Lagoon", "Small systems, far from here.", ORBITS),
    Collection("0.0.5003", "Dunes", "DUNE", "Swell", "Sand that the wind has moved."),
    Collection("0.0.5004", "Peaks", "PEAK", "Swell", "Mornings in the mountains."),
)
BANNER = 1000  # the serial number of an NFT that the sample does not have
PLAIN_NFT = ("0.0.5003", 9)  # the sample's one NFT without attributes


def collection_of(token: str) -> Collection:
    """The collection of any token id."""
    for collection in SAMPLE:
        if collection.token == token:
            return collection
    forms = [collection.form for collection in SAMPLE]
    form = forms[hashlib.sha256(token.encode()).digest()[0] % len(forms)]
    return Collection(token, f"Sandbox {token}", "SAND", form, "Minted for whoever asks first.")


def cid_of(token: str) -> str:
    """The content id of a collection's folder. It encodes the token id, so that nothing is stored."""
    content = token.encode()
    cid = base64.b32encode(CID_HEADER + bytes((len(content),)) + content).decode()
    return f"b{cid.rstrip('=').lower()}"


def token_of(cid: str) -> str | None:
    """The token id in a content id, or None if the sandbox has no such folder."""
    padded = cid[1:].upper() + "=" * (-len(cid[1:]) % 8)
    try:
        token = base64.b32decode(padded)[len(CID_HEADER) + 1 :].decode()
    except ValueError:
        return None
    return token if is_entity_id(token) and cid_of(token) == cid else None


def pointer(token: str, serial_no: int) -> str:
    """The metadata pointer that the NFT was minted with."""
    return f"ipfs://{cid_of(token)}/{serial_no}.json"


def collection_pointer(token: str) -> str | None:
    """The metadata pointer that a collection of the sample was created with; others have none."""
    is_sample = any(collection.token == token for collection in SAMPLE)
    return f"ipfs://{cid_of(token)}/collection.json" if is_sample else None


def collection_metadata(token: str) -> str:
    """The HIP-766 document of a collection, as JSON. Its pictures are those of two of its NFTs."""
    collection = collection_of(token)
    folder = f"ipfs://{cid_of(token)}"
    document = {
        "name": collection.name,
        "creator": CREATOR,
        "description": collection.story,
        "website": f"https://example.com/{collection.name.lower()}",
        "banner": f"{folder}/{BANNER}.png",
        "logo": f"{folder}/1.png",
    }
    return json.dumps(document)


def metadata(token: str, serial_no: int) -> str:
    """The HIP-412 document of an NFT, as JSON."""
    from marketplace.sandbox import artwork  # imports Pillow, which other processes do without

    collection = collection_of(token)
    document: dict[str, object] = {
        "creator": CREATOR,
        "description": collection.story,
        "image": f"ipfs://{cid_of(token)}/{serial_no}.png",
        "type": "image/png",
        "format": "HIP412@2.0.0",
    }
    if collection in SAMPLE:  # others may be minted by anybody, with names of their own
        document = {"name": f"{collection.name} #{serial_no}"} | document
    if (token, serial_no) != PLAIN_NFT:
        document["attributes"] = [
            {"trait_type": trait_type, "value": value}
            for trait_type, value in artwork.traits(collection.form, f"{token}/{serial_no}")
        ]
    return json.dumps(document)


@lru_cache(16)  # drawing takes long
def image(token: str, serial_no: int) -> bytes:
    """The artwork of an NFT, as PNG."""
    from marketplace.sandbox import artwork

    return artwork.draw(collection_of(token).form, f"{token}/{serial_no}")
