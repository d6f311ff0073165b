"""Derivatives of xlascope.numpy's functions are finite differences; vmap is a loop."""

import math

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp

POINTS = {
    "x": np.array([-1.3, 0.4, 2.2]),
    "p": np.array([0.3, 1.1, 2.7]),
    "q": np.array([-0.4, 0.1, 0.7]),
    "m": np.array([[0.3, -1.2, 2.1, 0.7], [1.4, 0.2, -0.6, 0.9], [-0.8, 1.7, 0.5, -2.3]]),
    "t": np.linspace(-2.0, 3.1, 12).reshape(2, 3, 2),
}
#: Not differentiated, and not mapped.
FIXED = {"i": np.array([2, 0, 2]), "r": np.array([[1, 0], [0, 2]]), "n": 1}

ROWS = """
jnp.sin(x) * jnp.cos(p) + jnp.tan(q)
jnp.exp(x) - jnp.expm1(q) + jnp.exp2(q)
jnp.log(p) + jnp.log1p(p) + jnp.log2(p) + jnp.log10(p)
jnp.sqrt(p) + jnp.cbrt(p) + jnp.square(x) + jnp.reciprocal(p)
jnp.arcsin(q) + jnp.arccos(q) + jnp.arctan(x)
jnp.sinh(x) + jnp.cosh(x) + jnp.tanh(x)
jnp.arcsinh(x) + jnp.arctanh(q)
jnp.abs(x) + jnp.positive(p) + jnp.negative(q)
x / p + 2.0 / p + x / 2
x ** 2 + p ** -1 + x ** 3 + p ** 0.5 + p ** x + 2.0 ** x
x // 1.0 + x % 0.7
jnp.fmod(x, 0.7)
jnp.maximum(x, p) + jnp.minimum(x, 0.5) + jnp.clip(x, -1.0, 1.0)
jnp.logaddexp(x, p) + jnp.logaddexp(x, 1.0)
jnp.hypot(x, p) + jnp.arctan2(x, p)
jnp.sinc(x)
jnp.polymul(x, p) + jnp.polymul(x, p[:2]).sum()
jnp.concatenate(jnp.polydiv(m[0], p[:2]))
jnp.poly(x)
jnp.nanquantile(m, jnp.array([0.2, 0.55]), axis=1)
jnp.unwrap(4 * x)
jnp.partition(m, 1)
jnp.put_along_axis(m, i[:, None], p[:, None], axis=1, inplace=False)
jnp.put_along_axis(x, i[:2], p[:2], axis=None, inplace=False)
jnp.block([[m, x[:, None]], [jnp.ones((1, 4)), p[:1]]])
jnp.compress(i > 0, m, axis=0, size=2)
jnp.extract(jnp.tile(i, 4).reshape(3, 4) > 0, m, size=5)
jnp.apply_over_axes(jnp.sum, t, (0, 2))
jnp.sort_complex(x).real
jnp.degrees(x) + jnp.radians(p)
jnp.where(x > 0, x * x, p)
jnp.where(x[:, None] > 0, m, 0.0)
jnp.nan_to_num(x)
x + m.T
m * x[:, None] - t[0, :, :1]
jnp.sum(m) + jnp.sum(m, axis=0)
jnp.sum(m, axis=1, keepdims=True) * m
jnp.prod(m, axis=1)
jnp.max(m, axis=0) + jnp.min(m)
jnp.mean(m, axis=1) + jnp.var(m, axis=1) + jnp.std(m, axis=1)
jnp.average(m, axis=0, weights=p)
jnp.cumsum(m, axis=1)
jnp.cumprod(m, axis=0)
jnp.ptp(m, axis=1)
m.T @ x
m @ m.T
jnp.matmul(t, m[:2])
jnp.dot(x, p) + jnp.vdot(x, q)
jnp.inner(m, m)
jnp.outer(x, p)
jnp.tensordot(t, m, ((1,), (0,)))
jnp.linalg.norm(m) + jnp.linalg.norm(x)
jnp.linalg.inv(m[:, :3]) + jnp.linalg.matrix_power(m[:, :3], -2)
jnp.linalg.solve(m[:, :3], x) * p + jnp.linalg.solve(m[:, 1:], m)[:, 0]
jnp.linalg.solve(m[:, :3], jnp.stack([m, m * m]))
jnp.linalg.det(m[:, :3]) + jnp.linalg.det(m[:2, :2]) + jnp.linalg.det(m.T @ m)
jnp.linalg.det(m.T @ m + jnp.eye(4)) + jnp.linalg.det(jnp.concatenate([m, m[:1]]))
jnp.linalg.qr(m)[0] * 2 + jnp.linalg.qr(m, "complete")[1][:, 1:]
jnp.linalg.slogdet(m[:, :3])[1] + jnp.linalg.slogdet(m.T @ m + jnp.eye(4), method="qr")[1]
jnp.linalg.cholesky(m @ m.T) + jnp.linalg.cholesky(m @ m.T, upper=True) * 2
jnp.linalg.qr(m.T)[0].T + jnp.linalg.qr(m.T)[1] @ m
jnp.linalg.qr(m[:, :3], mode="complete")[0] + jnp.linalg.qr(m[:, :3], "r")
jnp.linalg.svd(m, full_matrices=False)[1] + jnp.linalg.svdvals(t)[0, 0]
jnp.abs(jnp.linalg.svd(m, full_matrices=False)[0]) + jnp.abs(jnp.linalg.svd(m.T, full_matrices=False)[0])[:3]
jnp.abs(jnp.linalg.svd(m, full_matrices=False)[2])
jnp.linalg.eigvalsh(m[:, :3]) + jnp.abs(jnp.linalg.eigh(m[:, 1:])[1])
jnp.abs(jnp.linalg.eigvals(m[:, :3]))
jnp.linalg.pinv(m) @ x + jnp.linalg.pinv(m.T, 0.1).sum() + jnp.linalg.pinv(m @ m.T, hermitian=True).sum()
jnp.linalg.lstsq(m.T, m[0])[0] + jnp.linalg.lstsq(m, x)[0][:3] + jnp.linalg.lstsq(m.T, m[0])[1]
jnp.linalg.norm(m, "nuc") + jnp.linalg.norm(m, 2) + jnp.linalg.norm(m, -2) + jnp.linalg.cond(m)
jnp.linalg.cond(m[:, :3], 1) + jnp.linalg.cond(m[:, :3], "fro")
jnp.linalg.multi_dot([x, m, m.T, p]) * jnp.linalg.cross(x, p)
jnp.linalg.tensorsolve(m[:, :3], x) + jnp.linalg.tensorinv(m[:, :3], 1)[0]
lax.linalg.lu(m)[0] + lax.linalg.lu(m.T)[0].T
lax.linalg.qr(m.T, pivoting=True, full_matrices=False)[1]
lax.linalg.triangular_solve(m[:, :3], m, left_side=True, lower=True, unit_diagonal=True)
lax.linalg.triangular_solve(m[:, 1:], m.T, transpose_a=True)
jnp.abs(jnp.fft.fft(x, 5)) + jnp.abs(jnp.fft.ifft2(m, (2, 5)))[0]
jnp.fft.irfft(jnp.fft.rfft(x) * p[:2]) * jnp.fft.hfft(x)[:2]
jnp.imag(jnp.fft.rfftn(t * t, norm="ortho")) + jnp.fft.irfftn(t, (3, 2), (0, 2))[:2, :, :2]
jnp.imag(jnp.fft.ihfft(x)) + jnp.fft.fftshift(p)[:2]
jnp.trace(m) + jnp.diag(x) + jnp.tril(m[:, :3]) - jnp.triu(m[:, :3], 1)
jnp.reshape(m, (4, 3)) @ x
jnp.transpose(t, (2, 0, 1)) * 2.0
jnp.swapaxes(t, 0, 2) + jnp.moveaxis(t, 0, -1).swapaxes(0, 1)
jnp.squeeze(m[None]) + jnp.expand_dims(x, 1)
jnp.concatenate([x, p, q]) * jnp.stack([x, p, q]).ravel()
jnp.split(m, 2, axis=1)[1] + jnp.tile(x, 2).reshape(3, 2)
jnp.repeat(x, 2) + jnp.roll(jnp.flip(jnp.tile(p, 2)), 1)
jnp.pad(x, 1) + jnp.pad(p, 1, mode="edge") + jnp.pad(q, (2, 0), mode="reflect")
jnp.broadcast_to(x, (2, 3)) + t[:, :, 0]
x[0] + x[-1] + x[1:].sum() + x[::-2].sum()
m[1] + m[:, 1:3][0, 0] + m[..., -1][0]
m[n] + m[:, n].sum()
x[i] + m[i, i] + m[i][:, 1]
m[:, r].sum(axis=0) + t[n][i[:2]]
jnp.take(x, i) + jnp.take(m, i, axis=1)[0]
jnp.take_along_axis(m, r[:1, :1], axis=0) + jnp.take_along_axis(m, i[:, None], 1)
x.at[0].set(p[1]) + x.at[1:].add(q[1:]) + x.at[n].multiply(2.0)
x.at[i].add(p) + x.at[i[:2]].set(p[:2])
m.at[:, 1].set(x) + m.at[1:, ::2].set(0.0) + m.at[i[:2], 1].add(p[:2])
x.at[n].set(q[0]) + x.at[::-1].set(p)
jnp.sort(m, axis=0) + jnp.sort(x)[0]
jnp.median(m, axis=1) + jnp.quantile(x, 0.3)
jnp.einsum("ij,kj,l->il", m, m, x) + jnp.einsum("ii->i", m[:, :3])
jnp.kron(x, p)[:3] + jnp.cross(x, p) + jnp.matvec(m.T, x)[:3]
jnp.diff(m, axis=0) + jnp.gradient(m)[0][:2]
jnp.trapezoid(m, x=p, axis=0)[:3] + jnp.interp(q, x, p)
jnp.select([x < 0.0, x < 1.0], [x * x, p], q)
jnp.cov(m) + jnp.corrcoef(m)
jnp.polyval(x, p) + jnp.polyint(x)[:3] + jnp.vander(x)
jnp.insert(x, 1, 0.5)[:3] + jnp.resize(p, (3,)) + jnp.fill_diagonal(m[:, :3], 0.0, inplace=False)
jnp.nansum(m, axis=1) + jnp.heaviside(x, 0.5) * x + jnp.modf(x)[0]
"""
TABLE = [row for row in ROWS.splitlines() if row]


def _function(row: str):
    names = [name for name in POINTS if name in _names(row)]
    code = compile(row, row, "eval")

    def function(*values):
        return eval(
            code,
            {"jnp": jnp, "lax": xs.lax, **{k: jnp.asarray(v) for k, v in FIXED.items()}},
            dict(zip(names, values, strict=True)),
        )

    return function, [POINTS[name] for name in names]


def _names(row: str) -> set[str]:
    return set(compile(row, row, "eval").co_names)


def _weighted(function):
    """A scalar that depends on every element of the result with another weight."""

    def scalar(*values):
        y = function(*values)
        return jnp.sum(y * jnp.asarray(np.cos(np.arange(float(y.size))).reshape(y.shape)))

    return scalar


@pytest.mark.parametrize("row", TABLE)
def test_the_gradient_is_the_finite_difference(row: str) -> None:
    function, points = _function(row)
    scalar = _weighted(function)
    rng = np.random.default_rng(0)
    directions = [rng.normal(size=p.shape) for p in points]
    with xs.enable_x64():
        points = [jnp.asarray(p) for p in points]
        gradients = xs.grad(scalar, argnums=tuple(range(len(points))))(*points)
        forward = xs.jvp(scalar, tuple(points), tuple(directions))[1]
        step = 1e-6
        ahead = scalar(*(p + step * d for p, d in zip(points, directions, strict=True)))
        behind = scalar(*(p - step * d for p, d in zip(points, directions, strict=True)))
    numerical = (float(ahead) - float(behind)) / (2 * step)
    backward = sum(float(np.sum(np.asarray(g) * d)) for g, d in zip(gradients, directions, strict=True))
    np.testing.assert_allclose(backward, numerical, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(float(forward), numerical, rtol=1e-6, atol=1e-7)


#: Rows in which 64-bit arrays meet arrays of the default dtype, or real and complex ones: as in jax these are narrowed.
MIXED = ("jnp.ones", "jnp.eye", "jnp.array", "rfft(x) * p")


@pytest.mark.parametrize("row", [row for row in TABLE if not any(name in row for name in MIXED)])
def test_the_gradient_of_64_bit_arrays_outside_of_enable_x64(row: str) -> None:
    function, points = _function(row)
    with xs.enable_x64():
        points = [jnp.asarray(p) for p in points]
        value, pull = xs.vjp(function, *points)
        cotangent = jnp.cos(jnp.arange(value.size, dtype=float)).reshape(value.shape).astype(value.dtype)
        expected = pull(cotangent)
    assert function(*points).dtype == value.dtype
    for found in (pull(cotangent), xs.jit(lambda *xs_: xs.vjp(function, *xs_)[1](cotangent))(*points)):
        for g, wanted in zip(found, expected, strict=True):
            assert g.dtype == wanted.dtype
            np.testing.assert_allclose(g, wanted, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("row", TABLE)
def test_vmap_is_a_loop(row: str) -> None:
    function, points = _function(row)
    rng = np.random.default_rng(1)
    batches = [np.stack([p, p + 0.05 * rng.uniform(size=p.shape)]).astype(np.float32) for p in points]
    mapped = np.asarray(xs.vmap(function)(*batches))
    looped = np.stack([np.asarray(function(*(jnp.asarray(b[k]) for b in batches))) for k in range(2)])
    np.testing.assert_allclose(mapped, looped, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("row", ["m[i, 1]", "x[i]", "m[i]", "m[n]", "m[1:, n]", "jnp.take(x, i)", "x.at[i].add(1.0)"])
def test_vmap_over_the_indices_is_a_loop(row: str) -> None:
    name = "n" if "n]" in row else "i"
    indices = np.array([0, 2, 1]) if name == "n" else np.array([[0, 1], [2, 2], [1, 0]])

    def function(index):
        values = {k: jnp.asarray(v, jnp.float32) for k, v in POINTS.items()}
        return eval(row, {"jnp": jnp}, {**values, name: index})

    mapped = np.asarray(xs.vmap(function)(indices))
    looped = np.stack([np.asarray(function(jnp.asarray(k))) for k in indices])
    np.testing.assert_allclose(mapped, looped, rtol=1e-6)


@pytest.mark.parametrize("order", range(4))
def test_derivatives_of_sinc_are_exact_near_zero(order: int) -> None:
    """In those of sin(a) / a everything cancels there."""
    places = np.array([1e-20, 1e-6, 1e-3, 0.05, 0.3, 0.33, 0.9], "float32")
    powers = range(order + order % 2, 60, 2)
    factors = [(-1) ** (p // 2) * math.pi**p / math.factorial(p + 1) * math.perm(p, order) for p in powers]
    wide = places.astype(float)
    exact = sum(factor * wide ** (p - order) for p, factor in zip(powers, factors, strict=True))
    derivative = jnp.sinc
    for _ in range(order):
        derivative = xs.grad(derivative)
    np.testing.assert_allclose(xs.jit(xs.vmap(derivative))(places), exact, rtol=1e-5)
