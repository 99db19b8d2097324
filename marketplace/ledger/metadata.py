"""From a metadata pointer to a document, and from the document to a record's fields. HIP-412."""

import json
import re
from typing import NamedTuple
from urllib.parse import quote, unquote

from marketplace.ledger.fetch import Deadline, Fetcher, FetchError

MAX_DOCUMENT_BYTES = 1024 * 1024
MAX_ATTRIBUTES = 200
MAX_TEXT = 1000

CID = r"(?:Qm[1-9A-HJ-NP-Za-km-z]{44}|b[a-z2-7]{8,})"
IPFS = re.compile(rf"(?:ipfs://(?:ipfs/)?|https?://[^/]+/ipfs/)?({CID})((?:/[^?]*)?)", re.DOTALL)
ARWEAVE = re.compile(r"(?:ar://|https?://(?:www\.)?arweave\.net/)?([A-Za-z0-9_-]{43})((?:/[^?]*)?)")


class Description(NamedTuple):
    """What metadata says of an NFT, fit for a record. None where it does not say."""

    name: str | None = None
    file_type: str | None = None
    attributes: str | None = None
    image: str | None = None


class Gateways(NamedTuple):
    """The operator's own ways to IPFS and Arweave: URL prefixes, tried in order."""

    ipfs: tuple[str, ...]
    arweave: tuple[str, ...]

    def urls(self, uri: str) -> list[str]:
        """The web addresses a URI may be read from: none for what is not an address.

        A gateway's address of somebody else's choice is rewritten to our own gateways. Each path segment
        is percent-encoded, as file names hold spaces and number signs.
        """
        for pattern, gateways in ((IPFS, self.ipfs), (ARWEAVE, self.arweave)):
            if match := pattern.fullmatch(uri.strip()):
                identifier, path = match.groups()
                encoded = "/".join(quote(unquote(part), safe="") for part in path.split("/"))
                return [f"{gateway}{identifier}{encoded}" for gateway in gateways]
        if re.match(r"https?://", uri):
            return [quote(uri, safe="%/:=&?~#+!$,;'@()*[]")]
        return []


class Resolver:
    """Reads metadata documents."""

    def __init__(self, fetcher: Fetcher, gateways: Gateways) -> None:
        self._fetcher = fetcher
        self._gateways = gateways

    def describe(self, pointer: str, deadline: Deadline) -> Description:
        """Read the document a pointer leads to. Raises FetchError with the reason."""
        content = self.fetch(pointer, MAX_DOCUMENT_BYTES, deadline)
        try:
            document = json.loads(content)
        except (ValueError, RecursionError):
            raise FetchError("the metadata is not JSON") from None
        if not isinstance(document, dict):
            raise FetchError("the metadata is not a JSON object")
        return describe(document)

    def fetch(self, uri: str, max_bytes: int, deadline: Deadline) -> bytes:
        """Read what a URI leads to, from the first gateway that has it. Raises FetchError."""
        reason = "it is not an address"
        for url in self._gateways.urls(uri):
            try:
                answer = self._fetcher.get(url, max_bytes=max_bytes, deadline=deadline)
                if answer.status == 200:
                    return answer.content
                reason = f"status {answer.status}"
            except FetchError as error:
                reason = str(error)
        raise FetchError(reason)

    def browser_url(self, uri: str) -> str | None:
        """The address a browser can open."""
        return next(iter(self._gateways.urls(uri)), None)


def describe(document: dict) -> Description:
    """Take a record's fields out of a HIP-412 document; what is odd is left out, never trusted."""
    fields = {key.lower(): value for key, value in document.items()}
    file_type = _text(fields.get("type"))
    return Description(
        name=_text(fields.get("name")),
        file_type=file_type.lower() if file_type and _is_mime(file_type) else None,
        attributes=stringify_attributes(fields.get("attributes")),
        image=_text(fields.get("image") or fields.get("picture")),
    )


def stringify_attributes(attributes: object) -> str | None:
    """Compact JSON of [{"trait_type": str, "value": str}, ...], or None where there are none."""
    if not isinstance(attributes, list):
        return None
    pairs = [
        {"trait_type": trait_type, "value": value}
        for attribute in attributes[:MAX_ATTRIBUTES]
        if isinstance(attribute, dict)
        and (trait_type := _text(attribute.get("trait_type"))) is not None
        and (value := _text(attribute.get("value"))) is not None
    ]
    return json.dumps(pairs, separators=(",", ":"), ensure_ascii=False) if pairs else None


def _text(value: object) -> str | None:
    """A value as text that a database and a client can hold: numbers and booleans as their JSON."""
    if isinstance(value, bool | int | float):
        value = json.dumps(value)
    if not isinstance(value, str):
        return None
    text = value.encode(errors="ignore").decode().replace("\0", "").strip()
    return text[:MAX_TEXT] or None


def _is_mime(text: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z0-9.+-]+/[A-Za-z0-9.+-]+", text))
