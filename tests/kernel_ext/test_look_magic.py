"""``%look``, and values of the calls of ``%values`` that a panel looks into."""

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect
from xlascope.inspect import values as run_values
from xlascope_ipython import value_views
from xlascope_ipython.value_views import VIEWS, watch_value_calls

X = jnp.arange(4.0)


def scores(x: Any) -> Any:
    return jnp.log(x) * 2


@pytest.fixture
def watched() -> Iterator[Callable[..., int]]:
    """Runs ``%values`` as a notebook does; returns the program's number."""
    end = watch_value_calls()
    yield lambda function, *arguments: run_values(function, *arguments).report.program
    end()


def ask(program: int, path: str = "0", **more: Any) -> Any:
    return VIEWS.open({"program": program, "path": path, "position": "result", "index": 0, **more})


# The magic ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line, words",
    [
        ("w", "w: f32[8,4], 128 B"),
        ("jnp.asarray(w)[0] * 2", "jnp.asarray(w)[0] * 2: f32[4], 16 B, cpu:0"),
        ("--text w[0, 0]", "w[0, 0]: f32[], 4 B"),
        ("xs.random.key(1)", "1 key"),
        ("3.5", "1 element, 3.5 to 3.5"),
    ],
)
def test_an_expression_is_shown(terminal: Any, line: str, words: str) -> None:
    assert words in terminal.run(f"%look {line}")


def test_options(terminal: Any, tmp_path: Any) -> None:
    assert json.loads(terminal.run("%look --json w"))["array"]["minimum"] == 1.0
    assert terminal.run("%look w;").strip() == ""
    terminal.run(f"%look --save {tmp_path}/w.json w")
    assert json.loads((tmp_path / "w.json").read_text())["array"]["shape"] == [8, 4]


@pytest.mark.parametrize(
    "line, words",
    [
        ("", "takes an array, got nothing"),
        ("w +", "takes an expression, got 'w +'"),
        ("update", "look takes an array of numbers, booleans or keys"),
        ("--fast w", "has no option --fast"),
        ("--save w.png w", "%look cannot write w.png: a look at an array is saved as .json or .txt"),
        ("unknown", "name 'unknown' is not defined"),
    ],
)
def test_what_is_wrong_is_said(terminal: Any, line: str, words: str) -> None:
    assert words in terminal.run(f"%look {line}", fails=True)


# Values of a call -----------------------------------------------------------------------------------------------------


def test_a_value_is_opened_measured_and_read(watched: Any) -> None:
    answer = ask(watched(scores, X))
    assert (answer["type"], answer["name"], answer["loops"]) == ("f32[4]", "b, log", ())
    assert VIEWS.measure(answer["handle"])["infs"] == 1
    question = {"rows": None, "columns": 0, "at": [0]}
    slice_answer, buffers = VIEWS.read(answer["handle"], question)
    assert slice_answer["cells"] == [1, 4]
    np.testing.assert_array_equal(np.frombuffer(buffers[0], np.float32), np.asarray(jnp.log(X)))
    argument = VIEWS.open(answer["of"] | {"path": "", "position": "argument"})
    assert argument["name"] == "x, argument"
    assert VIEWS.open({"handle": argument["handle"]})["type"] == "f32[4]"


def test_without_iterations_it_is_where_nan_was_born(watched: Any) -> None:
    def train(x: Any) -> Any:
        return xs.lax.fori_loop(0, 9, lambda _, w: jnp.sqrt(w - 1.0), x)

    program = watched(train, jnp.float32(5))
    birth = run_values(train, jnp.float32(5)).report.births[0]
    answer = ask(program, str(birth.path))
    assert answer["iterations"] == birth.iterations and VIEWS.measure(answer["handle"])["nans"] == 1
    assert ask(program, str(birth.path), iterations=[0])["iterations"] == (0,)
    assert ask(program, str(birth.path), iterations=[-1])["iterations"] == ()


@pytest.mark.parametrize(
    "change, words",
    [
        ({"position": "middle"}, "an argument, operand or result with an index, got 'middle' 0"),
        ({"index": -1}, "with an index, got 'result' -1"),
        ({"index": "0"}, "with an index"),
        ({"path": "a/b"}, "'a/b' is no path of an equation"),
        ({"iterations": ["x"]}, "iterations are whole numbers"),
        ({"path": "77"}, "no result 0 of an equation 77"),
    ],
)
def test_wrong_questions_are_refused(watched: Any, change: Any, words: str) -> None:
    program = watched(scores, X)
    with pytest.raises((ValueError, LookupError), match=words.replace("(", r"\(")):
        ask(program, **change)


@pytest.mark.parametrize("question", [{"program": 10**9}, {"program": "1"}, {}])
def test_a_call_that_is_not_held_is_said(watched: Any, question: Any) -> None:
    with pytest.raises(LookupError, match="run %values again, then ask"):
        VIEWS.open(question)
    with pytest.raises(LookupError, match="run the cell again, or open it again"):
        VIEWS.open({"handle": "none"})


def test_arguments_are_held_within_a_share_of_the_free_memory(watched: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    small = watched(scores, X)
    monkeypatch.setattr(value_views, "free_bytes", lambda: 20 * X.nbytes)
    same = watched(scores, X + 1)
    assert same == small and VIEWS.measure(ask(same)["handle"])["infs"] == 0
    large = watched(scores, jnp.arange(5.0))
    with pytest.raises(LookupError, match=r"more than 5 % of the free memory.*%look"):
        ask(large)
    ask(small)
    watched(scores, jnp.arange(3.0))
    with pytest.raises(LookupError, match="are not kept any more"):
        ask(small)


def test_the_latest_eight_calls_are_held(watched: Any) -> None:
    programs = [watched(scores, jnp.arange(float(size))) for size in range(1, 12)]
    for program in programs[3:]:
        ask(program)
    with pytest.raises(LookupError, match="are not kept any more"):
        ask(programs[2])


def test_nothing_is_held_without_a_notebook(terminal: Any) -> None:
    terminal.run("%values update(w, x)")
    assert not VIEWS._calls
    assert not sys.modules["xlascope.inspect.values"].value_listeners


def test_arguments_that_were_donated_since_are_said(watched: Any) -> None:
    x = jnp.arange(4.0)
    program = watched(scores, x)
    xs.jit(lambda x: x + 1, donate_argnums=0)(x)
    with pytest.raises(Exception, match=r"(?i)donated|deleted"):
        ask(program)


def test_a_question_of_the_strip_holds_its_call(watched: Any) -> None:
    """A call that is made again for *where was it born?* can be looked into."""
    report = inspect.values(scores, X).report
    assert ask(report.program)["type"] == "f32[4]"
