"""Strips an image file down to its picture, so that damaged extras do not make the image unusable."""

import re
import struct
import zlib
from typing import Any, NamedTuple

from marketplace.watcher.strangers.colours import find_profile

PNG = b"\x89PNG\r\n\x1a\n"
COLOURS = (b"cICP", b"iCCP", b"sRGB", b"gAMA", b"cHRM")
# Chunks and their lengths.
FRAMES = {b"acTL": range(8, 9), b"fcTL": range(26, 27), b"fdAT": range(5, 2**31)}
# Of a PNG: what is looked for where a chunk has another length than it says.
KEPT = re.compile(rb"PLTE|IDAT|IEND|tRNS|eXIf|acTL|fcTL|fdAT|" + b"|".join(COLOURS))
CRITICAL = (b"IHDR", b"PLTE", b"IDAT", b"IEND")
GREYS = (0, 4)  # colour types
# By the colour type: bytes of tRNS.
TRANSPARENT = {0: range(2, 3), 2: range(6, 7), 3: range(1, 257)}


class Bare(NamedTuple):
    """A file without its accessories, and the facts from them that the picture needs."""

    content: bytes
    profile: bytes | None = None  # of a PNG
    canvas: tuple[int, int] | None = None  # of a GIF, whose frames may reach beyond it


def leave_out(content: bytes, *, with_frames: bool) -> Bare:
    """Return a file that shows the same picture. The frames of an animated PNG are accessories, too."""
    if content.startswith(PNG):
        return _read_png(content, with_frames=with_frames)
    if content.startswith(b"GIF8") and len(content) >= 13:
        width, height = struct.unpack("<HH", content[6:10])
        return Bare(_read_gif(content), canvas=(width, height) if width and height else None)
    for beginning, read in OTHERS.items():
        if content.startswith(beginning):
            return Bare(read(content))
    return Bare(content)


def _read_png(content: bytes, *, with_frames: bool) -> Bare:
    """Keep the critical chunks as they are, and transparency, orientation and frames if they are sound."""
    view, kept = memoryview(content), list[tuple[bytes, memoryview]]()
    colours: dict[bytes, bytes] = {}
    at, colour_type = len(PNG), content[25] if len(content) > 25 else 0
    lengths = FRAMES | {b"tRNS": TRANSPARENT.get(colour_type, range(0)), b"eXIf": range(2**31)}
    while at + 8 <= len(content):
        size, kind = struct.unpack(">I4s", content[at : at + 8])
        end = at + 12 + size
        if kind not in CRITICAL and not _is_sound(view, at):
            with_frames = with_frames and kind not in FRAMES
            at = _find_next(content, at, end)
            continue
        if kind in CRITICAL or size in lengths.get(kind, ()):
            kept.append((kind, view[at:end]))
        elif kind in COLOURS:
            colours.setdefault(kind, content[at + 8 : end - 4])
        at = end
        if kind == b"IEND":
            break
    file = b"".join(chunk for kind, chunk in kept if with_frames or kind not in FRAMES)
    return Bare(PNG + file, find_profile(colours, is_grey=colour_type in GREYS))


def _is_sound(content: memoryview, at: int) -> bool:
    """Whether a whole chunk with its own CRC begins there."""
    end = at + 12 + int.from_bytes(content[at : at + 4])
    is_whole = end <= len(content)
    return is_whole and zlib.crc32(content[at + 4 : end - 4]) == int.from_bytes(
        content[end - 4 : end]
    )


def _find_next(content: bytes, at: int, end: int) -> int:
    """Where the next chunk begins: at the end of a damaged one, or else where a sound one is."""
    view = memoryview(content)
    if content[end + 4 : end + 8] in CRITICAL or _is_sound(view, end):
        return end
    starts = (match.start() - 4 for match in KEPT.finditer(content, at + 5))
    return next((start for start in starts if _is_sound(view, start)), len(content))


def _read_gif(content: bytes) -> bytes:
    """Keep the frames, their control blocks, and how often they are played."""
    view, at = memoryview(content), 13 + _size_of_table(content[10])
    kept = [view[:at]]
    while content[at : at + 1] in (b"!", b","):
        if content[at] == ord("!"):
            end = _skip_blocks(content, at + 2)
            is_kept = content[at + 1 : at + 3] == b"\xf9\4" or LOOP.match(content, at)
        else:
            flags = content[at + 9] if at + 9 < len(content) else 0
            end = _skip_blocks(content, at + 11 + _size_of_table(flags))
            is_kept = True
        if is_kept:
            kept.append(view[at:end])
        at = end
    return b"".join([*kept, view[at:]])


LOOP = re.compile(rb"!\xff\x0b(?:NETSCAPE2\.0|ANIMEXTS1\.0)\x03\x01", re.DOTALL)


def _size_of_table(flags: int) -> int:
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _skip_blocks(content: bytes, at: int) -> int:
    while at < len(content) and content[at]:
        at += 1 + content[at]
    return at + 1


def _read_jpeg(content: bytes) -> bytes:
    """Drop comments, programs' metadata, and bytes between segments."""
    view, at = memoryview(content), 2
    kept = [view[:2]]
    while at + 4 <= len(content):
        start, kind, size = struct.unpack(">BBH", content[at : at + 4])
        end = at + 2 + size
        is_note = kind == COMMENT or kind & 0xF0 == APPLICATION
        if start != 0xFF or (is_note and content[end : end + 1] != b"\xff"):
            match = SEGMENT.search(content, at + 1)
            if match is None:
                break
            at = match.start()
        elif kind == 0xFF:  # it fills
            at += 1
        elif kind == SCAN:
            return b"".join([*kept, view[at:]])
        else:
            if not is_note or NOTE.match(content, at):
                kept.append(view[at:end])
            at = end
    return content


APPLICATION, SCAN, COMMENT = 0xE0, 0xDA, 0xFE  # markers
SEGMENT = re.compile(rb"\xff[\xc0-\xc2\xc4\xdb\xdd]\0")  # tables and frames
NOTE = re.compile(
    rb"\xff(?:\xe0\0\x10JFIF\0|\xe1..Exif\0\0|\xe2..ICC_PROFILE\0|\xee\0\x0eAdobe)", re.DOTALL
)  # those that say how the picture is shown


def _read_webp(content: bytes) -> bytes:
    """Keep the picture's chunks, its profile and its orientation, and correct the file's length and flags."""
    view, at = memoryview(content), 12
    kept: dict[int, tuple[bytes, memoryview]] = {}
    while at + 8 <= len(content):
        kind, size = struct.unpack("<4sI", content[at : at + 8])
        end = at + 8 + size + size % 2
        is_framed = end == len(content) or content[end : end + 4] in (*WEBP_PICTURE, *FLAGS)
        if kind in WEBP_PICTURE or (kind in KEPT_FLAGS and is_framed):
            kept[at] = kind, view[at:end]
        elif not is_framed:
            match = WEBP_CHUNK.search(content, at + 8)
            end = match.start() if match else len(content)
        at = end
    kinds = [kind for kind, _ in kept.values()]
    file = bytearray(b"".join(chunk for _, chunk in kept.values()))
    if kinds[:1] == [b"VP8X"] and len(file) > 8:
        file[8] &= ~sum(flag for kind, flag in FLAGS.items() if kind not in kinds)
    return b"RIFF" + struct.pack("<I", 4 + len(file)) + b"WEBP" + file


WEBP_PICTURE = (b"VP8X", b"VP8 ", b"VP8L", b"ALPH", b"ANIM", b"ANMF")
WEBP_CHUNK = re.compile(b"|".join(WEBP_PICTURE))
FLAGS = {b"ICCP": 0x20, b"EXIF": 0x08, b"XMP ": 0x04}  # of VP8X, for chunks
KEPT_FLAGS = (b"ICCP", b"EXIF")


def _read_tiff(content: bytes) -> bytes:
    """Keep the tags of the first picture that say how it is stored and shown."""
    order = "<" if content.startswith(b"II") else ">"
    try:
        (at,) = struct.unpack_from(f"{order}I", content, 4)
        (count,) = struct.unpack_from(f"{order}H", content, at)
        tags = [struct.unpack_from(f"{order}HHI4s", content, at + 2 + 12 * n) for n in range(count)]
    except struct.error:
        return content
    kept = [tag for tag in tags if tag[0] in TAGS or _is_profile(tag, order, len(content))]
    directory = struct.pack(f"{order}H", len(kept))
    directory += b"".join(struct.pack(f"{order}HHI4s", *tag) for tag in kept) + bytes(4)
    return b"".join((content[:at], directory, memoryview(content)[at + len(directory) :]))


def _is_profile(tag: tuple[Any, ...], order: str, end: int) -> bool:
    """Whether a tag is a profile, whose bytes are all there."""
    name, kind, size, at = tag
    is_bytes = kind in (1, 7) and size > 4
    return name == PROFILE and is_bytes and struct.unpack(f"{order}I", at)[0] + size <= end


PROFILE = 34675
# Sizes, samples, compression, strips, tiles and colours. Not: dates, names, resolution, EXIF.
TAGS = {254, *range(256, 260), 262, 266, 273, 274, 277, 278, 279, 284, 292, 293, 317, 318, 319, 320}
TAGS |= {*range(322, 326), 332, 338, 339, 347, *range(512, 522), *range(529, 533)}
OTHERS = {
    b"\xff\xd8\xff": _read_jpeg,
    b"RIFF": _read_webp,
    b"II*\0": _read_tiff,
    b"MM\0*": _read_tiff,
}
