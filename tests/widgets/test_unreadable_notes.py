"""What could not be read of XLA's words is said in the text, and crosses to the browser."""

import dataclasses
from typing import Any
from xml.etree import ElementTree

from xlascope.records import Explained
from xlascope_widgets import picture, text
from xlascope_widgets.program_store import ProgramStore
from xlascope_widgets.wire import encode_heavy, encode_light

PLAN = "the plan of memory cannot be shown: it has another form"
TIMES = "no kernel's time can be shown: it has another form"
KERNELS = "no kernels can be shown: expected <b>ENTRY</b>, found none (this reader knows the form of another version)"


def noted(samples: Any) -> list[Any]:
    *before, compiled, executed = samples.training_records()
    return [*before, dataclasses.replace(compiled, notes=(PLAN,)), dataclasses.replace(executed, notes=(TIMES,))]


def test_the_text_has_a_line_for_each_note(samples: Any) -> None:
    assert [line for line in text(noted(samples)).splitlines() if line.startswith("note")] == [
        f"note: {PLAN}",
        f"note: {TIMES}",
    ]
    assert "note" not in text(samples.training_records(), jaxpr=False)


def test_notes_cross_to_the_browser(samples: Any) -> None:
    (program,) = ProgramStore.of(noted(samples)).sorted_by_weight()
    assert encode_heavy(program)["notes"] == [PLAN] and "memory" not in encode_heavy(program)
    assert encode_light(program)["executed"]["notes"] == [TIMES]
    (program,) = ProgramStore.of(samples.training_records()).sorted_by_weight()
    assert "notes" not in encode_heavy(program) and "notes" not in encode_light(program)["executed"]


def test_hlo_that_cannot_be_read_is_a_note_of_the_explanation(samples: Any) -> None:
    explained = Explained(1, "update", 0.0, 0.5, "cpu", "the whole program", "module", (), True, note="late")
    (program,) = ProgramStore.of([*samples.training_records(), explained]).sorted_by_weight()
    (wire,) = encode_heavy(program)["explained"]
    assert wire["note"].startswith("late; the HLO text: expected an ENTRY computation, found none")


def test_in_the_picture_a_note_stands_where_its_view_would_have_been(samples: Any) -> None:
    *before, compiled, executed = noted(samples)
    unread = dataclasses.replace(compiled, kernels=(), notes=(KERNELS,))
    drawn = lines_of(picture([*before, unread, dataclasses.replace(executed, devices=(), observed_calls=0)]))
    assert KERNELS in drawn and TIMES in drawn and "what the profiler saw cannot be read" in drawn
    shown = lines_of(picture(noted(samples)))
    assert TIMES not in shown and "cannot be read" not in shown  # the timeline is there


def test_kernels_that_could_not_be_read_are_not_counted(samples: Any) -> None:
    *before, compiled, _ = samples.training_records()
    records = [*before, dataclasses.replace(compiled, kernels=(), notes=(KERNELS,))]
    assert "kernels that nobody knows" in text(records, jaxpr=False) and "0 kernels" not in text(records)
    assert "kernels unknown" in picture(records) and "0 kernels" not in picture(records)


def lines_of(svg: str) -> str:
    """The small lines of a picture, one after the other."""
    every = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return " ".join(each.text or "" for each in every if each.get("class") == "xs-lane-note")


def test_a_note_is_broken_at_spaces_and_cut_where_it_is_too_long(script: Any) -> None:
    assert script("wrapText(a, 8)", "one two three  four") == ["one two", "three", "four"]
    assert script("wrapText(a, 4, 2)", "abcdefghijkl") == ["abcd", "efg…"]
    assert script("wrapText(a, 4, 2)", "a bcd ef gh") == ["a", "bcd …"]


def test_a_note_that_acts_is_made_harmless(samples: Any) -> None:
    *before, executed = samples.training_records()
    (program,) = ProgramStore.of([*before, dataclasses.replace(executed, notes=("a\u202eb",))]).sorted_by_weight()
    assert encode_light(program)["executed"]["notes"] == ["a\ufffdb"]
