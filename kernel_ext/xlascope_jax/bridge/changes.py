"""One thing about a call of jax, changed: what :func:`xlascope.inspect.what_if` can ask about its functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import tree_util

from xlascope.inspect import ChangeError
from xlascope.inspect.producers import Asked

#: What can be changed, with an example each.
_EXAMPLES: dict[str, Any] = {
    "options": {"xla_cpu_enable_fast_math": True},
    "donate": 0,
    "precision": "highest",
    "dtype": "bfloat16",
}
_GONE = "a donated argument is gone after a call, and would have to be copied for the next one"


class Changed(NamedTuple):
    """A changed call: what it is now, in words, the setting it is traced under, and XLA's flags for it.

    ``unmeasured`` says why its time cannot be compared (``""`` when it can).
    """

    asked: Asked
    words: str
    setting: AbstractContextManager[Any] = nullcontext()
    options: Mapping[str, Any] | None = None
    unmeasured: str = ""


def changed(asked: Asked, change: Mapping[str, Any]) -> Changed:
    """A call with one thing changed; raises ChangeError, with examples, for a change that is none."""
    if not isinstance(change, Mapping) or len(change) != 1 or not set(change) <= set(_CHANGES):
        examples = ", ".join(f"{{{name!r}: {value!r}}}" for name, value in _EXAMPLES.items())
        raise ChangeError(f"of a function of jax, change is one of {examples}; got {change!r}")
    ((kind, value),) = change.items()
    return _CHANGES[kind](asked, value)


def _options(asked: Asked, value: Any) -> Changed:
    if not isinstance(value, Mapping) or not value:
        raise ChangeError(f"options are XLA's flags by name, as in {_EXAMPLES['options']}; got {value!r}")
    return Changed(asked, ", ".join(f"{name}={text}" for name, text in value.items()), options=value)


def _donate(asked: Asked, value: Any) -> Changed:
    function, info = _jitted(asked)
    names = list(inspect.signature(function).parameters)
    numbers = [_number(each, names) for each in ((value,) if isinstance(value, int | str) else value)]
    again = jax.jit(
        function,
        static_argnums=info.static_argnums,
        static_argnames=info.static_argnames,
        donate_argnums=tuple(sorted({*info.donate_argnums, *numbers})),
    )
    words = f"argument{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))} donated"
    return Changed(asked._replace(function=again), words, unmeasured=_GONE)


def _jitted(asked: Asked) -> tuple[Callable[..., Any], Any]:
    """The function behind a jitted one, and how it was jitted; refused where it says how its arguments lie."""
    function, info = getattr(asked.function, "_fun", None), getattr(asked.function, "_jit_info", None)
    if function is None or info is None:
        raise ChangeError("donate is for functions that jax.jit itself made")
    if info.user_specified_in_shardings or info.device or info.backend:
        raise ChangeError("donate is not for functions that were jitted with shardings or a device of their own")
    return function, info


def _number(argument: int | str, names: list[str]) -> int:
    """The place of an argument that is given by its place or its name."""
    if isinstance(argument, int):
        return argument
    if argument not in names:
        raise ChangeError(f"the function has no argument {argument!r}; it has {', '.join(names)}")
    return names.index(argument)


def _precision(asked: Asked, value: Any) -> Changed:
    try:
        setting = jax.default_matmul_precision(value)
    except ValueError as error:
        raise ChangeError(str(error)) from None
    return Changed(asked, f"matrix products in precision {value}", setting)


def _dtype(asked: Asked, value: Any) -> Changed:
    wanted = jnp.dtype(value)
    if not jnp.issubdtype(wanted, jnp.floating):
        raise ChangeError(f"dtype is what floating-point arguments become, as in 'bfloat16'; got {value!r}")
    converted = 0

    def convert(leaf: Any) -> Any:
        nonlocal converted
        if not hasattr(leaf, "shape") or not jnp.issubdtype(getattr(leaf, "dtype", None), jnp.floating):
            return leaf
        converted += 1
        if isinstance(leaf, jax.ShapeDtypeStruct):
            return jax.ShapeDtypeStruct(leaf.shape, wanted)
        return jnp.asarray(leaf, wanted)

    args, kwargs = tree_util.tree_map(convert, (asked.args, asked.kwargs))
    if not converted:
        raise ChangeError(f"no argument is a floating-point array: there is nothing to turn into {wanted.name}")
    return Changed(Asked(asked.function, args, kwargs), f"floating-point arguments as {wanted.name}")


_CHANGES: dict[str, Callable[[Asked, Any], Changed]] = {
    "options": _options,
    "donate": _donate,
    "precision": _precision,
    "dtype": _dtype,
}
