"""`%fusions --why`, `%passes` and `%hlo` in a plain shell."""

import json
from pathlib import Path
from typing import Any

import pytest

from xlascope.records import Explained, load


def test_why(terminal: Any) -> None:
    said = terminal.run("%fusions --why update(w, x)")
    assert "update for cpu: " in said
    assert "InstructionFusion fused " in said


def test_a_magic_is_not_the_users_line(terminal: Any) -> None:
    said = terminal.run("%hlo --stage stablehlo --text xs.grad(loss)(w, x)")
    assert "ipython-input" in said
    assert "xlascope_ipython" not in said


def test_why_of_an_edge_as_json_and_file(terminal: Any, tmp_path: Path) -> None:
    file = tmp_path / "why.json"
    found = json.loads(terminal.run(f"%fusions --edge 0,1 --json --save {file} update(w, x)"))
    assert [each["kind"] for each in found["records"]] == ["Traced", "Explained"]
    assert found["records"][1]["edge"] == ["0", "1"]
    assert isinstance(load(file)[1], Explained)


def test_passes(terminal: Any) -> None:
    said = terminal.run("%passes update(w, x)")
    assert "update for cpu: " in said
    assert "what it does" in said
    said = terminal.run("%passes --removed 0 update(w, x)")
    assert "gone" in said or "it is in the end" in said


def test_hlo(terminal: Any) -> None:
    assert "ENTRY" in terminal.run("%hlo update(w, x)")
    assert "stablehlo." in terminal.run("%hlo --stage stablehlo --text update(w, x)")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (
            "%fusions --edge 0,99 update(w, x)",
            "%fusions: there is no equation '99' in update. Example: %fusions --",
        ),
        ("%fusions --edge 0 update(w, x)", "%fusions: edge is two paths of equations"),
        ("%fusions --why --target mars update(w, x)", "there is no target 'mars'"),
        ("%passes --removed nothing update(w, x)", "%passes: no equation of the program is 'nothing'"),
        ("%passes", "%passes takes one call of a function, got nothing"),
        ("%hlo --stage sass update(w, x)", "%hlo has no stage sass; the stages are stablehlo, hlo, optimized, "),
        ("%hlo --stage ptx update(w, x)", "%hlo: the compiler for cpu gives no ptx; it gives stablehlo, hlo, "),
        ("%hlo --json update(w, x)", "%hlo has no option --json"),
    ],
)
def test_anything_else_is_a_usage_error_of_one_line(terminal: Any, line: str, complaint: str) -> None:
    said = terminal.run(line, fails=True)
    (only,) = said.strip().splitlines()
    assert only.startswith("UsageError: ")
    assert complaint in only


def test_what_the_call_raises_is_the_users(terminal: Any) -> None:
    assert "NameError" in terminal.run("%passes update(w, nobody)", fails=True)
    assert "UsageError: " not in terminal.run("%passes update(w, 'text')", fails=True)
