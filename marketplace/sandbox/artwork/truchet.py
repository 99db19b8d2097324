"""A square of turned tiles."""

import cmath
import math
from random import Random
from typing import Any

from PIL import Image, ImageDraw, ImageOps

from marketplace.sandbox.artwork.canvas import FINE, GOLD, SIZE, WHITE, Colour, hues, wash

# The paper, then the inks.
PALETTES = {
    "Dessau": "f3ead7 d6412b f0b429 1f4e8c 1d1d1f f3ead7",
    "Riviera": "f7f0e3 0d5c75 f2a65a ee6352 f4e3b2 16324f",
    "Olive grove": "f2ecd9 5b6c3d c2b280 d98e4a 2f3a2b e9dfc0",
    "Night tram": "12152b f25f5c ffe066 247ba0 70c1b3 20244a",
    "Terracotta": "f6e9dc b5533c e3a587 344e5c 7f9c96 f0d9c0",
    "Candy": "fff1ec ff6b8b ffc75f 3f3d8f 6fd3c7 ffd9d4",
}
MOTIFS = {
    "Arcs": ["rainbow", "rainbow", "bridge"],
    "Petals": ["petal", "petal", "petal", "quarter"],
    "Signals": ["half", "half", "bars", "disc"],
    "Bauhaus": ["rainbow", "petal", "quarter", "half", "disc", "bars", "wedge"],
}
# The circles of a motif: x, y and radius in tiles, and which of the tile's colours.
CIRCLES: dict[str, list[tuple[float, float, float, int]]] = {
    "rainbow": [(0, 0, 1, 0), (0, 0, 0.75, 1), (0, 0, 0.5, 2), (0, 0, 0.25, 1)],
    "bridge": [(0, 0, 0.67, 0), (0, 0, 0.33, 1), (1, 1, 0.67, 0), (1, 1, 0.33, 1)],
    "quarter": [(0, 0, 1, 0), (0, 0, 0.4, 2)],
    "half": [(0, 0.5, 0.5, 0), (0.75, 0.5, 0.14, 2)],
    "disc": [(0.5, 0.5, 0.4, 0), (0.5, 0.5, 0.17, 2)],
}
TRAITS = {
    "Palette": dict.fromkeys(PALETTES, 1),
    "Pattern": {"Arcs": 3, "Petals": 3, "Signals": 2, "Bauhaus": 4},
    "Grid": {4: 3, 6: 4, 8: 2},
    "Symmetry": {"None": 3, "Mirror": 2, "Kaleidoscope": 2},
    "Gilding": {"None": 6, "Gold": 1},
}


def paint(plan: dict[str, Any], dice: Random) -> Image.Image:
    """Set a square of turned tiles on paper."""
    paper, *inks = hues(PALETTES[plan["Palette"]])
    field, side = Image.new("RGB", (1440, 1440)), 1440 // plan["Grid"]
    for x in range(0, 1440, side * 2):
        for y in range(0, 1440, side * 2):
            large = dice.random() < 0.25
            for dx, dy in [(0, 0)] if large else [(0, 0), (side, 0), (0, side), (side, side)]:
                motif, colours = dice.choice(MOTIFS[plan["Pattern"]]), dice.sample(inks, 3)
                face = tile(motif, side * 2 if large else side, colours)
                field.paste(face.rotate(90 * dice.randrange(4)), (x + dx, y + dy))
    if plan["Gilding"] == "Gold":
        # In the quarter that the symmetries keep.
        half = plan["Grid"] // 2
        corner = side * dice.randrange(half), side * dice.randrange(half)
        field.paste(wash(GOLD, side, side), corner)
        mask = tile("disc", side, [WHITE, (0, 0, 0), (0, 0, 0)]).convert("L")
        field.paste(wash(GOLD[::-1], side, side), corner, mask)
    if plan["Symmetry"] != "None":
        field.paste(ImageOps.mirror(field.crop((0, 0, 720, 1440))), (720, 0))
    if plan["Symmetry"] == "Kaleidoscope":
        field.paste(ImageOps.flip(field.crop((0, 0, 1440, 720))), (0, 720))
    canvas = Image.new("RGB", (SIZE * FINE, SIZE * FINE), paper)
    canvas.paste(field, (80, 80))
    return canvas.reduce(FINE)


def tile(motif: str, side: int, colours: list[Colour]) -> Image.Image:
    """Draw one tile, upright, in an ink on a ground with a third colour."""
    face = Image.new("RGB", (side, side), colours[1])
    pen = ImageDraw.Draw(face)
    for x, y, radius, which in CIRCLES.get(motif, ()):
        pen.circle((x * side, y * side), radius * side - 1, colours[which])
    if motif == "petal":
        arc = [cmath.rect(side, step / 80 * math.pi) for step in range(41)]
        leaf = arc + [complex(side, side) - point for point in arc]
        pen.polygon([(point.real, point.imag) for point in leaf], colours[0])
    if motif == "bars":
        for step in (0, 2, 4):
            pen.rectangle((0, side * step / 6, side, side * (step + 1) / 6 - 1), colours[0])
    if motif == "wedge":
        pen.polygon([(0, 0), (side, 0), (0, side)], colours[0])
    return face
