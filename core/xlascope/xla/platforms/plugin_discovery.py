"""Discovery of installed plugins: they are searched for, not imported, since some plugin packages import jax."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ...runtime.distributions import distribution_version

#: For each platform the packages of its plugin, the newest first: package, library, and distribution.
_PLUGIN_PACKAGES = {
    "tpu": (("libtpu", "libtpu.so", "libtpu"),),
    "gpu": (
        ("jax_plugins.xla_cuda13", "xla_cuda_plugin.so", "jax-cuda13-pjrt"),
        ("jax_plugins.xla_cuda12", "xla_cuda_plugin.so", "jax-cuda12-pjrt"),
    ),
}
#: The commands that install the plugins.
INSTALL_COMMANDS = {"tpu": 'pip install "xlascope[tpu]"', "gpu": 'pip install "xlascope[cuda]"'}


class Plugin(NamedTuple):
    """PJRT plugin: the platform by our name and by its own, its library, and its distribution and version.

    ``version`` is ``""`` if unknown.
    """

    platform: str
    pjrt_name: str
    library: Path
    distribution: str
    version: str


def find_installed(platform: str) -> list[Plugin]:
    """Return the installed plugins for a platform, ``"tpu"`` or ``"gpu"``, the preferred one first."""
    return list(_iterate_plugins(platform, None))


def find_in_folder(platform: str, folder: Path) -> list[Plugin]:
    """Return the plugins in a folder that pip installed packages into (``--target``), the preferred one first."""
    return list(_iterate_plugins(platform, folder))


def _iterate_plugins(platform: str, folder: Path | None) -> Iterator[Plugin]:
    for package, library, distribution in _PLUGIN_PACKAGES.get(platform, ()):
        path = find_library(package, library) if folder is None else folder.joinpath(*package.split("."), library)
        if path is not None and path.exists():
            pjrt_name = "cuda" if platform == "gpu" else platform
            yield Plugin(platform, pjrt_name, path, distribution, distribution_version(distribution, folder))


def find_library(package: str, library: str) -> Path | None:
    """Return the path of the file ``library`` in the folder of an installed package; None if either is missing."""
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:  # the package above it is missing
        return None
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        path = Path(folder, library)
        if path.exists():
            return path
    return None


def version_mismatch(plugin: Plugin, jaxlib: str) -> str | None:
    """Return why a plugin's version does not fit a version of jaxlib, in one line; None if it may fit.

    A plugin for CUDA is made for one version of jaxlib; libtpu has version numbers of its own.

    >>> plugin = Plugin("gpu", "cuda", Path("plugin.so"), "jax-cuda13-pjrt", "0.9.1")
    >>> version_mismatch(plugin, "0.10.2")
    'jax-cuda13-pjrt 0.9.1 belongs to jaxlib 0.9.1, and this is jaxlib 0.10.2: pip install "jax-cuda13-pjrt==0.10.2"'
    >>> version_mismatch(plugin._replace(version="0.10.2"), "0.10.2") is None
    True
    """
    if plugin.platform != "gpu" or not plugin.version or plugin.version.split(".")[:2] == jaxlib.split(".")[:2]:
        return None
    made_for = f"{plugin.distribution} {plugin.version} belongs to jaxlib {plugin.version}"
    return f'{made_for}, and this is jaxlib {jaxlib}: pip install "{plugin.distribution}=={jaxlib}"'
