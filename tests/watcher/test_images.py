"""Images from strangers: made small, kept moving, or refused."""

import io
import random
import struct
import zlib
from pathlib import Path
from typing import NamedTuple

import pytest
import pyvips
from PIL import Image, ImageChops, ImageSequence, ImageStat

from harness.images import chunk, encoded
from marketplace.watcher.strangers.decoder import MAX_KEPT_BYTES, ImageUnusable, optimise
from tests.watcher.pictures import DISPLAY_P3, GREY_OF_GAMMA_1, animated, frames, gradient, opened

CASES = Path(__file__).with_name("cases")
RED, GREEN, LIGHT_GREY = (200, 30, 30), (120, 200, 80), (188, 188, 188)
PHOTO = encoded(gradient(), "JPEG")
PNG = encoded(Image.new("RGB", (24, 24), RED), "PNG")


class Shown(NamedTuple):
    """How an image is shown: its colour at (8, 8), its frames, and how often they play (0: forever)."""

    size: tuple[int, int]
    colour: tuple[int, ...]
    type: str = "image/png"
    frames: int = 1
    plays: int | None = None


def on_its_side():
    exif = Image.Exif()
    exif[0x0112] = 6
    return exif


def jpeg(colour, mode="RGB", **options):
    return encoded(Image.new(mode, (24, 24), colour), "JPEG", quality=95, **options)


def with_chunks(*chunks):
    return PNG[:33] + b"".join(chunks) + PNG[33:]


def with_segment(marker, data):
    return jpeg(RED)[:2] + bytes([0xFF, marker]) + struct.pack(">H", 31) + data + jpeg(RED)[2:]


def damaged(kind, data):
    return chunk(kind, data)[:-1] + b"\0"


SMALL_RED = Shown((24, 24), RED)
RED_JPEG = Shown((24, 24), RED, "image/jpeg")
TABLE = {
    # What sound programs write
    "camera-multi-picture.jpg": Shown((640, 480), (9, 120, 201), "image/jpeg"),
    "display-p3.jpg": Shown((600, 600), (0, 205, 0), "image/jpeg"),
    "still-3000x3000.webp": Shown((640, 640), (251, 251, 251), "image/webp"),
    "gif-loop-None.gif": Shown((200, 200), (255, 0, 0), "image/gif", 3, 1),
    "gif-frame-beyond-canvas.gif": Shown((20, 20), (255, 0, 0), "image/gif", 2, 0),
    "grey-profile-LA.png": Shown((32, 32), LIGHT_GREY),
    "pixel-art-one-red-pixel.png": Shown((24, 24), (0, 0, 255)),
    # What strangers' tools damage
    "png-iTXt-1.2MB.png": SMALL_RED,
    "png-short-cHRM.png": SMALL_RED,
    "png-short-gAMA.png": SMALL_RED,
    "png-short-pHYs.png": SMALL_RED,
    "png-wrong-CRC-in-gAMA.png": SMALL_RED,
    "png-wrong-CRC-in-pHYs.png": SMALL_RED,
    "png-wrong-CRC-in-prVt.png": SMALL_RED,
    "png-wrong-CRC-in-tEXt.png": SMALL_RED,
    "png-wrong-CRC-in-tIME.png": SMALL_RED,
    "png-zTXt-1.2MB.png": SMALL_RED,
    "png-empty-sRGB.png": SMALL_RED,
    "png-raw-profile-broken.png": SMALL_RED,
    # What libvips takes for sRGB, or does not play
    "png-gamma-1.0.png": Shown((32, 32), (128, 128, 128)),
    "png-adobe-rgb-by-chunks.png": Shown((32, 32), GREEN),
    "apng-static-image-is-no-frame.png": Shown((32, 32), (255, 0, 0)),
}
MADE = {
    "JPEG without its end": (jpeg(RED)[:-2], RED_JPEG),
    "JPEG with bytes after its end": (jpeg(RED) + b"more", RED_JPEG),
    "JPEG that is cut off": (
        PHOTO[: len(PHOTO) // 2],
        Shown((640, 360), (247, 247, 247), "image/jpeg"),
    ),
    "PNG without its end": (PNG[:-12], SMALL_RED),
    "CMYK": (jpeg((0, 0, 0, 0), "CMYK"), Shown((24, 24), (255, 255, 255), "image/jpeg")),
    "JPEG with a broken profile": (jpeg(RED, icc_profile=b"profile" * 9), RED_JPEG),
    "JPEG with another profile's": (jpeg(RED, icc_profile=GREY_OF_GAMMA_1), RED_JPEG),
    "JPEG with broken EXIF": (jpeg(RED, exif=b"Exif\0\0" + bytes(40)), RED_JPEG),
    **{
        f"JPEG with noise in {name}": (
            with_segment(marker, name.encode() + random.Random(name).randbytes(29 - len(name))),
            RED_JPEG,
        )
        for marker, name in [
            (0xE0, "JFIF\0"),
            (0xE1, "Exif\0\0II*\0"),
            (0xE2, "ICC_PROFILE\0\1"),
            (0xE2, "MPF\0MM"),
            (0xE4, "any"),
            (0xED, "Photoshop 3.0\0"),
            (0xFE, "comment"),
        ]
    },
    **{
        f"PNG with a damaged {kind}": (with_chunks(damaged(kind.encode(), bytes(size))), SMALL_RED)
        for kind in ("cICP", "iCCP", "cHRM", "bKGD", "tRNS", "zTXt", "iTXt", "eXIf", "acTL", "fdAT")
        for size in (0, 9, 300)
    },
    "PNG of 16 bits": (
        encoded(Image.new("I;16", (24, 24), 257 * 90), "PNG"),
        Shown((24, 24), (90, 90, 90)),
    ),
    "PNG by cICP": (with_chunks(chunk(b"cICP", b"\x0c\x0d\0\1")), SMALL_RED),
    "AVIF": (
        encoded(Image.new("RGB", (700, 350), RED), "AVIF"),
        Shown((640, 320), RED, "image/avif"),
    ),
    "AVIF in Display P3": (
        encoded(Image.new("RGB", (64, 64), (50, 200, 50)), "AVIF", icc_profile=DISPLAY_P3),
        Shown((64, 64), (0, 205, 0), "image/avif"),
    ),
    "AVIF on its side": (
        encoded(Image.new("RGB", (80, 40), RED), "AVIF", exif=on_its_side()),
        Shown((40, 80), RED, "image/avif"),
    ),
    "TIFF of one bit": (
        encoded(Image.new("1", (24, 24), 1), "TIFF", compression="group4"),
        Shown((24, 24), (255, 255, 255), "image/tiff"),
    ),
    "TIFF without loss": (
        encoded(Image.new("RGB", (24, 24), RED), "TIFF", compression="tiff_lzw"),
        Shown((24, 24), RED, "image/tiff"),
    ),
}


def assert_shown(content, expected):
    optimised = optimise(content)
    image = opened(optimised)
    count = getattr(image, "n_frames", 1)
    plays = image.info["loop"] if count > 1 else None
    colour = image.convert("RGB").getpixel((8, 8))
    shown = Shown(image.size, colour, optimised.file_type, count, plays)
    assert shown == expected._replace(colour=pytest.approx(expected.colour, abs=6))


@pytest.mark.parametrize("name", TABLE)
def test_a_file_as_people_meet_it_is_shown(name):
    assert_shown((CASES / name).read_bytes(), TABLE[name])


def test_every_image_of_the_cases_is_in_the_table():
    assert {path.name for path in CASES.iterdir()} == {*TABLE}


@pytest.mark.parametrize("name", MADE)
def test_it_shows_damaged_and_rare_kinds_of_images(name):
    assert_shown(*MADE[name])


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP", "TIFF", "AVIF"])
def test_it_becomes_a_small_webp(format):
    optimised = optimise(encoded(gradient(), format))
    image = opened(optimised)
    assert image.format == "WEBP"
    assert image.size == (640, 360)
    assert optimised.file_type == f"image/{format.lower()}"
    assert len(optimised.content) < 60_000
    small = Image.open(io.BytesIO(optimised.small))
    assert (small.format, small.size) == ("WEBP", (320, 180))
    assert len(optimised.small) < len(optimised.content)


def test_a_small_one_is_not_made_larger():
    optimised = optimise(encoded(gradient((32, 16)), "PNG"))
    assert opened(optimised).size == (32, 16)
    assert optimised.small is None


BLOCKED = 32  # of VipsOperationFlags


def test_only_image_formats_of_the_list_are_read():
    """Of SVG, PDF and whatever else a libvips can read, nothing is read."""
    loaders = []

    def note(kind, *_):
        loaders.append(pyvips.nickname_find(kind))
        pyvips.type_map(kind, note)
        return pyvips.ffi.NULL

    def is_open(loader):
        operation = pyvips.Operation.new_from_name(loader)
        return not pyvips.vips_lib.vips_operation_get_flags(operation.pointer) & BLOCKED

    pyvips.type_map(pyvips.type_from_name("VipsForeignLoad"), note)
    opened = {each for each in loaders if not each.endswith("_base") and is_open(each)}
    formats = ("png", "jpeg", "gif", "webp", "tiff", "heif")
    assert "svgload_buffer" in loaders
    assert opened == {f"{each}load{way}" for each in formats for way in ("", "_buffer", "_source")}


def test_an_image_keeps_its_transparency():
    image = Image.new("RGBA", (50, 50), (255, 0, 0, 0))
    assert opened(optimise(encoded(image, "PNG"))).convert("RGBA").getpixel((5, 5))[3] == 0


ADAPTIVE = Image.Palette.ADAPTIVE


def shown_colour(image, format, **options):
    content = encoded(image, format, **options)
    return opened(optimise(content)).convert("RGB").getpixel((8, 8))


@pytest.mark.parametrize(
    ("format", "mode", "options"),
    [
        ("JPEG", "RGB", {"quality": 95}),
        ("PNG", "RGB", {}),
        ("PNG", "P", {}),
        ("PNG", "RGBA", {}),
        ("WEBP", "RGB", {"lossless": True}),
        ("TIFF", "RGB", {}),
    ],
)
def test_colours_become_srgb_before_the_profile_is_dropped(format, mode, options):
    image = Image.new("RGB", (700, 20), (50, 200, 50)).convert(mode, palette=ADAPTIVE)
    colour = shown_colour(image, format, icc_profile=DISPLAY_P3, **options)
    assert colour == pytest.approx((0, 205, 0), abs=6)


def test_the_frames_of_an_animation_become_srgb():
    images = [Image.new("RGB", (20, 20), (50, 200, n)) for n in (50, 120, 190)]
    small = opened(optimise(animated(images, "WEBP", lossless=True, icc_profile=DISPLAY_P3)))
    assert small.n_frames == 3
    assert small.convert("RGB").getpixel((8, 8)) == pytest.approx((0, 205, 0), abs=6)


def test_transparency_stays_beside_a_profile():
    image = Image.new("RGBA", (50, 50), (50, 200, 50, 100))
    small = opened(optimise(encoded(image, "PNG", icc_profile=DISPLAY_P3)))
    assert small.getpixel((5, 5))[3] == 100


@pytest.mark.parametrize(
    ("format", "options", "plays"),
    [
        ("GIF", {}, 1),
        ("GIF", {"loop": 0}, 0),
        ("GIF", {"loop": 1}, 2),
        ("WEBP", {"loop": 0}, 0),
        ("WEBP", {"loop": 2}, 2),
    ],
)
def test_an_animation_is_played_as_often_as_its_file_says(format, options, plays):
    assert opened(optimise(animated(frames(3), format, **options))).info["loop"] == plays


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
@pytest.mark.parametrize("lossless", [True, False])
def test_a_large_webp_is_made_small(mode, lossless):
    optimised = optimise(encoded(gradient((3000, 2900), mode), "WEBP", lossless=lossless, method=0))
    assert opened(optimised).size == (640, 619)


@pytest.mark.parametrize("format", ["GIF", "WEBP"])
def test_an_animation_stays_animated(format):
    image = opened(optimise(animated(frames(5), format, duration=80)))
    assert image.n_frames == 5
    assert image.format == "WEBP"
    image.load()
    assert image.info["duration"] == 80


def test_frames_keep_their_own_durations():
    image, durations = opened(optimise(animated(frames(3), duration=[50, 300, 120]))), []
    for frame in ImageSequence.Iterator(image):
        frame.load()
        durations.append(frame.info["duration"])
    assert durations == [50, 300, 120]


@pytest.mark.parametrize("mode", ["L", "LA", "P", "RGB", "RGBA"])
def test_a_large_image_looks_the_same_when_it_is_made_smaller(mode):
    ours = opened(optimise(encoded(gradient((2900, 2100), mode), "PNG"))).convert("RGB")
    plain = gradient((2900, 2100), mode).convert("RGB")
    whole = plain.resize((640, 463), Image.Resampling.LANCZOS, reducing_gap=2.0)
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
    image = Image.new("RGB", (3000, 1000), "black")
    image.paste("white", (0, 0, 1500, 1000))
    small = opened(optimise(encoded(image, format, exif=on_its_side())))
    assert small.size == (213, 640)
    assert small.getpixel((100, 10))[0] > 200  # the left is the top now
    assert small.getpixel((100, 630))[0] < 50


def test_exif_and_profile_are_dropped():
    exif = Image.Exif()
    exif[0x010E] = "where I live"
    content = encoded(gradient(), "JPEG", exif=exif, icc_profile=b"profile" * 100)
    assert not {"exif", "icc_profile"} & opened(optimise(content)).info.keys()


def test_of_a_long_animation_the_first_frame_is_kept():
    image = opened(optimise(animated(frames(200, (8, 8)), duration=40)))
    assert getattr(image, "n_frames", 1) == 1
    assert ImageStat.Stat(image.convert("RGB")).mean == pytest.approx([0, 90, 40], abs=8)


def test_an_animation_of_many_frames_is_smaller():
    image = opened(optimise(animated(frames(100, (600, 100)), duration=40)))
    assert (image.n_frames, image.size) == (100, (447, 74))


def test_of_an_animation_that_stays_large_the_first_frame_is_kept():
    noise = [Image.effect_noise((640, 640), 200).convert("RGB") for _ in range(12)]
    optimised = optimise(animated(noise, "WEBP", quality=100, method=0))
    assert getattr(opened(optimised), "n_frames", 1) == 1
    assert len(optimised.content) <= MAX_KEPT_BYTES


def art(size, scale=1):
    """Pixel art: a red pixel on blue, and some of few colours."""
    rng, image = random.Random(7), Image.new("RGB", (size, size), (0, 0, 255))
    for _ in range(size):
        image.putpixel((rng.randrange(size), rng.randrange(size)), (rng.choice((0, 255)), 255, 0))
    image.putpixel((5, 5), (255, 0, 0))
    return image.resize((size * scale, size * scale), Image.Resampling.NEAREST)


@pytest.mark.parametrize(("size", "scale"), [(24, 1), (64, 1), (24, 20), (200, 1)])
@pytest.mark.parametrize("format", ["PNG", "GIF"])
def test_pixel_art_keeps_its_colours_exactly(size, scale, format):
    image = art(size, scale)
    content = encoded(image, format)
    shown = optimise(content)
    assert ImageChops.difference(opened(shown).convert("RGB"), image).getbbox() is None
    assert len(shown.content) <= len(content) + 50


def test_animated_pixel_art_keeps_its_colours_exactly():
    images = [art(24, 10), art(12, 20), art(48, 5)]
    shown = opened(optimise(animated(images, "GIF", duration=80)))
    for number, image in enumerate(images):
        shown.seek(number)
        assert ImageChops.difference(shown.convert("RGB"), image).getbbox() is None


@pytest.mark.parametrize(
    ("image", "format"),
    [(Image.effect_noise((600, 400), 60).convert("RGB"), "PNG"), (art(24, 20), "JPEG")],
)
def test_a_photo_and_what_has_lost_already_stay_lossy(image, format):
    assert optimise(encoded(image, format)).content[12:16] == b"VP8 "


def png_bomb(width, height):
    """A few hundred bytes of PNG that claim to be very large."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
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
        b"%PDF-1.4\n",
        b"\x89PNG\r\n\x1a\n",
        PNG[:33] + PNG[-12:],  # without a picture
        PHOTO[:500],
        encoded(gradient(), "PNG")[:20_000],
        png_bomb(60_000, 60_000),
        b"GIF89a" + b"\xff" * 100,
        encoded(gradient(), "BMP"),
    ],
)
def test_an_image_that_cannot_be_shown_is_refused(content):
    with pytest.raises(ImageUnusable):
        optimise(content)
