"""Test cases of reductions, products, convolutions, factorizations, transforms, random numbers and control flow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .... import lax, nn, random
from .... import numpy as jnp
from .row import FLOATS, NUMBERS, Case, bits, booleans, cases_of, distinct, indices, uniform

_NHWC = ("NHWC", "HWIO", "NHWC")


def reduction_cases() -> Iterator[Case]:
    """Yield test cases of reductions over axes and over windows."""
    cube = uniform(2, 3, 4)
    yield from cases_of("sum", lambda x: jnp.sum(x, (0, 2)), cube, dtypes=NUMBERS, oracle=lambda x: np.sum(x, (0, 2)))
    yield from cases_of("sum of many", jnp.sum, uniform(5000), dtypes=FLOATS, oracle=np.sum, tolerance=3)
    yield from cases_of(
        "sum of rows",
        lambda x: jnp.sum(x, 1),
        uniform(300, 700),
        derive=False,
        oracle=lambda x: np.sum(x, 1),
        tolerance=3,
    )
    yield from cases_of(
        "sum of columns",
        lambda x: jnp.sum(x, 0),
        uniform(300, 700),
        derive=False,
        oracle=lambda x: np.sum(x, 0),
        tolerance=3,
    )
    yield from cases_of("product", lambda x: jnp.prod(x, 1), cube, oracle=lambda x: np.prod(x, 1))
    yield from cases_of(
        "largest, least", lambda x: (jnp.max(x, 1), jnp.min(x, 0)), distinct(3, 5), dtypes=("float32", "int32")
    )
    yield from cases_of("all, any", lambda x: (jnp.all(x, 1), jnp.any(x, 0)), booleans(3, 4), derive=False)
    yield from cases_of("mean, var, std", lambda x: (x.mean(1), x.var(0), x.std(2)), cube)
    yield from cases_of("logsumexp", lambda x: nn.logsumexp(x, 1), uniform(3, 5))
    yield from cases_of("softmax", lambda x: nn.softmax(x, 1), uniform(3, 5), dtypes=FLOATS)
    yield from cases_of("window sum", lambda x: _reduce_windows(x, 0.0, lax.add), uniform(1, 6, 6, 2))
    yield from cases_of("window max", lambda x: _reduce_windows(x, -jnp.inf, lax.max), distinct(1, 6, 6, 2))
    any_program = lambda x: lax.reduce(x, np.float32(1), lambda a, b: a * b + 1.0 - 1.0, (1,))  # noqa: E731
    yield from cases_of(
        "reduction by a program", any_program, uniform(2, 3, low=0.9, high=1.1), derive=False, tolerance=5
    )


def product_cases() -> Iterator[Case]:
    """Yield test cases of matrix products and convolutions."""
    yield from cases_of(
        "matmul", jnp.matmul, uniform(5, 7), uniform(7, 3), dtypes=(*FLOATS, "complex64"), oracle=np.matmul, tolerance=3
    )
    yield from cases_of(
        "matmul of whole numbers", jnp.matmul, uniform(5, 7), uniform(7, 3), dtypes=("int32",), oracle=np.matmul
    )
    yield from cases_of(
        "matmul of stacks", jnp.matmul, uniform(3, 5, 7), uniform(3, 7, 2), dtypes=("float32", "bfloat16"), tolerance=3
    )
    yield from cases_of("matrix and vector", jnp.matmul, uniform(5, 7), uniform(7), tolerance=3, oracle=np.matmul)
    yield from cases_of(
        "large matmul", jnp.matmul, uniform(130, 257), uniform(257, 190), tolerance=10, oracle=np.matmul
    )
    yield from cases_of(
        "summed in float32",
        _dot_in_float32,
        uniform(16, 32),
        uniform(32, 16),
        dtypes=("float16", "bfloat16"),
        tolerance=2,
    )
    yield from cases_of(
        "einsum",
        lambda x, y: jnp.einsum("bqhd,bkhd->bhqk", x, y),
        uniform(2, 3, 2, 4),
        uniform(2, 5, 2, 4),
        tolerance=3,
    )
    yield from cases_of(
        "outer, tensordot", lambda x, y: (jnp.outer(x, y), jnp.tensordot(x, y, 0)), uniform(3), uniform(4)
    )
    image, kernel = uniform(2, 8, 8, 3), uniform(3, 3, 3, 4)
    yield from cases_of("convolution", lambda x, k: _convolve(x, k), image, kernel, dtypes=FLOATS, tolerance=5)
    yield from cases_of(
        "strided convolution", lambda x, k: _convolve(x, k, (2, 2), padding="VALID"), image, kernel, tolerance=5
    )
    yield from cases_of(
        "dilated convolution", lambda x, k: _convolve(x, k, rhs_dilation=(2, 2)), image, kernel, tolerance=5
    )
    grouped = lambda x, k: _convolve(x, k, feature_group_count=3)  # noqa: E731
    yield from cases_of("grouped convolution", grouped, image, uniform(3, 3, 1, 6), tolerance=5)
    yield from cases_of(
        "convolution in 1d", lambda x, y: jnp.convolve(x, y), uniform(9), uniform(4), tolerance=3, oracle=np.convolve
    )
    yield from cases_of(
        "attention", _causal_attention, *[uniform(1, 6, 2, 4)] * 3, dtypes=("float32", "bfloat16"), tolerance=5
    )


def algebra_cases() -> Iterator[Case]:
    """Yield test cases of factorizations, compared independently of signs, and of Fourier transforms."""
    square, linalg = uniform(6, 6), jnp.linalg
    yield from cases_of("cholesky", lambda x: linalg.cholesky(_make_positive_definite(x)), square, tolerance=10)
    yield from cases_of("qr", lambda x: (lambda q, r: q @ r)(*linalg.qr(x)), square, tolerance=10)
    yield from cases_of("eigh", lambda x: linalg.eigh(_make_positive_definite(x))[0], square, tolerance=20)
    yield from cases_of("svd", lambda x: linalg.svd(x, compute_uv=False), uniform(6, 4), tolerance=10)
    yield from cases_of(
        "lu, solve", lambda x, b: linalg.solve(_make_positive_definite(x), b), square, uniform(6, 2), tolerance=10
    )
    triangular = lambda x, b: lax.linalg.triangular_solve(jnp.tril(x) + 4 * jnp.eye(6), b, left_side=True, lower=True)  # noqa: E731
    yield from cases_of(
        "triangular solve", triangular, square, uniform(6, 2), dtypes=("float32", "complex64"), tolerance=10
    )
    yield from cases_of(
        "det, inverse",
        lambda x: (linalg.slogdet(_make_positive_definite(x)), linalg.inv(_make_positive_definite(x))),
        square,
        tolerance=20,
    )
    yield from cases_of(
        "tridiagonal solve", _solve_tridiagonal, uniform(5), uniform(5), uniform(5), uniform(5, 2), tolerance=20
    )
    yield from cases_of("fft", jnp.fft.fft, uniform(3, 16), dtypes=("complex64",), oracle=np.fft.fft, tolerance=5)
    yield from cases_of(
        "rfft, irfft", lambda x: (jnp.fft.rfft(x), jnp.fft.irfft(jnp.fft.rfft(x) * 2)), uniform(3, 16), tolerance=5
    )
    yield from cases_of(
        "fft in 2d", jnp.fft.fft2, uniform(6, 10), dtypes=("complex64",), oracle=np.fft.fft2, tolerance=10
    )
    yield from cases_of(
        "fft of a prime", jnp.fft.fft, uniform(37), dtypes=("complex64",), oracle=np.fft.fft, tolerance=10
    )


def flow_cases() -> Iterator[Case]:
    """Yield test cases of control flow, random numbers and functions with custom rules."""
    yield from cases_of("cond", lambda p, x: lax.cond(p, jnp.sin, jnp.cos, x), booleans(), uniform(4))
    yield from cases_of(
        "switch", lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.tanh], x), indices(high=2), uniform(4)
    )
    yield from cases_of("scan", lambda x, xs: lax.scan(lambda c, y: (c * 0.5 + y, c), x, xs), uniform(3), uniform(7, 3))
    yield from cases_of("fori loop", lambda x: lax.fori_loop(0, 5, lambda i, y: jnp.sin(y) + i, x), uniform(4))
    yield from cases_of(
        "while loop",
        lambda x: lax.while_loop(lambda y: jnp.sum(y) < 50, lambda y: y * 2, x),
        uniform(4, low=0.5),
        derive=False,
    )
    yield from cases_of("associative scan", lambda x: lax.associative_scan(jnp.multiply, x), uniform(7))
    yield from cases_of("map", lambda x: lax.map(lambda y: y * jnp.sum(y), x), uniform(4, 3))
    yield from cases_of("random bits", lambda k: random.bits(random.wrap_key_data(k), (50,)), bits(2), derive=False)
    yield from cases_of(
        "random normal", lambda k: random.normal(random.wrap_key_data(k), (50,)), bits(2), derive=False, tolerance=5
    )
    yield from cases_of(
        "random permutation", lambda k: random.permutation(random.wrap_key_data(k), 20), bits(2), derive=False
    )
    yield from cases_of(
        "random gamma",
        lambda k: random.gamma(random.wrap_key_data(k), 2.5, (20,)),
        bits(2),
        derive=False,
        tolerance=50,
    )
    yield from cases_of(
        "random choice", lambda k: random.categorical(random.wrap_key_data(k), np.zeros((5, 4))), bits(2), derive=False
    )
    yield from cases_of("gelu, silu, elu", lambda x: (nn.gelu(x), nn.silu(x), nn.elu(x)), uniform(3, 4))
    yield from cases_of("barrier", lambda x: lax.optimization_barrier(x * 2) + lax.stop_gradient(x), uniform(4))


def _reduce_windows(x: Any, start: float, reduce: Any) -> Any:
    return lax.reduce_window(x, np.float32(start), reduce, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")


def _convolve(x: Any, kernel: Any, strides: tuple[int, int] = (1, 1), padding: str = "SAME", **options: Any) -> Any:
    return lax.conv_general_dilated(x, kernel, strides, padding, dimension_numbers=_NHWC, **options)


def _dot_in_float32(x: Any, y: Any) -> Any:
    return lax.dot(x, y, preferred_element_type=jnp.float32)


def _causal_attention(query: Any, key: Any, value: Any) -> Any:
    return nn.dot_product_attention(query, key, value, is_causal=True)


def _make_positive_definite(x: Any) -> Any:
    return x @ x.T + 6 * jnp.eye(x.shape[0])


def _solve_tridiagonal(lower: Any, diagonal: Any, upper: Any, b: Any) -> Any:
    return lax.linalg.tridiagonal_solve(lower.at[0].set(0), diagonal + 8.0, upper.at[-1].set(0), b)
