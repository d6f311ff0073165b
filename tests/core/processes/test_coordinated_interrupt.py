"""Interrupts at one call of a shared program: what a process does, by what the others say."""

import signal
import types

import pytest

from xlascope.xla.processes import coordinated_interrupt
from xlascope.xla.processes.coordinated_interrupt import InterruptCoordinator


class Store:
    """A key-value store in this process."""

    def __init__(self):
        self.values = {}

    def write(self, key, value, overwrite=False):
        return self.values.setdefault(key, value) == value

    def read_folder(self, folder):
        prefix = f"{folder}/"
        return {key.removeprefix(prefix): value for key, value in tuple(self.values.items()) if key.startswith(prefix)}


@pytest.fixture
def store():
    return Store()


@pytest.fixture
def coordinator(store, monkeypatch):
    monkeypatch.setattr(coordinated_interrupt, "MAX_AGREEMENT_SECONDS", 0.2)
    found = InterruptCoordinator(types.SimpleNamespace(process_id=0, num_processes=2, store=store))
    found.begin_run("run", [0, 1])
    yield found
    found.end_run()
    found.close()


def calls(coordinator, most=50):
    """Begin calls until an interrupt; return how many have begun."""
    for number in range(most):
        try:
            coordinator.begin_call()
        except KeyboardInterrupt:
            return number
    return most


def test_it_goes_on_to_the_call_that_the_other_has_begun(coordinator, store):
    assert calls(coordinator, 10) == 10
    store.write("interrupts/run/1", "[12, 3]")
    signal.raise_signal(signal.SIGINT)
    assert calls(coordinator) == 2
    assert store.values["interrupts/run/0"] == "[10, 0]"


def test_it_stops_before_the_next_call_when_the_other_is_behind(coordinator, store):
    calls(coordinator, 10)
    store.write("interrupts/run/1", "[9, 0]")
    signal.raise_signal(signal.SIGINT)
    assert calls(coordinator) == 0


def test_it_stops_at_once_where_nothing_shared_was_called(coordinator, store):
    store.write("interrupts/run/1", "[5, 5]")
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_it_stops_at_once_where_the_other_is_silent_and_at_a_second_interrupt(coordinator, store):
    calls(coordinator, 3)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    store.write("interrupts/run/1", "[9, 0]")
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_a_run_ends_with_its_interrupt(coordinator, store):
    calls(coordinator, 3)
    store.write("interrupts/run/1", "[9, 0]")
    signal.raise_signal(signal.SIGINT)
    coordinator.end_run()
    coordinator.begin_run("next", [0, 1])
    assert calls(coordinator) == 50


def test_what_another_thread_begins_is_not_counted(coordinator, store, monkeypatch):
    monkeypatch.setattr(coordinated_interrupt.threading, "main_thread", lambda: None)
    assert calls(coordinator, 5) == 5
    monkeypatch.undo()
    store.write("interrupts/run/1", "[1, 0]")
    signal.raise_signal(signal.SIGINT)
    assert calls(coordinator) == 1
