"""The arguments of a function with a rule of its own: those that move, and those that rules take as they are."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ... import tree
from ...trace.source import here
from ...trace.tracer import Tracer
from ...trace.values import aval_of, not_an_array
from ..programs.names import name_of, places_of


class Arguments(NamedTuple):
    """A call's arguments: the flat operands that can move, their structure, and all positional arguments."""

    operands: list[Any]
    structure: Any
    positional: tuple[Any, ...]
    fixed: tuple[int, ...]
    #: The traced values within the arguments that do not move: they are operands too, or a rule that runs after their
    #: trace has ended could not use them.
    traced: tuple[Tracer, ...] = ()
    #: Where they stand: for each argument that holds some, its number, leaves and structure, and which leaves they are.
    traced_places: tuple[tuple[int, list[Any], Any, list[bool]], ...] = ()

    def with_traced(self, values: Sequence[Any]) -> Arguments:
        """Return the same arguments with other values for those that are traced and do not move."""
        if not self.traced:
            return self
        remaining = iter(values)
        positional = list(self.positional)
        for i, leaves, structure, is_traced in self.traced_places:
            replaced = [next(remaining) if hit else x for x, hit in zip(leaves, is_traced, strict=True)]
            positional[i] = structure.unflatten(replaced)
        return self._replace(positional=tuple(positional))

    def join(self, operands: Sequence[Any]) -> list[Any]:
        """All arguments again, with other operands."""
        moving = iter(self.structure.unflatten(operands))
        return [x if i in self.fixed else next(moving) for i, x in enumerate(self.positional)]

    def fixed_values(self) -> list[Any]:
        """The arguments that rules take first, as they are."""
        return [self.positional[i] for i in self.fixed]


def arguments_of(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    fixed: Sequence[int],
    fixed_names: Sequence[str] = (),
) -> Arguments:
    """A call's arguments, named ones brought into their places, those that do not move apart."""
    if not kwargs and not fixed and not fixed_names and len(args) == _exact_count(function):
        signature = None  # each is in its place
    else:
        signature = _signature(function)
    if signature is not None:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name_of(function)}{signature}: {error}{here()}") from None
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(
                f"{name_of(function)} has rules of its own, which take arguments by position: "
                f"{', '.join(bound.kwargs)} cannot be given by name{here()}"
            )
        args = bound.args
        fixed = sorted({*fixed, *_places(function, list(signature.parameters), fixed_names)})
    elif kwargs:
        raise TypeError(f"{name_of(function)} takes arguments by position{here()}")
    numbers = places_of(fixed, len(args), f"nondiff_argnums of {name_of(function)}")
    moving = tuple(x for i, x in enumerate(args) if i not in numbers)
    operands, structure = tree.flatten(moving)
    for (path, _), x in zip(tree.leaves_with_path(moving), operands, strict=True):
        try:
            aval_of(x)
        except TypeError:
            raise not_an_array(x, f"argument {tree.keystr(path)} of {name_of(function)}") from None
    return _note_traced(Arguments(operands, structure, args, numbers))


def _note_traced(arguments: Arguments) -> Arguments:
    """Return the arguments with the traced values of those that do not move; a tracer changes its class later."""
    traced: list[Tracer] = []
    places = []
    for i in arguments.fixed:
        try:
            leaves, structure = tree.flatten(arguments.positional[i])
        except (TypeError, ValueError):  # it may be anything, such as a dictionary whose keys cannot be sorted
            continue
        is_traced = [isinstance(x, Tracer) for x in leaves]
        if any(is_traced):
            traced += [x for x, hit in zip(leaves, is_traced, strict=True) if hit]
            places.append((i, leaves, structure, is_traced))
    return arguments._replace(traced=tuple(traced), traced_places=tuple(places)) if traced else arguments


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _exact_count(function: Callable[..., Any]) -> int:
    """How many arguments a plain function takes by place, if it takes no others, which needs no signature; else -1."""
    code = getattr(function, "__code__", None)
    if code is None or hasattr(function, "__wrapped__") or hasattr(function, "__signature__"):
        return -1
    others = code.co_kwonlyargcount or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    return -1 if others or inspect.ismethod(function) else int(code.co_argcount)


def _places(function: Callable[..., Any], parameters: list[str], names: Sequence[str]) -> list[int]:
    missing = [name for name in names if name not in parameters]
    if missing:
        raise ValueError(
            f"nondiff_argnames of {name_of(function)} holds {', '.join(missing)}; its parameters are "
            f"{', '.join(parameters)}{here()}"
        )
    return [parameters.index(name) for name in names]
