"""The jaxlib that this process has: whether it is the one that xlascope needs. Importing this module is the check.

A notebook that installs packages into a running interpreter (``%pip install`` on Colab, which brings its own jaxlib)
is left with the new files and the old module. Mixing them crashes; restarting helps, and that is what is said.
Raises ImportError where the loaded jaxlib is not the installed one, or where xlascope does not go with it.
"""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

import jaxlib

#: The versions that xlascope goes with, from the first to before the second; pyproject.toml says the same.
OLDEST, BEFORE = "0.10.2", "0.13"


def fits(version: str) -> bool:
    """Whether xlascope goes with a jaxlib of that version.

    >>> fits("0.10.2"), fits("0.11.2.dev20260901"), fits("0.9.2"), fits("0.13.0")
    (True, True, False, False)
    """
    return _numbers(OLDEST) <= _numbers(version) < _numbers(BEFORE)


def _numbers(version: str) -> tuple[int, ...]:
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def problem(loaded: str, folder: Path | None, installed: str | None) -> str | None:
    """What is wrong with a jaxlib that is loaded, and what to do; None where nothing is.

    ``folder`` is where the module came from, ``installed`` the version of the files that an import would find now.
    """
    if installed is not None and installed != loaded and fits(installed):
        return (
            f"jaxlib {installed} is installed, and this process has loaded jaxlib {loaded} before that: the two do not "
            f"mix. {how_to_restart()}, and run the cells again; nothing has to be installed again."
        )
    if fits(loaded):
        return None
    where = f" (from {folder})" if folder else ""
    return (
        f"xlascope goes with jaxlib {OLDEST} and later, before {BEFORE}; here is jaxlib {loaded}{where}. Install one "
        f'that fits: pip install --upgrade xlascope "jaxlib>={OLDEST},<{BEFORE}". Then {_lower(how_to_restart())}.'
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
    found = problem(version, folder, _installed(folder))
    if found:
        raise ImportError(found, name="jaxlib")


check()
