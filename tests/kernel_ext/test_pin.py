"""`%scope pin`: one panel that stays where it is and follows the cells."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

STEP = "for _ in range(3): y = update(w, x)"


@pytest.fixture
def pinned(kernel: Any) -> Iterator[Any]:
    """The output of the cell that pins."""
    yield kernel.run("%scope pin")
    kernel.run("%scope on")


def comms(output: Any) -> set[str]:
    return {content["comm_id"] for content in output.of("comm_msg") if "live" in content["data"].get("state", {})}


def test_a_panel_appears_where_it_is_pinned(pinned: Any) -> None:
    (panel,) = (each for each in pinned.of("comm_open") if "opened" in each["data"]["state"])
    assert panel["data"]["state"]["opened"] and pinned.displayed["transient"]["display_id"]


def test_it_follows_the_cells_which_show_none_of_their_own(kernel: Any, pinned: Any) -> None:
    (panel,) = (each["comm_id"] for each in pinned.of("comm_open") if "opened" in each["data"]["state"])
    for code, name in ((STEP, "update"), ("y = xs.jit(lambda x: jnp.cos(x))(x)", "<lambda>")):
        output = kernel.run(code)
        assert not output.of("display_data", "comm_open")
        assert comms(output) == {panel}
        assert [each["function"] for each in output.live[-1]["programs"]] == [name]
        assert output.live[-1]["finished"]
        assert output.final["transient"] == pinned.displayed["transient"] and name in output.final["data"]["text/plain"]


def test_a_cell_that_does_nothing_leaves_what_is_there(kernel: Any, pinned: Any) -> None:
    kernel.run(STEP)
    assert not kernel.run("1 + 1").of("update_display_data", "comm_msg")


def test_a_failing_cell(kernel: Any, pinned: Any) -> None:
    output = kernel.run(STEP + "\nraise ValueError('on purpose')")
    assert output.live[-1]["failures"][0]["error"] == "ValueError" and output.live[-1]["finished"]
    assert kernel.run(STEP).live[-1]["failures"] == []


def test_the_cell_that_pins_may_run_something(kernel: Any) -> None:
    try:
        output = kernel.run("%scope pin\n" + STEP)
        assert len(output.of("display_data")) == 1 and output.live[-1]["programs"][0]["executed"]["calls"] == 3
    finally:
        kernel.run("%scope on")


def test_on_lets_go_of_it(kernel: Any, pinned: Any) -> None:
    kernel.run("%scope on")
    assert kernel.run(STEP).displayed


@pytest.fixture
def docking(kernel: Any) -> Iterator[Any]:
    """The kernel of a page that docks panels beside the notebook."""
    kernel.run("from xlascope_widgets.library import library\nlibrary().docks = True")
    yield kernel
    kernel.run("library().docks = False\n%scope on")


def pinned_ids(output: Any) -> list[str]:
    """The panels that the page was told to dock, in order; "" for none."""
    states = [content["data"].get("state", {}) for content in output.of("comm_msg")]
    return [state["pinned"] for state in states if "pinned" in state]


def ask_to_pin(uid: str) -> str:
    """A cell that does what a click on the button does."""
    return f"library()._handle_custom_msg({{'pin': {uid!r}}}, [])"


def test_a_page_that_docks_gets_the_panel_and_the_cell_a_line(docking: Any) -> None:
    output = docking.run("%scope pin")
    (panel,) = (each["comm_id"] for each in output.of("comm_open") if "opened" in each["data"]["state"])
    assert pinned_ids(output) == [panel]
    assert "beside the notebook" in output.displayed["data"]["text/plain"] and not output.of("update_display_data")
    again = docking.run(STEP + "\n%scope pin\n" + STEP)
    assert not pinned_ids(again) and not again.of("comm_open")  # it is there, and stays as it is
    assert "beside the notebook" in again.displayed["data"]["text/plain"]
    assert again.live[-1]["programs"][0]["executed"]["calls"] == 6
    ran = docking.run(STEP)
    assert comms(ran) == {panel} and not ran.of("display_data", "update_display_data")
    assert ran.live[-1]["pin"] == "unpin" and ran.live[-1]["finished"]
    assert pinned_ids(docking.run(ask_to_pin(""))) == [""]
    assert docking.run(STEP).displayed


def test_a_page_that_says_late_that_it_docks_gets_the_panel_then(kernel: Any) -> None:
    try:
        shown = kernel.run("from xlascope_widgets.library import library\n%scope pin")
        assert not pinned_ids(shown)
        late = kernel.run("library().set_state({'docks': True, 'mounted': True})")
        (panel,) = (each["comm_id"] for each in shown.of("comm_open") if "opened" in each["data"]["state"])
        assert pinned_ids(late) == [panel]
        (updated,) = late.of("update_display_data")
        assert updated["transient"] == shown.displayed["transient"]
        assert "beside the notebook" in updated["data"]["text/plain"]
    finally:
        kernel.run("library().set_state({'docks': False, 'mounted': False})\n%scope on")


def test_the_button_of_a_strip_pins_what_it_shows(docking: Any) -> None:
    strip = docking.run(STEP)
    (state,) = (each["data"]["state"] for each in strip.of("comm_open") if "opened" in each["data"]["state"])
    assert strip.live[-1]["pin"] == "pin"
    output = docking.run(ask_to_pin(state["uid"]))
    assert len(pinned_ids(output)) == 1 and not output.of("display_data")
    assert output.live[-1]["origin"] == state["uid"] and output.live[-1]["programs"][0]["executed"]["calls"] == 3
    assert not pinned_ids(docking.run(ask_to_pin("of nothing")))


def test_a_click_while_the_cell_runs_shows_the_rest_of_it_in_both(docking: Any) -> None:
    output = docking.run(
        STEP + "\nfrom ipywidgets.widgets.widget import _instances\n"
        "uid = [each.uid for each in _instances.values() if getattr(each, 'opened', None) is False][-1]\n"
        "library()._handle_custom_msg({'pin': uid}, [])\n" + STEP
    )
    states = [(each["comm_id"], each["data"]["state"]["live"]) for each in output.of("comm_msg") if "live" in str(each)]
    latest = dict(states)
    assert len(latest) == 2 and {live["programs"][0]["executed"]["calls"] for live in latest.values()} == {6}
    assert all(live["finished"] for live in latest.values())


def test_a_run_of_the_same_cell_is_shown_by_the_same_panel(kernel: Any) -> None:
    cell = {"cellId": "again"}
    first, second = (kernel.run(STEP, metadata=cell) for _ in range(2))
    (panel,) = (each["comm_id"] for each in first.of("comm_open") if "opened" in each["data"]["state"])
    assert comms(first) == comms(second) == {panel} and not second.of("comm_open")
    assert second.displayed["transient"] != first.displayed["transient"]
    titles = [title for title, *_ in second.live[-1]["programs"][0]["runs"]]
    assert len(titles) == 2 and "runs" not in first.live[-1]["programs"][0]
    json.dumps(second.live)


def test_in_a_terminal_it_is_the_whole_text_after_each_cell(terminal: Any) -> None:
    terminal.run("%scope pin")
    said = terminal.run(STEP)
    assert "kind" in said and "ran 3 times" in said
    terminal.run("%scope on")
    assert len(terminal.run(STEP).splitlines()) == 1
