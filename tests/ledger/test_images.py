"""Images from strangers: made small, kept moving, or refused."""

import io
import struct
import time
import zlib
from array import array

import pytest
from PIL import Image

from marketplace.ledger import decoder as decoder_module
from marketplace.ledger.deadline import Deadline
from marketplace.ledger.decoder import Decoder, ImagesBusy
from marketplace.ledger.images import ImageUnusable, optimise

pytestmark = pytest.mark.once("no statement is asked")


def encoded(image, format, **options):
    content = io.BytesIO()
    image.save(content, format, **options)
    return content.getvalue()


def opened(optimised):
    return Image.open(io.BytesIO(optimised.content))


def gradient(size=(1600, 900), mode="RGB"):
    return Image.radial_gradient("L").resize(size).convert(mode)


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"])
def test_it_becomes_a_small_webp(format):
    optimised = optimise(encoded(gradient(), format))
    image = opened(optimised)
    assert image.format == "WEBP"
    assert image.size == (640, 360)
    assert optimised.extension == "webp"
    assert optimised.file_type == f"image/{format.lower()}"
    assert len(optimised.content) < 60_000


def test_a_small_one_is_not_made_larger():
    assert opened(optimise(encoded(gradient((32, 16)), "PNG"))).size == (32, 16)


def test_transparency_stays():
    image = Image.new("RGBA", (50, 50), (255, 0, 0, 0))
    assert opened(optimise(encoded(image, "PNG"))).convert("RGBA").getpixel((5, 5))[3] == 0


def wide(mode, *levels):
    """Squares of grey in more than 8 bits, side by side."""
    row = [level for level in levels for _ in range(16)]
    content = array({"I;16": "H", "I": "i", "F": "f"}[mode], row * 16).tobytes()
    return Image.frombytes(mode, (len(row), 16), content)


def greys(optimised):
    image = opened(optimised)
    return [image.convert("L").getpixel((x, 8)) for x in range(8, image.width, 16)]


@pytest.mark.parametrize(
    ("format", "mode", "levels"),
    [
        ("PNG", "I;16", (0, 0x4000, 0x8000, 0xFFFF)),
        ("TIFF", "I;16", (0, 0x4000, 0x8000, 0xFFFF)),
        ("TIFF", "I", (-(2**31), -(2**30), 0, 2**31 - 1)),
        ("TIFF", "F", (0.0, 0.25, 0.5, 1.0)),
    ],
)
def test_grey_of_many_bits_keeps_its_shades(format, mode, levels):
    shades = greys(optimise(encoded(wide(mode, *levels), format)))
    for shade, expected in zip(shades, (0, 64, 128, 255), strict=True):
        assert abs(shade - expected) <= 4, shades


def test_16_bits_in_either_order_are_the_same():
    image = wide("I;16", 0, 0x8000, 0xFFFF)
    assert greys(optimise(encoded(image, "TIFF"))) == greys(
        optimise(encoded(image, "TIFF", big_endian=True))
    )


def test_one_shade_of_many_bits_is_shown():
    assert opened(optimise(encoded(wide("F", 7.5), "TIFF"))).size == (16, 16)


def test_the_transparent_shade_of_16_bits_stays_transparent():
    content = encoded(wide("I;16", 0, 0x4000, 0xFFFF), "PNG", transparency=0x4000)
    image = opened(optimise(content)).convert("RGBA")
    assert [image.getpixel((x, 8))[3] for x in (8, 24, 40)] == [255, 0, 255]


def test_it_is_turned_upright():
    exif = Image.Exif()
    exif[0x0112] = 6
    assert opened(optimise(encoded(gradient((80, 40)), "JPEG", exif=exif))).size == (40, 80)


def frames(count, size=(64, 64)):
    return [Image.new("RGB", size, (n * 7 % 256, 90, 40)) for n in range(count)]


@pytest.mark.parametrize("format", ["GIF", "WEBP", "PNG"])
def test_an_animation_stays_animated(format):
    first, *others = frames(5)
    content = encoded(first, format, save_all=True, append_images=others, duration=80)
    image = opened(optimise(content))
    assert image.n_frames == 5
    assert image.format == "WEBP"


def test_a_long_animation_stays_as_it_is():
    first, *others = frames(200, (8, 8))
    content = encoded(first, "GIF", save_all=True, append_images=others, duration=40)
    assert optimise(content) == (content, "gif", "image/gif")


def png_bomb(width, height):
    """A few hundred bytes of PNG that claim to be very large."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0" * 1000))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        b"<html></html>",
        b"%PDF-1.7",
        b"\x89PNG\r\n\x1a\n",
        encoded(gradient(), "PNG")[:2000],
        encoded(gradient(), "JPEG")[:500],
        png_bomb(60_000, 60_000),
        encoded(Image.new("RGB", (8_000, 6_000)), "PNG"),
        b"GIF89a" + b"\xff" * 100,
    ],
)
def test_what_can_not_be_shown_is_refused(content):
    with pytest.raises(ImageUnusable):
        optimise(content)


def test_a_process_of_its_own_does_the_same():
    decoder = Decoder()
    content = encoded(gradient(), "PNG")
    assert decoder.optimise(content, Deadline(60)) == optimise(content)
    with pytest.raises(ImageUnusable, match="not an image that can be shown"):
        decoder.optimise(b"<svg/>", Deadline(60))
    assert decoder.optimise(content, Deadline(60)).extension == "webp"


def endless_jpeg():
    """A small JPEG that takes a decoder minutes: its last scan, again and again."""
    content = encoded(gradient((2000, 2000)), "JPEG", progressive=True)
    last_scan = content[content.rindex(b"\xff\xda") : -2]
    return content[:-2] + last_scan * 3000 + content[-2:]


def test_an_image_that_takes_too_long_is_ended():
    decoder, content = Decoder(), endless_jpeg()
    started = time.monotonic()
    with pytest.raises(ImageUnusable, match="takes too long"):
        decoder.optimise(content, Deadline(1.5))
    assert time.monotonic() - started < 30  # it would take minutes
    assert decoder.optimise(encoded(gradient(), "PNG"), Deadline(60)).extension == "webp"


def test_it_does_not_wait_for_others_for_ever(monkeypatch):
    monkeypatch.setattr(decoder_module, "PATIENCE_SECONDS", 0.05)
    decoder = Decoder()
    with decoder._lock, pytest.raises(ImagesBusy):
        decoder.optimise(b"", Deadline(60))
