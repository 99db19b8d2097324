"""Pictures to make small, and how a picture that was made small is read."""

import io
import struct

from PIL import Image

from harness.images import encoded


def opened(optimised):
    return Image.open(io.BytesIO(optimised.content))


def gradient(size=(1600, 900), mode="RGB"):
    return Image.radial_gradient("L").resize(size).convert(mode)


def profile(colours, **curves_and_colours):
    """An ICC profile without tables: the numbers of a tag are a colour's XYZ, or a gamma."""
    tags = []
    for numbers in (D50, *curves_and_colours.values()):
        if isinstance(numbers, tuple):
            tags.append(b"XYZ \0\0\0\0" + struct.pack(">3i", *(round(n * 65536) for n in numbers)))
        else:
            tags.append(b"curv\0\0\0\0" + struct.pack(">IHxx", 1, round(numbers * 256)))
    table, at = b"", 132 + 12 * len(tags)
    for name, tag in zip(("wtpt", *curves_and_colours), tags, strict=True):
        table += name.encode() + struct.pack(">II", at, len(tag))
        at += len(tag)
    head = struct.pack(
        ">I4x4s4s4s4s12x4s28x", at, b"\2\x40\0\0", b"mntr", colours, b"XYZ ", b"acsp"
    )
    illuminant = struct.pack(">3i", *(round(n * 65536) for n in D50))
    head += illuminant + bytes(128 - len(head) - 12)
    return head + struct.pack(">I", len(tags)) + table + b"".join(tags)


D50 = (0.9642, 1.0, 0.8249)
DISPLAY_P3 = profile(
    b"RGB ", rXYZ=(0.5151, 0.2412, -0.0011), gXYZ=(0.2920, 0.6922, 0.0419), bXYZ=(0.1571, 0.0666, 0.7841),
    rTRC=2.2, gTRC=2.2, bTRC=2.2,
)  # fmt: skip
GREY_OF_GAMMA_1 = profile(b"GRAY", kTRC=1.0)


def frames(count, size=(64, 64)):
    return [Image.new("RGB", size, (n * 7 % 256, 90, 40)) for n in range(count)]


def animated(frames, format="GIF", **options):
    return encoded(frames[0], format, save_all=True, append_images=frames[1:], **options)
