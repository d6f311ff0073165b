"""`%target`, `--target` and `%whatif` in a plain shell."""

import json
from typing import Any

import pytest

from xlascope.xla.targets import INSTALL_COMMAND

needs_compilers = pytest.mark.usefixtures("target_compilers")


def test_target_alone_lists_which_compilers_are_here(terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xlascope_ipython.targets.missing_targets", dict)
    assert terminal.run("%target").startswith("compilers that are here: cpu, tpu:v5e:2x2, ")
    lacking = {"gpu:h100": INSTALL_COMMAND, "gpu:l4": INSTALL_COMMAND}
    monkeypatch.setattr("xlascope_ipython.targets.missing_targets", lambda: lacking)
    assert terminal.run("%target").splitlines()[1] == f"not here: gpu:h100, gpu:l4: {INSTALL_COMMAND}"


@pytest.mark.parametrize(
    "line", ["%target cpu update(w, x)", "%fusions --target cpu update(w, x)", "%explore update(w, x) --target cpu"]
)
def test_one_target(terminal: Any, line: str) -> None:
    assert "update for cpu: " in terminal.run(line)


@needs_compilers
@pytest.mark.parametrize("names", ["cpu gpu:h100", "cpu, gpu:h100", "--text cpu gpu:h100"])
def test_several_targets(terminal: Any, names: str) -> None:
    said = terminal.run(f"%target {names} update(w, x)")
    assert ", for 2 targets; nothing was run" in said and "\ngpu:h100 " in said


def test_targets_as_json(terminal: Any) -> None:
    found = json.loads(terminal.run("%target --json cpu update(w, x)"))
    assert [each["kind"] for each in found["records"]] == ["Traced", "Compiled"]
    assert found["records"][1]["target"] == "cpu"


def test_what_if(terminal: Any) -> None:
    said = terminal.run("%whatif --batch x=5 --untimed update(w, x)")
    assert "\nas it is  →  x with 5 rows\n" in said
    assert "per call (median" in terminal.run("%whatif --dtype bfloat16 --text update(w, x)")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("%target gpu:h900 update(w, x)", "%target: there is no target 'gpu:h900'; the targets are cpu, "),
        ("%target update(w, x)", "%target takes a target and a call; the targets are cpu, "),
        ("%target cpu", "%target takes one call of a function, got nothing. Example: %target gpu:h100 "),
        ("%fusions --target mars update(w, x)", "there is no target 'mars'"),
        ("%timings --target cpu update(w, x)", "%timings has no option --target"),
        ("%whatif --keep off --donate 0 update(w, x)", "%whatif takes one change out of --split PATH,PATH, "),
        ("%whatif --split 1 update(w, x)", "takes the paths of two equations"),
        ("%whatif --donate y update(w, x)", "the function has no argument 'y'; it has w, x"),
        ("%whatif --donate 7 update(w, x)", "the call has no argument 7; it has 0 (w), 1 (x)"),
        ("%whatif --dtype float64 update(w, x)", "64-bit types are off: xlascope.config.update('enable_x64', True)"),
        ("%whatif --batch 5 update(w, x)", "takes pairs as in x=64, got '5'"),
        ("%whatif --options xla_nonsense=1 update(w, x)", "No such compile option: 'xla_nonsense'"),
        ("%whatif --dtype int32 --donate 0 update(w, x)", "%whatif takes one change"),
    ],
)
def test_anything_else_is_a_usage_error_of_one_line(terminal: Any, line: str, complaint: str) -> None:
    said = terminal.run(line, fails=True)
    (only,) = said.strip().splitlines()
    assert only.startswith("UsageError: ") and complaint in only


def test_the_users_own_errors_come_through(terminal: Any) -> None:
    assert "NameError" in terminal.run("%target cpu update(nothing, x)", fails=True)
    assert "TypeError" in terminal.run("%whatif --batch w=3 update(w, x)", fails=True)


def test_what_if_without_a_change_offers_changes_that_can_be_made(terminal: Any) -> None:
    terminal.run("y = update(w, x)")
    said = terminal.run("%whatif")
    offers = [" ".join(line.split("  ")[1].split()) for line in said.splitlines() if line.startswith("  %whatif ")]
    assert len(offers) == 8 and not any("update" in offer for offer in offers)  # each takes the same last call
    assert all(" update(w, x)  " in line for line in terminal.run("%whatif update(w, x)").splitlines()[1:-1])
    for offer in offers:
        if "--split" not in offer and "--options" not in offer and "--batch" not in offer:
            assert "→" in terminal.run(offer.replace("%whatif", "%whatif --untimed --text"))
