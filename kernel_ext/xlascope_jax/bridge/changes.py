"""Changes of one thing about a call of jax: what :func:`xlascope.inspect.what_if` can ask about its functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import tree_util

from xlascope.inspect import ChangeError
from xlascope.inspect.changing import (
    GONE,
    donated_arguments,
    flags,
    flags_text,
    not_floating,
    nothing_floating,
    the_change,
)
from xlascope.inspect.producers import Asked


class Changed(NamedTuple):
    """A changed call, its description, the context to trace it in, its XLA flags, and whether to materialize values.

    ``unmeasured_reason`` says why its time cannot be compared (``""`` if it can).
    """

    asked: Asked
    words: str
    setting: AbstractContextManager[Any] = nullcontext()
    options: Mapping[str, Any] = MappingProxyType({})
    keep: bool = False
    unmeasured: str = ""


def changed(query: Asked, change: Mapping[str, Any]) -> Changed:
    """Return a call with one thing changed; raise ChangeError, with examples, for an unsupported change."""
    kind, value = the_change(change, _CHANGES, whose="of a function of jax, ")
    return _CHANGES[kind](query, value)


def kept(change: Mapping[str, Any], otherwise: str) -> str:
    """Return the description of a ``keep`` change, the only one possible without a known call.

    For any other change raises ChangeError with the message ``otherwise``.
    """
    if set(change) != {"keep"}:
        raise ChangeError(otherwise)
    return _checked_keep(change["keep"])


def _keep(query: Asked, value: Any) -> Changed:
    return Changed(query, _checked_keep(value), keep=True)


def _checked_keep(value: Any) -> str:
    if value == "off":
        raise ChangeError("of a function of jax nothing is kept as it is; 'auto' keeps what is worth it")
    if value != "auto":
        raise ChangeError(f"keep is 'auto' for functions of jax; got {value!r}")
    if jax.default_backend() != "cpu":
        raise ChangeError("keep is for programs on a CPU: the compilers of other devices have a model of their own")
    return "kept what is worth it"


def _options(query: Asked, value: Any) -> Changed:
    return Changed(query, flags_text(flags(value)), options=value)


def _donate(query: Asked, value: Any) -> Changed:
    function, info = _jitted(query)
    numbers, description = donated_arguments(value, list(inspect.signature(function).parameters))
    donating = jax.jit(
        function,
        static_argnums=info.static_argnums,
        static_argnames=info.static_argnames,
        donate_argnums=tuple(sorted({*info.donate_argnums, *numbers})),
    )
    return Changed(query._replace(function=donating), description, unmeasured=GONE)


def _jitted(query: Asked) -> tuple[Callable[..., Any], Any]:
    """Return the function behind a jitted one, and its jit options; raise ChangeError if it fixes shardings."""
    function, info = getattr(query.function, "_fun", None), getattr(query.function, "_jit_info", None)
    if function is None or info is None:
        raise ChangeError("donate is for functions that jax.jit itself made")
    if info.user_specified_in_shardings or info.device or info.backend:
        raise ChangeError("donate is not for functions that were jitted with shardings or a device of their own")
    return function, info


def _precision(query: Asked, value: Any) -> Changed:
    try:
        setting = jax.default_matmul_precision(value)
    except ValueError as error:
        raise ChangeError(str(error)) from None
    return Changed(query, f"matrix products in precision {value}", setting)


def _dtype(query: Asked, value: Any) -> Changed:
    wanted = jnp.dtype(value)
    if not jnp.issubdtype(wanted, jnp.floating):
        raise not_floating(value)
    converted = 0

    def convert(leaf: Any) -> Any:
        nonlocal converted
        if not hasattr(leaf, "shape") or not jnp.issubdtype(getattr(leaf, "dtype", None), jnp.floating):
            return leaf
        converted += 1
        if isinstance(leaf, jax.ShapeDtypeStruct):
            return jax.ShapeDtypeStruct(leaf.shape, wanted)
        return jnp.asarray(leaf, wanted)

    args, kwargs = tree_util.tree_map(convert, (query.args, query.kwargs))
    if not converted:
        raise nothing_floating(wanted.name)
    return Changed(Asked(query.function, args, kwargs), f"floating-point arguments as {wanted.name}")


_CHANGES: dict[str, Callable[[Asked, Any], Changed]] = {
    "options": _options,
    "donate": _donate,
    "precision": _precision,
    "dtype": _dtype,
    "keep": _keep,
}
