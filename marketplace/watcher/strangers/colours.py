"""Converts an image's colours to sRGB, by its ICC profile or the one that a PNG's chunks stand for."""

import io
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial

from PIL import ImageCms

SRGB = ImageCms.createProfile("sRGB")
# The modes of images by the colours of their profile.
PROFILED_MODES = {
    "RGB ": ("RGB", "RGBA", "RGBX", "P", "PA"),
    "CMYK": ("CMYK",),
    "GRAY": ("L", "LA"),
}
MAX_PROFILE_BYTES = 4_000_000
CURVE = 1024  # entries of a table
# Chromaticities of white, red, green and blue, by the numbers of ITU-T H.273.
D65 = (0.3127, 0.3290)
REC_709 = (D65, (0.64, 0.33), (0.30, 0.60), (0.15, 0.06))
PRIMARIES = {
    1: REC_709,
    5: (D65, (0.64, 0.33), (0.29, 0.60), (0.15, 0.06)),
    6: (D65, (0.630, 0.340), (0.310, 0.595), (0.155, 0.070)),
    9: (D65, (0.708, 0.292), (0.170, 0.797), (0.131, 0.046)),
    11: ((0.314, 0.351), (0.680, 0.320), (0.265, 0.690), (0.150, 0.060)),
    12: (D65, (0.680, 0.320), (0.265, 0.690), (0.150, 0.060)),
}
D50_XYZ = (0.9642, 1.0, 0.8249)  # the white of ICC profiles
SRGB_GAMMA = 1 / 2.2  # as PNG counts
BRADFORD = ((0.8951, 0.2664, -0.1614), (-0.7502, 1.7135, 0.0367), (0.0389, -0.0685, 1.0296))

Matrix = tuple[tuple[float, ...], ...]
Curve = Callable[[float], float]  # from what is stored to light, both between 0 and 1
Primaries = tuple[tuple[float, float], ...]


@lru_cache(1)  # for the frames of an animation
def make_transform(content: bytes | None, mode: str) -> ImageCms.ImageCmsTransform | None:
    """What converts the colours of an image to sRGB; None if it has no profile, or one of other colours."""
    if not content:
        return None
    try:
        profile = ImageCms.ImageCmsProfile(io.BytesIO(content))
        modes = PROFILED_MODES[profile.profile.xcolor_space]
        return ImageCms.buildTransform(profile, SRGB, modes[0], "RGB") if mode in modes else None
    except (ImageCms.PyCMSError, OSError, KeyError, TypeError, ValueError):
        return None


def find_profile(chunks: Mapping[bytes, bytes], *, is_grey: bool) -> bytes | None:
    """The profile that a PNG's chunks stand for; None for sRGB. Ignores unreadable chunks."""
    return next(_list_profiles(chunks, is_grey=is_grey), None)


def _list_profiles(chunks: Mapping[bytes, bytes], *, is_grey: bool) -> Iterator[bytes | None]:
    """In the order in which they count: PNG, third edition, 4.3."""
    primaries, transfer, *rest = chunks.get(b"cICP", b"\0\0").ljust(2, b"\0")
    if rest == [0, 1] and primaries in PRIMARIES and transfer in CURVES:
        yield _build(CURVES[transfer], PRIMARIES[primaries], is_grey=is_grey)
    embedded = _inflate(chunks.get(b"iCCP", b""))
    if embedded and make_transform(embedded, "L" if is_grey else "RGB"):
        yield embedded
    if len(intent := chunks.get(b"sRGB", b"")) == 1 and intent[0] <= 3:
        yield None
    gamma = _read_gamma(chunks.get(b"gAMA", b""))
    if gamma:
        named = _read_chromaticities(chunks.get(b"cHRM", b"")) or REC_709
        is_srgb = abs(gamma - SRGB_GAMMA) < 0.01 and _is_close(named, REC_709)
        curve = partial(_raise_to, 1 / gamma)
        yield None if is_srgb else _build(curve, named, is_grey=is_grey)


def _inflate(chunk: bytes) -> bytes | None:
    try:
        packed = chunk[chunk.index(b"\0") + 2 :]
        return zlib.decompressobj().decompress(packed, MAX_PROFILE_BYTES)
    except (ValueError, zlib.error):
        return None


def _read_gamma(chunk: bytes) -> float | None:
    gamma = int.from_bytes(chunk) / 100_000 if len(chunk) == 4 else 0.0
    return gamma if 0.01 <= gamma <= 10 else None


def _read_chromaticities(chunk: bytes) -> Primaries | None:
    if len(chunk) != 32:
        return None
    numbers = [number / 100_000 for number in struct.unpack(">8I", chunk)]
    named = tuple(zip(numbers[::2], numbers[1::2], strict=True))
    try:
        _adapt(named)
    except ZeroDivisionError:  # they are on one line, or have no light
        return None
    return named


def _is_close(some: Primaries, others: Primaries) -> bool:
    pairs = zip(sum(some, ()), sum(others, ()), strict=True)
    return all(abs(one - other) < 0.002 for one, other in pairs)


def _raise_to(exponent: float, stored: float) -> float:
    return float(stored**exponent)


def _decode_srgb(stored: float) -> float:
    return stored / 12.92 if stored <= 0.04045 else float(((stored + 0.055) / 1.055) ** 2.4)


# By the numbers of H.273. Browsers, too, take Rec. 709's curve for that of sRGB. Those for HDR are left out.
CURVES: dict[int, Curve] = {
    1: _decode_srgb, 4: partial(_raise_to, 2.2), 5: partial(_raise_to, 2.8), 6: _decode_srgb,
    8: partial(_raise_to, 1.0), 13: _decode_srgb, 14: _decode_srgb, 15: _decode_srgb,
}  # fmt: skip


def _build(curve: Curve, primaries: Primaries, *, is_grey: bool) -> bytes:
    """Build an ICC profile (version 2) of a curve and, but for greys, of primaries."""
    table = [min(65535, round(65535 * curve(n / (CURVE - 1)))) for n in range(CURVE)]
    curved = b"curv\0\0\0\0" + struct.pack(f">I{CURVE}H", CURVE, *table)
    tags = {b"wtpt": _xyz(D50_XYZ)}
    if is_grey:
        tags[b"kTRC"] = curved
    else:
        columns = zip(*_adapt(primaries), strict=True)
        tags |= {name: _xyz(column) for name, column in zip(TAGS, columns, strict=True)}
        tags |= dict.fromkeys((b"rTRC", b"gTRC", b"bTRC"), curved)
    at, table_of_tags = 128 + 4 + 12 * len(tags), b""
    for name, tag in tags.items():
        table_of_tags += name + struct.pack(">II", at, len(tag))
        at += len(tag)
    colours = b"GRAY" if is_grey else b"RGB "
    head = struct.pack(">I4xI4s4s4s12x4s", at, 0x02400000, b"mntr", colours, b"XYZ ", b"acsp")
    head = head.ljust(68, b"\0") + _xyz(D50_XYZ)[8:]
    return (
        head.ljust(128, b"\0")
        + struct.pack(">I", len(tags))
        + table_of_tags
        + b"".join(tags.values())
    )


TAGS = (b"rXYZ", b"gXYZ", b"bXYZ")


def _xyz(numbers: tuple[float, ...]) -> bytes:
    return b"XYZ \0\0\0\0" + struct.pack(">3i", *(round(65536 * number) for number in numbers))


def _adapt(named: Primaries) -> Matrix:
    """The matrix from red, green and blue to XYZ under D50. Raises ZeroDivisionError."""
    white, *corners = [(x / y, 1.0, (1 - x - y) / y) for x, y in named]
    columns = tuple(zip(*corners, strict=True))
    scale = _apply(_invert(columns), white)
    to_xyz = tuple(tuple(a * b for a, b in zip(row, scale, strict=True)) for row in columns)
    cone, cone_50 = _apply(BRADFORD, white), _apply(BRADFORD, D50_XYZ)
    ratios = [b / a for a, b in zip(cone, cone_50, strict=True)]
    scaled = tuple(
        tuple(ratio * b for b in row) for ratio, row in zip(ratios, BRADFORD, strict=True)
    )
    return _multiply(_invert(BRADFORD), _multiply(scaled, to_xyz))


def _apply(matrix: Matrix, vector: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix)


def _multiply(left: Matrix, right: Matrix) -> Matrix:
    columns = [_apply(left, column) for column in zip(*right, strict=True)]
    return tuple(zip(*columns, strict=True))


def _invert(matrix: Matrix) -> Matrix:
    """Of three rows, by their cross products. Raises ZeroDivisionError."""
    a, b, c = matrix
    rows = [_cross(b, c), _cross(c, a), _cross(a, b)]
    determinant = sum(x * y for x, y in zip(a, rows[0], strict=True))
    return tuple(
        tuple(number / determinant for number in column) for column in zip(*rows, strict=True)
    )


def _cross(a: tuple[float, ...], b: tuple[float, ...]) -> tuple[float, ...]:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
