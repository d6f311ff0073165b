"""``%watch_values step``: the values of a training step in the cells that follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import no_var_expand

from xlascope import inspect

from .magic_line import Grammar, Question, apply_output_options, parse_options

_GRAMMAR = Grammar("watch_values", values=(("save", "FILE"), ("every", "N")), calls=0, example="step")


def make_watch_values_magic(shell: InteractiveShell) -> Callable[[str], inspect.Inspection | None]:
    """Return the function of the line magic ``%watch_values``."""
    running: list[inspect.watch_values] = []

    @no_var_expand
    def watch_values(line: str) -> inspect.Inspection | None:
        """%watch_values step [--every N] · %watch_values off · %watch_values [--text] [--json] [--save FILE]: now.

        From now on the loss of each call of the jitted function ``step`` is recorded, and now and then the norms of
        its gradients and the zeros of its relus: at each N-th call, or as often as takes 5 % of the loop's time. Charts
        are in the panel of the cell that calls it. ``off`` ends that; without a name the history so far is shown.
        The same from a script: ``with xlascope.watch_values(step) as watched:``.
        """
        name, options = parse_options(line, _GRAMMAR)
        if name == "off" or (name and running):
            _stop(running)
        if name == "off":
            return None
        if name:
            running.append(_start(_find_function(name, shell), options))
            return None
        if not running:
            raise _GRAMMAR.usage_error("watches nothing yet: name a jitted function")
        return apply_output_options(running[-1].as_inspection(), Question("", options), _GRAMMAR)

    return watch_values


def _start(step: Any, options: dict[str, Any]) -> inspect.watch_values:
    every = options.get("every")
    try:
        watched = inspect.watch_values(step, every=None if every is None else int(every))
    except (TypeError, ValueError) as error:
        raise _GRAMMAR.usage_error(f"cannot watch this: {error}") from None
    return watched.__enter__()


def _stop(running: list[inspect.watch_values]) -> None:
    while running:
        running.pop().__exit__()


def _find_function(name: str, shell: InteractiveShell) -> Any:
    """Return the value of a name, or of a dotted one; raise UsageError if there is none."""
    first, *attributes = name.split(".")
    if first not in shell.user_ns:
        raise UsageError(f"%watch_values knows no {first[:40]!r}. Example: %watch_values step")
    value = shell.user_ns[first]
    for attribute in attributes:
        value = getattr(value, attribute, None)
    return value
