"""Methods and operators of arrays and tracers: fills the method table of ``trace/methods.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import KINDS
from ..ir.avals import ShapedArray
from ..ir.jaxpr import Literal
from ..ir.operation import Operation
from ..operations import arithmetic, comparisons
from ..trace.methods import install
from ..trace.operand_coercion import unwrap_operand
from ..trace.state import STATE
from ..trace.traceback_filtering import filter_traceback
from ..trace.tracer import TracerBase
from ..trace.values import aval_of, invalid_operand_error
from ..xla.arrays.key_array import KeyArray
from ..xla.devices.backend import ArrayImpl
from ..xla.execution.eager import execute_single, require_live_operands
from . import (
    array_methods,
    creation,
    indexing,
    linear,
    logic,
    reductions,
    repeating,
    shaping,
    taking,
    ufuncs,
    updates,
    variances,
)
from .promotion import KINDS_HOLDING_SCALAR, promote_scalar

_OPERANDS = (ArrayImpl, TracerBase, KeyArray, np.ndarray, np.generic, bool, int, float, complex)


#: NumPy's scalars that arrays of their dtype meet as Python's floats do: as an array on the device, from a cache.
_NUMPY_FLOATS = frozenset({np.float32, np.float64})
_FLOAT32 = np.dtype(np.float32)


class DirectOperation(NamedTuple):
    """Operation that computes a function for operands that need no promotion.

    ``kinds`` are the letters of the dtype kinds for which it does, as in ``numpy.dtype.kind``.
    """

    operation: Operation
    kinds: str


_NO_DIRECT_OPERATION = DirectOperation(arithmetic.Add(), "")


def _binary_operator(
    function: Callable[[Any, Any], Any], direct: DirectOperation | None = None
) -> Callable[[Any, Any], Any]:
    """Return a method for a binary operator; it returns NotImplemented for unknown operands.

    ``function`` computes the operator, with promotion. Operands of one type (outside of any trace NumPy arrays as
    well), and weakly typed Python scalars, are bound to the operation in ``direct`` without promotion, if it
    covers their dtype. This inlines ``bind1``, since it is the fast path of tracing and of eager calls.
    """
    operation, kinds = direct or _NO_DIRECT_OPERATION

    def operator(self: Any, other: Any) -> Any:
        try:
            aval, kind = self.aval, other.__class__
            if (dtype_kind := KINDS[aval.dtype]) in kinds:
                trace, operand = STATE.trace, None
                if kind is self.__class__:
                    if other.aval is aval:
                        operand = other
                elif kind in KINDS_HOLDING_SCALAR:
                    if dtype_kind in KINDS_HOLDING_SCALAR[kind]:
                        operand = promote_scalar(other, aval.dtype, trace)
                elif trace is None:
                    operand = _direct_host_operand(aval, other)
                if operand is not None:
                    if trace is not None:
                        return trace.bind(operation, (self, operand))[0]
                    run = operation.eager_function
                    if run is None:
                        return execute_single(operation, (self, operand))
                    try:
                        return run(self, operand)
                    except ValueError as error:
                        require_live_operands(error, operation, (self, operand))
                        raise
            return (
                function(self, other)
                if kind is self.__class__ or isinstance(other, _OPERANDS)
                else _apply_to_foreign_operand(function, self, other)
            )
        except BaseException as error:
            filter_traceback(error)
            raise

    return operator


def _reflected_operator(
    function: Callable[[Any, Any], Any], direct: DirectOperation | None = None
) -> Callable[[Any, Any], Any]:
    """Return a binary operator like :func:`_binary_operator`, with the operands exchanged."""
    operation, kinds = direct or _NO_DIRECT_OPERATION

    def operator(self: Any, other: Any) -> Any:
        try:
            aval, kind = self.aval, other.__class__
            if (dtype_kind := KINDS[aval.dtype]) in kinds:
                trace, operand = STATE.trace, None
                if kind in KINDS_HOLDING_SCALAR:
                    if dtype_kind in KINDS_HOLDING_SCALAR[kind]:
                        operand = promote_scalar(other, aval.dtype, trace)
                elif trace is None:
                    operand = _direct_host_operand(aval, other)
                if operand is not None:
                    if trace is not None:
                        return trace.bind(operation, (operand, self))[0]
                    run = operation.eager_function
                    if run is None:
                        return execute_single(operation, (operand, self))
                    try:
                        return run(operand, self)
                    except ValueError as error:
                        require_live_operands(error, operation, (operand, self))
                        raise
            if isinstance(other, _OPERANDS):
                return function(other, self)
            return _apply_to_foreign_operand(lambda x, y: function(y, x), self, other)
        except BaseException as error:
            filter_traceback(error)
            raise

    return operator


def _direct_host_operand(aval: ShapedArray, x: Any) -> Any:
    """Return the operand for an object of NumPy beside an array of type ``aval``; None where it has to be promoted.

    It is a NumPy array of that type itself, and for a float of the array's dtype an array on the device.
    """
    kind = x.__class__
    if kind is np.ndarray:
        return x if aval_of(x) is aval else None
    if kind not in _NUMPY_FLOATS or aval.weak_type:
        return None
    dtype = _FLOAT32 if kind is np.float32 else aval_of(x).dtype
    return promote_scalar(x.item(), dtype, None) if dtype is aval.dtype else None


def _apply_to_foreign_operand(function: Callable[[Any, Any], Any], x: Any, operand: Any) -> Any:
    """Apply an operator to an operand that is no array.

    An object with ``__jax_array__`` is converted; lists and tuples raise TypeError; others give NotImplemented. A
    literal is a constant of the library's own functions beside a 64-bit array.
    """
    if operand.__class__ is Literal:
        return function(x, operand)
    if isinstance(operand, (list, tuple)):
        raise invalid_operand_error(operand, "an operand")
    return (
        function(x, unwrap_operand(operand)) if getattr(operand, "__jax_array__", None) is not None else NotImplemented
    )


def _power(x: Any, y: Any, mod: Any = None) -> Any:
    if mod is not None:
        raise NotImplementedError("the three-argument pow of arrays")
    return ufuncs.power(x, y)


def _iterate(self: Any) -> Iterator[Any]:
    if not self.shape:
        raise TypeError("an array without axes cannot be iterated over")
    rows = map(partial(indexing.getitem, self), range(self.shape[0]))
    # Outside of any trace a row is one call: who needs only the first, as matplotlib does, should not pay for all.
    return rows if STATE.trace is None else iter(list(rows))


def _round(self: Any, decimals: int | None = None) -> Any:
    return ufuncs.round(self).astype(int) if decimals is None else ufuncs.round(self, decimals)


def _reshape(self: Any, *shape: Any, order: str = "C", out_sharding: Any = None) -> Any:
    return shaping.reshape(self, shape[0] if len(shape) == 1 else shape, order, out_sharding=out_sharding)


def _transpose(self: Any, *axes: Any) -> Any:
    requested = axes[0] if len(axes) == 1 else axes or None
    return shaping.transpose(self, requested if requested is None or not isinstance(requested, int) else (requested,))


def _astype(self: Any, dtype: Any, copy: Any = False, device: Any = None) -> Any:
    if copy.__class__ is not bool:
        bool(copy)  # raises the error for an array of several elements
    return creation.astype(self, dtype, device=device)


def _clip(self: Any, min: Any = None, max: Any = None) -> Any:
    return reductions.clip(self, min, max)


_ARITHMETIC: dict[str, tuple[Callable[[Any, Any], Any], DirectOperation]] = {
    "add": (ufuncs.add, DirectOperation(arithmetic.Add(), "iufc")),
    "sub": (ufuncs.subtract, DirectOperation(arithmetic.Sub(), "iufc")),
    "mul": (ufuncs.multiply, DirectOperation(arithmetic.Mul(), "iufc")),
    "truediv": (ufuncs.true_divide, DirectOperation(arithmetic.Div(), "fc")),
}
_BINARY: dict[str, Callable[..., Any]] = {
    "floordiv": ufuncs.floor_divide,
    "mod": ufuncs.remainder,
    "divmod": ufuncs.divmod,
    "pow": _power,
    "matmul": linear.matmul,
    "and": logic.bitwise_and,
    "or": logic.bitwise_or,
    "xor": logic.bitwise_xor,
    "lshift": logic.left_shift,
    "rshift": logic.right_shift,
}
_COMPARISONS: dict[str, tuple[Callable[[Any, Any], Any], DirectOperation]] = {
    "eq": (logic.equal, DirectOperation(comparisons.Eq(), "biufc")),
    "ne": (logic.not_equal, DirectOperation(comparisons.Ne(), "biufc")),
    "lt": (logic.less, DirectOperation(comparisons.Lt(), "biufV")),
    "le": (logic.less_equal, DirectOperation(comparisons.Le(), "biufV")),
    "gt": (logic.greater, DirectOperation(comparisons.Gt(), "biufV")),
    "ge": (logic.greater_equal, DirectOperation(comparisons.Ge(), "biufV")),
}

TABLE: dict[str, Any] = {
    **{
        f"__{name}__": _binary_operator(function, direct)
        for name, (function, direct) in (_ARITHMETIC | _COMPARISONS).items()
    },
    **{f"__r{name}__": _reflected_operator(function, direct) for name, (function, direct) in _ARITHMETIC.items()},
    **{f"__{name}__": _binary_operator(function) for name, function in _BINARY.items()},
    **{f"__r{name}__": _reflected_operator(function) for name, function in _BINARY.items()},
    "__abs__": ufuncs.abs,
    "__neg__": ufuncs.negative,
    "__pos__": ufuncs.positive,
    "__invert__": logic.bitwise_not,
    "__round__": _round,
    "__iter__": _iterate,
    "__getitem__": indexing.getitem,
    "all": reductions.all,
    "any": reductions.any,
    "argmax": reductions.argmax,
    "argmin": reductions.argmin,
    "astype": _astype,
    "clip": _clip,
    "conj": ufuncs.conjugate,
    "conjugate": ufuncs.conjugate,
    "copy": creation.copy,
    "cumprod": reductions.cumprod,
    "cumsum": reductions.cumsum,
    "diagonal": repeating.diagonal,
    "dot": linear.dot,
    "flatten": shaping.ravel,
    "max": reductions.max,
    "mean": reductions.mean,
    "min": reductions.min,
    "prod": reductions.prod,
    "ravel": shaping.ravel,
    "repeat": repeating.repeat,
    "reshape": _reshape,
    "round": ufuncs.round,
    "squeeze": shaping.squeeze,
    "std": variances.std,
    "sum": reductions.sum,
    "swapaxes": shaping.swapaxes,
    "take": taking.take,
    "trace": linear.trace,
    "transpose": _transpose,
    "var": variances.var,
    "T": property(shaping.transpose),
    "at": property(updates.IndexUpdate),
    "imag": property(ufuncs.imag),
    "mT": property(shaping.matrix_transpose),
    "nbytes": property(lambda self: self.size * self.dtype.itemsize),
    "itemsize": property(lambda self: self.dtype.itemsize),
    "real": property(ufuncs.real),
    **array_methods.METHODS,
}
install(TABLE)
