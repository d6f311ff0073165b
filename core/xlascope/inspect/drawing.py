"""Who draws: what turns records into pictures, pages and charts is registered, or installed beside us.

Nothing here imports what draws. A package offers it as an entry point of the group ``xlascope.renderers``. Its name is
the form: a file's suffix (``svg``), drawn by ``draw(shown, path)``, or ``chart``, by ``chart(shown, kind)``. What is
shown are records, or a comparison of records.
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
#: How to get what we bring along.
WAY_OUT = "pip install --force-reinstall --no-deps xlascope"

Draw = Callable[[Any, Any], Any]

_registered: dict[str, Draw] = {}


class NoRendererError(ValueError):
    """Nothing that is installed draws this form, or what is cannot be loaded."""


def register_drawing(form: str, draw: Draw | None) -> Draw | None:
    """Let ``draw`` make a form (``svg``, ``chart``), before whatever is installed; returns what was registered before.

    Registering None ends that.
    """
    previous = _registered.pop(form, None)
    if draw is not None:
        _registered[form] = draw
    return previous


def drawn_forms() -> tuple[str, ...]:
    """The forms of files that can be drawn, by their suffix without the dot; the usual ones first."""
    installed = (each.name for each in find_entry_points(GROUP))
    known = {*_registered, *installed} - {CHART}
    return (*(each for each in _USUAL if each in known), *sorted(known.difference(_USUAL)))


def drawing_of(form: str) -> Draw:
    """What draws a form: as registered, or else as installed; of several, one of another package than ours.

    Raises :class:`NoRendererError`, which says what to install.
    """
    if form in _registered:
        return _registered[form]
    failures = []
    for each in sorted(find_entry_points(GROUP, form), key=_order):
        try:
            found: Draw = each.load()
            return found
        except Exception as error:  # whatever its package does when it is imported
            failures.append(f"{each.value} cannot be loaded ({type(error).__name__}: {error})")
    what = "charts" if form == CHART else f".{form} files"
    raise NoRendererError(f"nothing draws {what}: {'; '.join(failures) or 'no renderer is installed'}; {WAY_OUT}")


def _order(found: EntryPoint) -> tuple[bool, str, str]:
    package = found.dist.name if found.dist is not None else ""
    return package == _OURS, package, found.value
