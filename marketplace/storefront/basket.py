"""The NFTs that an address names, each with the price that was seen of it: nft=0.0.5001:7:60&nft=..."""

import re
from dataclasses import dataclass

from flask import request

from marketplace.hedera.ids import MAX_INT64, is_entity_id

ITEMS = 20  # as the API takes them at most
_ITEM = re.compile(r"(?P<token>[0-9.]{1,60}):(?P<serial_no>[0-9]{1,19})(:(?P<price>[0-9]{1,11}))?")


@dataclass(frozen=True)
class Item:
    token: str
    serial_no: int
    price: int | None


def read_items(at_most: int = ITEMS) -> dict[str, Item]:
    """Each NFT once, by its id: "0.0.5001:7". What can't be read is left out."""
    items = [item for text in request.args.getlist("nft") if (item := _read(text.strip()))]
    by_id = {f"{item.token}:{item.serial_no}": item for item in items}
    return dict([*by_id.items()][:at_most])


def _read(text: str) -> Item | None:
    found = _ITEM.fullmatch(text)
    if not found or not is_entity_id(found["token"]):
        return None
    serial_no = int(found["serial_no"])
    price = int(found["price"]) if found["price"] else None
    return Item(found["token"], serial_no, price) if 0 < serial_no <= MAX_INT64 else None
