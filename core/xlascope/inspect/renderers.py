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
_COMMON_FORMATS = ("html", "svg", "png", "dot", "pdf")
_OWN_PACKAGE = "xlascope"
#: How to install the renderers that come with this package.
INSTALL_HINT = "pip install --force-reinstall --no-deps xlascope"

DrawFunction = Callable[[Any, Any], Any]

_registered: dict[str, DrawFunction] = {}


class NoRendererError(ValueError):
    """Format for which no renderer is installed, or whose renderer cannot be loaded."""


def register_drawing(form: str, draw: DrawFunction | None) -> DrawFunction | None:
    """Register ``draw`` for the format ``form`` (``svg``, ``chart``); return the function registered before, or None.

    A registered function takes precedence over those of installed packages. With ``draw`` None the registration is
    removed.
    """
    previous = _registered.pop(form, None)
    if draw is not None:
        _registered[form] = draw
    return previous


def available_formats() -> tuple[str, ...]:
    """Return the file formats that can be drawn, as suffixes without the dot, common ones first."""
    installed = (item.name for item in find_entry_points(GROUP))
    available = {*_registered, *installed} - {CHART}
    return (*(item for item in _COMMON_FORMATS if item in available), *sorted(available.difference(_COMMON_FORMATS)))


def find_renderer(form: str) -> DrawFunction:
    """Return the function that draws the format ``form``: the registered one, else one of an installed package.

    Other packages take precedence over xlascope's own. Raises :class:`NoRendererError`, which says what to install.
    """
    if form in _registered:
        return _registered[form]
    failures = []
    for entry_point in sorted(find_entry_points(GROUP, form), key=_entry_point_order):
        try:
            draw: DrawFunction = entry_point.load()
            return draw
        except Exception as error:  # whatever its package does when it is imported
            failures.append(f"{entry_point.value} cannot be loaded ({type(error).__name__}: {error})")
    kind = "charts" if form == CHART else f".{form} files"
    raise NoRendererError(f"nothing draws {kind}: {'; '.join(failures) or 'no renderer is installed'}; {INSTALL_HINT}")


def _entry_point_order(entry_point: EntryPoint) -> tuple[bool, str, str]:
    package = entry_point.dist.name if entry_point.dist is not None else ""
    return package == _OWN_PACKAGE, package, entry_point.value
