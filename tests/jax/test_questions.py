"""Functions of jax: every question about them, what is counted and said, and what is left behind.

What is asked stands in ``asked.py``; each of its parts runs in a process that has jax, and where nothing of our engine
was started.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.changes_of_jax import made

ASKED = Path(__file__).parent / "asked.py"
ENVIRONMENT = {**os.environ, "JAX_PLATFORMS": "cpu"}
UNWATCHED = ["no source information: compiled before anybody watched: its kernels are known, its equations are not"]


def asked(*what: str) -> tuple[dict[str, Any], str]:
    """The rows of one part, and what was said on the standard error."""
    done = subprocess.run(
        [sys.executable, ASKED, *what], capture_output=True, text=True, timeout=300, env=ENVIRONMENT, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


QUESTIONS = {
    "function": "step",
    "labels": ["p['w']", "x"],
    "lines": [7, 8],
    "roles": ["backward", "forward"],
    "work": 2 * (2 * 200 * 64 * 64),
    "held": ["1/0/0"],
    "whole calls": True,
    "memory": True,
    "why": True,
    "passes": True,
    "no call": "QuestionError: of this program of jax no call is known now",
    "plain": "sin",
    "eager": [3, None],
    "bound": [None, None],
    "text": "sin",
    "cannot": "TracerBoolConversionError",
    "narrowed": ["float64 to float32"],
    "shapes": "step",
    "options": True,
    "donate": "ChangeError: the function has no argument 'q'; it has p, x",
    "donated": "as it is  →  argument 0 donated",
    "dtype": True,
    "split": "ChangeError: of a function of jax, change is one of",
    "raises": "TypeError: step() missing 1 required positional argument: 'x'",
    "for our engine": [],
    "in place": True,
    "left": True,
}


def test_a_notebook_that_watches_jax_has_nothing_of_our_engine() -> None:
    rows, _ = asked("notebook")
    assert rows == {"failed": [], "for our engine": []}


def test_questions() -> None:
    rows, _ = asked("questions")
    assert {row: _as_far_as(wanted, rows[row]) for row, wanted in QUESTIONS.items()} == QUESTIONS
    assert {"0", "1/0/0"} <= set(rows["equations"]) and len(rows["equations"]) > 9
    assert rows["of a number"] == ["step", rows["equations"]]
    assert rows["doctor"].startswith("step: ")


def _as_far_as(wanted: Any, found: Any) -> Any:
    """Of a text the beginning that is told of it, else the whole."""
    return found[: len(wanted)] if isinstance(wanted, str) else found


KEPT = {
    "values": [0, 6],
    "operations": ["add_any"],
    "computed again": [7, 1],
    "of a number": [0, 6],
    "numbers differ": True,
    "the function's own stays": [True, True],
    "little to keep": [[], []],
    "measured": True,
    "refused": [
        "ChangeError: of a function of jax nothing is kept as it is; 'auto' keeps what is worth it",
        "ChangeError: keep is 'auto' for functions of jax; got <built-in function len>",
    ],
    "needs a call": "ChangeError: of this program of jax no call is known now: ask about one, as in "
    "inspect.timings(f, x)",
    "for our engine": [],
}


def test_what_if_values_were_kept() -> None:
    """And what is told of it, and asked from the panel."""
    rows, _ = asked("kept")
    assert {row: rows[row] for row in KEPT} == KEPT
    equations = 404 if made("derivative of tanh") else 420
    assert rows["asked what is kept"] == (
        f"layers: nothing is kept that would be computed again ({equations} equations): jax compiles programs as they "
        "are; what if, with keep='auto', shows what is worth it"
    )
    assert rows["from the panel"].startswith("as it is  →  kept what is worth it")
    assert "not measured" in rows["from the panel"] and "1 regrouped" in rows["from the panel"]


def test_programs_that_devices_share_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENT, "XLA_FLAGS", "--xla_force_host_platform_device_count=2")
    rows, _ = asked("shared")
    assert rows["kept"] == "ChangeError: keep is for programs on one device, and several share this one"


def test_the_same_step_on_both_engines_makes_the_same_kernels() -> None:
    assert set(asked("beside ours")[0]["kernels"]) == {"same"}


def test_all_calls_are_counted() -> None:
    rows, _ = asked("counted")
    assert {name for name, calls in rows["calls"] if calls == 30} >= {"early", "late", "<lambda>"}
    assert all(calls == 30 for _, calls in rows["calls"])
    assert rows["unwatched"] == UNWATCHED
    assert rows["labels"]


def test_calls_by_turns_are_of_the_programs_that_their_arguments_have() -> None:
    rows, _ = asked("by turns")
    assert len(rows) == 7
    assert rows == {kind: [[40], [1, 3], [60, 60], [56, 8]] for kind in rows}


def test_a_jax_that_was_not_tried_shows_kernels_and_says_so() -> None:
    rows, said = asked("unknown")
    assert ["early", 30] in rows["calls"]
    assert rows["unwatched"] == UNWATCHED
    assert rows["asked"].startswith(
        "QuestionError: questions about functions of jax are answered for jax 0.1, and this is"
    )
    assert [line for line in said.splitlines() if "xlascope" in line] == [
        line for line in said.splitlines() if "kernels and times of jax" in line and line.endswith("it knows jax 0.1")
    ]


def test_what_comes_from_the_disk_has_no_equations_until_somebody_asks(tmp_path: Path) -> None:
    first, second = (asked("disk", str(tmp_path / "cache"), number)[0] for number in ("first", "second"))
    assert first["cache"] == "miss" and first["equations"]
    assert second == {"cache": "hit", "equations": [], "said": True, "asked": ["miss", True]}


def test_why_it_was_traced_again() -> None:
    rows, _ = asked("retraced")
    assert rows["reasons"][:6] == [
        "first call",
        "x: f32[3] → f32[4]",
        "x: f32[4] → i32[4]",
        "x: f32[4] → f32[] (weak)",
        "the static argument n: (not given) → 3",
        "first call",
    ]
    reason, fix, file = rows["metadata"]
    assert reason.startswith("model (static data of Model): ['optimizer'][0]: <function retraced.<locals>.<lambda>")
    assert "create it once" in fix and file == "asked.py"
    assert rows["reasons"][6].startswith("<lambda> is a new function object: the 2nd made from the code at asked.py:")
    assert rows["fixes"] == [False, True, True, True, True, False, True]
    assert rows["failure"] == ["trace", "TracerBoolConversionError", "retraced.<locals>.<lambda>"]
