"""Sheets of cut paper, laid on each other."""

import cmath
import math
from collections.abc import Callable
from random import Random
from typing import Any

from PIL import Image, ImageChops, ImageFilter, ImageOps

from marketplace.sandbox.artwork.canvas import (
    GOLD,
    MIDDLE,
    SIZE,
    Path,
    hues,
    mix,
    paste,
    shape,
    wash,
)

# The sheets of paper, from one side of the pile to the other.
PALETTES = {
    "Coral reef": "0b3954 087e8b 4fb9af d9ead3 ffd9c0 ff8a73 e8505b",
    "Kelp forest": "0b2b26 1b4a40 3d7a62 8eb69b daf1de f6f3d7",
    "Ember": "2b0f2f 5c1a4a a12a5e e2495b f98e5a fdc777 fff0c2",
    "Glacier": "04143c 0a4d8c 1790c4 6cc7e0 bfe9f2 f4fbfb",
    "Dune": "3d2b3d 7a4b4a b8705a e2a276 f3d2a2 faf0d7",
    "Orchid": "1a0b3b 44198a 8b3fc9 d77bd9 ffb3c9 ffe5d4",
}
TRAITS: dict[str, dict[Any, int]] = {
    "Palette": dict.fromkeys(PALETTES, 1),
    "Layers": dict.fromkeys(range(6, 11), 1),
    "Depth": {"Dark": 1, "Bright": 1},
    "Thread": {"None": 4, "Gold": 1},
}


def paint(plan: dict[str, Any], dice: Random) -> Image.Image:
    """Lay sheets of cut paper on each other, each with its shadow on the one behind."""
    colours = hues(PALETTES[plan["Palette"]])
    edge = current(plan["Form"], dice)
    sheen = Image.linear_gradient("L").resize((SIZE, SIZE)).point(lambda value: value * 0.1)
    # Heights and shadows are gathered in grey, a third of the work, and coloured at the end.
    height, shadow = sheen.copy(), Image.new("L", (SIZE, SIZE))
    for layer in range(1, plan["Layers"]):
        share = layer / plan["Layers"]
        sheet = shape(edge(share))
        if plan["Form"] == "Lagoon":
            sheet = ImageOps.invert(sheet)
        # A blur looks the same at an eighth of the size, and is far quicker.
        blur = sheet.reduce(8).filter(ImageFilter.GaussianBlur(3)).point(lambda value: value * 0.45)
        shadow = ImageChops.lighter(shadow, blur.resize((SIZE, SIZE), Image.Resampling.BILINEAR))
        shadow.paste(0, mask=sheet)
        height.paste(sheen.point(lambda value, share=share: value + 224 * share), mask=sheet)
    scale = wash(colours if plan["Depth"] == "Dark" else colours[::-1], 1, 256)
    canvas = Image.merge("RGB", [height.point(list(band.tobytes())) for band in scale.split()])
    paste(canvas, mix(colours[0], (0, 0, 0), 0.5), shadow)
    if plan["Thread"] == "Gold":
        paste(canvas, wash(GOLD * 3), shape(edge(dice.randint(2, 4) / plan["Layers"]), line=5))
    return canvas


def current(form: str, dice: Random) -> Callable[[float], Path]:
    """Make the function that traces the edge of a sheet: neighbours look alike."""
    waves, drift = dice.choice((1, 2, 3)), dice.uniform(0.4, 0.8)
    slow, fast, high = dice.random(), dice.random(), dice.uniform(80, 120) / (waves + 1) + 25
    middle = complex(dice.uniform(300, 500), dice.uniform(300, 500))
    turn = cmath.rect(1, dice.choice((-1, 1)) * dice.uniform(0.5, 0.9) * (form == "Current"))
    places = [step / 160 for step in range(161)]

    def bend(place: float, share: float) -> float:
        first = math.sin(math.tau * (waves * place + slow + drift * share))
        return first + 0.5 * math.sin(math.tau * ((waves + 1) * place + fast - 2 * drift * share))

    def edge(share: float) -> Path:
        if form == "Lagoon":
            tall, reach = 14 + 45 * share, 30 + 500 * share
            return [
                middle + cmath.rect(reach + bend(a, share) * tall, math.tau * a) for a in places
            ]
        base = 780 * (share - 0.5) * (abs(turn.real) + abs(turn.imag))
        line = [complex(1300 * a - 650, base + bend(a, share) * high) for a in places]
        return [MIDDLE + point * turn for point in [*line, 1300 + 1300j, -1300 + 1300j]]

    return edge
