"""The account of a cell's time on its way to the browser."""

from xlascope.records import DeviceShare, SourceRange, TimeAccount, TimePart
from xlascope_widgets.program_store import ProgramStore
from xlascope_widgets.static_state import make_static_state
from xlascope_widgets.text import text

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


def test_without_an_account_nothing_is_sent() -> None:
    assert "account" not in make_static_state(ProgramStore.of([]))["live"]


def test_hostile_names_are_made_harmless() -> None:
    live = make_static_state(ProgramStore.of([account(HOSTILE)]))["live"]
    for part in live["account"]["parts"]:
        assert all(len(item) < 1100 and item.isprintable() for item in part if isinstance(item, str))
    assert all(len(line) < 500 and line.isprintable() for line in text([account(HOSTILE)]).splitlines())
