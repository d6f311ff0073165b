"""Answers to what a click in a panel asks: why two equations were not fused, the passes, another target, a change.

A program is found again by its number, by whoever made it; nothing here keeps a function or an array alive. So a
question about a program whose function is gone is answered by saying so.
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
    """The answers of the panel of a cell that ran before: what has changed since is one of its questions."""

    def __init__(self, runs: Callable[[], Mapping[str, Run]], before: Mapping[str, Run]) -> None:
        self._runs = runs
        self._before = before
        self.targets, self.questions = ANSWERS.targets, [*ANSWERS.questions, "diff"]

    @property
    def missing(self) -> dict[str, str]:
        """The targets whose compilers are not here now, and how to get them."""
        return ANSWERS.missing

    def __call__(self, question: Question, reply: Reply) -> tuple[Iterable[Record] | Diff, str]:
        """As :class:`Answers`; a ``diff`` is that of the function named ``from``."""
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
    """What was recorded of a run; its time only where that can be compared."""
    known = (run.traced, run.compiled, run.executed if timed else None)
    return [each for each in known if each is not None]


class Answers:
    """Answers the questions of all panels of a kernel, on the thread that asks."""

    def __init__(self) -> None:
        self.targets = [name for name in inspect.known_targets() if name != "cpu"]
        self.questions = list(_QUESTIONS)

    @property
    def missing(self) -> dict[str, str]:
        """The targets whose compilers are not here now, and how to get them."""
        return missing_targets()

    def __call__(self, question: Question, reply: Reply) -> tuple[Iterable[Record], str]:
        """The records found, and what is to be read as text.

        Raises ValueError for a question that nobody knows, LookupError for a program that is gone, and what the
        compiler raises.
        """
        ask = _QUESTIONS.get(question["question"])
        if ask is None:
            raise ValueError(f"no question {question['question']!r}; there are {', '.join(_QUESTIONS)}")
        found = _in_job(lambda: ask(_program_of(question), question), reply)
        return found.records, found.text[:_MOST_TEXT] if question["question"] in _TEXTS else ""


def _program_of(question: Question) -> Program:
    """The program that is asked about; raises LookupError when nobody knows it."""
    number = question.get("program")
    found = inspect.find_program(number) if isinstance(number, int) else None
    if found is None:
        raise LookupError(
            "no call that led to this program is known: its function is gone, or it was one operation outside of jit. "
            "Run the cell again, then ask"
        )
    return found


def _in_job(start: Callable[[], Job[inspect.Inspection]], reply: Reply) -> inspect.Inspection:
    """Wait for a job, with its progress told and the user's cancel passed on."""
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
        case ["donate", *names] if names and all(isinstance(each, str) for each in names):
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
    """The target that is looked at; programs that ran here ran on the CPU, the one back end that is here."""
    return str(question.get("target") or "cpu")


_QUESTIONS: dict[str, Callable[[Program, Question], Job[inspect.Inspection]]] = {
    "why": _why,
    "passes": _passes,
    "target": _target,
    "split": _split,
    "code": _code,
    "whatif": _whatif,
}

#: Questions whose answer is read as text, and how many characters of it are sent.
_TEXTS = ("split", "code", "whatif")
_MOST_TEXT = 100_000

#: Those of this kernel.
ANSWERS = Answers()
