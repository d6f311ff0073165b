"""The public functions of a library: its modules are walked, nothing is listed."""

from __future__ import annotations

import enum
import importlib
import inspect
import sys
import types
from collections.abc import Iterator
from types import ModuleType
from typing import Any

#: Modules that take part, where the library has them, with what is below them.
ROOMS = ("numpy", "lax", "nn", "random", "tree", "tree_util", "ops", "scipy", "image", "dtypes")
#: Modules that no walk meets, because JAX leaves them to be imported.
IMPORTED = ("scipy.optimize", "scipy.spatial.transform", "experimental.sparse")
#: Classes whose methods take part, each as a function of the object.
CLASSES = (
    *("scipy.spatial.transform.Rotation", "scipy.spatial.transform.Slerp", "scipy.interpolate.RegularGridInterpolator"),
    *("scipy.stats.gaussian_kde", "experimental.sparse.BCOO", "experimental.sparse.BCSR"),
)
#: Names in an array's class that say how Python holds it, not what it computes.
_OF_THE_OBJECT = """
array_priority class delattr dir doc getattribute getstate init init_subclass new reduce reduce_ex repr setattr sizeof
str subclasshook format module weakref slots setitem delitem array_module dlpack dlpack_device cuda_array_interface
abstractmethods array_namespace deepcopy copy orig_bases parameters dict basicsize
"""
NOT_COMPUTED = {f"__{name}__" for name in _OF_THE_OBJECT.split()}


def load(library: ModuleType) -> None:
    """Import what JAX leaves to be imported, so that calls find it."""
    for path in IMPORTED:
        importlib.import_module(f"{library.__name__}.{path}")


def modules(library: ModuleType) -> Iterator[tuple[str, ModuleType]]:
    """The public modules of the rooms, those inside them included, by their names below the library."""
    for path in IMPORTED:
        yield path, sys.modules[f"{library.__name__}.{path}"]
    for room in ROOMS:
        try:
            module = importlib.import_module(f"{library.__name__}.{room}")
        except ImportError:
            continue
        yield from _with_inner(room, module)


def _with_inner(path: str, module: ModuleType) -> Iterator[tuple[str, ModuleType]]:
    yield path, module
    for name in sorted(dir(module)):
        inner = None if name.startswith("_") else getattr(module, name, None)
        if isinstance(inner, ModuleType) and inner.__name__ == f"{module.__name__}.{name}":
            yield from _with_inner(f"{path}.{name}", inner)


def functions(library: ModuleType) -> dict[str, Any]:
    """What can be called, by name: functions of modules, then an array's methods, operators and properties."""
    found: dict[str, Any] = {}
    for path, module in modules(library):
        for name in sorted(dir(module)):
            value = None if name.startswith("_") else getattr(module, name, None)
            if callable(value) and not isinstance(value, ModuleType | enum.EnumType):
                found[f"{path}.{name}"] = value
    methods = {key: method for name in CLASSES if name in found for key, method in _methods(name, found[name])}
    return {**found, **methods, **_of_arrays(library)}


#: Operators that classes have, and calling.
_OPERATORS = """__call__ __getitem__ __len__ __mul__ __rmul__ __add__ __sub__ __neg__ __abs__ __pow__ __truediv__
__matmul__ __rmatmul__"""
#: Of named tuples and of trees: they say how an object is held.
_HOLDING = {"count", "index", "tree_flatten", "tree_unflatten", "block_until_ready", "from_scipy_sparse"}


def _methods(path: str, of: type) -> Iterator[tuple[str, Any]]:
    own = {name for base in of.__mro__ if base not in (tuple, object) for name in vars(base)}
    # JAX's arrays of rows have operators that are all refused, but for products
    operators = [name for name in _OPERATORS.split() if name in own and ("BCSR" not in path or "matmul" in name)]
    for name in [*operators, *(name for name in dir(of) if not name.startswith("_") and name not in _HOLDING)]:
        if callable(value := getattr(of, name)):
            yield f"{path}.{name}", value


def _of_arrays(library: ModuleType) -> dict[str, Any]:
    x = library.numpy.zeros(3)
    names = [name for name in dir(type(x)) if name not in NOT_COMPUTED and (name.startswith("__") or name[0] != "_")]
    return {f"array.{name}": getattr(type(x), name, None) for name in names} | {
        f"array.at.{name}": getattr(x.at[0], name) for name in dir(x.at[0]) if not name.startswith("_")
    }


def parameters(value: Any) -> list[list[Any]] | None:
    """Name, kind and whether it may be left out, of each parameter; None where Python cannot say."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    return [
        [each.name, each.kind.name, each.default is not inspect.Parameter.empty]
        for each in signature.parameters.values()
    ]


def listed(library: ModuleType) -> dict[str, Any]:
    """Each function with its parameters and sort: what a driver needs to know to draw calls."""
    return {
        name: {"parameters": parameters(value), "sort": _sort(value)}
        for name, value in sorted(functions(library).items())
    }


def _sort(value: Any) -> str:
    if isinstance(value, (property, types.GetSetDescriptorType, types.MemberDescriptorType)) or value is None:
        return "property"
    return "class" if isinstance(value, type) else "function"
