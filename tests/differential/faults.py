"""Mistakes planted in a library, to see whether the judge finds them: each has a name, a place and a wrong answer."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from functools import reduce
from types import ModuleType
from typing import Any

import numpy as np

#: From the function as it is, and the library, to the faulty one.
Fault = Callable[[Any, Any], Callable[..., Any]]


def _lose_sign_of_zero(negative: Any, library: Any) -> Callable[..., Any]:
    return lambda x: library.numpy.subtract(0, x)


def _shift_negative_axis(flip: Any, library: Any) -> Callable[..., Any]:
    return lambda m, axis=None: flip(m, axis + 1 if isinstance(axis, int) and axis < 0 else axis)


def _lose_weak_type(square: Any, library: Any) -> Callable[..., Any]:
    return lambda x: library.lax.convert_element_type(square(x), square(x).dtype)


def _widen_half(sqrt: Any, library: Any) -> Callable[..., Any]:
    def faulty(x: Any) -> Any:
        result = sqrt(x)
        return result.astype("float32") if result.dtype == "float16" else result

    return faulty


def _ignore_nan(maximum: Any, library: Any) -> Callable[..., Any]:
    return lambda a, *args, **kwargs: library.numpy.nanmax(a, *args, **kwargs)


def _raise_another_error(roll: Any, library: Any) -> Callable[..., Any]:
    def faulty(*args: Any, **kwargs: Any) -> Any:
        try:
            return roll(*args, **kwargs)
        except (TypeError, ValueError) as error:
            raise RuntimeError(str(error)) from error

    return faulty


def _give_back_the_argument(ravel: Any, library: Any) -> Callable[..., Any]:
    return lambda a, order="C": a.reshape(-1) if isinstance(a, np.ndarray) else ravel(a, order)


def _round_halves_up(rounded: Any, library: Any) -> Callable[..., Any]:
    return lambda a, decimals=0: (
        library.numpy.floor(a + 0.5) if a.dtype.kind == "f" and not decimals else rounded(a, decimals)
    )


def _transpose_one_rank(squeeze: Any, library: Any) -> Callable[..., Any]:
    def faulty(a: Any, axis: Any = None) -> Any:
        result = squeeze(a, axis)
        return result.T if result.ndim == 2 else result

    return faulty


def _confuse_sides(searchsorted: Any, library: Any) -> Callable[..., Any]:
    return lambda a, v, side="left", *args, **kwargs: searchsorted(a, v, "left", *args, **kwargs)


def _die_of_empty_arrays(sort: Any, library: Any) -> Callable[..., Any]:
    def faulty(a: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(a, "size", 1) == 0:
            os._exit(11)
        return sort(a, *args, **kwargs)

    return faulty


def _say_what_the_compiler_says(cbrt: Any, library: Any) -> Callable[..., Any]:
    def faulty(x: Any) -> Any:
        try:
            return cbrt(x)
        except TypeError as error:
            raise TypeError("'stablehlo.cbrt' op operand #0 must be a tensor of floats") from error

    return faulty


def _lose_accuracy(log1p: Any, library: Any) -> Callable[..., Any]:
    return lambda x: library.numpy.log(1 + x)


def _ignore_the_mask(total: Any, library: Any) -> Callable[..., Any]:
    return lambda *args, where=None, **kwargs: total(*args, **kwargs)


#: By name: the function that gets the mistake, the mistake, and the kind of difference it has to make.
FAULTS: dict[str, tuple[str, Fault, tuple[str, ...]]] = {
    "the sign of a zero": ("numpy.negative", _lose_sign_of_zero, ("sign of zero",)),
    "an axis off by one": ("numpy.flip", _shift_negative_axis, ("value",)),
    "a weak type lost": ("numpy.square", _lose_weak_type, ("weak type",)),
    "float32 for float16": ("numpy.sqrt", _widen_half, ("dtype",)),
    "NaN ignored": ("numpy.max", _ignore_nan, ("value", "accuracy")),
    "another class of error": ("numpy.roll", _raise_another_error, ("error class",)),
    "an alias of the argument": ("numpy.ravel", _give_back_the_argument, ("alias", "type")),
    "halves rounded up": ("numpy.round", _round_halves_up, ("value", "accuracy")),
    "a shape transposed": ("numpy.squeeze", _transpose_one_rank, ("shape", "value")),
    "the other side": ("numpy.searchsorted", _confuse_sides, ("value",)),
    "death by an empty array": ("numpy.sort", _die_of_empty_arrays, ("ended",)),
    "a compiler's words": ("numpy.cbrt", _say_what_the_compiler_says, ("compiler text",)),
    "digits lost": ("numpy.log1p", _lose_accuracy, ("accuracy", "value", "sign of zero")),
    "a mask ignored": ("numpy.sum", _ignore_the_mask, ("value", "accuracy", "accepted only here")),
}


def plant(name: str, library: ModuleType) -> None:
    """Put the fault of that name into the library."""
    path, fault, _ = FAULTS[name]
    *modules, last = path.split(".")
    module = reduce(getattr, modules, library)
    sound = getattr(module, last)
    faulty = functools.wraps(sound)(fault(sound, sys.modules[library.__name__]))
    setattr(module, last, faulty)
