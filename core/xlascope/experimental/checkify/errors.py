"""What is checked, and what a program found: which of its checks failed first, and with what values."""

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
    """A check that failed."""


class ErrorCategory(enum.Enum):
    """A kind of checks."""

    USER = "check"
    NAN = "nan"
    DIVISION = "division by zero"
    INDEX = "out of bounds"


#: The calls of :func:`check` and :func:`debug_check` in the function.
user_checks = frozenset({ErrorCategory.USER})
#: That no operation gives NaN.
nan_checks = frozenset({ErrorCategory.NAN})
#: That nothing is divided by zero.
div_checks = frozenset({ErrorCategory.DIVISION})
#: That what is read or changed by an index is there.
index_checks = frozenset({ErrorCategory.INDEX})
float_checks = nan_checks | div_checks
automatic_checks = float_checks | index_checks
all_checks = user_checks | automatic_checks


@dataclass(frozen=True)
class Site:
    """A check in a program: what it says where it fails, and the types of the values that it tells of."""

    message: str
    structure: Any
    avals: tuple[ShapedArray, ...]
    place: SourceRange | None
    category: ErrorCategory = ErrorCategory.USER

    def says(self, values: Sequence[Any]) -> str:
        """What is said of values."""
        args, kwargs = self.structure.unflatten([x[()] if x.ndim == 0 else x for x in map(np.asarray, values)])
        said = self.message.format(*args, **kwargs)
        return f"{said} (`check` failed)" if self.category is ErrorCategory.USER else said + where_text(self.place)


@tree.register_pytree_node_class
class Error:
    """Which of a program's checks failed first, if one did.

    It is a container of arrays: programs may return it, and ``vmap`` makes one of all examples of it.
    """

    __slots__ = ("_number", "_sites", "_values")

    def __init__(self, number: Any, values: Sequence[Any], sites: tuple[Site, ...]) -> None:
        self._number, self._values, self._sites = number, tuple(values), sites

    def get(self) -> str | None:
        """What the check that failed says, with a line for each example of a batch in which one did; None where none
        did.
        """
        return "\n".join(self._lines()) or None

    def get_exception(self) -> JaxRuntimeError | None:
        """The exception that :meth:`throw` raises; None where no check failed."""
        said = self.get()
        return None if said is None else JaxRuntimeError(said)

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
            return f"Error(of {len(self._sites)} checks)"  # while it is traced nobody knows
        return f"Error({self.get()!r})"

    def tree_flatten(self) -> tuple[tuple[Any, ...], tuple[Site, ...]]:
        """The arrays, and the checks to which they belong."""
        return (self._number, *self._values), self._sites

    @classmethod
    def tree_unflatten(cls, sites: tuple[Site, ...], arrays: Sequence[Any]) -> Error:
        """The container of other arrays."""
        number, *values = arrays
        return cls(number, values, sites)


#: The error of a program without any check.
init_error = Error(np.int32(0), (), ())
