"""Sampling of points in balls; each sampler is one compiled call."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..control.jit.jit_function import jit_normalized
from ..numpy.axes import whole_number
from ..numpy.reductions import sum_in_float32
from ..operations.arithmetic import abs
from ..operations.out_shardings import with_out_sharding
from ..operations.shapes import expand_dims
from .continuous import Shape, require_float_dtype
from .continuous import exponential as _exponential
from .counts import rademacher_values
from .gammas import gamma_values
from .keys import check_key, shape_of
from .sampler_helpers import split_key


@with_out_sharding
def generalized_normal(key: Any, p: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Draw from the generalized normal distribution, with a density proportional to exp(-|x|^p).

    >>> import xlascope as xs
    >>> x = xs.random.generalized_normal(xs.random.PRNGKey(0), 1.5, (3,))
    """
    sizes, real = shape_of(shape, "generalized_normal"), require_float_dtype(dtype, "generalized_normal")
    return _generalized_normal(check_key(key, "generalized_normal"), p, sizes, real)


@with_out_sharding
def ball(key: Any, d: int, p: Any = 2, shape: Shape = (), dtype: Any = float) -> Any:
    """Draw points uniformly from the ball of ``d`` dimensions whose points have a ``p``-norm of at most 1.

    The result has the shape ``(*shape, d)``. After F. Barthe, O. Guédon, S. Mendelson, A. Naor: "A probabilistic
    approach to the geometry of the l_p^n-ball", The Annals of Probability 33, 2005.

    >>> import xlascope as xs
    >>> xs.random.ball(xs.random.PRNGKey(0), 3, shape=(5,)).shape
    (5, 3)
    """
    sizes = (*shape_of(shape, "ball"), whole_number(d, "d"))
    return _ball(check_key(key, "ball"), p, shape_of(sizes, "ball"), require_float_dtype(dtype, "ball"))


@jit_normalized((2, 3))
def _generalized_normal(key: Any, p: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return _generalized_normal_values(key, p, shape, dtype)


def _generalized_normal_values(key: Any, p: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    of_size, of_side = split_key(key, 2)
    inverse = 1.0 / p
    size = gamma_values(of_size, inverse, shape, dtype, False) ** inverse
    return rademacher_values(of_side, shape, dtype) * size


@jit_normalized((2, 3))
def _ball(key: Any, p: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    of_direction, of_length = split_key(key, 2)
    last = len(shape) - 1
    x = _generalized_normal_values(of_direction, p, shape, dtype)
    total = sum_in_float32(abs(x) ** p, (last,)) + _exponential(of_length, shape[:-1], dtype)
    return x / expand_dims(total ** (1.0 / p), (last,))
