"""A call in other words, that ought to have the same answer: plain arrays, one dtype, a function of another name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import accuracy
from .building import dtype_of, numpy_array
from .holders import HOLDERS
from .language import Described, is_array, transformed_call

#: From a call to another one; None where there is no other.
Change = Callable[[dict[str, Described]], dict[str, Described] | None]


def _changed(call: dict[str, Described], change: Callable[[Described], Described]) -> dict[str, Described] | None:
    other = transformed_call(call, change)
    return other if other != call else None


def with_raw_keys(call: dict[str, Described]) -> dict[str, Described] | None:
    """The same keys as words."""

    def raw(value: Described) -> Described:
        if isinstance(value, dict) and "key" in value:
            return {"key": {**value["key"], "typed": False}}
        return value

    function = {"random.key": "random.PRNGKey"}.get(call["function"], call["function"])
    return _changed({**call, "function": function}, raw) or (
        {**call, "function": function} if function != call["function"] else None
    )


#: Holders of what jax takes as it is.
_PLAIN = {"device", "numpy"}
_BYTE_ORDERS = {">f4": "float32", ">i4": "int32", ">c8": "complex64"}


def with_plain_arrays(call: dict[str, Described]) -> dict[str, Described] | None:
    """The same values in arrays of NumPy's, in this machine's byte order; lists as the arrays that they stand for."""
    wide = call["x64"]

    def plain(value: Described) -> Described:
        if isinstance(value, str):
            return _BYTE_ORDERS.get(value, value)
        if not is_array(value) or (content := value["array"])["holder"] in _PLAIN:
            return value
        if content["holder"] in ("list", "object", "memoryview"):
            return described(HOLDERS["list"](numpy_array(content)), wide)
        if content["holder"] == "scalar" and content["data"]:
            return {"array": {**content, "holder": "numpy", "shape": [], "data": content["data"][:1]}}
        if content["holder"] == "broadcast" and content["data"]:
            return {"array": {**content, "holder": "numpy", "data": content["data"][:1] * len(content["data"])}}
        return {"array": {**content, "holder": "numpy"}}

    return _changed(call, plain)


def described(values: Any, wide: bool) -> Described:
    """Nested lists of numbers as an array of the dtype that they have in the library."""
    try:
        made = np.array(values)
    except ValueError:
        return values
    if made.dtype.kind not in "biufc":
        return values
    width = {"i": "int64", "u": "int64", "f": "float64", "c": "complex128"} if wide else {
        "i": "int32", "u": "int32", "f": "float32", "c": "complex64"
    }  # fmt: skip
    flat = made.reshape(-1).tolist()
    data = [[each.real, each.imag] for each in flat] if made.dtype.kind == "c" else flat
    dtype = width.get(made.dtype.kind, "bool")
    return {"array": {"dtype": dtype, "shape": list(made.shape), "data": data, "holder": "numpy"}}


def with_arrays_for_lists(call: dict[str, Described]) -> dict[str, Described] | None:
    """Lists of numbers as arrays."""

    def array_of(value: Described) -> Described:
        items = value["tuple"] if isinstance(value, dict) and "tuple" in value else value
        return described(items, call["x64"]) if isinstance(items, list) and _numbers(items) else value

    other = {
        **call,
        "args": [array_of(each) for each in call["args"]],
        "kwargs": {name: array_of(each) for name, each in call["kwargs"].items()},
    }
    other = with_plain_arrays(other) or other
    return other if other != call else None


def _numbers(items: list[Any]) -> bool:
    return all(isinstance(each, (int, float)) or (isinstance(each, list) and _numbers(each)) for each in items)


def with_tuples(call: dict[str, Described]) -> dict[str, Described] | None:
    """Lists as tuples, which can be hashed."""

    def frozen(value: Described) -> Described:
        if isinstance(value, list):
            return {"tuple": [frozen(each) for each in value]}
        if isinstance(value, dict) and "tuple" in value:
            return {"tuple": [frozen(each) for each in value["tuple"]]}
        return value

    other = {
        **call,
        "args": [frozen(each) for each in call["args"]],
        "kwargs": {name: frozen(each) for name, each in call["kwargs"].items()},
    }
    return other if other != call else None


def with_tuples_and_device_arrays(call: dict[str, Described]) -> dict[str, Described] | None:
    """Lists as tuples, and arrays of the library, which are what comes back where nothing is done."""

    def on_device(value: Described) -> Described:
        return {"array": {**value["array"], "holder": "device"}} if is_array(value) else value

    frozen = with_tuples(call)
    return None if frozen is None else _changed(frozen, on_device)


#: What NumPy calls functions of lax, where it is another name.
_NAMES = {
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "rem": "fmod",
    "max": "maximum",
    "min": "minimum",
    "neg": "negative",
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "pow": "power",
    "integer_pow": "power",
    "atan2": "arctan2",
    "select": "where",
    "rev": "flip",
    "shift_left": "left_shift",
    "population_count": "bitwise_count",
    "is_finite": "isfinite",
    "reduce_sum": "sum",
    "reduce_max": "max",
    "reduce_min": "min",
    "reduce_prod": "prod",
    "reduce_and": "all",
    "reduce_or": "any",
    "bitwise_not": "invert",
}


def as_numpys(call: dict[str, Described]) -> dict[str, Described] | None:
    """The function of the same meaning in ``numpy``, which promotes and broadcasts."""
    room, _, name = call["function"].partition(".")
    return {**call, "function": f"numpy.{_NAMES.get(name, name)}"} if room == "lax" else None


#: Keywords of operands, which are numbers where they are no arrays; others say how.
_OPERANDS = {"x", "y", "a", "b", "q", "operand", "x1", "x2", "mean", "variance", "epsilon"}
#: Functions whose other arguments are numbers too, and are told apart by their names.
_PARAMETERS = {
    "nn.standardize": ("x", "axis", "mean", "variance", "epsilon", "where"),
    "nn.softmax": ("x", "axis", "where"),
    "nn.log_softmax": ("x", "axis", "where"),
}


def _named(call: dict[str, Described]) -> dict[str, Described]:
    """The call with its arguments by their names, where positions mix operands with others."""
    if (names := _PARAMETERS.get(call["function"])) is None:
        return call
    return {**call, "args": [], "kwargs": {**dict(zip(names, call["args"], strict=False)), **call["kwargs"]}}


def _is_operand(value: Described) -> bool:
    return is_array(value) or (isinstance(value, dict) and "weak" in value)


def _content(value: Described) -> dict[str, Any]:
    """What an array holds; of one made of a Python number, its shape and the number's type."""
    if is_array(value):
        return value["array"]  # type: ignore[no-any-return]
    return {"dtype": np.asarray(value["weak"]["value"]).dtype.name, "shape": value["weak"]["shape"]}


def with_one_type(call: dict[str, Described], whole: bool = False) -> dict[str, Described] | None:
    """Operands of one dtype and shape, whole numbers as floating ones, as ``lax`` wants them."""
    if not call["function"].startswith(("lax.", "nn.")):
        return None
    plain = _named(with_plain_arrays(call) or call)
    operands = [*plain["args"], *(each for name, each in plain["kwargs"].items() if name != "where")]
    given = [_content(each) for each in operands if _is_operand(each)]
    if any(each["dtype"].startswith("U") for each in given):
        return None
    try:
        dtype = _common(given, whole, call["x64"])
        if any(_is_complex(each) for each in operands) and not dtype.startswith("complex"):
            dtype = "complex128" if dtype == "float64" else "complex64"
        shape = np.broadcast_shapes(*(each["shape"] for each in given))
        args = [_as(each, dtype, shape) for each in plain["args"]]
        kwargs = {
            name: _as(each, dtype, shape) if (_is_operand(each) and name != "where") or name in _OPERANDS else each
            for name, each in plain["kwargs"].items()
        }
    except (ValueError, TypeError, OverflowError):
        return None
    other = {**plain, "args": args, "kwargs": kwargs}
    return other if other != call else None


def with_a_value_of_its_type(call: dict[str, Described]) -> dict[str, Described] | None:
    """The number that fills in, as a value of the operand's type."""
    if call["function"] != "lax.pad":
        return None
    plain = with_plain_arrays(call) or call
    named = dict(zip(("operand", "padding_value", "padding_config"), plain["args"], strict=False)) | plain["kwargs"]
    operand, value = named.get("operand"), named.get("padding_value")
    if not is_array(operand) or not (is_array(value) or isinstance(value, (int, float))):
        return None
    try:
        return {**plain, "args": [], "kwargs": {**named, "padding_value": _as(value, operand["array"]["dtype"], ())}}
    except (ValueError, TypeError, OverflowError):
        return None


def with_one_whole_type(call: dict[str, Described]) -> dict[str, Described] | None:
    """Operands of one dtype and shape, that of the whole numbers among them where there is no other."""
    return with_one_type(call, whole=True)


def _is_complex(value: Described) -> bool:
    return isinstance(value, dict) and "complex" in value


def _common(given: list[dict[str, Any]], whole: bool, wide: bool) -> str:
    inexact = [dtype_of(each["dtype"]) for each in given if accuracy.is_inexact(each["dtype"])]
    exact = [dtype_of(each["dtype"]) for each in given if whole]
    long = wide and (not given or any(each["dtype"] in ("int64", "uint64") for each in given))
    return np.result_type(*(inexact or exact or ["float64" if long else "float32"])).name


def _as(value: Described, dtype: str, shape: tuple[int, ...]) -> Described:
    if is_array(value):
        values = numpy_array(value["array"])
    elif _is_operand(value):
        values = np.asarray(value["weak"]["value"])
    elif isinstance(value, (int, float)):
        values = np.asarray(value)
    elif _is_complex(value):
        values = np.asarray(complex(*value["complex"]))
    else:
        return value
    with np.errstate(all="ignore"):
        flat = np.broadcast_to(values, shape).astype(dtype_of(dtype)).reshape(-1)
    if dtype.startswith("complex"):
        data: list[Any] = [[float(each.real), float(each.imag)] for each in flat]
    else:
        data = [float(each) if accuracy.is_inexact(dtype) else int(each) for each in flat]
    return {"array": {"dtype": dtype, "shape": list(shape), "data": data, "holder": "device"}}


_WIDER = {"int2": "int8", "int4": "int8", "uint2": "uint8", "uint4": "uint8"}


def with_wider_types(call: dict[str, Described]) -> dict[str, Described] | None:
    """The same values in types that promote: bytes for what is narrower, float32 for what has 8 bits or less."""

    def wider(value: Described) -> Described:
        if not is_array(value):
            return value
        dtype = value["array"]["dtype"]
        wide = "float32" if dtype.startswith(("float8", "float4")) else _WIDER.get(dtype, dtype)
        if wide == dtype:
            return value
        data = numpy_array(value["array"]).reshape(-1).astype(wide).tolist()
        return {"array": {**value["array"], "dtype": wide, "data": data}}

    return _changed(call, wider)


def itself(call: dict[str, Described]) -> dict[str, Described] | None:
    return call if call["function"].startswith(("numpy.", "array.")) else as_numpys(call)


def with_wider_plain_arrays(call: dict[str, Described]) -> dict[str, Described] | None:
    """Both at once: plain arrays, in types that promote."""
    plain = with_plain_arrays(call)
    return None if plain is None else with_wider_types(plain)


def run_at_once(call: dict[str, Described]) -> dict[str, Described] | None:
    """The same call outside of a program."""
    return {**call, "how": "eager"} if call["how"] == "jit" else None


def with_floats(call: dict[str, Described]) -> dict[str, Described] | None:
    """Integers and truth values as the floating numbers that a function of numbers makes of them."""

    def floating(value: Described) -> Described:
        if isinstance(value, (bool, int)):
            return float(value)
        if not is_array(value) or np.dtype(dtype_of(value["array"]["dtype"])).kind not in "biu":
            return value
        return {"array": {**value["array"], "dtype": "float32", "data": [float(x) for x in value["array"]["data"]]}}

    other = transformed_call(call, floating)
    return other if repr(other) != repr(call) else None  # 1 equals 1.0
