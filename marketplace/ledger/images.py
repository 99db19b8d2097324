"""A stranger's image in, an optimised one out: WebP, its longest side 640 pixels at most."""

import io

from PIL import Image, UnidentifiedImageError

MAX_IMAGE_BYTES = 20 * 1024 * 1024
MAX_PIXELS = 64_000_000
LONGEST_SIDE = 640
QUALITY = 80
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")


class ImageUnusable(ValueError):
    """Why an image can't be shown."""


def optimise(content: bytes) -> tuple[bytes, str]:
    """Return the image as WebP, and the MIME type the original really has. Raises ImageUnusable."""
    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as original:
            if original.width * original.height > MAX_PIXELS:
                raise ImageUnusable(f"the image has more than {MAX_PIXELS} pixels")
            original.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))
            mode = "RGBA" if original.has_transparency_data else "RGB"
            image = original.convert(mode)
            image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
            file_type = Image.MIME[original.format]
    except (UnidentifiedImageError, Image.DecompressionBombError) as error:
        raise ImageUnusable("it is not an image that can be shown") from error
    except (OSError, SyntaxError, ValueError) as error:
        raise ImageUnusable(f"the image is damaged: {error}") from error
    optimised = io.BytesIO()
    image.save(optimised, "WEBP", quality=QUALITY)
    return optimised.getvalue(), file_type
