"""Images from strangers: made small, kept moving, or refused."""

import io
import os
import resource
import signal
import struct
import subprocess
import sys
import threading
import zlib
from array import array

import pytest
from PIL import Image, ImageChops, ImageSequence, ImageStat

from marketplace.ledger import decoder as decoder_module
from marketplace.ledger.deadline import Deadline
from marketplace.ledger.decoder import Decoder, ImagesBusy, ImageSlow
from marketplace.ledger.images import ImageUnusable, optimise
from tests.bombs import CORPUS

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
    image.load()
    assert image.info["duration"] == 80


def test_frames_keep_their_own_durations():
    first, *others = frames(3)
    content = encoded(first, "GIF", save_all=True, append_images=others, duration=[50, 300, 120])
    image, durations = opened(optimise(content)), []
    for frame in ImageSequence.Iterator(image):
        frame.load()
        durations.append(frame.info["duration"])
    assert durations == [50, 300, 120]


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "I;16B"])
def test_a_large_one_is_made_small_strip_by_strip_as_it_would_be_whole(mode):
    format = "TIFF" if mode not in ("LA", "P", "RGBA") else "PNG"
    image = (
        gradient((2900, 2100), "I").convert("I;16B")
        if mode == "I;16B"
        else gradient((2900, 2100), mode)
    )
    ours = opened(optimise(encoded(image, format))).convert("RGB")
    plain = gradient((2900, 2100), mode if mode != "I;16B" else "RGB").convert("RGB")
    whole = plain.resize((640, 463), Image.Resampling.LANCZOS, reducing_gap=2.0)
    if mode == "I;16B":
        whole = Image.new("RGB", whole.size)  # its 256 darkest levels of 65,536
    differences = ImageChops.difference(ours, whole).convert("L")
    assert ours.size == whole.size
    assert ImageStat.Stat(differences).mean[0] < 3


def test_transparency_of_a_large_one_stays():
    image = Image.new("P", (3000, 2000), 1)
    image.putpalette([0, 0, 0, 250, 250, 250])
    image.paste(0, (0, 0, 1500, 2000))
    small = opened(optimise(encoded(image, "PNG", transparency=0))).convert("RGBA")
    assert small.size == (640, 427)
    assert small.getpixel((100, 200))[3] == 0
    assert small.getpixel((500, 400)) == (250, 250, 250, 255)


@pytest.mark.parametrize("format", ["JPEG", "TIFF", "PNG", "WEBP"])
def test_a_large_one_is_turned_upright_once(format):
    exif = Image.Exif()
    exif[0x0112] = 6
    image = Image.new("RGB", (3000, 1000), "black")
    image.paste("white", (0, 0, 1500, 1000))
    small = opened(optimise(encoded(image, format, exif=exif)))
    assert small.size == (213, 640)
    assert small.getpixel((100, 10))[0] > 200  # the left is the top now
    assert small.getpixel((100, 630))[0] < 50


def test_nothing_but_pixels_is_kept():
    exif = Image.Exif()
    exif[0x010E] = "where I live"
    content = encoded(gradient(), "JPEG", exif=exif, icc_profile=b"profile" * 100)
    assert not {"exif", "icc_profile"} & opened(optimise(content)).info.keys()


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


def test_an_image_that_takes_too_long_is_ended(monkeypatch):
    monkeypatch.setattr(decoder_module, "LONG_SECONDS", 0.5)
    decoder, content = Decoder(), CORPUS["jpeg_endless"]()
    with pytest.raises(ImageSlow, match="made later"):
        decoder.optimise(content, Deadline(60), seconds=0.2)
    with pytest.raises(ImageUnusable, match="takes too long"):
        decoder.optimise(content, Deadline(60), seconds=0.5)
    with pytest.raises(ImageSlow, match="made later"):
        decoder.optimise(content, Deadline(0.5), seconds=60)
    assert decoder.optimise(encoded(gradient(), "PNG"), Deadline(60)).extension == "webp"


def test_it_does_not_wait_for_others_for_ever(monkeypatch):
    monkeypatch.setattr(decoder_module, "PATIENCE_SECONDS", 0.05)
    decoder = Decoder()
    with decoder._turns.turn("others", 0), pytest.raises(ImagesBusy):
        decoder.optimise(b"", Deadline(60), seconds=1)


def attack(decoder, harm):
    """Do something to the process while it decodes an image that keeps it busy."""
    decoder.optimise(encoded(gradient(), "PNG"), Deadline(60))
    process = decoder._process
    timer = threading.Timer(0.3, harm, (process,))
    timer.start()
    try:
        decoder.optimise(CORPUS["jpeg_endless"](), Deadline(60), seconds=60)
    finally:
        timer.join()


def test_a_process_that_the_system_ends_is_not_the_images_fault():
    decoder = Decoder()
    with pytest.raises(ImagesBusy):
        attack(decoder, lambda process: process.kill())
    assert decoder.optimise(encoded(gradient(), "PNG"), Deadline(60)).extension == "webp"


def test_a_process_that_an_image_breaks_is_the_images_fault():
    with pytest.raises(ImageUnusable, match="breaks"):
        attack(Decoder(), lambda process: process.send_signal(signal.SIGSEGV))


def test_a_process_that_can_not_be_begun_is_not_the_images_fault():
    decoder, (soft, hard) = Decoder(), resource.getrlimit(resource.RLIMIT_NOFILE)
    held = [os.open("/dev/null", os.O_RDONLY)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (held[0], hard))
    try:
        with pytest.raises(ImagesBusy):
            decoder.optimise(encoded(gradient(), "PNG"), Deadline(60))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        os.close(held[0])
    assert decoder.optimise(encoded(gradient(), "PNG"), Deadline(60)).extension == "webp"


def test_a_process_that_has_ended_meanwhile_is_begun_anew():
    decoder, content = Decoder(), encoded(gradient(), "PNG")
    decoder.optimise(content, Deadline(60))
    decoder._process.kill()
    decoder._process.wait()
    assert decoder.optimise(content, Deadline(60)).extension == "webp"


def test_ctrl_c_is_not_its_business():
    program = """
import sys
from marketplace.ledger.deadline import Deadline
from marketplace.ledger.decoder import Decoder
decoder, content = Decoder(), sys.stdin.buffer.read()
decoder.optimise(content, Deadline(60))
try:
    print(decoder._process.pid, flush=True)
    decoder._process.wait(60)
except KeyboardInterrupt:
    print(decoder._process.poll(), decoder.optimise(content, Deadline(60)).extension)
"""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, **pipes, start_new_session=True) as process:
        process.stdin.write(encoded(gradient(), "PNG"))
        process.stdin.close()
        assert process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        assert process.stdout.read() == b"None webp\n"
        assert process.stderr.read() == b""
    assert process.returncode == 0
