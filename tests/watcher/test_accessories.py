"""What is not the picture never refuses the picture: damaged texts, colours, orientation and frames."""

import random
import struct
import zlib

import pytest
from PIL import Image, ImageChops

from harness.images import chunk, encoded, tiff
from marketplace.watcher.strangers.images import ImageUnusable, optimise
from tests.watcher.pictures import DISPLAY_P3, GREY_OF_GAMMA_1, animated, frames, opened

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # Pillow's, of what is damaged

RED = (200, 30, 30)
PNG = encoded(Image.new("RGB", (24, 24), RED), "PNG")
HEAD, IDAT = PNG[:33], PNG[33:-12]
END = PNG[-12:]
BEFORE, AFTER = len(HEAD), len(HEAD + IDAT)
TEXT = zlib.compress(b"x" * 1_200_000)


def with_chunk(*chunks, at=BEFORE):
    return PNG[:at] + b"".join(chunks) + PNG[at:]


def damaged(kind, data):
    whole = bytearray(chunk(kind, data))
    whole[-1] ^= 1
    return bytes(whole)


def of_length(kind, data, length):
    """A chunk that says another length than it has."""
    whole = chunk(kind, data)
    return struct.pack(">I", length) + whole[4:]


def assert_shown(content, colour=RED, within=2):
    image = opened(optimise(content)).convert("RGB")
    assert image.getpixel((8, 8)) == pytest.approx(colour, abs=within)


SOUND = {
    b"gAMA": struct.pack(">I", 45455),
    b"cHRM": struct.pack(">8I", 31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000),
    b"sRGB": b"\0",
    b"iCCP": b"icc\0\0" + zlib.compress(DISPLAY_P3),
    b"cICP": b"\x0c\x0d\0\1",
    b"pHYs": struct.pack(">IIB", 2835, 2835, 1),
    b"tIME": b"\x07\xea\1\1\0\0\0",
    b"tEXt": b"key\0value",
    b"zTXt": b"key\0\0" + zlib.compress(b"value"),
    b"iTXt": b"key\0\0\0\0\0value",
    b"eXIf": b"MM\0*\0\0\0\x08\0\0",
    b"bKGD": b"\0\0\0\0\0\0",
    b"tRNS": b"\0\xc8\0\x1e\0\x1e",
    b"acTL": struct.pack(">II", 2, 0),
    b"fcTL": bytes(26),
    b"fdAT": bytes(40),
    b"prVt": b"private",
}


@pytest.mark.parametrize("kind", SOUND)
@pytest.mark.parametrize("at", [BEFORE, AFTER])
def test_a_damaged_chunk_counts_as_absent(kind, at):
    for data in (SOUND[kind], SOUND[kind][:1], b"", SOUND[kind] * 5):
        assert_shown(with_chunk(damaged(kind, data), at=at))
    for length in (0, 3, 5_000, 2**31 + 7):
        assert_shown(with_chunk(of_length(kind, SOUND[kind], length), at=at))


@pytest.mark.parametrize(
    "kind", [kind for kind in SOUND if kind not in (b"iCCP", b"cICP", b"tRNS")]
)
def test_a_chunk_of_the_wrong_size_counts_as_absent(kind):
    assert_shown(with_chunk(chunk(kind, SOUND[kind])))
    assert_shown(with_chunk(chunk(kind, SOUND[kind][:1])))
    assert_shown(with_chunk(chunk(kind, b"")))


@pytest.mark.parametrize(
    "text",
    [
        chunk(b"zTXt", b"parameters\0\0" + TEXT),
        chunk(b"iTXt", b"parameters\0\1\0\0\0" + TEXT),
        chunk(b"tEXt", b"parameters\0" + b"x" * 1_200_000),
        chunk(b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(b"\nexif\n  9\nnothing")),
    ],
)
@pytest.mark.parametrize("at", [BEFORE, AFTER])
def test_a_generators_notes_do_not_count(text, at):
    assert_shown(with_chunk(text, at=at))


def test_the_picture_itself_must_be_sound():
    for content in (
        HEAD + END,
        damaged(b"IHDR", HEAD[16:-4]).join((PNG[:8], IDAT + END)),
        PNG[: AFTER - 30],
    ):
        with pytest.raises(ImageUnusable):
            optimise(content)


def test_transparency_and_orientation_are_kept():
    transparent = opened(optimise(with_chunk(chunk(b"tRNS", SOUND[b"tRNS"])))).convert("RGBA")
    assert transparent.getpixel((8, 8))[3] == 0
    exif = Image.Exif()
    exif[0x0112] = 6
    assert opened(optimise(encoded(Image.new("RGB", (80, 40)), "PNG", exif=exif))).size == (40, 80)


@pytest.mark.parametrize("format", ["JPEG", "WEBP"])
def test_random_bytes_in_exif_and_profile_does_not_count(format):
    rng, image = random.Random(format), Image.new("RGB", (60, 40), RED)
    for _ in range(50):
        exif, profile = (rng.choice((b"", b"Exif\0\0")) + rng.randbytes(40) for _ in range(2))
        within = 4  # a JPEG is not exact
        assert_shown(encoded(image, format, exif=exif, icc_profile=profile), within=within)


GREY = Image.new("RGB", (32, 32), (128, 128, 128))
ADOBE = struct.pack(">8I", 31270, 32900, 64000, 33000, 21000, 71000, 15000, 6000)
COLOUR = Image.new("RGB", (32, 32), (120, 200, 80))
LINEAR = chunk(b"gAMA", struct.pack(">I", 100_000))
TWO_POINT_TWO = chunk(b"gAMA", struct.pack(">I", 45471))
NO_PROFILE = chunk(b"iCCP", b"icc\0\0" + zlib.compress(b"no profile"))
P3_PROFILE = chunk(b"iCCP", SOUND[b"iCCP"])
P3_COLOUR, ADOBE_COLOUR = (90, 204, 54), (51, 201, 67)


@pytest.mark.parametrize(
    ("image", "chunks", "colour"),
    [
        (GREY, [LINEAR], (188, 188, 188)),
        (GREY.convert("L"), [LINEAR], (188, 188, 188)),
        (GREY.convert("LA"), [LINEAR], (188, 188, 188)),
        (GREY.convert("P", palette=Image.Palette.ADAPTIVE), [LINEAR], (188, 188, 188)),
        (GREY.convert("RGBA"), [LINEAR], (188, 188, 188)),
        (COLOUR, [TWO_POINT_TWO, chunk(b"cHRM", ADOBE)], ADOBE_COLOUR),
        (COLOUR, [chunk(b"cHRM", ADOBE)], (120, 200, 80)),
        (COLOUR, [TWO_POINT_TWO], (120, 200, 80)),
        (COLOUR, [chunk(b"sRGB", b"\0"), TWO_POINT_TWO, chunk(b"cHRM", ADOBE)], (120, 200, 80)),
        (COLOUR, [P3_PROFILE, chunk(b"sRGB", b"\0"), LINEAR], P3_COLOUR),
        (COLOUR, [NO_PROFILE, TWO_POINT_TWO, chunk(b"cHRM", ADOBE)], ADOBE_COLOUR),
        (COLOUR, [chunk(b"cICP", b"\x0c\x0d\0\1"), LINEAR, NO_PROFILE], P3_COLOUR),
        (COLOUR, [chunk(b"cICP", b"\1\x0d\0\1"), P3_PROFILE, LINEAR], (120, 200, 80)),
        (COLOUR, [chunk(b"cICP", b"\xff\xff\0\1"), P3_PROFILE], P3_COLOUR),
        (COLOUR, [TWO_POINT_TWO, chunk(b"cHRM", bytes(32))], (120, 200, 80)),
        (COLOUR, [chunk(b"gAMA", bytes(4))], (120, 200, 80)),
    ],
)
def test_colours_are_those_of_the_first_chunk_that_counts(image, chunks, colour):
    content = encoded(image, "PNG")
    assert_shown(content[:33] + b"".join(chunks) + content[33:], colour, within=3)


def test_a_grey_profile_counts_beside_alpha():
    image = Image.new("LA", (32, 32), (128, 200))
    small = opened(optimise(encoded(image, "PNG", icc_profile=GREY_OF_GAMMA_1)))
    assert small.getpixel((8, 8)) == pytest.approx((188, 188, 188, 200), abs=3)


def colours_of(animation):
    image = opened(optimise(animation))
    shown = []
    for number in range(getattr(image, "n_frames", 1)):
        image.seek(number)
        shown.append(image.convert("RGB").getpixel((4, 4)))
    return shown


def test_the_static_image_of_an_animation_may_be_no_frame():
    static, *moving = (Image.new("RGB", (32, 32), colour) for colour in ("red", "lime", "blue"))
    options = {"save_all": True, "append_images": moving, "default_image": True}
    assert colours_of(encoded(static, "PNG", **options)) == [(0, 255, 0), (0, 0, 255)]
    only = encoded(static, "PNG", **options | {"append_images": moving[:1]})
    assert colours_of(only) == [(0, 255, 0)]


def test_of_a_png_whose_frames_are_damaged_the_static_image_is_shown():
    content = animated([Image.new("RGB", (32, 32), c) for c in ("red", "lime", "blue")], "PNG")
    for kind in (b"acTL", b"fcTL", b"fdAT"):
        broken = bytearray(content)
        broken[content.rindex(kind) + 5] ^= 1
        assert colours_of(bytes(broken)) == [(255, 0, 0)]
    swapped = content.replace(b"fdAT\0\0\0\2", b"fdAT\0\0\0\7")
    assert colours_of(swapped) == [(255, 0, 0)]


@pytest.mark.parametrize("width", [24, 60, 65_535])
def test_a_gif_frame_beyond_the_canvas_is_cut_off_at_it(width):
    content = bytearray(animated(frames(3, (20, 20)), duration=50))
    at = [n for n in range(len(content)) if content[n : n + 5] == b",\0\0\0\0"][-1]
    content[at + 5 : at + 7] = struct.pack("<H", width)
    shown = optimise(bytes(content))
    assert opened(shown).size == (20, 20) and shown.file_type == "image/gif"


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


def test_a_photo_stays_lossy():
    photo = Image.effect_noise((600, 400), 60).convert("RGB")
    assert optimise(encoded(photo, "PNG")).content[12:16] == b"VP8 "


JPEG = encoded(Image.new("RGB", (24, 24), RED), "JPEG", quality=95)


@pytest.mark.parametrize("marker", [*range(0xE0, 0xF0), 0xFE])
@pytest.mark.parametrize(
    "content",
    [b"", b"JFIF\0", b"Exif\0\0II*\0", b"MPF\0MM", b"ICC_PROFILE\0\1", b"Photoshop 3.0\0"],
)
def test_what_programs_note_in_a_jpeg_does_not_count(marker, content):
    data = content + random.Random(marker).randbytes(29)
    for length in (len(data) + 2, 2, 10, len(data)):
        segment = bytes([0xFF, marker]) + struct.pack(">H", length) + data
        assert_shown(JPEG[:2] + segment + JPEG[2:], within=6)


def test_extensions_of_a_gif_do_not_count():
    content = encoded(Image.new("P", (24, 24)), "GIF")
    at, rng = 13 + 3 * 2 ** ((content[10] & 7) + 1), random.Random(3)
    for label in (0x01, 0x61, 0xF9, 0xFE, 0xFF):
        for size in (0, 1, 4, 11, 255):
            block = bytes([size]) + rng.randbytes(size) if size else b""
            extension = b"!" + bytes([label]) + block + b"\0"
            assert opened(optimise(content[:at] + extension + content[at:])).size == (24, 24)


def test_what_stands_beside_a_webp_does_not_count():
    image, exif = Image.new("RGB", (24, 24), RED), b"Exif\0\0II*\0\x08\0\0\0\0\0"
    plain = encoded(image, "WEBP", lossless=True)
    full = encoded(image, "WEBP", lossless=True, exif=exif, xmp=b"x" * 11, icc_profile=DISPLAY_P3)
    picture = full.index(b"VP8L")
    after = full.index(b"EXIF")
    assert_shown(plain + b"JUNK\x40\0\0\0rest")
    for cut in (0, 3, 8, 12):
        assert_shown(full[: after + cut], within=50)  # its profile is another one
    for number in (0, 1, 9, 1_000, 2**31 - 1, 2**32 - 1):
        length = struct.pack("<I", number)
        assert_shown(full[:4] + length + full[8:], within=50)
        assert_shown(full[: after + 4] + length + full[after + 8 :], within=50)
        at = full.index(b"ICCP") + 4
        assert_shown(full[:at] + length + full[at + 4 :], within=50)
        with pytest.raises(ImageUnusable):
            optimise(full[: picture + 8] + length)


@pytest.mark.parametrize("tag", [270, 274, 282, 283, 296, 305, 306, 34665, 34675])
def test_tags_of_a_tiff_that_are_not_the_picture_do_not_count(tag):
    for kind, count, value in [(0, 1, 1), (2, 2**31, 9), (5, 1, 2**31), (12, 3, 4), (99, 0, 0)]:
        values = {256: 24, 257: 24, 258: 8, 262: 1, 273: 8, 277: 1, 278: 24, 279: 576}
        content = tiff(bytes([200]) * 576, values, others=[(tag, kind, count, value)])
        assert_shown(content, (200, 200, 200))
