"""Integrals, interpolation, pictures, clusters, cosine transforms."""

import runpy
from pathlib import Path

ROWS = """
integrate.trapezoid(x)
integrate.trapezoid(m, dx=0.5, axis=0)
integrate.trapezoid(x, y)
interpolate.RegularGridInterpolator((y,), x)(p + 0.5)
interpolate.RegularGridInterpolator((y,), x)(p)
interpolate.RegularGridInterpolator((y, jnp.arange(4.0)), m)(jnp.array([[0.75, 1.5], [1.25, 3.0], [2.0, 0.25]]))
interpolate.RegularGridInterpolator((y, jnp.arange(4.0)), m, "nearest")(jnp.array([[0.75, 1.4], [1.25, 3.0]]))
interpolate.RegularGridInterpolator((y,), m, fill_value=None)(x[:, None])
interpolate.RegularGridInterpolator((y,), m, fill_value=-1)(x[:, None])
interpolate.RegularGridInterpolator((y,), m.T)(x)
interpolate.RegularGridInterpolator((y,), x, "none")
interpolate.RegularGridInterpolator((y,), x, bounds_error=True)
library.grad(lambda a: interpolate.RegularGridInterpolator((y,), a)(p + 0.5).sum())(x)
ndimage.map_coordinates(m, [p * 3, q * 2], order=1)
ndimage.map_coordinates(m, [p * 3, q * 2], order=0)
ndimage.map_coordinates(m, [x, y], 1, mode="nearest")
ndimage.map_coordinates(m, [x * 3, y * 4], 1, mode="wrap")
ndimage.map_coordinates(m, [x * 3, y * 4], 1, mode="mirror")
ndimage.map_coordinates(m, [x * 3, y * 4], 1, mode="reflect")
ndimage.map_coordinates(m, [x, y], 1, cval=9)
ndimage.map_coordinates(m, [x, y], 0, cval=9)
ndimage.map_coordinates(k, [p * 3], 1)
ndimage.map_coordinates(k, [x * 3], 1, mode="wrap")
ndimage.map_coordinates(z, [p * 3], 1)
ndimage.map_coordinates(m, [i, k], 1)
ndimage.map_coordinates(m, [x], 1)
ndimage.map_coordinates(m, [x, y], 2)
ndimage.map_coordinates(m, [x, y], 1, mode="none")
library.grad(lambda a: ndimage.map_coordinates(m, [a, q], 1).sum())(p)
vq.vq(m, r)
vq.vq(x, y)
vq.vq(m, x)
vq.vq(m, s)
vq.vq(t, t)
fft.dct(x)
fft.dct(m, axis=0)
fft.dct(m, norm="ortho")
fft.dct(m, n=6)
fft.dct(m, n=2)
fft.dct(k)
fft.dct(x, type=3)
fft.dct(z)
fft.idct(x)
fft.idct(m, axis=0, norm="ortho")
fft.idct(m, n=6)
fft.dctn(m)
fft.dctn(t, axes=(0, 2), norm="ortho")
fft.dctn(m, s=(2, 5))
fft.idctn(m)
fft.idctn(t, axes=(1, 2))
library.grad(lambda a: (fft.dct(a) * y).sum())(x)
"""

KNOWN = {
    "interpolate.RegularGridInterpolator((y,), m.T)(x)": "they do not fit, which is said; jax reads others",
}

every = runpy.run_path(str(Path(__file__).parents[1] / "expressions.py"))["every_of"](ROWS)
