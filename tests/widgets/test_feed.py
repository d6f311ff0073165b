"""From records to few messages."""

import dataclasses
import json
import threading
import time

import pytest

from xlascope_widgets import update_scheduler as feeds
from xlascope_widgets.program_store import ProgramState
from xlascope_widgets.update_scheduler import UpdateScheduler


class Sent:
    """What a feed has sent."""

    def __init__(self):
        self.programs, self.lives = [], []

    def __call__(self, programs, live):
        json.dumps([programs, live])
        self.programs.append(programs)
        self.lives.append(live)
        return 0


@pytest.fixture
def sent():
    return Sent()


def test_a_burst_becomes_few_messages(sent, samples):
    feed = UpdateScheduler(sent, interval=0.02)
    feed.receive(samples.traced())
    start = time.perf_counter()
    calls = 0
    while time.perf_counter() - start < 0.3:
        calls += 1
        feed.receive(samples.executed(calls=calls))
    feed.finish()
    assert calls > 10 * len(sent.lives)
    assert len(sent.lives) < 25
    assert sent.lives[-1]["programs"][0]["executed"]["calls"] == calls


def test_a_burst_wakes_the_thread_once_for_each_message(sent, samples, monkeypatch):
    feed, notified = UpdateScheduler(sent, interval=60.0), []
    notify = feed._condition.notify
    monkeypatch.setattr(feed._condition, "notify", lambda: notified.append(feed.finished) or notify())
    for calls in range(1000):
        feed.receive(samples.executed(calls=calls))
    assert len(notified) <= 1  # none is needed if the first record is there before the thread
    feed.finish()
    assert len(notified) <= 2 and sent.lives[-1]["programs"][0]["executed"]["calls"] == 999


def test_a_record_after_a_message_is_sent_by_the_thread(sent, samples):
    arrived = threading.Event()
    feed = UpdateScheduler(lambda *state: arrived.set() or sent(*state), interval=0.001)
    for calls in range(1, 6):
        arrived.clear()
        feed.receive(samples.executed(calls=calls))
        assert arrived.wait(20), "the thread sleeps though there is a record"
        if calls == 3:
            feed.restart("In[2]")  # changes what is shown without a record
    feed.finish()


def test_what_is_heavy_is_sent_once(sent, samples):
    feed = UpdateScheduler(sent, interval=0.01)
    for record in samples.training_records():
        feed.receive(record)
    feed.flush()
    for calls in range(5):
        feed.receive(samples.executed(calls=calls))
        feed.flush()
    feed.finish()
    assert sum(programs is not None for programs in sent.programs) <= 2


def test_sequence_numbers_rise(sent, samples):
    feed = UpdateScheduler(sent, interval=0.001)
    for calls in range(50):
        feed.receive(samples.executed(calls=calls))
        time.sleep(0.001)
    feed.finish()
    numbers = [live["seq"] for live in sent.lives]
    assert numbers == sorted(set(numbers))


def test_records_from_many_threads(sent, samples):
    feed = UpdateScheduler(sent, interval=0.005)

    def work(first):
        for number in range(first, first + 20):
            feed.receive(samples.executed(number))

    threads = [threading.Thread(target=work, args=[20 * k]) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    feed.finish()
    assert len(feed.store.programs) == 160
    assert len(sent.lives[-1]["programs"]) == feeds.MAX_PROGRAMS
    assert sent.lives[-1]["more"] == 160 - feeds.MAX_PROGRAMS


def test_a_program_sent_once_is_not_taken_back(sent, samples):
    feed = UpdateScheduler(sent, interval=0.005)
    for number in range(60):
        feed.receive(samples.traced(number))
    feed.finish()
    assert sent.lives[-1]["main"] in {p["number"] for p in sent.programs[-1].values()}


def test_the_program_that_ran_longest_is_the_main_one(sent, samples):
    feed = UpdateScheduler(sent)
    feed.receive(samples.traced(1))
    feed.receive(samples.executed(2, calls=5))
    feed.receive(samples.executed(3, calls=500))
    feed.finish()
    assert sent.lives[-1]["main"] == 3


def test_an_active_stage_is_told_and_ends(sent, samples):
    feed = UpdateScheduler(sent)
    feed.receive(samples.started(stage="compile", time=12.0))
    feed.flush()
    assert sent.lives[-1]["programs"][0] | {"stage": "compile", "since": 12.0} == sent.lives[-1]["programs"][0]
    feed.receive(samples.compiled())
    feed.finish()
    assert "stage" not in sent.lives[-1]["programs"][0]


def test_finish_leaves_no_thread(sent, samples):
    feed = UpdateScheduler(sent, interval=0.01)
    feed.receive(samples.traced())
    feed.finish()
    assert not any(thread.name == "xlascope-panel" and thread.is_alive() for thread in threading.enumerate())


def test_a_record_after_the_end_is_sent_by_the_next_finish(sent, samples):
    feed = UpdateScheduler(sent)
    feed.receive(samples.traced())
    feed.finish()
    feed.receive(samples.executed(calls=7))
    feed.finish()
    assert sent.lives[-1]["programs"][0]["executed"]["calls"] == 7


def test_receiving_costs_little(sent, samples):
    feed = UpdateScheduler(sent)
    record = samples.executed()
    start = time.perf_counter()
    for _ in range(10_000):
        feed.receive(record)
    assert time.perf_counter() - start < 0.5
    feed.finish()


def test_the_compilation_that_was_measured_is_the_one_shown(samples):
    here, there = samples.compiled(), dataclasses.replace(samples.compiled(), module="jit_update.1")
    program = ProgramState(here.program, here.function)
    for record in (samples.traced(), here, there):
        program.receive(record)
    assert program.compiled.module == there.module, "the latest, until one was measured"
    assert program.receive(dataclasses.replace(samples.executed(), module=here.module)), "drawn anew"
    assert program.compiled.module == here.module
    assert not program.receive(dataclasses.replace(samples.executed(), module=here.module))


def test_the_doctor_may_examine_later(sent, samples, monkeypatch):
    monkeypatch.setattr(feeds, "encode_doctor", lambda store, shown, finished: {"doctor": finished})
    feed = UpdateScheduler(sent)
    feed.receive(samples.executed())
    feed.flush()
    feed.finish(examined=False)
    assert not feed.is_examined
    feed.finish()
    assert feed.is_examined
    assert [(live["finished"], live["doctor"]) for live in sent.lives][-3:] == [
        (False, False),
        (True, False),
        (True, True),
    ]
