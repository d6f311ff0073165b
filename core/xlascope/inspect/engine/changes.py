"""Changes of one thing about a call, for :func:`~xlascope.inspect.what_if`."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ... import records, tree
from ...api.compilation import check_keep_option, check_reroll_option
from ...control.jit.arguments import JitOptions
from ...control.jit.jit_function import jit_function
from ...control.jit.jitted import Jitted
from ...control.jit.stages import to_compiler_flags
from ...dtypes import is_floating, to_canonical_dtype
from ...ir.avals import ShapeDtypeStruct
from ...ir.jaxpr_record import make_traced_record
from ...key_types import is_key
from ...settings import default_matmul_precision
from ...transforms.barrier_insertion import split_program
from ...xla.materialization import BARRIER_EXPANDER_PASS, DISABLED_PASSES_OPTION, LOOP_HOISTING_PASS, disable_passes
from ..change_spec import (
    DONATED_UNMEASURED,
    EXAMPLES,
    check_flags,
    format_flags,
    narrowed_dtype_error,
    no_floating_argument_error,
    non_floating_dtype_error,
    parse_change,
    parse_donation,
)
from ..producers import Query
from ..program import ChangeError
from .static_arguments import options_for_call
from .traced_calls import InspectedCall, jitted_of

T = TypeVar("T")


class ModifiedCall(NamedTuple):
    """Call with one thing changed, not traced yet.

    ``asked`` is the changed call, ``words`` describe the change, and ``setting`` is a context manager in which the
    call is traced. ``rewrite(call, platform)`` changes the traced program and returns the call with its new record
    (None: nothing more to change). ``unmeasured`` is the reason why the time cannot be compared (``""`` when it can),
    ``on_cpu`` names other differences on a CPU.
    """

    asked: Query
    words: str
    setting: AbstractContextManager[Any]
    rewrite: Callable[[InspectedCall, str], tuple[InspectedCall, records.Traced]] | None = None
    unmeasured: str = ""
    on_cpu: str = ""


def apply_change(query: Query, change: Mapping[str, Any]) -> ModifiedCall:
    """Return a call with one thing changed; raise :class:`ChangeError`, with examples, for an invalid change.

    ``change`` has one item, a kind and its value, as in :func:`~xlascope.inspect.what_if`.
    """
    kind, value = parse_change(change, _CHANGES)
    return _CHANGES[kind](query, value)


def _change_options(query: Query, value: Any) -> ModifiedCall:
    more = to_compiler_flags(dict(check_flags(value)))
    return ModifiedCall(
        _with_options(query, lambda options: options.with_compile_options(flags=(*options.compile.flags, *more))),
        format_flags(value),
        nullcontext(),
    )


_REROLL_DESCRIPTIONS = {
    "auto": "repeats that cost nothing as loops",
    "always": "repeats as loops",
    "off": "no repeats as loops",
}


def _change_reroll(query: Query, value: Any) -> ModifiedCall:
    reroll = _call_checked(check_reroll_option, value)
    changed = _with_options(query, lambda options: options.with_compile_options(reroll=reroll))
    return ModifiedCall(changed, _REROLL_DESCRIPTIONS[reroll or "auto"], nullcontext())


def _change_keep(query: Query, value: Any) -> ModifiedCall:
    keep = _call_checked(check_keep_option, value)
    changed = _with_options(query, lambda options: options.with_compile_options(keep=keep))
    if isinstance(value, str):
        return ModifiedCall(changed, {"off": "nothing kept", "auto": "kept what is worth it"}[value], nullcontext())
    return ModifiedCall(changed, "kept what a policy says", nullcontext())


def _change_donation(query: Query, value: Any) -> ModifiedCall:
    numbers, words = parse_donation(value, _parameter_names(query.function), len(query.args))
    changed = _with_options(
        query, lambda options: options._replace(donate_argnums=tuple(sorted({*options.donate_argnums, *numbers})))
    )
    return ModifiedCall(changed, words, nullcontext(), unmeasured=DONATED_UNMEASURED)


def _change_precision(query: Query, value: Any) -> ModifiedCall:
    return ModifiedCall(query, f"matrix products in precision {value}", _call_checked(default_matmul_precision, value))


def _change_dtype(query: Query, value: Any) -> ModifiedCall:
    """Return the call with all its floating-point arguments converted to the dtype ``value``."""
    dtype = _call_checked(np.dtype, value)
    if not is_floating(dtype):
        raise non_floating_dtype_error(value)
    if to_canonical_dtype(dtype) != dtype:
        raise narrowed_dtype_error(dtype.name)
    converted = 0

    def convert(leaf: Any) -> Any:
        nonlocal converted
        if not hasattr(leaf, "dtype") or not hasattr(leaf, "shape") or is_key(leaf.dtype):
            return leaf
        if not is_floating(np.dtype(leaf.dtype)):
            return leaf
        converted += 1
        if isinstance(leaf, ShapeDtypeStruct):
            return ShapeDtypeStruct(leaf.shape, dtype, leaf.weak_type)
        return np.asarray(leaf).astype(dtype)

    args, kwargs = tree.map(convert, (query.args, query.kwargs))
    if not converted:
        raise no_floating_argument_error(dtype.name)
    return ModifiedCall(Query(query.function, args, kwargs), f"floating-point arguments as {dtype.name}", nullcontext())


def _change_batch(query: Query, value: Any) -> ModifiedCall:
    """Return the call with other sizes of leading axes; ``value`` has the sizes by argument name or position."""
    if not isinstance(value, Mapping) or not value:
        raise ChangeError(f"batch is the size of leading axes by argument, as in {EXAMPLES['batch']}; got {value!r}")
    args, kwargs = list(query.args), dict(query.kwargs)
    names = _parameter_names(query.function)
    for name, size in value.items():
        if name in kwargs:
            kwargs[name] = _resize_rows(name, kwargs[name], size)
        elif (number := names.index(name) if name in names else name) in range(len(args)):
            args[number] = _resize_rows(name, args[number], size)
        else:
            raise ChangeError(f"the call has no argument {name!r}; it has {', '.join([*names[: len(args)], *kwargs])}")
    words = ", ".join(f"{name} with {size} rows" for name, size in value.items())
    return ModifiedCall(Query(query.function, tuple(args), kwargs), words, nullcontext())


def _resize_rows(name: Any, value: Any, size: int) -> Any:
    """Return an argument whose arrays have leading axes of ``size``: rows are dropped, or repeated from the start.

    ``name`` is the name or position of the argument in errors. Raises ChangeError for a scalar.
    """

    def resize(leaf: Any) -> Any:
        shape = np.shape(leaf)
        if not shape:
            raise ChangeError(f"argument {name!r} has a scalar in it, which has no leading axis")
        if isinstance(leaf, ShapeDtypeStruct):
            return ShapeDtypeStruct((size, *shape[1:]), leaf.dtype, leaf.weak_type)
        if is_key(getattr(leaf, "dtype", None)):
            return leaf[np.arange(size) % shape[0]]
        return np.resize(np.asarray(leaf), (size, *shape[1:]))

    return tree.map(resize, value)


def _change_split(query: Query, value: Any) -> ModifiedCall:
    """Return the call with a barrier between two equations, whose paths are ``value``."""
    if not isinstance(value, tuple | list) or len(value) != 2 or not all(isinstance(path, str) for path in value):
        raise ChangeError(f"split takes the paths of two equations, as in {EXAMPLES['split']}; got {value!r}")
    first, second = value
    words = f"equations {first} and {second} split"

    def rewrite(call: InspectedCall, platform: str) -> tuple[InspectedCall, records.Traced]:
        program = _call_checked(split_program, call.traced.program, first, second)
        retraced = call.traced._replace(program=program, number=records.next_program(), began=time.time())
        record = make_traced_record(program, retraced.number, retraced.began, retraced.seconds, words, "", None)
        jitted = _keep_barriers(call.jitted) if platform == "cpu" else call.jitted
        return call._replace(traced=retraced, jitted=jitted), record

    option = f"{DISABLED_PASSES_OPTION}={BARRIER_EXPANDER_PASS}"
    note = f"on a CPU XLA drops barriers before it fuses; here it was told not to ({option})"
    return ModifiedCall(query, words, nullcontext(), rewrite, on_cpu=note)


def _keep_barriers(jitted: Jitted) -> Jitted:
    """Return the jitted function with options that make XLA:CPU keep barriers until it has fused.

    The pipelines for TPUs and GPUs remove barriers after fusion already, and require that.
    """
    options = jitted.options.with_compile_options(
        flags=disable_passes(jitted.options.compile.flags, (BARRIER_EXPANDER_PASS, LOOP_HOISTING_PASS))
    )
    return jit_function(jitted.function, options)._jitted  # type: ignore[no-any-return]


def _with_options(query: Query, change: Callable[[JitOptions], JitOptions]) -> Query:
    """Return the call with its function jitted again; ``change`` returns the new options from the present ones."""
    jitted = jitted_of(query.function)
    if jitted is not None:
        return query._replace(function=jit_function(jitted.function, change(jitted.options)))
    options = options_for_call(query.function, query.args, query.kwargs)
    return query._replace(function=jit_function(query.function, change(options)))


def _call_checked(function: Callable[..., T], *arguments: Any) -> T:
    """Return ``function(*arguments)``; its TypeError or ValueError becomes a ChangeError."""
    try:
        return function(*arguments)
    except (TypeError, ValueError) as error:
        raise ChangeError(str(error)) from None


def _parameter_names(function: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


_CHANGES: dict[str, Callable[[Query, Any], ModifiedCall]] = {
    "options": _change_options,
    "split": _change_split,
    "donate": _change_donation,
    "precision": _change_precision,
    "dtype": _change_dtype,
    "batch": _change_batch,
    "keep": _change_keep,
    "reroll": _change_reroll,
}
