"""A stranger's image in, an optimised one out: WebP, its longest side 640 pixels at most.

Run as a program, it does so in a process of its own, image after image, within a bound of memory: a
decoder that a stranger's bytes keep busy, or break, is that process and no other. See decoder.py.
"""

import io
import json
import resource
import struct
import sys
from typing import NamedTuple

from PIL import Image, ImageOps, ImageSequence, UnidentifiedImageError

MAX_IMAGE_BYTES = 20 * 1024 * 1024
MAX_DECODED_BYTES = 120_000_000  # and up to three times that while it is made small
MAX_PROCESS_BYTES = 1_500_000_000  # of address space, in a process of its own
MAX_FRAMES = 150
LONGEST_SIDE = 640
QUALITY = 80
# What Pillow may try; and SVG, which it can't read, is never served from our origin.
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
ANIMATED_FORMATS = {"GIF": "gif", "WEBP": "webp", "PNG": "png"}
WIDE = ("I", "F")  # how the names of Pillow's modes of grey begin that have more than 8 bits
LEVELS_OF_16_BITS = range(65_536)
LENGTH = struct.Struct(">I")


class ImageUnusable(ValueError):
    """Why an image can't be shown."""


class Optimised(NamedTuple):
    """An image fit to be served, and the MIME type that the original really has."""

    content: bytes
    extension: str
    file_type: str


def optimise(content: bytes) -> Optimised:
    """Make a small WebP of an image. A long animation stays as it is. Raises ImageUnusable."""
    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as original:
            return _optimise(original, content)
    except (UnidentifiedImageError, Image.DecompressionBombError) as error:
        raise ImageUnusable("it is not an image that can be shown") from error
    except ImageUnusable:
        raise
    except Exception as error:  # Pillow's readers fail in more ways than they document
        raise ImageUnusable(f"the image can't be read: {type(error).__name__}") from error


def _optimise(original: Image.Image, content: bytes) -> Optimised:
    file_type = Image.MIME[original.format]
    if not original.info.get("progressive"):
        # A JPEG is decoded at a fraction of its size; a progressive one is held whole even so.
        original.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))
    depth = 4 if original.mode.startswith(WIDE) else len(original.getbands())
    decoded_bytes = original.width * original.height * depth
    if decoded_bytes > MAX_DECODED_BYTES:
        raise ImageUnusable(f"it would take more than {MAX_DECODED_BYTES} bytes to decode")
    frames = getattr(original, "n_frames", 1)
    if frames > 1 and original.format in ANIMATED_FORMATS:
        if frames > MAX_FRAMES or frames * decoded_bytes > MAX_DECODED_BYTES:
            return Optimised(content, ANIMATED_FORMATS[original.format], file_type)
        return Optimised(_encode_animation(original), "webp", file_type)
    encoded = io.BytesIO()
    ImageOps.exif_transpose(_shrink(original)).save(encoded, "WEBP", quality=QUALITY)
    return Optimised(encoded.getvalue(), "webp", file_type)


def _encode_animation(original: Image.Image) -> bytes:
    durations, frames = [], []
    for frame in ImageSequence.Iterator(original):
        durations.append(int(frame.info.get("duration") or 100))
        frames.append(_shrink(frame))
    encoded = io.BytesIO()
    frames[0].save(
        encoded,
        "WEBP",
        quality=QUALITY,
        save_all=True,
        append_images=frames[1:],
        duration=durations,
        loop=0,
    )
    return encoded.getvalue()


def _shrink(image: Image.Image) -> Image.Image:
    if image.mode.startswith(WIDE):
        image = _narrow(image)
    if image.mode not in ("RGB", "RGBA"):
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    return image.resize(_fit(image.size), Image.Resampling.LANCZOS, reducing_gap=2.0)


def _narrow(image: Image.Image) -> Image.Image:
    """Scale grey of 16 or 32 bits to 8: Pillow's convert() would cut it, and leave it white."""
    if not image.mode.startswith("I;16"):
        low, high = image.getextrema()  # no format says what is white
        scale = 255 / ((high - low) or 1)
        return image.point(lambda level: level * scale - low * scale).convert("L")
    levels = image.convert("I")
    grey = levels.point([level // 257 for level in LEVELS_OF_16_BITS], "L")
    transparent = grey.info.pop("transparency", None)
    if transparent is not None:
        opaque = [255] * len(LEVELS_OF_16_BITS)
        opaque[transparent] = 0
        grey.putalpha(levels.point(opaque, "L"))
    return grey


def _fit(size: tuple[int, int]) -> tuple[int, int]:
    scale = min(1.0, LONGEST_SIDE / max(size))
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def main() -> None:
    """Answer each image on standard input with JSON and content on standard output, until it ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_PROCESS_BYTES, MAX_PROCESS_BYTES))
    while length := sys.stdin.buffer.read(LENGTH.size):
        content = sys.stdin.buffer.read(LENGTH.unpack(length)[0])
        try:
            optimised = optimise(content)
            outcome = {"extension": optimised.extension, "file_type": optimised.file_type}
            content = optimised.content
        except ImageUnusable as reason:
            outcome, content = {"reason": str(reason)}, b""
        header = json.dumps(outcome).encode()
        for part in (header, content):
            sys.stdout.buffer.write(LENGTH.pack(len(part)) + part)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
