"""Functions of arrays that were made in an `enable_x64` block, called outside of it: they compute in 64 bits.

The reference is the same call inside of such a block.
"""

import warnings

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp

VALUES = {
    "x": np.array([0.3, 1.7, -2.2]),
    "p": np.array([0.25, 1.1, 3.5]),
    "m": np.array([[2.1, 1.0, 0.3], [0.7, 3.2, 0.1], [0.2, 0.4, 1.9]]),
    "z": np.array([1.1 + 2j, 3 - 1.3j, 0.2j]),
    "c": np.array([[2.1, 1j, 0.3], [0.7, 3.2, 0.1j], [0.2, 0.4, 1.9]]),
    "i": np.array([3, 1, 2]),
    "u": np.array([3, 1, 2], np.uint64),
    "b": np.array([True, False, True]),
}
ROWS = """
jnp.var(x), jnp.var(z), jnp.var(i), jnp.std(x), jnp.nanvar(x), jnp.nanstd(z), x.var(), jnp.var(x, where=b, mean=0.75)
jnp.mean(i), jnp.average(x, weights=p), jnp.median(x), jnp.quantile(x, 0.3), jnp.percentile(i, 30.7)
jnp.nanquantile(x, 0.3), jnp.nanpercentile(x, 30.7), jnp.nanmedian(m, axis=1)
jnp.linalg.inv(m), jnp.linalg.inv(c), jnp.linalg.pinv(m), jnp.linalg.matrix_power(m, 0), jnp.linalg.matrix_power(m, -2)
jnp.linalg.tensorsolve(m, x), jnp.linalg.tensorinv(m, 1), jnp.linalg.cond(m, 1), jnp.linalg.solve(m, x)
jnp.linalg.lstsq(m, x)[0], jnp.linalg.lstsq(m, x)[1], jnp.linalg.norm(i), jnp.linalg.det(m), jnp.linalg.svd(m)[1]
jnp.linalg.multi_dot([x, m, x]), jnp.linalg.cholesky(m @ m.T), jnp.linalg.eigvalsh(m + m.T), jnp.linalg.qr(m)[1]
jnp.dot(x, x), jnp.vecdot(x, p), jnp.vecmat(x, m), jnp.tensordot(m, m), jnp.einsum("ij,j->i", m, x), jnp.inner(z, z)
jnp.einsum("ij->", m), jnp.einsum("i->", u), jnp.matmul(c, z), jnp.convolve(x, p), jnp.trace(m)
jnp.modf(x)[0], jnp.modf(x)[1], jnp.modf(x[0])[0], jnp.frexp(x)[0], jnp.frexp(i)[0], jnp.ldexp(x, i), jnp.spacing(x)
jnp.signbit(x), jnp.copysign(x, p), jnp.nextafter(x, p), x.byteswap().byteswap(), jnp.rint(i)
jnp.angle(x), jnp.angle(i)
jnp.sin(i), jnp.exp(u), jnp.divide(i, i), jnp.arctan2(i, i), jnp.logaddexp(i, i)
jnp.reciprocal(i), jnp.float_power(i, i)
jnp.power(z, i), jnp.power(x, i), jnp.gcd(u, u), jnp.lcm(i, i), i / 2, i.at[0].divide(2), jnp.fabs(u), jnp.sqrt(i)
jnp.zeros_like(m), jnp.ones_like(z), jnp.full_like(x, 0.3), jnp.empty_like(i), jnp.imag(x), jnp.real(z)
xs.lax.full_like(x, 0.3), xs.lax.full_like(x, 0.3, shape=(2,)), xs.lax.full_like(i, 2)
jnp.insert(x, 1, 0.5), jnp.ediff1d(x, to_begin=-2.5), jnp.cumulative_sum(x, include_initial=True), jnp.interp(x, p, p)
jnp.histogram_bin_edges(x), jnp.histogram(x)[1], jnp.linspace(x, p, 4), jnp.geomspace(p, 2 * p, 4)
jnp.logspace(x, p, 4)
jnp.poly(x), jnp.polyval(p, x), jnp.polyder(p), jnp.polyint(p), jnp.roots(p, strip_zeros=False), jnp.polyfit(x, p, 1)
jnp.sort_complex(i), jnp.piecewise(z, [b], [-2.5, 1]), jnp.piecewise(i, [b], [lambda v: v * v, 1])
jnp.setxor1d(x[:0], x[:0], size=3), jnp.unique(x[:0], size=4, fill_value=0.25), jnp.pad(x, 1)
jnp.pad(x, 1, mode="mean")
jnp.fft.fft(i), jnp.fft.rfft(i), jnp.fft.ifft(x), jnp.cov(m), jnp.corrcoef(m), jnp.gradient(x), jnp.unwrap(x)
xs.nn.softmax(x), xs.nn.log_softmax(m), xs.nn.logmeanexp(x), xs.nn.gelu(x), xs.nn.celu(x), xs.nn.log1mexp(i)
xs.nn.standardize(x), xs.nn.hard_sigmoid(x), xs.nn.soft_sign(x), xs.nn.leaky_relu(x), xs.nn.silu(x), xs.nn.softplus(x)
xs.ops.segment_max(x, i, 4), xs.ops.segment_min(x, i, 4), xs.ops.segment_prod(z, i, 4), xs.ops.segment_sum(x, i, 4)
xs.scipy.special.logsumexp(x), xs.scipy.special.gammaln(i), xs.scipy.special.erfinv(x / 3), xs.scipy.special.expit(i)
xs.scipy.special.bessel_jn(x[0], v=3), xs.scipy.special.expi(p), xs.scipy.special.i0(x), xs.scipy.special.entr(p)
xs.scipy.linalg.expm(m), xs.scipy.linalg.sqrtm(m)
xs.scipy.linalg.lu(m)[1], xs.scipy.linalg.inv(m), xs.scipy.linalg.det(m)
xs.scipy.linalg.polar(m)[1], xs.scipy.linalg.eigh(m + m.T)[0], xs.scipy.linalg.solve(m, x, assume_a="sym")
xs.scipy.linalg.solve_sylvester(m, m, m), xs.scipy.linalg.cho_solve(xs.scipy.linalg.cho_factor(m @ m.T), x)
xs.scipy.linalg.rsf2csf(*xs.scipy.linalg.schur(m))[0], xs.scipy.linalg.toeplitz(x), xs.scipy.linalg.block_diag(m, m)
xs.scipy.fft.dct(x), xs.scipy.fft.idct(x), xs.scipy.signal.detrend(x), xs.scipy.signal.convolve(x, p)
xs.scipy.signal.welch(x, nperseg=2)[1], xs.scipy.signal.welch(x, 0.7, nperseg=2)[0]
xs.scipy.signal.csd(x, p, nperseg=3, average="median")[1], xs.scipy.signal.csd(x, p, nperseg=3)[1]
xs.scipy.signal.welch(i, nperseg=2)[1], xs.scipy.signal.stft(x, nperseg=2)[0]
xs.scipy.signal.stft(x, 0.7, nperseg=2)[1], xs.scipy.signal.stft(z, nperseg=2)[2]
xs.scipy.signal.istft(m, 0.7, nperseg=4)[0], xs.scipy.signal.istft(c, nperseg=4)[1]
xs.scipy.ndimage.map_coordinates(x, [p], 1), xs.scipy.ndimage.map_coordinates(m, [p, x], 1, "mirror", 0.1)
xs.scipy.ndimage.map_coordinates(x, [p], 0, "nearest"), xs.scipy.ndimage.map_coordinates(z, [i], 1)
xs.scipy.stats.norm.logpdf(x), xs.scipy.stats.mode(x).mode, xs.scipy.stats.sem(x)
xs.scipy.stats.beta.logpdf(x, p, p), xs.scipy.stats.chi2.cdf(p, p), xs.scipy.stats.expon.ppf(p / 4), xs.lax.dot(x, p)
xs.scipy.special.gammainc(p, p), xs.scipy.special.betainc(p, p, p / 4), xs.scipy.special.hyp1f1(p, p, x)
xs.scipy.sparse.linalg.cg(m @ m.T, x)[0], xs.scipy.sparse.linalg.gmres(m, x)[0]
xs.scipy.stats.gaussian_kde(x)(p), xs.scipy.linalg.companion(p)
xs.image.resize(m, (2, 5), "linear"), xs.image.resize(i, (2,), "nearest")
"""
TABLE = [row for row in ROWS.splitlines() if row]


def _function(row: str):
    names = [name for name in VALUES if name in compile(row, row, "eval").co_names]
    code = compile(row, row, "eval")

    def function(*values):
        return eval(code, {"jnp": jnp, "xs": xs}, dict(zip(names, values, strict=True)))

    with xs.enable_x64(True):
        return function, [jnp.asarray(VALUES[name]) for name in names]


def _compare(found, expected):
    for y, wanted in zip(found, expected, strict=True):
        assert isinstance(y, xs.Array)
        if wanted.dtype.kind in "fc":  # integers may be counts, which have the default dtype
            assert y.dtype == wanted.dtype
        assert y.shape == wanted.shape
        np.testing.assert_allclose(y, wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("row", TABLE)
def test_a_function_of_64_bit_arrays_is_what_it_is_inside_of_enable_x64(row: str) -> None:
    function, values = _function(row)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # nobody asked for a dtype
        found = function(*values)
        with xs.enable_x64(True):
            expected = function(*values)
        _compare(found, expected)
        _compare(xs.jit(function)(*values), expected)


MAPPED = """
jnp.var(x), jnp.std(x), jnp.median(x), jnp.modf(x)[0], jnp.signbit(x), jnp.dot(x, p), jnp.zeros_like(x)
jnp.linalg.inv(m), xs.nn.softmax(x), xs.scipy.special.logsumexp(x)
jnp.polyval(x, p), jnp.ediff1d(x, to_begin=1.0), jnp.cumulative_sum(x, include_initial=True), jnp.frexp(x)[0]
"""


@pytest.mark.parametrize("row", [row for row in MAPPED.splitlines() if row])
@pytest.mark.parametrize("transform", ["vmap", "jacfwd", "jacrev"])
def test_what_is_transformed_is_what_it_is_inside_of_enable_x64(transform: str, row: str) -> None:
    function, values = _function(row)
    with xs.enable_x64(True):
        values = [jnp.stack([v, v + 0.25]) for v in values] if transform == "vmap" else values

    def transformed():
        every = xs.vmap if transform == "vmap" else getattr(xs, transform)
        return xs.tree.leaves(every(lambda *v: [y for y in function(*v) if y.dtype != bool])(*values))

    found = transformed()
    with xs.enable_x64(True):
        expected = transformed()
    _compare(found, expected)
