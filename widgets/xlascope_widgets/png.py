"""Rendering of SVG to PNG without a browser, with fonts for machines that have none."""

from __future__ import annotations

import math
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import resvg_py

#: The pixels per unit of a picture, and the maximum number of pixels, for which the former is reduced.
DEFAULT_SCALE = 2.0
MAX_PIXELS = 60_000_000

_SIZE = re.compile(r'<svg[^>]*?\swidth="([\d.]+)"[^>]*?\sheight="([\d.]+)"')


def render_png(svg: str, *, system_fonts: bool = True, zoom: float | None = None) -> bytes:
    """Render an SVG with a width and a height as PNG on white; non-Latin scripts need the system's fonts.

    ``zoom`` is the number of pixels per unit of the picture, by default that of :func:`choose_scale`.
    """
    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=svg,
            zoom=choose_scale(svg) if zoom is None else zoom,
            background="#ffffff",
            skip_system_fonts=not system_fonts,
            font_files=_find_fonts(),
            font_family="DejaVu Sans",
            sans_serif_family="DejaVu Sans",
            monospace_family="DejaVu Sans Mono",
        )
    )


def choose_scale(svg: str) -> float:
    """Return the pixels per unit of a picture.

    >>> choose_scale('<svg width="100" height="100"/>')
    2.0
    """
    match = _SIZE.match(svg)
    area = float(match[1]) * float(match[2]) if match else 1.0
    return min(DEFAULT_SCALE, math.sqrt(MAX_PIXELS / max(area, 1.0)))


@cache
def _find_fonts() -> list[str]:
    """Return the DejaVu fonts shipped with matplotlib, without importing it."""
    spec = find_spec("matplotlib")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return [str(path) for folder in folders for path in sorted(Path(folder).glob("mpl-data/fonts/ttf/DejaVuSans*.ttf"))]
