"""Widgets that need a page, and what they are in a kernel that no page will ever look at."""

from __future__ import annotations

import os
from typing import Any

import anywidget
from comm import DummyComm
from IPython.core.getipython import get_ipython


def is_unattended() -> bool:
    """Whether the cell that runs was sent by a program, as by ``jupyter nbconvert --execute``, and not by a page.

    Such a program says that nobody can answer `input()`. Voilà does, too, and shows a page all the same.

    >>> is_unattended()
    False
    """
    kernel = getattr(get_ipython(), "kernel", None)
    if kernel is None or os.environ.get("SERVER_SOFTWARE", "").startswith("voila"):
        return False
    content = kernel.get_parent("shell").get("content", {})
    return content.get("allow_stdin") is False


class PageWidget(anywidget.AnyWidget):
    """A widget that says nothing where nobody listens: what it would send is kept in notebooks that are executed.

    There it would be most of the file, and be shown in place of the picture by pages that cannot show it: those that
    are offline.
    """

    #: Whether no page hears of it.
    is_unheard = False
    comm: Any

    def open(self) -> None:
        """Be known to the page, if there is one."""
        if self.comm is None and is_unattended():
            self.is_unheard = True
            self.comm = DummyComm(target_name="jupyter.widget")
        super().open()
