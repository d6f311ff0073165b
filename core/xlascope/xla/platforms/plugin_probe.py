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
from ..system.private_files import ForeignFileError, default_cache_folder, open_private_folder
from . import hardware_detection
from .plugin_discovery import Plugin

_STARTER_SCRIPT = Path(__file__).with_name("starter.py")
#: A plugin may take this long to start.
PROBE_TIMEOUT_SECONDS = 90.0
#: At most this much of a failed plugin's output is reported.
_MAX_OUTPUT_CHARACTERS = 400


class _ProbeResult(NamedTuple):
    """Reason why a plugin did not start (None: it did), and whether the result holds until the next boot.

    Only such results are stored.
    """

    refusal: str | None
    is_permanent: bool


def probe_plugin(plugin: Plugin, *, force_probe: bool = False, timeout: float = PROBE_TIMEOUT_SECONDS) -> str | None:
    """Return why a plugin does not start on this machine; None if it does.

    A stored result is used if there is one, except for a stored crash with ``force_probe``. Else the plugin is started
    in a separate process, for at most ``timeout`` seconds.
    """
    name = _result_file_name(plugin)
    stored = _read_result(name)
    if stored is not None and not (force_probe and stored):
        return stored or None
    result = _run_probe(plugin, timeout)
    if result.is_permanent:
        _store_result(name, result.refusal or "")
    return result.refusal


def _run_probe(plugin: Plugin, timeout: float) -> _ProbeResult:
    """Start a plugin in a separate process, for at most ``timeout`` seconds, and return the result."""
    command = [sys.executable, "-P", str(_STARTER_SCRIPT), plugin.pjrt_name, str(plugin.library)]
    try:
        process = subprocess.run(
            command,
            capture_output=True,
            timeout=timeout,
            check=False,
            stdin=subprocess.DEVNULL,
            env=_child_environment(),
        )
    except subprocess.TimeoutExpired:
        return _ProbeResult(f"it did not start within {timeout:g} s", is_permanent=False)
    if process.returncode == 0:
        return _ProbeResult(None, is_permanent=True)
    reason = process.stdout.decode(errors="replace").strip()
    if reason:
        return _ProbeResult(reason, is_permanent=False)
    status = f"signal {-process.returncode}" if process.returncode < 0 else f"exit status {process.returncode}"
    output = " ".join(process.stderr.decode(errors="replace").split())[-_MAX_OUTPUT_CHARACTERS:]
    suffix = f", saying: {output}" if output else ""
    return _ProbeResult(f"it ended the process that tried it ({status}){suffix}", is_permanent=process.returncode < 0)


def _child_environment() -> dict[str, str]:
    """Return the environment for the separate process, which finds jaxlib where this process did.

    XLA's log is left out, unless the user wants it: what the plugin says last is the reason that is shown.
    """
    folders = (str(Path(version.__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", ""))
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3"}
    return quiet | os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, folders))}


def _result_file_name(plugin: Plugin) -> str:
    """Return the name of the file that stores the result of probing a plugin: whether it starts here.

    The name contains a hash of all that the result depends on: the plugin and its library's date, jaxlib, driver, boot,
    visible devices and library path. It is thus another one after any of these has changed.
    """
    try:
        modified = plugin.library.stat().st_mtime_ns
    except OSError:
        modified = 0
    facts = [
        *map(str, plugin),
        str(modified),
        version.__version__,
        hardware_detection.nvidia_driver() or "",
        hardware_detection.read_boot_id(),
    ]
    facts += [os.environ.get(name, "") for name in ("CUDA_VISIBLE_DEVICES", "TPU_VISIBLE_CHIPS", "LD_LIBRARY_PATH")]
    return f"{plugin.platform}-{hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]}.json"


def _results_folder() -> str | None:
    programs = None if settings.enable_compilation_cache.value is False else default_cache_folder()
    return None if programs is None else os.path.join(os.path.dirname(programs), "plugins")


def _read_result(name: str) -> str | None:
    """Return the stored reason for a failure, ``""`` for a successful start; None if nothing is stored."""
    folder = _results_folder()
    if folder is None:
        return None
    try:
        with open_private_folder(folder, make=False) as open_folder:
            stored = json.loads(open_folder.read(name))
    except (OSError, ForeignFileError, ValueError):
        return None
    return stored if isinstance(stored, str) else None


def _store_result(name: str, reason: str) -> None:
    folder = _results_folder()
    if folder is None:
        return
    try:
        with open_private_folder(folder, make=True) as open_folder:
            open_folder.write(name, json.dumps(reason).encode(), ".part")
    except (OSError, ForeignFileError):
        return  # it is probed again the next time
