"""`%scope pin`: one panel that stays where it is and follows the cells."""

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


def test_in_a_terminal_it_is_the_whole_text_after_each_cell(terminal: Any) -> None:
    terminal.run("%scope pin")
    said = terminal.run(STEP)
    assert "kind" in said and "ran 3 times" in said
    terminal.run("%scope on")
    assert len(terminal.run(STEP).splitlines()) == 1
