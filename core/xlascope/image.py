"""Image resizing: resampling along axes, with JAX's methods."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .dtypes import to_canonical_dtype
from .names import explain_missing as _explain_missing
from .numpy import logic, transcendental, ufuncs
from .numpy.axes import axes_of, is_several, sizes_of
from .numpy.contractions import einsum
from .numpy.creation import asarray
from .numpy.promotion import as_dtype, promote_inexact
from .numpy.ranges import arange
from .numpy.reductions import sum
from .numpy.shaping import expand_dims, shape_of
from .numpy.taking import take
from .operations.precision import Precision
from .trace.operand_coercion import to_array
from .trace.values import aval_of

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]


class ResizeMethod(enum.Enum):
    """Interpolation method."""

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """Return the method of a name, as in "bilinear" or "lanczos3"; raise ValueError for an unknown name."""
        for method, names in _METHOD_NAMES.items():
            if s in names.split():
                return method
        choices = " ".join(_METHOD_NAMES.values()).split()
        raise ValueError(f"a method of resizing is one of {', '.join(choices)}, got {s!r}")


_METHOD_NAMES = {
    ResizeMethod.NEAREST: "nearest",
    ResizeMethod.LINEAR: "linear bilinear trilinear triangle",
    ResizeMethod.LANCZOS3: "lanczos3",
    ResizeMethod.LANCZOS5: "lanczos5",
    ResizeMethod.CUBIC: "cubic bicubic tricubic",
    ResizeMethod.CUBIC_PYTORCH: "cubic-pytorch bicubic-pytorch",
    ResizeMethod.AREA: "area",
}


def _linear(x: Any) -> Any:
    return ufuncs.maximum(0, 1 - x)


def _cubic(x: Any) -> Any:
    # Keys (1981), a = -1/2: a polynomial up to 1, another up to 2.
    near = ((1.5 * x - 2.5) * x) * x + 1.0
    far = ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    return logic.where(x >= 2.0, 0.0, logic.where(x >= 1.0, far, near))


def _lanczos(radius: float) -> Callable[[Any], Any]:
    def kernel(x: Any) -> Any:
        product = radius * transcendental.sin(np.pi * x) * transcendental.sin(np.pi * x / radius)
        value = logic.where(x > 1e-3, product / logic.where(x != 0, np.pi**2 * x**2, 1), 1)
        return logic.where(x > radius, 0.0, value)

    return kernel


_KERNELS: dict[ResizeMethod, Callable[[Any], Any]] = {
    ResizeMethod.LINEAR: _linear,
    ResizeMethod.CUBIC: _cubic,
    ResizeMethod.CUBIC_PYTORCH: _cubic,
    ResizeMethod.LANCZOS3: _lanczos(3.0),
    ResizeMethod.LANCZOS5: _lanczos(5.0),
}


def resize(
    image: Any,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = Precision.HIGHEST,
) -> Any:
    """Resize an image.

    ``shape`` has a size for each axis of ``image``; axes whose size stays are not touched. ``method`` is
    "nearest", "linear", "cubic", "cubic-pytorch" (without ``antialias`` PyTorch's kernel and edges), "lanczos3",
    "lanczos5" or "area" (by the overlap of pixels), or a :class:`ResizeMethod`. When downsampling, the kernel
    gets wider, unless ``antialias`` is False. The result is floating-point except for "nearest", which keeps the
    dtype. Raises ValueError for a shape of another rank and for other methods.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.image.resize(jnp.array([0.0, 2.0]), (4,), "linear"))
    [0.  0.5 1.5 2. ]
    """
    image, sizes = to_array(image), sizes_of(shape)
    old_shape = shape_of(image)
    if len(sizes) != len(old_shape):
        raise ValueError(f"shape has a size for each axis of the picture, got {sizes} for one of shape {old_shape}")
    parsed = _parse_method(method)
    if parsed is ResizeMethod.NEAREST:
        return _nearest(image, sizes)
    changed = [axis for axis in range(len(old_shape)) if old_shape[axis] != sizes[axis]]
    scale = [1.0 if sizes[axis] == 0 or old_shape[axis] == 0 else sizes[axis] / old_shape[axis] for axis in changed]
    return _resample(promote_inexact(image), sizes, changed, scale, [0.0] * len(changed), parsed, antialias, precision)


def scale_and_translate(
    image: Any,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: Any,
    translation: Any,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = Precision.HIGHEST,
) -> Any:
    """Scale and translate an image: position x moves to x · ``scale`` + ``translation``, along each axis.

    ``spatial_dims`` names the axes, ``scale`` and ``translation`` have one number for each and may be
    differentiated. Pixel i is at i + 1/2. Values from outside of the image are 0. ``shape``, ``method``,
    ``antialias`` and errors are as for :func:`resize`, without "nearest".

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> x = jnp.array([1.0, 2.0, 3.0])
    >>> print(xs.image.scale_and_translate(x, (3,), (0,), jnp.array([1.0]), jnp.array([1.0]), "linear"))
    [0. 1. 2.]
    """
    image, sizes = to_array(image), sizes_of(shape)
    if len(sizes) != len(shape_of(image)):
        raise ValueError(
            f"shape has a size for each axis of the picture, got {sizes} for one of shape {shape_of(image)}"
        )
    parsed = _parse_method(method)
    if parsed is ResizeMethod.NEAREST:
        raise ValueError("scale_and_translate has no nearest neighbours; resize has")
    if not is_several(spatial_dims):
        raise TypeError(f"spatial_dims has an axis for each number of scale, as in (0, 1); got {spatial_dims!r}")
    axes = axes_of(tuple(spatial_dims), len(sizes), "spatial_dims")
    scale, translation = asarray(scale), asarray(translation)
    for name, value in (("scale", scale), ("translation", translation)):
        if shape_of(value) != (len(axes),):
            raise ValueError(f"{name} has a number for each of the {len(axes)} axes, got shape {shape_of(value)}")
    image = promote_inexact(image)
    factors, offsets = ([as_dtype(v[i], aval_of(image).dtype) for i in range(len(axes))] for v in (scale, translation))
    return _resample(image, sizes, list(axes), factors, offsets, parsed, antialias, precision)


def _parse_method(method: Any) -> ResizeMethod:
    parsed = ResizeMethod.from_string(method) if isinstance(method, str) else method
    if not isinstance(parsed, ResizeMethod):
        raise ValueError(f"a method of resizing is a name or a ResizeMethod, got {method!r}")
    return parsed


def _nearest(image: Any, sizes: Sequence[int]) -> Any:
    old_shape = shape_of(image)
    for axis, (size, new_size) in enumerate(zip(old_shape, sizes, strict=True)):
        if size != new_size:
            positions = (arange(new_size, dtype=np.dtype("float32")) + 0.5) * (size / new_size if new_size else 1.0)
            image = take(image, as_dtype(ufuncs.floor(positions), to_canonical_dtype(int)), axis, mode="clip")
    return image


def _resample(
    image: Any, sizes: Sequence[int], axes: Sequence[int], scale: Any, translation: Any, method: ResizeMethod,
    antialias: bool, precision: Any,
) -> Any:  # fmt: skip
    """Resize an image along ``axes``, the only axes whose size may change, with the kernel of ``method``.

    ``sizes`` is the new shape; ``scale`` and ``translation`` have a number for each of ``axes``.
    """
    old_shape = shape_of(image)
    matrices = [
        _weights(old_shape[axis], sizes[axis], factor, offset, method, antialias)
        for axis, factor, offset in zip(axes, scale, translation, strict=True)
    ]
    return _apply_weights(image, sizes, axes, matrices, precision)


def _apply_weights(
    image: Any, sizes: Sequence[int], axes: Sequence[int], matrices: Sequence[Any], precision: Any
) -> Any:
    """Multiply an image by a matrix of weights along each of ``axes``; ``sizes`` is the shape of the result.

    ``matrices`` has a matrix for each of ``axes``: a row for each old pixel, a column for each new one.
    """
    if not axes:
        return image
    rank, names = len(sizes), []
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    result = list(letters[:rank])
    for axis in axes:
        names.append(letters[axis] + letters[rank + axis])
        result[axis] = letters[rank + axis]
    operands = [as_dtype(weights, aval_of(image).dtype) for weights in matrices]
    subscripts = ",".join([letters[:rank], *names]) + "->" + "".join(result)
    return einsum(subscripts, image, *operands, precision=precision)


def _weights(size: int, new_size: int, scale: Any, translation: Any, method: ResizeMethod, antialias: bool) -> Any:
    """Return the weights that interpolate along one axis: a row for each old pixel, a column for each new one.

    ``size`` is the number of old pixels, ``new_size`` that of new ones. Each column is normalized to a sum of 1; it is
    0 for a new pixel that lies outside of the image.
    """
    inverse = 1.0 / scale
    width = ufuncs.maximum(inverse, 1.0) if antialias else 1.0
    at = (arange(new_size, dtype=np.dtype("float32")) + 0.5) * inverse - translation * inverse - 0.5
    inside = expand_dims(logic.bitwise_and(at >= -0.5, at <= size - 0.5), 0)  # of the image, whose pixels have width 1
    if method is ResizeMethod.CUBIC_PYTORCH and not antialias:
        return logic.where(inside, _weights_of_pytorch(size, at), 0)
    distance = ufuncs.abs(expand_dims(at, 0) - expand_dims(arange(size, dtype=np.dtype("float32")), 1))
    weights = _pixel_overlap(distance, inverse) if method is ResizeMethod.AREA else _KERNELS[method](distance / width)
    total = sum(weights, 0, keepdims=True)
    enough = ufuncs.abs(total) > 1000.0 * float(np.finfo(np.float32).eps)
    weights = logic.where(enough, weights / logic.where(total != 0, total, 1), 0)
    return logic.where(inside, weights, 0)


def _weights_of_pytorch(size: int, at: Any) -> Any:
    """Return the weights of PyTorch's cubic kernel: Keys's with a = -3/4, edge pixels repeated beyond the ends.

    ``size`` is the number of old pixels along the axis; ``at`` are the positions of the new pixels, in units
    of old ones. The result has a row for each old pixel and a column for each new one.
    """
    x = ufuncs.abs(expand_dims(at, 0) - expand_dims(arange(-2, size + 2, dtype=np.dtype("float32")), 1))
    near = ((1.25 * x - 2.25) * x) * x + 1.0
    far = ((-0.75 * x + 3.75) * x - 6.0) * x + 3.0
    weights = logic.where(x >= 2.0, 0.0, logic.where(x >= 1.0, far, near))
    # Row i of this matrix sums the weights of pixel i.
    pixels = np.clip(np.arange(-2, size + 2), 0, max(size - 1, 0))
    folding = (np.arange(size)[:, None] == pixels).astype("float32")
    return einsum("ij,jk->ik", folding, weights, precision=Precision.HIGHEST)


def _pixel_overlap(distance: Any, width: Any) -> Any:
    """Return the overlap of a new pixel with old ones, which have width 1.

    ``width`` is the new pixel's width, ``distance`` that between the centers, both in units of old pixels.
    """
    return ufuncs.maximum(ufuncs.minimum(ufuncs.minimum(width, 1.0), (width + 1.0) / 2.0 - distance), 0.0)


_explain_missing(__name__)
