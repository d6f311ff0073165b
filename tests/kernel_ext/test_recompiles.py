"""`%recompiles`, and the warning of a cell whose loop traces again."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

AGAIN = "for n in (2, 3, 4, 5): y = update(w, np.ones((n, 8), np.float32))"


def test_why_in_words(terminal: Any) -> None:
    terminal.run(AGAIN)
    said = terminal.run("%recompiles")
    # The same cell was run for other tests: then its function is one more of the same code.
    assert re.search(r"update: traced again \d+ times, ", said, re.MULTILINE) and "x: f32[4,8] → f32[5,8]" in said
    assert "In[" in said and "fix: Pad or batch" in said and "lost (measured)" in said
    assert terminal.run("%recompiles --text update") in said
    assert "of nobody" in terminal.run("%recompiles nobody")


def test_a_loop_that_traces_again_is_told_under_its_cell(terminal: Any) -> None:
    assert re.search(r"; update: traced again \d+ times, .* lost .* at In\[\d+\]:1: %rec", terminal.run(AGAIN))
    assert "traced again" not in terminal.run("y = update(w, np.ones((9, 8), np.float32))")


def test_json_and_files(terminal: Any, tmp_path: Path) -> None:
    terminal.run(AGAIN)
    kinds = [each["kind"] for each in json.loads(terminal.run("%recompiles --json"))["records"]]
    assert kinds.count("Traced") >= 4 and "Compiled" in kinds
    file = tmp_path / "why it was.json"
    terminal.run(f'%recompiles --save "{file}"')
    assert "update" in terminal.run(f"%scope open {file}")


def test_off_remembers_nothing_new(terminal: Any) -> None:
    terminal.run(AGAIN)
    terminal.run("%scope off")
    terminal.run("y = update(w, np.ones((7, 8), np.float32))")
    said = terminal.run("%recompiles")
    assert "f32[7,8]" not in said and "f32[5,8]" in said and "%scope is off" in said


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("%recompiles --loud", "%recompiles has no option --loud; it has --text, --json and --save FILE. Example: "),
        ("%recompiles a b", "%recompiles takes the name of one function, or nothing. Example: "),
        ("%recompiles --save /no/such/folder/a.json", "%recompiles cannot write /no/such/folder/a.json: "),
    ],
)
def test_usage_errors(terminal: Any, line: str, complaint: str) -> None:
    terminal.run(AGAIN)
    (only,) = terminal.run(line, fails=True).strip().splitlines()
    assert only.startswith("UsageError: ") and complaint in only


def test_the_card_in_a_kernel(kernel: Any) -> None:
    output = kernel.run(AGAIN)
    (told,) = (each for each in output.live[-1]["retraced"] if each["function"] == "update")
    assert told["count"] in (3, 4) and told["seconds"] > 0
    assert [each["number"] for each in told["retraces"]][-3:] == [4, 3, 2]
    assert all(each["where"].startswith("In[") for each in told["retraces"])
    (shown,) = kernel.run("%recompiles update").of("execute_result")
    assert "<table>" in shown["data"]["text/html"] and "<script" not in shown["data"]["text/html"]
    assert "fix: " in shown["data"]["text/plain"]


def test_nothing_of_it_where_nothing_is_traced_again(kernel: Any) -> None:
    kernel.run("y = update(w, x)")
    assert "retraced" not in kernel.run("y = update(w, x)").live[-1]
