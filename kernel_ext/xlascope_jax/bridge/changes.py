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
from xlascope.inspect.change_spec import (
    DONATED_UNMEASURED,
    check_flags,
    format_flags,
    narrowed_dtype_error,
    no_floating_argument_error,
    non_floating_dtype_error,
    parse_change,
    parse_donation,
)
from xlascope.inspect.producers import Query


class JaxCallChange(NamedTuple):
    """Call with one thing changed, not traced yet.

    ``description`` is the change in words, ``setting`` a context manager in which the call is traced, ``options`` are
    XLA flags to compile with, and ``keep`` says whether to materialize values. ``unmeasured_reason`` says why its
    time cannot be compared (``""`` if it can).
    """

    query: Query
    description: str
    setting: AbstractContextManager[Any] = nullcontext()
    options: Mapping[str, Any] = MappingProxyType({})
    keep: bool = False
    unmeasured_reason: str = ""


def apply_change(query: Query, change: Mapping[str, Any]) -> JaxCallChange:
    """Return a call with one thing changed; raise ChangeError, with examples, for an unsupported change.

    ``change`` has one item, a kind and its value, as in :func:`xlascope.inspect.what_if`.
    """
    kind, value = parse_change(change, _CHANGES, prefix="of a function of jax, ")
    return _CHANGES[kind](query, value)


def describe_keep_change(change: Mapping[str, Any], otherwise: str) -> str:
    """Return the description of a ``keep`` change, the only one possible without a known call.

    For any other change raises ChangeError with the message ``otherwise``.
    """
    if set(change) != {"keep"}:
        raise ChangeError(otherwise)
    return _check_keep(change["keep"])


def _change_keep(query: Query, value: Any) -> JaxCallChange:
    return JaxCallChange(query, _check_keep(value), keep=True)


def _check_keep(value: Any) -> str:
    """Return the description of a ``keep`` change with this value; raise ChangeError if it is not possible for jax."""
    if value == "off":
        raise ChangeError("of a function of jax nothing is kept as it is; 'auto' keeps what is worth it")
    if value != "auto":
        raise ChangeError(f"keep is 'auto' for functions of jax; got {value!r}")
    if jax.default_backend() != "cpu":
        raise ChangeError("keep is for programs on a CPU: the compilers of other devices have a model of their own")
    return "kept what is worth it"


def _change_options(query: Query, value: Any) -> JaxCallChange:
    return JaxCallChange(query, format_flags(check_flags(value)), options=value)


def _change_donation(query: Query, value: Any) -> JaxCallChange:
    function, info = _unwrap_jit(query)
    numbers, description = parse_donation(value, list(inspect.signature(function).parameters), len(query.args))
    donating = jax.jit(
        function,
        static_argnums=info.static_argnums,
        static_argnames=info.static_argnames,
        donate_argnums=tuple(sorted({*info.donate_argnums, *numbers})),
    )
    return JaxCallChange(query._replace(function=donating), description, unmeasured_reason=DONATED_UNMEASURED)


def _unwrap_jit(query: Query) -> tuple[Callable[..., Any], Any]:
    """Return the function behind a jitted one, and jax's description of its jit options.

    Raises ChangeError for a function that ``jax.jit`` did not make, or that has shardings or a device of its own.
    """
    function, info = getattr(query.function, "_fun", None), getattr(query.function, "_jit_info", None)
    if function is None or info is None:
        raise ChangeError("donate is for functions that jax.jit itself made")
    if info.user_specified_in_shardings or info.device or info.backend:
        raise ChangeError("donate is not for functions that were jitted with shardings or a device of their own")
    return function, info


def _change_precision(query: Query, value: Any) -> JaxCallChange:
    try:
        setting = jax.default_matmul_precision(value)
    except ValueError as error:
        raise ChangeError(str(error)) from None
    return JaxCallChange(query, f"matrix products in precision {value}", setting)


def _change_dtype(query: Query, value: Any) -> JaxCallChange:
    """Return the call with all its floating-point arguments converted to the dtype ``value``."""
    dtype = jnp.dtype(value)
    if not jnp.issubdtype(dtype, jnp.floating):
        raise non_floating_dtype_error(value)
    if jax.dtypes.canonicalize_dtype(dtype) != dtype:
        raise narrowed_dtype_error(dtype.name, "jax.config.update('jax_enable_x64', True)")
    converted = 0

    def convert(leaf: Any) -> Any:
        nonlocal converted
        if not hasattr(leaf, "shape") or not jnp.issubdtype(getattr(leaf, "dtype", None), jnp.floating):
            return leaf
        converted += 1
        if isinstance(leaf, jax.ShapeDtypeStruct):
            return jax.ShapeDtypeStruct(leaf.shape, dtype)
        return jnp.asarray(leaf, dtype)

    args, kwargs = tree_util.tree_map(convert, (query.args, query.kwargs))
    if not converted:
        raise no_floating_argument_error(dtype.name)
    return JaxCallChange(Query(query.function, args, kwargs), f"floating-point arguments as {dtype.name}")


_CHANGES: dict[str, Callable[[Query, Any], JaxCallChange]] = {
    "options": _change_options,
    "donate": _change_donation,
    "precision": _change_precision,
    "dtype": _change_dtype,
    "keep": _change_keep,
}
