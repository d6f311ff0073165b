"""Calls of the array API standard's functions, for NumPy, which follows it, and for a library that is given.

A row is ``kind | expression``: it is made for each dtype of the kind, of which ``x`` is a matrix, ``v`` a vector, ``t``
of three axes, ``s`` without axes and ``empty`` without elements; ``p`` is a matrix that can be factored.
"""

from __future__ import annotations

import runpy
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

_FUNCTIONS = runpy.run_path(str(Path(__file__).with_name("functions.py")))

_ROWS = """
any | xp.asarray(x)
any | xp.asarray(x, copy=True)
any | xp.zeros_like(xp.empty_like(x)), xp.zeros_like(xp.empty((2, 3), dtype=x.dtype))
any | xp.eye(3, 4, k=1, dtype=x.dtype)
any | xp.full((2, 3), s)
any | xp.full_like(x, 1)
any | xp.ones((2, 3), dtype=x.dtype)
any | xp.ones_like(x)
any | xp.zeros((2, 3), dtype=x.dtype)
any | xp.zeros_like(x)
any | xp.tril(x, k=1)
any | xp.triu(x, k=-1)
any | xp.meshgrid(v, v, indexing="ij")
any | xp.astype(x, xp.float64) if x.dtype.kind != "c" else x
any | xp.astype(x, xp.bool)
numeric | xp.arange(0, 7, 2, dtype=x.dtype)
floating | xp.linspace(0, 3, 4, dtype=x.dtype, endpoint=False)
any | xp.result_type(x, x) == x.dtype
any | xp.isdtype(x.dtype, ("bool", "integral")), xp.isdtype(x.dtype, "numeric"), xp.isdtype(x.dtype, x.dtype)
any | xp.can_cast(x.dtype, xp.complex128)
real | xp.clip(x, 1, 2)
real | xp.clip(x, x[0], None)
any | xp.take(x, xp.asarray([2, 0]), axis=0)
any | xp.take_along_axis(x, xp.asarray([[1], [0], [3]]), axis=-1)
any | x[1], x[-1, 2], x[:, 1:3], x[..., ::-1], x[None, 2], x[()]
any | x[xp.asarray([True, False, True])], x[:, xp.asarray([2, 0])]
any | empty[1:], empty[:0]
numeric | xp.matmul(x, x.T)
numeric | xp.matmul(t, xp.matrix_transpose(t))
any | xp.matrix_transpose(t), x.T, t.mT
numeric | xp.tensordot(x, x, axes=1) if x.shape[0] == x.shape[1] else xp.tensordot(x, x.T, axes=1)
numeric | xp.tensordot(t, x, axes=((1, 2), (0, 1)))
numeric | xp.vecdot(x, x)
any | xp.broadcast_arrays(x, v)
any | xp.broadcast_to(v, (3, 4))
any | xp.concat([x, x], axis=1), xp.concat([x, t], axis=None)
any | xp.expand_dims(x, axis=1)
any | xp.flip(t), xp.flip(t, axis=1), xp.flip(t, axis=(0, 2))
any | xp.moveaxis(t, 0, -1), xp.permute_dims(t, (2, 0, 1))
any | xp.repeat(x, 2), xp.repeat(x, xp.asarray([1, 0, 2]), axis=0)
any | xp.reshape(t, (4, -1)), xp.reshape(empty, (3, 0)), xp.reshape(s, (1,))
any | xp.roll(x, 2), xp.roll(x, (1, -1), axis=(0, 1))
any | xp.squeeze(x[:1], 0)
any | xp.stack([x, x], axis=-1)
any | xp.tile(x, (2, 1, 2))
any | xp.unstack(x, axis=1)
real | xp.argmax(x), xp.argmax(x, axis=1, keepdims=True), xp.argmin(x, axis=0)
any | xp.count_nonzero(x), xp.count_nonzero(x, axis=1, keepdims=True)
any | xp.nonzero(x)
real | xp.searchsorted(xp.sort(v), v, side="right"), xp.searchsorted(v, s, sorter=xp.argsort(v))
any | xp.where(x == x[0], x, s)
any | xp.sort(xp.unique_values(x))
any | xp.unique_counts(v)
any | xp.unique_inverse(x)
any | xp.unique_all(v)
real | xp.sort(x), xp.sort(x, axis=0, descending=True) if xp is not np else xp.flip(xp.sort(x, axis=0), axis=0)
real | xp.argsort(x), xp.argsort(x, axis=0, stable=True)
numeric | xp.cumulative_sum(v), xp.cumulative_sum(x, axis=1, include_initial=True)
numeric | xp.cumulative_sum(x, axis=0, dtype=x.dtype)
numeric | xp.cumulative_prod(v), xp.cumulative_prod(x, axis=0)
real | xp.max(x), xp.max(x, axis=(0, 1), keepdims=True), xp.min(t, axis=1)
numeric | xp.sum(x), xp.sum(t, axis=(0, 2), keepdims=True), xp.sum(x, axis=()), xp.sum(empty), xp.sum(x, dtype=x.dtype)
numeric | xp.prod(x), xp.prod(x, axis=1), xp.prod(empty)
floating | xp.mean(x), xp.mean(t, axis=1, keepdims=True)
real floating | xp.std(x, correction=1), xp.var(x, axis=0), xp.var(t, axis=(0, 1), correction=0.5)
any | xp.all(x), xp.any(x, axis=1), xp.all(empty), xp.any(empty), xp.all(x, axis=(), keepdims=True)
numeric | xp.diff(x), xp.diff(x, axis=0, n=2), xp.diff(v, prepend=v[:1], append=v[-1:])
real floating | xp.linalg.cholesky(p), xp.linalg.cholesky(p, upper=True)
numeric | xp.linalg.cross(x[:, :3], x[:, 1:]), xp.linalg.outer(v, v), xp.linalg.diagonal(t, offset=1)
floating | xp.linalg.det(p), xp.linalg.slogdet(p), xp.linalg.inv(p), xp.linalg.solve(p, p[:, 0]), xp.linalg.solve(p, p)
floating | xp.linalg.eigvalsh(p), xp.linalg.eigh(p).eigenvalues, xp.linalg.svdvals(x), xp.linalg.svd(x).S
floating | xp.linalg.matrix_norm(t), xp.linalg.matrix_norm(x, ord=1, keepdims=True), xp.linalg.vector_norm(x)
floating | xp.linalg.vector_norm(t, axis=(0, 2), ord=3, keepdims=True), xp.linalg.vector_norm(v, ord=float("inf"))
numeric | xp.linalg.matrix_power(p, 3), xp.linalg.trace(x), xp.linalg.trace(t, offset=1), xp.linalg.vecdot(x, x)
floating | xp.linalg.matrix_power(p, -1), xp.linalg.matrix_rank(p), xp.linalg.pinv(x), xp.abs(xp.linalg.qr(p).R)
complex floating | xp.fft.fft(x), xp.fft.ifft(x, axis=0), xp.fft.fftn(t, axes=(0, 2)), xp.fft.ifftn(x, norm="ortho")
real floating | xp.fft.rfft(v), xp.fft.rfftn(t), xp.fft.ihfft(v), xp.fft.rfft(v, n=3, norm="forward")
complex floating | xp.fft.irfft(v), xp.fft.irfftn(x), xp.fft.hfft(v), xp.fft.irfft(x, n=5, axis=0)
numeric | xp.fft.fftshift(x), xp.fft.ifftshift(v, axes=0)
bool | xp.fft.fftfreq(5, d=0.5), xp.fft.rfftfreq(4)
bool | xp.arange(5), xp.arange(2.5), xp.ones(2), xp.zeros((), dtype=xp.int8), xp.linspace(0, 1, 3), xp.asarray([1, 2])
numeric | x + 1, 2 * x, x - x[0], -x, +x, abs(x), x @ x.T, x ** 2
any | x == x[0], x != s
real | x < x[0], x >= s, x // 2, x % 2
integer or bool | x & x[0], x | x, x ^ x[0], ~x
integer | x << 1, x >> 1
"""


def _numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    """Small numbers that every dtype has, none of them 0 in front."""
    count = int(np.prod(shape, dtype=int))
    drawn = np.random.default_rng(count).permutation(np.arange(1, count + 1)) % 5
    if dtype == "bool":
        return (drawn % 2 == 1).reshape(shape)
    imaginary = 1j * drawn[::-1] if dtype.startswith("complex") else 0
    return (drawn + imaginary).astype(dtype).reshape(shape)


def operands(dtype: str) -> dict[str, np.ndarray[Any, Any]]:
    """What the names in the rows stand for."""
    whole = _numbers((3, 3), dtype)
    product = whole if dtype == "bool" else whole @ whole.conj().T + np.eye(3, dtype=dtype)
    return {
        "x": _numbers((3, 4), dtype),
        "v": _numbers((4,), dtype),  # no zeros: integers divided by them may be anything
        "t": _numbers((2, 3, 4), dtype),
        "s": _numbers((), dtype),
        "empty": _numbers((0, 3), dtype),
        "p": product.astype(dtype),
    }


def rows(dtypes: str | None = None) -> Iterator[tuple[str, str]]:
    """Every expression, with every dtype that it is for, or those of them that are named."""
    chosen = _FUNCTIONS["DTYPES"] if dtypes is None else dtypes.split()
    for expression, kind in _expressions():
        yield from ((expression, dtype) for dtype in _FUNCTIONS["KINDS"][kind] if dtype in chosen)


def _expressions() -> Iterator[tuple[str, str]]:
    for line in filter(None, _ROWS.splitlines()):
        kind, _, expression = line.partition(" | ")
        yield expression, kind
    for kind, names in _FUNCTIONS["ONE"].items():
        yield from ((f"xp.{name}(x), xp.{name}(s), xp.{name}(empty)", kind) for name in names.split())
    for kind, names in _FUNCTIONS["TWO"].items():
        yield from ((f"xp.{name}(x, v), xp.{name}(t, s), xp.{name}(empty, s)", kind) for name in names.split())


def _evaluated(xp: Any, expression: str, values: dict[str, Any]) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return eval(expression, {"xp": xp, "np": np}, values)


def _arrays(found: Any) -> Any:
    return [_arrays(each) for each in found] if isinstance(found, (tuple, list)) else np.asarray(found)


def _results(xp: Any, expression: str, dtype: str) -> Any:
    try:
        return _arrays(_evaluated(xp, expression, {name: xp.asarray(x) for name, x in operands(dtype).items()}))
    except Exception as error:
        return type(error).__name__


def every(library: Any, dtypes: str | None = None) -> dict[str, Any]:
    """What each row gives with a library: arrays of NumPy, in lists, or the name of an error."""
    return {f"{dtype}: {row}": _results(library.numpy, row, dtype) for row, dtype in rows(dtypes)}


def of_numpy(dtypes: str | None = None) -> dict[str, Any]:
    """What each row gives with NumPy."""
    return {f"{dtype}: {row}": _results(np, row, dtype) for row, dtype in rows(dtypes)}


def types(library: Any, dtypes: str | None = None) -> dict[str, Any]:
    """The shapes and dtypes of what the rows give, without computing it, but for those that depend on values."""
    return {
        f"{dtype}: {row}": _types(library, row, dtype)
        for row, dtype in rows(dtypes)
        if not row.startswith(("xp.unique", "xp.sort(xp.unique", "xp.nonzero"))
    }


def _types(library: Any, row: str, dtype: str) -> Any:
    try:
        return shapes_of(library.eval_shape(lambda values: _evaluated(library.numpy, row, values), operands(dtype)))
    except Exception as error:
        return type(error).__name__


def shapes_of(found: Any) -> Any:
    """The shapes and dtypes of arrays in lists."""
    if isinstance(found, (tuple, list)):
        return [shapes_of(each) for each in found]
    if isinstance(found, str):
        return found
    found = found if hasattr(found, "dtype") else np.asarray(found)
    return tuple(found.shape), np.dtype(found.dtype).name
