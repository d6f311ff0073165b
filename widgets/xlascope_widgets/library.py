"""The front end's code as a separate widget: sent to a page once per kernel, however many panels there are."""

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
    """Widget that carries script and styles and is never displayed; panels find it by its id.

    ``mounted`` is set by pages in which outputs may be elements (JupyterLab, Notebook 7). There an output is a
    picture that the page turns into a panel, not a widget, so it can be saved and shown again without a kernel.
    """

    _esm = assets.browser_module()
    _css = assets.style()

    #: The traits that identify this widget to the script as the library, not a panel.
    uid = traitlets.Unicode().tag(sync=True)
    is_library = traitlets.Bool(True).tag(sync=True)
    mounted = traitlets.Bool(False).tag(sync=True)

    #: Whether the page can dock a panel beside the notebook (our extension of JupyterLab and Notebook 7 does), and the
    #: id of the panel's widget that it docks ("": none).
    docks = traitlets.Bool(False).tag(sync=True)
    pinned = traitlets.Unicode().tag(sync=True)

    def __init__(self) -> None:
        number = uuid.uuid4().hex
        super().__init__(model_id=number, uid=number)
        reply_on_subshell(self)

    def when_mounted(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call ``callback()`` when a page reports that it mounts panels; return a function that unsubscribes."""

        def notify(change: object) -> None:
            callback()

        self.observe(notify, "mounted")
        return lambda: self.unobserve(notify, "mounted")

    def when_asked_to_pin(self, callback: Callable[[str], None]) -> Callable[[], None]:
        """Call ``callback(uid)`` when the user pins a panel, named by its uid, or unpins ("").

        Return a function that unsubscribes.
        """

        def receive(widget: object, message: object, buffers: object) -> None:
            match message:
                case {"pin": str(uid)} if len(uid) <= 64:
                    callback(uid)

        self.on_msg(receive)
        return lambda: self.on_msg(receive, remove=True)


_lock = threading.Lock()
_library: Library | None = None


def library() -> Library:
    """Return the library of this process, sending it on the first call."""
    global _library
    with _lock:
        # A kernel's widgets can be closed by their user (`Widget.close_all()`): then there has to be a new one.
        # A library created before any page was connected is unknown to every page.
        if _library is None or _library.comm is None or (_library.has_no_page and not is_unattended()):
            _library = Library()
        return _library


def panel_element(panel: str, content: str) -> str:
    """Return an HTML element that shows ``content``; a page that knows the panel replaces it by the live panel.

    ``panel`` is the id of the panel's widget, ``content`` is HTML.
    """
    attributes = f'library="{escape(library().uid)}" panel="{escape(panel)}"'
    return f"<xlascope-panel {attributes}><div>{content}</div></xlascope-panel>"


def reply_on_subshell(widget: Any) -> None:
    """Send replies to clicks on the subshell, so that they arrive while a cell runs.

    ipykernel 7.4 routes a front end's messages to the shell that last published on the widget's channel,
    which is the busy main shell; the subshell that received the message can reply at once.
    """
    if hasattr(widget.comm, "_reply_subshell_for"):
        widget.comm._reply_subshell_for = lambda data, default: default
