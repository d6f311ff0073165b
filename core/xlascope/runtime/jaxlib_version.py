"""The jaxlib that this process has: whether it is one that xlascope goes with. Importing this module is the check.

A notebook that installs packages into a running interpreter (``%pip install`` on Colab, which brings its own jaxlib)
is left with the new files and the old module. Mixing them crashes; restarting helps, and that is what is said.
A jaxlib newer than those that were tried is tried here (``untried.py``): where that goes well, one line says so.
Raises ImportError where the loaded jaxlib is not the installed one, or where xlascope does not go with it.
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
    """What to do where files of another jaxlib were installed than the one that is loaded; None where none were.

    ``installed`` is the version of the files that an import would find now.
    """
    if installed is None or installed == loaded or is_too_old(installed):
        return None
    return (
        f"jaxlib {installed} is installed, and this process has loaded jaxlib {loaded} before that: the two do not "
        f"mix. {how_to_restart()}, and run the cells again; nothing has to be installed again."
    )


def problem(loaded: str, folder: Path | None) -> str | None:
    """What is wrong with a jaxlib that is loaded, and what to do; None where the engine can speak to it.

    ``folder`` is where the module came from. One that nobody has tried is tried, and is told of in one line.
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
    """How the interpreter is started anew: on Colab, in another notebook, or else."""
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
    """The version of the files in the folder of the module by their distribution; None where there is none."""
    try:
        found = metadata.distribution("jaxlib")
    except metadata.PackageNotFoundError:
        return None
    same = folder is None or Path(str(found.locate_file("jaxlib"))).resolve() == folder.resolve()
    return found.version if same else None


def check() -> None:
    """Raise ImportError if jaxlib, as it is loaded, is not what xlascope needs."""
    version = getattr(jaxlib, "__version__", None)
    if version is None:  # nobody knows: what is missing says so itself
        return
    folder = Path(jaxlib.__file__).parent if jaxlib.__file__ else None
    found = mixture(version, _installed(folder))
    if found is None and not untried.is_allowed():
        found = problem(version, folder)
    if found:
        raise ImportError(found, name="jaxlib")


check()
