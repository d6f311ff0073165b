"""Interrupts in each state that a call can be in; prints as JSON what became of them.

    python interrupts.py STATE COUNT [watched]

In a kernel the cells of ``test_interrupts.py`` use :func:`prepare`, :func:`attempt` and :func:`wrong`.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import records
from xlascope.readers.profiles import read_profile
from xlascope.runtime import boot
from xlascope.trace.state import STATE
from xlascope.xla.profiling.profiler_windows import Window, current_holder

#: Attempts for each interrupt that is to meet its state: on a busy machine most come too early or too late.
TRIES = 40
_X = np.float32([0.1, 0.2, 0.3])
_random = random.Random(11)
_known: dict[str, float] = {}


class Attempt(NamedTuple):
    """A call to be interrupted, what it gives, and the files of which a frame shows that it was in its state."""

    call: Callable[[], Any]
    wanted: Any
    files: tuple[str, ...]


def _chain(steps: int) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """A function nobody has seen, and the same in NumPy."""
    factor = np.float32(_random.uniform(0.5, 1.5))

    def step(numpy: Any, x: Any) -> Any:
        for _ in range(steps):
            x = numpy.sin(x) * factor + numpy.cos(x)
        return x

    return lambda x: step(jnp, x), lambda x: step(np, x)


def compiling() -> Attempt:
    f, reference = _chain(20)

    def both(x):
        return f(x) + xs.grad(lambda x: jnp.sum(f(x)))(x) * 0.0

    g = xs.jit(both)
    return Attempt(lambda: np.asarray(g(_X)), reference(_X), ("worker_thread.py",))


def tracing() -> Attempt:
    f, _ = _chain(200)

    def call() -> Any:
        program = xs.make_jaxpr(xs.grad(lambda x: jnp.sum(f(x))))(_X)
        return np.float32(len(program.eqns) > 600)

    return Attempt(call, np.float32(1), ("jaxpr_trace.py", "differentiate.py", "transpose.py", "tracer.py"))


def lowering() -> Attempt:
    f, _ = _chain(2000)
    traced = xs.jit(f).trace(_X)
    return Attempt(
        lambda: np.float32("sine" in traced.lower().as_text()),
        np.float32(1),
        ("module_lowering.py", "compile_program.py"),
    )


def running() -> Attempt:
    bound = 1_000_000
    f = _shared("running", lambda: xs.jit(lambda x: xs.lax.fori_loop(0, bound, lambda i, v: jnp.sin(v) + 0.5, x)))
    wanted = _shared("ran", lambda: np.asarray(f(_X)))
    return Attempt(lambda: np.asarray(f(_X).block_until_ready()), wanted, (__file__,))


def profiling() -> Attempt:
    f = _shared("step", lambda: xs.jit(lambda x: xs.lax.fori_loop(0, 30_000, lambda i, v: jnp.sin(v) + 0.5, x)))
    wanted = _shared("stepped", lambda: np.asarray(f(_X)))

    def call() -> Any:
        for _ in range(10):
            with Window() as window:
                result = np.asarray(f(_X))
            read_profile(window.data)
        return result

    return Attempt(call, wanted, ("profiler_windows.py", "profiles.py", __file__))


def loading() -> Attempt:
    """From the cache on disk; every other call has to compile and write first."""
    f, reference = _chain(12)
    folder = _shared("folder", lambda: tempfile.mkdtemp(prefix="xlascope-interrupts-"))

    def call() -> Any:
        xs.config.update("compilation_cache_dir", folder)
        try:
            for _ in range(2):
                result = np.asarray(xs.jit(lambda x: f(x))(_X))
            return result
        finally:
            xs.config.update("compilation_cache_dir", None)

    if _random.random() < 0.7:
        call()
    return Attempt(call, reference(_X), ("persistent_cache.py", "cache_folder.py", "worker_thread.py"))


def calling_back() -> Attempt:
    """A small program calls Python on this thread, a large one on one of XLA's."""
    large = _random.random() < 0.3
    x = np.ones((400, 400), np.float32) if large else _X

    def slowly(v: Any) -> Any:
        for _ in range(40):
            time.sleep(0.005)
        return np.asarray(v) + 1

    f = xs.jit(lambda v: xs.pure_callback(slowly, v, v @ v if large else v * 2) + 1)
    return Attempt(lambda: np.asarray(f(x))[0], (x @ x if large else x * 2)[0] + 2, ("callbacks.py", __file__))


STATES: dict[str, Callable[[], Attempt]] = {
    "compiling": compiling,
    "tracing": tracing,
    "lowering": lowering,
    "running": running,
    "profiling": profiling,
    "loading": loading,
    "calling back": calling_back,
}
_kept: dict[str, Any] = {}
_attempt: Attempt
#: Whether the last attempt was interrupted in the state that was meant.
hit = False


def _shared(name: str, make: Callable[[], Any]) -> Any:
    if name not in _kept:
        _kept[name] = make()
    return _kept[name]


def prepare(state: str) -> float:
    """Get ready for an attempt; returns how long one takes when nobody interrupts it."""
    global _attempt
    if state not in _known:
        STATES[state]().call()  # caches of the library itself
        whole = STATES[state]()
        began = time.perf_counter()
        whole.call()
        _known[state] = time.perf_counter() - began
    _attempt = STATES[state]()
    return _known[state]


def attempt() -> bool:
    """Carry it out; interrupted, says whether that was in the state that was meant, and hands the interrupt on."""
    global hit
    hit = False
    try:
        _attempt.call()
    except KeyboardInterrupt as error:
        files = {os.path.basename(frame.filename) for frame in traceback.extract_tb(error.__traceback__)}
        hit = any(os.path.basename(file) in files for file in _attempt.files)
        raise
    return hit


def wrong() -> list[str]:
    """What is not as it should be after an attempt."""
    found = [f"left {name}" for name, value in _left_behind().items() if value]
    for _ in range(2):
        result = _attempt.call()
        if not np.allclose(result, _attempt.wanted, rtol=1e-3, atol=1e-4):
            found.append(f"{result} instead of {_attempt.wanted}")
    return found


def _left_behind() -> dict[str, Any]:
    return {
        "a trace": STATE.trace,
        "an origin": STATE.origin,
        "named axes": STATE.axes,
        "in_trace": boot.in_trace.value,
        "a profiler window": current_holder() and "xlascope_ipython" not in sys.modules,
    }


def interrupted_once(state: str) -> tuple[bool, list[str]]:
    """One attempt in this process, with a signal to it at some time; whether that met the state, and what is wrong."""
    after = prepare(state) * _random.uniform(0.02, 1.0)
    timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        attempt()
        timer.join()
        time.sleep(0.01)
    except KeyboardInterrupt:
        pass
    timer.join()
    return hit, wrong()


def main(state: str, count: int, watched: bool) -> dict[str, Any]:
    seen: list[Any] = []
    watching = records.watch(seen.append) if watched else None
    hits, tries, found = 0, 0, []
    while hits < count and tries < TRIES * count:
        met, bad = interrupted_once(state)
        hits, tries = hits + met, tries + 1
        found += bad
        seen.clear()
    if watching is not None:
        watching.close()
    return {"hits": hits, "tries": tries, "wrong": found}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), "watched" in sys.argv)))
