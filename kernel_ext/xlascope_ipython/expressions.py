"""Expressions as calls of functions of their arrays: ``x @ w`` is ``(lambda x, w: x @ w)(x, w)``."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from .last_call import is_jitted

#: Expressions besides calls that compute something.
OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript)

#: Modules whose functions return arrays.
_ARRAY_MODULES = tuple(
    f"{library}.{name}" for library in ("xlascope", "jax") for name in ("numpy", "lax", "nn", "scipy")
)


def computes(node: ast.expr) -> bool:
    """Return whether an expression is a call or an operation, or an attribute of its result.

    A question can be asked about these.

    >>> sources = "f(x)", "x @ w", "x[0]", "(x @ w).T", "x.T", "x", "3"
    >>> [computes(ast.parse(source, mode="eval").body) for source in sources]
    [True, True, True, True, False, False, False]
    """
    if isinstance(node, ast.Attribute):
        return computes(node.value)
    return isinstance(node, (ast.Call, *OPERATIONS))


def as_call(node: ast.expr, names: Mapping[str, Any]) -> ast.Call:
    """Return an expression as a call: an operation, or a method of an array, becomes a function of the arrays in it.

    ``names`` is the namespace of the cells. Names of anything else, as of numbers, stay in the function.

    >>> expression = ast.parse("x @ w + b", mode="eval").body
    >>> ast.unparse(as_call(expression, {"x": np.ones(3), "w": np.ones(3), "b": 2}))
    '(lambda x, w: x @ w + b)(x, w)'
    >>> method = ast.parse("(x @ p['w']).sum(0).max()", mode="eval").body
    >>> ast.unparse(as_call(method, {"x": np.ones(3), "p": {"w": np.ones(3)}}))
    "(lambda x, p_w: (x @ p_w).sum(0).max())(x, p['w'])"
    """
    if isinstance(node, ast.Call) and not _is_method_of_array(node, names):
        return node
    references = _ArrayReferences(node, names)
    body = references.visit(node)
    parameters = ast.arguments([], [ast.arg(name) for name in references.arrays], None, [], [], None, [])
    call = ast.Call(ast.Lambda(parameters, body), list(references.arrays.values()), [])
    return ast.fix_missing_locations(ast.copy_location(call, node))


class _ArrayReferences(ast.NodeTransformer):
    """Replacement of what names arrays by names of parameters: ``p['w']`` by ``p_w``.

    ``arrays`` has the replaced expressions by the names of their parameters, in the order of the source.
    """

    def __init__(self, expression: ast.expr, names: Mapping[str, Any]) -> None:
        self.arrays: dict[str, ast.expr] = {}
        nodes = list(ast.walk(expression))
        self._used = {node.id for node in nodes if isinstance(node, ast.Name)}
        bound = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
        bound |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        self._names = {name: names[name] for name in self._used - bound if name in names}
        self._parameters: dict[str, str] = {}

    def visit(self, node: ast.AST) -> Any:
        if not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            return self.generic_visit(node)
        inner = None if isinstance(node, ast.Name) else node.value
        if (inner is not None and _starts_with_array(inner, self._names)) or not _is_array(_deref(node, self._names)):
            return self.generic_visit(node)
        return ast.copy_location(ast.Name(self._parameter_of(node), ast.Load()), node)

    def _parameter_of(self, node: ast.Name | ast.Attribute | ast.Subscript) -> str:
        """Return the name of the parameter for an array, a new one for each source text."""
        source = ast.unparse(node)
        if source not in self._parameters:
            name = base = re.sub(r"\W+", "_", source).strip("_")
            while not isinstance(node, ast.Name) and (name in self._used or name in self.arrays):
                name += "_"
            self._parameters[source] = name if base.isidentifier() else f"array{len(self.arrays)}"
            self.arrays[self._parameters[source]] = node
        return self._parameters[source]


def _is_method_of_array(call: ast.Call, names: Mapping[str, Any]) -> bool:
    """Return whether a call is one of a method of an array, or of what an operation computes."""
    return isinstance(call.func, ast.Attribute) and _starts_with_array(call.func.value, names)


def _starts_with_array(node: ast.expr, names: Mapping[str, Any]) -> bool:
    """Return whether an expression is an array, an operation, or a part, attribute or method of one."""
    if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)):
        return True
    if isinstance(node, ast.Call):
        return _is_method_of_array(node, names) or _returns_array(node.func, names)
    if isinstance(node, (ast.Attribute, ast.Subscript)) and _starts_with_array(node.value, names):
        return True
    return _is_array(_deref(node, names))


def _returns_array(function: ast.expr, names: Mapping[str, Any]) -> bool:
    """Return whether calls of a function are known to return arrays: it is jitted, or one of a module for arrays."""
    owner = _deref(function.value, names) if isinstance(function, ast.Attribute) else None
    is_of_library = isinstance(owner, ModuleType) and owner.__name__.startswith(_ARRAY_MODULES)
    return is_of_library or is_jitted(_deref(function, names))


def _deref(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """Return what a name, an attribute or an item with a constant index is; None for anything else."""
    try:
        match node:
            case ast.Name(id=name):
                return names.get(name)
            case ast.Attribute(value=owner, attr=attribute):
                return getattr(_deref(owner, names), attribute, None)
            case ast.Subscript(value=container, slice=index):
                items = _deref(container, names)
                return items[ast.literal_eval(index)] if isinstance(items, (Mapping, list, tuple)) else None
    except Exception:  # of a property, or an item that does not exist, which the expression itself will raise
        return None
    return None


def _is_array(value: Any) -> bool:
    """Return whether a value is an array, of whichever library; types and NumPy's scalars are none."""
    has_axes = hasattr(value, "dtype") and isinstance(getattr(value, "shape", None), tuple)
    return has_axes and not isinstance(value, (type, np.generic))
