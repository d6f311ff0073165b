"""A call is repeated as it was: four times each kind of argument, way to call and placement, watched or not.

No call crashes, equal calls give equal results (NumPy's), nothing is traced, lowered or compiled from the third call
on, and another value of an argument compiles nothing at all. What is refused is refused at each call.
"""

import itertools
import os
from collections import Counter

import pytest
from tests import compiling
from tests.everyday import cells
from tests.everyday.isolation import DIED, run_all

#: In how many processes, side by side where tests are, the cells of `make test` run.
PARTS = 4


def run_cells(chosen):
    tasks = {cell.name: cell for cell in chosen}
    environment = compiling.quickly(keep=False) | {"XLASCOPE_NUM_CPU_DEVICES": str(cells.DEVICES)}
    return run_all("tests.everyday.cell_process", tasks, environment, seconds=540)


def check_cells(chosen):
    """Run cells; print the row of the table, and fail with the cells that do."""
    found = run_cells(chosen)
    wrong = []
    for cell in chosen:
        outcome = found[cell.name]
        expected = "refused" if cells.is_refused(cell) else "passed"
        if outcome["status"] != expected:
            wrong.append(f"{cell.name}: {outcome['status']}, not {expected}: {outcome['text']}")
    statuses = Counter(each["status"] for each in found.values())
    seconds = sum(each.get("seconds", 0.0) for each in found.values())
    print(f"{len(chosen)} cells, {statuses['refused']} refused, {len(wrong)} failing, {seconds:.0f} s of processor")
    assert not wrong, f"{len(wrong)} of {len(chosen)} cells:\n" + "\n".join(wrong[:40])


@pytest.mark.parametrize("part", range(PARTS))
def test_cells_that_cover_all_pairs(part):
    check_cells(cells.list_covering_cells()[part::PARTS])


@pytest.mark.slow
@pytest.mark.parametrize("placement", cells.PLACEMENTS)
@pytest.mark.parametrize("way", cells.WAYS)
def test_all_cells(way, placement):
    check_cells([cell for cell in cells.list_cells() if (cell.way, cell.placement) == (way, placement)])


def test_the_cells_of_make_test_cover_all_pairs():
    covering = cells.list_covering_cells()
    axes = [cells.KINDS, cells.WAYS, cells.PLACEMENTS, (False, True), (False, True)]
    assert len(set(covering)) == len(covering)
    for i, j in itertools.combinations(range(len(axes)), 2):
        assert {(cell[i], cell[j]) for cell in covering} == set(itertools.product(axes[i], axes[j]))


MORTAL = """
import json, os, signal, sys
for name in json.load(sys.stdin):
    print(json.dumps({"begins": name}), flush=True)
    if name == "deadly":
        os.kill(os.getpid(), signal.SIGSEGV)
    print(json.dumps({"ended": name, "outcome": {"status": "passed"}}), flush=True)
"""


def test_a_task_that_kills_its_process_is_named(tmp_path):
    (tmp_path / "mortal_tasks.py").write_text(MORTAL, encoding="utf-8")
    tasks = {name: name for name in ("first", "deadly", "last")}
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    found = run_all("mortal_tasks", tasks, {"PYTHONPATH": path})
    assert [found[name]["status"] for name in tasks] == ["passed", DIED, "passed"]
    assert "-11" in found["deadly"]["text"]
