"""Answers to the questions a panel asks: why two equations were not fused, compiler passes, another target, a change.

A program is looked up by its number, whichever engine made it. No function or array is kept alive here, so a
question about a program whose function has been garbage-collected is answered with an error that says so. Only the
question where NaN was born needs the arguments of a call (:mod:`.replay`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from xlascope import inspect
from xlascope.analysis.cell_runs import CellHistory, CellRun, are_times_comparable
from xlascope.analysis.diff import Diff, compare
from xlascope.inspect import Program
from xlascope.inspect.jobs import Cancelled, Job
from xlascope.records import Record
from xlascope.xla.targets import missing_targets
from xlascope_widgets.queries import Reply

from .replay import LATEST
from .value_views import VIEWS

Question = dict[str, Any]


class AnswersWithDiff:
    """Answers for a panel of a cell; in addition they compare two of the cell's runs.

    ``history()`` returns the runs of the cell. All questions but ``diff`` are passed to ``ANSWERS``.
    """

    def __init__(self, history: Callable[[], CellHistory]) -> None:
        self._history = history
        self.targets, self.questions = ANSWERS.targets, [*ANSWERS.questions, "diff"]

    @property
    def install_hints(self) -> dict[str, str]:
        """Return how to install the compilers that are missing, by the names of their targets."""
        return ANSWERS.install_hints

    #: The values that can be looked into.
    arrays = VIEWS

    def __call__(self, question: Question, reply: Reply) -> tuple[Iterable[Record] | Diff, str]:
        """Answer like :meth:`Answers.__call__`; for a ``diff`` return the comparison of two runs of one function.

        That function is named by ``question["from"]``, the runs by ``question["to"]``, as in ``"In[5] In[7]"``. Raises
        LookupError if it is not in both runs.
        """
        if question["question"] != "diff":
            return ANSWERS(question, reply)
        name = str(question.get("from"))
        titles = str(question.get("to")).split()
        history = self._history()
        before, now = (history.find(title, name) for title in titles) if len(titles) == 2 else (None, None)
        if before is None or now is None:
            raise LookupError(
                f"{name} is not in both of these runs, or one of them was too long ago: run the cell again, then ask"
            )
        timed = are_times_comparable(before, now)
        sides = _records_of_run(before, timed=timed), _records_of_run(now, timed=timed)
        return compare(*sides, labels=(f"{name}, {titles[0]}", f"{name}, {titles[1]}")), ""


def _records_of_run(run: CellRun, *, timed: bool) -> list[Record]:
    """Return the records of a run in the order of stages; measured times are left out unless ``timed``."""
    stages = (run.traced, run.compiled, run.executed if timed else None)
    return [record for record in stages if record is not None]


class Answers:
    """Answers to the questions of all panels of a kernel.

    ``questions`` are the kinds of questions that can be asked, ``targets`` the known targets other than the CPU, and
    ``arrays`` the values that can be looked into. A call computes one answer on the calling thread.
    """

    def __init__(self) -> None:
        self.targets = [name for name in inspect.known_targets() if name != "cpu"]
        self.questions = [*_QUESTIONS, "values"]
        self.arrays = VIEWS

    @property
    def install_hints(self) -> dict[str, str]:
        """Return how to install the compilers that are missing, by the names of their targets."""
        return missing_targets()

    def __call__(self, question: Question, reply: Reply) -> tuple[Iterable[Record], str]:
        """Return the records that answer a question, and a text to show with them (``""`` for most questions).

        Raises ValueError for an unknown question, LookupError for a program that no longer exists, and whatever the
        compiler raises. ``question`` has the kind as ``"question"`` and the program's number as ``"program"``;
        ``reply`` receives progress.
        """
        if question["question"] == "values":
            inspection = _wait_for_job(lambda: Job(lambda job: LATEST.find_birth(question.get("program"))), reply)
            return inspection.records, ""
        ask = _QUESTIONS.get(question["question"])
        if ask is None:
            raise ValueError(f"no question {question['question']!r}; there are {', '.join(_QUESTIONS)}")
        inspection = _wait_for_job(lambda: ask(_find_program(question), question), reply)
        return inspection.records, inspection.text[:_MAX_TEXT_CHARS] if question["question"] in _TEXT_QUESTIONS else ""


def _find_program(question: Question) -> Program:
    """Return the program with the number in a question; raise LookupError if it is not known any more."""
    number = question.get("program")
    program = inspect.find_program(number) if isinstance(number, int) else None
    if program is None:
        raise LookupError(
            "no call that led to this program is known: its function is gone, or it was one operation outside of jit. "
            "Run the cell again, then ask"
        )
    return program


def _wait_for_job(start: Callable[[], Job[inspect.Inspection]], reply: Reply) -> inspect.Inspection:
    """Start a job, wait for it, and return its result; an empty inspection if the user cancels.

    ``reply`` receives the progress and passes on the user's cancellation.
    """
    job = start()
    reply.on_cancel(job.cancel)
    job.on_change(lambda changed: reply.progress(changed.progress, changed.message))
    try:
        return job.result()
    except Cancelled:
        return inspect.Inspection("cancelled", (), "")


def _ask_target(program: Program, question: Question) -> Job[inspect.Inspection]:
    return inspect.target(program, target=str(question.get("target")), background=True)


def _ask_why(program: Program, question: Question) -> Job[inspect.Inspection]:
    return inspect.why(program, edge=_edge_of(question), target=_target_of(question), background=True)


def _ask_passes(program: Program, question: Question) -> Job[inspect.Inspection]:
    return inspect.passes(program, target=_target_of(question), background=True)


def _ask_split(program: Program, question: Question) -> Job[inspect.Inspection]:
    change = {"split": _edge_of(question) or ()}
    target = str(question.get("target") or "")
    return inspect.what_if(program, change=change, timings=False, target=target, background=True)


def _ask_whatif(program: Program, question: Question) -> Job[inspect.Inspection]:
    """Start a job that compares a program with one in which the question's ``change`` was made, and return it.

    ``change`` is a list, such as ``["dtype", "bfloat16"]``. Raises ValueError for an unknown one.
    """
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


def _ask_code(program: Program, question: Question) -> Job[inspect.Inspection]:
    kernel, stage = str(question.get("from")), str(question.get("to"))
    return Job(lambda job: inspect.hlo(program, stage=stage, kernel=kernel, target=_target_of(question)))


def _edge_of(question: Question) -> tuple[str, str] | None:
    match question.get("edge"):
        case [str(first), str(second)]:
            return first, second
    return None


def _target_of(question: Question) -> str:
    """Return the name of the target in a question, by default ``cpu``."""
    return str(question.get("target") or "cpu")


_QUESTIONS: dict[str, Callable[[Program, Question], Job[inspect.Inspection]]] = {
    "why": _ask_why,
    "passes": _ask_passes,
    "target": _ask_target,
    "split": _ask_split,
    "code": _ask_code,
    "whatif": _ask_whatif,
}

#: Questions answered with text, and the maximum number of characters sent.
_TEXT_QUESTIONS = ("split", "code", "whatif")
_MAX_TEXT_CHARS = 100_000

#: The answers of this kernel.
ANSWERS = Answers()
