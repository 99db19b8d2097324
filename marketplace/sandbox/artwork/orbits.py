"""Planets around a sun."""

import cmath
import math
from random import Random
from typing import Any

from PIL import Image

from marketplace.sandbox.artwork.canvas import (
    MIDDLE,
    SIZE,
    WHITE,
    Colour,
    Path,
    disc,
    glow,
    hues,
    mix,
    paste,
    shape,
    stars,
    wash,
)

# The night, the haze around the sun, the sun, then the planets.
PALETTES = {
    "Indigo": "0b1030 3b3f8f ffd27a ef6f6c f2e9e4 59c9a5 7a9cff f7a072",
    "Copper": "1a0f14 8a3b2e ffc971 e2711d f4e3c1 7fb7be c44536 d9ae94",
    "Lagoon": "04202b 0f6e78 ffe8a3 ff8c61 d8f3dc 4cc9c0 f4d35e 2a9dcf",
    "Plum": "170a26 7a2e7a ffb3a7 f26ca7 fde2ff 8f6bff 5fd3d9 ffc15e",
    "Verdant": "0a1a14 2f6b4a f6f2b0 e9c46a e8f1e4 74c69d e76f51 8ecae6",
}
TRAITS = {
    "Palette": dict.fromkeys(PALETTES, 1),
    "View": {"From above": 3, "Aslant": 4, "Sunrise": 4},
    "Sun": {"Giant": 3, "Dwarf": 3, "Eclipsed": 1},
    "Planets": dict.fromkeys(range(3, 7), 1),
    "Rings": {0: 3, 1: 4, 2: 1},
}


def paint(plan: dict[str, Any], dice: Random) -> Image.Image:
    """Hang planets around a sun."""
    night, haze, sun, *colours = hues(PALETTES[plan["Palette"]])
    count, core = plan["Planets"], {"Giant": 80, "Dwarf": 44, "Eclipsed": 66}[plan["Sun"]]
    middle, flat, last, lean = MIDDLE, 1.0, 350, cmath.rect(1, dice.uniform(-0.7, 0.7))
    if plan["View"] == "Aslant":
        flat, last = dice.uniform(0.36, 0.5), 390
    if plan["View"] == "Sunrise":
        middle, core, last = complex(dice.choice((140, 400, 660)), 760), core * 2, 690
    first = core / math.sqrt(flat)
    gap = (last - first) / (count + 0.3)
    paths = [oval(middle, first + gap * (n + 1.3), flat, lean) for n in range(count)]
    canvas = Image.new("RGB", (SIZE, SIZE), night)
    glow(canvas, haze, complex(dice.uniform(0, SIZE), dice.uniform(0, 300)), 460, 0.6)
    stars(canvas, dice)
    for path in paths:
        paste(canvas, haze, shape(path).point(lambda value: value * 0.2))
    paste(canvas, mix(haze, sun, 0.6), shape(*paths, line=1.5))
    glow(canvas, sun, middle, core * 4, 0.9)
    paste(canvas, wash([mix(sun, WHITE, 0.7), sun], core * 2, core * 2), disc(core), middle)
    if plan["Sun"] == "Eclipsed":
        paste(canvas, night, disc(round(core * 0.92)), middle)
    turn = dice.random()
    for n, path in enumerate(paths):
        seen = [point for point in path if 120 < point.real < 680 and 80 < point.imag < 700]
        at = seen[int((turn + n * 0.382) % 1 * len(seen))]
        size = round(min(62, gap * dice.uniform(0.4, 0.56)))
        outer, inner = (oval(at, size * reach, 0.28, lean) for reach in (1.95, 1.4))
        ringed = n in range(count - 1 - plan["Rings"], count - 1)
        if ringed:
            paste(canvas, mix(sun, WHITE, 0.3), shape(outer + inner[::-1]))
        paste(canvas, planet(colours[n % 5], night, size, middle - at), disc(size), at)
        if ringed:
            paste(canvas, mix(sun, WHITE, 0.3), shape(outer[:91] + inner[90::-1]))
    return canvas


def oval(middle: complex, radius: float, flat: float, lean: complex) -> Path:
    """Trace a circle as seen from aside, its nearer half first."""
    turns = [math.tau * step / 180 for step in range(181)]
    return [middle + complex(math.cos(t), math.sin(t) * flat) * radius * lean for t in turns]


def planet(colour: Colour, night: Colour, radius: int, sunward: complex) -> Image.Image:
    """Paint a belted ball, lit from where the sun is."""
    pale, deep = mix(colour, WHITE, 0.25), mix(colour, night, 0.2)
    belts = wash([pale, colour, deep, colour, pale, colour, deep], radius * 2, radius * 2)
    corner = (2 + 2j - sunward / abs(sunward)) * radius
    left, top = round(corner.real), round(corner.imag)
    shade = Image.radial_gradient("L").resize((radius * 6, radius * 6))
    shade = shade.crop((left, top, left + radius * 2, top + radius * 2))
    shade = shade.point(lambda far: min(235, max(0, far - 40) * 3))
    return Image.composite(Image.new("RGB", belts.size, night), belts, shade)
