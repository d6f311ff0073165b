"""What could not be read of XLA's words is said in the text, and crosses to the browser."""

import dataclasses
from typing import Any

from xlascope.records import Explained
from xlascope_widgets import text
from xlascope_widgets.ledger import Ledger
from xlascope_widgets.wire import heavy, light

PLAN = "the plan of memory cannot be shown: it has another form"
TIMES = "no kernel's time can be shown: it has another form"


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
    (program,) = Ledger.of(noted(samples)).by_weight()
    assert heavy(program)["notes"] == [PLAN] and "memory" not in heavy(program)
    assert light(program)["executed"]["notes"] == [TIMES]
    (program,) = Ledger.of(samples.training_records()).by_weight()
    assert "notes" not in heavy(program) and "notes" not in light(program)["executed"]


def test_hlo_that_cannot_be_read_is_a_note_of_the_explanation(samples: Any) -> None:
    explained = Explained(1, "update", 0.0, 0.5, "cpu", "the whole program", "module", (), True, note="late")
    (program,) = Ledger.of([*samples.training_records(), explained]).by_weight()
    (wire,) = heavy(program)["explained"]
    assert wire["note"].startswith("late; the HLO text: expected an ENTRY computation, found none")
