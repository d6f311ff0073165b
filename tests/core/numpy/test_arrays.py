"""What arrays and tracers do beside computing: their methods, what they refuse, and what it costs."""

import gc

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import records
from xlascope.errors import ConcretizationTypeError, NonConcreteBooleanIndexError
from xlascope.trace.methods import METHODS, OPERATORS, PROPERTIES
from xlascope.trace.tracer import TracerBase
from xlascope.xla.devices.backend import ArrayImpl

X = np.array([1.0, 2.0, 3.0], np.float32)


def test_arrays_and_tracers_have_every_method() -> None:
    names = [*OPERATORS, *METHODS, *PROPERTIES]
    assert [name for name in names if not hasattr(ArrayImpl, name)] == []
    assert [name for name in names if getattr(ArrayImpl, name) is not getattr(TracerBase, name)] == []


def test_ndarray_knows_arrays_and_tracers() -> None:
    kinds = []
    xs.jit(lambda x: kinds.append(isinstance(x, jnp.ndarray)) or x)(X)
    xs.grad(lambda x: kinds.append(isinstance(x, xs.Array)) or x)(1.0)
    assert kinds == [True, True]
    assert isinstance(jnp.ones(2), jnp.ndarray) and not isinstance(X, jnp.ndarray)
    with pytest.raises(TypeError, match=r"xlascope\.numpy\.array"):
        jnp.ndarray()


class Guest:
    """Knows how to be added to an array."""

    def __radd__(self, other: object) -> str:
        return "guest"

    def __rmul__(self, other: object) -> str:
        return "guest"

    def __lt__(self, other: object) -> str:
        return "guest"


def test_operators_leave_strangers_to_themselves() -> None:
    x = jnp.asarray(X)
    assert x + Guest() == "guest" and x * Guest() == "guest" and (x > Guest()) == "guest"
    assert (x == None) is False and (x != "a") is True  # noqa: E711
    with pytest.raises(TypeError):
        x + "a"


@pytest.mark.parametrize("operation", [lambda x: x - [1, 2, 3], lambda x: [1, 2, 3] * x, lambda x: jnp.sin([1.0])])
def test_lists_are_refused_with_the_way_out(operation) -> None:
    with pytest.raises(TypeError, match=r"xlascope\.numpy\.array"):
        operation(jnp.asarray(X))
    with pytest.raises(TypeError, match=r"xlascope\.numpy\.array"):
        xs.jit(operation)(X)


def test_numpy_arrays_on_the_left_leave_the_work_to_us() -> None:
    x = jnp.asarray(X)
    for y in (X + x, X * x, X - x, X / x, X @ x, x > X, np.float32(2) * x):
        assert isinstance(y, jnp.ndarray)


@pytest.mark.parametrize("convert", [jnp.array, jnp.copy, lambda x: jnp.asarray(x, copy=True), lambda x: x.copy()])
def test_a_copy_has_memory_of_its_own(convert) -> None:
    x = jnp.asarray(X)
    y = convert(x)
    assert y is not x and not np.shares_memory(np.asarray(y), np.asarray(x))
    assert jnp.asarray(x) is x


def test_array_does_not_follow_changes_of_its_source() -> None:
    source = X.copy()
    x = jnp.array(source)
    source[0] = 9.0
    assert x[0] == 1.0


@pytest.mark.parametrize(
    ("shape", "dtype", "text"),
    [
        ((0,), "float32", "Array([], shape=(0,), dtype=float32)"),
        ((0, 3), "bfloat16", "Array([], shape=(0, 3), dtype=bfloat16)"),
        ((2, 0), "int32", "Array([], shape=(2, 0), dtype=int32)"),
        ((1, 1), "int32", "Array([[0]], dtype=int32)"),
    ],
)
def test_an_array_without_elements_shows_its_shape(shape, dtype, text) -> None:
    assert repr(jnp.zeros(shape, dtype)) == text


def test_formats_of_numbers_are_for_numbers() -> None:
    assert f"{jnp.float32(1.25):.1f} {jnp.arange(2)}" == "1.2 [0 1]"
    with pytest.raises(TypeError, match=r"'.2f' is for one number, and this is an array of shape \(3,\)"):
        f"{jnp.asarray(X):.2f}"


def test_arrays_cannot_be_changed_in_place() -> None:
    x = jnp.asarray(X)
    with pytest.raises(TypeError, match=r"x\.at\[index\]\.set"):
        x[0] = 1.0
    with pytest.raises(TypeError, match=r"x\.at\[index\]\.set"):
        xs.jit(lambda x: x.__setitem__(0, 1.0))(X)


def test_a_traced_mask_is_refused_with_the_way_out() -> None:
    for function in (lambda x: x[x > 0], lambda x: x.at[x > 1].set(0.0)):
        with pytest.raises(NonConcreteBooleanIndexError, match="where"):
            xs.jit(function)(X)
    with pytest.raises(ConcretizationTypeError, match=r"where=.*nonzero\(a, size=n\)"):
        xs.jit(lambda x: jnp.where(x > 0))(X)
    with pytest.raises(IndexError):
        xs.vmap(lambda x: x[x > 0])(np.stack([X, X]))


def test_a_mask_is_known_under_grad() -> None:
    slope = xs.grad(lambda x: jnp.sum(x[x > 1.5] ** 2))(X)
    np.testing.assert_allclose(slope, [0.0, 4.0, 6.0])


def test_traced_sizes_are_refused_with_the_way_out() -> None:
    with pytest.raises(IndexError, match="dynamic_slice"):
        xs.jit(lambda x, n: x[:n])(X, 2)
    with pytest.raises(ConcretizationTypeError, match="arange"):
        xs.jit(lambda n: jnp.arange(n))(3)
    with pytest.raises(TypeError):
        xs.jit(lambda n: jnp.zeros(n))(3)
    assert xs.jit(lambda n: jnp.arange(n), static_argnums=0)(3).shape == (3,)


def _compilations(action) -> int:
    made: list[object] = []
    with records.watch(lambda record: made.append(record) if isinstance(record, records.Compiled) else None):
        action()
    return len(made)


@pytest.mark.parametrize(
    "take",
    [
        lambda x, i: x[i],
        lambda x, i: x[-i - 1],
        lambda x, i: x[i : i + 4],
        lambda x, i: x[i, 2],
        lambda x, i: x[2, i],
        lambda x, i: x[:, i],
        lambda x, i: x[i, 1:3],
        lambda x, i: x[1:4, i : i + 2],
        lambda x, i: x.at[i].set(1.0),
        lambda x, i: x.at[i, 2].add(1.0),
    ],
)
def test_one_compilation_serves_all_indices(take) -> None:
    x = jnp.asarray(np.arange(143.0, dtype=np.float32).reshape(11, 13))
    take(x, 0)
    assert _compilations(lambda: [take(x, i) for i in range(1, 7)]) == 0


def test_together_is_one_call() -> None:
    x = jnp.asarray(np.arange(17.0, dtype=np.float32))
    assert _compilations(lambda: jnp.std(x)) == 1
    assert _compilations(lambda: jnp.std(x + 0)) <= 1


PROGRAMS = {
    "x * 2.0": "mul",
    "2.0 * x": "mul",
    "x + 1": "add",
    "x / 2": "div",
    "-x": "neg",
    "x > 0": "gt",
    "jnp.sin(x)": "sin",
    "x + x[0]": "slice squeeze add",
    "x[1:3]": "slice",
    "x[-1]": "slice squeeze",
    "x[::-1]": "rev",
    "x[::2]": "slice",
    "x[None]": "broadcast_in_dim",
    "m[:, 0]": "slice squeeze",
    "jnp.sum(x)": "reduce_sum",
    "jnp.mean(x)": "reduce_sum div",
    "jnp.max(x)": "reduce_max",
    "jnp.dot(m, m.T)": "transpose dot_general",
    "m @ m.T": "transpose dot_general",
    "x + m": "broadcast_in_dim add",
    "x * m[:, :1]": "slice broadcast_in_dim mul",
    "jnp.where(x > 0, x, 0.0)": "gt select_n",
    "jnp.maximum(x, 0.0)": "max",
    "jnp.concatenate([x, x])": "concatenate",
    "x.reshape(3, 1)": "reshape",
    "m.T": "transpose",
    "x.astype(int)": "convert_element_type",
    "jnp.arange(4)": "iota",
    "jnp.zeros(3) + x": "broadcast_in_dim add",
    "jnp.linalg.norm(x)": "mul reduce_sum sqrt",
    "jnp.expand_dims(x, 0)": "broadcast_in_dim",
    "x.at[0].set(1.0)": "broadcast_in_dim dynamic_update_slice",
    "jnp.clip(x, 0.0, 1.0)": "max min",
    "jnp.argmax(x)": "argmax",
    "jnp.cumsum(x)": "cumsum",
}


@pytest.mark.parametrize("row", PROGRAMS)
def test_programs_are_short(row: str) -> None:
    def program(x, m):
        return eval(row, {"jnp": jnp}, {"x": x, "m": m})

    program.__name__ = "program"
    jaxpr = xs.make_jaxpr(program)(X, np.ones((2, 3), np.float32))
    assert " ".join(equation.primitive.name for equation in jaxpr.eqns) == PROGRAMS[row]


def test_the_gradient_of_parts_is_one_concatenation() -> None:
    def energy(x):
        return sum(jnp.sum(part * part) for part in jnp.split(x, 3, axis=1))

    program = xs.make_jaxpr(xs.grad(energy))(np.ones((2, 9), np.float32))
    whole = [equation.primitive.name for equation in program.eqns if equation.outvars[0].aval.shape == (2, 9)]
    assert whole == ["concatenate"]


def test_a_scalar_is_a_literal_of_the_operands_type() -> None:
    assert "mul a 2.0:f32[]" in str(xs.make_jaxpr(lambda x: x * 2)(X))
    assert "add a 1:i8[]" in str(xs.make_jaxpr(lambda x: x + 1)(np.int8([1, 2])))
    assert "mul a -0.0:f32[]" in str(xs.make_jaxpr(lambda x: x * -0.0)(X))
    assert "mul a 0.0:f32[]" in str(xs.make_jaxpr(lambda x: x * 0.0)(X))


def test_wide_types_come_with_the_setting() -> None:
    with xs.enable_x64():
        assert jnp.arange(3).dtype == jnp.int64 and jnp.ones(2).dtype == jnp.float64
        assert jnp.float64(1.5).dtype == np.float64
        assert (jnp.ones(2, jnp.float32) * 2.0).dtype == jnp.float32
    assert jnp.arange(3).dtype == jnp.int32 and jnp.float64(1.5).dtype == np.float32


def test_scalar_types_are_dtypes_and_convert() -> None:
    assert jnp.float32 == np.dtype("float32") and np.dtype("int8") == jnp.int8 and jnp.float32 != jnp.float64
    assert np.dtype(jnp.bfloat16).name == "bfloat16" and hash(jnp.int32) == hash(np.int32)
    assert repr(jnp.float32) == "<class 'xlascope.numpy.float32'>"
    with pytest.raises(ValueError, match="float32 takes numbers"):
        jnp.float32("a")


def test_arrays_are_iterated_and_converted() -> None:
    x = jnp.asarray(X)
    assert [float(y) for y in x] == [1.0, 2.0, 3.0] and x.tolist() == [1.0, 2.0, 3.0]
    assert float(x[0]) == 1.0 and int(x[1]) == 2 and bool(x[0] > 0)
    with pytest.raises(TypeError, match="axes"):
        iter(x[0])
    assert round(x[2]) == 3 and divmod(x, 2)[1].tolist() == [1.0, 0.0, 1.0]


def test_rows_are_computed_as_they_are_asked_for() -> None:
    x = jnp.ones((4, 2))
    rows = iter(x)
    assert next(rows).tolist() == [1.0, 1.0]
    x.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        next(rows)
    assert xs.jit(lambda y: sum(row for row in y))(jnp.ones((4, 2))).tolist() == [4.0, 4.0]


@pytest.mark.parametrize("read", [float, bool, int, str, np.asarray, lambda x: x.item(), lambda x: x.tolist(), list])
def test_reading_an_array_does_not_keep_it(read) -> None:
    x = jnp.ones(())[None] if read is list else jnp.ones(())
    read(x + 1.0)
    gc.collect()
    before = len(xs.live_arrays())
    for _ in range(5):
        read(x + 1.0)
    gc.collect()
    assert len(xs.live_arrays()) == before


@pytest.mark.parametrize(
    ("counts", "rows"),
    [((1, 2, 3), [0, 1, 1, 2]), ((0, 1, 0), [1, 2, 2, 2]), ((0, 0, 0), [2, 2, 2, 2]), ((2, 0, 0), [0, 0, 2, 2])],
)
def test_repeats_of_a_known_total_may_be_traced(counts, rows):
    """What jax 0.10.2 gives: what is over is left out, what is missing is the last element."""
    x = jnp.arange(3.0)
    for f in (
        lambda n: jnp.repeat(x, n, total_repeat_length=4),
        xs.jit(lambda n: jnp.repeat(x, n, total_repeat_length=4)),
    ):
        assert f(jnp.array(counts)).tolist() == rows


def test_a_number_under_grad_has_its_values():
    assert float(xs.grad(lambda x: x * x.item() + len(x.tobytes()))(3.0)) == 3.0


#: Numbers that a dtype does not hold, in every way that they come in.
OUT_OF_RANGE = [
    lambda: jnp.asarray(np.float64(1e300)),
    lambda: jnp.array([1e300, 1.0]),
    lambda: jnp.asarray(1e-320),
    lambda: jnp.ones(2, "float16") * 1e6,
    lambda: xs.jit(lambda x: x * 1e300)(X),
    lambda: xs.jit(lambda x: jnp.where(x > 2, x, np.float64(1e300)))(X),
    lambda: xs.jit(lambda x: x)(np.array([1e300])),
    lambda: jnp.full(2, 1e6, "float16"),
    lambda: xs.lax.full((2,), 1e6, "float16"),
    lambda: jnp.pad(jnp.ones(2, "float16"), 1, constant_values=((1e6, 2e6),)),
    lambda: jnp.max(jnp.ones(2, "float8_e4m3fn")),
    lambda: jnp.ones(2, "float8_e5m2").at[5].get(mode="fill", fill_value=1e9),
    lambda: xs.pure_callback(lambda: np.array([1e300]), xs.ShapeDtypeStruct((1,), np.float32)),
]


@pytest.mark.parametrize("conversion", OUT_OF_RANGE)
def test_numbers_out_of_range_are_converted_whatever_numpy_is_told_to_raise(conversion) -> None:
    with np.errstate(all="raise"):
        strict = conversion()
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(np.asarray(strict, float), np.asarray(conversion(), float))


@pytest.mark.parametrize("triangle", [jnp.tril, jnp.triu])
def test_triangles_of_a_traced_diagonal(triangle):
    """jax takes no traced diagonal here."""
    m = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    expected = np.stack([getattr(np, triangle.__name__)(m, k) for k in (-1, 0, 2)])
    np.testing.assert_array_equal(xs.vmap(lambda k: triangle(m, k))(np.array([-1, 0, 2])), expected)
    np.testing.assert_array_equal(triangle(m, jnp.array(2)), expected[2])


def test_numbers_that_are_static_may_be_arrays_without_axes():
    x, one = np.array([1.0, 3.0], np.float32), jnp.array(1)
    assert float(jnp.var(x, ddof=one)) == float(jnp.nanvar(x, ddof=one)) == float(jnp.var(x, ddof=1))
    assert jnp.diag(x, one).shape == (3, 3) and float(jnp.trace(np.eye(3, k=1), one)) == 2
    with pytest.raises(TypeError, match="ddof"):
        jnp.var(x, ddof=jnp.array([1]))
