"""The panel widget: the strip below a cell, and the panel that it opens."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from html import escape
from typing import Any

import traitlets

from xlascope.analysis.cell_runs import CellHistory, CellRun
from xlascope.analysis.diff import Diff
from xlascope.records import Record

from . import assets
from .array_views import LOOK_QUESTION, ArrayViews
from .html import fallback_html
from .library import library, panel_element, reply_on_subshell
from .page_widget import PageWidget, is_marimo
from .program_store import ProgramStore
from .queries import Answer, PanelQueries
from .sharing import SHARE_QUESTION, Sharing
from .text import clip_text, store_text
from .update_scheduler import UpdateScheduler
from .wire import JSON

#: The maximum number of programs in the text of a saved output.
MAX_PROGRAMS_IN_TEXT = 5

#: In a page that mounts panels a panel is data only. anywidget's model would drop all messages for ever where its
#: script took more than two seconds to start, in a page that is busy drawing.
PLAIN_MODEL = {
    "_model_name": "DOMWidgetModel",
    "_model_module": "@jupyter-widgets/base",
    "_model_module_version": "2.0.0",
    "_esm": "",
}


class Panel(PageWidget):
    """Live view of the records of one cell.

    Display it, hand every record to :meth:`receive`, call :meth:`finish` when the cell has ended, and then update the
    display with :meth:`bundle`, so that a saved notebook shows the final picture without any kernel or widget.

    >>> from xlascope_widgets import Panel
    >>> panel = Panel(opened=True)
    >>> panel.finish()
    """

    _esm = assets.loader_module()

    #: The id of the widget that carries the code.
    library = traitlets.Unicode().tag(sync=True)

    #: Whether the panel is open under the strip; the user's click sets it too. (`open` is already a method of Widget.)
    opened = traitlets.Bool(False).tag(sync=True)

    # The state that the browser draws. ``programs`` is large and changes only when a program is traced or compiled;
    # ``jaxprs`` is its largest part and changes only when one is traced; ``live`` holds the changing numbers, with a
    # sequence number, and ``profiles`` what these belong to, which changes when a program is profiled. Each is a
    # complete state, so that a lost update does no lasting harm.
    uid = traitlets.Unicode().tag(sync=True)
    programs = traitlets.Dict().tag(sync=True)
    jaxprs = traitlets.Dict().tag(sync=True)
    live = traitlets.Dict().tag(sync=True)
    profiles = traitlets.Dict().tag(sync=True)

    # The questions that the kernel accepts, the state of each answer by id, and the results: also complete states.
    questions: traitlets.List[str] = traitlets.List().tag(sync=True)
    targets: traitlets.List[str] = traitlets.List().tag(sync=True)
    missing = traitlets.Dict().tag(sync=True)
    answers = traitlets.Dict().tag(sync=True)
    findings = traitlets.Dict().tag(sync=True)

    def __init__(self, *, answer: Answer | None = None, **traits: Any) -> None:
        # Before the widget exists for the browser: `super().__init__` sends the first state.
        self._scheduler = UpdateScheduler(self._set_state, profiles_apart=True)
        traits |= {"questions": [SHARE_QUESTION]}
        if answer is not None:
            traits |= {
                "questions": [
                    SHARE_QUESTION,
                    *answer.questions,
                    *([LOOK_QUESTION] if answer.arrays is not None else []),
                ],
                "targets": list(answer.targets),
                "missing": dict(answer.install_hints),
            }
        if is_marimo():  # no library is found there: the panel carries all of the code
            traits["_esm"], self._css = assets.browser_module(), assets.style()
        elif library().mounted:
            traits |= PLAIN_MODEL
        super().__init__(uid=uuid.uuid4().hex, library=library().uid, **traits)
        reply_on_subshell(self)
        sharing = Sharing(self._scheduler.snapshot, self.send)
        self.on_msg(lambda _widget, message, _buffers: sharing.receive(message))
        if answer is not None:
            queries = PanelQueries(answer, self._set_answers, self._receive_answer)
            self.on_msg(lambda _widget, message, _buffers: queries.receive(message))
            views = ArrayViews(answer.arrays, self.send)
            self.on_msg(lambda _widget, message, _buffers: views.receive(message))

    @classmethod
    def of(
        cls, shown: Iterable[Record] | Diff, *, opened: bool = True, answer: Answer | None = None, tab: str = ""
    ) -> Panel:
        """Return a panel of complete records or of a comparison, as an inspection shows it.

        ``tab`` is the tab that is selected at first and stands above the graph: ``hottest``, ``memory``, ``kernels`` or
        ``replay``; without one nothing stands above it.

        >>> Panel.of([]).opened
        True
        """
        panel = cls(opened=opened, answer=answer)
        panel._scheduler.tab = tab
        panel._scheduler.show(ProgramStore.of(shown))
        panel.finish()
        return panel

    @property
    def runs(self) -> dict[str, CellRun]:
        """Return what this panel shows of each function, to compare with a later run of the cell."""
        return self._scheduler.store.runs

    def compare_with(self, history: CellHistory, title: str) -> None:
        """Show how programs differ from earlier runs of the same cell; ``title`` names this run, such as ``In[7]``."""
        self._scheduler.history, self._scheduler.title = history, title

    def offer(self, pin: str) -> None:
        """Offer a button that moves the panel: ``pin`` docks it beside the notebook, ``unpin`` ends that."""
        self._scheduler.pin = pin

    def copy_from(self, panel: Panel) -> None:
        """Show what another panel shows, whose later records do not come here; call :meth:`finish` to send it."""
        self._scheduler.origin = panel.uid
        self._scheduler.copy_from(panel._scheduler)

    @property
    def is_answerable(self) -> bool:
        """Return whether the kernel answers questions about its programs."""
        return len(self.questions) > 1

    @property
    def can_restart(self) -> bool:
        """Return whether the page has this widget in the form that it would get now."""
        current = library()
        is_plain = self._model_module == PLAIN_MODEL["_model_module"]
        return self.comm is not None and self.library == current.uid and is_plain == current.mounted

    def receive(self, record: Record) -> None:
        """Add a record, from any thread; the browser is updated within a tenth of a second."""
        self._scheduler.receive(record)

    def finish(self, *, examined: bool = True) -> None:
        """Show the final state and stop the timer; may be called again after later records.

        Without ``examined`` the doctor's findings are left out, until it is called again.
        """
        self._scheduler.finish(examined=examined)

    @property
    def is_examined(self) -> bool:
        """Return whether the final state has the doctor's findings."""
        return self._scheduler.is_examined

    def restart(self, cell: str = "") -> None:
        """Show another run or another cell from now on; what the user selected, opened and zoomed to stays.

        ``cell`` is the title to show, such as ``In[7]``; of a panel below its cell it is "".

        >>> Panel().restart("In[7]")
        """
        self._scheduler.restart(cell)

    def bundle(self, *, drawn: bool = True) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return data and metadata to display: the widget, and a picture and text where it cannot be shown.

        Without ``drawn`` there is a short text alone: drawing a picture takes some 70 ms of processor time.

        In a page that mounts panels (see :class:`~xlascope_widgets.library.Library`) the picture alone is
        enough, and a saved notebook shows it again without a kernel. The same holds without any page, as
        under ``jupyter nbconvert --execute``.
        """
        return self._make_bundle(self._static_bundle(drawn=drawn))

    def bundle_before(self, text: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return data and metadata to display before there are records, with ``text`` in place of a picture."""
        return self._make_bundle({"text/plain": text, "text/html": f"<p>{escape(text)}</p>"})

    def _make_bundle(self, static_bundle: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return data and metadata to display; ``static_bundle`` has the text and HTML to show without a widget."""
        if self.has_no_page:
            return static_bundle, {}
        if library().mounted:
            return {**static_bundle, "text/html": panel_element(self.model_id, static_bundle["text/html"])}, {}
        representation = super()._repr_mimebundle_()
        data, metadata = representation if isinstance(representation, tuple) else (representation or {}, {})
        return {**data, **static_bundle}, dict(metadata)

    def _repr_mimebundle_(self, **_options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return self.bundle()

    def _static_bundle(self, *, drawn: bool) -> dict[str, str]:
        store = self._scheduler.store
        text = clip_text(store_text(store, jaxpr=drawn, kernels=drawn, most=MAX_PROGRAMS_IN_TEXT))
        return {"text/plain": text, "text/html": fallback_html(store, text, drawn=drawn)}

    def send_state(self, key: str | Iterable[str] | None = None) -> None:
        """Send the traits named by ``key`` (None: all) to the page; none of them holds bytes, so none is looked for.

        ipywidgets walks through the whole state before each message: of a panel that takes longer than encoding it.
        """
        state = self.get_state(key=key)
        if not state:
            return
        # What the page is known to have is updated, as in the method that this replaces.
        self._property_lock.update({name: value for name, value in state.items() if name in self._property_lock})
        self._send({"method": "update", "state": state, "buffer_paths": []})

    def _receive_answer(self, record: Record) -> None:
        self.receive(record)
        self._scheduler.flush()

    def _set_answers(self, answers: JSON, findings: JSON | None) -> None:
        if is_marimo():
            answers, findings = json.loads(json.dumps([answers, findings]))
        with self.hold_sync():
            self.answers = answers
            if findings is not None:
                self.findings = findings

    def _set_state(self, programs: dict[str, JSON] | None, live: JSON) -> int:
        if is_marimo():  # its encoder takes paths, which are subclasses of str, for objects
            programs, live = json.loads(json.dumps([programs, live]))
        profiles = live.pop("profiles")
        # One message for all.
        with self.hold_sync():
            size = 0 if programs is None else self._update_programs(programs)
            if profiles and profiles != self.profiles:  # without any, the next ones may be those of the last run
                self.profiles = profiles
                size += len(json.dumps(profiles))
            self.live = live
        return size

    def _update_programs(self, programs: dict[str, JSON]) -> int:
        """Set the traits that hold the encoded programs, and return the approximate number of bytes to send.

        A jaxpr is not sent again when its program is compiled.
        """
        sent_jaxprs, sent_programs = self.jaxprs, self.programs
        jaxprs = {number: heavy["jaxpr"] for number, heavy in programs.items() if "jaxpr" in heavy}
        self.jaxprs = jaxprs
        self.programs = {n: {k: v for k, v in heavy.items() if k != "jaxpr"} for n, heavy in programs.items()}
        has_new_jaxprs = any(sent_jaxprs.get(number) is not jaxpr for number, jaxpr in jaxprs.items())
        size = 0 if self.programs == sent_programs else len(json.dumps(self.programs))  # of equal ones none is sent
        return size + (len(json.dumps(jaxprs)) if has_new_jaxprs else 0)
