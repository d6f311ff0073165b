"""Programs that call Python: what is called, with what, how often, in which order, and what becomes of exceptions."""

import contextlib
import gc
import importlib.util
import io
import subprocess
import sys
import textwrap
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax, settings
from xlascope.experimental import io_callback, jet
from xlascope.records import Missed, watch
from xlascope.transforms.dce import dce_program

HERE = Path(__file__).with_name("callback_programs.py")
SCALAR = xs.ShapeDtypeStruct((), np.float32)
COUNT = xs.ShapeDtypeStruct((), np.int32)


def _load() -> Any:
    spec = importlib.util.spec_from_file_location("xlascope_callback_programs", HERE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PROGRAMS = _load()


@pytest.fixture(scope="module")
def theirs(jax_says: Callable[..., Any]) -> dict[tuple[str, bool], Any]:
    outcomes: dict[tuple[str, bool], Any] = jax_says(HERE, "outcomes")
    return outcomes


@pytest.mark.parametrize(("row", "ordered"), PROGRAMS.VARIANTS)
def test_a_program_calls_what_it_calls_with_jax(row: str, ordered: bool, theirs: Any) -> None:
    result, calls = PROGRAMS.outcome(xs, row, ordered)
    wanted, wanted_calls = theirs[row, ordered]
    if ordered:
        assert calls == wanted_calls
    else:
        assert sorted(map(repr, calls)) == sorted(map(repr, wanted_calls))
    if isinstance(wanted, str):
        assert result == wanted
        return
    assert not isinstance(result, str), result
    for y, expected in zip(result, wanted, strict=True):
        assert (y.dtype, y.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(y, expected, rtol=1e-6)


# Values -------------------------------------------------------------------------------------------------------------

# fmt: off
DTYPES = [
    "bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "int4", "uint4",
    "float16", "bfloat16", "float32", "float8_e4m3fn", "float8_e5m2", "complex64",
]
# fmt: on


@pytest.mark.parametrize("name", DTYPES)
def test_arrays_of_every_type_go_in_and_out(name: str) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    seen = []

    def transpose(x: Any) -> Any:
        seen.append(x)
        return x.T  # not contiguous

    for shape in ((), (3,), (2, 3, 4)):
        x = jnp.asarray((np.arange(np.prod(shape, dtype=int)) % 2).reshape(shape).astype(dtype))
        y = xs.jit(lambda x, s=shape: xs.pure_callback(transpose, xs.ShapeDtypeStruct(s[::-1], dtype), x))(x)
        assert (seen[-1].dtype, seen[-1].shape, type(seen[-1])) == (dtype, shape, np.ndarray)
        assert (y.dtype, y.shape) == (dtype, shape[::-1])
        assert np.asarray(y).astype(complex).tolist() == np.asarray(x).T.astype(complex).tolist()


def test_64_bit_types_where_they_are_enabled() -> None:
    with settings.enable_x64():
        wanted = xs.ShapeDtypeStruct((), np.float64)
        f = xs.jit(lambda x: xs.pure_callback(lambda x: jnp.asarray(x) / 3, wanted, x))
        assert f(1.0) == 1 / 3
        (eqn,) = f.trace(1.0).jaxpr.eqns
    found: list[Any] = []  # as XLA does it, on a thread of its own, where the setting is another
    thread = threading.Thread(target=lambda: found.extend(eqn.params["callback"](np.array(1.0))))
    thread.start()
    thread.join()
    assert found == [1 / 3]


@pytest.mark.parametrize("jitted", [False, True])
def test_arguments_may_be_kept(jitted: bool) -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        xs.debug.callback(kept.append, x * 2)
        return x

    f = xs.jit(f) if jitted else f
    for i in range(5):
        f(jnp.full(1000, float(i)))
    assert [x[0] for x in kept] == [0, 2, 4, 6, 8]
    assert all((x == x[0]).all() for x in kept)


def test_results_stay_on_the_operands_device() -> None:
    x = xs.device_put(1.0, xs.devices()[0])
    for f in (lambda x: xs.pure_callback(np.sin, SCALAR, x), xs.jit(lambda x: xs.pure_callback(np.sin, SCALAR, x))):
        assert f(x).committed is True
        assert f(1.0).committed is False


def test_compiled_ahead_of_time() -> None:
    compiled = xs.jit(lambda x: xs.pure_callback(lambda x: x + 1, SCALAR, x)).lower(1.0).compile()
    assert [float(compiled(x)) for x in (np.float32(1), np.float32(2))] == [2.0, 3.0]


def test_a_callback_lives_as_long_as_the_function_that_calls_it() -> None:
    class Adder:
        def __call__(self, x: Any) -> Any:
            return x + 1

    adder = Adder()
    f = xs.jit(lambda x, a=adder: xs.pure_callback(a, SCALAR, x))
    assert f(1.0) == 2.0
    gone = weakref.ref(adder)
    del f, adder
    gc.collect()
    xs.jit(lambda x: x + 1)(1.0)  # jaxlib lets go of Python objects when it is called the next time
    gc.collect()
    assert gone() is None


RESULTS = {
    "shape": (lambda x: np.zeros(3, np.float32), SCALAR, r"f32\[\]; it returned float32\[3\]"),
    "dtype": (lambda x: np.int32(0), SCALAR, r"f32\[\]; it returned int32\[\]"),
    "not an array": (lambda x: object(), SCALAR, r"it returned object\[\]"),
    "structure": (lambda x: (x, x), SCALAR, "it returned one of structure"),
    "something for nothing": (lambda x: x, None, "it returned one of structure"),
    "nothing for something": (lambda x: None, SCALAR, "it returned one of structure"),
}


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("row", RESULTS)
def test_results_that_do_not_fit_are_refused(row: str, jitted: bool) -> None:
    function, wanted, message = RESULTS[row]

    def f(x: Any) -> Any:
        return io_callback(function, wanted, x)

    with pytest.raises(TypeError, match=message):
        (xs.jit(f) if jitted else f)(1.0)


def test_python_numbers_and_wider_floats_are_narrowed() -> None:
    for y in (3.0, np.float64(3.0), jnp.float32(3.0)):
        assert xs.jit(lambda x, y=y: xs.pure_callback(lambda x: y, SCALAR, x))(1.0) == 3.0


ARGUMENTS = {
    "no function": (lambda: xs.pure_callback(3, SCALAR, 1.0), TypeError, "takes a function first, got 3"),
    "no type": (lambda: xs.pure_callback(np.sin, 1.0, 1.0), TypeError, "as a tree of ShapeDtypeStruct"),
    "a wide type": (
        lambda: xs.pure_callback(np.sin, xs.ShapeDtypeStruct((), np.float64), 1.0),
        ValueError,
        "64-bit types are disabled at .*test_callbacks.py",
    ),
    "no array": (
        lambda: io_callback(print, None, "text"),
        TypeError,
        "an argument of io_callback .number 0. of type str",
    ),
    "no format to log": (lambda: xs.debug.log(3.0), TypeError, "debug.log takes a format string first, got float"),
    "nothing to log": (lambda: xs.debug.log("{a}", b=1.0), KeyError, "debug.log at .*no argument for its field 'a'"),
    "no format": (lambda: xs.debug.print(3.0), TypeError, "takes a format string first, got float"),
    "no positional argument": (
        lambda: xs.debug.print("{} {}", 1.0),
        IndexError,
        "no argument for its field 1, it got 1",
    ),
    "none at all": (lambda: xs.debug.print("{}"), IndexError, "no argument for its field 0"),
    "no argument of that name": (lambda: xs.debug.print("{a}", b=1.0), KeyError, "no argument for its field 'a'"),
    "no argument for a width": (lambda: xs.debug.print("{:{}}", 1.0), IndexError, "no argument for its field 1"),
    "one too many": (lambda: xs.debug.print("{}", 1.0, 2.0), ValueError, "unused arguments 1;"),
    "one name too many": (lambda: xs.debug.print("{x}", x=1.0, y=2.0), ValueError, "unused arguments y;"),
}


@pytest.mark.parametrize("row", ARGUMENTS)
def test_arguments_that_do_not_fit_are_refused_when_tracing(row: str) -> None:
    call, error, message = ARGUMENTS[row]
    for run in (call, lambda: xs.make_jaxpr(call)()):
        with pytest.raises(error, match=message):
            run()


# Printing -----------------------------------------------------------------------------------------------------------

PRINTED = {
    "numbers": (lambda x: xs.debug.print("{} {k:.2f}", x[1], k=x[2]), "1.0 2.00\n"),
    "arrays": (lambda x: xs.debug.print("{}", x), "[0. 1. 2.]\n"),
    "as they are written": (lambda x: xs.debug.print("{!r}", x), "Array([0., 1., 2.], dtype=float32)\n"),
    "attributes and items": (lambda x: xs.debug.print("{x.shape} {x[1]}", x=x), "(3,) 1.0\n"),
    "trees": (lambda x: xs.debug.print("{}", {"a": x}), "{'a': Array([0., 1., 2.], dtype=float32)}\n"),
    "no arrays": (lambda x: xs.debug.print("{} {}", "text", x[0]), "text 0.0\n"),
    "nothing": (lambda x: xs.debug.print("here"), "here\n"),
    "for each example": (lambda x: xs.vmap(lambda y: xs.debug.print("y={}", y))(x), "y=0.0\ny=1.0\ny=2.0\n"),
}


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("row", PRINTED)
def test_print(row: str, jitted: bool) -> None:
    call, wanted = PRINTED[row]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        (xs.jit(call) if jitted else call)(jnp.arange(3.0))
    assert out.getvalue() == wanted


def test_numpy_options_are_those_of_the_trace() -> None:
    out = io.StringIO()
    with np.printoptions(precision=2):
        f = xs.jit(lambda x: xs.debug.print("{}", x)).lower(jnp.ones(2)).compile()
    with contextlib.redirect_stdout(out):
        f(jnp.full(2, 1 / 3))
    assert out.getvalue() == "[0.33 0.33]\n"


def test_decorators() -> None:
    seen = []
    record = xs.debug.callback(ordered=True)(lambda x: seen.append(float(x)))
    xs.jit(lambda x: (record(x), record(x + 1)))(1.0)
    assert seen == [1.0, 2.0]


# Order --------------------------------------------------------------------------------------------------------------


def test_order_holds_through_loops_branches_and_calls() -> None:
    log: list[int] = []

    def record(*values: Any) -> None:
        log.append(int(values[0]))

    @xs.jit
    def inner(x: Any) -> Any:
        io_callback(record, None, x, ordered=True)
        io_callback(record, None, x + 1000, ordered=True)
        return x + 1

    def other(c: Any) -> Any:
        io_callback(record, None, -c, ordered=True)
        return c

    def step(c: Any, _: Any) -> Any:
        c = lax.cond(inner(c) % 2 == 0, lambda c: inner(inner(c)), other, c + 1)
        return lax.while_loop(lambda c: c % 5 != 0, inner, c), None

    def program(x: Any) -> Any:
        c, _ = lax.scan(step, x, jnp.arange(100), unroll=3)
        return lax.fori_loop(0, 5, lambda i, c: inner(c), c)

    with xs.disable_jit():
        program(0)
    wanted = list(log)
    assert len(wanted) > 1000
    for run in (xs.jit(program), program):
        log.clear()
        run(0)
        assert log == wanted


def test_order_holds_from_program_to_program() -> None:
    log: list[Any] = []
    slow = xs.jit(lambda x: (io_callback(log.append, None, jnp.sum(x @ x) * 0, ordered=True), x)[1])
    quick = xs.jit(lambda x: (io_callback(log.append, None, x, ordered=True), x)[1])
    matrix = jnp.ones((300, 300))
    for i in range(10):
        slow(matrix)
        quick(float(i + 1))
    assert [float(x) for x in log] == [y for i in range(10) for y in (0.0, i + 1.0)]


def test_several_threads_call_one_program() -> None:
    def double(i: Any) -> Any:
        if i % 7 == 0:
            raise KeyError(int(i))
        return i * 2

    f = xs.jit(lambda i: xs.pure_callback(double, COUNT, i))
    wrong: list[Any] = []

    def work(start: int) -> None:
        for i in range(start, start + 100):
            try:
                found: Any = int(f(i))
            except KeyError as error:
                found = error.args
            if found != ((i,) if i % 7 == 0 else 2 * i):
                wrong.append((i, found))

    threads = [threading.Thread(target=work, args=(1000 * k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# Exceptions ---------------------------------------------------------------------------------------------------------


class LostError(Exception):
    """A user's exception, that is made of something else than a text."""

    def __init__(self, code: int, place: str) -> None:
        super().__init__(code, place)
        self.code = code


def lose(x: Any) -> Any:
    try:
        raise OSError("no such thing")
    except OSError as error:
        raise LostError(7, "here") from error


LOSING = {
    "alone": lambda f: f,
    "jit": xs.jit,
    "jit in jit": lambda f: xs.jit(lambda x: xs.jit(f)(x) + 1),
    "vmap": lambda f: lambda x: xs.vmap(f)(jnp.ones(3) * x),
    "loop": lambda f: lambda x: lax.fori_loop(0, 3, lambda i, x: f(x), x),
}


@pytest.mark.parametrize("way", LOSING)
def test_an_exception_comes_out_as_it_was_raised(way: str) -> None:
    f = LOSING[way](lambda x: xs.pure_callback(lose, SCALAR, x, vmap_method="sequential"))
    for _ in range(2):  # the second call would take jaxlib's fast path, which cannot say so
        with pytest.raises(LostError) as caught:
            f(1.0)
        error = caught.value
        assert (error.code, type(error.__cause__)) == (7, OSError)
        assert caught.traceback[-1].name == "lose"
        (note,) = [note for note in error.__notes__ if "raised in" in note]
        assert note.startswith("raised in lose, which pure_callback at ")
        assert "test_callbacks.py:" in note
    assert xs.jit(lambda x: xs.pure_callback(lambda x: x + 1, SCALAR, x))(1.0) == 2.0


def test_a_debug_callback_that_raises_is_no_secret() -> None:
    with pytest.raises(ZeroDivisionError):
        xs.jit(lambda x: (xs.debug.callback(lambda x: 1 / 0, x), x)[1])(1.0)


def run_alone(program: str, *, one_core: bool = False) -> list[str]:
    """The lines that a program prints in a Python of its own, which is ended when it hangs."""
    head = "import os, signal, threading, time\nimport numpy as np\n" + (
        "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n" if one_core else ""
    )
    text = head + "import xlascope as xs, xlascope.numpy as jnp\n" + textwrap.dedent(program)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("one_core", [False, True])
def test_a_callback_may_call_compiled_functions(one_core: bool) -> None:
    """JAX documents that this can hang: large arrays, computed by a thread that waits for another one of the pool."""
    program = """
    @xs.jit
    def inner(x):
        return jnp.sum(jnp.sin(x) * x) + xs.pure_callback(lambda x: np.sum(x), xs.ShapeDtypeStruct((), np.float32), x)

    def call(x):
        y = inner(x) - inner(jnp.asarray(x)) + xs.grad(lambda x: jnp.sum(x * x))(x)[0]
        return np.asarray(y) + jnp.float32(1)

    for size in (4, 1_000_000):
        f = xs.jit(lambda x: xs.pure_callback(call, xs.ShapeDtypeStruct((), np.float32), jnp.cos(x)))
        for _ in range(3):
            print(float(f(jnp.zeros(size))))
        print(float(xs.pure_callback(call, xs.ShapeDtypeStruct((), np.float32), jnp.ones(size))))
    """
    assert run_alone(program, one_core=one_core) == ["3.0"] * 8


@pytest.mark.parametrize("size", [1, 1_000_000])
def test_an_interrupt_in_a_callback_comes_out(size: int) -> None:
    program = f"""
    def interrupted(x):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)
        return x

    wanted = xs.ShapeDtypeStruct(({size},), np.float32)
    for f in (lambda x: x, xs.jit):
        try:
            f(lambda x: xs.pure_callback(interrupted, wanted, jnp.sin(x)))(jnp.zeros({size}))
            time.sleep(0.2)
        except KeyboardInterrupt:
            print("interrupted")
    print(xs.jit(lambda x: xs.pure_callback(np.cos, wanted, x))(jnp.zeros({size}))[0])
    """
    assert run_alone(program) == ["interrupted", "interrupted", "1.0"]


# What else knows of effects -----------------------------------------------------------------------------------------


def test_effects_are_those_of_what_is_inside() -> None:
    def f(x: Any) -> Any:
        xs.pure_callback(np.sin, SCALAR, x)
        return lax.fori_loop(0, 3, lambda i, x: (xs.debug.print("{}", x, ordered=True), x)[1], x)

    program = xs.make_jaxpr(xs.jit(f))(1.0)
    assert {(e.kind, e.ordered) for e in program.effects} == {("debug", True)}
    assert program.effects == program.jaxpr.effects == program.eqns[0].effects
    assert not xs.make_jaxpr(lambda x: xs.pure_callback(np.sin, SCALAR, x))(1.0).effects


def test_dead_code_keeps_what_has_effects_and_what_it_needs() -> None:
    def inside(c: Any, x: Any) -> Any:
        xs.debug.print("{}", c * 2.0)
        return c + x, jnp.sin(c)

    def f(x: Any) -> Any:
        xs.pure_callback(np.sin, SCALAR, x)
        jnp.exp(x)
        io_callback(np.cos, SCALAR, x + 3.0)
        lax.scan(inside, x, np.ones(2, np.float32))
        return x * 2.0

    program, _ = dce_program(xs.make_jaxpr(f)(np.float32(1.0)), (False,))
    assert [e.primitive.name for e in program.eqns] == ["add", "io_callback", "scan"]
    (body,) = [e.operation.bodies()[0] for e in program.eqns if e.primitive.name == "scan"]
    assert [e.primitive.name for e in body.eqns] == ["mul", "debug_callback", "add"]


def test_a_pure_callback_that_nobody_needs_is_not_called() -> None:
    calls: list[Any] = []
    xs.jit(lambda x: (xs.pure_callback(calls.append, None, x), x)[1])(1.0)
    assert not calls


def test_why_such_a_call_passes_through_python() -> None:
    f = xs.jit(lambda x: (xs.debug.callback(lambda x: None, x), x)[1])
    records: list[Any] = []
    with watch(records.append):
        f(1.0)
        f(1.0)
    (missed,) = [r for r in records if isinstance(r, Missed)]
    assert "it calls Python" in missed.reason


def test_derivatives_that_cannot_be_say_where_the_callback_is() -> None:
    with pytest.raises(ValueError, match=r"do not support JVP.*test_callbacks.py.*custom_jvp"):
        xs.grad(xs.jit(lambda x: xs.pure_callback(np.sin, SCALAR, x)))(1.0)
    with pytest.raises(NotImplementedError, match=r"vmap of pure_callback at .*test_callbacks.py.*'sequential'"):
        xs.vmap(lambda x: xs.pure_callback(np.sin, SCALAR, x))(jnp.ones(3))


@pytest.mark.parametrize("method", ["sequential", "expand_dims", "broadcast_all", "legacy_vectorized"])
def test_an_empty_batch(method: str) -> None:
    y = xs.vmap(lambda x: xs.pure_callback(np.sin, SCALAR, x, vmap_method=method))(jnp.ones(0))
    assert y.shape == (0,)


# Where JAX does less ------------------------------------------------------------------------------------------------


def test_an_io_callback_in_a_differentiated_scan_is_called() -> None:
    log: list[float] = []

    def f(x: Any) -> Any:
        def step(c: Any, y: Any) -> Any:
            io_callback(lambda y: log.append(float(y)), None, y, ordered=True)
            return c * y, None

        return lax.scan(step, x, jnp.arange(1.0, 4.0))[0]

    assert xs.grad(f)(2.0) == 6.0
    assert log == [1.0, 2.0, 3.0]


def test_an_io_result_that_the_derivative_needs_is_computed_once_a_step() -> None:
    calls: list[int] = []

    def draw() -> Any:
        calls.append(len(calls))
        return np.float32(len(calls))

    def f(x: Any) -> Any:
        return lax.scan(lambda c, _: (c * io_callback(draw, SCALAR, ordered=True), None), x, None, length=3)[0]

    assert xs.grad(f)(1.0) == 6.0
    assert len(calls) == 3


# What looks at programs or keeps them -------------------------------------------------------------------------------


def test_programs_that_call_python_are_not_kept_on_disk(tmp_path: Path) -> None:
    def adding(k: Any) -> Any:
        return xs.jit(lambda x: xs.pure_callback(lambda x: x + k, SCALAR, x))

    with settings.setting("compilation_cache_dir", tmp_path / "cache"):
        assert [float(adding(np.float32(k))(1.0)) for k in (1, 2, 3)] == [2.0, 3.0, 4.0]
    assert not list(tmp_path.rglob("*.executable"))


def test_a_program_without_results_is_waited_for() -> None:
    seen: list[Any] = []
    f = xs.jit(lambda x: xs.debug.callback(lambda y: seen.append(float(y)), jnp.sum(jnp.sin(x))))
    for i in range(1, 4):
        f(jnp.zeros(1_000_000))
        assert len(seen) == i


def test_own_interpreters_meet_callbacks_as_equations() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        xs.debug.callback(lambda x: seen.append(float(x)), x)
        return xs.pure_callback(np.sin, SCALAR, x)

    program = xs.make_jaxpr(f)(1.0)
    (y,) = xs.core.eval_jaxpr(program.jaxpr, program.consts, 0.0)
    assert (float(y), seen) == (0.0, [0.0])
    debug, pure = program.eqns
    assert debug.primitive.bind(2.0, **debug.params) == []
    assert [float(y) for y in pure.primitive.bind(0.0, **pure.params)] == [0.0]
    assert seen == [0.0, 2.0]


def test_taylor_series_pass_by() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        xs.debug.callback(lambda x: seen.append(float(x)), x)
        return x * x

    y, (first, second) = jet.jet(f, (3.0,), ((1.0, 0.0),))
    assert (float(y), float(first), float(second), seen) == (9.0, 6.0, 2.0, [3.0])


def test_what_is_logged_goes_to_a_logger(caplog):
    @xs.jit
    def function(x):
        xs.debug.log("x = {x}, {}", 2 * x, x=x)
        return xs.vmap(lambda y: (xs.debug.log("each {}", y), y)[1])(np.arange(2, dtype=np.float32))

    with caplog.at_level("INFO", logger="xlascope.debug"):
        function(np.float32(1.5))
        function(np.float32(2.5))
        xs.debug.log("eager")
        xs.debug.log(ordered=True)("as {}")("a decorator")
    texts = [record.getMessage() for record in caplog.records if record.name == "xlascope.debug"]
    assert sorted(texts) == sorted(
        ["x = 1.5, 3.0", "x = 2.5, 5.0", *["each 0.0", "each 1.0"] * 2, "eager", "as a decorator"]
    )
    assert {record.levelname for record in caplog.records} == {"INFO"}
