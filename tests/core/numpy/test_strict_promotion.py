"""The strict settings of promotion are about the user's operations, not about what the library does inside."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import nn, settings
from xlascope.scipy import fft, linalg, optimize, signal, stats
from xlascope.scipy.cluster import vq

X = np.float32([1.5, -0.5, 2.0, 0.25])
P = np.float32([0.1, 0.2, 0.3, 0.4])
I = np.int32([2, 0, 1, 3])  # noqa: E741
M = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
S = np.float32([[2, 1, 0], [-1, 3, 1], [0, 1, 4]])
WAVE = np.sin(np.arange(64, dtype=np.float32))
U = np.uint8([1, 200, 7])

#: Functions of operands that fit: none of them may raise.
ALLOWED: dict[str, Callable[[], Any]] = {
    "NumPy's whole exponent": lambda: jnp.asarray(X) ** np.int32(2),
    "insert": lambda: jnp.insert(M, jnp.array([0, 2]), 1.0, axis=1),
    "packbits": lambda: jnp.packbits(M > 0, axis=1),
    "unpackbits": lambda: jnp.unpackbits(jnp.asarray(U)),
    "trapezoid": lambda: jnp.trapezoid(M, x=jnp.asarray(X), axis=1),
    "einsum": lambda: jnp.einsum("i,j->ij", jnp.asarray(X), P),
    "outer": lambda: jnp.add.outer(jnp.asarray(X), M),
    "outer of a rule": lambda: jnp.logaddexp.outer(jnp.asarray(X), P),
    "reduceat": lambda: jnp.multiply.reduceat(jnp.asarray(M), jnp.array([0, 2]), axis=1),
    "minimize": lambda: optimize.minimize(lambda x: jnp.sum(x * x), jnp.asarray(X), method="BFGS").x,
    "quantile": lambda: jnp.quantile(jnp.asarray(M), jnp.array([0.1, 0.5]), axis=1),
    "cov": lambda: jnp.cov(jnp.asarray(M)),
    "polyfit": lambda: jnp.polyfit(jnp.asarray(X), P, 1),
    "array_equiv": lambda: jnp.array_equiv(jnp.asarray(X), jnp.asarray(X)[None]),
    "intersect1d": lambda: jnp.intersect1d(jnp.asarray(I), jnp.asarray(I), size=4),
    "place": lambda: jnp.place(jnp.asarray(X), jnp.asarray(X) > 0, P, inplace=False),
    "choice": lambda: xs.random.choice(xs.random.PRNGKey(0), 4, (3,), p=P),
    "logmeanexp": lambda: nn.logmeanexp(jnp.asarray(M), 1),
    "dct": lambda: fft.dct(jnp.asarray(M), axis=0),
    "stft": lambda: signal.stft(jnp.asarray(WAVE), nperseg=8)[2],
    "welch": lambda: signal.welch(jnp.asarray(WAVE), nperseg=8)[1],
    "detrend": lambda: signal.detrend(jnp.asarray(M)),
    "mode": lambda: stats.mode(jnp.asarray(M), axis=1).mode,
    "gaussian_kde": lambda: stats.gaussian_kde(jnp.asarray(X)).pdf(jnp.asarray(P)),
    "multinomial": lambda: stats.multinomial.logpmf(jnp.asarray(I), 6, P),
    "multivariate_normal": lambda: stats.multivariate_normal.logpdf(jnp.asarray(X[:3]), X[1:], S @ S.T),
    "vq": lambda: vq.vq(jnp.asarray(M), M[:2])[0],
    "hadamard": lambda: linalg.hadamard(4),
    "schur": lambda: linalg.schur(jnp.asarray(S), "complex")[0],
    "sqrtm": lambda: linalg.sqrtm(jnp.asarray(S)),
    "expm": lambda: linalg.expm(jnp.asarray(S)),
}
#: The user's operations: each raises under the one setting.
REFUSED: dict[str, tuple[str, Callable[[], Any]]] = {
    "operator of ranks": ("rank", lambda: jnp.asarray(M) + X),
    "function of ranks": ("rank", lambda: jnp.hypot(jnp.asarray(M), X)),
    "clip of ranks": ("rank", lambda: jnp.clip(jnp.asarray(M), jnp.asarray(X), 9.0)),
    "linspace of ranks": ("rank", lambda: jnp.linspace(jnp.asarray(X), M, 3)),
    "logspace of ranks": ("rank", lambda: jnp.logspace(M / 9, jnp.asarray(P), 3)),
    "rule of ranks": ("rank", lambda: jnp.logaddexp(jnp.asarray(M), X)),
    "jitted ranks": ("rank", lambda: xs.jit(lambda m, x: m * x)(M, X)),
    "operator of dtypes": ("dtype", lambda: jnp.asarray(X) + I),
    "where of dtypes": ("dtype", lambda: jnp.where(jnp.asarray(X) > 0, X, I)),
    "product of dtypes": ("dtype", lambda: jnp.asarray(M) @ I),
    "clip of dtypes": ("dtype", lambda: jnp.clip(jnp.asarray(I), jnp.asarray(X), 9)),
    "stack of dtypes": ("dtype", lambda: jnp.stack([jnp.asarray(X), jnp.asarray(I)])),
    "user's function in ours": ("dtype", lambda: xs.vmap(lambda x, i: x + i)(X, I)),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_library_functions_do_what_they_do(name: str) -> None:
    compute = ALLOWED[name]
    expected = np.asarray(compute())
    with settings.numpy_rank_promotion("raise"), settings.numpy_dtype_promotion("strict"):
        np.testing.assert_array_equal(np.asarray(compute()), expected)


@pytest.mark.parametrize("name", REFUSED)
def test_operations_of_the_user_are_refused(name: str) -> None:
    which, compute = REFUSED[name]
    setting, value = {
        "rank": (settings.numpy_rank_promotion, "raise"),
        "dtype": (settings.numpy_dtype_promotion, "strict"),
    }[which]
    compute()
    for _ in range(3):  # what the library did alike before, and what was said before, change nothing
        with setting(value), pytest.raises((ValueError, TypeError)):
            compute()
