"""What may be handed in as a value, and what becomes of it: see ``trace/operand_coercion.py``."""

import copy
import ctypes
import pickle
import sys
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xlascope as xs
from xlascope import core, lax, tree
from xlascope import numpy as jnp


class Represented:
    """Stands for an array by ``__jax_array__``."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __jax_array__(self) -> Any:
        return jnp.asarray(self.values)


class Described:
    """Says a shape and a dtype, and holds nothing."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self.dtype = shape, dtype


def aligned(*values: float) -> Any:
    """An array at an address that XLA could use as it is."""
    memory = np.zeros(4 * len(values) + 64, np.uint8)
    start = -memory.ctypes.data % 64
    found = memory[start : start + 4 * len(values)].view(np.float32)
    found[:] = values
    return found


WAYS_IN = {
    "asarray": jnp.asarray,
    "an operation": lambda x: lax.add(x, x),
    "a function": jnp.sin,
    "jit": xs.jit(lambda x: x * 2),
    "a constant": lambda x: xs.jit(lambda y: y + x)(np.float32(1)),
    "grad": xs.grad(lambda x: jnp.sum(x * x)),
    "vmap": xs.vmap(lambda x: x * 2),
    "device_put": xs.device_put,
    "scan": lambda x: lax.scan(lambda c, y: (c, y * 2), 0.0, x)[1],
    "at": lambda x: jnp.zeros(2).at[:].set(x),
}
UNUSUAL = {
    "big-endian": np.array([1, 2], ">f4"),
    "reversed": np.array([2, 1], np.float32)[::-1],
    "unaligned": np.frombuffer(b"\0" + np.array([1, 2], np.float32).tobytes(), np.uint8)[1:].view(np.float32),
    "read-only": np.frombuffer(np.array([1, 2], np.float32).tobytes(), np.float32),
    "a subclass": np.rec.array(np.array([1, 2], np.float32)),
}


@pytest.mark.parametrize("way", WAYS_IN)
@pytest.mark.parametrize("kind", UNUSUAL)
def test_unusual_numpy_arrays_mean_their_values(way: str, kind: str) -> None:
    expected = np.asarray(WAYS_IN[way](np.array([1, 2], np.float32)))
    np.testing.assert_array_equal(np.asarray(WAYS_IN[way](UNUSUAL[kind])), expected)


def test_byte_order_counts_in_calls_that_jaxlib_repeats() -> None:
    doubled = xs.jit(lambda x: x * 2)
    for order in ("<i4", "<i4", ">i4", "<i4"):
        np.testing.assert_array_equal(np.asarray(doubled(np.array([1, 2], order))), [2, 4])
    assert jnp.asarray(np.array([1, 2], ">i4")).tolist() == [1, 2]


@pytest.mark.parametrize("way", WAYS_IN)
def test_masked_arrays_are_refused(way: str) -> None:
    masked = np.ma.masked_array(np.array([1, 2], np.float32), [False, True])
    WAYS_IN[way](masked.data)  # a call like it is known then
    WAYS_IN[way](masked.data)
    with pytest.raises(ValueError, match="mask"):
        WAYS_IN[way](masked)


@pytest.mark.parametrize("name", ["numpy.ma", "asyncio.events"])
def test_a_module_that_another_thread_is_importing_is_no_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, ModuleType(name))  # it is there before its names are
    with xs.enable_x64(True):
        assert xs.jit(lambda x: x + 1)(np.arange(3.0)).tolist() == [1, 2, 3]
    assert jnp.asarray(np.ones(2, np.float32)).tolist() == [1, 1]


@pytest.mark.parametrize("way", WAYS_IN)
@pytest.mark.parametrize(
    "wrong",
    [
        np.array(["a"]),
        np.array([b"a"]),
        np.array([None]),
        np.array(["2020"], "M8[D]"),
        np.array([1], "m8[D]"),
        np.zeros(1, [("a", np.float32)]),
        np.zeros(1, "V4"),
        np.ones(1, np.longdouble),
    ],
    ids=lambda x: x.dtype.name,
)
def test_elements_that_no_array_has_are_refused(way: str, wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"is not a valid array|arrays cannot have dtype"):
        WAYS_IN[way](wrong)


@pytest.mark.parametrize(
    "make",
    [
        lambda: jnp.array([2**40, 1]),
        lambda: jnp.array([2**70]),
        lambda: jnp.array([np.int64(2**40), 1]),
        lambda: jnp.array([300], dtype="uint8"),
        lambda: jnp.array([-1], dtype="uint8"),
        lambda: jnp.asarray(2**40),
        lambda: xs.jit(lambda x: x + 1)(2**40),
        lambda: jnp.arange(2) + 2**40,
    ],
)
def test_integers_that_do_not_fit_are_refused(make: Any) -> None:
    with pytest.raises(OverflowError, match="int"):
        make()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (memoryview(np.ones(2, np.float32)), [1, 1]),
        (bytearray(b"ab"), [97, 98]),
        (range(3), [0, 1, 2]),
        ((ctypes.c_float * 2)(1, 2), [1, 2]),
        ([ml_dtypes.bfloat16(1), 2], [1, 2]),
        ([Represented(1.0), 2.0], [1, 2]),
        (Represented([1.0, 2.0]), [1, 2]),
    ],
)
def test_asarray_reads_what_can_be_read(given: Any, expected: Any) -> None:
    assert jnp.asarray(given).tolist() == expected


@pytest.mark.parametrize(
    "use",
    [
        lambda x: jnp.add(x, 1.0),
        lambda x: lax.mul(x, x),
        lambda x: jnp.ones(2) + x,
        lambda x: jnp.ones(2).__radd__(x),
        lambda x: jnp.sum(x),
        lambda x: jnp.squeeze(x),
        lambda x: jnp.concatenate([x, x]),
        lambda x: jnp.where(True, x, 0.0),
        lambda x: jnp.zeros(2).at[0].set(Represented(3.0)),
        lambda x: jnp.arange(3.0)[Represented([1, 2])],
        lambda x: xs.jit(jnp.sin)(x),
        lambda x: xs.jit(lambda y: y * x)(2.0),
        lambda x: xs.grad(lambda y: jnp.sum(jnp.sin(y)))(x),
        lambda x: xs.grad(lambda y: jnp.sum(y * x))(jnp.ones(2)),
        lambda x: xs.vmap(jnp.sin)(x),
        lambda x: lax.scan(lambda c, y: (c, y), 0.0, x)[1],
        xs.device_put,
    ],
)
def test_what_stands_for_an_array_is_that_array(use: Any) -> None:
    np.testing.assert_array_equal(np.asarray(use(Represented([1.0, 2.0]))), np.asarray(use(jnp.array([1.0, 2.0]))))


@pytest.mark.parametrize("dtype", [np.dtype("float32"), np.float64, "float32"])
def test_what_describes_an_array_is_enough_to_trace(dtype: Any) -> None:
    given = Described((3,), dtype)
    assert xs.eval_shape(jnp.sin, given) == xs.ShapeDtypeStruct((3,), "float32")
    assert xs.make_jaxpr(jnp.sin)(given).in_avals[0].str_short() == "f32[3]"
    assert xs.jit(jnp.sin).lower(given).out_info.shape == (3,)
    assert xs.linear_transpose(lambda x: x * 2, given)(jnp.ones(3))[0].tolist() == [2, 2, 2]
    with pytest.raises(TypeError, match="not a valid array"):
        jnp.sin(given)


# NumPy's memory -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "hand_in",
    [
        jnp.asarray,
        xs.device_put,
        lambda x: xs.vjp(lambda y: y, x)[0],
        lambda x: xs.jvp(lambda y: y, (x,), (x,)),
        lambda x: xs.linearize(lambda y: y, x)[0],
        lambda x: xs.value_and_grad(lambda y: y)(x[0]),
        xs.vmap(lambda y: y),
        lambda x: lax.switch(0, [lambda y: y], x),
        lambda x: core.eval_jaxpr(xs.make_jaxpr(lambda y: y)(x).jaxpr, [], x),
        lambda x: xs.make_jaxpr(lambda y: y + x)(1.0).consts,
    ],
)
def test_results_are_arrays_of_their_own(hand_in: Any) -> None:
    given = aligned(1, 1)
    results = tree.leaves(hand_in(given))
    given[:] = 5
    for result in results:
        assert isinstance(result, xs.Array)
        assert np.asarray(result).max() == 1


def test_writing_to_an_argument_does_not_reach_a_call_that_runs() -> None:
    @xs.jit
    def late(x: Any) -> Any:
        waited = lax.fori_loop(0, 20, lambda i, c: jnp.sin(c @ c) * 0.01, jnp.eye(400) * 0.1)
        return jnp.sum(waited) * 0 + jnp.sum(x)

    for _ in range(4):
        given = aligned(*[1] * 64)
        result = late(given)
        given[:] = 5
        assert float(result) == 64


def test_a_constant_is_what_it_was_when_it_was_met() -> None:
    buffer = aligned(0, 0)

    def summed(x: Any) -> Any:
        for i in range(3):
            buffer[:] = i
            x = lax.add(x, buffer)
        return x

    assert xs.jit(summed)(jnp.zeros(2)).tolist() == [3, 3]
    assert len(xs.make_jaxpr(lambda x: lax.add(lax.add(x, buffer), buffer))(jnp.zeros(2)).consts) == 1
    pulled = xs.vjp(lambda x: lax.mul(x, buffer), jnp.ones(2))[1]
    buffer[:] = 7
    assert pulled(jnp.ones(2))[0].tolist() == [2, 2]


def test_a_function_and_its_derivatives_share_a_constant() -> None:
    matrix = aligned(2, 3)

    def f(x: Any) -> Any:
        return jnp.sum(matrix * x * x)

    def loop(x: Any) -> Any:
        return lax.while_loop(lambda x: f(x) < 100, lambda x: x + xs.grad(f)(x) + xs.jit(xs.grad(f))(x), x)

    def written_to(x: Any) -> Any:
        before = f(x)
        matrix[:] = 1
        return before + xs.grad(lambda x: f(x))(x)

    x = jnp.ones(2)
    assert len(xs.make_jaxpr(lambda x: (f(x), xs.vmap(f)(x[:, None]), loop(x)))(x).consts) == 1
    assert xs.jit(written_to)(x).tolist() == [7, 7]


# Copies of arrays and tracers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize(
    "make",
    [
        lambda: jnp.arange(3),
        lambda: jnp.asarray(2.0),
        lambda: jnp.ones(2, ml_dtypes.bfloat16),
        lambda: jnp.ones(2, "int4"),
        lambda: xs.random.PRNGKey(3),
    ],
)
def test_copies_of_arrays_are_arrays(again: Any, make: Any) -> None:
    array = make()
    found = again(array)
    assert isinstance(found, xs.Array)
    assert found is not array
    assert found.aval is array.aval
    assert np.asarray(found).tobytes() == np.asarray(array).tobytes()


def test_a_tracer_is_its_own_copy() -> None:
    assert xs.jit(lambda x: copy.copy(x) + copy.deepcopy([x])[0])(1.0) == 2


@pytest.mark.parametrize("transformed", [xs.jit, xs.grad, xs.make_jaxpr, lambda f: lambda x: xs.vmap(f)(jnp.ones(2))])
def test_a_tracer_whose_trace_has_ended_is_a_tracer_still(transformed: Any) -> None:
    kept: list[Any] = []

    def keep(x: Any) -> Any:
        kept.append(x)
        return x * 2.0

    transformed(keep)(1.0)
    assert isinstance(kept[0], core.Tracer)
    assert isinstance(kept[0], xs.Array)
    assert not isinstance(jnp.ones(2), core.Tracer)


def test_a_dtype_that_numpy_copied_is_the_same_dtype() -> None:
    x = np.ones((3, 1, 7), np.dtype(bool).newbyteorder("S"))  # as pickled arrays have it, too
    assert x.dtype is not np.dtype(bool)
    assert jnp.asarray(x).aval.dtype is np.dtype(bool)
    assert (xs.jit(lambda a: a * a)(x) == x).all()
