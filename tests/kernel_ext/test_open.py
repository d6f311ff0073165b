"""`%scope open FILE`: what is no file of records is told in one line; what is one is shown, however strange."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from xlascope import records
from xlascope.records import Started
from xlascope_ipython import magics

DAMAGED = {
    "empty": ("", "no JSON, or only a part of it"),
    "half": ('{"xlascope_records": 1, "records": [{"kind": "Star', "no JSON, or only a part of it"),
    "binary": ("\0\x01\x02", "no JSON, or only a part of it"),
    "something else": ("[1, 2]", "no xlascope records"),
    "another version": ('{"xlascope_records": 99, "records": []}', "of version 99; this xlascope reads"),
    "another kind": ('{"xlascope_records": 1, "records": [{"kind": "Evil"}]}', "no record of kind 'Evil'"),
    "a wrong field": (
        '{"xlascope_records": 1, "records": [{"kind": "Started", "program": "1"}]}',
        "Started.program: expected int, found '1'",
    ),
    "deep": ('{"xlascope_records": 1, "records": ' + "[" * 50_000, "nested too deeply"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_files(terminal: Any, tmp_path: Path, case: str) -> None:
    content, complaint = DAMAGED[case]
    (tmp_path / "step.json").write_text(content)
    (only,) = terminal.run(f"%scope open {tmp_path / 'step.json'}", fails=True).strip().splitlines()
    assert only.startswith("UsageError: %scope cannot open ") and only.endswith("Example: %scope open step.json")
    assert complaint in only and only.count("step.json") == 2


def test_a_folder_and_a_file_that_is_too_large(terminal: Any, tmp_path: Path, monkeypatch: Any) -> None:
    assert "Is a directory" in terminal.run(f"%scope open {tmp_path}", fails=True)
    monkeypatch.setattr(magics, "MAX_FILE_BYTES", 10)
    records.save([Started(1, "f", "trace", 0.5)], tmp_path / "large.json")
    assert "it has more than 0 MB" in terminal.run(f"%scope open {tmp_path / 'large.json'}", fails=True)


def test_many_programs(kernel: Any, tmp_path: Path) -> None:
    records.save([Started(n, f"f{n}", "trace", 0.5) for n in range(20_000)], tmp_path / "many.json")
    output = kernel.run(f"%scope open {tmp_path / 'many.json'}")
    assert len(output.of("comm_msg")) < 10 and len(json.dumps(output.messages)) < 200_000
    assert output.live[-1]["more"] == 20_000 - 40


def test_hostile_names(kernel: Any, tmp_path: Path) -> None:
    name = "</script><img src=x onerror='window.hacked=1'>"
    records.save([Started(1, name, "trace", 0.5)], tmp_path / "hostile.json")
    output = kernel.run(f"%scope open {tmp_path / 'hostile.json'}")
    assert output.live[-1]["programs"][0]["function"] == name
    assert not re.search(r"<(?!p|/p|details|/details|summary|/summary|pre|/pre)", output.displayed["data"]["text/html"])


def test_the_home_folder(terminal: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    records.save([Started(1, "stepping", "trace", 0.5)], tmp_path / "step.json")
    assert "stepping" in terminal.run("%scope open ~/step.json")
