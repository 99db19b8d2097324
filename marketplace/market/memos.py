"""The memos of our transactions. The signer reads them; a listing's memo holds its price on the ledger."""

import re

from marketplace.hedera.ids import ENTITY_ID, MAX_HBAR, MAX_INT64, is_entity_id

MEMO_BYTES = 100  # HAPI TransactionBody.memo
NAMED = rf"(?:Listing|Delisting) NFT with ({ENTITY_ID}) and Serial Number ([1-9][0-9]{{0,18}})\b".encode()


def listing_memo(token: str, serial_no: int, listing_price: int, name: str) -> str:
    """Write the memo of a listing: at most 100 bytes, the price always whole.

    Price trackers read ``for (\\d+) HBAR``, so a memo that is too long loses the end of the marketplace's
    name. With ids longer than any on the network it loses the token: the transaction names that anyway.
    """
    return _write("Listing", token, serial_no, f" for {listing_price} HBAR", name)


def withdrawal_memo(token: str, serial_no: int, name: str) -> str:
    """Write the memo of a withdrawal, shortened like the memo of a listing."""
    return _write("Delisting", token, serial_no, "", name)


def purchase_memo(token: str, serial_no: int, price: int, name: str) -> str:
    """Write the memo of a purchase, shortened like the memo of a listing."""
    return _write("Buying", token, serial_no, f" for {price} HBAR", name)


def _write(doing: str, token: str, serial_no: int, price: str, name: str) -> str:
    memo = f"{doing} NFT with {token} and Serial Number {serial_no}{price}"
    if len(memo) > MEMO_BYTES:
        return f"{doing} NFT with Serial Number {serial_no}{price}"
    named = f"{memo} on {name}".encode()[:MEMO_BYTES].decode(errors="ignore")
    return named if len(named) > len(f"{memo} on ") else memo


def read_listing_memo(memo: bytes, token: str, serial_no: int) -> int | None:
    """Read the price in HBAR from a listing's memo; None if it is not a listing of this NFT.

    The memo must be as listing_memo() writes it, with the name of any marketplace or none.
    """
    price = _read_price(memo)
    is_ours = price and _is_ours(memo, listing_memo(token, serial_no, price, name=""))
    return price if is_ours else None


def read_purchase_memo(memo: bytes, token: str, serial_no: int) -> int | None:
    """Read the price in HBAR from a purchase's memo; None if it is not a purchase of this NFT."""
    price = _read_price(memo)
    is_ours = price and _is_ours(memo, purchase_memo(token, serial_no, price, name=""))
    return price if is_ours else None


def _read_price(memo: bytes) -> int | None:
    match = re.search(rb" for ([1-9][0-9]{0,10}) HBAR", memo)
    return int(match[1]) if match and int(match[1]) <= MAX_HBAR else None


def is_withdrawal_memo(memo: bytes, token: str, serial_no: int) -> bool:
    """Tell whether a memo is as withdrawal_memo() writes it for this NFT, with any name or none."""
    return _is_ours(memo, withdrawal_memo(token, serial_no, name=""))


def read_named_nft(memo: bytes) -> tuple[str, int] | None:
    """Read the NFT that a memo of a listing or withdrawal names, for any price and marketplace."""
    match = re.match(NAMED, memo)
    if not match or not is_entity_id(token := match[1].decode()) or int(match[2]) > MAX_INT64:
        return None
    return token, int(match[2])


def _is_ours(memo: bytes, unnamed: str) -> bool:
    return memo == unnamed.encode() or memo.startswith(f"{unnamed} on ".encode())
