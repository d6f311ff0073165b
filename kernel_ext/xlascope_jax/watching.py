"""Attaching the bridge to jax: from the import of jax until the last caller of `install` has undone it."""

from __future__ import annotations

import importlib
import logging
import sys
import threading
from collections.abc import Callable

from xlascope.runtime import jax_coexistence, supported_jaxlibs

_log = logging.getLogger(__name__)

#: The versions of jax the bridge is tested with. In others, private functions may have moved.
TRIED = tuple(release.version for release in supported_jaxlibs.TESTED)

_lock = threading.RLock()
_watcher_count = 0
_import_hook_registered = False
_detach_bridge: Callable[[], None] | None = None


def install() -> Callable[[], None]:
    """Watch jax's programs in this process as soon as jax is imported; return a function that undoes it.

    Installations are counted: watching lasts until all have been undone. Undoing twice has no further effect.
    """
    global _watcher_count, _import_hook_registered
    with _lock:
        _watcher_count += 1
        if "jax" in sys.modules and jax_coexistence.is_present():
            _attach()
        elif not _import_hook_registered:
            _import_hook_registered = True
            jax_coexistence.on_import("jax", _attach)
    undone = False

    def undo() -> None:
        global _watcher_count
        nonlocal undone
        with _lock:
            if not undone:
                undone = True
                _watcher_count -= 1
                if not _watcher_count:
                    _detach()

    return undo


def _attach() -> None:
    """Attach the bridge to the imported jax; if that fails, log one line and let the program go on."""
    global _detach_bridge
    with _lock:
        if not _watcher_count or _detach_bridge is not None:
            return
        version = sys.modules["jax"].__version__
        if version in TRIED:
            try:
                _detach_bridge = importlib.import_module("xlascope_jax.bridge.attach").attach()
                return
            except Exception:
                _log.exception("xlascope cannot stand in the places of jax %s", version)
        tried = ", ".join(TRIED)
        _log.warning("xlascope shows kernels and times of jax %s, not its equations: it knows jax %s", version, tried)
        _detach_bridge = importlib.import_module("xlascope_jax.bridge.kernels_only").attach()


def _detach() -> None:
    global _detach_bridge
    if _detach_bridge is not None:
        _detach_bridge()
        _detach_bridge = None
