"""Generated artwork: the same picture for the same collection style and seed, on every machine."""

import io
from random import Random
from typing import Any

from marketplace.sandbox.artwork import tides, truchet

# A module has TRAITS, the values of a trait and how often each turns up, and paint(), which draws the
# chosen. A style is a module, and the traits that are the same in all of its pictures.
STYLES = {
    "tides": (tides, {"Form": "Current"}),
    "orbits": (tides, {"Form": "Lagoon"}),
    "truchet": (truchet, {}),
    "peaks": (tides, {"Form": "Swell"}),
}


def draw(style: str, seed: str) -> bytes:
    """The PNG (RGB, 800 x 800) of one artwork, deterministic in style and seed."""
    dice = Random(f"{style}/{seed}")
    picture = STYLES[style][0].paint(chosen(style, dice), dice)
    png = io.BytesIO()
    # A higher level would take longer than the drawing and save little.
    picture.save(png, "PNG", compress_level=2)
    return png.getvalue()


def traits(style: str, seed: str) -> list[tuple[str, str | int]]:
    """The traits of the picture that draw() draws, as (trait_type, value) pairs."""
    return list(chosen(style, Random(f"{style}/{seed}")).items())


def chosen(style: str, dice: Random) -> dict[str, Any]:
    """Choose a value for each trait, before anything is drawn."""
    module, same = STYLES[style]
    return same | {
        trait: dice.choices(list(weights), list(weights.values()))[0]
        for trait, weights in module.TRAITS.items()
    }
