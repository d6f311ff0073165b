"""Checks and their outcome: which check of a program failed first, and with what values."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import tree
from ...ir.avals import ShapedArray
from ...ir.sources import where_text
from ...records import SourceRange


class JaxRuntimeError(ValueError):
    """Failure of a check."""


class ErrorCategory(enum.Enum):
    """Kind of checks."""

    USER = "check"
    NAN = "nan"
    DIVISION = "division by zero"
    INDEX = "out of bounds"


#: The calls of :func:`check` and :func:`debug_check` in the function.
user_checks = frozenset({ErrorCategory.USER})
#: Checks that no operation returns NaN.
nan_checks = frozenset({ErrorCategory.NAN})
#: Checks that no divisor is zero.
div_checks = frozenset({ErrorCategory.DIVISION})
#: Checks that indices are in bounds.
index_checks = frozenset({ErrorCategory.INDEX})
float_checks = nan_checks | div_checks
automatic_checks = float_checks | index_checks
all_checks = user_checks | automatic_checks


@dataclass(frozen=True)
class Site:
    """Check in a program: its message, and the types of the values in the message."""

    message: str
    structure: Any
    avals: tuple[ShapedArray, ...]
    place: SourceRange | None
    category: ErrorCategory = ErrorCategory.USER

    def says(self, values: Sequence[Any]) -> str:
        """Return the message with its values."""
        args, kwargs = self.structure.unflatten([x[()] if x.ndim == 0 else x for x in map(np.asarray, values)])
        text = self.message.format(*args, **kwargs)
        return f"{text} (`check` failed)" if self.category is ErrorCategory.USER else text + where_text(self.place)


@tree.register_pytree_node_class
class Error:
    """Outcome of a program's checks: which failed first, if one did.

    It is a container of arrays: programs may return it, and ``vmap`` makes one of all examples of it.
    """

    __slots__ = ("_number", "_sites", "_values")

    def __init__(self, number: Any, values: Sequence[Any], sites: tuple[Site, ...]) -> None:
        self._number, self._values, self._sites = number, tuple(values), sites

    def get(self) -> str | None:
        """Return the message of the failed check, or None where none failed.

        For a batch it has a line for each example in which a check failed.
        """
        return "\n".join(self._lines()) or None

    def get_exception(self) -> JaxRuntimeError | None:
        """Return the exception that :meth:`throw` raises; None where no check failed."""
        message = self.get()
        return None if message is None else JaxRuntimeError(message)

    def throw(self) -> None:
        """Raise JaxRuntimeError where a check failed."""
        failed = self.get_exception()
        if failed is not None:
            raise failed

    def _lines(self) -> Iterator[str]:
        numbers = np.asarray(self._number)
        values = [np.asarray(x) for x in self._values]
        for index in zip(*np.nonzero(numbers), strict=True) if numbers.ndim else [()] * bool(numbers):
            number = int(numbers[index])
            before = sum(len(site.avals) for site in self._sites[: number - 1])
            site = self._sites[number - 1]
            where = f"at mapped index {', '.join(map(str, index))}: " if index else ""
            yield where + site.says([x[index] for x in values[before : before + len(site.avals)]])

    def __repr__(self) -> str:
        number = self._number
        if not isinstance(number, (int, np.generic, np.ndarray)) and not hasattr(number, "is_deleted"):
            return f"Error(of {len(self._sites)} checks)"  # the outcome is unknown while tracing
        return f"Error({self.get()!r})"

    def tree_flatten(self) -> tuple[tuple[Any, ...], tuple[Site, ...]]:
        """Return the arrays, and the checks to which they belong."""
        return (self._number, *self._values), self._sites

    @classmethod
    def tree_unflatten(cls, sites: tuple[Site, ...], arrays: Sequence[Any]) -> Error:
        """Return the container of other arrays."""
        number, *values = arrays
        return cls(number, values, sites)


#: The error of a program without any check.
init_error = Error(np.int32(0), (), ())
