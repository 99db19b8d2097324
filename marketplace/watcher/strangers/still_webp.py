"""Decodes a WebP that is not animated, by a third of the memory that Pillow takes for it.

Pillow reads each WebP as an animation: two canvases, a frame and an image, 16 bytes for each pixel. libwebp,
with which Pillow comes, can write the pixels into a buffer of ours.
"""

import ctypes
from collections.abc import Iterator

from PIL import Image, UnidentifiedImageError, _webp

_PILLOWS = ctypes.CDLL(
    _webp.__file__
)  # finds the functions of the libraries that it is linked with
# Whether it is: a Pillow that was built otherwise decodes as it always does.
IS_AVAILABLE = all(hasattr(_PILLOWS, name) for name in ("WebPGetInfo", "WebPDecodeRGBAInto"))
IS_ANIMATED = 0x02  # a flag of the chunk VP8X
IN_INFO = {b"ICCP": "icc_profile", b"EXIF": "exif"}  # chunks, and where Pillow puts them


def is_still(content: bytes) -> bool:
    """Tell whether it is a WebP that can be decoded here."""
    if not IS_AVAILABLE or content[:4] != b"RIFF" or content[8:12] != b"WEBP":
        return False
    kind, data = next(_list_chunks(content), (b"", b""))
    return not (kind == b"VP8X" and data and data[0] & IS_ANIMATED)


def decode(content: bytes, max_bytes: int) -> Image.Image:
    """Decode a still WebP. Raises MemoryError if its pixels take more, or another error if it is broken."""
    width, height = ctypes.c_int(), ctypes.c_int()
    at = ctypes.c_char_p(content), ctypes.c_size_t(len(content))
    if not _PILLOWS.WebPGetInfo(*at, ctypes.byref(width), ctypes.byref(height)):
        raise UnidentifiedImageError
    stride = width.value * 4
    size = stride * height.value
    if size > max_bytes:
        raise MemoryError
    pixels = bytearray(size)
    buffer = (ctypes.c_char * size).from_buffer(pixels)
    decode_into = _PILLOWS.WebPDecodeRGBAInto
    decode_into.restype = ctypes.c_void_p
    if not decode_into(*at, buffer, ctypes.c_size_t(size), ctypes.c_int(stride)):
        # A lossless one takes as much again while it is decoded.
        if 2 * size + len(content) > 2 * max_bytes:
            raise MemoryError
        raise ValueError("it is broken")
    image = Image.frombuffer("RGBA", (width.value, height.value), pixels, "raw", "RGBA", 0, 1)
    image.format = "WEBP"
    image.info |= {IN_INFO[kind]: data for kind, data in _list_chunks(content) if kind in IN_INFO}
    return image


def _list_chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The chunks of a WebP: their kind, and their data."""
    at = 12
    while at + 8 <= len(content):
        size = int.from_bytes(content[at + 4 : at + 8], "little")
        yield content[at : at + 4], content[at + 8 : at + 8 + size]
        at += 8 + size + size % 2
