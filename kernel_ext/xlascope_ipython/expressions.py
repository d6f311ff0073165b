"""Expressions as calls of functions of their arrays: ``x @ w`` is ``(lambda x, w: x @ w)(x, w)``."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from .last_call import is_jitted

#: Expressions besides calls that compute something.
OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript)
#: Expressions that compute something if a part of them does.
_COMPOUNDS = (ast.Tuple, ast.List, ast.Dict, ast.ListComp, ast.DictComp, ast.IfExp, ast.BoolOp, ast.NamedExpr)
#: Functions and methods that only bring a result to Python, which a question about its program leaves out.
_FETCHING_FUNCTIONS = {"bool", "complex", "float", "int", "print"}
_FETCHING_LIBRARY_FUNCTIONS = {"asarray", "array", "block_until_ready", "device_get"}
_FETCHING_METHODS = {"block_until_ready", "item", "tolist"}

_NUMBERS = (bool, int, float, complex, np.generic)
#: Functions that take a tree apart, by their modules: those that this process has imported are asked.
_TREE_FUNCTIONS = {"xlascope.tree": "leaves", "jax.tree_util": "tree_leaves"}
#: The name in syntax trees of :func:`name_expression`.
NAMING_FUNCTION = "__xlascope_expression__"


def name_expression(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of an expression with a name that can be shown."""
    function.__name__ = function.__qualname__ = "expression"
    return function


def computes(node: ast.expr) -> bool:
    """Return whether an expression is a call or an operation, an attribute of its result, or contains one.

    A question can be asked about these.

    >>> sources = "f(x)", "x @ w", "x[0]", "(x @ w).T", "x.T", "x", "3", "[f(x), g(x)]", "f(x) if a else g(x)", "[1]"
    >>> [computes(ast.parse(source, mode="eval").body) for source in sources]
    [True, True, True, True, False, False, False, True, True, False]
    """
    if isinstance(node, ast.Attribute):
        return computes(node.value)
    if isinstance(node, _COMPOUNDS):
        return any(computes(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))
    return isinstance(node, (ast.Call, *OPERATIONS))


def as_call(node: ast.expr, names: Mapping[str, Any]) -> ast.Call:
    """Return an expression as a call: any but a call of a function becomes a function of the arrays in it.

    So does a call of a method of an array or of a result: the question is about the whole expression. Conversions to
    Python around it (``float``, ``print``, ``item``) are left out. ``names`` is the namespace of the cells. Names of
    anything but arrays and containers of arrays, as of numbers, stay in the function.

    >>> expression = ast.parse("x @ w + b", mode="eval").body
    >>> ast.unparse(as_call(expression, {"x": np.ones(3), "w": np.ones(3), "b": 2}))
    '__xlascope_expression__(lambda x, w: x @ w + b)(x, w)'
    >>> method = ast.parse("(x @ p['w']).sum(0).max()", mode="eval").body
    >>> ast.unparse(as_call(method, {"x": np.ones(3), "p": {"w": np.ones(3)}}))
    "__xlascope_expression__(lambda x, p_w: (x @ p_w).sum(0).max())(x, p['w'])"
    >>> result = ast.parse("float(f(p, x)[0].sum())", mode="eval").body
    >>> ast.unparse(as_call(result, {"f": max, "x": np.ones(3), "p": {"w": np.ones(3)}}))
    '__xlascope_expression__(lambda p, x: f(p, x)[0].sum())(p, x)'
    """
    node = _without_fetches(node, names)
    if isinstance(node, ast.Call) and not _is_whole_expression(node, names):
        return node
    references = _ArrayReferences(node, names)
    body = references.visit(node)
    parameters = ast.arguments([], [ast.arg(name) for name in references.arrays], None, [], [], None, [])
    function = ast.Call(ast.Name(NAMING_FUNCTION, ast.Load()), [ast.Lambda(parameters, body)], [])
    call = ast.Call(function, list(references.arrays.values()), [])
    return ast.fix_missing_locations(ast.copy_location(call, node))


def find_named_values(expression: ast.expr, names: Mapping[str, Any]) -> list[Any]:
    """Return what the names, attributes and items in an expression are, as far as that is known without calls."""
    nodes = [node for node in ast.walk(expression) if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript))]
    values = [_deref(node, names) for node in nodes]
    owners = [getattr(value, "__self__", None) for value in values]
    return [value for value in (*values, *owners) if value is not None]


class _ArrayReferences(ast.NodeTransformer):
    """Replacement of what names arrays, or containers of arrays, by names of parameters: ``p['w']`` by ``p_w``.

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
        is_of_array = inner is not None and _starts_with_result(inner, self._names)
        if is_of_array or not _can_be_operand(_deref(node, self._names)):
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


def _without_fetches(node: ast.expr, names: Mapping[str, Any]) -> ast.expr:
    """Return an expression without the conversions of its result to Python, such as ``float``, that are around it."""
    while isinstance(node, ast.Call):
        inner = _fetched_operand(node, names)
        if inner is None or not computes(inner):
            break
        node = inner
    return node.value if isinstance(node, ast.NamedExpr) else node


def _fetched_operand(call: ast.Call, names: Mapping[str, Any]) -> ast.expr | None:
    """Return what a call brings to Python and returns, None if it is any other call."""
    match call:
        case ast.Call(func=ast.Attribute(value=owner, attr=method), args=[]) if method in _FETCHING_METHODS:
            return owner if computes(owner) else None
        case ast.Call(func=ast.Name(id=name), args=[operand]) if names.get(name) is None:
            return operand if name in _FETCHING_FUNCTIONS and hasattr(builtins, name) else None
        case ast.Call(func=function, args=[operand], keywords=[]):
            value = _deref(function, names)
            is_fetching = getattr(value, "__name__", "") in _FETCHING_LIBRARY_FUNCTIONS
            return operand if is_fetching and not _is_traceable(value) else None
    return None


def _is_traceable(function: Any) -> bool:
    """Return whether a function that is named as one of NumPy's is one of a library that traces: an operation."""
    module = str(getattr(function, "__module__", ""))
    return function.__name__ in ("asarray", "array") and module.partition(".")[0] != "numpy"


def _is_method_of_result(call: ast.Call, names: Mapping[str, Any]) -> bool:
    """Return whether a call is one of a method of an array, or of what another expression computes."""
    return isinstance(call.func, ast.Attribute) and _starts_with_result(call.func.value, names)


def _is_whole_expression(call: ast.Call, names: Mapping[str, Any]) -> bool:
    """Return whether a call is asked about as an expression, not as a call of its function with its arguments."""
    return _is_method_of_result(call, names) or _takes_generator(call) or _takes_settings(call, names)


def _takes_settings(call: ast.Call, names: Mapping[str, Any]) -> bool:
    """Return whether an argument is a container of arrays and of what cannot be an operand, such as text.

    Only a function that is not jitted can be called so.
    """
    if is_jitted(_deref(call.func, names)):
        return False
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    return any(_is_display_with_text(node) or _is_mixed(_leaves(_deref(node, names))) for node in arguments)


def _is_display_with_text(node: ast.expr) -> bool:
    """Return whether an expression is a dict, list or tuple with a text among its elements."""
    elements = node.values if isinstance(node, ast.Dict) else getattr(node, "elts", [])
    return any(isinstance(element, ast.Constant) and isinstance(element.value, str) for element in elements)


def _is_mixed(leaves: list[Any]) -> bool:
    are_operands = {_is_array(leaf) or isinstance(leaf, _NUMBERS) for leaf in leaves}
    return len(are_operands) == 2 and any(map(_is_array, leaves))


def _takes_generator(call: ast.Call) -> bool:
    """Return whether an argument of a call is a generator, which computes while the function runs."""
    return any(isinstance(argument, ast.GeneratorExp) for argument in call.args)


def _starts_with_result(node: ast.expr, names: Mapping[str, Any]) -> bool:
    """Return whether an expression is an array, something computed, or a part or attribute of one."""
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return _starts_with_result(node.value, names) or _is_array(_deref(node, names))
    return computes(node) or _is_array(_deref(node, names))


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


def _can_be_operand(value: Any) -> bool:
    """Return whether a value is an array, or a container of arrays in which is nothing but these and numbers."""
    if _is_array(value):
        return True
    if isinstance(value, (type, ModuleType, FunctionType)):
        return False
    leaves = _leaves(value)
    return any(map(_is_array, leaves)) and all(_is_array(leaf) or isinstance(leaf, _NUMBERS) for leaf in leaves)


def _leaves(value: Any) -> list[Any]:
    """Return what is in a container of any kind that a library for arrays takes apart, in each library that is here."""
    for name, function in _TREE_FUNCTIONS.items():
        try:
            leaves = getattr(sys.modules[name], function)(value)
        except Exception:  # the library is not here, or it cannot take the value apart: keys that have no order
            continue
        if len(leaves) != 1 or leaves[0] is not value:
            return list(leaves)
    if type(value) is dict:
        return [leaf for item in value.values() for leaf in _leaves(item)]
    return [leaf for item in value for leaf in _leaves(item)] if type(value) in (list, tuple) else [value]
