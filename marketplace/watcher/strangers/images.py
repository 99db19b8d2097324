"""A stranger's image in, an optimised one out: WebP, its longest side 640 pixels at most.

Run as a program, it does so for one image in a process of its own, which can do nothing else: a decoder
that a stranger's bytes keep busy, or break, is that process and no other. decoding.py runs it.
"""

import copy
import io
import json
import os
import resource
import signal
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

from PIL import (
    GifImagePlugin,
    Image,
    ImageCms,
    ImageOps,
    MpoImagePlugin,
    TiffImagePlugin,
    UnidentifiedImageError,
    WebPImagePlugin,
)
from PIL.JpegImagePlugin import JpegImageFile, get_sampling

MAX_IMAGE_BYTES = 20 * 1024 * 1024
MAX_KEPT_BYTES = 2_000_000  # of what is made of it
# An image may take 200 MB in all processes together. The fetching one holds its bytes, and may hold those
# that a second gateway sends. The process that decodes has this for all that it writes to, the bytes once
# more among it; what it maps from files, some 12 MB of libraries, is not counted.
MAX_DATA_BYTES = 140_000_000
MAX_DECODED_BYTES = 100_000_000  # 5,000 x 5,000 pixels of 4 bytes: what fits beside the rest
# By its header, before anything is held; Pillow refuses what has twice as many.
MAX_PIXELS = 90_000_000  # a JPEG is decoded at a fraction of its size
MAX_WEBP_PIXELS = 3_900_000  # a WebP takes 16 bytes of each: two canvases, a frame, and an image
STRIP_PIXELS = 500_000  # converted at once: each copy of so many is small beside the image
MAX_FRAMES = 150
MAX_ANIMATED_PIXELS = 60_000_000  # of all frames: some seconds of work
LONGEST_SIDE = 640
QUALITY = 80
# The formats that Pillow may try. SVG, which it can't read, is never served from our origin.
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
# Pillow would import them when an image asks for them, which the confined process can't.
IMPORTED = (copy, GifImagePlugin, ImageCms, MpoImagePlugin, TiffImagePlugin, WebPImagePlugin)
ANIMATED_FORMATS = ("GIF", "WEBP", "PNG")
WIDE = ("I", "F")  # how the names of Pillow's modes of grey begin that have more than 8 bits
LEVELS_OF_16_BITS = range(65_536)
ORIENTATION = 0x0112  # in EXIF


class ImageUnusable(ValueError):
    """Why an image can't be shown."""


class Optimised(NamedTuple):
    """A WebP fit to be served, and the MIME type that the original really has."""

    content: bytes
    file_type: str


def optimise(content: bytes) -> Optimised:
    """Make a small WebP of an image; of a long animation, of its first frame. Raises ImageUnusable."""
    is_webp = content.startswith(b"RIFF")
    Image.MAX_IMAGE_PIXELS = MAX_WEBP_PIXELS if is_webp else MAX_PIXELS
    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as original:
            return _optimise(original)
    except UnidentifiedImageError as error:
        raise ImageUnusable("it is not an image that can be shown") from error
    except (MemoryError, Image.DecompressionBombError):
        raise ImageUnusable("it takes too much memory to decode") from None
    except ImageUnusable:
        raise
    except Exception as error:  # Pillow's readers fail in more ways than they document
        raise ImageUnusable(f"the image can't be read: {type(error).__name__}") from error


def _optimise(original: Image.Image) -> Optimised:
    file_type = Image.MIME[original.format or ""]
    coefficient_bytes = _count_coefficients(original)
    original.draft(
        "RGB", (LONGEST_SIDE, LONGEST_SIDE)
    )  # a JPEG is decoded at a fraction of its size
    decoded_bytes = original.width * original.height * _depth(original.mode)
    if original.info.get("progressive"):
        decoded_bytes += coefficient_bytes
    if decoded_bytes > MAX_DECODED_BYTES:
        raise MemoryError
    if animation := _animate(original):
        return Optimised(animation, file_type)
    try:
        original.load()
    except OSError:
        if coefficient_bytes > MAX_DECODED_BYTES:
            raise MemoryError from None  # it has scans, though it is not progressive
        raise
    encoded = io.BytesIO()
    _upright(_shrink(original), original).save(encoded, "WEBP", quality=QUALITY)
    return Optimised(encoded.getvalue(), file_type)


def _animate(original: Image.Image) -> bytes | None:
    """Make a small animation of an image; None where it is a still one, or too long to be kept whole."""
    frames = getattr(original, "n_frames", 1)
    pixels = frames * original.width * original.height
    if original.format not in ANIMATED_FORMATS or not 1 < frames <= MAX_FRAMES:
        return None
    if pixels > MAX_ANIMATED_PIXELS:
        return None
    try:
        animation = _encode_animation(original)
    except MemoryError:  # its frames are held several times over, to be laid over one another
        animation = None
    if animation is None or len(animation) > MAX_KEPT_BYTES:
        original.seek(0)
        return None
    return animation


def _depth(mode: str) -> int:
    """How many bytes a pixel takes: Pillow keeps three channels in four bytes."""
    if mode in ("1", "L", "P"):
        return 1
    return 2 if mode.startswith("I;16") else 4


def _count_coefficients(original: Image.Image) -> int:
    """The bytes that a JPEG takes besides, if it comes in scans: all are held before a pixel is made."""
    if original.format != "JPEG" or not isinstance(original, JpegImageFile):
        return 0
    samples = {1: 2, 2: 1.5}.get(get_sampling(original), original.layers or 4)  # of each pixel
    return int(original.width * original.height * samples) * 2


class _Frames(Image.Image):
    """The small frames of an animation, made one by one as the encoder asks for them."""

    def __init__(self, original: Image.Image) -> None:
        super().__init__()
        self.n_frames = getattr(original, "n_frames", 1)
        self.durations: list[int] = []
        self._original = original
        self.seek(0)

    def seek(self, frame: int) -> None:
        self._original.seek(frame)
        small = _shrink(self._original)
        self.im, self._mode, self._size = small.im, small.mode, small.size
        self.durations[frame:] = [int(self._original.info.get("duration") or 100)]


def _encode_animation(original: Image.Image) -> bytes:
    encoded, frames = io.BytesIO(), _Frames(original)
    frames.save(encoded, "WEBP", quality=QUALITY, save_all=True, duration=frames.durations, loop=0)
    return encoded.getvalue()


def _shrink(image: Image.Image) -> Image.Image:
    """Make an image small as resize(..., reducing_gap=2.0) does, but strip by strip.

    It and its copies in other modes would be held side by side otherwise.
    """
    image.load()
    (width, height), small = image.size, _fit(image.size)
    across = max(1, int(width / small[0] / 2))
    down = max(1, int(height / small[1] / 2))
    is_transparent = image.has_transparency_data
    levels = image.getextrema() if image.mode in WIDE else None
    narrowed = Image.new("RGBa" if is_transparent else "RGB", (small[0], -(-height // down)))
    rows = max(1, STRIP_PIXELS // (width * down)) * down
    for top in range(0, height, rows):
        strip = image.crop((0, top, width, min(top + rows, height)))
        strip = _paint(strip, levels, is_transparent=is_transparent).reduce((across, down))
        part = (0, 0, width / across, strip.height)
        strip = strip.resize((small[0], strip.height), Image.Resampling.LANCZOS, part)
        narrowed.paste(strip, (0, top // down))
    box = (0, 0, small[0], height / down)
    shrunk = narrowed.resize(small, Image.Resampling.LANCZOS, box)
    return shrunk.convert("RGBA") if is_transparent else shrunk


def _paint(
    image: Image.Image, levels: tuple[Any, ...] | None, *, is_transparent: bool
) -> Image.Image:
    """Bring an image of any mode into RGB, or into RGBa: its colours multiplied by its alpha."""
    if image.mode.startswith(WIDE):
        image = _narrow(image, levels)
    if is_transparent:
        return image.convert("RGBA").convert("RGBa")
    return image.convert("RGB")


def _narrow(image: Image.Image, levels: tuple[Any, ...] | None) -> Image.Image:
    """Scale grey of 16 or 32 bits to 8: Pillow's convert() would cut it, and leave it white."""
    if levels:
        low, high = levels  # no format says what is white
        scale = 255 / ((high - low) or 1)
        return image.point(lambda level: level * scale - low * scale).convert("L")
    wide = image.convert("I")
    grey = wide.point([level // 257 for level in LEVELS_OF_16_BITS], "L")
    transparent = grey.info.pop("transparency", None)
    if transparent is not None:
        opaque = [255] * len(LEVELS_OF_16_BITS)
        opaque[transparent] = 0
        grey.putalpha(wide.point(opaque, "L"))
    return grey


def _fit(size: tuple[int, int]) -> tuple[int, int]:
    scale = min(1.0, LONGEST_SIDE / max(size))
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _upright(small: Image.Image, original: Image.Image) -> Image.Image:
    orientation = original.getexif().get(ORIENTATION)
    if orientation is None:
        return small
    small.getexif()[ORIENTATION] = orientation
    return ImageOps.exif_transpose(small)


def main() -> None:
    """Answer the image on standard input with a line of JSON and its content on standard output.

    An image that takes more seconds of the processor than the program's argument ends it with SIGPROF.
    """
    sys.path.append(str(Path(__file__).parent))
    # Beside this file: the package is not to be imported.
    import confine  # type: ignore[import-not-found]

    confine.end_with_parent()
    os.nice(5)  # readers go first
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_DATA_BYTES, MAX_DATA_BYTES))
    # Pillow's warnings about a stranger's image are of no interest.
    warnings.simplefilter("ignore")
    Image.preinit()
    content = sys.stdin.buffer.read()
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, float(sys.argv[1]))
    confine.confine()
    outcome, made = _answer(content)
    sys.stdout.buffer.write(json.dumps(outcome).encode() + b"\n" + made)
    sys.stdout.buffer.flush()


def _answer(content: bytes) -> tuple[dict[str, str], bytes]:
    try:
        optimised = optimise(content)
    except ImageUnusable as reason:
        return {"reason": str(reason)}, b""
    return {"file_type": optimised.file_type}, optimised.content


if __name__ == "__main__":
    main()
