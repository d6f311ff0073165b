"""When jax is watched: from when it is imported, by whoever imports it, until the last who asked for it is gone."""

from __future__ import annotations

import importlib
import logging
import sys
import threading
from collections.abc import Callable

from xlascope.runtime import beside, jaxlibs

_log = logging.getLogger(__name__)

#: The versions of jax of which programs were watched. Of others the names of private functions may have moved.
TRIED = tuple(each.version for each in jaxlibs.TRIED)

_lock = threading.RLock()
_wanted = 0
_waiting = False
_leave: Callable[[], None] | None = None


def install() -> Callable[[], None]:
    """Watch jax's programs in this process, as soon as there is jax; returns what undoes that.

    Several may ask: it lasts until all have undone it. Undoing twice is harmless.
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
    """Stand in jax's places, now that it is here. What cannot be watched is said in one line; the program goes on."""
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
        known = ", ".join(TRIED)
        _log.warning("xlascope shows kernels and times of jax %s, not its equations: it knows jax %s", version, known)
        _leave = importlib.import_module("xlascope_jax.bridge.kernels_only").stand()


def _detach() -> None:
    global _leave
    if _leave is not None:
        _leave()
        _leave = None
