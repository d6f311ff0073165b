"""How imports of one package are spelled as imports of another, and back."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Direction:
    """The package whose imports are changed, and the one that stands there afterwards."""

    source: str
    target: str

    def path_in(self, dotted: str) -> str | None:
        """Return what follows the source package in a dotted name, ``""`` for the package; None for another package.

        >>> TO_XLASCOPE.path_in("jax.numpy.linalg"), TO_XLASCOPE.path_in("jax"), TO_XLASCOPE.path_in("jaxlib")
        ('numpy.linalg', '', None)
        """
        package, _, path = dotted.partition(".")
        return path if package == self.source else None

    def respell(self, dotted: str) -> str:
        """Return a dotted name of the source package as one of the target."""
        return self.target + dotted[len(self.source) :]

    def respell_alias(self, dotted: str, asname: str | None) -> str:
        """Return what stands in an ``import`` statement for a module, so that the statement binds the names it bound.

        ``import jax.numpy`` binds ``jax``, so the target is bound to that name as well.

        >>> TO_XLASCOPE.respell_alias("jax", None), TO_XLASCOPE.respell_alias("jax.numpy", "jnp")
        ('xlascope as jax', 'xlascope.numpy as jnp')
        >>> TO_XLASCOPE.respell_alias("jax.scipy.stats", None)
        'xlascope.scipy.stats, xlascope as jax'
        >>> TO_JAX.respell_alias("xlascope", "jax")
        'jax'
        """
        respelled = self.respell(dotted)
        if asname is not None:
            return respelled if respelled == asname else f"{respelled} as {asname}"
        binding = f"{self.target} as {self.source}"
        return binding if dotted == self.source else f"{respelled}, {binding}"

    def is_pair(self, first: tuple[str, str | None], second: tuple[str, str | None]) -> bool:
        """Return whether two neighbours in an ``import`` are what the other direction writes for one module."""
        dotted, asname = first
        return asname is None and bool(self.path_in(dotted)) and second == (self.source, self.target)


TO_XLASCOPE = Direction("jax", "xlascope")
TO_JAX = Direction("xlascope", "jax")
DIRECTIONS = {"xlascope": TO_XLASCOPE, "jax": TO_JAX}
