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
from pathlib import Path

import jaxlib

from . import untested_jaxlib
from .supported_jaxlibs import NEWEST, OLDEST, first_untested_version, is_tested, is_too_old, tested_requirement

_log = logging.getLogger("xlascope")


def explain_mismatch(loaded: str, installed: str | None) -> str | None:
    """Return advice if the installed jaxlib is not the one that this process has loaded; None if they agree.

    ``loaded`` is the version of the loaded jaxlib, ``installed`` that of the files that an import would find
    now, None if it is not known.
    """
    if installed is None or installed == loaded or is_too_old(installed):
        return None
    return (
        f"jaxlib {installed} is installed, and this process has loaded jaxlib {loaded} before that: the two do not "
        f"mix. {restart_instructions()}, and run the cells again; nothing has to be installed again."
    )


def find_problem(loaded: str, folder: Path | None) -> str | None:
    """Return the problem with the loaded jaxlib, and advice, as text; None if it is supported.

    ``loaded`` is its version, ``folder`` where its module came from. An untested version is checked by calls
    in another process; if they succeed, a warning is logged.
    """
    if is_too_old(loaded):
        return _format_advice(loaded, folder)
    if is_tested(loaded):
        return None
    refused = untested_jaxlib.check_jaxlib(loaded, folder)
    if refused is not None:
        return _format_advice(loaded, folder, f", and {refused} ({untested_jaxlib.ALLOW_ANY}=1 goes on all the same)")
    _log.warning(
        "jaxlib %s is newer than %s, the newest that xlascope was tried with; its self-check went well",
        loaded,
        NEWEST.version,
    )
    return None


def _format_advice(loaded: str, folder: Path | None, reason: str = "") -> str:
    where = f" (from {folder})" if folder else ""
    return (
        f"xlascope goes with jaxlib {OLDEST.version} and later, and was tried before "
        f"{first_untested_version()}; here is "
        f"jaxlib {loaded}{where}{reason}. Install one that fits: "
        f'pip install --upgrade xlascope "{tested_requirement()}". Then {_uncapitalize(restart_instructions())}.'
    )


def restart_instructions() -> str:
    """Return how to restart the interpreter, as text: on Colab, in another notebook, or otherwise."""
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


def _uncapitalize(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _installed_version(folder: Path | None) -> str | None:
    """Return the version of the jaxlib distribution that is installed in ``folder``; None if it is not known.

    pip names the folder of a distribution's metadata by its version. ``importlib.metadata`` says the same, and imports
    forty modules for it.
    """
    names = [] if folder is None else [path.name for path in folder.parent.glob("jaxlib-*.dist-info")]
    return names[0].removeprefix("jaxlib-").removesuffix(".dist-info") if len(names) == 1 else None


def check_jaxlib_version() -> None:
    """Raise ImportError if the loaded jaxlib is not supported, or is not the installed one."""
    version = getattr(jaxlib, "__version__", None)
    if version is None:  # unknown: let the missing parts raise
        return
    folder = Path(jaxlib.__file__).parent if jaxlib.__file__ else None
    message = explain_mismatch(version, _installed_version(folder))
    if message is None and not untested_jaxlib.is_any_jaxlib_allowed():
        message = find_problem(version, folder)
    if message:
        raise ImportError(message, name="jaxlib")


check_jaxlib_version()
