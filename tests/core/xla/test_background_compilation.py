"""A compilation whose call is interrupted goes on, is taken up, is told of, bounded, and ends with the process."""

import os
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import records
from xlascope.xla.cache import background_compilation
from xlascope.xla.system import worker_thread
from xlascope_widgets.text import text

X = np.float32([0.1, 0.2])

SOURCE = """
def chain(x):
    for _ in range(60):
        x = jnp.sin(x) * {factor} + jnp.cos(x)
    return x
"""


def chain(factor):
    """A function of a cell: equal each time that the cell runs. It takes XLA long enough to be interrupted."""
    names = {"jnp": jnp}
    exec(compile(SOURCE.format(factor=factor), f"cell {factor}", "exec"), names)
    f = names["chain"]
    return xs.jit(lambda x: f(x) + 0.0 * xs.grad(lambda x: jnp.sum(f(x)))(x))


def check(result, factor):
    names = {"jnp": np}
    exec(SOURCE.format(factor=factor), names)
    np.testing.assert_allclose(result, names["chain"](X), rtol=1e-4)


@pytest.fixture(autouse=True)
def nothing_left():
    background_compilation._wait_for_slot()
    yield
    for each in background_compilation._abandoned:
        each.work.wait()
    background_compilation.drop_finished()


def interrupted(call, stage="compile"):
    """The records of a call that is interrupted when XLA has begun to compile or run for it."""
    seen = []

    def interrupt():
        while stage == "compile" and len(worker_thread._running_tasks) == before:
            time.sleep(0.005)
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    def watcher(record):
        seen.append(record)
        if isinstance(record, records.Started) and record.stage == stage:
            threading.Thread(target=interrupt).start()

    before = len(worker_thread._running_tasks)
    with records.watch(watcher), pytest.raises(KeyboardInterrupt):
        call()
        time.sleep(5)  # it was faster than the signal
    return seen


def watched(call):
    seen = []
    with records.watch(seen.append):
        result = call()
    return result, seen


def of(kind, seen):
    return [record for record in seen if isinstance(record, kind)]


@pytest.mark.parametrize("again", ["same", "another"])
def test_the_next_call_takes_up_what_was_left(again):
    """The same function, or the one that its cell defines when it is run again."""
    factor = 1.25 if again == "same" else 1.75
    f = chain(factor)
    interrupted(lambda: f(X))
    began = time.time()
    g = f if again == "same" else chain(factor)
    result, seen = watched(lambda: np.asarray(g(X)))
    (compiled,) = of(records.Compiled, seen)
    assert compiled.time < began and compiled.cache == "miss"
    check(result, factor)
    assert background_compilation._abandoned == []


def test_what_has_finished_is_dropped(monkeypatch):
    finished, running = (SimpleNamespace(work=SimpleNamespace(is_done=is_done)) for is_done in (True, False))
    monkeypatch.setattr(background_compilation, "_abandoned", [finished, running, finished])
    background_compilation.drop_finished()
    assert background_compilation._abandoned == [running]


def test_what_is_left_belongs_to_one_program():
    interrupted(lambda: chain(1.5)(X))
    began = time.time()
    result, seen = watched(lambda: np.asarray(chain(1.125)(X)))
    (compiled,) = of(records.Compiled, seen)
    assert compiled.time >= began
    check(result, 1.125)


def test_it_is_told_as_long_as_it_lasts():
    f = chain(1.375)
    seen = interrupted(lambda: f(X))
    (going,) = of(records.Continued, seen)
    assert going.seconds is None
    assert "still being compiled in the background" in text(seen, jaxpr=False)
    ended = []
    with records.watch(ended.append):
        background_compilation._abandoned[0].work.wait()
        while not of(records.Continued, ended):
            time.sleep(0.01)
    assert of(records.Continued, ended)[-1].seconds > 0
    assert "background" not in text([*seen, *ended], jaxpr=False)
    assert records.from_json(records.to_json(going)) == going


def test_few_go_on_at_a_time():
    programs = [chain(factor) for factor in (1.0625, 1.1875, 1.3125)]
    for f in programs[:2]:
        interrupted(lambda f=f: f(X))
    most, done = [], threading.Event()

    def look():
        while not done.wait(0.005):
            most.append(len(worker_thread._running_tasks))

    looking = threading.Thread(target=look)
    looking.start()
    programs[2](X)
    done.set()
    looking.join()
    assert max(most) <= background_compilation._MAX_RUNNING_COMPILATIONS, "the third has to wait for one of them"
    for f, factor in zip(programs, (1.0625, 1.1875, 1.3125), strict=True):
        check(np.asarray(f(X)), factor)


def test_an_interrupt_that_waits_until_a_callback_begins_comes_out():
    def called(v):
        return np.asarray(v) + 1

    def f(x):
        x = xs.lax.fori_loop(0, 3_000_000, lambda i, v: jnp.sin(v) + 0.5, x)
        return xs.pure_callback(called, x, x)

    interrupted(lambda: xs.jit(f)(X), stage="run")


def test_work_goes_on_when_its_waiter_is_interrupted():
    go_on, done = threading.Event(), threading.Event()

    def work():
        assert threading.get_ident() != threading.main_thread().ident
        go_on.wait()
        done.set()

    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        worker_thread.run_uninterruptible(work)
    assert not done.is_set()
    go_on.set()
    assert done.wait(30)


def test_other_threads_do_it_themselves():
    where = []
    thread = threading.Thread(target=lambda: where.append(worker_thread.run_uninterruptible(threading.get_ident)))
    thread.start()
    thread.join()
    assert where == [thread.ident]


def test_an_error_is_that_of_the_work():
    with pytest.raises(ZeroDivisionError):
        worker_thread.run_uninterruptible(lambda: 1 // 0)


FORKED = """
import os
from xlascope.xla.system.worker_thread import run_uninterruptible
run_uninterruptible(lambda: 0)
child = os.fork()
if child == 0:
    os._exit(run_uninterruptible(lambda: 7))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_the_child_of_a_fork_has_threads_of_its_own(fresh_python):
    assert fresh_python(FORKED) == "7\n"


ENDING = """
import atexit, os, signal, sys, threading
import numpy as np
import xlascope as xs
import xlascope.numpy as jnp
from xlascope import records
from xlascope.xla.system import worker_thread

worker_thread.EXIT_WAIT_SECONDS = {patience}

def f(x):
    for _ in range(60):
        x = jnp.sin(x) * 1.5 + jnp.cos(x) @ jnp.ones((2, 2))
    return jnp.sum(x)

def watcher(record):
    if isinstance(record, records.Started) and record.stage == "compile":
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()

x = jnp.ones((2, 2)) + np.ones((2, 2), np.float32)
atexit.register(print, "ended in order", flush=True)
records.watch(watcher)
try:
    xs.jit(xs.grad(f))(x)
except KeyboardInterrupt:
    if {raises}:
        raise
    sys.exit(3)
"""


@pytest.mark.parametrize(("patience", "raises"), [(0.0, False), (0.5, False), (0.5, True)])
def test_the_process_ends_while_the_compiler_works(patience, raises):
    program = ENDING.format(patience=patience, raises=raises)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == (-signal.SIGINT if raises else 3), done.stderr
    assert done.stdout == "ended in order\n"
    assert "terminate" not in done.stderr and "FATAL" not in done.stderr
