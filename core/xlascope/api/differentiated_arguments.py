"""Arguments that are differentiated (argnums), and checks that they and the results are differentiable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

from .. import tree
from ..control.programs.function_names import defined_at
from ..dtypes import float0, is_differentiable, is_floating
from ..errors import see
from ..ir.user_frames import locate
from ..trace.source import compose_message, user_line, where_text
from ..trace.tracer import TracerBase
from ..trace.values import aval_of, invalid_operand_error
from ..xla.arrays.key_array import KeyArray
from ..xla.devices.backend import ArrayImpl
from .argnames import name_of


class DifferentiatedArguments:
    """Arguments that a transformation differentiates, from a user's ``argnums``: an integer or a sequence of integers.

    ``name`` is the transformation's name, for errors. Raises TypeError or ValueError for invalid or empty
    ``argnums``.
    """

    __slots__ = ("argnums", "numbers", "single", "what")

    def __init__(self, name: str, argnums: Any) -> None:
        self.what = name
        self.argnums = argnums
        self.single = isinstance(argnums, SupportsIndex)
        try:
            self.numbers = tuple(i.__index__() for i in ((argnums,) if self.single else argnums))
        except (TypeError, AttributeError):
            raise TypeError(
                f"{name}: argnums has to be an integer or a sequence of integers, "
                f"got {argnums!r} of type {type(argnums).__name__}{at()}"
            ) from None
        if not self.numbers:
            raise ValueError(f"{name}: argnums={argnums!r} chooses no argument to differentiate{at()}")

    def resolve_positions(
        self, fun: Callable[..., Any], count: int, too_few: type[Exception] = ValueError
    ) -> tuple[int, ...]:
        """Return the nonnegative positions of the arguments in a call with ``count`` positional arguments.

        Raises ``too_few`` if an argument is missing, ValueError for a negative number out of range, and
        TypeError if an argument is named twice.
        """
        if max(self.numbers) >= count or min(self.numbers) < -count:
            raise (too_few if max(self.numbers) >= count else ValueError)(
                f"{self.what} of {name_of(fun)} with argnums={self.argnums} got only {count} positional arguments{at()}"
                ". Arguments that are given by name are not differentiated."
            )
        positions = tuple(i % count for i in self.numbers)
        if len(set(positions)) < len(positions):
            raise TypeError(f"{self.what} of {name_of(fun)}: argnums={self.argnums} names an argument twice{at()}")
        return positions

    def pick(self, trees: Any) -> Any:
        """Return the only one of ``trees`` if ``argnums`` is an integer, else all; there is one tree per argument."""
        return trees[0] if self.single else trees


def restrict_to_arguments(
    fun: Callable[..., Any], positions: Sequence[int], args: Sequence[Any], kwargs: dict[str, Any]
) -> Callable[..., Any]:
    """Return ``fun`` as a function of the arguments at ``positions``; ``args`` and ``kwargs`` are the others."""

    def call_restricted(*values: Any) -> Any:
        full_args = list(args)
        for i, x in zip(positions, values, strict=True):
            full_args[i] = x
        return fun(*full_args, **kwargs)

    return call_restricted


def at() -> str:
    """Return the user's line for the end of a message, as `` at file.py:12 (in f)``."""
    return where_text(user_line())


def location_text(code: Any, lasti: int) -> str:
    """Return `` at file.py:12 (in f)`` for the line of an instruction, given by its code object and its offset."""
    return where_text(locate(code, lasti))


def kind_of(value: Any) -> str:
    """Return a description of a function's result for a message: ``None``, ``an array``, ``a tuple of 2``."""
    if value is None:
        return "None"
    if isinstance(value, (TracerBase, ArrayImpl, KeyArray)):
        return "an array"
    return f"a {type(value).__name__}" + (f" of {len(value)}" if isinstance(value, (tuple, list)) else "")


def require_callable(name: str, fun: Any) -> None:
    """Raise TypeError if ``fun`` is not callable; ``name`` is the transformation's name, for the message."""
    if not callable(fun):
        raise TypeError(f"{name} takes a function, got {fun!r} of type {type(fun).__name__}{at()}")


def leaf_name(structure: Any, positions: Sequence[int], index: int) -> str:
    """Return the user's name of a leaf of the differentiated arguments, such as ``argument 0['w'][1]``.

    ``structure`` is that of the tuple of these arguments, ``positions`` are their positions in the call;
    ``index`` is that of the leaf.
    """
    path = tree.leaves_with_path(structure.unflatten(range(structure.num_leaves)))[index][0]
    return f"argument {positions[path[0].idx]}{tree.keystr(path[1:])}"


def require_differentiable(
    transformation: str,
    fun: Callable[..., Any],
    operands: Sequence[Any],
    structure: Any,
    positions: Sequence[int],
    *,
    holomorphic: bool,
    allow_int: bool = False,
    only_real: bool = False,
) -> None:
    """Raise TypeError naming the first leaf of the arguments that cannot be differentiated.

    ``operands`` are the leaves, ``structure`` that of the tuple of arguments at ``positions``. With
    ``holomorphic`` leaves have to be complex. ``allow_int`` allows integers; with ``only_real``, complex
    leaves need ``holomorphic``.
    """
    for index, x in enumerate(operands):
        try:
            dtype = aval_of(x).dtype
        except TypeError:
            name = leaf_name(structure, positions, index)
            raise invalid_operand_error(x, f"{name} of {name_of(fun)}, to be differentiated,") from None
        complaint = _complaint(dtype, holomorphic, allow_int, only_real)
        if complaint:
            name = f"{leaf_name(structure, positions, index)} of {name_of(fun)}"
            dtype_text = "float0" if dtype == float0 else dtype.name
            see_also = "" if is_differentiable(dtype) else see("grad-of-integers")
            problem, _, fix = complaint.format(name=name, dtype=dtype_text).partition("\n")
            raise TypeError(compose_message(f"{transformation} {problem}", fix) + see_also)


def _complaint(dtype: Any, holomorphic: bool, allow_int: bool, only_real: bool) -> str | None:
    """Return why a leaf of that dtype cannot be differentiated, and after a line break the fix; None if it can.

    The text has the fields ``{name}`` and ``{dtype}``. The flags are those of :func:`require_differentiable`.
    """
    if holomorphic:
        return None if dtype.kind == "c" else "with holomorphic=True takes complex inputs, but {name} has dtype {dtype}"
    if not is_differentiable(dtype):
        if allow_int and dtype != float0:
            return None
        return (
            "takes inputs of floating-point type, but {name} has dtype {dtype}.\n"
            "Pass a floating-point number (3.0 for 3, x.astype(float) for an array), or differentiate with respect to "
            "another argument (argnums)."
        )
    if only_real and dtype.kind == "c":
        return "of a complex argument ({name}) needs holomorphic=True; for functions that are not, use jvp"
    return None


def require_result_dtype(name: str, fun: Callable[..., Any], dtype: Any, holomorphic: bool) -> None:
    """Raise TypeError unless a result of that dtype can be differentiated: real, or complex if ``holomorphic``.

    ``name`` is the transformation's name, ``fun`` the function, for the message.
    """
    definition = defined_at(fun)
    if holomorphic:
        if dtype.kind != "c":
            raise TypeError(
                f"{name} with holomorphic=True takes a function with a complex result, but {name_of(fun)}{definition} "
                f"returned {dtype.name}{at()}"
            )
    elif not is_floating(dtype):
        fix = "pass holomorphic=True if it is, else use vjp" if dtype.kind == "c" else "for other results use vjp"
        raise TypeError(
            f"{name} takes a function with a real floating-point result, but {name_of(fun)}{definition} returned "
            f"{dtype.name}{at()}: {fix}"
        )
