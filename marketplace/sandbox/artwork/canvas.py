"""Drawing tools: colours, sheets, masks."""

from collections.abc import Sequence

from PIL import Image, ImageDraw

SIZE = 800
# Pillow does not smooth edges: what has edges is drawn this many times too large, then reduced.
FINE = 2
MIDDLE = 400 + 400j

Colour = tuple[int, ...]
# A point is a complex number, x + yi, because turning it is then a multiplication.
Path = list[complex]

GOLD = [(255, 242, 196), (232, 184, 92), (196, 138, 52)]


def hues(text: str) -> list[Colour]:
    """Read colours written as hexadecimal words."""
    return [tuple(bytes.fromhex(word)) for word in text.split()]


def mix(first: Colour, second: Colour, share: float) -> Colour:
    """Blend two colours: share 0 is the first, share 1 the second."""
    return tuple(round(a + (b - a) * share) for a, b in zip(first, second, strict=True))


def wash(colours: Sequence[Colour], width: int = SIZE, height: int = SIZE) -> Image.Image:
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


def paste(
    canvas: Image.Image, fill: Colour | Image.Image, mask: Image.Image, at: complex = MIDDLE
) -> None:
    """Put a colour or a picture on the canvas through a mask, centred on a point."""
    sheet = fill if isinstance(fill, Image.Image) else Image.new("RGB", mask.size, fill)
    canvas.paste(sheet, (round(at.real - mask.width / 2), round(at.imag - mask.height / 2)), mask)
