"""Pictures as few bytes: pixels of a palette, in the size that fits."""

from __future__ import annotations

import io
import re
from functools import cache
from typing import NamedTuple

from PIL import Image

from xlascope_widgets import png

#: Pixels for one unit of a picture, the best first.
ZOOMS = (1.5, 1.0, 0.8)
COLOURS = 64
#: How many of these are colours that the picture has, the most frequent first, and how far apart they are at least.
EXACT, APART = 24, 24
_SIZE = re.compile(r'<svg[^>]*?\swidth="([\d.]+)"[^>]*?\sheight="([\d.]+)"')


class Picture(NamedTuple):
    """A PNG, and the size in which it is shown."""

    data: bytes
    width: int
    height: int


def picture_of(svg: str, most: int) -> Picture:
    """The sharpest picture of at most so many bytes; the smallest that there is where none is so small."""
    found = _SIZE.search(svg)
    width, height = (round(float(each)) for each in found.groups()) if found else (0, 0)
    for zoom in ZOOMS:
        data = _drawn(svg, zoom)
        if len(data) <= most:
            break
    return Picture(data, width, height)


@cache
def smaller(data: bytes, most: int) -> bytes:
    """A PNG that somebody else made, with as many colours as so many bytes allow; as it is, if that is smaller."""
    image = Image.open(io.BytesIO(data)).convert("RGBA")
    ground = Image.new("RGBA", image.size, "white")
    opaque = Image.alpha_composite(ground, image).convert("RGB")
    for colours in (128, 64):
        reduced = _palette(opaque, colours)
        if len(reduced) <= most:
            break
    return min(reduced, data, key=len)


@cache
def _drawn(svg: str, zoom: float) -> bytes:
    return _palette(Image.open(io.BytesIO(png.render_png(svg, system_fonts=False, zoom=zoom))).convert("RGB"), COLOURS)


def _palette(image: Image.Image, colours: int) -> bytes:
    written = io.BytesIO()
    palette = Image.new("P", (1, 1))
    exact = _exact_colours(image)
    between = image.quantize(colours - len(exact)).getpalette() or []
    palette.putpalette([value for colour in exact for value in colour] + between[: 3 * (colours - len(exact))])
    image.quantize(palette=palette, dither=Image.Dither.NONE).save(written, "PNG", optimize=True)
    return written.getvalue()


def _exact_colours(image: Image.Image) -> list[tuple[int, int, int]]:
    """The most frequent colours that are clearly apart: a thin line of one is not given the colour of another."""
    counts = image.getcolors(image.width * image.height) or []
    found: list[tuple[int, int, int]] = []
    for _, colour in sorted(counts, reverse=True):
        assert isinstance(colour, tuple)
        if all(max(abs(a - b) for a, b in zip(colour, other, strict=True)) >= APART for other in found):
            found.append((colour[0], colour[1], colour[2]))
        if len(found) == EXACT:
            break
    return found
