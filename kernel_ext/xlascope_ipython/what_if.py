"""``%whatif``: change one thing about a call and compare the result."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import no_var_expand

from xlascope import inspect
from xlascope.inspect import ChangeError, Inspection
from xlascope.xla.targets import MissingTargetError, TargetCompileError, UnknownTargetError

from .magic_line import Grammar, ask, parse

_CHANGES = {
    "split": "PATH,PATH",
    "dtype": "DTYPE",
    "precision": "PRECISION",
    "donate": "ARGUMENT",
    "batch": "NAME=SIZE",
    "keep": "auto|off",
    "reroll": "auto|always|off",
    "options": "FLAG=VALUE",
}
#: Examples of each change with what they change, for a line that names none.
_OFFERS = {
    "--dtype bfloat16": "all floating-point arguments in another type",
    "--precision highest": "the precision of matrix products",
    "--donate 0": "the memory of argument 0 reused for results",
    "--batch 0=64": "the leading axis of argument 0",
    "--keep off": "nothing kept that XLA would compute again",
    "--reroll always": "all repeats compiled once, as loops",
    "--split 3,5": "a barrier between two equations, by their paths in %explore",
    "--options xla_flag=value": "an option of the compiler",
}
_USER_ERRORS = (ChangeError, MissingTargetError, TargetCompileError, UnknownTargetError)
_GRAMMAR = Grammar(
    "whatif",
    flags=("untimed", "text", "json"),
    values=(*_CHANGES.items(), ("target", "NAME"), ("save", "FILE")),
    example="--split 3,5 loss(params, x, y)",
)


def make_what_if_magic(shell: InteractiveShell) -> Callable[[str], Inspection | None]:
    """Return the function of the line magic ``%whatif``."""

    @no_var_expand
    def whatif(line: str) -> Inspection | None:
        """%whatif CHANGE [--target NAME] [--untimed] [--text] [--json] [--save FILE] f(x): a call, one thing changed.

        CHANGE is one of ``--split 3,5`` (a barrier between two equations, by their paths), ``--dtype bfloat16`` (of all
        floating-point arguments), ``--precision highest`` (of matrix products), ``--donate 0`` (an argument's memory),
        ``--batch x=64,y=64`` (leading axes), ``--keep off`` (what is kept that XLA would compute again),
        ``--reroll always`` (which repeats are compiled once, as loops), ``--options xla_flag=value``. Both are compiled
        and run by turns, for about half a second; ``--untimed`` runs neither, ``--target gpu:h100`` compiles both for
        that, and runs neither.
        Without a change it lists what can be changed about the call.
        From a script: ``xlascope.inspect.what_if(f, x, change={"split": ("3", "5")})``.
        """
        question = parse(line, _GRAMMAR, shell)
        requested = [name for name in _CHANGES if name in question.options]
        if not requested:
            print("\n".join(_offer_lines("" if "implied" in question.options else question.expression)))
            return None
        if len(requested) != 1:
            options_text = ", ".join(f"--{name} {value}" for name, value in _CHANGES.items())
            raise _GRAMMAR.usage_error(f"takes one change out of {options_text}; got {len(requested)}")
        change = {requested[0]: _parse_change_value(requested[0], question.options[requested[0]])}

        def answer(fun: Any, /, *args: Any, **kwargs: Any) -> Inspection:
            call = inspect.call(fun, *args, **kwargs)
            timed, target = "untimed" not in question.options, question.options.get("target", "")
            try:
                return inspect.what_if(call, change=change, timings=timed, target=target)
            except _USER_ERRORS as error:
                raise _GRAMMAR.usage_error(f"cannot tell: {error}") from None

        return ask(question, answer, shell, _GRAMMAR)

    return whatif


def _offer_lines(expression: str) -> list[str]:
    """Return what can be changed about a call, as lines that can be run; ``""`` is the last call of a cell."""
    usages = {f"%whatif {option} {expression}".strip(): description for option, description in _OFFERS.items()}
    width = min(max(map(len, usages)), 80)
    return [
        "What can be changed, and compared with the call as it is:",
        *(f"  {usage:<{width}}  {description}" for usage, description in usages.items()),
    ]


def _parse_change_value(kind: str, text: str) -> Any:
    """Convert the text of an option to the value of a change that :func:`xlascope.inspect.what_if` takes.

    ``kind`` is the option's name, which is the kind of the change. Raises a usage error for malformed text.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if kind == "split":
        return tuple(parts)
    if kind == "donate":
        return tuple(_parse_name_or_position(part) for part in parts)
    if kind == "batch":
        return {_parse_name_or_position(name): _parse_number(size) for name, size in map(_split_pair, parts)}
    if kind == "options":
        return {name: _parse_literal(value) for name, value in map(_split_pair, parts)}
    return text


def _split_pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise _GRAMMAR.usage_error(f"takes pairs as in x=64, got {text!r}")
    return name, value


def _parse_number(text: str) -> int:
    if not text.isdecimal():
        raise _GRAMMAR.usage_error(f"takes a whole number, got {text!r}")
    return int(text)


def _parse_name_or_position(name: str) -> str | int:
    return int(name) if name.isdecimal() else name


def _parse_literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return {"true": True, "false": False}.get(text.lower(), text)
