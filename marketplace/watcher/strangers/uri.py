"""Recognises the forms of metadata pointers and of images' URIs, and says where their content is.

Nothing is fetched here. Source of the forms and their order: the network's explorer, and real NFTs.
"""

import base64
import re
from typing import NamedTuple
from urllib.parse import quote, unquote, unquote_to_bytes

from marketplace.hedera.ids import ENTITY_ID, MAX_INT64
from marketplace.watcher.strangers.guarded_fetch import URL_CHARACTERS, Address

# CIDs: version 0, or version 1 in base32, base36, base16, base58 or base64url. Capitals make
# no difference in the first three.
_BASE58 = "[1-9A-HJ-NP-Za-km-z]"
_LOWERED_CID = "(?i:baf[a-z2-7]{8,120}|k2[0-9a-z]{40,120}|f01[0-9a-f]{40,160})"
CID = rf"(?:Qm{_BASE58}{{44}}|{_LOWERED_CID}|z{_BASE58}{{46,120}}|uA[VX][A-Za-z0-9_-]{{44,120}})"
# What may follow an id: a path, in which ? and # may belong to the name of a file, or a query.
REST = "((?:[/?#].*)?)"
HOST = r"(?:(?i:(?:https?:)?//)|(?=[^/\s]+\.))[^/\s]+"  # without a scheme it has a dot
PATH = "((?:/[^?]*)?)(?:[?].*)?"
IPFS_URI = re.compile(rf"(?:(?i:ipfs|dweb):/{{0,3}}|/)?(?:(?i:ipfs)/)*({CID}){REST}", re.DOTALL)
IPFS_GATEWAY = re.compile(rf"{HOST}/ipfs/({CID}){PATH}", re.DOTALL)
IPFS_SUBDOMAIN = re.compile(rf"(?:(?i:https?)://)?({CID})\.ipfs\.[^/]+{PATH}", re.DOTALL)
ARWEAVE_URI = re.compile(rf"(?:(?i:ar):/{{0,3}})?([A-Za-z0-9_-]{{43}}){REST}", re.DOTALL)
ARWEAVE_GATEWAY = re.compile(
    rf"(?:(?i:https?)://)?(?i:(?:[a-z0-9-]+\.)?arweave\.net)/([A-Za-z0-9_-]{{43}}){PATH}", re.DOTALL
)
HCS = re.compile(rf"(?:(?i:hcs)://[16]/)?({ENTITY_ID})/?")
TIMESTAMP = re.compile(r"[0-9]{10}\.[0-9]{9}")
DATA = re.compile(r"(?i:data):([^,;]*)((?:;[^,;]*)*),(.*)", re.DOTALL)
CHARSET = re.compile(r";\s*charset\s*=\s*\"?([^;\"]+)")


class Web(NamedTuple):
    """Content at web addresses, which are tried in order."""

    addresses: tuple[Address, ...]


class Inline(NamedTuple):
    """Content that the URI itself holds, and its charset if that is declared."""

    content: bytes
    charset: str | None = None


class Inscription(NamedTuple):
    """A file in the messages of a topic: HCS-1, or HCS-6, whose newest message names such a topic."""

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
        if match := DATA.fullmatch(uri):
            return _inline(match)
        for pattern, gateways in (
            (IPFS_URI, self.ipfs),
            (IPFS_GATEWAY, self.ipfs),
            (IPFS_SUBDOMAIN, self.ipfs),
            (ARWEAVE_URI, self.arweave),
            (ARWEAVE_GATEWAY, self.arweave),
        ):
            if match := pattern.fullmatch(uri):
                paths = [_canonical(match[1]) + rest for rest in _find_paths(match[2])]
                return Web(
                    tuple(Address(at + path, is_ours=True) for path in paths for at in gateways)
                )
        if match := HCS.fullmatch(uri):
            return Inscription(match[1])
        if TIMESTAMP.fullmatch(uri) and int(uri.replace(".", "")) <= MAX_INT64:
            return TopicMessage(uri)
        if re.match(r"https?://[^/\s]", uri, re.IGNORECASE):
            url = quote(uri, safe=URL_CHARACTERS, errors="ignore")
            return Web((Address(url, is_ours=False),))
        return None


def is_address(text: str) -> bool:
    """Tell whether a text has a form that leads to content."""
    return Gateways((), ()).locate(text) is not None


def _canonical(id: str) -> str:
    return id.lower() if re.fullmatch(_LOWERED_CID, id) else id


def _find_paths(rest: str) -> list[str]:
    """The paths that the text after an id may mean. The whole text comes first: names may contain a ``?``."""
    if not rest.startswith("/"):
        return [""]
    return [*dict.fromkeys(_encoded(path) for path in (rest, rest.partition("?")[0]))]


def _encoded(path: str) -> str:
    """Percent-encode each segment: real file names hold spaces, number signs and brackets."""
    segments = unquote(path).split("/")
    # A gateway may be private: strangers must not leave its /ipfs/.
    return "/".join(
        quote(part, safe="", errors="ignore") for part in segments if part not in (".", "..")
    )


def _inline(match: re.Match[str]) -> Inline | None:
    parameters, content = match[2].lower(), match[3]
    charset = CHARSET.search(parameters)
    try:
        is_base64 = parameters.rstrip().endswith(";base64")
        body = _decode_base64(unquote(content)) if is_base64 else unquote_to_bytes(content)
    except ValueError:
        return None
    return Inline(body, charset and charset[1].strip())


def _decode_base64(text: str) -> bytes:
    """Decode base64 or base64url, with or without padding. Raises ValueError."""
    digits = re.sub(r"[^A-Za-z0-9+/]", "", text.replace("-", "+").replace("_", "/"))
    return base64.b64decode(digits + "=" * (-len(digits) % 4))
