"""Expressions that xlascope.lax and jax.lax have to agree on. Imports neither: `every(library)` is given one."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

VALUES = {
    "x": np.array([-0.5, 0.25, 0.75], np.float32),
    "y": np.array([1.5, 2.0, -3.0], np.float32),
    "m": np.arange(12, dtype=np.float32).reshape(3, 4) - 5,
    "t": np.arange(24, dtype=np.float32).reshape(2, 3, 4),
    "i": np.array([3, -7, 2], np.int32),
    "b": np.array([True, False, True]),
    "n": np.int32(1),
    "c": np.array([1 + 2j, -0.5j, -3], np.complex64),
}
_ONE = """abs neg sign exp exp2 expm1 log1p sin cos tan asin acos atan sinh cosh tanh asinh atanh logistic cbrt square
erf erfc erf_inv floor ceil is_finite reciprocal stop_gradient lgamma digamma bessel_i1e optimization_barrier"""
_TWO = "add sub mul div rem pow atan2 max min eq ne lt le gt ge nextafter complex"
_MORE = """
lax.log(2)
lax.log(2.0)
lax.sqrt(m * m)
lax.rsqrt(m * m + 1)
lax.acosh(y * y)
lax.round(y, lax.RoundingMethod.TO_NEAREST_EVEN)
lax.integer_pow(x, 3)
lax.add(x, 1.0)
lax.mul(2.0, x)
lax.add(x, i)
lax.add(x, m)
lax.sin(i)
lax.bitwise_and(i, i)
lax.bitwise_not(i)
lax.bitwise_not(b)
lax.bitwise_xor(b, b)
lax.shift_left(i, i * 0 + 1)
lax.shift_right_arithmetic(i, i * 0 + 1)
lax.shift_right_logical(i, i * 0 + 1)
lax.select(b, x, y)
lax.select_n(b, x, y)
lax.clamp(-0.25, x, 0.5)
lax.convert_element_type(x, np.int32)
lax.convert_element_type(x, float)
lax.bitcast_convert_type(x, np.int32)
lax.broadcast(x, (2,))
lax.broadcast_in_dim(x, (3, 4), (0,))
lax.broadcast_in_dim(x, (4, 4), (0,))
lax.broadcast_shapes((2, 1), (1, 3))
lax.broadcast_shapes((2,), (3,))
lax.reshape(m, (4, 3))
lax.reshape(m, (2, 6), (1, 0))
lax.reshape(m, (5, 5))
lax.collapse(t, 1)
lax.collapse(t, 0, 2)
lax.squeeze(t[:1], (0,))
lax.squeeze(t, (0,))
lax.expand_dims(x, (0, 2))
lax.transpose(t, (2, 0, 1))
lax.transpose(t, (0, 1))
lax.rev(m, (0, 1))
lax.concatenate([x, y], 0)
lax.concatenate([m, m], 1)
lax.concatenate([x, m], 0)
lax.split(m, (1, 3), 1)
lax.pad(x, 0.0, [(1, 2, 1)])
lax.pad(m, 9.0, [(1, -1, 0), (0, 0, 2)])
lax.iota(np.int32, 4)
lax.broadcasted_iota(np.float32, (2, 3), 1)
lax.full((2, 2), 3.0)
lax.full((2,), 3, np.float32)
lax.full_like(x, 2)
lax.slice(m, (1, 0), (3, 4), (1, 2))
lax.slice(m, (0, 0), (4, 4))
lax.slice_in_dim(m, 1, 3)
lax.slice_in_dim(m, -3, None, 2, axis=1)
lax.index_in_dim(m, -1)
lax.index_in_dim(m, 1, axis=1, keepdims=False)
lax.index_in_dim(m, 7)
lax.dynamic_slice(m, (n, n), (2, 2))
lax.dynamic_slice(m, (2, -1), (2, 2))
lax.dynamic_slice(m, i[1:], (2, 2))
lax.dynamic_slice_in_dim(m, n, 2, axis=1)
lax.dynamic_index_in_dim(m, n)
lax.dynamic_index_in_dim(m, -1, axis=1, keepdims=False)
lax.dynamic_update_slice(m, m[:2, :2], (n, 3))
lax.dynamic_update_slice_in_dim(m, m[:1], 2, 0)
lax.dynamic_update_index_in_dim(m, x, n, 1)
lax.reduce_sum(m, (0,))
lax.reduce_prod(m, (1,))
lax.reduce_max(t, (0, 2))
lax.reduce_min(m, (0, 1))
lax.reduce_and(b, (0,))
lax.reduce_or(b, (0,))
lax.argmax(m, 1, np.int32)
lax.argmin(m, 0, np.int32)
lax.cumsum(m, axis=1)
lax.cumsum(m, axis=0, reverse=True)
lax.cumprod(m, axis=1)
lax.dot(x, y)
lax.dot(m.T, x)
lax.dot(m, m)
lax.dot_general(t, t, (((2,), (2,)), ((0,), (0,))))
lax.dot_general(t, m, (((1,), (0,)), ((), ())))
lax.sort(y)
lax.sort((y, x), num_keys=1)
lax.sort_key_val(y, x)
lax.sort(m, dimension=0)
lax.top_k(m, 2)
lax.batch_matmul(t, t.transpose(0, 2, 1))
lax.top_k(m, 3, axis=0)
lax.approx_max_k(x, 2)
lax.approx_min_k(m, 2, reduction_dimension=0)
lax.top_k(m, 5)
lax.top_k(m, -1)
lax.top_k(i, 2)
lax.top_k(np.array([1.0, np.nan, 3.0, 3.0], np.float32), 3)
lax.real(c)
lax.imag(c)
lax.conj(c)
lax.conj(x)
lax.real(x)
lax.imag(x)
lax.complex(x, i)
lax.complex(x, 1.0)
lax.complex(x[0], y[1])
lax.abs(c)
lax.sign(c)
lax.square(c)
lax.reduce_sum(c, (0,))
lax.reduce_prod(c, (0,))
lax.eq(c, c)
lax.lt(c, c)
lax.convert_element_type(c, np.float32)
lax.convert_element_type(c, np.bool_)
lax.convert_element_type(x, np.complex64)
lax.dot(c, c)
lax.cummax(m)
lax.cummax(m, 1, True)
lax.cummin(m, axis=1)
lax.cummin(i)
lax.cummax(b)
lax.cummax(x, axis=1)
lax.cumsum(x, axis=-1)
lax.cumlogsumexp(m, 1)
lax.cumlogsumexp(m, 0, reverse=True)
lax.cumlogsumexp(np.array([-np.inf, 1.0, np.inf, 2.0], np.float32))
lax.reduce_xor(i, (0,))
lax.reduce_xor(b, (0,))
lax.reduce_xor(x, (0,))
lax.population_count(i)
lax.population_count(b)
lax.clz(i)
lax.clz(x)
lax.mulhi(i * 400000000, i * 70000)
lax.mulhi(np.uint8(200), np.uint8(100))
lax.mulhi(x, x)
lax.nextafter(1.0, 2.0)
lax.reduce_precision(x, 5, 3)
lax.reduce_precision(x, 0, 3)
lax.polygamma(1.0, m * m + 1)
lax.zeta(2.0, m * m + 1)
lax.lgamma(np.array([0.5, -0.5, 0.0, -1.0, -2.5], np.float32))
lax.digamma(np.array([0.5, -0.5, -2.5], np.float32))
lax.erfc(np.array([-9.0, 3.0, 9.0], np.float32))
lax.lgamma(2.5)
lax.select_n(n, x, y, x * y)
lax.select_n(i, x, y, x * y)
lax.select_n(b, x, y, x)
lax.select_n(b, x)
lax.select_n(x, x, y)
lax.select_n(True, x, y)
lax.optimization_barrier((x, y))
lax.stack([x, y])
lax.stack([x, y], 1)
lax.stack([x, y], -1)
lax.stack([x, m])
lax.unstack(m)
lax.unstack(m, 1)
lax.tile(x, (2,))
lax.tile(m, (2, 3))
lax.tile(x, (2, 2))
lax.broadcast_like(1.0, x)
lax.broadcast_like(x[:1], m[:, :1])
lax.broadcast_to_rank(x, 3)
lax.broadcast_to_rank(m, 1)
lax.shape_as_value((2, 3))
lax.dtype(x)
lax.dtype(1.0)
lax.empty((2,), np.float32)
lax.gather(x, np.array([[5], [1], [-2]]), ROWS, (1,))
lax.gather(x, np.array([[5], [1], [-2]]), ROWS, (1,), mode="fill")
lax.gather(x, np.array([[5], [1], [-2]]), ROWS, (1,), mode="fill", fill_value=7)
lax.gather(i, np.array([[5], [1], [-2]]), ROWS, (1,), mode="fill")
lax.gather(x, np.array([[5], [1], [-2]]), ROWS, (1,), mode="clip")
lax.gather(x, np.array([[0], [2]]), ROWS, (1,), mode="promise_in_bounds", unique_indices=True, indices_are_sorted=True)
lax.gather(x, np.array([[0]]), ROWS, (1,), mode="zap")
lax.scatter(x, np.array([[5], [1]]), y[:2], PUT)
lax.scatter_add(x, np.array([[1], [1], [-1]]), y, PUT)
lax.scatter_sub(x, np.array([[1], [1], [9]]), y, PUT)
lax.scatter_mul(x, np.array([[1], [1], [9]]), y, PUT)
lax.scatter_mul(x, np.array([[1], [1], [9]]), y, PUT, mode="clip")
lax.scatter_mul(x, np.array([[1], [0]]), y[:2], PUT, unique_indices=True, mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS)
lax.scatter_min(x, np.array([[1], [1], [0]]), y, PUT)
lax.scatter_max(i, np.array([[1], [1], [0]]), i, PUT)
lax.scatter_max(x, np.array([[1], [1], [0]]), y, PUT, mode="clip")
lax.scatter_apply(x, np.array([[1], [1], [0]]), lambda v: v * 3, PUT, update_shape=(3,))
lax.scatter_mul(x, np.array([[1], [0]]), i[:2], PUT)
str(lax.GatherScatterMode.from_any("clip"))
"""
ROWS = [
    *(f"lax.{name}(x)" for name in _ONE.split()),
    *(f"lax.{name}(x, y)" for name in _TWO.split()),
    *(row for row in _MORE.splitlines() if row),
]


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and any(hasattr(part, "dtype") for part in value):
        return [np.asarray(part) for part in value]
    return np.asarray(value) if hasattr(value, "dtype") else value


def evaluate(library: Any, row: str, *, jit: bool = False) -> Any:
    """What a row gives, or the name of the builtin class of its error."""
    arrays = {name: library.numpy.asarray(value) for name, value in VALUES.items()}

    def function(given: dict[str, Any]) -> Any:
        numbers = {
            "ROWS": library.lax.GatherDimensionNumbers((), (0,), (0,)),
            "PUT": library.lax.ScatterDimensionNumbers((), (0,), (0,)),
        }
        return eval(row, {"lax": library.lax, "np": np, **numbers, **given})

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _plain((library.jit(function) if jit else function)(arrays))
    except Exception as error:
        return "raises " + next(cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "builtins")


def every(library: Any) -> dict[str, Any]:
    """What all rows give."""
    return {row: evaluate(library, row) for row in ROWS}
