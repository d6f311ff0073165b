"""The one widget: the strip under a cell, and the panel it opens into."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from typing import Any

import anywidget
import traitlets

from xlascope.records import Record

from . import assets
from .feed import Feed
from .html import fallback
from .text import ledger_text
from .wire import JSON

#: Programs whose text a saved output carries.
MOST_IN_TEXT = 5


class Panel(anywidget.AnyWidget):
    """Draws the records of one cell, live.

    Display it, hand every record to :meth:`receive`, call :meth:`finish` when the cell has ended, and then update the
    display with :meth:`bundle`, so that a saved notebook shows the final picture without any kernel or widget.

    >>> from xlascope_widgets import Panel
    >>> panel = Panel(opened=True)
    >>> panel.finish()
    """

    _esm = assets.browser_module()
    _css = assets.style()

    #: Whether the panel is open under the strip; the user's click sets it too. (`open` is taken: a method of Widget.)
    opened = traitlets.Bool(False).tag(sync=True)

    # What the browser draws. ``programs`` is heavy and changes only when a program has been traced or compiled;
    # ``live`` holds the numbers that move, with a sequence number. Both are whole states, so that
    # nothing is missed for good.
    uid = traitlets.Unicode().tag(sync=True)
    programs = traitlets.Dict().tag(sync=True)
    live = traitlets.Dict().tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        # Before the widget exists for the browser: `super().__init__` sends the first state.
        self._feed = Feed(self._update)
        super().__init__(uid=uuid.uuid4().hex, **traits)

    @classmethod
    def of(cls, records: Iterable[Record], *, opened: bool = True) -> Panel:
        """A panel of records that are complete: what an inspection shows.

        >>> Panel.of([]).opened
        True
        """
        panel = cls(opened=opened)
        for record in records:
            panel.receive(record)
        panel.finish()
        return panel

    def receive(self, record: Record) -> None:
        """Take in a record, from any thread; the browser hears of it within a tenth of a second."""
        self._feed.receive(record)

    def finish(self) -> None:
        """The cell has ended: show the last state and stop the timer. May be called again after later records."""
        self._feed.finish()

    def bundle(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Data and metadata to display now: the widget, and picture and text for whoever cannot show it."""
        found = super()._repr_mimebundle_()
        data, metadata = found if isinstance(found, tuple) else (found or {}, {})
        return {**data, **self._standing()}, dict(metadata)

    def _repr_mimebundle_(self, **_options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return self.bundle()

    def _standing(self) -> dict[str, str]:
        ledger = self._feed.ledger
        return {"text/plain": ledger_text(ledger, most=MOST_IN_TEXT), "text/html": fallback(ledger)}

    def _update(self, programs: dict[str, JSON] | None, live: JSON) -> int:
        # One message for both.
        with self.hold_sync():
            if programs is not None:
                self.programs = programs
            self.live = live
        return 0 if programs is None else len(json.dumps(programs))
