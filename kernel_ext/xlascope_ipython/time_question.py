"""``%scope time``: where the time of the cell before went."""

from __future__ import annotations

from IPython.core.error import UsageError

from xlascope import inspect
from xlascope.analysis.time_account_text import time_account_text

from .magic_line import Grammar, Question, apply_output_options, parse_options
from .scope import Scope

_GRAMMAR = Grammar("scope time", calls=0, example="--json")


def show_time(scope: Scope, options: str) -> inspect.Inspection | None:
    """Return the account of the time of the last watched cell, or None where the options say to print it.

    ``options`` are ``--text``, ``--json`` and ``--save FILE``. Raises UsageError without such a cell.
    """
    rest, values = parse_options(options, _GRAMMAR)
    if rest:
        raise _GRAMMAR.usage_error(f"takes {_GRAMMAR.options_text}, got {rest[:40]!r}")
    if scope.cell is not None:
        scope.cell.is_question = True
    if scope.time_account is None:
        raise UsageError("%scope time knows no cell yet: `%scope on` watches from the next cell on")
    note = "" if scope.is_on else "\n%scope is off: later cells were not watched"
    account = inspect.Inspection("time", [scope.time_account], time_account_text(scope.time_account) + note)
    return apply_output_options(account, Question("", values), _GRAMMAR)
