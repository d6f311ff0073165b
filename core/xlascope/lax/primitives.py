"""Handles of operations, as ``eqn.primitive`` returns them: ``sin_p`` and its siblings, by the operation's name.

``primitives.pyi`` lists them for tools, with the functions that stand under the operations' classes.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil

from .. import control, operations
from ..ir.operation import Operation, Primitive, all_operation_types


@functools.cache
def operations_by_name() -> dict[str, type[Operation]]:
    """Return the engine's operations by name, importing every module that may define one."""
    for package in (operations, control):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    return {operation.name: operation for operation in all_operation_types() if _is_engine_module(operation.__module__)}


def _is_engine_module(module: str) -> bool:
    """Return whether the module of that name belongs to the engine, without experimental modules."""
    return module.startswith("xlascope.") and not module.startswith("xlascope.experimental.")


def __getattr__(name: str) -> Primitive:
    operation = operations_by_name().get(name[:-2]) if name.endswith("_p") else None
    if operation is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return operation.primitive
