"""Change the imports of a source text, and find the names that it takes from the package.

Texts are edited at the bytes that libcst says an import has: everything else stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import libcst as cst
from libcst import metadata
from libcst.helpers import get_full_name_for_node

from .scopes import Use, find_uses
from .spelling import Direction
from .syntax import CannotParseError, parse


@dataclass
class Rewritten:
    """A text with other imports: how many imported modules changed, the names used, all modules that it imports."""

    text: str
    changes: int = 0
    uses: list[Use] = field(default_factory=list)
    imported: list[tuple[str, int]] = field(default_factory=list)


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


def rewrite(text: str, direction: Direction) -> Rewritten:
    r"""Return a text with its imports changed. Raises :class:`CannotParseError`.

    >>> from .spelling import TO_XLASCOPE
    >>> rewrite("import jax.numpy as jnp  # arrays\nx = jnp.ones(3)\n", TO_XLASCOPE).text
    'import xlascope.numpy as jnp  # arrays\nx = jnp.ones(3)\n'
    """
    if direction.source not in text:
        return Rewritten(text)
    uses = find_uses(parse(text), direction)
    data = text.encode()
    visitor = _Imports(direction, data)
    metadata.MetadataWrapper(_parse(text), unsafe_skip_copy=True).visit(visitor)
    for edit in sorted(visitor.edits, reverse=True):
        data = data[: edit.start] + edit.text.encode() + data[edit.end :]
    return Rewritten(data.decode(), len(visitor.edits), uses, visitor.imported)


def _parse(text: str) -> cst.Module:
    try:
        return cst.parse_module(text)
    except cst.ParserSyntaxError as error:
        raise CannotParseError(error.raw_line, error.message) from None


class _Imports(cst.CSTVisitor):
    """Collector of edits and of imported modules. It looks at statements alone, which is fast."""

    METADATA_DEPENDENCIES = (metadata.ByteSpanPositionProvider,)

    def __init__(self, direction: Direction, data: bytes) -> None:
        super().__init__()
        self.direction = direction
        self.data = data
        self.edits: list[_Edit] = []
        self.imported: list[tuple[str, int]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        return not isinstance(node, cst.BaseExpression) and super().on_visit(node)

    def visit_Import(self, node: cst.Import) -> bool:
        names = [(_dotted(alias.name), _bound_name(alias)) for alias in node.names]
        skipped = False
        for index, (alias, name) in enumerate(zip(node.names, names, strict=True)):
            if skipped:  # it belongs to the one before
                skipped = False
                continue
            dotted, asname = name
            self.imported.append((dotted, self._line(alias.name)))
            if self.direction.path_in(dotted) is None:
                continue
            skipped = index + 1 < len(names) and self.direction.is_pair(name, names[index + 1])
            if skipped:
                self._replace(alias, node.names[index + 1], self.direction.respell(dotted))
            else:
                self._replace(alias, alias, self.direction.respell_alias(dotted, asname))
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        if node.relative or node.module is None:
            return False
        dotted = _dotted(node.module)
        self.imported.append((dotted, self._line(node.module)))
        if self.direction.path_in(dotted) is not None:
            start = self._span(node.module).start
            self._edit(start, start + len(self.direction.source), self.direction.target)
        return False

    def _replace(self, first: cst.ImportAlias, last: cst.ImportAlias, text: str) -> None:
        start = self._span(first.name).start
        respelled = self.direction.respell(_dotted(first.name))
        if first.asname is not None and text != respelled:  # keep the spaces around "as"
            self._edit(start, _end(self._span(first.name)), respelled)
        else:
            self._edit(start, _end(self._span(last.asname or last.name)), text)

    def _edit(self, start: int, end: int, text: str) -> None:
        if not self.data.startswith(self.direction.source.encode(), start):
            raise CannotParseError(self.data.count(b"\n", 0, start) + 1, "libcst places this import elsewhere")
        self.edits.append(_Edit(start, end, text))

    def _span(self, node: cst.CSTNode) -> metadata.CodeSpan:
        return self.get_metadata(metadata.ByteSpanPositionProvider, node)

    def _line(self, node: cst.CSTNode) -> int:
        return self.data.count(b"\n", 0, self._span(node).start) + 1


def _end(span: metadata.CodeSpan) -> int:
    return int(span.start + span.length)


def _dotted(name: cst.BaseExpression) -> str:
    return get_full_name_for_node(name) or ""


def _bound_name(alias: cst.ImportAlias) -> str | None:
    return None if alias.asname is None else _dotted(alias.asname.name)
