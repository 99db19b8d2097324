"""Images from strangers: made small, kept moving, or refused."""

import io
import struct
import subprocess
import sys
import zlib
from array import array

import pytest
from PIL import Image, ImageChops, ImageSequence, ImageStat

from marketplace.watcher.strangers import confine, decoding
from marketplace.watcher.strangers.decoding import ImagesBusy, ImageSlow, decode
from marketplace.watcher.strangers.images import MAX_KEPT_BYTES, ImageUnusable, optimise
from stress.bombs import CORPUS

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


def test_of_a_long_animation_the_first_frame_is_kept():
    first, *others = frames(200, (8, 8))
    content = encoded(first, "GIF", save_all=True, append_images=others, duration=40)
    image = opened(optimise(content))
    assert getattr(image, "n_frames", 1) == 1
    assert ImageStat.Stat(image.convert("RGB")).mean == pytest.approx([0, 90, 40], abs=8)


def test_of_an_animation_that_stays_large_the_first_frame_is_kept():
    noise = [Image.effect_noise((640, 640), 200).convert("RGB") for _ in range(12)]
    content = encoded(noise[0], "PNG", save_all=True, append_images=noise[1:])
    optimised = optimise(content)
    assert getattr(opened(optimised), "n_frames", 1) == 1
    assert len(optimised.content) <= MAX_KEPT_BYTES


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
    content = encoded(gradient(), "PNG")
    assert decode(content) == optimise(content)
    with pytest.raises(ImageUnusable, match="not an image that can be shown"):
        decode(b"<svg/>")


@pytest.mark.parametrize(
    ("format", "options"),
    [(format, {}) for format in ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")]
    + [(format, {"save_all": True, "append_images": frames(3)}) for format in ("GIF", "MPO")],
)
def test_the_confined_process_has_all_that_it_needs(format, options):
    """What Pillow would import later, it can not."""
    content = encoded(frames(1)[0], format, **options)
    assert decode(content) == optimise(content)


def test_an_image_that_takes_too_long_is_ended(monkeypatch):
    monkeypatch.setattr(decoding, "LONG_SECONDS", 0.5)
    content = CORPUS["jpeg_endless"]()
    with pytest.raises(ImageSlow, match="made later"):
        decode(content, 0.2)
    with pytest.raises(ImageUnusable, match="takes too long"):
        decode(content, 0.5)


@pytest.fixture
def python(tmp_path, monkeypatch):
    """Have this shell program run in place of the one that decodes."""

    def run(program):
        path = tmp_path / "python"
        path.write_text(f"#!/bin/sh\n{program}\n")
        path.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(path))

    return run


def test_a_process_that_the_system_ends_is_not_the_images_fault(python):
    python("kill -KILL $$")
    with pytest.raises(ImagesBusy):
        decode(b"")


def test_a_process_that_an_image_breaks_is_the_images_fault(python):
    python("kill -SEGV $$")
    with pytest.raises(ImageUnusable, match="breaks"):
        decode(b"")


def test_a_process_that_can_not_be_begun_is_not_the_images_fault(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(ImagesBusy, match="no image can be decoded now"):
        decode(b"")


def test_a_process_that_says_more_than_an_image_is_not_believed(python):
    python("head -c 3000000 /dev/zero")
    with pytest.raises(ImageUnusable, match="breaks"):
        decode(b"")


ATTEMPTS = """
import errno, os, resource, socket, subprocess, sys
sys.path.append(sys.argv[1])
import confine
confine.end_with_parent()
confine.confine()
def tried(attempt):
    try:
        attempt()
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.EPERM, errno.EAGAIN)
    except ValueError:  # a limit that may not be raised
        return True
print(*map(tried, (
    lambda: open("/etc/passwd"),
    lambda: open("/proc/self/environ"),
    lambda: socket.socket(),
    lambda: (os.close(0), socket.socket()),
    lambda: os.fork(),
    lambda: os.kill(os.getppid(), 0),
    lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)) or open("/etc/passwd"),
    lambda: os.setuid(0) or open("/etc/passwd"),
    lambda: os.execv("/bin/true", ["true"]),
)), os.environ.get("PGPASSWORD"))
"""


@pytest.mark.skipif(not confine.is_filtered(), reason="needs seccomp, on x86_64 or aarch64")
def test_the_confined_process_opens_nothing_and_reaches_nobody(monkeypatch):
    folder = str(decoding.PROGRAM.parent)
    command = [sys.executable, "-I", "-c", ATTEMPTS, folder]
    monkeypatch.setenv("PGPASSWORD", "secret")
    run = subprocess.run(
        command, env=decoding.ALLOCATOR, capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["True"] * 9 + ["None"]


def test_it_is_given_no_environment(python, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    python('echo \'{"file_type": "image/png"}\'; env')
    assert b"MALLOC" in decode(b"").content
    assert b"secret" not in decode(b"").content
