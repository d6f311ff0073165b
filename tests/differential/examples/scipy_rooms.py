"""Calls of scipy's smaller rooms: solvers, signals, grids."""

from __future__ import annotations

import math
from typing import Any

from ..draws import Draw
from ..language import array, tuple_of
from .declaring import Example, example_of, fn, of
from .linear_algebra import a_matrix


def _floats(draw: Draw, *shape: int, dtype: str = "float32") -> Any:
    return array(dtype, shape, [draw.whole(-16, 16) / 8 for _ in range(math.prod(shape))], draw.holder())


@example_of("scipy.sparse.linalg.cg", "scipy.sparse.linalg.bicgstab", "scipy.sparse.linalg.gmres")
def _solvers(draw: Draw) -> Example:
    n = draw.pick([1, 2, 3])
    entries = [8.0 + i if i == j else 0.5 for i in range(n) for j in range(n)]
    named: dict[str, Any] = {"x0": _floats(draw, n)} if draw.chance(0.3) else {}
    if draw.chance(0.3):
        named["tol"] = draw.pick([1e-5, 1e-6])
    return of(array("float32", (n, n), entries, "device"), _floats(draw, n if draw.chance(0.9) else n + 1), **named)


@example_of("scipy.optimize.minimize")
def _minimize(draw: Draw) -> Example:
    function = draw.pick([fn("bowl"), fn("bowl"), {"attribute": "numpy.var"}])
    method = draw.weighted({"BFGS": 6, "l-bfgs-experimental-do-not-rely-on-this": 3, "none": 1})
    return of(function, _floats(draw, draw.pick([2, 3])), method=method)


@example_of("scipy.interpolate.RegularGridInterpolator")
def _grid(draw: Draw) -> Example:
    return of(tuple_of([array("float32", (3,), [0.0, 1.0, 2.5], "device")]), _floats(draw, draw.pick([3, 3, 3, 4])))


@example_of("scipy.ndimage.map_coordinates")
def _sampled(draw: Draw) -> Example:
    rank = draw.pick([1, 2])
    shape = draw.pick([(), (3,), (2, 3)])
    size = math.prod(shape)
    places = [array("float32", shape, [draw.whole(-12, 40) / 8 for _ in range(size)], "device") for _ in range(rank)]
    named: dict[str, Any] = {"order": draw.pick([0, 1, 1, 2])}
    if draw.chance(0.6):
        named["mode"] = draw.pick(["constant", "nearest", "wrap", "mirror", "reflect", "none"])
    if draw.chance(0.3):
        named["cval"] = draw.pick([0.5, 2])
    return of(_floats(draw, *[3, 4][:rank], dtype=draw.pick(["float32", "float32", "float16"])), places, **named)


@example_of("scipy.cluster.vq.vq")
def _quantized(draw: Draw) -> Example:
    width = draw.pick([1, 2, 3])
    return of(_floats(draw, 4, width), _floats(draw, 3, width if draw.chance(0.9) else 4))


@example_of(*(f"scipy.fft.{name}" for name in ("dct", "idct", "dctn", "idctn")))
def _cosines(draw: Draw) -> Example:
    named: dict[str, Any] = {}
    if draw.chance(0.4):
        named["norm"] = draw.pick(["ortho", "ortho", "none"])
    if not draw.function.endswith("n") and draw.chance(0.5):
        named |= {"axis": draw.pick([0, -1])} | ({"n": draw.pick([1, 2, 5])} if draw.chance(0.5) else {})
    return of(_floats(draw, *draw.pick([(3,), (2, 3), (4, 2), (1,)])), **named)


_TWO = ("convolve", "correlate", "convolve2d", "correlate2d", "fftconvolve")


@example_of(*(f"scipy.signal.{name}" for name in _TWO), "numpy.convolve", "numpy.correlate")
def _slid(draw: Draw) -> Example:
    flat = draw.function.startswith("numpy")
    shapes = draw.pick([((4,), (2,)), ((2,), (3,)), ((3,), (3,))])
    if not flat and (draw.function.endswith("2d") or draw.chance(0.4)):
        shapes = draw.pick([((3, 4), (2, 2)), ((2, 3), (2, 1)), ((3, 3), (3, 3))])
    named = {"mode": draw.pick(["full", "same", "valid", "none"])} if draw.chance(0.7) else {}
    if draw.function in ("scipy.signal.convolve", "scipy.signal.correlate") and draw.chance(0.4):
        named["method"] = draw.pick(["auto", "direct", "fft"])
    return of(*(a_matrix(draw, *shape, only=draw.pick(["float32", "int32", "complex64"])) for shape in shapes), **named)


@example_of("scipy.signal.detrend")
def _straight(draw: Draw) -> Example:
    named = {"type": draw.pick(["linear", "constant", "none"])} if draw.chance(0.6) else {}
    return of(_floats(draw, *draw.pick([(6,), (2, 5)])), **named)


@example_of("scipy.signal.stft", "scipy.signal.welch", "scipy.signal.csd")
def _spectra(draw: Draw) -> Example:
    shape = draw.pick([(12,), (2, 12)])
    signals = [_floats(draw, *shape) for _ in range(2 if draw.function.endswith("csd") else 1)]
    named: dict[str, Any] = {"nperseg": draw.pick([4, 5, 6])}
    if draw.chance(0.4):
        named["noverlap"] = draw.pick([0, 1, 3, 6])
    if draw.chance(0.3):
        named["window"] = draw.pick(["hann", "hamming", "blackman", "boxcar"])
    if draw.chance(0.3):
        named["detrend"] = draw.pick([False, "constant", "linear"])
    return of(*signals, **named)


@example_of("numpy.polyfit")
def _fitted(draw: Draw) -> Example:
    x = array("float32", (5,), [0.0, 1.0, 2.5, 3.0, 4.0], "device")
    named: dict[str, Any] = {"cov": draw.pick([True, "unscaled"])} if draw.chance(0.3) else {}
    return of(x, _floats(draw, *draw.pick([(5,), (5, 2), (4,)])), draw.pick([0, 1, 2]), **named)


@example_of("numpy.roots")
def _zeros(draw: Draw) -> Example:
    entries = draw.pick([[1.0, -3.0, 2.0], [2.0, 1.0, -5.0, 0.5], [0.0, 1.0, 2.0], [3.0], [0.0, 0.0]])
    return of(array("float32", (len(entries),), entries, "device"), strip_zeros=draw.pick([True, False]))


@example_of("numpy.kaiser")
def _kaiser(draw: Draw) -> Example:
    return of(draw.pick([0, 1, 3, 6]), draw.pick([0.5, 2.0, 8, 14.0]))


@example_of("scipy.signal.istft")
def _istft(draw: Draw) -> Example:
    numbers = [[draw.whole(-3, 3), draw.whole(-3, 3)] for _ in range(20)]
    return of(array("complex64", (5, 4), numbers))
