"""The ``out_sharding=`` argument: a result's sharding, where those of the operands do not determine it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..ir.user_frames import user_line, where_text
from ..trace.state import STATE
from ..trace.trace_cache import handle_keyword
from ..trace.traceback_filtering import filter_traceback
from ..trace.values import aval_of
from ..xla.arrays.transfers import put_on_device
from ..xla.sharding.meshes import PartitionSpec, require_mesh
from ..xla.sharding.named_shardings import NamedSharding
from .sharding_constraints import apply_sharding, drop_explicit_sharding


def with_out_sharding(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the keyword argument ``out_sharding`` to a function.

    It is a NamedSharding, or a PartitionSpec over the mesh of the operands or the current one. The function is then
    called with operands without explicit shardings, and XLA chooses the communication. None calls the function as it
    is.
    """

    def call_sharded(out_sharding: Any, args: Any, kwargs: Any) -> Any:
        return call_with_sharding(function.__name__, out_sharding, function, args, kwargs)

    signature = _with_parameter(inspect.signature(function))
    if handle_keyword(function, "out_sharding", call_sharded):  # a frame less in each call
        function.__signature__ = signature  # type: ignore[attr-defined]
        return function

    @functools.wraps(function)
    def with_sharding(*args: Any, out_sharding: Any = None, **kwargs: Any) -> Any:
        try:
            if out_sharding is None:
                return function(*args, **kwargs) if kwargs else function(*args)
            return call_sharded(out_sharding, args, kwargs)
        except BaseException as error:
            filter_traceback(error)
            raise

    with_sharding.__signature__ = signature  # type: ignore[attr-defined]
    return with_sharding


def _with_parameter(signature: inspect.Signature) -> inspect.Signature:
    parameters = list(signature.parameters.values())
    added = inspect.Parameter("out_sharding", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Any")
    last = parameters and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD
    return signature.replace(parameters=[*parameters[:-1], added, parameters[-1]] if last else [*parameters, added])


def call_with_sharding(
    name: str, out_sharding: Any, function: Callable[..., Any], args: Any, kwargs: Any = None
) -> Any:
    """Call a function and give its result the sharding ``out_sharding``.

    ``name`` is the function's name for messages; the arguments lose their explicit shardings. Raises TypeError if
    ``out_sharding`` is neither a NamedSharding nor a PartitionSpec.
    """
    sharding = _resolve_out_sharding(name, out_sharding, args)
    result = function(*map(_drop_explicit, args), **(kwargs or {}))
    if STATE.trace is None:
        return put_on_device(result, aval_of(result), sharding)
    return apply_sharding(result, sharding)


def _explicit_sharding(x: Any) -> Any:
    return getattr(getattr(x, "aval", None), "explicit", None)


def _drop_explicit(x: Any) -> Any:
    """Return an array argument without its explicit sharding; other arguments unchanged."""
    if isinstance(x, list | tuple) and any(_explicit_sharding(item) is not None for item in x):
        return type(x)(map(_drop_explicit, x))
    return x if _explicit_sharding(x) is None else drop_explicit_sharding(x)


def _resolve_out_sharding(name: str, value: Any, args: Any) -> NamedSharding:
    """Return the sharding that an argument ``out_sharding`` stands for.

    A PartitionSpec gets the mesh of the arguments ``args`` or the current one. Raises TypeError for anything else;
    ``name`` is the function's name, for the message.
    """
    if isinstance(value, NamedSharding):
        return value
    if isinstance(value, PartitionSpec):
        operand_sharding = next((lies for lies in map(_explicit_sharding, args) if lies is not None), None)
        mesh = operand_sharding.mesh if operand_sharding is not None else require_mesh(f"out_sharding of {name}")
        return NamedSharding(mesh, value)
    raise TypeError(
        f"{name}: out_sharding is a PartitionSpec or a NamedSharding, got {value!r} of type {type(value).__name__}"
        f"{where_text(user_line())}"
    )
