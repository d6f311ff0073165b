"""Interrupts never kill: in each state of a call, in a script and in a kernel, watched or not.

The processes that are interrupted run ``interrupts.py``; a death is their exit status, a deadlock the timeout.
"""

import contextlib
import importlib.util
import json
import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from jupyter_client.manager import start_new_kernel

HERE = Path(__file__).parent
INTERRUPTS = HERE / "interrupts.py"
_spec = importlib.util.spec_from_file_location("xlascope_interrupts", INTERRUPTS)
interrupts = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(interrupts)

ENVIRONMENT = {**os.environ, "XLASCOPE_ENABLE_COMPILATION_CACHE": "0", "XLASCOPE_TRACEBACK_FILTERING": "off"}
SPINNERS = 2


@contextlib.contextmanager
def busy_cores(count=SPINNERS):
    """Processes that keep the cores busy: on a quiet machine the compiler is done too soon to be caught."""
    command = [sys.executable, "-c", "import os\nos.nice(5)\nwhile os.getppid() != 1: pass"]
    spinners = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for each in spinners:
            each.kill()
            each.wait()


def in_a_script(state, count, watched):
    command = [sys.executable, str(INTERRUPTS), state, str(count), *["watched"] * watched]
    done = subprocess.run(command, capture_output=True, env=ENVIRONMENT, timeout=60 + 12 * count)
    assert done.returncode == 0, f"it ended with {done.returncode}: {done.stderr.decode()[-2000:]}"
    return json.loads(done.stdout)


class Kernel:
    """A kernel whose cells are interrupted."""

    def __init__(self, watched):
        self.manager, self.client = start_new_kernel(env=ENVIRONMENT)
        setup = f"import sys; sys.path.insert(0, {str(HERE)!r}); import interrupts"
        assert self.run(setup)[0] is None
        if watched:
            assert self.run("%load_ext xlascope")[0] is None

    def run(self, code, interrupt_after=None):
        """The name of the error that a cell raised, or None; and what it printed."""
        sent = self.client.execute(code)
        timer = threading.Timer(interrupt_after or 0.0, self.manager.interrupt_kernel)
        if interrupt_after is not None:
            timer.start()
        error, printed = None, ""
        while True:
            message = self.client.get_iopub_msg(timeout=120)
            kind, content = message["msg_type"], message["content"]
            if message["parent_header"].get("msg_id") != sent:
                continue
            if kind == "stream" and content["name"] == "stdout":
                printed += content["text"]
            if kind == "error":
                error = content["ename"]
            if kind == "status" and content["execution_state"] == "idle":
                break
        if interrupt_after is not None:
            timer.join()
        return error, printed

    def surely(self, code):
        """What a cell prints; an interrupt that came late may meet it, so it is tried again."""
        for _ in range(3):
            error, printed = self.run(code)
            if error is None:
                return printed
        raise AssertionError(f"{code} raised {error}")

    def stop(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def in_a_kernel(state, count, watched):
    kernel, chance = Kernel(watched), random.Random(12)
    try:
        hits, tries, wrong = 0, 0, []
        while hits < count and tries < interrupts.TRIES * count:
            whole = float(kernel.surely(f"print(interrupts.prepare({state!r}))"))
            kernel.run("interrupts.attempt()", chance.uniform(0.02, 1.0) * whole)
            met, bad = json.loads(kernel.surely("print(interrupts.json.dumps([interrupts.hit, interrupts.wrong()]))"))
            hits, tries, wrong = hits + met, tries + 1, wrong + bad
        assert kernel.manager.is_alive()
        return {"hits": hits, "tries": tries, "wrong": wrong}
    finally:
        kernel.stop()


PLACES = {"script": in_a_script, "kernel": in_a_kernel}


def _interrupted(state, place, watched, count):
    with busy_cores():
        found = PLACES[place](state, count, watched)
    print(f"{state}, {place}, {'watched' if watched else 'unwatched'}: {found}")
    assert found["wrong"] == []
    assert found["hits"] == count, found


@pytest.mark.live
@pytest.mark.parametrize(("place", "watched"), [("script", False), ("kernel", True)])
def test_an_interrupted_compilation(place, watched):
    _interrupted("compiling", place, watched, 6)


@pytest.mark.live
@pytest.mark.parametrize("state", [state for state in interrupts.STATES if state != "compiling"])
def test_an_interrupt_in_any_other_state(state):
    _interrupted(state, "script", True, 3)


@pytest.mark.slow
@pytest.mark.live
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("state", interrupts.STATES)
def test_many_interrupts(state, place, watched):
    """With INTERRUPTS=100 and the four ways of watching and place: 400 of compilations, 50 of each other state."""
    count = int(os.environ.get("INTERRUPTS", "16"))
    _interrupted(state, place, watched, count if state == "compiling" else max(2, count // 8))
