"""Pictures of another size: resampling along axes, by JAX's methods."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .dtypes import canonical
from .names import explain_missing as _explain_missing
from .numpy import logic, transcendental, ufuncs
from .numpy.axes import axes_of, is_several, sizes_of
from .numpy.contractions import einsum
from .numpy.creation import asarray
from .numpy.promotion import as_dtype, inexact
from .numpy.ranges import arange
from .numpy.reductions import sum
from .numpy.shaping import expand_dims, shape_of
from .numpy.taking import take
from .operations.precision import Precision
from .trace.gate import array_of
from .trace.values import aval_of

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]


class ResizeMethod(enum.Enum):
    """How the numbers between pixels are found."""

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method of a name, as in "bilinear" or "lanczos3"; raises ValueError for others."""
        for method, names in _NAMES.items():
            if s in names.split():
                return method
        known = " ".join(_NAMES.values()).split()
        raise ValueError(f"a method of resizing is one of {', '.join(known)}, got {s!r}")


_NAMES = {
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
    """A picture of another shape.

    ``shape`` has a size for each axis of ``image``; axes whose size stays are not touched. ``method`` is "nearest",
    "linear", "cubic", "cubic-pytorch" (without ``antialias`` PyTorch's kernel and edges), "lanczos3", "lanczos5" or
    "area" (by what pixels share), or a :class:`ResizeMethod`. Where the picture gets smaller the kernel gets wider,
    unless ``antialias`` is False. The result is floating but for "nearest", which keeps the dtype. Raises ValueError
    for a shape of another rank and for other methods.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.image.resize(jnp.array([0.0, 2.0]), (4,), "linear"))
    [0.  0.5 1.5 2. ]
    """
    image, sizes = array_of(image), sizes_of(shape)
    own = shape_of(image)
    if len(sizes) != len(own):
        raise ValueError(f"shape has a size for each axis of the picture, got {sizes} for one of shape {own}")
    chosen = _method(method)
    if chosen is ResizeMethod.NEAREST:
        return _nearest(image, sizes)
    changed = [axis for axis in range(len(own)) if own[axis] != sizes[axis]]
    scale = [1.0 if sizes[axis] == 0 or own[axis] == 0 else sizes[axis] / own[axis] for axis in changed]
    return _resampled(inexact(image), sizes, changed, scale, [0.0] * len(changed), chosen, antialias, precision)


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
    """A picture scaled and moved: what is at x comes to be at x · ``scale`` + ``translation``, along each axis.

    ``spatial_dims`` names the axes, ``scale`` and ``translation`` have one number for each and may be differentiated.
    Pixel i lies at i + 1/2. What comes from outside of the picture is 0. ``shape``, ``method``, ``antialias`` and
    errors are as for :func:`resize`, without "nearest".

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> x = jnp.array([1.0, 2.0, 3.0])
    >>> print(xs.image.scale_and_translate(x, (3,), (0,), jnp.array([1.0]), jnp.array([1.0]), "linear"))
    [0. 1. 2.]
    """
    image, sizes = array_of(image), sizes_of(shape)
    if len(sizes) != len(shape_of(image)):
        raise ValueError(
            f"shape has a size for each axis of the picture, got {sizes} for one of shape {shape_of(image)}"
        )
    chosen = _method(method)
    if chosen is ResizeMethod.NEAREST:
        raise ValueError("scale_and_translate has no nearest neighbours; resize has")
    if not is_several(spatial_dims):
        raise TypeError(f"spatial_dims has an axis for each number of scale, as in (0, 1); got {spatial_dims!r}")
    axes = axes_of(tuple(spatial_dims), len(sizes), "spatial_dims")
    scale, translation = asarray(scale), asarray(translation)
    for name, given in (("scale", scale), ("translation", translation)):
        if shape_of(given) != (len(axes),):
            raise ValueError(f"{name} has a number for each of the {len(axes)} axes, got shape {shape_of(given)}")
    image = inexact(image)
    factors, offsets = ([as_dtype(v[i], aval_of(image).dtype) for i in range(len(axes))] for v in (scale, translation))
    return _resampled(image, sizes, list(axes), factors, offsets, chosen, antialias, precision)


def _method(given: Any) -> ResizeMethod:
    found = ResizeMethod.from_string(given) if isinstance(given, str) else given
    if not isinstance(found, ResizeMethod):
        raise ValueError(f"a method of resizing is a name or a ResizeMethod, got {given!r}")
    return found


def _nearest(image: Any, sizes: Sequence[int]) -> Any:
    own = shape_of(image)
    for axis, (size, wanted) in enumerate(zip(own, sizes, strict=True)):
        if size != wanted:
            places = (arange(wanted, dtype=np.dtype("float32")) + 0.5) * (size / wanted if wanted else 1.0)
            image = take(image, as_dtype(ufuncs.floor(places), canonical(int)), axis, mode="clip")
    return image


def _resampled(
    image: Any, sizes: Sequence[int], axes: Sequence[int], scale: Any, translation: Any, method: ResizeMethod,
    antialias: bool, precision: Any,
) -> Any:  # fmt: skip
    own = shape_of(image)
    matrices = [
        _weights(own[axis], sizes[axis], factor, offset, method, antialias)
        for axis, factor, offset in zip(axes, scale, translation, strict=True)
    ]
    return _multiplied(image, sizes, axes, matrices, precision)


def _multiplied(image: Any, sizes: Sequence[int], axes: Sequence[int], matrices: Sequence[Any], precision: Any) -> Any:
    """A picture multiplied by a matrix of weights along each of the axes."""
    if not axes:
        return image
    rank, names = len(sizes), []
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    result = list(letters[:rank])
    for axis in axes:
        names.append(letters[axis] + letters[rank + axis])
        result[axis] = letters[rank + axis]
    operands = [as_dtype(weights, aval_of(image).dtype) for weights in matrices]
    spelled = ",".join([letters[:rank], *names]) + "->" + "".join(result)
    return einsum(spelled, image, *operands, precision=precision)


def _weights(size: int, wanted: int, scale: Any, translation: Any, method: ResizeMethod, antialias: bool) -> Any:
    """How much each pixel counts (rows) for each of the result (columns): by the kernel, the sum brought to 1."""
    inverse = 1.0 / scale
    width = ufuncs.maximum(inverse, 1.0) if antialias else 1.0
    at = (arange(wanted, dtype=np.dtype("float32")) + 0.5) * inverse - translation * inverse - 0.5
    inside = expand_dims(
        logic.bitwise_and(at >= -0.5, at <= size - 0.5), 0
    )  # of the picture, whose pixels are one wide
    if method is ResizeMethod.CUBIC_PYTORCH and not antialias:
        return logic.where(inside, _weights_of_pytorch(size, at), 0)
    distance = ufuncs.abs(expand_dims(at, 0) - expand_dims(arange(size, dtype=np.dtype("float32")), 1))
    weights = _shared(distance, inverse) if method is ResizeMethod.AREA else _KERNELS[method](distance / width)
    total = sum(weights, 0, keepdims=True)
    enough = ufuncs.abs(total) > 1000.0 * float(np.finfo(np.float32).eps)
    weights = logic.where(enough, weights / logic.where(total != 0, total, 1), 0)
    return logic.where(inside, weights, 0)


def _weights_of_pytorch(size: int, at: Any) -> Any:
    """The same by PyTorch's kernel, that of Keys with a = -3/4; beyond the ends the last pixel is repeated."""
    x = ufuncs.abs(expand_dims(at, 0) - expand_dims(arange(-2, size + 2, dtype=np.dtype("float32")), 1))
    near = ((1.25 * x - 2.25) * x) * x + 1.0
    far = ((-0.75 * x + 3.75) * x - 6.0) * x + 3.0
    weights = logic.where(x >= 2.0, 0.0, logic.where(x >= 1.0, far, near))
    # Row i of this matrix adds up what counts for pixel i.
    pixels = np.clip(np.arange(-2, size + 2), 0, max(size - 1, 0))
    folding = (np.arange(size)[:, None] == pixels).astype("float32")
    return einsum("ij,jk->ik", folding, weights, precision=Precision.HIGHEST)


def _shared(distance: Any, width: Any) -> Any:
    """What a pixel of the result, of that width, shares with pixels one wide whose middles are so far from its own."""
    return ufuncs.maximum(ufuncs.minimum(ufuncs.minimum(width, 1.0), (width + 1.0) / 2.0 - distance), 0.0)


_explain_missing(__name__)
