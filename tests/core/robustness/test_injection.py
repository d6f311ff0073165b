"""An exception at any point of tracing, lowering, compiling or running leaves nothing behind."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__)
_spec = importlib.util.spec_from_file_location("xlascope_injection", HERE.with_name("injection.py"))
injection = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(injection)

CASES = [(program, mode) for program in injection.PROGRAMS for mode in injection.MODES]
#: How many places of each program the default suite tries: those that compile take longer.
SAMPLES = {"nested": 20, "lowered": 40, "eager": 50, "compiled": 10, "operations": 10, "profiled": 36}

# Interrupting a generator that is being dropped raises where nobody can catch it.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def _wanted(program):
    """The value of a program, after a first call that fills the caches of the library itself."""
    value = injection.PROGRAMS[program]()()
    assert injection.PROGRAMS[program]()() == value
    return value


def _carried_out(program, mode, numbers, wanted):
    return [line for number in numbers for line in injection.inject(program, mode, number, wanted)]


@pytest.mark.parametrize(("program", "mode"), CASES)
def test_an_exception_leaves_nothing_behind(program, mode):
    wanted = _wanted(program)
    numbers = injection.sample(injection.sites(program, mode), SAMPLES[program], seed=20)
    assert len(numbers) == SAMPLES[program]
    assert _carried_out(program, mode, numbers, wanted) == []


def test_an_injection_hits_what_it_aims_at():
    call = injection.PROGRAMS["lowered"]()
    injecting = injection.Calls(200)
    with pytest.raises(injection.Injected), injecting:
        call()
    assert len(injecting.sites) == 200 and injecting.place


def test_a_program_that_is_left_in_disorder_is_noticed(monkeypatch):
    from_there = injection.STATE.trace

    def breaking():
        def call():
            injection.STATE.trace = "left"
            injection.jnp.abs(1.0)
            return 1

        return call

    monkeypatch.setitem(injection.PROGRAMS, "breaking", breaking)
    found = injection.inject("breaking", "calls", 1, 1)
    assert any("left a trace" in line for line in found)
    injection.clean()
    assert injection.STATE.trace is from_there


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize(("program", "mode"), CASES)
def test_an_exception_at_every_place_leaves_nothing_behind(program, mode):
    wanted = _wanted(program)
    found = injection.sites(program, mode)
    first, last = {}, {}
    for number, site in enumerate(found, 1):
        first.setdefault(site, number)
        last[site] = number
    numbers = sorted({*first.values(), *last.values(), *injection.sample(found, len(found), seed=1)})
    print(f"{program}, {mode}: {len(numbers)} injections at {len(first)} places")
    assert _carried_out(program, mode, numbers, wanted) == []


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("mode", injection.MODES)
def test_an_exception_at_every_single_point_of_jit_leaves_nothing_behind(mode):
    """Not only once at every place, but each time that it is passed."""
    wanted = _wanted("compiled")
    count = len(injection.sites("compiled", mode))
    print(f"compiled, {mode}: {count} injections")
    assert _carried_out("compiled", mode, range(1, count + 1), wanted) == []


@pytest.mark.parametrize(("kind", "count"), [("signal", 3), ("thread", 3)])
def test_a_process_that_is_interrupted_goes_on(kind, count):
    """It answers when the stage that XLA is in has ended, and is as it was."""
    command = [sys.executable, str(HERE.with_name("interrupted.py")), kind, str(count)]
    done = subprocess.run(
        command, capture_output=True, env={**os.environ, "XLASCOPE_ENABLE_COMPILATION_CACHE": "0"}, timeout=250
    )
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(done.stdout)
    assert found["wrong"] == []
    assert found["interrupted"] >= 1


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("kind", ["signal", "thread"])
def test_a_process_that_is_interrupted_often_goes_on(kind):
    test_a_process_that_is_interrupted_goes_on(kind, 60)
