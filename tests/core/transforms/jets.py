"""Functions whose Taylor series xlascope and jax have to agree on. Imports neither: `every(library)` is given one."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

ORDER = 4
#: What a function is a function of: the curve x(t) with its derivatives of order 0, 1, … at t = 0.
CURVES = {
    "x": [np.random.default_rng(3 + k).uniform(0.2, 0.8, (2, 3)).astype(np.float32) for k in range(ORDER + 1)],
    "y": [np.random.default_rng(13 + k).uniform(1.2, 1.9, (2, 3)).astype(np.float32) for k in range(ORDER + 1)],
    "m": [np.random.default_rng(23 + k).uniform(-1, 1, (3, 3)).astype(np.float32) for k in range(ORDER + 1)],
    "s": [np.float32(v) for v in (0.7, 1.0, -0.5, 0.25, 2.0)],
}
_ONE = """neg sign floor ceil round is_finite exp log sqrt rsqrt sin cos tanh logistic abs square erf
erf_inv log1p expm1 sinh cosh asinh atanh stop_gradient"""
_MORE = """
lax.acosh(y)
lax.integer_pow(x, 3)
lax.integer_pow(x, -2)
lax.integer_pow(x, 0)
lax.pow(x, y)
lax.pow(x, np.float32(2.5))
lax.pow(np.float32(2.5), x)
lax.add(x, y)
lax.sub(x, y)
lax.mul(x, y)
lax.mul(x, np.float32(3))
lax.div(x, y)
lax.div(np.float32(1), x)
lax.div(x, np.float32(3))
lax.max(x, y)
lax.min(x, y)
lax.max(x, x)
lax.atan2(x, y)
lax.rem(y, x)
lax.ge(x, y)
lax.eq(x, x)
lax.select(np.array([[True, False, True]] * 2), x, y)
lax.convert_element_type(x, np.float16).astype(np.float32)
lax.broadcast_in_dim(x, (4, 2, 3), (1, 2))
lax.reshape(x, (3, 2))
lax.transpose(x, (1, 0))
lax.squeeze(x[:1], (0,))
lax.expand_dims(x, (1,))
lax.rev(x, (0, 1))
lax.concatenate([x, y, x], 1)
lax.pad(x, s, [(1, 0, 1), (0, 1, 0)])
lax.slice(x, (0, 1), (2, 3))
lax.dynamic_slice(x, (1, 1), (1, 2))
lax.dynamic_update_slice(x, y[:1], (1, 0))
lax.dot(m, m)
lax.dot_general(x, y, (((1,), (1,)), ((0,), (0,))))
jnp.einsum('ij,kj->ik', x, m)
jnp.matmul(x, m)
jnp.sum(x, 1)
jnp.max(x, 1)
jnp.min(x)
jnp.max(x * 0 + 1)
jnp.mean(x)
jnp.var(x)
jnp.std(x, 1)
jnp.cumsum(x, 1)
jnp.cumprod(x, 1)
x[np.array([1, 0, 1]), np.array([2, 0, 1])]
x.at[np.array([0, 0])].add(y)
jnp.where(x > 0.5, x * y, jnp.sin(x))
jnp.linalg.norm(x)
jnp.power(x, 3)
x ** 2
x ** 0.5
2.0 ** x
jnp.outer(x, y)
jnp.trace(m)
jnp.tril(m)
jnp.mod(y, x)
nn.softmax(x)
nn.gelu(x)
nn.silu(x)
nn.logsumexp(x)
nn.elu(x - 0.5)
jit(lambda a: jnp.sin(a) * a)(x)
jit(lambda a, b: (a * b, 3.0, b))(x, y)
(x, [y, 3.0], {'c': s})
grad(lambda a: jnp.sum(jnp.sin(a) * a))(x)
vmap(lambda a: jnp.sum(a * a))(x)
jvp(jnp.tanh, (x,), (y,))[1]
"""
#: What jax has no rule for, or fails at; at hypot since 0.12.
NOT_IN_JAX = [
    *(f"lax.{name}(x)" for name in ["exp2", "cbrt", "tan", "asin", "acos", "atan"]),
    "lax.clamp(np.float32(0.3), x, np.float32(0.6))",
    "jnp.prod(x, 1)",
    "jnp.sort(x, 1)",
    "jnp.argmax(x, 1)",
    "x.at[0].set(y[1])",
    "jnp.sinc(x)",
    "jnp.hypot(x, y)",
    "jnp.logaddexp(x, y)",
    "jnp.clip(x, 0.3, 0.6)",
    "nn.softplus(x)",
    "nn.relu(x - 0.5)",
    "lax.cond(s > 0, lambda a: a * y, jnp.sin, x)",
    "lax.cond(s < 0, lambda a: a * y, lambda a: np.float32([[1, 2, 3]] * 2), x)",
    "lax.switch(1, [jnp.cos, lambda a: a * s, jnp.exp], x)",
    "lax.while_loop(lambda c: jnp.sum(c[0]) < 9, lambda c: (c[0] * y, c[1] + s, c[2]), (x, np.float32(0), x))",
    "lax.scan(lambda c, a: ((jnp.sin(c[0] * s) * a, c[1] + x), c[0] * c[1]), (x, x * 0), jnp.stack([x, y]))",
    "lax.scan(lambda c, a: (c * a, c), x, jnp.stack([y, np.ones((2, 3), np.float32)]), reverse=True)",
    "checkpoint(lambda a: jnp.sin(a) * y)(x)",
    "lax.fori_loop(0, 3, lambda i, c: (jnp.sin(c[0] * c[1]), y), (x, np.ones((2, 3), np.float32)))",
]
ROWS = [f"lax.{name}(x)" for name in _ONE.split()] + _MORE.strip().splitlines()


def function_of(library: Any, row: str) -> Any:
    """The row as a function of the curves, in order."""
    names = {
        "np": np,
        "jnp": library.numpy,
        **{name: getattr(library, name) for name in ("lax", "nn", "jit", "grad", "vmap", "jvp", "checkpoint")},
    }
    return lambda *curves: eval(row, {**names, **dict(zip(CURVES, curves, strict=True))})


def evaluate(library: Any, rows: list[str]) -> dict[str, list[np.ndarray]]:
    """For each row the values, and their derivatives of order 1, 2, … along the curves."""
    jet = importlib.import_module(f"{library.__name__}.experimental.jet").jet

    def run(*curves: Any) -> Any:
        series = [curve[1:] for curve in CURVES.values()]
        return {row: jet(function_of(library, row), curves, series) for row in rows}

    found = library.jit(run)(*(curve[0] for curve in CURVES.values()))
    return {row: [np.asarray(x) for x in library.tree_util.tree_leaves(of_row)] for row, of_row in found.items()}


def every(library: Any) -> dict[str, list[np.ndarray]]:
    """All rows that both libraries have."""
    return evaluate(library, ROWS)
