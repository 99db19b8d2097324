"""Leaves out of an image's file what is not the picture: nothing that is wrong there refuses the picture."""

import re
import struct
import zlib
from typing import NamedTuple

from marketplace.watcher.strangers.colours import find_profile

PNG = b"\x89PNG\r\n\x1a\n"
COLOURS = (b"cICP", b"iCCP", b"sRGB", b"gAMA", b"cHRM")
# Chunks and their lengths.
FRAMES = {b"acTL": range(8, 9), b"fcTL": range(26, 27), b"fdAT": range(5, 2**31)}
# Of a PNG: what is looked for where a chunk has another length than it says.
KEPT = re.compile(rb"PLTE|IDAT|IEND|tRNS|eXIf|acTL|fcTL|fdAT|" + b"|".join(COLOURS))
IS_ANCILLARY = 0x20  # in the first letter of a chunk's name
GREYS = (0, 4)  # colour types
# By the colour type: bytes of tRNS.
TRANSPARENT = {0: range(2, 3), 2: range(6, 7), 3: range(1, 257)}


class Bare(NamedTuple):
    """A file without its accessories, and what they said of the picture."""

    content: bytes
    profile: bytes | None = None  # of a PNG
    canvas: tuple[int, int] | None = None  # of a GIF, whose frames may reach beyond it


def leave_out(content: bytes, *, with_frames: bool) -> Bare:
    """Return a file that shows the same picture. The frames of an animated PNG are accessories, too."""
    if content.startswith(PNG):
        return _read_png(content, with_frames=with_frames)
    if content.startswith(b"GIF8") and len(content) >= 10:
        width, height = struct.unpack("<HH", content[6:10])
        return Bare(content, canvas=(width, height) if width and height else None)
    return Bare(content)


def _read_png(content: bytes, *, with_frames: bool) -> Bare:
    """Keep the critical chunks as they are, and transparency, orientation and frames if they are sound."""
    view, kept = memoryview(content), list[tuple[bytes, memoryview]]()
    colours: dict[bytes, bytes] = {}
    at, colour_type = len(PNG), content[25] if len(content) > 25 else 0
    lengths = FRAMES | {b"tRNS": TRANSPARENT.get(colour_type, range(0)), b"eXIf": range(2**31)}
    while at + 8 <= len(content):
        size, kind = struct.unpack(">I4s", content[at : at + 8])
        chunk = view[at : at + 12 + size]
        is_critical = kind.isalpha() and kind[0] & IS_ANCILLARY == 0
        is_sound = len(chunk) == 12 + size and _has_its_crc(chunk)
        if not is_sound and not is_critical:
            with_frames = with_frames and kind not in FRAMES
            at = _find_next(content, at, at + len(chunk))
            continue
        if is_critical or size in lengths.get(kind, ()):
            kept.append((kind, chunk))
        elif kind in COLOURS:
            colours.setdefault(kind, bytes(chunk[8:-4]))
        at += 12 + size
        if kind == b"IEND":
            break
    file = b"".join(chunk for kind, chunk in kept if with_frames or kind not in FRAMES)
    return Bare(PNG + file, find_profile(colours, is_grey=colour_type in GREYS))


def _has_its_crc(chunk: bytes | memoryview) -> bool:
    return zlib.crc32(chunk[4:-4]) == int.from_bytes(chunk[-4:])


def _find_next(content: bytes, at: int, end: int) -> int:
    """Where the next chunk begins: at the end of a damaged one, or else where a sound one is."""
    following = content[end + 4 : end + 8]
    if following.isalpha() and len(following) == 4:
        return end
    for match in KEPT.finditer(content, at + 8):
        start = match.start() - 4
        size = int.from_bytes(content[start : start + 4])
        if start + 12 + size <= len(content) and _has_its_crc(content[start : start + 12 + size]):
            return start
    return len(content)
