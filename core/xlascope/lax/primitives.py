"""The handle of each operation, as ``eqn.primitive`` gives it: ``sin_p`` and its siblings, by the operation's name.

``primitives.pyi`` lists them for tools, with the functions that stand under the operations' classes.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil

from .. import control, operations
from ..ir.operation import Operation, Primitive, registered


@functools.cache
def operations_by_name() -> dict[str, type[Operation]]:
    """The operations of the engine by name, from every file that may define one."""
    for package in (operations, control):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    return {each.name: each for each in registered() if _is_of_engine(each.__module__)}


def _is_of_engine(module: str) -> bool:
    """Whether a module is one of ours, and not one that only those import who need it."""
    return module.startswith("xlascope.") and not module.startswith("xlascope.experimental.")


def __getattr__(name: str) -> Primitive:
    operation = operations_by_name().get(name[:-2]) if name.endswith("_p") else None
    if operation is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return operation.primitive
