"""The call of a jitted function that a cell made last: what a magic asks about when its line names none."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

#: So many cells are looked through, the newest first.
MAX_CELLS = 50


def last_call(shell: InteractiveShell) -> str:
    """Return the last call of a jitted function in the cells, that of a magic's line included, or an empty text.

    A call is taken if evaluating its arguments calls nothing and all their names are known outside of functions.
    """
    cells = shell.user_ns.get("In", [])
    for cell in reversed(cells[-MAX_CELLS:]):
        for call in reversed(list(_calls(cell))):
            if can_be_repeated(call, shell.user_ns):
                return ast.unparse(call)
    return ""


def can_be_repeated(call: ast.Call, names: Mapping[str, Any]) -> bool:
    """Return whether a call is one of a jitted function whose arguments can be evaluated again.

    >>> can_be_repeated(ast.parse("f(x)", mode="eval").body, {"f": len, "x": ""})
    False
    """
    operands = [*call.args, *(keyword.value for keyword in call.keywords)]
    known = all(node.id in names or hasattr(builtins, node.id) for node in ast.walk(call) if isinstance(node, ast.Name))
    return known and not any(_has_effects(operand) for operand in operands) and is_jitted(_value(call.func, names))


def is_jitted(value: Any) -> bool:
    """Return whether a value is a function that `jit` has made, here or in jax."""
    return callable(value) and all(callable(getattr(value, name, None)) for name in ("lower", "trace"))


def _calls(cell: str) -> Iterator[ast.Call]:
    """Yield the calls in a cell in the order of their lines; those inside functions are left out."""
    try:
        tree = ast.parse(cell)
    except (SyntaxError, ValueError):
        return
    calls = (node for statement in tree.body for node in _own(statement) if isinstance(node, ast.Call))
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        yield from _calls_of_magic(call)
        yield call


def _calls_of_magic(call: ast.Call) -> Iterator[ast.Call]:
    """Yield the call that the line of a magic asks about: IPython hands the line to a function as text."""
    match call:
        case ast.Call(func=ast.Attribute(attr="run_line_magic"), args=[_, ast.Constant(value=str(line))]):
            words = line.split(" ")
            for first in range(len(words)):  # what stands before are options
                try:
                    asked = ast.parse(" ".join(words[first:]), mode="eval").body
                except (SyntaxError, ValueError):
                    continue
                if isinstance(asked, ast.Call):
                    yield asked
                    return


def _own(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _own(child)


def _has_effects(operand: ast.expr) -> bool:
    effects = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)
    return any(isinstance(node, effects) for node in ast.walk(operand))


def _value(function: ast.expr, names: Mapping[str, Any]) -> Any:
    """Return what a name or dotted name stands for; None for any other expression, or if it stands for nothing."""
    if isinstance(function, ast.Name):
        return names.get(function.id)
    if isinstance(function, ast.Attribute):
        owner = _value(function.value, names)
        return None if owner is None else getattr(owner, function.attr, None)
    return None
