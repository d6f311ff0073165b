"""``%target``, and ``--target`` of other magics: questions about a call on hardware that is not present."""

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

from .magic_line import Grammar, ask, parse

_TARGET_NAME = re.compile(r"([A-Za-z]\w*(?::\w+)*),?(?:\s+|$)")
_USER_ERRORS = (MissingTargetError, TargetCompileError, UnknownTargetError)
_GRAMMAR = Grammar("target", example="gpu:h100 loss(params, x, y)")


def make_target_answer(names: list[str], grammar: Grammar) -> Callable[..., Inspection]:
    """Return a function ``answer(f, *args)`` that compiles a call for targets: one in detail, several side by side.

    ``names`` are the targets, ``grammar`` is that of the magic. Errors about targets are raised as UsageError.
    """
    example = grammar.example if grammar is _GRAMMAR else f"--target gpu:h100 {grammar.example}"

    def answer(fun: Any, /, *args: Any, **kwargs: Any) -> Inspection:
        call = inspect.call(fun, *args, **kwargs)
        try:
            return inspect.target(call, target=names[0]) if len(names) == 1 else inspect.targets(call, targets=names)
        except _USER_ERRORS as error:
            raise UsageError(f"%{grammar.magic}: {error}. Example: %{grammar.magic} {example}") from None

    return answer


def make_target_magic(shell: InteractiveShell) -> Callable[[str], Inspection | None]:
    """Return the function of the line magic ``%target``."""

    @no_var_expand
    def target(line: str) -> Inspection | None:
        """%target NAME [NAME…] [--text] [--json] [--save FILE] f(x): what a call becomes on hardware that is not here.

        It is compiled by the target's own compiler, not run: times are estimates, and say whose. One target is shown
        kernel by kernel, several side by side. ``%target`` alone lists the targets. Needs their compilers:
        python -m xlascope targets --install. From a script: ``xlascope.inspect.target(f, x, target="gpu:h100")``.
        """
        if not line.strip():
            print(_list_targets())
            return None
        names, remaining = _split_target_names(line.strip())
        if not names:
            raise _GRAMMAR.usage_error(f"takes a target and a call; the targets are {', '.join(known_targets())}")
        return ask(
            parse(remaining, _GRAMMAR, shell, ", ".join(names)), make_target_answer(names, _GRAMMAR), shell, _GRAMMAR
        )

    return target


def _list_targets() -> str:
    """Return as text the targets whose compilers are installed, and how to install the others."""
    missing = missing_targets()
    lines = [f"compilers that are here: {', '.join(target for target in known_targets() if target not in missing)}"]
    for line in dict.fromkeys(missing.values()):
        lines.append(f"not here: {', '.join(name for name in missing if missing[name] == line)}: {line}")
    return "\n".join(lines)


def _split_target_names(line: str) -> tuple[list[str], str]:
    """Return the target names before the call on a magic's line, and the remaining line; commas are optional."""
    options = ""
    while match := re.match(_GRAMMAR.option_pattern(r"\s+"), line):
        options, line = options + match[0], line[match.end() :]
    names = []
    while (match := _TARGET_NAME.match(line)) and not line[match.end() :].startswith(("(", ".", "[")):
        names.append(match[1])
        line = line[match.end() :]
    return names, options + line
