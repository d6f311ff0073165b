"""A watcher of a jitted step: its loss at each call, and at some calls its gradients, by a twin that runs before."""

from __future__ import annotations

import logging
import struct
import time
from collections import Counter, deque
from collections.abc import Callable
from threading import get_ident
from typing import Any, NamedTuple

import numpy as np

from ... import tree
from ...analysis.values.watched import WatchedValue
from ...control.jit.events import call_listeners, dispatch_listeners, unrun_call_listeners
from ...control.jit.jit_function import jit_function
from ...control.jit.jitted import Jitted
from ...dtypes import dtype_kind
from ...records import Birth, ValueReport
from ...trace.jaxpr_trace import JaxprTrace
from ...trace.state import STATE
from ...transforms.batch_trace import BatchTrace
from ...transforms.jvp_trace import JVPTrace
from ...transforms.linear_trace import LinearTrace
from ...xla.arrays.memory_check import available_bytes
from ...xla.devices.backend import ArrayImpl, default_device
from ..inspection_scope import inspecting, inspection
from ..running.held_arguments import MAX_FREE_MEMORY_SHARE
from ..series import Series
from .call_hooks import add_listener, remove_listener
from .sampled_step import SampledStep
from .traced_calls import InspectedCall, jitted_of, trace_call

_log = logging.getLogger(__name__)

#: The largest share of the loop's time that samples take where no number of calls is given, and the share from which
#: reading the loss of each call is too much.
MAX_LOST_SHARE, MAX_LOSS_SHARE = 0.035, 0.01
#: The numbers of calls whose arguments are held to find the one that went wrong: few more than lie between two losses
#: that are read, because calls are slower where the memory of earlier ones is not free again.
MIN_HELD_CALLS, MAX_HELD_CALLS, MAX_LOSS_STRIDE = 3, 66, 64
#: The largest number of bytes of the arguments between two losses that are read, if these are more than four calls:
#: about what a core's cache holds.
MAX_CACHED_BYTES, MIN_LOSS_STRIDE_LIMIT = 1 << 20, 4
#: The largest number of programs of the step whose twins are kept.
MAX_PROGRAMS = 8
_TRANSFORMATIONS = (
    (BatchTrace, "vmap"),
    (JVPTrace, "grad or jvp"),
    (LinearTrace, "grad or linearize"),
    (JaxprTrace, "another jitted function or a loop"),
)


class _UnreadLoss(NamedTuple):
    """Call whose loss is not known yet."""

    step: int
    loss: Any


class _Held(NamedTuple):
    """Arguments of a call."""

    step: int
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


#: Functions that read scalars of a dtype from the memory of a CPU, a third of the time of numpy.asarray.
_UNPACK = {
    np.dtype(name): struct.Struct(f"={letter}").unpack for name, letter in (("f4", "f"), ("f8", "d"), ("f2", "e"))
}


def _read_scalar(x: Any) -> float:
    unpack = _UNPACK.get(x.dtype)
    if unpack is not None:
        try:
            return float(unpack(x)[0])
        except (BufferError, TypeError, RuntimeError):  # it is not on a CPU, or on several
            pass
    return float(np.asarray(x))


def _is_loss(x: Any) -> bool:
    """Return whether a result is a floating-point scalar on a device."""
    return isinstance(x, ArrayImpl) and not x.shape and dtype_kind(x.dtype) == "f"


def _is_deleted(call: _Held) -> bool:
    """Return whether an argument of a call was deleted after it."""
    return any(isinstance(leaf, ArrayImpl) and leaf.is_deleted() for leaf in tree.leaves((call.args, call.kwargs)))


class StepWatcher:
    """Watcher of the calls of one jitted function on the thread that made it, from :meth:`start` to :meth:`stop`.

    ``every`` is the number of calls between two samples, 0 to choose by their cost. ``probe`` returns the report about
    the values of a call; it is asked once, about the first call that computes NaN or infinity. ``changed`` is called
    after samples, losses and that; ``called`` is the jitted function, if it is known already. The calls themselves are
    the program's own.
    """

    #: Places of calls that cannot be watched, among others.
    OTHER_THREAD, DISABLED = "another thread", "disable_jit"

    def __init__(
        self,
        jitted: Jitted,
        every: int,
        probe: Callable[[Any, tuple[Any, ...], dict[str, Any]], ValueReport],
        changed: Callable[[], None],
        called: Any = None,
    ) -> None:
        self.jitted, self.every = jitted, every
        self.sampled_step: SampledStep | None = None
        self.losses = Series()
        self.samples: list[tuple[WatchedValue, Series]] = []
        self.calls = self.sample_count = 0
        self.compile_seconds = self.twin_seconds = self.lost_seconds = 0.0
        self.bad_step: int | None = None
        self.bad_kind = ""
        self.report: ValueReport | None = None
        self.notes: dict[str, None] = {}
        #: Calls that were not watched, by where they were made.
        self.unwatched: Counter[str] = Counter()
        self._probe, self._changed = probe, changed
        self._thread = get_ident()
        self._began = self._paused = 0.0
        #: The same by the processor time of the whole process, of which other processes take nothing: when the loop
        #: began, the pauses included, and what samples took.
        self._processor_began = self._processor_lost = 0.0
        self._called: Any = called
        self._steps: dict[int, SampledStep] = {}
        self._most_held = 0
        #: The results of the latest call, unless its loss is read.
        self._unread_results: Any = None
        #: The last call whose loss is known to be finite.
        self._last_good = -1
        self._pending: deque[_UnreadLoss] = deque(maxlen=1024)
        self._held: deque[_Held] = deque(maxlen=0)
        self._twin_processor_seconds = 0.0
        #: The number of calls until when the processor time is not asked again.
        self._patient_until = 0
        #: The shortest recent seconds of reading a loss and from call to call; when a loss was read last.
        self._read_seconds, self._period = 1e-5, 1.0
        self._read_at, self._read_call = 0.0, 0
        self._loss_stride, self._stride_limit = 1, MAX_LOSS_STRIDE
        #: The number of the next calls of which nothing is read, and the number of calls before the latest sample.
        self._skips = self._sampled_at = 0
        self._loss_index = -1
        self._is_due = True
        #: The program of a call that came through Python and is not dispatched yet.
        self._python_call: int | None = None
        #: Whether a sample failed: calls are not watched any more.
        self.is_broken = False
        #: Whether this one keeps jaxlib from repeating calls in C++.
        self._watches_each_call = False
        self._is_donating = bool(jitted.options.donate_argnums or jitted.options.donate_argnames)

    def start(self) -> None:
        """Start watching."""
        self._thread = get_ident()
        call_listeners.append(self.announce_call)
        dispatch_listeners.append(self._after_python_call)
        unrun_call_listeners.append(self._count_unrun_call)
        add_listener(self._after_call)
        self._began, self._processor_began = self._now()
        self._watches_each_call = self.every == 1
        self.jitted.call_watchers += self._watches_each_call
        if self._called is not None:
            self.jitted.expects_miss = True
            self._called._clear_cache()

    def stop(self) -> None:
        """Stop watching, and read the losses that are left."""
        self.jitted.call_watchers -= self._watches_each_call
        self._watches_each_call = False
        remove_listener(self._after_call)
        if self.announce_call in call_listeners:
            call_listeners.remove(self.announce_call)
            dispatch_listeners.remove(self._after_python_call)
            unrun_call_listeners.remove(self._count_unrun_call)
        results, self._unread_results = self._unread_results, None
        try:
            self._add_loss(self.calls - 1, results)
            self._read_losses(wait=True)
        finally:
            self._end, self._processor_end = self._now()
            self._held.clear()
            self._pending.clear()

    @property
    def elapsed_seconds(self) -> float:
        """Return the seconds of the loop so far, without those of compiling and searching."""
        return max(getattr(self, "_end", time.perf_counter()) - self._began - self._paused, 1e-9)

    @property
    def lost_share(self) -> float:
        """Return the share of the loop's time that watching took, without compiling and searching.

        Of the shares by the clock and by the processor time it is the larger one.
        """
        processor = getattr(self, "_processor_end", time.process_time()) - self._processor_began
        share = self._processor_lost / processor if processor > 0 else 0.0
        return min(max(self.lost_seconds / self.elapsed_seconds, share), 1.0)

    # Before a call that comes through Python ------------------------------------------------------------------------

    def announce_call(self, jitted: Jitted, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Note a call that comes through Python, before it runs; measure it if that is due."""
        if jitted is not self.jitted or inspecting() or self.is_broken:
            return
        if get_ident() != self._thread:
            self.unwatched[self.OTHER_THREAD] += 1
            return
        try:
            self._watch(args, kwargs)
        except Exception:
            self.is_broken = True
            self.notes["a sample failed, so only the calls before it were watched: see the log"] = None
            raise

    def _watch(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        began, processor = self._now()
        with inspection():
            call = trace_call(self._function(), args, kwargs)
        seconds, processor_seconds = time.perf_counter() - began, time.process_time() - processor
        self.sampled_step = self._steps.get(call.traced.number)
        if self.sampled_step is None:
            self._prepare(call)
        if self._is_due:
            self._is_due, self._skips = False, 0
            self.lost_seconds += 2 * seconds  # the call itself came through Python, too
            self._twin_processor_seconds = processor_seconds + self._sample(call, args, kwargs)
            self._processor_lost += self._twin_processor_seconds
        self._hold(args, kwargs)
        self._python_call = call.traced.number

    def _prepare(self, call: InspectedCall) -> None:
        """Build the twin for the program of a call."""
        began = self._now()
        while len(self._steps) >= MAX_PROGRAMS:
            del self._steps[next(iter(self._steps))]
        self.sampled_step = self._steps[call.traced.number] = SampledStep(call)
        if self.sampled_step.reason:
            self.notes[self.sampled_step.reason] = None
        if self.sampled_step.watched.left_out:
            self.notes[f"{self.sampled_step.watched.left_out} other gradients and relus are not watched"] = None
        if not self.samples:
            self.samples = [(value, Series()) for value in self.sampled_step.values]
        elif [value for value, _ in self.samples] != list(self.sampled_step.values):
            self.notes["another program of the step has other gradients: curves are of the first one"] = None
            self.sampled_step.reason = "it has other gradients"
        self.compile_seconds += self.sampled_step.compile_seconds
        self._pause(began)
        self._choose_held(call)

    def _function(self) -> Any:
        """Return the jitted function; it has been traced, so that this is no new one to whoever explains traces."""
        return self._called if self._called is not None else jit_function(self.jitted.function, self.jitted.options)

    def _choose_held(self, call: InspectedCall) -> None:
        """Choose of how many calls the arguments may be held."""
        size = sum(int(getattr(leaf, "nbytes", 0)) for leaf in call.arguments.operands)
        room = int(MAX_FREE_MEMORY_SHARE * (available_bytes(default_device()) or 0) // max(size, 1))
        self._most_held = 0 if self._is_donating else min(room, MAX_HELD_CALLS)
        self._stride_limit = min(max(MAX_CACHED_BYTES // max(size, 1), MIN_LOSS_STRIDE_LIMIT), MAX_LOSS_STRIDE)
        if not self._most_held:
            why = "are donated" if self._is_donating else "take more than 5 % of the free memory"
            self.notes[f"arguments {why}: where NaN is born is found only at a call that is sampled"] = None
        self._resize_held()

    def _resize_held(self) -> None:
        unread = self.calls - self._pending[0].step if self._pending else self._loss_stride
        count = min(self._most_held, max(unread, self._loss_stride) + MIN_HELD_CALLS)
        if count > (self._held.maxlen or 0):
            self._held = deque(self._held, maxlen=count)

    def _sample(self, call: InspectedCall, args: tuple[Any, ...], kwargs: dict[str, Any]) -> float:
        """Take a sample of a call, unless there is none; return the processor time that it took."""
        step = self.sampled_step
        if step is None or step.reason or self.bad_step is not None:
            return 0.0
        sample = step.sample(call)
        self.lost_seconds += sample.seconds
        self.twin_seconds = sample.seconds
        self.sample_count += 1
        self._sampled_at = self.calls
        for (_, series), number in zip(self.samples, sample.numbers, strict=True):
            series.append(self.calls, number)
        if sample.is_bad:
            self._read_losses(wait=False)
        if sample.is_bad and self.bad_step is None:
            self._note_bad(self.calls, [*self._held, _Held(self.calls, args, kwargs)])
        self._changed()
        return sample.processor_seconds

    def _hold(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self._held.maxlen:
            self._held.append(_Held(self.calls, args, kwargs))

    def _count_unrun_call(self, jitted: Jitted) -> None:
        """Count a call that ran no program of its own."""
        if jitted is not self.jitted or inspecting():
            return
        trace = STATE.trace
        name = next((word for kind, word in _TRANSFORMATIONS if isinstance(trace, kind)), "another trace")
        self.unwatched[self.DISABLED if trace is None else name] += 1

    # After a call ---------------------------------------------------------------------------------------------------

    def _after_python_call(self, number: int, results: Any) -> None:
        if number == self._python_call and get_ident() == self._thread:
            self._python_call = self._unread_results = None
            self._skips = 0
            self._note_call(results)
            self._is_due = self._is_due or self._is_time()

    def _after_call(self, function: Any, args: Any, kwargs: Any, out: Any) -> None:
        if self._skips and function is self._called and get_ident() == self._thread and not inspecting():
            # what short steps pay at most calls
            self._skips -= 1
            if self._held.maxlen:
                self._held.append(_Held(self.calls, args, kwargs or {}))
            self._unread_results = out
            self.calls += 1
            return
        if self.is_broken:
            return
        try:
            self._note_repeated_call(function, args, kwargs, out)
        except Exception:  # it would come out of the user's call
            self.is_broken = True
            self.notes["watching failed, so only the calls before that were watched: see the log"] = None
            _log.exception("watching a call failed")

    def _note_repeated_call(self, function: Any, args: Any, kwargs: Any, out: Any) -> None:
        if function is not self._called:
            if jitted_of(function) is not self.jitted:
                return
            self._called = function
        if inspecting():
            return
        if get_ident() != self._thread:
            self.unwatched[self.OTHER_THREAD] += 1
            return
        if self._held.maxlen:  # not timed: it frees the arguments of an earlier call, as the loop would have done
            self._held.append(_Held(self.calls, args, kwargs or {}))
        began, paused = time.perf_counter(), self._paused
        self._unread_results = None
        self._note_call(out)
        if self.calls == 1:
            paused = 0.0
        spent = time.perf_counter() - began - (self._paused - paused)
        self.lost_seconds += spent
        self._choose_stride(spent, began)
        began = time.perf_counter()
        self._changed()
        self.lost_seconds += time.perf_counter() - began
        self._skips = self._choose_skips()
        if (
            self._is_due or self._is_time()
        ):  # a due sample missed its call if another thread's came through Python first
            self._is_due = self.jitted.expects_miss = True
            function._clear_cache()

    def _choose_stride(self, spent: float, began: float) -> None:
        """Choose the number of calls between two losses that are read by the shortest recent times.

        ``spent`` are the seconds of reading one now, from ``began`` on. Means would be those of whatever else the
        machine does.
        """
        period = (began - self._read_at) / max(self.calls - self._read_call, 1)
        self._read_at, self._read_call = began, self.calls
        self._read_seconds = min(1.02 * self._read_seconds, spent)
        self._period = min(1.02 * self._period, max(period, 1e-7))
        stride = round(self._read_seconds / self._period / MAX_LOSS_SHARE)
        self._loss_stride = min(max(stride, 1), self._stride_limit)
        self._resize_held()

    def _choose_skips(self) -> int:
        """Return the number of calls of which nothing is read, up to the next loss or the next call to sample."""
        skips = self._loss_stride - 1
        return min(skips, max(self._sampled_at + self.every - self.calls - 1, 0)) if self.every else skips

    def _note_call(self, results: Any) -> None:
        """Count a call with these results, and keep its loss until it is ready."""
        self._add_loss(self.calls, results)
        if not self.calls:  # the loop's time is that of calls whose program is compiled
            self._began, self._paused = time.perf_counter() - self.lost_seconds, 0.0
            self._processor_began = time.process_time() - self._processor_lost
        self.calls += 1
        self._read_losses(wait=False)
        if self._pending:
            self._resize_held()

    def _has_loss(self) -> bool:
        """Return whether a result of the step is its loss; of one program it is known whether."""
        step = self.sampled_step
        return step is not None and (step.watched.loss is not None or len(self._steps) > 1)

    def _add_loss(self, step: int, results: Any) -> None:
        """Add the loss of a call with these results to the pending ones.

        Which of several programs of the step returned them is not known, so the loss is looked for among the results.
        """
        if not self._has_loss():
            return
        index = self._loss_index
        if type(results) is tuple and 0 <= index < len(results) and _is_loss(results[index]):
            self._pending.append(_UnreadLoss(step, results[index]))
            return
        loss = next(filter(_is_loss, tree.leaves(results)), None)
        if loss is not None:
            self._pending.append(_UnreadLoss(step, loss))
        if type(results) is tuple:  # it is the first one among the leaves if no leaf before it is one
            index = next((number for number, result in enumerate(results) if result is loss), -1)
            self._loss_index = -1 if any(map(_is_loss, tree.leaves(results[: max(index, 0)]))) else index

    def _is_time(self) -> bool:
        step = self.sampled_step
        if step is None or step.reason or self.bad_step is not None or self._is_due:
            return False
        if self.every:
            return self.calls - self._sampled_at >= self.every
        if self.lost_seconds + 1.2 * self.twin_seconds > MAX_LOST_SHARE * self.elapsed_seconds:
            return False
        if self.calls < self._patient_until:
            return False
        processor = time.process_time() - self._processor_began  # takes as long as a short step where threads are many
        is_time = self._processor_lost + 1.2 * self._twin_processor_seconds <= MAX_LOST_SHARE * processor
        if not is_time:
            self._patient_until = self.calls + max(self.calls // 8, 16)
        return is_time

    def _read_losses(self, wait: bool) -> None:
        while self._pending:
            step, loss = self._pending[0]
            if loss.is_deleted():
                self._pending.popleft()
                continue
            if not wait and not loss.is_ready():
                return
            self._pending.popleft()
            try:
                number = _read_scalar(loss)
            except Exception:  # the call failed: whoever uses its results gets the error
                self.notes["the losses of calls that failed are missing"] = None
                continue
            self.losses.append(step, number)
            if np.isfinite(number):
                self._last_good = step
            if not np.isfinite(number) and self.bad_step is None:
                self._note_bad(step, list(self._held))

    def _note_bad(self, step: int, calls: list[_Held]) -> None:
        """Note the first call that computes NaN or infinity; find where, among the calls up to it that are held.

        Calls before the last finite loss are good. Of the others the first one is bisected whose results are not
        finite; several such calls may have finite arguments.
        """
        began = self._now()
        self.bad_step = step
        candidates = [call for call in calls if self._last_good <= call.step <= step and not _is_deleted(call)]
        low, high = 0, len(candidates)
        while low < high:
            middle = (low + high) // 2
            call = candidates[middle]
            report = self._probe(self._function(), call.args, call.kwargs)
            births = [birth for birth in report.births if birth.reaches_results]
            if births and not births[0].is_argument:
                self.bad_step, self.report = call.step, report  # unless an earlier call does, too
            low, high = (low, middle) if births else (middle + 1, high)
        self._most_held = 0
        self._held = deque(maxlen=0)
        self._pause(began)
        self._changed()

    def _now(self) -> tuple[float, float]:
        return time.perf_counter(), time.process_time()

    def _pause(self, began: tuple[float, float]) -> None:
        """Leave the time since ``began`` out of the loop's."""
        seconds, processor = self._now()
        self._paused += seconds - began[0]
        self._processor_began += processor - began[1]

    @property
    def birth(self) -> Birth | None:
        """Return the first birth that reached a result of the bad call; None where none was found."""
        births = () if self.report is None else self.report.births
        return next((birth for birth in births if birth.reaches_results), None)
