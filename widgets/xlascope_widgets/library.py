"""The front-end's code as a widget of its own: sent to a page once for each kernel, however many panels there are."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from html import escape
from typing import Any

import traitlets

from . import assets
from .page_widget import PageWidget, is_unattended


class Library(PageWidget):
    """Carries script and styles; is never displayed. Panels name it, and their few lines of script find it.

    ``mounted`` is set by a page in which outputs may be elements (JupyterLab, Notebook 7): there an output is a
    picture that the page turns into a panel, and no widget. So it can be saved, and shown again without any kernel.
    """

    _esm = assets.browser_module()
    _css = assets.style()

    #: Tells the script that this is no panel.
    uid = traitlets.Unicode().tag(sync=True)
    is_library = traitlets.Bool(True).tag(sync=True)
    mounted = traitlets.Bool(False).tag(sync=True)

    def __init__(self) -> None:
        number = uuid.uuid4().hex
        super().__init__(model_id=number, uid=number)
        reply_on_subshell(self)

    def when_mounted(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call ``callback()``, on any thread, once a page has said that it mounts panels; returns what ends that."""

        def changed(change: object) -> None:
            callback()

        self.observe(changed, "mounted")
        return lambda: self.unobserve(changed, "mounted")


_lock = threading.Lock()
_library: Library | None = None


def library() -> Library:
    """The library of this process, which the first call sends."""
    global _library
    with _lock:
        # A kernel's widgets can be closed by their user (`Widget.close_all()`): then there has to be a new one.
        # One that was made while no page was there is known to none.
        if _library is None or _library.comm is None or (_library.is_unheard and not is_unattended()):
            _library = Library()
        return _library


def element(panel: str, content: str) -> str:
    """HTML that shows ``content``, and in its place the panel of this number wherever a page knows it."""
    known = f'library="{escape(library().uid)}" panel="{escape(panel)}"'
    return f"<xlascope-panel {known}><div>{content}</div></xlascope-panel>"


def reply_on_subshell(widget: Any) -> None:
    """Let clicks be answered while the cell runs.

    ipykernel 7.4 sends a front end's messages to the shell that last published on the widget's channel, which is the
    busy main one; the subshell on which they came is the better answer.
    """
    if hasattr(widget.comm, "_reply_subshell_for"):
        widget.comm._reply_subshell_for = lambda data, default: default
