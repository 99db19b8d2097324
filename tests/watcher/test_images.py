"""Images from strangers: made small, kept moving, or refused."""

import io
import struct
import zlib

import pytest
from PIL import Image, ImageChops, ImageSequence, ImageStat

from harness.images import chunk, encoded
from marketplace.watcher.strangers.images import MAX_KEPT_BYTES, ImageUnusable, optimise
from tests.watcher.pictures import (
    DISPLAY_P3,
    GREY_OF_GAMMA_1,
    animated,
    frames,
    gradient,
    opened,
)


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"])
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


def test_transparency_stays():
    image = Image.new("RGBA", (50, 50), (255, 0, 0, 0))
    assert opened(optimise(encoded(image, "PNG"))).convert("RGBA").getpixel((5, 5))[3] == 0


@pytest.mark.parametrize(("format", "mode"), [("PNG", "I;16"), ("TIFF", "I"), ("TIFF", "F")])
def test_grey_of_many_bits_is_refused_not_shown_white(format, mode):
    with pytest.raises(ImageUnusable, match="more than 8 bits"):
        optimise(encoded(Image.new(mode, (16, 16)), format))


def test_an_image_is_turned_upright():
    exif = Image.Exif()
    exif[0x0112] = 6
    assert opened(optimise(encoded(gradient((80, 40)), "JPEG", exif=exif))).size == (40, 80)


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
    small = opened(optimise(animated(images, "PNG", icc_profile=DISPLAY_P3)))
    assert small.n_frames == 3
    assert small.convert("RGB").getpixel((8, 8)) == pytest.approx((0, 205, 0), abs=6)


def test_grey_becomes_srgb():
    image = Image.new("L", (20, 20), 55)
    assert shown_colour(image, "PNG", icc_profile=GREY_OF_GAMMA_1) == pytest.approx(
        [128] * 3, abs=6
    )


@pytest.mark.parametrize("icc_profile", [b"profile", GREY_OF_GAMMA_1, DISPLAY_P3[:200]])
def test_a_profile_that_does_not_fit_is_left_out(icc_profile):
    image = Image.new("RGB", (20, 20), (50, 200, 50))
    assert shown_colour(image, "PNG", icc_profile=icc_profile) == pytest.approx(
        (50, 200, 50), abs=6
    )


def test_transparency_stays_beside_a_profile():
    image = Image.new("RGBA", (50, 50), (50, 200, 50, 100))
    small = opened(optimise(encoded(image, "PNG", icc_profile=DISPLAY_P3)))
    assert small.getpixel((5, 5))[3] == 100


def test_a_camera_s_jpeg_with_a_second_picture_is_a_jpeg():
    content = encoded(gradient(), "MPO", save_all=True, append_images=[gradient((64, 64))])
    assert optimise(content).file_type == "image/jpeg"


@pytest.mark.parametrize(
    ("format", "options", "plays"),
    [
        ("GIF", {}, 1),
        ("GIF", {"loop": 0}, 0),
        ("GIF", {"loop": 1}, 2),
        ("GIF", {"loop": 65_535}, 65_535),
        ("PNG", {"loop": 0}, 0),
        ("PNG", {"loop": 3}, 3),
        ("PNG", {"loop": 100_000}, 65_535),
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
    assert optimised.file_type == "image/webp"


def test_the_transparency_of_a_large_webp_stays():
    image = Image.new("RGBA", (2900, 2900), (0, 0, 0, 0))
    image.paste((250, 0, 0, 255), (0, 0, 2900, 1450))
    small = opened(optimise(encoded(image, "WEBP", lossless=True, method=0))).convert("RGBA")
    assert small.getpixel((9, 9)) == pytest.approx((250, 0, 0, 255), abs=6)
    assert small.getpixel((9, 630))[3] == 0


def test_a_large_webp_that_is_cut_is_refused():
    content = encoded(gradient((2900, 2900)), "WEBP", lossless=True, method=0)
    with pytest.raises(ImageUnusable, match="can't be read"):
        optimise(content[: len(content) // 2])


@pytest.mark.parametrize("format", ["GIF", "WEBP", "PNG"])
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


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr"])
def test_a_large_one_is_made_small_strip_by_strip_as_it_would_be_whole(mode):
    format = "TIFF" if mode not in ("LA", "P", "RGBA") else "PNG"
    ours = opened(optimise(encoded(gradient((2900, 2100), mode), format))).convert("RGB")
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
    exif = Image.Exif()
    exif[0x0112] = 6
    image = Image.new("RGB", (3000, 1000), "black")
    image.paste("white", (0, 0, 1500, 1000))
    small = opened(optimise(encoded(image, format, exif=exif)))
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
    noise = [Image.effect_noise((640, 640), 200).convert("RGB") for _ in range(9)]
    optimised = optimise(animated(noise, "PNG"))
    assert getattr(opened(optimised), "n_frames", 1) == 1
    assert len(optimised.content) <= MAX_KEPT_BYTES


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
        b"\x89PNG\r\n\x1a\n",
        encoded(gradient(), "PNG")[:2000],
        encoded(gradient(), "JPEG")[:500],
        png_bomb(60_000, 60_000),
        encoded(Image.new("RGB", (8_000, 6_000)), "PNG"),
        b"GIF89a" + b"\xff" * 100,
    ],
)
def test_an_image_that_cannot_be_shown_is_refused(content):
    with pytest.raises(ImageUnusable):
        optimise(content)
