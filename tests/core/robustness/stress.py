"""Eight threads that trace, differentiate, batch, compile and run at once; prints what happened as JSON.

Arguments: for how many seconds, and ``watched`` to have records made meanwhile. A deadlock ends the process with the
stack of every thread.
"""

from __future__ import annotations

import faulthandler
import json
import random
import sys
import threading
import time
import traceback
from typing import Any

import numpy as np
from numpy.testing import assert_allclose  # threads that find it first at once recurse: NumPy imports it lazily

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import records
from xlascope.runtime import boot
from xlascope.trace.state import STATE

_THREADS = 8
#: Tasks that each thread does, however long that takes.
_AT_LEAST = 3
#: Each run of the body of ``shared`` adds one: how often it was traced (or run, where jit is disabled).
_runs: list[bool] = []


def _shared(x):
    _runs.append(STATE.trace is not None)
    return jnp.sum(jnp.sin(x) * x)


shared = xs.jit(_shared)
shared_gradient = xs.jit(xs.grad(lambda x: jnp.sum(jnp.sin(x) * x)))
shared_batched = xs.jit(xs.vmap(lambda x: jnp.sum(jnp.sin(x) * x)))
checkpointed = xs.checkpoint(lambda x: jnp.sin(jnp.sin(x)))


@xs.custom_jvp
def exponential(x):
    return jnp.exp(x)


exponential.defjvp(lambda p, t: (exponential(*p), exponential(p[0]) * t[0]))


def _step(c, x):
    return c * 0.5 + jnp.sin(x), c


def _value(x):
    return np.sum(np.sin(x) * x)


def _slope(x):
    return np.sin(x) + x * np.cos(x)


def _close(got: Any, wanted: Any, tolerance: float = 1e-5) -> None:
    assert_allclose(np.asarray(got), wanted, rtol=tolerance, atol=tolerance)


class Worker:
    """What one thread does: tasks in an order of its own."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.done = 0
        self.failure = ""

    def vector(self) -> Any:
        size = self.chance.choice([1, 2, 3, 5, 8])
        return np.array([self.chance.uniform(-1, 1) for _ in range(size)], np.float32)

    def task_jit(self) -> None:
        x = self.vector()
        _close(shared(x), _value(x))

    def task_fresh_jit(self) -> None:
        x, k = self.vector(), self.chance.uniform(1, 2)
        _close(xs.jit(lambda x: jnp.sum(x * k))(x), np.sum(x * k))

    def task_grad(self) -> None:
        x = self.vector()
        _close(xs.grad(shared)(x), _slope(x))
        _close(shared_gradient(x), _slope(x))

    def task_vmap(self) -> None:
        x = np.stack([self.vector()[:1] for _ in range(4)])
        _close(xs.vmap(shared)(x), (np.sin(x) * x).sum(1))
        _close(shared_batched(x), (np.sin(x) * x).sum(1))

    def task_scan(self) -> None:
        x = self.vector()
        weights = 0.5 ** np.arange(len(x) - 1, -1, -1)
        _close(xs.lax.scan(_step, 0.0, x)[0], np.sum(np.sin(x) * weights))
        _close(xs.grad(lambda x: xs.lax.scan(_step, 0.0, x)[0])(x), np.cos(x) * weights)

    def task_cond(self) -> None:
        v = self.chance.uniform(-1, 1)
        _close(xs.lax.cond(v > 0, jnp.sin, jnp.cos, v), np.sin(v) if v > 0 else np.cos(v))

    def task_while(self) -> None:
        n = self.chance.randint(1, 9)
        found = xs.lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 2.0), (0, 1.0))
        _close(found[1], 2.0**n)

    def task_eager(self) -> None:
        x = self.vector()
        y = jnp.asarray(x)
        _close((y * 2.0 + 1.0)[0] - y.sum(), x[0] * 2 + 1 - x.sum(), 1e-4)
        _close(jnp.where(y > 0, y, -y), abs(x))
        _close(y[:1] * 3, x[:1] * 3)

    def task_jaxpr(self) -> None:
        text = str(xs.make_jaxpr(xs.grad(_shared))(np.ones(3, np.float32)))
        assert text == JAXPR, text

    def task_custom_rule(self) -> None:
        v = self.chance.uniform(-1, 1)
        _close(xs.grad(exponential)(v), np.exp(v))
        _close(xs.grad(checkpointed)(v), np.cos(np.sin(v)) * np.cos(v))

    def task_x64(self) -> None:
        with xs.enable_x64():
            x = self.vector().astype(np.float64)
            y, slope = shared(x), xs.grad(shared)(x)
            assert y.dtype == slope.dtype == jnp.sin(x).dtype == np.float64, (y.dtype, slope.dtype)
            _close(y, _value(x), 1e-12)
            _close(slope, _slope(x), 1e-12)
        assert shared(x).dtype == np.float32

    def task_disabled(self) -> None:
        with xs.disable_jit():
            x = self.vector()
            _close(shared(x), _value(x))

    def work(self, stop: float) -> None:
        tasks = [getattr(self, name) for name in dir(self) if name.startswith("task_")]
        try:
            while time.monotonic() < stop or self.done < _AT_LEAST:  # on a busy machine the time may be too short
                self.chance.choice(tasks)()
                self.done += 1
                left = [STATE.trace, STATE.origin, STATE.axes, boot.in_trace.value, boot.disable_jit.value]
                assert not any(left), left
        except BaseException:
            self.failure = traceback.format_exc()


JAXPR = str(xs.make_jaxpr(xs.grad(_shared))(np.ones(3, np.float32)))


def hammer(seconds: float) -> dict[str, Any]:
    """Let all threads work, then see whether the traces that they made are all there."""
    _runs.clear()
    workers = [Worker(seed) for seed in range(_THREADS)]
    stop = time.monotonic() + seconds
    threads = [threading.Thread(target=worker.work, args=(stop,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    signatures = list(shared._jitted.traces)
    before = len(_runs)
    for signature in signatures:  # every trace that was made is kept: none is made again
        (aval,) = signature.avals
        with xs.enable_x64(aval.dtype == np.float64):
            if not aval.weak_type:
                shared(np.zeros(aval.shape, aval.dtype))
    return {
        "done": [worker.done for worker in workers],
        "failures": [worker.failure for worker in workers if worker.failure],
        "signatures": len(signatures),
        "retraced": len(_runs) - before,
        "jax imported": sys.modules.get("jax") is not None,
    }


def main(seconds: float, watched: bool) -> dict[str, Any]:
    faulthandler.enable()
    faulthandler.dump_traceback_later(seconds + 120, exit=True)
    sys.setswitchinterval(1e-5)
    if not watched:
        return hammer(seconds)
    seen: list[records.Record] = []
    with records.watch(seen.append):
        found = hammer(seconds)
    started = [r.program for r in seen if isinstance(r, records.Started) and r.stage == "trace"]
    traced = [r.program for r in seen if isinstance(r, records.Traced)]
    compiled = [r.program for r in seen if isinstance(r, records.Compiled)]
    return found | {
        "records": len(seen),
        "traces without a record": len(set(started) - set(traced)),
        "numbers given twice": len(started) - len(set(started)),
        "compiled without a trace": len(set(compiled) - set(traced)),
        "failed": sum(isinstance(r, records.Failure) for r in seen),
    }


if __name__ == "__main__":
    print(json.dumps(main(float(sys.argv[1]), "watched" in sys.argv)))
