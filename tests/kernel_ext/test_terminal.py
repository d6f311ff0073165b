"""In a plain shell: text instead of pictures, and the magics."""

import json
from pathlib import Path
from typing import Any

import pytest

from xlascope import records


def test_a_cell_that_runs_something_is_summed_up_in_one_line(terminal: Any) -> None:
    (line,) = terminal.run("for _ in range(3): y = update(w, x)").splitlines()
    assert line.startswith("xlascope: ")
    for said in ("traced update", "compiled", "ran 3 times"):
        assert said in line


def test_a_cell_that_does_nothing_says_nothing(terminal: Any) -> None:
    assert terminal.run("a = 1") == ""


def test_a_later_cell_that_only_calls_knows_the_program(terminal: Any) -> None:
    terminal.run("y = update(w, x)")
    line = terminal.run("y = update(w, x)")
    assert "traced update" in line and "compiled" in line and "ran 1 time" in line


def test_a_program_made_before_the_extension_was_loaded_is_known(terminal: Any) -> None:
    terminal.run("%unload_ext xlascope\ny = update(w, x)")
    terminal.run("%load_ext xlascope")
    assert "traced update" in terminal.run("y = update(w, x)")


def test_an_error_shows_as_always_and_what_was_recorded_with_it(terminal: Any) -> None:
    said = terminal.run("y = update(w, x)\nraise ValueError('on purpose')", fails=True)
    assert "ValueError: on purpose" in said
    summary = said.splitlines()[-1]
    assert "traced update" in summary and "ValueError in run of In[" in summary


def test_a_failing_trace_is_told_once(terminal: Any) -> None:
    said = terminal.run("update(w, x[0, :3])", fails=True)
    (line,) = (each for each in said.splitlines() if each.startswith("xlascope: "))
    assert line.count("in trace of update") == 1


def test_an_interrupt_shows_as_always(terminal: Any) -> None:
    said = terminal.run("y = update(w, x)\nraise KeyboardInterrupt", fails=True)
    assert "KeyboardInterrupt" in said
    assert "ran 1 time" in terminal.run("y = update(w, x)")


def test_many_single_operations_are_one_line(terminal: Any) -> None:
    said = terminal.run("for n in range(2, 12): jnp.ones(n) + 1.0")
    assert len(said.splitlines()) == 1 and "other program" in said


WEIGHTS = "ws = [xs.random.normal(xs.random.key(n), (n, n + 1)) for n in range(21, 25)]"


def test_weights_of_four_shapes_raise_no_alarm(terminal: Any) -> None:
    (line,) = terminal.run(WEIGHTS).splitlines()
    assert line.startswith("xlascope: operation ") and "traced again" not in line and " _" not in line
    assert "normal: traced again" not in terminal.run("%recompiles --text")


def test_the_function_of_the_user_is_the_headline(terminal: Any) -> None:
    (line,) = terminal.run(f"{WEIGHTS.replace('21, 25', '25, 29')}\ny = update(w, x)").splitlines()
    assert line.startswith("xlascope: traced update: ")


def test_jaxpr(terminal: Any) -> None:
    said = terminal.run("%jaxpr update(w, x)")
    assert "{ lambda ; a:f32[8,4] b:f32[16,8]. let" in said and "xlascope: " not in said


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("%explore update(w, x)", "{ lambda ;"),
        ("%explore xs.grad(loss)(w, x)", "{ lambda ;"),
        ("%fusions update(w, x)", "kernel  "),
        ("%timings update(w, x)", "source line"),
        ("%timings --text update(w, x)", "In["),
        ("%fusions update(w, x) --text", "operations"),
        ("%jaxpr (lambda *a, **k: update(*a, **k))(*(w, x))", "name=update"),
        ("%jaxpr update({'a': w}['a'], x)", "f32[8,4]"),
        ("%whatif --keep off --untimed update(w, x)", "nothing kept"),
        ("%whatif --reroll off --untimed update(w, x)", "no repeats as loops"),
        ("%jaxpr --kept update(w, x)", "update: nothing is kept that would be computed again"),
    ],
)
def test_questions(terminal: Any, line: str, expected: str) -> None:
    assert expected in terminal.run(line)


def test_arguments_are_evaluated_once(terminal: Any) -> None:
    terminal.run("seen = []\ndef arguments():\n    seen.append(1)\n    return w")
    assert "evaluated 1" in terminal.run("%explore update(arguments(), x)\nprint('evaluated', len(seen))")


def test_json(terminal: Any) -> None:
    found = json.loads(terminal.run("%timings --json update(w, x)"))
    assert found["xlascope_records"] == 1
    assert [each["kind"] for each in found["records"]][-3:] == ["Compiled", "Executed", "Ceilings"]


def test_a_question_can_be_saved_and_opened(terminal: Any, tmp_path: Path) -> None:
    file = tmp_path / "a step.json"
    terminal.run(f'%fusions --save "{file}" update(w, x)')
    assert [type(each).__name__ for each in records.load(file)] == ["Traced", "Lowered", "Compiled"]
    assert "traced update" in terminal.run(f"%scope open {file}")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("%explore", "%explore takes one call of a function, got nothing. Example: %explore "),
        ("%explore w", "%explore takes one call of a function, got 'w'"),
        ("%fusions update(w, x), update(w, x)", "takes one call of a function"),
        ("%timings update(w, ", "takes one call of a function"),
        (
            "%jaxpr --loud update(w, x)",
            "%jaxpr has no option --loud; it has --kept, --text, --json and --save FILE. Example: ",
        ),
        ("%jaxpr --save", "%jaxpr has no option --save"),
        ("%jaxpr --save /no/such/folder/a.json update(w, x)", "cannot write /no/such/folder/a.json: No such file"),
        ("%scope", "%scope takes on, off, pin, time, or open FILE. Example: %scope off"),
        ("%scope sideways", "%scope takes on, off, pin, time, or open FILE"),
        ("%scope open /no/such/file.json", "%scope cannot open /no/such/file.json: No such file"),
    ],
)
def test_anything_else_is_a_usage_error_of_one_line(terminal: Any, line: str, complaint: str) -> None:
    said = terminal.run(line, fails=True)
    (only,) = said.strip().splitlines()
    assert only.startswith("UsageError: ") and complaint in only


def test_the_users_own_errors_come_through(terminal: Any) -> None:
    assert "NameError" in terminal.run("%explore update(nothing, x)", fails=True)


def test_scope_off_and_on(terminal: Any) -> None:
    assert terminal.run("%scope off\ny = update(w, x)") == ""
    assert terminal.run("y = update(w, x)") == ""
    terminal.run("%scope on")
    assert "ran 1 time" in terminal.run("y = update(w, x)")


def test_a_cell_magic_runs_its_cell_and_shows_everything(terminal: Any) -> None:
    said = terminal.run("%%scope\ny = update(w, x)\ny.shape")
    assert "(8, 4)" in said and "kind" in said and "ran 1 time" in said
    assert "(8, 4)" not in terminal.run("%%scope\ny.shape;")
    assert "UsageError" in terminal.run("%%scope on\n1", fails=True)
    assert "ZeroDivisionError" in terminal.run("%%scope\n1 / 0", fails=True)


def test_a_cell_inside_a_cell_belongs_to_it(terminal: Any) -> None:
    said = terminal.run("get_ipython().run_cell('y = update(w, x)')\ny = update(w, x)")
    assert said.count("xlascope: ") == 1 and "ran 2 times" in said


@pytest.mark.parametrize(
    ("line", "operations"),
    [
        ("%jaxpr --text x @ w", ["dot_general"]),
        ("%jaxpr --text (x @ w).sum(0).max() / 2", ["dot_general", "reduce_sum", "reduce_max", "div"]),
        ("%jaxpr --text (x @ w).max()", ["dot_general", "reduce_max"]),
        ("%jaxpr --text x ** two", ["integer_pow[y=2]"]),
        ("%jaxpr --text -x[1:] > 3", ["slice", "neg", "gt"]),
        ("%fusions --text x @ w + 1", ["dot_general"]),
    ],
)
def test_an_operation_is_a_call_of_a_function_of_its_arrays(terminal: Any, line: str, operations: list[str]) -> None:
    terminal.run("two = 2")
    said = terminal.run(line)
    places = [said.index(f"= {operation}" if "jaxpr" in line else operation) for operation in operations]
    assert places == sorted(places)


def test_lines_are_called_by_their_cell(terminal: Any) -> None:
    terminal.run("%explore --save named.json update(w, x)")
    (traced,) = records.load("named.json")
    Path("named.json").unlink()
    assert [each.title.startswith("In[") for each in traced.sources] == [True]
    assert {each.source.file for each in traced.jaxpr.walk()} == {traced.sources[0].file}
