"""``%watch_values step``: from the line on, until ``off``."""

from typing import Any

import pytest

SETUP = """import xlascope as xs, xlascope.numpy as jnp
@xs.jit
def step(w):
    value, gradient = xs.value_and_grad(lambda w: (w ** 2).sum())(w)
    return w - 0.1 * gradient, value
w = jnp.ones(3)"""


def test_from_cell_to_cell(terminal: Any) -> None:
    terminal.run(SETUP)
    terminal.run("%watch_values step --every 2")
    terminal.run("for _ in range(3): w, loss = step(w)")
    terminal.run("for _ in range(3): w, loss = step(w)")
    said = terminal.run("%watch_values --text")
    assert "step: 6 calls, 3 samples, all finite" in said and "gradient norm of w" in said
    assert '"kind": "ValueHistory"' in terminal.run("%watch_values --json")
    terminal.run("%watch_values off")
    terminal.run("for _ in range(3): w, loss = step(w)")
    assert "watches nothing yet" in terminal.run("%watch_values", fails=True)


def test_a_cell_ends_with_the_history_of_all_its_calls(terminal: Any) -> None:
    terminal.run("%scope open")
    terminal.run(SETUP)
    terminal.run("%watch_values step --every 2")
    assert "step: 1 call, 1 sample, all finite" in terminal.run("w, loss = step(w)")
    said = terminal.run("for _ in range(9): w, loss = step(w)")
    assert "step: 10 calls, 5 samples, all finite" in said and "step: started" not in said
    assert "step: 10 calls" not in terminal.run("y = jnp.ones(3)")
    said = terminal.run("%watch_values off")
    assert "step: 10 calls" in said and "started" not in said


def test_another_step_takes_the_place_of_the_one_before(terminal: Any) -> None:
    terminal.run(SETUP)
    terminal.run("%watch_values step")
    terminal.run("other = xs.jit(step)\n%watch_values other")
    terminal.run("w, loss = other(w)")
    assert "1 call" in terminal.run("%watch_values --text")
    terminal.run("%watch_values off")


@pytest.mark.parametrize(
    "line, words",
    [
        ("nothing_here", "knows no 'nothing_here'"),
        ("len", "knows no 'len'"),
        ("jnp.sin", "is not: xlascope.jit"),
        ("step --every x", "cannot watch this"),
        ("step --every 0", "1 or more; got 0"),
        ("--loud", "has no option --loud"),
    ],
)
def test_mistakes_are_explained(terminal: Any, line: str, words: str) -> None:
    terminal.run(SETUP)
    assert words in terminal.run(f"%watch_values {line}", fails=True)
