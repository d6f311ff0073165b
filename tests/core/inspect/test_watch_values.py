"""Values of a training step over its calls: losses, gradients, zeros, and the step at which it goes wrong."""

import functools
import gc
import json
import threading
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect, records
from xlascope.analysis.values.watched import choose_watched
from xlascope.inspect.engine import sampled_step, step_watcher
from xlascope.inspect.series import Series


def make_step(**options: Any) -> Any:
    def loss(params: Any, x: Any, y: Any) -> Any:
        for w in params[:-1]:
            x = xs.nn.relu(x @ w)
        return ((x @ params[-1] - y) ** 2).mean()

    def step(params: Any, x: Any, y: Any) -> Any:
        value, gradients = xs.value_and_grad(loss)(params, x, y)
        return [w - 0.05 * g for w, g in zip(params, gradients, strict=True)], value

    return xs.jit(step, **options)


def make_params(count: int = 3, size: int = 8) -> list[Any]:
    return [0.5 * xs.random.normal(xs.random.key(number), (size, size)) for number in range(count)]


X = xs.random.normal(xs.random.key(9), (16, 8))
Y = 2 * X


def train(step: Any, calls: int, bad: int | None = None) -> Any:
    params, value = make_params(), None
    for number in range(calls):
        params, value = step(params, X * 1e30 if bad is not None and number >= bad else X, Y)
    return params, value


def test_a_loss_that_the_step_does_not_return_is_found() -> None:
    def step(w: Any, x: Any) -> Any:
        loss, gradient = xs.value_and_grad(lambda w: ((x @ w) ** 2).mean())(w)
        return w - 0.05 * gradient / jnp.maximum(loss, 1.0)

    seen: list[Any] = []
    with records.watch(seen.append):
        xs.jit(step).lower(jnp.ones((8, 4)), X)
    traced = next(record for record in seen if isinstance(record, records.Traced) and record.function == "step")
    watched = choose_watched(traced.jaxpr)
    assert watched.loss is None and watched.values[0].name.startswith("loss, line ")


def test_what_is_recorded_is_what_numpy_says() -> None:
    step = make_step()
    with xs.watch_values(step, every=1) as watched:
        train(step, 5)
    history = watched.history
    assert (history.calls, history.sampled, history.every, history.bad_step) == (5, 5, 1, None)
    curves = {curve.name: curve for curve in history.curves}
    relu = next(curve.name for curve in history.curves if curve.kind == "zeros").removesuffix(" #1")
    assert relu.startswith("line ")
    assert set(curves) == {"loss", "params[0]", "params[1]", "params[2]", f"{relu} #1", f"{relu} #2"}
    params = make_params()
    for number in range(5):
        following, value = step(params, X, Y)
        assert curves["loss"].steps[number] == number and curves["loss"].numbers[number] == float(value)
        for index, (old, new) in enumerate(zip(params, following, strict=True)):
            norm = np.linalg.norm((np.asarray(old, np.float64) - np.asarray(new)) / 0.05)
            assert curves[f"params[{index}]"].numbers[number] == pytest.approx(norm, rel=1e-3)
        hidden = np.maximum(np.asarray(X @ params[0]), 0)
        assert curves[f"{relu} #1"].numbers[number] == pytest.approx((hidden == 0).mean(), abs=0.02)
        params = following


@pytest.mark.parametrize("every", [1, 2, 7, None])
@pytest.mark.parametrize("options", [{}, {"donate_argnums": 0}], ids=["plain", "donated"])
def test_results_are_the_steps_own_to_the_bit(every: int | None, options: Any) -> None:
    alone = train(make_step(**options), 30)
    step = make_step(**options)
    with xs.watch_values(step, every=every) as watched:
        together = train(step, 30)
    for x, y in zip(xs.tree.leaves(alone), xs.tree.leaves(together), strict=True):
        assert np.asarray(x).tobytes() == np.asarray(y).tobytes()
    assert watched.history.calls == 30
    assert every is None or watched.history.sampled == -(-30 // every)


def test_the_step_at_which_it_goes_wrong_is_found_with_its_line() -> None:
    step = make_step()
    with xs.watch_values(step) as watched:
        train(step, 60, bad=40)
    history, report = watched.history, watched.report
    assert history.bad_step == 40 and report is not None
    assert history.bad_source is not None and history.bad_source.line == report.births[0].source.line  # type: ignore[union-attr]
    assert "exceeds the largest float32" in history.bad_sentence
    assert "wrong from step 40 on" in watched.text and "×" in watched.text


@pytest.mark.parametrize("bad", [0, 1, 19, 58, 59])
def test_a_loss_that_is_not_read_is_read_at_the_end(bad: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a short step few losses are read; the latest one is, and the calls since the one before are bisected."""
    monkeypatch.setattr(step_watcher, "MAX_LOSS_SHARE", 1e-9)
    step = make_step()
    train(step, 2)
    with xs.watch_values(step) as watched:
        train(step, 60, bad=bad)
    assert watched.history.bad_step == bad and watched.report is not None


@pytest.mark.parametrize("every", [None, 1, 3, 50])
@pytest.mark.parametrize("share", [1e-9, 1e9], ids=["few losses are read", "all losses are read"])
def test_of_several_bad_calls_with_finite_arguments_the_first_is_found(
    every: int | None, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_watcher, "MAX_LOSS_SHARE", share)
    step = xs.jit(lambda w: (w * 1e3, (w**4).sum()))
    w, losses = jnp.ones(3), []
    with xs.watch_values(step, every=every) as watched:
        for _ in range(60):
            w, loss = step(w)
            losses.append(loss)
    first = int(np.argmin(np.isfinite(losses)))
    assert first == 4 and watched.history.bad_step == first  # arguments are finite up to call 12


def test_donated_arguments_are_looked_at_before_the_call() -> None:
    step = make_step(donate_argnums=0)
    with xs.watch_values(step, every=1) as watched:
        train(step, 12, bad=8)
    assert watched.history.bad_step == 8 and watched.report is not None
    assert any("donated" in note for note in watched.history.notes)


def test_a_compiled_step_is_watched_again_without_compiling() -> None:
    step = make_step()
    train(step, 5)
    with xs.watch_values(step, every=2):
        train(step, 5)
    compiled: list[Any] = []
    kinds = records.Compiled | records.Missed | records.Traced
    with records.watch(lambda record: compiled.append(record) if isinstance(record, kinds) else None):
        for calls in (5, 6):
            with xs.watch_values(step, every=2) as watched:
                train(step, calls)
            assert watched.history.calls == calls and watched.history.sampled == 3
    assert not compiled


def test_calls_after_the_block_are_not_watched() -> None:
    step = make_step()
    with xs.watch_values(step, every=1) as watched:
        train(step, 4)
    train(step, 4)
    assert watched.history.calls == 4 and watched.history.sampled == 4


def test_other_functions_are_left_alone() -> None:
    step, other = make_step(), make_step()
    with xs.watch_values(step, every=1) as watched:
        train(other, 3)
        train(step, 2)
        train(other, 3)
    assert watched.history.calls == 2


def test_one_step_twice_at_once() -> None:
    step = make_step()
    with xs.watch_values(step, every=1) as outer:
        train(step, 3)
        with xs.watch_values(step, every=2) as inner:
            train(step, 4)
        train(step, 3)
    assert (outer.history.calls, outer.history.sampled) == (10, 10)
    assert (inner.history.calls, inner.history.sampled) == (4, 2)


def test_programs_of_one_step_with_other_results() -> None:
    """Calls that jaxlib repeats do not say which program ran: the loss is found among the results of any."""

    def step(w: Any, full: bool) -> Any:
        value, gradient = xs.value_and_grad(lambda w: (w**2).sum())(w)
        return (w - gradient, value, gradient) if full else (value, w)

    jitted = xs.jit(step, static_argnums=1)
    with xs.watch_values(jitted, every=3) as watched:
        for number in range(12):
            jitted(jnp.full(3, float(number)), number % 2 == 0)
    (loss,) = [curve for curve in watched.history.curves if curve.kind == "loss"]
    assert watched.history.calls == 12 and loss.numbers == tuple(3.0 * step**2 for step in loss.steps)


def test_calls_that_are_never_repeated_in_cpp_are_sampled() -> None:
    def step(w: Any) -> Any:
        value, gradient = xs.value_and_grad(lambda w: (w**2).sum())(w)
        return w - gradient, xs.pure_callback(lambda x: x, xs.ShapeDtypeStruct((), "float32"), value)

    jitted = xs.jit(step)
    with xs.watch_values(jitted, every=2) as watched:
        for _ in range(6):
            jitted(jnp.ones(3))
    assert watched.history.sampled == 3


def test_calls_of_another_thread_do_not_hide_those_of_the_block() -> None:
    """The other thread's call compiles the step, so that jaxlib repeats the first call of the block's own thread."""
    step = make_step()
    with xs.watch_values(step, every=2) as watched:
        for calls in (2, 3):
            thread = threading.Thread(target=train, args=(step, calls))
            thread.start()
            thread.join()
            train(step, 6)
    assert watched.history.calls == 12 and watched.history.sampled >= 5


def test_results_are_let_go_where_no_result_is_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_watcher, "MAX_LOSS_SHARE", 1e-9)
    step = xs.jit(lambda w: {"w": w - xs.grad(lambda w: (w**2).sum())(w)})
    with xs.watch_values(step) as watched:
        for _ in range(12):
            result = step(jnp.ones(3))
    reference = weakref.ref(result["w"])
    del result
    gc.collect()
    assert watched.history.calls == 12 and reference() is None


def test_arguments_deleted_after_the_call_are_not_looked_at() -> None:
    step = make_step()
    with xs.watch_values(step, every=4) as watched:
        for number in range(10):
            batch = X * (1e30 if number > 4 else 1.0)
            step(make_params(), batch, Y)
            batch.delete()
    assert watched.history.calls == 10 and watched.history.bad_step is not None


def test_methods_partials_and_numpy_integers() -> None:
    class Model:
        def train(self, w: Any, rate: Any) -> Any:
            value, gradient = xs.value_and_grad(lambda w: (w**2).sum())(w)
            return w - rate * gradient, value

        step = xs.jit(train, static_argnums=0)

    model = Model()
    for step in (model.step, functools.partial(model.step, rate=0.1)):
        with xs.watch_values(step, every=np.int64(2)) as watched:
            for _ in range(4):
                model.step(jnp.ones(3), 0.1)
        assert watched.history.calls == 4 and watched.history.sampled == 2


def test_two_steps_at_once() -> None:
    first, second = make_step(), make_step()
    with xs.watch_values(first, every=1) as one, xs.watch_values(second, every=2) as two:
        train(first, 4)
        train(second, 6)
    assert (one.history.calls, one.history.sampled) == (4, 4)
    assert (two.history.calls, two.history.sampled) == (6, 3)


def test_a_step_without_gradients_has_its_loss() -> None:
    step = xs.jit(lambda x: (x * 0.5, (x**2).sum()))
    with xs.watch_values(step) as watched:
        x = X
        for _ in range(6):
            x, _ = step(x)
    (curve,) = watched.history.curves
    assert (curve.kind, curve.steps[0]) == ("loss", 0) and "only its loss" in watched.text


def test_a_loss_that_is_no_result_is_measured_inside() -> None:
    def step(w: Any) -> Any:
        return w - 0.1 * xs.grad(lambda w: (jnp.sin(w) ** 2).sum())(w)

    jitted = xs.jit(step)
    with xs.watch_values(jitted, every=1) as watched:
        w = jnp.ones(4)
        for _ in range(3):
            w = jitted(w)
    gradient = next(curve for curve in watched.history.curves if curve.kind == "gradient")
    assert gradient.name == "w" and len(gradient.numbers) == 3


def test_a_step_in_scan_jit_and_checkpoint() -> None:
    def loss(w: Any, x: Any) -> Any:
        body = xs.checkpoint(lambda carry, _: (jnp.tanh(carry @ w), None))
        return (xs.lax.scan(body, x, None, length=4)[0] ** 2).sum()

    jitted = xs.jit(lambda w, x: w - 0.01 * xs.jit(xs.grad(loss))(w, x))
    with xs.watch_values(jitted, every=1) as watched:
        w = 0.3 * jnp.eye(8)
        for _ in range(3):
            w = jitted(w, X)
    assert watched.history.sampled == 3
    assert any(curve.kind == "gradient" and np.isfinite(curve.numbers).all() for curve in watched.history.curves)


def test_new_shapes_keep_the_curves() -> None:
    step = make_step()
    with xs.watch_values(step, every=1) as watched:
        params = make_params()
        for rows in (16, 16, 8, 16):
            params, _ = step(params, X[:rows], Y[:rows])
    assert watched.history.calls == 4 and len(watched.history.curves[0].steps) == 4


def test_python_scalars_and_numpy_scalars() -> None:
    step = xs.jit(lambda w, rate: (w - rate * xs.grad(lambda w: (w**2).sum())(w), (w**2).sum()))
    with xs.watch_values(step, every=1) as watched:
        w = jnp.ones(3)
        for rate in (0.1, 0.2, np.float32(0.1), jnp.float32(0.3)):
            w, _ = step(w, rate)
    assert watched.history.calls == watched.history.sampled == 4


def test_json_and_files(tmp_path: Path) -> None:
    step = make_step()
    with xs.watch_values(step) as watched:
        train(step, 30, bad=20)
    data = json.loads(json.dumps(watched.to_json()))
    history = records.from_json(data["records"][-1])
    assert isinstance(history, records.ValueHistory) and history.bad_step == 20
    watched.save(tmp_path / "watched.json")
    kinds = [type(record).__name__ for record in records.load(tmp_path / "watched.json")]
    assert kinds == ["Traced", "ValueReport", "ValueHistory"]


def test_histories_are_published_while_it_runs() -> None:
    step = make_step()
    seen: list[records.ValueHistory] = []
    watching = records.watch(lambda record: seen.append(record) if isinstance(record, records.ValueHistory) else None)
    with watching, xs.watch_values(step, every=1):
        train(step, 3)
        assert seen and seen[0].calls < 3
    assert [history.function for history in seen] == ["step"] * len(seen)


@pytest.mark.parametrize(
    "step, options, kind, words",
    [
        (lambda x: x, {}, TypeError, "is not: xlascope.jit"),
        (7, {}, TypeError, "int is not"),
        (make_step(), {"every": 0}, ValueError, "1 or more; got 0"),
        (make_step(), {"every": 2.5}, ValueError, "1 or more; got 2.5"),
        (make_step(), {"every": True}, ValueError, "1 or more; got True"),
    ],
)
def test_mistakes_are_explained(step: Any, options: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        inspect.watch_values(step, **options)


def test_a_block_is_used_once_and_has_nothing_before() -> None:
    watched = xs.watch_values(make_step())
    assert repr(watched) == "watch_values: nothing is watched yet"
    with pytest.raises(RuntimeError, match="nothing is watched yet"):
        _ = watched.history
    with watched:
        pass
    assert str(watched).startswith("step: no call was watched yet.")
    with pytest.raises(RuntimeError, match="watched already"), watched:
        pass


def call_disabled(step: Any) -> None:
    with xs.disable_jit():
        train(step, 1)


def call_in_thread(step: Any) -> None:
    thread = threading.Thread(target=train, args=(step, 2))
    thread.start()
    thread.join()


def total(step: Any) -> Any:
    return lambda params: step(params, X, Y)[1]


UNWATCHED = {
    "vmap": lambda step: xs.vmap(total(step))([jnp.stack([w, w]) for w in make_params()]),
    "grad": lambda step: xs.grad(total(step))(make_params()),
    "another jitted function": lambda step: xs.jit(total(step))(make_params()),
    "another thread": call_in_thread,
    "disabled": call_disabled,
}


@pytest.mark.parametrize("place", UNWATCHED)
def test_calls_that_cannot_be_watched_are_explained(place: str) -> None:
    step = make_step()
    for _ in range(2):  # the second time the step is traced already
        with xs.watch_values(step) as watched:
            UNWATCHED[place](step)
        assert "no call was watched\nnote: " in str(watched) and place in str(watched)
        assert watched.history.calls == 0 and place in watched.history.notes[-1]
        with xs.watch_values(step) as both:
            train(step, 2)
            UNWATCHED[place](step)
        assert both.history.calls == 2
        assert place in str(both)


def test_calls_that_a_sample_waits_for_are_not_its_processor_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(sampled_step.time, "process_time", lambda: clock[0])

    def spend(seconds: float) -> None:
        clock[0] += seconds

    step = object.__new__(sampled_step.SampledStep)
    step.values = ()
    monkeypatch.setattr(step, "_rows", {}, raising=False)
    monkeypatch.setattr(step, "_run", lambda call: spend(0.5))
    queued = SimpleNamespace(block_until_ready=lambda: spend(100.0))
    sample = step.sample(SimpleNamespace(arguments=SimpleNamespace(operands=[queued])))  # type: ignore[arg-type]
    assert sample.processor_seconds == 0.5


def test_a_series_keeps_its_bound_and_its_order() -> None:
    series = Series(100)
    for number in range(100_000):
        series.append(number, float(number))
    assert 50 < len(series.steps) <= 101 and series.steps[0] == 0 and series.steps[-1] > 97_000
    assert np.ptp(np.diff(series.steps)) == 0 and series.numbers == tuple(map(float, series.steps))
