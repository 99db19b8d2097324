"""Turns a stranger's image into a WebP of at most 640 pixels on its longest side, and one of at most 320.

A stranger's bytes may block or crash a decoder, so decoder.py runs this code in a separate process.
"""

import copy
import io
import warnings
from contextlib import suppress
from math import isqrt
from typing import Any

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

from marketplace.watcher.enrichment_result import MAX_KEPT_BYTES, Optimised
from marketplace.watcher.strangers.accessories import Bare, leave_out
from marketplace.watcher.strangers.colours import make_transform

# 5,000 x 5,000 pixels of 4 bytes. The process may use twice as much, which includes the file's bytes.
MAX_DECODED_BYTES = 100_000_000
# By the image's header, before it is decoded.
MAX_PIXELS = 180_000_000  # a JPEG is decoded at a fraction of its size
MAX_WEBP_PIXELS = 9_400_000  # it takes 16 bytes for each: two canvases, a frame, and an image
STRIP_PIXELS = 500_000  # converted at once: a copy of them is small, compared with the image
MAX_FRAMES = 150
MAX_ANIMATED_PIXELS = 60_000_000  # of all frames: some seconds of work
MAX_SMALL_PIXELS = 20_000_000  # of all frames after they are made small
LONGEST_SIDE = 640
SMALL_PIXELS = 128 * 128  # of an image that is kept without loss
MAX_LOSSLESS_COLOURS = 16_384
SMALL_SIDE = 320  # for cards on a phone, and for what stands beside a name
QUALITY = 80
# The formats that Pillow may try. SVG, which it can't read, is never served from our origin.
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
# Imported now: Pillow imports them when an image needs them, and then the confined process can't.
IMPORTED = (copy, GifImagePlugin, ImageCms, MpoImagePlugin, TiffImagePlugin, WebPImagePlugin)
MAY_BE_ANIMATED = (b"GIF8", b"RIFF", b"\x89PNG")
WIDE_MODES = ("I", "F")  # greys of more than 8 bits, which Pillow's convert() would clip to white
ORIENTATION = 0x0112  # in EXIF
FOREVER, MAX_PLAYS = 0, 65_535  # how often a WebP is played


Image.preinit()
# Above the limit Pillow warns, and fails only above twice as many pixels.
warnings.simplefilter("error", Image.DecompressionBombWarning)


class ImageUnusable(ValueError):
    """An image can't be shown. The message is the reason."""


def optimise(content: bytes) -> Optimised:
    """Make a small WebP of an image, or of a long animation's first frame. Raises ImageUnusable."""
    is_webp = content.startswith(b"RIFF")
    Image.MAX_IMAGE_PIXELS = MAX_WEBP_PIXELS if is_webp else MAX_PIXELS
    try:
        # Several copies of frames are in memory at once. If they fail, the first picture is shown.
        with suppress(Exception):
            if animation := _animate_if_short(content):
                return animation
        with _open(leave_out(content, with_frames=False)) as original:
            return _optimise(original)
    except UnidentifiedImageError as error:
        raise ImageUnusable("it is not an image that can be shown") from error
    except (MemoryError, Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise ImageUnusable("it takes too much memory to decode") from None
    except ImageUnusable:
        raise
    except Exception as error:  # Pillow's readers fail in more ways than they document
        raise ImageUnusable(f"the image can't be read: {type(error).__name__}") from error


def _open(bare: Bare) -> Image.Image:
    image = Image.open(io.BytesIO(bare.content), formats=FORMATS)
    if image.format == "PNG":
        image.info["icc_profile"] = bare.profile
    image.info["canvas"] = bare.canvas or image.size
    return image


def _require_decodable(image: Image.Image) -> None:
    if image.mode.startswith(WIDE_MODES):
        raise ImageUnusable("its shades of grey have more than 8 bits")
    # Pillow stores three channels in four bytes.
    pixel_bytes = 1 if image.mode in ("1", "L", "P") else 4
    if image.width * image.height * pixel_bytes > MAX_DECODED_BYTES:
        raise MemoryError


def _find_type(original: Image.Image) -> str:
    # A camera's JPEG may hold a second picture, a preview.
    return "image/jpeg" if original.format == "MPO" else Image.MIME[original.format or ""]


def _optimise(original: Image.Image) -> Optimised:
    file_type = _find_type(original)
    # A JPEG is decoded at a fraction of its size.
    if original.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE)):
        original.info["canvas"] = original.size
    _require_decodable(original)
    image = _upright(_shrink(original, LONGEST_SIDE), original)
    small = None
    if max(image.size) > SMALL_SIDE:
        small = _encode([image.resize(_fit(image.size, SMALL_SIDE), Image.Resampling.LANCZOS)])
    return Optimised(_encode([image]), file_type, small)


def _encode(frames: list[Image.Image], **options: Any) -> bytes:
    """Encode an image, or an animation: without loss if it is small, or if that takes fewer bytes."""
    first = frames[0]
    lossy = _save(first, quality=QUALITY)
    is_small = first.width * first.height <= SMALL_PIXELS
    # A photo has more colours, and to try it would take as long again.
    may_be_lossless = is_small or first.getcolors(MAX_LOSSLESS_COLOURS) is not None
    lossless = _save(first, lossless=True) if may_be_lossless else lossy
    is_lossless = is_small or len(lossless) < len(lossy)
    if len(frames) == 1:
        return lossless if is_lossless else lossy
    options |= {"save_all": True, "append_images": frames[1:]}
    return _save(first, **options, **({"lossless": True} if is_lossless else {"quality": QUALITY}))


def _save(image: Image.Image, **options: Any) -> bytes:
    encoded = io.BytesIO()
    image.save(encoded, "WEBP", **options)
    return encoded.getvalue()


def _animate_if_short(content: bytes) -> Optimised | None:
    """Make a small animation; None if the image is not one, or if it is too long."""
    if not content.startswith(MAY_BE_ANIMATED):
        return None
    with _open(leave_out(content, with_frames=True)) as original:
        # The static image of a PNG may be none of its frames.
        first = 1 if original.info.get("default_image") else 0
        count = getattr(original, "n_frames", 1) - first
        pixels = count * original.width * original.height
        if count + first == 1 or count > MAX_FRAMES or pixels > MAX_ANIMATED_PIXELS:
            return None
        _require_decodable(original)
        animation = _animate(original, range(first, first + count))
    return Optimised(animation, _find_type(original)) if len(animation) <= MAX_KEPT_BYTES else None


def _animate(original: Image.Image, numbers: range) -> bytes:
    """Encode frames. More frames get smaller, since all are in memory at once."""
    frames, durations = [], []
    longest = min(LONGEST_SIDE, isqrt(MAX_SMALL_PIXELS // len(numbers)))
    for number in numbers:
        original.seek(number)
        frames.append(_shrink(original, longest))
        durations.append(int(original.info.get("duration") or 100))
    return _encode(frames, duration=durations, loop=_count_plays(original))


def _count_plays(animation: Image.Image) -> int:
    """How often an animation plays. A GIF counts its repeats; without a count, it plays once."""
    plays: int = animation.info.get("loop", FOREVER)
    if animation.format == "GIF" and plays != FOREVER:
        plays += 1
    if animation.format == "GIF" and "loop" not in animation.info:
        plays = 1
    return min(plays, MAX_PLAYS)


def _shrink(image: Image.Image, longest: int) -> Image.Image:
    """Make an image small, and its colours sRGB."""
    transform = make_transform(image.info.get("icc_profile"), image.mode)
    small = _make_small(image, longest, transform.input_mode if transform else "RGB")
    if transform is None:
        return small
    converted = transform.apply(small.convert(transform.input_mode))
    if small.mode == "RGBA":
        converted.putalpha(small.getchannel("A"))
    return converted


def _make_small(image: Image.Image, longest: int, mode: str) -> Image.Image:
    """Make an image small as resize(..., reducing_gap=2.0) does, but strip by strip.

    Otherwise the whole image and its copies in other modes would be in memory at once. An opaque image gets
    the mode.
    """
    image.load()
    width, height = canvas = image.info["canvas"]
    small = _fit(canvas, longest)
    across = max(1, int(width / small[0] / 2))
    down = max(1, int(height / small[1] / 2))
    is_transparent = image.has_transparency_data
    narrowed = Image.new("RGBa" if is_transparent else mode, (small[0], -(-height // down)))
    rows = max(1, STRIP_PIXELS // (width * down)) * down
    for top in range(0, height, rows):
        strip = image.crop((0, top, width, min(top + rows, height)))
        if is_transparent:
            strip = strip.convert("RGBA").convert("RGBa")  # its colours multiplied by its alpha
        strip = strip.convert(narrowed.mode).reduce((across, down))
        part = (0, 0, width / across, strip.height)
        strip = strip.resize((small[0], strip.height), Image.Resampling.LANCZOS, part)
        narrowed.paste(strip, (0, top // down))
    box = (0, 0, small[0], height / down)
    shrunk = narrowed.resize(small, Image.Resampling.LANCZOS, box)
    return shrunk.convert("RGBA") if is_transparent else shrunk


def _fit(size: tuple[int, int], longest: int) -> tuple[int, int]:
    scale = min(1.0, longest / max(size))
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _upright(small: Image.Image, original: Image.Image) -> Image.Image:
    try:
        orientation = original.getexif().get(ORIENTATION)
    except Exception:  # Pillow's readers fail in more ways than they document
        orientation = None
    if orientation not in range(2, 9):
        return small
    small.getexif()[ORIENTATION] = orientation
    return ImageOps.exif_transpose(small)
