"""`%doctor`: what is wrong with a call, from a cell."""

import json
from typing import Any

import pytest

from xlascope.analysis.doctor import calls

SICK = "sick = xs.jit(lambda values: jnp.sort(values)[-3:])\nvalues = xs.random.normal(xs.random.key(0), (100_000,))"


def test_what_is_wrong_and_what_to_do(terminal: Any) -> None:
    terminal.run(SICK)
    said = terminal.run("%doctor sick(values)")
    assert "1 finding, by" in said and "100,000 values are sorted to keep 3 of them" in said
    assert "In[" in said and "do: take these alone: lax.top_k(x, 3)" in said


def test_a_healthy_call_as_json(terminal: Any) -> None:
    found = json.loads(terminal.run("%doctor --json update(w, x)"))
    assert found["records"][-1]["kind"] == "Diagnosis" and found["records"][-1]["findings"] == []


def test_why_it_is_traced_again_is_known_to_a_notebook(terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MIN_LOST_SECONDS", 0.0)
    terminal.run("again = xs.jit(lambda tokens: jnp.tanh(tokens @ tokens.T).sum())")
    terminal.run("for n in range(2, 8): again(jnp.ones((n, 3)))")
    said = terminal.run("%doctor again(jnp.ones((2, 3)))")
    assert "was traced again 5 times at In[" in said and "tokens: f32[6,3] → f32[7,3]" in said


def test_it_takes_a_call_and_says_so(terminal: Any) -> None:
    assert "%doctor takes one call of a function" in terminal.run("%doctor 3", fails=True)
    magic = terminal.shell.magics_manager.magics["line"]["doctor"]
    assert "at most three findings about a call" in magic.__doc__
