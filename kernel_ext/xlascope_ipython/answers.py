"""Answers to the questions a panel asks: why two equations were not fused, compiler passes, another target, a change.

A program is looked up by its number, whichever engine made it. No function or array is kept alive here, so a
question about a program whose function has been garbage-collected is answered with an error that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from xlascope import inspect
from xlascope.analysis.diff import Diff, compare
from xlascope.analysis.earlier_run import Run, times_compare
from xlascope.inspect import Program
from xlascope.inspect.jobs import Cancelled, Job
from xlascope.records import Record
from xlascope.xla.targets import missing_targets
from xlascope_widgets.asks import Reply

Question = dict[str, Any]


class Comparing:
    """Answers for the panel of a cell that ran before; they also compare the cell with its previous run."""

    def __init__(self, runs: Callable[[], Mapping[str, Run]], before: Mapping[str, Run]) -> None:
        self._runs = runs
        self._before = before
        self.targets, self.questions = ANSWERS.targets, [*ANSWERS.questions, "diff"]

    @property
    def missing(self) -> dict[str, str]:
        """Return the targets whose compilers are not installed, and how to install them."""
        return ANSWERS.missing

    def __call__(self, question: Question, reply: Reply) -> tuple[Iterable[Record] | Diff, str]:
        """Answer like :class:`Answers`; a ``diff`` compares both runs of the function named by ``from``."""
        if question["question"] != "diff":
            return ANSWERS(question, reply)
        name = str(question.get("from"))
        before, now = self._before.get(name), self._runs().get(name)
        if before is None or now is None:
            raise LookupError(f"{name} is not in both runs of this cell any more: run the cell again, then ask")
        timed = times_compare(before, now)
        sides = _records(before, timed=timed), _records(now, timed=timed)
        return compare(*sides, labels=(f"{name}, the run before", name)), ""


def _records(run: Run, *, timed: bool) -> list[Record]:
    """Return the records of a run, with the measured times only if they can be compared."""
    stages = (run.traced, run.compiled, run.executed if timed else None)
    return [record for record in stages if record is not None]


class Answers:
    """Answers to the questions of all panels of a kernel, computed on the asking thread."""

    def __init__(self) -> None:
        self.targets = [name for name in inspect.known_targets() if name != "cpu"]
        self.questions = list(_QUESTIONS)

    @property
    def missing(self) -> dict[str, str]:
        """Return the targets whose compilers are not installed, and how to install them."""
        return missing_targets()

    def __call__(self, question: Question, reply: Reply) -> tuple[Iterable[Record], str]:
        """Return the records that answer a question, and the text to show with them.

        Raises ValueError for an unknown question, LookupError for a program that no longer exists, and whatever
        the compiler raises.
        """
        ask = _QUESTIONS.get(question["question"])
        if ask is None:
            raise ValueError(f"no question {question['question']!r}; there are {', '.join(_QUESTIONS)}")
        inspection = _in_job(lambda: ask(_program_of(question), question), reply)
        return inspection.records, inspection.text[:_MOST_TEXT] if question["question"] in _TEXTS else ""


def _program_of(question: Question) -> Program:
    """Return the program a question is about; raise LookupError if it is not known."""
    number = question.get("program")
    program = inspect.find_program(number) if isinstance(number, int) else None
    if program is None:
        raise LookupError(
            "no call that led to this program is known: its function is gone, or it was one operation outside of jit. "
            "Run the cell again, then ask"
        )
    return program


def _in_job(start: Callable[[], Job[inspect.Inspection]], reply: Reply) -> inspect.Inspection:
    """Wait for a job, reporting its progress and forwarding the user's cancellation."""
    job = start()
    reply.on_cancel(job.cancel)
    job.on_change(lambda changed: reply.progress(changed.progress, changed.message))
    try:
        return job.result()
    except Cancelled:
        return inspect.Inspection("cancelled", (), "")


def _target(program: Program, question: Question) -> Job[inspect.Inspection]:
    return inspect.target(program, target=str(question.get("target")), background=True)


def _why(program: Program, question: Question) -> Job[inspect.Inspection]:
    return inspect.why(program, edge=_edge(question), target=_place(question), background=True)


def _passes(program: Program, question: Question) -> Job[inspect.Inspection]:
    return inspect.passes(program, target=_place(question), background=True)


def _split(program: Program, question: Question) -> Job[inspect.Inspection]:
    change = {"split": _edge(question) or ()}
    target = str(question.get("target") or "")
    return inspect.what_if(program, change=change, timings=False, target=target, background=True)


def _whatif(program: Program, question: Question) -> Job[inspect.Inspection]:
    match question.get("change"):
        case ["dtype" | "precision" | "keep" | "reroll" as kind, str(value)]:
            change: dict[str, Any] = {kind: value}
        case ["donate", *names] if names and all(isinstance(name, str) for name in names):
            change = {"donate": tuple(names)}
        case unknown:
            raise ValueError(
                f"what if takes a change, as in ['dtype', 'bfloat16'] or ['donate', 'params']; got {unknown!r}"
            )
    return inspect.what_if(program, change=change, background=True)


def _code(program: Program, question: Question) -> Job[inspect.Inspection]:
    kernel, stage = str(question.get("from")), str(question.get("to"))
    return Job(lambda job: inspect.hlo(program, stage=stage, kernel=kernel, target=_place(question)))


def _edge(question: Question) -> tuple[str, str] | None:
    match question.get("edge"):
        case [str(first), str(second)]:
            return first, second
    return None


def _place(question: Question) -> str:
    """Return the requested target, by default the CPU, the only back end of programs that ran here."""
    return str(question.get("target") or "cpu")


_QUESTIONS: dict[str, Callable[[Program, Question], Job[inspect.Inspection]]] = {
    "why": _why,
    "passes": _passes,
    "target": _target,
    "split": _split,
    "code": _code,
    "whatif": _whatif,
}

#: Questions answered with text, and the maximum number of characters sent.
_TEXTS = ("split", "code", "whatif")
_MOST_TEXT = 100_000

#: The answers of this kernel.
ANSWERS = Answers()
