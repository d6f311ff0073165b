"""Checks and their outcome: which check of a program failed first, and with what values."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import tree
from ...ir.avals import ShapedArray
from ...ir.user_frames import where_text
from ...records import SourceRange


class JaxRuntimeError(ValueError):
    """Error that a failed check raises."""


class ErrorCategory(enum.Enum):
    """Category of checks: the user's, or one of the kinds of implicit checks."""

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
class CheckSite:
    """One check in a program.

    ``message`` is its format string, ``structure`` and ``avals`` are tree and types of the values in it, ``location``
    is the user's line.
    """

    message: str
    structure: Any
    avals: tuple[ShapedArray, ...]
    location: SourceRange | None
    category: ErrorCategory = ErrorCategory.USER

    def format_lines(self, values: Sequence[Any], index: tuple[Any, ...] = ()) -> Iterator[str]:
        """Yield the message with these values, after the ``index`` of the example in which the check failed."""
        where = f"at mapped index {', '.join(map(str, index))}: " if index else ""
        yield where + self.format_message(values)

    def format_message(self, values: Sequence[Any]) -> str:
        """Return the message with these values filled in; implicit checks add the user's line."""
        args, kwargs = self.structure.unflatten([x[()] if x.ndim == 0 else x for x in map(np.asarray, values)])
        text = self.message.format(*args, **kwargs)
        return f"{text} (`check` failed)" if self.category is ErrorCategory.USER else text + where_text(self.location)


@dataclass(frozen=True)
class ShardedCheckSite(CheckSite):
    """The checks ``inner_sites`` of a shard_map as one.

    Its values are the number of the check that failed on each device, or 0, and the message values of all devices.
    """

    inner_sites: tuple[CheckSite, ...] = ()

    def format_lines(self, values: Sequence[Any], index: tuple[Any, ...] = ()) -> Iterator[str]:
        """Yield a line for each device on which a check failed, after its index."""
        numbers, *inner_values = map(np.asarray, values)
        return format_failures(numbers, inner_values, self.inner_sites, index)


def format_failures(
    numbers: Any, values: Sequence[Any], sites: Sequence[CheckSite], outer: tuple[Any, ...] = ()
) -> Iterator[str]:
    """Yield the messages of the failures of each example: ``numbers`` are those of failed checks, from 1 on, or 0.

    ``values`` are the message values of all checks in ``sites``; ``outer`` is the index of what the examples belong to.
    """
    for index in zip(*np.nonzero(numbers), strict=True) if numbers.ndim else [()] * bool(numbers):
        number = int(numbers[index])
        before = sum(len(site.avals) for site in sites[: number - 1])
        site = sites[number - 1]
        yield from site.format_lines([x[index] for x in values[before : before + len(site.avals)]], (*outer, *index))


@tree.register_pytree_node_class
class Error:
    """Outcome of a program's checks: which check failed first, if any.

    It is a pytree of arrays: programs may return it, and ``vmap`` makes it one outcome for each example. ``number``
    is that of the failed check, from 1 on, or 0; ``values`` are the message values of all checks in ``sites``.
    """

    __slots__ = ("_number", "_sites", "_values")

    def __init__(self, number: Any, values: Sequence[Any], sites: tuple[CheckSite, ...]) -> None:
        self._number, self._values, self._sites = number, tuple(values), sites

    def get(self) -> str | None:
        """Return the message of the failed check, or None if no check failed.

        For a batch there is a line for each example in which a check failed.
        """
        return "\n".join(self._lines()) or None

    def get_exception(self) -> JaxRuntimeError | None:
        """Return the exception that :meth:`throw` raises; None if no check failed."""
        message = self.get()
        return None if message is None else JaxRuntimeError(message)

    def throw(self) -> None:
        """Raise JaxRuntimeError if a check failed."""
        failed = self.get_exception()
        if failed is not None:
            raise failed

    def _lines(self) -> Iterator[str]:
        """Yield the message of each example in which a check failed."""
        yield from format_failures(np.asarray(self._number), [np.asarray(x) for x in self._values], self._sites)

    def __repr__(self) -> str:
        number = self._number
        if not isinstance(number, (int, np.generic, np.ndarray)) and not hasattr(number, "is_deleted"):
            return f"Error(of {len(self._sites)} checks)"  # the outcome is unknown while tracing
        return f"Error({self.get()!r})"

    def tree_flatten(self) -> tuple[tuple[Any, ...], tuple[CheckSite, ...]]:
        """Return the arrays, and the checks that they belong to as aux data."""
        return (self._number, *self._values), self._sites

    @classmethod
    def tree_unflatten(cls, sites: tuple[CheckSite, ...], arrays: Sequence[Any]) -> Error:
        """Return the outcome of these checks with the given arrays."""
        number, *values = arrays
        return cls(number, values, sites)


#: The error of a program without any check.
init_error = Error(np.int32(0), (), ())
