"""``%target``, and ``--target`` of other magics: a call asked about for hardware that is not here."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import no_var_expand

from xlascope import inspect
from xlascope.inspect import Inspection, known_targets
from xlascope.xla.targets import MissingTargetError, TargetCompileError, UnknownTargetError, missing_targets

from .question import Grammar, ask, parse

_NAME = re.compile(r"([A-Za-z]\w*(?::\w+)*),?(?:\s+|$)")
_COMPLAINTS = (MissingTargetError, TargetCompileError, UnknownTargetError)
_GRAMMAR = Grammar("target", example="gpu:h100 loss(params, x, y)")


def asked_for(names: list[str], grammar: Grammar) -> Callable[..., Inspection]:
    """The function that answers for these targets: one in detail, several side by side; its errors are one line."""
    example = grammar.example if grammar is _GRAMMAR else f"--target gpu:h100 {grammar.example}"

    def answer(fun: Any, /, *args: Any, **kwargs: Any) -> Inspection:
        call = inspect.call(fun, *args, **kwargs)
        try:
            return inspect.target(call, target=names[0]) if len(names) == 1 else inspect.targets(call, targets=names)
        except _COMPLAINTS as error:
            raise UsageError(f"%{grammar.magic}: {error}. Example: %{grammar.magic} {example}") from None

    return answer


def target_magic(shell: InteractiveShell) -> Callable[[str], Inspection | None]:
    """``%target``, for a shell."""

    @no_var_expand
    def target(line: str) -> Inspection | None:
        """%target NAME [NAME…] [--text] [--json] [--save FILE] f(x): what a call becomes on hardware that is not here.

        It is compiled by the target's own compiler, not run: times are estimates, and say whose. One target is shown
        kernel by kernel, several side by side. ``%target`` alone lists the targets. Needs their compilers:
        python -m xlascope targets --install. From a script: ``xlascope.inspect.target(f, x, target="gpu:h100")``.
        """
        if not line.strip():
            print(_listed())
            return None
        names, rest = _names(line.strip())
        if not names:
            raise _GRAMMAR.error(f"takes a target and a call; the targets are {', '.join(known_targets())}")
        return ask(parse(rest, _GRAMMAR, shell), asked_for(names, _GRAMMAR), shell, _GRAMMAR)

    return target


def _listed() -> str:
    """The targets: those whose compilers are here, and what is to be installed for the others."""
    missing = missing_targets()
    lines = [f"compilers that are here: {', '.join(each for each in known_targets() if each not in missing)}"]
    for line in dict.fromkeys(missing.values()):
        lines.append(f"not here: {', '.join(name for name in missing if missing[name] == line)}: {line}")
    return "\n".join(lines)


def _names(line: str) -> tuple[list[str], str]:
    """The names of targets before the call (commas between them may be left out), and the line without them."""
    options = ""
    while match := re.match(_GRAMMAR.option(r"\s+"), line):
        options, line = options + match[0], line[match.end() :]
    names = []
    while (match := _NAME.match(line)) and not line[match.end() :].startswith(("(", ".", "[")):
        names.append(match[1])
        line = line[match.end() :]
    return names, options + line
