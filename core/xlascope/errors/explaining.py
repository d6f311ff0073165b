"""Pages about errors: what happened, a program that fails, the corrected program, and why."""

from __future__ import annotations

import functools
import re
import sys
from pathlib import Path
from typing import Any

_PAGES = Path(__file__).with_name("pages")
_POINTER = re.compile(r'errors\.explain\("([\w-]+)"\)')

#: Pages for errors that jaxlib's C++ raises, by text in their messages.
_PAGES_BY_MESSAGE = {
    "Non-hashable static arguments": "static-arguments",
    "deleted or donated": "DeletedArrayError",
    "has been deleted": "DeletedArrayError",
    "RESOURCE_EXHAUSTED": "OutOfMemoryError",
    "Out of memory": "OutOfMemoryError",
}


def see(page: str) -> str:
    """Return the last line of an error message, which refers to the page named ``page``.

    >>> print(see("shape-mismatch").strip())
    See xlascope.errors.explain("shape-mismatch").
    """
    return f'\nSee xlascope.errors.explain("{page}").'


@functools.cache
def load_pages() -> dict[str, str]:
    """Return the texts of all pages (Markdown) by their names."""
    files = {file.stem: file for file in _PAGES.glob("*.md")}
    return {name: files[name].read_text(encoding="utf-8") for name in sorted(files, key=str.lower)}


def page_of(kind: type[BaseException]) -> str | None:
    """Return the name of the page about an exception class, or its nearest base class with a page, or None."""
    return next((base.__name__ for base in kind.__mro__ if base.__name__ in load_pages()), None)


def explain(what: Any = None) -> None:
    """Print the page about an error: what happened, a program that fails, the corrected program, and why.

    ``what`` is the name of a page, an exception, or a class of exceptions; None stands for the last error
    that reached the prompt. If there is no such page, a list of all pages is printed.

    >>> import xlascope as xs
    >>> xs.errors.explain("in-place-update")
    # in-place-update
    ...
    """
    if what is None:
        what = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    name = _find_page(what)
    if name is None:
        print(f"There is no page about {_format_topic(what)}. There are pages about: {', '.join(load_pages())}.")
    else:
        print(load_pages()[name])


def _find_page(topic: Any) -> str | None:
    """Return the name of the page about a page's name, an exception or a class of exceptions; None if there is none."""
    if isinstance(topic, str):
        return next((name for name in load_pages() if name.lower() == topic.lower()), None)
    if isinstance(topic, type) and issubclass(topic, BaseException):
        return page_of(topic)
    if not isinstance(topic, BaseException):
        return None
    text = str(topic)
    pointed = _POINTER.findall(text)
    if pointed and pointed[-1] in load_pages():
        return str(pointed[-1])
    return page_of(type(topic)) or next((name for words, name in _PAGES_BY_MESSAGE.items() if words in text), None)


def _format_topic(topic: Any) -> str:
    if topic is None:
        return "nothing (no error has reached the prompt)"
    return repr(topic if isinstance(topic, (str, type)) else type(topic).__name__)
