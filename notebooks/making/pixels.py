"""Pictures as few bytes: pixels of a palette, in the size that fits."""

from __future__ import annotations

import io
import re
from functools import cache
from typing import NamedTuple

from PIL import Image

from xlascope_widgets.export import png

#: Pixels for one unit of a picture, the best first.
ZOOMS = (1.5, 1.0, 0.8)
COLOURS = 32
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
    image.quantize(colours).save(written, "PNG", optimize=True)
    return written.getvalue()
