"""A picture as pixels, without a browser, and with letters on machines that have no fonts."""

from __future__ import annotations

import math
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import resvg_py

#: Pixels for one unit of the picture; fewer for a picture that would have more than so many of them.
SCALE = 2.0
MOST_PIXELS = 60_000_000

_SIZE = re.compile(r'<svg[^>]*?\swidth="([\d.]+)"[^>]*?\sheight="([\d.]+)"')


def png(svg: str, *, system_fonts: bool = True, zoom: float | None = None) -> bytes:
    """The PNG of an SVG that has a width and a height, on white; other scripts than ours need the system's fonts.

    ``zoom`` is pixels for one unit of the picture, by default :func:`scale` of it.
    """
    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=svg,
            zoom=scale(svg) if zoom is None else zoom,
            background="#ffffff",
            skip_system_fonts=not system_fonts,
            font_files=_fonts(),
            font_family="DejaVu Sans",
            sans_serif_family="DejaVu Sans",
            monospace_family="DejaVu Sans Mono",
        )
    )


def scale(svg: str) -> float:
    """Pixels for one unit of a picture.

    >>> scale('<svg width="100" height="100"/>')
    2.0
    """
    found = _SIZE.match(svg)
    area = float(found[1]) * float(found[2]) if found else 1.0
    return min(SCALE, math.sqrt(MOST_PIXELS / max(area, 1.0)))


@cache
def _fonts() -> list[str]:
    """The DejaVu fonts that matplotlib brings along; nothing of it is imported."""
    spec = find_spec("matplotlib")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return [str(path) for folder in folders for path in sorted(Path(folder).glob("mpl-data/fonts/ttf/DejaVuSans*.ttf"))]
