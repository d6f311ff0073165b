"""Exceptions injected at a chosen point of the library, and the programs that they are injected into.

``Calls`` raises where CPython can deliver an asynchronous exception (a KeyboardInterrupt): when a function of ours is
entered or left, when one written in C has been called or has returned. ``Lines`` raises in front of a line.
"""

from __future__ import annotations

import ast
import inspect
import os
import random
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import records
from xlascope.records.watchers import watchers
from xlascope.runtime import boot
from xlascope.trace.state import STATE
from xlascope.xla.profiling.profiler_windows import Window, current_holder

ROOT = os.path.dirname(os.path.abspath(xs.__file__)) + os.sep


#: C functions that do what they have to do before a signal is looked for: what ends a block.
UNINTERRUPTED = frozenset({"__exit__", "set_local", "release"})


class Injected(BaseException):
    """What is injected: no handler of ours for ``Exception`` may swallow it."""


class Calls:
    """Raises at the ``at``-th call or return, Python's or C's, in the library; counts them all when ``at`` is 0."""

    def __init__(self, at: int = 0) -> None:
        self.at = at
        self.sites: list[Any] = []
        self.place = ""

    def __enter__(self) -> None:
        self._before = sys.getprofile()
        sys.setprofile(self._event)

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._before)

    def _event(self, frame: Any, event: str, argument: Any) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(ROOT):
            return
        called = getattr(argument, "__name__", "") if event.startswith("c_") else ""
        if event == "c_call" and called in UNINTERRUPTED:
            return
        if event == "return" and code.co_flags & inspect.CO_GENERATOR:
            return  # raising here would end it where it yields, which nothing else does
        self.sites.append((code, frame.f_lineno, event, called))
        if len(self.sites) == self.at:
            sys.setprofile(None)
            self.place = f"{event} {called} in {code.co_qualname} ({code.co_filename[len(ROOT) :]}:{frame.f_lineno})"
            raise Injected(self.place)


class Lines:
    """Raises in front of the ``at``-th line that the library executes; counts them all when ``at`` is 0.

    Lines of ``finally`` and ``with`` blocks' ends are left alone: CPython delivers nothing in front of them, only after
    calls in them, which is what :class:`Calls` does.
    """

    def __init__(self, at: int = 0) -> None:
        self.at = at
        self.sites: list[Any] = []
        self.place = ""

    def __enter__(self) -> None:
        self._before = sys.gettrace()  # that of coverage, where it runs
        sys.settrace(self._entered)

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _entered(self, frame: Any, event: str, argument: Any) -> Any:
        return self._line if frame.f_code.co_filename.startswith(ROOT) else None

    def _line(self, frame: Any, event: str, argument: Any) -> Any:
        code = frame.f_code
        if event != "line" or frame.f_lineno in clean_up_lines(code.co_filename):
            return self._line
        self.sites.append((code, frame.f_lineno))
        if len(self.sites) == self.at:
            sys.settrace(None)
            self.place = f"line {code.co_filename[len(ROOT) :]}:{frame.f_lineno} in {code.co_qualname}"
            raise Injected(self.place)
        return self._line


_clean_up: dict[str, frozenset[int]] = {}


def clean_up_lines(filename: str) -> frozenset[int]:
    """The lines of a file at which a block's end is carried out: those of ``finally``, and of ``with`` itself."""
    found = _clean_up.get(filename)
    if found is None:
        lines: set[int] = set()
        with open(filename) as file:
            for node in ast.walk(ast.parse(file.read())):
                if isinstance(node, ast.Try):
                    for statement in node.finalbody:
                        lines.update(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
                if isinstance(node, ast.With):
                    lines.add(node.lineno)
        found = _clean_up[filename] = frozenset(lines)
    return found


# The programs: each returns a call that can be made again, and gives a value that can be compared ---------------------


def nested() -> Callable[[], Any]:
    """Staging of all transformations and control flow; compiles nothing."""

    @xs.custom_jvp
    def g(x):
        return jnp.sin(x)

    @g.defjvp
    def g_jvp(primals, tangents):
        return g(*primals), jnp.cos(primals[0]) * tangents[0]

    @xs.custom_vjp
    def k(x):
        return x * x

    k.defvjp(lambda x: (k(x), x), lambda x, ct: (2.0 * x * ct,))

    @xs.checkpoint
    def h(x):
        return jnp.sin(x) * x

    def body(c, x):
        return h(c) * x, c

    def f(x, y):
        c, ys = xs.lax.scan(body, x, y)
        c = xs.lax.while_loop(lambda v: v[0] < 3, lambda v: (v[0] + 1, v[1]), (0, c))[1] + c
        return xs.lax.cond(c > 0, g, lambda c: c * 2.0, c) + jnp.sum(ys)

    def first(x, y):
        return xs.jvp(xs.jit(f), (x, y), (x, y))[1]

    def second(x, y):
        c, ys = xs.lax.scan(body, x, y)
        return xs.lax.cond(c > 0, g, lambda c: k(c) * 2.0, c) + xs.lax.psum(jnp.sum(ys), "i")

    x, y = np.float32([0.5, 1.5]), np.float32([1.0, 2.0])
    backward = xs.jit(xs.vmap(xs.grad(xs.jit(second)), (0, None), axis_name="i"))
    return lambda: [str(xs.make_jaxpr(p)(x, y)) for p in (backward, xs.vmap(first, (0, None)))]


def compiled() -> Callable[[], Any]:
    """A small program traced, lowered, compiled and run by jit."""
    f = xs.jit(lambda x: jnp.sin(x) * 2.0)
    return lambda: np.asarray(f(np.float32(0.5))).tolist()


def lowered() -> Callable[[], Any]:
    """A program with control flow as StableHLO."""

    def f(x):
        c, ys = xs.lax.scan(lambda c, v: (jnp.sin(c) * v, c), 1.0, x)
        return xs.lax.cond(c > 0, jnp.sum, jnp.prod, ys)

    g = xs.jit(xs.value_and_grad(f))

    def call() -> str:
        text = g.lower(np.float32([1.0, 2.0])).as_text()
        return text.split("\n", 1)[1]  # the module's name holds a number

    return call


def eager() -> Callable[[], Any]:
    """Derivatives and control flow outside of jit, operation by operation, and settings for a while."""
    g = xs.grad(lambda x: jnp.sum(x * x) + xs.lax.cond(x[0] > 0, jnp.sin, jnp.cos, x[1]))

    def call() -> Any:
        x = jnp.asarray([0.5, 2.0])
        with xs.disable_jit():
            unjitted = xs.jit(jnp.tanh)(x[0])
        with xs.enable_x64(), xs.default_matmul_precision("float32"):
            wide = jnp.asarray(0.5) * 2
        return np.asarray(g(x)).tolist(), float(unjitted), str(wide.dtype)

    return call


def operations() -> Callable[[], Any]:
    """Single operations that are not compiled yet."""

    def call() -> Any:
        xs.clear_caches()
        return np.asarray(xs.lax.sin(jnp.asarray([0.5, 2.0]))).tolist()

    return call


def profiled() -> Callable[[], Any]:
    """A window of XLA's one profiler, and a trace that is written into a folder."""

    def call() -> Any:
        with Window() as window:
            pass
        with tempfile.TemporaryDirectory() as folder:
            with xs.profiler.trace(folder):
                pass
            return bool(window.data), os.listdir(folder)

    return call


PROGRAMS: dict[str, Callable[[], Callable[[], Any]]] = {
    "nested": nested,
    "compiled": compiled,
    "lowered": lowered,
    "eager": eager,
    "operations": operations,
    "profiled": profiled,
}
MODES: dict[str, Any] = {"calls": Calls, "lines": Lines}


# Carrying out ---------------------------------------------------------------------------------------------------------


def left_behind() -> list[str]:
    """What an interrupted call has left on this thread that should not be there."""
    found = {
        "a trace": STATE.trace,
        "an origin": STATE.origin,
        "named axes": STATE.axes,
        "a batch": STATE.batch,
        "in_trace": boot.in_trace.value,
        "disable_jit": boot.disable_jit.value,
        "enable_x64": boot.enable_x64.value,
        "trace settings": boot.trace_settings.value,
        "a profiler": current_holder(),
    }
    return [what for what, value in found.items() if value]


def clean() -> None:
    """Put this thread back into its first state, so that one failure does not make others."""
    STATE.trace = STATE.origin = STATE.batch = None
    STATE.axes = ()
    for state in (boot.in_trace, boot.disable_jit, boot.enable_x64):
        state.set_local(False)
    boot.default_matmul_precision.set_local(boot.UNSET)
    boot.note_blocks(False)


def sites(program: str, mode: str) -> list[Any]:
    """The places at which something can be injected into a program's first call, in order."""
    call = PROGRAMS[program]()
    counter = MODES[mode]()
    with counter:
        call()
    return list(counter.sites)


def sample(found: list[Any], size: int, seed: int) -> list[int]:
    """Seeded numbers of injections, spread over different places: no place twice before each had its turn."""
    chance = random.Random(seed)
    occurrences: dict[Any, list[int]] = {}
    for number, site in enumerate(found, 1):
        occurrences.setdefault(site, []).append(number)
    places = list(occurrences.values())
    return sorted(chance.choice(numbers) for numbers in chance.sample(places, min(size, len(places))))


def inject(program: str, mode: str, at: int, wanted: Any) -> list[str]:
    """Interrupt a fresh program's call at a point; returns what is wrong afterwards, nothing if all is well."""
    call = PROGRAMS[program]()
    injection = MODES[mode](at)
    seen: list[Any] = []
    wrong = []
    with records.watch(seen.append):
        before = list(watchers)
        try:
            with injection:
                call()
        except Injected:
            pass
        except BaseException as error:
            wrong.append(f"raised {error!r} instead")
        if watchers != before:
            wrong.append("a watcher was dropped")
    wrong += [f"left {what}" for what in left_behind()]
    clean()
    for again in ("the second call", "the third call"):
        try:
            got = call()
        except BaseException as error:
            wrong.append(f"{again} raised {error!r}")
            clean()
        else:
            if got != wanted:
                wrong.append(f"{again} gave {got!r}")
    return [f"{program}, {mode} {at}, {injection.place}: {what}" for what in wrong]
