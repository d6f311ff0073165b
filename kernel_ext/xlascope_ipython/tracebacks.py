"""Short tracebacks in cells, also for functions that do not filter their own, such as those of xlascope.numpy."""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType
from typing import Any

import IPython
from IPython.core.interactiveshell import InteractiveShell

_PACKAGE_DIR = str(Path(__file__).resolve().parent)
_IPYTHON_DIR = str(Path(IPython.__file__).resolve().parent)


class TracebackFilter:
    """Exception handler of a shell that removes the engine's frames, as the setting ``traceback_filtering`` says.

    A shell has one such handler: an existing one is left in place.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._handled_exceptions = (Exception, KeyboardInterrupt)
        if not shell.custom_exceptions:
            shell.set_custom_exc(self._handled_exceptions, _show_filtered)

    def unload(self) -> None:
        """Remove the handler, unless another one has replaced it."""
        if self._shell.custom_exceptions is self._handled_exceptions:
            self._shell.set_custom_exc((), None)


def _show_filtered(
    shell: InteractiveShell, kind: Any, error: BaseException, traceback: Any, tb_offset: int | None = None
) -> None:
    if traceback.tb_frame.f_code is not InteractiveShell.run_code.__code__:
        _show_uncompiled(shell, kind)
        return
    filtering = sys.modules.get(
        "xlascope.trace.traceback_filtering"
    )  # it comes with the engine, whose frames these are
    if filtering is not None:
        filtering.filter_traceback(error, (_PACKAGE_DIR,))
    if isinstance(error, SyntaxError):  # IPython hides its own frames in all other tracebacks
        error.__traceback__ = _strip_frames(error.__traceback__, _IPYTHON_DIR)
    shell.showtraceback((kind, error, error.__traceback__), tb_offset=tb_offset, running_compiled_code=True)


def _show_uncompiled(shell: InteractiveShell, kind: Any) -> None:
    """Show why a cell cannot be compiled as IPython does: it has not run, so there is no stack to show."""
    if issubclass(kind, IndentationError):
        shell.showindentationerror()
    else:
        shell.showsyntaxerror()


def _strip_frames(traceback: TracebackType | None, folder: str) -> TracebackType | None:
    """Return a traceback without the frames of the files in a folder."""
    if traceback is None:
        return None
    inner = _strip_frames(traceback.tb_next, folder)
    if traceback.tb_frame.f_code.co_filename.startswith(folder):
        return inner
    return TracebackType(inner, traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno)
