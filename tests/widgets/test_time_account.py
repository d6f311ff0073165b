"""The account of a cell's time on its way to the browser."""

import json
from typing import Any

from xlascope.records import DeviceShare, SourceRange, TimeAccount, TimePart
from xlascope_widgets.program_store import ProgramStore
from xlascope_widgets.static_state import make_static_state
from xlascope_widgets.text import text
from xlascope_widgets.update_scheduler import UpdateScheduler

HOSTILE = "f\u202e\x1b[31m" + "x" * 3000


def account(name: str) -> TimeAccount:
    source = SourceRange(name, 3, 0, 3, 1, name)
    parts = (
        TimePart("dispatch", 0.25, 100, 1, name, 26),
        TimePart("wait", 0.5, 2, source=source, line_share=1.0),
    )
    return TimeAccount(None, "In[3]", 0.0, 1.0, 0.25, parts, (DeviceShare(1, name, 100, 0.125),))


def test_the_browser_gets_parts_with_labels() -> None:
    live = make_static_state(ProgramStore.of([account("update")]))["live"]
    assert live["account"] == {
        "seconds": 1.0,
        "parts": [
            ["dispatch", "dispatching update", 0.25, "100 calls, measured on 26"],
            ["wait", "waiting for results", 0.5, "2 waits, at line 3 of update"],
            ["unaccounted", "unaccounted", 0.25, ""],
        ],
        "devices": [["update", 100, 0.125]],
    }


def test_a_cell_that_runs_tells_what_it_fetches_so_far(samples: Any) -> None:
    """While other findings wait for the end of the cell; at its end the account of then counts."""
    sent: list[Any] = []
    feed = UpdateScheduler(lambda programs, live: sent.append(live) or 0)
    for record in samples.training_records():
        feed.store.receive(record)
    for calls in (50, 90):
        parts = (TimePart("dispatch", 0.1, calls, 1, "update"), TimePart("wait", 0.9, calls))
        feed.store.receive(TimeAccount(None, "In[3]", 0.0, 2.0, 0.25, parts, (DeviceShare(1, "update", calls, 0.5),)))
        feed._dirty = True
        feed.flush()
        (finding,) = sent[-1]["doctor"]["1"]["findings"]
        assert finding["rule"] == "fetched in a loop" and finding["evidence"][0][1] == calls
        assert f"{calls} waits in {calls} calls" in finding["says"] and sent[-1]["account"]["seconds"] == 2.0
    feed.store.receive(TimeAccount(None, "In[3]", 0.0, 2.0, 0.25, parts[:1]))
    feed.finish()
    assert "fetched in a loop" not in json.dumps(sent[-1].get("doctor"))


def test_without_an_account_nothing_is_sent() -> None:
    assert "account" not in make_static_state(ProgramStore.of([]))["live"]


def test_hostile_names_are_made_harmless() -> None:
    live = make_static_state(ProgramStore.of([account(HOSTILE)]))["live"]
    for part in live["account"]["parts"]:
        assert all(len(item) < 1100 and item.isprintable() for item in part if isinstance(item, str))
    assert all(len(line) < 500 and line.isprintable() for line in text([account(HOSTILE)]).splitlines())
