"""Kernel density estimation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import numpy as jnp
from ... import random, tree
from ...lax import linalg as of_lax
from ...numpy.jit_wrapped import jit_wrapped
from ...operations.conversion import to_dtype
from ...trace.source import here
from ...trace.values import exact_array
from ..arguments import promote_args_inexact, promote_dtypes_inexact, to_array_in_dtype
from ..special.gaussian import ndtr


class gaussian_kde:  # noqa: N801 (SciPy's name)
    """Kernel density estimate: a normal distribution around each point of a sample.

    ``dataset`` has shape ``(n,)``, or ``(d, n)`` for points with d coordinates; ``weights`` ``(n,)``.
    ``bw_method`` is the ratio of the kernel width to the standard deviation of the sample: "scott" (None),
    "silverman", a number, or a function of the estimate. Raises ValueError for other shapes, fewer than two
    points, and another string.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy.stats import gaussian_kde
    >>> print(f"{gaussian_kde(jnp.array([-1.0, 0.0, 1.0])).pdf(0.0)[0]:.4f}")
    0.3182
    """

    neff: Any
    dataset: Any
    weights: Any
    covariance: Any
    inv_cov: Any

    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
        points = jnp.atleast_2d(promote_args_inexact(dataset)[0])
        if jnp.issubdtype(points.dtype, jnp.complexfloating):
            raise NotImplementedError(f"gaussian_kde takes real numbers, got {points.dtype.name}{here()}")
        if points.size <= 1:
            raise ValueError(f"gaussian_kde takes at least two points, got shape {points.shape}{here()}")
        d, n = points.shape
        if weights is None:
            mass = exact_array(np.full(n, 1 / n), points.dtype)
        else:
            (mass,) = (to_dtype(x, points.dtype) for x in promote_args_inexact(jnp.atleast_1d(weights)))
            if mass.shape != (n,):
                raise ValueError(f"gaussian_kde takes weights of shape ({n},), got shape {mass.shape}{here()}")
            mass = mass / jnp.sum(mass)
        neff = 1 / jnp.sum(mass * mass)
        fields = {"neff": neff, "dataset": points, "weights": mass, "covariance": None, "inv_cov": None}
        self._set_fields(fields)
        factor = to_array_in_dtype(_bandwidth_factor(bw_method, neff, d, self), points.dtype)
        diffs = points - jnp.sum(mass * points, 1, keepdims=True)
        covariance = jnp.matmul(diffs * mass, diffs.T, precision="highest") / (1 - jnp.sum(mass * mass)) * factor**2
        self._set_fields({"covariance": covariance, "inv_cov": jnp.linalg.inv(covariance)})

    def _set_fields(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a gaussian_kde does not change: make another one to have another {name}")

    @property
    def d(self) -> int:
        """Return the number of coordinates of a point."""
        return int(self.dataset.shape[0])

    @property
    def n(self) -> int:
        """Return the number of points."""
        return int(self.dataset.shape[1])

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        """Return the arrays of the estimate as children, and no auxiliary data."""
        return tuple(getattr(self, name) for name in _FIELD_NAMES), None

    @classmethod
    def tree_unflatten(cls, _: None, children: Any) -> gaussian_kde:
        """Return an estimate with the given arrays."""
        estimate: gaussian_kde = object.__new__(cls)
        estimate._set_fields(dict(zip(_FIELD_NAMES, children, strict=True)))
        return estimate

    def _as_points(self, points: Any) -> Any:
        """Return points as an array of shape ``(d, m)``; raise ValueError for other numbers of coordinates."""
        (points,) = promote_dtypes_inexact(points)
        if jnp.issubdtype(points.dtype, jnp.complexfloating):
            raise NotImplementedError(f"gaussian_kde takes real points{here()}")
        points = jnp.atleast_2d(points)
        if points.shape[0] != self.d:
            if points.shape != (1, self.d):
                raise ValueError(
                    f"gaussian_kde of points of {self.d} numbers takes points of as many along the first axis, got "
                    f"shape {points.shape}{here()}"
                )
            points = points.T
        return points

    def evaluate(self, points: Any) -> Any:
        """Return the density at points of shape ``(d, m)``, or ``(m,)`` for d = 1: shape ``(m,)``."""
        return jnp.exp(self.logpdf(points))

    def __call__(self, points: Any) -> Any:
        """Return the density at points."""
        return self.evaluate(points)

    def pdf(self, x: Any) -> Any:
        """Return the density at points."""
        return self.evaluate(x)

    def logpdf(self, x: Any) -> Any:
        """Return the logarithm of the density at points."""
        return _log_density(self.dataset, self.weights, self.covariance, self._as_points(x))

    def integrate_gaussian(self, mean: Any, cov: Any) -> Any:
        """Return the integral of the density times a normal density of that mean and covariance.

        ``mean`` has shape ``(d,)``, ``cov`` ``(d, d)``.
        """
        mean = jnp.atleast_1d(jnp.squeeze(mean))
        cov = jnp.atleast_2d(cov)
        if mean.shape != (self.d,) or cov.shape != (self.d, self.d):
            raise ValueError(
                f"integrate_gaussian takes a mean of {self.d} numbers and its covariance, got shapes {mean.shape} and "
                f"{cov.shape}{here()}"
            )
        return jnp.exp(_log_density(self.dataset, self.weights, self.covariance + cov, mean[:, None]))[0]

    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        """Return the probability between two numbers, for d = 1."""
        if self.d != 1:
            raise ValueError(f"integrate_box_1d is for points of one number, these have {self.d}{here()}")
        width = jnp.sqrt(self.covariance[0, 0])
        high, low = ((jnp.asarray(x) - self.dataset[0]) / width for x in (high, low))
        return jnp.sum(self.weights * (ndtr(high) - ndtr(low)))

    def integrate_kde(self, other: gaussian_kde) -> Any:
        """Return the integral of the product of two estimated densities."""
        if other.d != self.d:
            raise ValueError(f"integrate_kde takes estimates of points alike, got d={self.d} and d={other.d}{here()}")
        log_density = _log_density(other.dataset, other.weights, self.covariance + other.covariance, self.dataset)
        return jnp.sum(self.weights * jnp.exp(log_density))

    def resample(self, key: Any, shape: tuple[int, ...] = ()) -> Any:
        """Return random points drawn from the estimate, shape ``(d, *shape)``."""
        points_key, noise_key = random.split(key)
        indices = random.choice(points_key, self.n, shape=shape, p=self.weights)
        noise = random.normal(noise_key, (*shape, self.d), dtype=self.dataset.dtype)
        noise = jnp.matmul(noise, of_lax.cholesky(self.covariance).T, precision="highest")
        return jnp.take(self.dataset, indices, 1) + jnp.moveaxis(noise, -1, 0)

    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> Any:
        """Raise NotImplementedError, as in JAX."""
        raise NotImplementedError("gaussian_kde has no integrate_box; integrate_box_1d is there for d = 1")

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Raise NotImplementedError, since an estimate is immutable."""
        raise NotImplementedError("a gaussian_kde does not change: make another one with another bw_method")


_FIELD_NAMES = ("neff", "dataset", "weights", "covariance", "inv_cov")
tree.register_pytree_node(
    gaussian_kde, gaussian_kde.tree_flatten, lambda _, children: gaussian_kde.tree_unflatten(_, children)
)


def _bandwidth_factor(method: Any, neff: Any, d: int, estimate: gaussian_kde) -> Any:
    """Return the ratio of the kernel width to the standard deviation of the sample.

    ``method`` is the ``bw_method`` of the estimate, ``neff`` its effective number of points, ``d`` the number of
    coordinates.
    """
    if method is None or method == "scott":
        return neff ** (-1.0 / (d + 4))
    if isinstance(method, str):
        if method != "silverman":
            raise ValueError(f"bw_method is 'scott', 'silverman', a number or a function, got {method!r}{here()}")
        return (neff * (d + 2) / 4.0) ** (-1.0 / (d + 4))
    if isinstance(method, Callable):  # type: ignore[arg-type]
        return method(estimate)
    if np.ndim(method) or isinstance(method, bool):
        raise ValueError(f"bw_method is 'scott', 'silverman', a number or a function, got {method!r}{here()}")
    return method


@jit_wrapped()
def _log_density(dataset: Any, weights: Any, covariance: Any, points: Any) -> Any:
    """Return the logarithm of the estimated density at points of shape ``(d, m)``: shape ``(m,)``.

    ``covariance`` is that of the kernel.
    """
    dataset, weights, covariance, points = promote_dtypes_inexact(dataset, weights, covariance, points)
    factor = of_lax.cholesky(covariance)

    def whiten(x: Any) -> Any:
        return of_lax.triangular_solve(factor, x, left_side=True, lower=True)

    differences = whiten(points)[:, :, None] - whiten(dataset)[:, None, :]
    energies = -jnp.sum(differences * differences, 0) / 2 + jnp.log(weights)
    largest = jnp.max(energies, 1, keepdims=True)
    sums = jnp.log(jnp.sum(jnp.exp(energies - largest), 1)) + largest[:, 0]
    root = jnp.sum(jnp.log(jnp.diagonal(factor)))
    return sums - root - dataset.shape[0] / 2 * math.log(2 * math.pi)
