"""Self-check of an untested jaxlib: ten calls in a separate process.

They take about a second, once: success is stored in the user's cache folder, for this jaxlib, xlascope and
Python; failure is not. A call that crashes ends only that process.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from . import user_files
from .distributions import distribution_version

#: If set and not 0, any jaxlib is accepted without a check. For developers, and for the self-check's own process.
ALLOW_ANY = "XLASCOPE_ALLOW_ANY_JAXLIB"
_SELF_CHECK_MODULE = "xlascope.tools.self_check"
#: Seconds for all calls.
TIMEOUT_SECONDS = 120.0
#: The kind of fact under which success is stored.
_FACT_KIND = "jaxlibs"
#: Without optimizations, to save time.
_XLA_FLAGS = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
_MAX_REASON_CHARS = 300


def is_any_jaxlib_allowed() -> bool:
    """Return whether the environment variable ``XLASCOPE_ALLOW_ANY_JAXLIB`` is set and allows any jaxlib unchecked."""
    return os.environ.get(ALLOW_ANY, "").strip().lower() not in ("", "0", "false", "no", "off")


def check_jaxlib(version: str, jaxlib: Path | None) -> str | None:
    """Return which call of the self-check fails with a jaxlib, and how; None if all succeed now, or did so before.

    ``version`` is the version of jaxlib, ``jaxlib`` the folder of its module.
    """
    name = _fact_name(version)
    if user_files.read_fact(_FACT_KIND, name) == "ok":
        return None
    reason = _run_self_check(jaxlib)
    if reason is None:
        user_files.write_fact(_FACT_KIND, name, "ok")
    return reason


def _fact_name(version: str) -> str:
    """Return the name under which success is stored, made of the versions of jaxlib, xlascope and Python."""
    own_version = distribution_version("xlascope") or "unknown"  # a checkout need not be installed
    return re.sub(r"[^\w.+-]", "_", f"jaxlib-{version}-xlascope-{own_version}-{sys.implementation.cache_tag}")


def _run_self_check(jaxlib: Path | None) -> str | None:
    """Run the self-check in a new process; return None if it passes, else which of its calls fails, and how.

    ``jaxlib`` is the folder of the jaxlib package that it imports; None: the one that Python finds. Taking longer than
    ``TIMEOUT_SECONDS`` is a failure.
    """
    try:
        process = subprocess.run(
            [sys.executable, "-P", "-m", _SELF_CHECK_MODULE],
            env=_subprocess_environment(jaxlib),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as timeout:
        return f"the self-check's call {_last_word(timeout.stdout)!r} did not end within {TIMEOUT_SECONDS:g} s"
    except OSError as error:
        return f"its self-check does not start: {error}"
    if process.returncode == 0:
        return None
    outcome = f"ends the process (signal {-process.returncode})" if process.returncode < 0 else "fails"
    words = " ".join((process.stderr.strip().splitlines() or ["no reason given"])[-1].split())[-_MAX_REASON_CHARS:]
    return f"the self-check's call {_last_word(process.stdout)!r} {outcome}: {words}"


def _last_word(output: str | bytes | None) -> str:
    """Return the last word of the self-check's output, the call that it was running."""
    text = output.decode(errors="replace") if isinstance(output, bytes) else output or ""
    return (text.split() or ["import xlascope"])[-1]


def _subprocess_environment(jaxlib: Path | None) -> dict[str, str]:
    """Return environment variables for the self-check: with this process's modules, and without settings.

    Settings could change its results.
    """
    base = {name: value for name, value in os.environ.items() if not name.startswith(("XLASCOPE_", "JAX_", "XLA_"))}
    folders = [str(Path(__file__).resolve().parents[2]), *([str(jaxlib.resolve().parent)] if jaxlib else [])]
    paths = [*folders, *filter(None, [os.environ.get("PYTHONPATH")])]
    return base | {
        ALLOW_ANY: "1",
        "PYTHONPATH": os.pathsep.join(paths),
        "XLA_FLAGS": _XLA_FLAGS,
        "XLASCOPE_PLATFORMS": "cpu",
        "XLASCOPE_ENABLE_COMPILATION_CACHE": "0",
    }
