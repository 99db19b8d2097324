"""No image costs more memory than was promised, measured while it is decoded."""

from functools import cache

import pytest

from stress.bombs import CORPUS, MEGABYTE, cost

pytestmark = pytest.mark.once("no statement is asked")

OUTCOMES = ("made small", "ImageUnusable: ", "ImageSlow: ")


@cache
def cost_of(name):
    return cost(CORPUS[name]())


@pytest.mark.parametrize("name", CORPUS)
def test_it_costs_what_was_promised_at_most(name):
    found = cost_of(name)
    assert found.process < 150 * MEGABYTE
    assert found.together < 175 * MEGABYTE  # of 200: what a second gateway sends is to come
    assert found.outcome.startswith(OUTCOMES)


@pytest.mark.parametrize(
    "name",
    [
        "png_palette_with_transparency",
        "png_one_row_of_many_pixels",
        "gif_largest_screen",
        "jpeg_progressive_huge",
        "jpeg_many_scans_huge",
        "webp_largest_canvas",
        "tiff_turned",
        "bmp_huge",
    ],
)
def test_it_is_told_that_memory_was_the_reason(name):
    assert "memory" in cost_of(name).outcome


@pytest.mark.parametrize(
    "name",
    [
        "png_palette_with_transparency_just_allowed",
        "png_16_bits_with_alpha",
        "jpeg_huge",
        "jpeg_progressive_just_allowed",
        "webp_just_allowed",
        "webp_150_frames",
        "tiff_many_strips",
        "gif_slow",
    ],
)
def test_what_can_be_shown_within_it_is_shown(name):
    assert cost(CORPUS[name](), seconds=60).outcome == "made small"
