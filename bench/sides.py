"""The two sides: the same names from xlascope and from jax, so that a case is written once."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple


class Side(NamedTuple):
    """One engine, as the cases see it."""

    name: str
    xs: ModuleType
    jnp: ModuleType
    lower: Callable[..., Callable[[], Any]]


def _lower_ours(function: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    make_jaxpr = importlib.import_module("xlascope").make_jaxpr
    lower = importlib.import_module("xlascope.xla.lowering.module_lowering").lower
    program = make_jaxpr(function)(*args)
    return lambda: lower(program, "bench")


def _lower_theirs(function: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    traced = importlib.import_module("jax").jit(function).trace(*args)
    return lambda: traced.lower()


def side(name: str) -> Side:
    """The side of that name; raises ModuleNotFoundError when its package is not installed."""
    xs, jnp = importlib.import_module(name), importlib.import_module(f"{name}.numpy")
    return Side(name, xs, jnp, _lower_ours if name == "xlascope" else _lower_theirs)
