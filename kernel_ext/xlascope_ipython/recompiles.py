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


def make_recompiles_magic(scope: Scope) -> Callable[[str], inspect.Inspection | None]:
    """Return the function of the line magic ``%recompiles``.

    ``scope`` tells whether cells are watched now; if they are not, the magic says that nothing new is recorded.
    """

    @no_var_expand
    def recompiles(line: str) -> inspect.Inspection | None:
        """%recompiles [--text] [--json] [--save FILE] [NAME]: which functions were traced again, and why.

        Of every function since the extension was loaded, or of the one of this name: where it was called, what
        differed from an earlier call, the seconds lost with tracing, lowering and compiling it again, and what would
        spare that. ``--text`` prints text, ``--json`` the records, ``--save FILE`` writes them (``.json``, ``.txt``).
        The same from a script: ``xlascope.inspect.watch_recompiles()`` and later ``xlascope.inspect.recompiles()``.
        """
        options, name = _parse_line(line)
        try:
            report = inspect.recompiles(name)
        except RuntimeError:
            raise UsageError("%recompiles knows nothing yet: `%scope on` watches from the next cell on") from None
        if "save" in options:
            _save_report(report, options["save"])
        if "json" in options:
            print(json.dumps(report.to_json()))
        if "text" in options:
            print(report.text)
        if not scope.is_on and "json" not in options:
            print("(%scope is off: nothing new is remembered)")
        return None if {"text", "json"} & options.keys() else report

    return recompiles


def _parse_line(line: str) -> tuple[dict[str, str], str | None]:
    """Return the options on the magic's line, and the function's name or None.

    The options are ``text``, ``json`` and ``save``, the last one with the file as value. Raises UsageError for other
    lines.
    """
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


def _save_report(report: inspect.Inspection, file: str) -> None:
    try:
        report.save(file)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"%recompiles cannot write {file}: {reason}. Example: %recompiles --save why.json") from None
