"""Generated artwork: the same picture for the same collection style and seed, on every machine."""

import cmath
import io
import math
from collections.abc import Callable
from itertools import chain, pairwise
from random import Random
from typing import Any

from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageOps

SIZE = 800
# Pillow does not smooth edges: what has edges is drawn this many times too large, then reduced.
FINE = 2
MIDDLE = 400 + 400j

Colour = tuple[int, ...]
# A point is a complex number, x + yi, because turning it is then a multiplication.
Path = list[complex]

WHITE = (255, 255, 255)
GOLD = [(255, 242, 196), (232, 184, 92), (196, 138, 52)]

# The sheets of paper, from one side of the pile to the other.
TIDES = {
    "Coral reef": "0b3954 087e8b 4fb9af d9ead3 ffd9c0 ff8a73 e8505b",
    "Kelp forest": "0b2b26 1b4a40 3d7a62 8eb69b daf1de f6f3d7",
    "Ember": "2b0f2f 5c1a4a a12a5e e2495b f98e5a fdc777 fff0c2",
    "Glacier": "04143c 0a4d8c 1790c4 6cc7e0 bfe9f2 f4fbfb",
    "Dune": "3d2b3d 7a4b4a b8705a e2a276 f3d2a2 faf0d7",
    "Orchid": "1a0b3b 44198a 8b3fc9 d77bd9 ffb3c9 ffe5d4",
}
# The night, the haze around the sun, the sun, then the planets.
ORBITS = {
    "Indigo": "0b1030 3b3f8f ffd27a ef6f6c f2e9e4 59c9a5 7a9cff f7a072",
    "Copper": "1a0f14 8a3b2e ffc971 e2711d f4e3c1 7fb7be c44536 d9ae94",
    "Lagoon": "04202b 0f6e78 ffe8a3 ff8c61 d8f3dc 4cc9c0 f4d35e 2a9dcf",
    "Plum": "170a26 7a2e7a ffb3a7 f26ca7 fde2ff 8f6bff 5fd3d9 ffc15e",
    "Verdant": "0a1a14 2f6b4a f6f2b0 e9c46a e8f1e4 74c69d e76f51 8ecae6",
}
# The paper, then the inks.
TRUCHET = {
    "Dessau": "f3ead7 d6412b f0b429 1f4e8c 1d1d1f f3ead7",
    "Riviera": "f7f0e3 0d5c75 f2a65a ee6352 f4e3b2 16324f",
    "Olive grove": "f2ecd9 5b6c3d c2b280 d98e4a 2f3a2b e9dfc0",
    "Night tram": "12152b f25f5c ffe066 247ba0 70c1b3 20244a",
    "Terracotta": "f6e9dc b5533c e3a587 344e5c 7f9c96 f0d9c0",
    "Candy": "fff1ec ff6b8b ffc75f 3f3d8f 6fd3c7 ffd9d4",
}
# The high sky, the low sky, the sun or moon, the farthest ridge, the nearest ridge.
PEAKS = {
    "Peach dawn": "7fa6c9 ffd8b5 fff6df d9a5a0 2c3350",
    "Golden dusk": "4b4e8c fdb45c fff0c0 d9804f 2a1730",
    "Rose dusk": "5b3f8c ff9fa0 ffe6d0 c86a8c 1d1738",
    "Jade morning": "8fc3bd f2f1d4 fffbe6 a2c4b0 12302f",
    "Crimson sunset": "3a1c4a ff6b4a ffdf91 b23a48 190a1e",
    "Full moon": "071330 4f7cac f4f6ff 466f9c 060d1f",
    "Crescent moon": "03131f 2f8f83 e9fff5 2c6f73 04121a",
}
MOTIFS = {
    "Arcs": ["rainbow", "rainbow", "bridge"],
    "Petals": ["petal", "petal", "petal", "quarter"],
    "Signals": ["half", "half", "bars", "disc"],
    "Bauhaus": ["rainbow", "petal", "quarter", "half", "disc", "bars", "wedge"],
}
# The circles of a motif: x, y and radius in tiles, and which of the tile's colours.
CIRCLES = {
    "rainbow": [(0, 0, 1, 0), (0, 0, 0.75, 1), (0, 0, 0.5, 2), (0, 0, 0.25, 1)],
    "bridge": [(0, 0, 0.67, 0), (0, 0, 0.33, 1), (1, 1, 0.67, 0), (1, 1, 0.33, 1)],
    "quarter": [(0, 0, 1, 0), (0, 0, 0.4, 2)],
    "half": [(0, 0.5, 0.5, 0), (0.75, 0.5, 0.14, 2)],
    "disc": [(0.5, 0.5, 0.4, 0), (0.5, 0.5, 0.17, 2)],
}

# For each style the traits of its artworks, and how often each value turns up.
CHOICES: dict[str, dict[str, dict[Any, int]]] = {
    "tides": {
        "Palette": dict.fromkeys(TIDES, 1),
        "Form": {"Swell": 4, "Current": 4, "Lagoon": 4},
        "Layers": dict.fromkeys(range(6, 11), 1),
        "Depth": {"Dark": 1, "Bright": 1},
        "Thread": {"None": 4, "Gold": 1},
    },
    "orbits": {
        "Palette": dict.fromkeys(ORBITS, 1),
        "View": {"From above": 3, "Aslant": 4, "Sunrise": 4},
        "Sun": {"Giant": 3, "Dwarf": 3, "Eclipsed": 1},
        "Planets": dict.fromkeys(range(3, 7), 1),
        "Rings": {0: 3, 1: 4, 2: 1},
    },
    "truchet": {
        "Palette": dict.fromkeys(TRUCHET, 1),
        "Pattern": {"Arcs": 3, "Petals": 3, "Signals": 2, "Bauhaus": 4},
        "Grid": {4: 3, 6: 4, 8: 2},
        "Symmetry": {"None": 3, "Mirror": 2, "Kaleidoscope": 2},
        "Gilding": {"None": 6, "Gold": 1},
    },
    "peaks": {
        "Hour": dict.fromkeys(PEAKS, 1),
        "Relief": {"Hills": 2, "Alps": 4, "Crags": 2},
        "Ridges": dict.fromkeys(range(3, 8), 1),
        "Ground": {"Moor": 2, "Forest": 4, "Lake": 4},
        "Birds": {0: 4, 3: 1, 5: 2, 8: 2},
    },
}
STYLES: tuple[str, ...] = tuple(CHOICES)


def draw(style: str, seed: str) -> bytes:
    """The PNG (RGB, 800 x 800) of one artwork, deterministic in style and seed."""
    dice = Random(f"{style}/{seed}")
    paint = {"tides": tides, "orbits": orbits, "truchet": truchet, "peaks": peaks}[style]
    png = io.BytesIO()
    # A higher level would take longer than the drawing and save little.
    paint(chosen(style, dice), dice).save(png, "PNG", compress_level=2)
    return png.getvalue()


def traits(style: str, seed: str) -> list[tuple[str, str | int]]:
    """What the picture shows, as (trait_type, value) pairs: always true of what draw() draws."""
    return list(chosen(style, Random(f"{style}/{seed}")).items())


def chosen(style: str, dice: Random) -> dict[str, Any]:
    """Choose a value for each trait, before anything is drawn."""
    return {
        trait: dice.choices(list(weights), list(weights.values()))[0]
        for trait, weights in CHOICES[style].items()
    }


def hues(text: str) -> list[Colour]:
    """Read colours written as hexadecimal words."""
    return [tuple(bytes.fromhex(word)) for word in text.split()]


def mix(first: Colour, second: Colour, share: float) -> Colour:
    """Blend two colours: share 0 is the first, share 1 the second."""
    return tuple(round(a + (b - a) * share) for a, b in zip(first, second, strict=True))


def wash(colours: list[Colour], width: int = SIZE, height: int = SIZE) -> Image.Image:
    """Fill a sheet with colours that run into each other from top to bottom."""
    line = Image.new("RGB", (1, len(colours)))
    line.putdata(colours)
    smooth = line.resize((1, height), Image.Resampling.BILINEAR)
    return smooth.resize((width, height), Image.Resampling.NEAREST)


def shape(*paths: Path, line: float = 0) -> Image.Image:
    """Make the mask of some polygons, or of lines of the given width."""
    mask = Image.new("L", (SIZE * FINE, SIZE * FINE))
    pen = ImageDraw.Draw(mask)
    for path in paths:
        points = [(point.real * FINE, point.imag * FINE) for point in path]
        if line:
            pen.line(points, 255, round(line * FINE), "curve")
        else:
            pen.polygon(points, 255)
    return mask.reduce(FINE)


def disc(radius: int) -> Image.Image:
    """Make the mask of a disc."""
    mask = Image.new("L", (radius * 8, radius * 8))
    ImageDraw.Draw(mask).ellipse((0, 0, radius * 8 - 1, radius * 8 - 1), 255)
    return mask.reduce(4)


def paste(
    canvas: Image.Image, fill: Colour | Image.Image, mask: Image.Image, at: complex = MIDDLE
) -> None:
    """Put a colour or a picture on the canvas through a mask, centred on a point."""
    sheet = fill if isinstance(fill, Image.Image) else Image.new("RGB", mask.size, fill)
    canvas.paste(sheet, (round(at.real - mask.width / 2), round(at.imag - mask.height / 2)), mask)


def glow(canvas: Image.Image, colour: Colour, at: complex, radius: int, strength: float) -> None:
    """Light up the surroundings of a point."""
    # Pillow's radial gradient is 180 at the middle of its sides.
    fade = [max(0, 1 - far / 180) ** 2 * 255 * strength for far in range(256)]
    mask = Image.radial_gradient("L").point(fade)
    paste(canvas, colour, mask.resize((radius * 2, radius * 2), Image.Resampling.BILINEAR), at)


def stars(canvas: Image.Image, dice: Random) -> None:
    """Scatter stars, faint and bright."""
    sky = canvas.getpixel((0, 0))
    for _ in range(140):
        at = complex(dice.uniform(0, SIZE), dice.uniform(0, SIZE))
        paste(canvas, mix(sky, WHITE, dice.uniform(0.3, 1)), disc(dice.choice((1, 1, 1, 2))), at)


def tides(plan: dict[str, Any], dice: Random) -> Image.Image:
    """Lay sheets of cut paper on each other, each with its shadow on the one behind."""
    colours = hues(TIDES[plan["Palette"]])
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


def orbits(plan: dict[str, Any], dice: Random) -> Image.Image:
    """Hang planets around a sun."""
    night, haze, sun, *colours = hues(ORBITS[plan["Palette"]])
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


def truchet(plan: dict[str, Any], dice: Random) -> Image.Image:
    """Set a square of turned tiles on paper."""
    paper, *inks = hues(TRUCHET[plan["Palette"]])
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
        corner = [side * dice.randrange(plan["Grid"] // 2) for _ in "xy"]
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


def peaks(plan: dict[str, Any], dice: Random) -> Image.Image:
    """Stack ridges in the mist under a sun or a moon."""
    high, low, light, far, near = hues(PEAKS[plan["Hour"]])
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
