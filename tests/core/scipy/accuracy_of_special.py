"""The rows of scipy.special: what mpmath has for each function, and where it is defined."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import scipy.special
from tests.core.scipy.accuracy import Row, counts, over, scales


def _root(function: Any, start: float) -> Any:
    """A zero near ``start``, which has the digits of double precision."""
    return mp.findroot(function, mp.mpf(start), tol=mp.mpf(10) ** -(2 * mp.mp.dps - 30), verify=False)


def _erfinv(x: Any) -> Any:
    start = scipy.special.erfinv(float(x))
    return start if start == 0 else _root(lambda y: mp.erf(y) - x, start)


def _ndtri(p: Any) -> Any:
    # by logarithms, so that steps are small beside p
    side = p if p < 0.5 else 1 - p
    found = _root(lambda y: mp.log(mp.ncdf(y)) - mp.log(side), scipy.special.ndtri(float(side)))
    return found if p < 0.5 else -found


def _owens_t(h: Any, a: Any) -> Any:
    return mp.quad(lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), mp.linspace(0, a, 5)) / (2 * mp.pi)


def _wofz(x: Any, y: Any) -> Any:
    z = mp.mpc(x, y)
    with mp.extradps(40):
        return mp.exp(-z * z) * mp.erfc(mp.mpc(0, -1) * z)


def _hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    return mp.hyp2f1(a, b, c, x)


def _multigammaln(a: Any) -> Any:
    return 1.5 * mp.log(mp.pi) + sum(mp.log(mp.gamma(a - mp.mpf(j) / 2)) for j in range(3))


def _log_abs_gamma(x: Any) -> Any:
    return mp.log(abs(mp.gamma(x)))


REAL, POSITIVE, UNIT = over(-9, 9), scales(1e-3, 60), over(0, 1)
SMALL, AROUND = over(0.1, 6), over(-0.95, 0.95)

#: name: (expression, reference, ranges…)
_ROWS: dict[str, tuple[Any, ...]] = {
    "bessel_jn": ("special.bessel_jn(a, v=3)[3]", lambda x: mp.besselj(3, x), over(0.1, 40)),
    "beta": ("special.beta(a, b)", mp.beta, SMALL, SMALL),
    "betaln": ("special.betaln(a, b)", lambda a, b: mp.log(mp.beta(a, b)), scales(1e-2, 300), scales(1e-2, 300)),
    "betainc": ("special.betainc(a, b, c)", lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True), POSITIVE, POSITIVE, UNIT),
    "boxcox": ("special.boxcox(a, b)", lambda x, p: mp.expm1(p * mp.log(x)) / p, POSITIVE, over(-3, 3)),
    "boxcox1p": ("special.boxcox1p(a, b)", lambda x, p: mp.expm1(p * mp.log1p(x)) / p, POSITIVE, over(-3, 3)),
    "comb": ("special.comb(a, b)", mp.binomial, counts(9, 40), counts(0, 9)),
    "dawsn": ("special.dawsn(a)", lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), REAL),
    "digamma": ("special.digamma(a)", mp.digamma, scales(1e-3, 1e4)),
    "digamma of negative numbers": ("special.digamma(a)", mp.digamma, over(-12, 0)),
    "entr": ("special.entr(a)", lambda x: -x * mp.log(x), POSITIVE),
    "erf": ("special.erf(a)", mp.erf, scales(1e-3, 6, True)),
    "erfc": ("special.erfc(a)", mp.erfc, over(-4, 26)),
    "erfcx": ("special.erfcx(a)", lambda x: mp.exp(x * x) * mp.erfc(x), over(-5, 30)),
    "erfinv": ("special.erfinv(a)", _erfinv, over(-1, 1)),
    "exp1": ("special.exp1(a)", mp.e1, POSITIVE),
    "expi": ("special.expi(a)", mp.ei, scales(1e-2, 80)),
    "expi of negative numbers": ("special.expi(a)", mp.ei, over(-60, 0)),
    "expit": ("special.expit(a)", lambda x: 1 / (1 + mp.exp(-x)), over(-80, 20)),
    "expn": ("special.expn(a, b)", mp.expint, counts(1, 12), scales(1e-3, 60)),
    "factorial": ("special.factorial(a)", mp.factorial, counts(0, 30)),
    "fresnel s": ("special.fresnel(a)[0]", mp.fresnels, REAL),
    "fresnel c": ("special.fresnel(a)[1]", mp.fresnelc, REAL),
    "gamma": ("special.gamma(a)", mp.gamma, over(-6, 30)),
    "gamma of complex numbers": ("special.gamma(lax.complex(a, b))", lambda x, y: mp.gamma(mp.mpc(x, y)), over(-6, 12), over(-6, 6)),
    "loggamma of complex numbers": ("special.loggamma(lax.complex(a, b))", lambda x, y: mp.loggamma(mp.mpc(x, y)), over(-9, 9), over(-9, 9)),
    "digamma of complex numbers": ("special.digamma(lax.complex(a, b))", lambda x, y: mp.digamma(mp.mpc(x, y)), over(-9, 9), over(-9, 9)),
    "gammainc": ("special.gammainc(a, b)", lambda a, x: mp.gammainc(a, 0, x, regularized=True), POSITIVE, POSITIVE),
    "gammaincc": ("special.gammaincc(a, b)", lambda a, x: mp.gammainc(a, x, regularized=True), POSITIVE, POSITIVE),
    "gammaln": ("special.gammaln(a)", _log_abs_gamma, scales(1e-3, 1e4)),
    "gammaln of negative numbers": ("special.gammaln(a)", _log_abs_gamma, over(-12, 0)),
    "hyp1f1": ("special.hyp1f1(a, b, c)", mp.hyp1f1, SMALL, SMALL, over(-30, 30)),
    "hyp1f1 of wide parameters": ("special.hyp1f1(a, b, c)", mp.hyp1f1, over(-5, 15), over(0.2, 15), over(-10, 60)),
    "hyp2f1": ("special.hyp2f1(a, b, c, d)", _hyp2f1, SMALL, SMALL, SMALL, AROUND),
    "hyp2f1 near 1": ("special.hyp2f1(a, b, c, d)", _hyp2f1, over(0.1, 3), over(0.1, 3), SMALL, over(0.9, 0.9999)),
    "hyp2f1 far below 0": ("special.hyp2f1(a, b, c, d)", _hyp2f1, over(0.1, 3), over(0.1, 3), SMALL, over(-300, -1)),
    "i0": ("special.i0(a)", lambda x: mp.besseli(0, x), over(-60, 60)),
    "i0e": ("special.i0e(a)", lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), over(-60, 60)),
    "i1": ("special.i1(a)", lambda x: mp.besseli(1, x), over(-60, 60)),
    "i1e": ("special.i1e(a)", lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), over(-60, 60)),
    "kl_div": ("special.kl_div(a, b)", lambda x, y: x * mp.log(x / y) - x + y, POSITIVE, POSITIVE),
    "log_ndtr": ("special.log_ndtr(a)", lambda x: mp.log(mp.ncdf(x)), over(-60, 4)),
    "logit": ("special.logit(a)", lambda x: mp.log(x / (1 - x)), UNIT),
    "multigammaln": ("special.multigammaln(a, 3)", _multigammaln, scales(1.1, 300)),
    "ndtr": ("special.ndtr(a)", mp.ncdf, over(-12, 5)),
    "ndtri": ("special.ndtri(a)", _ndtri, UNIT),
    "ndtri of small numbers": ("special.ndtri(a)", _ndtri, scales(1e-30, 0.5)),
    "owens_t": ("special.owens_t(a, b)", _owens_t, over(0, 3), over(0, 3)),
    "poch": ("special.poch(a, b)", mp.rf, SMALL, SMALL),
    "polygamma": ("special.polygamma(2, a)", lambda x: mp.psi(2, x), scales(1e-2, 300)),
    "rel_entr": ("special.rel_entr(a, b)", lambda x, y: x * mp.log(x / y), POSITIVE, POSITIVE),
    "sici s": ("special.sici(a)[0]", mp.si, scales(1e-3, 60, True)),
    "sici c": ("special.sici(a)[1]", mp.ci, scales(1e-3, 12)),
    "spence": ("special.spence(a)", lambda x: mp.polylog(2, 1 - x).real, scales(1e-3, 60)),
    "sph_harm_y": ("special.sph_harm_y(a.astype(int), b.astype(int), c, d, n_max=9)", lambda n, m, t, p: mp.spherharm(n, m, t, p), counts(5, 9), counts(-4, 5), over(0, 3.1), over(0, 6)),
    "wofz": ("special.wofz(lax.complex(a, b))", _wofz, over(-9, 9), over(0, 9)),
    "wofz below": ("special.wofz(lax.complex(a, b))", _wofz, over(-4, 4), over(-4, 0)),
    "xlog1py": ("special.xlog1py(a, b)", lambda x, y: x * mp.log1p(y), POSITIVE, scales(1e-6, 60)),
    "xlogy": ("special.xlogy(a, b)", lambda x, y: x * mp.log(y), POSITIVE, POSITIVE),
    "zeta": ("special.zeta(a, b)", mp.zeta, over(1.1, 12), over(0.5, 20)),
}  # fmt: skip
PARTS = ("wofz", "wofz below")


def rows() -> dict[str, Row]:
    """By the names of the functions, and what is said of their operands."""
    return {
        name: Row(expression, reference, tuple(ranges), name in PARTS)
        for name, (expression, reference, *ranges) in _ROWS.items()
    }
