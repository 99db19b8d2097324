"""No image costs more memory than was promised. tests/system/test_bombs.py tries the whole corpus."""

import pytest

from stress.bombs import CORPUS, MEGABYTE, cost

pytestmark = pytest.mark.once("no statement is asked")

REFUSED = [
    "png_palette_with_transparency",
    "png_one_row_of_many_pixels",
    "gif_largest_screen",
    "jpeg_progressive_huge",
    "jpeg_many_scans_huge",
    "webp_largest_canvas",
    "tiff_turned",
    "bmp_huge",
]


def assert_bounded(found):
    assert found.process < 150 * MEGABYTE
    assert found.together < 175 * MEGABYTE  # of 200: what a second gateway sends is to come
    assert found.outcome.startswith(("made small", "ImageUnusable: ", "ImageSlow: "))


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_told_that_memory_was_the_reason(name):
    found = cost(CORPUS[name]())
    assert_bounded(found)
    assert "memory" in found.outcome
