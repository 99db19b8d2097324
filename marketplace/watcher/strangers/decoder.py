"""Turns a stranger's image into a WebP of at most 640 pixels on its longest side, and one of at most 320.

A stranger's bytes may block or crash libvips: so this happens in a fork of the reader that keeps only memory,
the image and its answer pipe.
"""

import multiprocessing
import os
import signal
from math import isqrt
from multiprocessing.connection import Connection
from typing import Any

import pyvips

from marketplace.watcher.enrichment_result import (
    ENDED_BY_OTHERS,
    MAX_KEPT_BYTES,
    MAX_MESSAGE_BYTES,
    QUICK,
    EnrichmentResult,
    Limits,
    Optimised,
    Outcome,
    write_message,
)
from marketplace.watcher.strangers import confine

# The fork

FORKED = multiprocessing.get_context("fork")


def decode(image: bytes, limits: Limits) -> bytes:
    """Make an image small within the limits. Returns a message of enrichment_result.py.

    The message stays unparsed here: a stranger's image may have written it.
    """
    ours, theirs = FORKED.Pipe(duplex=False)
    process = FORKED.Process(target=_answer, args=(theirs, image, limits.decoding, os.getpid()))
    with ours:
        try:
            with theirs:
                process.start()
        except OSError as error:
            busy = f"nothing can be decoded: {type(error).__name__}"
            return write_message(EnrichmentResult(Outcome.BUSY, busy))
        message = _receive(ours, limits)
    process.kill()
    process.join()
    return message or write_message(_explain_end(process.exitcode or 0, limits))


def _receive(answer: Connection, limits: Limits) -> bytes:
    """The process's answer; nothing if it ended without one."""
    try:
        if answer.poll(limits.decoder_timeout):
            return answer.recv_bytes(MAX_MESSAGE_BYTES)
        return write_message(EnrichmentResult(Outcome.SLOW, "it took too long"))
    except EOFError:
        return b""
    except OSError:  # it is too long
        return write_message(BROKEN)


BROKEN = EnrichmentResult(Outcome.UNUSABLE, "it breaks the image decoder")


def _explain_end(code: int, limits: Limits) -> EnrichmentResult:
    if code == -signal.SIGXCPU and limits == QUICK:
        return EnrichmentResult(
            Outcome.SLOW, "it takes longer to decode: it is tried again with more time"
        )
    if code == -signal.SIGXCPU:
        return EnrichmentResult(Outcome.UNUSABLE, "it takes too long to decode")
    if code in ENDED_BY_OTHERS:
        return EnrichmentResult(Outcome.BUSY, "the process that decodes it was ended")
    return BROKEN


def _answer(answer: Connection, image: bytes, seconds: int, parent: int) -> None:
    """Be the process: decode, answer, and end."""
    confine.confine(seconds, answer.fileno(), parent, len(image))
    answer.send_bytes(write_message(make_small(image)))
    os._exit(0)


def make_small(image: bytes) -> EnrichmentResult:
    """Decode an image in this process."""
    try:
        return EnrichmentResult(Outcome.COMPLETE, image=optimise(image))
    except ImageUnusable as error:
        return EnrichmentResult(Outcome.UNUSABLE, str(error))


# The image

# Only these are open. SVG is never served from our origin.
LOADERS = ("Png", "Jpeg", "Nsgif", "Webp", "Tiff", "Heif")
# By the image's header, before it is decoded. Most formats are read line by line.
MAX_PIXELS, MAX_WHOLE_PIXELS = 180_000_000, 36_000_000
READ_WHOLE = ("gif", "webp", "heif")
ANIMATED = ("gif", "webp")
MAX_FRAMES = 150
MAX_ANIMATED_PIXELS = 60_000_000  # of all frames: some seconds of work
MAX_SMALL_PIXELS = 20_000_000  # of all frames after they are made small
LONGEST_SIDE = 640
SMALL_SIDE = 320  # for cards on a phone, and for what stands beside a name
QUALITY = 80
SMALL_PIXELS = 128 * 128  # of an image that is kept without loss
LOSSLESS = b"VP8L"  # in a WebP's header
TOO_LARGE = "it takes too much memory to decode"

pyvips.operation_block_set("VipsForeignLoad", True)
for loader in LOADERS:
    pyvips.operation_block_set(f"VipsForeignLoad{loader}", False)
pyvips.concurrency_set(1)
pyvips.cache_set_max(0)


class ImageUnusable(ValueError):
    """An image can't be shown. The message is the reason."""


def optimise(content: bytes) -> Optimised:
    """Make a small WebP of an image, or of a long animation's first frame. Raises ImageUnusable."""
    try:
        header = pyvips.Image.new_from_buffer(content, "", fail_on="none")
    except pyvips.Error as error:
        raise ImageUnusable("it is not an image that can be shown") from error
    try:
        return _optimise(content, header)
    except pyvips.Error as error:
        reason = TOO_LARGE if "memory" in error.detail.lower() else "the image can't be read"
        raise ImageUnusable(reason) from error


def _optimise(content: bytes, header: pyvips.Image) -> Optimised:
    format = header.get("vips-loader").removesuffix("load_buffer")
    is_whole = format in READ_WHOLE or header.get_typeof("interlaced")
    pixels = header.width * header.height
    if pixels > (MAX_WHOLE_PIXELS if is_whole else MAX_PIXELS):
        raise ImageUnusable(TOO_LARGE)
    file_type = "image/avif" if format == "heif" else f"image/{format}"
    frames = header.get_n_pages() if format in ANIMATED else 1
    if 1 < frames <= MAX_FRAMES and frames * pixels <= MAX_ANIMATED_PIXELS:
        animation = _animate(content, header, frames)
        if len(animation) <= MAX_KEPT_BYTES:
            return Optimised(animation, file_type)
    image = _shrink(content, header, LONGEST_SIDE).copy_memory()
    small = None
    if max(image.width, image.height) > SMALL_SIDE:
        small = _encode(image.thumbnail_image(SMALL_SIDE, height=SMALL_SIDE).copy_memory())
    return Optimised(_encode(image), file_type, small)


def _animate(content: bytes, header: pyvips.Image, frames: int) -> bytes:
    """Encode an animation as its first frame is best encoded. More frames get smaller."""
    side = min(LONGEST_SIDE, isqrt(MAX_SMALL_PIXELS // frames))
    first = _encode(_shrink(content, header, side).copy_memory(), effort=0)
    animation = _shrink(content, header, side, option_string="[n=-1]")
    return _save(animation, lossless=first[12:16] == LOSSLESS, effort=0)


def _shrink(content: bytes, header: pyvips.Image, side: int, **options: Any) -> pyvips.Image:
    """Make an image small, upright, and sRGB."""
    if header.get_typeof("icc-profile-data"):
        options["output_profile"] = "srgb"
    if header.get("vips-loader") == "pngload_buffer":  # cut off, it would go on with earlier rows
        options["option_string"] = "[fail_on=truncated]"
    return pyvips.Image.thumbnail_buffer(content, side, height=side, size="down", **options)


def _encode(image: pyvips.Image, effort: int = 4) -> bytes:
    """Encode an image: without loss if it is small, or if that takes fewer bytes at the first try."""
    if image.width * image.height <= SMALL_PIXELS:
        return _save(image, lossless=True, effort=effort)
    lossy = _save(image, lossless=False, effort=effort)
    if image.get("vips-loader") == "jpegload_buffer":
        return lossy
    if len(_save(image, lossless=True, effort=0)) > len(lossy):  # for a photo, effort takes long
        return lossy
    return _save(image, lossless=True, effort=effort)


def _save(image: pyvips.Image, *, lossless: bool, effort: int) -> bytes:
    saved: bytes = image.webpsave_buffer(Q=QUALITY, lossless=lossless, effort=effort, keep="none")
    return saved
