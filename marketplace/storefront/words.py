"""Amounts, dates and messages in people's words: the filters of the templates."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from flask import Flask, request, url_for
from markupsafe import Markup

from marketplace.hedera.hbar import TINYBARS
from marketplace.storefront.calls import ApiAnswer

_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60))
_NAMES = {
    "accountId": "the account",
    "maxPrice": "the highest price",
    "minPrice": "the lowest price",
    "serialNo": "the serial number",
    "tokenId": "the token",
}
_NAMED = re.compile(rf"\b({'|'.join(_NAMES)})\b")


def hbar(amount: int) -> str:
    """1000 as "1,000 HBAR"."""
    return f"{amount:,} HBAR"


def tinybars(amount: int) -> str:
    """150000000 tinybars as "1.5 HBAR"."""
    return f"{Decimal(amount) / TINYBARS:,f} HBAR"


def dollars(amount: int, rate: dict[str, Any] | None) -> str:
    """ "about $12.30", or "" while the exchange rate is not known."""
    return (rate and f"about ${amount * rate['cents'] / rate['hbar'] / 100:,.2f}") or ""


def plural(number: int, noun: str) -> str:
    """2 and "sale" as "2 sales"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def join_words(names: list[str]) -> str:
    """["a", "b", "c"] as "a, b, and c"."""
    *first, last = names or [""]
    return f"{', '.join(first)}{',' if len(first) > 1 else ''} and {last}" if first else last


KINDS = {"video": "Video", "audio": "Sound", "model": "3D model"}


def lack_of_picture(nft: dict[str, Any]) -> str:
    """What stands in place of a picture: what the file is, or that no picture has been read yet."""
    if not (nft.get("imageUrl") or "").endswith("/placeholder.webp"):
        return ""
    kind = KINDS.get(nft["fileType"].partition("/")[0])
    return kind or ("No picture" if nft["originalImageUrl"] else "The picture is on its way")


def split_number(name: str) -> tuple[str, str]:
    """ "Peaks #7" as "Peaks" and " #7"; a name without a serial number as itself and ""."""
    found = re.fullmatch(r"(.+?)(\s*#[0-9]+)", name, re.DOTALL)
    return (found[1], found[2]) if found else (name, "")


def percent(share: float) -> str:
    return f"{100 * share:.1f}".removesuffix(".0") + "%"


def change(now: int, before: int) -> str:
    """How a price has changed: "+12.5%"."""
    sign = "+" if now > before else "\N{MINUS SIGN}"
    return f"{sign}{percent(abs(now - before) / before)}"


def royalty_share(royalties: list[dict[str, Any]]) -> str:
    """The parts of a price that royalties take, together: "7.5%"."""
    parts = (Fraction(int(one["numerator"]), int(one["denominator"])) for one in royalties)
    return percent(float(sum(parts)))


def time(iso: str) -> Markup:
    """A <time> in words: "3 days ago", "in 7 days". The page's script keeps it up to date."""
    at = datetime.fromisoformat(iso)
    title = f"{at.astimezone(UTC):%d %B %Y, %H:%M:%S} UTC"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(iso, title, _ago(at))


def _ago(at: datetime) -> str:
    seconds = (datetime.now(UTC) - at).total_seconds()
    for unit, size in _UNITS:
        if abs(seconds) >= size:
            number = round(abs(seconds) / size)
            is_past, said = seconds > 0, plural(number, unit)
            if (unit, number) == ("day", 1):
                return "yesterday" if is_past else "tomorrow"
            return f"{said} ago" if is_past else f"in {said}"
    return "just now"


def in_words(message: str) -> str:
    """What the API says, without its names: "The lowest price must be above 0"."""
    plain = re.sub(
        r"^\w+ must not be above maxPrice.*", "the lowest price is above the highest", message
    )
    plain = _NAMED.sub(lambda name: _NAMES[name[0]], plain)
    plain = re.sub(
        r'(?<![\d.,"#])\d{5,}(?![\d.,]*\d|")', lambda number: f"{int(number[0]):,}", plain
    )
    plain = re.sub(r"[;:,.]? *\b(POST|GET) /\S+[^;]*", "", plain)
    return plain[:1].upper() + plain[1:]


def errors(answer: ApiAnswer) -> dict[str, list[str]]:
    """What the API says of each field: "It must be above 0"."""
    places = answer.data.get("errors", {}) if not answer.is_ok else {}
    found = {name: said for place in places.values() for name, said in place.items()}
    names = {"tokenId": "collection", "accountId": "account"}
    return {
        names.get(name, name): [in_words(f"it {sentence}") for sentence in said]
        for name, said in found.items()
    }


def traits(text: str | None) -> list[dict[str, Any]]:
    """The attributes of a record as a list, which is empty if they cannot be read."""
    try:
        found = json.loads(text or "[]")
    except ValueError:
        return []
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def trait_term(trait: dict[str, Any]) -> str:
    """A trait as the API takes it: "Palette:Ember"."""
    return f"{trait['trait_type']}:{trait['value']}"


def small(image_url: str) -> str:
    """The address of the same image in 320 pixels, if there is one."""
    return re.sub(r"-640\.webp\Z", "-320.webp", image_url)


def sources(nft: dict[str, Any]) -> str:
    """The sizes of an NFT's or a collection's image, as a srcset; empty if there is one or none."""
    url, original = nft["imageUrl"], nft.get("originalImageUrl") or ""
    if url is None:  # of a collection none of whose NFTs has an image
        return ""
    sizes = [f"{url} 640w"]
    if small(url) != url:
        sizes.insert(0, f"{small(url)} 320w")
    # The sandbox's own are 1,280 pixels wide; an image of another host is never loaded.
    if original.startswith(request.host_url):
        sizes.append(f"{original} 1280w")
    return ", ".join(sizes) if len(sizes) > 1 else ""


def trait_words(trait: dict[str, Any]) -> str:
    return f"{trait.get('trait_type')} {trait.get('value')}"


def mirror_id(transaction_id: str) -> str:
    """0.0.2007@1763640000.000000001 is 0.0.2007-1763640000-000000001 to mirror nodes."""
    account, _, start = transaction_id.partition("@")
    return f"{account}-{start.replace('.', '-')}"


def is_web_address(text: str) -> bool:
    """Whether a stranger's address may be a link."""
    return text.startswith(("http://", "https://"))


def listed_count(book: ApiAnswer, total: int | None) -> str:
    """How many are for sale, as far as it is known: "61 for sale"."""
    if not book.is_ok:
        return ""
    if total is not None and total >= len(book.data):
        return f"{total:,} for sale"
    return f"More than {len(book.data)} for sale" if book.page else f"{len(book.data)} for sale"


def chips(wanted: dict[str, Any], names: dict[str, str]) -> list[tuple[str, str]]:
    """What is chosen, in words, each with the address of the page without it."""

    def here(**others: Any) -> str:
        values = dict(request.view_args or {}, **(wanted | others))
        return url_for(request.endpoint or "", **values)

    said = []
    for term in wanted.get("trait", ()):
        others = [other for other in wanted["trait"] if other != term]
        said.append((term.replace(":", ": ", 1), here(trait=others or None)))
    if token := wanted.get("collection"):
        said.append((names.get(token) or token, here(collection=None)))
    if wanted.get("show") == "listed":
        said.append(("For sale", here(show=None)))
    for name, word in (("minPrice", "from"), ("maxPrice", "up to")):
        if price := wanted.get(name):
            shown = hbar(int(price)) if price.isascii() and price.isdigit() else price
            said.append((f"{word} {shown}", here(**{name: None})))
    return said


def basket_without(nft: dict[str, Any]) -> str:
    """The address of the basket without this NFT."""
    given = [text.strip() for text in request.args.getlist("nft")]
    left_out = f"{nft['token']}:{nft['serialNo']}"
    others = [text for text in given if ":".join(text.split(":")[:2]) != left_out]
    return url_for("storefront.show_basket", nft=others or None)


# The choices of each page's order.
ORDERS = {
    "sorts": [("", "Newest"), ("price", "Cheapest"), ("-price", "Most expensive")],
    "account_sorts": [
        ("", "By collection"),
        ("lastListedDate", "Newest listings"),
        ("price", "Cheapest"),
        ("-price", "Most expensive"),
    ],
    "collection_sorts": [
        ("", "Volume, 24 hours"),
        ("volume7d", "Volume, 7 days"),
        ("-volume", "Volume, all time"),
        ("floorPrice", "Highest floor"),
        ("owners", "Most owners"),
        ("listed", "Most for sale"),
        ("name", "Name"),
        ("newest", "Newest"),
    ],
    "kinds": [
        ("", "All"),
        ("sales", "Sales"),
        ("listings", "Listings"),
        ("offers", "Offers"),
        ("moves", "Moves"),
    ],
}
FILTERS: list[Callable[..., Any]] = [
    hbar, tinybars, dollars, plural, join_words, percent, change, royalty_share, time, in_words,
    errors, traits, trait_term, trait_words, mirror_id, small,
    sources, lack_of_picture, split_number,
]  # fmt: skip


def init_app(app: Flask) -> None:
    for each in FILTERS:
        app.add_template_filter(each)
    app.add_template_test(is_web_address, "web_address")
