"""Short tracebacks in cells, also for functions that do not filter their own, such as those of xlascope.numpy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

_PACKAGE_DIR = str(Path(__file__).resolve().parent)


class TracebackFilter:
    """Exception handler of a shell that removes the engine's frames, as the setting ``traceback_filtering`` says.

    A shell has one such handler: an existing one is left in place.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._handled_exceptions = (Exception,)
        if not shell.custom_exceptions:
            shell.set_custom_exc(self._handled_exceptions, _show_filtered)

    def unload(self) -> None:
        """Remove the handler, unless another one has replaced it."""
        if self._shell.custom_exceptions is self._handled_exceptions:
            self._shell.set_custom_exc((), None)


def _show_filtered(
    shell: InteractiveShell, kind: Any, error: BaseException, traceback: Any, tb_offset: int | None = None
) -> None:
    filtering = sys.modules.get(
        "xlascope.trace.traceback_filtering"
    )  # it comes with the engine, whose frames these are
    if filtering is not None:
        filtering.filter_traceback(error, (_PACKAGE_DIR,))
    shell.showtraceback((kind, error, error.__traceback__), tb_offset=tb_offset, running_compiled_code=True)
