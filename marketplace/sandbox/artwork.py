"""Generated artwork: sheets of cut paper. A form and a seed give the same picture on every machine."""

import cmath
import io
import math
from random import Random
from threading import Lock
from typing import Any

from PIL import Image, ImageDraw

SIZE = 1280  # pixels per side: sharp on a screen of double density
# Pillow does not smooth edges: they are drawn this many times too large, then reduced.
FINE = 2
SCALE = SIZE * FINE / 800  # sheets are laid out on a square of 800 units
# The colours of the sheets, from the bottom of the pile to the top; "Bright" reverses them.
PALETTES = {
    "Coral reef": "0b3954 087e8b 4fb9af d9ead3 ffd9c0 ff8a73 e8505b",
    "Kelp forest": "0b2b26 1b4a40 3d7a62 8eb69b daf1de f6f3d7",
    "Ember": "2b0f2f 5c1a4a a12a5e e2495b f98e5a fdc777 fff0c2",
    "Glacier": "04143c 0a4d8c 1790c4 6cc7e0 bfe9f2 f4fbfb",
    "Dune": "3d2b3d 7a4b4a b8705a e2a276 f3d2a2 faf0d7",
    "Orchid": "1a0b3b 44198a 8b3fc9 d77bd9 ffb3c9 ffe5d4",
}
TRAITS: dict[str, list[Any]] = {
    "Palette": list(PALETTES),
    "Layers": list(range(6, 11)),
    "Depth": ["Dark", "Bright"],
    "Thread": ["None", "None", "None", "Gold"],
}
GOLD = (232, 184, 92)
_one_at_a_time = Lock()  # a canvas takes 26 MB


def traits(form: str, seed: str) -> list[tuple[str, str | int]]:
    """The traits of the picture that draw() draws, as (trait_type, value) pairs."""
    return list(_choose(form, Random(f"{form}/{seed}")).items())


def _choose(form: str, dice: Random) -> dict[str, Any]:
    return {"Form": form} | {trait: dice.choice(values) for trait, values in TRAITS.items()}


def draw(form: str, seed: str) -> bytes:
    """Draw the sheets from the bottom of the pile to the top. Returns a PNG (RGB, 1280 x 1280)."""
    with _one_at_a_time:
        return _draw(form, seed)


def _draw(form: str, seed: str) -> bytes:
    dice = Random(f"{form}/{seed}")
    plan = _choose(form, dice)
    colours = [tuple(bytes.fromhex(word)) for word in PALETTES[plan["Palette"]].split()]
    if plan["Depth"] == "Bright":
        colours.reverse()
    canvas = Image.new("RGB", (SIZE * FINE, SIZE * FINE), colours[0])
    pen, bend = ImageDraw.Draw(canvas), _waves(dice)
    gold = dice.randrange(1, plan["Layers"]) if plan["Thread"] == "Gold" else 0
    for layer in range(1, plan["Layers"]):
        share = layer / plan["Layers"]
        # A lagoon is drawn from its shore inwards.
        edge = _edge(form, bend, 1 - share if form == "Lagoon" else share)
        points = [(point.real * SCALE, point.imag * SCALE) for point in edge]
        pen.polygon(points, _colour(colours, share))
        if layer == gold:
            pen.line(points, GOLD, round(5 * SCALE), "curve")
    png = io.BytesIO()
    # A higher level would take longer than the drawing and save little.
    canvas.reduce(FINE).save(png, "PNG", compress_level=2)
    return png.getvalue()


def _colour(colours: list[tuple[int, ...]], share: float) -> tuple[int, ...]:
    """The colour at a place in a palette: 0 is the first colour, 1 the last one."""
    position = share * (len(colours) - 1)
    first, rest = int(position), position % 1
    pair = zip(colours[first], colours[min(first + 1, len(colours) - 1)], strict=True)
    return tuple(round(a + (b - a) * rest) for a, b in pair)


def _waves(dice: Random) -> Any:
    """Make the function that bends the edges of the sheets, so that neighbours look alike."""
    count, drift = dice.choice((1, 2, 3)), dice.uniform(0.4, 0.8)
    slow, fast = dice.random(), dice.random()

    def bend(place: float, share: float) -> float:
        first = math.sin(math.tau * (count * place + slow + drift * share))
        return first + 0.5 * math.sin(math.tau * ((count + 1) * place + fast - 2 * drift * share))

    return bend


def _edge(form: str, bend: Any, share: float) -> list[complex]:
    """The outline of a sheet. A point is a complex number, because turning it is a multiplication."""
    places = [step / 160 for step in range(161)]
    middle = 400 + 400j
    if form == "Lagoon":
        reach, tall = 30 + 500 * share, 14 + 45 * share
        return [middle + cmath.rect(reach + bend(a, share) * tall, math.tau * a) for a in places]
    turn = cmath.rect(1, 0.7) if form == "Current" else 1
    base = 1000 * (share - 0.5)
    line = [complex(1300 * a - 650, base + 60 * bend(a, share)) for a in places]
    return [middle + point * turn for point in [*line, 1300 + 1300j, -1300 + 1300j]]
