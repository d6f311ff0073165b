"""Probe of a plugin's first start on a machine in a separate process, which contains a crash or a hang.

A successful start and a crash are stored beside the compilation cache, for this plugin, driver and boot of the
machine: the probe costs what starting the plugin costs, a second for a GPU and up to half a minute for a TPU.
Other reasons may be gone the next time (another process had the TPU, the machine was busy) and are not stored.
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
#: A plugin may take this long to start.
LIMIT = 90.0
#: At most this much of a failed plugin's output is reported.
_TAIL = 400


class _Trial(NamedTuple):
    """Reason why a plugin did not start, None if it did, and whether the result may be stored."""

    refusal: str | None
    lasts: bool


def refusal(plugin: Plugin, *, force_probe: bool = False, timeout: float = LIMIT) -> str | None:
    """Return why a plugin does not start here; None if it does.

    With ``force_probe`` a stored crash is ignored.
    """
    name = _name(plugin)
    stored = _read(name)
    if stored is not None and not (force_probe and stored):
        return stored or None
    result = _tried(plugin, timeout)
    if result.lasts:
        _keep(name, result.refusal or "")
    return result.refusal


def _tried(plugin: Plugin, timeout: float) -> _Trial:
    command = [sys.executable, "-P", str(_STARTER), plugin.own_name, str(plugin.library)]
    try:
        process = subprocess.run(
            command, capture_output=True, timeout=timeout, check=False, stdin=subprocess.DEVNULL, env=_environment()
        )
    except subprocess.TimeoutExpired:
        return _Trial(f"it did not start within {timeout:g} s", lasts=False)
    if process.returncode == 0:
        return _Trial(None, lasts=True)
    reason = process.stdout.decode(errors="replace").strip()
    if reason:
        return _Trial(reason, lasts=False)
    ended = f"signal {-process.returncode}" if process.returncode < 0 else f"exit status {process.returncode}"
    output = " ".join(process.stderr.decode(errors="replace").split())[-_TAIL:]
    suffix = f", saying: {output}" if output else ""
    return _Trial(f"it ended the process that tried it ({ended}){suffix}", lasts=process.returncode < 0)


def _environment() -> dict[str, str]:
    """Return an environment in which the child finds jaxlib where this process did."""
    folders = (str(Path(version.__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", ""))
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, folders))}


def _name(plugin: Plugin) -> str:
    try:
        modified = plugin.library.stat().st_mtime_ns
    except OSError:
        modified = 0
    facts = [*map(str, plugin), str(modified), version.__version__, hardware.nvidia_driver() or "", hardware.boot()]
    facts += [os.environ.get(name, "") for name in ("CUDA_VISIBLE_DEVICES", "TPU_VISIBLE_CHIPS", "LD_LIBRARY_PATH")]
    return f"{plugin.platform}-{hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]}.json"


def _folder() -> str | None:
    programs = None if settings.enable_compilation_cache.value is False else user_folder()
    return None if programs is None else os.path.join(os.path.dirname(programs), "plugins")


def _read(name: str) -> str | None:
    """Return the stored reason, ``""`` for a successful start; None without a stored result."""
    folder = _folder()
    if folder is None:
        return None
    try:
        with own_folder(folder, make=False) as open_folder:
            stored = json.loads(open_folder.read(name))
    except (OSError, ForeignFileError, ValueError):
        return None
    return stored if isinstance(stored, str) else None


def _keep(name: str, reason: str) -> None:
    folder = _folder()
    if folder is None:
        return
    try:
        with own_folder(folder, make=True) as open_folder:
            open_folder.write(name, json.dumps(reason).encode(), ".part")
    except (OSError, ForeignFileError):
        return  # it is probed again the next time
