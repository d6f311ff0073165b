"""``%recompiles``: which functions were traced again since the extension was loaded, why, and how to avoid it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from IPython.core.error import UsageError
from IPython.core.magic import no_var_expand

from xlascope import inspect

from .scope import Scope

_EXAMPLE = "Example: %recompiles update"
_OPTION = re.compile(r"--(?:(text|json)|save[\s=]+(\"[^\"]*\"|'[^']*'|\S+))(?=\s|$)")


def recompiles_magic(scope: Scope) -> Callable[[str], inspect.Inspection | None]:
    """Return the ``%recompiles`` magic of a shell."""

    @no_var_expand
    def recompiles(line: str) -> inspect.Inspection | None:
        """%recompiles [--text] [--json] [--save FILE] [NAME]: which functions were traced again, and why.

        Of every function since the extension was loaded, or of the one of this name: where it was called, what
        differed from an earlier call, the seconds lost with tracing, lowering and compiling it again, and what would
        spare that. ``--text`` prints text, ``--json`` the records, ``--save FILE`` writes them (``.json``, ``.txt``).
        The same from a script: ``xlascope.inspect.watch_recompiles()`` and later ``xlascope.inspect.recompiles()``.
        """
        options, name = _parse(line)
        try:
            report = inspect.recompiles(name)
        except RuntimeError:
            raise UsageError("%recompiles knows nothing yet: `%scope on` watches from the next cell on") from None
        if "save" in options:
            _save(report, options["save"])
        if "json" in options:
            print(json.dumps(report.to_json()))
        if "text" in options:
            print(report.text)
        if not scope.is_on and "json" not in options:
            print("(%scope is off: nothing new is remembered)")
        return None if {"text", "json"} & options.keys() else report

    return recompiles


def _parse(line: str) -> tuple[dict[str, str], str | None]:
    options: dict[str, str] = {}

    def take(match: re.Match[str]) -> str:
        options[match[1] or "save"] = (match[2] or "").strip("\"'")
        return ""

    words = _OPTION.sub(take, line).split()
    if any(word.startswith("-") for word in words):
        wrong = next(word for word in words if word.startswith("-"))
        raise UsageError(f"%recompiles has no option {wrong[:40]}; it has --text, --json and --save FILE. {_EXAMPLE}")
    if len(words) > 1:
        raise UsageError(f"%recompiles takes the name of one function, or nothing. {_EXAMPLE}")
    return options, words[0] if words else None


def _save(report: inspect.Inspection, file: str) -> None:
    try:
        report.save(file)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"%recompiles cannot write {file}: {reason}. Example: %recompiles --save why.json") from None
