"""Recognises the forms of metadata pointers and of images' URIs, and says where their content is.

Nothing is fetched here. Source of the forms and their order: the network's explorer, and real NFTs.
"""

import base64
import re
from typing import NamedTuple
from urllib.parse import quote, unquote, unquote_to_bytes

from marketplace.ids import ENTITY_ID, MAX_INT64
from marketplace.watcher.strangers.guarded_fetch import Address

# CIDv0, or CIDv1 in base32, with the codecs of files and folders.
CID = "(?:Qm[1-9A-HJ-NP-Za-km-z]{44}|baf[a-z2-7]{8,120})"
PATH = "((?:/[^?]*)?)(?:[?].*)?"
IPFS_URI = re.compile(rf"(?:(?i:ipfs://)|/)?(?:ipfs/)*({CID})((?:/.*)?)", re.DOTALL)
IPFS_GATEWAY = re.compile(rf"https?://[^/]+/ipfs/({CID}){PATH}", re.DOTALL)
IPFS_SUBDOMAIN = re.compile(rf"https?://({CID})\.ipfs\.[^/]+{PATH}", re.DOTALL)
ARWEAVE_URI = re.compile(r"(?:(?i:ar://))?([A-Za-z0-9_-]{43})((?:/.*)?)", re.DOTALL)
ARWEAVE_GATEWAY = re.compile(rf"https?://(?:www\.)?arweave\.net/([A-Za-z0-9_-]{{43}}){PATH}")
HCS = re.compile(rf"(?:hcs://1/)?({ENTITY_ID})/?")
TIMESTAMP = re.compile(r"[0-9]{10}\.[0-9]{9}")
DATA = re.compile(r"data:([^,;]*)((?:;[^,;]*)*),(.*)", re.DOTALL)


class Web(NamedTuple):
    """Content at web addresses, which are equivalent and tried in order."""

    addresses: tuple[Address, ...]


class Inline(NamedTuple):
    """Content that the URI itself holds."""

    content: bytes


class Inscription(NamedTuple):
    """A file in the messages of a topic. HCS-1."""

    topic: str


class TopicMessage(NamedTuple):
    """A file in a single message of a topic: the one with this consensus timestamp."""

    consensus_timestamp: str


Location = Web | Inline | Inscription | TopicMessage


class Gateways(NamedTuple):
    """The operator's gateways to IPFS and Arweave: URL prefixes, tried in order."""

    ipfs: tuple[str, ...]
    arweave: tuple[str, ...]

    def locate(self, uri: str) -> Location | None:
        """Find where the content of a URI is; None if it has no known form.

        A gateway that the minter chose is replaced by ours: many are gone.
        """
        uri = uri.strip()
        for pattern, gateways in (
            (IPFS_URI, self.ipfs),
            (IPFS_GATEWAY, self.ipfs),
            (IPFS_SUBDOMAIN, self.ipfs),
            (ARWEAVE_URI, self.arweave),
            (ARWEAVE_GATEWAY, self.arweave),
        ):
            if match := pattern.fullmatch(uri):
                path = match[1] + _encoded(match[2])
                return Web(tuple(Address(gateway + path, is_ours=True) for gateway in gateways))
        if match := HCS.fullmatch(uri):
            return Inscription(match[1])
        if TIMESTAMP.fullmatch(uri) and int(uri.replace(".", "")) <= MAX_INT64:
            return TopicMessage(uri)
        if match := DATA.fullmatch(uri):
            return _inline(match)
        if re.match(r"https?://[^/\s]", uri, re.IGNORECASE):
            url = quote(uri, safe="%/:=&?~#+!$,;'@()*[]", errors="ignore")
            return Web((Address(url, is_ours=False),))
        return None


def _encoded(path: str) -> str:
    """Percent-encode each segment: real file names hold spaces, number signs and brackets."""
    segments = unquote(path).split("/")
    # A gateway may be private: strangers must not leave its /ipfs/.
    return "/".join(
        quote(part, safe="", errors="ignore") for part in segments if part not in (".", "..")
    )


def _inline(match: re.Match[str]) -> Inline | None:
    parameters, content = match[2].lower(), match[3]
    try:
        if parameters.endswith(";base64"):
            return Inline(base64.b64decode(unquote(content)))
        return Inline(unquote_to_bytes(content))
    except ValueError:
        return None
