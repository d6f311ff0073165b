"""Arguments of the latest calls: held where they are small, released when taken, and never where they are donated."""

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.inspect.engine import held_arguments
from xlascope.inspect.running import call_counter
from xlascope.inspect.running.profile_sampler import Sampler


@pytest.fixture
def sampler() -> Any:
    with Sampler(windows=False, holds_arguments=True) as watched:
        yield watched
        watched.take_calls()


def make_function() -> Any:
    return xs.jit(lambda x, y=1.0: x * y)


@pytest.mark.parametrize("calls", [1, 2, 3, 12, 13, 40])
def test_the_latest_arguments_are_held_however_many_calls_there_were(sampler: Sampler, calls: int) -> None:
    function = make_function()
    for number in range(calls):
        function(jnp.float32(number), y=2.0)
    (call,), reasons = sampler.take_calls()
    assert float(call.args[0]) == calls - 1 and call.kwargs == {"y": 2.0} and not reasons
    assert float(call.function(*call.args, **call.kwargs)) == 2.0 * (calls - 1)
    assert call.programs and sampler.take_calls() == ([], [])


def test_functions_that_alternate_have_their_own(sampler: Sampler) -> None:
    functions = [make_function() for _ in range(3)]
    for number in range(30):
        functions[number % 3](jnp.float32(number))
    calls, _ = sampler.take_calls()
    assert sorted(float(call.args[0]) for call in calls) == [27.0, 28.0, 29.0]


def test_donated_and_large_arguments_are_not_held(sampler: Sampler, monkeypatch: pytest.MonkeyPatch) -> None:
    def donate(x: Any) -> Any:
        return x + 1

    donating = xs.jit(donate, donate_argnums=0)
    x = jnp.ones(3)
    for _ in range(4):
        x = donating(x)
    monkeypatch.setattr(held_arguments, "available_bytes", lambda device: 1000)
    large = make_function()
    for _ in range(20):
        large(np.ones(100, np.float32))
    calls, reasons = sampler.take_calls()
    assert not calls
    assert reasons[0] == "donate donates arguments" and "more than 5% of the free memory" in reasons[1]


def test_nothing_is_held_after_it_was_taken(sampler: Sampler) -> None:
    function = make_function()
    x = jnp.ones(3)
    for _ in range(5):
        function(x)
    alive = weakref.ref(x)
    del x
    calls, _ = sampler.take_calls()
    assert alive() is not None
    del calls
    gc.collect()
    assert alive() is None


def test_without_being_asked_nothing_is_held() -> None:
    function = make_function()
    with Sampler(windows=False) as sampler:
        for _ in range(5):
            function(1.0)
        assert sampler.take_calls() == ([], [])


def test_a_sampler_that_stops_listens_no_more() -> None:
    before = len(held_arguments.call_listeners)
    sampler = Sampler(windows=False, holds_arguments=True)
    sampler.start()
    make_function()(1.0)
    sampler.stop()
    assert len(held_arguments.call_listeners) == before
    assert len(sampler.take_calls()[0]) == 1


def test_sizes_of_arguments_are_read_at_few_calls(sampler: Sampler, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    function = make_function()
    function(jnp.float32(0))
    for holder in sampler._holders.values():
        monkeypatch.setattr(holder, "_may_hold", lambda *made: bool(asked.append(made)))
    for number in range(12):
        function(jnp.float32(number))
    assert 1 <= len(asked) < 6


def test_sizes_of_arguments_are_read_at_the_first_call_and_when_asked() -> None:
    asked: list[Any] = []
    counter = call_counter._make_counter(
        lambda function: function, lambda *_: None, lambda *made: not asked.append(made)
    )
    for number in range(1, 501):
        counter.hook("f", (number,), {}, None)
        counter.hook("g" if number > 400 else "f", (number,), {}, None)
        if number in (100, 300):
            counter.ask(4)
    assert [(key, arguments[0]) for key, (arguments, _) in asked] == [("f", 1), ("f", 101), ("f", 301), ("g", 401)]
    assert counter.take_arguments() == {"f": ((500,), {}), "g": ((500,), {})}
