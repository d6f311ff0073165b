"""A run as text: what it was, and its programs, those with most time first."""

from __future__ import annotations

from collections.abc import Iterable

from ..records.events import Failure, Record
from ..records.plain import plain
from ..records.script import ScriptRun, Share
from .retraces import Retraces, retraces_text

#: Functions whose retraces are told of.
MOST_RETRACED = 5


def run_text(found: Iterable[Record]) -> str:
    """What a file of records says of its run.

    >>> share = Share(1, "step", calls=500, running=2.5, made=0.5)
    >>> run = ScriptRun(None, "train.py", 0.0, 4.0, ("python", "train.py"), "/home", "ended", 0.5, (share,))
    >>> print(run_text([run]))
    python train.py: ended after 4 s
    tracing, lowering and compiling 0.5 s, running 2.5 s (calls × time of one)
       running     making    calls  program
         2.5 s      0.5 s      500  step
    """
    records = list(found)
    run = next((each for each in records if isinstance(each, ScriptRun)), None)
    if run is None:
        raise ValueError("these are no records of a watched run; -o FILE.html draws them")
    told = [script_text(run)]
    again = retraces_text(Retraces.of(records).by_cost()[:MOST_RETRACED])
    told += [again] if again else []
    failures = (each for each in records if isinstance(each, Failure))
    told += [f"failed: {plain(each.function, 60)}: {plain(each.error, 60)}: {plain(each.message)}" for each in failures]
    return "\n".join(told)


def script_text(run: ScriptRun) -> str:
    """The same without what the records of single programs say."""
    lines = [
        f"{plain(' '.join(run.command), 300)}: {plain(run.ended, 60) or 'still running'} after {run.seconds:.3g} s",
        f"tracing, lowering and compiling {run.making:.3g} s, running {run.running:.3g} s (calls × time of one)",
        f"{'running':>10} {'making':>10} {'calls':>8}  program",
        *map(_row, run.shares),
    ]
    return "\n".join(lines + [f"note: {plain(each, 300)}" for each in run.notes])


def _row(share: Share) -> str:
    name = plain(share.function, 60) if share.program is not None else f"{share.programs:,} smaller ones"
    return f"{share.running:>8.3g} s {share.made:>8.3g} s {share.calls:>8,}  {name}"
