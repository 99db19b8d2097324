"""Generated artwork: the same picture for the same form and seed, on every machine."""

import io
from random import Random
from typing import Any

from marketplace.sandbox.artwork import tides


def draw(form: str, seed: str) -> bytes:
    """The PNG (RGB, 800 x 800) of one artwork, deterministic in form and seed."""
    dice = Random(f"{form}/{seed}")
    picture = tides.paint(chosen(form, dice), dice)
    png = io.BytesIO()
    # A higher level would take longer than the drawing and save little.
    picture.save(png, "PNG", compress_level=2)
    return png.getvalue()


def traits(form: str, seed: str) -> list[tuple[str, str | int]]:
    """The traits of the picture that draw() draws, as (trait_type, value) pairs."""
    return list(chosen(form, Random(f"{form}/{seed}")).items())


def chosen(form: str, dice: Random) -> dict[str, Any]:
    """Choose a value for each trait, before anything is drawn."""
    return {"Form": form} | {
        trait: dice.choices(list(weights), list(weights.values()))[0]
        for trait, weights in tides.TRAITS.items()
    }
