"""A process that is interrupted while XLA compiles and runs for it; prints what happened as JSON.

``signal``: the main thread gets a SIGINT, as from Ctrl-C or a notebook's stop button. ``thread``: a thread gets a
KeyboardInterrupt from another one.
"""

from __future__ import annotations

import ctypes
import json
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.runtime import boot
from xlascope.trace.state import STATE

_STEPS = 30
_X = np.float32([0.1, 0.2])


def fresh() -> Callable[[], list[float]]:
    """A program that takes long enough to be interrupted in each of its stages, all of them unseen."""

    def step(x):
        for _ in range(_STEPS):
            x = jnp.sin(x) * 1.5 + jnp.cos(x)
        return x

    def f(x):
        x = step(x)
        return jnp.sum(xs.lax.fori_loop(0, 30_000, lambda i, v: jnp.sin(v) + 0.5, x) + xs.vmap(step)(x))

    g = xs.jit(xs.grad(f))
    return lambda: np.asarray(g(_X)).tolist()


def by_signal(after: float, call: Callable[[], Any]) -> Any:
    """The call, with a SIGINT to this process after so many seconds."""
    timer = threading.Timer(after, signal.raise_signal, (signal.SIGINT,))
    timer.start()
    try:
        return call()
    finally:
        timer.cancel()
        timer.join()


def by_thread(after: float, call: Callable[[], Any]) -> Any:
    """The call in a thread that gets a KeyboardInterrupt from here after so many seconds."""
    caught: list[BaseException] = []
    left: list[Any] = []

    def work() -> None:
        try:
            call()
        except KeyboardInterrupt as error:
            caught.append(error)
        left.extend(left_behind())

    worker = threading.Thread(target=work)
    worker.start()
    worker.join(after)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(worker.ident or 0), ctypes.py_object(KeyboardInterrupt))
    worker.join()
    if left:
        raise AssertionError(f"the thread was left with {left}")
    if caught:
        raise KeyboardInterrupt


def left_behind() -> list[str]:
    found = {"trace": STATE.trace, "origin": STATE.origin, "axes": STATE.axes, "in_trace": boot.in_trace.value}
    return [name for name, value in found.items() if value]


def main(kind: str, count: int) -> dict[str, Any]:
    wanted = fresh()()
    call = fresh()
    began = time.perf_counter()
    call()
    whole = time.perf_counter() - began
    interrupted, wrong = 0, []
    for number in range(count):
        call = fresh()
        after = whole * (number + 0.5) / count
        try:
            (by_signal if kind == "signal" else by_thread)(after, call)
        except KeyboardInterrupt:
            interrupted += 1
        if left_behind():
            wrong.append(f"after {after:.3f} s: left {left_behind()}")
        for _ in range(2):
            if call() != wanted:
                wrong.append(f"after {after:.3f} s: {call()} instead of {wanted}")
    return {"interrupted": interrupted, "wrong": wrong}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]))))
