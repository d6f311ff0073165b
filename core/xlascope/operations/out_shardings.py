"""``out_sharding=``: how a result is to lie, said by the user where explicit shardings of operands do not tell."""

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
    """The function with one argument more, ``out_sharding``: a NamedSharding, or a PartitionSpec over the mesh of the
    operands or the current one. XLA then finds the way there, whatever the operands' types say.
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


def lying_so(what: str, out_sharding: Any, function: Callable[..., Any], args: Any, kwargs: Any = None) -> Any:
    """The result of a function, which lies as ``out_sharding`` says; raises TypeError for what is no sharding."""
    sharding = _meant(what, out_sharding, args)
    found = function(*map(_open, args), **(kwargs or {}))
    if STATE.trace is None:
        return put(found, aval_of(found), sharding)
    return resharded(found, sharding)


def _explicit(x: Any) -> Any:
    return getattr(getattr(x, "aval", None), "explicit", None)


def _open(x: Any) -> Any:
    """An argument of which the type says nothing of how it lies; other arguments as they are."""
    if isinstance(x, list | tuple) and any(_explicit(each) is not None for each in x):
        return type(x)(map(_open, x))
    return x if _explicit(x) is None else left_to_xla(x)


def _meant(what: str, given: Any, args: Any) -> NamedSharding:
    if isinstance(given, NamedSharding):
        return given
    if isinstance(given, PartitionSpec):
        known = next((lies for lies in map(_explicit, args) if lies is not None), None)
        mesh = known.mesh if known is not None else required_mesh(f"out_sharding of {what}")
        return NamedSharding(mesh, given)
    raise TypeError(
        f"{what}: out_sharding is a PartitionSpec or a NamedSharding, got {given!r} of type {type(given).__name__}"
        f"{where_text(user_line())}"
    )
