"""Special functions that are integrals or series, against SciPy's in double precision: values, derivatives, edges."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import xlascope as xs
import xlascope.scipy.special as ours
from xlascope import settings

RANDOM = np.random.default_rng(11)
POSITIVE = np.exp(RANDOM.uniform(-6, 4, 60))
REAL = np.concatenate([POSITIVE, -POSITIVE[:20]])
SMALL = np.exp(RANDOM.uniform(-2, 2, 60))
OTHER = np.exp(RANDOM.uniform(-2, 2, 60))
UNIT = RANDOM.uniform(-0.9, 0.9, 60)
THIRD = OTHER[::-1].copy()
EDGES = np.array([-np.inf, -2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, np.inf, np.nan])
Row = tuple[Callable[..., Any], Callable[..., Any], tuple[np.ndarray, ...], float]


def _row(name: str, *operands: np.ndarray, size: float = 40.0, part: int | None = None) -> Row:
    mine, wanted = getattr(ours, name), getattr(scipy.special, name)
    if part is None:
        return mine, wanted, operands, size
    return lambda *x: mine(*x)[part], lambda *x: wanted(*x)[part], operands, size


#: Ours and SciPy's, the operands, and how many halves of the last digit they may differ by.
ROWS: dict[str, Row] = {
    "exp1": _row("exp1", POSITIVE),
    "expi": _row("expi", REAL, size=400.0),  # SciPy's last digits are wrong for some
    "si": _row("sici", REAL, part=0),
    "ci": _row("sici", POSITIVE[POSITIVE < 3], part=1),
    "spence": _row("spence", POSITIVE),
    "erfcx": _row("erfcx", np.concatenate([POSITIVE, -SMALL / 4])),
    "dawsn": _row("dawsn", REAL, size=400.0),
    "fresnel s": _row("fresnel", REAL, part=0),
    "fresnel c": _row("fresnel", REAL, part=1),
    "owens_t": _row("owens_t", REAL[:60] / 8, OTHER, size=400.0),
    "expn": _row("expn", np.arange(60.0) % 9 + 1, POSITIVE, size=400.0),
    "hyp1f1": _row("hyp1f1", SMALL, OTHER, POSITIVE / 4, size=2000.0),
    "hyp2f1": _row("hyp2f1", SMALL, OTHER, THIRD, UNIT, size=2000.0),
}
#: Operands at which there are limits: each with each.
LIMITS: dict[str, tuple[list[float], ...]] = {
    "betainc": ([0.0, 0.5, 2.0, np.inf], [0.0, 0.5, 2.0, np.inf], [0.0, 0.3, 1.0]),
    "gammainc": ([0.0, 0.5, 2.0, np.inf], [0.0, 1.0, np.inf]),
    "gammaincc": ([0.0, 0.5, 2.0, np.inf], [0.0, 1.0, np.inf]),
    "betaln": ([0.5, 1.0, 40.0, np.inf], [0.5, 1.0, 40.0, np.inf]),
    "beta": ([0.5, 1.0, 40.0, np.inf], [0.5, 1.0, 40.0, np.inf]),
}
#: The operands that are constants.
CONSTANT = {("expn", 0)}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values(name: str, dtype: Any) -> None:
    mine, wanted, operands, size = ROWS[name]
    operands = tuple(x.astype(dtype) for x in operands)
    expected = wanted(*(x.astype(float) for x in operands))
    with settings.enable_x64(dtype is np.float64):
        found, mapped = mine(*operands), xs.jit(xs.vmap(mine))(*operands)
    assert found.dtype == dtype
    usual = np.abs(expected) > (1e-37 if dtype is np.float32 else 1e-300)
    for each in (found, mapped):
        tolerance = size * float(np.finfo(dtype).eps) / 2
        np.testing.assert_allclose(np.asarray(each)[usual], expected[usual], rtol=tolerance)


@pytest.mark.parametrize("name", ROWS)
def test_derivatives(name: str) -> None:
    mine, wanted, operands, _ = ROWS[name]
    some = tuple(x[:12] for x in operands)
    with settings.enable_x64():
        for place in range(len(some)):
            if (name, place) in CONSTANT:
                continue
            found = xs.vmap(xs.grad(mine, place))(*some)
            np.testing.assert_allclose(found, _slope(wanted, some, place), rtol=4e-5, atol=1e-9)


@pytest.mark.parametrize("name", ROWS)
def test_second_derivatives(name: str) -> None:
    mine, _, operands, _ = ROWS[name]
    some, last = tuple(x[:6] for x in operands), len(operands) - 1
    with settings.enable_x64():
        first = xs.jit(xs.vmap(xs.grad(mine, last)))
        found = xs.vmap(xs.grad(xs.grad(mine, last), last))(*some)
        np.testing.assert_allclose(found, _slope(first, some, last), rtol=4e-5, atol=1e-8)


def _slope(function: Callable[..., Any], operands: tuple[np.ndarray, ...], place: int) -> Any:
    size = np.abs(operands[place])
    h = 4e-4 * np.minimum(size, 1 / size)

    def moved(k: int) -> Any:
        return np.asarray(function(*(y + k * h if i == place else y for i, y in enumerate(operands))))

    return sum(w * (moved(k) - moved(-k)) / h for k, w in ((1, 2 / 3), (2, -1 / 12)))


@pytest.mark.parametrize("name", ["exp1", "expi", "si", "ci", "spence", "erfcx", "dawsn", "fresnel s", "fresnel c"])
def test_edges(name: str) -> None:
    mine, wanted, _, _ = ROWS[name]
    with settings.enable_x64():
        np.testing.assert_allclose(mine(EDGES), wanted(EDGES), rtol=1e-12, atol=1e-14)


def test_edges_of_two() -> None:
    first, second = (x.ravel() for x in np.meshgrid(EDGES, EDGES))
    with settings.enable_x64():
        np.testing.assert_allclose(ours.owens_t(first, second), scipy.special.owens_t(first, second), rtol=1e-12)
        for n in (0, 1, 2, 60):
            np.testing.assert_allclose(ours.expn(n, EDGES), scipy.special.expn(n, EDGES), rtol=1e-12)


def test_the_complex_plane() -> None:
    z = (RANDOM.normal(size=80) + 1j * RANDOM.normal(size=80)) * SMALL[0]
    far = np.array([1e6 + 1j, 2e9 - 3e-9j, 1e3 + 1e-5j, 1e200 + 1e200j, 0.0, 30j])
    with settings.enable_x64():
        for each in (z, far):
            np.testing.assert_allclose(ours.wofz(each), scipy.special.wofz(each), rtol=2e-12)
        np.testing.assert_allclose(ours.erfcx(z), scipy.special.erfcx(z), rtol=2e-12)
        x = EDGES[1:-2]
        np.testing.assert_allclose(ours.wofz(x), scipy.special.wofz(x), rtol=1e-13)
        slope = xs.vmap(xs.grad(ours.wofz, holomorphic=True))(z)
        np.testing.assert_allclose(slope, -2 * z * scipy.special.wofz(z) + 2j / np.sqrt(np.pi), rtol=1e-10)
    single = z.astype(np.complex64)
    np.testing.assert_allclose(ours.wofz(single), scipy.special.wofz(single.astype(complex)), rtol=1e-4)


@pytest.mark.parametrize("v", [0, 60])
def test_bessel_functions(v: int) -> None:
    z = np.concatenate([REAL, [0.0, 1e-9, 200.0, -31.0]])
    wanted = np.stack([scipy.special.jv(k, z) for k in range(v + 1)])
    with settings.enable_x64():
        np.testing.assert_allclose(ours.bessel_jn(z, v=v), wanted, rtol=4e-11, atol=1e-15)
        _, found = xs.jvp(lambda y: ours.bessel_jn(y, v=v), (z[:5],), (np.ones(5),))
        slopes = np.stack([scipy.special.jvp(k, z[:5]) for k in range(v + 1)])
        np.testing.assert_allclose(found, slopes, rtol=1e-8, atol=1e-14)
    single = z.astype(np.float32)
    wanted = np.stack([scipy.special.jv(k, single.astype(float)) for k in range(v + 1)])
    np.testing.assert_allclose(ours.bessel_jn(single, v=v), wanted, rtol=1e-4, atol=2e-6)
    assert np.isnan(ours.bessel_jn(np.nan, v=v)).all()
    assert not np.any(np.asarray(ours.bessel_jn(np.inf, v=v)))


def test_spherical_harmonics() -> None:
    n, m = (x.ravel() for x in np.meshgrid(np.arange(12), np.arange(-3, 4)))
    n, m = n[np.abs(m) <= n], m[np.abs(m) <= n]
    theta, phi = np.linspace(0, np.pi, n.size), np.linspace(0, 6, n.size)
    with settings.enable_x64():
        wanted = scipy.special.sph_harm_y(n, m, theta, phi)
        np.testing.assert_allclose(ours.sph_harm_y(n, m, theta, phi), wanted, rtol=1e-11, atol=1e-14)
        slope = xs.grad(lambda t: ours.sph_harm_y(n, m, t, phi).real.sum())(theta)
        wanted = scipy.special.sph_harm_y(n, m, theta, phi, diff_n=1)[1][..., 0].real
        np.testing.assert_allclose(slope, wanted, rtol=1e-9, atol=1e-11)
    with pytest.raises(TypeError, match="integers"):
        ours.sph_harm_y(np.ones(1), m[:1], theta[:1], phi[:1])
    with pytest.raises(NotImplementedError, match="diff_n"):
        ours.sph_harm_y(n, m, theta, phi, diff_n=1)


def test_parameters_that_are_poles_or_end_the_series() -> None:
    with settings.enable_x64():
        for a, b, x in [(-2.0, 0.5, 3.0), (-1.0, -2.0, 1.0), (1.0, 0.0, 1.0), (1.0, -2.0, 1.0), (2.0, 3.0, 200.0)]:
            np.testing.assert_allclose(ours.hyp1f1(a, b, x), scipy.special.hyp1f1(a, b, x), rtol=1e-12)
        assert ours.hyp1f1(0.0, 0.0, 1.0) == 1
        for row in [(0.5, 0.5, 2.0, 1.0), (1.0, 2.0, 3.0, 1.0), (-2.0, 1.0, 3.0, 5.0), (1.0, 2.0, 3.0, -50.0)]:
            np.testing.assert_allclose(ours.hyp2f1(*row), scipy.special.hyp2f1(*row), rtol=1e-12)
    with pytest.raises(NotImplementedError, match="second derivatives"):
        xs.grad(xs.grad(ours.hyp1f1))(1.0, 2.0, 3.0)


def test_types() -> None:
    assert ours.exp1(np.arange(1, 3)).dtype == np.float32
    assert ours.dawsn(np.float16(1)).dtype == np.float16
    assert ours.wofz(1.0).dtype == np.complex64
    for function, error in ((ours.exp1, ValueError), (ours.spence, TypeError), (ours.fresnel, NotImplementedError)):
        with pytest.raises(error, match="takes"):
            function(np.complex64(1j))
    with pytest.raises(TypeError, match="float32 or float64"):
        ours.spence(np.float16(1))


@pytest.mark.parametrize("name", LIMITS)
def test_limits(name: str) -> None:
    operands = [x.ravel() for x in np.meshgrid(*LIMITS[name])]
    found = getattr(ours, name)(*(x.astype(np.float32) for x in operands))
    np.testing.assert_allclose(found, getattr(scipy.special, name)(*operands), rtol=2e-5, atol=1e-6)
