"""A plugin's first start on a machine, tried in a process of its own: one that crashes or hangs takes only that along.

A good start is kept beside the compilation cache, for this plugin, driver and start of the machine, and so is a crash:
the trial costs what starting the plugin costs, a second for a GPU and up to half a minute for a TPU. Other reasons may
be gone the next time (another process had the TPU, the machine was busy) and are not kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from jaxlib import version

from ...runtime import cache_settings as settings
from ..system.own_files import ForeignFileError, own_folder, user_folder
from . import hardware
from .plugins import Plugin

_STARTER = Path(__file__).with_name("starter.py")
#: Seconds that a plugin may take to start.
LIMIT = 90.0
#: The last words of a plugin that came to grief.
_TAIL = 400


class _Trial(NamedTuple):
    """Why a plugin did not start, None where it did, and whether that holds until something changes."""

    refusal: str | None
    lasts: bool


def refusal(plugin: Plugin, *, anew: bool = False, limit: float = LIMIT) -> str | None:
    """Why a plugin does not start here; None where it does. ``anew``: a crash that is kept does not count."""
    name = _name(plugin)
    kept = _read(name)
    if kept is not None and not (anew and kept):
        return kept or None
    found = _tried(plugin, limit)
    if found.lasts:
        _keep(name, found.refusal or "")
    return found.refusal


def _tried(plugin: Plugin, limit: float) -> _Trial:
    command = [sys.executable, "-P", str(_STARTER), plugin.own_name, str(plugin.library)]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=limit, check=False, stdin=subprocess.DEVNULL, env=_environment()
        )
    except subprocess.TimeoutExpired:
        return _Trial(f"it did not start within {limit:g} s", lasts=False)
    if done.returncode == 0:
        return _Trial(None, lasts=True)
    said = done.stdout.decode(errors="replace").strip()
    if said:
        return _Trial(said, lasts=False)
    ended = f"signal {-done.returncode}" if done.returncode < 0 else f"exit status {done.returncode}"
    words = " ".join(done.stderr.decode(errors="replace").split())[-_TAIL:]
    more = f", saying: {words}" if words else ""
    return _Trial(f"it ended the process that tried it ({ended}){more}", lasts=done.returncode < 0)


def _environment() -> dict[str, str]:
    """The child finds jaxlib where this process did, whatever folders were added to the path since."""
    folders = (str(Path(version.__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", ""))
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, folders))}


def _name(plugin: Plugin) -> str:
    try:
        written = plugin.library.stat().st_mtime_ns
    except OSError:
        written = 0
    facts = [*map(str, plugin), str(written), version.__version__, hardware.nvidia_driver() or "", hardware.boot()]
    facts += [os.environ.get(name, "") for name in ("CUDA_VISIBLE_DEVICES", "TPU_VISIBLE_CHIPS", "LD_LIBRARY_PATH")]
    return f"{plugin.platform}-{hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]}.json"


def _folder() -> str | None:
    programs = None if settings.enable_compilation_cache.value is False else user_folder()
    return None if programs is None else os.path.join(os.path.dirname(programs), "plugins")


def _read(name: str) -> str | None:
    """What is kept, ``""`` for a start that went well; None where nothing is."""
    folder = _folder()
    if folder is None:
        return None
    try:
        with own_folder(folder, make=False) as opened:
            found = json.loads(opened.read(name))
    except (OSError, ForeignFileError, ValueError):
        return None
    return found if isinstance(found, str) else None


def _keep(name: str, refused: str) -> None:
    folder = _folder()
    if folder is None:
        return
    try:
        with own_folder(folder, make=True) as opened:
            opened.write(name, json.dumps(refused).encode(), ".part")
    except (OSError, ForeignFileError):
        return  # it is tried again the next time
