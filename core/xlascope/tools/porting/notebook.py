"""The code cells of a notebook as one Python source, and replacement of their sources in the notebook's JSON.

Only the strings of changed lines are rewritten; the rest of the file is preserved byte for byte.
"""

from __future__ import annotations

import json
import json.decoder
import json.scanner
import re
from dataclasses import dataclass, field
from typing import Any

from .syntax import CannotParseError, parse

#: Lines of IPython that are not Python: magics, shell commands, help, and assignments of their results.
_IPYTHON_LINE = re.compile(r"\s*(?:[%!?]|[\w., \t]+=\s*[%!]|[\w.]+\?{1,2}\s*$)")
#: The beginning of cells that contain something other than Python of this notebook.
_OTHER_LANGUAGE_CELL = re.compile(
    r"\s*%%(?:!|bash|sh|script|html|HTML|javascript|js|latex|markdown|svg|SVG|perl|ruby|writefile|file|cmd|sql|R|"
    r"cython|julia|system|sx)\b|\s*%%!"
)
_PLACEHOLDER = "pass"


class _Token(str):
    """JSON string with its position in the file, including quotes."""

    start: int
    end: int


class _Decoder(json.JSONDecoder):
    """JSON decoder whose strings are tokens with positions."""

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
class _CodeCell:
    """Code cell of a notebook: its number among all cells, the tokens of its source, and its lines.

    ``indent`` is the indentation of its first line, which IPython removes from all lines.
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
        """Return the lines as Python code."""
        return _hide_ipython_lines([line.removeprefix(self.indent) for line in self.lines])


class Notebook:
    r"""Notebook file and its Python cells; the constructor raises ValueError for an invalid notebook.

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
            _CodeCell(number, tokens)
            for number, cell in enumerate(_parse_cells(text), 1)
            if isinstance(cell, dict) and cell.get("cell_type") == "code" and (tokens := _source_tokens(cell))
        ]
        self.cells = [cell for cell in self.cells if not _OTHER_LANGUAGE_CELL.match(cell.lines[0])]

    @property
    def code(self) -> str:
        """Return the code of all cells, with a placeholder for each line that is not Python."""
        return "\n".join(line for cell in self.cells for line in cell.code)

    def locate(self, line: int) -> str:
        """Return the cell and the line in it of a line of :attr:`code`: ``cell 3, line 2``."""
        for cell in self.cells:
            if line <= len(cell.lines):
                return f"cell {cell.number}, line {line}"
            line -= len(cell.lines)
        return "the end"

    def replace(self, code: str) -> str:
        """Return the notebook file with the cells' code replaced; raise ValueError if the number of lines differs."""
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
            edits += _find_edits(cell, changed)
            at += len(cell.lines)
        text = self.text
        for token, value in sorted(edits, key=lambda edit: edit[0].start, reverse=True):
            raw = text[token.start : token.end]
            text = text[: token.start] + _encode_string(value, like=raw) + text[token.end :]
        return text


def _parse_cells(text: str) -> list[Any]:
    document = _Decoder().decode(text)
    if not isinstance(document, dict):
        raise ValueError("this is no notebook")
    worksheets = document.get("worksheets")  # nbformat 3
    cells = document.get("cells", worksheets[0].get("cells") if worksheets else None)
    if not isinstance(cells, list):
        raise ValueError("this is no notebook: it has no cells")
    return cells


def _source_tokens(cell: dict[str, Any]) -> list[_Token]:
    source = cell.get("source", cell.get("input", []))
    return [source] if isinstance(source, _Token) else list(source)


def _hide_ipython_lines(lines: list[str]) -> list[str]:
    """Replace lines that are not Python, and their continuation lines, by placeholders."""
    if _is_python("\n".join(lines)):
        return lines
    hidden: list[str] = []
    placeholder = ""
    for line in lines:
        if placeholder or _IPYTHON_LINE.match(line):
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


def _find_edits(cell: _CodeCell, lines: list[str]) -> list[tuple[_Token, str]]:
    """Return (token, new text) for the tokens of a cell that change if its lines become ``lines``."""
    if lines == cell.lines:
        return []
    if not all(token.endswith("\n") for token in cell.tokens[:-1]):  # a line consists of several strings
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


def _encode_string(value: str, like: str) -> str:
    """Encode a string as JSON; non-ASCII characters are escaped if ``like``, the string it replaces, has none."""
    return json.dumps(value, ensure_ascii=like.isascii())
