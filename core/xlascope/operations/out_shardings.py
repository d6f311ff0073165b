"""The ``out_sharding=`` argument: a result's sharding, where those of the operands do not determine it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..ir.sources import user_line, where_text
from ..trace.state import STATE
from ..trace.traceback_filtering import filter_traceback
from ..trace.values import aval_of
from ..xla.arrays.transfers import put
from ..xla.sharding.meshes import PartitionSpec, required_mesh
from ..xla.sharding.named_shardings import NamedSharding
from .sharding_constraints import left_to_xla, resharded


def out_sharded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument ``out_sharding`` to a function.

    It is a NamedSharding, or a PartitionSpec over the mesh of the operands or the current one. XLA then chooses the
    communication, whatever the operands' types say.
    """

    @functools.wraps(function)
    def with_sharding(*args: Any, out_sharding: Any = None, **kwargs: Any) -> Any:
        try:
            if out_sharding is None:
                return function(*args, **kwargs)
            return lying_so(function.__name__, out_sharding, function, args, kwargs)
        except BaseException as error:
            filter_traceback(error)
            raise

    with_sharding.__signature__ = _with_parameter(inspect.signature(function))  # type: ignore[attr-defined]
    return with_sharding


def _with_parameter(signature: inspect.Signature) -> inspect.Signature:
    parameters = list(signature.parameters.values())
    added = inspect.Parameter("out_sharding", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Any")
    last = parameters and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD
    return signature.replace(parameters=[*parameters[:-1], added, parameters[-1]] if last else [*parameters, added])


def lying_so(name: str, out_sharding: Any, function: Callable[..., Any], args: Any, kwargs: Any = None) -> Any:
    """Call a function and give its result the sharding ``out_sharding``; raise TypeError for an invalid one."""
    sharding = _meant(name, out_sharding, args)
    result = function(*map(_open, args), **(kwargs or {}))
    if STATE.trace is None:
        return put(result, aval_of(result), sharding)
    return resharded(result, sharding)


def _explicit(x: Any) -> Any:
    return getattr(getattr(x, "aval", None), "explicit", None)


def _open(x: Any) -> Any:
    """Return an array argument without its explicit sharding; other arguments unchanged."""
    if isinstance(x, list | tuple) and any(_explicit(item) is not None for item in x):
        return type(x)(map(_open, x))
    return x if _explicit(x) is None else left_to_xla(x)


def _meant(name: str, value: Any, args: Any) -> NamedSharding:
    if isinstance(value, NamedSharding):
        return value
    if isinstance(value, PartitionSpec):
        operand_sharding = next((lies for lies in map(_explicit, args) if lies is not None), None)
        mesh = operand_sharding.mesh if operand_sharding is not None else required_mesh(f"out_sharding of {name}")
        return NamedSharding(mesh, value)
    raise TypeError(
        f"{name}: out_sharding is a PartitionSpec or a NamedSharding, got {value!r} of type {type(value).__name__}"
        f"{where_text(user_line())}"
    )
