"""Makes a record of an NFT on the ledger: its metadata and image, as far as they can be had."""

from flask import current_app

from marketplace import times
from marketplace.errors import MediaUnreachable
from marketplace.ledger import Deadline, FetchError, resolver
from marketplace.ledger.answers import Nft
from marketplace.ledger.deadline import TimeIsUp
from marketplace.ledger.decoder import LONG_SECONDS, QUICK_SECONDS, ImagesBusy, ImageSlow
from marketplace.ledger.fetch import Unfetchable
from marketplace.ledger.images import MAX_IMAGE_BYTES, ImageUnusable
from marketplace.ledger.metadata import Description, text

METADATA_SECONDS = 6  # for metadata and image together
MEDIA_SECONDS = 1  # at least, for a bucket to take the image
DECODING_SECONDS = 30  # where no client waits: for the turn of an image, and for decoding it
UNKNOWN_FILE_TYPE = "application/octet-stream"
MINUTE = 60 * times.SECOND
DAY = 24 * 60 * MINUTE
MAX_ATTEMPTS = 20


def build(
    on_ledger: Nft,
    *,
    token_name: str | None = None,
    image_seconds: float = QUICK_SECONDS,
    deadline: Deadline | None = None,
) -> dict:
    """Build the record of an NFT that is to be stored, with what can be had before a deadline.

    An image that takes longer to decode is to be completed, at once; with no seconds for it, it is left out.
    """
    deadline = deadline or Deadline(METADATA_SECONDS)
    described = _describe(on_ledger.token, on_ledger.pointer, 0, image_seconds, deadline)
    record = _identify(on_ledger) | described
    return record | {"name": record["name"] or _name_after(token_name, on_ledger)}


def build_bare(on_ledger: Nft, *, token_name: str | None = None) -> dict:
    """Build it without asking any stranger's host: metadata and image are to be completed, at once."""
    return _identify(on_ledger) | {
        "name": _name_after(token_name, on_ledger),
        "file_type": UNKNOWN_FILE_TYPE,
        "attributes": None,
        "image": None,
        "original_image_url": None,
        "missing": "it was not tried for yet",
        "attempts": 0,
        "retry_at": times.to_iso(times.now()),
    }


def _identify(on_ledger: Nft) -> dict:
    return {
        "token": on_ledger.token,
        "serial_no": on_ledger.serial_no,
        "owner": on_ledger.owner,
        "ledger_at": times.just_before(times.to_iso(on_ledger.modified_at)),
        "metadata": text(on_ledger.pointer, limit=10_000),
    }


def _name_after(token_name: str | None, on_ledger: Nft) -> str:
    """What an NFT is called whose metadata does not say."""
    return f"{text(token_name) or on_ledger.token} #{on_ledger.serial_no}"


def complete(nft) -> dict:
    """Try again for what is missing of a stored NFT; what is here already is kept."""
    pointer, deadline = nft["metadata"] or "", Deadline(METADATA_SECONDS)
    described = _describe(nft["token"], pointer, nft["attempts"], LONG_SECONDS, deadline)
    for column in ("name", "attributes", "image", "original_image_url"):
        described[column] = described[column] or nft[column]
    if described["file_type"] == UNKNOWN_FILE_TYPE:
        described["file_type"] = nft["file_type"]
    return described | {"token": nft["token"], "serial_no": nft["serial_no"]}


def _describe(
    token: str, pointer: str, attempts: int, image_seconds: float, deadline: Deadline
) -> dict:
    """Resolve metadata and image before a deadline; what can't be had is said in ``missing``."""
    attempts += 1
    description, key, file_type, missing, retry_at = Description(), None, None, None, None
    try:
        description = resolver().describe(pointer, deadline)
        if image_seconds:
            key, file_type = _fetch_image(token, description.image, deadline, image_seconds)
        else:
            missing, retry_at = "images were left out", _retry_at(attempts, is_final=False)
    except (FetchError, ImageUnusable, ImagesBusy, ImageSlow, MediaUnreachable) as reason:
        missing = text(str(reason))
        retry_at = _retry_at(attempts, isinstance(reason, (Unfetchable, ImageUnusable)))
        is_ours = isinstance(reason, (ImagesBusy, MediaUnreachable))
        is_hasty = isinstance(reason, ImageSlow) and image_seconds < LONG_SECONDS
        if is_ours or is_hasty:  # not the NFT's fault
            attempts -= 1
            retry_at = times.to_iso(times.now() + (MINUTE if is_ours else 0))
    return {
        "name": description.name,
        "file_type": description.file_type or file_type or UNKNOWN_FILE_TYPE,
        "attributes": description.attributes,
        "image": key,
        "original_image_url": description.image and _find_url(description.image),
        "missing": missing,
        "attempts": attempts,
        "retry_at": retry_at,
    }


def _find_url(image: str) -> str | None:
    """The address of an original; in the sandbox its path alone, which PUBLIC_URL is put before."""
    url, public_url = resolver().browser_url(image), current_app.config["PUBLIC_URL"]
    is_sandbox = url is not None and url.startswith(f"{public_url}/sandbox/")
    return url.removeprefix(public_url) if is_sandbox else url


def _fetch_image(
    token: str, uri: str | None, deadline: Deadline, seconds: float
) -> tuple[str, str]:
    """Fetch it and make it small. Images of one collection take turns with those of others."""
    if uri is None:
        raise Unfetchable("the metadata names no image")
    content = resolver().fetch(uri, MAX_IMAGE_BYTES, deadline)
    if seconds >= LONG_SECONDS:
        deadline = Deadline(DECODING_SECONDS)
    try:
        decoder = current_app.extensions["decoder"]
        optimised = decoder.optimise(content, deadline, token, seconds)
    except TimeIsUp:
        raise FetchError("it took too long") from None
    key = current_app.extensions["media"].put(
        optimised.content, optimised.extension, MEDIA_SECONDS + deadline.left
    )
    return key, optimised.file_type


def _retry_at(attempts: int, is_final: bool) -> str | None:
    """When to try again: ever later, at least once a day where there is hope, and not for ever."""
    if attempts >= MAX_ATTEMPTS:
        return None
    pause = DAY if is_final else min(2**attempts * MINUTE, DAY)
    return times.to_iso(times.now() + pause)
