"""No image costs more memory than was promised, measured while it is decoded."""

import pytest

from harness.images import CORPUS
from tests.watcher.bombs import REFUSED, assert_bounded, cost

SHOWN = {
    "png_palette_with_transparency_just_allowed",
    "png_16_bits_with_alpha",
    "jpeg_huge",
    "jpeg_progressive_just_allowed",
    "webp_just_allowed",
    "webp_150_frames",
    "tiff_many_strips",
    "gif_slow",
    "png_slow",
    "tiff_turned",
    "avif",
}


@pytest.mark.parametrize("name", [name for name in CORPUS if name not in REFUSED])
def test_it_costs_what_was_promised_at_most(name):
    is_shown = name in SHOWN
    found = cost(CORPUS[name](), **({"seconds": 60} if is_shown else {}))
    assert_bounded(found)
    assert found.outcome == "made small" or not is_shown
