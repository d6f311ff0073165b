"""Data types: canonical widths, and type promotion.

Promotion is a lattice walk: the result type of several operands is their least upper bound in the lattice
below, where Python scalars are the weak types ``i*``, ``f*``, ``c*`` (the lattice of JAX's type promotion
semantics page).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import ml_dtypes
import numpy as np

from .key_types import KEY_TYPES, extended, is_key, prng_key
from .names import explain_missing as _explain_missing
from .runtime import boot

bfloat16 = np.dtype(ml_dtypes.bfloat16)
#: The limits of all dtypes, including those that NumPy lacks.
finfo: Callable[[Any], Any] = ml_dtypes.finfo
iinfo: Callable[[Any], Any] = ml_dtypes.iinfo

#: Types that XLA has and NumPy lacks, by kind. They promote with Python scalars, booleans and (floats) integers only.
SMALL_FLOATS = tuple(
    np.dtype(getattr(ml_dtypes, name))
    for name in (
        "float4_e2m1fn", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
        "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
    )
)  # fmt: skip
SMALL_INTEGERS = (np.dtype(ml_dtypes.int2), np.dtype(ml_dtypes.int4))
SMALL_UNSIGNED = (np.dtype(ml_dtypes.uint2), np.dtype(ml_dtypes.uint4))

#: Direct upper neighbours. Weak types are written as the Python type.
_LATTICE: dict[Any, tuple[Any, ...]] = {
    np.dtype("bool"): (int,),
    int: (np.dtype("uint8"), np.dtype("int8"), *SMALL_INTEGERS, *SMALL_UNSIGNED),
    np.dtype("uint8"): (np.dtype("int16"), np.dtype("uint16")),
    np.dtype("uint16"): (np.dtype("int32"), np.dtype("uint32")),
    np.dtype("uint32"): (np.dtype("int64"), np.dtype("uint64")),
    np.dtype("uint64"): (float,),
    np.dtype("int8"): (np.dtype("int16"),),
    np.dtype("int16"): (np.dtype("int32"),),
    np.dtype("int32"): (np.dtype("int64"),),
    np.dtype("int64"): (float,),
    float: (bfloat16, np.dtype("float16"), complex, *SMALL_FLOATS),
    bfloat16: (np.dtype("float32"),),
    np.dtype("float16"): (np.dtype("float32"),),
    np.dtype("float32"): (np.dtype("float64"), np.dtype("complex64")),
    np.dtype("float64"): (np.dtype("complex128"),),
    complex: (np.dtype("complex64"),),
    np.dtype("complex64"): (np.dtype("complex128"),),
    np.dtype("complex128"): (),
    **dict.fromkeys((*SMALL_FLOATS, *SMALL_INTEGERS, *SMALL_UNSIGNED), ()),
}
#: The dtypes that 64-bit dtypes become unless ``enable_x64`` is set.
NARROWED_DTYPES = {
    np.dtype("int64"): np.dtype("int32"),
    np.dtype("uint64"): np.dtype("uint32"),
    np.dtype("float64"): np.dtype("float32"),
    np.dtype("complex128"): np.dtype("complex64"),
}
_DEFAULT_DTYPES: dict[type, np.dtype[Any]] = {
    bool: np.dtype("bool"),
    int: np.dtype("int64"),
    float: np.dtype("float64"),
    complex: np.dtype("complex128"),
}
_SCALAR_TYPES_BY_KIND = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
float0: np.dtype[Any] = np.dtype([("float0", np.void, 0)])

#: The kinds of the dtypes that arrays can have. NumPy's own kind is "V" for all types that it lacks.
KINDS: dict[np.dtype[Any], str] = {
    float0: "V",
    **{dtype: dtype.kind for dtype in _LATTICE if isinstance(dtype, np.dtype)},
    **dict.fromkeys((bfloat16, *SMALL_FLOATS), "f"),
    **dict.fromkeys(SMALL_INTEGERS, "i"),
    **dict.fromkeys(SMALL_UNSIGNED, "u"),
    **dict.fromkeys(KEY_TYPES.values(), "K"),  # type: ignore[arg-type]
}


def _find_upper_bounds(node: Any) -> frozenset[Any]:
    return frozenset({node}).union(*(_find_upper_bounds(above) for above in _LATTICE[node]))


_UPPER_BOUNDS = {node: _find_upper_bounds(node) for node in _LATTICE}


@functools.cache
def _least_upper_bound(nodes: frozenset[Any]) -> Any:
    """Return the least upper bound of nodes of the lattice; raise TypePromotionError if there is none.

    A node is a dtype, or a Python type for the weak type of its scalars. Raises TypeError for float0.
    """
    if float0 in nodes:
        raise float0_error()
    common = frozenset.intersection(*(_UPPER_BOUNDS[node] for node in nodes))
    least = [node for node in common if _UPPER_BOUNDS[node] >= common]
    if not least:
        raise TypePromotionError(
            f"no dtype holds the values of both {_format_nodes(nodes)}; convert one of them explicitly with astype"
        )
    return least[0]


def float0_error() -> TypeError:
    """Return the error for an operation with a value of float0, the gradient of an integer, which holds no numbers."""
    return TypeError(
        "a value of dtype float0 holds no numbers to compute with: it is the tangent or gradient of an integer or "
        "boolean value. Leave it out (differentiate the floating-point arguments alone), or take zeros of another "
        "dtype in its place: numpy.zeros(x.shape)"
    )


def to_canonical_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype of values of ``dtype`` under the current settings: 64-bit becomes 32-bit without ``enable_x64``.

    >>> to_canonical_dtype(float)
    dtype('float32')
    """
    parsed = parse_dtype(dtype)
    return parsed if boot.enable_x64.value else NARROWED_DTYPES.get(parsed, parsed)


def parse_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the requested dtype at full width; raise TypeError for one that arrays cannot have.

    >>> parse_dtype(float), parse_dtype("bfloat16")
    (dtype('float64'), dtype(bfloat16))
    """
    try:
        parsed = dtype if isinstance(dtype, np.dtype) else _dtype_of(dtype)
    except (TypeError, ValueError):
        fix = "; write dtype=x.dtype for that of an array x" if hasattr(dtype, "dtype") else ""
        fix = "; a shape of several axes is one argument: zeros((3, 4))" if isinstance(dtype, int) else fix
        raise TypeError(f"a dtype is a name or type of numbers, as in dtype='float32', got {dtype!r}{fix}") from None
    if parsed not in KINDS:
        raise unsupported_dtype_error(parsed)
    return parsed


def _dtype_of(dtype: Any) -> np.dtype[Any]:
    if hasattr(dtype, "aval"):  # NumPy would accept any object with a dtype; concrete arrays are refused, too
        raise TypeError
    if is_key(dtype):
        return dtype  # type: ignore[no-any-return]
    result: np.dtype[Any] = _DEFAULT_DTYPES[dtype] if dtype in PYTHON_TYPES else np.dtype(dtype)
    return result


def unsupported_dtype_error(dtype: np.dtype[Any]) -> TypeError:
    """Return the error for a dtype that arrays cannot have."""
    names = ", ".join(supported.name for supported in KINDS if KINDS[supported] not in "VK")
    return TypeError(f"arrays cannot have dtype {dtype}; they have one of: {names}")


#: Python's number types, which stand for the default dtypes.
PYTHON_TYPES = frozenset(_DEFAULT_DTYPES)


def cast_on_host(x: Any, dtype: np.dtype[Any]) -> Any:
    """Return a number or a NumPy value as a NumPy array or scalar of ``dtype``; what is too large becomes infinite.

    A user's ``np.seterr(all="raise")`` is about the user's own NumPy: this never raises FloatingPointError.

    >>> with np.errstate(all="raise"):
    ...     print(cast_on_host(1e300, np.dtype("float32")))
    inf
    """
    value = np.asarray(x)
    try:
        return value.astype(dtype)
    except FloatingPointError:
        with np.errstate(all="ignore"):
            return value.astype(dtype)


def host_array(x: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return ``np.asarray(x, dtype)``, which raises OverflowError for a Python int; like :func:`cast_on_host`."""
    try:
        return np.asarray(x, dtype)
    except FloatingPointError:
        with np.errstate(all="ignore"):
            return np.asarray(x, dtype)


def dtype_kind(dtype: np.dtype[Any]) -> str:
    """Return the kind of a dtype.

    b (booleans), i, u (integers), f (floats), c (complex) or K (keys); V for a dtype that arrays cannot have.

    >>> import ml_dtypes
    >>> dtype_kind(np.dtype("float32")), dtype_kind(np.dtype(ml_dtypes.bfloat16)), dtype_kind(np.dtype(ml_dtypes.uint4))
    ('f', 'f', 'u')
    """
    return KINDS.get(dtype) or dtype.kind


def is_supported(dtype: np.dtype[Any]) -> bool:
    """Return whether arrays can have the dtype."""
    return dtype in KINDS


def dtype_bits(dtype: np.dtype[Any]) -> int:
    """Return the width of an element in bits, also for dtypes narrower than a byte.

    >>> import ml_dtypes
    >>> dtype_bits(np.dtype("float32")), dtype_bits(np.dtype(ml_dtypes.int4))
    (32, 4)
    """
    return _SUBBYTE_BITS.get(dtype) or 8 * dtype.itemsize


_SUBBYTE_BITS = {d: int(d.name.lstrip("uintfloa")[0]) for d in (SMALL_FLOATS[0], *SMALL_INTEGERS, *SMALL_UNSIGNED)}


def python_scalar_type(dtype: np.dtype[Any]) -> type:
    """Return the Python scalar type of a dtype's kind: bool, int, float or complex; raise TypeError for other kinds."""
    if dtype == float0:
        raise float0_error()
    scalar = _SCALAR_TYPES_BY_KIND.get(KINDS[dtype])
    if scalar is None:
        raise TypeError(f"keys are no numbers: no Python number is one of dtype {dtype}")
    return scalar


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Return whether ``dtype`` is a real floating-point type, including those of ml_dtypes."""
    return dtype_kind(dtype) == "f"


def is_differentiable(dtype: np.dtype[Any]) -> bool:
    """Return whether values of ``dtype`` have tangents of the same type: floating-point and complex types."""
    return dtype_kind(dtype) in "fc"


def is_integer(dtype: np.dtype[Any]) -> bool:
    """Return whether ``dtype`` is a signed or unsigned integer type."""
    return dtype_kind(dtype) in "iu"


def promote_dtypes(types: tuple[tuple[np.dtype[Any], bool], ...]) -> tuple[np.dtype[Any], bool]:
    """Return the dtype to which operands are promoted, and whether it is weak.

    ``types`` has a pair for each operand: its dtype, and whether that is weak. Raises TypePromotionError for
    dtypes without a common one, and TypeError for keys among other types.

    >>> promote_dtypes(((np.dtype("int32"), False), (np.dtype("float32"), True)))
    (dtype('float32'), True)
    >>> promote_dtypes(((np.dtype("float16"), False), (np.dtype("float32"), True)))
    (dtype('float16'), False)
    """
    return _promote_cached(types, bool(boot.enable_x64.value), boot.numpy_dtype_promotion.value == "strict")


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """Return the promoted dtype of arrays, Python numbers and dtypes; with the flag, also whether it is weak.

    Raises ValueError without arguments, TypeError for an argument without a dtype.

    >>> result_type(np.int32, 2.5), result_type(1, 2.5, return_weak_type_flag=True)
    (dtype('float32'), (dtype('float32'), True))
    """
    if not args:
        raise ValueError("result_type takes at least one argument")
    dtype, weak = promote_dtypes(tuple(map(_dtype_and_weakness, args)))
    return (dtype, weak) if return_weak_type_flag else dtype


def _dtype_and_weakness(x: Any) -> tuple[np.dtype[Any], bool]:
    """Return the dtype of an array, number or dtype under the current settings, and whether it is weak."""
    kind = x if isinstance(x, type) else type(x)
    if kind in (bool, int, float, complex):
        return to_canonical_dtype(kind), kind is not bool
    if isinstance(x, (str, type, np.dtype)):
        return to_canonical_dtype(x), False
    if getattr(x, "dtype", None) is None:
        raise TypeError(f"result_type takes arrays, numbers and dtypes, got {x!r} of type {type(x).__name__}")
    return to_canonical_dtype(x.dtype), bool(getattr(x, "weak_type", False))


@functools.lru_cache(maxsize=4096)
def _promote_cached(
    types: tuple[tuple[np.dtype[Any], bool], ...], x64: bool, strict: bool
) -> tuple[np.dtype[Any], bool]:
    """Return the result of :func:`promote_dtypes` under the settings ``x64`` and ``strict``.

    ``x64`` is the value of ``enable_x64`` and only distinguishes cache entries; with ``strict`` only Python
    scalars are promoted.
    """
    if len({dtype for dtype, _ in types}) == 1:
        return types[0][0], all(weak for _, weak in types)
    if any(is_key(dtype) for dtype, _ in types):
        raise TypeError(
            f"keys meet nothing but keys of their own type, got {' and '.join(dtype.name for dtype, _ in types)}: "
            "random.key_data(keys) has a key's words as numbers"
        )
    nodes = frozenset(python_scalar_type(dtype) if weak and dtype.kind != "b" else dtype for dtype, weak in types)
    if strict:
        _check_strict(nodes)
    node = _least_upper_bound(nodes)
    if isinstance(node, type):
        return to_canonical_dtype(node), True
    if {dtype for dtype, weak in types if not weak} == {node}:  # beside weak types an array keeps its width
        return node, False
    return to_canonical_dtype(node), False


_SCALAR_TYPE_ORDER = (bool, int, float, complex)


def _check_strict(nodes: frozenset[Any]) -> None:
    """Raise TypePromotionError if operands need a promotion that ``numpy_dtype_promotion="strict"`` forbids.

    ``nodes`` are the operands' dtypes, with Python types for weak ones. Only Python scalars are promoted, and
    only to types of their kind or above.
    """
    types = [node for node in nodes if not isinstance(node, type)]
    kinds = [node for node in nodes if isinstance(node, type)]
    if len(types) > 1 or any(not can_hold_strictly(types[0], kind) for kind in kinds if types):
        raise promotion_error(nodes)


def can_hold_strictly(dtype: np.dtype[Any], kind: type) -> bool:
    """Return whether a Python scalar may be combined with ``dtype`` under ``numpy_dtype_promotion="strict"``.

    ``kind`` is the scalar's type: bool, int, float or complex.
    """
    target = python_scalar_type(dtype)
    return (
        target is bool
        if kind is bool
        else target is not bool and _SCALAR_TYPE_ORDER.index(kind) <= _SCALAR_TYPE_ORDER.index(target)
    )


def promotion_error(nodes: Iterable[Any]) -> TypePromotionError:
    """Return the error for operands that ``numpy_dtype_promotion="strict"`` does not promote.

    ``nodes`` are the operands' dtypes, with Python types for weak ones.
    """
    return TypePromotionError(
        f"Input dtypes {_format_nodes(nodes)} do not meet in a common dtype under "
        "numpy_dtype_promotion='strict'. Convert "
        "one of them (astype), or set numpy_dtype_promotion to 'standard'."
    )


def _format_nodes(nodes: Iterable[Any]) -> str:
    return " and ".join(sorted(f"a Python {n.__name__}" if isinstance(n, type) else n.name for n in nodes))


class TypePromotionError(ValueError):
    """Error for operands without a common dtype, or whose promotion ``numpy_dtype_promotion`` forbids."""


# JAX's names --------------------------------------------------------------------------------------------------------


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> np.dtype[Any]:
    """Return the dtype of values of ``dtype`` under the current settings: 64-bit becomes 32-bit without ``enable_x64``.

    Raises TypeError for an invalid dtype, ValueError for a type of keys unless ``allow_extended_dtype``.

    >>> canonicalize_dtype("float64")
    dtype('float32')
    """
    if is_key(dtype) and not allow_extended_dtype:
        raise ValueError(f"canonicalize_dtype got {dtype}, a type of keys: allow_extended_dtype lets it pass")
    return to_canonical_dtype(float if dtype is None else dtype)


_ABSTRACT_TYPES_BY_KIND = {"f": np.floating, "i": np.signedinteger, "u": np.unsignedinteger}
_ABSTRACT_TYPES = (
    np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact, np.floating,
    np.complexfloating, np.flexible, np.character, extended, prng_key,
)  # fmt: skip


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Return whether a dtype is, or lies under, another in NumPy's hierarchy, extended by ml_dtypes' types by kind.

    >>> issubdtype(bfloat16, np.floating), issubdtype(np.int32, np.floating)
    (True, False)
    >>> issubdtype(KEY_TYPES["threefry2x32"], prng_key)
    True
    """
    abstract = isinstance(arg2, type) and arg2 in _ABSTRACT_TYPES
    if isinstance(arg1, type) and arg1 in _ABSTRACT_TYPES:
        return isinstance(arg2, type) and issubclass(arg2, np.generic) and issubclass(arg1, arg2)
    if is_key(arg1) or is_key(arg2):
        return issubclass(arg1.type, arg2) if abstract and is_key(arg1) else arg1 is arg2
    dtype = np.dtype(arg1)
    if abstract:
        kind = (
            dtype.type
            if issubclass(dtype.type, np.number)
            else _ABSTRACT_TYPES_BY_KIND.get(dtype_kind(dtype), dtype.type)
        )
        return issubclass(kind, arg2)
    return bool(dtype == np.dtype(arg2))


def itemsize_bits(dtype: Any) -> int:
    """Return the width of an element in bits, also below a byte; raise TypeError for an invalid dtype.

    >>> itemsize_bits("int4"), itemsize_bits("complex64")
    (4, 64)
    """
    parsed = np.dtype(dtype)
    return 8 if parsed == np.bool_ else dtype_bits(parsed)


def scalar_type_of(x: Any) -> type:
    """Return the Python type (bool, int, float or complex) for values of an array, a number or a dtype.

    Raises TypeError for anything else.

    >>> scalar_type_of(np.float16(1)), scalar_type_of("int8")
    (<class 'float'>, <class 'int'>)
    """
    if isinstance(x, type) and x in _DEFAULT_DTYPES:
        return x
    dtype = getattr(x, "dtype", None)
    try:
        parsed = np.dtype(dtype if isinstance(dtype, np.dtype) else type(x) if isinstance(x, _NUMBERS) else x)
    except TypeError:
        parsed = None
    if x is None or parsed not in KINDS or KINDS[parsed] not in _SCALAR_TYPES_BY_KIND:
        raise TypeError(f"scalar_type_of takes an array, a number or a dtype, got {x!r} of type {type(x).__name__}")
    return python_scalar_type(parsed)


_NUMBERS = (bool, int, float, complex)


def short_name(dtype: np.dtype[Any]) -> str:
    """Return the name of a dtype in jaxprs: ``f32``, ``i32``, ``u8``, ``bf16``, ``bool``.

    >>> short_name(np.dtype("float32"))
    'f32'
    """
    if dtype == float0:
        return "float0"
    name = dtype.name
    for long, short in (("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c")):
        name = name.replace(long, short) if name.startswith(long) else name
    return name


_explain_missing(__name__)
