"""How a call is written: a signature without what says nothing, and the same in every run."""

from __future__ import annotations

import enum
import inspect
import re
from typing import Any

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_ROOM = re.compile(r"\b(?:xlascope|collections|typing|numpy|np)\.(?:\w+\.)*(?=\w+)")


class _Written:
    """Prints as the text that it was given."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def signature(value: Any) -> str:
    """What stands behind a name where it is called; nothing for what is not called, `(...)` where Python knows none.

    >>> def scaled(x: Any, factor: "float | None" = None) -> Any: ...
    >>> signature(scaled)
    '(x, factor: float | None = None)'
    """
    if isinstance(value, type) and issubclass(value, enum.Enum):
        return ""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    parameters = [each.replace(annotation=_said(each.annotation)) for each in found.parameters.values()]
    result = _said(found.return_annotation)
    return _ADDRESS.sub("", str(found.replace(parameters=parameters, return_annotation=result)))


def _said(annotation: Any) -> Any:
    """A type by its own name; nothing for what may be anything."""
    if annotation is inspect.Parameter.empty:
        return annotation
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = _ROOM.sub("", text)
    return inspect.Parameter.empty if text == "Any" else _Written(text)
