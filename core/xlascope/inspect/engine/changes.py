"""Changes of one thing about a call, for :func:`~xlascope.inspect.what_if`."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ... import records, tree
from ...api.compilation import told_to_keep, told_to_reroll
from ...control.jit.arguments import Options
from ...control.jit.functions import jit_function
from ...control.jit.jitted import Jitted
from ...control.jit.stages import overrides_of
from ...dtypes import is_floating
from ...ir.avals import ShapeDtypeStruct
from ...ir.describe import traced_record
from ...key_types import is_key
from ...settings import default_matmul_precision
from ...transforms.split import split_program
from ...xla.keeping import LEFT_OUT, PICKING_LOOPS, TAKING_OUT, with_barriers
from ..changing import (
    EXAMPLES,
    GONE,
    donated_arguments,
    flags,
    flags_text,
    not_floating,
    nothing_floating,
    the_change,
)
from ..producers import Asked
from ..program import ChangeError
from .calls import Call, jitted_of

T = TypeVar("T")


class Changed(NamedTuple):
    """Modified call, a description of the change, the setting it is traced under, and a rewrite of the trace.

    ``rewrite`` takes the call and the platform. ``unmeasured`` is the reason why its time cannot be compared
    (``""`` when it can), ``on_cpu`` names other differences there.
    """

    asked: Asked
    words: str
    setting: AbstractContextManager[Any]
    rewrite: Callable[[Call, str], tuple[Call, records.Traced]] | None = None
    unmeasured: str = ""
    on_cpu: str = ""


def changed(asked: Asked, change: Mapping[str, Any]) -> Changed:
    """Return a call with one thing changed; raise :class:`ChangeError`, with examples, for an invalid change."""
    kind, value = the_change(change, _CHANGES)
    return _CHANGES[kind](asked, value)


def _options(asked: Asked, value: Any) -> Changed:
    more = overrides_of(dict(flags(value)))
    return Changed(
        _jitted(asked, lambda options: options.compiled(flags=(*options.compile.flags, *more))),
        flags_text(value),
        nullcontext(),
    )


_REROLLED = {
    "auto": "repeats that cost nothing as loops",
    "always": "repeats as loops",
    "off": "no repeats as loops",
}


def _reroll(asked: Asked, value: Any) -> Changed:
    reroll = _checked(told_to_reroll, value)
    query = _jitted(asked, lambda options: options.compiled(reroll=reroll))
    return Changed(query, _REROLLED[reroll or "auto"], nullcontext())


def _keep(asked: Asked, value: Any) -> Changed:
    keep = _checked(told_to_keep, value)
    query = _jitted(asked, lambda options: options.compiled(keep=keep))
    if isinstance(value, str):
        return Changed(query, {"off": "nothing kept", "auto": "kept what is worth it"}[value], nullcontext())
    return Changed(query, "kept what a policy says", nullcontext())


def _donate(asked: Asked, value: Any) -> Changed:
    numbers, words = donated_arguments(value, _parameters(asked.function))
    query = _jitted(
        asked, lambda options: options._replace(donate_argnums=tuple(sorted({*options.donate_argnums, *numbers})))
    )
    return Changed(query, words, nullcontext(), unmeasured=GONE)


def _precision(asked: Asked, value: Any) -> Changed:
    return Changed(asked, f"matrix products in precision {value}", _checked(default_matmul_precision, value))


def _dtype(asked: Asked, value: Any) -> Changed:
    wanted = _checked(np.dtype, value)
    if not is_floating(wanted):
        raise not_floating(value)
    converted = 0

    def convert(leaf: Any) -> Any:
        nonlocal converted
        if not hasattr(leaf, "dtype") or not hasattr(leaf, "shape") or is_key(leaf.dtype):
            return leaf
        if not is_floating(np.dtype(leaf.dtype)):
            return leaf
        converted += 1
        if isinstance(leaf, ShapeDtypeStruct):
            return ShapeDtypeStruct(leaf.shape, wanted, leaf.weak_type)
        return np.asarray(leaf).astype(wanted)

    args, kwargs = tree.map(convert, (asked.args, asked.kwargs))
    if not converted:
        raise nothing_floating(wanted.name)
    return Changed(Asked(asked.function, args, kwargs), f"floating-point arguments as {wanted.name}", nullcontext())


def _batch(asked: Asked, value: Any) -> Changed:
    if not isinstance(value, Mapping) or not value:
        raise ChangeError(f"batch is the size of leading axes by argument, as in {EXAMPLES['batch']}; got {value!r}")
    args, kwargs = list(asked.args), dict(asked.kwargs)
    names = _parameters(asked.function)
    for name, size in value.items():
        if name in kwargs:
            kwargs[name] = _resized(name, kwargs[name], size)
        elif (number := names.index(name) if name in names else name) in range(len(args)):
            args[number] = _resized(name, args[number], size)
        else:
            raise ChangeError(f"the call has no argument {name!r}; it has {', '.join([*names[: len(args)], *kwargs])}")
    words = ", ".join(f"{name} with {size} rows" for name, size in value.items())
    return Changed(Asked(asked.function, tuple(args), kwargs), words, nullcontext())


def _resized(name: Any, value: Any, size: int) -> Any:
    """Return the argument with leading axes of that size: rows are dropped, or repeated from the start."""

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


def _split(asked: Asked, value: Any) -> Changed:
    if not isinstance(value, tuple | list) or len(value) != 2 or not all(isinstance(path, str) for path in value):
        raise ChangeError(f"split takes the paths of two equations, as in {EXAMPLES['split']}; got {value!r}")
    first, second = value
    words = f"equations {first} and {second} split"

    def rewrite(call: Call, platform: str) -> tuple[Call, records.Traced]:
        program = _checked(split_program, call.traced.program, first, second)
        retraced = call.traced._replace(program=program, number=records.next_program(), began=time.time())
        record = traced_record(program, retraced.number, retraced.began, retraced.seconds, words, "", None)
        jitted = _keeping_barriers(call.jitted) if platform == "cpu" else call.jitted
        return call._replace(traced=retraced, jitted=jitted), record

    note = f"on a CPU XLA drops barriers before it fuses; here it was told not to ({LEFT_OUT}={TAKING_OUT})"
    return Changed(asked, words, nullcontext(), rewrite, on_cpu=note)


def _keeping_barriers(jitted: Jitted) -> Jitted:
    """Return the function jitted so that a CPU's compiler keeps barriers until it has fused.

    The pipelines for TPUs and GPUs remove barriers after fusion already, and require that.
    """
    options = jitted.options.compiled(flags=with_barriers(jitted.options.compile.flags, (TAKING_OUT, PICKING_LOOPS)))
    return jit_function(jitted.function, options)._jitted  # type: ignore[no-any-return]


def _jitted(asked: Asked, change: Callable[[Options], Options]) -> Asked:
    """Return the call with its function jitted with other options."""
    jitted = jitted_of(asked.function)
    function, options = (jitted.function, jitted.options) if jitted else (asked.function, Options())
    return asked._replace(function=jit_function(function, change(options)))


def _checked(function: Callable[..., T], *arguments: Any) -> T:
    """Return the result of a function; its TypeError or ValueError becomes a ChangeError."""
    try:
        return function(*arguments)
    except (TypeError, ValueError) as error:
        raise ChangeError(str(error)) from None


def _parameters(function: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


_CHANGES: dict[str, Callable[[Asked, Any], Changed]] = {
    "options": _options,
    "split": _split,
    "donate": _donate,
    "precision": _precision,
    "dtype": _dtype,
    "batch": _batch,
    "keep": _keep,
    "reroll": _reroll,
}
