"""Files that a panel's share menu asks for: its text, its picture and its offline page, made by the kernel."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from typing import Any

from .offline_page import page_html
from .picture import draw, static_picture
from .png import render_png
from .program_store import ProgramStore
from .text import store_text

_log = logging.getLogger(__name__)

#: The question that a panel lists when its kernel answers the share menu.
SHARE_QUESTION = "share"

#: The formats of the menu, by suffix, with the media type of the file.
MEDIA_TYPES = {
    "txt": "text/plain",
    "svg": "image/svg+xml",
    "png": "image/png",
    "html": "text/html",
}

#: The maximum number of characters of a request's id, and of a file's name without suffix.
MAX_ID_CHARS, MAX_NAME_CHARS = 64, 40

SendFile = Callable[[dict[str, Any], list[bytes]], object]
"""Sends a message to the browser with its buffers."""


def write_shared(store: ProgramStore, suffix: str, program: int | None = None) -> bytes:
    """Return the content of the file that the share menu makes of a store.

    ``suffix`` is a key of ``MEDIA_TYPES``. ``program`` is the number of the program to draw in a picture; None or an
    unknown number stands for the main program.

    >>> write_shared(ProgramStore(), "txt")
    b'xlascope: nothing was traced, compiled or run'
    """
    if suffix == "txt":
        return store_text(store).encode()
    if suffix == "html":
        return page_html(store).encode()
    shown = store.programs.get(program) if program is not None and store.diff is None else None
    svg = static_picture(store) if shown is None else draw(shown)
    return svg.encode() if suffix == "svg" else render_png(svg)


def name_file(store: ProgramStore, suffix: str, program: int | None = None) -> str:
    """Return the name of a shared file: the function's, with nothing that a file system could misread.

    >>> name_file(ProgramStore(), "svg")
    'xlascope.svg'
    """
    shown = store.programs.get(program) if program is not None else None
    shown = shown or store.main
    name = "" if shown is None else re.sub(r"[^A-Za-z0-9_-]+", "_", shown.function).strip("_-")
    return f"{name[:MAX_NAME_CHARS] or 'xlascope'}.{suffix}"


class Sharing:
    """Answers to a panel's share menu, each written on its own thread, one at a time.

    ``snapshot()`` returns what the panel shows; ``send`` gets ``{"shared": id, "name": …, "type": …}`` and the content
    as one buffer, or ``{"shared": id, "error": …}``. Messages that are not such requests are ignored.
    """

    def __init__(self, snapshot: Callable[[], ProgramStore], send: SendFile) -> None:
        self._snapshot = snapshot
        self._send = send
        self._lock = threading.Lock()

    def receive(self, message: Any) -> None:
        """Handle a message from the browser: ``{"share": suffix, "id": …, "program": …}``."""
        match message:
            case {"share": str(suffix), "id": str(number)} if suffix in MEDIA_TYPES and len(number) <= MAX_ID_CHARS:
                program = message.get("program")
                arguments = number, suffix, program if isinstance(program, int) else None
                threading.Thread(target=self._run, args=arguments, name="xlascope-share", daemon=True).start()

    def _run(self, number: str, suffix: str, program: int | None) -> None:
        """Write a file and send it, or the error; ``number`` is the id of the request."""
        with self._lock:
            try:
                store = self._snapshot()
                content = [write_shared(store, suffix, program)]
                answer = {"name": name_file(store, suffix, program), "type": MEDIA_TYPES[suffix]}
            except Exception as error:
                _log.exception("a file to share could not be written")
                content, answer = [], {"error": str(error) or type(error).__name__}
            self._send({"shared": number, **answer}, content)
