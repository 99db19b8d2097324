"""Images, and those that are made to harm their decoder."""

import io
import os
import struct
import zlib
from collections.abc import Callable

from PIL import Image

from marketplace.watcher.strangers.content import MAX_IMAGE_BYTES

CORPUS: dict[str, Callable[[], bytes]] = {}
MEGABYTE = 1_000_000
EXIF = b"MM\0*\0\0\0\x08"  # its first bytes


def bomb(make: Callable[[], bytes]) -> Callable[[], bytes]:
    CORPUS[make.__name__] = make
    return make


def encoded(image: Image.Image, format: str, **options) -> bytes:
    content = io.BytesIO()
    image.save(content, format, **options)
    return content.getvalue()


def small(mode: str = "RGB", size: tuple[int, int] = (64, 64)) -> Image.Image:
    return Image.radial_gradient("L").resize(size).convert(mode)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


GREY, RGB, PALETTE, RGBA = 0, 2, 3, 6


def zeros(count: int) -> bytes:
    """A zlib stream of ``count`` zeros, made without holding them in memory."""
    packer, part = zlib.compressobj(9), bytes(MEGABYTE)
    parts = [packer.compress(part) for _ in range(count // len(part))]
    return b"".join(parts) + packer.compress(bytes(count % len(part))) + packer.flush()


def png(side: int, colour: int, *chunks: bytes, depth: int = 8, interlaced: int = 0) -> bytes:
    """A complete, blank PNG of any size in pixels, and of a few kilobytes."""
    row = side * {GREY: 1, RGB: 3, PALETTE: 1, RGBA: 4}[colour] * depth // 8 + 1
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, depth, colour, 0, 0, interlaced))
        + (chunk(b"PLTE", bytes(range(30))) if colour == PALETTE else b"")
        + b"".join(chunks)
        + chunk(b"IDAT", zeros(row * side + (8 * side if interlaced else 0)))
        + chunk(b"IEND", b"")
    )


@bomb
def png_slow() -> bytes:
    """As many pixels as are allowed, with 8 bytes each: seconds of work. Its zeros are one repeated block."""
    packer = zlib.compressobj(9)
    head = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(MEGABYTE)) + packer.flush(zlib.Z_FULL_FLUSH)
    header = struct.pack(">IIBBBBB", 13_400, 13_400, 16, RGBA, 0, 0, 0)
    count = 13_400 * (13_400 * 8 + 1) // MEGABYTE + 1
    end = b"\x03\0" + struct.pack(">HH", count * MEGABYTE % 65_521, 1)  # with the zeros' checksum
    data = head + block * count + end
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    )


@bomb
def png_one_row_of_many_pixels() -> bytes:
    header = struct.pack(">IIBBBBB", 20_000_000, 1, 8, RGB, 0, 0, 0)
    data = chunk(b"IHDR", header) + chunk(b"IDAT", zeros(60_000_001)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + data


@bomb
def png_many_texts_that_inflate() -> bytes:
    texts = (chunk(b"zTXt", b"key%d\0\0" % n + zeros(MEGABYTE - 100)) for n in range(300))
    return png(64, RGB, *texts)


@bomb
def png_large_and_heavy() -> bytes:
    """As many pixels as are allowed, and as many bytes as are fetched at most."""
    padding = chunk(b"juNk", bytes(MAX_IMAGE_BYTES - 200_000))
    return png(5_000, RGBA, padding)


def animation(format: str, size: tuple[int, int], count: int, **options) -> bytes:
    first, *others = (
        Image.new("RGB", size, (n * 37 % 256, n // 7 % 256, 90)) for n in range(count)
    )
    return encoded(first, format, save_all=True, append_images=others, duration=50, **options)


def slow_gif() -> bytes:
    """Frames of noise: seconds of work for an encoder."""
    noise = (Image.effect_noise((630, 630), 90).convert("P").rotate(90 * n) for n in range(40))
    return encoded(next(noise), "GIF", save_all=True, append_images=noise)[:MAX_IMAGE_BYTES]


def gif(width: int, height: int, count: int, disposal: int = 1) -> bytes:
    """Frames of one pixel on a screen of any size."""
    head = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + bytes(3) + b"\xff" * 3
    control = b"!\xf9\x04" + bytes([disposal << 2 | 1]) + b"\x05\0\0\0"
    pixel = b"," + struct.pack("<HHHHB", 1, 1, 1, 1, 0) + b"\x02\x02D\x01\0"
    return head + (control + pixel) * count + b";"


def jpeg_of(width: int, height: int, *, scans: int | None = None, **options) -> bytes:
    """A small JPEG whose header claims another size."""
    content = bytearray(encoded(small(), "JPEG", **options))
    frame = content.index(b"\xff\xc2" if options.get("progressive") else b"\xff\xc0")
    content[frame + 5 : frame + 9] = struct.pack(">HH", height, width)
    if scans:  # the first one has one component: a decoder holds everything until the others come
        scan = content.index(b"\xff\xda")
        content[scan : scan + 14] = b"\xff\xda\0\x08\x01\x01\0\0\x3f\0"
    return bytes(content)


@bomb
def jpeg_endless() -> bytes:
    """Its last scan, again and again. Each is a few bytes, and makes the decoder go through all blocks."""
    content = jpeg_of(5_000, 5_000, progressive=True)
    last_scan = content[content.rindex(b"\xff\xda") : -2]
    repeated = last_scan * ((MAX_IMAGE_BYTES - len(content)) // len(last_scan))
    return content[:-2] + repeated + content[-2:]


def jpeg_with(*segments: bytes, marker: int) -> bytes:
    """A small JPEG with these segments before its own."""
    content, head = encoded(small(), "JPEG"), bytes([0xFF, marker])
    parts = [head + struct.pack(">H", len(segment) + 2) + segment for segment in segments]
    return content[:2] + b"".join(parts) + content[2:]


@bomb
def jpeg_exif_of_20_mb() -> bytes:
    segment = b"Exif\0\0" + EXIF + bytes(65_000)
    return jpeg_with(*[segment] * 320, marker=0xE1)


@bomb
def jpeg_profile_of_16_mb() -> bytes:
    parts = (b"ICC_PROFILE\0" + bytes([n, 255]) + bytes(65_000) for n in range(1, 256))
    return jpeg_with(*parts, marker=0xE2)


@bomb
def jpeg_exif_that_points_at_itself() -> bytes:
    """Entries whose values overlap: each value is nearly the whole segment."""
    entries = 5_000
    exif = b"Exif\0\0" + EXIF + struct.pack(">H", entries)
    exif += b"".join(struct.pack(">HHII", n + 1, 7, 60_000, 8) for n in range(entries))
    return jpeg_with(exif.ljust(65_000, b"\0"), marker=0xE1)


@bomb
def webp_largest_canvas() -> bytes:
    content = bytearray(animation("WEBP", (16, 16), 3))
    canvas = content.index(b"VP8X") + 12
    content[canvas : canvas + 6] = b"\xff\x3f\0" * 2
    return bytes(content)


def tiff(data: bytes, tags: dict[int, int], size: int = 64, others: list = ()) -> bytes:
    """Tags have a value each; others a type, a count, and the offset of their values. Data begin at 8."""
    values = {256: size, 257: size, 258: 8, 262: 1, 277: 1} | tags
    entries = [*((number, 4, 1, value) for number, value in values.items()), *others]
    directory = struct.pack("<H", len(entries))
    directory += b"".join(struct.pack("<HHII", *entry) for entry in sorted(entries)) + bytes(4)
    return b"II*\0" + struct.pack("<I", 8 + len(data)) + data + directory


def deflated_tiff(inflated: int, rows: int, size: int = 64, orientation: int = 1) -> bytes:
    """One strip that inflates to ``inflated`` bytes and claims ``rows`` rows."""
    data = zeros(inflated)
    return tiff(data, {259: 8, 273: 8, 274: orientation, 278: rows, 279: len(data)}, size)


@bomb
def tiff_huge_tile() -> bytes:
    data = zeros(MEGABYTE)
    return tiff(data, {259: 8, 322: 60_000, 323: 60_000, 324: 8, 325: len(data)})


@bomb
def tiff_values_that_overlap() -> bytes:
    others = [(40_000 + n, 1, 15 * MEGABYTE, 8) for n in range(3_000)]
    return tiff(bytes(15 * MEGABYTE), {273: 8, 279: 4096}, others=others)


def bmp(width: int, height: int, data: bytes) -> bytes:
    """Eight bits, run-length encoded."""
    head = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 8, 1, len(data), 0, 0, 256, 0)
    at = 14 + len(head) + 1024
    return b"BM" + struct.pack("<III", at + len(data), 0, at) + head + bytes(1024) + data


@bomb
def ico_with_a_huge_picture() -> bytes:
    picture = png(10_000, RGBA)
    return struct.pack("<HHHBBBBHHII", 0, 1, 1, 0, 0, 0, 0, 1, 32, len(picture), 22) + picture


CORPUS |= {
    "png_palette_with_transparency": lambda: png(10_900, PALETTE, chunk(b"tRNS", b"\0")),
    "png_palette_with_transparency_just_allowed": lambda: png(
        9_990, PALETTE, chunk(b"tRNS", b"\0")
    ),
    "png_16_bits_with_alpha": lambda: png(5_000, RGBA, depth=16),
    "png_16_bits_of_grey_with_a_transparent_shade": lambda: png(
        7_000, GREY, chunk(b"tRNS", b"\0\0"), depth=16
    ),
    "png_interlaced": lambda: png(5_000, RGBA, interlaced=1),
    "png_profile_of_100_mb": lambda: png(
        64, RGB, chunk(b"iCCP", b"icc\0\0" + zeros(100 * MEGABYTE))
    ),
    "png_exif_of_19_mb": lambda: png(64, RGB, chunk(b"eXIf", EXIF + bytes(19 * MEGABYTE))),
    "png_of_noise": lambda: encoded(
        Image.frombytes("RGB", (2600, 2600), os.urandom(2600 * 2600 * 3)), "PNG"
    )[:MAX_IMAGE_BYTES],
    "png_animated_large_frames": lambda: animation("PNG", (2_400, 2_400), 8),
    "png_animated_many_frames": lambda: animation("PNG", (16, 16), 2_000),
    "gif_60_000_frames": lambda: gif(8, 8, 60_000),
    "gif_20_mb_of_frames": lambda: gif(8, 8, 700_000)[:MAX_IMAGE_BYTES],
    "gif_largest_screen": lambda: gif(65_535, 65_535, 3),
    "gif_large_screen_just_allowed": lambda: gif(9_990, 9_990, 1),
    "gif_large_screen_many_frames": lambda: gif(9_990, 9_990, 100, disposal=2),
    "gif_slow": slow_gif,
    "gif_of_no_size": lambda: gif(0, 0, 2),
    "jpeg_progressive_huge": lambda: jpeg_of(13_000, 13_000, progressive=True),
    "jpeg_progressive_just_allowed": lambda: jpeg_of(5_600, 5_600, progressive=True),
    "jpeg_huge": lambda: jpeg_of(13_000, 13_000),
    "jpeg_largest": lambda: jpeg_of(65_500, 65_500),
    "jpeg_many_scans_huge": lambda: jpeg_of(13_000, 13_000, scans=1),
    "jpeg_truncated": lambda: encoded(small(size=(3000, 3000)), "JPEG")[:9_000],
    "webp_many_frames": lambda: animation("WEBP", (16, 16), 1_000),
    "webp_large_frames": lambda: animation("WEBP", (2_400, 2_400), 6, lossless=True),
    "webp_150_frames": lambda: animation("WEBP", (630, 630), 150, lossless=True),
    "webp_profile_and_exif": lambda: encoded(
        small("RGBA"), "WEBP", icc_profile=bytes(9 * MEGABYTE), exif=EXIF + bytes(9 * MEGABYTE)
    ),
    "webp_just_allowed": lambda: encoded(small("RGBA", (3_060, 3_060)), "WEBP", lossless=True),
    "tiff_strip_that_inflates": lambda: deflated_tiff(400 * MEGABYTE, 64),
    "tiff_strip_of_many_rows": lambda: deflated_tiff(MEGABYTE, 2**31 - 1, 9_990),
    # The decoder turns the whole image upright when it reads it.
    "tiff_turned": lambda: deflated_tiff(9_000 * 9_000, 9_000, 9_000, orientation=6),
    "tiff_many_strips": lambda: encoded(
        small("RGB", (4_900, 4_900)), "TIFF", compression="tiff_adobe_deflate", strip_size=1
    ),
    "tiff_of_floats": lambda: encoded(
        small("F", (4_900, 4_900)), "TIFF", compression="tiff_adobe_deflate"
    ),
    "bmp_runs_in_full": lambda: bmp(
        9_000, 9_000, (b"\xff\x01" * 35 + b"\x4b\x01\0\0") * 9_000 + b"\0\x01"
    ),
    "bmp_huge": lambda: bmp(60_000, 60_000, b"\0\x01"),
    "avif": lambda: encoded(small(size=(1_000, 1_000)), "AVIF", speed=10),
    "nothing": lambda: b"",
}
