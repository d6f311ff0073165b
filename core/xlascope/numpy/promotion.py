"""Promotion of operands: a common dtype (Python scalars are weakly typed), and compatible ranks.

The fast paths come first: equal types, and a Python scalar with an array whose kind can hold it. The
promotion lattice is :func:`xlascope.dtypes.promote_dtypes`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..cache_keys import scalar_bits
from ..dtypes import KINDS, to_canonical_dtype
from ..errors import see
from ..ir.avals import ShapedArray, make_aval
from ..ir.jaxpr import Literal
from ..ir.requested_dtypes import HOW_TO_ENABLE_X64
from ..ir.user_frames import warn_at_user_line
from ..lru_cache import FastLRUCache
from ..operations.conversion import to_dtype
from ..operations.operand_values import numpy_scalar, require_fit, typed_scalar
from ..operations.shapes import expand_dims
from ..runtime import boot
from ..trace.source import compose_message, user_line, where_text
from ..trace.state import STATE
from ..trace.traceback_filtering import filter_traceback
from ..trace.values import aval_of, exact_operand
from ..xla.arrays.transfers import put_on_device
from .unary_op_chains import OpChain, apply_chain, record_chain

#: For each Python scalar type, the dtype kinds that can hold its values.
KINDS_HOLDING_SCALAR = {bool: "biufc", int: "iufc", float: "fc", complex: "c"}
BOOL = np.dtype("bool")

_ScalarKey = tuple[Any, type, np.dtype[Any], bool]
_literal_cache: FastLRUCache[_ScalarKey, Any] = FastLRUCache(2048)
_array_cache: FastLRUCache[_ScalarKey, Any] = FastLRUCache(2048)
_promotion_chain_cache: FastLRUCache[tuple[ShapedArray, ShapedArray, bool, Any], tuple[OpChain, OpChain]] = (
    FastLRUCache(2048)
)
_weak_kinds: dict[tuple[np.dtype[Any], bool], type | None] = {}


def promote_pair(x: Any, y: Any, any_rank: bool = False) -> tuple[Any, Any]:
    """Return two operands in their common dtype, with leading axes added to the one of lower rank.

    ``any_rank`` permits different ranks regardless of ``numpy_rank_promotion``.

    >>> promote_pair(np.float16(1), 2.5)
    (np.float16(1.0), np.float16(2.5))
    """
    try:
        if y.__class__ in KINDS_HOLDING_SCALAR:
            dtype = x.aval.dtype
            if KINDS[dtype] in KINDS_HOLDING_SCALAR[y.__class__]:
                return x, promote_scalar(y, dtype)
        elif x.__class__ in KINDS_HOLDING_SCALAR:
            dtype = y.aval.dtype
            if KINDS[dtype] in KINDS_HOLDING_SCALAR[x.__class__]:
                return promote_scalar(x, dtype), y
        elif x.aval is y.aval:
            return x, y
        elif x.__class__ is not Literal and y.__class__ is not Literal:
            for_x, for_y = _promotion_chains(x.aval, y.aval, any_rank)
            return apply_chain(for_x, x), apply_chain(for_y, y)
    except AttributeError:  # two Python scalars, a NumPy array, or no array at all
        pass
    first, second = promote_args((x, y), any_rank)
    return first, second


def _promotion_chains(x: ShapedArray, y: ShapedArray, any_rank: bool) -> tuple[OpChain, OpChain]:
    """Return the op chains that promote operands of the types ``x`` and ``y`` to each other.

    They are cached by types and settings. Raises AttributeError for a type of jax.
    """
    settings = boot.trace_settings.value
    if settings:
        settings = boot.settings_of_traces()
        if not any_rank:
            check_ranks([x, y])
    key = (x, y, boot.enable_x64.value, settings)
    chains = _promotion_chain_cache.get(key) or _promotion_chain_cache.promote(key)
    if chains is None:
        if x.__class__ is not ShapedArray or y.__class__ is not ShapedArray:
            raise AttributeError("an array of jax has no type of ours")
        avals = [x, y]
        dtype, weak = common_dtype(avals)
        broadcast_shape(x.shape, y.shape)
        rank = max(x.ndim, y.ndim)
        first, second = (record_chain(lambda v: _raise_rank(as_dtype(v, dtype, weak), rank), aval) for aval in avals)
        chains = _promotion_chain_cache.insert(key, (first, second))
    return chains


def _raise_rank(x: Any, rank: int) -> Any:
    """Return an operand with leading axes of size 1 added up to ``rank``; a scalar is unchanged."""
    current_rank = len(aval_of(x).shape)
    return x if current_rank in (0, rank) else expand_dims(x, tuple(range(rank - current_rank)))


#: Stands for the trace that is current.
_CURRENT: Any = object()


def promote_scalar(value: Any, dtype: np.dtype[Any], trace: Any = _CURRENT) -> Any:
    """Return a Python scalar as an operand of a dtype that can hold it.

    While staging it is a literal; outside of any trace a cached array; otherwise a scalar, or an array of a dtype that
    scalars do not have now: one of 64 bits without ``enable_x64``. ``trace`` is the current trace, if the caller knows
    it.
    """
    if value.__class__ is bool and dtype != BOOL and boot.numpy_dtype_promotion.value == "strict":
        raise dtypes.promotion_error((bool, dtype))
    if trace is _CURRENT:
        trace = STATE.trace
    if trace is None:
        cache, make = _array_cache, _make_device_scalar
    elif trace.staging:
        cache, make = _literal_cache, _make_literal
    elif to_canonical_dtype(dtype) == dtype:
        return _weak_scalar(value, dtype)
    else:
        return _make_device_scalar(value, dtype)
    key = (value or scalar_bits(value), value.__class__, dtype, boot.enable_x64.value)
    cached = cache.get(key)
    if cached is None:
        cached = cache.promote(key)
    if cached is not None:
        return cached
    operand = make(value, dtype)
    # The key does not distinguish the signs of the parts of a complex zero.
    return operand if value.__class__ is complex else cache.insert(key, operand)


def _make_literal(value: Any, dtype: np.dtype[Any]) -> Literal:
    return Literal(_to_numpy_scalar(value, dtype), make_aval((), dtype, _weak_scalar_type(dtype) not in (None, bool)))


def _make_device_scalar(value: Any, dtype: np.dtype[Any]) -> Any:
    scalar = _weak_scalar(value, dtype)
    aval = aval_of(scalar)
    return put_on_device(scalar, aval if aval.dtype == dtype else make_aval((), dtype))


def _weak_scalar(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a scalar of ``dtype``: a Python one if that is a Python type's default dtype, else a NumPy one."""
    kind = _weak_scalar_type(dtype)
    if kind is None:
        return _to_numpy_scalar(value, dtype)
    if value.__class__ is kind and kind is not int:
        return value
    return _require_representable(value, dtype) if kind is int and value.__class__ is int else kind(value)


def _weak_scalar_type(dtype: np.dtype[Any]) -> type | None:
    """Return the Python scalar type whose default dtype is ``dtype``; None if there is none."""
    key = (dtype, boot.enable_x64.value)
    if key not in _weak_kinds:
        kind = dtypes.python_scalar_type(dtype)
        _weak_kinds[key] = kind if to_canonical_dtype(kind) == dtype else None
    return _weak_kinds[key]


def _to_numpy_scalar(value: Any, dtype: np.dtype[Any]) -> Any:
    if value.__class__ is int and KINDS[dtype] in "iu":
        _require_representable(value, dtype)
    return numpy_scalar(value, dtype)


def _require_representable(value: int, dtype: np.dtype[Any]) -> int:
    """Return an integer; raise OverflowError if it fits neither the default integer dtype nor ``dtype``.

    An integer that fits the default dtype alone wraps around in a narrower one.
    """
    if value.bit_length() > 31 and value.bit_length() >= 8 * to_canonical_dtype(int).itemsize:
        require_fit(value, dtype)
    return value


def integer_overflow_error(value: int, dtype: np.dtype[Any]) -> OverflowError:
    """Return the error for an integer that does not fit a dtype."""
    problem = f"the integer {value} does not fit {dtype.name}."
    fix = f"Write it as a float, choose another dtype, or {HOW_TO_ENABLE_X64}"
    return OverflowError(compose_message(problem, fix))


def promote_args(operands: tuple[Any, ...], any_rank: bool = False, as_floats: bool = False) -> list[Any]:
    """Return operands in their common dtype, with leading axes added to those of lower rank.

    ``any_rank`` permits different ranks regardless of ``numpy_rank_promotion``; ``as_floats`` converts integers
    and booleans to floats.
    """
    avals = [aval_of(x) for x in operands]
    if not any_rank:
        check_ranks(avals)
    return promote_shapes((promote_dtypes_inexact if as_floats else promote_dtypes)(operands, avals), avals)


def common_dtype(avals: list[ShapedArray]) -> tuple[np.dtype[Any], bool]:
    """Return the promoted dtype of operands of these types, and whether the result is weakly typed."""
    return dtypes.promote_dtypes(tuple((a.dtype, a.weak_type) for a in avals))


def promote_dtypes(operands: tuple[Any, ...] | list[Any], avals: list[ShapedArray] | None = None) -> list[Any]:
    """Return the operands converted to their common dtype.

    ``avals`` are the types of the operands, if the caller has them already.
    """
    avals = [aval_of(x) for x in operands] if avals is None else avals
    first = avals[0]
    same_type = all(a.dtype is first.dtype and a.weak_type is first.weak_type for a in avals)
    if same_type and all(hasattr(x, "aval") for x in operands):
        return list(operands)
    dtype, weak = common_dtype(avals)
    return [as_dtype(x, dtype, weak) for x in operands]


def promote_dtypes_inexact(operands: tuple[Any, ...] | list[Any], avals: list[ShapedArray] | None = None) -> list[Any]:
    """Return the operands converted to their common dtype, or to a floating-point one if that is integer.

    Each operand is converted directly from its own dtype, since an intermediate integer dtype could overflow.
    ``avals`` are the types of the operands, if the caller has them already.

    >>> promote_dtypes_inexact([np.uint32(2**32 - 1), np.int32(1)])
    [np.float32(4.2949673e+09), np.float32(1.0)]
    """
    avals = [aval_of(x) for x in operands] if avals is None else avals
    if any(_is_inexact(aval.dtype) for aval in avals):
        return promote_dtypes(operands, avals)
    dtype, weak = common_dtype(avals)
    return [as_dtype(x, to_inexact(dtype), weak) for x in operands]


def as_dtype(x: Any, dtype: np.dtype[Any], weak: bool = False) -> Any:
    """Return an operand converted to ``dtype``; the result is weakly typed if the operand and ``weak`` are.

    Python scalars are converted without an operation.
    """
    if x.__class__ in KINDS_HOLDING_SCALAR:
        kind = dtypes.python_scalar_type(dtype)
        if kind is not complex and x.__class__ is complex:
            return typed_scalar(x.real, dtype)
        if weak and to_canonical_dtype(kind) == dtype:
            return kind(x)
        return exact_operand(_to_numpy_scalar(x, dtype), make_aval((), dtype))
    aval = aval_of(x)
    if aval.dtype == dtype:
        return x if aval.weak_type <= weak or not hasattr(x, "aval") else to_dtype(x, dtype)
    if isinstance(x, np.generic) and not weak and (KINDS[dtype] in "fc" or KINDS[aval.dtype] not in "fc"):
        return dtypes.cast_on_host(x, dtype)[()]
    if x.__class__ is Literal:
        return Literal(dtypes.cast_on_host(x.val, dtype)[()], make_aval((), dtype, weak and aval.weak_type))
    return to_dtype(x, dtype, weak)


def promote_shapes(operands: list[Any], avals: list[ShapedArray]) -> list[Any]:
    """Return the operands with leading axes of size 1 up to the highest rank; scalars are unchanged.

    ``avals`` are the types of the operands. Raises TypeError or ValueError if the shapes do not broadcast.
    """
    ranks = [len(a.shape) for a in avals]
    highest = max(ranks)
    if highest:
        broadcast_shape(*(a.shape for a in avals))
    return [_raise_rank(x, highest) for x in operands]


def check_ranks(avals: list[ShapedArray]) -> None:
    """Check that operands of these types have one rank, besides scalars.

    The setting ``numpy_rank_promotion`` says whether different ranks raise ValueError, give a warning, or are
    allowed.
    """
    allowed = boot.numpy_rank_promotion.value if boot.trace_settings.value else "allow"
    if allowed == "allow" or len({a.ndim for a in avals if a.ndim}) <= 1:
        return
    shapes = " and ".join(str(a.shape) for a in avals)
    line = user_line()
    if allowed == "raise":
        raise ValueError(
            f"Operands of different ranks meet, with shapes {shapes}{where_text(line)}, and the setting "
            "numpy_rank_promotion is 'raise'. Give the lower one leading axes: x[None, :] or reshape."
        )
    warn_at_user_line(
        f"Operands of different ranks meet, with shapes {shapes}{where_text(line)}: the lower one is given leading "
        "axes. (The setting numpy_rank_promotion is 'warn'.)"
    )


def broadcast_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the broadcast shape of several shapes.

    Shapes that do not broadcast raise TypeError if they have the same rank, else ValueError; both name the
    shapes.
    """
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        shapes_text = " and ".join(map(str, shapes))
        kind = TypeError if len(set(map(len, shapes))) == 1 else ValueError  # as JAX has it
        problem = (
            f"Incompatible shapes for broadcasting: {shapes_text}. Axes are compared from the last one on; sizes have "
            "to be equal, or one of them 1."
        )
        raise kind(compose_message(problem, _trailing_axes_hint(shapes)) + see("shape-mismatch")) from None


def _trailing_axes_hint(shapes: tuple[tuple[int, ...], ...]) -> str:
    """Return a hint for an error message: which of two shapes fits once it has trailing axes; "" if none does.

    >>> _trailing_axes_hint(((2, 4), (2,))), _trailing_axes_hint(((2, 4), (3,)))
    ('Give the one of shape (2,) trailing axes: x[:, None].', '')
    """
    low, high = sorted(shapes[:2], key=len)
    missing = len(high) - len(low)
    fits = missing and all(n in (1, m) or m == 1 for n, m in zip(low, high, strict=False))
    if len(shapes) != 2 or not low or not fits:
        return ""
    return f"Give the one of shape {low} trailing axes: x[{', '.join([':'] * len(low) + ['None'] * missing)}]."


def promote_inexact(x: Any) -> Any:
    """Return an operand with a floating-point or complex dtype: integers and booleans become floats."""
    try:
        if KINDS[x.aval.dtype] in "fc":
            return x
    except AttributeError:
        if isinstance(x, (float, complex)):
            return x if x.__class__ in KINDS_HOLDING_SCALAR else as_dtype(x, aval_of(x).dtype)
        if isinstance(x, int):
            return np.float32(x) if isinstance(x, bool) else float(x)
    try:
        aval = aval_of(x)
    except TypeError as error:
        filter_traceback(error)
        raise
    return x if _is_inexact(aval.dtype) else as_dtype(x, to_inexact(aval.dtype), aval.weak_type)


def promote_pair_inexact(x: Any, y: Any) -> tuple[Any, Any]:
    """Return two promoted operands like :func:`promote_pair`, with integers and booleans converted to floats."""
    if x.__class__ is bool is y.__class__:
        return np.float32(x), np.float32(y)
    if y.__class__ in (int, bool):
        return promote_pair(_promote_inexact_beside_scalar(x, y), float(y))
    if x.__class__ in (int, bool):
        return promote_pair(float(x), _promote_inexact_beside_scalar(y, x))
    try:
        if KINDS[x.aval.dtype] in "fc" or KINDS[y.aval.dtype] in "fc":
            return promote_pair(x, y)
    except AttributeError:
        if x.__class__ in KINDS_HOLDING_SCALAR:  # y is a float or complex scalar
            return promote_pair(x, y)
    first, second = promote_dtypes_inexact((x, y))
    return promote_pair(first, second)


def _promote_inexact_beside_scalar(x: Any, scalar: Any) -> Any:
    """Return ``x`` with a floating-point dtype, for promotion with ``scalar``, a Python integer or bool.

    A boolean array beside an integer becomes weakly typed.
    """
    if scalar.__class__ is int and aval_of(x).dtype == BOOL:
        return as_dtype(x, to_canonical_dtype(float), True)
    return promote_inexact(x)


def strengthen_unless_scalar(x: Any) -> Any:
    """Return an operand without weak type; one without axes keeps its weak type, as in JAX."""
    aval = aval_of(x)
    return as_dtype(x, aval.dtype) if aval.shape else x


def _is_inexact(dtype: np.dtype[Any]) -> bool:
    return KINDS[dtype] in "fc"


def keep_digits(number: Any, x: Any) -> Any:
    """Return a Python number to compute with beside ``x`` with the digits of float64, if that is the dtype of ``x``.

    Where 64-bit types are not enabled, it would be an argument of 32 bits of a compiled function.
    """
    is_wide = number.__class__ is float and not boot.enable_x64.value and to_inexact(aval_of(x).dtype) == np.float64
    return exact_operand(np.float64(number), make_aval((), np.dtype("float64"))) if is_wide else number


def to_default_float(x: Any) -> Any:
    """Return integers or booleans as the default float, those of 64 bits as float64."""
    is_wide = aval_of(x).dtype.itemsize > 4
    return as_dtype(x, np.dtype("float64") if is_wide else to_canonical_dtype(float))


def to_inexact(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return a floating-point or complex dtype unchanged, and for other dtypes the float they are converted to.

    ``dtype`` is that of an operand. Booleans and integers up to 32 bits give float32, wider ones float64, also where
    64-bit types are not enabled: an array that has one keeps its digits. Raises TypeError for float0.
    """
    if dtype == dtypes.float0:
        raise dtypes.float0_error()
    if _is_inexact(dtype):
        return dtype
    return np.dtype("float64" if dtype.itemsize > 4 else "float32")
