"""A magic without a call asks about the last one of a jitted function in a cell; `%xlascope` lists the questions."""

import json
from pathlib import Path
from typing import Any

import pytest

CASES = [
    ("a call", "y = update(w, x)", "update(w, x)"),
    ("the last of two", "y = update(w, x); z = other(x)", "other(x)"),
    ("one with keywords", "y = update(w, x=x)", "update(w, x=x)"),
    ("one in a loop", "for batch in [x]:\n    w = update(w, batch)", "update(w, batch)"),
    ("one inside of another call", "print(update(w, x).sum())", "update(w, x)"),
    ("one of an attribute", "y = model.step(w, x)", "model.step(w, x)"),
    ("one with an index", "y = update([w][0], x[:2])", "update([w][0], x[:2])"),
    ("one that another magic asked about", "%jaxpr --text other(x)", "other(x)"),
    ("one before calls that are not jitted", "y = update(w, x)\nz = loss(w, x)", "update(w, x)"),
    ("one before a call in a function", "y = other(x)\ndef f(w, x):\n    return update(w, x)", "other(x)"),
    ("one before arguments that call something", "y = other(x)\nz = update(w, jnp.ones((16, 8)))", "other(x)"),
    ("one before names that are gone", "y = other(x)\nv = w; z = update(v, x); del v", "other(x)"),
    ("none", "y = loss(w, x)", ""),
    ("none in a cell that is no Python", "y = (", ""),
]
MORE = "\nother = xs.jit(lambda x: jnp.sin(x).sum())\nclass model:\n    step = xs.jit(lambda w, x: x @ w)\n"


@pytest.mark.parametrize(("code", "call"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_the_call_that_is_taken(terminal: Any, code: str, call: str) -> None:
    terminal.run(MORE)
    terminal.shell.run_cell(code, store_history=True)
    said = terminal.run("%jaxpr --text", fails=not call)
    assert ("lambda" in said) == bool(call)
    assert (f"%jaxpr --text {call}\n" in said) if call else ("%jaxpr takes one call of a function, got nothing" in said)


def test_it_takes_the_values_of_now_each_time(terminal: Any) -> None:
    terminal.run("y = update(w, x)")
    for rows in (16, 12, 16, 3):
        assert f"f32[{rows},8]" in terminal.run(f"x = np.ones(({rows}, 8), np.float32)\n%jaxpr --text")


def test_json_stays_json(terminal: Any, tmp_path: Path) -> None:
    terminal.run("y = update(w, x)")
    assert json.loads(terminal.run("%jaxpr --json"))["records"]
    terminal.run(f"%timings --save {tmp_path / 'step.json'}")
    assert (tmp_path / "step.json").exists()


@pytest.mark.parametrize(
    "magic", ["%explore", "%fusions --why", "%passes", "%hlo", "%memory", "%whatif --donate 0", "%target cpu"]
)
def test_each_question_takes_it(terminal: Any, magic: str) -> None:
    terminal.run("y = update(w, x)")
    assert f"{magic} --text update(w, x)\n" in terminal.run(f"{magic} --text")


def test_what_can_be_asked(terminal: Any) -> None:
    before = terminal.run("%xlascope")
    assert "%timings f(x)" in before and "without one it is" not in before
    terminal.run("y = update(w, x)")
    after = terminal.run("%xlascope")
    assert "%timings update(w, x)" in after and "%scope pin" in after
    magics = terminal.shell.magics_manager.magics["line"]
    named = {line.split()[0].removeprefix("%") for line in after.splitlines() if line.startswith("  %")}
    ours = {name for name, magic in magics.items() if getattr(magic, "__module__", "").startswith("xlascope_ipython")}
    assert named | {"xlascope"} == ours, "each magic is in the list"
    assert "takes nothing" in terminal.run("%xlascope off", fails=True)
    terminal.run("%unload_ext xlascope")
    assert "xlascope" not in terminal.shell.magics_manager.magics["line"]
    terminal.run("%load_ext xlascope")


def test_the_examples_are_the_calls_of_the_last_cell(terminal: Any) -> None:
    terminal.run(MORE)
    terminal.run("for _ in range(2):\n    y = update(w, x)\nz = other(x); v = model.step(w, x); z = other(x)")
    cell = terminal.shell.execution_count - 1
    said = terminal.run("%xlascope")
    assert f"the last of In[{cell}], other(x):" in said and "%doctor other(x)" in said
    (also,) = (line for line in said.splitlines() if line.startswith(f"In[{cell}] also called: "))
    assert also.endswith("%timings model.step(w, x), %timings update(w, x)")
    for example in also.partition(": ")[2].split(", %"):
        assert "source line" in terminal.run(f"%{example.lstrip('%')}")
