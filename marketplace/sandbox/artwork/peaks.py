"""Ridges in the mist."""

from itertools import chain, pairwise
from random import Random
from typing import Any

from PIL import Image, ImageOps

from marketplace.sandbox.artwork.canvas import (
    SIZE,
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

# The high sky, the low sky, the sun or moon, the farthest ridge, the nearest ridge.
HOURS = {
    "Peach dawn": "7fa6c9 ffd8b5 fff6df d9a5a0 2c3350",
    "Golden dusk": "4b4e8c fdb45c fff0c0 d9804f 2a1730",
    "Rose dusk": "5b3f8c ff9fa0 ffe6d0 c86a8c 1d1738",
    "Jade morning": "8fc3bd f2f1d4 fffbe6 a2c4b0 12302f",
    "Crimson sunset": "3a1c4a ff6b4a ffdf91 b23a48 190a1e",
    "Full moon": "071330 4f7cac f4f6ff 466f9c 060d1f",
    "Crescent moon": "03131f 2f8f83 e9fff5 2c6f73 04121a",
}
TRAITS = {
    "Hour": dict.fromkeys(HOURS, 1),
    "Relief": {"Hills": 2, "Alps": 4, "Crags": 2},
    "Ridges": dict.fromkeys(range(3, 8), 1),
    "Ground": {"Moor": 2, "Forest": 4, "Lake": 4},
    "Birds": {0: 4, 3: 1, 5: 2, 8: 2},
}


def paint(plan: dict[str, Any], dice: Random) -> Image.Image:
    """Stack ridges in the mist under a sun or a moon."""
    high, low, light, far, near = hues(HOURS[plan["Hour"]])
    canvas = wash([high, mix(high, low, 0.5), low, low])
    night = "moon" in plan["Hour"]
    if night:
        stars(canvas, dice)
    side, radius = dice.choice((-1, 1)), dice.randint(40, 80)
    orb = complex(400 + side * dice.uniform(60, 240), dice.uniform(140, 280))
    glow(canvas, light, orb, radius * 5, 0.75)
    face = disc(radius)
    if plan["Hour"] == "Crescent moon":
        face.paste(0, (radius * 2 // 3, -radius // 3), disc(radius))
    paste(canvas, light, face, orb)
    rough, tall = {"Hills": (0.4, 120), "Alps": (0.47, 230), "Crags": (0.54, 220)}[plan["Relief"]]
    shore = dice.randint(530, 610) if plan["Ground"] == "Lake" else 740
    for n in range(plan["Ridges"]):
        share = n / (plan["Ridges"] - 1)
        base, rise = 380 + (shore - 380) * share, tall * (1 - 0.78 * share)
        line = [complex(x * 6.25, base - h * rise) for x, h in enumerate(ridge(rough, dice))]
        colour, haze = mix(far, near, share**1.3), 0.75 * (1 - share)
        mist = [mix(colour, low, haze * min(1, max(0, y - base) / 180)) for y in range(25, 800, 50)]
        paste(canvas, wash(mist), shape([*line, 800 + 800j, 800j]))
    if plan["Ground"] != "Moor":
        paste(canvas, near, shape(*(pine(dice.choice(line), shore / 9, dice) for _ in range(60))))
    if plan["Ground"] == "Lake":
        mirror = ImageOps.flip(canvas.crop((0, 60, SIZE, shore))).resize((SIZE, SIZE - shore))
        water = wash([low, mix(low, (0, 0, 0), 0.5)], *mirror.size)
        canvas.paste(Image.blend(mirror, water, 0.22), (0, shore))
        paste(canvas, light, shape(*(glint(orb.real, shore, dice) for _ in range(30))))
    leader = complex(400 - side * dice.uniform(160, 220), dice.uniform(90, 200))
    flock = [bird(leader, place, dice) for place in range(plan["Birds"])]
    paste(canvas, light if night else near, shape(*flock, line=2))
    return canvas


def ridge(rough: float, dice: Random) -> list[float]:
    """Raise a skyline by breaking a line in halves again and again."""
    heights, jump = [dice.uniform(-0.5, 0.5), dice.uniform(-0.5, 0.5)], 0.75
    while len(heights) < 129:
        halves = [(a + b) / 2 + dice.uniform(-jump, jump) for a, b in pairwise(heights)]
        heights = [*chain.from_iterable(zip(heights, halves, strict=False)), heights[-1]]
        jump *= rough
    return [height - sum(heights) / len(heights) for height in heights]


def pine(foot: complex, tall: float, dice: Random) -> Path:
    """Trace a pine of about the given height."""
    tall *= dice.uniform(0.5, 1.2)
    half = [-1j, 0.13 - 0.62j, 0.07 - 0.62j, 0.2 - 0.3j, 0.1 - 0.3j, 0.26 + 0.1j]
    return [foot + tall * point for point in half + [-p.conjugate() for p in half[::-1]]]


def bird(leader: complex, place: int, dice: Random) -> Path:
    """Trace a bird at its place in the wedge behind the leader."""
    rank = (place + 1) // 2
    at = leader + complex((-1) ** place * 32 * rank, 15 * rank)
    at, span = at + complex(dice.gauss(0, 5), dice.gauss(0, 4)), dice.uniform(8, 13)
    return [at + span * point for point in (-1 - 0.3j, -0.5 - 0.55j, 0j, 0.5 - 0.55j, 1 - 0.3j)]


def glint(under: float, shore: int, dice: Random) -> Path:
    """Trace a glint on the water under the sun."""
    left, reach = complex(dice.gauss(under, 45), dice.uniform(shore + 5, SIZE)), dice.uniform(5, 35)
    return [left - reach, left - 1j, left + reach, left + 1j]
