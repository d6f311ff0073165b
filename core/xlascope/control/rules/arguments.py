"""Arguments of a function with a custom rule: those that are differentiated, and nondiff ones passed unchanged."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ... import tree
from ...trace.source import here
from ...trace.tracer import TracerBase
from ...trace.values import aval_of, invalid_operand_error
from ..programs.function_names import name_of, normalize_argnums


class RuleArguments(NamedTuple):
    """Arguments of one call of a function with a custom rule.

    ``positional`` are all arguments in the order of the signature, ``nondiff_argnums`` the indices of those that are
    passed to the rule unchanged. ``operands`` are the leaves of the others, and ``structure`` is the structure of the
    tuple of these.
    """

    operands: list[Any]
    structure: Any
    positional: tuple[Any, ...]
    nondiff_argnums: tuple[int, ...]
    #: Tracers within nondiff arguments. They are operands too, so that a rule that runs after the end of their trace
    #: can use them.
    traced: tuple[TracerBase, ...] = ()
    #: For each argument with tracers: its number, leaves and structure, and which leaves are tracers.
    traced_places: tuple[tuple[int, list[Any], Any, list[bool]], ...] = ()
    #: Index and value of each operand that is the default of a parameter, which the call does not pass.
    defaults: tuple[tuple[int, Any], ...] = ()

    def replace_tracers(self, values: Sequence[Any]) -> RuleArguments:
        """Return the same arguments with ``values`` in place of ``traced``, the tracers within nondiff arguments."""
        if not self.traced:
            return self
        remaining = iter(values)
        positional = list(self.positional)
        for i, leaves, structure, is_traced in self.traced_places:
            replaced = [next(remaining) if hit else x for x, hit in zip(leaves, is_traced, strict=True)]
            positional[i] = structure.unflatten(replaced)
        return self._replace(positional=tuple(positional))

    def restore_defaults(self, operands: Sequence[Any]) -> Sequence[Any]:
        """Return the operands with the defaults of parameters as they are written, where a trace made tracers of them.

        A function may branch on such a default (``keepdims=False``), or take it as a static argument.
        """
        if not self.defaults:
            return operands
        restored = list(operands)
        for i, value in self.defaults:
            restored[i] = value
        return restored

    def join(self, operands: Sequence[Any]) -> list[Any]:
        """Return all arguments in order, with ``operands`` as the leaves of the differentiable ones.

        Nondiff arguments are those of the call.
        """
        differentiable_args = iter(self.structure.unflatten(operands))
        return [x if i in self.nondiff_argnums else next(differentiable_args) for i, x in enumerate(self.positional)]

    def nondiff_values(self) -> list[Any]:
        """Return the nondiff arguments, which rules take first and unchanged."""
        return [self.positional[i] for i in self.nondiff_argnums]


def bind_rule_arguments(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    nondiff_argnums: Sequence[int],
    nondiff_argnames: Sequence[str] = (),
) -> RuleArguments:
    """Return a call's arguments in the order of the function's signature, with the nondiff arguments separate.

    ``nondiff_argnums`` and ``nondiff_argnames`` are positions and names of arguments that are passed to rules
    unchanged. Raises TypeError if the call does not fit the signature, passes an argument by keyword only, or has a
    differentiable argument that is not an array.
    """
    defaulted: set[int] = set()
    if not kwargs and not nondiff_argnums and not nondiff_argnames and len(args) == _positional_count(function):
        signature = None  # the arguments already are in order
    else:
        signature = _signature_or_none(function)
    if signature is not None:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name_of(function)}{signature}: {error}{here()}") from None
        defaulted = {i for i, name in enumerate(signature.parameters) if name not in bound.arguments}
        bound.apply_defaults()
        if named := [name for name in bound.kwargs if name in kwargs]:  # defaults of the others are the function's own
            raise TypeError(
                f"{name_of(function)} has rules of its own, which take arguments by position: "
                f"{', '.join(named)} cannot be given by name{here()}"
            )
        args = bound.args
        nondiff_argnums = sorted(
            {*nondiff_argnums, *_argnums_of_names(function, list(signature.parameters), nondiff_argnames)}
        )
    elif kwargs:
        raise TypeError(f"{name_of(function)} takes arguments by position{here()}")
    normalized_argnums = normalize_argnums(nondiff_argnums, len(args), f"nondiff_argnums of {name_of(function)}")
    differentiable = [i for i in range(len(args)) if i not in normalized_argnums]
    differentiable_args = tuple(args[i] for i in differentiable)
    operands, structure = tree.flatten(differentiable_args)
    for (path, _), x in zip(tree.leaves_with_path(differentiable_args), operands, strict=True):
        try:
            aval_of(x)
        except TypeError:
            raise invalid_operand_error(x, f"argument {tree.keystr(path)} of {name_of(function)}") from None
    defaults = _default_operands(structure, operands, [i in defaulted for i in differentiable])
    return _collect_nondiff_tracers(RuleArguments(operands, structure, args, normalized_argnums, defaults=defaults))


def _default_operands(
    structure: Any, operands: Sequence[Any], is_default: Sequence[bool]
) -> tuple[tuple[int, Any], ...]:
    """Return index and value of the operands that belong to arguments marked in ``is_default``.

    ``structure`` is that of the tuple of arguments, ``operands`` are its leaves.
    """
    if not any(is_default):
        return ()
    marks = [
        mark for child, mark in zip(structure.children(), is_default, strict=True) for _ in range(child.num_leaves)
    ]
    return tuple((i, x) for i, (x, mark) in enumerate(zip(operands, marks, strict=True)) if mark)


def _collect_nondiff_tracers(arguments: RuleArguments) -> RuleArguments:
    """Return the arguments with ``traced`` and ``traced_places`` filled in.

    The tracers within nondiff arguments are collected at once because a tracer changes its class when its trace ends.
    """
    traced: list[TracerBase] = []
    tracer_positions = []
    for i in arguments.nondiff_argnums:
        try:
            leaves, structure = tree.flatten(arguments.positional[i])
        except (TypeError, ValueError):  # it may be anything, such as a dictionary whose keys cannot be sorted
            continue
        is_traced = [isinstance(x, TracerBase) for x in leaves]
        if any(is_traced):
            traced += [x for x, hit in zip(leaves, is_traced, strict=True) if hit]
            tracer_positions.append((i, leaves, structure, is_traced))
    return arguments._replace(traced=tuple(traced), traced_places=tuple(tracer_positions)) if traced else arguments


#: Signatures of functions that wrap others: inspecting one takes ten times as long as a call of a compiled function.
_signatures: weakref.WeakKeyDictionary[Any, inspect.Signature] = weakref.WeakKeyDictionary()


def _signature_or_none(function: Callable[..., Any]) -> inspect.Signature | None:
    is_wrapper = inspect.isfunction(function) and hasattr(function, "__wrapped__")
    signature = _signatures.get(function) if is_wrapper else None
    if signature is not None:
        return signature
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    if is_wrapper:
        _signatures[function] = signature
    return signature


def _positional_count(function: Callable[..., Any]) -> int:
    """Return the number of positional parameters of a plain function.

    Returns -1 if the function has keyword-only or variable parameters, is a method, or is wrapped: then its signature
    has to be inspected.
    """
    code = getattr(function, "__code__", None)
    if code is None or hasattr(function, "__wrapped__") or hasattr(function, "__signature__"):
        return -1
    takes_others = code.co_kwonlyargcount or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    return -1 if takes_others or inspect.ismethod(function) else int(code.co_argcount)


def _argnums_of_names(function: Callable[..., Any], parameters: list[str], names: Sequence[str]) -> list[int]:
    """Return the positions of named parameters; raise ValueError for a name that is not in ``parameters``."""
    missing = [name for name in names if name not in parameters]
    if missing:
        raise ValueError(
            f"nondiff_argnames of {name_of(function)} holds {', '.join(missing)}; its parameters are "
            f"{', '.join(parameters)}{here()}"
        )
    return [parameters.index(name) for name in names]
