"""Reductions, products, convolutions, factorizations, transforms, random numbers, control flow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .... import lax, nn, random
from .... import numpy as jnp
from .row import FLOATS, NUMBERS, Case, apart, index, real, row, truth, words

_NHWC = ("NHWC", "HWIO", "NHWC")


def reduction_cases() -> Iterator[Case]:
    """Yield reductions over axes and over windows."""
    cube = real(2, 3, 4)
    yield from row("sum", lambda x: jnp.sum(x, (0, 2)), cube, dtypes=NUMBERS, oracle=lambda x: np.sum(x, (0, 2)))
    yield from row("sum of many", jnp.sum, real(5000), dtypes=FLOATS, oracle=np.sum, tolerance=3)
    yield from row(
        "sum of rows", lambda x: jnp.sum(x, 1), real(300, 700), derive=False, oracle=lambda x: np.sum(x, 1), tolerance=3
    )
    yield from row(
        "sum of columns",
        lambda x: jnp.sum(x, 0),
        real(300, 700),
        derive=False,
        oracle=lambda x: np.sum(x, 0),
        tolerance=3,
    )
    yield from row("product", lambda x: jnp.prod(x, 1), cube, oracle=lambda x: np.prod(x, 1))
    yield from row("largest, least", lambda x: (jnp.max(x, 1), jnp.min(x, 0)), apart(3, 5), dtypes=("float32", "int32"))
    yield from row("all, any", lambda x: (jnp.all(x, 1), jnp.any(x, 0)), truth(3, 4), derive=False)
    yield from row("mean, var, std", lambda x: (x.mean(1), x.var(0), x.std(2)), cube)
    yield from row("logsumexp", lambda x: nn.logsumexp(x, 1), real(3, 5))
    yield from row("softmax", lambda x: nn.softmax(x, 1), real(3, 5), dtypes=FLOATS)
    yield from row("window sum", lambda x: _windows(x, 0.0, lax.add), real(1, 6, 6, 2))
    yield from row("window max", lambda x: _windows(x, -jnp.inf, lax.max), apart(1, 6, 6, 2))
    any_program = lambda x: lax.reduce(x, np.float32(1), lambda a, b: a * b + 1.0 - 1.0, (1,))  # noqa: E731
    yield from row("reduction by a program", any_program, real(2, 3, low=0.9, high=1.1), derive=False, tolerance=5)


def product_cases() -> Iterator[Case]:
    """Yield products of matrices and convolutions."""
    yield from row(
        "matmul", jnp.matmul, real(5, 7), real(7, 3), dtypes=(*FLOATS, "complex64"), oracle=np.matmul, tolerance=3
    )
    yield from row("matmul of whole numbers", jnp.matmul, real(5, 7), real(7, 3), dtypes=("int32",), oracle=np.matmul)
    yield from row(
        "matmul of stacks", jnp.matmul, real(3, 5, 7), real(3, 7, 2), dtypes=("float32", "bfloat16"), tolerance=3
    )
    yield from row("matrix and vector", jnp.matmul, real(5, 7), real(7), tolerance=3, oracle=np.matmul)
    yield from row("large matmul", jnp.matmul, real(130, 257), real(257, 190), tolerance=10, oracle=np.matmul)
    yield from row(
        "summed in float32", _widening, real(16, 32), real(32, 16), dtypes=("float16", "bfloat16"), tolerance=2
    )
    yield from row(
        "einsum", lambda x, y: jnp.einsum("bqhd,bkhd->bhqk", x, y), real(2, 3, 2, 4), real(2, 5, 2, 4), tolerance=3
    )
    yield from row("outer, tensordot", lambda x, y: (jnp.outer(x, y), jnp.tensordot(x, y, 0)), real(3), real(4))
    image, kernel = real(2, 8, 8, 3), real(3, 3, 3, 4)
    yield from row("convolution", lambda x, k: _convolve(x, k), image, kernel, dtypes=FLOATS, tolerance=5)
    yield from row(
        "strided convolution", lambda x, k: _convolve(x, k, (2, 2), padding="VALID"), image, kernel, tolerance=5
    )
    yield from row("dilated convolution", lambda x, k: _convolve(x, k, rhs_dilation=(2, 2)), image, kernel, tolerance=5)
    grouped = lambda x, k: _convolve(x, k, feature_group_count=3)  # noqa: E731
    yield from row("grouped convolution", grouped, image, real(3, 3, 1, 6), tolerance=5)
    yield from row(
        "convolution in 1d", lambda x, y: jnp.convolve(x, y), real(9), real(4), tolerance=3, oracle=np.convolve
    )
    yield from row("attention", _attention, *[real(1, 6, 2, 4)] * 3, dtypes=("float32", "bfloat16"), tolerance=5)


def algebra_cases() -> Iterator[Case]:
    """Yield factorizations, each by what does not depend on signs, and Fourier transforms."""
    square, linalg = real(6, 6), jnp.linalg
    yield from row("cholesky", lambda x: linalg.cholesky(_definite(x)), square, tolerance=10)
    yield from row("qr", lambda x: (lambda q, r: q @ r)(*linalg.qr(x)), square, tolerance=10)
    yield from row("eigh", lambda x: linalg.eigh(_definite(x))[0], square, tolerance=20)
    yield from row("svd", lambda x: linalg.svd(x, compute_uv=False), real(6, 4), tolerance=10)
    yield from row("lu, solve", lambda x, b: linalg.solve(_definite(x), b), square, real(6, 2), tolerance=10)
    triangular = lambda x, b: lax.linalg.triangular_solve(jnp.tril(x) + 4 * jnp.eye(6), b, left_side=True, lower=True)  # noqa: E731
    yield from row("triangular solve", triangular, square, real(6, 2), dtypes=("float32", "complex64"), tolerance=10)
    yield from row(
        "det, inverse", lambda x: (linalg.slogdet(_definite(x)), linalg.inv(_definite(x))), square, tolerance=20
    )
    yield from row("tridiagonal solve", _tridiagonal, real(5), real(5), real(5), real(5, 2), tolerance=20)
    yield from row("fft", jnp.fft.fft, real(3, 16), dtypes=("complex64",), oracle=np.fft.fft, tolerance=5)
    yield from row(
        "rfft, irfft", lambda x: (jnp.fft.rfft(x), jnp.fft.irfft(jnp.fft.rfft(x) * 2)), real(3, 16), tolerance=5
    )
    yield from row("fft in 2d", jnp.fft.fft2, real(6, 10), dtypes=("complex64",), oracle=np.fft.fft2, tolerance=10)
    yield from row("fft of a prime", jnp.fft.fft, real(37), dtypes=("complex64",), oracle=np.fft.fft, tolerance=10)


def flow_cases() -> Iterator[Case]:
    """Yield control flow, random numbers and functions with rules of their own."""
    yield from row("cond", lambda p, x: lax.cond(p, jnp.sin, jnp.cos, x), truth(), real(4))
    yield from row("switch", lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.tanh], x), index(high=2), real(4))
    yield from row("scan", lambda x, xs: lax.scan(lambda c, y: (c * 0.5 + y, c), x, xs), real(3), real(7, 3))
    yield from row("fori loop", lambda x: lax.fori_loop(0, 5, lambda i, y: jnp.sin(y) + i, x), real(4))
    yield from row(
        "while loop",
        lambda x: lax.while_loop(lambda y: jnp.sum(y) < 50, lambda y: y * 2, x),
        real(4, low=0.5),
        derive=False,
    )
    yield from row("associative scan", lambda x: lax.associative_scan(jnp.multiply, x), real(7))
    yield from row("map", lambda x: lax.map(lambda y: y * jnp.sum(y), x), real(4, 3))
    yield from row("random bits", lambda k: random.bits(random.wrap_key_data(k), (50,)), words(2), derive=False)
    yield from row(
        "random normal", lambda k: random.normal(random.wrap_key_data(k), (50,)), words(2), derive=False, tolerance=5
    )
    yield from row(
        "random permutation", lambda k: random.permutation(random.wrap_key_data(k), 20), words(2), derive=False
    )
    yield from row(
        "random gamma",
        lambda k: random.gamma(random.wrap_key_data(k), 2.5, (20,)),
        words(2),
        derive=False,
        tolerance=50,
    )
    yield from row(
        "random choice", lambda k: random.categorical(random.wrap_key_data(k), np.zeros((5, 4))), words(2), derive=False
    )
    yield from row("gelu, silu, elu", lambda x: (nn.gelu(x), nn.silu(x), nn.elu(x)), real(3, 4))
    yield from row("barrier", lambda x: lax.optimization_barrier(x * 2) + lax.stop_gradient(x), real(4))


def _windows(x: Any, start: float, reduce: Any) -> Any:
    return lax.reduce_window(x, np.float32(start), reduce, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")


def _convolve(x: Any, kernel: Any, strides: tuple[int, int] = (1, 1), padding: str = "SAME", **options: Any) -> Any:
    return lax.conv_general_dilated(x, kernel, strides, padding, dimension_numbers=_NHWC, **options)


def _widening(x: Any, y: Any) -> Any:
    return lax.dot(x, y, preferred_element_type=jnp.float32)


def _attention(query: Any, key: Any, value: Any) -> Any:
    return nn.dot_product_attention(query, key, value, is_causal=True)


def _definite(x: Any) -> Any:
    return x @ x.T + 6 * jnp.eye(x.shape[0])


def _tridiagonal(lower: Any, diagonal: Any, upper: Any, b: Any) -> Any:
    return lax.linalg.tridiagonal_solve(lower.at[0].set(0), diagonal + 8.0, upper.at[-1].set(0), b)
