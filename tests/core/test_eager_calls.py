"""Eager calls of functions, which are one compiled call where they can be: against the plain functions.

A call has three ways: the first compiles, the next ones are C++ of jaxlib, and arguments of another kind take a way of
their own. All give what the undecorated function gives, whose operations run one by one.
"""

from __future__ import annotations

import inspect
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import random

FLOATS = np.linspace(-0.9, 0.9, 6).reshape(2, 3)


def _arrays() -> dict[str, Any]:
    """Return operands of all kinds, by name."""
    return {
        "float32": jnp.asarray(FLOATS, "float32"),
        "int32": jnp.arange(6).reshape(2, 3),
        "bool": jnp.asarray(FLOATS > 0),
        "bfloat16": jnp.asarray(FLOATS, "bfloat16"),
        "complex": jnp.asarray(FLOATS + 0.5j),
        "uint8": jnp.arange(3, dtype="uint8"),
        "weak": jnp.asarray(0.5),
        "committed": xs.device_put(jnp.asarray(FLOATS, "float32"), xs.devices()[0]),
        "numpy": FLOATS.astype(np.float32),
        "wide numpy": FLOATS,
        "NumPy scalar": np.float64(0.25),
        "float": 0.5,
        "int": 2,
        "truth": True,
        "complex number": 0.5j,
        "empty": jnp.zeros((0, 3)),
        "key": random.key(0),
        "list": [0.5],
        "text": "0.5",
    }


UNARY = """sin cos tan exp exp2 expm1 log log1p sqrt cbrt tanh sinh cosh arcsin arccos arctan arcsinh arccosh arctanh
    negative abs square sign floor ceil bitwise_not rint isfinite logical_not"""
BINARY = """add subtract multiply true_divide power float_power maximum minimum arctan2 equal not_equal less less_equal
    greater greater_equal bitwise_and bitwise_or bitwise_xor remainder logaddexp"""
REDUCTIONS = """sum prod max min all any count_nonzero ptp mean argmax argmin cumsum cumprod var std sort argsort
    median"""
#: Pairs of operands; the others of each kind are paired with themselves.
PAIRS = (
    *(("float32", "int32"), ("float32", "committed"), ("committed", "float32"), ("float32", "float")),
    *(("int", "float32"), ("float32", "numpy"), ("weak", "float32"), ("int32", "bool"), ("weak", "weak")),
    *(("float32", "uint8"), ("bfloat16", "float32"), ("complex", "float32"), ("float32", "empty"), ("key", "float32")),
)


def _outcome(function: Any, args: Any, kwargs: Any = {}) -> Any:  # noqa: B006
    """Return the result of a call: its values, and its type and place in words; or the class of the error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function(*args, **kwargs)
    except Exception as error:
        return type(error).__name__, type(error).__name__
    result = jnp.asarray(result)  # a plain function may return a number of NumPy
    is_key = jnp.issubdtype(result.dtype, xs.dtypes.prng_key)
    values = np.asarray(random.key_data(result) if is_key else result)
    place = None if is_key else (result._committed, result.sharding)
    return values, (str(result.aval), result.weak_type, place)


def _require_same(function: Any, args: Any, kwargs: Any = {}, exact: bool = True) -> None:  # noqa: B006
    expected = _outcome(inspect.unwrap(function), args, kwargs)
    _require_equal(_outcome(function, args, kwargs), expected, (args, kwargs), exact)


def _require_equal(outcome: Any, expected: Any, call: Any, exact: bool) -> None:
    (values, kind), (expected_values, expected_kind) = outcome, expected
    assert kind == expected_kind, call
    if isinstance(values, str):
        return
    if exact:
        assert values.tobytes() == expected_values.tobytes(), call
    else:  # XLA rounds otherwise where it fuses operations
        numbers = [v if v.dtype.kind in "biufc" else v.astype(np.float32) for v in (values, expected_values)]
        np.testing.assert_allclose(*numbers, rtol=2e-2 if values.dtype.itemsize == 2 else 1e-5, atol=1e-6)


@pytest.mark.parametrize("name", UNARY.split())
def test_unary_functions(name: str) -> None:
    function, arrays = getattr(jnp, name), _arrays()
    for _ in range(3):
        for x in arrays.values():
            _require_same(function, (x,))


@pytest.mark.parametrize("name", BINARY.split())
def test_binary_functions(name: str) -> None:
    function, arrays = getattr(jnp, name), _arrays()
    fused = name in ("remainder", "logaddexp")
    pairs = [(x, x) for x in arrays.values()] + [(arrays[a], arrays[b]) for a, b in PAIRS]
    for _ in range(3):
        for pair in pairs:
            _require_same(function, pair, exact=not fused)


#: Arguments after the array: equal ones of which only some are valid, and one value written in several ways.
STATICS: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
    ((), {}),
    ((1,), {}),
    ((), {"axis": 1}),
    ((), {"axis": 1.0}),
    ((1.0,), {}),
    ((), {"axis": True}),
    ((), {"axis": np.int64(1)}),
    ((), {"axis": (1,)}),
    ((), {"axis": (1.0,)}),
    ((), {"axis": [0, 1]}),
    ((), {"axis": (0, 0)}),
    ((), {"axis": 2}),
    ((), {"axis": -1}),
    ((), {"axis": jnp.asarray(0)}),
    ((), {"axis": None}),
    ((), {"keepdims": True}),
    ((), {"keepdims": 1}),
    ((), {"axis": 0, "dtype": "float16"}),
    ((), {"dtype": float}),
    ((), {"dtype": np.dtype("complex64")}),
    ((1, "int8"), {}),
    ((), {"dtype": "no dtype"}),
    ((), {"out": 1}),
    ((0, None, None, None, None, None, None, None, None, None), {}),
    ((), {"unknown": 1}),
    ((), {"stable": True}),
    ((), {"stable": 1}),
    ((), {"descending": True}),
    ((), {"order": ["a"]}),
    ((), {"where": jnp.asarray(FLOATS > 0), "initial": 1.0}),
    ((), {"ddof": 1}),
)


@pytest.mark.parametrize("name", REDUCTIONS.split())
def test_static_arguments(name: str) -> None:
    function, arrays = getattr(jnp, name), _arrays()
    calls = [((arrays["float32"], *args), kwargs) for args, kwargs in STATICS]
    calls += [((x,), {}) for x in arrays.values()]
    expected = [_outcome(inspect.unwrap(function), args, kwargs) for args, kwargs in calls]
    for _ in range(2):
        for (args, kwargs), outcome in zip(calls, expected, strict=True):
            _require_equal(_outcome(function, args, kwargs), outcome, (args, kwargs), exact=False)


OTHERS: dict[str, tuple[Any, tuple[tuple[tuple[Any, ...], dict[str, Any]], ...]]] = {
    "swapaxes": (jnp.swapaxes, (((0, 1), {}), ((0, 1.0), {}), ((0, True), {}), ((0, np.int8(1)), {}), ((0, 2), {}))),
    "take": (
        jnp.take,
        (
            *(((jnp.asarray([1, 0]),), {"axis": axis}) for axis in (0, 1, 1.0, True, None, 5)),
            *(((jnp.asarray([1, 7]),), {"mode": mode}) for mode in (None, "fill", "clip", "wrap", "raise", "none")),
            (([0],), {}),
            ((0,), {"axis": 1}),
            ((0.5,), {}),
        ),
    ),
    "norm": (
        jnp.linalg.norm,
        (((), {}), (("fro",), {}), ((1,), {}), ((), {"axis": 1}), ((), {"axis": 1.0}), ((2, [0]), {})),
    ),
    "clip": (
        jnp.clip,
        (
            *(((0, 1), {}), ((0.0, 0.5), {}), ((None, 0.5), {}), ((), {"min": 0}), ((), {})),
            *(((), {"max": jnp.ones(3)}), ((1, 2.0), {}), ((True, 2), {}), ((-(2**31), 1), {})),
            *(((np.nan, 1.0), {}), ((0.5j, 1), {}), ((np.float64(0.5), np.int8(3)), {})),
        ),
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_functions(name: str) -> None:
    function, calls = OTHERS[name]
    arrays = _arrays()
    for _ in range(2):
        for kind in ("float32", "int32", "committed", "numpy"):
            for args, kwargs in calls:
                _require_same(function, (arrays[kind], *args), kwargs, exact=False)


@pytest.mark.parametrize("kwargs", [{}, {"num": 5}, {"num": 5.0}, {"num": -1}, {"axis": 0.0}, {"dtype": int}])
def test_linspace(kwargs: dict[str, Any]) -> None:
    for args in ((0, 1), (0.0, 1.0), (jnp.zeros(2), 1), *([(0, 1, 5), (0, 1, True)] if "num" not in kwargs else [])):
        for _ in range(2):
            _require_same(jnp.linspace, args, kwargs, exact=False)


def test_numbers_that_stay_on_the_device_keep_their_bits_and_types() -> None:
    """Numbers that are equal are not the same: of another sign, type, or width; and results are of the caller alone."""
    x = jnp.asarray([-0.0, 0.0, -2.0], "float32")
    for _ in range(3):
        for zero in (-0.0, 0.0):
            found = np.asarray(jnp.clip(x, zero, 1.0))
            np.testing.assert_array_equal(np.signbit(found[2]), np.signbit(zero))
        assert jnp.clip(jnp.arange(3), 1, 2).dtype == "int32"
        assert jnp.clip(jnp.arange(3), 1.0, 2.0).dtype == "float32"
        for width in (False, True):
            with xs.enable_x64(width):
                assert jnp.clip(0.5, 0.0, 1.0).dtype == ("float64" if width else "float32")
                assert jnp.linspace(0.1, 1.0, 3)[0] == (0.1 if width else np.float32(0.1))
        for count in (1, 2):
            line = jnp.linspace(2.5, 3.0, count)
            assert line[0] == 2.5
            line.delete()


OPERATORS = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
    "<": lambda x, y: x < y,
    "==": lambda x, y: x == y,
}
FUNCTIONS_OF_OPERATORS = {
    **{"+": jnp.add, "-": jnp.subtract, "*": jnp.multiply, "/": jnp.true_divide, "<": jnp.less, "==": jnp.equal}
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_their_functions(name: str) -> None:
    arrays = _arrays()
    pairs = [(x, x) for kind, x in arrays.items() if hasattr(x, "aval") and kind != "key"]
    pairs += [(arrays[a], arrays[b]) for a, b in (*PAIRS, ("float32", "NumPy scalar"), ("float32", "truth"))]
    for _ in range(3):
        for x, y in pairs:
            expected = _outcome(inspect.unwrap(FUNCTIONS_OF_OPERATORS[name]), (x, y))
            _require_equal(_outcome(OPERATORS[name], (x, y)), expected, (x, y), exact=True)


CALLS = {
    "unary": lambda x: jnp.sin(x),
    "binary": lambda x: jnp.maximum(x, x),
    "operator": lambda x: x + x,
    "with a number": lambda x: 2 * x,
    "reduction": lambda x: jnp.sum(x),
    "with statics": lambda x: jnp.sum(x, axis=0, keepdims=True),
    "several operations": lambda x: jnp.isfinite(x),
}


@pytest.mark.parametrize("name", CALLS)
def test_settings_and_transformations_after_repeated_calls(name: str) -> None:
    call, x = CALLS[name], jnp.asarray(FLOATS, "float32")
    for _ in range(3):
        expected = call(x)
    np.testing.assert_array_equal(xs.jit(call)(x), expected)
    np.testing.assert_array_equal(xs.vmap(call)(x[None])[0], expected)
    assert len(xs.make_jaxpr(lambda: call(x))().jaxpr.eqns) >= 1  # staged, although no operand is traced
    with xs.disable_jit():
        np.testing.assert_array_equal(call(x), expected)
    with xs.enable_x64():
        wide = jnp.asarray(FLOATS)
        assert wide.dtype == np.float64
        assert call(wide).dtype in (np.float64, np.bool_)
        np.testing.assert_array_equal(call(x), expected)
    with xs.numpy_dtype_promotion("strict"), xs.numpy_rank_promotion("raise"):
        np.testing.assert_array_equal(call(x), expected)
    np.testing.assert_array_equal(call(x), expected)


@pytest.mark.parametrize("name", ["unary", "binary", "operator", "with a number"])
def test_nans_are_found_after_repeated_calls(name: str) -> None:
    call, x = CALLS[name], jnp.asarray([1.0, np.inf])
    faulty = jnp.asarray([np.nan])
    for _ in range(3):
        call(x), call(faulty)
    with xs.debug_nans(), pytest.raises(FloatingPointError):
        call(faulty)
    call(faulty)


@pytest.mark.parametrize("name", ["unary", "binary", "operator"])
def test_a_deleted_operand_is_named_in_repeated_calls(name: str) -> None:
    call, x = CALLS[name], jnp.asarray(FLOATS, "float32")
    for _ in range(3):
        call(x)
    gone = x + 1
    gone.delete()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="delete"):
            call(gone)
    call(x)


@pytest.mark.parametrize("name", CALLS)
def test_a_leaked_tracer_is_refused_after_repeated_calls(name: str) -> None:
    call, leaked = CALLS[name], []
    for _ in range(3):
        call(jnp.ones(3))
    xs.make_jaxpr(lambda x: leaked.append(x) or x)(jnp.ones(3))
    with pytest.raises(xs.errors.UnexpectedTracerError):
        call(leaked[0])


def test_functions_are_what_they_were() -> None:
    for function in (jnp.sin, jnp.maximum, jnp.sum, jnp.rint, jnp.add):
        assert pickle.loads(pickle.dumps(function)) is function
        assert function.__doc__ and inspect.signature(function) == inspect.signature(inspect.unwrap(function))
        with pytest.raises(TypeError, match=function.__name__):
            function()
        with pytest.raises(TypeError, match="unknown"):
            function(1.0, unknown=1.0)
    assert jnp.add.reduce(jnp.arange(3)) == 3
    assert xs.grad(jnp.sin)(0.0) == 1.0
