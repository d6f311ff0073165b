"""A magic's line: options, and one call expression, evaluated once as the call of a function of `xlascope.inspect`."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from xlascope.inspect import Inspection

from .titles import cell_number

_TRAILING = re.compile(r"\s(--(?:text|json|save\s+(?:\"[^\"]*\"|'[^']*'|\S+)))\s*$")
_NAME = "__xlascope_question__"


@dataclass(frozen=True)
class Question:
    """What a line asks for."""

    expression: str
    text: bool = False
    json: bool = False
    save: str | None = None


def parse(line: str, magic: str) -> Question:
    """Read ``[--text] [--json] [--save FILE] f(x)``, the options first or last; raises UsageError for all else."""
    options: list[str] = []
    expression = line.strip()
    while expression.startswith("--"):
        option, expression = _leading(expression, magic)
        options += option
    while match := _TRAILING.search(expression):
        expression = expression[: match.start()].rstrip()
        options += shlex.split(match[1])
    _check_call(expression, magic)
    file = options[options.index("--save") + 1] if "--save" in options else None
    return Question(expression, "--text" in options, "--json" in options, file)


def ask(
    question: Question, function: Callable[..., Inspection], shell: InteractiveShell, magic: str
) -> Inspection | None:
    """Answer a question: the inspection to display, or None when ``--text`` or ``--json`` has printed it."""
    found = _evaluate(question.expression, function, shell)
    if question.save is not None:
        try:
            found.save(question.save)
        except OSError as error:
            raise UsageError(
                f"%{magic} cannot write {question.save}: {error.strerror or error}. {_example(magic)}"
            ) from None
    if question.json:
        print(json.dumps(found.to_json()))
    if question.text:
        print(found.text)
    return None if question.json or question.text else found


def _leading(text: str, magic: str) -> tuple[list[str], str]:
    if match := re.match(r"--(text|json)(?:\s+|$)", text):
        return [f"--{match[1]}"], text[match.end() :]
    if match := re.match(r"--save\s+(\"[^\"]*\"|'[^']*'|\S+)(?:\s+|$)", text):
        return ["--save", match[1].strip("\"'")], text[match.end() :]
    raise UsageError(
        f"%{magic} has no option {text.split()[0]}; it has --text, --json and --save FILE. {_example(magic)}"
    )


def _check_call(expression: str, magic: str) -> None:
    try:
        parsed = ast.parse(expression, mode="eval").body
    except SyntaxError:
        parsed = None
    if not isinstance(parsed, ast.Call):
        given = f"got {expression!r}" if expression else "got nothing"
        raise UsageError(f"%{magic} takes one call of a function, {given}. {_example(magic)}")


def _example(magic: str) -> str:
    return f"Example: %{magic} loss(params, x, y)"


def _evaluate(expression: str, function: Callable[..., Inspection], shell: InteractiveShell) -> Inspection:
    """Evaluate ``f(x)`` as ``function(f, x)``, so that the user's line is where it happens."""
    tree = ast.parse(expression, mode="eval")
    call = tree.body
    assert isinstance(call, ast.Call)
    name = ast.copy_location(ast.Name(_NAME, ast.Load()), call.func)
    tree.body = ast.copy_location(ast.Call(name, [call.func, *call.args], call.keywords), call)
    file = shell.compile.cache(expression, cell_number(shell))
    code = compile(tree, file, "eval")
    found = eval(code, shell.user_ns, {_NAME: function})
    assert isinstance(found, Inspection)
    return found
