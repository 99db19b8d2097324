"""How images that harm their decoder must end."""

from harness.images import MEGABYTE

REFUSED = [
    "png_one_row_of_many_pixels",
    "jpeg_largest",
    "jpeg_progressive_huge",
]


def assert_bounded(found):
    assert found.decoder < 245 * MEGABYTE  # with the reader of which it is a fork
    assert found.outcome.startswith(
        (
            "made ",
            "it takes ",
            "it took too long",  # on a busy machine, before its processor time is used up
            "the image can't ",
            "it is not an image",
            "the answer is empty",
        )
    )
