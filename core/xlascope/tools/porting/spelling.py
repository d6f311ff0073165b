"""Translation of imports of one package to imports of another, and back."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Direction:
    """Package whose imports are changed (``source``), and the package that replaces it (``target``)."""

    source: str
    target: str

    def path_in(self, dotted: str) -> str | None:
        """Return the part of a dotted name after the source package; None for another package.

        >>> TO_XLASCOPE.path_in("jax.numpy.linalg"), TO_XLASCOPE.path_in("jax"), TO_XLASCOPE.path_in("jaxlib")
        ('numpy.linalg', '', None)
        """
        package, _, path = dotted.partition(".")
        return path if package == self.source else None

    def respell(self, dotted: str) -> str:
        """Return a dotted name of the source package as one of the target."""
        return self.target + dotted[len(self.source) :]

    def respell_alias(self, dotted: str, asname: str | None) -> str:
        """Return the alias for an ``import`` statement so that it binds the same names as before.

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
        """Return whether two adjacent aliases of an import are what the reverse direction writes for one module.

        Each is a dotted name and its ``as`` name or None.
        """
        dotted, asname = first
        return asname is None and bool(self.path_in(dotted)) and second == (self.source, self.target)


TO_XLASCOPE = Direction("jax", "xlascope")
TO_JAX = Direction("xlascope", "jax")
DIRECTIONS = {"xlascope": TO_XLASCOPE, "jax": TO_JAX}
