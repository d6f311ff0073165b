"""Check that the loaded jaxlib is supported. Importing this module runs the check.

A notebook that installs packages into a running interpreter (``%pip install`` on Colab, which brings its own
jaxlib) is left with the new files and the old module. Mixing them crashes; restarting helps, and the error
says so. A jaxlib newer than the tested ones is tested here (``untested_jaxlib.py``): if that succeeds, one
line is logged. Raises ImportError where the loaded jaxlib is not the installed one, or where it does not work
with xlascope.
"""

from __future__ import annotations

import logging
import sys
from importlib import metadata
from pathlib import Path

import jaxlib

from . import untried
from .jaxlibs import NEWEST, OLDEST, before_untried, is_too_old, is_tried, tried_range

_log = logging.getLogger("xlascope")


def mixture(loaded: str, installed: str | None) -> str | None:
    """Return advice where the installed jaxlib is not the loaded one; None where they agree.

    ``installed`` is the version of the files that an import would find now.
    """
    if installed is None or installed == loaded or is_too_old(installed):
        return None
    return (
        f"jaxlib {installed} is installed, and this process has loaded jaxlib {loaded} before that: the two do not "
        f"mix. {how_to_restart()}, and run the cells again; nothing has to be installed again."
    )


def problem(loaded: str, folder: Path | None) -> str | None:
    """Return the problem with a loaded jaxlib, and advice; None where it is supported.

    ``folder`` is where the module came from. An untested version is tested, and a warning is logged.
    """
    if is_too_old(loaded):
        return _advice(loaded, folder)
    if is_tried(loaded):
        return None
    refused = untried.refusal(loaded, folder)
    if refused is not None:
        return _advice(loaded, folder, f", and {refused} ({untried.ALLOW_ANY}=1 goes on all the same)")
    _log.warning(
        "jaxlib %s is newer than %s, the newest that xlascope was tried with; its self-check went well",
        loaded,
        NEWEST.version,
    )
    return None


def _advice(loaded: str, folder: Path | None, reason: str = "") -> str:
    where = f" (from {folder})" if folder else ""
    return (
        f"xlascope goes with jaxlib {OLDEST.version} and later, and was tried before {before_untried()}; here is "
        f"jaxlib {loaded}{where}{reason}. Install one that fits: "
        f'pip install --upgrade xlascope "{tried_range()}". Then {_lower(how_to_restart())}.'
    )


def how_to_restart() -> str:
    """Return how to restart the interpreter: on Colab, in another notebook, or otherwise."""
    if "google.colab" in sys.modules:
        return (
            "Restart the runtime: Runtime → Restart session (or run "
            "IPython.Application.instance().kernel.do_shutdown(True))"
        )
    if "ipykernel" in sys.modules:
        return (
            "Restart the kernel: Kernel → Restart Kernel (or run "
            "IPython.Application.instance().kernel.do_shutdown(True))"
        )
    return "Start Python again"


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _installed(folder: Path | None) -> str | None:
    """Return the version of the installed distribution in the folder of the module; None where there is none."""
    try:
        distribution = metadata.distribution("jaxlib")
    except metadata.PackageNotFoundError:
        return None
    same = folder is None or Path(str(distribution.locate_file("jaxlib"))).resolve() == folder.resolve()
    return distribution.version if same else None


def check() -> None:
    """Raise ImportError if the loaded jaxlib is not supported."""
    version = getattr(jaxlib, "__version__", None)
    if version is None:  # unknown: let the missing parts raise
        return
    folder = Path(jaxlib.__file__).parent if jaxlib.__file__ else None
    message = mixture(version, _installed(folder))
    if message is None and not untried.is_allowed():
        message = problem(version, folder)
    if message:
        raise ImportError(message, name="jaxlib")


check()
