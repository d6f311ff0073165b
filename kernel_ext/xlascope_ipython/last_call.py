"""The most recent call of a jitted function in the cells: the default subject of a magic whose line names no call."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

#: The number of most recent cells that are searched, newest first.
MAX_CELLS = 50


def last_call(shell: InteractiveShell) -> str:
    """Return the source of the last call of a jitted function in the cells, or ``""``; magics' lines count as well.

    A call qualifies if evaluating its arguments calls nothing and all of its names are defined at module level.
    """
    _, calls = calls_of_last_cell(shell)
    return calls[0] if calls else ""


def calls_of_last_cell(shell: InteractiveShell) -> tuple[int, list[str]]:
    """Return the number of the last cell with calls that qualify, and their sources, latest first, each once.

    ``(0, [])`` if there is none.
    """
    cells = shell.user_ns.get("In", [])
    for number in range(len(cells) - 1, max(-1, len(cells) - 1 - MAX_CELLS), -1):
        calls = [call for call in _iter_calls(cells[number]) if can_be_repeated(call, shell.user_ns)]
        if calls:
            return number, list(dict.fromkeys(ast.unparse(call) for call in reversed(calls)))
    return 0, []


def can_be_repeated(call: ast.Call, names: Mapping[str, Any]) -> bool:
    """Return whether a call is one of a jitted function whose arguments can be evaluated again without effects.

    ``names`` is the namespace of the cells.

    >>> can_be_repeated(ast.parse("f(x)", mode="eval").body, {"f": len, "x": ""})
    False
    """
    operands = [*call.args, *(keyword.value for keyword in call.keywords)]
    bound = all(node.id in names or hasattr(builtins, node.id) for node in ast.walk(call) if isinstance(node, ast.Name))
    return bound and not any(_has_effects(operand) for operand in operands) and is_jitted(_deref(call.func, names))


def is_jitted(value: Any) -> bool:
    """Return whether a value is a function returned by `jit`, of xlascope or of jax."""
    return callable(value) and all(callable(getattr(value, name, None)) for name in ("lower", "trace"))


def _iter_calls(cell: str) -> Iterator[ast.Call]:
    """Yield the calls in a cell in source order, except those inside functions."""
    try:
        tree = ast.parse(cell)
    except (SyntaxError, ValueError):
        return
    calls = (
        node for statement in tree.body for node in _walk_outside_functions(statement) if isinstance(node, ast.Call)
    )
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        yield from _iter_magic_calls(call)
        yield call


def _iter_magic_calls(call: ast.Call) -> Iterator[ast.Call]:
    """Yield the call on the line of a magic, which IPython passes to a function as text."""
    match call:
        case ast.Call(func=ast.Attribute(attr="run_line_magic"), args=[_, ast.Constant(value=str(line))]):
            words = line.split(" ")
            for first in range(len(words)):  # the words before the call are options
                try:
                    expression = ast.parse(" ".join(words[first:]), mode="eval").body
                except (SyntaxError, ValueError):
                    continue
                if isinstance(expression, ast.Call):
                    yield expression
                    return


def _walk_outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _walk_outside_functions(child)


def _has_effects(operand: ast.expr) -> bool:
    effects = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)
    return any(isinstance(node, effects) for node in ast.walk(operand))


def _deref(function: ast.expr, names: Mapping[str, Any]) -> Any:
    """Return the value of a name or dotted name in a namespace; None for other expressions and undefined names."""
    if isinstance(function, ast.Name):
        return names.get(function.id)
    if isinstance(function, ast.Attribute):
        owner = _deref(function.value, names)
        return None if owner is None else getattr(owner, function.attr, None)
    return None
