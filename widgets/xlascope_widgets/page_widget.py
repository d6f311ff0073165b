"""Widgets that need a page, and their behaviour in a kernel without one."""

from __future__ import annotations

import os
import sys
from typing import Any

import anywidget
from comm import DummyComm
from IPython.core.getipython import get_ipython


def is_unattended() -> bool:
    """Return whether the running cell was sent by a program such as ``jupyter nbconvert --execute``, not by a page.

    Such a program reports that `input()` cannot be answered. Voilà does too, but shows a page.

    >>> is_unattended()
    False
    """
    kernel = getattr(get_ipython(), "kernel", None)
    if kernel is None or os.environ.get("SERVER_SOFTWARE", "").startswith("voila"):
        return False
    content = kernel.get_parent("shell").get("content", {})
    return content.get("allow_stdin") is False


def is_marimo() -> bool:
    """Return whether this runs in a marimo notebook, where a widget does not find another one by its id.

    >>> is_marimo()
    False
    """
    marimo = sys.modules.get("marimo")
    return marimo is not None and bool(marimo.running_in_notebook())


class PageWidget(anywidget.AnyWidget):
    """Widget that sends nothing if no page is connected.

    Its messages would otherwise be stored in executed notebooks, where they would be most of the file, and offline
    pages, which cannot show the widget, would prefer it to the picture.
    """

    #: Whether no page is connected.
    has_no_page = False
    comm: Any

    def open(self) -> None:
        """Open the connection to the page, if there is one."""
        if self.comm is None and is_unattended():
            self.has_no_page = True
            self.comm = DummyComm(target_name="jupyter.widget")
        super().open()
