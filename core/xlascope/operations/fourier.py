"""The discrete Fourier transform, of complex and of real values, over the last axes.

With ω = e^(-2πi/n) the transform of x is X[k] = Σ x[j] ω^(jk), over several axes one after the other. Its matrix is
symmetric, so the complex transforms are their own transposes (M. Frigo and S. G. Johnson, "The Design and
Implementation of FFTW3", Proc. IEEE 93(2), 2005, has the definitions; those of the real transforms are in section IV).
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import dtype_kind
from ..ir.avals import ShapedArray, make_aval
from ..ir.user_frames import user_line, where_text
from ..records.traits import KERNEL
from ..trace.bind import bind1
from ..trace.operand_coercion import pass_through
from ..trace.values import exact_operand
from ..xla.mlir.builder import attribute, int64_array
from .arithmetic import mul
from .complex_numbers import complex_dtype, conj, real, real_dtype
from .conversion import to_dtype
from .integer_arguments import whole_numbers
from .linear_operation import Linear
from .operand_values import aval, typed_scalar
from .shapes import moveaxis
from .slicing import pad


class FftType(enum.IntEnum):
    """Kind of transform.

    FFT and IFFT transform complex values forward and back, RFFT and IRFFT real values to half of the result and back.
    """

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


class Fft(Linear, name="fft"):
    """The transform over the last ``len(fft_lengths)`` axes.

    RFFT gives the first n // 2 + 1 elements along the last axis, of which the others are conjugates; IRFFT takes
    these and gives n. The inverse transforms divide by the number of elements.
    """

    traits = KERNEL
    fft_type: FftType
    fft_lengths: tuple[int, ...]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        self._check(x)
        lead = x.shape[: x.ndim - len(self.fft_lengths)]
        if self.fft_type is FftType.RFFT:
            return [make_aval((*lead, *_half_lengths(self.fft_lengths)), complex_dtype(x.dtype))]
        if self.fft_type is FftType.IRFFT:
            return [make_aval((*lead, *self.fft_lengths), real_dtype(x.dtype))]
        return [make_aval(x.shape, x.dtype)]

    def _check(self, x: ShapedArray) -> None:
        """Raise ValueError unless the operand's dtype and last axes fit the type of transform and its lengths."""
        lengths, kind = self.fft_lengths, self.fft_type
        dtype_names = ("float32", "float64") if kind is FftType.RFFT else ("complex64", "complex128")
        if x.dtype.name not in dtype_names:
            raise ValueError(
                f"{kind.name} input must be {' or '.join(dtype_names)}, got {x.dtype.name}{where_text(user_line())}; "
                "convert with astype"
            )
        if not 1 <= len(lengths) <= 3:
            raise ValueError(f"fft transforms one to three axes at a time, got fft_lengths {lengths}")
        if x.ndim < len(lengths):
            raise ValueError(
                f"FFT input shape {x.shape} must have at least as many input dimensions as fft_lengths {lengths}"
            )
        sizes = _half_lengths(lengths) if kind is FftType.IRFFT else lengths
        if x.shape[x.ndim - len(lengths) :] != sizes:
            raise ValueError(
                f"{kind.name} with fft_lengths {lengths} takes an operand whose last axes have the sizes {sizes}, got "
                f"shape {x.shape}{where_text(user_line())}; slice or pad it, or say other lengths"
            )
        if kind is FftType.RFFT and lengths[-1] == 0:
            raise ValueError(f"RFFT of no elements has no result: fft_lengths {lengths} are at least 1")

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (out,) = builder.out_avals
        if 0 in builder.in_avals[0].shape or 0 in out.shape:
            return [builder.broadcast(builder.constant(0, make_aval((), out.dtype)), out)]
        kind = attribute(f"#stablehlo<fft_type {self.fft_type.name}>")
        return builder.emit(  # type: ignore[no-any-return]
            "stablehlo.fft", operands, {"fft_type": kind, "fft_length": int64_array(self.fft_lengths)}
        )

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        # 5 n log2(n) for complex values, by which transforms are compared, and half of it for real ones
        size = max(operands[0].size, results[0].size)
        per_element = 2.5 if self.fft_type in (FftType.RFFT, FftType.IRFFT) else 5
        return int(per_element * size * math.log2(max(math.prod(self.fft_lengths), 1)))

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,) = cotangents
        if self.fft_type is FftType.RFFT:
            return [_transpose_rfft(ct, self.fft_lengths)]
        if self.fft_type is FftType.IRFFT:
            return [_transpose_irfft(ct, self.fft_lengths)]
        return [bind1(self, ct)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        return [bind1(self, moveaxis(x, axis, 0))], [0]


def _half_lengths(lengths: tuple[int, ...]) -> tuple[int, ...]:
    return (*lengths[:-1], lengths[-1] // 2 + 1)


def _transpose_rfft(ct: Any, lengths: tuple[int, ...]) -> Any:
    # The half of the result that is given is the first part of the complex transform of x. Transposed: the cotangent
    # with zeros for the other part, transformed, and of that the real part, since x is real.
    type_ = aval(ct)
    last = lengths[-1]
    around = [(0, 0, 0)] * (len(type_.shape) - 1) + [(0, last - type_.shape[-1], 0)]
    padded = pad(ct, typed_scalar(0, type_.dtype), around)
    return real(bind1(Fft(FftType.FFT, lengths), padded))


def _transpose_irfft(ct: Any, lengths: tuple[int, ...]) -> Any:
    # x[j] = 1/N Re Σ w[k] X[k] ω^(-jk), where w counts X[k] twice if its conjugate stands for another element. The
    # pairing Re Σ c[k] t[k] of cotangent and tangent asks for c[k] = w[k]/N Σ ct[j] ω^(-jk), a conjugate since ct is
    # real.
    last = lengths[-1]
    weights = np.full(last // 2 + 1, 2.0)
    weights[0] = 1.0
    if last % 2 == 0:
        weights[-1] = 1.0
    weights /= math.prod(lengths)
    spectrum = conj(bind1(Fft(FftType.RFFT, lengths), ct))
    type_ = aval(spectrum)
    shape = (1,) * (len(type_.shape) - 1) + weights.shape
    factors = weights.reshape(shape).astype(type_.dtype)
    return mul(spectrum, exact_operand(factors, make_aval(shape, type_.dtype)))


def fft(x: Any, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Any:
    """Return the discrete Fourier transform over the last axes, of the lengths ``fft_lengths`` (one to three).

    ``fft_type`` is a ``FftType`` or its name. FFT and IFFT take complex values (others are converted) and keep the
    shape. RFFT takes real values of shape ``(..., n)`` and gives ``(..., n // 2 + 1)`` complex ones, IRFFT the
    other way; n is the last of ``fft_lengths``. Raises ValueError for an unknown type, or lengths that are not the
    operand's, TypeError for a type that is neither.

    >>> from xlascope import lax, numpy as jnp
    >>> print(lax.fft(jnp.array([1.0, 0.0, 0.0, 0.0]), "rfft", (4,)))
    [1.+0.j 1.+0.j 1.+0.j]
    """
    kind = _parse_fft_type(fft_type)
    lengths = whole_numbers(fft_lengths, "fft_lengths of fft")
    type_ = aval(x)
    if kind is FftType.RFFT and dtype_kind(type_.dtype) == "c":
        raise ValueError(f"only real valued inputs supported for rfft, got {type_.dtype.name}; take their real part")
    dtype = _inexact_dtype(type_.dtype) if kind is FftType.RFFT else complex_dtype(_inexact_dtype(type_.dtype))
    if not lengths:
        return pass_through(x) if dtype == type_.dtype else to_dtype(x, dtype)
    return bind1(Fft(kind, lengths), x if dtype == type_.dtype else to_dtype(x, dtype))


def _inexact_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the floating-point or complex dtype to compute in: float32 for integers up to 32 bits."""
    if dtype_kind(dtype) in "fc":
        return dtype
    return np.dtype("float32" if dtype.itemsize <= 4 else "float64")


def _parse_fft_type(fft_type: Any) -> FftType:
    """Return an ``FftType`` given itself or its name.

    Raises ValueError for an unknown name, TypeError for anything else.
    """
    if isinstance(fft_type, FftType):
        return fft_type
    if not isinstance(fft_type, str):
        raise TypeError(f"Unknown FFT type value {fft_type!r}: fft_type is a lax.FftType or its name, such as 'rfft'")
    try:
        return FftType[fft_type.upper()]
    except KeyError:
        names = ", ".join(kind.name for kind in FftType)
        raise ValueError(f"Unknown FFT type {fft_type!r}; there are {names}") from None
