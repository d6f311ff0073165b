"""Text report of a script run: a summary, and its programs by time."""

from __future__ import annotations

from collections.abc import Iterable

from ..records.events import Failure, Record, Traced
from ..records.plain import plain
from ..records.script import ScriptRun, Share
from ..records.time_account import TimeAccount
from ..records.value_history import ValueHistory
from .retraces import Retraces, retraces_text
from .time_account_text import time_account_text
from .values.history_text import history_text

#: Number of functions whose retraces are reported.
MAX_RETRACED_FUNCTIONS = 5


def run_text(source: Iterable[Record]) -> str:
    """Return the text report of a script's run from its records; raise ValueError without a ``ScriptRun`` record.

    >>> share = Share(1, "step", calls=500, running=2.5, made=0.5)
    >>> run = ScriptRun(None, "train.py", 0.0, 4.0, ("python", "train.py"), "/home", "ended", 0.5, (share,))
    >>> print(run_text([run]))
    python train.py: ended after 4 s
    trace + lower + compile 0.5 s, running 2.5 s (calls × time of one)
       running    compile    calls  program
         2.5 s      0.5 s      500  step
    """
    records = list(source)
    run = next((record for record in records if isinstance(record, ScriptRun)), None)
    if run is None:
        raise ValueError("these are no records of a watched run; -o FILE.html draws them")
    parts = [script_text(run)]
    parts += [time_account_text(record) for record in records if isinstance(record, TimeAccount)]
    traces = {record.program: record for record in records if isinstance(record, Traced)}
    parts += [
        history_text(record, traces.get(record.program)) for record in records if isinstance(record, ValueHistory)
    ]
    retraces = retraces_text(Retraces.of(records).by_cost()[:MAX_RETRACED_FUNCTIONS])
    parts += [retraces] if retraces else []
    failures = (record for record in records if isinstance(record, Failure))
    parts += [
        f"failed: {plain(record.function, 60)}: {plain(record.error, 60)}: {plain(record.message)}"
        for record in failures
    ]
    return "\n".join(parts)


def script_text(run: ScriptRun) -> str:
    """Return the report of the run itself, without the records of single programs."""
    lines = [
        f"{plain(' '.join(run.command), 300)}: {plain(run.ended, 60) or 'still running'} after {run.seconds:.3g} s",
        f"trace + lower + compile {run.making:.3g} s, running {run.running:.3g} s (calls × time of one)",
        f"{'running':>10} {'compile':>10} {'calls':>8}  program",
        *map(_row, run.shares),
    ]
    return "\n".join(lines + [f"note: {plain(note, 300)}" for note in run.notes])


def _row(share: Share) -> str:
    name = plain(share.function, 60) if share.program is not None else f"{share.programs:,} smaller ones"
    return f"{share.running:>8.3g} s {share.made:>8.3g} s {share.calls:>8,}  {name}"
