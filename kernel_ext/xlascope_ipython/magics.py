"""The magics: four questions about a call, and the switch of the strip."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import no_var_expand
from IPython.display import display

from xlascope import inspect, records
from xlascope_widgets import text

from .pictures import has_widgets, panel_of
from .question import ask, parse
from .scope import Scope
from .titles import cell_number

_QUESTIONS = {
    "jaxpr": (inspect.jaxpr, "the jaxpr of a call, as text: it is traced, not run"),
    "explore": (inspect.explore, "the program of a call as a graph: it is traced, not run"),
    "fusions": (inspect.fusions, "the kernels that XLA makes of a call, and their equations: it is compiled, not run"),
    "timings": (inspect.timings, "how long each kernel of a call takes, measured: it is run many times"),
}

_SCOPE = """%scope on|off · %scope pin · %scope open FILE · %%scope

``%scope on`` shows a strip under each cell that traces, compiles or runs something; ``off`` stops that.
``%scope pin`` shows the panel open from the next cell on, until ``%scope on``. ``%scope open FILE`` shows the records
that ``--save`` wrote. ``%%scope`` on a cell's first line runs that cell with the panel open.
"""
_USAGE = "%scope takes on, off, pin, or open FILE. Example: %scope off"


def magics(shell: InteractiveShell, scope: Scope) -> dict[str, dict[str, Callable[..., Any]]]:
    """The magics of a shell, by kind and name."""
    questions = {name: _question(name, *what, shell) for name, what in _QUESTIONS.items()}
    line, cell = _scope(shell, scope)
    return {"line": {**questions, "scope": line}, "cell": {"scope": cell}}


def _question(
    name: str, function: Callable[..., inspect.Inspection], what: str, shell: InteractiveShell
) -> Callable[[str], inspect.Inspection | None]:
    @no_var_expand
    def magic(line: str) -> inspect.Inspection | None:
        return ask(parse(line, name), function, shell, name)

    magic.__name__ = name
    magic.__doc__ = f"""%{name} [--text] [--json] [--save FILE] f(x): {what}.

    The arguments are evaluated once. ``--text`` prints text instead of a picture, ``--json`` prints the records as
    JSON, ``--save FILE`` writes them to a file for ``%scope open FILE``. The same from a script:
    ``xlascope.inspect.{name}(f, x)``.
    """
    return magic


def _scope(shell: InteractiveShell, scope: Scope) -> tuple[Callable[[str], None], Callable[[str, str], Any]]:
    @no_var_expand
    def line_magic(line: str) -> None:
        match line.split(maxsplit=1):
            case ["on"]:
                scope.opened = False
                scope.on()
            case ["off"]:
                scope.off()
            case ["pin"] | ["open"]:
                scope.opened = True
                scope.on()
            case ["open", file]:
                _open(file.strip("\"' "), shell)
            case _:
                raise UsageError(_USAGE)

    @no_var_expand
    def cell_magic(line: str, cell: str) -> Any:
        if line.strip():
            raise UsageError("%%scope takes nothing on its line; the cell's code follows below it")
        if scope.cell is not None:
            scope.cell.opened = True
        return _run(cell, shell)

    line_magic.__doc__ = cell_magic.__doc__ = _SCOPE
    return line_magic, cell_magic


def _open(file: str, shell: InteractiveShell) -> None:
    try:
        found = records.load(file)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"%scope cannot open {file}: {reason}. Example: %scope open step.json") from None
    if has_widgets(shell):
        display(panel_of(found))
    else:
        print(text(found))


def _run(cell: str, shell: InteractiveShell) -> Any:
    """Run a cell's code where it belongs; returns the value of its last expression."""
    source = shell.transform_cell(cell)
    file = shell.compile.cache(source, cell_number(shell), raw_code=cell)
    tree = shell.transform_ast(shell.compile.ast_parse(source, filename=file))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, file, "exec"), shell.user_ns)
    if last is None:
        return None
    value = eval(compile(ast.Expression(last.value), file, "eval"), shell.user_ns)
    return None if cell.rstrip().endswith(";") else value
