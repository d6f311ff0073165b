"""Where the time of a cell went: `%scope time` in a terminal, and the strip in a notebook."""

import json
from pathlib import Path
from typing import Any

import pytest

from xlascope import records
from xlascope.records import TimeAccount

LOOP = "for _ in range(40): y = update(w, x)\nfor _ in range(9): y * 1.5"


def read_account(terminal: Any) -> TimeAccount:
    (record,) = json.loads(terminal.run("%scope time --json"))["records"]
    account = records.from_json(record)
    assert isinstance(account, TimeAccount)
    return account


def test_the_cell_before_is_told(terminal: Any) -> None:
    assert len(terminal.run(LOOP).splitlines()) == 1
    text = terminal.run("%scope time")
    assert "operations outside of jit, 9 operations" in text and "dispatching update, 40 calls" in text
    for word in ("tracing, 1 program", "compiling, ", "Python", "unaccounted"):
        assert word in text
    again = terminal.run("%scope time")  # the question itself has no account
    assert again.splitlines()[1:] == text.splitlines()[1:]
    account = read_account(terminal)
    assert account.function.startswith("In[") and account.function in text
    assert abs(account.unaccounted_seconds) < account.seconds


def test_switching_the_scope_off_leaves_the_account_of_the_cell_before(terminal: Any) -> None:
    terminal.run("y = update(w, x)")
    before = terminal.run("%scope time --text").partition(" took ")[0]
    assert "is off" not in terminal.run("%scope time --text")
    terminal.run("%scope off")
    terminal.run("y = update(w, x)")
    text = terminal.run("%scope time --text")
    assert text.startswith(before) and "%scope is off: later cells were not watched" in text


def test_a_cell_without_anything_of_ours_has_an_account(terminal: Any) -> None:
    terminal.run(LOOP)
    assert terminal.run("a = sum(range(1000))") == ""
    account = read_account(terminal)
    assert {part.activity for part in account.parts} <= {"python", "blocked", "processor"}


@pytest.mark.parametrize("cell", ["1 / 0", "raise KeyboardInterrupt"])
def test_a_cell_that_fails_has_one(terminal: Any, cell: str) -> None:
    terminal.run(f"{LOOP}\n{cell}", fails=True)
    account = read_account(terminal)
    (dispatch,) = (part for part in account.parts if part.function == "update")
    assert dispatch.count == 40


def test_lines_have_the_titles_of_cells(terminal: Any) -> None:
    terminal.run("y = update(w, x)\nz = y * 1.5")
    terminal.run("for _ in range(60): z = z * 1.5")
    (eager,) = (part for part in read_account(terminal).parts if part.activity == "eager")
    assert eager.source is None or eager.source.file.startswith("In[")


def test_it_is_saved(terminal: Any, tmp_path: Path) -> None:
    terminal.run(LOOP)
    terminal.run(f"%scope time --save {tmp_path / 'account.json'}")
    (account,) = records.load(tmp_path / "account.json")
    assert isinstance(account, TimeAccount)
    assert "In[" in terminal.run(f"%scope open {tmp_path / 'account.json'}")


@pytest.mark.parametrize(("line", "message"), [("time now", "got 'now'"), ("time --jsn", "has no option --jsn")])
def test_other_options_are_refused(terminal: Any, line: str, message: str) -> None:
    said = terminal.run(f"%scope {line}", fails=True)
    assert "UsageError" in said and message in said and "Example: %scope time --json" in said


def test_without_a_watched_cell_it_says_so(terminal: Any) -> None:
    assert "knows no cell yet" in terminal.run("%unload_ext xlascope\n%load_ext xlascope\n%scope time", fails=True)


def test_an_opened_summary_ends_with_the_account(terminal: Any) -> None:
    terminal.run("%scope open")
    lines = terminal.run(LOOP).splitlines()
    assert any(line.endswith("unaccounted") for line in lines[-4:])


def test_the_strip_gets_it_at_the_end(kernel: Any) -> None:
    output = kernel.run(LOOP)
    *before, final = output.live
    assert not any("account" in live for live in before if not live["finished"])
    labels = {label for _, label, _, _ in final["account"]["parts"]}
    assert {"operations outside of jit", "Python", "unaccounted"} <= labels
    assert final["account"]["seconds"] > 0
    assert "unaccounted" in output.final["data"]["text/plain"]
