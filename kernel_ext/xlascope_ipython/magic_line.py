"""The line of a magic: options, and calls that are evaluated once as calls of an `xlascope.inspect` function."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from xlascope.inspect import Inspection, QuestionError, call
from xlascope.inspect.files import check_suffix
from xlascope.inspect.inspection_scope import inspection
from xlascope.inspect.restored_objects import attributes_restored
from xlascope.records.plain import plain, plain_lines

from .cell_titles import cell_number
from .expressions import NAMING_FUNCTION, as_call, computes, find_named_values, name_expression
from .last_call import last_call

_FUNCTION_NAME, _CALL_NAME = "__xlascope_question__", "__xlascope_call__"
_VALUE_PATTERN = r"(\"[^\"]*\"|'[^']*'|\S+)"


@dataclass(frozen=True)
class Grammar:
    """Options and calls that the line of a magic accepts.

    ``flags`` are the names of options without a value, ``values`` are options with a value, as pairs of a name and a
    placeholder. ``calls`` is the number of calls, and ``example`` follows the magic's name in error messages.
    """

    magic: str
    flags: tuple[str, ...] = ("text", "json")
    values: tuple[tuple[str, str], ...] = (("save", "FILE"),)
    calls: int = 1
    example: str = "loss(params, x, y)"

    @property
    def options_text(self) -> str:
        """Return the options as prose: ``--text, --json and --save FILE``."""
        options = [*(f"--{name}" for name in self.flags), *(f"--{name} {metavar}" for name, metavar in self.values)]
        return f"{', '.join(options[:-1])} and {options[-1]}"

    def option_pattern(self, end: str) -> str:
        """Return a regular expression that matches one option followed by ``end``, itself a regular expression.

        Its groups are the flag, or the name and the value of another option.
        """
        values = "|".join(name for name, _ in self.values)
        return rf"--(?:({'|'.join(self.flags)})|({values})[\s=]+{_VALUE_PATTERN})(?:{end})"

    def usage_error(self, complaint: str) -> UsageError:
        """Return the error for an invalid line, with an example; ``complaint`` follows the magic's name."""
        return UsageError(f"%{self.magic} {complaint}. Example: %{self.magic} {self.example}")


@dataclass(frozen=True)
class Question:
    """Parsed line of a magic: the source of its calls, and its options by name (``True`` for those without a value).

    The option ``implied`` says that the line names no call: it is the last one of a cell.
    """

    expression: str
    options: dict[str, Any] = field(default_factory=dict)


def parse(line: str, grammar: Grammar, shell: InteractiveShell, before: str = "") -> Question:
    """Parse ``[--text] [--json] [--save FILE] f(x)``, options first or last; raise UsageError for anything else.

    If the grammar takes one call and the line has none, use the last call of a jitted function in a cell, and print the
    line with it. ``before`` is what stands before ``line`` there.
    """
    expression, options = parse_options(line, grammar)
    if expression.endswith(";"):  # as in any cell: a semicolon suppresses the output
        expression, options["quiet"] = expression.rstrip("; "), True
    if not expression and grammar.calls == 1 and (expression := last_call(shell)) and "json" not in options:
        print(" ".join([f"%{grammar.magic}", *before.split(), *line.split(), expression]))
        options["implied"] = True
    _check_calls(expression, grammar, shell.user_ns)
    return Question(expression, options)


def parse_options(line: str, grammar: Grammar) -> tuple[str, dict[str, Any]]:
    """Return a line without its options, which are first or last, and the options by name.

    Raises UsageError for an option that the grammar has not, and for a file whose suffix is not known.
    """
    options: dict[str, Any] = {}
    expression = line.strip()
    while expression.startswith("--"):
        match = re.match(grammar.option_pattern(r"\s+|$"), expression)
        if match is None:
            raise grammar.usage_error(
                f"has no option {plain(expression.split()[0], 40)}; it has {grammar.options_text}"
            )
        expression = _consume_option(match, options, expression)
    while match := re.search(r"\s" + grammar.option_pattern(r"\s*$"), expression):
        expression = _consume_option(match, options, expression)
    if "save" in options:
        try:
            check_suffix(options["save"])
        except ValueError as error:
            raise grammar.usage_error(str(error)) from None
    return expression, options


def ask(
    question: Question, function: Callable[..., Inspection], shell: InteractiveShell, grammar: Grammar
) -> Inspection | None:
    """Answer a question; return the inspection to display, or None if options say to print it or not to show it.

    ``function`` is called with the function and the arguments of the question's call, and returns the answer.
    """
    try:
        inspection = evaluate(question.expression, function, shell)
    except QuestionError as error:
        raise UsageError(f"%{grammar.magic}: {error}") from None
    return apply_output_options(inspection, question, grammar)


def apply_output_options(inspection: Inspection, question: Question, grammar: Grammar) -> Inspection | None:
    """Save or print an inspection as the options request; return it if it is to be displayed, None otherwise.

    Raises a usage error if the file cannot be written.
    """
    file = question.options.get("save")
    if file is not None:
        try:
            inspection.save(os.path.expanduser(file))
        except OSError as error:
            raise grammar.usage_error(f"cannot write {file}: {error.strerror or error}") from None
        except ValueError as error:
            reason = str(error).removeprefix(f"cannot write {os.path.expanduser(file)}: ")
            raise grammar.usage_error(f"cannot write {file}: {reason}") from None
    if "json" in question.options:
        print(json.dumps(inspection.to_json()))
    if "text" in question.options:
        print(plain_lines(inspection.text))
    return None if {"json", "text", "quiet"} & question.options.keys() else inspection


def call_labels(expression: str) -> tuple[str, ...]:
    """Return the source text of each call or operation of an expression.

    >>> call_labels("f(x), jit(g)(x, y)")
    ('f(x)', 'jit(g)(x, y)')
    """
    sources = (ast.get_source_segment(expression, item) or ast.unparse(item) for item in _parse_calls(expression))
    return tuple(plain(" ".join(item.split()), 60) for item in sources)


def _consume_option(match: re.Match[str], options: dict[str, Any], expression: str) -> str:
    """Store the matched option in ``options``, and return the expression without it.

    ``match`` is one of :meth:`Grammar.option_pattern` in ``expression``.
    """
    flag, name, value = match.groups()
    options[flag or name] = value.strip("\"'") if name else True
    return (expression[: match.start()] + expression[match.end() :]).strip()


def _parse_calls(expression: str) -> list[ast.expr]:
    """Return the expressions of a line that compute something, between commas; none if one of them does not."""
    try:
        parsed = ast.parse(expression, mode="eval").body
        listed = ast.parse(f"[{expression}\n]", mode="eval").body
    except (SyntaxError, ValueError):
        return []
    is_listed = isinstance(listed, ast.List) and len(listed.elts) > 1  # a tuple in parentheses is one expression
    nodes = parsed.elts if isinstance(parsed, ast.Tuple) and is_listed else [parsed]
    return nodes if all(map(computes, nodes)) else []


def _check_calls(expression: str, grammar: Grammar, names: Mapping[str, Any]) -> None:
    calls = _parse_calls(expression)
    if len(calls) == grammar.calls:
        return
    received = f"got {plain(expression, 60)!r}" if expression else "got nothing"
    hint = _explain_no_call(expression, calls, names)
    if grammar.calls == 1:
        raise grammar.usage_error(f"takes one call of a function, {received}{hint}")
    raise grammar.usage_error(f"takes two calls of functions with a comma between them, {received}{hint}")


def _explain_no_call(expression: str, calls: Sequence[ast.expr], names: Mapping[str, Any]) -> str:
    """Return in parentheses what to write instead of an expression that is not one call, ``""`` if that is unclear."""
    if len(calls) > 1:
        return " (%diff compares two; in parentheses they are asked about as one)"
    try:
        (statement,) = ast.parse(expression).body
    except SyntaxError as error:
        return f" ({error.msg})" if expression else ""
    except ValueError:  # several statements, or none
        return ""
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        return " (without the assignment)"
    value = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(value, ast.Lambda):
        return " (call it: (lambda …)(x))"
    if isinstance(value, ast.Name) and callable(names.get(value.id)):
        return f" (call it: {value.id}(…))"
    return ""


def evaluate(expression: str, function: Callable[..., Inspection], shell: InteractiveShell) -> Inspection:
    """Evaluate ``f(x)`` as ``function(f, x)``, and ``f(x), g(y)`` as ``function(call(f, x), call(g, y))``.

    An operation like ``x @ w`` is a call of a function of its arrays. The traced call is attributed to the user's line,
    and its arguments are evaluated once, as part of the inspection: no strip shows what they compute.
    """
    tree = ast.parse(expression, mode="eval")
    nodes = _parse_calls(expression)
    if len(nodes) == 1:
        tree.body = _as_argument_of(as_call(tree.body, shell.user_ns), _FUNCTION_NAME)
    else:
        calls = [_as_argument_of(as_call(node, shell.user_ns), _CALL_NAME) for node in nodes]
        name = ast.copy_location(ast.Name(_FUNCTION_NAME, ast.Load()), tree.body)
        tree.body = ast.copy_location(ast.Call(name, list[ast.expr](calls), []), tree.body)
    file = shell.compile.cache(expression, cell_number(shell))
    functions = {_FUNCTION_NAME: function, _CALL_NAME: call, NAMING_FUNCTION: name_expression}
    named_values = find_named_values(ast.parse(expression, mode="eval").body, shell.user_ns)
    with inspection(), attributes_restored(named_values):
        result = eval(compile(tree, file, "eval"), shell.user_ns, functions)
    assert isinstance(result, Inspection)
    return result


def _as_argument_of(call_node: ast.Call, name: str) -> ast.Call:
    """Return the syntax tree of a call ``f(x)`` rewritten to ``name(f, x)``."""
    function = ast.copy_location(ast.Name(name, ast.Load()), call_node.func)
    return ast.copy_location(ast.Call(function, [call_node.func, *call_node.args], call_node.keywords), call_node)
