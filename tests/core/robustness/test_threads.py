"""Threads that do everything at once get right answers, wait for nobody for ever, and lose no trace and no record."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from tests import compiling

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.trace.state import STATE

HAMMER = Path(__file__).with_name("stress.py")


def _hammered(seconds, *options):
    done = subprocess.run(
        [sys.executable, str(HAMMER), str(seconds), *options],
        capture_output=True,
        env={**os.environ, **compiling.quickly(keep=False), "XLASCOPE_ENABLE_COMPILATION_CACHE": "0"},
        timeout=seconds + 200,
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("seconds", "watched"),
    [
        (2, False),
        (2, True),
        pytest.param(60, False, marks=[pytest.mark.slow, pytest.mark.timeout(400)]),
        pytest.param(60, True, marks=[pytest.mark.slow, pytest.mark.timeout(400)]),
    ],
)
def test_threads_at_once(seconds, watched):
    found = _hammered(seconds, *["watched"] * watched)
    assert found["failures"] == []
    assert all(found["done"]), "every thread has to get on"
    assert found["signatures"] > 0 and found["retraced"] == 0
    assert not found["jax imported"]
    if watched:
        assert found["records"] > 0
        assert found["traces without a record"] == found["compiled without a trace"] == 0
        assert found["numbers given twice"] == found["failed"] == 0


def _in_threads(count, work):
    """What each of several threads returns, all of them started together."""
    together, results, failures = threading.Barrier(count), [None] * count, []

    def run(number):
        try:
            together.wait(30)
            results[number] = work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    if failures:
        raise failures[0]
    return results


def test_the_first_call_of_a_function_from_many_threads():
    """They may all trace it; what they get is right, and afterwards there is one trace."""
    for _ in range(5):
        f = xs.jit(lambda x: jnp.sum(jnp.sin(x) * x))
        results = _in_threads(8, lambda number, f=f: float(f(np.float32([1.0, 2.0]))))
        assert results == [results[0]] * 8
        assert len(f._jitted.traces) == 1


def test_a_trace_of_one_thread_is_not_that_of_another():
    inside, go_on = threading.Event(), threading.Event()

    def f(x):
        inside.set()
        assert go_on.wait(60)
        return x * 2.0

    results = []
    thread = threading.Thread(target=lambda: results.append(xs.make_jaxpr(f)(1.0)))
    thread.start()
    assert inside.wait(60)
    assert STATE.trace is None
    assert float(jnp.sin(0.0) + 1.0) == 1.0  # runs here, and is not recorded there
    go_on.set()
    thread.join(60)
    assert [str(e.primitive) for e in results[0].eqns] == ["mul"]


def test_a_tracer_of_another_thread_is_refused():
    def f(x):
        def elsewhere(number):
            return jnp.sin(x)

        with pytest.raises(xs.errors.UnexpectedTracerError):
            _in_threads(1, elsewhere)
        return x * 2.0

    assert [str(e.primitive) for e in xs.make_jaxpr(f)(1.0).eqns] == ["mul"]


def test_settings_belong_to_the_thread_that_sets_them():
    f = xs.jit(lambda x: x * 2)

    def work(number):
        with xs.enable_x64(bool(number % 2)):
            return {str(f(np.float64(i)).dtype) for i in range(50)}

    assert _in_threads(8, work) == [{"float64"} if number % 2 else {"float32"} for number in range(8)]


#: A daemon thread that computes while the process ends; before Python 3.14, C++ aborts the process for that.
COMPUTES_TO_THE_END = """
import sys, threading
import xlascope as xs, xlascope.numpy as jnp
step = xs.jit(lambda x: jnp.tanh(x @ x))
def work():
    x = jnp.ones((300, 300))
    while True:
        x = step(x)
        began.set()
        jnp.sin(x[:7]) + 1
began = threading.Event()
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
began.wait(60)
sys.exit(3)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="what stops the threads there exists on Linux alone")
def test_a_daemon_thread_may_compute_while_the_process_ends():
    command = [sys.executable, "-c", COMPUTES_TO_THE_END]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (3, "")
