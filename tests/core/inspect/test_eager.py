"""A function that is not jitted is measured as its user wrote it; what it prints, donates and returns does no harm."""

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect, lax, random, records
from xlascope.control.jit.trace_cache import iterate_traces
from xlascope.inspect.engine.traced_calls import rebuild_traced
from xlascope.inspect.producers import written_call_of
from xlascope.inspect.running.dispatch_count import count_dispatches
from xlascope.inspect.running.engines import registered_engines
from xlascope.records import Executed

X = jnp.linspace(0.0, 1.0, 4000)
INNER = xs.jit(lambda x: x * 2 + 1)
DONATING = xs.jit(lambda x: x + 1, donate_argnums=0)
ROUNDS = 20


def loop(x: Any) -> Any:
    for _ in range(ROUNDS):
        x = jnp.sin(x) * 0.5
        x = x + 1.0
    return x


def calls_jitted(x: Any) -> Any:
    return INNER(x) - 1.0


def donates(x: Any) -> Any:
    return DONATING(x) * 2


def branches(x: Any) -> Any:
    return x * 2 if x.sum() > 0 else x


def returns_text(x: Any) -> Any:
    return jnp.sin(x), "text"


def uses_numpy(x: Any) -> Any:
    return np.sin(np.asarray(x)).sum()


def returns_tuple(x: Any) -> Any:
    return {"a": jnp.sin(x), "b": (x, None)}


@pytest.mark.parametrize(
    ("function", "operations", "programs"),
    [(loop, 3 * ROUNDS, 0), (calls_jitted, 1, 1), (donates, 1, 1), (returns_tuple, 1, 0)],
)
def test_both_times_and_the_dispatches_of_a_call(function: Callable[..., Any], operations: int, programs: int) -> None:
    answer = inspect.timings(function, X)
    eager = answer.eager
    assert eager is not None and (eager.operations, eager.programs) == (operations, programs)
    run = next(record for record in answer.records if isinstance(record, Executed))
    assert eager.jitted_seconds == run.step and eager.median_seconds > 0 and eager.calls > 3 and not eager.cannot_jit
    assert f"{function.__name__} is not jitted: " in answer.text.splitlines()[0]
    assert any(line.startswith("jitted: ") for line in answer.text.splitlines())
    assert eager.summary in run.notes[-1]  # the panel shows notes
    assert json.loads(json.dumps(answer.to_json()))["eager"]["operations"] == operations
    assert not X.is_deleted()


def test_the_line_that_starts_most_operations() -> None:
    answer = inspect.timings(loop, X)
    assert answer.eager is not None and answer.eager.line is not None
    assert answer.eager.line.line == loop.__code__.co_firstlineno + 2 and answer.eager.line_operations == 2 * ROUNDS
    assert f"{2 * ROUNDS} of {3 * ROUNDS} eager operations start at test_eager.py:" in answer.text


def test_a_jitted_function_is_measured_as_before() -> None:
    answer = inspect.timings(xs.jit(loop), X)
    assert answer.eager is None and answer.to_json()["eager"] is None and "jitted" not in answer.text
    assert inspect.doctor(xs.jit(loop), X).diagnosis.findings == ()


@pytest.mark.parametrize(
    ("function", "argument", "reason"),
    [
        (branches, X, "TracerBoolConversionError: "),
        (returns_text, X, "TypeError: "),
        (uses_numpy, X, "TracerArrayConversionError: "),
    ],
)
def test_what_cannot_be_jitted_has_its_own_time_and_the_reason(function: Any, argument: Any, reason: str) -> None:
    answer = inspect.timings(function, argument)
    assert answer.eager is not None and answer.eager.cannot_jit.startswith(reason) and answer.records == ()
    assert answer.eager.jitted_seconds is None and "it cannot be jitted: " + reason in answer.text
    assert json.loads(json.dumps(answer.to_json()))["eager"]["cannot_jit"].startswith(reason)
    diagnosis = inspect.doctor(function, argument).diagnosis
    assert diagnosis.function == function.__name__ and reason in diagnosis.notes[0]


def test_what_fails_as_written_raises_its_own_error() -> None:
    def wrong(x: Any) -> Any:
        return x + undefined  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(NameError, match="undefined"):
        inspect.timings(wrong, X)
    with pytest.raises(xs.errors.TracerBoolConversionError):  # of shapes nothing can be run
        inspect.timings(branches, xs.ShapeDtypeStruct((3,), "float32"))


QUESTIONS = {
    "timings": lambda function, x: inspect.timings(function, x),
    "doctor": lambda function, x: inspect.doctor(function, x),
    "diff": lambda function, x: inspect.diff((function, x), (function, x), timings=True),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_a_program_prints_is_shown_for_few_calls(question: str, capfd: pytest.CaptureFixture[str]) -> None:
    @xs.jit
    def printing(x: Any) -> Any:
        xs.debug.print("x = {}", x)
        return x * 2.0

    x = jnp.float32(2.5)
    QUESTIONS[question](printing, x)
    assert capfd.readouterr().out.count("x = 2.5") <= 2
    printing(x)
    assert capfd.readouterr().out == "x = 2.5\n"


def test_prints_are_shown_once_and_arguments_stay(capsys: pytest.CaptureFixture[str]) -> None:
    numbers = np.ones(8)

    def effects(x: Any) -> Any:
        print("called")
        if float(jnp.sin(X)[0]) < 2:
            x += 1
        return jnp.sin(x)

    answer = inspect.timings(effects, numbers)
    assert capsys.readouterr().out.count("called") <= 2  # the trace, and the first call
    assert answer.eager is not None and numbers.sum() == 8


def test_a_call_that_fails_again_ends_the_measurement() -> None:
    values = iter([1.0, 2.0])

    def exhausts(x: Any) -> Any:
        if x.sum() > 0:
            return x * next(values)
        return x

    answer = inspect.timings(exhausts, X + 1)
    assert answer.eager is not None and "a repeated call failed (StopIteration" in answer.eager.notes[0]
    assert "note: a repeated call failed" in answer.text


def test_a_difference_of_times_is_of_what_was_written() -> None:
    found = inspect.diff((loop, X), (xs.jit(loop), X), timings=True).diff
    assert found.timing is not None
    assert found.timing.source.endswith(f"; loop as written, not jitted: {3 * ROUNDS} eager operations a call")
    assert all(change.sign == "=" for change in found.equations)
    both = inspect.diff((xs.jit(loop), X), (xs.jit(loop), X), timings=True).diff
    assert both.timing is not None and "not jitted" not in both.timing.source
    assert inspect.diff((donates, X), (donates, X), timings=True).diff.timing is not None and not X.is_deleted()


def test_values_fetched_in_a_loop_are_counted_with_their_line() -> None:
    def fetches(x: Any) -> Any:
        for _ in range(15):
            x = x + float(x[0])
        return x

    eager = inspect.timings(fetches, X).eager
    assert eager is not None and eager.fetches == 15 and eager.fetch_seconds > 0 and eager.fetch_line is not None
    assert eager.fetch_line.line == fetches.__code__.co_firstlineno + 2
    assert "values fetched to the host: 15, " in inspect.timings(fetches, X).text


@pytest.mark.parametrize(
    ("values", "x64", "rules"),
    [
        (1.7e9 + np.linspace(0, 100, 500), False, ["float64 to float32"]),
        (1.7e9 + np.linspace(0, 100, 500), True, []),
        (np.arange(500.0), False, []),  # exact in float32
        (np.linspace(0, 1, 500, dtype=np.float32), False, []),
        (np.linspace(0, 1, 50), False, []),
    ],
)
def test_float64_data_that_become_float32(values: Any, x64: bool, rules: list[str]) -> None:
    with xs.enable_x64(x64):
        answer = inspect.doctor(xs.jit(lambda when: when * 2), values)
    assert [finding.rule for finding in answer.diagnosis.findings] == rules, answer.text
    if rules:
        assert "when is float64 data that become float32" in answer.text and "by up to 64" in answer.text


def test_counting_leaves_nothing_behind() -> None:
    assert written_call_of(loop, (X,)) is not None  # the engine is started
    engine = registered_engines()[0]
    array_class = sys.modules["jaxlib._jax"].ArrayImpl
    before = engine.hook(), array_class.__float__, array_class.item
    calls: list[Any] = []
    loop(X), X[0]  # the first calls are not reported by jaxlib
    engine.set_hook(lambda *call: calls.append(call[0]))
    try:
        loop(X)
        with pytest.raises(ZeroDivisionError), count_dispatches() as count:
            loop(X)
            float(X[0])
            raise ZeroDivisionError
    finally:
        engine.set_hook(before[0])
    assert count.operations.total() == 3 * ROUNDS + 1 and count.fetches.total() == 1 and count.fetch_seconds > 0
    assert len(calls) == 2 * 3 * ROUNDS + 1  # a hook that was there is called as before
    assert (engine.hook(), array_class.__float__, array_class.item) == before


def test_a_jitted_function_and_a_program_have_no_call_as_written() -> None:
    assert written_call_of(INNER, (X,)) is None
    assert written_call_of(inspect.Program("module @m { func.func @main() { return } }")) is None
    assert written_call_of(inspect.call(loop, X)) is not None


HALVED = xs.jit(lambda x: jnp.sum(jnp.tan(x) ** 3))
EAGER = {
    "function": lambda x: jnp.sin(x),
    "operators": lambda x: -x * x + x % 0.75,
    "function of lax": lambda x: lax.erf_inv(x),
    "function of several operations": lambda x: jnp.var(x),
    "indexing": lambda x: x[3:1000:7],
    "update": lambda x: x.at[3].multiply(5.0),
    "random numbers": lambda x: random.gumbel(random.key(7), x.shape),
    "derivative": lambda x: xs.grad(lambda y: jnp.sum(jnp.cosh(y) ** 2))(x),
    "derivative of a jitted function": lambda x: xs.grad(HALVED)(x),
    "examples": lambda x: xs.vmap(lambda y: jnp.arctan(y))(x),
    "loop": lambda x: lax.fori_loop(0, 3, lambda i, y: jnp.cos(y), x),
    "branch": lambda x: lax.cond(x[0] > 0.25, jnp.sinh, jnp.tanh, x),
    "conversion": lambda x: x.astype(np.float16),
}


@pytest.mark.parametrize("name", EAGER)
def test_each_equation_of_an_eager_call_has_the_line_of_the_user(name: str) -> None:
    """Also where one operation is compiled, which is not traced."""
    function = EAGER[name]
    seen: list[records.Record] = []
    x = jnp.linspace(0.0, 0.5, 1013 + list(EAGER).index(name))  # of a shape that no other row has compiled
    with records.watch(seen.append):
        function(x)
    traced = [record for record in seen if isinstance(record, records.Traced)]
    lines = {(e.source and (e.source.file, e.source.line)) for record in traced for e in record.jaxpr.walk()}
    assert traced and lines <= {(__file__, function.__code__.co_firstlineno), (__file__, _line_of_halved())}
    assert all(record.call_site is not None and record.call_site.file == __file__ for record in traced)
    assert all(source.text for record in traced for source in record.sources)


def _line_of_halved() -> int:
    return int(HALVED.__wrapped__.__code__.co_firstlineno)


def test_a_function_of_the_library_that_ran_before_anybody_watched_is_an_operation() -> None:
    x = jnp.linspace(0.0, 1.0, 1009)
    jnp.std(x)
    traced = next(t for *_, t in iterate_traces() if t.program.name == "std" and t.program.in_avals[0].shape == (1009,))
    rebuilt = rebuild_traced(traced)
    assert rebuilt.is_operation and all(equation.source for equation in rebuilt.jaxpr.walk())
