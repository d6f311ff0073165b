"""The widget that shows one array, without a program."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from typing import Any

import traitlets

from . import assets
from .array_picture import MAX_COLUMNS, MAX_ROWS, draw_thumbnail
from .array_views import LOOK_QUESTION, ArraySource, ArrayViews
from .library import library, panel_element, reply_on_subshell
from .page_widget import PageWidget, is_marimo
from .panel import PLAIN_MODEL
from .text import clip_text


class ArrayPanel(PageWidget):
    """View of an array, whose slices the kernel sends as they are looked at.

    ``handle`` names the array in ``source``. ``text`` is what is shown without a page; ``summary`` is what a page shows
    that knows no widget, with a small picture of the first slice.
    """

    _esm = assets.loader_module()

    #: The id of the widget that carries the code, and the array.
    library = traitlets.Unicode().tag(sync=True)
    array = traitlets.Unicode().tag(sync=True)
    questions: traitlets.List[str] = traitlets.List().tag(sync=True)

    def __init__(self, source: ArraySource, handle: str, text: str, summary: str) -> None:
        traits: dict[str, Any] = {}
        if is_marimo():  # no library is found there
            traits["_esm"], self._css = assets.browser_module(), assets.style()
        elif library().mounted:
            traits |= PLAIN_MODEL
        super().__init__(library=library().uid, array=handle, questions=[LOOK_QUESTION], **traits)
        reply_on_subshell(self)
        self._text, self._summary = text, summary
        self._picture = _draw_picture(source, handle)
        views = ArrayViews(source, self.send)
        self.on_msg(lambda _widget, message, _buffers: views.receive(message))

    def bundle(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return data and metadata to display, as :meth:`.Panel.bundle` does."""
        text = clip_text(self._text)
        first, _, rest = clip_text(self._summary).partition("\n")
        image = f'<img alt="its first slice" src="data:image/png;base64,{self._picture}">' if self._picture else ""
        static = {"text/plain": text, "text/html": f"<p>{escape(first)}</p>{image}<pre>{escape(rest)}</pre>"}
        if self.has_no_page:
            return static, {}
        if library().mounted:
            return {**static, "text/html": panel_element(self.model_id, static["text/html"])}, {}
        representation = super()._repr_mimebundle_()
        data, metadata = representation if isinstance(representation, tuple) else (representation or {}, {})
        return {**data, **static}, dict(metadata)

    def _repr_mimebundle_(self, **_options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return self.bundle()


def _draw_picture(source: ArraySource, handle: str) -> str:
    """Return the first slice as base64 of a PNG; ``""`` for an array whose elements cannot be shown."""
    rows, columns = source.open({"handle": handle})["axes"]
    question = {"rows": rows, "columns": columns, "at": [], "room": [MAX_ROWS, MAX_COLUMNS]}
    return b64encode(draw_thumbnail(*source.read(handle, question))).decode()
