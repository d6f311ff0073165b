"""A jaxlib that nobody has tried: whether the engine can speak to it, found by ten calls in a process of its own.

They take about a second, once: that all went well is kept in the user's cache folder, for this jaxlib, xlascope and
Python. What failed is not kept. A call that ends its process ends no other.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from . import user_files

#: Set, and not to 0: any jaxlib is taken, unchecked. For developers, and for the process that makes the calls.
ALLOW_ANY = "XLASCOPE_ALLOW_ANY_JAXLIB"
_PROGRAM = "xlascope.tools.self_check"
#: Seconds for all calls.
LIMIT = 120.0
#: Where what is found well is kept.
_KIND = "jaxlibs"
#: XLA need not optimize what is only looked at.
_QUICKLY = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
_TAIL = 300


def is_allowed() -> bool:
    """Whether the environment says that any jaxlib is meant."""
    return os.environ.get(ALLOW_ANY, "").strip().lower() not in ("", "0", "false", "no", "off")


def refusal(version: str, jaxlib: Path | None) -> str | None:
    """Return which call fails with a jaxlib, and how; None where all go well, now or when they were made before.

    ``jaxlib`` is the folder of its module.
    """
    name = _name(version)
    if user_files.read_fact(_KIND, name) == "ok":
        return None
    found = _made(jaxlib)
    if found is None:
        user_files.keep_fact(_KIND, name, "ok")
    return found


def _name(version: str) -> str:
    own = _own_version()
    return re.sub(r"[^\w.+-]", "_", f"jaxlib-{version}-xlascope-{own}-{sys.implementation.cache_tag}")


def _own_version() -> str:
    try:
        return metadata.version("xlascope")
    except metadata.PackageNotFoundError:  # a checkout that is on the path alone
        return "unknown"


def _made(jaxlib: Path | None) -> str | None:
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", _PROGRAM],
            env=_environment(jaxlib),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        return f"the self-check's call {_last(late.stdout)!r} did not end within {LIMIT:g} s"
    except OSError as error:
        return f"its self-check does not start: {error}"
    if done.returncode == 0:
        return None
    how = f"ends the process (signal {-done.returncode})" if done.returncode < 0 else "fails"
    words = " ".join((done.stderr.strip().splitlines() or ["no reason given"])[-1].split())[-_TAIL:]
    return f"the self-check's call {_last(done.stdout)!r} {how}: {words}"


def _last(said: str | bytes | None) -> str:
    text = said.decode(errors="replace") if isinstance(said, bytes) else said or ""
    return (text.split() or ["import xlascope"])[-1]


def _environment(jaxlib: Path | None) -> dict[str, str]:
    """The modules of this process, and none of its settings: they may change what the calls give."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("XLASCOPE_", "JAX_", "XLA_"))}
    folders = [str(Path(__file__).resolve().parents[2]), *([str(jaxlib.resolve().parent)] if jaxlib else [])]
    paths = [*folders, *filter(None, [os.environ.get("PYTHONPATH")])]
    return own | {
        ALLOW_ANY: "1",
        "PYTHONPATH": os.pathsep.join(paths),
        "XLA_FLAGS": _QUICKLY,
        "XLASCOPE_PLATFORMS": "cpu",
        "XLASCOPE_ENABLE_COMPILATION_CACHE": "0",
    }
