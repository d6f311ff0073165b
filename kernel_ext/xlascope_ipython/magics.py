"""The magics: questions about a call, and the switch of the strip."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from typing import Any, Literal

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import no_var_expand
from IPython.display import display

from xlascope import inspect
from xlascope.analysis.diff import Diff, load_shown
from xlascope.records import Traced
from xlascope_widgets import Panel, text

from .cell_titles import cell_number
from .explain import make_explain_magics, make_why_answer
from .look_magic import make_look_magic
from .magic_line import Grammar, ask, call_labels, parse
from .overview import make_overview_magic
from .recompiles import make_recompiles_magic
from .scope import Scope
from .targets import make_target_answer, make_target_magic
from .time_question import show_time
from .views import has_widgets, make_panel
from .watch_magic import make_watch_values_magic
from .what_if import make_what_if_magic

_QUESTIONS = {
    "jaxpr": (inspect.jaxpr, "the jaxpr of a call, as text: it is traced, not run"),
    "explore": (inspect.explore, "the program of a call as a graph: it is traced, not run"),
    "fusions": (inspect.fusions, "the kernels that XLA makes of a call, and their equations: it is compiled, not run"),
    "timings": (inspect.timings, "how long each kernel of a call takes, measured: it is run many times"),
    "doctor": (inspect.doctor, "at most three findings about a call, each with what to do: it is run many times"),
    "values": (inspect.values, "where it computes its first NaN or infinity, and the range of each value: it is run"),
    "memory": (inspect.memory, "how much memory a call needs at most, and what holds it then: it is compiled, not run"),
}
#: Questions that can be asked about hardware that is not present: ``--target gpu:h100`` (see ``%target``).
_TARGETABLE = ("explore", "fusions")

_SCOPE_HELP = """%scope pin · %scope on|off · %scope time · %scope open FILE · %%scope

``%scope pin`` shows one panel beside the notebook, which stays and follows the cells that run after it: what is
selected, opened and zoomed to stays so when a cell runs again. That is the place for work; so is the button *pin* of a
strip. It docks in JupyterLab 4 and Notebook 7; elsewhere it stands below the cell that pins it. ``%scope on``, or
closing its tab, ends that.
``%scope on`` shows a strip under each cell that traces, compiles or runs something, as at first; ``off`` stops that.
``%scope open`` shows the panel open under each cell. ``%scope open FILE`` shows the records
that ``--save`` wrote. ``%scope time`` tells where the time of the cell before went: tracing, compiling, calls, waiting,
transfers, Python, and what is unaccounted; ``--text`` and ``--json`` print it, ``--save FILE`` writes it. ``%%scope``
on a cell's first line runs that cell with the panel open.
"""
_WHY_HELP = """
    ``--why`` tells why the compiler fused what it did and why not the rest, in its words and in plain ones;
    ``--edge 3,4`` asks about two equations by their paths: ``xlascope.inspect.why(f, x, edge=("3", "4"))``.
    """
_KEPT_HELP = """
    ``--kept`` tells which results are kept in memory that XLA would compute again in several kernels:
    ``xlascope.inspect.kept(f, x)``.
    """
#: The maximum size of a file to open, in bytes; reading it takes about ten times its size in memory.
MAX_FILE_BYTES = 300_000_000
_USAGE = "%scope takes on, off, pin, time, or open FILE. Example: %scope off"


def make_magics(shell: InteractiveShell, scope: Scope) -> dict[str, dict[str, Callable[..., Any]]]:
    """Return the functions of a shell's magics by name: line magics under ``"line"``, cell magics under ``"cell"``.

    ``scope`` is the watcher of the shell's cells, which ``%scope`` and ``%%scope`` control.
    """
    questions = {
        name: _make_question_magic(name, *specification, shell, scope) for name, specification in _QUESTIONS.items()
    }
    questions["diff"] = _make_diff_magic(shell)
    questions["target"] = make_target_magic(shell)
    questions["whatif"] = make_what_if_magic(shell)
    questions |= make_explain_magics(shell)
    line, cell = _make_scope_magics(shell, scope)
    other_magics = {
        "look": make_look_magic(shell),
        "recompiles": make_recompiles_magic(scope),
        "scope": line,
        "watch_values": make_watch_values_magic(shell),
        "xlascope": make_overview_magic(shell, scope),
    }
    return {"line": questions | other_magics, "cell": {"scope": cell}}


def _make_question_magic(
    name: str, function: Callable[..., inspect.Inspection], description: str, shell: InteractiveShell, scope: Scope
) -> Callable[[str], inspect.Inspection | None]:
    """Return a line magic that asks one question about a call; ``function`` is the one of ``xlascope.inspect``.

    ``description`` completes the magic's help, "of a call". ``scope`` knows what the cells have recorded.
    """
    more = (("target", "NAME"),) if name in _TARGETABLE else ()
    flags: tuple[str, ...] = ("text", "json")
    if name == "fusions":
        flags, more = ("why", *flags), (("edge", "PATH,PATH"), *more)
    if name == "jaxpr":
        flags = ("kept", *flags)
    grammar = Grammar(name, flags, values=(("save", "FILE"), *more))

    @no_var_expand
    def magic(line: str) -> inspect.Inspection | None:
        question = parse(line, grammar, shell)
        if {"why", "edge"} & question.options.keys():
            return ask(question, make_why_answer(question, grammar), shell, grammar)
        if "kept" in question.options:
            return ask(question, inspect.kept, shell, grammar)
        names = question.options.get("target")
        if names:
            return ask(question, make_target_answer(names.split(","), grammar), shell, grammar)
        return ask(question, _with_known_records(function, scope) if name == "explore" else function, shell, grammar)

    magic.__name__ = name
    where = " [--target NAME]" if more else ""
    extra_help = {"fusions": _WHY_HELP, "jaxpr": _KEPT_HELP}.get(name, "")
    magic.__doc__ = f"""%{name} [--text] [--json] [--save FILE]{where} f(x): {description}.

    The arguments are evaluated once; ``f(x).sum()``, ``x @ w`` and other expressions are asked about as a whole.
    Without a call it is the last one of a jitted function in a cell. ``--text`` prints text instead of a picture,
    ``--json`` prints the records as JSON. ``--save FILE`` writes what the file's suffix says: ``.json`` the records,
    for ``%scope open FILE``; ``.html`` the panel for any browser; ``.svg`` and ``.png`` the picture; ``.dot`` and
    ``.pdf`` the graph; ``.txt`` the text.
    The same from a script: ``xlascope.inspect.{name}(f, x)``.
    {extra_help}"""
    return magic


def _with_known_records(function: Callable[..., inspect.Inspection], scope: Scope) -> Callable[..., inspect.Inspection]:
    """Return ``function`` with what the cells have recorded of the traced program added to its answer."""

    def answer(*args: Any, **kwargs: Any) -> inspect.Inspection:
        inspection = function(*args, **kwargs)
        (traced,) = inspection.records
        records = scope.known_records(traced) if isinstance(traced, Traced) else inspection.records
        return inspect.Inspection(inspection.question, records, inspection.text)

    return answer


def _make_diff_magic(shell: InteractiveShell) -> Callable[[str], inspect.Inspection | None]:
    """Return the function of the line magic ``%diff``."""
    grammar = Grammar(
        "diff", flags=("untimed", "timings", "text", "json"), calls=2, example="loss(params, x), faster_loss(params, x)"
    )

    @no_var_expand
    def diff(line: str) -> inspect.Inspection | None:
        """%diff [--untimed|--timings] [--text] [--json] [--save FILE] f(x), g(x): what differs between two calls.

        Both are compiled, and run by turns, for about half a second and at most five, on copies of what they donate: a
        function that is not jitted as written. ``--untimed`` runs neither. Neither runs either if one of them calls
        Python for its effects (``debug.print``, ``io_callback``), or if one call takes seconds, unless ``--timings``
        says so. Equations are aligned by the text of their lines, kernels by their equations. Two sets of options are
        two jitted functions: ``%diff f(x), jit(f, donate_argnums=0)(x)``. The same from a script:
        ``xlascope.inspect.diff((f, x), (g, x), timings="auto")``.
        """
        question = parse(line, grammar, shell)
        labels = call_labels(question.expression)
        if {"untimed", "timings"} <= question.options.keys():
            raise grammar.usage_error("takes --untimed or --timings, not both")
        timings: bool | Literal["auto"] = "timings" in question.options
        if not timings and "untimed" not in question.options:
            timings = "auto"

        def compare(before: Any, after: Any) -> inspect.Inspection:
            return inspect.diff(before, after, timings=timings, labels=(labels[0], labels[1]))

        return ask(question, compare, shell, grammar)

    return diff


def _make_scope_magics(
    shell: InteractiveShell, scope: Scope
) -> tuple[Callable[[str], inspect.Inspection | None], Callable[[str, str], Any]]:
    """Return the functions of the magics ``%scope`` and ``%%scope``."""

    @no_var_expand
    def line_magic(line: str) -> inspect.Inspection | None:
        match line.split(maxsplit=1):
            case ["on"]:
                scope.on()
            case ["off"]:
                if scope.cell is not None:
                    scope.cell.is_question = True  # `%scope time` is about the cell before
                scope.off()
            case ["pin"]:
                scope.pin()
            case ["open"]:
                scope.on(opened=True)
            case ["open", file]:
                _open_file(file.strip("\"' "), shell)
            case ["time", *options]:
                return show_time(scope, " ".join(options))
            case _:
                raise UsageError(_USAGE)
        return None

    @no_var_expand
    def cell_magic(line: str, cell: str) -> Any:
        if line.strip():
            raise UsageError("%%scope takes nothing on its line; the cell's code follows below it")
        if scope.cell is not None:
            scope.cell.opened = True
        return _run_cell(cell, shell)

    line_magic.__doc__ = cell_magic.__doc__ = _SCOPE_HELP
    return line_magic, cell_magic


def _open_file(file: str, shell: InteractiveShell) -> None:
    """Show the records or the comparison in a file; raise UsageError if it cannot be read or is too large."""
    path = os.path.expanduser(file)
    try:
        if os.path.getsize(path) > MAX_FILE_BYTES:
            raise ValueError(f"it has more than {MAX_FILE_BYTES // 1_000_000} MB")
        content = load_shown(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error).removeprefix(f"{path}: ")
        raise UsageError(f"%scope cannot open {file}: {reason}. Example: %scope open step.json") from None
    if has_widgets(shell):
        display(Panel.of(content) if isinstance(content, Diff) else make_panel(content, answerable=False))
    else:
        print(content.text() if isinstance(content, Diff) else text(content))


def _run_cell(cell: str, shell: InteractiveShell) -> Any:
    """Run a cell's code in the user's namespace, and return the value of its last expression.

    None if the cell does not end with an expression, or if a semicolon follows it.
    """
    source = shell.transform_cell(cell)
    file = shell.compile.cache(source, cell_number(shell), raw_code=cell)
    tree = shell.transform_ast(shell.compile.ast_parse(source, filename=file))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, file, "exec"), shell.user_ns)
    if last is None:
        return None
    value = eval(compile(ast.Expression(last.value), file, "eval"), shell.user_ns)
    return None if cell.rstrip().endswith(";") else value
