"""A few hundred random programs of each kind, other ones each day, for CI."""

import datetime
import os
from contextlib import closing

import pytest

import xlascope as xs

from . import programs, running, worker
from .running import KINDS

#: Programs of a kind, and the seconds after which no more are begun.
COUNT, MAX_SECONDS = 300, 12
SEED = os.environ.get("XLASCOPE_TESTS_ORDER") or datetime.date.today().isoformat()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_programs_of_today(kind):
    results = list(running.find(kind, SEED, range(COUNT), MAX_SECONDS))
    assert len(results) >= running.BATCH
    findings = [each.text() for each in results if each is not None]
    assert not findings, f"python -m tests.fuzz {kind} --seed {SEED} finds:\n" + "\n".join(findings)


@pytest.mark.parametrize("kind", KINDS)
def test_programs_are_drawn_by_seed_and_number(kind):
    assert running.draw(kind, "a", 7) == running.draw(kind, "a", 7) != running.draw(kind, "a", 8)


@pytest.mark.slow
def test_a_process_that_ends_is_found(monkeypatch):
    """Program 1 of three ends its process; the others are judged."""
    programs = [running.draw("reductions", "a", number) for number in range(3)]
    programs[1] = worker.END
    monkeypatch.setattr(running, "draw", lambda kind, seed, number: programs[number])
    first, second, third = running.find("reductions", "a", range(3))
    assert first is None and third is None and "the process ended" in second.problem


def test_rules_in_rules_in_loops_are_known():
    """jax loses the inner rule in second derivatives of a loop: the oracle writes such loops out."""
    rules = ["custom_vjp", 2.0, ["seq", [["op", "sin"], ["custom_jvp", 2.0, ["op", "roll"]]]]]
    wanted = programs._LOOPS, ("custom_vjp",), ("custom_jvp",)
    assert programs._holds(["seq", [["op", "sin"], ["scan", 2, ["jit", rules]]]], *wanted)
    assert not programs._holds(["seq", [["scan", 2, ["op", "sin"]], rules]], *wanted)


@pytest.mark.slow
def test_a_program_in_which_jax_loses_a_rule():
    node = ["seq", [["scan", 2, ["custom_vjp", 2.0, ["custom_jvp", 2.0, ["op", "roll"]]]], ["op", "square"]]]
    program = {"node": node, "transforms": ["grad", "vjp"], "seed": 953168888}
    ours, theirs = programs.answer(xs, program), running.FuzzWorker("programs", "jax")
    with closing(theirs):
        (given,) = theirs.ask([program])
    assert programs.judge(program, ours, given["answer"]) is None
