"""The judge at work: what it finds on today's functions, that it reaches each of them, and that it notices mistakes."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator

import pytest
from tests import compiling

from . import comparing, faults, generating, judging, source, summary
from .generating import Function
from .judging import Verdict
from .processes import Pair
from .remembering import pair

pytestmark = pytest.mark.timeout(1800)  # jax compiles thousands of programs, on a machine that may have others to serve

#: Calls in `make test`, and in the slow part.
FEW, MANY = 300, 2000
#: How many of today's calls may differ with no rule to explain it: as many as are known and not mended. It only falls.
KNOWN = 0.03
#: How many calls with a bad argument may fail with words of Python's, which name no argument. It only falls.
UNCLEAR = 0.01
#: How often a full run of 20,000 calls calls each function.
ROUNDS = 29
#: Functions that no call in one process can perform in JAX, or that want files; types that no array can have.
OUT_OF_REACH = {"array.flat", "lax.pbroadcast", "nn.scaled_matmul", "numpy.load", "numpy.save", "numpy.savez"}
OUT_OF_REACH |= {"lax.with_sharding_constraint"}  # a mesh is no argument of a call as data
#: Methods that JAX only has to refuse.
OUT_OF_REACH |= {f"experimental.sparse.BCSR.{name}" for name in ("__rmatmul__", "transpose", "sum")}
OUT_OF_REACH |= {f"scipy.stats.gaussian_kde.{name}" for name in ("integrate_box", "set_bandwidth")}
OUT_OF_REACH |= {"scipy.spatial.transform.Rotation.random"}
OUT_OF_REACH |= {"numpy.float6_e2m3fn", "numpy.float6_e3m2fn", "numpy.int1", "numpy.uint1"}
#: Draws after which a function that never succeeded is one that the generator cannot call.
TRIES = 30


@pytest.fixture(scope="module")
def both() -> Iterator[Pair]:
    with pair() as processes:
        yield processes


@pytest.fixture(scope="module")
def quick() -> Iterator[Pair]:
    """Both, compiling as quickly as other tests do: only what they give is compared."""
    with pair(xla_flags=compiling.xla_flags()) as processes:
        yield processes


@pytest.fixture(scope="module")
def functions(quick: Pair) -> list[Function]:
    return generating.judged(*quick.listed())


def told(verdicts: list[Verdict]) -> str:
    found = summary.found(verdicts)
    lines = [line for number, each in found.unexplained.items() for line in summary.in_short(number, each)]
    return "\n".join([summary.numbers(found), *lines])


def test_what_differs_is_meant(quick: Pair, functions: list[Function]) -> None:
    verdicts = list(judging.judge(quick, generating.calls(functions, 0, FEW)))
    assert not summary.found(verdicts).unexplained, told(verdicts)


@pytest.mark.slow
def test_what_differs_today_is_meant(both: Pair, functions: list[Function]) -> None:
    seed = int(os.environ.get("SEED", datetime.date.today().toordinal()))
    print(f"make judge SEED={seed} CALLS={MANY} runs the same calls")
    verdicts = list(judging.judge(both, generating.calls(functions, seed, MANY)))
    assert len(summary.found(verdicts).unexplained) <= KNOWN * MANY, f"SEED={seed}\n{told(verdicts)}"


#: Rooms whose functions say of each bad argument which one it is.
ARRAYS = ("array.", "lax.", "numpy.", "ops.", "tree.", "tree_util.")


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_bad_arguments_are_refused_in_python(quick: Pair, functions: list[Function], count: int) -> None:
    """One argument of each call is of no use: no process ends, no compiler speaks, no accident of ours is shown."""
    chosen = [each for each in functions if each.name.startswith(ARRAYS)]
    rounds = 1 + count // len(chosen)
    calls = [generating.bad_call(each, count, round_) for round_ in range(rounds) for each in chosen][:count]
    answers = zip(calls, quick.ours.ask(calls), strict=True)
    wrong = {source.line(call): comparing.mishap(answer) for call, answer in answers}
    found = [f"{line}\n        {text}" for line, text in wrong.items() if text]
    assert len(found) <= UNCLEAR * count, "\n".join(found)
    assert not [text for text in found if "compiler text" in text or "ended" in text], "\n".join(found)


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_every_trace_of_a_call_is_the_same(quick: Pair, functions: list[Function], count: int) -> None:
    """Whether a function runs, is written down or is followed: one program, whatever is batched and differentiated."""
    calls = list(generating.calls(functions, count, count))
    traced = zip(calls, quick.ours.ask(calls, "traces"), strict=True)
    differing = {
        f"{source.line(call)} ({how})": texts
        for call, answer in traced
        if not {"error", "ended"} & {*answer}
        for how, texts in answer.items()
        if len(set(texts)) > 1
    }
    assert not differing, "\n\n".join(f"{call}\n{texts[0]}\n{texts[-1]}" for call, texts in differing.items())


@pytest.mark.slow
def test_every_function_is_called_with_success(both: Pair, functions: list[Function]) -> None:
    """Or its parameters are of a kind that `parameters.py` or `examples.py` has yet to be told."""
    waiting = {function.name: function for function in functions if function.name not in OUT_OF_REACH}
    for round_ in range(TRIES):
        calls = [generating.drawn_call(each, 0, round_) for each in waiting.values()]
        for verdict in judging.judge(both, calls):
            if not {"error", "ended"} & {*verdict.ours, *verdict.theirs}:
                waiting.pop(verdict.call["function"], None)
    assert not waiting, sorted(waiting)


@pytest.mark.slow
def test_planted_faults_are_found(both: Pair, functions: list[Function]) -> None:
    """In as many calls of each function as a full run has."""
    places = {path for path, *_ in faults.FAULTS.values()}
    calls = [
        generating.drawn_call(each, 0, round_) for each in functions if each.name in places for round_ in range(ROUNDS)
    ]
    sound = list(judging.judge(both, calls))
    with pair([*faults.FAULTS]) as planted:
        faulty = list(judging.judge(planted, calls))
    missed = [name for name, (path, _, kinds) in faults.FAULTS.items() if not _noticed(path, kinds, sound, faulty)]
    assert not missed


def _noticed(path: str, kinds: tuple[str, ...], sound: list[Verdict], faulty: list[Verdict]) -> bool:
    """Whether a call of the function differs with the fault, in the way it should, and does not without."""
    return any(
        after.call["function"] == path and after.difference is not None and after.difference.kind in kinds
        and (before.difference is None or before.difference.kind != after.difference.kind)
        for before, after in zip(sound, faulty, strict=True)
    )  # fmt: skip


def test_a_difference_becomes_a_program(functions: list[Function]) -> None:
    for call in generating.calls(functions, 3, 400):
        compile(source.program(call), source.line(call), "exec")
