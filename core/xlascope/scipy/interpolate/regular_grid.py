"""Interpolation on a rectangular grid."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...numpy.searching import searchsorted
from ...trace.source import here
from ..arguments import promote_dtypes_inexact, require_one_of


class RegularGridInterpolator:
    """Interpolator of values on a rectangular grid: a callable object.

    ``points`` are the coordinates along each axis, ascending; ``values`` has those sizes, and any trailing axes.
    ``method`` is "linear" or "nearest"; ``fill_value`` is the result outside of the grid; if it is None, values
    are extrapolated. ``bounds_error`` has to be False (NotImplementedError). Raises ValueError for incompatible
    sizes and another method.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy.interpolate import RegularGridInterpolator
    >>> line = RegularGridInterpolator((jnp.array([0.0, 1.0, 3.0]),), jnp.array([0.0, 10.0, 30.0]))
    >>> print(line(jnp.array([[0.5], [2.0]])))
    [ 5. 20.]
    """

    def __init__(
        self,
        points: Sequence[Any],
        values: Any,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: Any = jnp.nan,
    ) -> None:
        self.method = require_one_of("method of RegularGridInterpolator", method, "linear", "nearest")
        if bounds_error:
            raise NotImplementedError(f"values are not known while tracing: bounds_error has to be False{here()}")
        (self.values,) = promote_dtypes_inexact(values)
        if not np.iterable(points):
            raise TypeError(f"points of RegularGridInterpolator is a tuple of vectors, got {points!r}{here()}")
        self.grid = tuple(promote_dtypes_inexact(p)[0] for p in points)
        if len(self.grid) > self.values.ndim:
            raise ValueError(f"there are {len(self.grid)} point arrays, but values has {self.values.ndim} axes{here()}")
        for i, (p, size) in enumerate(zip(self.grid, self.values.shape, strict=False)):
            if p.ndim != 1:
                raise ValueError(f"the points along axis {i} have to be a vector, got shape {p.shape}{here()}")
            if p.shape[0] != size:
                raise ValueError(f"there are {p.shape[0]} points and {size} values on axis {i}{here()}")
        self.fill_value = fill_value
        self.bounds_error = bounds_error

    def __call__(self, xi: Any, method: str | None = None) -> Any:
        """Return the values at points of shape ``(…, n)`` on a grid of n axes: shape ``(…,)`` and trailing axes.

        A vector is read as consecutive points; a tuple holds one array per axis.
        """
        resolved_method = require_one_of(
            "method of RegularGridInterpolator", method or self.method, "linear", "nearest"
        )
        count = len(self.grid)
        if isinstance(xi, tuple):
            xi = jnp.stack(jnp.broadcast_arrays(*(promote_dtypes_inexact(x)[0] for x in xi)), -1)
        (xi,) = promote_dtypes_inexact(xi)
        if xi.ndim == 1 and count and not xi.size % count:
            xi = jnp.reshape(xi, (-1, count))
        if not xi.ndim or xi.shape[-1] != count:
            raise ValueError(f"the requested sample points have shape {xi.shape}, the grid has {count} axes{here()}")
        batch_shape, trailing = xi.shape[:-1], self.values.shape[count:]
        result = self._interpolate(jnp.reshape(xi, (-1, count)), resolved_method == "linear")
        return jnp.reshape(result, (*batch_shape, *trailing))

    def _interpolate(self, xi: Any, linear: bool) -> Any:
        """Return the values at points of shape ``(m, n)``: linear interpolation, or the nearest values."""
        bounds, fractions, outside = [], [], False
        for i, p in enumerate(self.grid):
            x = xi[:, i]
            below = jnp.clip(searchsorted(p, x) - 1, 0, max(p.shape[0] - 2, 0))
            above = jnp.minimum(below + 1, p.shape[0] - 1)
            width = p[above] - p[below]
            bounds.append((below, above))
            fractions.append((x - p[below]) / jnp.where(width == 0, 1, width))
            outside = outside | (x < p[0]) | (x > p[-1])
        dims = (slice(None), *[None] * (self.values.ndim - len(self.grid)))
        if linear:
            result: Any = 0
            for corner in itertools.product((0, 1), repeat=len(bounds)):
                weight: Any = 1
                for side, fraction in zip(corner, fractions, strict=True):
                    weight = weight * (fraction if side else 1 - fraction)
                result = result + self.values[tuple(p[s] for p, s in zip(bounds, corner, strict=True))] * weight[dims]
        else:
            nearest = [jnp.where(fraction <= 0.5, *pair) for pair, fraction in zip(bounds, fractions, strict=True)]
            result = self.values[tuple(nearest)]
        return result if self.fill_value is None else jnp.where(jnp.asarray(outside)[dims], self.fill_value, result)
