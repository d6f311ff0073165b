"""``%values``, and what a strip says of a cell whose results hold NaN."""

from typing import Any

import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope_ipython.result_health import check_results

NAN = jnp.array([1.0, jnp.nan])


def test_the_magic_says_where_it_was_born(terminal: Any) -> None:
    terminal.run("import xlascope.numpy as jnp\ndef f(x):\n    return jnp.log(x) * 2")
    said = terminal.run("%values f(jnp.arange(4.0))")
    assert "infinity born: log of 0: 1 of 4 elements is 0 (In[" in said


def test_a_cell_whose_results_hold_nan_says_so(terminal: Any) -> None:
    terminal.run("import xlascope.numpy as jnp")
    said = terminal.run("y = update(w, x)\nloss = jnp.log(jnp.float32(-1)).block_until_ready()")
    assert "loss: results hold NaN: %values finds where it was born" in said
    assert "results hold" not in terminal.run("y = update(w, x)\nloss = jnp.float32(1) * 2")


@pytest.mark.parametrize(
    "source, value, name",
    [
        ("loss = 1", None, "loss"),
        ("for loss in range(3): pass", None, "loss"),
        ("a, loss = 1, 2", None, "loss"),
        ("", NAN, "its value"),
        ("", {"w": [NAN]}, "its value"),
    ],
)
def test_what_a_cell_assigned_or_returned_is_looked_at(source: str, value: Any, name: str) -> None:
    found = check_results(source, {"loss": NAN, "other": NAN}, value)
    assert found is not None and (found.function, found.error) == (name, "NaN")


@pytest.mark.parametrize("source", ["other = loss", "def f():\n    loss = 1", "loss", "loss = "])
def test_what_a_cell_did_not_assign_is_not(source: str) -> None:
    assert check_results(source, {"loss": NAN, "other": jnp.ones(3)}, None) is None


def test_what_would_cost_something_is_not_looked_at() -> None:
    large = jnp.full(10_000, jnp.nan)
    deleted = jnp.array([jnp.nan])
    deleted.delete()
    keys = xs.random.key(0)
    names = {"a": large, "b": deleted, "c": keys, "d": jnp.arange(3), "e": "text"}
    assert check_results("a = b = c = d = e = 1", names, None) is None
    infinite = check_results("a = 1", {"a": jnp.array(jnp.inf)}, None)
    assert infinite is not None and infinite.error == "infinity"
