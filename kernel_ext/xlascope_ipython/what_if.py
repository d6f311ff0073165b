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
    "donate": "NUMBER",
    "batch": "NAME=SIZE",
    "keep": "auto|off",
    "reroll": "auto|always|off",
    "options": "FLAG=VALUE",
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
        From a script: ``xlascope.inspect.what_if(f, x, change={"split": ("3", "5")})``.
        """
        question = parse(line, _GRAMMAR, shell)
        requested = [name for name in _CHANGES if name in question.options]
        if len(requested) != 1:
            options_text = ", ".join(f"--{name} {value}" for name, value in _CHANGES.items())
            raise _GRAMMAR.usage_error(f"takes one change out of {options_text}; got {len(requested) or 'none'}")
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


def _parse_change_value(kind: str, text: str) -> Any:
    """Convert the text of an option to the value of a change that :func:`xlascope.inspect.what_if` takes.

    ``kind`` is the option's name, which is the kind of the change. Raises a usage error for malformed text.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if kind == "split":
        return tuple(parts)
    if kind == "donate":
        return tuple(_parse_number(part) for part in parts)
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
