"""How images that harm their decoder must end."""

from harness.images import MEGABYTE

REFUSED = [
    "png_palette_with_transparency",
    "gif_largest_screen",
    "webp_largest_canvas",
    "tiff_turned",
]


def assert_bounded(found):
    assert found.decoder < 225 * MEGABYTE  # with the reader of which it is a fork
    assert found.outcome.startswith(
        (
            "made ",
            "it takes ",
            "it took too long",  # on a busy machine, before its processor time is used up
            "the image can't ",
            "it is not an image",
            "its shades",
            "the answer is empty",
        )
    )
