"""The program of the page on several processes, run by two of them."""

import re
import sys

import pytest
from tests.core.processes.conftest import free_address, run_job

from .test_pages import ROOT

PAGE = ROOT / "docs/several_processes.md"


@pytest.mark.slow
def test_two_processes_train(tmp_path):
    (program,) = re.findall(r"```python notest\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    script = tmp_path / "train.py"
    script.write_text(program, encoding="utf-8")
    address = free_address()
    ended = run_job([[sys.executable, str(script), address, "2", str(number)] for number in (0, 1)], {})
    lines = [process.out.strip().splitlines()[-1] for process in ended]
    assert [process.status for process in ended] == [0, 0], ended[0].error
    found = [re.fullmatch(r"process (\d) of 2: 128 examples, loss (\S+)", line) for line in lines]
    assert [match[1] for match in found] == ["0", "1"]
    assert found[0][2] == found[1][2] and float(found[0][2]) < 0.1
