"""Files of the share menu: what each holds, what it is called, and what is no request."""

import queue
from xml.etree import ElementTree

import pytest

from xlascope.analysis.diff import compare
from xlascope.records import Equation, Jaxpr, Variable
from xlascope_widgets.program_store import ProgramStore
from xlascope_widgets.sharing import MEDIA_TYPES, Sharing, name_file, write_shared
from xlascope_widgets.update_scheduler import UpdateScheduler

HOSTILE = "</script><img src=x onerror='hacked'>../../$(rm)"
STARTS = {"txt": b"traced ", "svg": b"<svg ", "png": b"\x89PNG", "html": b"<!doctype html>"}


def hostile_traced(samples):
    variables = {name: Variable(name, (3,), "float32", False, HOSTILE) for name in "ab"}
    jaxpr = Jaxpr(HOSTILE, (), ("a",), ("b",), variables, (Equation("0", "sin", HOSTILE, ("a",), ("b",)),))
    return samples.traced(jaxpr=jaxpr, function=HOSTILE)


@pytest.fixture
def asked(samples):
    """Sends a message to what shares a training step, and returns what comes back."""
    scheduler = UpdateScheduler(lambda programs, live: 0)
    for record in samples.training_records():
        scheduler.store.receive(record)
    answers = queue.Queue()
    sharing = Sharing(scheduler.snapshot, lambda message, buffers: answers.put((message, buffers)))

    def ask(message):
        sharing.receive(message)
        return answers.get(timeout=60)

    ask.sharing, ask.answers = sharing, answers
    return ask


@pytest.mark.parametrize("suffix", MEDIA_TYPES)
def test_each_format_arrives_as_one_buffer(asked, suffix):
    message, (content,) = asked({"share": suffix, "id": "a", "program": None})
    assert message == {"shared": "a", "name": f"update.{suffix}", "type": MEDIA_TYPES[suffix]}
    assert content.startswith(STARTS[suffix])


@pytest.mark.parametrize(
    "message", [None, 3, {}, {"share": "exe", "id": "a"}, {"share": "txt"}, {"share": "txt", "id": "x" * 65}]
)
def test_what_is_no_request_is_ignored(asked, message):
    asked.sharing.receive(message)
    sent, _ = asked({"share": "txt", "id": "next"})
    assert sent["shared"] == "next" and asked.answers.empty()


def test_an_error_is_told(asked):
    asked.sharing._snapshot = lambda: None
    message, buffers = asked({"share": "svg", "id": "a"})
    assert message.keys() == {"shared", "error"} and message["error"] and buffers == []


def test_the_program_that_is_shown_is_drawn(samples):
    store = ProgramStore.of([*samples.training_records(), hostile_traced(samples)])
    number = store.main.number
    assert write_shared(store, "svg", number) == write_shared(store, "svg") == write_shared(store, "svg", 99)


def test_hostile_names_are_escaped_and_name_no_folder(samples):
    store = ProgramStore.of([hostile_traced(samples)])
    assert name_file(store, "svg") == "script_img_src_x_onerror_hacked_rm.svg"
    root = ElementTree.fromstring(write_shared(store, "svg"))
    assert not [item for item in root.iter() if item.tag.endswith(("}script", "}img"))]
    page = write_shared(store, "html").decode()
    assert "<img src=x" not in page and page.count("<script") == 2


def test_a_comparison_is_shared_whole(samples):
    sound = samples.training_records()
    store = ProgramStore.of(compare(sound, sound))
    assert b"no differences" in write_shared(store, "svg", 0) or write_shared(store, "svg", 0).startswith(b"<svg")
    assert write_shared(store, "svg", 0) == write_shared(store, "svg", 1)


def test_a_snapshot_takes_no_later_records(samples):
    scheduler = UpdateScheduler(lambda programs, live: 0)
    before = scheduler.snapshot()
    scheduler.store.receive(samples.traced())
    assert not before.programs and scheduler.snapshot().programs
