"""Values that a function needs while it is traced, because the size of its result depends on them."""

from __future__ import annotations

from typing import Any

from ..errors import ConcretizationTypeError
from .provenance import describe_origin, traced_function_name
from .source import compose_message
from .tracer import TracerBase


def require_known(x: Any, function: str, unknown: str, fix: str) -> Any:
    """Return ``x``, or the value behind a tracer of a known one.

    Raises ConcretizationTypeError for other tracers. ``function`` is the public function that needs the value,
    ``unknown`` is what depends on it ("how many segments there are"), and ``fix`` says what to write instead.

    >>> require_known(3, "bincount", "how many counts there are", "Pass length=.")
    3
    """
    value = x.concrete() if isinstance(x, TracerBase) else x
    if value is None:
        problem = (
            f"{function}: {unknown} depends on {x!r}, whose values are not known while {traced_function_name(x)} is"
        )
        message = compose_message(f"{problem} traced.{describe_origin(x)}", fix)
        raise ConcretizationTypeError(message)
    return value
