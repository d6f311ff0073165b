"""One thing about a call, changed: what :func:`~xlascope.inspect.what_if` can ask about."""

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
    """A changed call: what it is now, in words, the setting it is traced under, and what to do with the trace.

    ``rewrite`` takes the call and the platform. ``unmeasured`` says why its time cannot be compared (``""`` when it
    can), ``on_cpu`` what else is different there.
    """

    asked: Asked
    words: str
    setting: AbstractContextManager[Any]
    rewrite: Callable[[Call, str], tuple[Call, records.Traced]] | None = None
    unmeasured: str = ""
    on_cpu: str = ""


def changed(asked: Asked, change: Mapping[str, Any]) -> Changed:
    """A call with one thing changed; raises :class:`ChangeError`, with examples, for a change that is none."""
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
    made = _jitted(asked, lambda options: options.compiled(reroll=reroll))
    return Changed(made, _REROLLED[reroll or "auto"], nullcontext())


def _keep(asked: Asked, value: Any) -> Changed:
    keep = _checked(told_to_keep, value)
    made = _jitted(asked, lambda options: options.compiled(keep=keep))
    if isinstance(value, str):
        return Changed(made, {"off": "nothing kept", "auto": "kept what is worth it"}[value], nullcontext())
    return Changed(made, "kept what a policy says", nullcontext())


def _donate(asked: Asked, value: Any) -> Changed:
    numbers, words = donated_arguments(value, _parameters(asked.function))
    made = _jitted(asked, lambda each: each._replace(donate_argnums=tuple(sorted({*each.donate_argnums, *numbers}))))
    return Changed(made, words, nullcontext(), unmeasured=GONE)


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
    """The argument with leading axes of that size: rows are left out, or come again from the start."""

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
    if not isinstance(value, tuple | list) or len(value) != 2 or not all(isinstance(each, str) for each in value):
        raise ChangeError(f"split takes the paths of two equations, as in {EXAMPLES['split']}; got {value!r}")
    first, second = value
    words = f"equations {first} and {second} split"

    def rewrite(call: Call, platform: str) -> tuple[Call, records.Traced]:
        program = _checked(split_program, call.traced.program, first, second)
        made = call.traced._replace(program=program, number=records.next_program(), began=time.time())
        record = traced_record(program, made.number, made.began, made.seconds, words, "", None)
        jitted = _keeping_barriers(call.jitted) if platform == "cpu" else call.jitted
        return call._replace(traced=made, jitted=jitted), record

    note = f"on a CPU XLA drops barriers before it fuses; here it was told not to ({LEFT_OUT}={TAKING_OUT})"
    return Changed(asked, words, nullcontext(), rewrite, on_cpu=note)


def _keeping_barriers(jitted: Jitted) -> Jitted:
    """A TPU's and a GPU's pipelines take barriers out after they fuse, and cannot do without that."""
    kept = jitted.options.compiled(flags=with_barriers(jitted.options.compile.flags, (TAKING_OUT, PICKING_LOOPS)))
    return jit_function(jitted.function, kept)._jitted  # type: ignore[no-any-return]


def _jitted(asked: Asked, change: Callable[[Options], Options]) -> Asked:
    """The same function, jitted with other options."""
    jitted = jitted_of(asked.function)
    function, options = (jitted.function, jitted.options) if jitted else (asked.function, Options())
    return asked._replace(function=jit_function(function, change(options)))


def _checked(function: Callable[..., T], *arguments: Any) -> T:
    """What a function returns; what it says against its arguments is said against the change."""
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
