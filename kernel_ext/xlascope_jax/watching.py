"""Attaching the bridge to jax: from the import of jax until the last caller of `install` has undone it."""

from __future__ import annotations

import importlib
import logging
import sys
import threading
from collections.abc import Callable

from xlascope.runtime import beside, jaxlibs

_log = logging.getLogger(__name__)

#: The versions of jax the bridge is tested with. In others, private functions may have moved.
TRIED = tuple(release.version for release in jaxlibs.TRIED)

_lock = threading.RLock()
_wanted = 0
_waiting = False
_leave: Callable[[], None] | None = None


def install() -> Callable[[], None]:
    """Watch jax's programs in this process as soon as jax is imported; return a function that undoes it.

    Installations are counted: watching lasts until all have been undone. Undoing twice has no further effect.
    """
    global _wanted, _waiting
    with _lock:
        _wanted += 1
        if "jax" in sys.modules and beside.here():
            _attach()
        elif not _waiting:
            _waiting = True
            beside.on_import("jax", _attach)
    undone = False

    def undo() -> None:
        global _wanted
        nonlocal undone
        with _lock:
            if not undone:
                undone = True
                _wanted -= 1
                if not _wanted:
                    _detach()

    return undo


def _attach() -> None:
    """Attach the bridge to the imported jax; if that fails, log one line and let the program go on."""
    global _leave
    with _lock:
        if not _wanted or _leave is not None:
            return
        version = sys.modules["jax"].__version__
        if version in TRIED:
            try:
                _leave = importlib.import_module("xlascope_jax.bridge.whole").stand()
                return
            except Exception:
                _log.exception("xlascope cannot stand in the places of jax %s", version)
        tried = ", ".join(TRIED)
        _log.warning("xlascope shows kernels and times of jax %s, not its equations: it knows jax %s", version, tried)
        _leave = importlib.import_module("xlascope_jax.bridge.kernels_only").stand()


def _detach() -> None:
    global _leave
    if _leave is not None:
        _leave()
        _leave = None
