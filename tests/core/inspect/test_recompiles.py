"""Why functions were traced again, from a script."""

import gc
import itertools
import weakref

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect
from xlascope.inspect.recompile_log import MAX_RECORDS, RecompileLog
from xlascope.records import load
from xlascope.records.watchers import watchers


@pytest.fixture
def log():
    with RecompileLog() as log:
        yield log


def ones(*shape):
    return np.ones(shape, np.float32)


SOURCE = """
def predict(x, scale=2.0):
    return jnp.sum(jnp.tanh(x)) * scale
"""
numbers = itertools.count()


def jitted():
    """A function whose code has not been met before: the same code made again is a reason to trace of its own."""
    names = {"jnp": jnp}
    exec(compile(SOURCE, f"model{next(numbers)}.py", "exec"), names)
    return xs.jit(names["predict"])


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        pytest.param(lambda f: (f(ones(2)), f(ones(2))), "nothing was traced again", id="the same"),
        pytest.param(lambda f: (f(ones(2)), f(ones(3))), "x: f32[2] → f32[3]", id="a shape"),
        pytest.param(lambda f: (f(ones(2)), f(np.ones(2, np.int32))), "x: f32[2] → i32[2]", id="a dtype"),
        pytest.param(lambda f: (f(ones(2), 1.0), f(ones(2), jnp.float32(1))), "scale: ", id="a weak type"),
        pytest.param(lambda f: (f(ones(2)), f(jnp.ones(2))), "x: a NumPy array → an array", id="a slow call"),
        pytest.param(lambda f: (f(ones(2)), f({"a": ones(2)}["a"], scale=1.0)), "scale is new", id="a structure"),
    ],
)
def test_what_differed(log, calls, expected):
    calls(jitted())
    assert expected in log.recompiles().text


def test_where_how_long_and_the_fix(log):
    predict = jitted()
    for n in (2, 3, 4):
        predict(ones(n))
    text = log.recompiles(predict).text
    assert text.startswith("predict: traced again 2 times, ") and " lost (measured)" in text
    assert "test_recompiles.py:" in text and "fix: Pad or batch" in text and "+ compile " in text
    assert text.index("trace 3") < text.index("trace 2")
    assert log.recompiles("predict").text == text
    assert log.recompiles("other").text == "nothing was traced again of other"


def test_a_function_made_again_in_a_loop(log):
    for _ in range(3):
        xs.jit(lambda x: x + 1)(ones(2))
    assert "the 3rd made from the code at" in log.recompiles().text and "Define and jit" in log.recompiles().text


def test_inspections_are_not_the_users_calls(log):
    predict = jitted()
    predict(ones(2))
    inspect.explore(predict, ones(3))
    assert log.recompiles().text == "nothing was traced again"


def test_it_can_be_saved(log, tmp_path):
    predict = jitted()
    predict(ones(2)), predict(ones(3))
    log.recompiles().save(tmp_path / "why.json")
    assert [type(each).__name__ for each in load(tmp_path / "why.json")].count("Traced") == 2


def test_bounded_and_without_the_programs(log):
    predict = jitted()
    predict(ones(2)), predict(ones(3))
    (*_, last) = (each for each in log.recompiles().records if hasattr(each, "jaxpr"))
    assert not last.jaxpr.equations and not last.text
    for _ in range(MAX_RECORDS + 10):
        log.receive(last)
    assert len(log.recompiles().records) == MAX_RECORDS
    dead = weakref.ref(predict)
    del predict
    gc.collect()
    assert dead() is None


def test_nobody_watched(monkeypatch):
    before = list(watchers)
    monkeypatch.setattr(inspect.recompile_log, "_LOG", RecompileLog())
    with pytest.raises(RuntimeError, match="watch_recompiles"):
        inspect.recompiles()
    with inspect.watch_recompiles():
        assert len(watchers) == len(before) + 1
    assert watchers == before
