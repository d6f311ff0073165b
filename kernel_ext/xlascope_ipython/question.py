"""A magic's line: options, and calls; each call is evaluated once, as the call of a function of `xlascope.inspect`."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from xlascope.inspect import Inspection, call
from xlascope.inspect.writing import check_suffix
from xlascope.records.plain import plain, plain_lines

from .last_call import last_call
from .titles import cell_number

_NAME, _CALL = "__xlascope_question__", "__xlascope_call__"
_VALUE = r"(\"[^\"]*\"|'[^']*'|\S+)"


@dataclass(frozen=True)
class Grammar:
    """What the line of a magic may hold: ``flags`` are options by themselves, ``values`` options with a value."""

    magic: str
    flags: tuple[str, ...] = ("text", "json")
    values: tuple[tuple[str, str], ...] = (("save", "FILE"),)
    calls: int = 1
    example: str = "loss(params, x, y)"

    @property
    def options(self) -> str:
        """The options, for people: ``--text, --json and --save FILE``."""
        every = [*(f"--{name}" for name in self.flags), *(f"--{name} {what}" for name, what in self.values)]
        return f"{', '.join(every[:-1])} and {every[-1]}"

    def option(self, end: str) -> str:
        """A regular expression for one option, up to ``end``."""
        values = "|".join(name for name, _ in self.values)
        return rf"--(?:({'|'.join(self.flags)})|({values})[\s=]+{_VALUE})(?:{end})"

    def error(self, complaint: str) -> UsageError:
        """The error that says what is wrong with a line, and shows one that is right."""
        return UsageError(f"%{self.magic} {complaint}. Example: %{self.magic} {self.example}")


@dataclass(frozen=True)
class Question:
    """What a line asks for: calls, and options by name (``True`` for those without a value)."""

    expression: str
    options: dict[str, Any] = field(default_factory=dict)


def parse(line: str, grammar: Grammar, shell: InteractiveShell) -> Question:
    """Read ``[--text] [--json] [--save FILE] f(x)``, the options first or last; raises UsageError for all else.

    Where one call is wanted and none is named, it is that of a jitted function that a cell of the shell made last.
    """
    options: dict[str, Any] = {}
    expression = line.strip()
    while expression.startswith("--"):
        match = re.match(grammar.option(r"\s+|$"), expression)
        if match is None:
            raise grammar.error(f"has no option {plain(expression.split()[0], 40)}; it has {grammar.options}")
        expression = _take(match, options, expression)
    while match := re.search(r"\s" + grammar.option(r"\s*$"), expression):
        expression = _take(match, options, expression)
    if expression.endswith(";"):  # as in any cell: nothing is to be displayed
        expression, options["quiet"] = expression.rstrip("; "), True
    if not expression and grammar.calls == 1 and (expression := last_call(shell)) and "json" not in options:
        print(f"%{grammar.magic} {expression}")
    _check_calls(expression, grammar)
    if "save" in options:
        try:
            check_suffix(options["save"])
        except ValueError as error:
            raise grammar.error(str(error)) from None
    return Question(expression, options)


def ask(
    question: Question, function: Callable[..., Inspection], shell: InteractiveShell, grammar: Grammar
) -> Inspection | None:
    """Answer a question: the inspection to display, or None when ``--text`` or ``--json`` has printed it."""
    found = evaluate(question.expression, function, shell)
    return finish(found, question, grammar)


def finish(found: Inspection, question: Question, grammar: Grammar) -> Inspection | None:
    """Do what the options say with an inspection; returns it when it is to be displayed."""
    file = question.options.get("save")
    if file is not None:
        try:
            found.save(os.path.expanduser(file))
        except OSError as error:
            raise grammar.error(f"cannot write {file}: {error.strerror or error}") from None
        except ValueError as error:
            raise grammar.error(f"cannot write {file}: {error}") from None
    if "json" in question.options:
        print(json.dumps(found.to_json()))
    if "text" in question.options:
        print(plain_lines(found.text))
    return None if {"json", "text", "quiet"} & question.options.keys() else found


def labels_of(expression: str) -> tuple[str, ...]:
    """The calls of an expression, as they were written.

    >>> labels_of("f(x), jit(g)(x, y)")
    ('f(x)', 'jit(g)(x, y)')
    """
    written = (ast.get_source_segment(expression, each) or ast.unparse(each) for each in _calls(expression))
    return tuple(plain(" ".join(each.split()), 60) for each in written)


def _take(match: re.Match[str], options: dict[str, Any], expression: str) -> str:
    """Note the option that was found; returns the expression without it."""
    flag, name, value = match.groups()
    options[flag or name] = value.strip("\"'") if name else True
    return (expression[: match.start()] + expression[match.end() :]).strip()


def _calls(expression: str) -> list[ast.expr]:
    try:
        parsed = ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError):
        return []
    found = parsed.elts if isinstance(parsed, ast.Tuple) and not expression.startswith("(") else [parsed]
    return found if all(isinstance(each, ast.Call) for each in found) else []


def _check_calls(expression: str, grammar: Grammar) -> None:
    found = _calls(expression)
    if len(found) == grammar.calls:
        return
    given = f"got {plain(expression, 60)!r}" if expression else "got nothing"
    if grammar.calls == 1:
        other = " (%diff compares two)" if len(found) == 2 else ""
        raise grammar.error(f"takes one call of a function, {given}{other}")
    raise grammar.error(f"takes two calls of functions with a comma between them, {given}")


def evaluate(expression: str, function: Callable[..., Inspection], shell: InteractiveShell) -> Inspection:
    """Evaluate ``f(x)`` as ``function(f, x)``, and ``f(x), g(y)`` as ``function(call(f, x), call(g, y))``.

    So the user's line is where it happens, and the arguments are evaluated once.
    """
    tree = ast.parse(expression, mode="eval")
    if isinstance(tree.body, ast.Call):
        tree.body = _handed(tree.body, _NAME)
    else:
        assert isinstance(tree.body, ast.Tuple)
        calls = [_handed(each, _CALL) for each in tree.body.elts if isinstance(each, ast.Call)]
        name = ast.copy_location(ast.Name(_NAME, ast.Load()), tree.body)
        tree.body = ast.copy_location(ast.Call(name, list[ast.expr](calls), []), tree.body)
    file = shell.compile.cache(expression, cell_number(shell))
    found = eval(compile(tree, file, "eval"), shell.user_ns, {_NAME: function, _CALL: call})
    assert isinstance(found, Inspection)
    return found


def _handed(made: ast.Call, name: str) -> ast.Call:
    """``f(x)`` as ``name(f, x)``."""
    function = ast.copy_location(ast.Name(name, ast.Load()), made.func)
    return ast.copy_location(ast.Call(function, [made.func, *made.args], made.keywords), made)
