"""``with xlascope.watch_values(step):``: loss, gradients and zeros of a step while it trains."""

from __future__ import annotations

import time
from operator import index
from typing import TYPE_CHECKING, Any

from .. import records
from ..analysis.formatting import plural
from ..analysis.values.history_text import history_text
from ..bootstrap import get_engine
from ..records import ValueCurve, ValueHistory, ValueReport
from .inspection_scope import inspection
from .producers import Query, program_of
from .result import Inspection
from .values import probe_call

if TYPE_CHECKING:
    from .engine.step_watcher import StepWatcher

#: The least seconds between two records of a history, and the largest number of points of a curve in those of a loop
#: that goes on.
MIN_PUBLISH_SECONDS, MAX_LIVE_POINTS = 0.5, 240


class watch_values:  # noqa: N801 -- it is called like a function
    """Watch the values of a jitted training step while a ``with`` block calls it.

    The loss (the first floating-point scalar among the results, float) is recorded at each call, of steps shorter than
    about a millisecond at every few. Now and then a twin of the step runs before a call and measures the norm of the
    gradient by each argument and the share of zeros of each relu: at every ``every``-th call (int), or without it as
    often as takes about 5 % of the loop's time. At the first call that computes NaN or infinity it is found where that
    was born, from the arguments of the latest calls, which are held below 5 % of the free memory and never where they
    are donated. The step's results are its own, unchanged.

    ``history`` is the :class:`~xlascope.records.ValueHistory` so far, with at most 10,000 points a curve, ``report``
    the :class:`~xlascope.records.ValueReport` of the bad call or None; :meth:`to_json` and :meth:`save` write both.
    A method that is jitted is watched on all objects.
    Raises TypeError if ``step`` is not jitted by xlascope, ValueError for an invalid ``every``.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> @xs.jit
    ... def step(w, x):
    ...     loss, gradient = xs.value_and_grad(lambda w: ((x @ w) ** 2).mean())(w)
    ...     return w - 0.1 * gradient, loss
    >>> w, x = jnp.ones(3), jnp.eye(3)
    >>> with xs.watch_values(step, every=2) as watched:
    ...     for _ in range(6):
    ...         w, loss = step(w, x)
    >>> watched.history.calls, watched.history.sampled, watched.history.bad_step
    (6, 3, None)
    >>> [(curve.kind, curve.name) for curve in watched.history.curves]
    [('loss', 'loss'), ('gradient', 'w')]
    """

    def __init__(self, step: Any, *, every: int | None = None) -> None:
        if every is not None and (isinstance(every, bool) or not hasattr(every, "__index__") or index(every) < 1):
            raise ValueError(f"every is a number of calls, 1 or more; got {every!r}")
        number = 0 if every is None else index(every)
        self._new_watcher: StepWatcher | None = get_engine().step_watcher(step, number, _probe, self._publish)
        if self._new_watcher is None:
            name = getattr(step, "__name__", type(step).__name__)
            raise TypeError(
                f"watch_values takes a function jitted by xlascope, and {name} is not: xlascope.jit({name})"
            )
        self._watcher: StepWatcher | None = None
        self._published, self._published_calls = 0.0, 0

    def __enter__(self) -> watch_values:
        if self._watcher is not None:
            raise RuntimeError("this block is watched already: make another xlascope.watch_values(...) for another one")
        assert self._new_watcher is not None
        self._watcher = self._new_watcher
        self._watcher.start()
        _running.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._watcher is not None
        if self in _running:
            _running.remove(self)
        self._watcher.stop()
        if self._watcher.calls:
            records.publish(self.history)

    @property
    def history(self) -> ValueHistory:
        """Return the history so far."""
        return _build_history(self.watcher, 0)

    @property
    def report(self) -> ValueReport | None:
        """Return the report about the call that computed NaN or infinity first; None if there is none."""
        return self.watcher.report

    @property
    def text(self) -> str:
        """Return the history as text."""
        step = self.watcher.sampled_step
        if not self.watcher.calls:
            return _no_call_text(self.watcher)
        return history_text(self.history, None if step is None else step.record)

    def as_inspection(self) -> Inspection:
        """Return the history, the report and the trace of the step as one answer, which a notebook draws."""
        watcher = self.watcher
        traced = () if watcher.sampled_step is None else (watcher.sampled_step.record,)
        reports = () if watcher.report is None else (watcher.report,)
        return Inspection("watch_values", (*traced, *reports, self.history), self.text)

    def to_json(self) -> dict[str, Any]:
        """Return the records as a JSON-compatible dict; see :meth:`.Inspection.to_json`."""
        return self.as_inspection().to_json()

    def save(self, path: Any) -> None:
        """Write the records to a file, in the format of its suffix; see :meth:`.Inspection.save`."""
        self.as_inspection().save(path)

    def __repr__(self) -> str:
        return "watch_values: nothing is watched yet" if self._watcher is None else self.text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return self.as_inspection()._repr_mimebundle_(include, exclude)

    @property
    def watcher(self) -> StepWatcher:
        """Return the watcher of the block, from when it begins; raise RuntimeError before."""
        if self._watcher is None:
            raise RuntimeError("nothing is watched yet: with xlascope.watch_values(step) as watched: ...")
        return self._watcher

    def _publish(self) -> None:
        """Publish the history for whoever draws it, at most twice a second; the report about a bad call at once."""
        watcher = self.watcher
        now = time.monotonic()
        if now - self._published < MIN_PUBLISH_SECONDS and watcher.report is None:
            return
        self._published, self._published_calls = now, watcher.calls
        if watcher.report is not None:
            records.publish(watcher.report)
        records.publish(_build_history(watcher, MAX_LIVE_POINTS))

    def publish_latest(self) -> None:
        """Publish the history as it is now, if there were calls since it was published."""
        if self.watcher.calls != self._published_calls:
            self._published_calls = self.watcher.calls
            records.publish(_build_history(self.watcher, MAX_LIVE_POINTS))


#: Blocks that have begun and not ended.
_running: list[watch_values] = []


def publish_latest_histories() -> None:
    """Publish the histories of all steps that are watched now, where there were calls since: a cell has ended."""
    for watched in tuple(_running):
        watched.publish_latest()


def _probe(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ValueReport:
    with inspection():
        program = program_of(Query(function, args, kwargs))
        return probe_call(program.record, program.host)


def _no_call_text(watcher: StepWatcher) -> str:
    """Return why no call of a step was watched, and what to do."""
    name, notes = watcher.jitted.name, _unwatched_notes(watcher)
    if not notes:
        return f"{name}: no call was watched yet. If a function that is compiled already calls {name}, watch that one."
    return "\n".join([f"{name}: no call was watched", *(f"note: {note}" for note in notes)])


def _unwatched_notes(watcher: StepWatcher) -> list[str]:
    """Return a sentence for each place from which calls were made that could not be watched."""
    name, sentences = watcher.jitted.name, []
    for origin, count in watcher.unwatched.items():
        calls = plural(count, "call")
        if origin == watcher.OTHER_THREAD:
            sentence = f"{calls} came from another thread: enter the block on the thread that calls {name}"
        elif origin == watcher.DISABLED:
            sentence = f"{calls} came while jit was disabled, so that no program ran: leave disable_jit"
        else:
            sentence = (
                f"{calls} came from within {origin}, where {name} is a part of another program: watch the jitted "
                "function that the loop itself calls"
            )
        sentences.append(sentence)
    return sentences


def _build_history(watcher: StepWatcher, most: int) -> ValueHistory:
    """Return the record of a watcher's curves, with at most ``most`` points each (0: all that are kept)."""
    step, birth = watcher.sampled_step, watcher.birth
    curves = [ValueCurve("loss", "loss", records.EquationPath(""), None, *_points(watcher.losses, most))]
    curves += [
        ValueCurve(value.kind, value.name, value.path, value.source, *_points(series, most))
        for value, series in watcher.samples
    ]
    sentence = "" if birth is None else birth.sentence
    if watcher.bad_step is not None and not sentence:
        sentence = "loss or gradients are not finite; %values with the arguments of that call says where it was born"
    return ValueHistory(
        program=0 if step is None else step.record.program,
        function=watcher.jitted.name,
        time=time.time(),
        calls=max(watcher.calls, watcher.sample_count),  # a sample is taken before its call is counted
        sampled=watcher.sample_count,
        every=watcher.every,
        lost_share=watcher.lost_share,
        twin_seconds=watcher.twin_seconds,
        compile_seconds=watcher.compile_seconds,
        curves=tuple(curve for curve in curves if curve.steps),
        bad_step=watcher.bad_step,
        bad_sentence=sentence,
        bad_source=None if birth is None else birth.source,
        bad_path=None if birth is None else birth.path,
        notes=(*watcher.notes, *_unwatched_notes(watcher)),
    )


def _points(series: Any, most: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
    steps, numbers = series.steps, series.numbers
    stride = -(-len(steps) // most) if most else 1
    return steps[:: max(stride, 1)], numbers[:: max(stride, 1)]
