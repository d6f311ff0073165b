"""Rewriting of the imports of a source text, and collection of the names it uses from the package.

Texts are edited at the byte positions of imports that libcst reports; everything else is preserved.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import libcst as cst
from libcst import metadata
from libcst.helpers import get_full_name_for_node

from .scopes import NameUse, find_uses
from .spelling import Direction
from .syntax import parse

_LINE_END = re.compile(rb"\r\n|\r|\n")


@dataclass
class RewriteResult:
    """Text with its imports changed: the number of changed imports, the names used, and all imported modules.

    ``imported_modules`` are pairs of a name and a line.
    """

    text: str
    changes: int = 0
    uses: list[NameUse] = field(default_factory=list)
    imported_modules: list[tuple[str, int]] = field(default_factory=list)


class _Edit(NamedTuple):
    """Replacement of the bytes from ``start`` to ``end`` by a text."""

    start: int
    end: int
    text: str


def rewrite(text: str, direction: Direction) -> RewriteResult:
    r"""Return a text with its imports changed; raise :class:`CannotParseError` for invalid Python.

    >>> from .spelling import TO_XLASCOPE
    >>> rewrite("import jax.numpy as jnp  # arrays\nx = jnp.ones(3)\n", TO_XLASCOPE).text
    'import xlascope.numpy as jnp  # arrays\nx = jnp.ones(3)\n'
    """
    if direction.source not in text:
        return RewriteResult(text)
    tree = parse(text)
    data = text.encode()
    edits = [
        edit for start, statement in _iter_statements(tree, data) for edit in _find_edits(statement, start, direction)
    ]
    for edit in sorted(edits, reverse=True):
        data = data[: edit.start] + edit.text.encode() + data[edit.end :]
    return RewriteResult(data.decode(), len(edits), find_uses(tree, direction), list(_iter_imported_modules(tree)))


def _iter_imports(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and node.module and not node.level):
            yield node


def _iter_imported_modules(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield (name, line) of the modules that a program imports."""
    for node in _iter_imports(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        yield from ((name, node.lineno) for name in names)


def _iter_statements(tree: ast.Module, data: bytes) -> Iterator[tuple[int, str]]:
    """Yield (byte offset, text) of each import; ``data`` is the text that was parsed."""
    lines = [0, *(end.end() for end in _LINE_END.finditer(data))]
    for node in _iter_imports(tree):
        start = lines[node.lineno - 1] + node.col_offset
        end = lines[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        yield start, data[start:end].decode()


def _find_edits(statement: str, start: int, direction: Direction) -> list[_Edit]:
    """Return the edits of one import statement; ``start`` is its byte offset in the file.

    libcst parses only the import, because parsing a whole text is slow.
    """
    if direction.source not in statement:
        return []
    visitor = _ImportEditor(direction)
    metadata.MetadataWrapper(cst.parse_module(statement), unsafe_skip_copy=True).visit(visitor)
    return [_Edit(start + edit.start, start + edit.end, edit.text) for edit in visitor.edits]


class _ImportEditor(cst.CSTVisitor):
    """Visitor of an import's syntax tree that collects its edits, with offsets from the beginning of the import."""

    METADATA_DEPENDENCIES = (metadata.ByteSpanPositionProvider,)

    def __init__(self, direction: Direction) -> None:
        super().__init__()
        self.direction = direction
        self.edits: list[_Edit] = []

    def visit_Import(self, node: cst.Import) -> bool:
        names = [(_dotted_name(alias.name), _alias_name(alias)) for alias in node.names]
        skipped = False
        for index, (alias, name) in enumerate(zip(node.names, names, strict=True)):
            if skipped:  # it was replaced together with the previous one
                skipped = False
                continue
            dotted, asname = name
            if self.direction.path_in(dotted) is None:
                continue
            skipped = index + 1 < len(names) and self.direction.is_pair(name, names[index + 1])
            if skipped:
                self._replace_aliases(alias, node.names[index + 1], self.direction.respell(dotted))
            else:
                self._replace_aliases(alias, alias, self.direction.respell_alias(dotted, asname))
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        if node.relative or node.module is None:
            return False
        dotted = _dotted_name(node.module)
        if self.direction.path_in(dotted) is not None:
            start = self._span(node.module).start
            self._add_edit(start, start + len(self.direction.source), self.direction.target)
        return False

    def _replace_aliases(self, first: cst.ImportAlias, last: cst.ImportAlias, text: str) -> None:
        start = self._span(first.name).start
        respelled = self.direction.respell(_dotted_name(first.name))
        if first.asname is not None and text != respelled:  # keep the spaces around "as"
            self._add_edit(start, _span_end(self._span(first.name)), respelled)
        else:
            self._add_edit(start, _span_end(self._span(last.asname or last.name)), text)

    def _add_edit(self, start: int, end: int, text: str) -> None:
        self.edits.append(_Edit(start, end, text))

    def _span(self, node: cst.CSTNode) -> metadata.CodeSpan:
        return self.get_metadata(metadata.ByteSpanPositionProvider, node)


def _span_end(span: metadata.CodeSpan) -> int:
    return int(span.start + span.length)


def _dotted_name(name: cst.BaseExpression) -> str:
    return get_full_name_for_node(name) or ""


def _alias_name(alias: cst.ImportAlias) -> str | None:
    return None if alias.asname is None else _dotted_name(alias.asname.name)
