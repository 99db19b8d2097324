"""The feed of events, of all NFTs or of one; and what webhooks get."""

from typing import Any

from marshmallow import ValidationError, validates_schema

from marketplace.api import paging
from marketplace.api.authentication import require_scope
from marketplace.api.fields import (
    CamelCaseSchema,
    Choice,
    Choices,
    ConsensusTimestamp,
    Digits,
    EventsCursor,
    Moment,
)
from marketplace.api.http import Blueprint
from marketplace.api.nfts import find_nft
from marketplace.api.paging import Headers
from marketplace.api.schemas import (
    NftPathSchema,
    RequestSchema,
    account_or_null,
    hbar_or_null,
    limit_field,
    moment,
    nested,
    selecting_field,
    serial_number,
    show,
    text,
    token_id,
    word,
)
from marketplace.errors import CursorGone, Hidden, NftNotStored
from marketplace.events import Cursor, EventKind
from marketplace.market.requests import require_not_hidden
from marketplace.services import read
from marketplace.store.events import EventFilter, EventRow, read_page

OLDEST_FIRST, NEWEST_FIRST = "asc", "desc"


class NftEventsQuerySchema(RequestSchema):
    after = EventsCursor(
        "Only events after this cursor: an event's id, or a list's X-Events-Cursor. Without it, the newest"
        " events",
        load_default=None,
    )
    limit = limit_field("events", 100, 1000)
    order = Choice(
        "asc: the events after the cursor, oldest first; desc: the events before it, newest first",
        (OLDEST_FIRST, NEWEST_FIRST),
        load_default=OLDEST_FIRST,
    )


class EventsQuerySchema(NftEventsQuerySchema):
    """Its own fields are those of store/events.EventFilter."""

    kinds = Choices(
        Choice("What happened", [*EventKind]),
        "Only events of this kind. Can be repeated",
        data_key="kind",
        load_default=(),
    )
    token = selecting_field("Only events of this token's NFTs", "0.0.5001", "tokenId")
    serial_no = Digits(
        "Only events of this serial number. Works only with tokenId", 7, load_default=None
    )
    account_id = selecting_field("Only events with this account in from or to", "0.0.1001")
    since = Moment(
        "Only events of this date or later. Without a cursor, the page begins with the oldest one",
        "2026-11-20",
        data_key="from",
        load_default=None,
    )
    until = Moment(
        "Only events before this date",
        "2036-11-20T12:34:56Z",
        data_key="to",
        load_default=None,
    )

    @validates_schema
    def require_agreement(self, query: dict[str, Any], **kwargs: Any) -> None:
        """Raise ValidationError for a serial number without a token, or an empty period."""
        if query["serial_no"] is not None and query["token"] is None:
            raise ValidationError("works only with tokenId", "serialNo")
        if query["since"] and query["until"] and query["since"] >= query["until"]:
            raise ValidationError("must be later than from", "to")


class EventSchema(CamelCaseSchema):
    """An event of an NFT. A field that does not apply is null."""

    cursor = text("The event's cursor: after=<id> continues from here", "3f2a9c1e-42", key="id")
    kind = word(
        "What happened. SOLD is a sale through this marketplace, TRANSFERRED any other change of owner."
        " A listing ends with WITHDRAWN, SOLD, TRANSFERRED, BURNED or HIDDEN. When the operator shows a"
        " hidden NFT again, SHOWN has the owner, and the price if the NFT is for sale. An offer opens with"
        " OFFERED, and ends with SOLD, OFFER_WITHDRAWN, OFFER_EXPIRED or OFFER_FAILED. OFFER_NOT_EXECUTED:"
        " the owner accepted the offer, but nothing was sold. While another account owns the NFT, the offer"
        " is not open",
        "SOLD",
        [*EventKind],
    )
    token = token_id()
    serial_no = serial_number()
    from_account = account_or_null(
        "The previous owner; for a listing, the seller; for an offer, the owner", "from"
    )
    to_account = account_or_null("The new owner; for an offer, the bidder", "to")
    price = hbar_or_null(
        "In HBAR: what the buyer paid, or the listing's price, or the offered price", 60
    )
    previous_price = hbar_or_null(
        "In HBAR: the price of the listing that the event ends or replaces", 60
    )
    received = text(
        "For a sale: what the seller received, in tinybars, after the marketplace's part and the collection's"
        " fees. For several NFTs of one transaction, it is divided by their prices. null if it is not known",
        "5700000000",
        key="sellerReceived",
        nullable=True,
    )
    transaction_id = text(
        "The transaction that caused the event; null if not known",
        "0.0.1001@1763640000.123456789",
        nullable=True,
    )
    consensus_at = show(
        ConsensusTimestamp,
        "The ledger's time of the event; null if the ledger has none, or it is not known",
        "1763640000.123456789",
        key="consensusTimestamp",
        nullable=True,
    )
    offer_id = text(
        "The offer that the event is about, or by which the NFT was sold",
        "0.0.8001",
        nullable=True,
    )
    date = moment(
        "The ledger's time of the event in UTC; if not known, the time at which the service saw the event",
        "2026-11-20T12:00:00.123Z",
    )


class WebhookMessageSchema(CamelCaseSchema):
    """The body of a message to a webhook."""

    type = text("nft. and the event's kind in lower case", "nft.sold")
    timestamp = text("The event's date", "2026-11-20T12:00:00.123Z", format="date-time")
    data = nested(EventSchema, "The event")


EventsPage = tuple[list[EventRow], Headers]

blp = Blueprint("Events", __name__, description="Events of NFTs, in the order of their ids")


@blp.get("/events")
@require_scope("read")
@blp.arguments(EventsQuerySchema, location="query")
@blp.response(
    200, EventSchema(many=True), description="A page of events", headers=paging.FEED_LINK_HEADER
)
@blp.refuses(CursorGone)
def list_events(after: Cursor | None, limit: int, order: str, **selected: Any) -> EventsPage:
    """List events

    Returns events in the order in which the service saw them, oldest first. Without a cursor or a date, the
    page has the newest events. To follow the feed, follow the Link header: every page has it, even an empty
    one, and it never skips an event. To keep a copy of a list, apply the events after the list's
    X-Events-Cursor. order=desc reads backward; its last page has no Link.
    """
    return _read_page(EventFilter(**selected), after, limit, order)


@blp.get("/nft/<tokenId>/<serialNo>/events")
@require_scope("read")
@blp.arguments(NftPathSchema, location="path")
@blp.arguments(NftEventsQuerySchema, location="query")
@blp.response(
    200, EventSchema(many=True), description="A page of events", headers=paging.FEED_LINK_HEADER
)
@blp.refuses(NftNotStored, Hidden, CursorGone)
def list_nft_events(
    token: str, serial_no: int, after: Cursor | None, limit: int, order: str
) -> EventsPage:
    """List one NFT's events

    Works like GET /v1/events. The consensus timestamps of one NFT increase.
    """
    require_not_hidden(token, serial_no)  # its row may not say so yet
    find_nft(token, serial_no)
    return _read_page(EventFilter(token, serial_no), after, limit, order)


def _read_page(selection: EventFilter, after: Cursor | None, limit: int, order: str) -> EventsPage:
    newest_first = order != OLDEST_FIRST
    events, more = read_page(read(), selection, after, limit, newest_first=newest_first)
    if more is None:
        return events, {}
    return events, paging.link_to_next(after=str(more))
