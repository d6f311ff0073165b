"""Expressions as calls of functions of their arrays: ``x @ w`` is ``(lambda x, w: x @ w)(x, w)``."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import numpy as np

#: Expressions besides calls that compute something.
OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript)


def computes(node: ast.expr) -> bool:
    """Return whether an expression is a call or an operation: one that a question can be asked about.

    >>> [computes(ast.parse(source, mode="eval").body) for source in ("f(x)", "x @ w", "x[0]", "x", "3")]
    [True, True, True, False, False]
    """
    return isinstance(node, (ast.Call, *OPERATIONS))


def as_call(node: ast.expr, names: Mapping[str, Any]) -> ast.Call:
    """Return an expression as a call: an operation, or a method of its result, becomes a function of the arrays in it.

    ``names`` is the namespace of the cells. Names of anything else, as of numbers, stay in the function.

    >>> expression = ast.parse("x @ w + b", mode="eval").body
    >>> ast.unparse(as_call(expression, {"x": np.ones(3), "w": np.ones(3), "b": 2}))
    '(lambda x, w: x @ w + b)(x, w)'
    >>> method = ast.parse("(x @ x).sum(0).max()", mode="eval").body
    >>> ast.unparse(as_call(method, {"x": np.ones(3)}))
    '(lambda x: (x @ x).sum(0).max())(x)'
    """
    if isinstance(node, ast.Call) and not _is_method_of_operation(node):
        return node
    loaded = [item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)]
    arrays = [name for name in sorted(set(loaded), key=loaded.index) if _is_array(names.get(name))]
    parameters = ast.arguments([], [ast.arg(name) for name in arrays], None, [], [], None, [])
    call = ast.Call(ast.Lambda(parameters, node), [ast.Name(name, ast.Load()) for name in arrays], [])
    return ast.fix_missing_locations(ast.copy_location(call, node))


def _is_method_of_operation(node: ast.expr) -> bool:
    """Return whether an expression calls a method of what an operation computes, or of such a method's result."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    value = node.func.value
    return isinstance(value, (ast.BinOp, ast.UnaryOp, ast.Compare)) or _is_method_of_operation(value)


def _is_array(value: Any) -> bool:
    """Return whether a value is an array, of whichever library; types and NumPy's scalars are none."""
    return hasattr(value, "__array__") and not isinstance(value, (type, np.generic))
