"""Calls are held while a profiler window closes on a GPU. Here a CPU's program is taken for a GPU's."""

import threading
import time
from typing import Any

import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import records
from xlascope.inspect.running import profile_sampler
from xlascope.inspect.running.call_gate import CallGate


def test_an_open_gate_holds_nobody() -> None:
    CallGate().enter([], lambda results: pytest.fail(f"{results} were looked at"))


def test_a_closed_gate_holds_a_call_until_it_opens() -> None:
    gate, held, passed = CallGate(), threading.Event(), threading.Event()

    def leaves(results: Any) -> list[Any]:
        held.set()
        return [results]

    def call() -> None:
        gate.enter(jnp.ones(3) + 1.0, leaves)
        passed.set()

    assert not gate.close(0.0)  # nobody calls
    caller = threading.Thread(target=call)
    caller.start()
    assert held.wait(60.0)
    assert not passed.is_set()
    gate.open()
    assert passed.wait(60.0)
    caller.join()


def test_closing_a_gate_waits_for_a_call() -> None:
    gate, over = CallGate(), threading.Event()

    def calls() -> None:
        while not over.is_set():
            gate.enter([], list)

    caller = threading.Thread(target=calls)
    caller.start()
    assert gate.close(60.0)
    over.set()
    gate.open()
    caller.join()


def test_no_call_is_made_while_a_window_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program calls all the time; each window has to find it held."""
    program = xs.jit(lambda x: jnp.sin(x) * 2.0)
    x = jnp.ones(1000)
    program(x)
    calls, moved = [0], list[int]()
    leave = profile_sampler.Window.__exit__

    def close(window: Any, *error: Any) -> None:
        before = calls[0]
        time.sleep(0.05)  # in which thousands of calls would be made
        moved.append(calls[0] - before)
        leave(window, *error)

    monkeypatch.setattr(profile_sampler.Window, "__exit__", close)
    seen: list[records.Record] = []
    sampler = profile_sampler.Sampler(emit=seen.append)
    sampler._running.on_gpu = True
    with sampler:
        until = time.perf_counter() + 120.0
        while len(moved) < 3 and time.perf_counter() < until:
            program(x)
            calls[0] += 1
    assert len(moved) >= 3 and max(moved[:3]) <= 1  # the one that was on its way
    runs = [each for each in seen if isinstance(each, records.Executed)]
    assert runs[-1].calls == calls[0] and runs[-1].observed_calls
