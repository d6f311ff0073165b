"""The plugins that are installed: looked for, not imported, since some packages of plugins import jax."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

#: For each platform the packages that hold its plugin, the newest first: where, the library, and who distributes it.
_KNOWN = {
    "tpu": (("libtpu", "libtpu.so", "libtpu"),),
    "gpu": (
        ("jax_plugins.xla_cuda13", "xla_cuda_plugin.so", "jax-cuda13-pjrt"),
        ("jax_plugins.xla_cuda12", "xla_cuda_plugin.so", "jax-cuda12-pjrt"),
    ),
}
#: What installs them.
EXTRAS = {"tpu": 'pip install "xlascope[tpu]"', "gpu": 'pip install "xlascope[cuda]"'}


class Plugin(NamedTuple):
    """A plugin: the platform that it runs, by our name and by its own, its library, and what was installed."""

    platform: str
    own_name: str
    library: Path
    distribution: str
    version: str


def installed(platform: str) -> list[Plugin]:
    """The plugins for a platform, ``"tpu"`` or ``"gpu"``, the one to begin with first."""
    return list(_known(platform, None))


def in_folder(platform: str, folder: Path) -> list[Plugin]:
    """The same of those that lie in a folder of their own, as pip puts packages into one (``--target``)."""
    return list(_known(platform, folder))


def _known(platform: str, folder: Path | None) -> Iterator[Plugin]:
    for package, library, distribution in _KNOWN.get(platform, ()):
        path = library_in(package, library) if folder is None else folder.joinpath(*package.split("."), library)
        if path is not None and path.exists():
            own_name = "cuda" if platform == "gpu" else platform
            yield Plugin(platform, own_name, path, distribution, _version(distribution, folder))


def library_in(package: str, library: str) -> Path | None:
    """A library in the folder of a package that is installed."""
    try:
        found = importlib.util.find_spec(package)
    except ModuleNotFoundError:  # the package above it is missing
        return None
    for folder in (found.submodule_search_locations or ()) if found is not None else ():
        path = Path(folder, library)
        if path.exists():
            return path
    return None


def misfit(plugin: Plugin, jaxlib: str) -> str | None:
    """Why a plugin does not go with a jaxlib, by their versions; None where nothing speaks against it.

    A plugin for CUDA is made for one version of jaxlib; libtpu has numbers of its own.

    >>> plugin = Plugin("gpu", "cuda", Path("plugin.so"), "jax-cuda13-pjrt", "0.9.1")
    >>> misfit(plugin, "0.10.2")
    'jax-cuda13-pjrt 0.9.1 belongs to jaxlib 0.9.1, and this is jaxlib 0.10.2: pip install "jax-cuda13-pjrt==0.10.2"'
    >>> misfit(plugin._replace(version="0.10.2"), "0.10.2") is None
    True
    """
    if plugin.platform != "gpu" or not plugin.version or plugin.version.split(".")[:2] == jaxlib.split(".")[:2]:
        return None
    made_for = f"{plugin.distribution} {plugin.version} belongs to jaxlib {plugin.version}"
    return f'{made_for}, and this is jaxlib {jaxlib}: pip install "{plugin.distribution}=={jaxlib}"'


def _version(distribution: str, folder: Path | None) -> str:
    if folder is not None:
        found = metadata.distributions(name=distribution, path=[str(folder)])
        return next((each.version for each in found), "")
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""
