"""Change the imports of a source text, and find the names that it takes from the package.

Texts are edited at the bytes that libcst says an import has: everything else stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import libcst as cst
from libcst import metadata
from libcst.helpers import get_full_name_for_node

from .spelling import Direction
from .syntax import CannotParseError, check_syntax

#: Functions that import the module whose name they are given.
_IMPORTERS = frozenset({"import_module", "__import__", "importorskip", "find_spec"})


class Use(NamedTuple):
    """A name of the source package in a text: its dotted path without the package, and its line.

    ``module`` says that it has to be a module; ``quoted`` that it stands in a string, which is not changed.
    """

    path: str
    line: int
    module: bool = False
    quoted: bool = False


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
    visitor = _Imports(direction)
    wrapper = metadata.MetadataWrapper(_parse(text), unsafe_skip_copy=True)
    wrapper.visit(visitor)
    data = text.encode()
    for edit in sorted(visitor.edits, reverse=True):
        data = data[: edit.start] + edit.text.encode() + data[edit.end :]
    return Rewritten(data.decode(), len(visitor.edits), visitor.uses, visitor.imported)


def _parse(text: str) -> cst.Module:
    try:
        module = cst.parse_module(text)
    except cst.ParserSyntaxError as error:
        check_syntax(text)
        raise CannotParseError(error.raw_line, error.message) from None
    if module.code != text:
        raise CannotParseError(1, "libcst does not give this text back as it was")
    return module


class _Imports(cst.CSTVisitor):
    """Collector of edits and uses."""

    METADATA_DEPENDENCIES = (
        metadata.ByteSpanPositionProvider,
        metadata.PositionProvider,
        metadata.QualifiedNameProvider,
    )

    def __init__(self, direction: Direction) -> None:
        super().__init__()
        self.direction = direction
        self.edits: list[_Edit] = []
        self.uses: list[Use] = []
        self.imported: list[tuple[str, int]] = []

    def visit_Import(self, node: cst.Import) -> bool:
        names = [(_dotted(alias.name), _bound_name(alias)) for alias in node.names]
        skipped = False
        for alias, name, following in zip(node.names, names, [*names[1:], ("", None)], strict=True):
            if skipped:  # it belongs to the one before
                skipped = False
                continue
            dotted, asname = name
            self.imported.append((dotted, self._line(node)))
            path = self.direction.path_in(dotted)
            if path is None:
                continue
            self._use(path, alias, module=True)
            skipped = self.direction.is_pair(name, following)
            last = node.names[node.names.index(alias) + 1] if skipped else alias
            text = self.direction.respell(dotted) if skipped else self.direction.respell_alias(dotted, asname)
            self._replace(alias, last, text)
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        if node.relative or node.module is None:
            return False
        dotted = _dotted(node.module)
        self.imported.append((dotted, self._line(node)))
        path = self.direction.path_in(dotted)
        if path is None:
            return False
        start = self._span(node.module).start
        self.edits.append(_Edit(start, start + len(self.direction.source), self.direction.target))
        self._use(path, node, module=True)
        if not isinstance(node.names, cst.ImportStar):
            for alias in node.names:
                self._use(f"{path}.{_dotted(alias.name)}".lstrip("."), alias)
        return False

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        if not _is_chain(node):
            return True
        for name in self.get_metadata(metadata.QualifiedNameProvider, node, set()) or ():
            path = self.direction.path_in(name.name)
            if path and name.source is metadata.QualifiedNameSource.IMPORT:
                self._use(path, node)
        return False

    def visit_Call(self, node: cst.Call) -> None:
        called = get_full_name_for_node(node.func) or ""
        if called.rpartition(".")[2] in _IMPORTERS and node.args and isinstance(node.args[0].value, cst.SimpleString):
            value = node.args[0].value.evaluated_value
            path = self.direction.path_in(value) if isinstance(value, str) else None
            if path is not None:
                self._use(path, node, module=True, quoted=True)

    def _use(self, path: str, node: cst.CSTNode, *, module: bool = False, quoted: bool = False) -> None:
        self.uses.append(Use(path, self._line(node), module, quoted))

    def _line(self, node: cst.CSTNode) -> int:
        return int(self.get_metadata(metadata.PositionProvider, node).start.line)

    def _replace(self, first: cst.ImportAlias, last: cst.ImportAlias, text: str) -> None:
        start = self._span(first.name).start
        respelled = self.direction.respell(_dotted(first.name))
        if first.asname is not None and text != respelled:  # keep the spaces around "as"
            self.edits.append(_Edit(start, _end(self._span(first.name)), respelled))
        else:
            self.edits.append(_Edit(start, _end(self._span(last.asname or last.name)), text))

    def _span(self, node: cst.CSTNode) -> metadata.CodeSpan:
        return self.get_metadata(metadata.ByteSpanPositionProvider, node)


def _end(span: metadata.CodeSpan) -> int:
    return int(span.start + span.length)


def _dotted(name: cst.BaseExpression) -> str:
    return get_full_name_for_node(name) or ""


def _bound_name(alias: cst.ImportAlias) -> str | None:
    return None if alias.asname is None else _dotted(alias.asname.name)


def _is_chain(node: cst.BaseExpression) -> bool:
    """Return whether an expression is names with dots between them."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return isinstance(node, cst.Name)
