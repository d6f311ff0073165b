"""Code cells of a notebook as one text of Python, and the notebook's JSON with other sources in it.

Only the strings of lines that change are written anew: the rest of the file stays as it is, to the byte.
"""

from __future__ import annotations

import json
import json.decoder
import json.scanner
import re
from dataclasses import dataclass, field
from typing import Any

from .syntax import CannotParseError, parse

#: Lines that IPython reads and Python does not: magics, shell commands, help, and their results given to a name.
_OF_IPYTHON = re.compile(r"\s*(?:[%!?]|[\w., \t]+=\s*[%!]|[\w.]+\?{1,2}\s*$)")
#: Cells that begin so hold something else than Python of this notebook.
_OTHER_LANGUAGE = re.compile(
    r"\s*%%(?:!|bash|sh|script|html|HTML|javascript|js|latex|markdown|svg|SVG|perl|ruby|writefile|file|cmd|sql|R|"
    r"cython|julia|system|sx)\b|\s*%%!"
)
_PLACEHOLDER = "pass"


class _Token(str):
    """A string of JSON, and where it stands in the file with its quotes."""

    start: int
    end: int


class _Decoder(json.JSONDecoder):
    """Decoder whose values that are strings are tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.parse_string = _scan_string
        self.scan_once = json.scanner.py_make_scanner(self)  # type: ignore[attr-defined]


def _scan_string(text: str, after_quote: int, strict: bool = True) -> tuple[_Token, int]:
    value, end = json.decoder.scanstring(text, after_quote, strict)  # type: ignore[attr-defined]
    token = _Token(value)
    token.start, token.end = after_quote - 1, end
    return token, end


@dataclass
class _Cell:
    """A code cell: its number among all cells, the tokens of its source, and the lines these make.

    ``indent`` stands before its first line, and IPython takes it from all.
    """

    number: int
    tokens: list[_Token]
    lines: list[str] = field(init=False)
    indent: str = field(init=False)

    def __post_init__(self) -> None:
        self.lines = "".join(self.tokens).split("\n")
        first = next((line for line in self.lines if line.strip()), "")
        self.indent = first[: len(first) - len(first.lstrip())]

    @property
    def code(self) -> list[str]:
        """The lines as Python reads them."""
        return _hide([line.removeprefix(self.indent) for line in self.lines])


class Notebook:
    r"""A notebook's file and its cells of Python. Raises ValueError for what is no notebook.

    >>> text = '{"cells": [{"cell_type": "code", "source": ["%time\\n", "import jax"]}], "nbformat": 4}'
    >>> notebook = Notebook(text)
    >>> notebook.code
    'pass\nimport jax'
    >>> notebook.replace("pass\nimport xlascope as jax")
    '{"cells": [{"cell_type": "code", "source": ["%time\\n", "import xlascope as jax"]}], "nbformat": 4}'
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.cells = [
            _Cell(number, tokens)
            for number, cell in enumerate(_cells(text), 1)
            if isinstance(cell, dict) and cell.get("cell_type") == "code" and (tokens := _source(cell))
        ]
        self.cells = [cell for cell in self.cells if not _OTHER_LANGUAGE.match(cell.lines[0])]

    @property
    def code(self) -> str:
        """The cells one after the other, with a placeholder for each line that is not Python."""
        return "\n".join(line for cell in self.cells for line in cell.code)

    def place(self, line: int) -> str:
        """Return where a line of the code stands: ``cell 3, line 2``."""
        for cell in self.cells:
            if line <= len(cell.lines):
                return f"cell {cell.number}, line {line}"
            line -= len(cell.lines)
        return "the end"

    def replace(self, code: str) -> str:
        """Return the file with the cells of a code that has as many lines as this one's."""
        old, new = self.code.split("\n"), code.split("\n")
        if len(old) != len(new):
            raise ValueError("an import over several lines cannot be changed in a notebook: write it on one line")
        edits: list[tuple[_Token, str]] = []
        at = 0
        for cell in self.cells:
            changed = [
                line if before == after else line[: len(line) - len(before)] + after
                for line, before, after in zip(cell.lines, old[at:], new[at:], strict=False)
            ]
            edits += _edits(cell, changed)
            at += len(cell.lines)
        text = self.text
        for token, value in sorted(edits, key=lambda edit: edit[0].start, reverse=True):
            raw = text[token.start : token.end]
            text = text[: token.start] + _encode(value, like=raw) + text[token.end :]
        return text


def _cells(text: str) -> list[Any]:
    found = _Decoder().decode(text)
    if not isinstance(found, dict):
        raise ValueError("this is no notebook")
    worksheets = found.get("worksheets")  # nbformat 3
    cells = found.get("cells", worksheets[0].get("cells") if worksheets else None)
    if not isinstance(cells, list):
        raise ValueError("this is no notebook: it has no cells")
    return cells


def _source(cell: dict[str, Any]) -> list[_Token]:
    source = cell.get("source", cell.get("input", []))
    return [source] if isinstance(source, _Token) else list(source)


def _hide(lines: list[str]) -> list[str]:
    """Return the lines with a placeholder for each that is not Python, and for the lines that continue it."""
    if _is_python("\n".join(lines)):
        return lines
    hidden: list[str] = []
    placeholder = ""
    for line in lines:
        if placeholder or _OF_IPYTHON.match(line):
            placeholder = placeholder or line[: len(line) - len(line.lstrip())] + _PLACEHOLDER
            hidden.append(placeholder)
            placeholder = placeholder if line.endswith("\\") else ""
        else:
            hidden.append(line)
    return hidden


def _is_python(text: str) -> bool:
    try:
        parse(text)
    except CannotParseError:
        return False
    return True


def _edits(cell: _Cell, lines: list[str]) -> list[tuple[_Token, str]]:
    """Return the tokens of a cell whose text is another with these lines."""
    if lines == cell.lines:
        return []
    if not all(token.endswith("\n") for token in cell.tokens[:-1]):  # lines are made of several strings
        return [(cell.tokens[0], "\n".join(lines)), *((token, "") for token in cell.tokens[1:])]
    edits, at = [], 0
    for token in cell.tokens:
        count = token.count("\n")
        value = "\n".join([*lines[at : at + count], *([] if token.endswith("\n") else [lines[at + count]])])
        value += "\n" if token.endswith("\n") else ""
        at += count
        if value != token:
            edits.append((token, value))
    return edits


def _encode(value: str, like: str) -> str:
    """Return a string as JSON, escaped as the one that it replaces."""
    return json.dumps(value, ensure_ascii=like.isascii())
