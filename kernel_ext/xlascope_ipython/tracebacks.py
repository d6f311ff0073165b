"""Short tracebacks in cells: also of functions that have no boundary of their own, such as those of xlascope.numpy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

_HERE = str(Path(__file__).resolve().parent)


class Tracebacks:
    """Takes the engine's frames from the tracebacks that a shell shows, as the setting ``traceback_filtering`` says.

    A shell has room for one such handler: where somebody else has put one, it stays.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._caught = (Exception,)
        if not shell.custom_exceptions:
            shell.set_custom_exc(self._caught, _show)

    def unload(self) -> None:
        """Leave the shell as it was, unless somebody else has taken the place since."""
        if self._shell.custom_exceptions is self._caught:
            self._shell.set_custom_exc((), None)


def _show(
    shell: InteractiveShell, kind: Any, error: BaseException, traceback: Any, tb_offset: int | None = None
) -> None:
    filtering = sys.modules.get(
        "xlascope.trace.traceback_filtering"
    )  # it comes with the engine, whose frames these are
    if filtering is not None:
        filtering.filter_traceback(error, (_HERE,))
    shell.showtraceback((kind, error, error.__traceback__), tb_offset=tb_offset, running_compiled_code=True)
