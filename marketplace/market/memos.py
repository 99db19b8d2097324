"""The memos of our transactions. The signer reads them; a listing's memo holds its price on the ledger."""

import re

from marketplace.hedera.ids import ENTITY_ID, MAX_HBAR, MAX_INT64, is_entity_id

MEMO_BYTES = 100  # HAPI TransactionBody.memo
BULK_LISTING = rf"Listing NFTs of {ENTITY_ID} for [1-9][0-9]{{0,10}} HBAR each\b".encode()
OFFER = rf"Offer of [1-9][0-9]{{0,10}} HBAR for (?:{ENTITY_ID} and )?Serial Number [1-9]".encode()
NAMED = rf"(?:Listing|Delisting) NFT with ({ENTITY_ID}) and Serial Number ([1-9][0-9]{{0,18}})\b".encode()


def listing_memo(token: str, serial_no: int, listing_price: int, name: str) -> str:
    """Write the memo of a listing: at most 100 bytes, the price always whole.

    Price trackers read ``for (\\d+) HBAR``, so a memo that is too long loses the end of the marketplace's
    name. If the ids are longer than any on the network, it loses the token, which the transaction names, too.
    """
    return _write("Listing", token, serial_no, f" for {listing_price} HBAR", name)


def bulk_listing_memo(token: str, listing_price: int, name: str) -> str:
    """Write the memo of a listing of several NFTs of a token, shortened like the memo of one.

    It does not name their serial numbers: each NFT that the transaction approves is listed.
    """
    return _write_bulk("Listing", token, f" for {listing_price} HBAR each", name)


def withdrawal_memo(token: str, serial_no: int, name: str) -> str:
    """Write the memo of a withdrawal, shortened like the memo of a listing."""
    return _write("Delisting", token, serial_no, "", name)


def bulk_withdrawal_memo(token: str, name: str) -> str:
    """Write the memo of a withdrawal of several listings of a token, shortened like the memo of one."""
    return _write_bulk("Delisting", token, "", name)


def purchase_memo(token: str, serial_no: int, price: int, name: str) -> str:
    """Write the memo of a purchase, shortened like the memo of a listing."""
    return _write("Buying", token, serial_no, f" for {price} HBAR", name)


def basket_memo(nfts: int, price: int, name: str) -> str:
    """Write the memo of a purchase of several NFTs: how many, and the sum of their prices."""
    memo = f"Buying {nfts} NFTs for {price} HBAR"
    return _shorten(memo, memo, name)


def offer_memo(token: str, serial_no: int, price: int, name: str) -> str:
    """Write the memo of an offer, shortened like the memo of a listing."""
    offered = f"Offer of {price} HBAR for"
    whole = f"{offered} {token} and Serial Number {serial_no}"
    return _shorten(whole, f"{offered} Serial Number {serial_no}", name)


def acceptance_memo(token: str, serial_no: int, price: int, name: str) -> str:
    """Write the memo of the owner's signature, shortened like the memo of a listing."""
    return _write("Selling", token, serial_no, f" for {price} HBAR", name)


def offer_withdrawal_memo(doing: str, token: str, serial_no: int, price: int, name: str) -> str:
    """Write the memo of an offer's end, shortened like that of a listing. ``doing``: such as Withdrawing."""
    return _write(f"{doing} offer for", token, serial_no, f" of {price} HBAR", name)


def _write(doing: str, token: str, serial_no: int, price: str, name: str) -> str:
    memo = f"{doing} NFT with {token} and Serial Number {serial_no}{price}"
    return _shorten(memo, f"{doing} NFT with Serial Number {serial_no}{price}", name)


def _write_bulk(doing: str, token: str, price: str, name: str) -> str:
    return _shorten(f"{doing} NFTs of {token}{price}", f"{doing} NFTs{price}", name)


def _shorten(memo: str, without_token: str, name: str) -> str:
    """Add as much of the marketplace's name as there is room for."""
    if len(memo) > MEMO_BYTES:
        return without_token
    named = f"{memo} on {name}".encode()[:MEMO_BYTES].decode(errors="ignore")
    return named if len(named) > len(f"{memo} on ") else memo


def read_listing_memo(memo: bytes, token: str, serial_no: int) -> int | None:
    """Read the price in HBAR from a listing's memo; None if it does not list this NFT.

    Accepts only the forms that listing_memo() and bulk_listing_memo() write, with any marketplace's name or
    none.
    """
    price = _read_price(memo)
    if price is None:
        return None
    forms = (listing_memo(token, serial_no, price, ""), bulk_listing_memo(token, price, ""))
    return price if any(_is_ours(memo, form) for form in forms) else None


def read_purchase_memo(memo: bytes, token: str, serial_no: int) -> int | None:
    """Read the price in HBAR from a purchase's memo; None if it is not a purchase of this NFT."""
    price = _read_price(memo)
    is_ours = price and _is_ours(memo, purchase_memo(token, serial_no, price, name=""))
    return price if is_ours else None


def read_basket_memo(memo: bytes, nfts: int) -> int | None:
    """Read the sum of the prices from the memo of a purchase of N NFTs; None if it is another memo."""
    price = _read_price(memo)
    is_ours = price and _is_ours(memo, basket_memo(nfts, price, name=""))
    return price if is_ours else None


def read_offer_memo(memo: bytes, token: str, serial_no: int) -> int | None:
    """Read the price in HBAR from an offer's memo; None if it is not an offer for this NFT."""
    match = re.match(rb"Offer of ([1-9][0-9]{0,10}) HBAR ", memo)
    price = int(match[1]) if match and int(match[1]) <= MAX_HBAR else None
    is_ours = price and _is_ours(memo, offer_memo(token, serial_no, price, name=""))
    return price if is_ours else None


def is_offer_memo(memo: bytes) -> bool:
    """Tell whether a memo may be an offer's, for any NFT, price and marketplace."""
    return re.match(OFFER, memo) is not None


def _read_price(memo: bytes) -> int | None:
    match = re.search(rb" for ([1-9][0-9]{0,10}) HBAR", memo)
    return int(match[1]) if match and int(match[1]) <= MAX_HBAR else None


def is_withdrawal_memo(memo: bytes, token: str, serial_no: int) -> bool:
    """Tell whether a memo withdraws this NFT, or several of its token, for any marketplace."""
    forms = (withdrawal_memo(token, serial_no, ""), bulk_withdrawal_memo(token, ""))
    return any(_is_ours(memo, form) for form in forms)


def is_bulk_listing_memo(memo: bytes) -> bool:
    """Tell whether a memo lists several NFTs of any token, for any price and marketplace."""
    return re.match(BULK_LISTING, memo) is not None


def read_named_nft(memo: bytes) -> tuple[str, int] | None:
    """Read the NFT that a memo of a listing or withdrawal names, for any price and marketplace."""
    match = re.match(NAMED, memo)
    if not match or not is_entity_id(token := match[1].decode()) or int(match[2]) > MAX_INT64:
        return None
    return token, int(match[2])


def _is_ours(memo: bytes, unnamed: str) -> bool:
    return memo == unnamed.encode() or memo.startswith(f"{unnamed} on ".encode())
