"""Libraries that depend on jax: their functions take arrays of jax, not of xlascope."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from importlib import metadata

_KNOWN_NAMES = """
    acme blackjax brainpy brax chex clu coax diffrax distrax dm_pix dopamine dynamax e3nn_jax elegy emlp equinox evojax
    evosax evox exponax flashbax flax fortuna gpjax gymnax haiku haliax jax_cosmo jax_md jaxlie jaxls jaxmarl jaxns
    jaxopt jraph jumanji kfac_jax levanter lineax maxdiffusion maxtext mctx mpi4jax netket neural_tangents numpyro objax
    optax optimistix orbax oryx ott paxml penzai pgx praxis quax qwix rlax sbijax t5x trax treex tunix xminigrid
"""
#: The packages most imported by programs of jax, whether or not they are installed.
KNOWN_LIBRARIES = frozenset(_KNOWN_NAMES.split())
#: Subpackages that depend on jax, of packages that do not.
_JAX_SUBPACKAGES = ("tensorflow_probability.substrates.jax", "mujoco.mjx")
_REQUIREMENT_NAME = re.compile(r"[\w.-]+")


def find_libraries(imported: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    """Return the imported libraries that depend on jax, with the lines of their imports.

    ``imported`` are pairs of a module's name and a line.

    >>> find_libraries([("numpy", 1), ("optax", 2), ("flax.linen", 3), ("flax", 7)])
    {'optax': [2], 'flax': [3, 7]}
    """
    lines_by_library: dict[str, list[int]] = {}
    for module, line in imported:
        library = _library_of(module)
        if library:
            lines_by_library.setdefault(library, []).append(line)
    return lines_by_library


def _library_of(module: str) -> str:
    for part in _JAX_SUBPACKAGES:
        if f"{module}.".startswith(f"{part}."):
            return part
    package = module.partition(".")[0]
    return package if package in KNOWN_LIBRARIES or package in _installed_libraries() else ""


@functools.cache
def _installed_libraries() -> frozenset[str]:
    """Return the installed packages whose distributions require jax."""
    needing = (
        distribution
        for distribution in metadata.distributions()
        if any(_is_jax(requirement) for requirement in distribution.requires or ())
    )
    files = (file for distribution in needing for file in distribution.files or ())
    return frozenset(file.parts[0] for file in files if file.suffix == ".py" and len(file.parts) > 1)


def _is_jax(requirement: str) -> bool:
    """Return whether a requirement is jax and not part of an extra."""
    name = _REQUIREMENT_NAME.match(requirement)
    return name is not None and name.group() == "jax" and "extra ==" not in requirement
