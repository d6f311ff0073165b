"""Short tracebacks in cells, also for functions that do not filter their own, such as those of xlascope.numpy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

_HERE = str(Path(__file__).resolve().parent)


class Tracebacks:
    """A shell's exception handler that removes the engine's frames, as the setting ``traceback_filtering`` says.

    A shell has one such handler: an existing one is left in place.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._caught = (Exception,)
        if not shell.custom_exceptions:
            shell.set_custom_exc(self._caught, _show)

    def unload(self) -> None:
        """Remove the handler, unless another one has replaced it."""
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
