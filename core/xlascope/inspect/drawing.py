"""Registry of renderers, which turn records into pictures, pages and charts.

Renderers are registered or discovered through entry points; this package does not import them. A package
provides one as an entry point of the group ``xlascope.renderers``. Its name is the format: a file suffix
(``svg``), drawn by ``draw(shown, path)``, or ``chart``, by ``chart(shown, kind)``. The first argument holds
records, or a comparison of records.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint
from typing import Any

from ..entry_points import find_entry_points

GROUP = "xlascope.renderers"
CHART = "chart"
_USUAL = ("html", "svg", "png", "dot", "pdf")
_OURS = "xlascope"
#: How to install the renderers that come with this package.
WAY_OUT = "pip install --force-reinstall --no-deps xlascope"

Draw = Callable[[Any, Any], Any]

_registered: dict[str, Draw] = {}


class NoRendererError(ValueError):
    """Format for which no renderer is installed, or whose renderer cannot be loaded."""


def register_drawing(form: str, draw: Draw | None) -> Draw | None:
    """Register ``draw`` for a format (``svg``, ``chart``) and return the function registered before.

    A registered function takes precedence over installed ones. Registering None removes it.
    """
    previous = _registered.pop(form, None)
    if draw is not None:
        _registered[form] = draw
    return previous


def drawn_forms() -> tuple[str, ...]:
    """Return the file formats that can be drawn, as suffixes without the dot, common ones first."""
    installed = (item.name for item in find_entry_points(GROUP))
    available = {*_registered, *installed} - {CHART}
    return (*(item for item in _USUAL if item in available), *sorted(available.difference(_USUAL)))


def drawing_of(form: str) -> Draw:
    """Return the function that draws a format, registered or installed; other packages precede this one.

    Raises :class:`NoRendererError`, which says what to install.
    """
    if form in _registered:
        return _registered[form]
    failures = []
    for entry_point in sorted(find_entry_points(GROUP, form), key=_order):
        try:
            draw: Draw = entry_point.load()
            return draw
        except Exception as error:  # whatever its package does when it is imported
            failures.append(f"{entry_point.value} cannot be loaded ({type(error).__name__}: {error})")
    kind = "charts" if form == CHART else f".{form} files"
    raise NoRendererError(f"nothing draws {kind}: {'; '.join(failures) or 'no renderer is installed'}; {WAY_OUT}")


def _order(entry_point: EntryPoint) -> tuple[bool, str, str]:
    package = entry_point.dist.name if entry_point.dist is not None else ""
    return package == _OURS, package, entry_point.value
