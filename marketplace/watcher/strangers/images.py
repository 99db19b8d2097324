"""Turns a stranger's image into a small WebP, whose longest side has at most 640 pixels, and one of 320.

A stranger's bytes may keep a decoder busy, or crash it: decoder.py runs it in a process of its own.
"""

import copy
import io
import warnings
from contextlib import suppress
from functools import lru_cache
from math import isqrt

from PIL import (
    GifImagePlugin,
    Image,
    ImageCms,
    ImageOps,
    ImageSequence,
    MpoImagePlugin,
    TiffImagePlugin,
    UnidentifiedImageError,
    WebPImagePlugin,
)

from marketplace.watcher.enrichment_result import MAX_KEPT_BYTES, Optimised

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
SMALL_SIDE = 320  # for cards on a phone, and for what stands beside a name
QUALITY = 80
# The formats that Pillow may try. SVG, which it can't read, is never served from our origin.
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
# Imported now: Pillow imports them when an image needs them, and then the confined process can't.
IMPORTED = (copy, GifImagePlugin, ImageCms, MpoImagePlugin, TiffImagePlugin, WebPImagePlugin)
ANIMATED_FORMATS = ("GIF", "WEBP", "PNG")
WIDE_MODES = ("I", "F")  # greys of more than 8 bits, which Pillow's convert() would clip to white
ORIENTATION = 0x0112  # in EXIF
FOREVER, MAX_PLAYS = 0, 65_535  # how often a WebP is played
SRGB = ImageCms.createProfile("sRGB")
# The modes of images by the colours of their profile.
PROFILED_MODES = {"RGB ": ("RGB", "RGBA", "RGBX", "P", "PA"), "CMYK": ("CMYK",), "GRAY": ("L",)}


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
        with Image.open(io.BytesIO(content), formats=FORMATS) as original:
            return _optimise(original)
    except UnidentifiedImageError as error:
        raise ImageUnusable("it is not an image that can be shown") from error
    except (MemoryError, Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise ImageUnusable("it takes too much memory to decode") from None
    except ImageUnusable:
        raise
    except Exception as error:  # Pillow's readers fail in more ways than they document
        raise ImageUnusable(f"the image can't be read: {type(error).__name__}") from error


def _optimise(original: Image.Image) -> Optimised:
    # A camera's JPEG may hold a second picture, a preview.
    file_type = "image/jpeg" if original.format == "MPO" else Image.MIME[original.format or ""]
    if original.mode.startswith(WIDE_MODES):
        raise ImageUnusable("its shades of grey have more than 8 bits")
    # A JPEG is decoded at a fraction of its size.
    original.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))
    # Pillow stores three channels in four bytes.
    pixel_bytes = 1 if original.mode in ("1", "L", "P") else 4
    if original.width * original.height * pixel_bytes > MAX_DECODED_BYTES:
        raise MemoryError
    if _is_short_animation(original):
        # Several copies of its frames are in memory at once, to be combined.
        with suppress(MemoryError):
            animation = _animate(original)
            if len(animation) <= MAX_KEPT_BYTES:
                return Optimised(animation, file_type)
        original.seek(0)
    image = _upright(_shrink(original, LONGEST_SIDE), original)
    small = None
    if max(image.size) > SMALL_SIDE:
        small = _encode(image.resize(_fit(image.size, SMALL_SIDE), Image.Resampling.LANCZOS))
    return Optimised(_encode(image), file_type, small)


def _encode(image: Image.Image) -> bytes:
    encoded = io.BytesIO()
    image.save(encoded, "WEBP", quality=QUALITY)
    return encoded.getvalue()


def _count_frames(image: Image.Image) -> int:
    return getattr(image, "n_frames", 1)


def _is_short_animation(original: Image.Image) -> bool:
    frames = _count_frames(original)
    is_short = 1 < frames <= MAX_FRAMES
    pixels = frames * original.width * original.height
    return original.format in ANIMATED_FORMATS and is_short and pixels <= MAX_ANIMATED_PIXELS


def _animate(original: Image.Image) -> bytes:
    """Make a small animation. The more frames it has, the smaller it gets: all are in memory at once."""
    frames, durations = [], []
    longest = min(LONGEST_SIDE, isqrt(MAX_SMALL_PIXELS // _count_frames(original)))
    for frame in ImageSequence.Iterator(original):
        frames.append(_shrink(frame, longest))
        durations.append(int(frame.info.get("duration") or 100))
    encoded = io.BytesIO()
    options = {"append_images": frames[1:], "duration": durations, "loop": _count_plays(original)}
    frames[0].save(encoded, "WEBP", quality=QUALITY, save_all=True, **options)
    return encoded.getvalue()


def _count_plays(animation: Image.Image) -> int:
    """How often an animation is played. A GIF says how often it is repeated: without a word, not at all."""
    plays: int = animation.info.get("loop", FOREVER)
    if animation.format == "GIF" and plays != FOREVER:
        plays += 1
    if animation.format == "GIF" and "loop" not in animation.info:
        plays = 1
    return min(plays, MAX_PLAYS)


def _shrink(image: Image.Image, longest: int) -> Image.Image:
    """Make an image small, and its colours sRGB."""
    transform = _make_transform(image.info.get("icc_profile"), image.mode)
    small = _make_small(image, longest, transform.input_mode if transform else "RGB")
    if transform is None:
        return small
    converted = transform.apply(small.convert(transform.input_mode))
    if small.mode == "RGBA":
        converted.putalpha(small.getchannel("A"))
    return converted


@lru_cache(1)  # for the frames of an animation
def _make_transform(content: bytes | None, mode: str) -> ImageCms.ImageCmsTransform | None:
    """What converts the colours of an image to sRGB; None if it has no profile, or one of other colours."""
    if not content:
        return None
    try:
        profile = ImageCms.ImageCmsProfile(io.BytesIO(content))
        modes = PROFILED_MODES[profile.profile.xcolor_space]
        return ImageCms.buildTransform(profile, SRGB, modes[0], "RGB") if mode in modes else None
    except (ImageCms.PyCMSError, OSError, KeyError, TypeError, ValueError):
        return None


def _make_small(image: Image.Image, longest: int, mode: str) -> Image.Image:
    """Make an image small as resize(..., reducing_gap=2.0) does, but strip by strip.

    Otherwise the whole image and its copies in other modes would be in memory at once. An opaque image gets
    the mode.
    """
    image.load()
    (width, height), small = image.size, _fit(image.size, longest)
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
    orientation = original.getexif().get(ORIENTATION)
    if orientation is None:
        return small
    small.getexif()[ORIENTATION] = orientation
    return ImageOps.exif_transpose(small)
