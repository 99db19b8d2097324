"""No image costs more memory than was promised. tests/system/test_bombs.py tries the whole corpus."""

import pytest

from harness.images import CORPUS, MEGABYTE
from stress.bombs import cost

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


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_told_that_memory_was_the_reason(name):
    found = cost(CORPUS[name]())
    assert_bounded(found)
    assert "memory" in found.outcome
