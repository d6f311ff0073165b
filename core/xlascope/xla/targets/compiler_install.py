"""Installation of the compilers of GPUs and TPUs into a folder that only xlascope searches.

Installed as packages, they would be plugins of every program that uses jax: ``import jax`` starts the plugins that
it finds, and complains where there is no device. So pip installs them into the user's cache folder, one folder for
each jaxlib, and only the compiler's process (``worker.py``) loads them from there.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from jaxlib import version

from ...runtime import supported_jaxlibs, user_files
from ..platforms.plugin_discovery import Plugin, find_in_folder, find_installed
from ..system.private_files import ForeignFileError, open_private_folder

#: The command that installs the compilers for hardware that is not here.
INSTALL_COMMAND = "python -m xlascope targets --install"
PLATFORMS = ("gpu", "tpu")
_PART_SUFFIX = ".part"


class InstallError(RuntimeError):
    """Error for a compiler that cannot be installed; the message says why, and how to do it by hand."""


def compiler_folder(platform: str) -> Path | None:
    """Return the folder for a platform's compiler that fits this jaxlib, which need not exist; None without a home.

    ``platform`` is ``"gpu"`` or ``"tpu"``.
    """
    cache = user_files.cache_folder()
    return None if cache is None else cache / "compilers" / f"jaxlib-{version.__version__}" / platform


def find_compiler(platform: str) -> Plugin | None:
    """Return the compiler of ``"gpu"`` or ``"tpu"``: from our folder, else an installed plugin, else None.

    Raises ForeignFileError if another user may have written the one in our folder.
    """
    folder = compiler_folder(platform)
    for plugin in find_in_folder(platform, folder) if folder is not None else ():
        with open_private_folder(str(plugin.library.parent), make=False) as open_folder:
            open_folder.require(plugin.library.name)
        return plugin
    return next(iter(find_installed(platform)), None)


def requirements(platform: str) -> tuple[str, ...]:
    """Return the requirements that pip installs for a platform.

    >>> requirements("gpu")
    ('jax-cuda13-pjrt==...',)
    """
    if platform == "gpu":
        return (f"jax-cuda13-pjrt=={version.__version__}",)
    return (supported_jaxlibs.libtpu_requirement(version.__version__) or "libtpu",)


def install_compiler(platform: str) -> Plugin:
    """Install the compiler of a platform for this jaxlib, unless it is installed, and return it.

    Raises InstallError, with the installer's output and the command.
    """
    folder = compiler_folder(platform)
    if folder is None:
        raise InstallError("there is no folder to install to: the user has no home (XDG_CACHE_HOME names one)")
    if not sys.platform.startswith("linux"):
        raise InstallError(f"the compilers exist for Linux only, and this is {sys.platform}")
    installed_plugins = find_in_folder(platform, folder)
    if installed_plugins:
        return installed_plugins[0]
    try:
        with open_private_folder(str(folder.parent), make=True):
            pass
    except (OSError, ForeignFileError) as error:
        raise InstallError(f"{folder.parent} cannot be used: {error}") from None
    with _create_atomically(folder) as part:
        _run_installer(
            [*_installer_command(folder, platform), "--no-deps", "--target", str(part), *requirements(platform)]
        )
        if not find_in_folder(platform, part):
            raise InstallError(f"what was installed has no compiler for a {platform.upper()}")
    return find_in_folder(platform, folder)[0]


@contextlib.contextmanager
def _create_atomically(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder beside ``folder`` that replaces it on success and is removed on failure."""
    part = folder.with_name(f"{folder.name}.{os.getpid()}{_PART_SUFFIX}")
    try:
        yield part
        with contextlib.suppress(OSError):  # another process finished first
            part.replace(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _installer_command(folder: Path, platform: str) -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    uv = shutil.which("uv")
    if uv is not None:
        return [uv, "pip", "install", "--quiet", "--python", sys.executable]
    quoted = " ".join(f'"{requirement}"' for requirement in requirements(platform))
    raise InstallError(f"neither pip nor uv is here; by hand: pip install --no-deps --target {folder} {quoted}")


def _run_installer(command: Sequence[str]) -> None:
    """Run an installer's command; raises InstallError with its output if it fails.

    The installed files belong to the user alone, as all files that are loaded must.
    """
    result = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, umask=0o077)
    if result.returncode:
        output = " ".join((result.stderr.strip() or result.stdout.strip()).split())[-400:]
        raise InstallError(f"{output} (the command was {' '.join(command)})")
