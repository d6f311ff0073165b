"""Self-check of an untested jaxlib: ten calls in a separate process.

They take about a second, once: success is stored in the user's cache folder, for this jaxlib, xlascope and
Python; failure is not. A call that crashes ends only that process.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from . import user_files

#: If set and not 0, any jaxlib is accepted without a check. For developers, and for the self-check's own process.
ALLOW_ANY = "XLASCOPE_ALLOW_ANY_JAXLIB"
_PROGRAM = "xlascope.tools.self_check"
#: Seconds for all calls.
LIMIT = 120.0
#: The kind of fact under which success is stored.
_KIND = "jaxlibs"
#: Without optimizations, to save time.
_QUICKLY = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
_TAIL = 300


def is_allowed() -> bool:
    """Return whether the environment allows any jaxlib."""
    return os.environ.get(ALLOW_ANY, "").strip().lower() not in ("", "0", "false", "no", "off")


def refusal(version: str, jaxlib: Path | None) -> str | None:
    """Return which call fails with a jaxlib, and how; None where all succeed, now or when they were made before.

    ``jaxlib`` is the folder of its module.
    """
    name = _name(version)
    if user_files.read_fact(_KIND, name) == "ok":
        return None
    reason = _made(jaxlib)
    if reason is None:
        user_files.keep_fact(_KIND, name, "ok")
    return reason


def _name(version: str) -> str:
    own_version = _own_version()
    return re.sub(r"[^\w.+-]", "_", f"jaxlib-{version}-xlascope-{own_version}-{sys.implementation.cache_tag}")


def _own_version() -> str:
    try:
        return metadata.version("xlascope")
    except metadata.PackageNotFoundError:  # a checkout that is not installed
        return "unknown"


def _made(jaxlib: Path | None) -> str | None:
    try:
        process = subprocess.run(
            [sys.executable, "-P", "-m", _PROGRAM],
            env=_environment(jaxlib),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired as timeout:
        return f"the self-check's call {_last(timeout.stdout)!r} did not end within {LIMIT:g} s"
    except OSError as error:
        return f"its self-check does not start: {error}"
    if process.returncode == 0:
        return None
    outcome = f"ends the process (signal {-process.returncode})" if process.returncode < 0 else "fails"
    words = " ".join((process.stderr.strip().splitlines() or ["no reason given"])[-1].split())[-_TAIL:]
    return f"the self-check's call {_last(process.stdout)!r} {outcome}: {words}"


def _last(output: str | bytes | None) -> str:
    text = output.decode(errors="replace") if isinstance(output, bytes) else output or ""
    return (text.split() or ["import xlascope"])[-1]


def _environment(jaxlib: Path | None) -> dict[str, str]:
    """Return the environment with this process's modules and without its settings, which could change results."""
    base = {name: value for name, value in os.environ.items() if not name.startswith(("XLASCOPE_", "JAX_", "XLA_"))}
    folders = [str(Path(__file__).resolve().parents[2]), *([str(jaxlib.resolve().parent)] if jaxlib else [])]
    paths = [*folders, *filter(None, [os.environ.get("PYTHONPATH")])]
    return base | {
        ALLOW_ANY: "1",
        "PYTHONPATH": os.pathsep.join(paths),
        "XLA_FLAGS": _QUICKLY,
        "XLASCOPE_PLATFORMS": "cpu",
        "XLASCOPE_ENABLE_COMPILATION_CACHE": "0",
    }
